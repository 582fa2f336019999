"""Budgets of every kind, allowances and rules look the same at a distance."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import lapwing as lw
from doors.server.doors import serving
from lapwing import errors
from lapwing.vocabulary.guarantee import PureDP
from postgres_server import where_there_is_room

SETTINGS = """
[populations.clinic]
person_key = "patient_id"
budget = {budget}
[populations.clinic.analysts]
ana = {allowance}
ben = {own}
[populations.clinic.tables.patient]
source = "patient.csv"
[populations.clinic.tables.patient.columns]
age = {{ type = "integer", low = 0, high = 120 }}
city = {{ type = "text" }}
"""
BUDGETS = {
    "epsilon": {
        "budget": '{ epsilon = "3" }',
        "allowance": '{ epsilon = "2.5" }',
        "own": '{ epsilon = "2", most = { epsilon = "1" } }',
    },
    "delta": {
        "budget": '{ epsilon = "3", delta = "1e-6" }',
        "allowance": '{ epsilon = "2.5", delta = "5e-7" }',
        "own": '{ epsilon = "2", delta = "1e-7", most = { epsilon = "1" } }',
    },
    "rho": {
        "budget": '{ rho = "0.5" }',
        "allowance": '{ rho = "0.25" }',
        "own": '{ rho = "0.25", most = { rho = "0.005" } }',
    },
}


@pytest.fixture(scope="module")
def both(budget):
    """Return the same session twice, here and there, and who serves it."""
    with TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as place:
        rows = "".join(f"{i},{i % 100},{('Bern', 'Basel')[i % 7 == 0]}\n" for i in range(1, 401))
        (Path(place) / "patient.csv").write_text(f"patient_id,age,city\n{rows}")
        lw.create(place, SETTINGS.format(**BUDGETS[budget.name])).close()
        with (
            serving(Path(place)) as door,
            lw.open(place, analyst="ana") as here,
            lw.connect(door.url, door.tokens["ana"]) as there,
        ):
            yield place, here, there, door


PRICES = {"pure": {"epsilon": "0.2"}, "within": {"within": 20}, "rho": {"rho": "0.02"}}


@pytest.mark.parametrize("price", PRICES)
def test_each_way_to_pay_is_the_same(both, price) -> None:
    _, here, there, _ = both
    question = lw.count("patient", "age > 50")
    if price == "rho" and isinstance(here.budget().account.budget, PureDP):
        for session in (here, there):
            with pytest.raises(errors.ParameterError, match="cannot be paid from a pure budget"):
                session.preview(question, **PRICES[price])
        return
    ours, theirs = (session.preview(question, **PRICES[price]) for session in (here, there))
    assert (theirs.to_dict(), str(theirs)) == (ours.to_dict(), str(ours))
    assert theirs.before.allowance == ours.before.allowance is not None
    told = there.ask(question, **PRICES[price])
    assert here.ask(question, **PRICES[price]).to_dict() == {**told.to_dict(), "free": True}
    assert there.budget().to_dict() == here.budget().to_dict()


def test_groups_that_only_the_data_knows_come_back_as_they_are(both) -> None:
    _, here, there, _ = both
    question, price = lw.count("patient", by="city"), {"epsilon": "0.2", "delta": "1e-9"}
    told = []
    for session in (there, here):
        try:
            answer = session.ask(question, **price)
            told.append((answer.to_rows(), answer["city"]))
        except errors.BadQuestionError as refused:  # rho has no delta
            told.append((str(refused), ["Bern"]))
    assert told[0] == told[1]
    assert "Bern" in told[0][1]


def test_rules_and_a_stop_are_the_same_refusals(both) -> None:
    folder, _, _, door = both
    question, place = lw.count("patient", "age > 60"), "/api/v1/populations/clinic/suspension"
    with lw.open(folder, analyst="ben") as here, lw.connect(door.url, door.tokens["ben"]) as there:
        refused = [_refused(session, question, errors.PolicyError, "not allowed") for session in (here, there)]
        assert refused[0] == refused[1]
        assert door.call("cleo", "POST", place, {"suspended": True}).status_code == 200
        refused = [_refused(session, question, errors.SuspendedError, "suspended") for session in (here, there)]
        assert refused[0] == refused[1]
        assert there.budget().warnings == here.budget().warnings != ()
    assert door.call("cleo", "POST", place, {"suspended": False}).status_code == 200


def test_an_accuracy_is_paid_in_the_way_that_the_rules_allow(both) -> None:
    """Of an (epsilon, delta) budget noise of Gauss is cheaper, and where epsilon 1 is the most it is not allowed."""
    folder, _, _, door = both
    body = {"question": {"ask": "count", "table": "patient", "where": "age > 72"}, "price": {"within": 30}}
    told = door.call("ben", "POST", "/api/v1/populations/clinic/previews", body).json()
    with lw.open(folder, analyst="ben") as here, lw.connect(door.url, door.tokens["ben"]) as there:
        for session, age in ((here, 70), (there, 71)):
            question = lw.count("patient", f"age > {age}")
            preview = session.preview(question, within=30)
            answered = told["price"] == preview.price.to_dict()
            assert (preview.affordable, told["affordable"], answered) == (told["affordable"], preview.affordable, True)
            if preview.affordable:
                assert session.ask(question, within=30).price == preview.price
            else:  # rho 0.01 buys no count within 30
                with pytest.raises(errors.PolicyError):
                    session.ask(question, within=30)


def _refused(session, question, kind, word):
    assert repr(session.preview(question, epsilon="1.5")).endswith(f"{word}>")
    with pytest.raises(kind) as refused:
        session.ask(question, epsilon="1.5")
    return refused.value.to_dict()
