"""The table of functions: each row says of itself what it does, in Python, in SQL and turned round, and all agree."""

import math
from datetime import date, timedelta
from fractions import Fraction
from itertools import product

import duckdb
import pytest

from engines.rows_in_memory import function_of
from lapwing.engines.files import DUCKDB
from lapwing.engines.postgres import POSTGRES
from lapwing.engines.spark import SPARK
from lapwing.queries.algebra.functions import DATE_PARTS, DATE_UNITS, FUNCTIONS, Grid, MissingWhere, Part, Takes, begin
from lapwing.queries.algebra.spans import is_in
from lapwing.queries.language.expressions import Applied, Literal, Value, col
from lapwing.queries.language.parts import shape
from lapwing.queries.language.speller import written
from lapwing.queries.language.sql.reader import read_value

WHOLE = {name: row.whole for name, row in FUNCTIONS.items() if row.whole is not None and name != "step"}
NUMBERS, WIDTHS = range(-23, 24), (1, 2, 3, 7, 10, 40)
QUARTERS = [Fraction(n, 4) for n in range(-60, 61)]
SOLVED = {
    "abs": lambda x, _: abs(x),
    "sign": lambda x, _: (x > 0) - (x < 0),
    "floor": lambda x, _: math.floor(x),
    "ceil": lambda x, _: math.ceil(x),
    "round": lambda x, digits: (
        math.copysign(1, x)
        * (math.floor(abs(x) * Fraction(10) ** int(digits) + Fraction(1, 2)) / Fraction(10) ** int(digits))
    ),
    "step": lambda x, width: math.floor(x / width) * width,
    "//": lambda x, width: math.trunc(x / width),
    "greatest": max,
    "least": min,
}


def arguments(row):
    if row.grid is Grid.SHARE:  # nothing is divided by what may be 0 or below
        return list(product(range(-6, 7), range(1, 5)))
    return [(one,) for one in NUMBERS] if row.arguments == 1 else list(product(range(-6, 7), repeat=2))


def widths(row):
    return WIDTHS if row.grid in {Grid.QUOTIENT, Grid.SHARE} else (1,)


@pytest.mark.parametrize("name", WHOLE)
def test_the_sql_of_a_function_of_whole_numbers_is_the_function(name) -> None:
    row = WHOLE[name]
    with duckdb.connect() as database:
        for width, inside in product(widths(row), arguments(row)):
            found = row.sql(DUCKDB, tuple(f"CAST({one} AS BIGINT)" for one in inside), f"CAST({width} AS BIGINT)")
            assert database.execute(f"SELECT {found}").fetchone() == (function_of(name, inside, width),), (
                inside,
                width,
            )


@pytest.mark.parametrize("name", WHOLE)
def test_every_result_is_within_the_bounds_which_are_taken(name) -> None:
    row = WHOLE[name]
    for width, low, more in product(widths(row), range(-9, 10), (0, 1, 5, 11)):
        spans = ((low, low + more), (-low, more - low))[: row.arguments]
        if row.grid is Grid.SHARE:
            spans = ((low, low + more), (1 + abs(low), 1 + abs(low) + more))
        several = product(*(range(a, b + 1) for a, b in spans))
        results = [function_of(name, each, width) for each in several]
        least, most = row.bounds(spans, width)
        assert least <= min(results)
        assert max(results) <= most
        if name != "%":  # whose bounds are those of all remainders, where there are fewer
            assert (least, most) == (min(results), max(results))


@pytest.mark.parametrize("name", WHOLE)
def test_an_argument_is_written_as_often_as_is_counted(name) -> None:
    row = WHOLE[name]
    for dialect in (DUCKDB, POSTGRES, SPARK):
        sql = row.sql(dialect, ("first", "second")[: row.arguments], "width")
        assert sql.count("first") == row.written
        assert ("width" in sql) is (row.grid in {Grid.QUOTIENT, Grid.SHARE})


