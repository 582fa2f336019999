import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import binom

from lapwing.mechanisms import randomized_response
from lapwing.mechanisms.randomized_response import EXACT_UP_TO, Chances, RandomizedResponse
from lapwing.vocabulary.errors import ParameterError
from mechanisms.laws_by_hand import ROUNDING, number
from statistical.goodness import fits, p_value


class Fixed:
    """A coin that always falls the same way."""

    def __init__(self, *, heads) -> None:
        self.heads = heads

    def toss(self, _source):
        return self.heads

    def toss_many(self, count, _source):
        return np.full(count, self.heads)


def law(mechanism, truth, monkeypatch) -> list[mp.mpf]:
    """The law of one answer: coin and die are walked through, each with its probability from the formula."""
    k = mechanism.event.categories
    honest = 1 / (1 + (k - 1) * mp.exp(-number(mechanism.epsilon)))
    chances = [mp.mpf(0)] * k
    coin = mechanism.coin
    for heads, p in ((True, honest), (False, 1 - honest)):
        object.__setattr__(mechanism, "coin", Fixed(heads=heads))
        for other in range(k - 1):
            monkeypatch.setattr(randomized_response, "uniform_below", lambda _, other=other: other)
            chances[mechanism.release(truth)] += p / (k - 1)
    object.__setattr__(mechanism, "coin", coin)
    return chances


@pytest.mark.parametrize("categories", [2, 3, 7])
@pytest.mark.parametrize("epsilon", ["0.1", 1, 4])
def test_the_loss_between_any_two_truths_is_epsilon_exactly(categories, epsilon, monkeypatch) -> None:
    mechanism = RandomizedResponse(epsilon=epsilon, categories=categories)
    laws = [law(mechanism, truth, monkeypatch) for truth in range(categories)]
    worst = max(abs(mp.log(p / q)) for here in laws for there in laws for p, q in zip(here, there, strict=True))
    assert abs(worst - number(epsilon)) < ROUNDING
    assert all(abs(mp.fsum(chances) - 1) < ROUNDING for chances in laws)


@pytest.mark.parametrize("categories", [2, 5])
@pytest.mark.parametrize("epsilon", ["0.5", 3])
def test_the_coin_has_the_bias_of_the_formula(categories, epsilon) -> None:
    low, high = randomized_response._truth_bounds(Fraction(epsilon), categories, 120)
    truth = mp.mpf(2) ** 120 / (1 + (categories - 1) * mp.exp(-number(epsilon)))
    assert low <= truth <= high <= low + 2


@pytest.mark.parametrize("categories", [2, 4])
def test_answers_follow_the_law(categories) -> None:
    mechanism = RandomizedResponse(epsilon=1, categories=categories)
    weights = np.where(np.arange(categories) == 1, np.e, 1.0)
    lie = np.where(np.arange(categories) == 1, np.exp(0.85), 1.0)
    many = np.bincount(mechanism.release(np.full(300_000, 1)), minlength=categories)
    one_by_one = np.bincount([mechanism.release(1) for _ in range(60_000)], minlength=categories)
    for counts in (many, one_by_one):
        assert fits(p_value(counts, weights / weights.sum()))
        assert not fits(p_value(counts, lie / lie.sum()))


@pytest.mark.parametrize("value", [-(10**30), -1, 10**30])
def test_a_value_that_is_no_category_counts_as_the_nearest(value, monkeypatch) -> None:
    mechanism = RandomizedResponse(epsilon=1, categories=3)
    assert law(mechanism, value, monkeypatch) == law(mechanism, 0 if value < 0 else 2, monkeypatch)
    object.__setattr__(mechanism, "coin", Fixed(heads=True))
    assert mechanism.release([value]).tolist() == [0 if value < 0 else 2]


@pytest.mark.parametrize(("epsilon", "truths"), [("0.4", (700, 300)), (2, (10, 0, 55, 935)), (30, (3, 4, 5))])
def test_estimates_are_unbiased(epsilon, truths) -> None:
    k, people, rate = len(truths), sum(truths), number(epsilon)
    mechanism = RandomizedResponse(epsilon=epsilon, categories=k)
    honest = 1 / (1 + (k - 1) * mp.exp(-rate))
    lie = honest * mp.exp(-rate)
    expected = [t * honest + (people - t) * lie for t in truths]
    assert mechanism.estimate([float(e) for e in expected]) == pytest.approx(truths, abs=1e-6)


def exact_failure(epsilon, categories, people, truth, margin) -> float:
    """The probability that the estimate is off by more than `margin`, by convolving two binomial laws."""
    honest = 1 / (1 + (categories - 1) * np.exp(-epsilon))
    lie = honest * np.exp(-epsilon)
    law = np.ones(1)
    for chance, number_ in ((honest, truth), (lie, people - truth)):
        for _ in range(number_):
            law = np.convolve(law, [1 - chance, chance])
    errors = np.abs((np.arange(people + 1) - people * lie) / (honest - lie) - truth)
    return law[errors > margin].sum()


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2, 6])
@pytest.mark.parametrize("categories", [2, 3, 6])
@pytest.mark.parametrize("confidence", ["0.6", "0.95", "0.999", "0.999999"])
def test_a_margin_is_the_smallest_that_holds_for_every_truth(epsilon, categories, confidence) -> None:
    mechanism = RandomizedResponse(epsilon=epsilon, categories=categories)
    margin = mechanism.margin(confidence, people=30)
    allowed = 1 - float(Fraction(confidence))
    assert max(exact_failure(epsilon, categories, 30, truth, margin) for truth in range(31)) <= allowed
    less = margin * 0.999
    assert max(exact_failure(epsilon, categories, 30, truth, less) for truth in range(31)) > allowed * (1 - 1e-3)
    assert float(Fraction(confidence)) <= mechanism.confidence(margin * (1 + 1e-8), people=30)
    assert mechanism.confidence(less, people=30) < float(Fraction(confidence)) + 1e-3 * allowed


