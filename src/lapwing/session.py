"""The spine: the one place where a question becomes an answer.

Plan, price, charge, commit, read, add noise, commit, return: in this order, with no way around. Until the
charge, nothing depends on data; a refusal costs nothing. After it, there is the answer, or one failure that says
nothing and keeps the charge. Noise is drawn once for a charge, never again.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Self, Unpack

from lapwing.accounting.composition import MOST_BOOKINGS, PlannedTotal, planned_total
from lapwing.accounting.filters.charge import SingleRelease
from lapwing.answers.answer import Answer
from lapwing.answers.budget import BudgetStatus
from lapwing.answers.preview import OfferedTerms, Preview, Pricing, QuestionLike, QuestionWords
from lapwing.answers.releases import CONFIDENCE, Price, PricedQuestion, StoredAnswer, meanings_of, read_together
from lapwing.answers.target import TargetWords, accuracy_at, in_each_way, parse_target
from lapwing.engines.reading import CancelGroup, hide_failures
from lapwing.ledger.entries import name as named
from lapwing.ledger.ledger import Ledger, Snapshot
from lapwing.ledger.questions import Charged, Released, Request
from lapwing.ledger.states import MovedOnError
from lapwing.ledger.store import fault_point
from lapwing.noise.randomness import fresh_name
from lapwing.queries.catalogue import Population, TableList
from lapwing.queries.limits import MOST_NUMBERS, MOST_TOGETHER_CANONICAL
from lapwing.queries.public_tables import ConceptSet, concept_set
from lapwing.queries.questions import ConditionLike
from lapwing.queries.statistics.funnel import funnel
from lapwing.stream_opening import StreamOpener
from lapwing.tables import Tables
from lapwing.vocabulary.codec import from_text, to_text
from lapwing.vocabulary.errors import (
    BadQuestionError,
    BudgetExceededError,
    EngineError,
    RequestConflictError,
)
from lapwing.vocabulary.exact import Exact
from lapwing.vocabulary.lifetime import Lifetime
from lapwing.vocabulary.results import shows_words

STEPS: Final = ("ask.checked", "ask.charged", "ask.read", "ask.noised", "ask.answered")
"""The fault points of a question, in their order (see `lapwing.ledger.store`)."""

MOST_TOGETHER: Final = 1000
"""How many questions are charged, read and answered together; whoever else asks waits for them."""


class Session(StreamOpener):
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
        self._pricing = Pricing()
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
        beside._pricing = self._pricing
        return beside

    def meanings(self, questions: Sequence[QuestionLike], **words: Unpack[QuestionWords]) -> list[str]:
        """Return what tells these questions at this price from all others, in each way to pay for them."""
        return meanings_of(in_each_way(self._ways(questions, **words)[0]))

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
        (ways,), snapshot = self._ways([question], **words)
        confidence = words.get("confidence", CONFIDENCE)
        segments, previews = self.population.touched, list[Preview]()
        for asked in ways:
            charge = SingleRelease(event=asked.event, segments=segments)
            status = BudgetStatus.of(snapshot, self.analyst, segments, charge, asked.tables)
            previews.append(Preview.of(asked, status, confidence))
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
        (answer,) = self._ask_together([question], [key], **words)
        return answer

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
        asked = list(questions)
        if len(asked) > MOST_TOGETHER:
            many = f"{len(asked):,} questions are asked at once, more than {MOST_TOGETHER:,}"
            raise BadQuestionError(f"{many}; ask them in parts")
        keys = [None if key is None else f"{key} {number}" for number in range(1, len(asked) + 1)]
        return self._ask_together(asked, keys, **words) if asked else []

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
        charged and has no answer is an `UnansweredError`, as it is for `ask`. Whoever keeps which answer a key stands
        for says its `entry`, 0 for none: it is that one, also when the data has changed since.
        """
        (ways,), _ = self._ways([question], **words)
        found = self.ledger.questions.find_stored([self._request(asked, key) for asked in ways], entry=entry)
        return found and _answer(ways[found[0]], found[1], free=True)

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
        self.population = self.population.with_concept_set(given := concept_set(name, ids))
        self._pricing = Pricing()  # of this session alone: for others at the door it would be kept and never found
        return given

    @shows_words(QuestionWords, confidence="0.95")
    def rehearse(self, question: QuestionLike, **words: Unpack[QuestionWords]) -> Answer:
        """Answer a question from made-up rows that fit the declared columns: free, and about nobody.

        The words are those of `preview`, so that the noise is what it would be.
        """
        ((asked, *_),), _ = self._ways([question], **words)
        engine = self._tables.rehearsal()
        numbers = hide_failures(
            lambda: asked.by_column([one.release(one.read(engine)) for one in asked.sources]), self._on_failure
        )
        return Answer(asked=asked, numbers=numbers, receipt=None, versions={}, free=True, rehearsal=True)

    def tables(self) -> TableList:
        """Return what may be asked: the tables, with their columns, types, bounds and words. It is public, and free."""
        self._lifetime.require()
        return TableList(self.population.name, self.population.tables, self.population.vocabularies)

    def budget(self) -> BudgetStatus:
        """Return what the account has left, for everybody and for this analyst."""
        return BudgetStatus.of(self._snapshot(), self.analyst, self.population.touched)

    def planned_total(self, *, delta: Exact | None = None) -> PlannedTotal:
        """Return what all releases so far would cost together, had everything been fixed in advance. It gates nothing.

        It is shown beside the account, which counts what was chosen on the way and is what everybody is promised.
        `delta` is where epsilon is wanted: if it is not said, that of an (epsilon, delta) budget, else a millionth.
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        tables = ", ".join(table.name for table in self.population.tables) or "no tables"
        return f"<session of {self.analyst} at {self.population.name}: {tables}>"

    def _snapshot(self) -> Snapshot:
        """Return the account and the versions of the tables as they stand now: read once for a question."""
        self._lifetime.require()
        return self.ledger.snapshot(self.population.name, self.analyst)

    def _ways(
        self,
        questions: Sequence[QuestionLike],
        *,
        max_rows: int | None = None,
        max_groups: int | None = None,
        **offer: Unpack[TargetWords],
    ) -> tuple[list[list[PricedQuestion]], Snapshot]:
        """Plan questions and choose the releases of their plans, in each way to pay, at one moment of the ledger."""
        target, snapshot = parse_target(**offer), self._snapshot()
        terms = OfferedTerms(target, snapshot.account.budget, max_rows, max_groups)
        ways, numbers, characters = list[list[PricedQuestion]](), 0, 0
        for question in questions:
            ways.append(self._pricing.price(question, self.population, terms))
            if len(questions) > 1:  # of one alone they were counted
                numbers, characters = numbers + ways[-1][0].numbers, characters + len(ways[-1][0].text)
                _check_together(numbers, characters)
        return ways, snapshot

    def _ask_together(
        self, questions: Sequence[QuestionLike], keys: Sequence[str | None], **words: Unpack[QuestionWords]
    ) -> list[Answer]:
        """Price, charge, touch data, release, tell: for one question, or for many at once."""
        ways, snapshot = self._ways(questions, **words)
        first, *others = in_each_way(ways)
        while True:  # once more for each version that is announced before the charge
            # What they are about stays open until they have their end.
            with suppress(MovedOnError), self._tables.hold(snapshot.versions, reads=True) as held:
                fault_point("ask.checked")
                try:
                    return self._charge_and_answer(first, keys, snapshot, held)
                except (BudgetExceededError, RequestConflictError):
                    for other in others:
                        with suppress(BudgetExceededError, RequestConflictError):
                            return self._charge_and_answer(other, keys, snapshot, held)
                    raise
            snapshot = self._snapshot()

    def _charge_and_answer(
        self, asked: Sequence[PricedQuestion], keys: Sequence[str | None], snapshot: Snapshot, held: Mapping[str, int]
    ) -> list[Answer]:
        """Charge, commit, touch data, release; where somebody asks the same just now, their answer is everybody's."""
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
            raise refused.about(accuracy=accuracy, price=Price.of(asked[0].event)) from None

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
    """Return the answers that stand in the ledger; of questions that were paid for, the first of each is."""
    left, answers = set(paid), []
    for one in asked:
        end = ends[one.text]
        if isinstance(end, Released):
            answers.append(_answer(one, end, free=one.text not in left))
        left.discard(one.text)
    return answers


def _answer(asked: PricedQuestion, told: Released, *, free: bool) -> Answer:
    """Return the answer that stands in the ledger, under the names that its columns have now."""
    stored = from_text(StoredAnswer, told.answer)
    numbers = asked.by_column(stored.released)
    return Answer(asked=asked, numbers=numbers, receipt=told.receipt, versions=stored.versions, free=free)
