"""What costs nothing makes nothing grow without end: not the store of the door, not the ledger, not a log."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

import lapwing as lw
from doors.server.doors import P, code_of, count, make_folder, serving
from lapwing.doors.server import audit_log, memory, people
from lapwing.doors.server.audit_log import AuditLog
from lapwing.doors.server.door_store import open_store
from lapwing.doors.server.memory import LEDGER, Memory
from lapwing.doors.server.people import Directory
from lapwing.doors.server.roles import Role
from lapwing.workspace import workspace
from lapwing.workspace.workspace import failure_log

STREAM = {"at_least": 150, "yeses": 2, "epsilon": "0.5"}


@pytest.fixture
def folder(quick_path, budget):
    return make_folder(quick_path / "clinic", budget)


def padded(body, size):
    return json.dumps(body).encode() + b" " * size


def stored_bytes(folder):
    with closing(open_store(folder)) as store:
        pages, size = store.one("pragma page_count"), store.one("pragma page_size")
        return pages[0] * size[0]


@pytest.mark.one_budget("what is kept is counted in bytes")
def test_a_thousand_free_requests_leave_what_one_person_may_keep(folder, monkeypatch) -> None:
    """Thirty of a megabyte each left 28 MB: at the default rate, 14 GB an hour on the disk of the ledger."""
    monkeypatch.setattr(memory, "MOST_FREE", 100)
    free, dear = padded(count("age > 50"), 9_000), padded(count("age > 51", "15"), 900)
    with serving(folder) as door, ThreadPoolExecutor(8) as pool:
        first = door.ask("ana", "age > 50").json()
        before, entries = stored_bytes(folder), entries_of(folder)

        def put(number):
            path, body = (f"{P}/questions", dear) if number % 10 == 0 else (f"{P}/questions", free)
            return door.call("ana", "POST", path, body, key=f"a-free-key-{number}")

        told = list(pool.map(put, range(1000)))
        assert {one.status_code for one in told} == {200, 402}
        assert all(one.json()["released"] == first["released"] for one in told if one.status_code == 200)
        last = told[-1]
        again = door.call("ana", "POST", f"{P}/questions", free, key="a-free-key-999")
        assert (again.status_code, again.content) == (200, last.content)
        other = door.call("ana", "POST", f"{P}/questions", count("age > 52"), key="a-free-key-999")
        assert (other.status_code, code_of(other)) == (409, "request_conflict")
        assert door.get("ana", f"{P}/answers/a-free-key-999").json()["released"] == first["released"]
        assert (
            len(door.get("ana", f"{P}/answers?limit=500").json()) == 101
        )  # what was charged, and the newest free ones
    assert entries_of(folder) == entries
    assert stored_bytes(folder) - before < 200_000


def entries_of(folder):
    with lw.open_workspace(folder) as opened:
        return opened.ledger.head().seq


def test_what_is_refused_or_free_leaves_nothing_in_the_ledger_and_little_beside_it(folder, budget) -> None:
    fair, dear = {budget.currency: "0.1"}, {budget.currency: "15"}
    question = count("age > 50")["question"]
    with serving(folder) as door:

        def put(path, body, number, method="POST"):
            return door.call("ana", method, f"{P}/{path}", body, key=f"{path[-9:].replace('/', '-')}-{number:08}")

        assert put("questions", {"question": question, "price": fair}, 0).status_code == 200
        stream = put("streams", STREAM, 0).json()["stream"]
        asked = {"wheres": ["age >= 0", "age > 119"]}
        told = put(f"streams/{stream}/batches", asked, 0)
        assert told.status_code == 200
        entries = entries_of(folder)
        refused = [
            ("questions", {"question": question, "price": dear}, 402),
            ("questions", {"question": {**question, "table": "nobody"}, "price": fair}, 422),
            ("batches", {"questions": [question] * 2, "price": dear}, 402),
            ("streams", {**STREAM, "epsilon": "15"}, 402),
            (f"streams/{stream}/questions", {"where": "nothing = 1"}, 422),
        ]
        for number, (path, body, status) in enumerate(refused, 1):
            assert put(path, body, number).status_code == status, (path, body)
        assert len(rows_of(folder)) == 3
        free = [
            ("batches", {"questions": [question] * 2, "price": fair}),
            (f"streams/{stream}/questions", {"where": "age > 119"}),
            (f"streams/{stream}/batches", asked),
        ]
        for number, (path, body) in enumerate(free, 10):
            first = put(path, body, number)
            assert first.status_code == 200, first.text
            assert put(path, body, number).content == first.content
            assert door.get("ana", f"{P}/jobs/{first.json()['key']}").json()["state"] == "answered"
        assert entries_of(folder) == entries
        assert [one for one in rows_of(folder) if one[1] != LEDGER] == rows_of(folder)[3:], "and those are forgotten"
        for number in range(3):  # closing is free, too, and may be said again
            assert put(f"streams/{stream}", None, number, "DELETE").status_code in {200, 409}
        assert sum(entry == LEDGER for _, entry in rows_of(folder)) == 3


def rows_of(folder):
    with closing(open_store(folder)) as store:
        return store.all("select key, entry from asked order by at, number")


def test_a_refused_key_is_free_again_and_a_conflict_takes_nothing_away(folder) -> None:
    with serving(folder) as door:
        dear = door.ask("ana", "age > 5", "15", "a-key-of-ana")
        assert (dear.status_code, rows_of(folder)) == (402, [])
        cheap = door.ask("ana", "age > 6", "0.1", "a-key-of-ana")  # the custodian may have raised the budget
        assert cheap.status_code == 200
        for where, epsilon in (("age > 7", "0.1"), ("age > 6", "15")):
            assert door.ask("ana", where, epsilon, "a-key-of-ana").status_code == 409
        assert rows_of(folder) == [("a-key-of-ana", LEDGER)]
        assert door.ask("ana", "age > 6", "0.1", "a-key-of-ana").content == cheap.content


@pytest.mark.one_budget("what is kept is counted in characters")
@pytest.mark.parametrize("where", ["sqlite", "postgres"])
def test_free_keys_are_kept_by_number_by_length_and_by_age(request, quick_path, monkeypatch, where, budget) -> None:
    clock = [1_000_000_000.0]
    if where == "postgres":
        from doors.server.test_race import url_of  # noqa: PLC0415 - only here

        folder = make_folder(quick_path / "clinic", budget, ledger=url_of(request.getfixturevalue("database")))
        store = open_store(folder)
    else:
        store = open_store(quick_path, "ledger.db")
    with closing(store):
        kept = Memory(store, lambda: clock[0])
        monkeypatch.setattr(memory, "MOST_FREE", 5)
        monkeypatch.setattr(memory, "MOST_FREE_BYTES", 3_000)

        def put(number, size=10, entry=7):
            body = json.dumps("x" * size).encode()
            kept.remember("clinic", "ana", f"key-{number}", kind="ask", digest=str(number), body=body, entry=entry)

        def keys():
            return [one["key"] for one in kept.listed("clinic", "ana", before=None, limit=100)]

        put(0, 9_000, LEDGER)  # what is charged stays
        for number in range(1, 9):
            put(number)
        assert keys() == ["key-8", "key-7", "key-6", "key-5", "key-4", "key-0"]
        put(9, 2_900)
        assert keys() == ["key-9", "key-8", "key-7", "key-6", "key-5", "key-0"]
        put(10, 2_900)
        assert keys() == ["key-10", "key-0"]
        clock[0] += 91 * 24 * 3600
        put(11)
        assert keys() == ["key-11", "key-0"]
        put(12, 5_000)  # more than anybody may keep: it is told, and not remembered
        assert keys() == ["key-0"]


def test_tokens_and_sign_ins_of_one_person_have_a_limit(quick_path, monkeypatch) -> None:
    monkeypatch.setattr(people, "_MOST_DEAD", 5)
    monkeypatch.setattr(people, "_MOST_SIGN_INS", 4)
    with closing(open_store(quick_path, "ledger.db")) as store:
        directory = Directory(store)
        ana, ben = (directory.add(one, one, Role.ANALYST) for one in ("ana", "ben"))
        theirs, _ = directory.make_token(ben, "theirs")
        mine, _ = directory.make_token(ana, "mine")
        by_token = directory.by_token(mine)
        for _ in range(40):
            _, token = directory.make_token(by_token, "short")
            assert directory.revoke_token("ana", token["id"])
        assert len(directory.tokens("ana")) <= 7
        assert store.one("select count(*) from token_makers")[0] <= 7
        assert directory.by_token(mine).id == "ana"
        assert directory.by_token(theirs).id == "ben"
        secrets = [directory.sign_in("ana") for _ in range(20)]
        others = directory.sign_in("ben")
        assert sum(directory.by_sign_in(one) is not None for one in secrets) == 4
        assert directory.by_sign_in(secrets[-1]).id == "ana"
        assert directory.by_sign_in(others).id == "ben"


@pytest.mark.one_budget("lines are counted in bytes")
def test_refusals_fill_no_disk_with_lines_and_charges_are_always_written(folder, monkeypatch) -> None:
    monkeypatch.setattr(audit_log, "MOST_REFUSALS", 5_000)
    with serving(folder) as door:
        for _ in range(60):
            assert door.get(None, f"{P}/budget").status_code == 401
        assert door.ask("ana", "age > 4", key="written-down").status_code == 200
        lines = door.audit(lambda lines: any(line.get("key") == "written-down" for line in lines))
    assert sum(line.get("status") == 401 for line in lines) < 40
    assert sum("full" in line for line in lines) == 1


def test_a_line_of_a_log_is_one_line_whatever_stands_in_it(quick_path, monkeypatch) -> None:
    write = failure_log(quick_path)
    write(ValueError("a\n2026-01-01T00:00:00+00:00 LedgerError: forged\x1b[2J"))
    assert (quick_path / "failures.log").read_text().count("\n") == 1
    assert "\x1b" not in (quick_path / "failures.log").read_text()
    monkeypatch.setattr(workspace, "_MOST_LOGGED", 2_000)
    for number in range(200):
        write(ValueError(f"number {number} {'x' * 100}"))
    sizes = {path.name: path.stat().st_size for path in quick_path.glob("failures.log*")}
    assert sizes.keys() == {"failures.log", "failures.log.1"}
    assert max(sizes.values()) < 2_500
    assert "number 199" in (quick_path / "failures.log").read_text()
    log = AuditLog(quick_path)
    log.write({"who": "ana\n{}\u202e"})
    log.close()
    (path,) = quick_path.glob("audit-*.log")
    assert path.read_text().count("\n") == 1
