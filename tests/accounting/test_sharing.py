"""What each of k releases may cost: every line keeps the promise, by independent formulas; a little more does not."""

from fractions import Fraction

import pytest
from mpmath import binomial, exp, log, mp, mpf, sqrt

from lapwing.accounting import compose, share
from lapwing.accounting.sharing import SharingRule
from lapwing.errors import ParameterError
from lapwing.vocabulary.event import PureRelease
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, GaussianDP, PureDP

mp.dps = 50
CASES = [(1, 2, 6), (1, 10, 6), (Fraction(99, 100), 100, 6), (3, 40, 9), (Fraction(1, 10), 1000, 3)]


def lost(epsilon, total, times):
    """Return delta(total) of `times` randomized responses of `epsilon`, the worst pure release, as a sum over lies."""
    e, kept = mpf(epsilon.numerator) / epsilon.denominator, mpf(total.numerator) / total.denominator
    sum_ = mpf(0)
    for lies in range(times + 1):
        loss = (times - 2 * lies) * e
        if loss > kept:
            mass = binomial(times, lies) * exp((times - lies) * e) / (1 + exp(e)) ** times
            sum_ += mass * (1 - exp(kept - loss))
    return sum_


@pytest.mark.parametrize(("epsilon", "times", "digits"), CASES)
def test_the_best_share_keeps_the_promise_and_a_little_more_breaks_it(epsilon, times, digits) -> None:
    total, delta = Fraction(epsilon), Fraction(1, 10**digits)
    each = share(ApproximateDP(epsilon=total, delta=delta), times=times).by(SharingRule.OPTIMAL).epsilon
    assert lost(each, total, times) <= mpf(10) ** -digits
    assert lost(each * (1 + Fraction(1, 10**4)), total, times) > mpf(10) ** -digits


@pytest.mark.parametrize(("epsilon", "times", "digits"), CASES)
def test_every_line_keeps_the_promise_and_the_best_stands_first(epsilon, times, digits) -> None:
    total = Fraction(epsilon)
    found = share(ApproximateDP(epsilon=total, delta=Fraction(1, 10**digits)), times=times)
    assert found.best.epsilon == max(one.epsilon for one in found.shares)
    for one in found.shares:
        assert lost(one.epsilon, total, times) <= mpf(10) ** -digits, one.rule
    assert found.by(SharingRule.DIVIDED).epsilon == total / times
    assert (found.by(SharingRule.COROLLARY) is None) == (total >= 1)


def test_advanced_and_corollary_are_the_printed_formulas() -> None:
    found = share(ApproximateDP(epsilon="0.5", delta="1e-6"), times=100)
    corollary = mpf("0.5") / sqrt(8 * 100 * log(mpf(10) ** 6))
    assert float(found.by(SharingRule.COROLLARY).epsilon) == pytest.approx(float(corollary), rel=2e-5)
    assert found.by(SharingRule.COROLLARY).epsilon <= corollary
    each = mpf(found.by(SharingRule.ADVANCED).epsilon.numerator) / found.by(SharingRule.ADVANCED).epsilon.denominator
    theorem = each * sqrt(200 * log(mpf(10) ** 6)) + 100 * each * (exp(each) - 1)
    assert 0.4999 < theorem <= 0.5


def test_sharing_is_the_way_back_of_composing() -> None:
    each = share(ApproximateDP(epsilon=1, delta="1e-6"), times=100).best.epsilon
    assert pytest.approx(float(each), abs=5e-5) == 0.0240
    assert 0.9999 < compose([PureRelease(epsilon=each)] * 100, delta="1e-6").best.epsilon <= 1


def test_a_delta_near_one_has_no_corollary_which_would_be_false_there() -> None:
    near = ApproximateDP(epsilon="0.999", delta="0.998")
    assert share(near, times=10_000).by(SharingRule.COROLLARY) is None
    assert share(ApproximateDP(epsilon="0.999", delta="0.8"), times=10_000).by(SharingRule.COROLLARY) is not None


def test_without_a_delta_epsilon_is_divided_and_nothing_else() -> None:
    found = share(PureDP(epsilon=1), times=3)
    assert [(one.rule, one.epsilon) for one in found.shares] == [(SharingRule.DIVIDED, Fraction(1, 3))]
    assert str(found) == "dividing epsilon  epsilon 0.333333"


@pytest.mark.parametrize("total", [ConcentratedDP(rho=1), GaussianDP(mu_squared=1), "0.5", 1, None])
def test_what_has_no_epsilon_is_refused_with_what_to_do(total) -> None:
    with pytest.raises(ParameterError, match=r"has no epsilon that could be shared; write PureDP.* divide rho"):
        share(total, times=10)


@pytest.mark.parametrize("times", [0, -1, 1.5, 10**7])
def test_a_number_of_releases_is_a_whole_number_from_one_on(times) -> None:
    with pytest.raises(ParameterError, match="times"):
        share(PureDP(epsilon=1), times=times)
