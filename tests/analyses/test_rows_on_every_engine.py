"""The row that a person adds to a regression is the same on every engine, over rows that are made to hurt."""

import pytest
from hypothesis import HealthCheck, given, settings

from draws import drawn_for
from engines.clinic import clinic, rows_of_anyone
from engines.rows_in_memory import RowsInMemory
from engines.workbenches import ENGINES
from lapwing.analyses.formula import read_formula
from lapwing.analyses.regression_design import read_design
from lapwing.queries.algebra.term import bounds

CLINIC = clinic()


def aggregates():
    formulas = [
        ("patients", "bmi ~ age/10 + sex + smoker:age", "linear", None),
        ("patients", "smoker ~ ward + bmi", "logistic", "age > 17"),
        ("visits", "nights ~ kind + cost", "poisson", None),
    ]
    return [read_design(t, read_formula(f), m, where, CLINIC).plan.aggregate for t, f, m, where in formulas]


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "rows"])
def test_engines_agree_with_the_oracle(name, request) -> None:
    asked = aggregates()
    with ENGINES[name](CLINIC, request) as bench:

        @drawn_for(name)
        @settings(max_examples=min(bench.corpus, 4), deadline=None, suppress_health_check=[HealthCheck.too_slow])
        @given(rows_of_anyone(CLINIC))
        def agree(tables) -> None:
            oracle = RowsInMemory(CLINIC, tables)
            bench.load(tables)
            for one in asked:
                found = sorted(map(tuple, bench.people(one).open_for_release().tolist()))
                assert found == sorted(map(tuple, oracle.people(one).open_for_release().tolist()))
                people = {row["pid"] for row in tables[one.table] if row["pid"] is not None}
                assert len(found) <= len(people), "one row a person, and none of those with a value missing"
                ends = [bounds(term) for term in one.bounding.terms]
                assert all(low == 0 <= n <= high for row in found for n, (low, high) in zip(row, ends, strict=True))

        agree()
