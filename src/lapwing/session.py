"""The spine: the one place where a question becomes an answer.

Plan, price, charge, commit, read, add noise, commit, return: in this order, with no way around. Until the
charge, nothing depends on data; a refusal costs nothing. After it, there is the answer, or one failure that says
nothing and keeps the charge. Noise is drawn once for a charge, never again.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, Self, TypeAlias, Unpack

from lapwing.accounting.filters.charge import Charge, SingleRelease
from lapwing.accounting.planned_total import MOST_BOOKINGS, PlannedTotal, planned_total
from lapwing.answers.answer import Answer
from lapwing.answers.preview import BudgetStatus, Preview
from lapwing.answers.releases import CONFIDENCE, Price, PricedQuestion, StoredAnswer
from lapwing.answers.stream_preview import StreamPreview
from lapwing.answers.stream_terms import StreamOffer, StreamTerms
from lapwing.answers.target import Target, TargetWords, Within, accuracy_at, parse_target, release_together, ways_to_pay
from lapwing.engines.reading import CancelGroup, hide_failures
from lapwing.ledger.entries import name as named
from lapwing.ledger.ledger import Ledger, Snapshot
from lapwing.ledger.questions import Charged, Released, Request
from lapwing.ledger.store import fault_point
from lapwing.noise.randomness import fresh_name
from lapwing.queries.arrangement import arranged_together
from lapwing.queries.catalogue import Population, TableList
from lapwing.queries.planning import Question, plan_together
from lapwing.queries.public_tables import ConceptSet, concept_set
from lapwing.queries.questions import ConditionLike
from lapwing.queries.sql import Selection, read_sql
from lapwing.queries.statistics.funnel import funnel
from lapwing.streams import QuestionStream, name_of_key
from lapwing.tables import Tables
from lapwing.vocabulary.codec import from_text, to_text
from lapwing.vocabulary.errors import (
    BadQuestionError,
    BudgetError,
    BudgetExceededError,
    EngineError,
    ParameterError,
    RequestConflictError,
)
from lapwing.vocabulary.event import Event
from lapwing.vocabulary.exact import Exact
from lapwing.vocabulary.guarantee import Guarantee
from lapwing.vocabulary.lifetime import Lifetime
from lapwing.vocabulary.results import shows_words

QuestionLike: TypeAlias = Question | Mapping[str, Question] | str
"""How a question is put: as itself, as several that are charged as one, or as the text of a SELECT."""

STEPS: Final = ("ask.checked", "ask.charged", "ask.read", "ask.noised", "ask.answered")
"""The fault points of a question, in their order (see `lapwing.ledger.store`)."""

_REMEMBERED: Final = 200


class QuestionWords(TargetWords, total=False):
    """How a question is paid and, for a SELECT, how many rows of one person count, and in how many groups."""

    max_rows: int | None
    max_groups: int | None


class PricedBefore:
    """Questions that were planned and priced lately: whoever looks at the price of one and then asks it has it once.

    A question is known by the object that it is, which cannot change and is kept with it, and a SELECT by its text.
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[QuestionLike, Population, list[PricedQuestion]]] = {}

    def find(self, question: QuestionLike, terms: Hashable, population: Population) -> list[PricedQuestion] | None:
        """Return what was kept for the same question on the same terms, in the same catalogue: each way to pay."""
        _, catalogue, ways = self._kept.get((_identity(question), terms), (None, None, None))
        return ways if catalogue is population else None

    def keep(self, question: QuestionLike, terms: Hashable, population: Population, ways: list[PricedQuestion]) -> None:
        """Keep one, unless it is a mapping, which may change."""
        if not isinstance(question, Mapping):
            if len(self._kept) >= _REMEMBERED:
                self._kept.clear()
            self._kept[_identity(question), terms] = (question, population, ways)


def _identity(question: QuestionLike) -> Hashable:
    return question if isinstance(question, str) else id(question)


