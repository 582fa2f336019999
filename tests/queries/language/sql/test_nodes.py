"""The small pieces of SQL text: nothing that the parser understood is left unread, and texts have their limits."""

from fractions import Fraction

import pytest
from sqlglot import exp

from lapwing.queries.language.expressions import Arithmetic, Literal, Name
from lapwing.queries.language.parts import shape
from lapwing.queries.language.sql.nodes import (
    as_written,
    chain,
    check_all_read,
    divisor,
    identifier,
    literal,
    name_of,
    negative,
    only,
    parsed,
    split_at_and,
)
from lapwing.queries.limits import LONGEST_TEXT, MOST_BRACKETS, MOST_TOKENS
from lapwing.vocabulary.errors import BadQuestionError


def node(text):
    return parsed(text, exp.Condition)


def test_an_argument_that_nobody_allowed_is_refused() -> None:
    window = node("count(*) filter (where x > 1)")
    with pytest.raises(BadQuestionError):
        only(window, "this")
    only(window, "this", "expression")


def test_a_part_that_nobody_read_is_refused() -> None:
    tree = node("a + b")
    only(tree, "this", "expression")
    with pytest.raises(BadQuestionError):
        check_all_read(tree)
    for side in (tree.this, tree.expression):
        name_of(side)
    check_all_read(tree)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a = 1 and b = 2", ["a = 1", "b = 2"]),
        ("a between 1 and 2 and b = 3", ["a between 1 and 2", "b = 3"]),
        ("(a = 1 and b = 2) and c = 3", ["(a = 1 and b = 2)", "c = 3"]),
        ("a = 1 or b = 2 and c = 3", ["a = 1 or b = 2 and c = 3"]),
        ("a = ' and ' and b = 2", ["a = ' and '", "b = 2"]),
        ("case when a and b then 1 end = 1 and c", ["case when a and b then 1 end = 1", "c"]),
    ],
)
def test_a_text_is_cut_at_its_outermost_and(text, parts) -> None:
    found = split_at_and(text)
    assert [part.strip() for part in found] in ([*parts], [text])
    whole = chain(node(text)) if isinstance(node(text), exp.And) else [node(text)]
    assert len(found) in {1, len(whole)}


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("1.50", Fraction(3, 2)), ("'a''b'", "a'b"), ("true", True), ("null", None), ("1e3", 1000)],
)
def test_constants_are_exact(text, value) -> None:
    assert literal(node(text)).value == value


def test_what_is_divided_by_is_a_constant_other_than_zero() -> None:
    assert divisor(node("a / 4")) == 4
    assert divisor(node("a / -0.5")) == Fraction(-1, 2)
    for text in ("a / 0", "a / b"):
        with pytest.raises(BadQuestionError):
            divisor(node(text))


def test_names_keep_their_letters_and_their_tables() -> None:
    assert shape(name_of(node("p.Age"))) == shape(Name("Age", "p"))
    assert shape(name_of(node('"date of birth"'))) == shape(Name("date of birth"))
    assert identifier(node("x").this) == "x"


def test_the_negative_of_a_constant_is_one() -> None:
    assert shape(negative(Literal(3))) == shape(Literal(-3))
    assert shape(negative(Name("x"))) == shape(Arithmetic("-", Literal(0), Name("x")))


@pytest.mark.parametrize(
    "text",
    ["a = 1;", "a = 1; b = 2", "a = ", "", "x" * (LONGEST_TEXT + 1), "(" * (MOST_BRACKETS + 1) + "a" + ")" * 21],
    ids=range(6),
)
def test_what_is_no_condition_or_too_much_of_one_is_refused(text) -> None:
    if text == "a = 1;":
        assert isinstance(node(text), exp.EQ)
        return
    with pytest.raises(BadQuestionError):
        node(text)


def test_too_many_words_are_refused_before_they_are_parsed() -> None:
    with pytest.raises(BadQuestionError, match=f"{MOST_TOKENS:,}|{MOST_TOKENS}"):
        node("(" + "a," * MOST_TOKENS + "a)")


def test_the_items_of_a_select_are_kept_as_they_are_written() -> None:
    assert as_written("select  Sex , count( * )  from patients") == ["Sex", "count( * )"]
