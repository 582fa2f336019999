"""Constants are computed before a value has a meaning, and a cast that could fail is refused."""

from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.queries.language.expressions import Arithmetic, Coalesce, Literal, Name
from lapwing.queries.language.parts import shape
from lapwing.queries.language.sql.reader import read_value
from lapwing.queries.planning.scope import Scope
from lapwing.queries.planning.simplifying import kind_of, simplified
from lapwing.vocabulary.errors import BadQuestionError
from queries.asked import PATIENTS, POPULATION

SCOPE = Scope(POPULATION, PATIENTS, "p")
NUMBERS = st.integers(-50, 50) | st.fractions(-5, 5, max_denominator=8)


def simple(text: str) -> object:
    found = simplified(read_value(text), SCOPE)
    return found.value if isinstance(found, Literal) else found


@given(st.recursive(NUMBERS.map(Literal), lambda v: st.builds(Arithmetic, st.sampled_from("+-*"), v, v), max_leaves=6))
def test_arithmetic_of_constants_is_exact(value) -> None:
    def exactly(part):
        if isinstance(part, Literal):
            return Fraction(part.value)
        left, right = exactly(part.left), exactly(part.right)
        return {"+": left + right, "-": left - right, "*": left * right}[part.operator]

    found = simplified(value, SCOPE)
    assert isinstance(found, Literal)
    assert found.value == exactly(value)
    assert isinstance(found.value, int) is (exactly(value).denominator == 1) or isinstance(value, Literal)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("date '2024-02-29' + interval 1 year", date(2025, 2, 28)),
        ("date '2024-03-31' - interval 1 month", date(2024, 2, 29)),
        ("year(date '2024-02-29')", 2024),
        ("date_trunc('month', date '2024-02-29')", date(2024, 2, 1)),
        ("coalesce(null, 3)", 3),
        ("coalesce(2, 3)", 2),
        ("cast('2' as integer)", 2),
        ("cast(2.5 as double)", Fraction(5, 2)),
        ("cast(null as integer)", None),
        ("cast('2024-02-29' as date)", date(2024, 2, 29)),
    ],
)
def test_what_is_known_is_computed(text, value) -> None:
    assert simple(text) == value


def test_what_is_not_known_stays() -> None:
    age = Name("age")
    assert shape(simplified(Coalesce(age, Literal(0)), SCOPE)) == shape(Coalesce(age, Literal(0)))
    assert shape(simplified(Arithmetic("+", age, Literal(1)), SCOPE)) == shape(Arithmetic("+", age, Literal(1)))
    huge = Arithmetic("*", Literal(10**100), Literal(2))
    assert shape(simplified(huge, SCOPE)) == shape(huge)


@pytest.mark.parametrize("text", ["cast(2.5 as integer)", "cast('x' as date)", "cast(city as integer)"])
def test_a_cast_that_could_fail_is_refused(text) -> None:
    with pytest.raises(BadQuestionError):
        simple(text)


@pytest.mark.parametrize("column", PATIENTS.columns, ids=lambda column: column.name)
def test_a_cast_to_what_a_column_holds_changes_nothing(column) -> None:
    kind = {"integer": "integer", "number": "double", "text": "text", "day": "date", "truth value": "boolean"}
    found = simplified(read_value(f"cast({column.written} as {kind[kind_of(column)]})"), SCOPE)
    assert shape(found) == shape(Name(column.name))
