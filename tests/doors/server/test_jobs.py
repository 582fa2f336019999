"""Jobs: what takes long, what is stopped, what fails, and what the clock on the wall tells."""

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import httpx
import pytest

import lapwing as lw
from doors.server.brake import SECRET, Brake
from doors.server.doors import UNLIMITED, Door, P, Process, code_of, count, make_folder, serving
from lapwing import errors
from lapwing.answers.releases import NoisyNumbers
from lapwing.doors.server.application import DoorSettings
from lapwing.doors.server.door_store import open_store
from lapwing.doors.server.memory import Memory
from lapwing.doors.server.rates import Limits, Rate
from lapwing.noise.randomness import fresh_name
from lapwing.vocabulary.codec import digest

pytestmark = pytest.mark.one_budget("jobs are queued, stopped and lost alike, whatever they are paid with")


@pytest.fixture
def folder(quick_path, budget):
    return make_folder(quick_path / "clinic", budget)


def ask_and_leave(door, where: str, key: str) -> None:
    told = door.call("ana", "POST", f"{P}/questions", count(where), key=key, headers={"Prefer": "wait=0"})
    assert (told.status_code, told.headers["Location"]) == (202, f"{P}/jobs/{key}")


def state_of(door, key: str, *, until: set[str], who: str = "ana") -> dict:
    for _ in range(500):
        job = door.get(who, f"{P}/jobs/{key}").json()
        if job["state"] in until:
            return job
        time.sleep(0.02)
    raise AssertionError(job)


def test_a_running_question_that_is_stopped_is_lost_and_stays_charged(folder, monkeypatch) -> None:
    with serving(folder) as door:
        brake, key = Brake(monkeypatch), fresh_name()
        ask_and_leave(door, "age = 1", key)
        assert brake.reading.wait(20)
        assert door.get("ana", f"{P}/jobs/{key}").json()["state"] == "running"
        assert door.call("ben", "DELETE", f"{P}/jobs/{key}").status_code == 404
        told = door.call("ana", "DELETE", f"{P}/jobs/{key}").json()
        assert (told["state"], told["outcome"]["error"]["code"]) == ("lost", "engine")
        assert 10 - door.taken() == Fraction("9.9")
        brake.go.set()
        again = door.ask("ana", "age = 1", "0.1", key)
        assert (again.status_code, code_of(again)) == (410, "unanswered")
        assert door.get("ana", f"{P}/answers/{key}").status_code == 410
        assert state_of(door, key, until={"lost"})


def test_a_question_that_waits_for_its_turn_can_be_cancelled_for_nothing(folder, monkeypatch) -> None:
    settings = DoorSettings(limits=replace(UNLIMITED, at_once=1), tick=0.02)
    with serving(folder, settings) as door:
        brake, first, second = Brake(monkeypatch), fresh_name(), fresh_name()
        ask_and_leave(door, "age = 1", first)
        assert brake.reading.wait(20)
        ask_and_leave(door, "age = 2", second)
        assert door.get("ana", f"{P}/jobs/{second}").json()["state"] == "queued"
        assert door.call("ana", "DELETE", f"{P}/jobs/{second}").json()["state"] == "cancelled"
        brake.go.set()
        assert state_of(door, first, until={"answered"})["outcome"]["key"] == first
        assert 10 - door.taken() == Fraction("9.9")
        assert door.ask("ana", "age = 2", "0.1", second).status_code == 200  # nothing had happened under this key


