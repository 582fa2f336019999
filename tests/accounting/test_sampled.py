"""Amplification by sampling, against quadrature and enumeration."""

import math
from fractions import Fraction
from itertools import combinations, product

import mpmath
import numpy as np
import pytest
from mpmath import exp, mpf

from accounting import reference
from lapwing.accounting.dominating_pair import DominatingPair
from lapwing.accounting.losses.atoms import AtomicLaw
from lapwing.accounting.losses.continuous import GaussianLaw, LaplaceLaw
from lapwing.accounting.losses.sampled import SampledLaw, Sampling, amplified, amplified_epsilon, sampled
from lapwing.accounting.pricing import price
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import (
    ApproximateRelease,
    Composed,
    GaussianNoise,
    InParallel,
    LaplaceNoise,
    PoissonSampled,
    PureRelease,
    SampledWithoutReplacement,
    required_adjacency,
)
from lapwing.vocabulary.guarantee import Adjacency, ApproximateDP, PureDP

GAUSSIAN = GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(1))
LAPLACE = LaplaceNoise(l1_sensitivity=Fraction(1), scale=Fraction(2))
TENTH = Fraction(1, 10)


NOISE = {
    "gaussian": lambda x: np.exp(-x * x / 2) / math.sqrt(2 * math.pi),
    "laplace": lambda x: np.exp(-np.abs(x) / 2) / 4,
}


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
@pytest.mark.parametrize("level", [-0.04, 0.0, 0.01, 0.03])
def test_the_profiles_of_poisson_sampling_are_those_of_the_mixtures(kind, level) -> None:
    """The sample's noise sits around 0, or around 1 if she is in it; the integral is a sum over a fine grid."""
    x, step = np.linspace(-80, 80, 1_600_001, retstep=True)
    outside = NOISE[kind](x)
    inside = 0.9 * outside + 0.1 * NOISE[kind](x - 1)
    law = price(PoissonSampled(part=GAUSSIAN if kind == "gaussian" else LAPLACE, rate=TENTH)).factors[0][0]
    for found, (p, q) in ((law, (inside, outside)), (law.other_order, (outside, inside))):
        truth = float(np.maximum(p - math.exp(level) * q, 0).sum() * step)
        assert found.delta(level) == pytest.approx(truth, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("alpha", [1.5, 2, 8])
@pytest.mark.parametrize("rate", [TENTH, Fraction(99, 100)])
def test_the_divergence_of_sampled_atoms_is_that_of_the_mixture_in_both_orders(rate, alpha) -> None:
    """One order of these atoms diverges far more than the other; nearly all are sampled, so the sample's does too."""
    p, q = np.array([0.5, 0.5]), np.array([0.999, 0.001])
    pair, reverse = (
        DominatingPair(np.log(a / b)[order], a[order], 0.0) for a, b, order in ((p, q, [0, 1]), (q, p, [1, 0]))
    )
    law = AtomicLaw(pair=pair, reverse=reverse)
    mixed = float(rate) * p + (1 - float(rate)) * q
    removed, added = sampled(law, rate, Sampling.POISSON_REMOVED), sampled(law, rate, Sampling.POISSON_ADDED)
    for found, (a, b) in ((removed, (mixed, q)), (removed.other_order, (q, mixed))):
        truth = math.log(float((a**alpha * b ** (1 - alpha)).sum())) / (alpha - 1)
        assert truth <= found.renyi(alpha) <= truth * (1 + 1e-6)
    mixed = float(rate) * q + (1 - float(rate)) * p
    for found, (a, b) in ((added, (p, mixed)), (added.other_order, (mixed, p))):
        truth = math.log(float((a**alpha * b ** (1 - alpha)).sum())) / (alpha - 1)
        assert truth <= found.renyi(alpha) <= truth * (1 + 1e-6)


def test_what_nobody_has_said_how_to_sample_is_refused() -> None:
    law = sampled(price(GAUSSIAN).factors[0][0], TENTH, Sampling.POISSON_REMOVED)
    with pytest.raises(TypeError, match="nobody has said how to sample a SampledLaw"):
        sampled(law, TENTH, Sampling.POISSON_REMOVED)


def randomized_count(people, epsilon):
    """Return the law of the truthful parity of a sample, told by randomized response."""
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    bit = sum(people) % 2
    return {bit: truth, 1 - bit: 1 - truth}


def hockey_stick(one, two, level):
    return sum(max(0.0, one[o] - math.exp(level) * two[o]) for o in one)


def mixture(laws):
    return {outcome: sum(weight * law[outcome] for weight, law in laws) for outcome in laws[0][1]}


@pytest.mark.parametrize("level", [-0.2, -0.05, 0.0, 0.02, 0.08, 0.2])
def test_no_table_beats_the_price_of_a_poisson_sample(level) -> None:
    """All tables of three people, with and without a fourth; all samples; parity by randomized response."""
    epsilon, rate = 0.5, 0.3
    loss = price(PoissonSampled(part=PureRelease(epsilon=Fraction(1, 2)), rate=Fraction(3, 10)))

    def released(table):
        samples = product(*[[(rate, (x,)), (1 - rate, ())] for x in table])
        return mixture(
            [
                (math.prod(w for w, _ in sample), randomized_count(sum((s for _, s in sample), ()), epsilon))
                for sample in samples
            ]
        )

    worst = 0.0
    for table in product((0, 1), repeat=3):
        for person in (0, 1):
            with_, without = released((*table, person)), released(table)
            worst = max(worst, hockey_stick(with_, without, level), hockey_stick(without, with_, level))
    assert worst <= loss.delta(level) + 1e-12


@pytest.mark.parametrize("level", [-0.2, 0.0, 0.02, 0.08, 0.2])
def test_no_table_beats_the_price_of_a_sample_without_replacement(level) -> None:
    epsilon, size = 0.5, 2
    loss = price(
        SampledWithoutReplacement(part=PureRelease(epsilon=Fraction(1, 2)), sample_size=size, population_size=5)
    )

    def released(table):
        samples = list(combinations(table, size))
        return mixture([(1 / len(samples), randomized_count(sample, epsilon)) for sample in samples])

    worst = 0.0
    for table in product((0, 1), repeat=5):
        other = (1 - table[0], *table[1:])
        worst = max(worst, hockey_stick(released(table), released(other), level))
    assert worst <= loss.delta(level) + 1e-12


@pytest.mark.parametrize("alpha", [2.0, 3.0, 5.5, 16.0])
def test_the_divergence_of_a_sampled_gaussian_is_the_integral(alpha) -> None:
    truth = reference.sampled_gaussian_renyi(1, mpf(1) / 10, alpha)
    found = price(PoissonSampled(part=GAUSSIAN, rate=TENTH)).renyi(alpha)
    assert truth * (1 - mpf(10) ** -9) <= mpf(found) <= truth * mpf("1.005")


def test_a_person_added_is_never_worse_than_a_person_removed_for_gaussians() -> None:
    removed = price(PoissonSampled(part=GAUSSIAN, rate=TENTH)).factors[0][0]
    for alpha in (2.0, 4.0, 10.0):
        assert removed.other_order.renyi(alpha) <= removed.renyi(alpha)


def test_the_divergence_without_replacement_lies_between_the_poisson_one_and_the_whole() -> None:
    replaced = price(SampledWithoutReplacement(part=GAUSSIAN, sample_size=10, population_size=100))
    for alpha in (2.0, 4.0, 10.0):
        removed = price(PoissonSampled(part=GAUSSIAN, rate=TENTH)).renyi(alpha)
        assert removed * (1 - 1e-9) <= replaced.renyi(alpha) <= price(GAUSSIAN).renyi(alpha)


@pytest.mark.parametrize("sampling", Sampling, ids=lambda s: s.name)
@pytest.mark.parametrize("whole", [GaussianLaw(Fraction(1)), LaplaceLaw(Fraction(1, 2))], ids=["gaussian", "laplace"])
def test_a_sampled_law_on_a_grid_dominates_it_and_stays_close(whole, sampling) -> None:
    law = SampledLaw(whole, TENTH, sampling)
    pair = law.on_grid(1e-4, 1e-30).pair()
    for level in np.linspace(-0.1, 0.6, 36).tolist():
        assert law.delta(level) <= pair.delta(level) + 1e-13
        assert pair.delta(level) <= law.delta(level) + 1e-5
    assert abs(pair.masses.sum() + pair.infinite_mass - 1) < 1e-12


def test_sampling_everybody_changes_nothing() -> None:
    whole = price(GAUSSIAN)
    sample = price(PoissonSampled(part=GAUSSIAN, rate=Fraction(1)))
    assert sample.epsilon(1e-6) == whole.epsilon(1e-6)


def test_a_plan_on_one_secret_sample_is_amplified_as_a_whole() -> None:
    plan = Composed(parts=(LAPLACE, GAUSSIAN))
    together = price(PoissonSampled(part=plan, rate=TENTH))
    apart = price(Composed(parts=(PoissonSampled(part=LAPLACE, rate=TENTH), PoissonSampled(part=GAUSSIAN, rate=TENTH))))
    assert apart.epsilon(1e-6) < together.epsilon(1e-6) < price(plan).epsilon(1e-6)


def test_the_amplified_epsilon_is_tight_and_rounded_up() -> None:
    for epsilon, rate in [("0.1", "0.1"), ("0.5", "0.5"), (3, "0.01"), (50, "0.3"), ("1e-6", "1e-6")]:
        e, q = Fraction(epsilon), Fraction(rate)
        truth = mpf(1) + mpf(q.numerator) / q.denominator * (exp(mpf(e.numerator) / e.denominator) - 1)
        found = amplified_epsilon(e, q)
        assert truth <= exp(mpf(found.numerator) / found.denominator) <= truth * (1 + mpf(10) ** -9)
    both = amplified(ApproximateDP(epsilon=TENTH, delta=Fraction(1, 10**6)), TENTH)
    assert both == ApproximateDP(epsilon=amplified(PureDP(epsilon=TENTH), TENTH).epsilon, delta=Fraction(1, 10**7))


def test_an_approximate_release_is_amplified_in_both_numbers() -> None:
    loss = price(PoissonSampled(part=ApproximateRelease(epsilon=Fraction(1), delta=Fraction(1, 100)), rate=TENTH))
    level = math.log(1 + 0.1 * math.expm1(1.0))
    assert loss.delta(level) == pytest.approx(0.001, rel=1e-9)


MIXED = {
    "both samplings": Composed(
        parts=(
            PoissonSampled(part=GAUSSIAN, rate=TENTH),
            SampledWithoutReplacement(part=GAUSSIAN, sample_size=1, population_size=10),
        )
    ),
    "one inside the other": PoissonSampled(
        part=SampledWithoutReplacement(part=GAUSSIAN, sample_size=1, population_size=10), rate=TENTH
    ),
    "partitions and a sample without replacement": Composed(
        parts=(
            InParallel(parts=(GAUSSIAN, LAPLACE)),
            SampledWithoutReplacement(part=GAUSSIAN, sample_size=1, population_size=10),
        )
    ),
}


@pytest.mark.parametrize("event", MIXED.values(), ids=MIXED)
def test_samplings_that_belong_to_different_adjacencies_are_refused_together(event) -> None:
    with pytest.raises(ParameterError, match="needs the adjacency"):
        price(event)


def test_a_sampling_is_refused_under_the_other_adjacency() -> None:
    poisson = PoissonSampled(part=GAUSSIAN, rate=TENTH)
    fixed = SampledWithoutReplacement(part=GAUSSIAN, sample_size=1, population_size=10)
    assert required_adjacency(poisson) is Adjacency.ADD_REMOVE
    assert required_adjacency(fixed) is Adjacency.REPLACE
    assert required_adjacency(GAUSSIAN) is None
    assert required_adjacency(GAUSSIAN, Adjacency.REPLACE) is Adjacency.REPLACE
    with pytest.raises(ParameterError, match="needs the adjacency add-remove, but replace is in force"):
        price(poisson, adjacency=Adjacency.REPLACE)
    with pytest.raises(ParameterError, match="needs the adjacency replace, but add-remove is in force"):
        price(fixed, adjacency=Adjacency.ADD_REMOVE)
    with pytest.raises(ParameterError, match="charge the two worst"):
        price(InParallel(parts=(GAUSSIAN, LAPLACE)), adjacency=Adjacency.REPLACE)


def test_sampled_atoms_and_sampled_tails_agree() -> None:
    """The same law, once as atoms and once by its tails: a fine grid of Laplace noise stands for Laplace noise."""
    whole = LaplaceLaw(Fraction(1, 2))
    pair = whole.on_grid(1e-3, 0.0).pair()
    atoms = AtomicLaw(pair=pair, pure_epsilon=Fraction(1, 2))
    for sampling in Sampling:
        fine, exact = sampled(atoms, TENTH, sampling), sampled(whole, TENTH, sampling)
        for level in (-0.03, 0.0, 0.02, 0.05):
            assert exact.delta(level) - 1e-12 <= fine.delta(level) <= exact.delta(level) + 1e-6


@pytest.mark.parametrize("rate", ["1e-40", "1e-20", "1e-12", "1e-6", "0.01", "0.5", "0.999999"])
@pytest.mark.parametrize("epsilon", ["1e-6", "0.5", "1", "2", "8", "30", "300"])
def test_an_amplified_epsilon_is_never_below_the_truth(epsilon, rate) -> None:
    with mpmath.workdps(120):
        truth = mpmath.log1p(mpmath.mpf(rate) * mpmath.expm1(mpmath.mpf(epsilon)))
        claimed = amplified_epsilon(Fraction(epsilon), Fraction(rate))
        claimed = mpmath.mpf(claimed.numerator) / claimed.denominator
        assert truth <= claimed <= truth * (1 + mpmath.mpf(2) ** -40)


@pytest.mark.parametrize("sampling", Sampling)
def test_the_largest_loss_on_a_sample_is_the_amplified_one(sampling) -> None:
    law = SampledLaw(LaplaceLaw(Fraction(1)), Fraction(1, 10), sampling)
    assert law.pure_epsilon == law.other_order.pure_epsilon == amplified_epsilon(Fraction(1), Fraction(1, 10))
    assert law.delta(float(law.pure_epsilon)) == 0
    assert SampledLaw(GaussianLaw(Fraction(1)), Fraction(1, 10), sampling).pure_epsilon is None
