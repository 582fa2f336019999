"""Suspects that add noise, and what accounting says of several of them, of samples and of groups."""

from fractions import Fraction

from lapwing.accounting.groups import amplified, guarantee_for_group
from lapwing.accounting.pricing import price
from lapwing.accounting.rounding import fraction_above
from lapwing.app.auditing.opened import Adding, noise_of
from lapwing.app.auditing.suspect import Suspect
from lapwing.auditor.added_noise import AddedNoise, Norm, OnASample, Several
from lapwing.mechanisms.discrete_gaussian import DiscreteGaussianMechanism
from lapwing.mechanisms.gaussian import GaussianMechanism
from lapwing.mechanisms.geometric import GeometricMechanism
from lapwing.mechanisms.histogram import gaussian_histogram, geometric_histogram
from lapwing.mechanisms.laplace import LaplaceMechanism
from lapwing.vocabulary.event import Composed, DiscreteGaussianNoise, DiscreteLaplaceNoise, Event, Repeated
from lapwing.vocabulary.guarantee import Adjacency, ApproximateDP, ConcentratedDP, GaussianDP, Guarantee, PureDP

_FAR = 3
"""How far one person moves a number: not 1, so that a sensitivity that is forgotten or squared is seen."""
_BINS = 3
_BINS_TOUCHED = 2
"""Of a histogram, by a person who is replaced: each by one."""
_GROUP = 3
_RATE = Fraction(1, 10)
_ANSWERS = 8
_GRID = Fraction(1, 16)
_FIVE_STEPS = Fraction(3, 10)
"""A sensitivity of 4.8 steps of the grid: two numbers so far apart are rounded to multiples at most 5 steps apart."""
_EIGHT_STEPS = Fraction(1, 2)


def noise_suspects(epsilon: Fraction, delta: Fraction) -> list[Suspect]:
    """Return the mechanisms that add noise, at this price."""
    return [*_pure(epsilon), *_gaussian(epsilon, delta), *_accounted(epsilon, delta), *_groups(epsilon, delta)]


def _pure(epsilon: Fraction) -> list[Suspect]:
    claim = PureDP(epsilon=epsilon)
    geometric = GeometricMechanism(l1_sensitivity=_FAR, epsilon=epsilon)
    histogram = geometric_histogram(bins=_BINS, adjacency=Adjacency.REPLACE, epsilon=epsilon)
    laplace = LaplaceMechanism(l1_sensitivity=_FIVE_STEPS, epsilon=epsilon, grid=_GRID)
    return [
        Suspect(
            name="geometric",
            claim=claim,
            box=lambda noise: AddedNoise(law=noise_of(geometric, noise), reach=_FAR),
            release=geometric.release,
            neighbours=(0, _FAR),
        ),
        Suspect(
            name="geometric-histogram",
            claim=claim,
            box=lambda noise: AddedNoise(law=noise_of(histogram, noise), reach=_BINS_TOUCHED, dimension=_BINS),
            release=lambda counts: tuple(histogram.release(counts).tolist()),
            neighbours=([5, 5, 5], [4, 6, 5]),
        ),
        Suspect(
            name="laplace",
            claim=claim,
            box=lambda noise: AddedNoise(law=noise_of(laplace, noise), reach=5),
            release=laplace.release,
            neighbours=(0.0, 0.3),
        ),
    ]


def _gaussian(epsilon: Fraction, delta: Fraction) -> list[Suspect]:
    both, rho = ApproximateDP(epsilon=epsilon, delta=delta), epsilon**2 / 2
    gaussian = GaussianMechanism(l2_sensitivity=_EIGHT_STEPS, epsilon=epsilon, delta=delta, grid=_GRID)
    by_mu = GaussianMechanism(l2_sensitivity=_FAR, rho=rho, grid=_GRID)
    discrete = DiscreteGaussianMechanism(l2_sensitivity=_FAR, epsilon=epsilon, delta=delta)
    by_rho = DiscreteGaussianMechanism(l2_sensitivity=_FAR, rho=rho)
    histogram = gaussian_histogram(bins=_BINS, adjacency=Adjacency.REPLACE, epsilon=epsilon, delta=delta)
    return [
        Suspect(
            name="gaussian",
            claim=both,
            box=lambda noise: AddedNoise(law=noise_of(gaussian, noise), reach=8),
            release=gaussian.release,
            neighbours=(0.0, 0.5),
        ),
        Suspect(
            name="gaussian-mu",
            claim=GaussianDP(mu_squared=2 * rho),
            box=lambda noise: AddedNoise(law=noise_of(by_mu, noise), reach=int(_FAR / _GRID)),
            release=by_mu.release,
            neighbours=(0.0, float(_FAR)),
        ),
        Suspect(
            name="discrete-gaussian",
            claim=both,
            box=lambda noise: AddedNoise(law=noise_of(discrete, noise), reach=_FAR),
            release=discrete.release,
            neighbours=(0, _FAR),
        ),
        Suspect(
            name="discrete-gaussian-rho",
            claim=ConcentratedDP(rho=rho),
            box=lambda noise: AddedNoise(law=noise_of(by_rho, noise), reach=_FAR),
            release=by_rho.release,
            neighbours=(0, _FAR),
        ),
        Suspect(
            name="gaussian-histogram",
            claim=both,
            box=lambda noise: AddedNoise(
                law=noise_of(histogram, noise), reach=_BINS_TOUCHED, norm=Norm.L2_SQUARED, dimension=_BINS
            ),
            release=lambda counts: tuple(histogram.release(counts).tolist()),
            neighbours=([5, 5, 5], [4, 6, 5]),
        ),
    ]


