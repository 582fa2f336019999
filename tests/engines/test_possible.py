"""A database that sends what cannot be true has failed: its numbers never get as far as the noise."""

import numpy as np
import pytest

import lapwing as ask
from engines.clinic import clinic
from engines.workbenches import DuckDBBench
from lapwing.engines.engine import ImpossibleError, all_numbers, numbers_of_cells, possible_counts, possible_facts
from lapwing.publishing.codes import count_in_tables, read_columns
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.errors import EngineError

CLINIC = clinic()
PEOPLE, BY_SEX = ask.count("patients"), ask.count("patients", by="sex")
BY_AGE = ask.count("patients", by=ask.bins("age", [0, 18, 120]))
BY_CITY = ask.count("patients", by="city")
BY_KIND = ask.count("visits", by="kind", max_groups=1)
AGES = ask.total("patients", "age")  # 0..120 a person
COSTS = ask.total("visits", "cost")  # -100..2000 a person
MEAN = ask.mean("patients", "age")  # two sums that add up to 120 a row
MEDIAN = ask.median("patients", "age", cells=2)  # cells of 61
FUNNEL = ask.funnel("patients", ["age > 3"])
DISTINCT = ask.count_distinct("visits", "kind", max_groups=2)

POSSIBLE = {
    "people": (PEOPLE, [(0,)], (0,)),
    "by sex": (BY_SEX, [("M", 3), (None, 1)], (0, 3, 0, 1)),
    "by age": (BY_AGE, [(1, 2), (None, 1)], (0, 2, 1)),
    "nobody's ages": (AGES, [(0, 0)], (0,)),
    "ages": (AGES, [(2, 240)], (240,)),
    "costs": (COSTS, [(3, -300)], (-300,)),
    "mean": (MEAN, [(2, 240, 0)], (240, 0)),
    "median": (MEDIAN, [(0, 2, 2), (61, 1, 1)], (2, 1)),
    "funnel": (FUNNEL, [(1, 5)], (0, 5)),
    "distinct": (DISTINCT, [(3,)], (3,)),
}
SETS = count_in_tables("patients", read_columns("patients", ["sex", "smoker"], CLINIC), [(0, 1), (1,)], CLINIC)[0][1]
IMPOSSIBLE_SETS = {
    "a cell of no set": [(None, 3)],
    "a cell after the last": [(15, 3)],
    "a cell before the first": [(-1, 3)],
    "a cell twice": [(2, 3), (2, 1)],
    "nobody in a cell": [(2, 0)],
    "half a cell": [(0.5, 1)],
    "two numbers": [(2, 1, 1)],
}
IMPOSSIBLE = {
    "nothing at all": (PEOPLE, []),
    "two rows for one number": (PEOPLE, [(1,), (2,)]),
    "fewer than nobody": (PEOPLE, [(-1,)]),
    "more people than can be": (PEOPLE, [(2**63,)]),
    "half a person": (PEOPLE, [(0.5,)]),
    "a whole number that is a double": (PEOPLE, [(1.0,)]),
    "a truth value": (PEOPLE, [(True,)]),
    "a missing number": (PEOPLE, [(None,)]),
    "two numbers for one": (PEOPLE, [(1, 1)]),
    "a cell that came twice": (BY_SEX, [("M", 3), ("M", 1)]),
    "a cell that was not asked for": (BY_SEX, [("X", 3)]),
    "an empty cell": (BY_SEX, [("M", 0)]),
    "a cell of another type": (BY_SEX, [(1, 3)]),
    "a cell for missing values where there are none": (BY_KIND, [(None, 3)]),
    "a row without its cell": (BY_SEX, [(3,)]),
    "a bin before the first": (BY_AGE, [(-1, 3)]),
    "a bin after the last": (BY_AGE, [(2, 3)]),
    "a bin that is not a number": (BY_AGE, [("0", 3)]),
    "a key that is not a value": (BY_CITY, [(0.5, 3)]),
    "a key that came twice": (BY_CITY, [("x", 3), ("x", 3)]),
    "a total that nobody added to": (AGES, [(0, 1)]),
    "a total above its bounds": (AGES, [(2, 241)]),
    "a total below its bounds": (AGES, [(2, -1)]),
    "a total that wrapped around": (AGES, [(2, 240 - 2**64)]),
    "a total of mixed signs below its bounds": (COSTS, [(3, -301)]),
    "a total without the number of its parts": (AGES, [(240,)]),
    "a moment above its bounds": (MEAN, [(2, 241, 0)]),
    "moments that add up to too much": (MEAN, [(2, 240, 1)]),
    "a negative moment": (MEAN, [(2, 240, -1)]),
    "a place between two cells": (MEDIAN, [(1, 1, 1)]),
    "a cell beyond the range": (MEDIAN, [(122, 1, 1)]),
    "a cell before the range": (MEDIAN, [(-61, 1, 1)]),
    "more rows than were picked": (MEDIAN, [(0, 1, 2)]),
    "a step that does not exist": (FUNNEL, [(2, 5)]),
    "a step before the first": (FUNNEL, [(-1, 5)]),
    "more values than were declared": (DISTINCT, [(4,)]),
}


