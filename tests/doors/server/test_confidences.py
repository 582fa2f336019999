"""Confidences over HTTP, under every kind of budget: each that is taken has an answer, others cost nothing."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import lapwing as lw
from doors.server.doors import P, serving
from lapwing.noise.randomness import fresh_name
from postgres_server import where_there_is_room

SETTINGS = """
[populations.clinic]
person_key = "patient_id"
budget = {budget}
[populations.clinic.analysts]
ana = {budget}
[populations.clinic.tables.patient]
source = "patient.csv"
[populations.clinic.tables.patient.columns]
age = {{ type = "integer", low = 0, high = 120 }}
weight = {{ type = "real", low = 0, high = 200, step = "0.5" }}
"""
BUDGETS = {
    "pure": ('{ epsilon = "1000" }', {"epsilon": "0.5"}),
    "approximate": ('{ epsilon = "1000", delta = "1e-6" }', {"epsilon": "0.5"}),
    "concentrated": ('{ rho = "1000" }', {"rho": "0.05"}),
}
QUESTIONS = {
    "variance": {"ask": "variance", "table": "patient", "of": "age"},
    "correlation": {"ask": "correlation", "table": "patient", "x": "age", "y": "weight"},
    "sql": {"ask": "sql", "text": "select sum(age) / count(*) as q, var_pop(age) as v from patient"},
}


@pytest.fixture(scope="module", params=BUDGETS)
def priced(request):
    budget, price = BUDGETS[request.param]
    with TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as place:
        rows = "".join(f"{i},{i * 7 % 100},{50 + i * 7 % 60}\n" for i in range(1, 401))
        (Path(place) / "patient.csv").write_text(f"patient_id,age,weight\n{rows}")
        lw.create(place, SETTINGS.format(budget=budget)).close()
        with serving(Path(place)) as door:
            yield door, price


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_is_answered_at_every_confidence(priced, name) -> None:
    door, price = priced
    for confidence in ("1e-9", "0.001", "0.05", "0.07", "0.1", "0.5", "0.95", "0.999999999"):
        body = {"question": QUESTIONS[name], "price": {**price, "confidence": confidence}}
        for operation, key in (("previews", None), ("rehearsals", None), ("questions", fresh_name())):
            told = door.call("ana", "POST", f"{P}/{operation}", body, key=key)
            assert told.status_code == 200, told.text


@pytest.mark.parametrize("confidence", ["0", "1", "2", "-1", "nan", "1e-400", "0.9999999999", "0." + 90 * "9"])
def test_a_confidence_that_cannot_be_computed_is_refused_before_the_charge(priced, confidence) -> None:
    door, price = priced
    before = door.get("ana", f"{P}/budget").json()
    body = {"question": {**QUESTIONS["variance"], "where": "age > 9"}, "price": {**price, "confidence": confidence}}
    for operation, key in (("previews", None), ("rehearsals", None), ("questions", fresh_name())):
        told = door.call("ana", "POST", f"{P}/{operation}", body, key=key)
        assert told.status_code == 422, told.text
        assert "confidence" in told.text
    assert door.get("ana", f"{P}/budget").json() == before