@pytest.mark.parametrize("gone", ["server", "file", "cell"])
def test_tables_that_cannot_be_opened_cost_nothing_and_the_job_says_so(folder, gone) -> None:
    """Nobody answers where the database was, the file is away, or a cell does not fit: one sentence, and no number."""
    tables, settings = folder / "patient.csv", folder / "lapwing.toml"
    rows, declared, key = tables.read_text(), settings.read_text(), fresh_name()
    if gone == "server":
        dead = 'source = { postgres = "postgresql://reader@127.0.0.1:1/db", table = "patient" }'
        settings.write_text(declared.replace('source = "patient.csv"', dead))
    elif gone == "file":
        tables.rename(folder / "away.csv")
    else:
        tables.write_text(rows + f"4711,F,{SECRET}\n")
    with serving(folder) as door:
        ask_and_leave(door, "age = 1", key)
        job = state_of(door, key, until={"lost", "refused", "cancelled"})
        told = door.ask("ana", "age = 1", "0.1", key)
        assert (job["state"], told.status_code, told.headers["Retry-After"]) == ("refused", 503, "1")
        assert job["outcome"] == told.json() == {"error": errors.UnavailableError().to_dict()}
        assert 10 - door.taken() == Fraction(10)
        settings.write_text(declared)
        (folder / "away.csv").rename(tables) if gone == "file" else tables.write_text(rows)
    if gone == "cell":  # what was looked at had a version, and this is other data
        with lw.open_workspace(folder) as workspace:
            workspace.advance("patient")
    with serving(folder, tokens=door.tokens) as door:
        assert door.ask("ana", "age = 1", "0.1", key).status_code == 200, "under the same key"
        assert state_of(door, key, until={"answered"})
        assert 10 - door.taken() == Fraction("9.9")


def test_too_many_that_wait_are_sent_away(folder, monkeypatch) -> None:
    with serving(folder, DoorSettings(limits=replace(UNLIMITED, at_once=1, waiting=2), tick=0.02)) as door:
        brake = Brake(monkeypatch)
        for age in (1, 2):
            ask_and_leave(door, f"age = {age}", fresh_name())
        told = door.ask("ana", "age = 3")
        assert (told.status_code, code_of(told), told.headers["Retry-After"]) == (503, "busy", "2")
        brake.go.set()


def test_whoever_hangs_up_finds_the_answer_under_the_key(folder, monkeypatch) -> None:
    with serving(folder) as door:
        brake, key = Brake(monkeypatch), fresh_name()
        body = json.dumps(count("age = 5")).encode()
        head = [
            f"POST {P}/questions HTTP/1.1",
            "Host: 127.0.0.1",
            f"Authorization: Bearer {door.tokens['ana']}",
            "Content-Type: application/json",
            f"Idempotency-Key: {key}",
            f"Content-Length: {len(body)}",
        ]
        with socket.create_connection(("127.0.0.1", door.port), 5) as line:
            line.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)
            assert brake.reading.wait(20)
        brake.go.set()
        assert state_of(door, key, until={"answered"})
        assert door.get("ana", f"{P}/answers/{key}").json()["key"] == key
        assert 10 - door.taken() == Fraction("9.9")


def test_a_failure_after_data_has_one_body_and_tells_no_secret(folder, monkeypatch) -> None:
    def fail(*_):
        raise ValueError(SECRET)

    with serving(folder) as door:
        monkeypatch.setattr(NoisyNumbers, "read", fail)
        told = [door.ask("ana", f"age = {age}") for age in (1, 2)]
        monkeypatch.setattr(NoisyNumbers, "read", lambda *_: None)  # another failure, in another place
        told.append(door.ask("ana", "age = 3"))
        assert {one.status_code for one in told} == {500}
        assert len({one.content for one in told}) == 1
        assert 10 - door.taken() == Fraction("9.7")
        for one in told:
            assert SECRET not in one.text + str(one.headers)
        assert SECRET in "".join(door.get("cleo", "/api/v1/failures").json()["lines"])
    logs = "".join(path.read_text() for path in folder.glob("audit-*.log"))
    assert '"status":500' in logs
    assert SECRET not in logs


def test_stored_answers_are_told_when_the_data_is_gone(folder) -> None:
    with serving(folder) as door:
        key = fresh_name()
        first = door.ask("ana", "age > 50", "0.1", key)
        assert first.status_code == 200
    (folder / "patient.csv").unlink()
    with serving(folder, tokens=door.tokens) as door:
        assert door.ask("ana", "age > 50", "0.1", key).json()["released"] == first.json()["released"]
        assert door.ask("ben", "age > 50", "0.1").json()["released"] == first.json()["released"]
        assert door.get("ana", f"{P}/answers/{key}").json()["released"] == first.json()["released"]
        left = door.left()
        missing = door.ask("ana", "age > 51", "0.1")
        assert missing.status_code in {500, 503}
        assert "patient.csv" not in missing.text
        assert door.left() == left


