"""Smooth sensitivity and propose-test-release: bounds on all small tables, prices by the laws themselves."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from lapwing.errors import ParameterError
from lapwing.mechanisms.propose_test_release import ProposeTestRelease, distance_to_wider
from lapwing.mechanisms.smooth_sensitivity import SmoothSensitivityMechanism, median_moves

HIGH = 6
TABLES = list(itertools.product(range(HIGH + 1), repeat=5))
REACH = 7


def median(numbers):
    return sorted(numbers)[(len(numbers) - 1) // 2]


def near(table, changed):
    """Yield all tables in which at most `changed` numbers are others."""
    for places in itertools.combinations(range(len(table)), changed):
        for others in itertools.product(range(HIGH + 1), repeat=changed):
            other = list(table)
            for place, number in zip(places, others, strict=True):
                other[place] = number
            yield tuple(other)


@pytest.fixture(scope="module")
def moves():
    """Return the moves of every table of sorted numbers: the order of numbers changes nothing."""
    found = {one: median_moves(one, low=0, high=HIGH, reach=REACH) for one in TABLES if list(one) == sorted(one)}
    return {one: found[tuple(sorted(one))] for one in TABLES}


def test_moves_bound_what_one_person_does_and_grow_by_one_place_a_person(moves) -> None:
    for table in sorted({tuple(sorted(one)) for one in TABLES}):
        for other in near(table, 1):
            assert abs(median(table) - median(other)) <= moves[table][0]
            assert all(here <= there for here, there in zip(moves[table], moves[other][1:], strict=False))


def test_moves_of_groups_bound_what_two_people_do() -> None:
    for table in TABLES[::1201]:
        here = median_moves(table, low=0, high=HIGH, changed=2, reach=4)
        for other in near(table, 2):
            there = median_moves(other, low=0, high=HIGH, changed=2, reach=4)
            assert abs(median(table) - median(other)) <= here[0]
            assert all(a <= b for a, b in zip(here, there[1:], strict=False))


def test_moves_are_those_of_their_definition() -> None:
    """A second way to compute them: the stretches of sorted numbers, one by one."""
    numbers = [3, 9, 1, 7, 7, 2]
    padded = dict.fromkeys(range(-20, 0), 0) | dict(enumerate(sorted(numbers))) | dict.fromkeys(range(6, 26), 10)
    by_hand = [max(padded[2 + t] - padded[2 + t - w] for t in range(w + 1)) for w in range(1, 11)]
    assert median_moves(numbers, low=0, high=10, reach=10) == by_hand


@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-3"), (1, "1e-6"), (5, "1e-2")])
def test_the_scale_changes_little_between_neighbours_and_pays_for_the_move(epsilon, delta, moves) -> None:
    smooth = SmoothSensitivityMechanism(most=HIGH, epsilon=epsilon, delta=delta)
    scales = {table: smooth.scale_of(here) for table, here in moves.items() if list(table) == sorted(table)}
    for table, scale in scales.items():
        assert scale >= 2 * moves[table][0] / Fraction(epsilon)
        for other in near(table, 1):
            assert scales[tuple(sorted(other))] <= smooth.growth * scale


def lost(move, here, there, epsilon):
    """Return max P(O) - e^epsilon P'(O) of two Laplace laws, by the integral on a fine grid, from below and above."""
    reach = 60 * max(here, there) + move
    edges = np.linspace(-reach, reach, 200_001)

    def mass(centre, scale):
        x = (edges - centre) / scale
        below = np.where(x < 0, np.exp(np.minimum(x, 0)) / 2, 1 - np.exp(-np.maximum(x, 0)) / 2)
        return np.diff(below)

    return float(np.maximum(mass(0, here) - math.exp(epsilon) * mass(move, there), 0).sum())


@pytest.mark.parametrize(("epsilon", "delta"), [("0.2", "1e-2"), (1, "1e-3"), (1, "0.1"), (4, "1e-2"), (10, "1e-4")])
def test_no_pair_of_scales_loses_more_than_delta(epsilon, delta) -> None:
    """The worst pair that the claim allows: the scale as small as it may be, the value moved as far as it may be."""
    smooth = SmoothSensitivityMechanism(most=1000, epsilon=epsilon, delta=delta)
    growth, price = float(smooth.growth), float(Fraction(epsilon))
    move = price / 2
    for here, there in [(growth, 1.0), (1.0, growth), (1.0, 1.0)]:
        assert lost(move, here, there, price) <= float(Fraction(delta)) * 1.0001
    assert lost(move, 3 * growth, 3.0, price) < lost(move, growth**40, 1.0, price), "noise that grows faster tells more"


def test_noise_by_the_local_sensitivity_alone_is_caught() -> None:
    """The liar: how far one person moves this table's median sets the noise as it is, and is not smoothed."""
    here, there = [0, 0, 0, 6, 6], [0, 0, 6, 6, 6]  # neighbours; the median jumps
    quiet = [0, 0, 0, 0, 6]  # a neighbour of `here` in which nobody moves it
    local = {tuple(one): median_moves(one, low=0, high=HIGH, reach=1)[0] for one in (here, there, quiet)}
    assert local[tuple(quiet)] == 0 < local[tuple(here)]
    smooth = SmoothSensitivityMechanism(most=HIGH, epsilon=1, delta="1e-6")
    lie = {one: max(1, move) * 2 for one, move in local.items()}
    assert lie[tuple(here)] > smooth.growth * lie[tuple(quiet)]
    assert lost(0.0, float(lie[tuple(here)]), float(lie[tuple(quiet)]), 1.0) > 1000 * 1e-6