class Session:
    """One analyst at the door of one population, whose `population.tables` say what may be asked; `lw.open` makes one.

    Parameters
    ----------
    population : what is publicly known about the tables
    ledger : the account
    tables : where the tables are
    analyst : who asks
    key : 32 secret bytes under which streams are sealed; they are kept outside the ledger
    on_failure : told the reason of every failure, for the custodian's log; the reason may hold data
    on_close : called when it is closed: where nobody else uses the ledger and the tables, it lets go of them
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
        self.population, self.ledger, self.analyst = population, ledger, named("analyst", analyst)
        self._tables, self._key, self._on_failure, self._on_close = tables, key, on_failure, on_close
        self._running = CancelGroup()
        self._priced = PricedBefore()
        self._lifetime = Lifetime("this session", remedy="open a new one", within=within)

    def for_analyst(self, analyst: str) -> "Session":
        """Return a session of somebody at the same door, with the same tables; it can be cancelled by itself."""
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
        beside._priced = self._priced
        return beside

    @shows_words(QuestionWords, confidence="0.95")
    def preview(self, question: QuestionLike, **words: Unpack[QuestionWords]) -> Preview:
        """Say what a question would cost, how far off its answer would be, and what would be left. It is free.

        Parameters
        ----------
        question : a question, a SELECT, or questions by the names of their columns, which are charged as one
        words : `epsilon=`, `epsilon=` with `delta=`, or `rho=`; or `within=`, how far off all numbers may be at a
            `confidence=`, for the smallest price that gives it; `max_rows=` and `max_groups=` are for a SELECT from
            tables with many rows a person: any other question says them itself
        """
        ways, snapshot = self._ways(question, **words)
        confidence = words.get("confidence", CONFIDENCE)
        segments, previews = self.population.touched, list[Preview]()
        for asked in ways:
            charge = SingleRelease(event=asked.event, segments=segments)
            previews.append(Preview.of(asked, self._status(snapshot, segments, charge, asked.tables), confidence))
        return next((one for one in previews if one.affordable), previews[0])

    @shows_words(QuestionWords, confidence="0.95")
    def ask(self, question: QuestionLike, *, key: str | None = None, **words: Unpack[QuestionWords]) -> Answer:
        """Ask a question, and pay for it.

        Say what to pay, `epsilon=` (with `delta=`) or `rho=`, or how exact it must be, `within=` at a `confidence=`.
        These and, for a SELECT, `max_rows=` and `max_groups=` are the words of `preview`.

        The same question at the same price about the same data is answered as it was before, for free. So is the same
        `key`, for ever: ask again with it where it is not known whether the first time went through. A
        `BadQuestionError` or `BudgetError` costs nothing; an `EngineError` came after the charge, which stays.
        """
        (asked, *others), snapshot = self._ways(question, **words)
        with self._tables.hold(snapshot.versions):  # what the question is about stays open until it has its end
            fault_point("ask.checked")
            try:
                return self._charge_and_answer(asked, key, snapshot)
            except (BudgetExceededError, RequestConflictError):
                for other in others:
                    with suppress(BudgetExceededError, RequestConflictError):
                        return self._charge_and_answer(other, key, snapshot)
                raise

    @shows_words(QuestionWords, confidence="0.95")
    def stored(
        self, question: QuestionLike, *, key: str | None = None, **words: Unpack[QuestionWords]
    ) -> Answer | None:
        """Return the answer that `ask` would give for nothing, or None if it would charge.

        Nothing is written, charged or read from a database, so it works while none can be reached. A `key` that was
        charged and has no answer is an `UnansweredError`, as it is for `ask`.
        """
        for asked in self._ways(question, **words)[0]:
            told = self.ledger.questions.stored(self._request(asked, key))
            if told is not None:
                return _answer(asked, told, free=True)
        return None

    @shows_words(QuestionWords, confidence="0.95")
    def sql(self, text: str, *, key: str | None = None, **words: Unpack[QuestionWords]) -> Answer:
        """Ask one SELECT of statistics, with WHERE and GROUP BY; `key=` and the words are those of `ask` and `preview`.

        The statistics are charged as one, and each gets an equal share of the price; `within` is meant for each.
        """
        return self.ask(text, key=key, **words)

    @shows_words(TargetWords, confidence="0.95")
    def funnel(
        self, table: str, steps: Sequence[ConditionLike], *, key: str | None = None, **offer: Unpack[TargetWords]
    ) -> Answer:
        """Ask how many people pass the first step, the first two, and so on: one release, at the price of one count.

        The offer is `epsilon=`, `rho=` or `within=`, as in `preview`.
        """
        return self.ask({"people": funnel(table, steps)}, key=key, **offer)

    def concept_set(self, name: str, ids: "Iterable[int] | Iterable[str] | str | Path") -> ConceptSet:
        """Give many values one name, for `column in concept_set('name')` in the questions of this session.

        `ids` are the values, or the path of a file with one on each line. The set is no part of the population: it is
        what an analyst could have written out, and a question with it costs what it would have cost so.
        """
        given = concept_set(name, ids)
        others = tuple(one for one in self.population.concept_sets if one.name != given.name)
        self.population = replace(self.population, concept_sets=(*others, given))
        return given

    @shows_words(QuestionWords, confidence="0.95")
    def rehearse(self, question: QuestionLike, **words: Unpack[QuestionWords]) -> Answer:
        """Answer a question from made-up rows that fit the declared columns: free, and about nobody.

        The words are those of `preview`, so that the noise is what it would be.
        """
        asked, engine = self._price(question, **words)[0], self._tables.rehearsal()
        numbers = hide_failures(
            lambda: asked.by_column([one.release(one.read(engine)) for one in asked.sources]), self._on_failure
        )
        return Answer(asked=asked, numbers=numbers, receipt=None, versions={}, free=True, rehearsal=True)

    @shows_words(StreamOffer, confidence="0.95")
    def preview_stream(self, **terms: Unpack[StreamOffer]) -> StreamPreview:
        """Say what a stream would cost, how sure its verdicts would be, and what would be left. It is free.

        The terms are those of `stream`. The margin is for `questions` verdicts, one if it is not said.
        """
        agreed = StreamTerms.of(self.population, **terms)
        confidence, questions = terms.get("confidence", CONFIDENCE), terms.get("questions", 1)
        status = self._status(self._snapshot(), None, agreed.reservation("preview"), [agreed.table])
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
        terms : `at_least=`, the number of people that is asked for, where a question does not say another; `yeses=`,
            after which it halts; `table=`, which may be left out where there is one table with a row a person; and
            `epsilon=`, what it costs when all yeses are given, or `within=` at a `confidence=`, for the smallest one at
            which the verdicts of `questions=` (one, if not said) are right for counts that are so far away. With
            `epsilon=` and `questions=` the threshold is placed for these questions; more may be asked
        """
        self._lifetime.require()
        agreed = StreamTerms.of(self.population, **terms)
        given = fresh_name() if key is None else key
        stream = self._stream(name_of_key(self.population.name, self.analyst, given) if name is None else name, agreed)
        with self._tables.hold(self.ledger.population(self.population.name).tables):
            return stream.open(self.analyst, given)

    def resume(self, name: str) -> QuestionStream:
        """Go on with a stream of this analyst that was opened before, here or in another process.

        A question that a dead process left in flight is settled first.
        """
        self._lifetime.require()
        record = self.ledger.streams.stream(name)
        if record.analyst != self.analyst or record.population != self.population.name:
            raise ParameterError("stream", name, reason="is not in this ledger", remedy="open it first")
        return self._stream(name, StreamTerms.read(record.terms)).settle(record)

    def tables(self) -> TableList:
        """Return what may be asked: the tables, with their columns, types, bounds and words. It is public, and free."""
        self._lifetime.require()
        return TableList(self.population.name, self.population.tables)

    def budget(self) -> BudgetStatus:
        """Return what the account has left, for everybody and for this analyst."""
        return self._status(self._snapshot(), self.population.touched)

    def cancel(self) -> None:
        """Stop every question of this session that is being read now, from any thread. Each is lost, and charged."""
        self._running.cancel()

    def planned_total(self, *, delta: Exact | None = None) -> PlannedTotal:
        """Return what all releases so far would cost together, had everything been fixed in advance. It gates nothing.

        It is shown beside the account, which counts what was chosen on the way and is what everybody is promised.
        `delta` is where epsilon is wanted: if it is not said, that of an (epsilon, delta) budget, else a millionth.
        """
        self._lifetime.require()
        account = self.ledger.account(self.population.name)
        book = self.ledger.bookings(self.population.name, at_most=MOST_BOOKINGS + 1)
        return planned_total(account, book, delta=delta, segments=self.population.touched)

    def close(self) -> None:
        """End the session: it answers nothing any more. What it shares with others stays open for them."""
        if self._lifetime.is_here:
            self._lifetime.end()
            self._on_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        tables = ", ".join(table.name for table in self.population.tables) or "no tables"
        return f"<session of {self.analyst} at {self.population.name}: {tables}>"

    def _status(
        self,
        snapshot: Snapshot,
        segments: frozenset[str] | None,
        charge: Charge | None = None,
        tables: Iterable[str] = (),
    ) -> BudgetStatus:
        """Return what some segments have left, and whether it may be spent: at all, or for this charge.

        Streams are paid by all segments.
        """
        own, decided = snapshot.allowance, snapshot.population
        refused: BudgetError | None = decided.suspension(self.analyst)
        if refused is None and charge is not None:
            refused = decided.forbids(self.analyst, tables, charge, snapshot.account)
        return BudgetStatus(
            account=snapshot.account.within(segments),
            allowance=own and own.within(segments),
            suspension=refused,
        )

    def _snapshot(self) -> Snapshot:
        """Return the account and the versions of the tables as they stand now: read once for a question."""
        self._lifetime.require()
        return self.ledger.snapshot(self.population.name, self.analyst)

    def _price(self, question: QuestionLike, **words: Unpack[QuestionWords]) -> tuple[PricedQuestion, Snapshot]:
        """Plan a question and choose the release of each plan, in the cheapest way."""
        ways, snapshot = self._ways(question, **words)
        return ways[0], snapshot

    def _ways(
        self,
        question: QuestionLike,
        *,
        max_rows: int | None = None,
        max_groups: int | None = None,
        **offer: Unpack[TargetWords],
    ) -> tuple[list[PricedQuestion], Snapshot]:
        """Plan a question and choose the releases of its plans, in each way to pay; a price is shared equally."""
        target, snapshot = parse_target(**offer), self._snapshot()
        budget = snapshot.account.budget
        terms = (target, type(budget), max_rows, max_groups)  # releases depend on the kind of budget alone
        ways = self._priced.find(question, terms, self.population)
        if ways is None:
            ways = self._price_anew(question, target, budget, max_rows, max_groups)
            self._priced.keep(question, terms, self.population, ways)
        return ways, snapshot

    def _price_anew(
        self, question: QuestionLike, target: Target, budget: Guarantee, max_rows: int | None, max_groups: int | None
    ) -> list[PricedQuestion]:
        if isinstance(question, str):
            question = read_sql(question, max_rows=max_rows, max_groups=max_groups)
        elif max_rows is not None or max_groups is not None:
            raise BadQuestionError(
                "max_rows and max_groups beside a question are for a SELECT; write them into the question itself: "
                "count(..., max_groups=3)"
            )
        asked = question if isinstance(question, Mapping) else {"answer": question}
        plans = plan_together(asked, self.population)
        of_all = arranged_together([one.arranged(name) for name, one in asked.items()])
        arrangement = question.arrangement if isinstance(question, Selection) else of_all
        if arrangement is not None and isinstance(target, Within):
            arrangement.check_within(target.margin)
        ways = dict[Event, PricedQuestion]()
        for way in ways_to_pay(target, budget):
            releases = release_together(asked, plans, self.population, way, budget)
            priced = PricedQuestion(releases=releases, arrangement=arrangement)
            ways.setdefault(priced.event, priced)
        return list(ways.values())

    def _request(self, asked: PricedQuestion, key: str | None) -> Request:
        return Request(
            population=self.population.name,
            analyst=self.analyst,
            key=fresh_name() if key is None else key,
            question=asked.text,
            tables=asked.tables,
            charge=SingleRelease(event=asked.event, segments=self.population.touched),
            fresh=key is None,
        )

    def _charge_and_answer(self, asked: PricedQuestion, key: str | None, snapshot: Snapshot) -> Answer:
        """Charge, commit, touch data, release; where somebody asks the same just now, their answer is everybody's."""
        request = self._request(asked, key)
        with self.ledger.questions.turn(request):
            try:
                charged = self.ledger.questions.charge(request)
            except BudgetExceededError as refused:
                accuracy = accuracy_at(asked.releases, refused.fits, snapshot.account.budget)
                raise refused.about(accuracy=accuracy, price=str(Price.of(asked.event))) from None
            fault_point("ask.charged")
            if isinstance(charged, Released):
                return _answer(asked, charged, free=True)
            try:
                return hide_failures(lambda: self._read_and_release(asked, charged), self._on_failure)
            except BaseException:
                with suppress(EngineError):  # where the ledger fails as well, the charge is kept and has no end
                    hide_failures(lambda: self.ledger.questions.lose(charged.seq), self._on_failure)
                raise

    def _read_and_release(self, asked: PricedQuestion, charged: Charged) -> Answer:
        """Read the data, add noise, commit, and tell what was committed. It is called inside `hide_failures` only."""
        with self._tables.lease(charged.versions) as engine, self._running.scope():
            exact = [one.read(engine) for one in asked.sources]
        fault_point("ask.read")
        released = [one.release(numbers) for one, numbers in zip(asked.sources, exact, strict=True)]
        fault_point("ask.noised")
        written = to_text(StoredAnswer(released=tuple(map(tuple, released)), versions=charged.versions))
        told = self.ledger.questions.answer(charged.seq, written)
        fault_point("ask.answered")
        return _answer(asked, told, free=False)

    def _stream(self, name: str, terms: StreamTerms) -> QuestionStream:
        may = self.ledger.population(self.population.name).analyst(self.analyst).tables
        people = self.population
        if may is not None:  # conditions may be about these only
            people = replace(people, tables=tuple(table for table in people.tables if table.name in may))
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


def _answer(asked: PricedQuestion, told: Released, *, free: bool) -> Answer:
    """Return the answer that stands in the ledger, under the names that its columns have now."""
    stored = from_text(StoredAnswer, told.answer)
    numbers = asked.by_column(stored.released)
    return Answer(asked=asked, numbers=numbers, receipt=told.receipt, versions=stored.versions, free=free)
