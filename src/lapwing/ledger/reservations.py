"""Several draws under one charge: a reservation, whose rounds may depend on each other, each drawn once.

The protocol, which no caller may shorten:

1. `open` charges everything that the rounds can ever do, as one event, and fixes the terms: in one transaction.
2. The *intent* of a round, with its public parameters, which may depend on all earlier outcomes, is committed before
   any data is read. Rounds that do not wait for each other's outcomes may be intended together.
3. Data is read, and noise drawn.
4. The *outcome* is committed, with its price and the end if that comes, before it is released or the next round begins.
   What is released is what was committed, and the first outcome stands.
5. A round with an intent and no outcome, after a crash or a failure, is never drawn again: it is `LOST`. The crash
   itself may depend on the first draw. What then becomes of the reservation is the rule of its kind (`IfLost`), which
   stands in the opening. Where a sealed seed fixes the noise beforehand, as that of streams, the same seed may decide
   instead: that is no second draw.
6. `close`, or the halt after the last round, ends it: no intent and no outcome follows. Secrets are destroyed, and what
   was set aside and not used, where the charge is paid bit by bit, is given back.

Secrets are sealed by the caller with a key that the ledger never sees. They are stored outside the hash chain, and
nothing in the chain is derived from them.

In the entries a reservation stands under the word `stream`, and its rounds under `question`: streams came first.

Proof: proofs/reservation.md
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from lapwing.accounting.filters.charge import StreamClosing, YesCharge
from lapwing.ledger.entries import Entry, Lookup, Lookups, Record, text
from lapwing.ledger.reservation_states import (
    MOST_ROUNDS,
    STREAM,
    Decision,
    IfLost,
    Intent,
    Opening,
    ReservationKind,
    ReservationRecord,
    ReservationStatus,
    RoundOutcome,
)
from lapwing.ledger.states import PopulationRecord, RefusedError
from lapwing.ledger.store import Store
from lapwing.ledger.transaction import Recalled, Transaction
from lapwing.vocabulary.codec import parse
from lapwing.vocabulary.errors import (
    ParameterError,
    StreamBusyError,
    StreamClosedError,
    StreamError,
    StreamHaltedError,
)
from lapwing.vocabulary.exact import as_int

STATE: Final = 0
"""The number of the sealed state of a reservation; the seeds of its rounds have their numbers, from 1."""

_ALL: Final = """select opening.body, last.body from entries as opening join entries as last on last.seq = (
        select max(seq) from entries where record ->> 'stream' = opening.record ->> 'stream')
    where opening.record ->> 'kind' = 'opening' and opening.record ->> 'stream' is not null
        and coalesce(opening.record ->> 'reserves', 'stream') = ?
        and opening.record ->> 'population' = ?
        and (cast(? as text) is null or opening.record ->> 'analyst' = ?)
        and (cast(? as text) is null or last.record ->> 'status' = ?)
    order by opening.seq"""


class Reservations:
    """Opening and closing reservations of any kind, and the rounds of those that are no streams."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def open(self, opening: Opening) -> ReservationRecord:
        """Charge a reservation and store its secret, together. The same key again returns it as it stands.

        If an account refuses, nothing was charged, and the caller must discard the secret.
        """
        try:
            return self._store.change("open", lambda transaction: _open(transaction, opening))
        except RefusedError as refused:
            raise refused.explained() from None

    def find(self, reservation: str) -> ReservationRecord:
        """Return a reservation as it stands."""
        with self._store.reading() as transaction:
            return reservation_in(transaction, reservation)

    def seen(self, reservation: str) -> ReservationRecord | None:
        """Return a reservation as this process saw it last, without its secrets; it may have changed since."""
        known = self._store.known_reservation(reservation)
        decided = known and self._store.known_population(known.population)
        return replace(known, versions=decided.tables) if known and decided else None

    def all(
        self,
        population: str,
        *,
        kind: ReservationKind = STREAM,
        analyst: str | None = None,
        status: ReservationStatus | None = None,
    ) -> list[ReservationRecord]:
        """Return those of a kind in the order of their opening: of everybody or an analyst, all or with a status.

        They come without their sealed state, and of what is in flight is known that it is.
        """
        values = (kind.name, population, analyst, analyst, *[None if status is None else status.value] * 2)
        with self._store.reading() as transaction:
            versions, rows = transaction.population(population).tables, transaction.all(_ALL, *values)
        read = (ReservationRecord.read(parse(first), parse(last)) for first, last in rows)
        return [replace(one, versions=versions, in_flight=_intent(one.last) if one.is_busy else None) for one in read]

    def unsettled(self, kind: ReservationKind | None = None) -> list[Intent]:
        """Return every intent, of all kinds or one, that has no outcome yet: in flight, or left over from a crash."""
        with self._store.reading() as transaction:
            left = [entry.record for entry in transaction.unsettled("intent")]
            kinds = {one["stream"]: require_reservation(transaction, one["stream"]).kind for one in left}
            return [intent_in(transaction, one) for one in left if kind in {None, kinds[one["stream"]]}]

    def lose_abandoned(self) -> int:
        """Give up every round in flight that no live process is drawing; return how many.

        Questions of streams are left to a process that has the key: their seed decides them again.
        """
        streams = {intent.seq for intent in self.unsettled(STREAM)}
        lost = 0
        for one in self.unsettled():
            if one.seq not in streams:
                with self._store.gate.working(self.find(one.reservation).full_name) as is_ours:
                    if is_ours:
                        self.settle(one.reservation, number=one.number, outcome=None)
                        lost += 1
        return lost

    def close(self, reservation: str) -> ReservationRecord:
        """End a reservation with nothing in flight: its secrets are destroyed, what was not used is given back."""
        return self._end(reservation, "close")

    def forfeit(self, reservation: str) -> ReservationRecord:
        """End a reservation that cannot go on: all that was set aside is spent, and what is in flight is lost.

        For one whose key is gone or whose seal is broken, and for one whose noise is not priced for lost rounds.
        """
        return self._end(reservation, "forfeit")

    def _end(self, reservation: str, act: str) -> ReservationRecord:
        def change(transaction: Transaction) -> ReservationRecord:
            known = reservation_in(transaction, reservation)
            if known.status is ReservationStatus.OPEN:
                end_in(transaction, known, forfeit=act == "forfeit")
            return reservation_in(transaction, reservation)

        ended = self._store.change(act, change)
        self._store.shred()
        return ended

    def intend(
        self, reservation: str, *, number: int, parameters: str, held: Mapping[str, int] | None = None
    ) -> Intent | Decision:
        """Store the intent of a round before data is read, or return the outcome that it already has.

        Its number is one more than the last. A round that has been intended keeps its parameters: others are refused.
        `held` are the data versions that are held open for it, of all tables; about others it is a `MovedOnError`.
        """
        as_int("number", number)
        text("parameters", parameters)

        def change(transaction: Transaction) -> Intent | Decision:
            return _intend_round(transaction, require_held(transaction, reservation, held), number, parameters)

        return self._store.change("intend", change, lookups_of(self._store, reservation))

    def settle(self, reservation: str, *, number: int, outcome: str | None) -> Decision:
        """Store what was released in a round, `None` if it was lost, and return the outcome that stands: the first."""
        if outcome is not None:
            text("outcome", outcome)

        def change(transaction: Transaction) -> Decision:
            return _settle_round(transaction, require_reservation(transaction, reservation), number, outcome)

        return self._store.change("decide", change, lookups_of(self._store, reservation))

    def outcomes(self, reservation: str) -> list[Decision]:
        """Return how the rounds of a reservation ended so far, in their order."""
        with self._store.reading() as transaction:
            known = require_reservation(transaction, reservation)
            require_allowed(transaction.population(known.population), known)
            found = transaction.some("where record ->> 'stream' = ? and record ->> 'settles' is not null", known.name)
            ends = [Recalled(transaction.must(one.seq), one.record, None) for one in found]
            return [decision_in(transaction, end, known) for end in sorted(ends, key=lambda one: one.entry.seq)]


