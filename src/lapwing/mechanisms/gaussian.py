"""The Gaussian mechanism for real values: Gaussian noise on a grid that is fixed before any data is read.

Proof: proofs/gaussian.md
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import overload

import numpy as np
from numpy.typing import NDArray

from lapwing.accounting.priced_loss import PricedLoss
from lapwing.accounting.pricing import price
from lapwing.accounting.rounding import float_above
from lapwing.mechanisms.calibration import root_above, smallest_variance, squared_l2_sensitivity
from lapwing.mechanisms.margins import Accuracy, Spread
from lapwing.mechanisms.noise_addition import Real, Reals, ValueGrid
from lapwing.mechanisms.tails import rounded_gaussian_tail
from lapwing.noise.laws import LARGEST_SCALE, SMALLEST_SCALE, RoundedGaussian
from lapwing.vocabulary.event import GaussianNoise
from lapwing.vocabulary.exact import Exact, as_int, exactly_one_of, positive


@dataclass(frozen=True, slots=True, init=False)
class GaussianMechanism:
    """Releases real values with Gaussian noise, rounded to a grid: as private as Gaussian noise with mu = Δ/σ.

    If one person moves the values by at most Δ in L2 norm (all of them together), then telling the answers with them
    from those without is no easier than telling N(0, 1) from N(Δ/σ, 1): Φ(Δ/2σ - εσ/Δ) - e^ε Φ(-Δ/2σ - εσ/Δ) is the
    δ of every ε, and Δ²/(2σ²) is the rho. For an (ε, δ) the smallest σ by that formula is taken, whatever ε is.

    Answers are multiples of `grid.step`, exact as floats. Where Δ is no multiple of the step, the sensitivity that is
    paid for is the next one. A value off the grid is first moved to the nearest multiple, at most half a step away; NaN
    counts as 0, and values beyond 2^53 steps count as 2^53 steps. Δ must hold with NaN read as 0. The noise has the σ
    of `event` or, by less than a relative 2^-16, a larger one.

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
    grid: ValueGrid
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
        size, many = as_int("dimension", dimension), as_int("values", values)
        given = {"sigma": sigma, "rho": rho, "epsilon": epsilon, "delta": delta}
        given |= {"within": within, "confidence": confidence}
        relative = wish = None  # the variance at sensitivity 1, or the accuracy that is wanted
        match exactly_one_of("noise", given, ("sigma",), ("rho",), ("epsilon", "delta"), ("within", "confidence")):
            case ("sigma",):
                variance = positive("sigma", sigma) ** 2
            case ("rho",):
                relative = 1 / (2 * positive("rho", rho))
                variance = relative * square
            case ("epsilon", "delta"):
                relative = smallest_variance(_noise_at_one, epsilon=epsilon, delta=delta)
                variance = relative * square
            case _:
                wish = Accuracy(positive("within", within), confidence, many)
                variance = (wish.within / 8) ** 2
        lattice = ValueGrid.for_noise(grid, noise=root_above(variance), move=root_above(square) / size)
        paid = lattice.l2_steps_squared(square, size) * lattice.step**2
        if wish is not None:
            variance = _largest_sigma(lattice, wish) ** 2
        elif relative is not None:
            variance = relative * paid
        law = _law(variance, lattice)
        event = GaussianNoise(l2_sensitivity_squared=paid, sigma_squared=variance)
        for name, fact in (("event", event), ("grid", lattice), ("dimension", size), ("_law", law)):
            object.__setattr__(self, name, fact)

    @property
    def sigma(self) -> float:
        """The standard deviation that is paid for, rounded up."""
        return float_above(root_above(self.event.sigma_squared))

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


def _noise_at_one(variance: Fraction) -> GaussianNoise:
    return GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=variance)


def _law(variance: Fraction, grid: ValueGrid) -> RoundedGaussian:
    return RoundedGaussian(root_above(variance / grid.step**2))


def _spread(law: RoundedGaussian, grid: ValueGrid) -> Spread:
    return Spread(rounded_gaussian_tail(law.sigma_used), grid.step)


def _largest_sigma(grid: ValueGrid, wish: Accuracy) -> Fraction:
    def clamped(sigma: Fraction) -> Fraction:
        return min(max(sigma, SMALLEST_SCALE * grid.step), LARGEST_SCALE * grid.step)

    def too_much(sigma: Fraction) -> bool:
        return not wish.met_by(_spread(_law(clamped(sigma) ** 2, grid), grid), grid.step / 2)

    return clamped(wish.turning_point(too_much)[0])
