"""A request says who asks what, in words that every database can store, before anything is charged."""

from dataclasses import replace

import pytest

from lapwing.vocabulary.errors import ParameterError
from ledger.clinic import REQUEST


@pytest.mark.parametrize("field", ["analyst", "key", "question"])
@pytest.mark.parametrize("given", ["a\0b", "\ud800", 3, None], ids=["NUL", "half a pair", "number", "nothing"])
def test_a_request_that_no_ledger_can_hold_is_refused(field, given) -> None:
    with pytest.raises(ParameterError, match=field):
        replace(REQUEST, **{field: given})


def test_a_request_is_charged_by_a_charge_of_a_question() -> None:
    with pytest.raises(ParameterError, match="charge"):
        replace(REQUEST, charge="nothing")
