"""Streams of "at least so many?" questions, paid per yes, that survive any crash.

The protocol of one question, which no path may shorten:

1. its intent is committed, with the sealed seed of its noise, before data is read;
2. data is read, and the answer is decided with the noise that follows from that seed and no other;
3. outcome, price and halt are committed together, and only what was committed is told.

A question that a dead process left in flight is decided again with the same seed: a crash can depend only on an answer
that is given anyway. Where that cannot be, because the data moved on or the database failed, it is lost and costs
what a yes costs. Where the key or a seal is broken, or a value cannot be decided on, the stream is closed at its full
price. Fresh noise is never drawn.

Proof: proofs/stream_recovery.md
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from fractions import Fraction
from types import TracebackType
from typing import Final, Protocol, Self, TypeVar

from lapwing.answers import verdicts
from lapwing.answers.stream_terms import StreamTerms
from lapwing.answers.verdicts import StreamAnswer
from lapwing.engines.engine import Engine
from lapwing.engines.reading import hide_failures
from lapwing.ledger.faults import fault_point
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.stream_records import Decision, Intent, Opening, StreamOutcome, StreamStatus
from lapwing.ledger.stream_records import StreamRecord as Record
from lapwing.mechanisms.sparse_vector.stream import SparseVectorStream as Deciding
from lapwing.mechanisms.sparse_vector.stream_accuracy import Interval
from lapwing.noise.randomness import SYSTEM
from lapwing.noise.sealing import Purpose, SealedSource, fresh_seed, seal, unseal
from lapwing.queries.aggregate import Aggregate
from lapwing.queries.catalogue import Population
from lapwing.queries.plan import CanonicalQuestion, Plan
from lapwing.queries.planning import plan
from lapwing.queries.questions import ConditionLike
from lapwing.queries.statistics.at_least import AtLeast, AtLeastQuestion, at_least
from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.errors import (
    BadQuestionError,
    EngineError,
    ParameterError,
    SealBrokenError,
    StreamBusyError,
    StreamError,
    UnansweredError,
)
from lapwing.vocabulary.exact import Exact, as_int
from lapwing.vocabulary.lifetime import Lifetime
from lapwing.vocabulary.sensitive import Sensitive

T = TypeVar("T")

STEPS: Final = ("stream.sealed", "stream.opened", "stream.intended", "stream.read", "stream.decided", "stream.told")
"""The fault points of a stream, in their order (see `lapwing.ledger.faults`)."""

_PATIENCE: Final = 3
"""How often a question is put again when another process came first."""


class DataSource(Protocol):
    """Where the tables of a population are."""

    def check(self) -> None:
        """Refuse, before any charge, if the data cannot be reached, or is not what its version says."""

    def leased(self, versions: Mapping[str, int] | None = None) -> AbstractContextManager[Engine]:
        """Hold an engine on these versions of the tables open, or fail; where none are given, on what `check` found."""

    def rehearsal(self) -> Engine:
        """Return an engine on made-up rows."""


class QuestionStream:
    """A stream at the door of one population. Between two questions all of its state is in the ledger, sealed.

    It can therefore be left at any time and gone on with by its `name`, in this process or another. Leaving a `with`
    closes it, which gives back what no yes has used.
    """

    def __init__(
        self,
        name: str,
        *,
        population: Population,
        ledger: Ledger,
        data: DataSource,
        key: bytes,
        on_failure: Callable[[Exception], None],
        lifetime: Lifetime,
    ) -> None:
        self.name = name
        self._lifetime = lifetime
        self._population, self._ledger, self._data = population, ledger, data
        self._key, self._on_failure = key, on_failure

    def opened(self, terms: StreamTerms, analyst: str, key: str) -> Self:
        """Draw the noise of the threshold, seal it, and charge the stream with it."""
        sealed = self._kept_secret(lambda: terms.mechanism.open(name=self.name).suspend(self._key))
        fault_point("stream.sealed")
        self._ledger.streams.open(
            Opening(
                population=self._population.name,
                analyst=analyst,
                key=key,
                stream=self.name,
                charge=terms.reservation(self.name),
                units=terms.yeses,
                tables=frozenset(table.name for table in self._population.tables),
                terms=terms.written(),
                sealed=sealed,
            )
        )
        fault_point("stream.opened")
        return self

    def resumed(self, analyst: str) -> Self:
        """Go on with it, after what a dead process left in flight was settled. Only its own analyst may."""
        record = self.record
        if record.analyst != analyst or record.population != self._population.name:
            raise ParameterError("stream", self.name, reason="is not in this ledger", remedy="open it first")
        self.recover()
        return self

    @property
    def record(self) -> Record:
        """The stream as it stands in the ledger."""
        return self._ledger.streams.stream(self.name)

    @property
    def terms(self) -> StreamTerms:
        """What was agreed when it was opened."""
        return StreamTerms.read(self.record.terms)

    @property
    def spent(self) -> Fraction:
        """The epsilon that it has cost so far: its opening and its yeses, or all of it where that was paid at once."""
        return self.terms.spent(self.record.used, self._ledger.account(self._population.name))

    @property
    def yeses_left(self) -> int:
        """How many yeses it can still give."""
        record = self.record
        return record.units - record.used if record.status is StreamStatus.OPEN else 0

    def chance_of_yes(self, people: int) -> float:
        """Return the probability of a yes if there were really so many people. It is free: no data is involved."""
        return self.terms.chance_of_yes(people)

    def margin(self, questions: int = 1, confidence: Exact = "0.95") -> int:
        """Return how far counts must be from the threshold for so many questions to be all decided right."""
        return self.terms.margin(confidence, questions=questions)

    def interval(self, answer: StreamAnswer, confidence: Exact = "0.95") -> Interval | None:
        """Return where the count of a yes lies; None for a no. It is free.

        All intervals of the stream hold at once with this probability, so that it does not matter which of them is
        looked at; they are much wider than the noise of one answer, because a yes was given *for* a large gap.
        """
        return answer.interval(confidence)

    def ask(
        self, where: ConditionLike | AtLeastQuestion, *, at_least: int | None = None, key: str | None = None
    ) -> StreamAnswer:
        """Say, after noise, whether at least so many people have a row for which `where` is true.

        A question that this stream was asked before, about the same data, is answered as it was, for free.

        Parameters
        ----------
        where : which people, as SQL text or built with `col`; or the whole question, at_least(...)
        at_least : how many; the stream's own number if it is not given
        key : the idempotency key

        Raises
        ------
        StreamHaltedError, StreamClosedError, StreamBusyError : the stream takes no question now
        EngineError : the database failed; the question is lost, which costs what a yes costs
        """
        self._lifetime.require()
        question = self._planned(where, at_least)
        with self._data.leased():  # what the question will be about stays open until it has its outcome
            decision, free = self._intended(question, key)
            return self._answer(decision, free=free)

    def recover(self) -> None:
        """Settle the question that a dead process left in flight, if there is one: with its own seed, or as lost."""
        self._lifetime.require()
        intent = self.record.in_flight
        if intent is not None:
            self._decided(intent)

    def close(self) -> None:
        """End the stream: its secrets are destroyed, and what no yes has used is given back."""
        self.recover()
        self._ledger.streams.close(self.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<stream {self.name!r}: {self.record.used} of {self.record.units} yeses given>"

    def _planned(self, where: ConditionLike | AtLeastQuestion, people: int | None) -> Plan:
        terms = self.terms
        if isinstance(where, AtLeastQuestion):
            return self._planned_whole(where, people)
        wanted = terms.at_least if people is None else as_int("at_least", people, most=2**62)
        return plan(at_least(wanted, terms.table, where), self._population)

    def _planned_whole(self, question: AtLeastQuestion, people: int | None) -> Plan:
        """Return the plan of a question that says its own number and table, which must be the stream's."""
        planned, mine = plan(question, self._population), self._population.table(self.terms.table)
        if people is not None or planned.aggregate.table != mine.name:
            raise BadQuestionError(
                f"at_least(...) says how many people itself, and this stream asks about {mine.name}; write "
                f"at_least(20, {mine.name!r}, ...) alone"
            )
        return planned

    def _intended(self, question: Plan, given: str | None) -> tuple[Decision, bool]:
        """Commit the question with its seed and decide it, unless it was decided before; and say which it was."""
        key = fresh_name() if given is None else given
        for attempt in range(1, _PATIENCE + 1):
            number = self.record.asked + 1
            sealed = self._sealed_seed(number)
            try:
                intent = self._ledger.streams.intend(
                    self.name,
                    number=number,
                    key=key,
                    question=question.canonical,
                    sealed=sealed,
                    fresh=given is None,
                )
            except StreamBusyError:
                if attempt == _PATIENCE:
                    raise
                self.recover()  # harmless if that process still lives: the seed decides for both alike
                continue
            except ParameterError as raced:
                if raced.name != "number" or attempt == _PATIENCE:
                    raise
                continue
            fault_point("stream.intended")
            return (intent, True) if isinstance(intent, Decision) else (self._decided(intent), False)
        raise AssertionError  # pragma: no cover - the last attempt returns or raises

    def _decided(self, intent: Intent) -> Decision:
        """Decide a question with the noise of its seed, and commit the outcome; return the one that stands."""
        record = self.record
        if record.in_flight is None or record.in_flight.number != intent.number:  # another process came first
            return self._standing(intent)
        deciding, source = self._unsealed(record, intent)
        question = CanonicalQuestion.read(intent.question)
        meaning, aggregate = question.meaning, question.aggregate
        if not isinstance(meaning, AtLeast):
            raise BadQuestionError("only whether there are at least so many people is asked in a stream")
        return self._kept_secret(lambda: self._settled(intent, aggregate, meaning, deciding, source))

    def _settled(
        self, intent: Intent, aggregate: Aggregate, meaning: AtLeast, deciding: Deciding, source: SealedSource
    ) -> Decision:
        """Read, decide, commit. What fails and is not settled here leaves the question in flight, with its seed."""
        try:
            value = self._kept_secret(lambda: self._read(aggregate, intent.versions))
        except EngineError:
            self._lost(intent, deciding)
            raise
        fault_point("stream.read")
        try:
            answer = self._kept_secret(lambda: deciding.ask(value, meaning.people, source=source))
        except EngineError:  # what failed on the value may depend on it, and has closed itself
            self._ledger.streams.forfeit(self.name)
            raise
        fault_point("stream.decided")
        decision = self._ledger.streams.decide(
            self.name,
            number=intent.number,
            outcome=StreamOutcome.YES if answer else StreamOutcome.NO,
            answer=verdicts.written(answer),
            sealed=deciding.suspend(self._key),
        )
        fault_point("stream.told")
        return decision

    def _read(self, aggregate: Aggregate, versions: Mapping[str, int]) -> Sensitive[int]:
        with self._data.leased(versions) as engine:
            (value,) = engine.numbers([aggregate], versions=versions)
            return value

    def _standing(self, intent: Intent) -> Decision:
        """Return the outcome that a settled question has in the ledger, found by its key."""
        stands = self._ledger.streams.intend(
            self.name, number=intent.number, key=intent.key, question=intent.question, sealed=intent.sealed
        )
        if isinstance(stands, Intent):  # pragma: no cover - its key is in the ledger
            raise StreamError(f"question {intent.number} of stream {self.name!r} has no outcome")
        return stands

    def _unsealed(self, record: Record, intent: Intent) -> tuple[Deciding, SealedSource]:
        """Open the seals, or forfeit the stream: what cannot be opened is never guessed."""
        opened = self._kept_secret(lambda: self._opened(record, intent))
        if isinstance(opened, SealBrokenError):
            self._ledger.streams.forfeit(self.name)
            raise opened
        return opened

    def _opened(self, record: Record, intent: Intent) -> tuple[Deciding, SealedSource] | SealBrokenError:
        mechanism = StreamTerms.read(record.terms).mechanism
        try:
            deciding = mechanism.resume(record.sealed or b"", key=self._key, sequence=record.seals, name=self.name)
            seed = unseal(intent.sealed, key=self._key, purpose=Purpose.SEED, stream=self.name, sequence=intent.number)
        except SealBrokenError as broken:
            return SealBrokenError(*broken.args)  # a new one, for frames of the old one hold the key
        return deciding, SealedSource(seed)

    def _sealed_seed(self, number: int) -> bytes:
        return self._kept_secret(
            lambda: seal(fresh_seed(), key=self._key, purpose=Purpose.SEED, stream=self.name, sequence=number)
        )

    def _kept_secret(self, work: Callable[[], T]) -> T:
        """Do what handles a value, a seed or the key, and return its result, or fail without a trace of them."""
        return hide_failures(work, self._on_failure)

    def _lost(self, intent: Intent, deciding: Deciding) -> None:
        deciding.lose()
        self._ledger.streams.decide(
            self.name, number=intent.number, outcome=StreamOutcome.LOST, sealed=deciding.suspend(self._key)
        )

    def _answer(self, decision: Decision, *, free: bool = False) -> StreamAnswer:
        if decision.answer is None:
            raise UnansweredError(f"question {decision.number}", seq=decision.receipt.seq, lost=True)
        told = decision.answer
        return self._kept_secret(lambda: verdicts.read(told, decision, self.record, free=free))


def fresh_name() -> str:
    """Return a name that nothing else has."""
    return SYSTEM.take(16).hex()


def name_of_key(population: str, analyst: str, key: object) -> str:
    """Return the name of a stream that was given a key only, so that the same key opens the same stream again."""
    return digest(["stream", population, analyst, str(key)])[:32]
