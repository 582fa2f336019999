"""Streams of questions that survive a restart: opened once, one question in flight at a time, each with one outcome.

The protocol, which no caller may shorten:

1. `open` charges the stream and stores its sealed state, in one transaction.
2. `intend` stores the question and the sealed seed of its noise before any data is read. (`batches` stores many
   questions with one seed, from which all their noise follows.)
3. `decide` stores the outcome, the price of a yes and the halt together; what it returns is what may be told.
4. After a crash, what is in flight is decided again *with the same seed*, or is `LOST`, which costs as much as a yes
   for each question, as far as there are yeses left. Never with fresh noise: the crash itself may depend on the first
   draw.
5. `close`, or the halt, destroys the secrets and gives back what no yes has used.

Secrets are sealed by the caller with a key that the ledger never sees. They are stored beside the chain, and nothing in
the chain is derived from them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from lapwing.accounting.filters.charge import StreamClosing, YesCharge
from lapwing.ledger.entries import Entry, Lookup, Lookups, Record, name, recall_digest, text
from lapwing.ledger.states import PopulationRecord
from lapwing.ledger.store import Store
from lapwing.ledger.stream_states import Decision, Intent, StreamOutcome, StreamRecord, StreamStatus, require_sealed
from lapwing.ledger.transaction import Recalled, Transaction
from lapwing.vocabulary.codec import digest, parse
from lapwing.vocabulary.errors import (
    ParameterError,
    StreamBusyError,
    StreamClosedError,
    StreamError,
    StreamHaltedError,
    UnansweredError,
)
from lapwing.vocabulary.exact import as_int

STATE: Final = 0
"""The number of the sealed state of a stream; the seeds of its questions have the numbers of the questions, from 1."""

_LAST_INTENT: Final = """select max(seq) from entries
    where record ->> 'kind' = 'intent' and record ->> 'population' = ? and record ->> 'analyst' = ?"""

_STREAMS: Final = """select opening.body, last.body from entries as opening join entries as last on last.seq = (
        select max(seq) from entries where record ->> 'stream' = opening.record ->> 'stream')
    where opening.record ->> 'kind' = 'opening' and opening.record ->> 'stream' is not null
        and opening.record ->> 'population' = ?
        and (cast(? as text) is null or opening.record ->> 'analyst' = ?)
        and (cast(? as text) is null or last.record ->> 'status' = ?)
    order by opening.seq"""

MOST_QUESTIONS: Final = 100_000
"""A no is free and leaves two entries, so that without a limit one stream could fill a disk."""


class StreamQuestions:
    """Asking streams."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def stream(self, stream: str) -> StreamRecord:
        """Return a stream as it stands."""
        with self._store.reading() as transaction:
            return stream_in(transaction, stream)

    def seen(self, stream: str) -> StreamRecord | None:
        """Return a stream as this process saw it last, without its secrets, if it did; it may have moved on since."""
        known = self._store.known_stream(stream)
        decided = known and self._store.known_population(known.population)
        return replace(known, versions=decided.tables) if known and decided else None

    def streams(
        self, population: str, *, analyst: str | None = None, status: StreamStatus | None = None
    ) -> list[StreamRecord]:
        """Return the streams of a population in the order of their opening: all, of an analyst, or with a status.

        They come without their sealed state, and of what is in flight is known that it is.
        """
        values = (population, analyst, analyst, *[None if status is None else status.value] * 2)
        with self._store.reading() as transaction:
            versions, rows = transaction.population(population).tables, transaction.all(_STREAMS, *values)
        read = (StreamRecord.read(parse(first), parse(last)) for first, last in rows)
        return [replace(one, versions=versions, in_flight=_unread_intent(one)) for one in read]

    def intend(
        self,
        stream: str,
        *,
        number: int,
        key: str,
        question: str,
        sealed: bytes,
        fresh: bool = False,
        held: Mapping[str, int] | None = None,
    ) -> Intent | Decision:
        """Store a question before data is read, or return the decision it already has.

        Its number is one more than the last, and `sealed` the seed of its noise, whose seal is bound to the number; all
        else is as for a `Request`, `held` included.
        """
        as_int("number", number)
        name("key", key)
        text("question", question)
        require_sealed(sealed)

        def change(transaction: Transaction) -> Intent | Decision:
            known = require_held(transaction, stream, held)
            return _intend(transaction, known, number=number, key=key, question=question, sealed=sealed, fresh=fresh)

        return self._store.change("intend", change, stream_lookups(self._store, stream, key))

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

        A question that was decided before, here or by another process, keeps its first outcome. The answer is what will
        be told, unless it was lost; `units` are what a yes takes (a lost answer takes those of the dearest yes, a no
        none), and `sealed` is the new state of the stream, if it changes, as long as the one before.
        """
        if (answer is None) != (outcome is StreamOutcome.LOST):
            raise ParameterError("answer", answer, reason=f"does not go with {outcome}", remedy="a lost one has none")
        if answer is not None:
            text("answer", answer)
        as_int("units", units)
        if sealed is not None:
            require_sealed(sealed)

        def change(transaction: Transaction) -> Decision:
            known = require_stream(transaction, stream)
            return _decide(transaction, known, number, outcome, answer=answer, units=units, sealed=sealed)

        decision = self._store.change("decide", change, stream_lookups(self._store, stream))
        if decision.status is not StreamStatus.OPEN:
            self._store.shred()
        return decision

    def unsettled(self) -> list[Intent]:
        """Return every question that has no outcome yet: in flight, or left over from a crash."""
        with self._store.reading() as transaction:
            return [intent_in(transaction, entry.record) for entry in transaction.unsettled("intent")]


def stream_lookups(store: Store, stream: str, key: str | None = None) -> Lookups:
    """Return what asking under a key, or deciding, will want to know, if this process has seen whose stream it is."""
    known = store.known_stream(stream)
    if known is None:
        return ()
    last: Lookup = Lookup.ACCOUNT
    values: tuple[str, ...] = (known.population,)
    if key is not None:
        last, values = Lookup.REQUEST, (known.population, known.analyst, key)
    return (Lookup.STREAM, (stream,)), (Lookup.POLICY, (known.population,)), (last, values)


def _intend(
    transaction: Transaction, stream: StreamRecord, *, number: int, key: str, question: str, sealed: bytes, fresh: bool
) -> Intent | Decision:
    population = transaction.population(stream.population)
    asked = {"request": key, "digest": digest([stream.name, question])}
    if earlier := transaction.request(stream.population, stream.analyst, **asked):
        return _earlier(transaction, stream, earlier, question)
    versions = population.versions(stream.tables)
    common = {"population": stream.population, "analyst": stream.analyst, **asked}
    if stored := recalled(transaction, stream, [question], versions):
        if not fresh:
            population.require_spending(stream.analyst)
            transaction.append("recall", **common, recalls=stored[question].receipt.seq)
        return stored[question]
    require_next(population, stream, number)
    said = {"question": question, "versions": versions, "number": number, **asked_today(transaction, stream, 1)}
    keep_secret(transaction, stream.name, number, sealed)  # before the entry, which then waits for others of its group
    entry = transaction.append("intent", **common, **said, **state_fields(stream, asked=number))
    return intent_in(transaction, transaction.said(entry))


def require_next(population: PopulationRecord, stream: StreamRecord, number: int, questions: int = 1) -> None:
    """Refuse questions that may not be asked now: the stream has ended or is busy, or nothing may be spent."""
    _require_open(stream)
    population.require_spending(stream.analyst)
    population.require_tables(stream.analyst, stream.tables)
    if stream.asked + questions > MOST_QUESTIONS:
        raise StreamError(
            f"stream {stream.name!r} has answered {stream.asked:,} questions, and there can be {MOST_QUESTIONS:,} at "
            "most; close it, which gives back what no yes has used, and open another"
        )
    if stream.is_busy:
        raise StreamBusyError(stream.name, number=stream.last["number"])
    if number != stream.asked + 1:
        raise ParameterError(
            "number", number, reason=f"is not next in stream {stream.name!r}", remedy=f"ask as {stream.asked + 1}"
        )


def asked_today(transaction: Transaction, stream: StreamRecord, questions: int) -> dict[str, Any]:
    """Return the day and how many questions an analyst has then asked of streams in it, where that has a limit.

    The clock decides nothing else here: a no is free, and only makes the ledger grow.
    """
    population = transaction.population(stream.population)
    if population.noes_a_day is None:
        return {}
    (seq,) = transaction.one(_LAST_INTENT, stream.population, stream.analyst) or (None,)
    last, day = transaction.entry(seq) if seq else None, transaction.day
    known, before = last.record.get("today", ["", 0]) if last else ("", 0)
    before = before if known == day else 0
    population.require_noes(stream.analyst, day, before + questions)
    return {"today": [day, before + questions]}


def recalled(
    transaction: Transaction, stream: StreamRecord, questions: Sequence[str], versions: Mapping[str, int]
) -> dict[str, Decision]:
    """Return what this stream has decided about some of these questions, from these data versions."""
    digests = {recall_of(stream, question): question for question in questions}
    found = transaction.recalls(list(digests), versions)
    return {digests[digest]: decision_in(transaction, one, stream) for digest, one in found.items()}


def recall_of(stream: StreamRecord, question: str) -> str:
    """Return what the answer to a question of a stream is found under."""
    return recall_digest(f"stream {stream.name}", question)


def _decide(
    transaction: Transaction,
    stream: StreamRecord,
    number: int,
    outcome: StreamOutcome,
    *,
    answer: str | None,
    units: int,
    sealed: bytes | None,
) -> Decision:
    intent = intended(transaction, stream, number, "question")
    if stands := settlement(transaction, stream, intent):
        return decision_in(transaction, Recalled(stands, stands.record, None), stream)
    taken = {StreamOutcome.YES: units, StreamOutcome.NO: 0, StreamOutcome.LOST: stream.dearest}[outcome]
    if taken > stream.dearest:
        raise ParameterError(
            "units", units, reason=f"is more than the dearest yes of the stream, {stream.dearest}", remedy="take fewer"
        )
    recall = recall_of(stream, intent["question"])
    told = {} if answer is None else {"answer": answer, "recall": recall, "versions": intent["versions"]}
    entry = settle(transaction, stream, intent, last=number, taken=taken, sealed=sealed, outcome=outcome.value, **told)
    found = Recalled(entry, transaction.said(entry), None)
    return decision_in(transaction, found, require_stream(transaction, stream.name))


def intended(transaction: Transaction, stream: StreamRecord, number: int, form: str) -> Record:
    """Return the intent of one question, or of many: what the `form` of its record is."""
    if stream.is_busy and stream.last["number"] == number:
        record = stream.last
    else:
        intent = transaction.question(stream.name, number)
        record = {} if intent is None else intent.record
    if form not in record:
        raise ParameterError("number", number, reason="was never asked", remedy="intend it first")
    return record


def settlement(transaction: Transaction, stream: StreamRecord, intent: Record) -> Entry | None:
    """Return the entry that settles an intent; nothing does while it is the last entry of its stream."""
    in_flight = stream.is_busy and stream.last["seq"] == intent["seq"]
    return None if in_flight else transaction.settlement(intent["seq"])


def settle(
    transaction: Transaction,
    stream: StreamRecord,
    intent: Record,
    *,
    last: int,
    taken: int,
    sealed: bytes | None,
    **told: Any,
) -> Entry:
    """Write how what is in flight ended, at question `last`, with the units it took and the halt if that comes."""
    used = stream.used + taken
    halted = stream.units - used < stream.dearest or last == stream.questions
    status = StreamStatus.HALTED if halted else StreamStatus.OPEN
    changes = transaction.accounts(transaction.population(stream.population), stream.analyst)
    changes.settle(*[YesCharge(stream=stream.name)] * taken, *[StreamClosing(stream=stream.name)] * halted)
    state = {"asked": last, "used": used, "status": status.value, "seals": stream.seals + (sealed is not None)}
    entry = transaction.append_changes(
        "outcome",
        changes,
        **{"settles": intent["seq"], "number": intent["number"], "units": taken, **told},
        **state_fields(stream, **state),
    )
    if halted:
        drop_secrets(transaction, stream.name)
    else:
        drop_secrets(transaction, stream.name, intent["number"])
        if sealed is not None:
            replace_secret(transaction, stream.name, STATE, sealed)
    return entry


def stream_in(transaction: Transaction, stream: str) -> StreamRecord:
    """Return a stream as it stands, with its secrets and what is in flight."""
    record = require_stream(transaction, stream)
    return replace(
        record,
        versions=transaction.population(record.population).tables,
        sealed=secret(transaction, stream, STATE),
        in_flight=intent_in(transaction, record.last) if record.is_busy else None,
    )


def require_stream(transaction: Transaction, stream: str) -> StreamRecord:
    """Return what the entries of a stream say, without its secrets."""
    record = transaction.stream(stream)
    if record is None:
        raise ParameterError("stream", stream, reason="is not in this ledger", remedy="open it first")
    return record


def require_held(transaction: Transaction, stream: str, held: Mapping[str, int] | None) -> StreamRecord:
    """Return what the entries of a stream say, if its tables still have the versions that are held open for it."""
    record = require_stream(transaction, stream)
    transaction.population(record.population).versions(record.tables, held)
    return record


def secret(transaction: Transaction, stream: str, number: int) -> bytes | None:
    """Return a secret of a stream that is still stored; it lies beside the chain, and no hash depends on it."""
    if stream not in transaction.secrets:  # two at most: its state, and the seed of what is in flight
        rows = transaction.all("select number, sealed from secrets where stream = ?", stream)
        transaction.secrets[stream] = {number: bytes(sealed) for number, sealed in rows}
    return transaction.secrets[stream].get(number)


def keep_secret(transaction: Transaction, stream: str, number: int, sealed: bytes) -> None:
    """Store a secret."""
    secret(transaction, stream, number)
    transaction.do("insert into secrets (stream, number, sealed) values (?, ?, ?)", stream, number, sealed)
    transaction.secrets[stream][number] = sealed


def replace_secret(transaction: Transaction, stream: str, number: int, sealed: bytes) -> None:
    """Store a secret in place of an old one, which must have been as long."""
    old = secret(transaction, stream, number)
    if old is not None and len(old) != len(sealed):
        reason = f"is not as long as the state it replaces, {len(old)} bytes"
        remedy = "seal at a fixed width: a length that varies tells how large the noise is"
        raise ParameterError("sealed", f"<{len(sealed)} bytes>", reason=reason, remedy=remedy)
    transaction.do("update secrets set sealed = ? where stream = ? and number = ?", sealed, stream, number)
    transaction.secrets[stream][number] = sealed


def drop_secrets(transaction: Transaction, stream: str, number: int | None = None) -> None:
    """Destroy one secret of a stream, or all. What makes them unreadable is to destroy their key."""
    if number is None:
        transaction.do("delete from secrets where stream = ?", stream)
        transaction.secrets.pop(stream, None)
    else:
        transaction.secrets.get(stream, {}).pop(number, None)
        transaction.do("delete from secrets where stream = ? and number = ?", stream, number)


def state_fields(stream: StreamRecord, **changed: Any) -> dict[str, Any]:
    """Return what every entry of a stream says, so that the last one tells how it stands."""
    state = {"stream": stream.name, "status": stream.status.value, "asked": stream.asked}
    return {**state, "used": stream.used, "seals": stream.seals, **changed}


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


def _earlier(transaction: Transaction, stream: StreamRecord, asked: Record, question: str) -> Decision:
    """Return the decision that a request led to when it was first made."""
    if asked["kind"] == "recall":
        return recalled(transaction, stream, [question], versions_of(transaction, stream, asked))[question]
    end = transaction.settlement(asked["seq"])
    if end is None:
        raise StreamBusyError(stream.name, number=asked["number"])
    return decision_in(transaction, Recalled(end, end.record, None), stream)


def versions_of(transaction: Transaction, stream: StreamRecord, asked: Record) -> Mapping[str, int]:
    """Return the data versions that a request was about when it was first made; refuse it if it was lost."""
    end = transaction.entry(asked["recalls"]) if asked["kind"] == "recall" else transaction.settlement(asked["seq"])
    if end is None:
        raise StreamBusyError(stream.name, number=asked["number"])
    record = end.record
    if "versions" not in record:
        raise UnansweredError(f"question {asked['number']} and those after it", seq=end.seq, lost=True)
    versions: Mapping[str, int] = record["versions"]
    return versions


def _unread_intent(stream: StreamRecord) -> Intent | None:
    """Return what a stream has in flight, without its secrets."""
    return _intent(stream.last, None, None) if stream.is_busy else None


def intent_in(transaction: Transaction, record: Record) -> Intent:
    """Return what an entry says was about to be decided, with the secrets for it."""
    return _intent(record, *(secret(transaction, record["stream"], number) for number in (record["number"], STATE)))


def _intent(record: Record, sealed: bytes | None, state: bytes | None) -> Intent:
    said = {word: record[word] for word in ("seq", "stream", "number", "versions", "seals")}
    many = "questions" in record
    said |= {"questions": tuple(record["questions"]) if many else (record["question"],), "many": many}
    return Intent(key=record["request"], sealed=sealed or b"", state=state or b"", **said)


def decision_in(transaction: Transaction, found: Recalled, stream: StreamRecord) -> Decision:
    """Return the outcome of a question as an entry has it."""
    entry, record, place = found
    outcome, answer = record["answers"][place] if place is not None else (record["outcome"], record.get("answer"))
    return Decision(
        stream=record["stream"],
        number=record["number"] + (place or 0),
        outcome=StreamOutcome(outcome),
        answer=answer,
        status=StreamStatus(record["status"]),
        receipt=transaction.receipt_of(entry),
        units_left=stream.units_left,
    )
