import itertools
import math
import random
from collections import Counter
from datetime import date
from fractions import Fraction

import pytest
from scipy.stats import binom

from lapwing.mechanisms.partition_selection import PartitionSelection
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Sensitive
from statistical.goodness import fits


def passing(mechanism: PartitionSelection, count: int) -> float:
    """P(count + Z >= threshold) for discrete Laplace noise, in closed form."""
    q, t = math.exp(-1 / float(mechanism.law.scale)), mechanism.threshold - count
    return q**t / (1 + q) if t > 0 else 1 - q ** (1 - t) / (1 + q)


@pytest.mark.parametrize(
    ("moved", "people", "epsilon", "delta"),
    [(1, 1, 1, "1e-6"), (3, 1, "0.5", "1e-8"), (8, 4, 2, "1e-5"), (2, 1, "0.01", "1e-3"), (1, 1, 20, "1e-12")],
    ids=str,
)
def test_the_keys_of_one_person_show_with_probability_delta_and_the_threshold_is_the_smallest(
    moved, people, epsilon, delta
) -> None:
    mechanism = PartitionSelection(l1_sensitivity=moved, people=people, epsilon=epsilon, delta=delta)
    allowed = min(float(mechanism.event.delta) / moved, -math.expm1(-1 / float(mechanism.law.scale)))
    assert passing(mechanism, people) <= allowed * (1 + 1e-9)
    assert passing(mechanism, people + 1) > allowed


@pytest.mark.parametrize(("lift", "private"), [(0, True), (-1, False)], ids=["truth", "one less is a lie"])
def test_it_is_private_on_the_worst_pair_by_enumeration(lift, private) -> None:
    """One key that one person alone has: the hockey-stick divergence of shown counts, in both orders."""
    mechanism = PartitionSelection(l1_sensitivity=1, epsilon=1, delta="1e-3")
    threshold, q = mechanism.threshold + lift, math.exp(-1)
    shown = {n: (1 - q) / (1 + q) * q ** abs(n - 1) for n in range(threshold, threshold + 200)}
    hidden = 1 - sum(shown.values())
    with_person = sum(shown.values()) + max(0.0, hidden - math.e)  # without them, nothing is ever shown
    assert (with_person <= 1e-3) is private
    assert math.e * hidden >= 1  # the other order is pure


def test_shared_keys_keep_epsilon_by_enumeration() -> None:
    """Counts 30 and 31 of one key: the ratio of every shown count, and of not showing it, is within e^epsilon."""
    mechanism = PartitionSelection(l1_sensitivity=1, epsilon="0.5", delta="1e-3")
    q = math.exp(-0.5)

    def law(count: int) -> list[float]:
        shown = [(1 - q) / (1 + q) * q ** abs(n - count) for n in range(mechanism.threshold, mechanism.threshold + 300)]
        return [1 - math.fsum(shown), *shown]

    ratios = [a / b for a, b in zip(law(30), law(31), strict=True)]
    assert math.exp(-0.5) * (1 - 1e-6) <= min(ratios)
    assert max(ratios) <= math.exp(0.5) * (1 + 1e-6)


def test_large_counts_are_shown_sorted_and_small_ones_are_not() -> None:
    mechanism = PartitionSelection(l1_sensitivity=1, epsilon=1, delta="1e-9")
    counts = {("b", 2): (10**6,), ("a", 10): (10**6,), (None, 1): (10**6,), ("a", 9): (10**6,), ("c", 1): (0,)}
    assert list(mechanism.release(Sensitive(counts))) == [("a", 9), ("a", 10), ("b", 2), (None, 1)]
    assert mechanism.release({}) == {}
    assert mechanism.release({"x": (-(10**6),)}) == {}


KEYS = list(
    itertools.product(
        [None, "", "a", "ab", "é"],
        [None, False, True],
        [None, -(2**63), 2, 10],
        [None, (0, 49), (50, 99), (-5, 49)],
        [None, date(1999, 12, 31), date(2000, 1, 1)],
    )
)


def test_the_order_of_keys_is_that_of_the_keys_whatever_the_order_they_came_in() -> None:
    """A database may send groups in an order that depends on single rows: nothing of it may be left."""
    mechanism, shuffled = PartitionSelection(l1_sensitivity=1, epsilon=1, delta="1e-9"), KEYS.copy()
    orders = set()
    for seed in range(5):
        random.Random(seed).shuffle(shuffled)
        orders.add(tuple(mechanism.release(dict.fromkeys(shuffled, (10**6,)))))
    assert len(orders) == 1
    (order,) = orders
    assert len(order) == len(KEYS)
    assert [key[1:] for key in order[:3]] == [
        (False, -(2**63), (-5, 49), date(1999, 12, 31)),
        (False, -(2**63), (-5, 49), date(2000, 1, 1)),
        (False, -(2**63), (-5, 49), None),
    ]
    assert order[-1] == (None,) * 5


