"""Publications over HTTP: the price before, one charge under a key, the same numbers again, and refusals."""

import pytest

import lapwing as lw
from doors.server.doors import P, code_of
from lapwing.noise.randomness import fresh_name

BODY = {
    "table": "patient",
    "columns": [
        {"by": "sex", "name": "sex"},
        {"by": "bins(age, 0, 18, 65, 120)", "name": "age"},
        {"by": "age >= 90", "name": "old"},
    ],
    "price": {"within": 60},
}


def preview(door, body=BODY, who="ana"):
    return door.call(who, "POST", f"{P}/publication-previews", body)


def publish(door, body=BODY, key=None, who="ana", **more):
    return door.call(who, "POST", f"{P}/publications", body, key=key or fresh_name(), **more)


def test_price_and_error_are_told_before_and_one_charge_brings_all_tables(door, budget) -> None:
    body = {**BODY, "price": {"within": 55}}
    before, told = door.left(), preview(door, body).json()
    assert [one["columns"] for one in told["sets"]] == [["sex", "age"], ["sex", "old"], ["age", "old"]]
    assert all(one["sd"] > 0 for one in told["sets"])
    assert (told["affordable"], told["stored"], told["stopped"]) == (True, False, None)
    assert told["price"]["rho" if budget.delta else budget.currency] is not None
    assert door.left() == before, "looking is free"
    made = publish(door, body, key="first-key").json()
    assert door.left() != before
    assert (made["price"], made["free"], made["means"]) == (told["price"], False, told["means"])
    assert [one["columns"] for one in made["tables"]] == [one["columns"] for one in told["sets"]]
    for table, said in zip(made["tables"], told["sets"], strict=True):
        assert table["sd"] == said["sd"]
        assert len(table["people"]) == len(table["low"]) == len(table["high"])
    assert made["codes"]["sex"] == ["F", "M", "other or missing"]
    paid = door.left()
    assert publish(door, body, key="first-key").json() == made, "the same key is the same publication"
    assert preview(door, body).json()["stored"]
    again = publish(door, body, key="second-key").json()
    assert (again["released"], again["free"]) == (made["released"], True)
    assert door.left() == paid
    assert door.get("ana", f"{P}/publications/first-key").json() == made
    assert door.get("ana", f"{P}/jobs/second-key").json()["outcome"]["released"] == made["released"]
    assert [one["key"] for one in door.get("ana", f"{P}/publications").json()] == ["second-key", "first-key"]
    assert door.get("ben", f"{P}/publications").json() == []
    assert door.get("ben", f"{P}/publications/first-key").status_code == 404


def test_the_numbers_are_those_of_python(door) -> None:
    made = publish(door, key="as-python").json()
    columns = {"sex": "sex", "age": lw.bins("age", [0, 18, 65, 120]), "old": lw.col("age") >= 90}
    with lw.open(door.folder, analyst="ana") as session:
        here = session.publish("patient", columns, within=60, key="as-python")
    assert made["released"] == [list(one) for one in here.released]
    assert made["tables"][0]["people"] == here["sex", "age"].values.ravel().tolist()


@pytest.mark.one_budget("it does not depend on what is paid with")
def test_what_python_paid_for_is_free_here(door) -> None:
    with lw.open(door.folder, analyst="ben") as session:
        here = session.publish("patient", ["sex"], "all columns", within=40)
    body = {"table": "patient", "columns": [{"by": "sex"}], "marginals": "all columns", "price": {"within": 40}}
    before, made = door.left("ben"), publish(door, body, who="ben").json()
    assert (made["free"], made["released"]) == (True, [list(one) for one in here.released])
    assert door.left("ben") == before


@pytest.mark.one_budget("it does not depend on what is paid with")
def test_counts_that_look_like_counts_say_so(door) -> None:
    made = publish(door, {**BODY, "non_negative": True, "whole": True}).json()
    assert "biased" in made["remark"]
    assert all(one >= 0 and one == int(one) for table in made["tables"] for one in table["people"])


@pytest.mark.one_budget("it does not depend on what is paid with")
def test_a_job_that_takes_longer_is_polled_for(door) -> None:
    body = {**BODY, "price": {"within": 52}}
    begun = publish(door, body, key="takes-longer", headers={"Prefer": "wait=0"})
    assert (begun.status_code, begun.headers["Location"]) == (202, f"{P}/jobs/takes-longer")
    made = publish(door, body, key="takes-longer").json()
    told = door.get("ana", f"{P}/jobs/takes-longer").json()
    assert (told["state"], told["outcome"]) == ("answered", made)


@pytest.mark.one_budget("it does not depend on what is paid with")
@pytest.mark.parametrize(
    ("change", "status", "says"),
    [
        ({"columns": [{"by": "sex"}, {"by": "age", "name": "age"}]}, 422, "name every column"),
        ({"columns": [{"by": "has(visit)", "name": "visits"}]}, 422, "visit"),
        ({"columns": [{"by": "shoe"}]}, 422, "shoe"),
        ({"columns": []}, 422, "columns"),
        ({"marginals": "all quadruples"}, 422, "all pairs"),
        ({"marginals": [["sex", "shoe"]]}, 422, "shoe"),
        ({"price": {"epsilon": "-1"}}, 422, "epsilon"),
        ({"means": ["0" * 64]}, 409, "another question, or another price"),
        ({"table": "patients"}, 422, "patient"),
    ],
)
def test_what_cannot_be_published_is_refused_in_a_sentence_for_nothing(door, change, status, says) -> None:
    before, body = door.left(), {**BODY, **change}
    made = publish(door, body)
    assert (made.status_code, says in made.json()["error"]["message"]) == (status, True), made.text
    assert door.left() == before


@pytest.mark.one_budget("it does not depend on what is paid with")
def test_a_key_of_another_request_is_a_conflict(door) -> None:
    assert publish(door, key="one-request").status_code == 200
    other = publish(door, {**BODY, "price": {"within": 70}}, key="one-request")
    assert (other.status_code, code_of(other)) == (409, "request_conflict")


def test_what_does_not_fit_the_account_is_refused_with_numbers(door, budget) -> None:
    before, body = door.left(), {**BODY, "price": budget.of(20)}
    assert not preview(door, body).json()["affordable"]
    made = publish(door, body, key="too-dear-1")
    assert (made.status_code, code_of(made)) == (402, "budget_exceeded"), made.text
    assert door.left() == before
    assert door.get("ana", f"{P}/jobs/too-dear-1").json()["state"] == "refused"


def test_rows_of_a_price_are_no_rows_of_a_table(door) -> None:
    before = door.left()
    for send in (preview, publish):
        told = send(door, {**BODY, "price": {"within": 60, "rows": 7965}})
        assert told.status_code == 422, told.text
        assert "price.rows is about means" in told.text
    assert door.left() == before
