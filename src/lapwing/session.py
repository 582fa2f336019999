"""The spine: the one place where a question becomes an answer.

Plan, price, charge, commit, read, add noise, commit, return: in this order, with no way around. Until the
charge, nothing depends on data; a refusal costs nothing. After it, there is the answer, or one failure that says
nothing and keeps the charge. Noise is drawn once for a charge, never again.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, Self, Unpack, cast

from lapwing.accounting.composition import MOST_BOOKINGS, PlannedTotal, planned_total
from lapwing.accounting.filters.charge import SingleRelease
from lapwing.answers.answer import Answer
from lapwing.answers.budget import BudgetStatus
from lapwing.answers.corridor_terms import CorridorTerms
from lapwing.answers.preview import OfferedTerms, Preview, Pricing, QuestionLike, QuestionWords
from lapwing.answers.releases import CONFIDENCE, PricedQuestion, StoredAnswer, meanings_of, read_together
from lapwing.answers.stream_preview import StreamPreview
from lapwing.answers.stream_terms import StreamOffer, StreamTerms
from lapwing.answers.target import TargetWords, accuracy_at, given_rows, in_each_way, parse_target
from lapwing.engines.reading import CancelGroup, hide_failures
from lapwing.guests import Guests
from lapwing.ledger.entries import name as named
from lapwing.ledger.ledger import Ledger, Snapshot
from lapwing.ledger.questions import Charged, Released, Request
from lapwing.ledger.reservation_states import STREAM, Opening, ReservationKind
from lapwing.ledger.states import MovedOnError
from lapwing.ledger.store import fault_point
from lapwing.noise.randomness import fresh_name
from lapwing.queries.catalogue.population import Population, TableList
from lapwing.queries.catalogue.public_tables import ConceptSet, concept_set
from lapwing.queries.language.builders import ConditionLike
from lapwing.queries.limits import MOST_NUMBERS, MOST_TOGETHER_CANONICAL
from lapwing.queries.planning.planner import Question
from lapwing.queries.statements.catalogue_statements import read_catalogue
from lapwing.queries.statements.select import read_each
from lapwing.queries.statistics.best import best_of
from lapwing.queries.statistics.funnel import funnel
from lapwing.rounds import Rounds, public_text
from lapwing.streams import QuestionStream, name_of_key
from lapwing.tables import Tables
from lapwing.vocabulary.codec import canonical, digest, from_text, parse, to_record, to_text
from lapwing.vocabulary.deadline import deadline, no_deadline, seconds_for, spend
from lapwing.vocabulary.errors import (
    BadQuestionError,
    BudgetExceededError,
    EngineError,
    ParameterError,
    PolicyError,
    RequestConflictError,
)
from lapwing.vocabulary.event import Event
from lapwing.vocabulary.exact import Exact, as_int
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Guarantee
from lapwing.vocabulary.lifetime import Lifetime
from lapwing.vocabulary.results import shows_words

STEPS: Final = ("ask.checked", "ask.charged", "ask.read", "ask.noised", "ask.answered")
"""The fault points of a question, in their order (see `lapwing.ledger.store`)."""

_NOT_SO: Final = (BudgetExceededError, PolicyError, RequestConflictError)
"""Refusals, before anything is charged, after which the question is tried in the next currency."""

_STEPS: Final = 50
"""Steps of work that trying one charge, or looking up one question, counts as."""

_MOST_WORDS: Final = 1000
"""How many characters of the words of a question are kept in its entry."""

MOST_TOGETHER: Final = 1000
"""How many questions are charged, read and answered together, while other writers wait."""


@frozen(eq=False)
class PricedAsking:
    """Questions that were planned and priced once, in each way to pay for them, at one moment of the ledger.

    `session.price` makes one. Callers that need the meaning of questions, or a stored answer, before they ask take both
    from it: nothing is planned or priced a second time. What is charged is checked again, in the transaction that
    charges.
    """

    session: "Session"
    ways: Sequence[Sequence[PricedQuestion]]
    snapshot: Snapshot
    confidence: Exact
    rows: int | None = None

    def meanings(self) -> list[str]:
        """Return a digest of the canonical text of these questions at this price, for each way to pay for them."""
        return meanings_of(in_each_way(self.ways))

    def preview(self) -> Preview:
        """Return the price of the question and the budget that would be left; of several, of the first."""
        return self.session._preview(self)  # noqa: SLF001 - a session and its questions are one

    def stored(self, key: str | None = None, *, entry: int | None = None) -> Answer | None:
        """Return the answer that asking the question would give for nothing; of several, the first. See `stored`."""
        return self.session._find_stored(self.ways[0], key, entry)  # noqa: SLF001

    def stored_together(self, key: str, *, entry: int | None = None) -> list[Answer] | None:
        """Return the answers that asking all of them under a key would give for nothing; None if one would charge."""
        numbers, answers = dict[tuple[str, ...], int](), list[Answer]()
        for ways in self.ways:
            number = numbers.setdefault(tuple(meanings_of([one] for one in ways)), len(numbers) + 1)
            answer = self.session._find_stored(ways, _numbered(key, number), entry)  # noqa: SLF001
            if answer is None:
                return None
            answers.append(answer)
        return answers

    def to_be_paid(self) -> list[PricedQuestion]:
        """Return what asking all of them together would charge for now, each different question once."""
        return self.session._unpaid(self)  # noqa: SLF001

    def ask(self, key: str | None = None) -> Answer:
        """Ask the question, and pay for it. See `Session.ask`."""
        if len(self.ways) != 1:
            reason = "is the number of questions that were priced together"
            raise ParameterError("questions", len(self.ways), reason=reason, remedy="use ask_together")
        (answer,) = self.session._ask_together(self, [key])  # noqa: SLF001
        return answer

    def ask_together(self, key: str | None = None) -> list[Answer]:
        """Ask all of them, and pay for all. See `Session.ask_many`."""
        keys = [None if key is None else _numbered(key, number) for number in range(1, len(self.ways) + 1)]
        return self.session._ask_together(self, keys) if keys else []  # noqa: SLF001


class AskingSession(ABC):
    """Base of local and remote sessions."""

    population: Population
    analyst: str
    _pricing: Pricing
    _lifetime: Lifetime

    @abstractmethod
    def ask(self, question: QuestionLike, *, key: str | None = None, **words: Unpack[QuestionWords]) -> Answer:
        """Ask a question, and pay for it."""

    @abstractmethod
    def preview(self, question: QuestionLike, **words: Unpack[QuestionWords]) -> Preview:
        """Say what a question would cost, how far off its answer would be, and what would be left."""

    @abstractmethod
    def budget(self) -> BudgetStatus:
        """Return the remaining budget."""

    @abstractmethod
    def close(self) -> None:
        """End the session."""

    @shows_words(QuestionWords, confidence="0.95")
    def sql(self, text: str, *, key: str | None = None, **words: Unpack[QuestionWords]) -> Answer:
        """Ask one SELECT of statistics, with WHERE and GROUP BY; `key=` and the words are those of `ask` and `preview`.

        The statistics are charged as one, and each gets an equal share of the price; `within` is meant for each.

        The catalogue is public: `show tables`, `describe visits` and SELECTs from information_schema come back as
        `CatalogueRows`, for nothing.
        """
        catalogue = read_catalogue(text, self.population) if isinstance(text, str) else None
        if catalogue is not None:
            return cast("Answer", catalogue)  # a result of another kind, which most readers of answers never meet
        return self.ask(text, key=key, **words)

    @shows_words(TargetWords, confidence="0.95")
    def funnel(
        self, table: str, steps: Sequence[ConditionLike], *, key: str | None = None, **offer: Unpack[TargetWords]
    ) -> Answer:
        """Ask how many people pass the first step, the first two, and so on: one release, at the price of one count.

        The offer is `epsilon=`, `rho=` or `within=`, as in `preview`.
        """
        return self.ask({"people": funnel(table, steps)}, key=key, **offer)

    @shows_words(QuestionWords, confidence="0.95")
    def choose(
        self,
        questions: "Mapping[str, Question | str]",
        *,
        key: str | None = None,
        **words: Unpack[QuestionWords],
    ) -> Answer:
        """Ask which of several questions, by their names, has about the largest answer: one name is released.

        They are counts of people, counts of rows or totals, all of one kind, or SELECTs of one such number. The one
        that a person can move furthest decides about the noise of all. With `within=` the chosen one is at most so far
        below the best. `preview(best_of(...))` says price and guarantee beforehand, for nothing.
        """
        rows = {name: words.pop(name) for name in ("max_rows", "max_groups") if name in words}
        return self.ask(best_of(read_each(questions, **rows)), key=key, **words)

    def concept_set(self, name: str, ids: "Iterable[int] | Iterable[str] | str | Path") -> ConceptSet:
        """Give many values one name, for `column in concept_set('name')` in the questions of this session.

        `ids` are the values, or the path of a file with one on each line. The set is no part of the population: it is
        what an analyst could have written out, and a question with it costs what it would have cost so.
        """
        self.population = self.population.with_concept_set(given := concept_set(name, ids))
        self._pricing = Pricing()  # of this session alone: for others at the door it would be kept and never found
        return given

    def tables(self) -> TableList:
        """Return the public catalogue: the tables, with their columns, types, bounds and words. It is free."""
        self._lifetime.require()
        return TableList(self.population.name, self.population.tables, self.population.vocabularies)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Session(AskingSession, Guests):
    """The session of one analyst with one population, whose `population.tables` are the catalogue; see `lw.open`.

    Parameters
    ----------
    population : what is publicly known about the tables
    ledger : the account
    tables : where the tables are
    analyst : who asks
    key : 32 secret bytes under which streams are sealed; they are kept outside the ledger
    on_failure : called with the reason of every failure, for the custodian's log; the reason may hold data
    on_close : called when the session is closed; it closes the ledger and the tables where no other session uses them
    within : the lifetime of what the session belongs to
    """

    def __init__(
        self,
        population: Population,
        ledger: Ledger,
        tables: Tables,
        *,
        analyst: str,
        key: bytes,
        on_failure: Callable[[Exception], None] = lambda _: None,
        on_close: Callable[[], None] = lambda: None,
        within: Lifetime | None = None,
    ) -> None:
        self.population, self.analyst = population, named("analyst", analyst)
        self.ledger = ledger.of(population.name)
        self._tables, self._key, self._on_failure, self._on_close = tables, key, on_failure, on_close
        self._running = CancelGroup()
        self._pricing = Pricing()
        self._lifetime = Lifetime("this session", remedy="open a new one", within=within)

    def for_analyst(self, analyst: str) -> "Session":
        """Return a session of another analyst with the same population and tables; it can be cancelled by itself."""
        self._lifetime.require()
        beside = Session(
            self.population,
            self.ledger,
            self._tables,
            analyst=analyst,
            key=self._key,
            on_failure=self._on_failure,
            within=self._lifetime,
        )
        beside._pricing = self._pricing
        return beside

    @shows_words(QuestionWords, confidence="0.95")
    def preview(self, question: QuestionLike, **words: Unpack[QuestionWords]) -> Preview:
        """Say what a question would cost, how far off its answer would be, and what would be left. It is free.

        Parameters
        ----------
        question : a question, a SELECT, or questions by the names of their columns, which are charged as one
        words : `epsilon=`, `epsilon=` with `delta=`, or `rho=`; or `within=`, how far off all numbers may be at a
            `confidence=`, for the smallest price that gives it; of a mean, whose error depends on how many rows there
            are, with `rows=`, about how many you suppose, and about so exact if their values fill their range;
            `max_rows=` and `max_groups=` are for a SELECT from tables with many rows a person: any other question says
            them itself
        """
        with deadline():
            return self.price([question], **words).preview()

    def _preview(self, priced: PricedAsking) -> Preview:
        self._lifetime.require()
        segments, previews = self.population.touched, list[Preview]()
        for (asked,) in self._cheapest_first(priced):
            charge = SingleRelease(event=asked.event, segments=segments)
            status = BudgetStatus.of(priced.snapshot, self.analyst, segments, charge, asked.tables)
            previews.append(Preview.of(asked, status, priced.confidence, priced.rows))
        return next((one for one in previews if one.affordable), previews[0])

    @shows_words(QuestionWords, confidence="0.95")
    def ask(self, question: QuestionLike, *, key: str | None = None, **words: Unpack[QuestionWords]) -> Answer:
        """Ask a question, and pay for it.

        Say what to pay, `epsilon=` (with `delta=`) or `rho=`, or how exact it must be, `within=` at a `confidence=`.
        These and, for a SELECT, `max_rows=` and `max_groups=` are the words of `preview`.

        The same question at the same price about the same data is answered as it was before, for free. So is the same
        `key`, for ever: ask again with it where it is not known whether the first time went through. A
        `BadQuestionError` or `BudgetError` costs nothing; an `EngineError`
        came after the charge, which stays, unless it is an `UnavailableError`, which came before.
        """
        return self.price([question], **words).ask(key)

    @shows_words(QuestionWords, confidence="0.95")
    def ask_many(
        self, questions: Iterable[QuestionLike], *, key: str | None = None, **words: Unpack[QuestionWords]
    ) -> list[Answer]:
        """Ask different questions together, each at the price that the words of `preview` say, and pay for all of them.

        They are charged in one transaction, all or none: what does not fit as a whole is refused, and costs nothing.
        Data is read once for all plain counts of people, and one after the other for all else, and the answers are
        committed together. Each has a receipt of its own. A question that was answered before, or that is here twice,
        is free. If the database fails (`EngineError`), all of them are lost, and charged.

        Parameters
        ----------
        questions : at most 1,000, as in `ask`
        key : the idempotency key of the whole; each different question has it with its number, from 1
        """
        asked = at_once(questions)
        return self.price(asked, **words).ask_together(key) if asked else []

    @shows_words(QuestionWords, confidence="0.95")
    def stored(
        self,
        question: QuestionLike,
        *,
        key: str | None = None,
        entry: int | None = None,
        **words: Unpack[QuestionWords],
    ) -> Answer | None:
        """Return the answer that `ask` would give for nothing, or None if it would charge.

        Nothing is written, charged or read from a database, so it works while none can be reached. A `key` that was
        charged and has no answer is an `UnansweredError`, as it is for `ask`. A caller that remembers which
        entry a key stands for gives its `entry`, 0 for none: it is that one, also when the data has changed since.
        """
        return self.price([question], **words).stored(key, entry=entry)

    def _find_stored(self, ways: Sequence[PricedQuestion], key: str | None, entry: int | None) -> Answer | None:
        self._lifetime.require()
        found = self.ledger.questions.find_stored([self._request(asked, key) for asked in ways], entry=entry)
        return found and _answer(ways[found[0]], found[1], free=True)

    @shows_words(StreamOffer, confidence="0.95")
    def preview_stream(self, **terms: Unpack[StreamOffer]) -> StreamPreview:
        """Say what a stream would cost, how sure its verdicts would be, and what would be left. It is free.

        The terms are those of `stream`. The margin is for `questions` verdicts, one by default.
        """
        with deadline():
            return self._preview_stream(**terms)

    def _preview_stream(self, **terms: Unpack[StreamOffer]) -> StreamPreview:
        agreed = StreamTerms.of(self.population, **terms)
        confidence, questions = terms.get("confidence", CONFIDENCE), terms.get("questions", 1)
        snapshot = self._snapshot()
        status = BudgetStatus.of(snapshot, self.analyst, None, agreed.reservation("preview"), [agreed.table])
        return StreamPreview.of(agreed, status, confidence, questions)

    @shows_words(StreamOffer, confidence="0.95")
    def stream(
        self, *, name: str | None = None, key: str | None = None, **terms: Unpack[StreamOffer]
    ) -> QuestionStream:
        """Open a stream of "at least N people?" questions that is paid per yes; use it in a `with`, or close it.

        Parameters
        ----------
        name : what to call it, to go on with it in another process
        key : the idempotency key
        terms : `at_least=`, the number of people that is asked for, where a question does not give another; `yeses=`,
            after which it halts; `table=`, which may be left out where there is one table with a row a person; and
            `number=True`, for a number with each yes, with noise of its own that is part of the price of a yes;
            `total=` a value, `proportion=` a condition or `correlation=` a value, where it is not people that are asked
            for (with `max_rows=`, how many rows of a person are added up); and
            `epsilon=`, what it costs when all yeses are given, or `within=` at a `confidence=`, for the smallest one at
            which the verdicts of `questions=` (one by default) are right for counts that are so far away. With
            `epsilon=` and `questions=` the threshold is placed for these questions; more may be asked
        """
        self._lifetime.require()
        with deadline():
            agreed = StreamTerms.of(self.population, **terms)
        return self.open_stream(agreed, name=name, key=key)

    def open_stream(
        self, terms: StreamTerms | CorridorTerms, *, name: str | None = None, key: str | None = None
    ) -> QuestionStream:
        """Open a stream of any kind, a corridor among them, under terms that are agreed.

        It is for rooms above the session; `name` and `key` are as for `stream`.
        """
        self._lifetime.require()
        unit = self.population.unit
        if (terms.adjacency, terms.people) != (unit.adjacency, unit.protects_groups_of):
            reason, remedy = "protect others than this population does", "agree on terms for this population"
            raise ParameterError("terms", terms.to_text(), reason=reason, remedy=remedy)
        given = fresh_name() if key is None else key
        stream = self._stream(name_of_key(self.population.name, self.analyst, given) if name is None else name, terms)
        with self._tables.hold(self.ledger.population(self.population.name).tables):
            return stream.open(self.analyst, given)

    def resume(self, name: str) -> QuestionStream:
        """Go on with a stream of this analyst that was opened before, here or in another process.

        A question that a dead process left in flight is settled first.
        """
        self._lifetime.require()
        record = self.ledger.reservations.find(name)
        if (record.analyst, record.population, record.kind) != (self.analyst, self.population.name, STREAM):
            raise ParameterError("stream", name, reason="is not in this ledger", remedy="open it first")
        return self._stream(name, StreamTerms.read(record.terms), record.tables).settle(record)

    def reserve(
        self,
        kind: ReservationKind,
        *,
        event: Event,
        rounds: int,
        terms: object = None,
        tables: Iterable[str] | None = None,
        key: str | None = None,
    ) -> Rounds:
        """Charge an event as a whole, and return the rounds that may be drawn under it, one after the other.

        It is for analyses that read, look at what was released, and read again; see `lapwing.rounds`. The same key
        returns the same reservation, here or in another process, with all that its rounds have released.

        Parameters
        ----------
        kind : what it is for, and what becomes of it when a round is lost
        event : all that its rounds can ever do, whatever they release: that it is so is proved with the analysis
        rounds : how many there are at most
        terms : what is agreed besides, as JSON values without floats; none of it can change
        tables : those that it reads; by default all of the population's that this analyst may ask about at the opening
        key : the idempotency key
        """
        self._lifetime.require()
        given = fresh_name() if key is None else named("key", key)
        name = digest(["reservation", self.population.name, self.analyst, given])[:32]
        allowed = [table.name for table in self._allowed_tables().tables]
        opening = Opening(
            population=self.population.name,
            analyst=self.analyst,
            key=given,
            name=name,
            charge=SingleRelease(event=event, segments=self.population.touched),
            tables=frozenset(allowed if tables is None else [self.population.table(one).name for one in tables]),
            terms=canonical({"event": to_record(event), "terms": parse(public_text("terms", terms))}),
            rounds=rounds,
            kind=kind,
            by_default=tables is None,
        )
        with self._tables.hold(self.ledger.population(self.population.name).tables):
            self.ledger.reservations.open(opening)
        return Rounds(
            name,
            ledger=self.ledger,
            tables=self._tables,
            running=self._running,
            on_failure=self._on_failure,
            lifetime=self._lifetime,
        )

    @shows_words(QuestionWords, confidence="0.95")
    def rehearse(self, question: QuestionLike, **words: Unpack[QuestionWords]) -> Answer:
        """Answer a question from made-up rows that fit the declared columns: free, and about no person.

        The words are those of `preview`, so that the noise is what it would be.
        """
        with deadline():
            (asked,), *_ = self._cheapest_first(self.price([question], **words))
        engine = self._tables.rehearsal()
        numbers = hide_failures(
            lambda: asked.by_column([one.release(one.read(engine)) for one in asked.sources]), self._on_failure
        )
        return Answer(asked=asked, numbers=numbers, receipt=None, versions={}, free=True, rehearsal=True)

    def budget(self) -> BudgetStatus:
        """Return the remaining budget, for everybody and for this analyst."""
        return BudgetStatus.of(self._snapshot(), self.analyst, self.population.touched)

    def planned_total(self, *, delta: Exact | None = None) -> PlannedTotal:
        """Return what all releases so far would cost together, had everything been fixed in advance. It gates nothing.

        It is shown next to the account, which counts what was chosen on the way and is what everybody is promised.
        `delta` is where epsilon is wanted: by default that of an (epsilon, delta) budget, else a millionth.
        """
        self._lifetime.require()
        account = self.ledger.account(self.population.name)
        book = self.ledger.bookings(self.population.name, at_most=MOST_BOOKINGS + 1)
        return planned_total(account, book, delta=delta, segments=self.population.touched)

    def cancel(self) -> None:
        """Stop every question of this session that is being read now, from any thread. Each is lost, and charged."""
        self._running.cancel()

    def close(self) -> None:
        """End the session: it answers nothing any more. What it shares with others stays open for them."""
        if self._lifetime.is_here:
            self._lifetime.end()
            self._on_close()

    def __repr__(self) -> str:
        tables = ", ".join(table.name for table in self.population.tables) or "no tables"
        return f"<session of {self.analyst} at {self.population.name}: {tables}>"

    def _snapshot(self) -> Snapshot:
        """Return the current account and versions of the tables, read once for a question."""
        self._lifetime.require()
        return self.ledger.snapshot(self.population.name, self.analyst)

    def _stream(self, name: str, terms: StreamTerms, opened_for: Collection[str] | None = None) -> QuestionStream:
        """Return a stream whose conditions are about tables that are allowed and that its intents have versions of."""
        people = self._allowed_tables()
        if opened_for is not None:
            people = replace(people, tables=tuple(table for table in people.tables if table.name in opened_for))
        return QuestionStream(
            name,
            terms,
            population=people,
            ledger=self.ledger,
            tables=self._tables,
            running=self._running,
            key=self._key,
            on_failure=self._on_failure,
            lifetime=self._lifetime,
        )

    def _allowed_tables(self) -> Population:
        """Return the population with those of its tables that this analyst may ask about."""
        may = self.ledger.population(self.population.name).analyst(self.analyst).tables
        if may is None:
            return self.population
        return replace(self.population, tables=tuple(one for one in self.population.tables if one.name in may))

    def price(self, questions: Sequence[QuestionLike], **words: Unpack[QuestionWords]) -> PricedAsking:
        """Plan questions and choose the releases of their plans, in each way to pay, at one moment of the ledger.

        It is free, and writes nothing. The words are those of `preview`; `preview`, `ask` and `stored` begin with it.
        """
        snapshot = self._snapshot()
        ways = price_under(snapshot.account.budget, questions, self.population, self._pricing, **words)
        confidence = words.get("confidence", CONFIDENCE)
        rows = None if words.get("rows") is None else as_int("rows", words.get("rows"))
        return PricedAsking(session=self, ways=ways, snapshot=snapshot, confidence=confidence, rows=rows)

    def price_each(self, offers: Sequence[tuple[QuestionLike, QuestionWords]]) -> PricedAsking:
        """Plan questions, each with words of its own, at one moment of the ledger; like `price` it writes nothing."""
        snapshot, ways, numbers, characters = self._snapshot(), list[list[PricedQuestion]](), 0, 0
        with deadline(seconds_for(len(offers))):
            for question, words in offers:
                ways += price_under(snapshot.account.budget, [question], self.population, self._pricing, **words)
                numbers, characters = numbers + ways[-1][0].numbers, characters + len(ways[-1][0].text)
                _check_together(numbers, characters)
        return PricedAsking(session=self, ways=ways, snapshot=snapshot, confidence=CONFIDENCE)

    def _cheapest_first(self, priced: PricedAsking) -> list[list[PricedQuestion]]:
        """Return the questions in each way to pay for them, the way first after which least of the budget is spent.

        On a tie the way in epsilon comes first: it keeps both arms of an (epsilon, delta) account usable.
        """
        each = in_each_way(priced.ways)[::-1]  # that in epsilon is the last there
        if len(each) == 1:
            return each
        touched = self.population.touched

        def charges(way: Sequence[PricedQuestion]) -> Iterator[SingleRelease]:
            for event in {one.text: one.event for one in way}.values():
                spend(_STEPS)
                yield SingleRelease(event=event, segments=touched)

        return sorted(each, key=lambda way: priced.snapshot.account.spent_after(charges(way)))

    def _known_first(self, ways: list[list[PricedQuestion]], keys: Sequence[str | None]) -> list[list[PricedQuestion]]:
        """Return the way first in which most has been answered before: stored answers are free, cheaper than any."""
        if len(ways) == 1:
            return ways

        def unknown(way: Sequence[PricedQuestion]) -> int:
            found = 0
            for one, key in zip(way, keys, strict=True):
                spend(_STEPS)
                with suppress(RequestConflictError):  # the key has paid in another way
                    found += self.ledger.questions.stored(self._request(one, key)) is not None
            return len(way) - found

        return sorted(ways, key=unknown)

    def _unpaid(self, priced: PricedAsking) -> list[PricedQuestion]:
        keys = [None] * len(priced.ways)
        with deadline(seconds_for(len(priced.ways))):
            chosen, *_ = self._known_first(self._cheapest_first(priced), keys)
        different = {one.text: one for one in chosen}.values()
        return [one for one in different if self.ledger.questions.stored(self._request(one, None)) is None]

    def _ask_together(self, priced: PricedAsking, keys: Sequence[str | None]) -> list[Answer]:
        """Charge, touch data, release, return: for one question that was priced, or for many at once."""
        snapshot = priced.snapshot
        with deadline(seconds_for(len(priced.ways))):
            first, *others = self._known_first(self._cheapest_first(priced), keys)
        while True:  # once more for each version that is announced before the charge
            self._lifetime.require()
            # What they are about stays open until they have their end.
            with suppress(MovedOnError), self._tables.hold(snapshot.versions, reads=True) as held:
                fault_point("ask.checked")
                try:
                    return self._charge_and_answer(first, keys, snapshot, held)
                except _NOT_SO:
                    for other in others:
                        with suppress(*_NOT_SO):
                            return self._charge_and_answer(other, keys, snapshot, held)
                    raise
            snapshot = self._snapshot()

    @no_deadline()
    def _charge_and_answer(
        self, asked: Sequence[PricedQuestion], keys: Sequence[str | None], snapshot: Snapshot, held: Mapping[str, int]
    ) -> list[Answer]:
        """Charge, commit, touch data, release; concurrent callers of the same question share one charge and answer."""
        different = {one.text: one for one in asked}
        requests = [self._request(one, key, held) for one, key in zip(different.values(), keys, strict=False)]
        with self.ledger.questions.turns(requests):
            ends = dict(zip(different, self._charge(asked, requests, snapshot), strict=True))
            fault_point("ask.charged")
            charged = {text: end for text, end in ends.items() if isinstance(end, Charged)}
            return self._answer_charged(asked, charged, ends) if charged else _answers(asked, ends)

    def _request(self, asked: PricedQuestion, key: str | None, held: Mapping[str, int] | None = None) -> Request:
        return Request(
            population=self.population.name,
            analyst=self.analyst,
            key=fresh_name() if key is None else key,
            question=asked.text,
            tables=asked.tables,
            charge=SingleRelease(event=asked.event, segments=self.population.touched),
            fresh=key is None,
            held=held,
            words=(asked.words_of_columns or "")[:_MOST_WORDS] or None,
        )

    def _charge(
        self, asked: Sequence[PricedQuestion], requests: Sequence[Request], snapshot: Snapshot
    ) -> list[Charged | Released]:
        try:
            return self.ledger.questions.charge_many(requests)
        except BudgetExceededError as refused:
            if len(asked) > 1:
                raise refused.of_each(len(asked)) from None
            accuracy = accuracy_at(asked[0].releases, refused.fits, snapshot.account.budget)
            raise refused.about(accuracy=accuracy, price=asked[0].price) from None

    def _answer_charged(
        self, asked: Sequence[PricedQuestion], charged: Mapping[str, Charged], ends: Mapping[str, Charged | Released]
    ) -> list[Answer]:
        try:
            return hide_failures(
                lambda: _answers(asked, {**ends, **self._read_and_release(asked, charged)}, paid=charged),
                self._on_failure,
            )
        except BaseException:
            with suppress(EngineError):  # where the ledger fails as well, the charges are kept and have no end
                hide_failures(lambda: self.ledger.questions.lose(*(c.seq for c in charged.values())), self._on_failure)
            raise

    def _read_and_release(
        self, asked: Sequence[PricedQuestion], charged: Mapping[str, Charged]
    ) -> Mapping[str, Released]:
        """Read the data, add noise, commit, and return what was committed. It is called in `hide_failures` only."""
        versions = {table: version for end in charged.values() for table, version in end.versions.items()}
        new = {one.text: one for one in asked if one.text in charged}
        with self._tables.lease(versions) as engine, self._running.scope():
            exact = read_together(list(new.values()), engine, versions)
        fault_point("ask.read")
        released = {text: one.release(numbers) for (text, one), numbers in zip(new.items(), exact, strict=True)}
        fault_point("ask.noised")
        written = {
            end.seq: to_text(StoredAnswer(released=released[text], versions=end.versions))
            for text, end in charged.items()
        }
        told = self.ledger.questions.answer_many(written)
        fault_point("ask.answered")
        return {text: told[end.seq] for text, end in charged.items()}


def price_under(
    budget: Guarantee,
    questions: Sequence[QuestionLike],
    population: Population,
    pricing: Pricing,
    *,
    max_rows: int | None = None,
    max_groups: int | None = None,
    rows: int | None = None,
    **offer: Unpack[TargetWords],
) -> list[list[PricedQuestion]]:
    """Plan questions and choose the releases of their plans, in each way to pay under a budget."""
    target = parse_target(**offer) if rows is None else given_rows(parse_target(**offer), rows)
    terms = OfferedTerms(target, budget, max_rows, max_groups)
    ways, numbers, characters = list[list[PricedQuestion]](), 0, 0
    with deadline(seconds_for(len(questions))):
        for question in questions:
            ways.append(pricing.price(question, population, terms))
            if len(questions) > 1:  # of one alone they were counted
                numbers, characters = numbers + ways[-1][0].numbers, characters + len(ways[-1][0].text)
                _check_together(numbers, characters)
    return ways


def at_once(questions: Iterable[QuestionLike]) -> list[QuestionLike]:
    """Return questions that are asked together, or refuse too many of them."""
    asked = list(questions)
    if len(asked) > MOST_TOGETHER:
        many = f"{len(asked):,} questions are asked at once, more than {MOST_TOGETHER:,}"
        raise BadQuestionError(f"{many}; ask them in parts")
    return asked


def _numbered(key: str, number: int) -> str:
    """Return the key of one question of several that are asked under a key."""
    return f"{key} {number}"


def _check_together(numbers: int, characters: int) -> None:
    """Refuse questions whose answers, or whose canonical texts, are too much to be worked on at once."""
    for what, found, most in (
        ("numbers in their answers", numbers, MOST_NUMBERS),
        ("characters when they are written out", characters, MOST_TOGETHER_CANONICAL),
    ):
        if found > most:
            raise BadQuestionError(f"these questions have more than {most:,} {what}; ask them in parts")


def _answers(
    asked: Iterable[PricedQuestion], ends: Mapping[str, Charged | Released], *, paid: Iterable[str] = ()
) -> list[Answer]:
    """Return the committed answers; of a question that was paid for now, only the first is not free."""
    left, answers = set(paid), []
    for one in asked:
        end = ends[one.text]
        if isinstance(end, Released):
            answers.append(_answer(one, end, free=one.text not in left))
        left.discard(one.text)
    return answers


def _answer(asked: PricedQuestion, told: Released, *, free: bool) -> Answer:
    """Return the committed answer, under the names that its columns have now."""
    stored = from_text(StoredAnswer, told.answer)
    numbers = asked.by_column(stored.released)
    return Answer(asked=asked, numbers=numbers, receipt=told.receipt, versions=stored.versions, free=free)
