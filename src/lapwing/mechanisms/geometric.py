"""The geometric mechanism: integers with two-sided geometric noise. The workhorse for counts, sums and histograms."""

from fractions import Fraction

from lapwing.mechanisms.margins import ByAccuracy, Spread, discrete_laplace_tail
from lapwing.mechanisms.noise_mechanism import ByEpsilon, BySize, IntegerNoise, parse_noise
from lapwing.noise.laws import LARGEST_SCALE, SMALLEST_SCALE, DiscreteLaplace
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import DiscreteLaplaceNoise
from lapwing.vocabulary.exact import Exact, as_int


class GeometricMechanism(IntegerNoise[DiscreteLaplaceNoise, DiscreteLaplace]):
    """Releases integers with noise P(x) ∝ e^(-|x| ε/Δ): ε-differentially private, exactly.

    If one person moves the released integers by at most Δ in L1 norm (all of them together: a histogram is one release
    of sensitivity 1 under add-remove and 2 under replace), then every event is at most e^ε times as likely with them as
    without. Of all ε-differentially private answers to a count none is better, whatever the analyst believed beforehand
    and for every loss that grows with the distance from the truth.

    For an accuracy (`within` with `confidence`, of as many `values` at once) the smallest epsilon of six digits is
    taken. Vectors of every `dimension` are released where none is said, as the price is that of Δ alone.

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