def lookups_of(store: Store, reservation: str, key: str | None = None) -> Lookups:
    """Return the lookups that intending under a key, or settling, needs, if this process knows the reservation."""
    known = store.known_reservation(reservation)
    if known is None:
        return ()
    last: Lookup = Lookup.ACCOUNT
    values: tuple[str, ...] = (known.population,)
    if key is not None:
        last, values = Lookup.REQUEST, (known.population, known.analyst, key)
    return (Lookup.STREAM, (reservation,)), (Lookup.POLICY, (known.population,)), (last, values)


def _open(transaction: Transaction, opening: Opening) -> ReservationRecord:
    """Charge a reservation and store its secret; return it as it stands, also where the same key opened it before."""
    population = transaction.population(opening.population)
    if opening.by_default and (known := transaction.reservation(opening.name)):
        opening = replace(opening, tables=known.tables)
    require_allowed(population, opening)
    if transaction.request(population.name, opening.analyst, request=opening.key, digest=opening.digest):
        return reservation_in(transaction, opening.name)
    if transaction.reservation(opening.name):
        reason = "is a stream of this ledger already"
        raise ParameterError("stream", opening.name, reason=reason, remedy="choose a new name")
    population.versions(opening.tables)
    changes = transaction.accounts(population, opening.analyst)
    changes.admit(opening.charge, opening.tables)
    state = {"status": ReservationStatus.OPEN.value, "asked": 0, "used": 0, "seals": int(opening.sealed is not None)}
    asked = {"request": opening.key, "digest": opening.digest}
    transaction.append_changes("opening", changes, **asked, **opening.said, **state)
    if opening.sealed is not None:
        keep_secret(transaction, opening.name, STATE, opening.sealed)
    return reservation_in(transaction, opening.name)


