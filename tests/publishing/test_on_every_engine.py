"""The counted tables are the same whole numbers on every engine, over rows that are made to hurt."""

import pytest
from hypothesis import HealthCheck, given, settings

import lapwing as lw
from draws import drawn_for
from engines.clinic import clinic, rows_of_anyone
from engines.rows_in_memory import RowsInMemory
from engines.workbenches import ENGINES
from lapwing.publishing.codes import count_in_codes, count_in_tables, read_columns

CLINIC = clinic()
COLUMNS = [
    "sex",
    "ward",
    lw.bins("age", [0, 18, 65, 120]),
    lw.bins("bmi", [10, 25, 60]),
    "smoker",
    lw.bins("born", ["1950-01-01", "2000-01-01", "2020-01-01"]),
    lw.has("visits", "nights > 2"),
]


def aggregates():
    columns = read_columns("patients", COLUMNS, CLINIC)
    return [count_in_codes("patients", some, CLINIC).aggregate for some in (columns[:2], columns[2:], columns)]


def in_tables():
    """Sets of two to all columns, some of them the same as are counted by themselves."""
    columns, sets = read_columns("patients", COLUMNS, CLINIC), [(0, 1), (2, 3, 4, 5, 6), (1, 5), (4,)]
    ((some, planned),) = count_in_tables("patients", columns, sets, CLINIC)
    assert some == sets
    return planned.aggregate


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "rows"])
def test_engines_agree_with_the_oracle(name, request) -> None:
    asked, together = aggregates(), in_tables()
    with ENGINES[name](CLINIC, request) as bench:

        @drawn_for(name)
        @settings(max_examples=min(bench.corpus, 8), deadline=None, suppress_health_check=[HealthCheck.too_slow])
        @given(rows_of_anyone(CLINIC))
        def agree(tables) -> None:
            oracle = RowsInMemory(CLINIC, tables)
            bench.load(tables)
            for one in asked:
                found = bench.vector(one).open_for_release()
                assert found == oracle.vector(one).open_for_release()
                people = {row["pid"] for row in tables["patients"] if row["pid"] is not None}
                assert sum(found) == len(people), "everybody with a row is in one cell"
            tables = [one.open_for_release() for one in bench.in_sets(together)]
            assert tables == [one.open_for_release() for one in oracle.in_sets(together)]
            assert {sum(one) for one in tables} == {len(people)}, "and in one cell of each table"

        agree()
