"""Mistakes of analyses that look right: each is planted, and an exact law or a listing of small tables shows it."""

import itertools
import math

import numpy as np
import pytest

from lapwing.analyses.survival import kaplan_meier
from lapwing.mechanisms.running_counts import RootOfSumming, root_coefficients

pytestmark = pytest.mark.one_budget("no budget is there")
PERIODS = 4


def people():
    """All who can be: a period of leaving, and whether with an event."""
    return itertools.product(range(PERIODS), (0, 1))


def histogram(rows, periods=PERIODS):
    cells = np.zeros((2, periods), int)
    for period, event in rows:
        cells[event, min(period, periods - 1)] += 1
    return cells


TABLES = [rows for size in range(4) for rows in itertools.combinations_with_replacement(list(people()), size)]


def largest_move(of):
    """Return how far one person more moves a vector of whole numbers, in L1 norm; None where its shape moves."""
    worst = 0
    for rows in TABLES:
        for one in people():
            here, there = np.asarray(of(rows)), np.asarray(of((*rows, one)))
            if here.shape != there.shape:
                return None
            worst = max(worst, int(np.abs(here - there).sum()))
    return worst


def test_one_histogram_of_survival_moves_by_one() -> None:
    assert largest_move(lambda rows: histogram(rows).ravel()) == 1


def test_a_grid_that_ends_with_the_last_event_is_caught() -> None:
    """The liar: the number of periods is read from the data, and tells when the last person left."""
    assert largest_move(lambda rows: np.zeros(1 + max((period for period, _ in rows), default=0))) is None


def test_people_at_risk_that_are_released_beside_the_events_at_the_price_of_these_are_caught() -> None:
    """The liar: those who left without an event are not priced, yet everybody at risk is told."""

    def told(rows):
        cells = histogram(rows)
        return np.concatenate([cells[1], cells.sum(0)[::-1].cumsum()[::-1]])

    assert largest_move(told) == PERIODS + 1 > largest_move(lambda rows: histogram(rows)[1]) == 1


def test_arms_that_share_a_person_are_no_parallel_charges() -> None:
    """The liar: each arm is a charge of its own "in parallel", and somebody who changed arms is in both."""
    both = [((0, 1), (2, 0))]  # one person, counted in either arm
    apart = sum(int(np.abs(histogram(rows) - histogram(())).sum()) for rows in ([both[0][0]], [both[0][1]]))
    assert apart == 2 > largest_move(lambda rows: histogram(rows).ravel())


def test_a_curve_that_is_released_as_it_is_moves_by_more_than_one_count() -> None:
    """The liar: the curve itself gets the noise of one count over the people; one person moves every later point."""
    one = ((0, 0),) * 3
    here, there = (
        kaplan_meier(histogram(one).astype(float))[0],
        kaplan_meier(histogram((*one, (0, 1))).astype(float))[0],
    )
    assert np.abs(here - there).sum() > 3 / 4


def moved(releases, weights, present):
    """Return the squared length by which one person, who is in these periods, moves all releases."""
    return sum(sum(weights[t - i] for i in present if i <= t) ** 2 for t in range(releases))


def test_coefficients_that_are_rounded_after_their_norm_was_taken_are_caught() -> None:
    """The liar: the price is that of the real coefficients, and whole ones are summed."""
    beyond = []
    for releases in range(1, 121):
        found = moved(releases, root_coefficients(releases), [0])
        assert RootOfSumming(releases=releases).l2_squared(replaced=False, grouped=False) == found
        beyond.append(found > sum((2**10 * math.comb(2 * j, j) / 4**j) ** 2 for j in range(releases)))
    assert any(beyond)


def test_somebody_who_counts_in_each_period_at_the_price_of_one_is_caught() -> None:
    releases, weights = 12, root_coefficients(12)
    price = RootOfSumming(releases=releases).l2_squared(replaced=False, grouped=False)
    assert all(moved(releases, weights, [i]) <= price for i in range(releases))
    assert moved(releases, weights, [0, 1]) > 3 * price
    assert moved(releases, weights, range(releases)) > 20 * price


def test_a_period_by_arrival_at_one_time_and_by_event_at_another_is_caught() -> None:
    """The liar: a late row counts in the period in which it came, and from the next version on in that of its day."""
    releases, weights = 6, root_coefficients(6)
    price = RootOfSumming(releases=releases).l2_squared(replaced=False, grouped=False)
    path = [0, 0, weights[0], weights[3], weights[4], weights[5]]  # it came in period 3, and is then one of period 1
    honest = [0, 0, weights[2], weights[3], weights[4], weights[5]]
    assert sum(one**2 for one in honest) <= price
    assert sum(one**2 for one in path) > sum(one**2 for one in honest)
    both = [a + b for a, b in zip(path, [0, 0, weights[2], *weights[:3]], strict=True)]  # in both, as logs often are
    assert sum(one**2 for one in both) > price


def test_noise_that_is_drawn_again_for_a_release_that_was_told_is_caught() -> None:
    """The liar: asked again, a release is told with fresh noise, at no price: the mean of m of them has loss m."""
    sigma, delta_of = 1.0, lambda mu: math.erf(mu / 2 / math.sqrt(2))  # total variation of N(0, 1) and N(mu, 1)
    once, ten = delta_of(1 / sigma), delta_of(math.sqrt(10) / sigma)
    assert ten > 2 * once


def test_a_step_that_rounds_its_guess_from_the_rows_is_caught() -> None:
    """The liar: coefficients of the round before are made whole by a rule that looks at the rows of this one."""
    guess = np.array([0.4, 0.4])

    def predicted(rows, grid):
        return rows @ np.round(guess * grid) / grid

    rows = np.array([[1, 1], [3, 1]])
    public = [predicted(rows, 8)[0], predicted(rows[:1], 8)[0]]
    from_rows = [predicted(rows, rows.max())[0], predicted(rows[:1], rows[:1].max())[0]]
    assert public[0] == public[1]
    assert from_rows[0] != from_rows[1], "one person changes what another one adds"
