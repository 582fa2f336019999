"""What docs/tutorials/lectures.md says in passing, held against closed forms and counts by hand."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from lapwing import Adjacency, PureDP
from lapwing.accounting import Composed, LaplaceNoise, Repeated, amplified, compare_worlds, price, share
from lapwing.mechanisms import ExponentialMechanism, GaussianMechanism, GeometricMechanism, geometric_histogram
from statistical.goodness import fits, p_value


def test_gaussian_noise_is_smaller_from_six_counts_that_overlap_on() -> None:
    def margins(d):
        """Return margins for all of d counts, from the tails of both laws: d independent draws, 95 in 100."""
        missed = -math.expm1(math.log(0.95) / d)
        normal = GaussianMechanism(l2_sensitivity_squared=d, epsilon=1, delta="1e-6", dimension=d)
        laplace = GeometricMechanism(l1_sensitivity=d, epsilon=1).margin("0.95", values=d)
        tail = [2 * math.exp(-(m + 1) / d) / (1 + math.exp(-1 / d)) for m in (laplace, laplace - 1)]
        assert tail[0] <= missed < tail[1]
        gaussian = float(normal.margin("0.95", values=d))
        assert math.erfc(gaussian / float(normal.sigma) / math.sqrt(2)) == pytest.approx(missed, rel=0.01)
        return laplace, gaussian

    assert [laplace < gaussian for laplace, gaussian in map(margins, range(1, 12))] == [True] * 5 + [False] * 6


def test_a_million_candidates_cost_what_three_do() -> None:
    few, many = (ExponentialMechanism(sensitivity=1, candidates=n, epsilon=1) for n in (3, 10**6))
    assert few.event == many.event
    assert many.margin("0.95") - few.margin("0.95") == pytest.approx(2 * math.log(999_999 / 2), abs=1e-6)
    scores = np.zeros(10**6, np.int64)
    scores[123_456] = 100
    assert many.release(scores) == 123_456  # 100 ahead: another one with probability 2e-16


def test_the_exponential_mechanism_on_integers_draws_the_geometric_law() -> None:
    """The score -|r - f| at epsilon 2 is geometric noise of epsilon 1; the law of another epsilon is told apart."""
    chooser = ExponentialMechanism(sensitivity=1, candidates=41, epsilon=2)
    assert chooser.noise_scale == GeometricMechanism(l1_sensitivity=1, epsilon=1).event.scale == 1
    drawn = np.bincount([chooser.release([-abs(r - 20) for r in range(41)]) for _ in range(12_000)], minlength=41)

    def law(epsilon):
        return np.array([math.tanh(epsilon / 2) * math.exp(-epsilon * abs(r - 20)) for r in range(41)])

    assert law(1).sum() == pytest.approx(1, abs=1e-8)  # what lies beyond is negligible
    assert fits(p_value(drawn, law(1)))
    assert not fits(p_value(drawn, law(1.15)))


def test_a_count_from_a_sample_has_more_noise_at_the_same_price() -> None:
    for epsilon in (0.01, 0.1, 1.0, 5.0):
        shares = (1, 0.9, 0.5, 0.1, 0.001)
        inner = [math.log1p(math.expm1(epsilon) / q) for q in shares]
        for q, each in zip(shares[1:], inner[1:], strict=True):
            price_again = amplified(PureDP(epsilon=Fraction(each)), Fraction(q)).epsilon
            assert float(price_again) == pytest.approx(epsilon, rel=1e-9)
        scales = [1 / (each * q) for q, each in zip(shares, inner, strict=True)]  # of noise on the whole
        assert scales[0] == pytest.approx(1 / epsilon)
        assert scales == sorted(scales)


def test_answering_every_question_with_the_noise_of_the_stream_costs_a_quarter_each() -> None:
    compared = LaplaceNoise(l1_sensitivity=Fraction(1), scale=Fraction(4))
    for n in (1, 7, 100):
        assert price(Repeated(part=compared, times=n)).pure_epsilon == Fraction(n, 4)
        assert price(Composed(parts=(compared,) * n)).pure_epsilon == Fraction(n, 4)


@pytest.mark.parametrize("times", [1, 2, 10, 37])
def test_exercise_1_4_k_executions_have_k_times_the_noise(times) -> None:
    each = share(PureDP(epsilon="0.3"), times=times).best.epsilon
    once, shared = (GeometricMechanism(l1_sensitivity=1, epsilon=e) for e in ("0.3", each))
    assert shared.event.scale == times * once.event.scale


@pytest.mark.parametrize("bins", [2, 3, 10])
def test_exercise_1_5_a_histogram_as_one_function_has_less_noise(bins) -> None:
    apart = GeometricMechanism(l1_sensitivity=1, epsilon=Fraction(1, bins))
    together = geometric_histogram(bins=bins, adjacency=Adjacency.REPLACE, epsilon=1)
    assert (apart.event.scale, together.event.scale) == (bins, 2)
    moved = {bins_of(old, new, bins) for old in range(bins) for new in range(bins)}
    assert max(moved) == 2  # a person who is replaced leaves one bin and enters another
    assert apart.margin("0.95", values=bins) >= together.margin("0.95", values=bins)


def bins_of(old, new, bins):
    """Return by how much a histogram moves, in L1, if one person of bin `old` is replaced by one of `new`."""
    before, after = np.bincount([old], minlength=bins), np.bincount([new], minlength=bins)
    return int(abs(before - after).sum())


def test_the_distance_of_two_worlds_bounds_every_event() -> None:
    """Equation 6 of document 004 is about events: the largest ratio of single tables bounds that of every set."""
    prior = {
        (a, b): weight for (a, b), weight in zip([(0, 0), (0, 1), (1, 0), (1, 1)], (0.4, 0.1, 0.2, 0.3), strict=True)
    }
    worlds = compare_worlds(prior, lambda t: math.exp(-0.7 * abs(1 - sum(t))), lambda t: (0, t[1]))
    most = 0.0
    for size in range(1, 4):
        for event in combinations(prior, size):
            p, q = (sum(beliefs[table] for table in event) for beliefs in (worlds.with_data, worlds.without_data))
            most = max(most, abs(math.log(p / q)))
    assert most == pytest.approx(worlds.distance)
    assert worlds.distance <= 2 * 0.7


def test_a_useful_answer_tells_about_people_who_are_not_in_it() -> None:
    """Dwork and Naor: who knows that she is two inches shorter than the mean learns her height by the mean."""
    epsilon, people, tallest = 1, 10_000, 250
    total = GeometricMechanism(l1_sensitivity=tallest, epsilon=epsilon)
    off_by = total.margin("0.999999") / people
    assert off_by < 0.4  # centimetres, of somebody who never was in the table
