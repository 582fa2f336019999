"""The form of new people: budgets of every kind, and the body that the operation takes."""

import msgspec
import pytest

from lapwing.doors.server.pages.new_population import _TERMS, _body, _budget, _likely_key
from lapwing.doors.server.pages.registering import TableForm
from lapwing.doors.server.wire import NewPopulationBody

PLACE = {"name": "t", "source": "file:t.csv", "inner": "", "schema": ""}


@pytest.mark.parametrize(
    ("currency", "budget"),
    [
        ("epsilon", {"epsilon": "2"}),
        ("delta", {"epsilon": "2", "delta": "1e-6"}),
        ("rho", {"rho": "2"}),
        ("gold", {"epsilon": "2"}),
    ],
)
def test_a_budget_of_each_kind(currency, budget) -> None:
    assert _budget({**_TERMS, "currency": currency, "amount": "2"}) == budget


def test_a_form_becomes_a_body_that_the_operation_takes() -> None:
    form = TableForm.new(PLACE, {"pid": "integer", "age": "integer"}, "pid")
    terms = {**_TERMS, "people": "guests", "members": "on", "groups_of": "2"}
    body = _body(form, terms)
    assert body["table"]["columns"] == {"age": {"type": "integer", "values": ""}}
    assert "person_key" not in body["table"]  # which is that of the population
    read = msgspec.convert(body, NewPopulationBody, strict=True)
    assert (read.person_key, read.adjacency, read.groups_of, read.unnamed_analysts) == ("pid", "add-remove", 2, False)
    assert msgspec.convert(_body(form, {**terms, "members": ""}), NewPopulationBody).unnamed_analysts


def test_the_first_column_that_looks_like_a_key_is_proposed() -> None:
    assert _likely_key({"age": None, "Patient_ID": None, "id": None}) == "Patient_ID"
    assert _likely_key({}) == ""
