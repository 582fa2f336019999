"""Finite pairs: whatever is done to them, they dominate what they came from."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import exp, mp, mpf

from lapwing.accounting.dominating_pair import DominatingPair
from lapwing.accounting.losses.law import connect_the_dots
from lapwing.accounting.pricing import price
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import (
    ApproximateRelease,
    Composed,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    ExponentialSelection,
    GaussianNoise,
    InParallel,
    LaplaceNoise,
    PoissonSampled,
    PureRelease,
    RandomizedResponseRelease,
    Repeated,
    SampledWithoutReplacement,
)
from lapwing.vocabulary.exact import ROUND_OFF

LEVELS = np.linspace(-2.0, 3.0, 41).tolist()


@st.composite
def pairs(draw):
    size = draw(st.integers(2, 30))
    losses = np.sort(draw(st.lists(st.integers(-300, 300), min_size=size, max_size=size, unique=True))) / 100
    weights = np.array(draw(st.lists(st.floats(0.01, 1), min_size=size, max_size=size)))
    lost = draw(st.sampled_from([0.0, 1e-6, 0.01]))
    return DominatingPair(losses, weights / weights.sum() * (1 - lost), lost)


@given(pairs(), st.integers(6, 12))
def test_fewer_atoms_dominate_more(pair, at_most) -> None:
    coarse = pair.coarsened(at_most)
    assert len(coarse.losses) <= max(at_most, 2)
    assert coarse.masses.sum() + coarse.infinite_mass == pytest.approx(1, abs=1e-12)
    for level in LEVELS:
        assert pair.delta(level) <= coarse.delta(level) + 1e-14


@given(pairs())
def test_the_profile_at_many_places_is_that_at_each_but_for_the_last_digits(pair) -> None:
    places = np.unique(np.concatenate([pair.losses, LEVELS, [-800.0, 900.0]]))
    for place, told in zip(places.tolist(), pair.deltas(places).tolist(), strict=True):
        exact = pair.infinite_mass + math.fsum(
            mass * -math.expm1(place - loss)
            for loss, mass in zip(pair.losses.tolist(), pair.masses.tolist(), strict=True)
            if loss > place
        )
        assert min(exact, 1.0) <= told <= exact * (1 + 1e-11)


@given(pairs(), st.integers(6, 12), st.floats(0, 1))
def test_an_outline_has_both_ends_and_no_more_than_it_may(pair, at_most, turn) -> None:
    outline = pair.outline(at_most, turn)
    assert len(outline) <= max(at_most, 2)
    assert (outline[0], outline[-1]) == (pair.losses[0], pair.losses[-1])
    assert set(outline.tolist()) <= set(pair.losses.tolist())


@given(pairs())
def test_the_chord_through_its_own_profile_is_the_pair(pair) -> None:
    knots = np.append(pair.losses, pair.losses[-1] + 1)
    again = DominatingPair.through(knots, np.array([pair.delta(x) for x in knots.tolist()]))
    for level in LEVELS:
        if level >= pair.losses[0]:
            assert pair.delta(level) - 1e-14 <= again.delta(level) <= pair.delta(level) + 1e-6


@given(pairs(), st.floats(1e-12, 1e-3))
def test_rounded_masses_are_made_to_sum_to_one_by_moving_mass_upwards(pair, much) -> None:
    rounded = DominatingPair.of_total_one(pair.losses, pair.masses * (1 + much), pair.infinite_mass)
    assert rounded.masses.sum() + rounded.infinite_mass == pytest.approx(1, abs=1e-12)
    assert (rounded.masses > 0).all()
    for level in LEVELS:
        assert pair.delta(level) <= rounded.delta(level) + 1e-14


EVENTS = {
    "laplace": LaplaceNoise(l1_sensitivity=Fraction(1), scale=Fraction(3)),
    "geometric": DiscreteLaplaceNoise(l1_sensitivity=4, scale=Fraction(9)),
    "gaussian": GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(9)),
    "discrete gaussian": DiscreteGaussianNoise(l2_sensitivity_squared=1, sigma_squared=Fraction(9)),
    "discrete gaussian on a vector": DiscreteGaussianNoise(
        l2_sensitivity_squared=7, sigma_squared=Fraction(99), dimension=9
    ),
    "pure": PureRelease(epsilon=Fraction(1, 2)),
    "approximate": ApproximateRelease(epsilon=Fraction(1, 2), delta=Fraction(1, 1000)),
    "selection": ExponentialSelection(epsilon=Fraction(1)),
    "response": RandomizedResponseRelease(epsilon=Fraction(1, 2), categories=4),
    "plan": Composed(
        parts=(
            LaplaceNoise(l1_sensitivity=Fraction(1), scale=Fraction(9)),
            GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(99)),
        )
    ),
    "repetition": Repeated(part=PureRelease(epsilon=Fraction(1, 20)), times=50),
    "partitions": InParallel(
        parts=(
            PureRelease(epsilon=Fraction(1, 2)),
            GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(9)),
        )
    ),
    "poisson": PoissonSampled(
        part=GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(1)), rate=Fraction(1, 5)
    ),
    "fixed sample": SampledWithoutReplacement(
        part=LaplaceNoise(l1_sensitivity=Fraction(1), scale=Fraction(1)), sample_size=20, population_size=100
    ),
}


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
@pytest.mark.parametrize("at_most", [32, 256])
def test_the_pairs_of_an_event_stand_for_its_whole_price(event, at_most) -> None:
    loss = price(event)
    pairs = loss.pairs(at_most)
    assert all(len(pair.losses) <= at_most + 1 for pair in pairs)
    for pair in pairs:
        assert (np.diff(pair.losses) > 0).all()
        assert (pair.masses >= 0).all()
        assert pair.masses.sum() + pair.infinite_mass == pytest.approx(1, abs=1e-9)
        assert float((pair.masses * np.exp(-pair.losses)).sum()) <= 1 + 1e-9
    for level in (0.0, 0.05, 0.2, 0.45, 1.0):
        worst = max(pair.delta(level) for pair in pairs)
        assert loss.delta(level) <= worst + 1e-12
        assert worst <= loss.delta(level) + (0.03 if at_most == 32 else 0.003)


def test_fewer_atoms_dominate_where_nearly_all_losses_are_equal() -> None:
    """Where a person is added, a sample makes -log(1 - rate) of every huge loss: thousands of atoms side by side."""
    noise = DiscreteLaplaceNoise(l1_sensitivity=9000, scale=Fraction(13, 2))
    for ((law, _),) in price(PoissonSampled(part=noise, rate=Fraction(3, 2500))).orders:
        (coarse,) = law.members(64)
        assert coarse.masses.sum() == pytest.approx(1, abs=1e-12)
        for level in (0.0, 1e-4, 1e-3, 1.2e-3):
            assert law.delta(level) * (1 - 1e-12) <= coarse.delta(level) <= law.delta(level) + 1e-12


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
def test_a_symmetric_event_has_one_pair_and_a_sampled_one_two(event) -> None:
    expected = {PoissonSampled: 2, ExponentialSelection: 64}.get(type(event), 1)
    assert len(price(event).pairs()) == expected


def test_the_members_of_a_selection_dominate_every_worst_case() -> None:
    """For each t the mechanism's pair has losses t and t - 1 only; one of the members has to lie above it."""
    members = price(ExponentialSelection(epsilon=Fraction(1))).pairs()
    for t in np.linspace(0.001, 0.999, 37):
        p = (math.e - math.exp(t)) / (math.e - 1)
        exact = DominatingPair(np.array([t - 1, t]), np.array([1 - p, p]), 0.0)
        assert any(all(exact.delta(x) <= m.delta(x) + 1e-13 for x in LEVELS) for m in members)


