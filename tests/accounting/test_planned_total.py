"""The total as if everything had been fixed in advance: an upper bound, tight where few kinds are met, and quick."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import comb

import pytest
from mpmath import mp, mpf

from accounting import reference
from lapwing.accounting.composition import MOST_BOOKINGS, planned_total
from lapwing.accounting.filters.account import open_account
from lapwing.accounting.filters.charge import DeltaShares, Reservation, SingleRelease, StreamClosing, YesCharge
from lapwing.accounting.pricing import price
from lapwing.vocabulary.event import (
    ApproximateRelease,
    Composed,
    DiscreteGaussianNoise,
    GaussianNoise,
    GaussianSparseVectorRelease,
    LaplaceNoise,
    PureRelease,
    Repeated,
)
from lapwing.vocabulary.guarantee import Adjacency, ApproximateDP, PureDP

MICRO = Fraction(1, 10**6)


def opened(adjacency=Adjacency.ADD_REMOVE, segments=("everyone",), budget=None):
    return open_account(budget or PureDP(epsilon=10**4), segments=segments, adjacency=adjacency)


def book(*charges, **options):
    """The lines of an account that admits all of `charges`."""
    account = opened(**options)
    return [account.quote(charge) for charge in charges]


def total(lines, adjacency=Adjacency.ADD_REMOVE, delta=MICRO, **options):
    return planned_total(opened(adjacency), lines, delta=delta, **options).epsilon


def pure(epsilon, segments=None):
    return SingleRelease(event=PureRelease(epsilon=Fraction(epsilon)), segments=segments)


def test_nothing_costs_nothing() -> None:
    assert total([]) == 0.0
    assert total([YesCharge(stream="s"), StreamClosing(stream="s")]) == 0.0


def coins(counts):
    """The profile of randomized responses, {epsilon: times}, added up over how many of each kind lie, in 50 digits."""
    outcomes = [(mpf(1), mpf(1))]
    for epsilon, times in counts.items():
        truth = 1 / (1 + mp.exp(-mpf(epsilon)))
        law = [
            (comb(times, k) * truth**k * (1 - truth) ** (times - k), (2 * k - times) * mpf(epsilon))
            for k in range(times + 1)
        ]
        outcomes = [(p * chance, q * chance * mp.exp(-loss)) for p, q in outcomes for chance, loss in law]
    return lambda at: sum(max(p - mp.exp(at) * q, mpf(0)) for p, q in outcomes)


@pytest.mark.parametrize("counts", [{"0.1": 30}, {"0.5": 2, "0.05": 40}, {"0.3": 4, "0.1": 8, "0.02": 9}])
def test_it_is_what_adding_up_all_outcomes_says(counts) -> None:
    truth = reference.solve(coins(counts), 1e-6, 20)
    lines = book(*(pure(epsilon) for epsilon, times in counts.items() for _ in range(times)))
    assert truth * (1 - mpf(10) ** -12) <= total(lines) <= truth * (1 + mpf(10) ** -4)


@pytest.mark.parametrize("times", [1, 7, 400])
def test_gaussians_add_up_and_are_never_below_the_truth(times) -> None:
    noise = GaussianNoise(l2_sensitivity_squared=1, sigma_squared=400)
    lines = book(*[SingleRelease(event=noise)] * times, budget=ApproximateDP(epsilon=10, delta=MICRO))
    truth = reference.solve(lambda e: reference.gaussian_delta(mpf(times) ** 0.5 / 20, e), 1e-6, 30)
    assert truth <= total(lines) <= truth * (1 + mpf(10) ** -6)


def test_delta_is_that_of_the_budget_or_a_millionth() -> None:
    lines, budget = book(*[pure("1/50")] * 40), ApproximateDP(epsilon=1, delta=Fraction(1, 10**9))
    for account, delta in ((opened(), "1e-6"), (opened(budget=budget), "1e-9")):
        assert planned_total(account, lines) == planned_total(account, lines, delta=delta)
        assert planned_total(account, lines, delta="1e-7").delta == Fraction(1, 10**7)


def test_plans_and_repetitions_are_what_they_consist_of() -> None:
    part = LaplaceNoise(l1_sensitivity=1, scale=30)
    plan = Composed(parts=(Repeated(part=part, times=9), part))
    assert total(book(SingleRelease(event=plan))) == total(book(*[SingleRelease(event=part)] * 10))


def test_a_stream_counts_whole_whatever_it_gave_back() -> None:
    stream = Reservation(stream="s", opening="1/4", price="3/20", yeses=5)
    lines = [*book(stream), YesCharge(stream="s"), StreamClosing(stream="s")]
    found = planned_total(opened(), lines)
    assert found.epsilon == total(book(pure(1)))
    assert str(found) == (
        "epsilon 1 at delta 1e-06, had everything been fixed in advance and every yes been given; it decides nothing"
    )


class TestPartitions:
    """Two segments with charges of their own, and one that touches both."""

    SEGMENTS = ("north", "south", "west")

    def lines(self, adjacency=Adjacency.ADD_REMOVE):
        mine = [*[pure("1/10", {"north"})] * 5, *[pure("1/10", {"south"})] * 3, pure("1/10"), pure("1/5", {"south"})]
        return book(*mine, adjacency=adjacency, segments=self.SEGMENTS)

    def test_a_person_meets_the_charges_of_one_segment(self) -> None:
        """Of each event what the segment has that has most of it: six tenths in the north, one fifth in the south."""
        assert total(self.lines()) == total(book(*[pure("1/10")] * 6, pure("1/5")))
        assert total(self.lines(), segments={"north"}) == total(book(*[pure("1/10")] * 6))
        assert total(self.lines(), segments={"west"}) == total(book(pure("1/10")))

    def test_a_person_who_moves_may_meet_all_of_them(self) -> None:
        lines = self.lines(Adjacency.REPLACE)
        assert total(lines, Adjacency.REPLACE) == total(book(*[pure("1/10")] * 9, pure("1/5")))
        assert total(lines, Adjacency.REPLACE, segments={"west"}) == total(book(pure("1/10")))


def test_what_fails_more_often_than_delta_has_no_epsilon() -> None:
    failing = ApproximateRelease(epsilon=Fraction(1, 10), delta=Fraction(1, 10**5))
    half = DeltaShares(failures=Fraction(1, 2))
    line = open_account(ApproximateDP(epsilon=1, delta=Fraction(1, 10)), shares=half).quote(
        SingleRelease(event=failing)
    )
    assert math.isinf(total([line]))
    said = "no epsilon at delta 1e-06, had everything been fixed in advance; it decides nothing"
    assert planned_total(opened(), [line]).to_dict() == {"epsilon": None, "delta": "0.000001", "says": said}
    assert total([line], delta="1e-4") <= 0.1


def test_many_kinds_cost_a_little_more_and_no_less() -> None:
    """Up to 32 different releases are composed; of more the rhos are added up, which says at most a fifth more."""
    for kinds, loosest in ((32, 1 + 1e-9), (33, 1.2)):
        events = [LaplaceNoise(l1_sensitivity=1, scale=80 + k) for k in range(kinds)]
        exact = price(Composed(parts=tuple(events))).epsilon(1e-6)
        assert exact <= total(book(*(SingleRelease(event=event) for event in events))) <= exact * loosest


def test_the_total_never_falls() -> None:
    lines = book(*(pure(Fraction(1 + k % 40, 1000)) for k in range(80)))
    totals = [total(lines[:size]) for size in range(0, 81, 8)]
    assert all(one < more * (1 + 1e-6) for one, more in pairwise(totals))


def test_it_is_never_more_than_the_sum() -> None:
    assert total(book(*(pure(Fraction(k, 10)) for k in range(10, 50)))) == pytest.approx(118)


def test_of_too_many_nothing_is_said() -> None:
    longest = book(pure("1/100")) * MOST_BOOKINGS
    assert total(longest) < 50
    assert total([*longest, longest[0]]) is None
    kinds = book(*(pure(Fraction(k, 10**6)) for k in range(1, 258)))
    assert total(kinds[:256]) > 0
    found = planned_total(opened(), kinds)
    assert (found.epsilon, str(found)) == (None, "not computed: there are too many different releases")


def test_few_of_what_is_slow_to_price_are_composed() -> None:
    """A Gaussian stream has no rho, so the third is one too many; a discrete Gaussian has one."""
    budget = ApproximateDP(epsilon=10, delta=MICRO)
    stream = GaussianSparseVectorRelease(
        sensitivity=1,
        threshold_sigma_squared=10**6,
        query_sigma_squared=10**6,
        questions=10,
        yeses=1,
        monotone=True,
    )
    streams = [SingleRelease(event=replace(stream, questions=10 + k)) for k in range(3)]
    assert total(book(*streams[:2], budget=budget)) < 0.1
    assert total(book(*streams, budget=budget)) is None
    noises = [DiscreteGaussianNoise(l2_sensitivity_squared=1, sigma_squared=900 + k) for k in range(5)]
    five = price(Composed(parts=tuple(noises))).epsilon(1e-6)
    assert five <= total(book(*(SingleRelease(event=noise) for noise in noises), budget=budget)) <= 1.2 * five
