"""What costs nothing has an end, also at the server: one person's looks keep nobody else from theirs."""

import threading
import time
from pathlib import Path

import pytest

from doors.server.doors import P, count, make_folder, serving
from lapwing.doors.server import rates
from lapwing.doors.server.application import DoorSettings
from lapwing.queries.planning.planner import plan_together
from lapwing.vocabulary import deadline
from lapwing.vocabulary.deadline import spend

pytestmark = pytest.mark.one_budget("how long one may look for nothing does not depend on what is left")

SECONDS = 0.2
ENDLESS = "age = 77"


def d1(names: int = 10) -> str:
    """The 635 characters that once held every thread of a server."""
    text = "with a0 as (select *, age as q0 from patient)"
    for i in range(1, names):
        text += f", a{i} as (select *, {' + '.join([f'q{i - 1}'] * 8)} as q{i} from a{i - 1})"  # noqa: S608 - ours
    return f"{text} select avg(q{names - 1}) from a{names - 1}"  # noqa: S608 - ours


@pytest.fixture
def door(quick_path: Path, monkeypatch, budget):
    """A server at which planning one condition never ends by itself."""

    def plan_for_ever(questions, population):
        while ENDLESS in repr(questions):
            spend()
        return plan_together(questions, population)

    monkeypatch.setattr("lapwing.answers.preview.plan_together", plan_for_ever)
    monkeypatch.setattr(deadline.deadline.__wrapped__, "__defaults__", (SECONDS,))
    monkeypatch.setattr(rates.AtOnce.__init__, "__defaults__", (3,))
    with serving(make_folder(quick_path / "clinic", budget), DoorSettings()) as opened:
        yield opened


def test_looks_of_one_person_that_never_end_keep_nobody_else_waiting(door) -> None:
    told = [door.get("ana", f"{P}/budget")][:0]  # her connections are made by one thread
    looks = [
        threading.Thread(
            target=lambda i=i: told.append(door.call("ana", "POST", f"{P}/previews", count(ENDLESS, f"0.{i}1")))
        )
        for i in range(1, 10)
    ]
    for one in looks:
        one.start()
    begun = time.perf_counter()
    assert door.get("ben", f"{P}/budget").status_code == 200
    assert door.call("ben", "POST", f"{P}/previews", count()).status_code == 200
    took = time.perf_counter() - begun
    for one in looks:
        one.join()
    assert {one.status_code for one in told} == {422, 429}
    ended = [one.json()["error"]["message"] for one in told if one.status_code == 422]
    assert all("seconds of work to price, and nothing was charged" in one for one in ended)
    assert sum(one.status_code == 429 for one in told) <= 9 - 2 - 3  # fewer where looks end before others arrive
    assert all("too many looks at once" in one.json()["error"]["message"] for one in told if one.status_code == 429)
    assert took < 20
    assert door.get("ana", f"{P}/budget").json()["left"] == door.get("ben", f"{P}/budget").json()["left"]


def test_who_asks_what_never_ends_is_refused_and_charged_nothing(door) -> None:
    before = door.get("ana", f"{P}/budget").json()["left"]
    answer = door.ask("ana", ENDLESS)
    assert answer.status_code == 422
    assert "seconds of work to price" in answer.json()["error"]["message"]
    assert door.get("ana", f"{P}/budget").json()["left"] == before


def test_columns_that_double_are_refused_at_once(door) -> None:
    asked = {"question": {"ask": "sql", "text": d1()}, "price": {"epsilon": "0.1"}}
    begun = time.process_time()
    answer = door.call("ana", "POST", f"{P}/previews", asked)
    assert answer.status_code == 422
    assert "parts, more than 5000" in answer.json()["error"]["message"]
    assert time.process_time() - begun < 2
