"""Published marginals watched from outside, on a small domain: what is true stands, and plausible mistakes do not."""

import math
from fractions import Fraction

import numpy as np

from lapwing.auditor.black_box import audit
from lapwing.mechanisms.residual_basis import ResidualMechanism
from lapwing.publishing.measurements import gaussian_residuals, geometric_cover
from lapwing.vocabulary.event import GaussianNoise
from lapwing.vocabulary.guarantee import GaussianDP, PrivacyUnit, PureDP

CODES, WANTED, UNIT = (2, 3), [(0, 1)], PrivacyUnit(person_key="id")
FEW = {(0, 1): [3, 0, 1, 2, 0, 4]}
MORE = {(0, 1): [3, 0, 1, 2, 0, 5]}
"""One person more."""
DRAWS = 6_000


def gaussian(mu_squared):
    event = GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=1 / Fraction(mu_squared))
    return gaussian_residuals(CODES, WANTED, UNIT, event)


def geometric(epsilon):
    return geometric_cover(CODES, WANTED, UNIT, Fraction(epsilon))


def found(release, claim):
    def watched(table):
        return np.concatenate(release(table))

    return audit(watched, claim=claim, neighbours=(FEW, MORE), samples=DRAWS)


def test_gaussian_residuals_keep_their_promise() -> None:
    assert not found(gaussian(4).release, GaussianDP(mu_squared=4)).refuted


def test_a_geometric_cover_keeps_its_promise() -> None:
    assert not found(geometric(2).release, PureDP(epsilon=2)).refuted


def test_sigmas_for_residuals_in_people_are_too_small_for_whole_residuals() -> None:
    """It takes an event that pays for them to draw so at all; what was meant to be paid is refuted."""
    small = {axes: s / math.prod(CODES[a] for a in axes) for axes, s in gaussian(1).mechanism.sigmas.items()}
    paid = GaussianNoise(l2_sensitivity_squared=Fraction(10**6), sigma_squared=Fraction(1))
    liar = ResidualMechanism(codes=CODES, sigmas=small, unit=UNIT, event=paid)
    assert found(liar.release, GaussianDP(mu_squared=1)).refuted


def test_a_price_that_is_said_too_low_is_seen() -> None:
    assert found(gaussian(9).release, GaussianDP(mu_squared=1)).refuted


def test_a_second_table_that_is_not_paid_for_is_seen() -> None:
    """Every table of a cover takes its part of the price: with the noise for one, two of them are worth twice that."""
    one = geometric(2)
    assert found(lambda table: [*one.release(table), *one.release(table)], PureDP(epsilon=2)).refuted