class Sending(DuckDBBench):
    """A database that sends what it is told to."""

    def __init__(self, rows):
        super().__init__(CLINIC)
        self.sent = rows

    def _rows(self, _):
        return self.sent


def answered(question, rows):
    aggregate = plan(question, CLINIC).aggregate
    with Sending(rows) as engine:
        answer = engine.keyed(aggregate) if aggregate.cells is None else engine.vector(aggregate)
        return answer.open_for_release()


@pytest.mark.parametrize("case", POSSIBLE)
def test_what_can_be_true_is_taken(case) -> None:
    question, rows, numbers = POSSIBLE[case]
    assert answered(question, rows) == numbers


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_what_cannot_be_true_is_the_one_failure(case) -> None:
    question, rows = IMPOSSIBLE[case]
    with pytest.raises(EngineError) as failed:
        answered(question, rows)
    assert str(failed.value) == str(EngineError())
    assert failed.value.__context__ is None


def test_the_cells_of_each_set_come_by_their_numbers() -> None:
    for read in (all_numbers, numbers_of_cells):
        numbers = read(SETS.aggregate, [(8, 2), (12, 4), (0, 2)])
        assert tuple(numbers) == (2, *[0] * 7, 2, 0, 0, 0, 4, 0, 0)


@pytest.mark.parametrize("case", IMPOSSIBLE_SETS)
def test_cells_of_sets_that_cannot_be_are_failures(case) -> None:
    for read in (all_numbers, numbers_of_cells):
        with pytest.raises(ImpossibleError):
            read(SETS.aggregate, IMPOSSIBLE_SETS[case])


@pytest.mark.parametrize("sent", [(5, 6), (5, -1), (5,), (5, 1, 1), (5, 1.0), (2**63, 1), (-1, -1)])
def test_a_cohort_is_no_larger_than_everybody(sent) -> None:
    assert possible_counts((5, 5), 1) == [5]
    with pytest.raises(ImpossibleError):
        possible_counts(sent, 1)


def test_a_cohort_that_cannot_be_is_the_one_failure_at_the_engine() -> None:
    with Sending([(5, 6)]) as engine, pytest.raises(EngineError):
        engine.numbers([plan(ask.count("visits", "nights > 3"), CLINIC).aggregate], versions={})


WRONG_FACTS = {
    "a bit too many": np.array([4, 0]),
    "a sign": np.array([-1, 0]),
    "a double": np.array([1.0, 0.0]),
    "a missing one": np.ma.masked_array([1, 0], [True, False]),
    "too few": np.array([1]),
}


@pytest.mark.parametrize("wrong", WRONG_FACTS)
def test_facts_are_bits_of_the_atoms_that_were_asked_for(wrong) -> None:
    possible_facts(np.array([1, 2]), np.array([3, 0]), 2)
    possible_facts(np.array([], np.int64), np.array([], np.int64), 2)
    with pytest.raises(ImpossibleError):
        possible_facts(np.array([1, 2]), WRONG_FACTS[wrong], 2)
