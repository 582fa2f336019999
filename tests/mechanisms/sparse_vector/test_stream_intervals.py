"""What a yes says about its value must be true of the yeses that are shown, not of answers in general."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from lapwing.mechanisms.sparse_vector.gaussian_stream import GaussianSparseVector
from lapwing.mechanisms.sparse_vector.law_probabilities import variance
from lapwing.mechanisms.sparse_vector.pure import AdaptiveSparseVector, SparseVector, YesReveals
from lapwing.mechanisms.sparse_vector.rule import SparseVectorAnswer
from lapwing.mechanisms.sparse_vector.stream_accuracy import _range, share_of_question
from lapwing.mechanisms.sparse_vector.stream_mechanism import SparseVectorNoise
from lapwing.noise.laws import DiscreteLaplace
from lapwing.vocabulary.errors import ParameterError
from mechanisms.sparse_vector.suspects import COUNTS, REALS

STREAMS = 300
FAR = 10**6


def held(mechanism, values, intervals):
    """How many streams had all their intervals right, and how many intervals there were."""
    right = shown = 0
    for _ in range(STREAMS):
        answers = mechanism.open().ask_many(values)
        found = [
            (float(values[at]), intervals(answer)) for at, answer in zip(answers.positions, answers.yeses, strict=True)
        ]
        right += all(low <= value <= high for value, (low, high) in found)
        shown += len(found)
    return right, shown


def honest(mechanism, confidence="0.95"):
    def bounds(answer):
        interval = mechanism.interval(answer, confidence)
        return interval.low, interval.high

    return bounds


SEARCH = np.full(1000, -20)
"""A thousand questions just below the threshold: every yes is a false one."""

CASES = {
    "one-sided": (SparseVector(epsilon=1, yeses=5, threshold=0, sensitivity=COUNTS), SEARCH),
    "one-sided, known number": (
        SparseVector(epsilon=1, yeses=5, threshold=0, sensitivity=COUNTS, questions=1000),
        SEARCH,
    ),
    "two-sided": (
        SparseVector(epsilon=1, yeses=5, threshold=0, sensitivity=COUNTS, noise=SparseVectorNoise.LAPLACE),
        SEARCH,
    ),
    "number": (SparseVector(epsilon=2, yeses=5, threshold=0, sensitivity=COUNTS, reveals=YesReveals.NUMBER), SEARCH),
    "adaptive": (AdaptiveSparseVector(epsilon=1, yeses=3, threshold=0, sensitivity=COUNTS), np.full(1000, -12)),
    "grid": (SparseVector(epsilon=1, yeses=2, threshold=0, sensitivity=REALS, grid="1/4"), np.full(200, -6.1)),
}


@pytest.mark.parametrize("case", CASES)
def test_intervals_hold_for_the_answers_that_were_selected(case) -> None:
    mechanism, values = CASES[case]
    right, shown = held(mechanism, values, honest(mechanism, "0.9"))
    assert shown > STREAMS  # there is something to be wrong about
    assert binom.cdf(right, STREAMS, 0.9) > 1e-9


def test_a_plain_margin_beside_a_gap_would_be_a_lie() -> None:
    mechanism, values = CASES["one-sided"]
    (comparison,) = mechanism.rule.comparisons
    margin = 16.2  # the 95 % margin of the noise of one answer

    def plain(answer):
        estimate = float(answer.threshold + answer.gap)
        return estimate - margin, estimate + margin

    spread = math.sqrt(variance(comparison.noise) + variance(mechanism.rule.threshold_noise))
    assert 1.8 * spread < margin < 2.5 * spread
    right, _ = held(mechanism, values, plain)
    assert right < STREAMS / 10


def test_a_known_number_of_questions_makes_intervals_shorter_and_ends_them() -> None:
    endless, (known, _) = CASES["one-sided"][0], CASES["one-sided, known number"]
    late = SparseVectorAnswer(
        above=True, question=900, threshold=Fraction(0), price=endless.yes_price, gap=Fraction(30)
    )
    lengths = [m.interval(late).high - m.interval(late).low for m in (endless, known)]
    assert lengths[1] < lengths[0] < 1.6 * lengths[1]
    later = SparseVectorAnswer(
        above=True, question=1001, threshold=Fraction(0), price=endless.yes_price, gap=Fraction(30)
    )
    assert known.interval(later) is None
    assert endless.interval(later) is not None


def test_the_shares_of_all_questions_sum_to_at_most_one() -> None:
    assert sum(share_of_question(i, 7) for i in range(1, 100)) == pytest.approx(1)
    total = sum(share_of_question(i, None) for i in range(1, 1 << 12))
    assert pytest.approx(total) == 1 - 1 / 13  # and the rest is left for the questions to come


def test_what_tells_nothing_has_no_interval() -> None:
    bare = SparseVector(epsilon=1, yeses=2, threshold=0, sensitivity=COUNTS, reveals=YesReveals.NOTHING_MORE)
    gaussian = GaussianSparseVector(
        threshold_sigma=1, query_sigma=1, yeses=1, questions=9, threshold=0, sensitivity=COUNTS
    )
    for mechanism in (bare, gaussian):
        yes = mechanism.open().ask(FAR)
        assert yes
        assert mechanism.interval(yes) is None
        assert mechanism.estimate(yes) is None
    no = CASES["one-sided"][0].open().ask(-FAR)
    assert CASES["one-sided"][0].interval(no) is None
    assert CASES["one-sided"][0].estimate(no) is None


def test_a_number_and_a_gap_together_are_more_precise_than_either() -> None:
    mechanism = SparseVector(epsilon=1, yeses=2, threshold=0, sensitivity=COUNTS, reveals=YesReveals.NUMBER)
    answers = [mechanism.open().ask(FAR) for _ in range(8000)]  # far above: nothing is selected
    errors = {
        "number": np.array([float(answer.number) - FAR for answer in answers]),
        "gap": np.array([float(answer.gap) - FAR for answer in answers]),
        "both": np.array([mechanism.estimate(answer) - FAR for answer in answers]),
    }
    (comparison,) = mechanism.rule.comparisons
    of_number = variance(mechanism.rule.fresh_noise)
    of_gap = variance(comparison.noise) + variance(mechanism.rule.threshold_noise)
    expected = {"number": of_number, "gap": of_gap, "both": 1 / (1 / of_number + 1 / of_gap)}
    for name, error in errors.items():
        assert error.var() == pytest.approx(expected[name], rel=0.3)  # nine deviations of a variance
        if name != "gap":  # whose centre is rounded to a step
            assert abs(error.mean()) < 7 * math.sqrt(expected[name] / 8000)
    assert expected["both"] < 0.8 * min(expected["number"], expected["gap"])


def test_intervals_of_a_number_are_kept_when_the_gap_contradicts_them() -> None:
    mechanism = CASES["number"][0]
    odd = SparseVectorAnswer(
        above=True,
        question=1,
        threshold=Fraction(0),
        price=mechanism.yes_price,
        gap=Fraction(10**6),
        number=Fraction(5),
    )
    interval = mechanism.interval(odd)
    assert interval.low <= 5 <= interval.high < 10**3


@pytest.mark.parametrize("scale", ["1/20", "1/4", "1/2", "2/3", 1])
def test_a_range_of_two_sided_noise_misses_on_either_side_however_small_the_noise(scale) -> None:
    q = math.exp(-1 / float(Fraction(scale)))
    for beta in (0.5, 0.26, 0.25, 0.2, 0.1, 0.05, 1e-3):
        low, high = _range(DiscreteLaplace(scale), beta)
        missed = (q ** (high + 1) + q ** (1 - low)) / (1 + q)
        assert missed <= beta * (1 + 1e-9)


def test_an_answer_of_another_mechanism_is_refused() -> None:
    one, other = (SparseVector(epsilon=e, yeses=2, threshold=0, sensitivity=COUNTS) for e in (1, 2))
    answer = one.open().ask(10**9)
    with pytest.raises(ParameterError, match="answer"):
        other.interval(answer)


def test_a_yes_beyond_the_questions_that_were_announced_has_no_interval() -> None:
    stream = SparseVector(epsilon=1, yeses=2, threshold=0, sensitivity=COUNTS, questions=10)
    opened = stream.open()
    early, late = opened.ask(10**9), opened.ask_many([-(10**9)] * 20 + [10**9]).yeses[0]
    assert stream.interval(early) is not None
    assert stream.interval(late) is None


def test_two_sided_noise_reaches_as_far_below_a_gap_as_above_on_any_grid() -> None:
    for grid in (1, "1/4"):
        stream = SparseVector(
            epsilon=1, yeses=2, threshold=0, sensitivity=REALS, grid=grid, noise=SparseVectorNoise.LAPLACE
        )
        answer = SparseVectorAnswer(
            above=True, question=1, threshold=Fraction(0), price=stream.yes_price, gap=Fraction(30)
        )
        low, high = (float(end) for end in (stream.interval(answer).low, stream.interval(answer).high))
        assert (low + high) / 2 == pytest.approx(30, abs=1)