def test_too_few_atoms_are_refused() -> None:
    with pytest.raises(ParameterError, match="is too few"):
        price(EVENTS["laplace"]).pairs(1)


@pytest.mark.parametrize(("p_off", "q_off"), [(1, -1), (1, 1), (-1, -1), (0, -1), (1, 0)])
def test_tails_that_are_off_by_what_they_may_be_are_still_dominated(p_off, q_off) -> None:
    """Each is trusted to a relative `ROUND_OFF`: the upper end of a cell gets (p - e^x q)/(1 - e^-step) or more."""
    step, off = 1.0, Fraction(ROUND_OFF)
    p_above, q_above = (Fraction(1, 2), Fraction(1, 8)), (Fraction(7, 16), Fraction(1, 16))
    told = [np.array([1 - float(a) for a in p_above]), np.array([float(a) for a in p_above])]
    told += [np.array([1 - float(a) for a in q_above]), np.array([float(a) for a in q_above])]
    lattice = connect_the_dots(lambda _: tuple(told), 0.0, step, step)
    p = p_above[0] * (1 + p_off * off) - p_above[1] * (1 - p_off * off)
    q = q_above[0] * (1 + q_off * off) - q_above[1] * (1 - q_off * off)
    with mp.workdps(50):
        needed = mpf((p - q).numerator) / (p - q).denominator / (1 - exp(-mpf(step)))
        assert mpf(float(lattice.masses[-1])) >= needed
