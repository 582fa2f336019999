"""The Gaussian mechanism for real values: Gaussian noise on a grid that is fixed before any data is read.

Proof: proofs/gaussian.md
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import overload

import numpy as np
from numpy.typing import NDArray

from lapwing.accounting.pricing import PricedLoss, price
from lapwing.mechanisms.calibration import root_above, smallest_variance, squared_l2_sensitivity
from lapwing.mechanisms.lattice import Grid, Real, Reals
from lapwing.mechanisms.margins import Accuracy, Spread
from lapwing.mechanisms.mechanism import one_way
from lapwing.mechanisms.tails import rounded_gaussian_tail
from lapwing.noise.laws import LARGEST_SCALE, SMALLEST_SCALE, RoundedGaussian
from lapwing.vocabulary.event import GaussianNoise
from lapwing.vocabulary.exact import Exact, positive, whole


@dataclass(frozen=True, slots=True, init=False)
class GaussianMechanism:
    """Releases real values with Gaussian noise, rounded to a grid: as private as Gaussian noise with mu = Δ/σ.

    If one person moves the values by at most Δ in L2 norm (all of them together), then telling the answers with them
    from those without is no easier than telling N(0, 1) from N(Δ/σ, 1): Φ(Δ/2σ - εσ/Δ) - e^ε Φ(-Δ/2σ - εσ/Δ) is the
    δ of every ε, and Δ²/(2σ²) is the rho. For an (ε, δ) the smallest σ by that formula is taken, whatever ε is.

    Answers are multiples of `grid.step`, exact as floats. Where Δ is no multiple of the step, the sensitivity that is
    paid for is the next one. A value off the grid is first moved to the nearest multiple, at most half a step away; NaN
    counts as 0, and values beyond 2^53 steps count as 2^53 steps. Δ must hold with NaN read as 0.

    Parameters
    ----------
    l2_sensitivity, or l2_sensitivity_squared : Δ, or Δ²
    sigma : the noise; or
    rho : the price, Δ²/(2σ²); or
    epsilon, delta : the price; or
    within, confidence : the accuracy; the largest σ of six digits is taken that gives it
    values : for how many answers at once the accuracy is wanted
    dimension : how many values are released together
    grid : the step, a power of two; by default less than a millionth of Δ/dimension and of σ

    Examples
    --------
    >>> hours = GaussianMechanism(l2_sensitivity="0.25", epsilon=1, delta="1e-6")
    >>> isinstance(hours.release(7.5), float)
    True
    >>> round(hours.sigma / 0.25, 4)
    4.2247
    >>> round(hours.margin("0.95"), 3)
    2.07

    Theorem: Balle, Wang, *Improving the Gaussian mechanism for differential privacy*, ICML 2018, Theorem 8.
    Proof: proofs/gaussian.md
    """

    event: GaussianNoise
    grid: Grid
    dimension: int
    _law: RoundedGaussian = field(repr=False, compare=False)

    def __init__(
        self,
        *,
        l2_sensitivity: Exact | None = None,
        l2_sensitivity_squared: Exact | None = None,
        sigma: Exact | None = None,
        rho: Exact | None = None,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        within: Exact | None = None,
        confidence: Exact | None = None,
        values: int = 1,
        dimension: int = 1,
        grid: Exact | None = None,
    ) -> None:
        square = squared_l2_sensitivity(l2_sensitivity, l2_sensitivity_squared)
        size = whole("dimension", dimension)
        given = {"sigma": sigma, "rho": rho, "epsilon": epsilon, "delta": delta}
        given |= {"within": within, "confidence": confidence}
        ways = (("sigma",), ("rho",), ("epsilon", "delta"), ("within", "confidence"))
        wish = None
        match one_way("noise", given, *ways):
            case ("sigma",):
                noise = positive("sigma", sigma)
            case ("rho",):
                noise = root_above(square / (2 * positive("rho", rho)))
            case ("epsilon", "delta"):
                noise = root_above(square * smallest_variance(_unit_noise, epsilon=epsilon, delta=delta))
            case _:
                wish = Accuracy(positive("within", within), confidence, values)
                noise = wish.within / 8
        lattice = Grid.for_noise(grid, noise=noise, move=root_above(square) / size)
        steps_squared = lattice.l2_steps_squared(square, size)
        if wish is not None:
            law = _widest_law(lattice, wish)
        elif sigma is not None:
            law = RoundedGaussian(noise / lattice.step)
        else:  # the price was given: what rounding adds to the sensitivity, the noise makes up for
            law = RoundedGaussian(root_above(noise**2 / square * steps_squared))
        event = GaussianNoise(
            l2_sensitivity_squared=steps_squared * lattice.step**2,
            sigma_squared=(law.sigma_used * lattice.step) ** 2,
        )
        for name, fact in (("event", event), ("grid", lattice), ("dimension", size), ("_law", law)):
            object.__setattr__(self, name, fact)

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise before it is rounded to the grid."""
        return float(self._law.sigma_used * self.grid.step)

    @property
    def rho(self) -> Fraction:
        """The price of a release in zero-concentrated differential privacy."""
        return self.event.l2_sensitivity_squared / (2 * self.event.sigma_squared)

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


def _unit_noise(variance: Fraction) -> GaussianNoise:
    return GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=variance)


def _spread(law: RoundedGaussian, grid: Grid) -> Spread:
    return Spread(rounded_gaussian_tail(law.sigma_used), grid.step)


def _widest_law(grid: Grid, wish: Accuracy) -> RoundedGaussian:
    def law(sigma: Fraction) -> RoundedGaussian:
        return RoundedGaussian(min(max(sigma / grid.step, SMALLEST_SCALE), LARGEST_SCALE))

    return law(wish.turning_point(lambda sigma: not wish.met_by(_spread(law(sigma), grid), grid.step / 2))[0])
