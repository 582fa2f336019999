"""Screens: how far people move distances, by brute force, and noise that its price pays for, in fractions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from lapwing.mechanisms.screening import ScreeningMechanism, moved_distance, noise_of_screen
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import GaussianNoise, PureRelease
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit

CODES = (2, 3)
SETS = [(0,), (1,), (0, 1)]
UNITS = [
    PrivacyUnit(person_key="id", adjacency=adjacency, protects_groups_of=group)
    for adjacency, group in itertools.product(Adjacency, (1, 3))
]


def gaussian(mu_squared):
    return GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=1 / Fraction(mu_squared))


def distances(table, guesses):
    return np.array(
        [np.abs(table.sum(axis=tuple({0, 1} - set(axes))) - guess).sum() for axes, guess in guesses.items()]
    )


def test_nobody_moves_a_distance_further_than_is_said_and_somebody_does_that_far() -> None:
    drawn, single = np.random.default_rng(1), PrivacyUnit(person_key="id")
    replace = PrivacyUnit(person_key="id", adjacency=Adjacency.REPLACE)
    most = {Adjacency.ADD_REMOVE: 0, Adjacency.REPLACE: 0}
    for _ in range(40):
        table = drawn.integers(1, 6, CODES)
        guesses = {axes: drawn.integers(0, 8, [CODES[a] for a in axes]) for axes in SETS}
        before = distances(table, guesses)
        for one in np.ndindex(CODES):
            less = table.copy()
            less[one] -= 1
            most[Adjacency.ADD_REMOVE] = max(
                most[Adjacency.ADD_REMOVE], np.abs(distances(less, guesses) - before).max()
            )
            for other in np.ndindex(CODES):
                moved = less.copy()
                moved[other] += 1
                off = np.abs(distances(moved, guesses) - before).max()
                most[Adjacency.REPLACE] = max(most[Adjacency.REPLACE], off)
    assert most == {Adjacency.ADD_REMOVE: moved_distance(single), Adjacency.REPLACE: moved_distance(replace)}


@pytest.mark.parametrize("unit", UNITS, ids=lambda one: f"{one.adjacency.value} {one.protects_groups_of}")
@pytest.mark.parametrize("tables", [1, 2, 7, 560])
def test_the_noise_is_the_least_that_is_paid_for(unit, tables) -> None:
    moved = moved_distance(unit)
    for paid in (Fraction(1, 3), Fraction(1, 10**6), Fraction(7, 10)):
        sigma = noise_of_screen(tables, unit, gaussian(paid))
        assert tables * moved**2 / sigma**2 <= paid, "in fractions"
        assert sigma <= math.sqrt(tables * moved**2 / paid) + 2 / 1024 or sigma == 1
        assert tables * moved / noise_of_screen(tables, unit, PureRelease(epsilon=paid)) == paid


@pytest.mark.parametrize("event", [gaussian(1), PureRelease(epsilon=Fraction(1))], ids=["gaussian", "pure"])
def test_distances_come_out_with_noise_of_the_size_that_is_said(event) -> None:
    guesses = {(0,): [10, 10], (0, 1): [5, 0, 0, 0, 0, 5]}
    screen = ScreeningMechanism(codes=CODES, guesses=guesses, unit=UNITS[0], event=event)
    counted = {(0, 1): Sensitive((4, 3, 3, 0, 0, 5))}
    found = np.array([screen.release(counted) for _ in range(400)])
    centred = found - [5, 7]
    for truth, share in ((0.0, 0.5), (float(screen.noise), 0.16 if isinstance(event, GaussianNoise) else 0.18)):
        above = (centred > truth).sum(axis=0)
        assert (above <= binom.isf(1e-7, 400, share + 0.05)).all()
        assert (above >= binom.ppf(1e-7, 400, share - 0.13)).all()
    assert (np.abs(centred).mean(axis=0) > float(screen.noise) / 2).all(), "and not without noise"


def test_what_is_no_screen_is_refused() -> None:
    with pytest.raises(ParameterError, match="no table"):
        ScreeningMechanism(codes=CODES, guesses={}, unit=UNITS[0], event=gaussian(1))
    with pytest.raises(ParameterError):
        ScreeningMechanism(codes=CODES, guesses={(0,): [1, 1]}, unit=UNITS[0], event=gaussian("1e-40"))
    screen = ScreeningMechanism(codes=CODES, guesses={(0,): [1, 1]}, unit=UNITS[0], event=gaussian(1))
    with pytest.raises(ParameterError):
        screen.release({(0,): [1, 2, 3]})
