"""A plan by itself: how its numbers lie, how its keys are shown, and what it says."""

from datetime import date
from fractions import Fraction

import pytest

import lapwing as lw
from engines.clinic import clinic
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.queries.algebra.aggregate import BinnedKey, CountPerPerson, DistinctKeys
from lapwing.queries.catalogue.domains import DAYS, INTEGERS
from lapwing.queries.planning.plan import (
    BoundedValue,
    CanonicalQuestion,
    Family,
    NoisyMeaning,
    Scale,
    plain_number,
    value_of_bins,
)
from lapwing.queries.planning.planner import plan
from lapwing.queries.statistics.counts import People
from lapwing.vocabulary.errors import BadQuestionError, LedgerDamagedError
from lapwing.vocabulary.guarantee import Adjacency

CLINIC = clinic()
BY_SEX = plan(lw.count("patients", "age >= 65", by="sex"), CLINIC)
NOISE = GeometricMechanism(l1_sensitivity=1, epsilon=1)


@pytest.mark.parametrize(
    ("question", "numbers"),
    [
        (lw.count("patients"), 1),
        (lw.count("patients", by=["sex", "ward"]), 4 * 4),
        (lw.mean("patients", "age", by="sex"), 2 * 4),
        (lw.funnel("patients", ["smoker", "age > 3"]), 3),
        (lw.count_distinct("patients", "city"), 1),
        (lw.count("patients", by="city"), 0),  # only the data knows
    ],
)
def test_how_many_numbers_are_released_is_public(question, numbers) -> None:
    assert plan(question, CLINIC).numbers == numbers


def test_blocks_are_the_numbers_of_each_cell_in_turn_and_of_no_other_plan() -> None:
    asked = plan(lw.mean("patients", "age", by="ward"), CLINIC)
    assert asked.blocks(range(8)) == [((1,), range(2)), ((2,), range(2, 4)), ((3,), range(4, 6)), ((-7,), range(6, 8))]
    for many in (7, 9):
        with pytest.raises(BadQuestionError, match="the numbers do not fit the plan"):
            asked.blocks(range(many))
    with pytest.raises(BadQuestionError, match="the numbers do not fit the plan"):
        plan(lw.count("patients", by="city"), CLINIC).blocks([])


def test_a_number_of_each_cell_is_its_estimate_its_form_and_off_by_one_margin() -> None:
    meaning = People()
    assert meaning.estimates(BY_SEX, [4, 3, 2, 1]) == {("F",): 4, ("M",): 3, ("é",): 2, (None,): 1}
    assert meaning.forms(BY_SEX) == {("F",): {0: 1}, ("M",): {1: 1}, ("é",): {2: 1}, (None,): {3: 1}}
    margin = NOISE.margin("0.9", values=4)
    assert meaning.margin(BY_SEX, NOISE, "0.9") == BY_SEX.margin_of_each(NOISE, "0.9") == margin
    values = meaning.values(BY_SEX, [4, 3, 2, 1], NOISE, "0.9")
    assert [(one.value, one.low, one.high) for one in values] == [(n, n - margin, n + margin) for n in (4, 3, 2, 1)]
    assert (meaning.error_if(BY_SEX, NOISE, "0.9", 10), meaning.shown_from(BY_SEX, NOISE, "0.9")) == (None, None)


def test_each_cell_may_fail_so_often_that_all_hold_with_the_confidence() -> None:
    chance = BY_SEX.chance_of_each("0.95")
    assert (1 - chance) ** 4 == pytest.approx(0.95)


@pytest.mark.parametrize(
    ("adjacency", "question", "monotone"),
    [
        (Adjacency.ADD_REMOVE, lw.count("patients"), True),
        (Adjacency.REPLACE, lw.count("patients"), False),
        (Adjacency.ADD_REMOVE, lw.total("patients", "age - 20"), False),
    ],
)
def test_small_noise_of_a_sparse_vector_is_for_counts_of_people_more_or_less(adjacency, question, monotone) -> None:
    assert plan(question, clinic(adjacency=adjacency)).monotone is monotone


def test_a_bounding_is_the_one_that_the_statistic_chose() -> None:
    assert BY_SEX.bounded_by(CountPerPerson).max_cells == 1
    with pytest.raises(TypeError):
        BY_SEX.bounded_by(DistinctKeys)


