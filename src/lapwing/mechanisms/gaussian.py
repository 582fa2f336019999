"""The Gaussian mechanism for real values: Gaussian noise on a grid that is fixed before any data is read."""

from fractions import Fraction

from lapwing.mechanisms.calibration import rational_root_above, smallest_variance, squared_l2_sensitivity
from lapwing.mechanisms.margins import ByAccuracy
from lapwing.mechanisms.noise_mechanism import (
    ByEpsilonDelta,
    ByRho,
    BySize,
    RealNoise,
    ValueGrid,
    above_zero,
    parse_noise,
)
from lapwing.noise.laws import LARGEST_SCALE, SMALLEST_SCALE, RoundedGaussian
from lapwing.vocabulary.event import GaussianNoise
from lapwing.vocabulary.exact import Exact, as_int, float_above


class GaussianMechanism(RealNoise[GaussianNoise, RoundedGaussian]):
    """Releases real values with Gaussian noise, rounded to a grid: as private as Gaussian noise with mu = Δ/σ.

    If one person moves the values by at most Δ in L2 norm (all of them together), then telling the answers with them
    from those without is no easier than telling N(0, 1) from N(Δ/σ, 1): Φ(Δ/2σ - εσ/Δ) - e^ε Φ(-Δ/2σ - εσ/Δ) is the
    δ of every ε, and Δ²/(2σ²) is the rho. For an (ε, δ) the smallest σ by that formula is taken, whatever ε is.

    Answers are multiples of `grid.step`, exact as floats. Where Δ is not a multiple of it, the sensitivity that is
    paid for is the next one. A value off the grid is first moved to the nearest multiple, at most half a step away; NaN
    counts as 0, and values beyond 2^53 steps count as 2^53 steps. Δ must hold with NaN read as 0. The noise has the σ
    of `event` or, by less than a relative 2^-16, a larger one.

    For an accuracy (`within` with `confidence`, of as many `values` at once) the largest σ of six digits is taken.
    `grid` is the step, a power of two: by default less than a millionth of Δ/dimension and of σ.

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

    __slots__ = ()

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
        square, size = squared_l2_sensitivity(l2_sensitivity, l2_sensitivity_squared), as_int("dimension", dimension)
        asked = parse_noise(
            values=values,
            sigma=sigma,
            rho=rho,
            epsilon=epsilon,
            delta=delta,
            within=above_zero(within),
            confidence=confidence,
        )
        relative: Fraction | None = None  # the variance at sensitivity 1, where the price says it
        match asked:
            case BySize(deviation):
                variance = deviation**2
            case ByRho(price):
                relative = 1 / (2 * price)
                variance = relative * square
            case ByEpsilonDelta():
                relative = smallest_variance(_noise_at_one, epsilon=asked.epsilon, delta=asked.delta)
                variance = relative * square
            case ByAccuracy():
                variance = (asked.within / 8) ** 2
            case _:  # pragma: no cover - it is asked for in no other way
                raise AssertionError
        noise, move = rational_root_above(variance), rational_root_above(square) / size
        lattice = ValueGrid.for_noise(grid, noise=noise, move=move)
        paid = lattice.l2_steps_squared(square, size) * lattice.step**2
        if isinstance(asked, ByAccuracy):
            variance = _largest_sigma(lattice, asked) ** 2
        elif relative is not None:
            variance = relative * paid
        event = GaussianNoise(l2_sensitivity_squared=paid, sigma_squared=variance)
        super().__init__(event=event, law=_law(variance, lattice), grid=lattice, dimension=size)

    @property
    def sigma(self) -> float:
        """The standard deviation that is paid for, rounded up."""
        return float_above(rational_root_above(self.event.sigma_squared))

    @property
    def rho(self) -> Fraction:
        """The price of a release in zero-concentrated differential privacy."""
        return self.event.l2_sensitivity_squared / (2 * self.event.sigma_squared)


def _noise_at_one(variance: Fraction) -> GaussianNoise:
    return GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=variance)


def _law(variance: Fraction, grid: ValueGrid) -> RoundedGaussian:
    return RoundedGaussian(rational_root_above(variance / grid.step**2))


def _largest_sigma(grid: ValueGrid, target: ByAccuracy) -> Fraction:
    def clamped(sigma: Fraction) -> Fraction:
        return min(max(sigma, SMALLEST_SCALE * grid.step), LARGEST_SCALE * grid.step)

    def too_much(sigma: Fraction) -> bool:
        return not target.met_by(grid.spread(_law(clamped(sigma) ** 2, grid)), grid.step / 2)

    return clamped(target.bisect(too_much)[0])
