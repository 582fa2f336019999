"""Which noise a price buys under each kind of budget: the smaller one, and never what the budget cannot pay for."""

import itertools
from fractions import Fraction

import pytest

from lapwing.accounting.pricing import price
from lapwing.answers.target import parse_target
from lapwing.publishing.measurements import GaussianResiduals, GeometricCover
from lapwing.publishing.noise_for_target import margin_of_all, measurement_for
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.guarantee import Adjacency, ApproximateDP, ConcentratedDP, PrivacyUnit, PureDP

PURE, WITH_DELTA, RHO = PureDP(epsilon=5), ApproximateDP(epsilon=5, delta="1e-6"), ConcentratedDP(rho=5)
FEW, MANY = (3, 4, 3, 3), (8,) * 8
UNIT = PrivacyUnit(person_key="id")


def measured(codes, budget, unit=UNIT, **target):
    pairs = list(itertools.combinations(range(len(codes)), 2))
    return measurement_for(codes, pairs, unit, parse_target(**target), budget)


@pytest.mark.parametrize(
    ("codes", "budget", "target", "kind"),
    [
        (FEW, PURE, {"epsilon": 1}, GeometricCover),
        (MANY, PURE, {"epsilon": 1}, GeometricCover),
        (MANY, PURE, {"within": 500}, GeometricCover),
        (FEW, WITH_DELTA, {"epsilon": 1, "delta": "1e-6"}, GeometricCover),  # one wide table is better
        (MANY, WITH_DELTA, {"epsilon": 1, "delta": "1e-6"}, GaussianResiduals),
        (MANY, WITH_DELTA, {"epsilon": 1}, GeometricCover),
        (MANY, WITH_DELTA, {"rho": "0.01"}, GaussianResiduals),
        (MANY, WITH_DELTA, {"within": 500}, GaussianResiduals),
        (MANY, RHO, {"epsilon": 1}, GaussianResiduals),
        (MANY, RHO, {"rho": "0.01"}, GaussianResiduals),
        (FEW, RHO, {"within": 500}, GaussianResiduals),
    ],
)
def test_the_smaller_noise_that_can_be_paid_for_is_taken(codes, budget, target, kind) -> None:
    assert type(measured(codes, budget, **target)) is kind


def test_no_price_is_above_what_was_offered() -> None:
    assert price(measured(MANY, PURE, epsilon=1).event).pure_epsilon == 1
    assert price(measured(MANY, RHO, rho="0.01").event).rho == Fraction(1, 100)
    both = price(measured(MANY, WITH_DELTA, epsilon=1, delta="1e-6").event)
    assert 0.999 < both.epsilon(1e-6) <= 1
    same = price(measured(MANY, RHO, epsilon=1).event).rho
    assert same is not None
    assert same <= price(measured(MANY, PURE, epsilon=1).event).rho


@pytest.mark.parametrize("target", [{"rho": "0.1"}, {"epsilon": 1, "delta": "1e-6"}])
def test_a_pure_budget_buys_no_gaussian_noise(target) -> None:
    with pytest.raises(ParameterError, match="cannot be paid from a pure budget; offer an epsilon alone"):
        measured(FEW, PURE, **target)


@pytest.mark.parametrize("budget", [PURE, WITH_DELTA, RHO])
def test_all_cells_are_within_a_margin_and_hardly_less(budget) -> None:
    found = measured(FEW, budget, within=250, confidence="0.99")
    pairs = list(itertools.combinations(range(4), 2))
    assert 248 < margin_of_all(found, pairs, Fraction(99, 100)) <= 250


@pytest.mark.parametrize(("codes", "budget", "target"), [(FEW, PURE, {"epsilon": 1}), (MANY, RHO, {"rho": 1})])
def test_exchanged_people_and_groups_cost_more_noise(codes, budget, target) -> None:
    plain = measured(codes, budget, **target).off
    exchanged = measured(codes, budget, PrivacyUnit(person_key="id", adjacency=Adjacency.REPLACE), **target).off
    families = measured(codes, budget, PrivacyUnit(person_key="id", protects_groups_of=4), **target).off
    assert plain * 1.9 < exchanged < plain * 4.5
    assert families == pytest.approx(16 * plain, rel=0.1)
