"""What is computed from one column, looked for in texts or compared between two columns: refusals, words, patterns."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lapwing as ask
from engines.clinic import clinic
from lapwing.queries.algebra.pattern import canonical, fits, pieces
from lapwing.queries.algebra.words import words
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.errors import BadQuestionError

CLINIC = clinic()


def where(text, table="patients"):
    return plan(ask.count(table, text), CLINIC).aggregate.where


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lower(city) = 'Bern'", "lower(...) is never 'Bern'; write 'bern'"),
        ("upper(city) like 'b%'", "upper(...) is never 'b%'; write 'B%'"),
        ("lower(age) = 'a'", "lower(...) is for text, and 'age' holds none"),
        ("abs(city) = 3", "'city' cannot be computed with: it holds no numbers"),
        ("ward + 1 = 3", "'ward' cannot be computed with: its numbers are the names of categories"),
        ("sex like 'x%'", "'sex' has no category that fits; it has 'F', 'M', 'é'"),
        ("age like '3%'", "'age' holds no text"),
        ("city like '%a%b%c%d%'", "more than 3 pieces between its %"),
        ("city like '%a_b%'", "or a _ in one of them"),
        ("city like 'a\\%'", "say it: like '50\\%' escape"),
        ("city like 'a!b' escape '!'", "stands before %, _ or itself"),
        ("city like 'a' escape 'ab'", "is not one character"),
        ("cast(city as integer) = 3", "'city' holds text, and a cast to an integer could fail"),
        ("cast(bmi as integer) = 3", "write round(bmi) or floor(bmi)"),
        ("cast('x' as integer) = age", "'x' is not a number"),
        ("round(bmi, 99) = 3", "at most 20 places"),
        ("round(bmi, age) = 3", "the places that a number is rounded to are a whole number"),
        ("age = '3'", "'age' holds numbers, and '3' is text; write 3 without quotes"),
        ("age = city", "'age' and 'city' cannot be compared"),
        ("sex < city", "have no order that all databases agree on"),
        ("age = pid", "'pid' tells people apart"),
        ("age + ward = 3", "'ward' is a category, whose numbers are names"),
        ("lower(city) < 'a'", "has no order that all databases agree on"),
        ("1 = 'a'", "cannot be compared so"),
    ],
)
def test_a_refusal_says_what_to_write(text, said) -> None:
    with pytest.raises(BadQuestionError, match=re.escape(said)):
        where(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("city like 'a%'", "city starts with 'a'"),
        ("city not like '%a'", "city does not end with 'a'"),
        ("contains(city, 'a') or city like 'b_%'", "city contains 'a' or is like 'b_%'"),
        ("city ilike '%a%'", "city contains 'a', in capital or small letters"),
        ("city ilike 'Łódź%'", "city starts with 'Łódź', in capital or small letters A to Z"),
        ("lower(trim(city)) = 'a'", "city is 'a', in capital or small letters, blanks around it left out"),
        ("age > ward", "age is above ward"),
        ("city <> sex", "city is not equal to sex"),
        ("has(visits, nights <= patients.age)", "where (nights is at most the outer row's age)"),
        ("sex <> 'M'", "sex is known and not 'M'"),
        ("sex not in ('F', 'M')", "sex is neither 'F' nor 'M'"),
        ("has(visits, day - patients.born >= 1)", "it is at least 1 day)"),
        ("has(visits, day - patients.born >= 2)", "it is at least 2 days)"),
        ("has(visits, age(patients.born, day) = 1)", "it is 1 completed year)"),
    ],
)
def test_a_condition_is_told_in_plain_english(text, said) -> None:
    assert words(where(text)).endswith(said)


def test_a_category_may_be_written_as_a_number_or_in_quotes() -> None:
    assert where("ward = '2'") == where("ward = 2")
    assert where("ward in ('1', 3)") == where("ward in (1, 3)")
    with pytest.raises(BadQuestionError, match="has no category 9"):
        where("ward = '9'")


def test_a_category_of_numbers_is_not_told_to_hold_none() -> None:
    with pytest.raises(BadQuestionError, match="'ward' is a category, whose numbers are names"):
        plan(ask.correlation("patients", "age", "ward"), CLINIC)


SIGNS = st.text(alphabet="ab%_", max_size=7)


@given(SIGNS, st.text(alphabet="ab", max_size=8))
def test_a_text_fits_a_pattern_if_and_only_if_it_fits_its_regular_expression(pattern, text) -> None:
    read = canonical(pattern, None)
    try:
        pieces(read)
    except BadQuestionError:
        return
    regex = "".join({"%": ".*", "_": "."}.get(sign, sign) for sign in pattern)
    assert fits(read, text) is (re.fullmatch(regex, text) is not None)


def test_a_pattern_takes_time_in_proportion_to_the_text() -> None:
    # A database that tried all ways to fit it would need some 10^18 steps.
    assert not fits("%a%a%a%b", "a" * 1_000_000)
