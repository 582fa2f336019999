"""Names and texts that every database can hold."""

import pytest

from lapwing.ledger.entries import name, text
from lapwing.vocabulary.errors import ParameterError


@pytest.mark.parametrize("given", ["clinic", "St. Mary's, ward 3", "école", "診療所", "a" * 200])
def test_a_name_is_what_people_would_call_a_thing(given) -> None:
    assert name("population", given) == given


@pytest.mark.parametrize(
    "given",
    ["", " ", " x", "x\n", "a\0b", "a" * 201, "e\u0301cole", "x\u200by\u202e", "\ud800", None, 7, b"clinic"],
    ids=repr,
)
def test_other_names_are_refused(given) -> None:
    with pytest.raises(ParameterError, match="is not a name"):
        name("population", given)


@pytest.mark.parametrize("given", ["a\0b", "\ud800", 7, None, "x" * (1 << 24) + "x"], ids=lambda given: repr(given)[:9])
def test_text_that_some_database_cannot_hold_is_refused(given) -> None:
    with pytest.raises(ParameterError):
        text("answer", given)


def test_any_other_text_is_taken_as_it_is() -> None:
    assert text("answer", "\t\r\n\x01 é 診 \U0001f600") == "\t\r\n\x01 é 診 \U0001f600"
