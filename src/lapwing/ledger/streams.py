"""Streams of questions that survive a restart: opened once, one question in flight at a time, each with one outcome.

The protocol, which no caller may shorten:

1. `open` charges the stream and stores its sealed state, in one transaction.
2. `intend` stores the question and the sealed seed of its noise before any data is read.
3. `decide` stores the outcome, the price of a yes and the halt together; what it returns is what may be told.
4. After a crash, the question in flight is decided again *with the same seed*, or is `LOST`, which costs as much as a
   yes. Never with fresh noise: the crash itself may depend on the first draw.
5. `close`, or the halt, destroys the secrets and gives back what no yes has used.

Secrets are sealed by the caller with a key that the ledger never sees. They are stored beside the chain, and nothing in
the chain is derived from them.
"""

from typing import Any, Final, NamedTuple

from lapwing.accounting.filters.account import Admission
from lapwing.accounting.filters.charge import StreamClosing, YesCharge
from lapwing.ledger import vault
from lapwing.ledger.chronicle import Chronicle
from lapwing.ledger.entries import Entry, name, text
from lapwing.ledger.questions import known_request, recall_digest
from lapwing.ledger.spending import RefusedError, Spending
from lapwing.ledger.stream_records import Decision, Intent, Opening, StreamOutcome, StreamRecord, StreamStatus
from lapwing.ledger.transaction import Transaction
from lapwing.vocabulary.codec import digest, from_record
from lapwing.vocabulary.errors import (
    ParameterError,
    StreamBusyError,
    StreamClosedError,
    StreamError,
    StreamHaltedError,
)
from lapwing.vocabulary.exact import as_int

MOST_QUESTIONS: Final = 100_000
"""A no is free and leaves two entries, so that without a limit one stream could fill a disk."""


class Streams:
    """Opening, asking and closing streams."""

    def __init__(self, chronicle: Chronicle) -> None:
        self._chronicle = chronicle

    def open(self, opening: Opening) -> StreamRecord:
        """Charge a stream and store its secret, together. The same key again returns the stream as it stands.

        Raises
        ------
        BudgetExceededError : an account says no; nothing was charged, and the secret is to be thrown away
        RequestConflictError : the key belongs to another request
        """
        try:
            with self._chronicle.writing("open") as book:
                _open(book, opening)
                return _stream(book, opening.stream)
        except RefusedError as refused:
            raise refused.explained() from None

    def stream(self, stream: str) -> StreamRecord:
        """Return a stream as it stands."""
        with self._chronicle.reading() as book:
            return _stream(book, stream)

    def streams(self, population: str) -> list[StreamRecord]:
        """Return every stream of a population, the ended ones too."""
        with self._chronicle.reading() as book:
            return [_stream(book, name) for name in book.streams(population)]

    def intend(
        self, stream: str, *, number: int, key: str, question: str, sealed: bytes, fresh: bool = False
    ) -> Intent | Decision:
        """Store a question before data is read, or return the decision it already has.

        Parameters
        ----------
        stream : the stream it is asked in
        number : which question this is, one more than the last: what the seal is bound to
        key : the idempotency key
        question : the canonical text of the question
        sealed : the sealed seed of its noise
        fresh : as for a `Request`

        Raises
        ------
        StreamBusyError : another question has no outcome yet
        StreamHaltedError, StreamClosedError : the stream takes no questions any more
        RequestConflictError : the key belongs to another request
        """
        as_int("number", number)
        name("key", key)
        text("question", question)
        vault.require_sealed(sealed)
        with self._chronicle.writing("intend") as book:
            asked = _Asked(number=number, key=key, question=question, sealed=sealed, fresh=fresh)
            return _intend(book, _stream(book, stream), asked)

    def decide(
        self,
        stream: str,
        *,
        number: int,
        outcome: StreamOutcome,
        answer: str | None = None,
        units: int = 1,
        sealed: bytes | None = None,
    ) -> Decision:
        """Store the outcome of a question with its price and the halt, and return the outcome that stands.

        A question that was decided before, here or by another process, keeps its first outcome.

        Parameters
        ----------
        stream, number : the question in flight
        outcome : how it ended
        answer : what will be told, unless it was lost
        units : how many units a yes takes; a lost answer takes those of the dearest yes, a no none
        sealed : the new state of the stream, sealed, if it changes; as long as the one before
        """
        if (answer is None) != (outcome is StreamOutcome.LOST):
            raise ParameterError("answer", answer, reason=f"does not go with {outcome}", remedy="a lost one has none")
        if answer is not None:
            text("answer", answer)
        as_int("units", units)
        if sealed is not None:
            vault.require_sealed(sealed)
        with self._chronicle.writing("decide") as book:
            decision = _decide(book, _stream(book, stream), number, outcome, answer=answer, units=units, sealed=sealed)
        if decision.status is not StreamStatus.OPEN:
            self._chronicle.store.shred()
        return decision

    def close(self, stream: str) -> StreamRecord:
        """End a stream with no question in flight: its secrets are destroyed, what no yes has used is given back."""
        return self._end(stream, "close")

    def forfeit(self, stream: str) -> StreamRecord:
        """End a stream that cannot go on: all that was reserved is spent, and a question in flight is lost.

        For a stream whose key is gone or whose seal is broken, and for one whose noise is not priced for lost answers.
        """
        return self._end(stream, "forfeit")

    def unsettled(self) -> list[Intent]:
        """Return every question that has no outcome yet: in flight, or left over from a crash."""
        with self._chronicle.reading() as book:
            return [_intent(book, entry.record) for entry in book.unsettled_intents()]

    def _end(self, stream: str, act: str) -> StreamRecord:
        with self._chronicle.writing(act) as book:
            known = _stream(book, stream)
            if known.status is StreamStatus.OPEN:
                _end(book, known, forfeit=act == "forfeit")
            ended = _stream(book, stream)
        self._chronicle.store.shred()
        return ended


