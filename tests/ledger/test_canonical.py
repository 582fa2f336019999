"""One text for one record, and names that every database can hold."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.ledger.canonical import canonical, digest, name, parse, text
from lapwing.vocabulary.errors import ParameterError

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(texts, values, max_size=4))
def test_a_record_is_read_back_as_it_was_and_written_the_same_again(record) -> None:
    written = canonical(record)
    assert written.isascii()
    assert parse(written) == record
    assert canonical(json.loads(written)) == written


@given(st.permutations(["a", "b", "c", "d"]))
def test_the_order_of_keys_does_not_matter(order) -> None:
    assert digest(dict.fromkeys(order, 1)) == digest({"a": 1, "b": 1, "c": 1, "d": 1})


@pytest.mark.parametrize("record", ['{"a":1.5}', '{"a":1e3}', '{"a":NaN}', '{"a":-Infinity}'])
def test_a_floating_point_number_is_refused(record) -> None:
    with pytest.raises(ValueError, match="no floating-point number"):
        parse(record)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal(1), b"x", {1, 2}])
def test_what_is_no_json_is_never_written(value) -> None:
    with pytest.raises((ValueError, TypeError)):
        canonical({"a": value})


@pytest.mark.parametrize("given", ["clinic", "St. Mary's, ward 3", "école", "診療所", "a" * 200])
def test_a_name_is_what_people_would_call_a_thing(given) -> None:
    assert name("population", given) == given


@pytest.mark.parametrize(
    "given",
    ["", " ", " x", "x\n", "a\0b", "a" * 201, "e\u0301cole", "x\u200by\u202e", "\ud800", None, 7, b"clinic"],
    ids=repr,
)
def test_other_names_are_refused(given) -> None:
    with pytest.raises(ParameterError, match="is no name"):
        name("population", given)


@pytest.mark.parametrize("given", ["a\0b", "\ud800", 7, None, "x" * (1 << 24) + "x"], ids=lambda given: repr(given)[:9])
def test_text_that_some_database_cannot_hold_is_refused(given) -> None:
    with pytest.raises(ParameterError):
        text("answer", given)


def test_any_other_text_is_taken_as_it_is() -> None:
    assert text("answer", "\t\r\n\x01 é 診 \U0001f600") == "\t\r\n\x01 é 診 \U0001f600"