def test_the_noise_is_drawn_and_as_large_as_it_is_said_to_be() -> None:
    smooth = SmoothSensitivityMechanism(most=1000, epsilon=1, delta="1e-6")
    moves = [50] * smooth.reach
    drawn = np.array([smooth.release(0, moves) for _ in range(2000)])
    scale = float(smooth.scale_of(moves))
    assert 100 <= scale <= 110
    assert 0.8 * scale < np.abs(drawn).mean() < 1.2 * scale  # of 2,000 draws: nine standard deviations


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"most": 10, "epsilon": 1, "delta": "0.5"}, "above 1/10"),
        ({"most": 10**12, "epsilon": "1e-6", "delta": "1e-6"}, "too small for a smooth bound"),
        ({"most": 0, "epsilon": 1, "delta": "1e-6"}, "most"),
        ({"most": 10, "epsilon": 0, "delta": "1e-6"}, "epsilon"),
    ],
)
def test_what_cannot_be_drawn_is_refused(words, told) -> None:
    with pytest.raises(ParameterError, match=told):
        SmoothSensitivityMechanism(**words)


def chances(tested, distance):
    """Return the chance of each released value around 0, and of the failed test, from the two laws by hand."""
    fall = math.exp(-1 / float(tested.law_of_test.scale))
    noise = {z: (1 - fall) / (1 + fall) * fall ** abs(z) for z in range(-400, 401)}
    passed = sum(p for z, p in noise.items() if distance + z >= tested.threshold)
    decay = math.exp(-1 / float(tested.law_of_value.scale))
    value = {z: (1 - decay) / (1 + decay) * decay ** abs(z) for z in range(-500, 501)}
    return passed, value


def difference(tested, here, there):
    """Return max P(O) - e^epsilon P'(O) over all sets O of outcomes; `here` and `there` are (value, distance)."""
    epsilon = float(tested.event.epsilon)
    (of, noise), (other, _) = chances(tested, here[1]), chances(tested, there[1])
    shift = there[0] - here[0]
    surplus = max(0.0, (1 - of) - math.exp(epsilon) * (1 - other))
    return surplus + sum(
        max(0.0, of * p - math.exp(epsilon) * other * noise.get(z - shift, 0.0)) for z, p in noise.items()
    )


@pytest.mark.parametrize(("epsilon", "delta"), [(1, "1e-3"), ("0.5", "1e-6"), (3, "0.1")])
def test_tested_releases_lose_no_more_than_their_delta(epsilon, delta) -> None:
    tested = ProposeTestRelease(bound=3, epsilon=epsilon, delta=delta)
    chance = float(Fraction(delta)) * (1 + 1e-6) + 1e-12
    assert chances(tested, 0)[0] <= chance
    for distance in sorted(
        {0, 1, 2, tested.threshold - 1, tested.threshold, 2 * tested.threshold}
    ):  # moved as far as is proposed
        for there in (distance + 1, distance, max(0, distance - 1)):
            assert difference(tested, (0, distance), (3, there)) <= chance
    assert difference(tested, (0, 0), (1000, 0)) <= chance  # wrong proposals, and any move


def test_a_test_that_is_not_private_is_caught() -> None:
    """The liar: the distance itself is compared, so that whether anything is released tells one person for sure."""
    tested = ProposeTestRelease(bound=3, epsilon=1, delta="1e-6")
    passed = {distance: float(distance >= tested.threshold) for distance in (tested.threshold - 1, tested.threshold)}
    low, high = passed.values()
    assert high - math.exp(1) * low > 1e-6


def test_one_that_counts_how_near_the_value_is_in_place_of_the_table_is_caught(moves) -> None:
    """The liar: the distance is that to the nearest table with another median, and not with a wider move."""
    jumps = 0
    for table in sorted({tuple(sorted(one)) for one in TABLES}):
        for other in near(table, 1):
            jumps += abs(distance_to_wider(moves[table], 2) - distance_to_wider(moves[other], 2)) > 1
    assert jumps == 0
    lie = {one: moves[one][0] for one in TABLES}
    assert max(abs(lie[one] - lie[other]) for one in TABLES[::97] for other in near(one, 1)) > 1


def test_what_is_far_from_every_wider_table_is_released_and_what_is_near_is_not() -> None:
    tested = ProposeTestRelease(bound=5, epsilon=2, delta="1e-6")
    far, nothing = [tested.release(100, 200) for _ in range(50)], [tested.release(100, 0) for _ in range(50)]
    assert all(one is not None and abs(one - 100) < 400 for one in far)
    assert sum(one is not None for one in nothing) <= 2  # twice 1e-6
    assert tested.chance_of_release(200) > 1 - 1e-12
    assert tested.chance_of_release(0) <= 1e-6
    assert tested.chance_of_release(tested.threshold) == pytest.approx(chances(tested, tested.threshold)[0])
