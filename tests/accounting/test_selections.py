"""Several exponential selections together: never below what an adversary reaches, and hardly above."""

import math
import time
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from lapwing.accounting.filters.account import Account, open_account
from lapwing.accounting.filters.approximate import loss_of
from lapwing.accounting.filters.charge import SingleRelease
from lapwing.accounting.losses.selections import SelectionsLaw
from lapwing.accounting.pricing import price
from lapwing.mechanisms.histogram_selection import TopK
from lapwing.vocabulary.deadline import deadline
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.event import (
    Composed,
    ExponentialSelection,
    GaussianNoise,
    LaplaceNoise,
    PoissonSampled,
    Repeated,
)
from lapwing.vocabulary.guarantee import ApproximateDP

DELTA = Fraction(1, 10**6)


def reached(epsilon, times, steps, levels):
    """What an adversary reaches at `levels` who chooses t among `steps` + 1 values once the loss so far is known.

    Plain recursion: the value at level r is the best mean of the values at r - t and r - t + epsilon. All levels that
    can be met are multiples of epsilon/steps away from the one that was asked about, so nothing is interpolated.
    """
    step = epsilon / steps
    ts = np.arange(steps + 1)
    up = np.expm1(step * (ts - steps)) / math.expm1(-epsilon)
    found = []
    for level in levels:
        r = level + step * np.arange(-times * steps, times * steps + 1)
        value = np.maximum(0.0, -np.expm1(r))
        for _ in range(times):
            padded = np.concatenate([-np.expm1(r[0] - step * np.arange(steps, 0, -1)), value, np.zeros(steps)])
            size = len(value)
            value = np.max(
                [up[t] * padded[steps - t :][:size] + (1 - up[t]) * padded[2 * steps - t :][:size] for t in ts], axis=0
            )
        found.append(float(value[times * steps]))
    return found


@pytest.mark.parametrize(
    ("epsilon", "times"), [("1/2", 2), ("1/3", 3), ("1/10", 5), ("1/6", 10), ("1/9", 20), ("2", 4)]
)
def test_the_envelope_is_above_the_best_adversary_and_within_a_thousandth(epsilon, times) -> None:
    law = SelectionsLaw(Fraction(epsilon), times)
    levels = [0.0, *(share * float(law.pure_epsilon) for share in (0.1, 0.25, 0.4, 0.6))]
    for level, truth in zip(levels, reached(float(Fraction(epsilon)), times, 96, levels), strict=True):
        assert truth <= law.delta(level)
        assert law.delta(level * 1.001 + 1e-4 * float(law.epsilon)) <= truth * 1.001 + 1e-12


def test_two_selections_are_never_below_any_pair_of_worst_cases() -> None:
    """Enumerated: t of the first, and a t of the second for each answer of the first."""
    e, law = 1.0, SelectionsLaw(Fraction(1), 2)
    ts = np.linspace(0.0, e, 21)

    def member(t):
        p = math.expm1(t - e) / math.expm1(-e)
        return [(t, p), (t - e, 1 - p)]

    for level in (-0.6, -0.1, 0.0, 0.3, 0.77, 1.4):
        for t, after_up, after_down in product(ts, repeat=3):
            truth = 0.0
            for (first, p), then in zip(member(t), (after_up, after_down), strict=True):
                truth += sum(p * q * max(0.0, -math.expm1(level - first - second)) for second, q in member(then))
            assert truth <= law.delta(level)


def spent(account, charges):
    before = account.filters["everyone"].residue
    for charge in charges:
        account = account.admit(charge)
    return before - account.filters["everyone"].residue


@pytest.mark.parametrize("budget", [(1, DELTA), (3, DELTA), (8, Fraction(1, 10**9))])
@pytest.mark.parametrize("times", [2, 5, 20])
def test_a_plan_of_selections_costs_what_they_cost_one_by_one(budget, times) -> None:
    account = open_account(ApproximateDP(epsilon=budget[0], delta=budget[1]))
    selection = ExponentialSelection(epsilon=Fraction(budget[0], 40))
    one_by_one = spent(account, [SingleRelease(event=selection)] * times)
    plans = [Repeated(part=selection, times=times), Composed(parts=(selection,) * times)]
    for plan in plans:
        assert spent(account, [SingleRelease(event=plan)]) == pytest.approx(one_by_one, rel=1e-3)


def test_beside_other_releases_selections_cost_their_own_price() -> None:
    account = open_account(ApproximateDP(epsilon=1, delta=DELTA))
    laplace = Repeated(part=LaplaceNoise(l1_sensitivity=1, scale=50), times=5)
    selection = Repeated(part=ExponentialSelection(epsilon=Fraction(1, 25)), times=5)
    other = ExponentialSelection(epsilon=Fraction(1, 60))
    gaussian = GaussianNoise(l2_sensitivity_squared=1, sigma_squared=1000)
    plan = Composed(parts=(selection, laplace, other, gaussian))
    alone = spent(account, [SingleRelease(event=part) for part in (laplace, gaussian, other, selection)])
    assert spent(account, [SingleRelease(event=plan)]) <= alone * 1.02


def test_what_is_admitted_one_by_one_is_admitted_as_a_plan() -> None:
    """199 selections at 1/30 fit into (1, 1e-6) one after the other."""
    account = open_account(ApproximateDP(epsilon=1, delta=DELTA))
    plan = Repeated(part=ExponentialSelection(epsilon=Fraction(1, 30)), times=199)
    assert isinstance(account.admit(SingleRelease(event=plan)), Account)
    assert price(plan).epsilon(1e-6) < 1


def test_blocks_of_selections_are_composed() -> None:
    """A thousand at 1/100 are nearly Gaussian with mu = sqrt(1000)/200; a single law of 256 must not be far above."""
    found = price(Repeated(part=ExponentialSelection(epsilon=Fraction(1, 100)), times=1000)).epsilon(1e-6)
    gaussian = price(GaussianNoise(l2_sensitivity_squared=1000, sigma_squared=40000)).epsilon(1e-6)
    assert gaussian * (1 - 1e-3) <= found <= gaussian * 1.005


def test_selections_on_a_sample_are_priced() -> None:
    part = Repeated(part=ExponentialSelection(epsilon=Fraction(1, 10)), times=5)
    whole, half = price(part), price(PoissonSampled(part=part, rate=Fraction(1, 2)))
    assert whole.epsilon(1e-6) / 2 < half.epsilon(1e-6) < whole.epsilon(1e-6)


@pytest.mark.parametrize("times", [2, 255, 256, 257, 300, 512])
def test_a_chain_charges_every_selection_of_a_plan(times) -> None:
    """257 are one law of 256 and one of a single selection: both are counted."""
    chain = loss_of(Repeated(part=ExponentialSelection(epsilon=Fraction(1, 100)), times=times))
    assert chain.uses == times


def test_its_envelope_reads_the_clock_while_it_is_made() -> None:
    """That of 480 selections takes half a second or more: what is worked out for nothing ends at its deadline."""
    began = time.thread_time()
    with pytest.raises(BadQuestionError, match=r"takes more than 0\.02 seconds"), deadline(0.02):
        assert SelectionsLaw(epsilon=Fraction(1, 480), times=480).atoms
    assert time.thread_time() - began < 0.2


def test_a_ranking_reads_the_clock_while_it_is_planned() -> None:
    began = time.thread_time()
    with pytest.raises(BadQuestionError, match=r"takes more than 0\.02 seconds"), deadline(0.02):
        assert [TopK(k=480, cells=500, sensitivity=1, epsilon=1).margin(Fraction(95, 100)) for _ in range(100)]
    assert time.thread_time() - began < 0.4