def end_in(transaction: Transaction, reservation: ReservationRecord, *, forfeit: bool) -> None:
    """Close a reservation with nothing in flight, or forfeit it with all that it has set aside."""
    if reservation.in_flight and not forfeit:
        raise StreamBusyError(reservation.name, number=reservation.in_flight.number)
    name, unused = reservation.name, reservation.units - reservation.used
    changes = transaction.accounts(transaction.population(reservation.population), reservation.analyst)
    changes.settle(*[YesCharge(stream=name)] * (unused * forfeit), StreamClosing(stream=name))
    left = reservation.in_flight
    lost = {"settles": left.seq, "outcome": RoundOutcome.LOST.value} if left else {}
    used = reservation.units if forfeit else reservation.used
    state = state_fields(reservation, used=used, status=ReservationStatus.CLOSED.value)
    transaction.append_changes("closing", changes, forfeit=forfeit, number=reservation.asked, **lost, **state)
    drop_secrets(transaction, name)


def _intend_round(
    transaction: Transaction, reservation: ReservationRecord, number: int, parameters: str
) -> Intent | Decision:
    if reservation.kind == STREAM:
        raise ParameterError("reservation", reservation.name, reason="is a stream", remedy="ask it questions")
    population = transaction.population(reservation.population)
    require_allowed(population, reservation)
    if 0 < number <= reservation.asked:
        intent = intended(transaction, reservation, number)
        if intent["question"] != parameters:
            reason = f"are not those of round {number} of {reservation.name!r}, which were fixed when it began"
            remedy = "ask it as it was asked before, or make another reservation"
            raise ParameterError("parameters", parameters, reason=reason, remedy=remedy)
        end = settlement(transaction, reservation, intent)
        if end is None:
            raise StreamBusyError(reservation.name, number=number)
        return decision_in(transaction, Recalled(end, end.record, None), reservation)
    require_next(population, reservation, number)
    return intend_in(transaction, reservation, number, [parameters])


def require_allowed(population: PopulationRecord, asked: Opening | ReservationRecord) -> None:
    """Refuse an analyst who is not admitted, or may not ask about these tables: also what is stored is refused then."""
    population.require_admitted(asked.analyst)
    population.require_tables(asked.analyst, asked.tables)


def intend_in(
    transaction: Transaction,
    reservation: ReservationRecord,
    number: int,
    questions: Sequence[str],
    *,
    sealed: bytes | None = None,
    **said: Any,
) -> Intent:
    """Write the intent of rounds, from `number` on, that may follow now; one is written as one, and many as a list."""
    if sealed is not None:
        keep_secret(transaction, reservation.name, number, sealed)  # first: the entry then waits for those of its group
    asked = {"question": questions[0]} if len(questions) == 1 else {"questions": list(questions)}
    versions = transaction.population(reservation.population).versions(reservation.tables)
    whose = {"population": reservation.population, "analyst": reservation.analyst}
    state = state_fields(reservation, asked=number + len(questions) - 1)
    entry = transaction.append("intent", **whose, **said, **asked, versions=versions, number=number, **state)
    return intent_in(transaction, transaction.said(entry))


def require_next(population: PopulationRecord, reservation: ReservationRecord, number: int, rounds: int = 1) -> None:
    """Refuse rounds that may not follow now: it has ended or is busy, or nothing may be spent."""
    _require_open(reservation)
    population.require_spending(reservation.analyst)
    population.require_tables(reservation.analyst, reservation.tables)
    if reservation.asked + rounds > MOST_ROUNDS:
        raise StreamError(
            f"stream {reservation.name!r} has answered {reservation.asked:,} questions, and there can be "
            f"{MOST_ROUNDS:,} at most; close it, which gives back what no yes has used, and open another"
        )
    if reservation.is_busy:
        raise StreamBusyError(reservation.name, number=reservation.last["number"])
    due = reservation.asked + 1
    if number != due:
        reason = f"is not next in stream {reservation.name!r}"
        raise ParameterError("number", number, reason=reason, remedy=f"ask as {due}")


