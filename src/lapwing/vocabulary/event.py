"""What happened, as data: one record for every kind of release, in exact numbers.

A mechanism reports an event; accounting prices it. Events are written into ledgers and must still mean the same in
ten years, so: never rename one, never change what a field means, and give every new field a default.

Sensitivities already include the adjacency: they say how far one person (or one protected group) can move the value.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplaceNoise:
    """Continuous Laplace noise of scale `scale` on a vector of L1 sensitivity `l1_sensitivity`, maybe then rounded."""

    l1_sensitivity: Fraction
    scale: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplaceNoise:
    """Two-sided geometric noise, P(x) ∝ e^(-|x|/scale), on integers of L1 sensitivity `l1_sensitivity`."""

    l1_sensitivity: int
    scale: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianNoise:
    """Continuous Gaussian noise on every coordinate, maybe then rounded. The L2 sensitivity's square is exact."""

    l2_sensitivity_squared: Fraction
    sigma_squared: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussianNoise:
    """P(x) ∝ e^(-x²/2σ²) on the integers, on each of `dimension` integer coordinates."""

    l2_sensitivity_squared: int
    sigma_squared: Fraction
    dimension: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PureRelease:
    """Anything that is epsilon-DP and about which no more is known: noisy max, permute-and-flip, a sparse vector."""

    epsilon: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproximateRelease:
    """Anything that is (epsilon, delta)-DP and about which no more is known."""

    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialSelection:
    """The exponential mechanism: its loss lies in an interval of length `epsilon` (bounded range)."""

    epsilon: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedResponse:
    """One answer out of `categories`: the truth with probability e^ε/(e^ε + categories - 1), else any other, evenly."""

    epsilon: Fraction
    categories: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianSparseVector:
    """A sparse vector with Gaussian noise: threshold noise once, query noise each time, at most `yeses` of `questions`.

    `monotone` says that all questions of one pair of neighbours move the same way; `with_gap` that a yes came with
    its noisy distance from the threshold (which is not free with Gaussian noise).
    """

    sensitivity: Fraction
    threshold_sigma_squared: Fraction
    query_sigma_squared: Fraction
    questions: int
    yeses: int
    monotone: bool
    with_gap: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """All of `parts`, on the same people, with parameters fixed before the first answer."""

    parts: tuple["Event", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """`part`, `times` times, on the same people."""

    part: "Event"
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InParallel:
    """Each of `parts` on people of its own: public, disjoint partitions, so that one person meets only one of them."""

    parts: tuple["Event", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonSampled:
    """`part` on a fresh secret sample that holds each person independently with probability `rate` (add/remove)."""

    part: "Event"
    rate: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledWithoutReplacement:
    """`part` on a fresh secret sample of `sample_size` out of `population_size` people (replace)."""

    part: "Event"
    sample_size: int
    population_size: int


Event: TypeAlias = (
    LaplaceNoise
    | DiscreteLaplaceNoise
    | GaussianNoise
    | DiscreteGaussianNoise
    | PureRelease
    | ApproximateRelease
    | ExponentialSelection
    | RandomizedResponse
    | GaussianSparseVector
    | Composed
    | Repeated
    | InParallel
    | PoissonSampled
    | SampledWithoutReplacement
)
