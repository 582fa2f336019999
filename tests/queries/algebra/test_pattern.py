"""Which texts fit a pattern of LIKE: against a regular expression, and what is refused."""

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.queries.algebra.pattern import MOST_PIECES, canonical, fits, pieces, plain, read_as
from lapwing.vocabulary.errors import BadQuestionError

TEXTS = ["".join(signs) for length in range(5) for signs in product("ab%", repeat=length)]


def as_regex(pattern: str) -> re.Pattern[str]:
    """Return what a canonical pattern means, sign by sign."""
    written, signs = "", iter(pattern)
    for sign in signs:
        written += re.escape(next(signs)) if sign == "\\" else {"%": ".*", "_": "."}.get(sign, re.escape(sign))
    return re.compile(written, re.DOTALL)


@pytest.mark.parametrize("pattern", ["".join(signs) for n in range(6) for signs in product("ab%_", repeat=n)][:1365:7])
def test_it_fits_what_the_regular_expression_matches(pattern) -> None:
    found = canonical(pattern, None)
    try:
        pieces(found)
    except BadQuestionError:
        middle = found.split("%")[1:-1]
        assert len(middle) > MOST_PIECES or any("_" in piece for piece in middle)
        return
    regex = as_regex(found)
    assert [text for text in TEXTS if fits(found, text)] == [text for text in TEXTS if regex.fullmatch(text)]


@given(st.text(max_size=8), st.text(max_size=8))
def test_only_the_text_itself_fits_its_plain_pattern(text, other) -> None:
    assert fits(plain(text), text)
    assert fits(plain(text), other) is (text == other)
    assert pieces(plain(text)).exact == text


@given(st.lists(st.tuples(st.sampled_from("ab%_"), st.booleans())))
def test_another_escape_is_written_as_a_backslash(signs) -> None:
    escaped = [(sign, marked and sign in "%_") for sign, marked in signs]
    one, other = ("".join(mark * marked + sign for sign, marked in escaped) for mark in ("!", "\\"))
    assert canonical(one, "!") == canonical(other, "\\")


@pytest.mark.parametrize(
    ("pattern", "escape", "said"),
    [
        ("a\\%", None, "databases differ in what a backslash means"),
        ("a!b", "!", "stands before %, _ or itself"),
        ("a!", "!", "stands before %, _ or itself"),
    ],
)
def test_what_databases_read_differently_is_refused(pattern, escape, said) -> None:
    with pytest.raises(BadQuestionError, match=re.escape(said)):
        canonical(pattern, escape)


def test_percents_beside_each_other_are_one() -> None:
    assert canonical("%%a%%%b%%", None) == "%a%b%"


def test_letters_outside_of_a_to_z_keep_their_case() -> None:
    assert read_as("ÉA ", any_case=True, trimmed=False) == "Éa "
    assert read_as(" \ta ", any_case=False, trimmed=True) == "\ta"
