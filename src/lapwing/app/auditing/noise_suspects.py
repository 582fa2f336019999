"""Suspects that add noise, and what accounting says of several of them, of samples and of groups."""

import math
from fractions import Fraction

from lapwing.accounting.groups import guarantee_for_group
from lapwing.accounting.pricing import price
from lapwing.accounting.rounding import fraction_above
from lapwing.accounting.sampling import amplified
from lapwing.app.auditing.suspect import Suspect
from lapwing.auditor import noise_laws
from lapwing.auditor.noise_addition import AddedNoise, Norm, OnASample, Several
from lapwing.mechanisms.discrete_gaussian import DiscreteGaussianMechanism
from lapwing.mechanisms.gaussian import GaussianMechanism
from lapwing.mechanisms.geometric import GeometricMechanism
from lapwing.mechanisms.histogram import gaussian_histogram, geometric_histogram
from lapwing.mechanisms.laplace import LaplaceMechanism
from lapwing.vocabulary.adjacency import Adjacency
from lapwing.vocabulary.event import Composed, Event, Repeated
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, GaussianDP, PureDP

_BINS = 3
_GROUP = 3
_RATE = Fraction(1, 10)
_ANSWERS = 8


def noise_suspects(epsilon: Fraction, delta: Fraction) -> list[Suspect]:
    """Return the mechanisms that add noise, at this price."""
    return [*_pure(epsilon), *_gaussian(epsilon, delta), *_accounted(epsilon, delta)]


def _pure(epsilon: Fraction) -> list[Suspect]:
    geometric = GeometricMechanism(l1_sensitivity=1, epsilon=epsilon)
    histogram = geometric_histogram(bins=_BINS, adjacency=Adjacency.REPLACE, epsilon=epsilon)
    laplace = LaplaceMechanism(l1_sensitivity="0.3", epsilon=epsilon, grid="1/16")
    return [
        Suspect(
            name="geometric",
            claim=PureDP(epsilon=geometric.epsilon),
            box=lambda noise: _geometric_box(geometric, noise),
            release=geometric.release,
            neighbours=(0, 1),
        ),
        Suspect(
            name="geometric-histogram",
            claim=PureDP(epsilon=histogram.epsilon),
            box=lambda noise: _geometric_box(histogram, noise, dimension=_BINS),
            release=lambda counts: tuple(histogram.release(counts).tolist()),
            neighbours=([5, 5, 5], [4, 6, 5]),
        ),
        Suspect(
            name="laplace",
            claim=PureDP(epsilon=laplace.epsilon),
            box=lambda noise: AddedNoise(
                law=noise_laws.RoundedLaplace(float(laplace.event.scale * noise), step=laplace.grid.step),
                reach=int(laplace.event.l1_sensitivity / laplace.grid.step),
            ),
            release=laplace.release,
            neighbours=(0.0, 0.3),
        ),
    ]


def _gaussian(epsilon: Fraction, delta: Fraction) -> list[Suspect]:
    gaussian = GaussianMechanism(l2_sensitivity=1, epsilon=epsilon, delta=delta, grid="1/16")
    mu_squared = gaussian.event.l2_sensitivity_squared / gaussian.event.sigma_squared
    discrete = DiscreteGaussianMechanism(l2_sensitivity=1, epsilon=epsilon, delta=delta)
    histogram = gaussian_histogram(bins=_BINS, adjacency=Adjacency.REPLACE, epsilon=epsilon, delta=delta)
    both = ApproximateDP(epsilon=epsilon, delta=delta)

    def rounded(noise: Fraction) -> AddedNoise:
        sigma, step = math.sqrt(gaussian.event.sigma_squared) * float(noise), gaussian.grid.step
        reach = math.isqrt(int(gaussian.event.l2_sensitivity_squared / step**2))
        return AddedNoise(law=noise_laws.RoundedGaussian(sigma, step=step), reach=reach)

    return [
        Suspect(name="gaussian", claim=both, box=rounded, release=gaussian.release, neighbours=(0.0, 1.0)),
        Suspect(
            name="gaussian-mu",
            claim=GaussianDP(mu_squared=mu_squared),
            box=rounded,
            release=gaussian.release,
            neighbours=(0.0, 1.0),
        ),
        Suspect(
            name="discrete-gaussian",
            claim=both,
            box=lambda noise: _discrete_box(discrete, noise),
            release=discrete.release,
            neighbours=(0, 1),
        ),
        Suspect(
            name="discrete-gaussian-rho",
            claim=ConcentratedDP(rho=discrete.rho),
            box=lambda noise: _discrete_box(discrete, noise),
            release=discrete.release,
            neighbours=(0, 1),
        ),
        Suspect(
            name="gaussian-histogram",
            claim=both,
            box=lambda noise: _discrete_box(histogram, noise),
            release=lambda counts: tuple(histogram.release(counts).tolist()),
            neighbours=([5, 5, 5], [4, 6, 5]),
        ),
    ]


