"""Leases: one process appends for a moment and others wait; a courtesy that nobody's safety rests on."""

import multiprocessing
import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import psycopg
import pytest

from lapwing.ledger import lease
from lapwing.ledger.postgres import PostgresDatabase
from lapwing.ledger.replay import verify
from lapwing.vocabulary.guarantee import PrivacyUnit, PureDP
from ledger.clinic import Place, ask, request

LONG = 0.3
"""Seconds of a lease in these tests: long enough to look at it."""


@pytest.fixture
def place(database) -> Place:
    return Place.in_postgres(database)


@pytest.fixture
def two(place, monkeypatch):
    """Return two that write to one chain, each as a process of its own, and know of each other."""
    monkeypatch.setattr(lease, "SECONDS", LONG)
    with place.clinic(epsilon=100) as one, place.open() as other:
        for ledger in (one, other):
            ledger.store._rivals.won()
        yield one, other


@pytest.fixture
def appended(monkeypatch) -> list[tuple[str, bool]]:
    """Return the request of each entry that was to be appended, and whether the chain ended where it was thought to."""
    append, tried = PostgresDatabase.append, list[tuple[str, bool]]()

    def noted(self, connection, entries, before, **commit):
        added = append(self, connection, entries, before, **commit)
        tried.extend((entry.record["request"], added) for entry in entries)
        return added

    monkeypatch.setattr(PostgresDatabase, "append", noted)
    return tried


def charge(ledger, key: str) -> float:
    """Charge a question; return how many seconds that took."""
    begun = time.monotonic()
    ledger.questions.charge(request(key))
    return time.monotonic() - begun


@contextmanager
def held(database: str, which: str):
    """Hold a lock of a lease from outside, as a process that stands still does."""
    with psycopg.connect(database, autocommit=True) as other:
        other.execute("set search_path = lapwing; set lapwing.chain = '1'")
        other.execute(which.replace("pg_try_advisory_lock", "pg_advisory_lock"))
        yield other


def test_who_has_the_lease_goes_on_and_the_other_waits_and_needs_no_second_try(two, appended) -> None:
    one, other = two
    assert charge(one, "a0") < LONG / 2, "nobody had it"
    waiting = threading.Thread(target=charge, args=(other, "b"))
    waiting.start()
    for number in range(1, 6):
        assert charge(one, f"a{number}") < LONG / 2, "it is kept"
        time.sleep(0.01)
    waiting.join(10)
    assert appended == [*((f"a{number}", True) for number in range(6)), ("b", True)]
    assert verify(one).entries == 3 + 7


def test_it_is_given_back_in_time_also_if_nothing_is_written_any_more(two) -> None:
    one, other = two
    charge(one, "a")
    assert LONG / 2 < charge(other, "b") < LONG + 2


def test_it_ends_with_its_holder(two) -> None:
    one, other = two
    charge(one, "a")
    one.store._writer.drop()  # as when its process dies
    assert charge(other, "b") < LONG + 0.2


def test_the_next_in_line_follows_what_the_holder_writes(two, monkeypatch) -> None:
    """When its turn comes there is little left to follow: that is what makes handing over short."""
    one, other = two
    follow, followed = other.store._follow, []

    def noted() -> None:
        follow()
        followed.append(other.store.seen.seq)

    monkeypatch.setattr(other.store, "_follow", noted)
    charge(one, "a0")
    waiting = threading.Thread(target=charge, args=(other, "b"))
    waiting.start()
    for number in range(1, 6):
        charge(one, f"a{number}")
    last = one.store.seen.seq
    waiting.join(10)
    assert len(followed) == 2
    assert followed[-1] == last


def test_whoever_has_none_may_be_faster(two, appended) -> None:
    """A process that knows of no others asks nobody; the holder finds the chain longer, and tries again."""
    one, other = two
    charge(one, "a0")
    other.store._rivals.__init__()
    assert charge(other, "b") < LONG / 2
    charge(one, "a1")
    assert [key for key, added in appended if added] == ["a0", "b", "a1"]
    assert ("a1", True) in appended
    assert verify(one).entries == 3 + 3


