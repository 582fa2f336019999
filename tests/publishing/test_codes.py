"""Every row has a code of every column: the counted integers against plain DuckDB, whatever the rows hold."""

import itertools

import duckdb
import numpy as np
import pytest

import lapwing as lw
from lapwing.engines.duckdb import DuckDB
from lapwing.publishing.codes import MOST_CODES, OTHER, count_in_codes, read_columns
from lapwing.vocabulary.errors import BadQuestionError
from publishing.odd_people import CODES, COLUMNS, odd_patients
from session.clinic import population
from session.real_tables import visits

PEOPLE = population()


@pytest.fixture(scope="module")
def engine():
    with DuckDB(PEOPLE, {"patients": odd_patients(), "visits": visits()}, threads=1) as engine:
        yield engine


def counted(engine, names):
    columns = [one for one in read_columns("patients", COLUMNS, PEOPLE) if one.name in names]
    aggregate = count_in_codes("patients", columns, PEOPLE).aggregate
    shape = [len(one) for one in columns]
    return np.array(engine.vector(aggregate).open_for_release()).reshape(shape)


def by_hand(names, shape):
    patients = odd_patients()  # noqa: F841 - the statement below reads it by its name
    keys = ", ".join(CODES[name] for name in names)
    table = np.zeros(shape, int)
    for *cell, people in duckdb.sql(f"select {keys}, count(*) from patients group by all").fetchall():  # noqa: S608 - codes of a test
        table[tuple(cell)] = people
    return table


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_counts_are_those_of_plain_sql(engine, size) -> None:
    for names in itertools.combinations(CODES, size):
        found = counted(engine, names)
        assert (found == by_hand(names, found.shape)).all(), names
        assert found.sum() == 3000, "everybody is in a cell"


def test_a_table_is_the_same_counted_by_itself_or_summed_from_any_wider_one(engine) -> None:
    wide = counted(engine, tuple(CODES))
    for pair in itertools.combinations(range(4), 2):
        names = [list(CODES)[a] for a in pair]
        assert (counted(engine, names) == wide.sum(axis=tuple(a for a in range(4) if a not in pair))).all()


def test_codes_are_what_is_declared_and_one_more() -> None:
    sex, age, bmi, survivor = read_columns("patients", COLUMNS, PEOPLE)
    assert sex.called == ("F", "M", OTHER)
    assert (len(age), len(bmi)) == (4, 3)
    assert survivor.codes == (False, True)
    (asthma,) = read_columns("patients", [lw.has("visits", "kind = 'ER'")], PEOPLE)
    assert len(asthma) == 3


@pytest.mark.parametrize(
    ("table", "columns", "refusal"),
    [
        ("visits", ["kind"], "many rows a person.*has"),
        ("patients", ["city"], "no declared values.*read from the data.*name the bins"),
        ("patients", ["bmi"], "too many values.*bins"),
        ("patients", ["sex", "sex"], "'sex' is there twice"),
        ("patients", [], "no column is named"),
        ("patients", ["shoe"], "no column 'shoe'"),
        ("patients", [lw.bins("bmi", 300)], f"300 codes, more than {MOST_CODES}; name wider bins"),
    ],
)
def test_what_has_no_codes_is_refused_with_a_remedy(table, columns, refusal) -> None:
    with pytest.raises(BadQuestionError, match=refusal):
        read_columns(table, columns, PEOPLE)
