"""The margins of streams hold at every confidence that is admitted, against sums over all noise in forty digits."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.special import erfc

from lapwing.answers.stream_terms import StreamTerms
from lapwing.mechanisms.sparse_vector import law_probabilities as tails
from lapwing.mechanisms.sparse_vector import stream_accuracy as accuracy
from lapwing.mechanisms.sparse_vector.gaussian_stream import GaussianSparseVector
from lapwing.mechanisms.sparse_vector.pure import AdaptiveSparseVector, SparseVector
from lapwing.mechanisms.sparse_vector.stream_mechanism import SparseVectorNoise
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.noise.laws import DiscreteLaplace, Geometric, RoundedGaussian
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.guarantee import Adjacency

COUNTS = ValueSensitivity.of_counts(Adjacency.ADD_REMOVE)
ANYTHING = ValueSensitivity.of_anything(sensitivity=1)
CONFIDENCES = ["0.5", "0.95", "0.99999", "0.999999", "0.999999999"]


def masses(law, z):
    """Probabilities of the integers `z`, from the definitions of the laws; summed here, so that they add up to one."""
    match law:
        case Geometric():
            weights = np.where(z >= 0, np.exp(-np.maximum(z, 0) / float(law.scale)), 0.0)
        case DiscreteLaplace():
            weights = np.exp(-np.abs(z) / float(law.scale))
        case RoundedGaussian():
            weights = _gaussian_cells(np.abs(z), float(law.sigma_used))
    return weights / math.fsum(weights)


def _gaussian_cells(far, sigma):
    """In the upper tail a difference of complements keeps its digits."""
    return (erfc((far - 0.5) / sigma / math.sqrt(2)) - erfc((far + 0.5) / sigma / math.sqrt(2))) / 2


def log_tail(law, x):
    """ln P(noise >= x) and ln P(noise < x), from geometric series and the error function."""
    match law:
        case Geometric():
            tail = np.where(x > 0, np.exp(-np.maximum(x, 0) / float(law.scale)), 1.0)
            return np.log(tail), np.log1p(-np.minimum(tail, 1 - 1e-16)) + np.where(tail == 1, -np.inf, 0)
        case DiscreteLaplace():
            b = float(law.scale)
            far = np.exp(-np.where(x > 0, x, 1 - x) / b) / (1 + math.exp(-1 / b))
            return (
                np.where(x > 0, np.log(far), np.log1p(-far)),
                np.where(x > 0, np.log1p(-far), np.log(far)),
            )
        case RoundedGaussian():
            at = (x - 0.5) / float(law.sigma_used) / math.sqrt(2)
            upper, lower = erfc(at) / 2, erfc(-at) / 2
            with np.errstate(divide="ignore"):
                return (
                    np.where(upper < 0.5, np.log(upper), np.log1p(-lower)),
                    np.where(lower < 0.5, np.log(lower), np.log1p(-upper)),
                )


def chance_of_error(mechanism, margin, *, below, above):
    """The chance that one of the answers is wrong: the sum over *every* value that the threshold noise can take."""
    rule = mechanism.rule
    reach = int((11 if isinstance(rule.threshold_noise, RoundedGaussian) else 60) * tails.width(rule.threshold_noise))
    z = np.arange(0 if isinstance(rule.threshold_noise, Geometric) else -reach, reach + 2)
    log_right = np.zeros(len(z))
    noes = np.zeros((2, len(z)))
    for one in rule.comparisons:
        noes[0] += log_tail(one.noise, one.bar + z + margin)[1]
        noes[1] += log_tail(one.noise, one.bar + z - margin)[1]
    if len(rule.comparisons) == 1:
        yes = log_tail(rule.comparisons[0].noise, rule.comparisons[0].bar + z - margin)[0]
    else:
        with np.errstate(divide="ignore"):
            yes = np.where(noes[1] < -0.7, np.log1p(-np.exp(noes[1])), np.log(-np.expm1(noes[1])))
    log_right += below * noes[0] if below else 0.0
    log_right += above * yes if above else 0.0
    return math.fsum(masses(rule.threshold_noise, z) * -np.expm1(log_right))


def in_forty_digits(mechanism, margin, *, below, above):
    """The same for discrete Laplace and geometric noise, with nothing rounded."""
    (only,) = mechanism.rule.comparisons
    once = mechanism.rule.threshold_noise
    two_sided = isinstance(once, DiscreteLaplace)
    with mpmath.workdps(40):
        r, s = (mpmath.exp(-1 / mpmath.mpf(law.scale.numerator) * law.scale.denominator) for law in (once, only.noise))

        def at_least(x):
            if not two_sided:
                return mpmath.mpf(1) if x <= 0 else s**x
            return s**x / (1 + s) if x > 0 else 1 - s ** (1 - x) / (1 + s)

        total = mpmath.mpf(0)
        reach = int(50 * once.scale)
        for z in range(-reach if two_sided else 0, reach):
            mass = (1 - r) / (1 + r) * r ** abs(z) if two_sided else (1 - r) * r**z
            right = (1 - at_least(only.bar + z + margin)) ** below * at_least(only.bar + z - margin) ** above
            total += mass * (1 - right)
        return float(total + 2 * r**reach)


@pytest.mark.parametrize(
    "noise", [SparseVectorNoise.LAPLACE, SparseVectorNoise.GEOMETRIC], ids=["two-sided", "one-sided"]
)
@pytest.mark.parametrize("confidence", ["0.99999", "0.999999999"])
def test_a_stream_of_wide_noise_errs_no_more_often_than_its_margin_says(noise, confidence) -> None:
    """More than 4096 likely values: here a sum that was taken as an integral promised up to 11,000 times too much."""
    epsilon = "0.05" if noise is SparseVectorNoise.LAPLACE else "0.02"
    stream = SparseVector(epsilon=epsilon, yeses=3, threshold=0, sensitivity=COUNTS, noise=noise)
    margin = int(stream.margin(confidence, questions=33))
    doubt = float(1 - Fraction(confidence))
    assert in_forty_digits(stream, margin, below=30, above=3) <= doubt
    assert in_forty_digits(stream, margin - 1, below=30, above=3) > doubt


STREAMS = {
    "one-sided": lambda: SparseVector(epsilon="0.02", yeses=3, threshold=0, sensitivity=COUNTS),
    "one-sided, narrow": lambda: SparseVector(epsilon=2, yeses=1, threshold=0, sensitivity=COUNTS),
    "one-sided, general": lambda: SparseVector(epsilon="0.03", yeses=7, threshold=0, sensitivity=ANYTHING),
    "two-sided": lambda: SparseVector(
        epsilon="0.05", yeses=3, threshold=0, sensitivity=COUNTS, noise=SparseVectorNoise.LAPLACE
    ),
    "many yeses": lambda: SparseVector(epsilon="0.5", yeses=400, threshold=0, sensitivity=COUNTS),
    "many yeses, two-sided": lambda: SparseVector(
        epsilon="0.3", yeses=150, threshold=0, sensitivity=ANYTHING, noise=SparseVectorNoise.LAPLACE
    ),
    "adaptive": lambda: AdaptiveSparseVector(epsilon="0.05", yeses=3, threshold=0, sensitivity=COUNTS, clear_by=300),
    "Gaussian": lambda: GaussianSparseVector(
        threshold_sigma=300, query_sigma=500, yeses=20, questions=10**6, threshold=0, sensitivity=COUNTS
    ),
    "Gaussian, wide": lambda: GaussianSparseVector(
        threshold_sigma=5000, query_sigma=9000, yeses=3, questions=1000, threshold=0, sensitivity=COUNTS
    ),
}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_the_margin_is_the_smallest_that_keeps_its_confidence(name, confidence) -> None:
    stream = STREAMS[name]()
    doubt = float(1 - Fraction(confidence))
    for questions in (33, 1000, 10**6):
        above = min(questions, stream.rule.units // stream.rule.dearest)
        margin = int(stream.margin(confidence, questions=questions))
        assert chance_of_error(stream, margin, below=questions - above, above=above) <= doubt * (1 + 1e-11)
        assert chance_of_error(stream, margin - 1, below=questions - above, above=above) > doubt * (1 - 1e-8)


@pytest.mark.parametrize("name", STREAMS)
def test_chances_of_errors_keep_nine_digits_however_small_they_are(name) -> None:
    stream = STREAMS[name]()
    for below, above in ((30, 3), (0, 1), (1, 0), (10**6, 1)):
        for confidence in CONFIDENCES:
            margin = accuracy.margin(stream.rule, below=below, above=above, beta=float(1 - Fraction(confidence)))
            told = accuracy.chance_of_error(stream.rule, margin=margin, below=below, above=above)
            truth = chance_of_error(stream, margin, below=below, above=above)
            assert truth <= told * (1 + 1e-12)
            assert told <= truth * (1 + 2e-9) + 1e-17


@pytest.mark.parametrize("name", STREAMS)
def test_the_chance_of_a_yes_keeps_nine_digits(name) -> None:
    stream = STREAMS[name]()
    rule, wide = stream.rule, round(tails.width(stream.rule.comparisons[0].noise))
    for distance in (-9 * wide, -3 * wide, -1, 0, 1, 2 * wide):
        yes = chance_of_error(stream, -distance, below=1, above=0)  # a yes is what a question below must not get
        assert accuracy.chance_of_yes(rule, distance) == pytest.approx(yes, rel=2e-9, abs=1e-17)


def test_placing_for_a_high_confidence_helps_at_that_confidence() -> None:
    stream = SparseVector(epsilon="0.05", yeses=3, threshold=0, sensitivity=COUNTS, noise=SparseVectorNoise.LAPLACE)
    surest = "0.999999999"
    placed = stream.placed_for(1000, surest)
    best = min(
        accuracy.margin(accuracy.lifted(stream.rule, lift), below=997, above=3, beta=1e-9)
        for lift in range(int(placed.shift) - 60, int(placed.shift) + 61, 10)
    )
    assert placed.margin(surest) <= best * 1.01
    assert placed.margin(surest) < stream.margin(surest, questions=1000)


def test_the_smallest_epsilon_for_a_margin_keeps_it_at_the_highest_confidence() -> None:
    stream = SparseVector(epsilon=1, yeses=3, threshold=0, sensitivity=COUNTS)
    priced = stream.for_margin(3000, questions=33, confidence="0.999999999")
    assert chance_of_error(priced, 3000, below=30, above=3) <= 1e-9
    terms = StreamTerms(
        table="t", at_least=200, yeses=3, epsilon=Fraction(1, 50), adjacency=Adjacency.ADD_REMOVE, people=1
    )
    margin = terms.margin("0.999999999", questions=30)
    assert chance_of_error(terms.mechanism, margin, below=30, above=3) <= 1e-9


def test_a_law_and_its_sums_have_no_mass_too_much() -> None:
    for law in (Geometric(Fraction(5000)), DiscreteLaplace(Fraction(10**6)), RoundedGaussian(Fraction(10**5))):
        _, log_weights = tails.quadrature(law, (70.0, -1e4), finest=4000.0)
        assert math.fsum(np.exp(log_weights)) == pytest.approx(1, abs=1e-12)


def test_confidences_that_nobody_computes_are_refused_and_the_highest_is_not() -> None:
    stream = SparseVector(epsilon=1, yeses=1, threshold=0, sensitivity=COUNTS)
    assert stream.margin("0.999999999", questions=1) > stream.margin("0.99999999", questions=1)
    with pytest.raises(ParameterError, match="at or below 1 - 1e-9"):
        stream.margin("0.9999999991", questions=1)


@pytest.mark.parametrize("away", [-2, 0, 1])
def test_e30_a_value_near_the_threshold_is_answered_either_way(away) -> None:
    """It may halt, and need not: of 100 streams some say yes and some no, though the margin is further away.

    A chance of a yes between 1/5 and 4/5 leaves out one of the two in 100 streams with a probability of at most
    2 (4/5)^100 < 5e-10: so often is this a false alarm.
    """
    stream = SparseVector(epsilon=1, yeses=1, threshold=100, sensitivity=COUNTS)
    assert stream.margin("0.95", questions=1) > abs(away)
    assert 1 / 5 < stream.chance_of_yes(100 + away) < 4 / 5
    assert {bool(stream.open().ask(100 + away)) for _ in range(100)} == {True, False}
