"""Saved questions over HTTP: words of one analyst, and no answers; and questions asked together, each at its price."""

from doors.server.doors import P
from lapwing.doors.server.saved_questions import MOST_SAVED
from lapwing.noise.randomness import fresh_name

SAVED = f"{P}/saved-questions"


def count(where: str) -> dict[str, str]:
    return {"ask": "count", "table": "patient", "where": where}


def body(name: str, **more: str) -> dict[str, object]:
    return {"name": name, "question": count("age > 3"), "price": {"epsilon": "0.1"}, **more}


def test_what_was_saved_is_listed_replaced_and_deleted(door) -> None:
    first = door.call("ana", "POST", SAVED, body("of age", folder="f")).json()
    again = door.call("ana", "POST", SAVED, {**body("  of   age ", folder="f"), "price": {"epsilon": "0.2"}}).json()
    listed = door.get("ana", SAVED).json()
    assert [(one["id"], one["name"], one["price"]) for one in listed] == [(again["id"], "of age", {"epsilon": "0.2"})]
    assert again["id"] != first["id"]
    assert set(listed[0]) == {"id", "name", "folder", "at", "question", "price", "page", "words"}
    assert door.get("ben", SAVED).json() == []
    assert door.call("ben", "DELETE", f"{SAVED}/{again['id']}").status_code == 404
    assert door.call("ana", "DELETE", f"{SAVED}/{again['id']}").status_code == 200
    assert door.get("ana", SAVED).json() == []


def test_what_is_no_question_or_no_place_is_not_saved(door) -> None:
    wrong = (
        body(""),
        body("   "),
        body("n" * 101),
        body("x", page="login"),
        body("x", page="sql", words='q="><script>'),
        body("x", answer="42"),
        {"name": "x", "question": {"ask": "nothing"}, "price": {}},
    )
    assert {door.call("ana", "POST", SAVED, one).status_code for one in wrong} == {422}
    assert door.get("ana", SAVED).json() == []


def test_no_more_are_kept_than_may_be(door, monkeypatch) -> None:
    assert MOST_SAVED > 2
    monkeypatch.setattr("lapwing.doors.server.saved_questions.MOST_SAVED", 2)
    told = [door.call("cleo", "POST", SAVED, body(f"{n}")).status_code for n in range(4)]
    assert told == [200, 200, 409, 409]
    assert door.call("cleo", "POST", SAVED, body(door.get("cleo", SAVED).json()[0]["name"])).status_code == 200


def test_what_is_asked_together_may_have_a_price_each(door) -> None:
    asked = {"questions": [count("age > 4"), count("age > 5")], "prices": [{"epsilon": "0.1"}, {"within": "30"}]}
    key, looked = fresh_name(), f"{P}/batch-previews"
    foreseen = door.call("ana", "POST", looked, asked).json()["prices"]
    told = door.call("ana", "POST", f"{P}/batches", asked, key=key)
    assert told.status_code == 200, told.text
    first, second = (one["answer"] for one in told.json()["answers"])
    assert first["price"] != second["price"]
    assert foreseen == [first["price"], second["price"]]
    assert door.call("ana", "POST", looked, asked).json() == {"prices": []}, "what was answered is free"
    assert second["margin"] == {"answer": 30}
    assert door.call("ana", "POST", f"{P}/batches", asked, key=key).json() == told.json()
    for wrong in (
        {**asked, "prices": asked["prices"][:1]},
        {**asked, "price": {"epsilon": "0.1"}},
        {"questions": asked["questions"]},
    ):
        assert door.call("ana", "POST", f"{P}/batches", wrong, key=fresh_name()).status_code == 422