def _accounted(epsilon: Fraction, delta: Fraction) -> list[Suspect]:
    geometric = GeometricMechanism(l1_sensitivity=1, epsilon=epsilon)
    one_of_many = GeometricMechanism(l1_sensitivity=1, epsilon=epsilon / _ANSWERS)
    discrete = DiscreteGaussianMechanism(l2_sensitivity=1, epsilon=epsilon, delta=delta)
    return [
        Suspect(
            name="group-of-three",
            claim=guarantee_for_group(PureDP(epsilon=geometric.epsilon), _GROUP),
            box=lambda noise: AddedNoise(law=_laplace_law(geometric, noise), reach=_GROUP),
            release=geometric.release,
            neighbours=(0, _GROUP),
        ),
        Suspect(
            name="sampled-geometric",
            claim=amplified(PureDP(epsilon=geometric.epsilon), _RATE),
            box=lambda noise: OnASample(part=_geometric_box(geometric, noise), rate=float(_RATE)),
        ),
        Suspect(
            name="sampled-gaussian",
            claim=amplified(ApproximateDP(epsilon=epsilon, delta=delta), _RATE),
            box=lambda noise: OnASample(part=_discrete_box(discrete, noise), rate=float(_RATE)),
        ),
        Suspect(
            name="eight-geometric",
            claim=_priced(Repeated(part=one_of_many.event, times=_ANSWERS), delta),
            box=lambda noise: Several(parts=(_geometric_box(one_of_many, noise),) * _ANSWERS),
        ),
        Suspect(
            name="geometric-and-gaussian",
            claim=_priced(Composed(parts=(geometric.event, discrete.event)), delta),
            box=lambda noise: Several(parts=(_geometric_box(geometric, noise), _discrete_box(discrete, noise))),
        ),
    ]


def _priced(event: Event, delta: Fraction) -> ApproximateDP:
    return ApproximateDP(epsilon=fraction_above(price(event).epsilon(float(delta))), delta=delta)


def _laplace_law(mechanism: GeometricMechanism, noise: Fraction) -> noise_laws.DiscreteLaplace:
    return noise_laws.DiscreteLaplace(float(mechanism.event.scale * noise))


def _geometric_box(mechanism: GeometricMechanism, noise: Fraction, dimension: int = 1) -> AddedNoise:
    return AddedNoise(
        law=_laplace_law(mechanism, noise), reach=mechanism.event.l1_sensitivity, norm=Norm.L1, dimension=dimension
    )


def _discrete_box(mechanism: DiscreteGaussianMechanism, noise: Fraction) -> AddedNoise:
    return AddedNoise(
        law=noise_laws.DiscreteGaussian(math.sqrt(mechanism.event.sigma_squared) * float(noise)),
        reach=mechanism.event.l2_sensitivity_squared,
        norm=Norm.L2_SQUARED,
        dimension=mechanism.event.dimension,
    )