@pytest.mark.parametrize("which", [PostgresDatabase.stand_in_line[2], PostgresDatabase.stand_in_line[-1]])
def test_nobody_waits_for_ever_for_one_who_stands_still(two, database, which) -> None:
    one, _ = two
    with held(database, which):
        assert 0.9 < charge(one, "a") < 5, "after a second the lock of the chain decides"
        assert 0.9 < charge(one, "b") < 5
    assert charge(one, "c") < 0.9
    assert verify(one).entries == 3 + 3


def test_who_is_interrupted_in_line_is_in_nobodys_way(two, monkeypatch) -> None:
    one, other = two
    charge(one, "a")
    monkeypatch.setattr(time, "sleep", _interrupted)
    with pytest.raises(KeyboardInterrupt):
        charge(other, "b")
    monkeypatch.undo()
    assert charge(one, "c") < LONG + 0.2
    assert ask(other, "d").answer


def test_a_change_that_appends_nothing_gives_its_place_in_line_to_the_next(two) -> None:
    one, other = two
    answer = ask(other, "a")
    charge(one, "b")
    waiting = threading.Thread(target=charge, args=(other, "c"))
    waiting.start()
    assert ask(one, "a").answer == answer.answer
    waiting.join(10)
    assert not waiting.is_alive()


def test_a_lease_of_one_chain_keeps_nobody_from_another(place, monkeypatch) -> None:
    monkeypatch.setattr(lease, "SECONDS", 60.0)
    with place.clinic(epsilon=100) as clinic, place.open() as other:
        for ledger in (clinic, other):
            ledger.store._rivals.won()
        charge(clinic, "a")
        administration = other.administration
        administration.create_population("school", unit=PrivacyUnit(person_key="id"), budget=PureDP(epsilon=1))
        administration.add_table("school", "patients")
        school = other.of("school")
        school.store._rivals.won()
        begun = time.monotonic()
        school.questions.charge(replace(request("s"), population="school"))
        assert time.monotonic() - begun < 30


def test_a_connection_that_broke_while_it_had_the_lease_is_replaced(two) -> None:
    one, _ = two
    charge(one, "a")
    one.store._writer.current.close()
    charge(one, "b")
    assert verify(one).entries == 3 + 2


def test_a_connection_that_broke_while_nobody_used_it_is_replaced_before_standing_in_line(two) -> None:
    one, _ = two
    one.store._writer.open().close()
    charge(one, "a")
    assert verify(one).entries == 3 + 1


def test_where_no_thread_can_be_started_there_is_no_lease(two, monkeypatch) -> None:
    """Nobody could give it back in time: the lock of the chain decides, and the next one waits for nobody."""
    one, other = two

    def no_more_threads(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Timer, "start", no_more_threads)
        charge(one, "a")
    assert charge(other, "b") < LONG


def test_who_waits_for_the_lock_keeps_no_lease(two, database) -> None:
    """Otherwise everybody would wait for whoever holds the lock, and a second more."""
    one, other = two
    charge(one, "a")
    with psycopg.connect(database) as holder:
        holder.execute("select 1 from lapwing.chains where chain = 1 for update")
        waiting = threading.Thread(target=one.administration.add_table, args=("clinic", "labs"))
        waiting.start()
        time.sleep(0.1)
        assert not one.store._lease._is_held
        holder.rollback()
    waiting.join(10)
    charge(other, "b")


def test_a_fork_leaves_the_child_a_connection_that_it_may_use(two) -> None:
    """A thread that gives a lease back holds the lock of the connection, and is not there in the child of a fork."""
    one, _ = two
    writer, told, here = one.store._writer, *multiprocessing.Pipe()
    locked, done = threading.Event(), threading.Event()

    def hold() -> None:
        with writer.lock:
            locked.set()
            done.wait(20)

    holder = threading.Thread(target=hold)
    holder.start()
    locked.wait(10)
    child = multiprocessing.get_context("fork").Process(target=_try, args=(writer, here))
    child.start()
    assert told.poll(15)
    assert told.recv() is True
    done.set()
    child.join(10)
    holder.join(10)


def _try(writer, told) -> None:
    told.send(writer.lock.acquire(timeout=2))


def _interrupted(_: float) -> None:
    raise KeyboardInterrupt
