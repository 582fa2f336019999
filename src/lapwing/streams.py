"""Streams of "at least N people?" questions, paid per yes, that survive any crash.

A stream is a reservation (`ledger.reservations`), and its questions are the rounds:

1. the intent is committed, with the sealed seed of its noise, before data is read;
2. data is read, and the answer is decided with the noise that follows from that seed and no other;
3. outcome, price and halt are committed together, and only what was committed is returned.

What a dead process left in flight is decided again with the same seed: a crash can depend only on an answer that is
given anyway. Where that cannot be, because the data moved on or the database failed, it is lost and costs what a yes
costs. Where the key or a seal is broken, or a value cannot be decided on, the stream is closed at its full price. Fresh
noise is never drawn.

Proof: proofs/stream_recovery.md
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import cached_property, wraps
from typing import Concatenate, Final, ParamSpec, Self, TypeVar

from lapwing.answers.stream_answers import StreamAnswers
from lapwing.answers.stream_terms import StreamAnswer, StreamTerms, read_verdict
from lapwing.engines.reading import CancelGroup, hide_failures
from lapwing.ledger.entries import name as named
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.queue import PATIENCE
from lapwing.ledger.reservation_states import Decision, Intent, Opening, ReservationRecord, RoundOutcome, full_name
from lapwing.ledger.states import MovedOnError
from lapwing.ledger.store import fault_point
from lapwing.mechanisms.sparse_vector.corridor import CorridorStream
from lapwing.mechanisms.sparse_vector.stream import SparseVectorStatus, SparseVectorStream
from lapwing.noise.randomness import fresh_name
from lapwing.noise.sealing import Purpose, SealedSource, fresh_seed, seal, unseal
from lapwing.queries.algebra.predicate import Predicate
from lapwing.queries.catalogue.population import Population
from lapwing.queries.language.builders import ConditionLike
from lapwing.queries.planning.plan import CanonicalQuestion, Plan
from lapwing.queries.statistics.cohort_grid import Cohort, StreamPlanner
from lapwing.queries.statistics.counts import AtLeastQuestion
from lapwing.queries.statistics.streamed import ValueStreamPlanner, asked_for
from lapwing.tables import Tables
from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.deadline import no_deadline
from lapwing.vocabulary.errors import (
    EngineError,
    ParameterError,
    SealBrokenError,
    StreamBusyError,
    StreamHaltedError,
    UnansweredError,
)
from lapwing.vocabulary.exact import Exact, Sensitive
from lapwing.vocabulary.lifetime import Lifetime
from lapwing.vocabulary.results import Interval

T = TypeVar("T")
P = ParamSpec("P")

STEPS: Final = ("stream.sealed", "stream.opened", "stream.intended", "stream.read", "stream.decided", "stream.told")
"""The fault points of a stream, in their order (see `lapwing.ledger.store`)."""

MOST_TOGETHER: Final = 2000  # how many questions are committed, read and decided together
_PATIENCE: Final = 8  # how often a question is put again when another process came first


def opaque(method: "Callable[Concatenate[QuestionStream, P], T]") -> "Callable[Concatenate[QuestionStream, P], T]":
    """Let a method that handles a value, a seed or the key fail without a trace of them (`hide_failures`)."""

    @wraps(method)
    def hidden(self: "QuestionStream", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return hide_failures(lambda: method(self, *args, **kwargs), self._on_failure)

    return hidden


class QuestionStream:
    """A stream at the door of one population. Between two questions all of its state is in the ledger, sealed.

    It can therefore be left at any time and gone on with by its `name`, in this process or another. Leaving a `with`
    closes it, which gives back what no yes has used. `terms` are what was agreed when it was opened.
    """

    def __init__(
        self,
        name: str,
        terms: StreamTerms,
        *,
        population: Population,
        ledger: Ledger,
        tables: Tables,
        running: CancelGroup,
        key: bytes,
        on_failure: Callable[[Exception], None],
        lifetime: Lifetime,
    ) -> None:
        self.name, self.terms, self._population = name, terms, population
        self._ledger, self._streams, self._reservations = ledger, ledger.streams, ledger.reservations
        self._tables, self._running, self._full_name = tables, running, full_name(population.name, name)
        self._key, self._on_failure, self._lifetime = key, on_failure, lifetime

    def open(self, analyst: str, key: str) -> Self:
        """Draw the noise of the threshold, seal it, and charge the stream with it."""
        sealed = self._seal_threshold()
        fault_point("stream.sealed")
        self._reservations.open(
            Opening(
                population=self._population.name,
                analyst=analyst,
                key=key,
                name=self.name,
                charge=self.terms.reservation(self.name),
                units=self.terms.yeses,
                dearest=1,
                tables=frozenset({self.terms.table, *(table.name for table in self._population.tables)}),
                terms=self.terms.to_text(),
                sealed=sealed,
            )
        )
        fault_point("stream.opened")
        return self

    def settle(self, record: ReservationRecord) -> Self:
        """Decide what `record` has in flight, if anything, unless a process that lives is deciding it just now."""
        with self._ledger.store.gate.working(self._full_name) as is_ours:
            if is_ours and record.in_flight is not None:
                self._settle(record.in_flight)
        return self

    def _settle(self, intent: Intent) -> None:
        """Decide what is in flight as it was asked; if the database fails again, it is lost."""
        try:
            self._decide(intent, [CanonicalQuestion.read(question) for question in intent.questions])
        except EngineError:
            self._lose(intent)

    @property
    def record(self) -> ReservationRecord:
        """The stream as it stands in the ledger."""
        return self._reservations.find(self.name)

    @property
    def _seen(self) -> ReservationRecord:
        """The stream as this process saw it last; the commit of a question detects if it has moved on since."""
        return self._reservations.seen(self.name) or self.record

    @property
    def spent(self) -> Fraction:
        """The epsilon that it has cost so far: its opening and its yeses, or all of it where that was paid at once."""
        return self.terms.spent(self.record.used, self._ledger.account(self._population.name))

    @property
    def yeses_left(self) -> int:
        """How many yeses it can still give."""
        return self.record.units_left

    def chance_of_yes(self, people: Exact) -> float:
        """Return the probability of a yes if there were really `people`. It is free: no data is involved."""
        return self.terms.chance_of_yes(people)

    def margin(self, questions: int = 1, confidence: Exact = "0.95") -> int | Fraction:
        """Return how far counts must be from the threshold for all of these questions to be decided right."""
        return self.terms.margin(confidence, questions=questions)

    def interval(self, answer: StreamAnswer, confidence: Exact = "0.95") -> Interval | None:
        """Return where the count of a yes lies; None for a no. It is free.

        All intervals of the stream hold at once with this probability, so that it does not matter which of them is
        looked at; they are much wider than the noise of one answer, because a yes was given *for* a large gap.
        """
        return answer.interval(confidence)

    def ask(
        self, where: ConditionLike | AtLeastQuestion, *, at_least: Exact | None = None, key: str | None = None
    ) -> StreamAnswer:
        """Say, after noise, whether at least a number of people have a row for which `where` is true.

        A question that this stream was asked before, about the same data, is answered as it was, for free.

        Parameters
        ----------
        where : which people, as SQL text or built with `col`; or the whole question, at_least(...); of a stream of
            correlations, the value that is correlated
        at_least : how many; the stream's own number if it is not given
        key : the idempotency key

        If the database fails (`EngineError`), the question is lost, which costs what a yes costs.
        """
        self._lifetime.require()
        ((question, text),) = self._planner.plan([where], at_least)
        return self._ask_together({text: question}, fresh_name() if key is None else key, fresh=key is None)[text]

    def ask_many(
        self,
        wheres: Iterable[ConditionLike | AtLeastQuestion | Cohort],
        *,
        at_least: Exact | Sequence[int] | None = None,
        key: str | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> StreamAnswers:
        """Say the same for many conditions, in their order, until they or the yeses of the stream are used up.

        It is many times as fast as one by one, and as durable: up to 2,000 questions are committed together before data
        is read, and their answers before any is returned. A condition that was asked before is answered as it was, for
        free. All are read before the first is asked, so that a bad one costs nothing; after the halt is no answer.

        If the database fails (`EngineError`), up to 2,000 questions stay in flight, and nothing is lost: the next
        question decides them with the noise that they have. If it fails again then, they are lost, which costs a yes
        for each of them, as far as the stream has yeses left. (Where only one had to be asked, it is lost at once.)

        Parameters
        ----------
        wheres : which people, as in `ask`, one for each question; or a grid of cohorts, whose labels are kept
        at_least : how many, for all of them or for each; the stream's own number if it is not given
        key : the idempotency key of the whole
        progress : called with how many of how many different conditions have been asked

        Proof: proofs/stream_recovery.md
        """
        self._lifetime.require()
        people = list(wheres)
        planned = self._planner.plan([one.where if isinstance(one, Cohort) else one for one in people], at_least)
        asked = {text: plan for plan, text in planned}
        texts, given, told = list(asked), fresh_name() if key is None else key, dict[str, StreamAnswer]()
        named("key", f"{given} {len(texts)}")  # a key that is too long for a later part is refused before the first
        for part, start in zip(_keys(given, len(texts)), range(0, len(texts), MOST_TOGETHER), strict=True):
            some = {text: asked[text] for text in texts[start : start + MOST_TOGETHER]}
            with suppress(StreamHaltedError):  # a later part may have been asked before
                told |= self._ask_together(some, part, fresh=key is None)
            if progress is not None:
                progress(start + len(some), len(texts))
        if texts and not told:
            raise StreamHaltedError(yeses=self.record.used)
        labels = tuple(one.labels if isinstance(one, Cohort) else {} for one in people)
        return StreamAnswers(answers=tuple(told.get(text) for _, text in planned), labels=labels if any(labels) else ())

    def _ask_together(self, questions: dict[str, Plan], key: str, *, fresh: bool) -> dict[str, StreamAnswer]:
        """Commit, read, decide, commit, return: for one question, or for many at once."""
        record, texts = self._seen, list(questions)

        def put(number: int, seed: bytes) -> tuple[Intent | None, dict[str, Decision]]:
            return self._streams.intend(
                self.name, number=number, key=key, questions=texts, sealed=seed, fresh=fresh, held=held
            )

        while True:  # once more for each version that is announced before the intent
            with suppress(MovedOnError), self._hold(record) as held:
                intent, known = self._commit(record, put)
                told = {text: self._answer(one, free=True) for text, one in known.items()}
                if intent is not None:
                    decided = self._decide(intent, [questions[text] for text in intent.questions])
                    if not decided:
                        raise UnansweredError(key, seq=intent.seq, lost=True)
                    told |= {text: self._answer(one, free=False) for text, one in decided.items()}
                return told
            record = self.record

    def stored(
        self, wheres: Iterable[ConditionLike | AtLeastQuestion], *, at_least: Exact | None = None
    ) -> StreamAnswers | None:
        """Return the answers that `ask_many` would give for nothing, or None if it would ask something.

        Nothing is written, charged or read from a database. See `Session.stored`.
        """
        self._lifetime.require()
        texts = [text for _, text in self._planner.plan(wheres, at_least)]
        known = self._streams.recalled(self.name, list(dict.fromkeys(texts)))
        if any(text not in known for text in texts):
            return None
        return StreamAnswers(answers=tuple(self._answer(known[text], free=True) for text in texts), labels=())

    def recover(self) -> None:
        """Settle the question that a dead process left in flight, if there is one: with its own seed, or as lost."""
        self._lifetime.require()
        self.settle(self.record)

    def close(self) -> None:
        """End the stream: its secrets are destroyed, and what no yes has used is given back."""
        self.recover()
        self._reservations.close(self.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        record = self.record
        return f"<stream {self.name!r}: {record.used} of {record.units} yeses given>"

    def bound(self, wheres: Sequence[ConditionLike]) -> list[Predicate]:
        """Return what conditions mean, as they would be asked. It is free."""
        self._lifetime.require()
        return [plan.aggregate.where for plan, _ in self._planner.plan(wheres, 1)]

    def meaning(self, wheres: Iterable[ConditionLike | AtLeastQuestion], at_least: Exact | None = None) -> str:
        """Return a digest of the canonical texts of these questions, in their order. It is free."""
        self._lifetime.require()
        return digest([text for _, text in self._planner.plan(wheres, at_least)])

    def keys_of(
        self, wheres: Iterable[ConditionLike | AtLeastQuestion], *, key: str, at_least: Exact | None = None
    ) -> list[str]:
        """Return the keys under which `ask_many` puts its parts, in their order: a part that was put stays there."""
        return _keys(key, len({text for _, text in self._planner.plan(wheres, at_least)}))

    @cached_property
    def _planner(self) -> StreamPlanner | ValueStreamPlanner:
        return planner_of(self._population, self.terms)

    @contextmanager
    def _hold(self, record: ReservationRecord) -> Iterator[Mapping[str, int]]:
        """Hold the tables and the gate of the stream until the outcome, so that no process takes it for abandoned."""
        with self._tables.hold(record.versions) as held, self._ledger.store.gate.working(self._full_name, PATIENCE):
            yield held

    @no_deadline()
    def _commit(self, record: ReservationRecord, put: Callable[[int, bytes], T]) -> T:
        """Commit what is asked, with its seed, as the next number; again, where another process came first."""
        for attempt in range(1, _PATIENCE + 1):
            number = record.asked + 1
            try:
                committed = put(number, self._seal_seed(number))
            except StreamBusyError:
                if attempt == _PATIENCE:
                    raise
                record = self.record
                if record.in_flight is not None:  # of a dead process; or else the seed decides for both alike
                    self._settle(record.in_flight)
            except ParameterError as raced:
                if raced.name != "number" or attempt == _PATIENCE:
                    raise
                record = self.record
            else:
                fault_point("stream.intended")
                return committed
        raise AssertionError  # pragma: no cover - the last attempt returns or raises

    @no_deadline()
    def _decide(self, intent: Intent, questions: Sequence[Plan | CanonicalQuestion]) -> dict[str, Decision]:
        """Decide questions with the noise of their one seed, and commit the outcomes; return the committed ones."""
        people = [asked_for(question.meaning) for question in questions]
        return self._unless_broken(self._read_and_decide(intent, questions, people))

    def _unless_broken(self, decided: T | SealBrokenError) -> T:
        if isinstance(decided, SealBrokenError):  # what cannot be opened is never guessed
            self._reservations.forfeit(self.name)
            raise decided
        return decided

    @opaque
    def _read_and_decide(
        self, intent: Intent, questions: Sequence[Plan | CanonicalQuestion], people: Sequence[int]
    ) -> dict[str, Decision] | SealBrokenError:
        """Read once, decide in order, commit once. What fails and is not settled here leaves the questions in flight.

        One alone and a list draw from a seed in different ways, and it must be the same way each time.
        """
        opened = self._unseal(intent)
        if isinstance(opened, SealBrokenError):
            return opened
        stream, source = opened
        try:
            values = self._read(intent, questions)
        except EngineError:
            if len(questions) == 1:  # of many too much would be lost: they may be tried once more, with the same seed
                self._count_lost(intent)
            raise
        fault_point("stream.read")
        if intent.many:
            answers = list(self._compare(lambda: stream.ask_many(values, people, source=source)))
        else:
            answers = [self._compare(lambda: stream.ask(values[0], people[0], source=source))]
        fault_point("stream.decided")
        told = [
            (RoundOutcome.YES if answer else RoundOutcome.NO, self.terms.write_answer(answer)) for answer in answers
        ]
        decided = self._streams.decide(self.name, number=intent.number, answers=told, sealed=stream.suspend(self._key))
        fault_point("stream.told")
        return decided

    @opaque
    def _read(self, intent: Intent, questions: Sequence[Plan | CanonicalQuestion]) -> list[Sensitive[int]]:
        with self._tables.lease(intent.versions) as engine, self._running.scope():
            return engine.numbers([question.aggregate for question in questions], versions=intent.versions)

    @opaque
    def _compare(self, decide: Callable[[], T]) -> T:
        try:
            return hide_failures(decide, self._on_failure)
        except EngineError:  # what failed on the value may depend on it, and has closed itself
            self._reservations.forfeit(self.name)
            raise

    @opaque
    def _unseal(self, intent: Intent) -> tuple[SparseVectorStream | CorridorStream, SealedSource] | SealBrokenError:
        try:
            name, number = self._full_name, intent.number
            stream = self.terms.mechanism.resume(intent.state, key=self._key, sequence=intent.seals, name=name)
            seed = unseal(intent.sealed, key=self._key, purpose=Purpose.SEED, stream=name, sequence=number)
        except SealBrokenError as broken:
            return SealBrokenError(*broken.args)  # a new one, for frames of the old one hold the key
        return stream, SealedSource(seed)

    @opaque
    def _seal_threshold(self) -> bytes:
        return self.terms.mechanism.open(name=self._full_name).suspend(self._key)

    @opaque
    def _seal_seed(self, number: int) -> bytes:
        return seal(fresh_seed(), key=self._key, purpose=Purpose.SEED, stream=self._full_name, sequence=number)

    def _lose(self, intent: Intent) -> None:
        """Give questions up: as if each had been a yes, as far as the stream has yeses left."""
        self._unless_broken(self._count_lost(intent))

    @opaque
    def _count_lost(self, intent: Intent) -> SealBrokenError | None:
        opened = self._unseal(intent)
        if isinstance(opened, SealBrokenError):
            return opened
        stream, _ = opened
        for _ in intent.questions:
            if stream.status is SparseVectorStatus.OPEN:
                stream.lose()
        self._streams.decide(self.name, number=intent.number, answers=None, sealed=stream.suspend(self._key))
        return None

    @opaque
    def _answer(self, decision: Decision, *, free: bool) -> StreamAnswer:
        return read_verdict(decision, self.terms, free=free)


def planner_of(population: Population, terms: StreamTerms) -> StreamPlanner | ValueStreamPlanner:
    """Return what plans the questions of a stream with these terms."""
    if terms.streamed is None:
        return StreamPlanner(population, terms.table, terms.at_least)
    return ValueStreamPlanner(population, terms.table, terms.streamed)


def name_of_key(population: str, analyst: str, key: object) -> str:
    """Return the name of a stream that was given a key only, so that the same key opens the same stream again."""
    return digest(["stream", population, analyst, str(key)])[:32]


def _keys(key: str, questions: int) -> list[str]:
    """Return the key of each part that a number of different questions is cut into."""
    return [f"{key} {start}" if start else key for start in range(0, questions, MOST_TOGETHER)]
