"""Synthetic tables over HTTP: the price before, one charge under a key, stages as a job, rows again and again."""

import csv

import pytest

import lapwing as lw
from doors.server.doors import P, code_of
from lapwing.noise.randomness import fresh_name

BODY = {
    "table": "patient",
    "columns": [{"by": "sex", "name": "sex"}, {"by": "bins(age, 0, 18, 65, 120)", "name": "age"}],
    "price": {"within": 60},
}


def synthesize(door, body=BODY, key=None, who="ana", **more):
    return door.call(who, "POST", f"{P}/syntheses", body, key=key or fresh_name(), **more)


def test_a_table_is_charged_once_and_its_rows_are_free(door) -> None:
    before = door.left()
    told = door.call("ana", "POST", f"{P}/synthesis-previews", BODY).json()
    assert (told["affordable"], told["stored"], told["pairs"]) == (True, False, 1)
    assert door.left() == before
    made = synthesize(door, key="first-key").json()
    paid = door.left()
    assert paid != before
    assert (made["price"], made["means"], made["free"]) == (told["price"], told["means"], False)
    assert made["quality"]["columns"] == ["sex", "age"]
    assert [one["column"] for one in made["quality"]["ones"]] == ["sex", "age"]
    assert synthesize(door, key="first-key").json() == made
    assert door.call("ana", "POST", f"{P}/synthesis-previews", BODY).json()["stored"]
    again = synthesize(door, key="second-key").json()
    assert (again["released"], again["model"], again["free"]) == (made["released"], made["model"], True)
    place = f"{P}/syntheses/first-key"
    assert door.get("ana", place).json() == {**made, "certificates": []}
    rows = [door.get("ana", f"{place}/rows{words}").text for words in ("?rows=50", "?rows=50", "?rows=50&seed=7")]
    assert rows[0] == rows[1] != rows[2]
    read = list(csv.DictReader(rows[0].splitlines()))
    assert (len(read), read[0].keys()) == (50, {"sex", "age"})
    weighted = list(csv.DictReader(door.get("ana", f"{place}/rows?weights=1").text.splitlines()))
    assert sum(float(one["weight"]) for one in weighted) == pytest.approx(made["people"], abs=1)
    assert door.left() == paid
    assert [one["key"] for one in door.get("ana", f"{P}/syntheses").json()] == ["second-key", "first-key"]
    for path in (place, f"{place}/rows"):
        assert door.get("ben", path).status_code == 404


@pytest.mark.one_budget("it does not depend on what is paid with")
def test_the_table_is_that_of_python(door) -> None:
    columns = {"sex": "sex", "age": lw.bins("age", [0, 18, 65, 120])}
    made = synthesize(door, {**BODY, "price": {"within": 65}}, key="as-python").json()
    with lw.open(door.folder, analyst="ana") as session:
        here = session.synthesize("patient", columns, within=65, key="as-python")
        frame = here.rows(40, labels=True).to_rows()
    assert made["model"] == here.model.digest
    told = csv.DictReader(door.get("ana", f"{P}/syntheses/as-python/rows?rows=40").text.splitlines())
    assert [dict(one) for one in told] == [dict(one) for one in frame]


def test_one_number_certifies_all_boxes_of_a_table(door) -> None:
    synthesize(door, {**BODY, "price": {"within": 75}}, key="to-certify")
    place, before = f"{P}/syntheses/to-certify", door.left()
    told = door.call("ana", "POST", f"{place}/certificate-previews", {"epsilon": "0.5", "up_to": 2}).json()
    assert (told["affordable"], told["boxes"] > 10) == (True, True)
    assert door.left() == before
    made = door.call("ana", "POST", f"{place}/certificates", {"epsilon": "0.5", "up_to": 2}, key="certificate-1").json()
    paid = door.left()
    assert (paid != before, made["boxes"], made["bounds"].keys()) == (True, told["boxes"], {"1"})
    again = door.call("ana", "POST", f"{place}/certificates", {"epsilon": "0.5", "up_to": 2}, key="certificate-1")
    assert (again.json(), door.left()) == (made, paid)
    assert door.get("ana", place).json()["certificates"] == [made]
    assert door.get("ana", f"{P}/jobs/certificate-1").json()["outcome"] == made
    for who, path in (("ben", "to-certify"), ("ana", "absent-1234")):
        told = door.call(who, "POST", f"{P}/syntheses/{path}/certificates", {"epsilon": "0.5"}, key=fresh_name())
        assert told.status_code == 404
    refused = door.call("ana", "POST", f"{place}/certificates", {"epsilon": "0"}, key=fresh_name())
    assert (refused.status_code, door.left()) == (422, paid)


@pytest.mark.one_budget("it does not depend on what is paid with")
def test_stages_are_a_job_that_is_polled_for(door) -> None:
    body = {**BODY, "price": {"within": 70}}
    begun = synthesize(door, body, key="takes-longer", headers={"Prefer": "wait=0"})
    assert (begun.status_code, begun.headers["Location"]) == (202, f"{P}/jobs/takes-longer")
    made = synthesize(door, body, key="takes-longer").json()
    told = door.get("ana", f"{P}/jobs/takes-longer").json()
    assert (told["state"], told["outcome"]) == ("answered", made)
    assert told["progress"]["done"] <= told["progress"]["of"]


@pytest.mark.one_budget("what is wrong with the words is wrong under every kind")
@pytest.mark.parametrize(
    ("change", "status", "says"),
    [
        ({"columns": [{"by": "shoe"}]}, 422, "shoe"),
        ({"columns": []}, 422, "columns"),
        ({"up_to": 4}, 422, "up_to"),
        ({"planned_for": "all"}, 422, "planned_for"),
        ({"price": {"within": "-1"}}, 422, "within"),
        ({"means": ["0" * 64]}, 409, "another question, or another price"),
        ({"price": {"rho": "0.01"}}, 422, "pure budget"),
    ],
)
def test_what_cannot_be_made_is_refused_in_a_sentence_for_nothing(door, change, status, says) -> None:
    before, made = door.left(), synthesize(door, {**BODY, **change})
    assert (made.status_code, says in made.json()["error"]["message"]) == (status, True), made.text
    assert door.left() == before


def test_what_does_not_fit_the_account_is_refused(door, budget) -> None:
    before = door.left()
    made = synthesize(door, {**BODY, "price": budget.of(20)}, key="too-dear-1")
    assert (made.status_code, code_of(made)) == (402, "budget_exceeded"), made.text
    assert door.left() == before