def test_parts_of_several_kinds_stand_beside_one_another() -> None:
    mechanism = PartitionSelection(l1_sensitivity=1, epsilon=1, delta="1e-9")
    mixed = [None, "b", 2, True, (1, 2), date(2000, 1, 1), "a", False, 3, (1, 1)]
    for keys in (mixed, mixed[::-1]):
        assert list(mechanism.release({(key,): (10**6,) for key in keys})) == [
            (key,) for key in (False, True, 2, 3, "a", "b", date(2000, 1, 1), (1, 1), (1, 2), None)
        ]
    with pytest.raises(ParameterError, match="float"):
        mechanism.release({0.5: (10**6,)})


NEAR = PartitionSelection(l1_sensitivity=1, epsilon=1, delta="1e-6")


def around(shown: int) -> tuple[int, int]:
    """The plain interval of noise of scale 1, at 95 %: what would hold if all counts were shown."""
    return shown - 3, shown + 3


def by_mechanism(shown: int) -> tuple[int, int]:
    return NEAR.bounds(shown, "0.95")


@pytest.mark.parametrize("count", [1, 8, 10, 12, 14, 15, 16, 17, 18, 20, 25, 100])
def test_bounds_of_what_is_shown_hold_by_enumeration(count) -> None:
    """The law of a shown count, summed here: noise e^-|z|, given that count + z >= 15."""
    shown = range(NEAR.threshold, count + 200)
    weights = [math.exp(-abs(y - count)) for y in shown]
    held = [w for y, w in zip(shown, weights, strict=True) if by_mechanism(y)[0] <= count <= by_mechanism(y)[1]]
    assert math.fsum(held) / math.fsum(weights) >= 0.95


@pytest.mark.parametrize(("epsilon", "delta"), [("0.05", "1e-5"), (3, "1e-8"), (20, "1e-12")], ids=str)
@pytest.mark.parametrize("confidence", ["0.5", "0.9", "0.999"])
def test_bounds_hold_at_other_prices_and_are_an_interval_that_rises(epsilon, delta, confidence) -> None:
    mechanism = PartitionSelection(l1_sensitivity=1, epsilon=epsilon, delta=delta)
    scale, first = float(mechanism.law.scale), mechanism.threshold
    bounds = {y: mechanism.bounds(y, confidence) for y in range(first, first + int(30 * scale) + 30)}
    assert all(low <= y <= high for y, (low, high) in bounds.items())
    for (low, high), (next_low, next_high) in itertools.pairwise(bounds.values()):
        assert low <= next_low
        assert high <= next_high
    for count in (1, first // 2 or 1, first - 1, first, first + 1, first + int(2 * scale), first + int(5 * scale)):
        weights = {y: math.exp(-abs(y - count) / scale) for y in bounds}
        held = [weight for y, weight in weights.items() if bounds[y][0] <= count <= bounds[y][1]]
        assert math.fsum(held) / math.fsum(weights.values()) >= float(confidence) - 1e-9


@pytest.mark.parametrize("count", [10, 12, 15, 40])
@pytest.mark.parametrize(("interval", "holds"), [(by_mechanism, True), (around, False)], ids=["truth", "lie"])
def test_bounds_of_what_is_shown_hold_as_measured(count, interval, holds) -> None:
    """Many keys with the same count: the bounds hold among those that are shown. The plain interval is the lie."""
    keys = 60_000 if count < 15 else 4_000
    shown = Counter(NEAR.release(dict.fromkeys(range(keys), (count,))).values())
    held = sum(times for y, times in shown.items() if interval(y)[0] <= count <= interval(y)[1])
    assert shown.total() > 100
    accepted = fits(float(binom.cdf(held, shown.total(), 0.95)))
    assert accepted is (holds or count >= 15)  # above the threshold the plain interval is true enough


def test_far_above_the_threshold_bounds_are_a_margin_and_near_it_they_reach_down_to_one() -> None:
    assert by_mechanism(1000) == (997, 1003)
    assert by_mechanism(10**15) == (10**15 - 3, 10**15 + 3)
    assert by_mechanism(15) == (1, 18)


@pytest.mark.parametrize(
    "bad", [{"delta": 0}, {"delta": 1}, {"epsilon": 0}, {"l1_sensitivity": 0}, {"people": 0}], ids=str
)
def test_bad_parameters_are_refused(bad) -> None:
    with pytest.raises(ParameterError):
        PartitionSelection(**{"l1_sensitivity": 1, "epsilon": 1, "delta": "1e-6", **bad})


def test_noise_is_that_of_the_scale() -> None:
    assert PartitionSelection(l1_sensitivity=3, epsilon="0.5", delta="1e-6").law.scale == Fraction(6)


def test_a_threshold_that_nobody_could_reach_is_refused() -> None:
    with pytest.raises(ParameterError, match="asks for a threshold out of reach"):
        PartitionSelection(l1_sensitivity=1, epsilon=1, delta="1e-100")
