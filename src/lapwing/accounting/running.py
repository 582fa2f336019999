"""The running total of an account, one charge at a time.

It says what everything so far would cost *if its parameters had been fixed in advance*. Where they were chosen on the
way it is a report, not a guarantee, and must not admit or refuse anything: filters do that.
"""

import math
from collections import OrderedDict
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from lapwing.accounting.dominating_pair import Floats
from lapwing.accounting.losses.atoms import AtomicLaw
from lapwing.accounting.losses.law import LossLaw
from lapwing.accounting.losses.sampled import SampledLaw
from lapwing.accounting.losses.selections import SelectionsLaw
from lapwing.accounting.priced_loss import COUNTABLE
from lapwing.accounting.pricing import price
from lapwing.accounting.rounding import float_above, float_below
from lapwing.accounting.spectrum import SpectralLine, Spectrum, Transformed
from lapwing.accounting.tilting import SLOPES, Tilts
from lapwing.vocabulary.event import Event
from lapwing.vocabulary.exact import probability, whole

TOLERANCE = 2.5e-4
"""The share of epsilon that keeping few frequencies may cost."""

_MOST_ATOMS = 512
_REMEMBERED = 512
_STALE = 2
"""After so many steps of the slope (a doubling of the variance) the frequencies are chosen anew."""


class RunningLoss:
    """The total of all charges so far, as epsilon at any delta, in microseconds.

    Each charge multiplies one short array of complex numbers, and each question is a sum over it.

    Examples
    --------
    >>> from lapwing.vocabulary.event import LaplaceNoise
    >>> total = RunningLoss()
    >>> for _ in range(1000):
    ...     total.charge(LaplaceNoise(l1_sensitivity=Fraction(1), scale=Fraction(100)))
    >>> round(total.epsilon(1e-6), 2), total.charges
    (1.36, 1000)
    """

    def __init__(self) -> None:
        self.charges = 0
        self._pure: Fraction | None = Fraction(0)
        self._prices: dict[Event, tuple[_Entries, ...]] = {}
        self._books = [_Book()]

    def charge(self, event: Event, times: int = 1) -> None:
        """Add `times` uses of `event`."""
        uses = whole("times", times)
        orders = self._prices.get(event) or self._prices.setdefault(event, _entries(event))
        if len(orders) > len(self._books):  # the first event whose two orders differ
            self._books.append(self._books[0].other_order())
        self.charges += uses
        for entry in orders[0]:
            pure = entry.law.pure_epsilon
            self._pure = None if self._pure is None or pure is None else self._pure + pure * entry.times * uses
        for book, entries in zip(self._books, (orders[0], orders[-1]), strict=False):
            for entry in entries:
                book.include(entry, uses)

    def epsilon(self, delta: float) -> float:
        """Return an epsilon for which all charges together are (epsilon, delta)-private, had they been fixed before."""
        found = max(book.epsilon(float_below(probability("delta", delta))) for book in self._books)
        return found if self._pure is None else min(found, float_above(self._pure))


class _Book:
    """One order of the neighbours: what was met, and its transform along a line."""

    def __init__(self) -> None:
        self.met: dict[LossLaw, int] = {}
        self.tilts = Tilts(())
        self.gaussian = 0.0
        self.planned = self.uses = 0
        self.hides_nothing = False
        self.spectrum: Spectrum | None = None
        self.transforms: OrderedDict[LossLaw, Transformed] = OrderedDict()

    def include(self, entry: "_Entry", uses: int) -> None:
        """Add `uses` of what `entry` stands for."""
        law, times = entry.law, entry.times * uses
        self.uses += times
        if law.infinite_mass >= 1:
            self.hides_nothing = True
            return
        self.met[law] = self.met.get(law, 0) + times
        self.tilts.include(entry.cumulants, times)
        self.gaussian += 0.0 if law.mu_squared is None else float(law.mu_squared) * times
        if self.spectrum is not None:
            self.spectrum.include(self._transformed(law, self.spectrum.line), times)

    def other_order(self) -> "_Book":
        """Return the same book for the other order of the neighbours."""
        other = _Book()
        other.hides_nothing = self.hides_nothing
        for law, times in self.met.items():
            other.include(_Entry.of(law.other_order, times), 1)
        return other

    def epsilon(self, delta: float) -> float:
        """Return the epsilon at `delta`."""
        if self.hides_nothing or self.uses > COUNTABLE:
            return math.inf
        if not self.met:
            return 0.0
        target = self.tilts.for_delta(delta)
        if self.spectrum is None or abs(target.index - self.planned) >= _STALE:
            line = SpectralLine.through(target, gaussian=self.gaussian, tolerance=TOLERANCE)
            self.planned, self.spectrum = target.index, Spectrum(line)
            self.transforms.clear()
            for law, times in self.met.items():
                self.spectrum.include(self._transformed(law, line), times)
        return self.spectrum.epsilon(delta, target.epsilon)

    def _transformed(self, law: LossLaw, line: SpectralLine) -> Transformed:
        if law not in self.transforms:
            self.transforms[law] = Transformed.of(law, line)
            if len(self.transforms) > _REMEMBERED:
                self.transforms.popitem(last=False)
        return self.transforms[law]


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    """A law, how often one event meets it, and its cumulants at all slopes."""

    law: LossLaw
    times: int
    cumulants: Floats

    @classmethod
    def of(cls, law: LossLaw, times: int) -> "_Entry":
        return cls(law, times, law.cumulant(SLOPES) if law.infinite_mass < 1 else SLOPES)


_Entries: TypeAlias = tuple[_Entry, ...]


def _entries(event: Event) -> tuple[_Entries, ...]:
    """Return what `event` is made of, in both orders if they differ."""
    return tuple(tuple(_Entry.of(_lean(law), times) for law, times in order) for order in price(event).orders)


def _lean(law: LossLaw) -> LossLaw:
    """Return the law itself, or one with fewer atoms if its transform would be slow."""
    few = not isinstance(law, AtomicLaw) or len(law.pair.losses) <= _MOST_ATOMS
    if few and not isinstance(law, SampledLaw | SelectionsLaw):
        return law
    (pair,) = law.members(_MOST_ATOMS)
    return AtomicLaw(pair=pair, reverse=pair, pure_epsilon=law.pure_epsilon, rho=None)
