"""What can be written into an account: a charge, a yes of a stream, the closing of a stream.

A charge is admitted or refused before any data is read. A yes and a closing are never refused: they only turn what was
reserved at the opening into what is spent, or give it back.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Event, PureRelease, checked_event
from lapwing.vocabulary.exact import as_int, positive


@stored("single-release")
@dataclass(frozen=True, slots=True, kw_only=True)
class SingleRelease:
    """One release, or one plan: a `Composed` or `Repeated` event whose parameters are fixed before its first answer.

    Parameters
    ----------
    event : what will happen
    cells : the cells of the partition whose people the release can tell apart; `None` for all of them
    """

    event: Event
    cells: frozenset[str] | None = None

    def __post_init__(self) -> None:
        checked_event(self.event)
        object.__setattr__(self, "cells", _scope(self.cells))


@stored("reservation")
@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A stream of questions that pays for its yeses: `opening` at once, `price` for each of at most `yeses` yeses.

    All of it is held at the opening, so that a yes can always be paid: a refusal at that moment would itself announce
    the yes. Closing gives back what no yes has used; the opening never comes back.

    Parameters
    ----------
    stream : the name of the stream
    opening : the pure epsilon of a stream that answers no for ever (the noise of its threshold)
    price : the pure epsilon of one yes
    yeses : after so many the stream halts
    cells : the scope, every cell that any question of the stream may touch; each yes is charged to *all* of them

    Examples
    --------
    >>> Reservation(stream="s", opening="1/4", price="3/20", yeses=5).whole
    Fraction(1, 1)
    """

    stream: str
    opening: Fraction
    price: Fraction
    yeses: int
    cells: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.stream, str) or not self.stream:
            raise ParameterError("stream", self.stream, reason="names no stream", remedy="give the stream a name")
        object.__setattr__(self, "opening", positive("opening", self.opening))
        object.__setattr__(self, "price", positive("price", self.price))
        object.__setattr__(self, "yeses", as_int("yeses", self.yeses))
        object.__setattr__(self, "cells", _scope(self.cells))

    @property
    def whole(self) -> Fraction:
        """What the stream costs if every yes is given."""
        return self.opening + self.yeses * self.price

    @property
    def event(self) -> Event:
        """The stream as one pure release: what every arm but the pure sum has to book, whole and at the opening."""
        return PureRelease(epsilon=self.whole)


@stored("yes")
@dataclass(frozen=True, slots=True, kw_only=True)
class YesCharge:
    """A yes that a stream has given, or an answer of it that was lost and counts as one."""

    stream: str


@stored("closing")
@dataclass(frozen=True, slots=True, kw_only=True)
class StreamClosing:
    """The end of a stream, with no question in flight."""

    stream: str


Charge: TypeAlias = SingleRelease | Reservation


def _scope(cells: object) -> frozenset[str] | None:
    if cells is None or isinstance(cells, frozenset):
        return cells
    if isinstance(cells, str) or not isinstance(cells, Iterable):
        raise ParameterError("cells", cells, reason="is no set of cells", remedy='write for example {"north"}')
    return frozenset(cells)