def failure_by_binomials(chances, people, truth, within) -> float:
    """P(|D| > within) for two binomial laws from another library, one summed over the tails of the other."""
    honest, lying = binom(truth, chances.truth), binom(people - truth, chances.lie)
    k = np.arange(truth + 1)
    mean = truth * chances.truth + (people - truth) * chances.lie
    low, high = np.ceil(mean - within - 1e-9) - 1 - k, np.floor(mean + within + 1e-9) - k
    return float(honest.pmf(k) @ (lying.cdf(low) + lying.sf(high)))


@pytest.mark.parametrize("categories", [2, 5])
@pytest.mark.parametrize("epsilon", [0.2, 1, 3])
@pytest.mark.parametrize("people", [EXACT_UP_TO, 4 * EXACT_UP_TO, 30 * EXACT_UP_TO])
@pytest.mark.parametrize("confidence", ["0.9", "0.95", "0.9999", "0.9999999999"])
def test_margins_of_many_people_hold_for_every_truth_and_are_not_much_too_large(
    categories, epsilon, people, confidence
) -> None:
    chances = Chances.of(Fraction(epsilon), categories)
    margin = RandomizedResponse(epsilon=epsilon, categories=categories).margin(confidence, people=people)
    allowed = 1 - float(Fraction(confidence))
    truths = {0, 1, 2, 3, people // 7, people // 2, people - 2, people - 1, people}
    failures = [failure_by_binomials(chances, people, truth, margin * chances.gap) for truth in truths]
    assert max(failures) <= allowed * (1 + 1e-6)
    nearer = margin * (0.999 if people == EXACT_UP_TO and allowed > 1e-7 else 0.94) * chances.gap - 1
    assert max(failure_by_binomials(chances, people, truth, nearer) for truth in truths) > allowed


def test_ever_more_people_are_counted_relatively_better() -> None:
    mechanism = RandomizedResponse(epsilon=1)
    relative = [mechanism.margin("0.95", people=n) / n for n in (1, 10, 100, 1000, 2000, 10**6, 10**12)]
    assert relative == sorted(relative, reverse=True)
    assert mechanism.margin("0.95", people=1001) < 1.05 * mechanism.margin("0.95", people=1000) + 5
    deviation = 10**6 * math.exp(0.5) / (math.e - 1)  # of 10^12 answers, each 0 or 1, over the gap of their chances
    assert mechanism.margin("0.95", people=10**12) == pytest.approx(1.96 * deviation, rel=0.05)


@pytest.mark.parametrize("people", [50, 300])
def test_an_accuracy_for_few_people_buys_the_smallest_epsilon_too(people) -> None:
    mechanism = RandomizedResponse(within=20, confidence="0.9", people=people)
    cheaper = RandomizedResponse(epsilon=mechanism.epsilon - Fraction(1, 10**4))
    assert mechanism.margin("0.9", people=people) <= 20 * (1 + 1e-8) < cheaper.margin("0.9", people=people)


def test_an_accuracy_buys_the_smallest_epsilon_of_six_digits() -> None:
    mechanism = RandomizedResponse(within=100, confidence="0.95", people=10_000)
    cheaper = RandomizedResponse(epsilon=mechanism.epsilon - Fraction(1, 10**5))
    assert mechanism.margin("0.95", people=10_000) <= 100 < cheaper.margin("0.95", people=10_000)


@pytest.mark.parametrize("counts", [[1], [1, 2, 3], [[1, 2]]], ids=["few", "many", "nested"])
def test_estimates_need_a_count_for_every_category(counts) -> None:
    with pytest.raises(ParameterError, match="is not a count of every category"):
        RandomizedResponse(epsilon=1).estimate(counts)


def test_an_epsilon_that_promises_nothing_is_refused() -> None:
    with pytest.raises(ParameterError, match="epsilon = 41 promises nothing"):
        RandomizedResponse(epsilon=41)


@pytest.mark.parametrize("counts", ["ab", ["a", "b"], None, [1, [2]], [1, 2, 3]], ids=repr)
def test_what_counts_no_answers_is_refused(counts) -> None:
    with pytest.raises(ParameterError, match="is not a count of every category"):
        RandomizedResponse(epsilon=1).estimate(counts)


@pytest.mark.parametrize("people", [EXACT_UP_TO + 1, 10**5, 10**9])
@pytest.mark.parametrize("confidence", ["0.9", "0.999"])
def test_the_confidence_of_a_margin_of_many_people_is_that_which_it_was_made_for(people, confidence) -> None:
    answers = RandomizedResponse(epsilon=1)
    found = answers.confidence(answers.margin(confidence, people=people), people=people)
    assert found == pytest.approx(float(confidence), abs=1e-6)
