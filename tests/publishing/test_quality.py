"""The quality report: what it says is about right, and all of it comes from released numbers."""

import itertools
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from lapwing.publishing.quality import UNTRUSTED, quality_of
from lapwing.publishing.stages import GaussianPlan, PurePlan
from lapwing.vocabulary.errors import BadQuestionError
from publishing.odd_people import COLUMNS, odd_tables
from publishing.small_world import SmallWorld
from publishing.test_publish import PATIENTS
from publishing.test_stages import UNIT, drawn
from session.clinic import door, new_ledger

pytestmark = pytest.mark.one_budget("a report costs nothing")


@pytest.fixture
def people(tmp_path, budget):
    with new_ledger(tmp_path, budget.promise(5)) as ledger:
        yield door(ledger, odd_tables()).synthesize(PATIENTS, COLUMNS, epsilon="1")


def test_a_report_is_about_all_pairs_and_says_what_not_to_ask(people) -> None:
    report = people.quality
    assert [one.names for one in report.pairs] == list(itertools.combinations(people.columns, 2))
    assert report.of("AGE", "sex").names == ("sex", "age")
    assert report.of("sex", "age", "bmi").basis == "unknown", "a pure budget looks at pairs only"
    assert {one.names for one in report.avoid} == {one.names for one in report.pairs if not one.trusted}
    assert all(one.at_most is None or one.at_most >= UNTRUSTED for one in report.avoid)
    assert [len(panel.values) for panel in report.ones] == [3, 4, 3, 2]
    with pytest.raises(BadQuestionError, match="'shoe' is no column"):
        report.of("shoe", "sex")


def test_a_page_has_a_map_of_pairs_and_all_columns_and_what_it_is_not(people) -> None:
    page = people.quality.page()
    assert page.count("<svg") == 1 + len(people.columns)
    assert "a synthetic row is nobody" in page
    assert "do not link it" in page
    assert page.startswith("<!doctype html>")


def test_a_report_is_computed_from_released_numbers_alone(people) -> None:
    """Made again from what was released, with no table near, it is the same."""
    assert quality_of(people.made).to_dict() == people.quality.to_dict()


def test_what_is_rare_is_named() -> None:
    world = SmallWorld((3, 4), people=3000)
    world.rows[0] = np.where(world.rows[0] == 2, 1, world.rows[0])
    _, _, measured = drawn(GaussianPlan(codes=world.codes, unit=UNIT, degree=2, mu_squared=Fraction(1, 10)), world)
    assert measured.pool.marginal((0,))[2] < 200


def report_of(plan, measured):
    columns = [
        SimpleNamespace(name=f"c{a}", coded=SimpleNamespace(called=[f"{code}" for code in range(codes)]))
        for a, codes in enumerate(plan.codes)
    ]
    offer = SimpleNamespace(names=[one.name for one in columns], columns=columns, table="people", plan=plan)
    return quality_of(SimpleNamespace(offer=offer, measured=measured, remark=None))


@pytest.mark.parametrize(("paid", "degree"), [(Fraction(1, 2), 3), (Fraction(1, 50), 2)])
def test_bounds_of_screened_tables_hold_as_often_as_they_say(paid, degree) -> None:
    world, rng = SmallWorld((3, 4, 2, 3, 3), people=3000), np.random.default_rng(3)
    for a in (2, 3, 4):  # of most tables there is little to learn, so that they are screened and no more
        world.rows[a] = rng.integers(0, world.codes[a], world.people)
    plan = GaussianPlan(codes=world.codes, unit=UNIT, degree=degree, mu_squared=paid, rows=300)
    told = held = shorter = 0
    means = []
    for _ in range(12 if degree == 3 else 20):
        _, _, measured = drawn(plan, world)
        report, model, (*_, screened) = report_of(plan, measured), measured.model, measured.screens
        for one in (*report.pairs, *report.larger):
            if one.basis.startswith("screened"):
                axes = tuple(int(name[1:]) for name in one.names)
                truth = 0.5 * np.abs(model.marginal(axes) - world.marginal(axes)).sum() / model.people
                told, held, shorter = told + 1, held + (truth <= one.at_most), shorter + (truth <= one.at_most / 8)
        far = [
            distance - np.abs(world.marginal(axes) - screened.guesses[axes]).sum()
            for axes, distance in screened.distances.items()
        ]
        means.append(abs(np.mean(far)) <= 6 * float(screened.noise) / np.sqrt(len(far)))
    assert told >= 20
    assert held >= binom.ppf(1e-6, told, 0.95)
    assert shorter < binom.ppf(1e-6, told, 0.95), "an eighth of it would not do"
    assert all(means), "and what is said of all of them is unbiased"


def test_pure_plans_have_screens_against_single_columns() -> None:
    world = SmallWorld((3, 4, 2, 3), people=3000)
    plan = PurePlan(codes=world.codes, unit=UNIT, degree=2, epsilon=Fraction(1))
    _, _, measured = drawn(plan, world)
    assert [one.model for one in measured.screens] == [None]
    assert len(measured.screens[0].distances) == 6