def _open(book: Transaction, opening: Opening) -> None:
    population = book.population(opening.population)
    if known_request(book, population.name, opening.analyst, request=opening.key, digest=opening.digest):
        return
    if book.stream(opening.stream):
        raise ParameterError(
            "stream", opening.stream, reason="is a stream of this ledger already", remedy="choose a new name"
        )
    population.versions(opening.tables)
    spending = Spending(book, population, opening.analyst)
    spending.admit(opening.charge)
    spending.append(
        "opening",
        request=opening.key,
        digest=opening.digest,
        stream=opening.stream,
        tables=sorted(opening.tables),
        terms=opening.terms,
        units=opening.units,
        dearest=opening.dearest,
        questions=opening.questions,
        status=StreamStatus.OPEN.value,
        asked=0,
        used=0,
        seals=1,
    )
    vault.keep(book.rows, opening.stream, vault.STATE, opening.sealed)


class _Asked(NamedTuple):
    """A question of a stream as it was put."""

    number: int
    key: str
    question: str
    sealed: bytes
    fresh: bool


def _intend(book: Transaction, stream: StreamRecord, put: _Asked) -> Intent | Decision:
    population, number, question = book.population(stream.population), put.number, put.question
    asked = {"request": put.key, "digest": digest([stream.name, question])}
    if earlier := known_request(book, stream.population, stream.analyst, **asked):
        return _earlier(book, stream, earlier)
    versions = population.versions(stream.tables)
    common = {"population": stream.population, "analyst": stream.analyst, **asked}
    if stored := book.recall(recall_digest(f"stream {stream.name}", question), versions):
        if not put.fresh:
            population.require_spending(stream.analyst)
            book.append("recall", **common, recalls=stored.seq)
        return _decision(book, stored, stream)
    _require_open(stream)
    population.require_spending(stream.analyst)
    if stream.asked >= MOST_QUESTIONS:
        raise StreamError(
            f"stream {stream.name!r} has answered {MOST_QUESTIONS:,} questions, the most there can be; close it, which "
            "gives back what no yes has used, and open another"
        )
    if stream.in_flight:
        raise StreamBusyError(stream.name, number=stream.in_flight.number)
    if number != stream.asked + 1:
        raise ParameterError(
            "number", number, reason=f"is not next in stream {stream.name!r}", remedy=f"ask as {stream.asked + 1}"
        )
    entry = book.append(
        "intent", **common, question=question, versions=versions, number=number, **_standing(stream, asked=number)
    )
    vault.keep(book.rows, stream.name, number, put.sealed)
    return _intent(book, entry.record)