def _require_open(reservation: ReservationRecord) -> None:
    match reservation.status:
        case ReservationStatus.OPEN:
            return
        case status if reservation.kind != STREAM:
            lost = reservation.last.get("outcome") == RoundOutcome.LOST.value
            drawn = f"round {reservation.asked} was lost" if lost else f"all {reservation.rounds} rounds are drawn"
            why = "it was closed" if status is ReservationStatus.CLOSED else drawn
            name = f"{reservation.kind.name} {reservation.name!r}"
            raise StreamError(f"{name} has ended: {why}; what was committed stands, and another one is charged anew")
        case ReservationStatus.HALTED if reservation.asked == reservation.rounds:
            name, rounds = reservation.name, reservation.rounds
            raise StreamError(f"stream {name!r} was opened for {rounds} questions, and answered them")
        case ReservationStatus.HALTED:
            raise StreamHaltedError(yeses=reservation.used)
        case ReservationStatus.CLOSED:
            raise StreamClosedError(reservation.name)


def intended(transaction: Transaction, reservation: ReservationRecord, number: int) -> Record:
    """Return the content of the intent of rounds, by the number of the first."""
    if reservation.is_busy and reservation.last["number"] == number:
        return reservation.last
    intent = transaction.round_of(reservation.name, number)
    if intent is None:
        raise ParameterError("number", number, reason="was never asked", remedy="intend it first")
    return intent.record


def settlement(transaction: Transaction, reservation: ReservationRecord, intent: Record) -> Entry | None:
    """Return the entry that settles an intent; nothing does while it is the last entry of its reservation."""
    in_flight = reservation.is_busy and reservation.last["seq"] == intent["seq"]
    return None if in_flight else transaction.settlement(intent["seq"])


def _settle_round(
    transaction: Transaction, reservation: ReservationRecord, number: int, outcome: str | None
) -> Decision:
    intent = intended(transaction, reservation, number)
    if reservation.kind == STREAM:
        raise ParameterError("reservation", reservation.name, reason="is a stream", remedy="decide its questions")
    stands = settlement(transaction, reservation, intent)
    if stands is None:
        told: dict[str, Any] = {"outcome": RoundOutcome.LOST.value}
        if outcome is not None:
            told = {"outcome": RoundOutcome.RELEASED.value, "answer": outcome, "versions": intent["versions"]}
        stands = settle_in(transaction, reservation, intent, last=number, taken=0, **told)
    after = require_reservation(transaction, reservation.name)
    return decision_in(transaction, Recalled(stands, transaction.said(stands), None), after)


def settle_in(
    transaction: Transaction,
    reservation: ReservationRecord,
    intent: Record,
    *,
    last: int,
    taken: int,
    sealed: bytes | None = None,
    **told: Any,
) -> Entry:
    """Record the outcome of the rounds in flight, up to round `last`, with the units they took and the halt, if any."""
    name, used = reservation.name, reservation.used + taken
    is_lost = told.get("outcome") == RoundOutcome.LOST.value
    halted = (
        reservation.units - used < reservation.dearest
        or last == reservation.rounds
        or (is_lost and reservation.kind.if_lost is IfLost.ENDS)
    )
    status = ReservationStatus.HALTED if halted else ReservationStatus.OPEN
    changes = transaction.accounts(transaction.population(reservation.population), reservation.analyst)
    changes.settle(*[YesCharge(stream=name)] * taken, *[StreamClosing(stream=name)] * halted)
    state = {"asked": last, "used": used, "status": status.value, "seals": reservation.seals + (sealed is not None)}
    entry = transaction.append_changes(
        "outcome",
        changes,
        **{"settles": intent["seq"], "number": intent["number"], "units": taken, **told},
        **state_fields(reservation, **state),
    )
    if halted:
        drop_secrets(transaction, name)
    elif reservation.seals:
        drop_secrets(transaction, name, intent["number"])
        if sealed is not None:
            replace_secret(transaction, name, STATE, sealed)
    return entry