def test_free_answers_do_not_make_the_ledger_grow(folder) -> None:
    with serving(folder) as door:
        door.ask("ana", "age > 50")
        entries = door.get("otto", "/api/v1/ledger/head").json()["entries"]
        for _ in range(20):
            assert door.ask("ben", "age > 50").json()["answer"]["free"] is True
        assert door.get("otto", "/api/v1/ledger/head").json()["entries"] == entries


def test_answers_leave_at_ticks_and_what_is_public_at_once(folder) -> None:
    tick = 0.4
    with serving(folder, DoorSettings(limits=UNLIMITED, tick=tick)) as door:
        door.ask("ana", "age > 1")

        def taken(age: int) -> float:
            begun = time.perf_counter()
            assert door.ask("ana", f"age > {age}", "0.01").status_code == 200
            return time.perf_counter() - begun

        paid = []
        while len(paid) < 3 or sorted(one % tick for one in paid)[2] > tick / 3:  # a busy machine is late now and then
            paid.append(taken(10 + len(paid)))
            assert len(paid) < 40, paid
        assert min(paid) >= tick
        assert any(taken(10) < tick for _ in range(20))


def test_an_answer_leaves_at_its_tick_for_whoever_comes_with_its_key_again_and_again(folder) -> None:
    """Otherwise a second connection of the same analyst would tell to the millisecond how long the data was read."""
    tick, key = 1.5, "again-and-again"
    with serving(folder, DoorSettings(limits=UNLIMITED, tick=tick)) as door, ThreadPoolExecutor() as others:
        door.ask("ana", "age > 1")
        begun = time.perf_counter()
        first = others.submit(door.ask, "ana", "age > 10", "0.01", key)

        def told(look) -> float:
            while look().status_code != 200:
                time.sleep(0.01)
            return time.perf_counter() - begun

        time.sleep(tick / 2)  # by now it is in the ledger, on any machine that is not stopped
        again = others.submit(told, lambda: door.ask("ana", "age > 10", "0.01", key))
        looked = others.submit(told, lambda: door.get("ana", f"{P}/answers/{key}"))
        assert min(again.result(), looked.result()) >= tick
        assert first.result().json()["released"] == door.ask("ana", "age > 10", "0.01", key).json()["released"]


def test_a_failure_leaves_at_a_tick(folder, monkeypatch) -> None:
    tick = 0.4
    with serving(folder, DoorSettings(limits=UNLIMITED, tick=tick)) as door:
        monkeypatch.setattr(NoisyNumbers, "read", lambda *_: 1 / 0)
        begun = time.perf_counter()
        assert door.ask("ana", "age > 10", "0.01").status_code == 500
        assert time.perf_counter() - begun >= tick


def test_rates_bind_each_person_for_themselves(folder) -> None:
    slow = Limits(asks=Rate(burst=20, a_second=0.01), wrong_tokens=Rate(burst=10, a_second=0.01))
    with serving(folder, DoorSettings(limits=slow)) as door:
        told = [door.ask("ana", "agee = 1").status_code for _ in range(30)]
        assert told[:20] == [422] * 20
        assert 429 in told
        refused = door.ask("ana", "age = 1")
        assert int(refused.headers["Retry-After"]) >= 1
        assert door.ask("ben", "agee = 1").status_code == 422
        wrong = [door.get(None, "/api/v1/me").status_code for _ in range(12)]
        assert wrong[:10] == [401] * 10
        assert 429 in wrong
        assert door.get("ben", "/api/v1/me").status_code == 200


def test_the_audit_says_who_did_what_and_holds_no_data(folder) -> None:
    with serving(folder) as door:
        told = door.ask("ana", "age = 37 and sex = 'F'", "0.125", "a-key-of-mine-1")
        door.call("cleo", "POST", f"{P}/suspension", {"suspended": False})
        door.get("ben", f"{P}/streams/somebody-elses")
        door.get("ana", "/api/v1/me")
    (log,) = folder.glob("audit-*.log")
    assert log.stat().st_mode & 0o077 == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    asked, decided, refused = lines
    assert (asked["who"], asked["did"], asked["status"]) == (
        "ana",
        "POST /api/v1/populations/{population}/questions",
        200,
    )
    assert (asked["key"], asked["price"]) == ("a-key-of-mine-1", "epsilon 0.125")
    assert (decided["who"], refused["who"], refused["status"]) == ("cleo", "ben", 404)
    assert all(line["ms"] % 20 == 0 for line in lines)
    for hidden in ("age = 37", "'F'", "somebody", door.tokens["ana"], told.json()["answer"]["receipt"]):
        assert hidden not in log.read_text()


