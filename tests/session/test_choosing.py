"""The best of named questions: one name, at the price of a choice, with the sensitivity of the planner."""

import itertools
import math
from fractions import Fraction

import pytest

import lapwing as lw
from lapwing.accounting.filters.charge import cost_of_event
from lapwing.ledger.replay import verify
from lapwing.mechanisms.exponential import ExponentialMechanism
from lapwing.mechanisms.named_choice import NamedChoice
from lapwing.mechanisms.permute_and_flip import PermuteAndFlip
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.event import ExponentialSelection
from lapwing.vocabulary.guarantee import Adjacency, ApproximateDP, ConcentratedDP, PureDP
from session.clinic import door, new_ledger, population, spent
from session.real_tables import Tables

COHORTS = {
    "half": lw.count("patients", "age >= 50"),  # 200 people
    "few": lw.count("patients", "age < 5"),
    "visitors": lw.count("visits", "kind = 'ER'"),  # about 200, too
    "all": lw.count("patients"),
}
BUDGETS = (
    PureDP(epsilon=Fraction(10)),
    ConcentratedDP(rho=Fraction(10)),
    ApproximateDP(epsilon=Fraction(10), delta=Fraction(1, 10**6)),
)


@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "rho", "delta"])
def test_the_largest_is_chosen_on_every_kind_of_budget(quick_path, budget) -> None:
    with new_ledger(quick_path, budget) as ledger:
        clinic = door(ledger, Tables())
        preview = clinic.preview(lw.best_of(COHORTS), epsilon="0.5")
        answer = clinic.choose(COHORTS, epsilon="0.5", key="best")
        assert answer.value == "all"
        assert (answer.price, preview.price) == (preview.price, answer.price)
        assert "no other has over" in answer.sentence
        assert clinic.choose(COHORTS, epsilon="0.5").free, "asked before"
        assert answer.asked.tables == {"patients", "visits"}
        kind = PermuteAndFlip if isinstance(budget, PureDP) else ExponentialMechanism
        assert type(answer.asked.sources[0].mechanism.selector) is kind
        verify(ledger)


def test_it_costs_what_one_choice_costs_however_many_there_are(ledger) -> None:
    clinic = door(ledger, Tables())
    many = {f"age {n}": lw.count("patients", f"age = {n}") for n in range(100)}
    clinic.choose(many, epsilon="0.1")
    assert spent(ledger) == Fraction(1, 10)
    alone = clinic.preview(lw.best_of(many), within=50)
    assert cost_of_event(alone.asked.event).epsilon < Fraction(1, 4)
    assert alone.margin["answer"] <= 50


def test_selects_are_candidates_and_totals_have_their_own_steps(ledger) -> None:
    clinic = door(ledger, Tables())
    told = clinic.choose(
        {
            "age": "select sum(age) from patients",
            "bmi": lw.total("patients", "bmi"),
            "wards": lw.total("visits", "ward"),
        },
        epsilon=8,
    )
    assert told.value == "age"  # 19,800 against 9,950 and 9,000 or so
    sources = told.asked.sources[0]
    assert sources.meaning.step == Fraction(1, 4)
    assert sources.meaning.factors == (4, 1, 4)
    assert sources.plan.sensitivity.linf == 4 * 99, "in quarters, what an age can do"


@pytest.mark.parametrize("people", [1, 2])
@pytest.mark.parametrize("adjacency", Adjacency)
def test_the_sensitivity_is_the_largest_of_the_planner(adjacency, people) -> None:
    here = population(adjacency, people)
    asked = {"rows": lw.count_rows("visits", max_rows=3), "fewer": lw.count_rows("visits", max_rows=1)}
    planned = plan(lw.best_of(asked), here)
    each = [plan(one, here).sensitivity.linf for one in asked.values()]
    assert planned.sensitivity.linf == max(each) == 3 * people
    mechanism = planned.meaning.selection(planned, Fraction(1), PermuteAndFlip)
    one_way = adjacency is Adjacency.ADD_REMOVE
    alike = PermuteAndFlip(
        sensitivity=3 * people, candidates=2, epsilon=1, monotone_under=Adjacency.ADD_REMOVE if one_way else None
    )
    assert mechanism.selector == alike


def test_totals_below_zero_are_not_monotone() -> None:
    asked = {"down": lw.total("patients", "age - 50"), "up": lw.total("patients", "age")}
    planned = plan(lw.best_of(asked), population())
    assert not planned.sensitivity.monotone
    mechanism = planned.meaning.selection(planned, Fraction(1), PermuteAndFlip)
    assert mechanism.selector == PermuteAndFlip(sensitivity=99, candidates=2, epsilon=1)


def test_the_law_of_the_choice_is_that_of_the_exponential_mechanism() -> None:
    """Two candidates with a distance of 4: odds e^(ε·4/2Δ), from 4,000 choices; twice the noise would be seen."""
    mechanism = NamedChoice(factors=(2, 1), sensitivity=2, epsilon=1, selector=ExponentialMechanism)
    chosen = sum(mechanism.release([[3], [2]])[0] == 0 for _ in range(4000)) / 4000
    assert abs(chosen - 1 / (1 + math.exp(-4 / 4))) < 5 * math.sqrt(0.2 / 4000)
    assert isinstance(mechanism.event, ExponentialSelection)
    assert NamedChoice(factors=(2, 1), sensitivity=2, epsilon=1, step="1/2").margin("0.95") == (
        PermuteAndFlip(sensitivity=2, candidates=2, epsilon=1).margin("0.95") / 2
    )


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({}, "two questions or more"),
        ({"one": lw.count("patients")}, "two questions or more"),
        ([lw.count("patients")], "by their names"),
        ({"a": lw.count("patients"), "b": lw.mean("patients", "age")}, "'b' is not one count or one total"),
        ({"a": lw.count("patients"), "b": lw.count("patients", by="sex")}, "'b' is not one count"),
        ({"a": lw.count("patients"), "b": lw.count_rows("visits")}, "count different things"),
        ({"a": lw.count("patients"), "b": "select count(*), avg(age) from patients"}, "selects 2 statistics"),
        ({"a": lw.count("patients"), "b": lw.count("patients", "nothing = 3")}, "nothing"),
        ({"a": lw.count("patients"), "b": 7}, "'b' is not a question"),
        ({"a": lw.count("patients"), " ": lw.count("patients")}, "a name has"),
        ({"a": lw.count("patients"), "b": lw.best_of(COHORTS)}, "is a choice"),
        ({"a": lw.count("patients"), "b": lw.top("patients", "sex", 1)}, "'b' is not one count"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_the_charge(ledger, given, match) -> None:
    with pytest.raises(BadQuestionError, match=match):
        door(ledger, Tables()).choose(given, epsilon="0.1")
    assert spent(ledger) == 0


def test_names_and_order_make_another_question(ledger) -> None:
    clinic = door(ledger, Tables())
    texts = {
        clinic.price([lw.best_of(dict(some))], epsilon="0.1").ways[0][0].text
        for some in itertools.permutations(list(COHORTS.items())[:3])
    }
    assert len(texts) == 6


def test_a_choice_is_rehearsed_and_explained(ledger) -> None:
    clinic = door(ledger, Tables())
    assert clinic.rehearse(lw.best_of(COHORTS), epsilon=1).value in COHORTS
    asked = clinic.preview(lw.best_of(COHORTS), epsilon=1).asked.words
    assert asked.startswith("which of these 4 is the largest: half: the number of people, in patients where")
    explained = plan(lw.best_of(COHORTS), population()).explain()
    assert "the largest of what one person can do to any candidate" in explained
    assert spent(ledger) == 0
