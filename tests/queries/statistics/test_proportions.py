"""A proportion leaves out what is unknown, as avg(condition) does, and a table is named by a text."""

from fractions import Fraction

import pytest

import lapwing as lw
from fuzz.sql import CLINIC, Truth
from lapwing.queries.planning.planner import plan, plan_together
from lapwing.queries.statements.select import read_sql
from lapwing.vocabulary.errors import BadQuestionError


@pytest.mark.parametrize("where", ["age >= 60", "smoker", "sex = 'F' or age > 30", "ward = 1", "smoker is null"])
def test_it_is_what_a_database_says_of_the_rows_for_which_it_is_known(where) -> None:
    text = f"select avg(({where})::int) from patients"  # noqa: S608 - made here
    with Truth() as truth:
        truth.check(text, plan_together(read_sql(text).questions, CLINIC))
        asked = plan(lw.proportion("patients", where), CLINIC)
        ((_, ours),) = truth._estimates(asked).items()
        ((theirs,),) = truth._database.execute(text).fetchall()
    assert ours == Fraction(theirs).limit_denominator(1000)


BUILDERS = {
    "count": lw.count,
    "count_rows": lw.count_rows,
    "count_distinct": lambda table: lw.count_distinct(table, "sex"),
    "mean": lambda table: lw.mean(table, "age"),
    "proportion": lambda table: lw.proportion(table, "age > 3"),
    "total": lambda table: lw.total(table, "age"),
    "quantiles": lambda table: lw.quantiles(table, "age", ["0.5"]),
    "top": lambda table: lw.top(table, "sex", 1),
    "funnel": lambda table: lw.funnel(table, ["age > 3"]),
    "at_least": lambda table: lw.at_least(3, table),
    "has": lw.has,
    "number_of": lw.number_of,
}


@pytest.mark.parametrize("table", [123, None, ["patients"], {"pid": [1, 2]}])
@pytest.mark.parametrize("builder", BUILDERS)
def test_what_is_no_name_of_a_table_is_refused_at_once(builder, table) -> None:
    with pytest.raises(BadQuestionError, match="a table is named by a text, and this is of type"):
        BUILDERS[builder](table)


@pytest.mark.parametrize("builder", [lw.first_of, lw.last_of, lw.different_of])
def test_what_is_no_column_is_refused_at_once(builder) -> None:
    with pytest.raises(BadQuestionError, match="is no column"):
        builder(123)
