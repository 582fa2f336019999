"""Values that describe a reservation: its opening, its current state, the rounds that are about to be drawn."""

from collections.abc import Mapping
from dataclasses import field, replace
from enum import Enum
from typing import Any, Final

from lapwing.accounting.filters.charge import Charge, Reservation
from lapwing.ledger.entries import Receipt, Record, name, text
from lapwing.vocabulary.codec import canonical, digest, to_record
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import as_int
from lapwing.vocabulary.frozen import frozen

MOST_ROUNDS: Final = 100_000
"""A round may be free and leaves two entries, so that without a limit one reservation could fill a disk."""
_MOST_UNITS: Final = 10_000
_WIDEST: Final = 1024


class RoundOutcome(Enum):
    """How a round ended: a question of a stream with yes or no, any other with what was released, or it was lost."""

    YES = "yes"
    NO = "no"
    RELEASED = "released"
    LOST = "lost"


class ReservationStatus(Enum):
    """Whether another round may follow."""

    OPEN = "open"
    HALTED = "halted"
    CLOSED = "closed"


class IfLost(Enum):
    """The rule for a lost round of a reservation: one that may have been drawn, and has no outcome."""

    COUNTS = "counts"  # as the dearest outcome that it can have; the next round may follow
    ENDS = "ends"  # it halts there, and what was committed before stands


@frozen()
class ReservationKind:
    """The purpose of a reservation, by name, and its rule for lost rounds; both are fixed in its opening, for ever."""

    name: str
    if_lost: IfLost

    def __post_init__(self) -> None:
        name("kind", self.name)
        if self.name == "stream" and self.if_lost is not IfLost.COUNTS:
            reason = "is the name of streams, whose lost questions count"
            raise ParameterError("kind", self.name, reason=reason, remedy="choose another name")

    @property
    def said(self) -> dict[str, str]:
        """The fields of each entry that name the kind: none for a stream, which the format had before the others."""
        return {} if self == STREAM else {"reserves": self.name}


STREAM: Final = ReservationKind(name="stream", if_lost=IfLost.COUNTS)


@frozen()
class Opening:
    """The parameters of opening a reservation: its charge covers all that its rounds can ever do."""

    population: str
    analyst: str
    key: str
    name: str  # new in the chain of its population; seals are bound to both (`full_name`)
    charge: Charge  # a `Reservation` for a stream, which pays per yes, or any other, which is paid whole
    tables: frozenset[str]
    terms: str  # its public parameters, as canonical text
    units: int = 0  # how much a stream may give away; a plain yes takes one, and `Reservation.yeses` counts the same
    sealed: bytes | None = field(repr=False, default=None)  # its secret state, sealed, always of the same length
    dearest: int = 0  # the units of its dearest outcome, which is also what a lost one takes; fewer left, and it halts
    rounds: int | None = None  # it halts after this number, for mechanisms whose price depends on it
    kind: ReservationKind = STREAM
    by_default: bool = False  # the tables were left out: if it was opened before, those of that time stand

    def __post_init__(self) -> None:
        for what in ("analyst", "key", "name"):
            name(what, getattr(self, what))
        text("terms", self.terms)
        if self.kind == STREAM:
            as_int("units", self.units, most=_MOST_UNITS)
            as_int("dearest", self.dearest, most=self.units)
            require_sealed(self.sealed)
        elif (self.units, self.dearest, self.sealed) != (0, 0, None):
            raise ParameterError("units", self.units, reason="are for streams", remedy="leave them out")
        if self.rounds is not None or self.kind != STREAM:
            as_int("rounds", self.rounds, most=MOST_ROUNDS)
        due = (self.name, self.units)
        if isinstance(self.charge, Reservation) and (self.charge.stream, self.charge.yeses) != due:
            reason = f"does not reserve {self.units} units for stream {self.name!r}"
            raise ParameterError("charge", self.charge, reason=reason, remedy="reserve for this stream")

    @property
    def said(self) -> dict[str, Any]:
        """The fields of its entry; the rule for lost rounds only if it is not a stream."""
        rule = {} if self.kind == STREAM else {"if_lost": self.kind.if_lost.value}
        limits = {"units": self.units, "dearest": self.dearest, "questions": self.rounds}
        said = {"stream": self.name, "tables": sorted(self.tables), "terms": self.terms}
        return {**said, **limits, **self.kind.said, **rule}

    @property
    def digest(self) -> str:
        """The digest of the content: openings with the same key must have the same digest. It leaves out the secret."""
        limits = [self.units, self.dearest, self.rounds]
        kind = [] if self.kind == STREAM else [self.kind.name, self.kind.if_lost.value]
        return digest([self.name, to_record(self.charge), limits, sorted(self.tables), self.terms, *kind])


