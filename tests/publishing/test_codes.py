"""Every row has a code of every column: the counted integers against plain DuckDB, whatever the rows hold."""

import itertools
from dataclasses import replace

import duckdb
import numpy as np
import pytest

import lapwing as lw
from lapwing.engines.duckdb import DuckDB
from lapwing.publishing import codes
from lapwing.publishing.codes import MOST_CODES, OTHER, count_in_codes, count_in_tables, read_columns
from lapwing.queries.algebra.aggregate import CountInSets
from lapwing.queries.algebra.totality import check_total
from lapwing.queries.planning.planner import plan
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
    for *cell, people in duckdb.connect().sql(f"select {keys}, count(*) from patients group by all").fetchall():  # noqa: S608 - codes of a test
        table[tuple(cell)] = people
    return table


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_counts_are_those_of_plain_sql(engine, size) -> None:
    for names in itertools.combinations(CODES, size):
        found = counted(engine, names)
        assert (found == by_hand(names, found.shape)).all(), names
        assert found.sum() == 3000, "everybody is in a cell"


def test_tables_of_one_pass_are_those_that_are_counted_one_by_one(engine, monkeypatch) -> None:
    columns = read_columns("patients", COLUMNS, PEOPLE)
    sets = [*itertools.combinations(range(len(columns)), 2), tuple(range(len(columns)))]
    for most in (100, 3):
        monkeypatch.setattr(codes, "_MOST_TABLES", most)
        passes = count_in_tables("patients", columns, sets, PEOPLE)
        assert [axes for some, _ in passes for axes in some] == sets
        assert len(passes) == -(-len(sets) // most)
        for some, planned in passes:
            for axes, numbers in zip(some, engine.in_sets(planned.aggregate), strict=True):
                alone = counted(engine, [columns[a].name for a in axes])
                assert numbers.open_for_release() == tuple(alone.ravel())


def test_a_pass_has_no_more_cells_than_one_answer_may_have(monkeypatch) -> None:
    columns = read_columns("patients", COLUMNS, PEOPLE)
    sets = list(itertools.combinations(range(len(columns)), 2))
    sizes = [len(columns[a]) * len(columns[b]) for a, b in sets]
    monkeypatch.setattr(codes, "MOST_NUMBERS", 2 * max(sizes))
    passes = count_in_tables("patients", columns, sets, PEOPLE)
    assert [axes for some, _ in passes for axes in some] == sets
    assert all(sum(planned.aggregate.sizes) <= 2 * max(sizes) for _, planned in passes)
    assert 1 < len(passes) < len(sets)


@pytest.mark.parametrize("sets", [(), ((0,), ())], ids=["none", "of no key"])
def test_sets_of_no_keys_are_refused(sets) -> None:
    ((_, planned),) = count_in_tables("patients", read_columns("patients", COLUMNS, PEOPLE), [(0, 1)], PEOPLE)
    with pytest.raises(BadQuestionError, match="of one key or more"):
        check_total(replace(planned.aggregate, bounding=CountInSets(sets=sets)), PEOPLE)


def test_sets_are_of_codes_and_of_nothing_else() -> None:
    by_sex = plan(lw.count("patients", by="sex"), PEOPLE).aggregate
    with pytest.raises(BadQuestionError, match="the values 0, 1, 2"):
        check_total(replace(by_sex, bounding=CountInSets(sets=((0,),))), PEOPLE)


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


def test_what_is_true_or_false_and_never_missing_has_two_codes(engine) -> None:
    """A condition about rows cannot be missing. Where a column is declared never to be, what is missing is not true."""
    asked = [lw.has("visits", "kind = 'ER'"), "survivor", lw.col("age") >= 18, lw.col("sex") == "F"]
    seen, survivor, adult, woman = read_columns("patients", asked, PEOPLE)
    assert [one.called for one in (seen, survivor)] == [("False", "True")] * 2
    assert [one.closed for one in (seen, survivor, adult, woman)] == [True, True, True, True]
    ((_, planned),) = count_in_tables("patients", [survivor, seen], [(0,), (0, 1)], PEOPLE)
    one, both = (np.array(table.open_for_release()) for table in engine.in_sets(planned.aggregate))
    assert one.tolist() == by_hand(["survivor"], (2,)).tolist()
    assert both.reshape(2, 2).sum(axis=1).tolist() == one.tolist()
    assert one.sum() == 3000


def test_what_may_be_missing_has_a_code_for_it_though_it_is_true_or_false() -> None:
    table = PEOPLE.table("patients")
    columns = tuple(replace(one, nullable=True) for one in table.columns)
    tables = tuple(replace(one, columns=columns) if one.name == table.name else one for one in PEOPLE.tables)
    asked = ["survivor", lw.col("age") >= 18]
    for one in read_columns("patients", asked, replace(PEOPLE, tables=tables)):
        assert one.called == ("False", "True", OTHER)
        assert not one.closed


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