def test_the_canonical_text_is_read_back_and_a_damaged_one_is_noticed() -> None:
    assert CanonicalQuestion.read(BY_SEX.canonical) == BY_SEX.question
    with pytest.raises(LedgerDamagedError, match="holds a question that cannot be read back"):
        CanonicalQuestion.read(BY_SEX.canonical.replace('"people"', '"peoples"'))


def test_rows_are_in_the_order_of_their_keys_what_is_missing_last() -> None:
    assert BY_SEX.in_order([(None,), ("M",), ("F",)]) == [("F",), ("M",), (None,)]
    ranked = plan(lw.top("patients", "sex", 2), CLINIC)
    assert ranked.in_order([(2,), (1,)]) == [(2,), (1,)], "ranks are in the order in which they were chosen"


@pytest.mark.parametrize(
    ("question", "names", "one", "amounts"),
    [
        (lw.count("patients"), (), True, True),
        (lw.count("patients", by="sex"), ("sex",), False, True),
        (lw.mean("patients", "age"), (), True, False),
        (lw.median("patients", "age"), ("fraction",), True, False),
        (lw.quantiles("patients", "age", [0.1, 0.9]), ("fraction",), False, False),
        (lw.total("patients", "age"), (), True, True),
    ],
)
def test_what_tells_rows_apart_whether_there_is_one_and_whether_a_picture_begins_at_zero(
    question, names, one, amounts
) -> None:
    asked = plan(question, CLINIC)
    assert (asked.key_names, asked.has_one_value, asked.drawn_from_zero) == (names, one, amounts)


def test_a_step_is_shown_by_its_lower_end_and_other_bins_by_both() -> None:
    tens = plan(lw.count("patients", by=lw.bins("age", [0, 10, 20, 120])), CLINIC)
    (key,) = tens.grouped_by
    middle = (key.bins[1],)
    assert tens.shown(middle, {}) == ("from 10 to 19",)
    assert tens.shown(middle, {0: Fraction(10)}) == (10,)
    assert tens.shown((None,), {}) == (None,)


def test_bins_that_are_years_are_numbers_and_months_their_first_days() -> None:
    year, january = (10957, 11322), (10957, 10987)  # of 2000
    key = BinnedKey(column="born", domain=DAYS, bins=(year,), missing=False)
    assert value_of_bins(key, None)(year) == 2000
    months = BinnedKey(column="born", domain=DAYS, bins=(january,), missing=False)
    assert value_of_bins(months, None)(january) == date(2000, 1, 1)
    odd = BinnedKey(column="age", domain=INTEGERS, bins=((1, 9), (10, 19)), missing=False)
    assert value_of_bins(odd, None) is None
    assert value_of_bins(odd, Fraction(10))((1, 9)) == 0, "a step may begin before its least value"


def test_what_is_asked_bounded_and_hidden_is_said_with_its_numbers() -> None:
    asked = "the number of people, in patients where age is at least 65, grouped by the 3 declared values of sex"
    assert BY_SEX.asked == asked
    said = BY_SEX.explain().splitlines()
    assert said[:2] == [f"Asked: {asked}.", "Bounded: a person counts once in one group, however many rows they have."]
    assert said[2].startswith("Hidden: one person changes the answer by at most 1 in all groups together, and noise ")
    assert said[3] == Family.NOISE.value
    assert said[4].startswith("Exactly: one person moves what is released by at most 1 in all (L1), 1 in one number ")
    assert said[4].endswith(f"; {BY_SEX.sensitivity.reason}.")


def test_a_number_is_told_with_the_same_margin_on_both_sides_and_whole_where_it_is() -> None:
    found = BoundedValue.around(("F",), Fraction(6, 2), 2)
    assert (found.value, found.low, found.high, type(found.value)) == (3, 1, 5, int)
    assert plain_number(Fraction(1, 2)) == Fraction(1, 2)
    assert Scale(low=Fraction(1), step=Fraction(1, 4), extent=8).width == 2


def test_what_means_nothing_else_says_within_its_margin() -> None:
    meaning = People()
    assert (meaning.accuracy(3), meaning.accuracy_of_all(3)) == ("within 3", "all within 3")
    assert isinstance(meaning, NoisyMeaning)
    assert meaning.in_canonical is meaning
