"""The residue inequality holds at every level, not only where it was looked at, and not much is given away for that."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from accounting.filters.adversary import largest
from accounting.filters.atoms import Atoms, gaussian_profile, laplace, randomized_response, rarely, two_points
from lapwing.accounting.filters import residue
from lapwing.accounting.filters.approximate import loss_of
from lapwing.accounting.filters.residue import LossFamily, _Grid, _Side, fits_last, largest_mu_squared, residue_after
from lapwing.vocabulary.event import (
    Composed,
    ExponentialSelection,
    LaplaceNoise,
    PoissonSampled,
    RandomizedResponseRelease,
    Repeated,
)

S = largest_mu_squared(Fraction(1), Fraction("0.999e-6"))
SLACK = 2.0**-45


def excess(order, s, after, points=40_000):
    """The largest violation at many levels, those just below each loss included, and where it is."""
    reach = 10 * math.sqrt(s) + s
    near = [loss + reach * 2.0**-k * sign for loss in order.losses for k in range(1, 40) for sign in (-1, 1)]
    r = np.union1d(np.linspace(0, reach, points), np.clip(near, 0, None))
    return float(np.max(order.profile(r, after) - gaussian_profile(s, r)))


def charge(orders, s=S, slack=SLACK):
    after = residue_after(s, LossFamily.of(orders), slack)
    assert after is not None
    return s - after


@st.composite
def pairs(draw):
    """Pairs of two to four atoms, of every size against the residue, as lopsided as can be."""
    count = draw(st.integers(2, 4))
    scale = math.exp(draw(st.floats(-4, 1.5)))
    losses = np.array([draw(st.floats(-1, 1)) for _ in range(count)]) * scale
    weights = np.exp([draw(st.floats(-12, 0)) for _ in range(count)])
    weights /= weights.sum()
    return lambda s: _normalised(losses * math.sqrt(s), weights)


def _normalised(losses, masses):
    return Atoms(losses + math.log(float(masses @ np.exp(-losses))), masses)


@settings(max_examples=60)
@given(
    pairs(),
    st.sampled_from([(0.05, 6), (1.0, 6), (1.0, 12), (8.0, 9), (20.0, 5)]),
    st.sampled_from([1.0, 0.1, 1e-4]),
)
def test_what_is_left_satisfies_the_inequality_at_every_level_in_both_orders(pair, budget, share) -> None:
    epsilon, digits = budget
    s = share * largest_mu_squared(Fraction(epsilon), Fraction(1, 10**digits))
    slack = 2.0 ** -math.ceil(math.log2(10**digits) + 24)
    orders = pair(s).orders
    after = residue_after(s, LossFamily.of(orders), slack)
    assume(after is not None)
    assert 0 <= after < s
    for order in orders:
        assert excess(order, s, after) <= slack * (1 + 1e-9) + 1e-16 * gaussian_profile(s, 0.0)


@pytest.mark.parametrize("digits", [6, 40])
@pytest.mark.parametrize("make", [randomized_response, lambda e: two_points(0.2 * e, e)], ids=["tell", "lopsided"])
def test_in_forty_digits_it_holds_where_the_slack_is_far_below_double_precision(make, digits) -> None:
    """The charges of a budget with a tiny delta: the levels of the whole grid and beyond, by mpmath."""
    s = largest_mu_squared(Fraction(1), Fraction(1, 10**digits))
    slack = 2.0 ** -math.ceil(math.log2(10**digits) + 24)
    orders = make(0.3 * math.sqrt(s)).orders
    after = residue_after(s, LossFamily.of(orders), slack)

    def precise(mu_squared, r):
        mu = mpmath.sqrt(mpmath.mpf(mu_squared))
        return mpmath.ncdf(mu / 2 - r / mu) - mpmath.exp(r) * mpmath.ncdf(-mu / 2 - r / mu)

    with mpmath.workdps(60):
        for order in orders:
            for share in range(80):
                r = mpmath.mpf(share) / 5 * mpmath.sqrt(s)
                atoms = zip(order.losses, order.masses, strict=True)
                left = mpmath.fsum(p * precise(after, r - mpmath.mpf(loss)) for loss, p in atoms)
                assert left <= precise(s, r) + slack


class TestTheCertificate:
    """Each of its parts is needed: on grids so coarse that leaving one out would certify what is false."""

    @settings(max_examples=30)
    @given(st.floats(0.05, 3), st.floats(-6, 8), st.floats(0.02, 0.5))
    def test_the_sixth_derivative_on_a_cell_is_bounded_by_its_ends(self, mu, start, length) -> None:
        r = np.array([start, start + length]) * mu
        side = _Side(mu, r[:, None, None], np.ones((1, 1)), float(r[1] - r[0]))
        bound = float(side.sixth.sum()) * math.exp(r[1] - r[0] + length**2 / 8)
        with mpmath.workdps(40):
            m = mpmath.mpf(mu)
            sixth = [
                abs(
                    mpmath.diff(
                        lambda x: mpmath.ncdf(m / 2 - x / m) - mpmath.exp(x) * mpmath.ncdf(-m / 2 - x / m), x, 6
                    )
                )
                for x in np.linspace(r[0], r[1], 5)
            ]
        assert max(sixth) <= bound

    @pytest.mark.parametrize("step", [0.5, 1.0, 2.0])
    @pytest.mark.parametrize("size", [0.3, 1.0, 1.5])
    def test_what_a_coarse_grid_leaves_in_doubt_is_counted(self, step, size) -> None:
        for order in two_points(0.4 * size * math.sqrt(S), size * math.sqrt(S)).orders:
            family = LossFamily.of([order])
            certified = largest(lambda after: _Grid(S, math.sqrt(after), SLACK, step).missing(after, family) <= 0, S)  # noqa: B023
            assert excess(order, S, certified) <= SLACK

    def test_beyond_the_last_level_the_left_side_alone_is_within_the_slack(self) -> None:
        """Almost all of the slack at a loss of 50, and what the residue still has there: together too much."""
        grid = _Grid(S, math.sqrt(S), SLACK, 0.1)
        rare = rarely(0.995 * SLACK, 50.0)
        assert float(rare.profile(grid.r[-1], after=0.9999 * S)) > SLACK
        assert grid.missing(0.9999 * S, LossFamily.of([rare])) > 0

    def test_members_between_the_rows_of_a_bounded_range_exceed_them_and_stay_within_the_bound(self) -> None:
        length, mu = 2 * math.sqrt(S), math.sqrt(S) / 2
        family = LossFamily.bounded_range(Fraction(length))
        r = np.linspace(0, 4 * math.sqrt(S), 40)
        step = r[1]
        bound = family.between(mu, r, step)
        rows = np.linspace(0, length, 33)
        above = 0
        for k in range(1, 33):
            ends = np.maximum(*(two_points(t, length).profile(r, mu**2) for t in rows[k - 1 : k + 1]))
            middle = two_points((rows[k - 1] + rows[k]) / 2, length).profile(r, mu**2)
            above += int(np.sum(middle > ends + 1e-9))
            assert np.all(middle <= ends + bound[:, k])
        assert above > 10

    def test_an_asymmetric_event_has_both_orders(self) -> None:
        """Randomized response on a secret half of the people: losses log(1/2 + e^±3/2)."""
        event = PoissonSampled(part=RandomizedResponseRelease(epsilon=Fraction(3)), rate=Fraction(1, 2))
        losses = np.log(0.5 + 0.5 * np.exp([3.0, -3.0]))
        removed = Atoms(losses, np.exp(losses) / (1 + math.exp(3)) * np.exp([0.0, 3.0]))
        assert removed.masses.sum() == pytest.approx(1, abs=1e-12)
        family = loss_of(event)
        levels = np.linspace(0, 3, 50)
        for row, order in enumerate(removed.orders):
            member = Atoms(family.losses[row], family.masses[row])
            assert np.all(member.profile(levels) >= order.profile(levels) - 1e-12)
            assert member.profile(levels) == pytest.approx(order.profile(levels), abs=1e-6)


@pytest.mark.parametrize(
    ("epsilon", "over_square"),
    [(0.1, 1.03450), (0.05, 1.00761), (0.02, 1.00118), (0.0075, 1.00017), (0.0024, 1.00002)],
)
def test_the_certificate_costs_nothing_in_tightness(epsilon, over_square) -> None:
    """The second column was computed without certificate, by bisection on a fine grid."""
    assert charge([randomized_response(epsilon)]) / epsilon**2 == pytest.approx(over_square, abs=2e-5)


@pytest.mark.parametrize(
    "make", [randomized_response, laplace, lambda e: two_points(0.3 * e, e)], ids=["tell", "laplace", "lopsided"]
)
@pytest.mark.parametrize("size", [0.01, 0.1, 0.5])
def test_a_charge_that_were_smaller_by_a_thousandth_would_not_do(make, size) -> None:
    orders = make(size * math.sqrt(S)).orders
    smaller = S - 0.999 * charge(orders)
    assert max(excess(order, S, smaller) for order in orders) > SLACK


def test_a_bounded_range_covers_every_member_at_a_quarter_of_a_pure_price() -> None:
    epsilon = Fraction(1, 50)
    after = residue_after(S, LossFamily.bounded_range(epsilon), SLACK)
    assert (S - after) / float(epsilon) ** 2 == pytest.approx(0.25, rel=4e-3)
    for t in np.linspace(0.001, 0.999, 41) * float(epsilon):
        member = two_points(t, float(epsilon))
        assert max(excess(order, S, after, 4000) for order in member.orders) <= SLACK


@settings(max_examples=25)
@given(st.floats(0.05, 4.5), st.floats(0, 1))
def test_a_large_bounded_range_covers_every_member(size, where) -> None:
    length = size * math.sqrt(S)
    after = residue_after(S, LossFamily.bounded_range(Fraction(length)), SLACK)
    assume(after is not None)
    member = two_points(where * length, length)
    assert max(excess(order, S, after, 4000) for order in member.orders) <= SLACK


def test_the_last_charge_may_use_up_everything() -> None:
    """A pure release fits exactly if its total variation is at most that of the Gaussian: 2 Phi(mu/2) - 1."""
    p = 0.5 * math.erfc(-math.sqrt(S) / 2 / math.sqrt(2))
    largest = math.log(p / (1 - p))
    assert residue_after(S, LossFamily.of([randomized_response(largest * (1 - 1e-9))]), SLACK) < S / 20
    assert residue_after(S, LossFamily.of([randomized_response(largest * (1 + 1e-9))]), SLACK) is None


@settings(max_examples=40)
@given(pairs())
def test_the_last_test_is_exact(pair) -> None:
    family, orders = LossFamily.of(pair(S).orders), pair(S).orders
    worst = max(excess(order, S, 0.0) for order in orders)
    assume(not 0.9 * SLACK < worst < SLACK + 1e-10)
    assert fits_last(S, family, SLACK) == (worst <= SLACK)


@settings(max_examples=10)
@example(0.0)
@given(st.floats(0, 1e-9))
def test_a_charge_of_next_to_nothing_costs_next_to_nothing(epsilon) -> None:
    assert 0 < charge([randomized_response(epsilon) if epsilon else rarely(0.0, 1.0)]) <= 1e-9 * S


def test_a_rare_loss_beyond_the_last_level_is_charged() -> None:
    """Its probability is above the slack, so no residue of a Gaussian promise can absorb it."""
    assert residue_after(S, LossFamily.of([rarely(3 * SLACK, 50.0)]), SLACK) is None
    assert residue_after(S, LossFamily.of([rarely(0.5 * SLACK, 50.0)]), SLACK) is not None


def test_the_price_of_a_chain_is_that_of_all_its_charges() -> None:
    choice, noise = (
        ExponentialSelection(epsilon=Fraction(1, 3)),
        LaplaceNoise(l1_sensitivity=Fraction(1), scale=Fraction(9)),
    )
    chain = loss_of(Composed(parts=(Repeated(part=choice, times=5), noise)))
    one, other = loss_of(choice).first_order_price, loss_of(noise).first_order_price
    assert chain.first_order_price == pytest.approx(5 * one + other, rel=0.01)


@pytest.mark.parametrize(("times", "length"), [(17, Fraction(1, 20)), (100, Fraction(1, 40)), (50, Fraction(1, 16))])
def test_many_charges_alike_are_certified_by_few_at_the_price_of_one_by_one(times, length, monkeypatch) -> None:
    """Every member, so many times, has a binomial loss: the inequality is computed for it without any of our code."""
    family, one_by_one, certified = LossFamily.bounded_range(length), S, 0
    for _ in range(times):
        one_by_one = residue_after(one_by_one, family, SLACK)
    after_one = residue._after_one

    def counted(*given):
        nonlocal certified
        certified += 1
        return after_one(*given)

    monkeypatch.setattr(residue, "_after_one", counted)
    after = residue._after_many(S, family, times, SLACK)
    assert certified <= 64
    assert S - after == pytest.approx(S - one_by_one, rel=2e-3)
    e, j = float(length), np.arange(times + 1)
    for t in np.linspace(0.01, 0.99, 9) * e:
        p = math.expm1(t - e) / math.expm1(-e)
        members = Atoms(j * t + (times - j) * (t - e), binom.pmf(j, times, p))
        assert max(excess(order, S, after, 2000) for order in members.orders) <= times * SLACK + 1e-14
    cheaper = S - 0.97 * (S - after)
    half = Atoms(j * e / 2 - (times - j) * e / 2, binom.pmf(j, times, math.expm1(-e / 2) / math.expm1(-e)))
    assert excess(half, S, cheaper, 2000) > 100 * times * SLACK, "and a price below it is seen to be wrong"


def test_what_does_not_fit_as_a_block_is_charged_one_by_one() -> None:
    length = Fraction(1, 4)
    family, left, fits = LossFamily.bounded_range(length), S, 0
    while (after := residue_after(left, family, SLACK)) is not None:
        left, fits = after, fits + 1
    assert residue._after_many(S, family, fits, SLACK) == pytest.approx(left, rel=0.02, abs=1e-6)
    assert residue._after_many(S, family, 40 * fits, SLACK) is None


def test_tiny_selections_are_certified_without_walking_between_neighbouring_doubles(monkeypatch) -> None:
    """Twenty selections at an epsilon of 0.00005 each took 300 looks at a grid, four seconds, in a free preview."""
    looks, look = [], _Grid.missing
    monkeypatch.setattr(_Grid, "missing", lambda *given: looks.append(1) or look(*given))
    s, slack, family = 3.27, 1e-15, LossFamily.bounded_range(Fraction(1, 80_000))
    together = residue._after_many(s, family, 20, slack)
    assert len(looks) <= 20
    one_by_one = s
    for _ in range(3):
        one_by_one = residue_after(one_by_one, family, slack)
    assert 0 < s - together <= (s - one_by_one) / 3 * 20 * 1.001