def reservation_in(transaction: Transaction, reservation: str) -> ReservationRecord:
    """Return a reservation as it stands, with its secrets and what is in flight."""
    record = require_reservation(transaction, reservation)
    return replace(
        record,
        versions=transaction.population(record.population).tables,
        sealed=secret(transaction, reservation, STATE),
        in_flight=intent_in(transaction, record.last) if record.is_busy else None,
    )


def require_reservation(transaction: Transaction, reservation: str) -> ReservationRecord:
    """Return a reservation from its entries, without its secrets; refuse a name that is not in the ledger."""
    record = transaction.reservation(reservation)
    if record is None:
        raise ParameterError("stream", reservation, reason="is not in this ledger", remedy="open it first")
    return record


def require_held(transaction: Transaction, reservation: str, held: Mapping[str, int] | None) -> ReservationRecord:
    """Return a reservation from its entries, if its tables still have the versions that are held open for it."""
    record = require_reservation(transaction, reservation)
    transaction.population(record.population).versions(record.tables, held)
    return record


def state_fields(reservation: ReservationRecord, **changed: Any) -> dict[str, Any]:
    """Return the fields that every entry of a reservation has, so that the last entry is its current state."""
    state = {"stream": reservation.name, "status": reservation.status.value, "asked": reservation.asked}
    return {**reservation.kind.said, **state, "used": reservation.used, "seals": reservation.seals, **changed}


def intent_in(transaction: Transaction, record: Record) -> Intent:
    """Return the intent that an entry records, with the secrets for it."""
    return _intent(record, *(secret(transaction, record["stream"], number) for number in (record["number"], STATE)))


def _intent(record: Record, sealed: bytes | None = None, state: bytes | None = None) -> Intent:
    return Intent(
        seq=record["seq"],
        reservation=record["stream"],
        number=record["number"],
        questions=tuple(record["questions"]) if "questions" in record else (record["question"],),
        many="questions" in record,
        versions=record["versions"],
        seals=record["seals"],
        key=record.get("request"),
        sealed=sealed or b"",
        state=state or b"",
    )


def decision_in(transaction: Transaction, found: Recalled, reservation: ReservationRecord) -> Decision:
    """Return the outcome of a round as an entry has it."""
    entry, record, place = found
    outcome, answer = record["answers"][place] if place is not None else (record["outcome"], record.get("answer"))
    return Decision(
        reservation=record["stream"],
        number=record["number"] + (place or 0),
        outcome=RoundOutcome(outcome),
        answer=answer,
        status=ReservationStatus(record["status"]),
        receipt=transaction.receipt_of(entry),
        units_left=reservation.units_left,
        versions=record.get("versions", {}),
    )


def secret(transaction: Transaction, reservation: str, number: int) -> bytes | None:
    """Return a secret of a reservation if it is still stored; it is outside the chain, and no hash depends on it."""
    if reservation not in transaction.secrets:  # two at most: its state, and the seed of the round in flight
        rows = transaction.all("select number, sealed from secrets where stream = ?", reservation)
        transaction.secrets[reservation] = {number: bytes(sealed) for number, sealed in rows}
    return transaction.secrets[reservation].get(number)


def keep_secret(transaction: Transaction, reservation: str, number: int, sealed: bytes) -> None:
    """Store a secret."""
    secret(transaction, reservation, number)
    transaction.do("insert into secrets (stream, number, sealed) values (?, ?, ?)", reservation, number, sealed)
    transaction.secrets[reservation][number] = sealed


def replace_secret(transaction: Transaction, reservation: str, number: int, sealed: bytes) -> None:
    """Store a secret in place of an old one, which must have been as long."""
    old = secret(transaction, reservation, number)
    if old is not None and len(old) != len(sealed):
        reason = f"is not as long as the state it replaces, {len(old)} bytes"
        remedy = "seal at a fixed width: a length that varies tells how large the noise is"
        raise ParameterError("sealed", f"<{len(sealed)} bytes>", reason=reason, remedy=remedy)
    transaction.do("update secrets set sealed = ? where stream = ? and number = ?", sealed, reservation, number)
    transaction.secrets[reservation][number] = sealed


def drop_secrets(transaction: Transaction, reservation: str, number: int | None = None) -> None:
    """Destroy one secret of a reservation, or all. What makes them unreadable is to destroy their key."""
    if number is None:
        transaction.do("delete from secrets where stream = ?", reservation)
        transaction.secrets.pop(reservation, None)
    else:
        transaction.secrets.get(reservation, {}).pop(number, None)
        transaction.do("delete from secrets where stream = ? and number = ?", reservation, number)
