"""Explorers over HTTP: the price before, one opening under a key, free counts, consent before a paid one, the end."""

import pytest

from doors.server.doors import P, code_of, make_folder, serving
from lapwing.noise.randomness import fresh_name

SURE = "0.99999999"
"""So that no interval misses what it is about by chance."""
COLUMNS = [{"by": "sex", "name": "sex"}, {"by": "bins(age, 0, 20, 40, 60, 80, 120)", "name": "age"}]


@pytest.fixture(scope="module")
def body(budget):
    price = {"epsilon": "2", "delta": "1e-7"} if budget.delta else budget.of("1")
    return {"table": "patient", "columns": COLUMNS, **price, "questions": 100}


@pytest.fixture(scope="module")
def opened(door, body):
    told = door.call("ana", "POST", f"{P}/explorers", body, key="the-explorer")
    assert told.status_code == 200, told.text
    return told.json()


def ask(door, wheres, what="counts", key=None, **more):
    path = f"{P}/explorers/the-explorer/{what}"
    return door.call("ana", "POST", path, {"wheres": wheres, **more}, key=key or fresh_name())


def test_the_price_is_divided_before_and_charged_once(door, body) -> None:
    before = door.left()
    told = door.call("ana", "POST", f"{P}/explorer-previews", body)
    assert told.status_code == 200, told.text
    told = told.json()
    assert (told["affordable"], told["paid_answers"]) == (True, 2)
    assert told["free_reach"] > told["half_width"] > 0
    assert told["model_price"]
    assert door.left() == before
    made = door.call("ana", "POST", f"{P}/explorers", body, key="the-explorer").json()
    assert (made["means"], made["half_width"], made["reach"]) == (told["means"], told["half_width"], told["free_reach"])
    paid = door.left()
    assert paid != before
    assert door.call("ana", "POST", f"{P}/explorers", body, key="the-explorer").json() == made
    assert door.left() == paid
    assert [one["key"] for one in door.get("ana", f"{P}/explorers").json()] == ["the-explorer"]
    assert door.get("ben", f"{P}/explorers").json() == []
    assert door.get("ana", f"{P}/streams").json() == [], "its checks are no stream that somebody asks"
    assert door.get("ana", f"{P}/streams/{made['explorer']}").status_code == 404


@pytest.mark.usefixtures("opened")
def test_guesses_are_free_and_counts_have_an_interval(door) -> None:
    wheres = ["sex = 'F'", "sex = 'M' and age >= 40", ""]
    before = door.left()
    guessed = ask(door, wheres, "guesses").json()
    assert [one["checked"] for one in guessed["answers"]] == [False] * 3
    assert [one["low"] for one in guessed["answers"]] == [None] * 3
    counted = ask(door, wheres, key="three-counts", confidence=SURE).json()
    for one, truth in zip(counted["answers"], (200, 120, 400), strict=True):
        assert one["checked"]
        assert one["low"] <= truth <= one["high"], (one, truth)
    assert ask(door, wheres, key="three-counts", confidence=SURE).json() == counted
    assert door.get("ana", f"{P}/jobs/three-counts").json()["outcome"] == counted
    assert door.left() == before, "all of it was paid when it was opened"
    again = ask(door, ["sex = 'F'"], "guesses").json()["answers"][0]
    assert again["checked"] or counted["paid_answers_left"] < 2, "what was checked before has its interval for nothing"


@pytest.mark.usefixtures("opened")
def test_a_count_that_is_far_from_its_guess_uses_a_paid_answer(door) -> None:
    left = door.get("ana", f"{P}/explorers/the-explorer").json()["paid_answers_left"]
    told = ask(door, ["sex = 'F' and age >= 20"], guesses=[5_000_000], confidence=SURE).json()
    assert (told["answers"][0]["free"], told["paid_answers_left"]) == (False, left - 1)
    assert told["answers"][0]["low"] <= 160 <= told["answers"][0]["high"]
    conflict = ask(door, ["sex = 'F'"], key="three-counts")
    assert (conflict.status_code, code_of(conflict)) == (409, "request_conflict")


@pytest.mark.usefixtures("opened")
def test_what_cannot_be_asked_is_refused_and_uses_nothing(door) -> None:
    left = door.get("ana", f"{P}/explorers/the-explorer").json()["paid_answers_left"]
    for wheres, says in (
        (["age > 33"], "part of"),
        (["sex = 'F' or age > 40"], "box"),
        (["shoe = 3"], "shoe"),
        ([], "wheres"),
    ):
        refused = ask(door, wheres)
        assert (refused.status_code, says in refused.json()["error"]["message"]) == (422, True), refused.text
    assert door.get("ana", f"{P}/explorers/the-explorer").json()["paid_answers_left"] == left
    for who, path in (("ben", "the-explorer"), ("ana", "absent-1234")):
        for what in ("counts", "guesses"):
            told = door.call(who, "POST", f"{P}/explorers/{path}/{what}", {"wheres": ["true"]}, key=fresh_name())
            assert told.status_code == 404


@pytest.mark.usefixtures("opened")
def test_it_is_closed_once_and_for_ever(door) -> None:
    closed = door.call("ana", "DELETE", f"{P}/explorers/the-explorer", key="the-end-1")
    assert (closed.status_code, closed.json()["status"]) == (200, "closed"), closed.text
    assert ask(door, ["sex = 'F' and age >= 60"]).status_code == 409
    assert door.get("ana", f"{P}/explorers").json()[0]["paid_answers_left"] == 0


@pytest.mark.one_budget("whether data has changed does not depend on what is paid with")
def test_an_explorer_of_older_data_asks_nothing_and_can_be_closed(quick_path, budget) -> None:
    folder = make_folder(quick_path / "clinic", budget, people=100)
    body = {"table": "patient", "columns": [{"by": "sex"}], "epsilon": "1", "questions": 10}
    with serving(folder) as door:
        assert door.call("ana", "POST", f"{P}/explorers", body, key="of-version-1").status_code == 200
        assert door.call("cleo", "POST", f"{P}/tables/patient/versions").status_code == 200
        path = f"{P}/explorers/of-version-1"
        refused = door.call("ana", "POST", f"{path}/counts", {"wheres": ["sex = 'F'"]}, key=fresh_name())
        assert (refused.status_code, "version" in refused.json()["error"]["message"]) == (422, True), refused.text
        assert door.call("ana", "DELETE", path, key=fresh_name()).json()["status"] == "closed"


@pytest.mark.one_budget("what is wrong with the words is wrong under every kind")
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"columns": [{"by": "shoe"}]}, "shoe"),
        ({"epsilon": "-1"}, "epsilon"),
        ({"checks": "5"}, "checks"),
        ({"yeses": 0}, "yeses"),
        ({"rho": "1"}, "rho"),
    ],
)
def test_what_cannot_be_opened_is_refused_for_nothing(door, body, change, says) -> None:
    before = door.left()
    for path in ("explorer-previews", "explorers"):
        told = door.call("ana", "POST", f"{P}/{path}", {**body, **change}, key=fresh_name())
        assert (told.status_code, says in told.json()["error"]["message"]) == (422, True), told.text
    assert door.left() == before