def test_new_settings_are_taken_up_while_it_runs_if_the_ledger_agrees(folder) -> None:
    import lapwing as lw  # noqa: PLC0415

    with serving(folder) as door:
        settings = (folder / "lapwing.toml").read_text()
        (folder / "lapwing.toml").write_text(settings.replace('epsilon = "10"', 'epsilon = "12"'))
        for _ in range(100):
            trouble = door.get("cleo", f"{P}/changes").json()["settings"]
            if trouble:
                break
            time.sleep(0.05)
        assert "not the budget that the ledger keeps" in trouble
        assert door.ask("ana", "age = 1", "1").status_code == 200
        with lw.open_workspace(folder) as workspace:
            workspace.update()
        for _ in range(100):
            if door.get("cleo", f"{P}/changes").json()["settings"] is None:
                break
            time.sleep(0.05)
        assert door.ask("ana", "age = 2", "1").status_code == 200
        assert door.taken() == 2


def test_a_job_of_one_process_is_found_at_another(folder) -> None:
    with serving(folder) as first, serving(folder, tokens=first.tokens) as second:
        opened = first.call(
            "ana", "POST", f"{P}/streams", {"at_least": 900, "yeses": 2, "epsilon": "1"}, key=fresh_name()
        )
        place, keys = f"{P}/streams/{opened.json()['stream']}", [fresh_name() for _ in range(3)]
        wait = {"Prefer": "wait=0"}
        first.call("ana", "POST", f"{place}/batches", {"wheres": ["age = 1", "age = 2"]}, key=keys[0], headers=wait)
        first.call("ana", "POST", f"{P}/questions", count("age = 1"), key=keys[1], headers=wait)
        first.call("ana", "POST", f"{P}/questions", count("age = 1", "19"), key=keys[2], headers=wait)
        told = state_of(second, keys[0], until={"answered"})
        assert [one["verdict"] for one in told["outcome"]["answers"]] == ["below", "below"]
        assert state_of(second, keys[1], until={"answered"})["outcome"]["key"] == keys[1]
        assert state_of(second, keys[2], until={"refused"})["outcome"]["error"]["code"] == "budget_exceeded"
        assert second.get("ben", f"{P}/jobs/{keys[0]}").status_code == 404


MANY = [f"age in ({one}, {other})" for other in range(65) for one in range(other)]
"""More conditions than are committed together, so that they are asked in two parts."""
TOGETHER = [count(f"age > {age}")["question"] for age in (40, 50, 40)]
KILLED = {
    "a question of a stream": ("stream.read", "questions", {"where": "age > 130"}, "answered", 1),
    "a batch": ("stream.read", "batches", {"wheres": ["age > 130", "age >= 0"]}, "answered", 2),
    "the second part of a batch": ("stream.read:kill:2", "batches", {"wheres": MANY}, "answered", len(MANY)),
    "between two parts of a batch": ("stream.told", "batches", {"wheres": MANY}, "cancelled", 2000),
    "questions before their answers": ("ask.read", "", TOGETHER, "lost", 2),
    "questions that were answered": ("ask.answered", "", TOGETHER, "answered", 2),
}
"""Where a process dies, over what, and what became of it: its state, and how many questions the ledger has."""


