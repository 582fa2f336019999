"""The exponential mechanism on a range: the law of its candidates, however they are cut into pieces, and its loss."""

import math
from itertools import combinations_with_replacement

import numpy as np
import pytest

from lapwing import Adjacency
from lapwing.errors import ParameterError, SecrecyError
from lapwing.mechanisms import ExponentialMechanism, ExponentialOnRange, Sensitive
from statistical.goodness import fits, p_value

STARTS, SCORES = [0, 3, 4], [0, 2, -1]
EACH = [0, 0, 0, 2, -1, -1, -1, -1]  # the same scores, number by number


def law(scores, scale):
    """Return the probabilities of candidates by their scores."""
    weights = [math.exp(score / scale) for score in scores]
    return np.array(weights) / sum(weights)


def drawn(mechanism, scores, starts, times=6000):
    """Return how often each number was chosen."""
    chosen = [mechanism.release(scores, starts=starts) for _ in range(times)]
    assert min(chosen) >= mechanism.low
    assert max(chosen) <= mechanism.high
    return np.bincount(np.array(chosen) - mechanism.low, minlength=mechanism.high - mechanism.low + 1)


def test_every_number_is_chosen_by_its_score_and_pieces_count_as_often_as_they_have_numbers() -> None:
    mechanism = ExponentialOnRange(low=-3, high=4, sensitivity=1, epsilon=1)
    counts = drawn(mechanism, SCORES, [start - 3 for start in STARTS])
    assert fits(p_value(counts, law(EACH, 2)))
    assert not fits(p_value(counts, law(EACH, 1.5)))
    piece = law(SCORES, 2)  # the mistake: a piece by its score, and then a number of it
    wrong = np.repeat(piece / np.array([3, 1, 4]), [3, 1, 4])
    assert not fits(p_value(counts, wrong))


@pytest.mark.parametrize(
    ("scores", "starts"),
    [
        ([0, 0, 2, -1, -1], [0, 1, 3, 4, 6]),  # cut into more pieces
        ([0, 9, 2, -1, 7], [-5, 3, 3, 4, 4000]),  # begun below the range, without a number, beyond the end
        ([0, 9, 2, -1], [1, 3, 2, 4]),  # begun after low, and before the piece that it follows
        (EACH, [*range(8)]),
        (EACH, None),
    ],
)
def test_how_a_function_is_cut_into_pieces_makes_no_difference(scores, starts) -> None:
    mechanism = ExponentialOnRange(low=0, high=7, sensitivity=1, epsilon=1)
    counts = drawn(mechanism, scores, starts, times=4000)
    assert fits(p_value(counts, law(EACH, 2)))


def median_scores(rows, size):
    """Return the score of each number for a median, and as pieces: -|2 (rows below) - all rows|."""
    each = [-abs(2 * sum(row < number for row in rows) - len(rows)) for number in range(size)]
    starts = [0, *(row + 1 for row in sorted(rows))]
    return each, [-abs(2 * below - len(rows)) for below in range(len(rows) + 1)], starts


def test_no_neighbours_lose_more_than_epsilon_and_choosing_pieces_instead_would() -> None:
    """All tables of up to three rows among five numbers, with one row more: exact laws, from scores by hand."""
    size, epsilon = 5, 1.0
    scale = float(ExponentialOnRange(low=0, high=size - 1, sensitivity=1, epsilon=1).noise_scale)

    def by_pieces(rows):
        _, scores, starts = median_scores(rows, size)
        ends = [min(start, size) for start in (*starts[1:], size)]
        sizes = [end - min(start, size) for start, end in zip(starts, ends, strict=True)]
        kept = [(score, count) for score, count in zip(scores, sizes, strict=True) if count]
        shares = law([score for score, _ in kept], scale)
        return np.concatenate([np.full(count, share / count) for (_, count), share in zip(kept, shares, strict=True)])

    lost = {"numbers": 0.0, "pieces": 0.0}
    for people in range(4):
        for rows in combinations_with_replacement(range(size), people):
            for more in range(size):
                for kind, of in (("numbers", lambda r: law(median_scores(r, size)[0], scale)), ("pieces", by_pieces)):
                    here, there = of(rows), of((*rows, more))
                    lost[kind] = max(lost[kind], float(abs(np.log(here / there)).max()))
    assert 0.4 * epsilon < lost["numbers"] <= epsilon
    assert lost["pieces"] > 1.1 * epsilon


