"""Histograms: one joint release of all bins, never one release a bin.

A person is in one bin. Adding or removing them moves one count by one; replacing them moves two. That is the whole
sensitivity, however many bins there are. Sums of released bins (cumulative counts, the steps of a funnel) are free.
"""

from lapwing.mechanisms.gaussian import DiscreteGaussianMechanism
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.vocabulary.exact import Exact, as_int
from lapwing.vocabulary.guarantee import Adjacency, checked_adjacency


def geometric_histogram(
    *,
    bins: int,
    adjacency: Adjacency,
    protects_groups_of: int = 1,
    epsilon: Exact | None = None,
    within: Exact | None = None,
    confidence: Exact | None = None,
) -> GeometricMechanism:
    """Return the mechanism that releases a histogram at a pure price.

    The `bins` are public and cover every person; each person is in one of them. An accuracy is that of all bins at
    once. The `margin` of the mechanism is that of one bin; with `values=bins` it is one that all bins keep at once.

    >>> ages = geometric_histogram(bins=10, adjacency=Adjacency.REPLACE, epsilon=1)
    >>> ages.event
    DiscreteLaplaceNoise(l1_sensitivity=2, scale=Fraction(2, 1))
    >>> ages.release([0, 3, 14, 15, 9, 26, 5, 3, 5, 8]).shape
    (10,)
    >>> ages.margin("0.95"), ages.margin("0.95", values=10)
    (6, 10)

    Proof: proofs/histogram.md
    """
    return GeometricMechanism(
        l1_sensitivity=bins_touched(adjacency) * as_int("protects_groups_of", protects_groups_of),
        epsilon=epsilon,
        within=within,
        confidence=confidence,
        values=as_int("bins", bins),
        dimension=bins,
    )


def gaussian_histogram(
    *,
    bins: int,
    adjacency: Adjacency,
    protects_groups_of: int = 1,
    rho: Exact | None = None,
    epsilon: Exact | None = None,
    delta: Exact | None = None,
    within: Exact | None = None,
    confidence: Exact | None = None,
) -> DiscreteGaussianMechanism:
    """Return the mechanism that releases a histogram with discrete Gaussian noise; else as `geometric_histogram`.

    >>> gaussian_histogram(bins=10, adjacency=Adjacency.REPLACE, rho="0.01").event
    DiscreteGaussianNoise(l2_sensitivity_squared=2, sigma_squared=Fraction(100, 1), dimension=10)

    Proof: proofs/histogram.md
    """
    return DiscreteGaussianMechanism(
        l2_sensitivity_squared=bins_touched(adjacency) * as_int("protects_groups_of", protects_groups_of) ** 2,
        rho=rho,
        epsilon=epsilon,
        delta=delta,
        within=within,
        confidence=confidence,
        values=as_int("bins", bins),
        dimension=bins,
    )


def bins_touched(adjacency: Adjacency) -> int:
    """Return how many bins one person's difference touches, each by one."""
    match checked_adjacency(adjacency):
        case Adjacency.ADD_REMOVE:
            return 1
        case Adjacency.REPLACE:
            return 2