@frozen()
class Intent:
    """Rounds of a reservation, from `number` on, that are about to be drawn from these data versions.

    `questions` are their public parameters, one text for each: several only if none waits for the outcome of another,
    and then they end together. `sealed` is the sealed seed of the noise that decides them, now and after a crash, and
    `state` the sealed state of the reservation, where its kind has such; `seals` is what this seal is bound to. `many`
    is true for a list of questions, whose noise is derived from the seed in another way than that of a single question.
    """

    seq: int
    reservation: str
    number: int
    questions: tuple[str, ...]
    versions: Mapping[str, int]
    seals: int
    key: str | None = None
    many: bool = False
    sealed: bytes = field(repr=False, default=b"")
    state: bytes = field(repr=False, default=b"")


@frozen()
class Decision:
    """The outcome of a round as it stands in the ledger.

    `answer` is what may be released, `None` if it was lost; `units_left` are the units that the reservation has left.
    """

    reservation: str
    number: int
    outcome: RoundOutcome
    answer: str | None
    status: ReservationStatus
    receipt: Receipt
    units_left: int
    versions: Mapping[str, int]


@frozen()
class ReservationRecord:
    """A reservation as it stands: how it was opened, what it has used up, and what is needed to go on."""

    name: str
    population: str
    analyst: str
    kind: ReservationKind
    terms: str
    tables: frozenset[str]
    units: int
    dearest: int
    rounds: int | None
    status: ReservationStatus
    asked: int  # the number of its last round, decided or in flight
    used: int  # the units given away so far
    seals: int  # how many times its state was sealed, the opening included: what the newest seal is bound to
    last: Record = field(repr=False)  # the content of its last entry
    versions: Mapping[str, int] = field(default_factory=dict)  # of all tables of its population, at present
    sealed: bytes | None = field(repr=False, default=None)  # its state, while it is open
    in_flight: Intent | None = None  # the rounds that have no outcome yet

    @staticmethod
    def read(opening: Record, last: Record) -> "ReservationRecord":
        """Return the reservation from its first and its last entry; secrets and versions are read elsewhere."""
        said = {word: opening[word] for word in ("population", "analyst", "terms", "units", "dearest")}
        return ReservationRecord(
            name=opening["stream"],
            kind=kind_of(opening),
            rounds=opening["questions"],
            tables=frozenset(opening["tables"]),
            **said,
            **_state_fields(last),
        )

    def after(self, entry: Record) -> "ReservationRecord":
        """Return it as one more entry leaves it."""
        return replace(self, **_state_fields(entry))

    @property
    def full_name(self) -> str:
        """Its name among the reservations of all populations."""
        return full_name(self.population, self.name)

    @property
    def is_busy(self) -> bool:
        """Whether its last entry is an intent that has no outcome yet."""
        return self.last["kind"] == "intent"  # type: ignore[no-any-return]

    @property
    def units_left(self) -> int:
        """The units that its rounds can still use; 0 once it is not open."""
        return self.units - self.used if self.status is ReservationStatus.OPEN else 0


def full_name(population: str, reservation: str) -> str:
    """Return the text that names a reservation among those of all populations: what gates and seals are bound to.

    Each population has a chain of its own, and so a stream of another may have the same name. It is injective in the
    two names, and a population keeps its own in every ledger.
    """
    return canonical([population, reservation])


def kind_of(opening: Record) -> ReservationKind:
    """Return the kind of the reservation that an opening records."""
    if "reserves" not in opening:
        return STREAM
    return ReservationKind(name=opening["reserves"], if_lost=IfLost(opening["if_lost"]))


def _state_fields(last: Record) -> dict[str, Any]:
    counts = {name: last[name] for name in ("asked", "used", "seals")}
    return {"status": ReservationStatus(last["status"]), "last": last, **counts}


def require_sealed(given: object) -> bytes:
    """Return `given` if it can be stored as a sealed secret; its content never appears in a message."""
    if not isinstance(given, bytes) or not 0 < len(given) <= _WIDEST:
        found = f"<{len(given)} bytes>" if isinstance(given, bytes) else f"<{type(given).__name__}>"
        raise ParameterError("sealed", found, reason="is not a sealed secret", remedy=f"give 1 to {_WIDEST} bytes")
    return given