@pytest.mark.parametrize("rows", [(), (2,), (0, 0, 4), (1, 2, 3)])
def test_the_pieces_of_a_median_are_its_scores(rows) -> None:
    each, scores, starts = median_scores(rows, 5)
    counts = drawn(ExponentialOnRange(low=0, high=4, sensitivity=1, epsilon=2), scores, starts, times=3000)
    assert fits(p_value(counts, law(each, 1)))


@pytest.mark.parametrize("confidence", ["0.6", "0.95", "0.999"])
def test_the_margin_is_attained_by_one_best_number_among_a_million_million(confidence) -> None:
    mechanism = ExponentialOnRange(low=1, high=10**12, sensitivity=1, epsilon=1)
    margin = mechanism.margin(confidence)
    others = (10**12 - 1) * math.exp(-margin / 2)
    assert others / (1 + others) == pytest.approx(1 - float(confidence), rel=1e-6)
    assert mechanism.confidence(margin) >= float(confidence) - 1e-9
    few = ExponentialMechanism(sensitivity=1, candidates=10**6, epsilon=1)
    assert ExponentialOnRange(low=0, high=10**6 - 1, sensitivity=1, epsilon=1).margin(confidence) == few.margin(
        confidence
    )
    assert mechanism.event == few.event


def test_a_wanted_accuracy_is_kept_and_scores_that_move_together_have_half_the_noise() -> None:
    wanted = ExponentialOnRange(low=0, high=10**9, sensitivity=1, within=20, confidence="0.95")
    assert 19 < wanted.margin("0.95") <= 20
    both = [
        ExponentialOnRange(low=0, high=9, sensitivity=1, epsilon=1, monotone_under=monotone).noise_scale
        for monotone in (None, Adjacency.ADD_REMOVE)
    ]
    assert both[0] == 2 * both[1]


def test_what_is_handed_in_may_be_wrapped_and_is_left_alone() -> None:
    mechanism = ExponentialOnRange(low=0, high=7, sensitivity=1, epsilon=1)
    starts, scores = np.array([5, 1]), np.array([1, 2])
    assert mechanism.release(Sensitive(scores), starts=Sensitive(starts)) in range(8)
    assert starts.tolist() == [5, 1]
    with pytest.raises(SecrecyError):
        str(Sensitive(scores))


@pytest.mark.parametrize(
    ("scores", "starts"), [([], []), ([1], [1, 2]), (5, [1]), ([1, 2], [[0, 1], [2, 3]]), ([1.5], [0]), (["1"], [0])]
)
def test_what_is_no_function_of_pieces_is_refused_without_telling_it(scores, starts) -> None:
    with pytest.raises(ParameterError) as refusal:
        ExponentialOnRange(low=0, high=7, sensitivity=1, epsilon=1).release(scores, starts=starts)
    assert "1.5" not in str(refusal.value)


@pytest.mark.parametrize(
    ("low", "high", "reason"),
    [
        (3, 2, "is below low, 3"),
        (0, 2**53, "than 2\\^53 numbers"),
        (0, 1.5, "whole number"),
        ("a", 3, "low = 'a'"),
    ],
)
def test_what_is_no_range_is_refused(low, high, reason) -> None:
    with pytest.raises(ParameterError, match=reason):
        ExponentialOnRange(low=low, high=high, sensitivity=1, epsilon=1)
    assert ExponentialOnRange(low=-(2**52), high=2**52 - 1, sensitivity=1, epsilon=1).high == 2**52 - 1
