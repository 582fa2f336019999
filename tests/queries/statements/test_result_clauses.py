"""ORDER BY, LIMIT, HAVING and arithmetic with answers: each clause by itself, read from its node."""

from fractions import Fraction

import pytest
from sqlglot import exp, parse_one

from lapwing.queries.language.sql.clauses import items_of
from lapwing.queries.language.sql.nodes import parsed
from lapwing.queries.language.sql.reader import Reader
from lapwing.queries.planning.presentation import Kept
from lapwing.queries.planning.windows import Sorting
from lapwing.queries.statements.result_clauses import (
    AnswerColumn,
    combined,
    read_arrangement,
    scaled_inside,
    scaled_weights,
)
from lapwing.vocabulary.errors import BadQuestionError, ParameterError

HALF, ONE, TWO = Fraction(1, 2), Fraction(1), Fraction(2)


def arranged(clauses: str):
    """Return how the answer of a SELECT of a key and a number with these clauses is shown."""
    select = parsed(f"select sex s, count(*) n from patients group by sex {clauses}")  # noqa: S608 - no text of anybody else
    items = items_of(select)
    told = [AnswerColumn(items[0], 0, "s", "s"), AnswerColumn(items[1], "n", "n")]
    return read_arrangement(select, Reader({}), items, told)


@pytest.mark.parametrize(
    ("clause", "order"),
    [
        ("order by n", (Sorting("n", "n"),)),
        ("order by 2 desc", (Sorting("n", "n", falling=True),)),
        ("order by count(*) desc", (Sorting("n", "n", falling=True),)),
        ("order by s nulls first, n", (Sorting(0, "s", missing_first=True), Sorting("n", "n"))),
        ("order by all desc", (Sorting(0, "s", falling=True), Sorting("n", "n", falling=True))),
        ("", ()),
    ],
)
def test_an_order_names_what_the_select_tells(clause, order) -> None:
    found = arranged(clause).order
    assert [(one.by, one.name, one.falling) for one in found] == [(one.by, one.name, one.falling) for one in order]
    assert all(one.missing_first for one, other in zip(found, order, strict=True) if other.missing_first)


@pytest.mark.parametrize(
    ("clause", "first", "skipped"),
    [
        ("", None, 0),
        ("limit 3", 3, 0),
        ("limit 3 offset 2", 3, 2),
        ("fetch first 4 rows only", 4, 0),
        ("fetch first row only", 1, 0),
        ("limit 0", 0, 0),
    ],
)
def test_how_many_rows_are_shown_and_how_many_are_left_out_before(clause, first, skipped) -> None:
    assert (arranged(clause).first, arranged(clause).skipped) == (first, skipped)


@pytest.mark.parametrize("clause", ["limit -1", "limit 1.5"])
def test_a_limit_is_a_whole_number_from_zero_on(clause) -> None:
    with pytest.raises(ParameterError, match="limit"):
        arranged(clause)


@pytest.mark.parametrize(
    ("clause", "kept"),
    [
        ("having count(*) >= 20", [Kept("n", "n", ">=", 20)]),
        ("having 20 < n", [Kept("n", "n", ">", 20)]),
        ("having n between 3 and 5", [Kept("n", "n", ">=", 3), Kept("n", "n", "<=", 5)]),
        ("having n > 3 and s <> 'F'", [Kept("n", "n", ">", 3), Kept(0, "s", "<>", "F")]),
    ],
)
def test_having_compares_what_is_told_with_constants(clause, kept) -> None:
    assert list(arranged(clause).having) == kept


@pytest.mark.parametrize(
    ("clause", "said"),
    [
        ("having n > 3 or n < 2", "joined by and; write having count"),
        ("having n > s", "HAVING compares with a constant"),
        ("having n = true", "HAVING compares with a constant"),
        ("having sum(age) > 3", "HAVING sees released numbers only"),
        ("order by avg(age)", "ORDER BY sees released numbers only"),
    ],
)
def test_what_is_not_told_cannot_choose_rows(clause, said) -> None:
    with pytest.raises(BadQuestionError, match=said):
        arranged(clause)


def test_a_key_keeps_the_name_that_the_select_gave_it() -> None:
    assert arranged("").names == ("s",)


NUMBER, A, B, SHARE = ({"": TWO}, {}), ({"a": ONE}, {}), ({"b": ONE}, {}), ({"a": ONE}, {"b": ONE})


@pytest.mark.parametrize(
    ("kind", "left", "right", "found"),
    [
        (exp.Mul, A, NUMBER, ({"a": TWO}, {})),
        (exp.Mul, NUMBER, SHARE, ({"a": TWO}, {"b": ONE})),
        (exp.Div, A, NUMBER, ({"a": HALF}, {})),
        (exp.Div, A, B, SHARE),
        (exp.Add, A, B, ({"a": ONE, "b": ONE}, {})),
        (exp.Sub, A, B, ({"a": ONE, "b": -ONE}, {})),
        (exp.Sub, A, A, ({"a": 0}, {})),
        (exp.Sub, SHARE, NUMBER, ({"a": ONE, "b": -TWO}, {"b": ONE})),
        (exp.Sub, NUMBER, SHARE, ({"b": TWO, "a": -ONE}, {"b": ONE})),
        (exp.Add, NUMBER, NUMBER, ({"": 4}, {})),
    ],
)
def test_two_parts_make_weights_above_and_below_one_line(kind, left, right, found) -> None:
    assert combined(kind, left, right) == found


@pytest.mark.parametrize(
    ("kind", "left", "right"),
    [
        (exp.Mul, A, B),
        (exp.Div, SHARE, B),
        (exp.Div, A, SHARE),
        (exp.Div, NUMBER, SHARE),
        (exp.Div, A, ({"": Fraction(0)}, {})),
        (exp.Add, SHARE, A),
    ],
)
def test_products_of_answers_quotients_of_quotients_and_zero_below_are_refused(kind, left, right) -> None:
    with pytest.raises(BadQuestionError, match="one is divided by another; compute the rest"):
        combined(kind, left, right)


def test_all_weights_are_scaled() -> None:
    assert scaled_weights({"a": ONE, "": TWO}, -3) == {"a": -3, "": -6}


@pytest.mark.parametrize(
    ("text", "outside"),
    [
        ("avg(x / 100)", "avg(x) / 100"),
        ("sum((x / 3))", "sum(x) / 3"),
        ("avg(0.1 * x)", "avg(x) / 10"),
        ("avg(1.6 * x - 3)", "avg(x * 8 - 3 * 5) / 5"),
        ("avg(x + (y - x) / 3.0)", "avg(x * 3 + (y - x)) / 3"),
        ("sum(power(x / 1.75, 2))", "sum(power(x, 2)) * 16 / 49"),
        ("avg(x / 4 + y)", None),
        ("avg(x * 2)", None),  # a multiple on the grid
        ("avg(x * 0.25)", None),
        ("avg(x + 1)", None),
        ("avg(100 / x)", None),
        ("avg(x / y)", None),
        ("max(x / 100)", None),
    ],
)
def test_a_value_is_scaled_outside_where_rows_would_be_rounded(text, outside) -> None:
    found = scaled_inside(parse_one(text))
    assert (None if found is None else found.sql().lower()) == outside
