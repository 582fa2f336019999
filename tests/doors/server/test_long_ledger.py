"""A ledger with many entries of others: histories, streams and accounts read what they show, and no more."""

import httpx
import pytest

import lapwing as lw
from doors.server.doors import P, add_people, make_folder, serving
from doors.server.test_race import url_of
from lapwing.doors.server.door_store import open_store
from lapwing.doors.server.people import Directory
from lapwing.ledger import entries
from lapwing.ledger.reservation_states import ReservationStatus

pytestmark = pytest.mark.one_budget("how long a ledger is read does not depend on the kind of its budget")

MANY = 400
PAGES = "/populations/clinic"


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def door(request, tmp_path_factory, budget):
    """A clinic about which ben has asked a lot, and ana a little."""
    if request.param == "postgres":
        with request.getfixturevalue("postgres").database() as dsn:
            yield from filled(tmp_path_factory.mktemp("clinic"), url_of(dsn), budget)
    else:
        yield from filled(tmp_path_factory.mktemp("clinic"), "", budget)


def filled(folder, address, budget):
    make_folder(folder / "clinic", budget, "1000", ledger=address)
    with lw.open_workspace(folder / "clinic") as workspace:
        ben = workspace.session("clinic", analyst="ben")
        ben.ask_many([lw.count("patient", f"age = {i % 120} and sex = '{'FM'[i % 2]}'") for i in range(120)], epsilon=1)
        with ben.stream(at_least=10_000, yeses=2, epsilon=1) as stream:
            for age in range(MANY // 4):
                stream.ask(f"age = {age}")
        ana = workspace.session("clinic", analyst="ana")
        ana.ask(lw.count("patient", "age > 50"), epsilon="0.1", key="asked-elsewhere")
        stream = ana.stream(at_least=10_000, yeses=2, epsilon=1)
        stream.ask_many(["age > 10", "age > 20"])
        stream.ask("age > 30")
        assert workspace.ledger.head().seq > MANY
    with serving(folder / "clinic", tokens=add_people(folder / "clinic")) as serves:
        serves.ask("ana", "age > 50")
        yield serves


def look(door, who: str, place: str) -> httpx.Response:
    """Look at a page."""
    store = open_store(door.folder)
    cookies = {"lapwing": Directory(store).sign_in(who)}
    store.close()
    return httpx.get(f"http://127.0.0.1:{door.port}{PAGES}{place}", cookies=cookies, timeout=60, trust_env=False)


@pytest.fixture
def decoded(monkeypatch):
    """Counts the entries that are decoded."""
    seen, parse = [], entries.parse
    monkeypatch.setattr(entries, "parse", lambda body: (seen.append(1), parse(body))[1])
    return seen


def test_a_history_reads_what_it_tells(door, decoded) -> None:
    acts = door.get("ana", f"{P}/history").json()
    assert [act["kind"] for act in acts] == ["intent", "intent", "opening", "charge"]
    assert acts[3]["said"].endswith("answered")
    assert acts[1]["said"].endswith("no, no, for nothing")
    page = door.get("ana", f"{P}/history", params={"limit": 1, "before": acts[0]["entry"]}).json()
    assert page == acts[1:2]
    assert len(decoded) < 60


def test_what_was_asked_in_python_is_told_again_from_the_ledger_alone(door) -> None:
    """Under its key, and in the history of its page; of somebody else it is not there."""
    told = door.get("ana", f"{P}/answers/asked-elsewhere").json()
    with lw.open_workspace(door.folder) as workspace:
        ana = workspace.session("clinic", analyst="ana")
        asked = ana.ask(lw.count("patient", "age > 50"), epsilon="0.1", key="asked-elsewhere")
    assert told["answer"]["rows"][0]["values"]["answer"]["value"] == asked.value
    assert told["answer"]["receipt"] == str(asked.receipt)
    assert f"{asked.value:,} ± " in look(door, "ana", "/history").text
    assert door.get("ben", f"{P}/answers/asked-elsewhere").status_code == 404


def test_streams_are_those_of_whoever_looks(door, decoded) -> None:
    (mine,) = door.get("ana", f"{P}/streams").json()
    assert mine["asked"] == 3
    assert len(decoded) < 40


@pytest.mark.parametrize("place", ["", "/history", "/streams", "/account", "/custody"])
def test_pages_read_what_they_show(door, decoded, place) -> None:
    """A picture of an account has at most 200 points; everything else is a page of a few acts."""
    decoded.clear()
    assert look(door, "cleo" if place == "/custody" else "ana", place).status_code == 200
    assert len(decoded) < (320 if place in {"/account", "/custody"} else 120)


def test_one_statement_finds_streams_by_analyst_and_status(door) -> None:
    with lw.open_workspace(door.folder) as workspace:
        streams = workspace.ledger.reservations
        assert [one.asked for one in streams.all("clinic", analyst="ana", status=ReservationStatus.OPEN)] == [3]
        assert streams.all("clinic", analyst="ben", status=ReservationStatus.OPEN) == []
        closed = streams.all("clinic", status=ReservationStatus.CLOSED)
        assert [one.analyst for one in closed] == ["ben"]
        told = workspace.ledger.entries("clinic", stream=closed[0].name, kinds=["outcome"], newest_first=True, limit=3)
        assert [one["number"] for one in told] == [MANY // 4, MANY // 4 - 1, MANY // 4 - 2]
