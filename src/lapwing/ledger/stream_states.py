"""What the ledger knows of a stream, as values: how it was opened, where it stands, what was asked and decided."""

from collections.abc import Mapping
from dataclasses import field, replace
from enum import Enum
from typing import Any, Final

from lapwing.accounting.filters.charge import Charge, Reservation
from lapwing.ledger.entries import Receipt, Record, name, text
from lapwing.vocabulary.codec import digest, to_record
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import as_int
from lapwing.vocabulary.frozen import frozen

_MOST_UNITS: Final = 10_000
_WIDEST: Final = 1024


class StreamOutcome(Enum):
    """How a question of a stream ended."""

    YES = "yes"
    NO = "no"
    LOST = "lost"


class StreamStatus(Enum):
    """Whether a stream may be asked."""

    OPEN = "open"
    HALTED = "halted"
    CLOSED = "closed"


@frozen()
class Opening:
    """What it takes to open a stream."""

    population: str
    analyst: str
    key: str
    stream: str  # its name, new in this ledger; seals are bound to it
    charge: Charge  # a `Reservation` for this stream, which pays per yes, or any other, which is paid whole
    units: int  # how much it may give away; a plain yes takes one unit, and `Reservation.yeses` counts the same units
    tables: frozenset[str]
    terms: str  # its public parameters, as canonical text
    sealed: bytes = field(repr=False)  # its secret state, sealed, of the same length whatever it holds
    dearest: int = 1  # the units of its dearest yes, which is also what a lost answer takes; fewer left, and it halts
    questions: int | None = None  # it halts after this number, for mechanisms whose price depends on it

    def __post_init__(self) -> None:
        for what in ("analyst", "key", "stream"):
            name(what, getattr(self, what))
        text("terms", self.terms)
        as_int("units", self.units, most=_MOST_UNITS)
        as_int("dearest", self.dearest, most=self.units)
        require_sealed(self.sealed)
        if self.questions is not None:
            as_int("questions", self.questions)
        due = (self.stream, self.units)
        if isinstance(self.charge, Reservation) and (self.charge.stream, self.charge.yeses) != due:
            reason = f"does not reserve {self.units} units for stream {self.stream!r}"
            raise ParameterError("charge", self.charge, reason=reason, remedy="reserve for this stream")

    @property
    def digest(self) -> str:
        """What tells two openings with the same key apart; the secret is not part of it."""
        limits = [self.units, self.dearest, self.questions]
        return digest([self.stream, to_record(self.charge), limits, sorted(self.tables), self.terms])


@frozen()
class Intent:
    """The `questions` of a stream, from question `number` on, that are about to be decided from these data versions.

    `sealed` is the sealed seed of the noise that decides them, now and after a crash; `state` is the sealed state of
    their stream, and `seals` the number that this seal is bound to. `many` says that they were asked as a batch, which
    is decided as one.
    """

    seq: int
    stream: str
    number: int
    key: str
    questions: tuple[str, ...]
    versions: Mapping[str, int]
    sealed: bytes = field(repr=False)
    state: bytes = field(repr=False)
    seals: int
    many: bool = False


@frozen()
class Decision:
    """The outcome of a question as it stands in the ledger.

    `answer` is what may be told, `None` if it was lost; `units_left` is what the stream can still give away, now.
    """

    stream: str
    number: int
    outcome: StreamOutcome
    answer: str | None
    status: StreamStatus
    receipt: Receipt
    units_left: int


@frozen()
class StreamRecord:
    """A stream as it stands: how it was opened, what it has used up, and what is needed to go on."""

    name: str
    population: str
    analyst: str
    terms: str
    tables: frozenset[str]
    units: int
    dearest: int
    questions: int | None
    status: StreamStatus
    asked: int  # the number of its last question, decided or in flight
    used: int  # the units given away so far
    seals: int  # how many times its state was sealed, the opening included: what the newest seal is bound to
    last: Record = field(repr=False)  # what its last entry says
    versions: Mapping[str, int] = field(default_factory=dict)  # of all tables of its population, at present
    sealed: bytes | None = field(repr=False, default=None)  # its state, while it is open
    in_flight: Intent | None = None  # the question that has no outcome yet

    @staticmethod
    def read(opening: Record, last: Record) -> "StreamRecord":
        """Return what the first and the last entry of a stream say; secrets and versions are found elsewhere."""
        said = {word: opening[word] for word in ("population", "analyst", "terms", "units", "dearest", "questions")}
        return StreamRecord(name=opening["stream"], tables=frozenset(opening["tables"]), **said, **_state_fields(last))

    def after(self, entry: Record) -> "StreamRecord":
        """Return the stream as one more entry leaves it."""
        return replace(self, **_state_fields(entry))

    @property
    def is_busy(self) -> bool:
        """Whether its last entry is a question that has no outcome yet."""
        return self.last["kind"] == "intent"  # type: ignore[no-any-return]

    @property
    def units_left(self) -> int:
        """What it can still give away."""
        return self.units - self.used if self.status is StreamStatus.OPEN else 0


def _state_fields(last: Record) -> dict[str, Any]:
    counts = {name: last[name] for name in ("asked", "used", "seals")}
    return {"status": StreamStatus(last["status"]), "last": last, **counts}


def require_sealed(given: object) -> bytes:
    """Return `given` if it can be stored as a sealed secret; its content never appears in a message."""
    if not isinstance(given, bytes) or not 0 < len(given) <= _WIDEST:
        found = f"<{len(given)} bytes>" if isinstance(given, bytes) else f"<{type(given).__name__}>"
        raise ParameterError("sealed", found, reason="is not a sealed secret", remedy=f"give 1 to {_WIDEST} bytes")
    return given
