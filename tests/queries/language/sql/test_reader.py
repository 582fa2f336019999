"""SQL text as expressions: what each spelling is read into, what WITH gives a name to, and what is refused."""

from fractions import Fraction

import pytest

from lapwing.queries.language.expressions import (
    Applied,
    Arithmetic,
    Case,
    Clip,
    Coalesce,
    Is,
    Literal,
    Missing,
    Not,
    OneOf,
    col,
)
from lapwing.queries.language.joined import Has, PerPerson
from lapwing.queries.language.parts import shape
from lapwing.queries.language.sql.reader import read_condition, read_group, read_value
from lapwing.vocabulary.errors import BadQuestionError

AGE = col("age")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("age / 4", Arithmetic("*", AGE, Literal(Fraction(1, 4)))),
        ("floor(age / 10) * 10", Applied("step", AGE, Literal(10))),
        ("10 * floor(age / 10)", Applied("step", AGE, Literal(10))),
        ("age // 10", Applied("//", AGE, Literal(10))),
        ("age // -10", -Applied("//", AGE, Literal(10))),
        ("age % -4", Applied("%", AGE, Literal(4))),
        ("mod(age, 4)", Applied("%", AGE, Literal(4))),
        ("round(age)", Applied("round", AGE, Literal(0))),
        ("ceiling(age)", Applied("ceil", AGE)),
        ("substring(age, 1, 3)", Applied("left", AGE, Literal(3))),
        ("least(greatest(age, 3), 9)", Coalesce(Clip(AGE, Literal(3), Literal(9)), Literal(3))),
        ("greatest(least(age, 9), 3)", Coalesce(Clip(AGE, Literal(3), Literal(9)), Literal(9))),
        ("nullif(age, 3)", Case(((AGE != 3, AGE),))),
        ("coalesce(age, 1, 2)", AGE.coalesce(1).coalesce(2)),
        ("number_of(visits, 20)", PerPerson("count", "visits", None, alias="visits", most=Literal(20))),
    ],
)
def test_it_reads_a_value(text, value) -> None:
    assert shape(read_value(text)) == shape(value)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("age not in (1, 2)", Not(OneOf(AGE, (Literal(1), Literal(2))))),
        ("age is null", Missing(AGE)),
        ("(age > 3) is unknown", Is(AGE > 3, None)),
        ("age is not distinct from 3", Is(AGE == 3, truth=True)),
        ("age is distinct from null", Not(Missing(AGE))),
    ],
)
def test_it_reads_a_condition(text, condition) -> None:
    assert shape(read_condition(text)) == shape(condition)


@pytest.mark.parametrize(
    ("operator", "least", "negated"), [(">= 2", 2, False), ("> 2", 3, False), ("< 2", 2, True), ("<= 2", 3, True)]
)
def test_a_number_of_rows_is_having_so_many(operator, least, negated) -> None:
    found = read_condition("(select count(*) from visits v where v.pid = p.pid) " + operator)  # noqa: S608 - it is read
    assert isinstance(found, Not) is negated
    inner = found.part if negated else found
    assert isinstance(inner, Has)
    assert inner.at_least == least


def test_a_bucket_is_a_case_with_what_lies_outside() -> None:
    found = read_value("width_bucket(age, 0, 100, 4)")
    assert [then.value for _, then in found.branches] == [0, 1, 2, 3, 4, 5]
    assert [when.right.value for when, _ in found.branches] == [0, 25, 50, 75, 100, 100]


def test_the_edges_of_bins_are_read_with_their_value() -> None:
    assert [edge.value for edge in read_group("bins(age, 0, 18, 65)").edges] == [0, 18, 65]
    assert read_group("age").edges is None


@pytest.mark.parametrize(
    "text",
    [
        "age / 0",
        "age // 0",
        "age % 0",
        "age // bmi",
        "age // 2.5",
        "age % 2.5",
        "round(age, bmi)",
        "floor(age, 1)",
        "left(city, n)",
        "substring(city, 2, 3)",
        "floor(age / 10) * 5",
        "width_bucket(age, 5, 5, 3)",
        "width_bucket(age, 0, 5, 101)",
        "first_of(day)",
        "random()",
    ],
)
def test_what_could_fail_or_means_nothing_is_refused(text) -> None:
    with pytest.raises(BadQuestionError):
        read_value(text)


@pytest.mark.parametrize(
    "text", ["age like 3", "city like 'a' escape '!!'", "has()", "has(v, a, 1, 2)", "age in (select a, b from t)"]
)
def test_what_is_no_condition_is_refused(text) -> None:
    with pytest.raises(BadQuestionError):
        read_condition(text)