@pytest.mark.parametrize("killed", KILLED)
def test_what_a_process_that_died_had_in_hand_is_not_running_for_ever(folder, killed) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        process = Process(folder, free.getsockname()[1])
    fault, where, asked, state, number = KILLED[killed]
    with serving(folder) as door:
        terms, opening, key = {"at_least": 100, "yeses": 2, "epsilon": "1"}, fresh_name(), fresh_name()
        stream = door.call("ana", "POST", f"{P}/streams", terms, key=opening).json()["stream"]
        path = f"{P}/streams/{stream}/{where}" if where else f"{P}/batches"
        body = asked if where else {"questions": asked, "price": {"epsilon": "1"}}
        process.start(fault if ":" in fault else f"{fault}:kill")
        dying = Door(process.port, folder, door.tokens)
        while not process.died():
            with suppress(httpx.HTTPError):
                dying.call("ana", "POST", path, body, key=key)
            time.sleep(0.02)
        if state == "lost":  # what comes twice a minute
            assert door.call("cleo", "POST", "/api/v1/recoveries").status_code == 200
        told = door.get("ana", f"{P}/jobs/{key}").json()
        assert told["state"] == state
        with lw.open_workspace(folder) as workspace:
            entries = workspace.ledger.history("clinic")
        charged = sum(len(one.get("questions", [0])) for one in entries if one["kind"] in {"intent", "charge"})
        assert charged == number, "looking asks nothing"
        again = door.call("ana", "POST", path, body, key=key)
        if state == "answered":
            assert again.json() == told["outcome"]
        else:
            assert again.status_code == (410 if state == "lost" else 200)
            assert state == "lost" or door.get("ana", f"{P}/jobs/{key}").json()["state"] == "answered"
        assert door.get("ana", f"{P}/jobs/{opening}").json()["state"] == "answered"


def test_what_somebody_who_lives_works_on_is_running_and_what_nobody_does_is_not(folder) -> None:
    bodies = {kind: {} for kind in ("ask_stream", "ask_stream_many", "open_stream")}
    bodies |= {"ask": count(), "ask_many": {"questions": TOGETHER, "price": {"epsilon": "1"}}}
    with serving(folder) as door, lw.open_workspace(folder) as workspace:
        store = open_store(folder)
        for key, body in bodies.items():
            Memory(store).remember("clinic", "ana", key, kind=key, digest="d", body=json.dumps(body).encode())
            with workspace.ledger.store.gate.working(digest(["job", "clinic", "ana", key])):
                assert door.get("ana", f"{P}/jobs/{key}").json()["state"] == "running"
            told = door.get("ana", f"{P}/jobs/{key}").json()
            assert (told["state"], told["outcome"]["error"]["code"]) == ("cancelled", "cancelled")
        store.close()


def test_a_key_that_was_used_in_python_for_something_else_is_told_as_a_conflict(folder) -> None:
    kinds = {"ask_stream": {}, "ask_stream_many": {"wheres": ["age = 1"]}, "open_stream": {}, "close_stream": None}
    with serving(folder) as door, lw.open_workspace(folder) as workspace:
        store, ana = open_store(folder), workspace.session(analyst="ana")
        memory = Memory(store)
        for key, body in kinds.items():
            ana.ask(lw.count("patient", "age = 1"), epsilon="0.01", key=key)
            memory.remember("clinic", "ana", key, kind=key, digest="d", body=json.dumps(body).encode())
        memory.end("clinic", "ana", "close_stream", status=200, outcome=b"{}")
        states = [door.get("ana", f"{P}/jobs/{key}").json()["state"] for key in kinds]
        assert states == ["refused", "refused", "refused", "answered"]
        store.close()


def test_what_nobody_waited_for_is_noted_before_the_server_ends(folder, monkeypatch) -> None:
    """Its store was closed before: the note was lost, or opened a connection that nobody closed."""
    end, noting, go = Memory.end, threading.Event(), threading.Event()

    def slowly(*which, **what) -> None:
        noting.set()
        assert go.wait(20)
        end(*which, **what)

    monkeypatch.setattr(Memory, "end", slowly)
    dear, key = count("age = 1", "11"), fresh_name()
    with serving(folder) as door:
        for _ in range(2):  # the second one takes the place of the first, whose end is not noted yet
            told = door.call("ana", "POST", f"{P}/questions", dear, key=key, headers={"Prefer": "wait=0"})
            assert told.status_code == 202
            assert noting.wait(20)
        threading.Timer(0.5, go.set).start()
    with serving(folder, tokens=door.tokens) as other:
        assert other.get("ana", f"{P}/jobs/{key}").json()["state"] == "refused"


def test_what_is_under_way_when_the_server_is_told_to_end_is_answered(folder, monkeypatch) -> None:
    with serving(folder) as door:
        brake, key = Brake(monkeypatch), fresh_name()
        ask_and_leave(door, "age = 1", key)
        assert brake.reading.wait(20)
        threading.Timer(1, brake.go.set).start()
    with serving(folder, tokens=door.tokens) as door:
        assert door.get("ana", f"{P}/answers/{key}").status_code == 200
