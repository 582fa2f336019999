import math
from fractions import Fraction

import pytest

from lapwing.mechanisms.stable_keys import StableKeys
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.sensitive import Sensitive


def passing(mechanism: StableKeys, count: int) -> float:
    """P(count + Z >= threshold) for discrete Laplace noise, in closed form."""
    q, t = math.exp(-1 / float(mechanism.scale)), mechanism.threshold - count
    return q**t / (1 + q) if t > 0 else 1 - q ** (1 - t) / (1 + q)


@pytest.mark.parametrize(
    ("moved", "people", "epsilon", "delta"),
    [(1, 1, 1, "1e-6"), (3, 1, "0.5", "1e-8"), (8, 4, 2, "1e-5"), (2, 1, "0.01", "1e-3"), (1, 1, 20, "1e-12")],
    ids=str,
)
def test_the_keys_of_one_person_show_with_probability_delta_and_the_threshold_is_the_smallest(
    moved, people, epsilon, delta
) -> None:
    mechanism = StableKeys(l1_sensitivity=moved, people=people, epsilon=epsilon, delta=delta)
    allowed = min(float(mechanism.event.delta) / moved, -math.expm1(-1 / float(mechanism.scale)))
    assert passing(mechanism, people) <= allowed * (1 + 1e-9)
    assert passing(mechanism, people + 1) > allowed


@pytest.mark.parametrize(("lift", "private"), [(0, True), (-1, False)], ids=["truth", "one less is a lie"])
def test_it_is_private_on_the_worst_pair_by_enumeration(lift, private) -> None:
    """One key that one person alone has: the hockey-stick divergence of shown counts, in both orders."""
    mechanism = StableKeys(l1_sensitivity=1, epsilon=1, delta="1e-3")
    threshold, q = mechanism.threshold + lift, math.exp(-1)
    shown = {n: (1 - q) / (1 + q) * q ** abs(n - 1) for n in range(threshold, threshold + 200)}
    hidden = 1 - sum(shown.values())
    with_person = sum(shown.values()) + max(0.0, hidden - math.e)  # without them, nothing is ever shown
    assert (with_person <= 1e-3) is private
    assert math.e * hidden >= 1  # the other order is pure


def test_shared_keys_keep_epsilon_by_enumeration() -> None:
    """Counts 30 and 31 of one key: the ratio of every shown count, and of not showing it, is within e^epsilon."""
    mechanism = StableKeys(l1_sensitivity=1, epsilon="0.5", delta="1e-3")
    q = math.exp(-0.5)

    def law(count: int) -> list[float]:
        shown = [(1 - q) / (1 + q) * q ** abs(n - count) for n in range(mechanism.threshold, mechanism.threshold + 300)]
        return [1 - math.fsum(shown), *shown]

    ratios = [a / b for a, b in zip(law(30), law(31), strict=True)]
    assert math.exp(-0.5) * (1 - 1e-6) <= min(ratios)
    assert max(ratios) <= math.exp(0.5) * (1 + 1e-6)


def test_large_counts_are_shown_sorted_and_small_ones_are_not() -> None:
    mechanism = StableKeys(l1_sensitivity=1, epsilon=1, delta="1e-9")
    counts = {("b", 2): (10**6,), ("a", 10): (10**6,), (None, 1): (10**6,), ("a", 9): (10**6,), ("c", 1): (0,)}
    assert list(mechanism.release(Sensitive(counts))) == [("a", 9), ("a", 10), ("b", 2), (None, 1)]
    assert mechanism.release({}) == {}
    assert mechanism.release({"x": (-(10**6),)}) == {}
    assert mechanism.margin("0.95") == 3


@pytest.mark.parametrize(
    "bad", [{"delta": 0}, {"delta": 1}, {"epsilon": 0}, {"l1_sensitivity": 0}, {"people": 0}], ids=str
)
def test_bad_parameters_are_refused(bad) -> None:
    with pytest.raises(ParameterError):
        StableKeys(**{"l1_sensitivity": 1, "epsilon": 1, "delta": "1e-6", **bad})


def test_noise_is_that_of_the_scale() -> None:
    assert StableKeys(l1_sensitivity=3, epsilon="0.5", delta="1e-6").scale == Fraction(6)
