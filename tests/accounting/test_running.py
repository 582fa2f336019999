"""The running total: the same as composing everything at once, charge by charge."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing.accounting.pricing import price
from lapwing.accounting.running import RunningLoss
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import (
    ApproximateRelease,
    Composed,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    ExponentialSelection,
    GaussianNoise,
    LaplaceNoise,
    PoissonSampled,
    PureRelease,
    Repeated,
)

ONE = Fraction(1)


def laplace(epsilon):
    return LaplaceNoise(l1_sensitivity=Fraction(epsilon), scale=ONE)


def gaussian(mu):
    return GaussianNoise(l2_sensitivity_squared=Fraction(mu) ** 2, sigma_squared=ONE)


def at_once(charges):
    return price(Composed(parts=tuple(Repeated(part=event, times=times) for event, times in charges)))


def close_and_above(found, exact):
    """At most the stated tolerance above, and never below what the exact composition allows for itself."""
    return exact * (1 - 2e-6) <= found <= exact * (1 + 1e-3)


def test_an_empty_account_has_spent_nothing() -> None:
    assert RunningLoss().epsilon(1e-6) == 0.0


@pytest.mark.parametrize(
    "charges",
    [
        [(laplace("0.01"), 500)],
        [(PureRelease(epsilon=Fraction(1, 200)), 2000)],
        [(gaussian("0.02"), 100)],
        [(laplace("0.02"), 50), (gaussian("0.1"), 3), (PureRelease(epsilon=Fraction(1, 50)), 40)],
        [(DiscreteLaplaceNoise(l1_sensitivity=3, scale=Fraction(100)), 300)],
        [(DiscreteGaussianNoise(l2_sensitivity_squared=1, sigma_squared=Fraction(10000)), 300)],
        [(ApproximateRelease(epsilon=Fraction(1, 50), delta=Fraction(1, 10**10)), 100), (laplace("0.01"), 10)],
        [(PoissonSampled(part=gaussian(1), rate=Fraction(1, 50)), 500)],
        [(laplace("0.05"), 20), (PoissonSampled(part=gaussian(1), rate=Fraction(1, 50)), 50), (laplace("0.02"), 9)],
        [(laplace(2), 1), (laplace("0.01"), 100)],
    ],
    ids=["laplace", "pure", "gaussian", "mixture", "geometric", "discrete", "failing", "sampled", "orders", "uneven"],
)
def test_the_total_is_that_of_composing_everything_at_once(charges) -> None:
    total = RunningLoss()
    for event, times in charges:
        total.charge(event, times)
    assert close_and_above(total.epsilon(1e-6), at_once(charges).epsilon(1e-6))


def test_charging_one_by_one_and_asking_each_time_changes_nothing() -> None:
    """The frequencies are chosen anew many times on the way; none of that may show."""
    events = [
        laplace("0.01"),
        gaussian("0.015"),
        PureRelease(epsilon=Fraction(1, 80)),
        ExponentialSelection(epsilon=ONE / 50),
    ]
    total, charges = RunningLoss(), dict.fromkeys(events, 0)
    for step in range(400):
        event = events[step * 7 % 4]
        total.charge(event)
        charges[event] += 1
        spent = total.epsilon(1e-6)
        if step in {0, 1, 3, 10, 57, 399}:
            selection = charges[events[3]]
            exact = at_once([(e, n) for e, n in charges.items() if n])
            if not selection:
                assert close_and_above(spent, exact.epsilon(1e-6))
            else:  # several selections: their envelope is what can be kept running, and it is not the best bound
                assert spent >= exact.epsilon(1e-6) * (1 - 1e-5)
    assert total.charges == 400


def test_deltas_may_be_asked_for_in_any_order() -> None:
    total = RunningLoss()
    total.charge(laplace("0.01"), 1000)
    exact = at_once([(laplace("0.01"), 1000)])
    for delta in (1e-3, 1e-12, 1e-6, 1e-9, 1e-6):
        assert close_and_above(total.epsilon(delta), exact.epsilon(delta))


def test_the_total_never_exceeds_the_sum_of_pure_epsilons() -> None:
    total = RunningLoss()
    for _ in range(5):
        total.charge(PureRelease(epsilon=Fraction(1, 10)))
    assert total.epsilon(1e-30) <= 0.5


def test_what_is_lost_for_sure_is_infinite() -> None:
    total = RunningLoss()
    total.charge(ApproximateRelease(epsilon=Fraction(1, 10), delta=Fraction(1, 1000)))
    assert math.isinf(total.epsilon(1e-6))
    assert total.epsilon(1e-2) <= 0.11


@settings(max_examples=20)
@given(st.lists(st.tuples(st.floats(0.002, 0.3), st.integers(1, 30)), min_size=1, max_size=12))
def test_the_total_never_falls(scales) -> None:
    total, before = RunningLoss(), 0.0
    for epsilon, times in scales:
        total.charge(laplace(epsilon), times)
        now = total.epsilon(1e-6)
        assert now >= before * (1 - 1e-3)
        before = now


def test_replaying_the_same_charges_gives_the_same_total_bit_for_bit() -> None:
    charges = [(laplace("0.01"), 3), (gaussian("0.02"), 1), (PureRelease(epsilon=Fraction(1, 70)), 2)] * 9
    totals = []
    for _ in range(2):
        total = RunningLoss()
        for event, times in charges:
            total.charge(event, times)
            total.epsilon(1e-6)
        totals.append(total.epsilon(1e-6))
    assert totals[0] == totals[1]


def test_a_bad_charge_is_refused_and_leaves_no_trace() -> None:
    total = RunningLoss()
    for event, times in (("a release", 1), (laplace(1), 0)):
        with pytest.raises(ParameterError):
            total.charge(event, times)
    assert total.charges == 0
    assert total.epsilon(1e-6) == 0.0
    with pytest.raises(ParameterError, match="delta"):
        total.epsilon(0.0)
