"""Several rounds under one price: for what reads the data, looks at what was released, and reads again.

A guest of the session (an analysis, a publication, a model that is trained) reserves one event, in which is all that
its rounds can ever do, and then draws one round after the other:

    with session.reserve(KIND, event=event, rounds=2, terms={"of": "age"}, key="monday") as rounds:
        first = rounds.round({"above": 50}, lambda reader: counted(reader, 50))
        second = rounds.round({"above": first}, lambda reader: counted(reader, first))

The protocol is that of `ledger.reservations`: the intent of a round is committed before data is read, its outcome
before anything is returned. What comes back is what was committed. So a guest whose process died is run again from its
beginning under the same key: rounds that have an outcome are read back, and not drawn. A round that has an intent and
no outcome is lost, for ever.

Proof: proofs/reservation.md
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Self

from lapwing.engines.engine import CellKey, Engine
from lapwing.engines.reading import CancelGroup, hide_failures
from lapwing.engines.rows_of_person import Integers
from lapwing.ledger.entries import Receipt
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.queue import PATIENCE
from lapwing.ledger.reservation_states import Decision, IfLost, Intent, ReservationKind, ReservationRecord
from lapwing.ledger.states import MovedOnError
from lapwing.ledger.store import fault_point
from lapwing.queries.algebra.aggregate import Aggregate, tables_of
from lapwing.tables import Tables
from lapwing.vocabulary.codec import canonical, parse
from lapwing.vocabulary.deadline import no_deadline
from lapwing.vocabulary.errors import (
    EngineError,
    LedgerUnwritableError,
    ParameterError,
    StreamBusyError,
    UnansweredError,
)
from lapwing.vocabulary.exact import Sensitive, as_int
from lapwing.vocabulary.lifetime import Lifetime

__all__ = ["IfLost", "Receipt", "ReservationKind", "RoundReader", "Rounds"]

STEPS: Final = ("round.intended", "round.drawn", "round.told")
"""The fault points of a round, in their order (see `lapwing.ledger.store`)."""


class RoundReader:
    """Reads the data `versions` of one round; whatever it returns is wrapped, and only a mechanism opens it.

    Tables of which no version was charged for are not read: that an analyst may ask about them was not asked.
    """

    def __init__(self, engine: Engine, versions: Mapping[str, int]) -> None:
        self._engine, self.versions = engine, versions

    def _charged(self, aggregate: Aggregate) -> Aggregate:
        beyond = tables_of(aggregate).difference(self.versions)
        if beyond:
            raise AssertionError(f"a round reads {sorted(beyond)}, which its reservation does not name")
        return aggregate

    def number(self, aggregate: Aggregate) -> Sensitive[int]:
        """Return the one number of an aggregate."""
        return self.numbers([aggregate])[0]

    def numbers(self, aggregates: Sequence[Aggregate]) -> list[Sensitive[int]]:
        """Return the one number of each of several aggregates, read together."""
        return self._engine.numbers([self._charged(one) for one in aggregates], versions=self.versions)

    def vector(self, aggregate: Aggregate) -> Sensitive[tuple[int, ...]]:
        """Return all numbers of an aggregate with public cells."""
        return self._engine.vector(self._charged(aggregate))

    def in_sets(self, aggregate: Aggregate) -> list[Sensitive[tuple[int, ...]]]:
        """Return the numbers of each set of keys, of an aggregate that counts people in sets of keys in one pass."""
        return self._engine.in_sets(self._charged(aggregate))

    def keyed(self, aggregate: Aggregate) -> Sensitive[Mapping[CellKey, tuple[int, ...]]]:
        """Return the numbers of an aggregate whose cells only the data knows."""
        return self._engine.keyed(self._charged(aggregate))

    def people(self, aggregate: Aggregate) -> Sensitive[Integers]:
        """Return the terms of each row that an aggregate of bounded rows adds up, for what samples people."""
        return self._engine.people(self._charged(aggregate))


class Rounds:
    """The rounds of a reservation, from the first on. Between two of them all that counts is in the ledger.

    Leaving a `with` in good order closes it. One that is left by an error stays as it is, to be gone on with.
    """

    def __init__(
        self,
        name: str,
        *,
        ledger: Ledger,
        tables: Tables,
        running: CancelGroup,
        on_failure: Callable[[Exception], None],
        lifetime: Lifetime,
    ) -> None:
        self.name, self._ledger, self._reservations = name, ledger, ledger.reservations
        self._tables, self._running, self._on_failure, self._lifetime = tables, running, on_failure, lifetime
        self._next = 1

    @property
    def record(self) -> ReservationRecord:
        """The reservation as it stands in the ledger."""
        return self._reservations.find(self.name)

    @property
    def committed(self) -> list[Any]:
        """The committed release of each round so far; None for a round that was lost."""
        return [None if one.answer is None else parse(one.answer) for one in self._reservations.outcomes(self.name)]

    @property
    def receipts(self) -> list[Receipt]:
        """The receipt of how each round so far ended."""
        return [one.receipt for one in self._reservations.outcomes(self.name)]

    def round(self, parameters: object, draw: Callable[[RoundReader], object], *, number: int | None = None) -> Any:
        """Draw the next round, or read back what it released, and return that as it stands in the ledger.

        Parameters
        ----------
        parameters : what is public about the round, as JSON values without floats; they may depend on all that was
            released before. The round of this number has them for ever: others are refused
        draw : reads, lets mechanisms add noise, and returns what is released, as such values. It is called once at
            most, after the intent is committed, and what it does must be inside the event that was charged
        number : which round, from 1 on; by default the first, and then the one after the last

        Where `draw` fails in any way (`EngineError`), or its process dies, the round is lost (`UnansweredError` from
        then on), and the kind of the reservation says whether another may follow.
        """
        self._lifetime.require()
        asked = self._next if number is None else as_int("number", number)
        decision = self._decide(asked, public_text("parameters", parameters), draw)
        self._next = asked + 1
        if decision.answer is None:
            raise UnansweredError(f"round {asked} of {self.name}", seq=decision.receipt.seq, lost=True)
        return parse(decision.answer)

    def recover(self) -> None:
        """Give up the round that a dead process left in flight, if any; one that a live process draws is left alone."""
        self._lifetime.require()
        with self._ledger.store.gate.working(self.record.full_name) as is_ours:
            left = self.record.in_flight
            if is_ours and left is not None:
                self._reservations.settle(self.name, number=left.number, outcome=None)

    def close(self) -> None:
        """End the reservation: no round follows. Nothing is given back, for all of it was charged."""
        self.recover()
        self._reservations.close(self.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()

    def __repr__(self) -> str:
        record = self.record
        return f"<{record.kind.name} {self.name!r}: {record.asked} of {record.rounds} rounds>"

    @no_deadline()
    def _decide(self, number: int, parameters: str, draw: Callable[[RoundReader], object]) -> Decision:
        """Commit the intent, draw, commit the outcome, and return it; or return the outcome the round already has.

        The process that draws holds the gate of the reservation from before the intent until the outcome. Others wait,
        so a round that is in flight when they get the gate was left by a dead process.
        """
        record = self._reservations.seen(self.name) or self.record
        while True:  # once more for each version that is announced before the intent
            gate = self._ledger.store.gate.working(record.full_name, PATIENCE)
            with suppress(MovedOnError), self._tables.hold(record.versions) as held, gate as is_ours:
                if not is_ours:
                    slow = f"round {number} of {self.name} is being drawn by somebody else, and it takes too long"
                    raise LedgerUnwritableError(f"{slow}; nothing was drawn here: ask again later")
                intended = self._intend(number, parameters, held)
                return intended if isinstance(intended, Decision) else self._draw(intended, draw)
            record = self.record

    def _intend(self, number: int, parameters: str, held: Mapping[str, int]) -> Intent | Decision:
        try:
            return self._reservations.intend(self.name, number=number, parameters=parameters, held=held)
        except StreamBusyError as left:
            self._reservations.settle(self.name, number=left.number, outcome=None)
        return self._reservations.intend(self.name, number=number, parameters=parameters, held=held)

    def _draw(self, intent: Intent, draw: Callable[[RoundReader], object]) -> Decision:
        try:
            return hide_failures(lambda: self._read_and_release(intent, draw), self._on_failure)
        except BaseException:
            with suppress(EngineError):  # where the ledger fails as well, the next process gives it up
                hide_failures(lambda: self._lose(intent), self._on_failure)
            raise

    def _read_and_release(self, intent: Intent, draw: Callable[[RoundReader], object]) -> Decision:
        """Read, let noise be added, commit, and return what was committed. It is called in `hide_failures` only."""
        fault_point("round.intended")
        with self._tables.lease(intent.versions) as engine, self._running.scope():
            released = public_text("outcome", draw(RoundReader(engine, intent.versions)))
        fault_point("round.drawn")
        decision = self._reservations.settle(self.name, number=intent.number, outcome=released)
        fault_point("round.told")
        return decision

    def _lose(self, intent: Intent) -> None:
        self._reservations.settle(self.name, number=intent.number, outcome=None)


def public_text(what: str, given: object) -> str:
    """Return the canonical text of JSON values; refuse what the ledger could not show again as it was."""
    try:
        text = canonical(given)
        parse(text)
    except (TypeError, ValueError, RecursionError):
        remedy = "give None, true, false, whole numbers, texts, and lists and mappings of these"
        raise ParameterError(what, type(given).__name__, reason="is no public record", remedy=remedy) from None
    return text
