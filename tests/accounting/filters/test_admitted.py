"""How much is admitted: no less than was measured when the filters were designed, no more than can be right."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln
from scipy.stats import norm

from lapwing.accounting.filters import approximate, residue
from lapwing.accounting.filters.account import EVERYONE, open_account
from lapwing.accounting.filters.approximate import ApproximateFilter
from lapwing.accounting.filters.charge import (
    Accepted,
    ConcentratedFilter,
    DeltaShares,
    PureFilter,
    Reservation,
    SingleRelease,
    cost_of,
)
from lapwing.accounting.filters.remaining import how_many, what_fits
from lapwing.accounting.filters.residue import residue_after
from lapwing.vocabulary.event import (
    ApproximateRelease,
    Composed,
    ExponentialSelection,
    GaussianNoise,
    LaplaceNoise,
    PoissonSampled,
    PureRelease,
    RandomizedResponseRelease,
    Repeated,
)
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, PureDP


def filter_of(epsilon, delta):
    return open_account(ApproximateDP(epsilon=Fraction(epsilon), delta=Fraction(delta))).filters[EVERYONE]


def tell(epsilon):
    return SingleRelease(event=RandomizedResponseRelease(epsilon=Fraction(epsilon)))


def gaussian(mu_squared):
    return SingleRelease(event=GaussianNoise(l2_sensitivity_squared=Fraction(mu_squared), sigma_squared=Fraction(1)))


def optimal_delta(times, each, epsilon):
    """Kairouz, Oh and Viswanath: the exact delta of randomized responses that were fixed in advance."""
    k = np.arange(times + 1)
    log_weight = gammaln(times + 1) - gammaln(k + 1) - gammaln(times - k + 1) + (times - k) * each
    loss = (times - 2 * k) * each
    gain = -np.expm1(np.minimum(epsilon - loss, 0.0))
    return float(np.exp(log_weight - times * np.logaddexp(0, each)) @ gain)


def one_by_one(filter_, charge):
    """Count what is admitted, one charge after the other."""
    cost, count = cost_of(charge), 0
    while isinstance(step := filter_.weigh(charge.event, cost), Accepted):
        filter_, count = filter_.book(cost, step), count + 1
    return count


@pytest.mark.parametrize(
    ("epsilon", "delta", "each", "admitted"),
    [
        ("1", "1e-6", "0.1", 10),
        ("1", "1e-6", "0.05", 21),
        ("1", "1e-6", "0.01", 558),
        ("3", "1e-6", "0.1", 40),
        ("3", "1e-6", "0.05", 166),
        ("3", "1e-6", "0.01", 4193),
        ("8", "1e-9", "0.05", 635),
    ],
)
def test_randomized_responses(epsilon, delta, each, admitted) -> None:
    count = one_by_one(filter_of(epsilon, delta), tell(each))
    assert count >= admitted
    assert 0.99 * count <= how_many(filter_of(epsilon, delta), tell(each)) <= count
    assert optimal_delta(count, float(each), float(epsilon)) <= float(delta)


def test_the_residue_alone_would_admit_fewer_large_charges() -> None:
    """The pure arm adds what is few and large. A Gaussian release of next to nothing ends it: 4 fit instead of 10."""
    fresh = filter_of("1", "1e-6")
    nothing = gaussian("1e-30")
    without = open_account(ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 10**6))).admit(nothing)
    assert how_many(fresh, tell("0.1")) == 10
    assert how_many(without.filters[EVERYONE], tell("0.1")) == 4


def test_gaussians_cost_exactly_what_they_are() -> None:
    fresh = filter_of("1", "1e-6")
    each = Fraction(fresh.residue) / 1000
    assert how_many(fresh, gaussian(each)) == 999  # the thousandth misses what 999 roundings took
    assert how_many(fresh, gaussian(each * (1 - Fraction(1, 10**12)))) == 1000


def test_other_families() -> None:
    fresh = filter_of("1", "1e-6")
    laplace = SingleRelease(event=LaplaceNoise(l1_sensitivity=Fraction("0.01"), scale=Fraction(1)))
    selection = SingleRelease(event=ExponentialSelection(epsilon=Fraction("0.02")))
    assert one_by_one(fresh, laplace) >= 560
    assert one_by_one(fresh, selection) >= 555


LAPLACE = LaplaceNoise(l1_sensitivity=Fraction(1), scale=Fraction(1))


@pytest.mark.parametrize(
    "event",
    [
        *(replace(LAPLACE, scale=Fraction(scale)) for scale in (2, 9, 15, 25, 40, 71)),
        *(ExponentialSelection(epsilon=Fraction(1, n)) for n in (3, 11, 24)),
        *(ApproximateRelease(epsilon=Fraction(1, 20), delta=Fraction(1, 10**n)) for n in (6, 8, 9, 12)),
        Repeated(part=ExponentialSelection(epsilon=Fraction(1, 60)), times=4),
        Repeated(part=ExponentialSelection(epsilon=Fraction(1, 150)), times=40),
        Composed(parts=(replace(LAPLACE, scale=Fraction(60)), ExponentialSelection(epsilon=Fraction(1, 60)))),
        Repeated(part=PoissonSampled(part=gaussian("1/4").event, rate=Fraction(1, 10)), times=3),
    ],
    ids=str,
)
@pytest.mark.parametrize("failures", ["0", "1/2"])
def test_never_more_are_told_than_fit_and_hardly_fewer(event, failures) -> None:
    shares = DeltaShares(failures=Fraction(failures))
    filter_, charge = ApproximateFilter.fresh(Fraction(1), Fraction(1, 10**6), shares), SingleRelease(event=event)
    truth = one_by_one(filter_, charge)
    assert 0.96 * truth <= how_many(filter_, charge) <= truth
    if truth <= 24:
        assert how_many(filter_, charge) == truth
    assert how_many(filter_, charge, at_most=3) == min(truth, 3)


@pytest.mark.parametrize("scale", ["100", "1000", "10000", "300000"])
def test_counting_how_often_a_small_charge_fits_takes_few_certificates(scale, monkeypatch) -> None:
    asked = []
    monkeypatch.setattr(approximate, "residue_after", lambda *given: asked.append(given) or residue_after(*given))
    count = how_many(filter_of("2", "1e-6"), SingleRelease(event=replace(LAPLACE, scale=Fraction(scale))))
    assert count > 4000 if scale != "100" else 1000 < count < 3000
    assert 1 <= len(asked) <= 64


@pytest.mark.parametrize(("length", "times", "least", "most"), [(500, 40, 500, 1500), (1000, 512, 300, 500)])
def test_a_plan_of_many_links_is_counted_in_few_steps_of_few_certificates(
    length, times, least, most, monkeypatch
) -> None:
    """A ranking of 512 places took 512 certificates for each look, and 17 s to say how often it would fit."""
    asked, certified, one = [], [], residue._after_one
    monkeypatch.setattr(approximate, "residue_after", lambda *given: asked.append(given) or residue_after(*given))
    monkeypatch.setattr(residue, "_after_one", lambda *given: certified.append(given) or one(*given))
    plan = Repeated(part=ExponentialSelection(epsilon=Fraction(1, length)), times=times)
    assert least < how_many(filter_of("1", "1e-6"), SingleRelease(event=plan)) < most
    assert 1 <= len(asked) <= 24
    assert len(certified) <= 20 * len(asked)


def test_a_plan_through_the_residue_costs_little_more_than_its_variance_and_less_than_its_parts() -> None:
    account = open_account(ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 10**6)))
    fresh = account.filters[EVERYONE].residue
    plan = Repeated(part=LaplaceNoise(l1_sensitivity=Fraction("0.05"), scale=Fraction(1)), times=10)
    planned = fresh - account.admit(SingleRelease(event=plan)).filters[EVERYONE].residue
    for _ in range(plan.times):
        account = account.admit(SingleRelease(event=plan.part))
    one_by_one = fresh - account.filters[EVERYONE].residue
    assert 10 * 0.05**2 * (1 - 0.05 / 3) < planned < one_by_one


def test_a_heavy_tail_takes_more_of_the_slack() -> None:
    """A thousand steps on samples of one in a hundred: rare large losses that a Gaussian tail does not cover."""
    step = PoissonSampled(
        part=GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(1)), rate=Fraction(1, 100)
    )
    account = open_account(ApproximateDP(epsilon=Fraction(3), delta=Fraction(1, 10**6)))
    filter_ = account.admit(SingleRelease(event=Repeated(part=step, times=1000))).filters[EVERYONE]
    assert 0.4 < filter_.residue / account.filters[EVERYONE].residue < 0.6
    assert 0.8 < filter_.slack / account.filters[EVERYONE].slack < 0.95


def test_a_release_that_may_fail_needs_a_share_of_delta() -> None:
    failing = SingleRelease(event=ApproximateRelease(epsilon=Fraction("0.01"), delta=Fraction("1e-8")))
    assert how_many(filter_of("1", "1e-6"), failing) == 0


class TestWhatFits:
    def test_sums(self) -> None:
        fits = what_fits(PureFilter(epsilon=Fraction(1, 5)))
        assert (fits.pure, fits.gaussian) == (Fraction(1, 5), 0)
        fits = what_fits(ConcentratedFilter(rho=Fraction(1, 50)))
        assert fits.gaussian == Fraction(1, 25)
        e = float(fits.pure)
        assert 0.0199 < e * math.tanh(e / 2) <= 0.02 or e * e / 2 == pytest.approx(0.02, rel=1e-3)

    @settings(max_examples=10)
    @given(st.floats(0.01, 0.99))
    def test_the_residue_in_closed_form(self, share) -> None:
        """Pure: e^epsilon/(1 + e^epsilon) <= Phi(mu/2). Laplace: 1 - e^(-epsilon/2) <= 2 Phi(mu/2) - 1."""
        account = open_account(ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 10**6)))
        spent = Fraction(share * account.filters[EVERYONE].residue)
        filter_ = account.admit(gaussian(spent)).filters[EVERYONE]
        p = norm.cdf(math.sqrt(filter_.residue) / 2)
        fits = what_fits(filter_)
        assert float(fits.pure) == pytest.approx(math.log(p / (1 - p)), rel=1e-3)
        largest = -2 * math.log(2 * (1 - p))
        for size, admitted in ((0.997 * largest, 1), (1.003 * largest, 0)):
            laplace = SingleRelease(event=LaplaceNoise(l1_sensitivity=Fraction(size), scale=Fraction(1)))
            assert how_many(filter_, laplace, at_most=1) == admitted
        assert fits.gaussian == Fraction(filter_.residue)

    def test_nothing_fits_any_more(self) -> None:
        account = open_account(ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 10**6))).admit(tell("1"))
        fits = what_fits(account.filters[EVERYONE])
        assert (fits.pure, fits.gaussian) == (0, 0)
        assert str(fits) == "nothing"

    def test_counting_stops_where_it_is_told(self) -> None:
        pure = open_account(PureDP(epsilon=Fraction(1))).filters[EVERYONE]
        assert how_many(pure, tell("1/1000"), at_most=7) == 7
        stream = Reservation(stream="s", opening="0.1", price="0.1", yeses=2)
        assert how_many(pure, stream) == 3

    def test_a_gaussian_never_fits_a_pure_budget(self) -> None:
        refusal = open_account(PureDP(epsilon=Fraction(1))).admit(gaussian("0.01"))
        assert refusal.insufficient.asked is None
        assert "more is asked and epsilon 1 is left: ask at epsilon 1 or less" in str(refusal)

    def test_a_refusal_names_numbers_and_a_remedy(self) -> None:
        account = open_account(ConcentratedDP(rho=Fraction(1, 50)))
        error = account.admit(SingleRelease(event=PureRelease(epsilon=Fraction(1)))).error()
        assert error.left == Fraction(1, 50)
        assert error.currency == "rho"
        assert "raise the cap" in str(error)


@given(
    budget=st.fractions(Fraction(1, 100), 10, max_denominator=1000),
    price=st.fractions(Fraction(1, 100), 2, max_denominator=1000),
    most=st.integers(1, 300),
)
def test_how_often_a_price_fits_a_sum_is_how_often_it_is_admitted(budget, price, most) -> None:
    """Nothing is counted one by one where the same is added each time."""
    for filter_ in (PureFilter(epsilon=budget), ConcentratedFilter(rho=budget)):
        charge, admitted, left = tell(price), 0, filter_
        cost = cost_of(charge)
        while admitted < most and isinstance(step := left.weigh(charge.event, cost), Accepted):
            left, admitted = left.book(cost, step), admitted + 1
        assert how_many(filter_, charge, at_most=most) == admitted
