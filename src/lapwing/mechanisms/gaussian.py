"""Gaussian noise: on integers, for many answers under one budget, and on a grid that is fixed before data is read.

For an (ε, δ) the smallest noise is found by the price of the noise itself, never by the textbook formula. Its
sigma = Δ sqrt(2 ln(1.25/δ))/ε is proved for ε below 1 only: at ε = 20 and δ = 1e-6 it misses its δ by a factor of 161,
and at ε = 1 it is a quarter too noisy.

Proof: proofs/gaussian_calibration.md
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from lapwing.accounting.pricing import price
from lapwing.mechanisms.margins import ByAccuracy, Spread, discrete_gaussian_tail
from lapwing.mechanisms.noise_mechanism import (
    ByEpsilonDelta,
    ByRho,
    BySize,
    IntegerNoise,
    RealNoise,
    ValueGrid,
    above_zero,
    parse_noise,
)
from lapwing.noise.laws import LARGEST_SCALE, SMALLEST_SCALE, DiscreteGaussian, RoundedGaussian
from lapwing.vocabulary.deadline import spend
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import DiscreteGaussianNoise, Event, GaussianNoise
from lapwing.vocabulary.exact import Exact, as_int, exactly_one_of, float_above, float_below, positive, probability
from lapwing.vocabulary.search import Search, decimals, integers

# a variance from which on discrete noise costs what continuous noise does, to four digits, and takes long to price
_MUCH: Final = 10**4
_FEW_DIGITS: Final = 4
_STEPS: Final = 50  # of work that trying one variance counts as


class DiscreteGaussianMechanism(IntegerNoise[DiscreteGaussianNoise, DiscreteGaussian]):
    """Releases integers with noise P(x) ∝ e^(-x²/2σ²): Δ²/(2σ²)-zero-concentrated differentially private.

    If one person moves the released integers by at most Δ in L2 norm (all of them together: a histogram is one release
    of Δ² = 1 under add-remove and Δ² = 2 under replace), then for every order α > 1 the Renyi divergence between the
    answers with them and without is at most αΔ²/(2σ²). For an (ε, δ) the smallest σ² is taken whose own price, not a
    bound on it by rho, is within it: to ten digits, to four where it is large. For an accuracy (`within` with
    `confidence`, of as many `values` at once) the largest σ² of six digits is taken. Δ² is a whole number.

    >>> count = DiscreteGaussianMechanism(l2_sensitivity=1, rho="0.005")
    >>> isinstance(count.release(1234), int)
    True
    >>> count.event
    DiscreteGaussianNoise(l2_sensitivity_squared=1, sigma_squared=Fraction(100, 1), dimension=1)
    >>> count.margin("0.95")
    20

    Theorem: Canonne, Kamath, Steinke, *The discrete Gaussian for differential privacy*, NeurIPS 2020, Theorem 4.
    Proof: proofs/discrete_gaussian.md
    """

    __slots__ = ()

    def __init__(
        self,
        *,
        l2_sensitivity: Exact | None = None,
        l2_sensitivity_squared: Exact | None = None,
        sigma_squared: Exact | None = None,
        rho: Exact | None = None,
        epsilon: Exact | None = None,
        delta: Exact | None = None,
        within: Exact | None = None,
        confidence: Exact | None = None,
        values: int = 1,
        dimension: int = 1,
    ) -> None:
        square = squared_l2_sensitivity(l2_sensitivity, l2_sensitivity_squared)
        move, size = as_int("l2_sensitivity_squared", square), as_int("dimension", dimension)
        asked = parse_noise(
            values=values,
            sigma_squared=sigma_squared,
            rho=rho,
            epsilon=epsilon,
            delta=delta,
            within=within,
            confidence=confidence,
        )

        def event_at(variance: Fraction) -> DiscreteGaussianNoise:
            return DiscreteGaussianNoise(l2_sensitivity_squared=move, sigma_squared=variance, dimension=size)

        match asked:
            case BySize(variance):
                pass
            case ByRho(price):
                variance = move / (2 * price)
            case ByEpsilonDelta(price, chance):
                variance = smallest_variance(event_at, epsilon=price, delta=chance, near=_near(move, size, asked))
            case ByAccuracy():
                variance = asked.bisect(lambda one: not asked.met_by(Spread(discrete_gaussian_tail(one))))[0]
            case _:  # pragma: no cover - it is asked for in no other way
                raise AssertionError
        super().__init__(event=event_at(variance), law=DiscreteGaussian(variance), dimension=size)

    @property
    def rho(self) -> Fraction:
        """The price of a release in zero-concentrated differential privacy."""
        return self.event.l2_sensitivity_squared / (2 * self.event.sigma_squared)


def _near(move: int, dimension: int, asked: ByEpsilonDelta) -> Callable[[Fraction], GaussianNoise] | None:
    """Return continuous noise, where the exact price takes long: with many coordinates, or much noise."""
    moved = math.isqrt(move) ** 2 if dimension == 1 else move

    def continuous(variance: Fraction) -> GaussianNoise:
        return GaussianNoise(l2_sensitivity_squared=Fraction(moved), sigma_squared=variance)

    if dimension == 1 and smallest_variance(continuous, epsilon=asked.epsilon, delta=asked.delta) < _MUCH:
        return None
    return continuous


class GaussianMechanism(RealNoise[GaussianNoise, RoundedGaussian]):
    """Releases real values with Gaussian noise, rounded to a grid: as private as Gaussian noise with mu = Δ/σ.

    If one person moves the values by at most Δ in L2 norm (all of them together), then distinguishing the answers with
    and without them is no easier than N(0, 1) from N(Δ/σ, 1): Φ(Δ/2σ - εσ/Δ) - e^ε Φ(-Δ/2σ - εσ/Δ) is the δ of every
    ε, and Δ²/(2σ²) is the rho. For an (ε, δ) the smallest σ by that formula is taken, for every ε.

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
        relative: Fraction | None = None  # the variance at sensitivity 1, where the price determines it
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