def _accounted(epsilon: Fraction, delta: Fraction) -> list[Suspect]:
    """Return what accounting says of samples and of several releases, from what each of them should be."""
    share, rho = epsilon / _ANSWERS, epsilon**2 / 2
    geometric = GeometricMechanism(l1_sensitivity=_FAR, epsilon=epsilon)
    one_of_many = GeometricMechanism(l1_sensitivity=_FAR, epsilon=share)
    discrete = DiscreteGaussianMechanism(l2_sensitivity=_FAR, epsilon=epsilon, delta=delta)
    by_rho = DiscreteGaussianMechanism(l2_sensitivity=_FAR, rho=rho)
    priced_geometric = DiscreteLaplaceNoise(l1_sensitivity=_FAR, scale=_FAR / epsilon)
    priced_share = DiscreteLaplaceNoise(l1_sensitivity=_FAR, scale=_FAR / share)
    priced_gaussian = DiscreteGaussianNoise(
        l2_sensitivity_squared=_FAR**2, sigma_squared=_FAR**2 / (2 * rho), dimension=1
    )

    def part(mechanism: Adding, noise: Fraction) -> AddedNoise:
        return AddedNoise(law=noise_of(mechanism, noise), reach=_FAR)

    return [
        Suspect(
            name="sampled-geometric",
            claim=amplified(PureDP(epsilon=epsilon), _RATE),
            box=lambda noise: OnASample(part=part(geometric, noise), rate=float(_RATE)),
        ),
        Suspect(
            name="sampled-gaussian",
            claim=amplified(ApproximateDP(epsilon=epsilon, delta=delta), _RATE),
            box=lambda noise: OnASample(part=part(discrete, noise), rate=float(_RATE)),
        ),
        Suspect(
            name="eight-geometric",
            claim=_priced(Repeated(part=priced_share, times=_ANSWERS), delta),
            box=lambda noise: Several(parts=(part(one_of_many, noise),) * _ANSWERS),
        ),
        Suspect(
            name="geometric-and-gaussian",
            claim=_priced(Composed(parts=(priced_geometric, priced_gaussian)), delta),
            box=lambda noise: Several(parts=(part(geometric, noise), part(by_rho, noise))),
        ),
    ]


def _groups(epsilon: Fraction, delta: Fraction) -> list[Suspect]:
    """Return what a family of three is promised, in every currency."""
    rho, far = epsilon**2 / 2, _GROUP * _FAR
    geometric = GeometricMechanism(l1_sensitivity=_FAR, epsilon=epsilon)
    discrete = DiscreteGaussianMechanism(l2_sensitivity=_FAR, epsilon=epsilon, delta=delta)
    by_rho = DiscreteGaussianMechanism(l2_sensitivity=_FAR, rho=rho)
    by_mu = GaussianMechanism(l2_sensitivity=_FAR, rho=rho, grid=_GRID)

    def family(name: str, promise: Guarantee, mechanism: Adding, steps: int) -> Suspect:
        return Suspect(
            name=name,
            claim=guarantee_for_group(promise, _GROUP),
            box=lambda noise: AddedNoise(law=noise_of(mechanism, noise), reach=steps),
            release=mechanism.release,
            neighbours=(0, far),
        )

    return [
        family("group-of-three", PureDP(epsilon=epsilon), geometric, far),
        family("group-of-three-delta", ApproximateDP(epsilon=epsilon, delta=delta), discrete, far),
        family("group-of-three-rho", ConcentratedDP(rho=rho), by_rho, far),
        family("group-of-three-mu", GaussianDP(mu_squared=2 * rho), by_mu, int(far / _GRID)),
    ]


def _priced(event: Event, delta: Fraction) -> ApproximateDP:
    return ApproximateDP(epsilon=fraction_above(price(event).epsilon(float(delta))), delta=delta)
