"""One key is one outcome, for ever: after new data, after a crash, and with two processes at once."""

from fractions import Fraction

import pytest

from doors.server.doors import Door, P, add_people, count, make_folder, serving
from doors.server.test_race import url_of
from lapwing.doors.server.calls import ServerCall
from lapwing.doors.server.memory import LEDGER

pytestmark = pytest.mark.one_budget("one key is one charge, which a sum shows to the last digit")

WHERE, KEY = "age > 50", "the-key-of-ana"


@pytest.fixture(params=["sqlite", "postgres"])
def folder(request, quick_path, budget):
    address = url_of(request.getfixturevalue("database")) if request.param == "postgres" else ""
    return make_folder(quick_path / "clinic", budget, ledger=address)


def renew(door: Door) -> None:
    """Say that the data changed."""
    assert door.call("cleo", "POST", f"{P}/tables/patient/versions").status_code == 200


def released(door: Door, who: str = "ana", key: str | None = KEY) -> list:
    told = door.ask(who, WHERE, "0.1", key)
    assert told.status_code == 200, told.text
    return told.json()["released"]


def test_a_key_that_was_answered_for_nothing_is_not_charged_after_new_data(folder) -> None:
    tokens = add_people(folder)
    with serving(folder, tokens=tokens) as door:
        first = released(door, "ben", None)
        assert released(door) == first
        renew(door)
        assert released(door, "ben", None)  # new data is charged
    with serving(folder, tokens=tokens) as other:  # which remembers nothing by itself
        assert released(other) == first
        assert other.get("ana", f"{P}/answers/{KEY}").json()["released"] == first
        assert other.get("ana", f"{P}/jobs/{KEY}").json()["state"] == "answered"
        assert 10 - other.taken() == Fraction("9.8")


def test_a_key_whose_process_died_before_it_told_has_what_it_was_about_to_tell(folder, monkeypatch) -> None:
    remember = ServerCall.remember

    def die(call: ServerCall, entry: int = LEDGER) -> int:
        remember(call, entry)
        raise OSError

    with serving(folder) as door:
        first = released(door, "ben", None)
        with monkeypatch.context() as patched:
            patched.setattr(ServerCall, "remember", die)
            assert door.ask("ana", WHERE, "0.1", KEY).status_code == 500
        renew(door)
        assert released(door) == first
        assert 10 - door.taken() == Fraction("9.9")


def test_a_key_that_two_processes_put_at_once_is_charged_once_or_not_at_all(folder, monkeypatch) -> None:
    """One has found an answer, and before it notes that, the data changes and the other is about to charge."""
    remember, waiting = ServerCall.remember, [True]
    tokens = add_people(folder)
    with serving(folder, tokens=tokens) as door, serving(folder, tokens=tokens) as other:
        released(door, "ben", None)

        def slowly(call: ServerCall, entry: int = LEDGER) -> int:
            if waiting:
                waiting.clear()
                renew(door)
                second.append(released(other))
            return remember(call, entry)

        second: list = []
        monkeypatch.setattr(ServerCall, "remember", slowly)
        assert [released(door)] == second, "the other one came first"
        assert 10 - door.taken() == Fraction("9.8")
        assert released(other) == second[0]


def test_a_key_that_was_refused_is_charged_when_it_fits(folder) -> None:
    with serving(folder) as door:
        assert door.ask("ben", "age > 1", "8").status_code == 200
        assert door.ask("ana", WHERE, "8", KEY).status_code == 402
        door.call("cleo", "PATCH", f"{P}/policy", {"budget": {"epsilon": "20"}})
        assert door.ask("ana", WHERE, "8", KEY).status_code == 200
        assert door.taken() == 16


def test_a_refusal_that_nobody_waited_for_is_told_as_one_and_is_not_the_end_of_its_key(folder) -> None:
    """It was kept for other processes, and came back as an answer of status 200."""
    several = [{"ask": "count", "table": "patient", "where": where} for where in ("age > 50", "age > 60")]
    body, key = {"questions": several, "price": {"epsilon": "6"}}, "batch-of-ana"
    tokens = add_people(folder)
    with serving(folder, tokens=tokens) as door:
        first = door.call("ana", "POST", f"{P}/batches", body, key=key, headers={"Prefer": "wait=0"})
        assert first.status_code == 202
        assert door.call("ana", "POST", f"{P}/batches", body, key=key).status_code == 402
    with serving(folder, tokens=tokens) as other:  # which knows what was kept
        assert other.call("ana", "POST", f"{P}/batches", body, key=key).status_code == 402
        assert 10 - other.taken() == 10
        more = other.call("cleo", "PATCH", f"{P}/policy", {"budget": {"epsilon": "20"}})
        assert more.status_code == 200, more.text
        told = other.call("ana", "POST", f"{P}/batches", body, key=key)
        assert (told.status_code, len(told.json()["answers"])) == (200, 2)
        assert other.taken() == 12


def test_a_question_that_was_refused_and_then_answered_under_its_key_is_found_as_answered(folder) -> None:
    tokens = add_people(folder)
    with serving(folder, tokens=tokens) as door:
        asked = count(WHERE, "11")
        door.call("ana", "POST", f"{P}/questions", asked, key=KEY, headers={"Prefer": "wait=0"})
        assert door.ask("ana", WHERE, "11", KEY).status_code == 402
        assert door.call("cleo", "PATCH", f"{P}/policy", {"budget": {"epsilon": "20"}}).status_code == 200
        assert door.ask("ana", WHERE, "11", KEY).status_code == 200
    with serving(folder, tokens=tokens) as other:
        assert other.get("ana", f"{P}/jobs/{KEY}").json()["state"] == "answered"
