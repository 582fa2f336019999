"""White boxes agree with closed forms, with the definitions they were derived from, and refuse what is not a model."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from lapwing.auditor.added_noise import AddedNoise, Norm, OnASample, Several
from lapwing.auditor.choices import (
    AuditedRule,
    Choice,
    HistogramChoice,
    RandomizedAnswer,
    ThresholdedKeys,
    log_chances,
    quantile_scores,
)
from lapwing.auditor.liars import FloatLaplace
from lapwing.auditor.noise_laws import (
    AuditedDiscreteGaussian,
    AuditedDiscreteLaplace,
    AuditedGeometric,
    AuditedRoundedGaussian,
    AuditedRoundedLaplace,
    Laplace,
)
from lapwing.auditor.outcomes import ABORT, CLEAR_YES, LOST, NO, AuditedWithin, AuditedYes
from lapwing.auditor.sparse_vector_oracle import SparseVectorVariant
from lapwing.auditor.stream_models import AuditedStream, CorrelationStream, transcript_in_words, transcript_laws
from lapwing.auditor.worst_pairs import AuditedMovement, NeighbouringPair
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.guarantee import Adjacency, ApproximateDP, ConcentratedDP, GaussianDP, PureDP

ONE = PureDP(epsilon=1)
BOTH = ApproximateDP(epsilon=1, delta="1e-6")


def gaussian_delta(sigma, epsilon):
    """Return the delta of a Gaussian at distance 1 (Balle and Wang 2018, Theorem 8)."""
    return norm.cdf(0.5 / sigma - epsilon * sigma) - math.exp(epsilon) * norm.cdf(-0.5 / sigma - epsilon * sigma)


@pytest.mark.parametrize("sigma", [0.5, 2.0, 4.2247])
def test_rounded_gaussian_noise_comes_close_to_the_profile_of_the_gaussian_from_below(sigma) -> None:
    found = AddedNoise(law=AuditedRoundedGaussian(sigma, step=Fraction(1, 64)), reach=64).worst(BOTH)
    assert 0 <= gaussian_delta(sigma, 1.0) - found.delta <= 0.01 * found.delta


def test_rounded_gaussian_noise_attains_its_mu_at_every_half_line() -> None:
    found = AddedNoise(law=AuditedRoundedGaussian(2, step=Fraction(1, 8)), reach=8).worst(GaussianDP(mu_squared="1/4"))
    assert found.number == pytest.approx(0.5, abs=1e-12)


def test_discrete_gaussian_noise_attains_its_rho_but_not_the_mu_of_a_gaussian() -> None:
    box = AddedNoise(law=AuditedDiscreteGaussian(2), reach=1)
    assert box.worst(ConcentratedDP(rho="1/8")).number == pytest.approx(1 / 8, abs=1e-9)
    assert box.worst(GaussianDP(mu_squared="1/4")).refuted


@pytest.mark.parametrize(("reach", "dimension"), [(1, 1), (3, 1), (3, 2), (3, 5)])
def test_geometric_noise_loses_its_whole_sensitivity_however_it_is_spread(reach, dimension) -> None:
    found = AddedNoise(law=AuditedDiscreteLaplace(2), reach=reach, dimension=dimension).worst(ONE)
    assert found.number == pytest.approx(reach / 2, abs=1e-9)


def test_laplace_noise_on_its_grid_loses_what_it_would_on_the_line() -> None:
    found = AddedNoise(law=AuditedRoundedLaplace(0.5, step=Fraction(1, 4)), reach=2).worst(ONE)
    assert found.number == pytest.approx(1, abs=1e-12)


def test_a_histogram_moves_as_far_as_its_squared_norm_allows() -> None:
    box = AddedNoise(law=AuditedDiscreteGaussian(4), reach=5, norm=Norm.L2_SQUARED, dimension=2)
    assert {there for _, there in box.starts()} == {(2, 1), (1, 1)}
    assert [there for _, there in AddedNoise(law=AuditedGeometric(1), reach=1000).starts()] == [(1000,)]


def test_noise_on_the_whole_line_is_refused() -> None:
    with pytest.raises(ParameterError, match="is not on a lattice"):
        AddedNoise(law=Laplace(1), reach=1)


@pytest.mark.parametrize("rate", [0.01, 0.5])
def test_a_sample_is_worth_what_the_theorem_says_and_no_more(rate) -> None:
    found = OnASample(part=AddedNoise(law=AuditedDiscreteLaplace(1), reach=1), rate=rate).worst(ONE)
    assert found.number == pytest.approx(math.log1p(rate * math.expm1(1)), abs=1e-12)


@pytest.mark.parametrize("times", [2, 7])
def test_coins_compose_like_a_binomial_law(times) -> None:
    coin = RandomizedAnswer(odds=math.exp(0.5), categories=2)
    p = 1 / (1 + math.exp(-0.5))
    heads = [math.comb(times, k) * p**k * (1 - p) ** (times - k) for k in range(times + 1)]
    expected = sum(max(0.0, a - math.e * b) for a, b in zip(heads, heads[::-1], strict=True))
    assert Several(parts=(coin,) * times).worst(ONE).delta == pytest.approx(expected, abs=1e-14)


def permute_and_flip_by_definition(scores, scale):
    chances = np.zeros(len(scores))
    for order in itertools.permutations(range(len(scores))):
        left = 1 / math.factorial(len(scores))
        for i in order:
            taken = math.exp((scores[i] - max(scores)) / scale)
            chances[i] += left * taken
            left *= 1 - taken
    return chances


@pytest.mark.parametrize("scores", [(0, 0, 0), (3, 1, -2, 0), (0, -40, -1)], ids=str)
def test_permute_and_flip_is_what_its_definition_says(scores) -> None:
    found = np.exp(log_chances(AuditedRule.PERMUTE_AND_FLIP, scores, 1.5))
    assert found == pytest.approx(permute_and_flip_by_definition(scores, 1.5), rel=1e-12)


def test_the_gap_of_the_winner_agrees_with_the_integral() -> None:
    scores, scale, edges = (1, 0, -1), 2.0, (0.0, 1.0, 3.0)
    box = Choice(rule=AuditedRule.PERMUTE_AND_FLIP, scale=scale, sensitivity=1, gaps=edges)
    law = np.exp(box.laws((scores, scores)).here).reshape(3, 3)

    def wins_by(i, gap):
        def density(noise):
            others = (scores[i] + noise - gap - scores[j] for j in range(3) if j != i)
            return math.exp(-noise / scale) / scale * math.prod(max(0.0, -math.expm1(-x / scale)) for x in others)

        kinks = [gap + scores[j] - scores[i] for j in range(3)]
        return quad(density, 0, 80, points=[k for k in kinks if 0 < k < 80], limit=200)[0]

    for i in range(3):
        at_least = [wins_by(i, gap) for gap in edges]
        assert law[i] == pytest.approx(-np.diff([*at_least, 0]), abs=1e-9)


@pytest.mark.parametrize("rule", AuditedRule)
@pytest.mark.parametrize(
    ("movement", "scale"), [(AuditedMovement.EITHER_WAY, 2.0), (AuditedMovement.TOGETHER, 1.0)], ids=str
)
def test_a_choice_attains_its_epsilon_and_half_the_scale_is_refuted_where_scores_part(rule, movement, scale) -> None:
    assert Choice(rule=rule, scale=scale, sensitivity=1, movement=movement).worst(ONE).number == pytest.approx(1)
    if movement is AuditedMovement.TOGETHER:
        assert Choice(rule=rule, scale=scale, sensitivity=1).worst(ONE).number == pytest.approx(2)


def test_quantile_scores_are_zero_where_the_quantile_lies() -> None:
    assert quantile_scores([1, 1, 1, 1], Fraction(1, 4)) == [0, 0, -4, -8]


def test_replacing_a_row_costs_a_median_twice_what_a_new_row_does() -> None:
    cheap = HistogramChoice(
        rule=AuditedRule.EXPONENTIAL, scale=2.0, cells=4, at=(Fraction(1, 2),), adjacency=Adjacency.REPLACE
    )
    assert cheap.worst(ONE).number > 1.4


def test_the_delta_of_thresholded_keys_is_the_chance_of_a_lonely_key() -> None:
    keys = ThresholdedKeys(law=AuditedDiscreteLaplace(3), threshold=30, reach=3)
    alone = math.exp(-29 / 3) / (1 + math.exp(-1 / 3))
    assert keys.worst(BOTH).delta == pytest.approx(1 - (1 - alone) ** 3, rel=1e-9)
    twins = ThresholdedKeys(law=AuditedDiscreteLaplace(2), threshold=20, reach=2, people=2)
    apart = math.exp(-19 / 2) / (1 + math.exp(-1 / 2))  # two keys of one person each are worse than one key of two
    assert twins.worst(BOTH).delta == pytest.approx(1 - (1 - apart) ** 2, rel=1e-9)


def test_all_floats_near_an_answer_are_listed_and_few_are_shared() -> None:
    box = FloatLaplace(draws=1 << 12)
    from_0, from_1 = box.reachable()
    assert len(from_0) == 1 << 12
    assert (np.diff(from_0) > 0).all()
    assert (np.fmod(from_1, 2.0**-53) == 0).all()  # noise between -5/4 and -3/4 is no finer
    assert np.isin(from_0, from_1).mean() < 0.05
    first = round(math.exp(-0.1) * 2**52)
    assert from_0[:3].tolist() == pytest.approx([-math.log((first - i) * 2.0**-52) for i in range(3)], abs=1e-16)
    per_unit = math.exp(from_0[0] - 1) / 2.0**-52  # values of 2U per unit of answer, seen from 1
    assert len(from_1) == pytest.approx((from_0[-1] - from_0[0]) * per_unit, abs=2)


def test_floats_refute_every_pure_claim_and_a_wider_look_finds_more_of_them() -> None:
    small, large = (FloatLaplace(draws=draws).worst(PureDP(epsilon=1000)) for draws in (1 << 8, 1 << 12))
    assert small.number == large.number == math.inf
    assert 0 < small.here < large.here


def test_a_gaussian_stream_is_searched_over_all_transcripts() -> None:
    stream = SparseVectorVariant(threshold=AuditedRoundedGaussian(10), query=AuditedRoundedGaussian(20), yeses=1)
    laws = transcript_laws(stream, NeighbouringPair(here=(0,) * 4, there=(1, 1, 1, -1)))
    assert len(laws.outcomes) == 5
    found = AuditedStream(variant=stream, noes=4).worst(BOTH)
    assert 0.1 < found.number < 1
    assert found.number >= laws.epsilon(1e-6)[0]


def test_a_correlation_is_moved_by_the_person_who_can_move_it_most() -> None:
    half = Fraction(1, 2)
    variant = SparseVectorVariant(threshold=AuditedGeometric(48), query=AuditedGeometric(64), yeses=1)
    found = CorrelationStream(variant=variant, at_least=half, resolution=2).worst(ONE)
    assert found.number == pytest.approx(24 / 48 + 32 / 64, abs=1e-6)


def test_a_transcript_is_told_in_few_words() -> None:
    transcript = (
        NO,
        NO,
        AuditedYes(gap=2),
        AuditedYes(compared=AuditedWithin(-math.inf, 0)),
        AuditedYes(gap=AuditedWithin(1, math.inf)),
    )
    assert transcript_in_words(transcript) == "no x2, yes (gap 2), yes (value below 0), yes (gap >= 1)"
    assert transcript_in_words((CLEAR_YES, ABORT, LOST)) == "clear yes, abort, lost"
