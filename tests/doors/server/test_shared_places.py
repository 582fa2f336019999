"""How many jobs of a person run at once holds over all hosts of a ledger, and the places of a dead host are free."""

import asyncio
import multiprocessing
import os
import signal
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

import lapwing as lw
from doors.server.brake import Brake
from doors.server.doors import UNLIMITED, P, add_people, code_of, count, make_folder, serving
from doors.server.test_race import url_of
from lapwing.doors.server.application import DoorSettings
from lapwing.doors.server.shared_places import SharedPlaces
from lapwing.noise.randomness import fresh_name

pytestmark = pytest.mark.one_budget("jobs wait alike, whatever they are paid with")


@pytest.fixture
def folder(quick_path, budget, database) -> Path:
    return make_folder(quick_path / "clinic", budget, ledger=url_of(database))


def begin(door, who: str, where: str) -> str:
    key = fresh_name()
    told = door.call(who, "POST", f"{P}/questions", count(where), key=key, headers={"Prefer": "wait=0"})
    assert told.status_code == 202
    return key


def state(door, who: str, key: str) -> str:
    return str(door.get(who, f"{P}/jobs/{key}").json()["state"])


def wait_for(door, who: str, key: str, wanted: str) -> None:
    end = time.monotonic() + 20
    while state(door, who, key) != wanted:
        assert time.monotonic() < end, state(door, who, key)
        time.sleep(0.01)


def test_a_person_has_as_many_jobs_at_once_at_two_hosts_as_at_one(folder, monkeypatch) -> None:
    settings = DoorSettings(limits=replace(UNLIMITED, at_once=2), tick=0.02)
    tokens = add_people(folder)
    with ExitStack() as stack:
        here, there = (stack.enter_context(serving(folder, settings, tokens)) for _ in "ab")
        brake = Brake(monkeypatch)
        first, second = begin(here, "ana", "age > 1"), begin(there, "ana", "age > 2")
        wait_for(here, "ana", first, "running")
        wait_for(there, "ana", second, "running")
        third, other = begin(here, "ana", "age > 3"), begin(there, "ben", "age > 4")
        wait_for(there, "ben", other, "running")
        time.sleep(0.5)  # long enough for many looks at the places
        assert state(here, "ana", third) == "queued"
        cancelled = begin(there, "ana", "age > 5")
        assert there.call("ana", "DELETE", f"{P}/jobs/{cancelled}").json()["state"] == "cancelled"
        brake.go.set()
        for door, who, key in (
            (here, "ana", first),
            (there, "ana", second),
            (here, "ana", third),
            (there, "ben", other),
        ):
            wait_for(door, who, key, "answered")


def test_where_the_database_does_not_answer_nothing_is_asked(folder, monkeypatch) -> None:
    with serving(folder) as door:
        assert door.ask("ana", "age > 1").status_code == 200

        def fail(*_: object) -> bool:
            raise psycopg.OperationalError("no connection")

        with monkeypatch.context() as patched:
            patched.setattr("lapwing.ledger.postgres.AdvisoryGate._take", fail)
            told = door.ask("ana", "age > 2")
            assert (told.status_code, code_of(told)) == (503, "ledger")
        assert door.ask("ana", "age > 2").status_code == 200


def hold_and_die(folder: Path) -> None:
    """Take the only place of a person, and die without a word."""

    async def work() -> None:
        with lw.open_workspace(folder) as workspace:
            async with SharedPlaces(workspace.ledger.gate, workspace.ledger.name, 1).of("ana"):
                (folder / "held").touch()
                await asyncio.sleep(0.3)
                os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(work())


async def is_free(places: SharedPlaces, person: str, patience: float) -> bool:
    try:
        async with asyncio.timeout(patience), places.of(person):
            return True
    except TimeoutError:
        return False
    finally:
        await places.stop()


def test_the_places_of_a_host_that_died_are_free_again(folder) -> None:
    dying = multiprocessing.get_context("spawn").Process(target=hold_and_die, args=(folder,))
    dying.start()
    while not (folder / "held").exists():
        time.sleep(0.01)
    with lw.open_workspace(folder) as workspace:
        places = SharedPlaces(workspace.ledger.gate, workspace.ledger.name, 1)
        held = asyncio.run(is_free(places, "ana", 0.05)), asyncio.run(is_free(places, "ben", 5))
        dying.join(20)
        assert dying.exitcode == -signal.SIGKILL
        assert held == (False, True)
        assert asyncio.run(is_free(places, "ana", 10))


def test_whoever_stops_waiting_leaves_no_place_taken(folder) -> None:
    """Also where it is stopped in the middle of taking one: that takes a place that nobody gives back."""
    with lw.open_workspace(folder) as workspace, lw.open_workspace(folder) as other:
        here, there = (SharedPlaces(one.ledger.gate, one.ledger.name, 1) for one in (workspace, other))

        async def stop_in_the_middle() -> None:
            enter = workspace.ledger.gate.enter

            def slowly(*given):
                time.sleep(0.1)
                return enter(*given)

            workspace.ledger.gate.enter = slowly
            taking = asyncio.create_task(is_free(here, "ana", 5))
            await asyncio.sleep(0.05)
            taking.cancel()
            await asyncio.wait([taking])
            assert taking.cancelled()
            await here.stop()

        asyncio.run(stop_in_the_middle())
        assert asyncio.run(is_free(there, "ana", 5))


def test_taking_a_place_that_is_free_is_one_round_trip(folder, monkeypatch) -> None:
    sent, execute = list[str](), psycopg.Connection.execute
    with lw.open_workspace(folder) as workspace:
        places = SharedPlaces(workspace.ledger.gate, workspace.ledger.name, 2)
        asyncio.run(is_free(places, "ana", 5))

        def noted(self, query, *given, **words):
            sent.append(str(query))
            return execute(self, query, *given, **words)

        async def two() -> None:
            async with places.of("ana"), places.of("ana"):
                assert sent == ["select pg_try_advisory_lock(%s)"] * 2
            await places.stop()

        monkeypatch.setattr(psycopg.Connection, "execute", noted)
        asyncio.run(two())
        assert sent[2:] == ["select pg_advisory_unlock(%s)"] * 2
