"""What a pair of laws loses is what the worst of all events loses: here all events are tried."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from lapwing.auditor.pair_of_laws import AtMost, AuditedAtLeast, PairOfLaws, WorstEvent, in_words
from lapwing.vocabulary.errors import ParameterError

WEIGHTS = st.lists(st.integers(0, 12), min_size=5, max_size=5).filter(any)


def pair(here, there):
    with np.errstate(divide="ignore"):
        logs = [np.log(np.array(weights, float) / sum(weights)) for weights in (here, there)]
    return PairOfLaws(inputs=("here", "there"), here=logs[0], there=logs[1], outcomes=list(range(len(here))))


def every_event(laws):
    """Return P(E) and P'(E) of all events that one of the two can see."""
    p, q = np.exp(laws.here), np.exp(laws.there)
    choices = np.array(list(itertools.product((0, 1), repeat=len(p))), float)
    return choices @ p, choices @ q


def largest(values):
    return max((value for value in values if not math.isnan(value)), default=-math.inf)


@settings(deadline=None, max_examples=300)
@given(here=WEIGHTS, there=WEIGHTS, delta=st.sampled_from([0.0, 1e-3, 0.1, 0.4]))
def test_epsilon_is_that_of_the_worst_event(here, there, delta) -> None:
    laws = pair(here, there)
    epsilon, event = laws.epsilon(delta)
    p, q = every_event(laws)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(p > delta + 1e-12, np.log(np.maximum(p - delta, 0)) - np.log(np.maximum(q, 0)), -np.inf)
    worst = largest(np.where((q < 1e-12) & (p > delta + 1e-12), np.inf, values).tolist())
    assert epsilon == pytest.approx(worst, abs=1e-9)
    if math.isfinite(epsilon):
        assert event.here - delta == pytest.approx(math.exp(epsilon) * event.there, abs=1e-8)


@settings(deadline=None, max_examples=200)
@given(here=WEIGHTS, there=WEIGHTS, epsilon=st.sampled_from([0.0, 0.3, 1.0, 3.0]))
def test_delta_is_that_of_the_worst_event(here, there, epsilon) -> None:
    laws = pair(here, there)
    p, q = every_event(laws)
    assert laws.delta(epsilon) == pytest.approx(float((p - math.exp(epsilon) * q).max()), abs=1e-12)


@settings(deadline=None, max_examples=200)
@given(here=WEIGHTS, there=WEIGHTS)
def test_mu_is_that_of_the_worst_event(here, there) -> None:
    laws = pair(here, there)
    p, q = (np.clip(side, 0, 1) for side in every_event(laws))
    p, q = (np.where(side < 1e-12, 0.0, np.where(side > 1 - 1e-12, 1.0, side)) for side in (p, q))
    with np.errstate(invalid="ignore"):
        worst = largest((norm.ppf(p) - norm.ppf(q)).tolist())
    assert laws.mu()[0] == pytest.approx(worst, abs=1e-7)


@settings(deadline=None, max_examples=100)
@given(first=st.tuples(WEIGHTS, WEIGHTS), second=st.tuples(WEIGHTS, WEIGHTS))
def test_two_answers_together_are_the_product_and_merging_equal_losses_changes_nothing(first, second) -> None:
    one, other = pair(*first), pair(*second)
    here, there = (np.add.outer(a, b).ravel() for a, b in ((one.here, other.here), (one.there, other.there)))
    plain = PairOfLaws(inputs=(0, 1), here=here, there=there, outcomes=range(25))
    together = one.times(other)
    for epsilon in (0.0, 0.7, 2.0):
        assert together.delta(epsilon) == pytest.approx(plain.delta(epsilon), abs=1e-12)
    assert together.epsilon(0.0)[0] == pytest.approx(plain.epsilon(0.0)[0], abs=1e-9)
    assert len(together.outcomes) <= 25


def test_the_trade_off_runs_from_no_alarm_to_no_miss_along_the_chain() -> None:
    alarms, misses = pair([3, 1], [1, 3]).trade_off()
    assert alarms.tolist() == pytest.approx([0, 0.25, 1])
    assert misses.tolist() == pytest.approx([1, 0.25, 0])


def test_renyi_divergence_of_two_coins_and_of_the_impossible() -> None:
    p, q = 0.75, 0.25
    expected = math.log(p**3 / q**2 + q**3 / p**2) / 2
    assert pair([3, 1], [1, 3]).renyi(3) == pytest.approx(expected)
    assert pair([1, 1], [1, 0]).renyi(2) == math.inf


def test_what_is_no_law_is_refused() -> None:
    with pytest.raises(ParameterError, match="is not a law on these outcomes"):
        PairOfLaws(inputs=(0, 1), here=np.log([0.5, 0.4]), there=np.log([0.5, 0.5]), outcomes=[0, 1])


def test_an_event_is_told_in_few_words() -> None:
    numbers = (0.0, -1.0, AtMost(-2.0))
    assert str(WorstEvent(outcomes=numbers, here=1, there=1)) == "<= 0"
    assert str(WorstEvent(outcomes=(AuditedAtLeast(4), 3), here=1, there=1)) == ">= 3"
    assert str(WorstEvent(outcomes=(AuditedAtLeast(4), 3, 1), here=1, there=1)) == ">= 4 or 3 or 1 more"
    assert str(WorstEvent(outcomes=("a", "b", "c"), here=1, there=1)) == "a or b or 1 more"
    assert in_words((("no", "no"), 0.5)) == "no x2, 0.5"
