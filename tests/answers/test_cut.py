"""A number of which a bound of rows or groups may have cut something says so, wherever it is shown; others do not."""

import json
from fractions import Fraction

import pyarrow.parquet
import pytest

from fuzz.sql import CLINIC
from lapwing.queries.planning.planner import plan_together
from lapwing.queries.statements.select import read_sql
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, PureDP
from session.clinic import FixedNumber, door, new_ledger

FIRST = "select avg(cost) from (select *, row_number() over (partition by pid order by day) n from visits) where n = 1"
UNION_BY_SEX = """
    with u as (select pid from visits where nights > 1 union select pid from patients where age > 30)
    select p.sex, count(*) from u left join patients p on p.pid = u.pid group by 1
"""
UNION_BY_KIND = """
    with u as (select pid from visits where nights > 1 union select pid from patients where age > 30)
    select v.kind, count(distinct u.pid) from u join visits v using (pid) group by 1
"""
BUDGETS = {
    "epsilon": (PureDP(epsilon=Fraction(10)), {"epsilon": 1}),
    "delta": (ApproximateDP(epsilon=Fraction(10), delta=Fraction(1, 10**5)), {"epsilon": 1}),
    "rho": (ConcentratedDP(rho=Fraction(10)), {"rho": 1}),
}


@pytest.mark.parametrize(
    ("text", "bounds", "cut"),
    [
        ("select kind, count(*) from visits group by 1", {"max_rows": 50}, True),
        ("select count(*) from visits", {}, True),
        ("select avg(nights) from visits", {"max_rows": 3}, True),
        ("select sum(nights) from visits", {"max_rows": 3}, True),
        ("select kind, count(distinct pid) from visits group by 1", {"max_groups": 2}, True),
        ("select kind, count(distinct pid) from visits group by 1", {"max_groups": 3}, False),
        ("select count(distinct pid) from visits", {}, False),
        ("select sex, count(*), avg(age) from patients group by 1", {}, False),
        ("select avg(n) from (select pid, count(*) as n from visits group by pid) t", {}, False),
        ("select p.sex, count(distinct v.pid) from visits v join patients p using (pid) group by 1", {}, False),
        ("select count(*) from (select pid from visits union select pid from patients) t", {}, False),
        (UNION_BY_SEX, {"max_groups": 1}, False),
        (UNION_BY_KIND, {"max_groups": 2}, True),
        (UNION_BY_KIND, {"max_groups": 3}, False),
        (FIRST, {}, False),
    ],
)
def test_it_follows_from_the_bounds_alone(text, bounds, cut) -> None:
    plans = plan_together(read_sql(text, **bounds).questions, CLINIC)
    assert {one.cut for one in plans.values()} == {cut}


@pytest.mark.parametrize("kind", BUDGETS)
def test_it_is_marked_wherever_the_number_is_shown(kind, quick_path) -> None:
    budget, price = BUDGETS[kind]
    with new_ledger(quick_path, budget) as ledger:
        asked = door(ledger, FixedNumber(100))
        cut = asked.ask("select count(*) as n from visits", max_rows=3, **price)
        whole = asked.ask("select count(*) as n from patients", **price)
    assert ", cut" in repr(cut)
    assert cut.to_dict()["cut"] == ["n"]
    assert cut.to_pandas().attrs["cut"] == ["n"]
    assert "at most 3 rows a person" in str(cut)
    assert ", cut" in cut._repr_html_()
    assert ", cut" not in repr(whole) + whole._repr_html_()
    assert whole.to_dict()["cut"] == []
    assert "cut" not in whole.to_pandas().attrs
    for answer, names in ((cut, ["n"]), (whole, None)):
        file = quick_path / f"{names}.parquet"
        pyarrow.parquet.write_table(answer.to_arrow(), file)
        for schema in (answer.to_arrow().schema, pyarrow.parquet.read_schema(file)):
            told = (schema.metadata or {}).get(b"lapwing")
            assert (told and json.loads(told)["cut"]) == names
        assert pyarrow.table(answer).equals(answer.to_arrow(), check_metadata=True)
