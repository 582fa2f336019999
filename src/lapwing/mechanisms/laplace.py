"""The Laplace mechanism for real values: Laplace noise on a grid that is fixed before any data is read.

Proof: proofs/laplace.md
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import overload

import numpy as np
from numpy.typing import NDArray

from lapwing.accounting.priced_loss import PricedLoss
from lapwing.accounting.pricing import price
from lapwing.mechanisms.margins import Accuracy, Spread
from lapwing.mechanisms.noise_addition import Real, Reals, ValueGrid
from lapwing.mechanisms.tails import rounded_laplace_tail
from lapwing.noise.laws import LARGEST_SCALE, SMALLEST_SCALE, RoundedLaplace
from lapwing.vocabulary.event import LaplaceNoise
from lapwing.vocabulary.exact import Exact, as_int, exactly_one_of, positive


@dataclass(frozen=True, slots=True, init=False)
class LaplaceMechanism:
    """Releases real values with Laplace noise of scale Δ/ε, rounded to a grid: ε-differentially private.

    If one person moves the values by at most Δ in L1 norm (all of them together), then every event is at most e^ε times
    as likely with them as without. Answers are multiples of `grid.step`, exact as floats: no bit of them depends on how
    a computer rounds, which is what broke the textbook mechanism (Mironov 2012, Haney et al. 2022). Where Δ is no
    multiple of the step, the sensitivity that is paid for is the next one. The noise has the scale of `event` or, by
    less than a relative 2^-16, a larger one.

    A value off the grid is first moved to the nearest multiple, at most half a step away; NaN counts as 0, and values
    beyond 2^53 steps count as 2^53 steps. Δ must hold with NaN read as 0.

    Parameters
    ----------
    l1_sensitivity : Δ
    epsilon : the price; or
    scale : the noise; or
    within, confidence : the accuracy; the smallest epsilon of six digits is taken that gives it
    values : for how many answers at once the accuracy is wanted
    dimension : how many values are released together
    grid : the step, a power of two; by default less than a millionth of Δ/dimension and of the scale

    Examples
    --------
    >>> hours = LaplaceMechanism(l1_sensitivity="0.25", epsilon=1)
    >>> isinstance(hours.release(7.5), float)
    True
    >>> hours.event
    LaplaceNoise(l1_sensitivity=Fraction(1, 4), scale=Fraction(1, 4))
    >>> round(hours.margin("0.95"), 3)
    0.749

    Theorem: Dwork, McSherry, Nissim, Smith, *Calibrating noise to sensitivity in private data analysis*, TCC 2006.
    Proof: proofs/laplace.md
    """

    event: LaplaceNoise
    grid: ValueGrid
    dimension: int
    _law: RoundedLaplace = field(repr=False, compare=False)

    def __init__(
        self,
        *,
        l1_sensitivity: Exact,
        epsilon: Exact | None = None,
        scale: Exact | None = None,
        within: Exact | None = None,
        confidence: Exact | None = None,
        values: int = 1,
        dimension: int = 1,
        grid: Exact | None = None,
    ) -> None:
        sensitivity, size = positive("l1_sensitivity", l1_sensitivity), as_int("dimension", dimension)
        many = as_int("values", values)
        given = {"epsilon": epsilon, "scale": scale, "within": within, "confidence": confidence}
        match exactly_one_of("noise", given, ("epsilon",), ("scale",), ("within", "confidence")):
            case ("epsilon",):
                rate = positive("epsilon", epsilon)
                lattice = ValueGrid.for_noise(grid, noise=sensitivity / rate, move=sensitivity / size)
                steps = lattice.l1_steps(sensitivity, size)
                law = RoundedLaplace(steps / rate)
            case ("scale",):
                noise = positive("scale", scale)
                lattice = ValueGrid.for_noise(grid, noise=noise, move=sensitivity / size)
                steps = lattice.l1_steps(sensitivity, size)
                law = RoundedLaplace(noise / lattice.step)
            case _:
                wish = Accuracy(positive("within", within), confidence, many)
                lattice = ValueGrid.for_noise(grid, noise=wish.within / 32, move=sensitivity / size)
                steps = lattice.l1_steps(sensitivity, size)
                law = _widest_law(steps, lattice, wish)
        event = LaplaceNoise(l1_sensitivity=steps * lattice.step, scale=law.scale * lattice.step)
        for name, fact in (("event", event), ("grid", lattice), ("dimension", size), ("_law", law)):
            object.__setattr__(self, name, fact)

    @property
    def epsilon(self) -> Fraction:
        """The price of a release."""
        return self.event.l1_sensitivity / self.event.scale

    @property
    def loss(self) -> PricedLoss:
        """What a release costs, in every currency."""
        return price(self.event)

    @overload
    def release(self, value: Real) -> float: ...
    @overload
    def release(self, value: Reals) -> NDArray[np.float64]: ...
    def release(self, value: Real | Reals) -> float | NDArray[np.float64]:
        """Return the value with noise, or the vector with independent noise on every coordinate."""
        return self.grid.add_noise(value, self._law, self.dimension)

    def margin(self, confidence: Exact, *, values: int = 1) -> float:
        """Return the smallest m such that the noise on `values` answers is at most m, with this probability or more."""
        return float(_spread(self._law, self.grid).margin(confidence, values))

    def confidence(self, margin: Exact, *, values: int = 1) -> float:
        """Return the probability, rounded down, that the noise on `values` answers is at most `margin`."""
        return _spread(self._law, self.grid).confidence(margin, values)


def _spread(law: RoundedLaplace, grid: ValueGrid) -> Spread:
    return Spread(rounded_laplace_tail(law.scale_used), grid.step)


def _widest_law(steps: int, grid: ValueGrid, wish: Accuracy) -> RoundedLaplace:
    def law(epsilon: Fraction) -> RoundedLaplace:
        return RoundedLaplace(min(max(steps / epsilon, SMALLEST_SCALE), LARGEST_SCALE))

    return law(wish.turning_point(lambda epsilon: wish.met_by(_spread(law(epsilon), grid), grid.step / 2))[1])