def test_the_numbers_on_the_way_hold_what_is_computed() -> None:
    for width, number in product(WIDTHS, NUMBERS):
        inside = ((number, number),)
        rest = number % width
        down, _ = FUNCTIONS["floor"].whole.between(inside, width)
        up, _ = FUNCTIONS["ceil"].whole.between(inside, width)
        twice, _ = FUNCTIONS["round"].whole.between(inside, width)
        assert down[0] <= number - rest <= down[1]
        assert up[0] <= number + (-number) % width <= up[1]
        assert twice[0] <= 2 * number + width * ((number > 0) - (number < 0)) <= twice[1]


@pytest.mark.parametrize("name", SOLVED)
@pytest.mark.parametrize("argument", [Fraction(1), Fraction(2), Fraction(-1)])
def test_the_inverse_image_is_where_the_result_is_asked_for(name, argument) -> None:
    if argument < 0 and name in {"step", "//"}:
        return
    before, function = FUNCTIONS[name].before, SOLVED[name]
    for low, high in [
        (-2, 3),
        (0, 0),
        (1, 1),
        (-7, -1),
        (Fraction(1, 2), Fraction(5, 2)),
        (-math.inf, 2),
        (0, math.inf),
    ]:
        for above, below in product((0, 1), (0, -1)):
            spans = (((low, above if low != -math.inf else 0), (high, below if high != math.inf else 0)),)
            found = before(spans, argument)
            for number in QUARTERS:
                assert is_in(found, number) is is_in(spans, function(number, argument)), (spans, number)


def test_every_function_that_is_solved_is_looked_at() -> None:
    assert set(SOLVED) == {name for name, row in FUNCTIONS.items() if row.before is not None}


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "step"])
def test_a_function_is_read_as_it_is_spelled(name) -> None:
    second = {"||": "b", "round": 1, "left": 3, "//": 10, "%": 10, "date_trunc": "month"}.get(name)
    argument: Value | None = None if second is None else Literal(second)
    if FUNCTIONS[name].gap is MissingWhere.LEFT_OUT or name == "/":
        argument = col("b")
    applied = Applied(name, col("a"), argument)
    assert shape(read_value(written(applied))) == shape(applied)


def test_parts_of_a_day_are_those_of_the_database() -> None:
    days = [
        date(1, 1, 1),
        date(9999, 12, 31),
        date(2024, 2, 29),
        *(date(1969, 12, 20) + timedelta(i) for i in range(20)),
    ]
    with duckdb.connect() as database:
        for name, day in product(DATE_PARTS, days):
            row = FUNCTIONS[name]
            found = database.execute("SELECT " + row.sql(DUCKDB, f"DATE '{day}'", "7")).fetchone()[0]
            assert found == row.known(day, "")
            assert row.highest is None or 1 <= found <= row.highest
        for unit, day in product(DATE_UNITS, days):
            found = database.execute("SELECT " + FUNCTIONS["date_trunc"].sql(DUCKDB, f"DATE '{day}'", unit)).fetchone()
            assert found == (begin(Part(unit), day),)


@pytest.mark.parametrize(("name", "made"), [("lower", "é aÄß "), ("upper", "é AÄß "), ("trim", "é aÄß")])
def test_only_letters_from_a_to_z_and_blanks_change(name, made) -> None:
    text = "é aÄß " if name == "trim" else "é AÄß " if name == "lower" else "é aÄß "
    assert FUNCTIONS[name].change(text) == made
    with duckdb.connect() as database:
        assert database.execute(f"SELECT {FUNCTIONS[name].sql(DUCKDB, '$1', '')}", [text]).fetchone() == (made,)


def test_a_row_says_what_its_kind_needs() -> None:
    for name, row in FUNCTIONS.items():
        assert name == row.name
        assert (row.whole is not None) is (row.takes in {Takes.NUMBER, Takes.WHOLE})
        assert (row.sql is not None) is (row.takes in {Takes.TEXT, Takes.DAY})
        assert (row.known is not None) is (row.takes is Takes.DAY)