def smallest_variance(
    event_at: Callable[[Fraction], Event],
    *,
    epsilon: object,
    delta: object,
    near: Callable[[Fraction], Event] | None = None,
) -> Fraction:
    """Return the smallest sigma² of ten digits at which the event is (ε, δ)-differentially private.

    `event_at` is the release with a given sigma². Where its price takes long to find, `near` is one that costs nearly
    the same and is quickly priced: then sigma² has four digits, and is the first that is private from a guess upwards.
    The guess is what `near` takes, and, where that is too little, larger by as much as `near` would have to be to have
    the delta that was found there.

    >>> from lapwing.vocabulary.event import GaussianNoise
    >>> def noise(variance):
    ...     return GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=variance)
    >>> round(float(smallest_variance(noise, epsilon=1, delta="1e-6")) ** 0.5, 4)
    4.2247

    Theorem: Balle, Wang, *Improving the Gaussian mechanism for differential privacy*, ICML 2018, Theorem 8.
    """
    most, at = float_below(probability("delta", delta)), float_below(positive("epsilon", epsilon))

    def delta_at(variance: Fraction) -> float:
        spend(_STEPS)
        return price(event_at(variance)).delta(at)

    search: Search[int] | Search[Fraction] = decimals(digits=10)
    unit = Fraction(1)
    if near is not None:
        guess = smallest_variance(near, epsilon=epsilon, delta=delta)
        unit = Fraction(10) ** (math.floor(math.log10(guess)) - _FEW_DIGITS + 1)
        start = math.ceil(guess / unit)
        if (found := delta_at(start * unit)) <= most:
            return start * unit
        if found < 1:
            start = math.ceil(start * guess / smallest_variance(near, epsilon=epsilon, delta=found)) + 1
        search = integers(after=start - 1, most=start + 2 * 10**_FEW_DIGITS)
    try:
        while search.open:
            private = delta_at(search.guess * unit) <= most
            if private and near is not None:
                return search.guess * unit
            search.tell(private)
    except OverflowError:
        reason = "asks for more noise than there is"
        raise ParameterError("epsilon, delta", (epsilon, delta), reason=reason, remedy="raise one of them") from None
    return search.above * unit


def squared_l2_sensitivity(l2_sensitivity: object, l2_sensitivity_squared: object) -> Fraction:
    """Return the square of the L2 sensitivity, of which exactly one form was given.

    Both names are spelled out because a lecture that writes Δ² for the one and means the other makes noise that is too
    small by a factor of Δ (for Δ = 0.01, a hundred times).
    """
    given = {"l2_sensitivity": l2_sensitivity, "l2_sensitivity_squared": l2_sensitivity_squared}
    if exactly_one_of("sensitivity", given, ("l2_sensitivity",), ("l2_sensitivity_squared",)) == ("l2_sensitivity",):
        return positive("l2_sensitivity", l2_sensitivity) ** 2
    return positive("l2_sensitivity_squared", l2_sensitivity_squared)


def rational_root_above(square: Fraction) -> Fraction:
    """Return a number that is at least the root of `square`, and above it by less than a relative 2^-60.

    >>> rational_root_above(Fraction(4)), rational_root_above(Fraction(2)) ** 2 > 2
    (Fraction(2, 1), True)
    """
    places = max(0, 62 + (square.denominator.bit_length() - square.numerator.bit_length()) // 2)
    scaled = math.ceil(square * 4**places)
    return Fraction(math.isqrt(scaled - 1) + 1, 2**places)
