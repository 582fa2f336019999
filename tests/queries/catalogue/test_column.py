"""What a column may hold: what is declared, what constants are compared with it, and what is refused."""

import math
from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.queries.catalogue.column import (
    MOST_GRID,
    Boolean,
    Category,
    Column,
    Date,
    Integer,
    Real,
    Text,
    called,
    check_text,
    holds_text,
    nearest_double,
    number_for,
    text_for,
    truth_for,
    written_name,
)
from lapwing.vocabulary.errors import BadQuestionError, ParameterError

AGE = Column(name="age", type=Integer(low=0, high=120))
SEX = Column(name="sex", type=Category(values=("F", "M")))
WARD = Column(name="ward", type=Category(values=(1, 2), labels=("Surgery", "surgery")))
SMOKER = Column(name="smoker", type=Boolean())
CITY = Column(name="city", type=Text())


REFUSED = (
    lambda: Integer(low=1),
    lambda: Integer(low=2, high=1),
    lambda: Integer(low=0, high=2**63),
    lambda: Real(low=0, high=1, step=0),
    lambda: Real(low=0, high=1, step=Fraction(1, 3)),
    lambda: Real(low=0, high=Fraction(MOST_GRID + 1), step=1),
    lambda: Date(first=date(2024, 1, 1)),
    lambda: Date(first=date(2024, 1, 2), last=date(2024, 1, 1)),
    lambda: Category(values=()),
    lambda: Category(values=("F", "F")),
    lambda: Category(values=("F", 1)),
    lambda: Category(values=(True, False)),
    lambda: Category(values=("a\x07",)),
    lambda: Category(values=("F", "M"), labels=("female",)),
    lambda: Column(name="x", type=Text(), title=" x"),
    lambda: check_text("x", "a\x00"),
    lambda: check_text("x", "\ud800"),
)


@pytest.mark.parametrize("made", REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_declaration_is_refused(made) -> None:
    with pytest.raises(ParameterError):
        made()


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**6))
def test_the_step_of_a_real_column_is_a_power_of_two_and_fine(low, width) -> None:
    found = Real(low=low, high=low + width)
    assert found.step is not None
    assert math.log2(found.step).is_integer()
    assert 2**9 <= Fraction(width) / found.step <= 2**30


@pytest.mark.parametrize(
    ("column", "constant", "found"),
    [(AGE, 3, 3), (AGE, Fraction(1, 2), Fraction(1, 2)), (WARD, "-2", -2), (WARD, "1", 1)],
)
def test_numbers_are_compared_with_numbers(column, constant, found) -> None:
    assert number_for(column, constant) == found


@pytest.mark.parametrize("constant", [True, "3", "x", date(2024, 1, 1), None])
def test_other_constants_are_no_numbers(constant) -> None:
    with pytest.raises(BadQuestionError):
        number_for(AGE, constant)


def test_texts_and_truths_are_compared_with_their_own_kind() -> None:
    assert (text_for(CITY, "Bern"), text_for(SEX, 1), truth_for(SMOKER, value=True)) == ("Bern", "1", True)
    for column, constant in ((CITY, 1), (SEX, True)):
        with pytest.raises(BadQuestionError):
            text_for(column, constant)
    with pytest.raises(BadQuestionError):
        truth_for(SMOKER, 1)


def test_labels_stand_for_values_exactly_or_else_in_any_case() -> None:
    assert called(WARD, "surgery") == (2,)
    assert called(WARD, "SURGERY") == (1, 2)
    assert called(WARD, "1") is None
    assert called(SEX, "F") is None
    with pytest.raises(BadQuestionError, match="no category of 'ward' is called 'x'"):
        called(WARD, "x")


@pytest.mark.parametrize(
    ("name", "written"), [("age", "age"), ("Patient Nr", '"Patient Nr"'), ('a"b', '"a""b"'), ("é", '"é"'), ("1", '"1"')]
)
def test_a_name_is_quoted_where_it_must_be(name, written) -> None:
    assert written_name(name) == written


def test_which_columns_hold_text() -> None:
    assert [holds_text(column) for column in (AGE, SEX, WARD, SMOKER, CITY)] == [False, True, False, False, True]


@given(st.fractions() | st.fractions(-(10**300), 10**300))
def test_the_nearest_double_is_the_nearest(number) -> None:
    found = nearest_double(number)
    for other in (math.nextafter(found, math.inf), math.nextafter(found, -math.inf)):
        assert math.isinf(other) or abs(Fraction(found) - number) <= abs(Fraction(other) - number)
