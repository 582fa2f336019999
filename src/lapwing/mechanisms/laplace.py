"""Laplace noise: on integers, where it is the geometric mechanism, and on a grid of reals.

The geometric mechanism is the workhorse for counts, sums and histograms. The grid is fixed before any data is read.
"""

from collections.abc import Callable
from fractions import Fraction

from lapwing.mechanisms.margins import ByAccuracy, Spread, discrete_laplace_tail
from lapwing.mechanisms.noise_mechanism import (
    ByEpsilon,
    BySize,
    IntegerNoise,
    RealNoise,
    ValueGrid,
    above_zero,
    parse_noise,
)
from lapwing.noise.laws import LARGEST_SCALE, SMALLEST_SCALE, DiscreteLaplace, RoundedLaplace
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import DiscreteLaplaceNoise, LaplaceNoise
from lapwing.vocabulary.exact import Exact, as_int, positive


class GeometricMechanism(IntegerNoise[DiscreteLaplaceNoise, DiscreteLaplace]):
    """Releases integers with noise P(x) ∝ e^(-|x| ε/Δ): ε-differentially private, exactly.

    If one person moves the released integers by at most Δ in L1 norm (all of them together: a histogram is one release
    of sensitivity 1 under add-remove and 2 under replace), then every event is at most e^ε times as likely with them as
    without. Of all ε-differentially private answers to a count none is better, for every prior belief of the analyst
    and every loss that grows with the distance from the truth.

    For an accuracy (`within` with `confidence`, of as many `values` at once) the smallest epsilon of six digits is
    taken. Without a `dimension`, vectors of every dimension are released, as the price is that of Δ alone.

    >>> count = GeometricMechanism(l1_sensitivity=1, epsilon="0.1")
    >>> isinstance(count.release(1234), int)
    True
    >>> count.event
    DiscreteLaplaceNoise(l1_sensitivity=1, scale=Fraction(10, 1))
    >>> count.margin("0.95")
    30
    >>> float(GeometricMechanism(l1_sensitivity=1, within=20, confidence="0.95").epsilon)
    0.146004

    Theorem: Ghosh, Roughgarden, Sundararajan, *Universally utility-maximizing privacy mechanisms*, STOC 2009.
    Proof: proofs/geometric.md
    """

    __slots__ = ()

    def __init__(
        self,
        *,
        l1_sensitivity: Exact,
        epsilon: Exact | None = None,
        scale: Exact | None = None,
        within: Exact | None = None,
        confidence: Exact | None = None,
        values: int = 1,
        dimension: int | None = None,
    ) -> None:
        sensitivity = as_int("l1_sensitivity", l1_sensitivity)
        size = None if dimension is None else as_int("dimension", dimension)
        asked = parse_noise(values=values, epsilon=epsilon, scale=scale, within=within, confidence=confidence)
        match asked:
            case ByEpsilon(rate):
                _require_range(rate, sensitivity, epsilon)
                noise = sensitivity / rate
            case BySize(noise):
                pass
            case ByAccuracy():
                noise = (
                    sensitivity
                    / asked.bisect(lambda rate: asked.met_by(Spread(discrete_laplace_tail(sensitivity / rate))))[1]
                )
            case _:  # pragma: no cover - it is asked for in no other way
                raise AssertionError
        event = DiscreteLaplaceNoise(l1_sensitivity=sensitivity, scale=noise)
        super().__init__(event=event, law=DiscreteLaplace(noise), dimension=size)

    @property
    def epsilon(self) -> Fraction:
        """The price of a release."""
        return self.event.l1_sensitivity / self.event.scale


def _require_range(epsilon: Fraction, sensitivity: int, given: object) -> None:
    largest, smallest = sensitivity / SMALLEST_SCALE, sensitivity / LARGEST_SCALE
    if epsilon > largest:
        reason, remedy = "is too large", f"stay at or below {largest}"
    elif epsilon < smallest:
        reason, remedy = "is too small", f"stay at or above {smallest}"
    else:
        return
    raise ParameterError("epsilon", given, reason=f"{reason} for sensitivity {sensitivity}", remedy=remedy)


class LaplaceMechanism(RealNoise[LaplaceNoise, RoundedLaplace]):
    """Releases real values with Laplace noise of scale Δ/ε, rounded to a grid: ε-differentially private.

    If one person moves the values by at most Δ in L1 norm (all of them together), then every event is at most e^ε times
    as likely with them as without. Answers are multiples of `grid.step`, exact as floats: no bit of them depends on how
    a computer rounds, which is what broke the textbook mechanism (Mironov 2012, Haney et al. 2022). Where Δ is no
    multiple of the step, the sensitivity that is paid for is the next one. The noise has the scale of `event` or, by
    less than a relative 2^-16, a larger one.

    A value off the grid is first moved to the nearest multiple, at most half a step away; NaN counts as 0, and values
    beyond 2^53 steps count as 2^53 steps. Δ must hold with NaN read as 0.

    For an accuracy (`within` with `confidence`, of as many `values` at once) the smallest epsilon of six digits is
    taken. `grid` is the step, a power of two: by default less than a millionth of Δ/dimension and of the scale.

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

    __slots__ = ()

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
        law_on: Callable[[ValueGrid, int], RoundedLaplace]  # the grid follows from about how large the noise will be
        match parse_noise(
            values=values, epsilon=epsilon, scale=scale, within=above_zero(within), confidence=confidence
        ):
            case ByEpsilon(rate):
                about, law_on = sensitivity / rate, lambda _, steps: RoundedLaplace(steps / rate)
            case BySize(noise):
                about, law_on = noise, lambda grid, _: RoundedLaplace(noise / grid.step)
            case ByAccuracy() as target:
                about, law_on = target.within / 32, lambda grid, steps: _widest_law(steps, grid, target)
            case _:  # pragma: no cover - it is asked for in no other way
                raise AssertionError
        lattice = ValueGrid.for_noise(grid, noise=about, move=sensitivity / size)
        steps = lattice.l1_steps(sensitivity, size)
        law = law_on(lattice, steps)
        event = LaplaceNoise(l1_sensitivity=steps * lattice.step, scale=law.scale * lattice.step)
        super().__init__(event=event, law=law, grid=lattice, dimension=size)

    @property
    def epsilon(self) -> Fraction:
        """The price of a release."""
        return self.event.l1_sensitivity / self.event.scale


def _widest_law(steps: int, grid: ValueGrid, target: ByAccuracy) -> RoundedLaplace:
    def law(epsilon: Fraction) -> RoundedLaplace:
        return RoundedLaplace(min(max(steps / epsilon, SMALLEST_SCALE), LARGEST_SCALE))

    return law(target.bisect(lambda epsilon: target.met_by(grid.spread(law(epsilon)), grid.step / 2))[1])
