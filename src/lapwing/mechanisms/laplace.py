"""The Laplace mechanism for real values: Laplace noise on a grid that is fixed before any data is read."""

from collections.abc import Callable
from fractions import Fraction

from lapwing.mechanisms.margins import ByAccuracy
from lapwing.mechanisms.noise_mechanism import ByEpsilon, BySize, RealNoise, ValueGrid, above_zero, parse_noise
from lapwing.noise.laws import LARGEST_SCALE, SMALLEST_SCALE, RoundedLaplace
from lapwing.vocabulary.event import LaplaceNoise
from lapwing.vocabulary.exact import Exact, as_int, positive


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
