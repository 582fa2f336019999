"""Counts of people and of rows: how each bounds a person, and what it says about that."""

import pytest

import lapwing as lw
from engines.clinic import clinic
from lapwing.queries.algebra.aggregate import BoundedRowsPerPerson, ClippedSumPerPerson, CountPerPerson
from lapwing.queries.algebra.predicate import ALWAYS, IsPresent
from lapwing.queries.algebra.term import ConstantTerm
from lapwing.queries.planning.plan import Family
from lapwing.queries.planning.planner import plan
from lapwing.queries.statements.select import read_sql
from lapwing.queries.statistics.counts import AtLeast, People, RowCount, people_asked_for, rows_of_all_groups
from lapwing.vocabulary.errors import BadQuestionError

CLINIC = clinic()
ONE = ConstantTerm(1)


def of_sql(text, **bounds):
    (question,) = read_sql(text, **bounds).questions.values()
    return plan(question, CLINIC)


@pytest.mark.parametrize(
    ("question", "meaning", "bounding", "l1"),
    [
        (lw.count("patients"), People(), CountPerPerson(max_cells=1), 1),
        (lw.count("visits", by="kind", max_groups=2), People(), CountPerPerson(max_cells=2), 2),
        (lw.count_rows("patients"), People(), CountPerPerson(max_cells=1), 1),
        (
            lw.count_rows("visits", max_rows=3),
            RowCount(),
            ClippedSumPerPerson(term=ONE, low=0, high=3, max_cells=1),
            3,
        ),
        (
            lw.count_rows("visits"),
            RowCount(),
            ClippedSumPerPerson(term=ONE, low=0, high=2, max_cells=1),
            2,
        ),
        (
            lw.count_rows("visits", by="kind", max_rows=3),
            RowCount(),
            BoundedRowsPerPerson(terms=(ONE,), most=1, max_rows=3, max_cells=None),
            3,
        ),
        (
            lw.count_rows("visits", by="kind", max_rows=3, max_groups=2),
            RowCount(),
            ClippedSumPerPerson(term=ONE, low=0, high=3, max_cells=2),
            6,
        ),
    ],
)
def test_how_a_person_is_bounded_and_how_far_they_move_it(question, meaning, bounding, l1) -> None:
    planned = plan(question, CLINIC)
    assert (planned.meaning, planned.aggregate.bounding, planned.sensitivity.l1) == (meaning, bounding, l1)


def test_rows_in_all_groups_together_are_one_term_of_one() -> None:
    assert rows_of_all_groups(5) == BoundedRowsPerPerson(terms=(ONE,), most=1, max_rows=5, max_cells=None)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("select count(*) from visits", ALWAYS),
        ("select count() from visits", ALWAYS),
        ("select count(1) from visits", ALWAYS),
        ("select count(nights) from visits", IsPresent(column="nights")),
        ("select count(2 * nights + 1) from visits", IsPresent(column="nights")),
        ("select count(pid) from visits", ALWAYS),  # rows of nobody never count
    ],
)
def test_which_rows_a_count_in_sql_is_of(text, where) -> None:
    assert of_sql(text).aggregate.where == where


@pytest.mark.parametrize("text", ["select count('a') from visits", "select count(sum(nights)) from visits"])
def test_a_count_of_something_else_than_rows_is_refused(text) -> None:
    with pytest.raises(BadQuestionError):
        read_sql(text)


def test_undeclared_groups_are_shown_above_a_threshold_by_their_people_whatever_is_asked_of_them() -> None:
    assert plan(lw.count("patients", by="city"), CLINIC).family is Family.THRESHOLD
    rows = plan(lw.count_rows("visits", by="note", max_rows=2), CLINIC)
    assert (rows.family, rows.sensitivity.l1) == (Family.SHOWN_KEYS, 2)
    assert rows.shown_by == plan(lw.count("visits", by="note", max_groups=2), CLINIC)
    with pytest.raises(BadQuestionError, match="there are counts, totals and means only"):
        plan(lw.median("visits", "nights", by="note", max_rows=1), CLINIC)


@pytest.mark.parametrize(
    ("question", "said", "left_out"),
    [
        (
            lw.count_rows("visits", max_rows=3),
            "at most 3 rows of a person count.",
            ("at most 3 rows a person",),
        ),
        (
            lw.count_rows("visits", by="kind", max_rows=3, max_groups=2),
            "at most 3 rows of a person count in each of at most 2 groups.",
            ("at most 3 rows a person", "at most 2 groups a person"),
        ),
    ],
)
def test_what_the_bounds_of_rows_leave_out_is_said(question, said, left_out) -> None:
    planned = plan(question, CLINIC)
    assert (planned.meaning.bounding(planned), planned.meaning.bounds_away(planned)) == (said, left_out)


def test_a_stream_is_asked_for_a_number_of_people_without_groups_and_for_nothing_else() -> None:
    planned = plan(lw.at_least(200, "patients", "smoker"), CLINIC)
    assert (planned.family, planned.aggregate.bounding) == (Family.SPARSE_VECTOR, CountPerPerson(max_cells=1))
    assert people_asked_for(planned.meaning) == 200
    assert planned.meaning == AtLeast(people=200)
    with pytest.raises(BadQuestionError, match="only whether there are at least N people"):
        people_asked_for(People())
