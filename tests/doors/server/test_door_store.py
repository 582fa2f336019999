"""What the server remembers: in a file or in PostgreSQL, the same."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from doors.server.doors import UNLIMITED, P, make_folder, serving
from doors.server.test_race import url_of
from lapwing.doors.server.application import DoorSettings
from lapwing.doors.server.door_store import open_store
from lapwing.doors.server.identities import Identities
from lapwing.doors.server.memory import Memory
from lapwing.doors.server.people import Directory
from lapwing.doors.server.problems import ProblemError
from lapwing.doors.server.roles import Right, Role
from lapwing.doors.server.sign_in_provider import Provider, Subject
from lapwing.doors.server.trusted_proxy import Unknown

pytestmark = pytest.mark.one_budget("the store of the door knows no budget")


@pytest.fixture(params=["sqlite", "postgres"])
def folder(request, quick_path, budget) -> Path:
    address = url_of(request.getfixturevalue("database")) if request.param == "postgres" else ""
    return make_folder(quick_path / "clinic", budget, ledger=address)


def test_a_directory_counts_what_it_must(folder) -> None:
    now = [1_000_000.0]
    store = open_store(folder)
    directory = Directory(store, most_tokens=2, clock=lambda: now[0])
    assert directory.custodian_to_come() == "custodian"
    ana = directory.add("ana", "Ana", Role.ANALYST, password="correct horse battery")  # noqa: S106
    assert directory.by_password("ana", "correct horse battery") == ana
    assert directory.by_password("ana", "wrong") is None
    assert directory.by_password("nobody", "correct horse battery") is None
    with pytest.raises(ValueError, match="is taken"):
        directory.add("ana", "Another", Role.AUDITOR)
    secret = directory.sign_in("ana")
    assert directory.by_sign_in(secret) == ana
    now[0] += 29 * 60
    assert directory.by_sign_in(secret) == ana
    now[0] += 31 * 60
    assert directory.by_sign_in(secret) is None
    token, about = directory.make_token(ana, "a", days=1)
    assert directory.by_token(token) == ana
    directory.make_token(ana, "b", days=1)
    with pytest.raises(ValueError, match="all that one person may have"):
        directory.make_token(ana, "c")
    now[0] += 86_401
    assert directory.by_token(token) is None
    again, about = directory.make_token(ana, "d")
    assert directory.revoke_token("ben", about["id"]) is False
    assert directory.by_token(again) == ana
    invited = directory.invite("ben", "Ben", Role.AUDITOR, by="cleo", seconds=60)
    assert [one["id"] for one in directory.invitations()] == ["ben"]
    now[0] += 61
    assert directory.accept(invited) is None
    store.close()


def test_who_somebody_is_at_a_provider_is_known_to_every_process(folder) -> None:
    now = [1_000_000.0]
    one, other = open_store(folder), open_store(folder)
    here, there = (Identities(store, Directory(store), clock=lambda: now[0]) for store in (one, other))
    provider = Provider(name="H", issuer="a", client="c", callback="b", unknown=Unknown.GUEST)
    zoe = Subject("a", "s-1", "Zoe", None)
    with ThreadPoolExecutor(4) as crowd:  # the first sign-in of one person, in four windows
        made = set(crowd.map(lambda side: side.let_in(zoe, provider), [here, there, here, there]))
    assert len(made) == 1
    ana = Directory(one).add("ana", "Ana", Role.ANALYST)
    here.link("ana", "a", "s-1")
    assert there.let_in(zoe, provider) == ana
    assert there.let_in(zoe._replace(issuer="b"), provider) != ana
    here.begin("secret", "/goal")
    assert (there.take("other"), there.take("secret"), here.take("secret")) == (None, "/goal", None)
    one.close()
    other.close()


def test_a_token_that_was_made_with_another_ends_with_it_at_the_latest(folder) -> None:
    now = [1_000_000.0]
    store = open_store(folder)
    directory = Directory(store, clock=lambda: now[0])
    ana = directory.add("ana", "Ana", Role.ANALYST)
    first, about = directory.make_token(ana, "first", days=2, may=[Right.READ, Right.PREVIEW])
    child, of_child = directory.make_token(directory.by_token(first), "child", days=365)
    grandchild, of_grandchild = directory.make_token(directory.by_token(child), "grandchild", days=1)
    beside, _ = directory.make_token(ana, "beside", days=365)
    assert of_child["expires"] == about["expires"] == of_grandchild["expires"] + 86_400
    assert directory.by_token(grandchild).rights == {Right.READ, Right.PREVIEW}
    with pytest.raises(ValueError, match="is not what you may do"):
        directory.make_token(directory.by_token(grandchild), "more", may=[Right.ASK])
    came = directory.by_token(first)  # who is stopped while they are at it
    assert directory.revoke_token("ben", about["id"]) is False
    assert directory.revoke_token("ana", about["id"])
    assert [directory.by_token(one) for one in (first, child, grandchild)] == [None, None, None]
    with pytest.raises(ValueError, match="has ended"):
        directory.make_token(came, "too late")
    assert directory.by_token(beside) == ana
    now[0] += 364 * 86_400
    late, of_late = directory.make_token(directory.by_token(beside), "late", days=90)
    now[0] += 86_400
    assert of_late["expires"] == now[0]
    assert directory.by_token(late) is directory.by_token(beside) is None
    store.close()


def test_who_makes_a_token_while_all_are_revoked_keeps_none(folder) -> None:
    stores = open_store(folder), open_store(folder)
    making, revoking = (Directory(store) for store in stores)
    first, _ = making.make_token(making.add("ana", "Ana", Role.ANALYST), "first")
    ana = making.by_token(first)
    with ThreadPoolExecutor() as beside:
        with stores[0].together():  # as `make_token` does, which has looked at the first one already
            revoked = beside.submit(revoking.revoke_tokens, "ana")
            with pytest.raises(TimeoutError):
                revoked.result(timeout=0.3)
        assert revoked.result(timeout=20) == 1
    with pytest.raises(ValueError, match="has ended"):
        making.make_token(ana, "second")
    for store in stores:
        store.close()


def test_a_token_that_was_looked_up_before_is_what_it_is_now(folder) -> None:
    one, other = open_store(folder), open_store(folder)
    here, there = Directory(one), Directory(other)
    person = here.add("ana", "Ana", Role.ANALYST)
    tokens = [here.make_token(person, name) for name in "abc"]
    assert [here.by_token(token) for token, _ in tokens for _ in range(2)] == [person] * 6
    assert there.revoke_token("ana", tokens[0][1]["id"])
    assert [here.by_token(token) for token, _ in tokens] == [None, person, person]
    assert here.revoke_token("ana", tokens[1][1]["id"])
    assert [here.by_token(token) for token, _ in tokens] == [None, None, person]
    there.change("ana", role=Role.AUDITOR)
    assert here.by_token(tokens[2][0]).role is Role.AUDITOR
    there.change("ana", disabled=True)
    assert here.by_token(tokens[2][0]) is None
    for store in (one, other):
        store.close()


def test_two_processes_remember_the_same(folder) -> None:
    one, other = open_store(folder), open_store(folder)
    person = Directory(one).add("ana", "Ana", Role.ANALYST)
    token, _ = Directory(one).make_token(person, "a")
    assert Directory(other).by_token(token) == person
    Directory(other).change("ana", disabled=True)
    assert Directory(one).by_token(token) is None
    memory = Memory(one)
    for number in range(5):
        memory.remember("clinic", "ana", f"key-{number}", kind="ask", digest=f"{number}", body=b'{"a": 1}')
    memory.remember("clinic", "ana", "key-0", kind="ask", digest="0", body=b'{"a": 1}')
    with pytest.raises(ProblemError, match="another request"):
        Memory(other).remember("clinic", "ana", "key-0", kind="ask", digest="1", body=b"null")
    for status, outcome in ((402, b"no"), (200, b"yes"), (402, b"a refusal that is noted late")):
        Memory(one).end("clinic", "ana", "key-0", status=status, outcome=outcome)
    assert Memory(other).ending("clinic", "ana", "key-0") == (200, b"yes")
    listed = Memory(other).listed("clinic", "ana", before=5, limit=2)
    assert [(row["key"], row["number"], row["body"]) for row in listed] == [
        ("key-3", 4, {"a": 1}),
        ("key-2", 3, {"a": 1}),
    ]
    one.close()
    other.close()


def test_a_change_that_fails_leaves_nothing(folder) -> None:
    store = open_store(folder)

    def fail() -> None:
        with store.together():
            store.do("insert into people values ('x', 'X', 'guest', null, 0, 1)")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert Directory(store).everybody() == []
    store.close()


def test_a_file_that_is_no_store_is_not_kept_open(quick_path, budget) -> None:
    folder = make_folder(quick_path / "clinic", budget)
    (folder / "door.db").write_bytes(b"this is no database" * 100)
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):  # its traceback refers to the connection
        open_store(folder)
    assert not [link for link in Path("/proc/self/fd").iterdir() if link.resolve() == (folder / "door.db").resolve()]


def test_questions_are_asked_on_either(folder) -> None:
    with serving(folder, DoorSettings(limits=UNLIMITED, tick=0.02)) as door:
        told = door.ask("ana", "age > 30", "0.1", "a-key-of-mine")
        assert told.status_code == 200
        assert door.get("ana", f"{P}/answers/a-key-of-mine").json()["released"] == told.json()["released"]


def test_a_connection_that_is_lost_is_made_anew(quick_path, postgres, database, budget) -> None:
    folder = make_folder(quick_path / "clinic", budget, ledger=url_of(database))
    store = open_store(folder)
    Directory(store).add("ana", "Ana", Role.ANALYST)
    postgres.stop()
    postgres.start()
    assert Directory(store).person("ana").name == "Ana"
    store.close()