def _decide(
    book: Transaction,
    stream: StreamRecord,
    number: int,
    outcome: StreamOutcome,
    *,
    answer: str | None,
    units: int,
    sealed: bytes | None,
) -> Decision:
    intent = book.question(stream.name, number)
    if intent is None:
        raise ParameterError("number", number, reason="was never asked", remedy="intend it first")
    if stands := book.settlement(intent.seq):
        return _decision(book, stands, stream)
    taken = {StreamOutcome.YES: units, StreamOutcome.NO: 0, StreamOutcome.LOST: stream.dearest}[outcome]
    if taken > stream.dearest:
        raise ParameterError(
            "units", units, reason=f"is more than the dearest yes of the stream, {stream.dearest}", remedy="take fewer"
        )
    used = stream.used + taken
    halted = stream.units - used < stream.dearest or number == stream.questions
    spending = Spending(book, book.population(stream.population), stream.analyst)
    spending.settle(*[YesCharge(stream=stream.name)] * taken, *[StreamClosing(stream=stream.name)] * halted)
    asked = intent.record
    recall = recall_digest(f"stream {stream.name}", asked["question"])
    told = {} if answer is None else {"answer": answer, "recall": recall, "versions": asked["versions"]}
    entry = spending.append(
        "outcome",
        settles=intent.seq,
        number=number,
        outcome=outcome.value,
        units=taken,
        **told,
        **_standing(
            stream,
            used=used,
            status=(StreamStatus.HALTED if halted else StreamStatus.OPEN).value,
            seals=stream.seals + (sealed is not None),
        ),
    )
    if halted:
        vault.drop_all(book.rows, stream.name)
    else:
        vault.drop(book.rows, stream.name, number)
        if sealed is not None:
            vault.replace(book.rows, stream.name, sealed)
    return _decision(book, entry, _stream(book, stream.name))


def _end(book: Transaction, stream: StreamRecord, *, forfeit: bool) -> None:
    if stream.in_flight and not forfeit:
        raise StreamBusyError(stream.name, number=stream.in_flight.number)
    unused = stream.units - stream.used
    spending = Spending(book, book.population(stream.population), stream.analyst)
    spending.settle(*[YesCharge(stream=stream.name)] * (unused * forfeit), StreamClosing(stream=stream.name))
    lost = {"settles": stream.in_flight.seq, "outcome": StreamOutcome.LOST.value} if stream.in_flight else {}
    spending.append(
        "closing",
        forfeit=forfeit,
        number=stream.asked,
        **lost,
        **_standing(stream, used=stream.units if forfeit else stream.used, status=StreamStatus.CLOSED.value),
    )
    vault.drop_all(book.rows, stream.name)


def _stream(book: Transaction, stream: str) -> StreamRecord:
    found = book.stream(stream)
    if found is None:
        raise ParameterError("stream", stream, reason="is not in this ledger", remedy="open it first")
    first, last = found[0].record, found[1].record
    return StreamRecord(
        name=stream,
        population=first["population"],
        analyst=first["analyst"],
        terms=first["terms"],
        tables=frozenset(first["tables"]),
        charge=from_record(Admission, first["account"]["lines"][0]).charge,
        units=first["units"],
        dearest=first["dearest"],
        questions=first["questions"],
        status=StreamStatus(last["status"]),
        asked=last["asked"],
        used=last["used"],
        seals=last["seals"],
        versions=book.population(first["population"]).tables,
        sealed=vault.kept(book.rows, stream, vault.STATE),
        in_flight=_intent(book, last) if last["kind"] == "intent" else None,
    )


def _standing(stream: StreamRecord, **changed: Any) -> dict[str, Any]:
    """Return what every entry of a stream says, so that the last one tells how it stands."""
    standing = {"stream": stream.name, "status": stream.status.value, "asked": stream.asked}
    return {**standing, "used": stream.used, "seals": stream.seals, **changed}


def _require_open(stream: StreamRecord) -> None:
    match stream.status:
        case StreamStatus.OPEN:
            return
        case StreamStatus.HALTED if stream.asked == stream.questions:
            raise StreamError(f"stream {stream.name!r} was opened for {stream.questions} questions, and answered them")
        case StreamStatus.HALTED:
            raise StreamHaltedError(yeses=stream.used)
        case StreamStatus.CLOSED:
            raise StreamClosedError(stream.name)


def _earlier(book: Transaction, stream: StreamRecord, asked: dict[str, Any]) -> Decision:
    if asked["kind"] == "recall":
        stored = book.entry(asked["recalls"])
        assert stored is not None  # noqa: S101 - entries are never deleted
        return _decision(book, stored, stream)
    end = book.settlement(asked["seq"])
    if end is None:
        raise StreamBusyError(stream.name, number=asked["number"])
    return _decision(book, end, stream)


def _intent(book: Transaction, record: dict[str, Any]) -> Intent:
    sealed, state = (vault.kept(book.rows, record["stream"], number) for number in (record["number"], vault.STATE))
    return Intent(
        seq=record["seq"],
        stream=record["stream"],
        number=record["number"],
        key=record["request"],
        question=record["question"],
        versions=record["versions"],
        sealed=sealed or b"",
        state=state or b"",
        seals=record["seals"],
    )


def _decision(book: Transaction, entry: Entry, stream: StreamRecord) -> Decision:
    record = entry.record
    return Decision(
        stream=record["stream"],
        number=record["number"],
        outcome=StreamOutcome(record["outcome"]),
        answer=record.get("answer"),
        status=StreamStatus(record["status"]),
        receipt=book.receipt_of(entry),
        units_left=stream.units_left,
    )
