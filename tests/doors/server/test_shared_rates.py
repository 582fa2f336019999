"""Limits on guesses and on spending hold over all processes of a store: n hosts allow no more than one."""

import multiprocessing
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from doors.server.doors import UNLIMITED, Door, add_people, code_of, make_folder, serving
from doors.server.test_race import url_of
from lapwing.doors.server.application import DoorSettings
from lapwing.doors.server.door_store import open_store
from lapwing.doors.server.rates import Buckets, Rate
from lapwing.doors.server.shared_rates import SharedBuckets, rate_limits

pytestmark = pytest.mark.one_budget("the store of the door knows no budget")

SLOW = Rate(burst=50, a_second=1e-3)


@pytest.fixture(params=["sqlite", "postgres"])
def folder(request, quick_path, budget) -> Path:
    address = url_of(request.getfixturevalue("database")) if request.param == "postgres" else ""
    return make_folder(quick_path / "clinic", budget, ledger=address)


def take_all(folder: Path, times: int) -> int:
    """Take as often as that from a bucket, in a process of its own, and return how often one was there."""
    store = open_store(folder)
    buckets = SharedBuckets(store, "tests", SLOW)
    taken = sum(buckets.take("ana") == 0 for _ in range(times))
    store.close()
    return taken


def test_two_processes_at_once_do_not_find_a_full_bucket_each(folder) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        taken = pool.starmap(take_all, [(folder, 80)] * 2)
    assert sum(taken) == 50, taken


def test_a_bucket_fills_again_and_what_was_no_guess_is_given_back(folder) -> None:
    stores = open_store(folder), open_store(folder)
    here, there = (SharedBuckets(store, "tests", Rate(burst=3, a_second=5)) for store in stores)
    other = SharedBuckets(stores[0], "other tests", Rate(burst=3, a_second=5))
    assert [one.take("ana") == 0 for one in (here, there, here, there, here)] == [True] * 3 + [False] * 2
    assert 0 < there.take("ana") <= 0.2
    assert there.take("ben") == other.take("ana") == 0
    there.give_back("ana")
    assert here.take("ana") == 0 < here.take("ana")
    time.sleep(0.45)
    assert [one.take("ana") == 0 for one in (there, here, there)] == [True, True, False]
    for store in stores:
        store.close()


def test_full_buckets_are_removed_and_a_clock_that_was_set_back_locks_nobody_out(folder) -> None:
    now = [0.0]
    store = open_store(folder)
    buckets = SharedBuckets(store, "tests", Rate(burst=3, a_second=5), clock=lambda: now[0])
    buckets.take("ana")
    buckets.take("ben")
    store.do("update tries set full_at = full_at + ? where name = 'tests ben'", 86_400_000_000)
    assert buckets.take("ben") == 0
    time.sleep(0.25)
    now[0] += 61
    assert buckets.take("cleo") == 0
    assert sorted(name for (name,) in store.all("select name from tries")) == ["tests cleo"]
    store.close()


def test_what_this_process_refuses_by_itself_costs_the_store_nothing(folder) -> None:
    store = open_store(folder)
    buckets = SharedBuckets(store, "tests", Rate(burst=2, a_second=1e-3))
    assert [buckets.take("ana") == 0 for _ in range(3)] == [True, True, False]
    store.close()  # a flood goes on
    store.do = store.one = None  # type: ignore[method-assign,assignment]
    assert all(buckets.take("ana") > 0 for _ in range(100))


def test_which_limits_are_shared(folder) -> None:
    store = open_store(folder)
    limits = rate_limits(store, UNLIMITED)
    assert isinstance(limits.wrong_tokens, SharedBuckets)
    assert type(limits.asks) is (SharedBuckets if store.is_remote else Buckets)
    store.close()


def wrong(door: Door) -> int:
    return door.call(None, "GET", "/api/v1/me", headers={"Authorization": "Bearer lw_wrong"}).status_code


def test_guesses_and_questions_are_counted_at_two_servers_together(folder) -> None:
    limits = replace(UNLIMITED, wrong_tokens=Rate(burst=4, a_second=1e-3), asks=Rate(burst=3, a_second=1e-3))
    tokens = add_people(folder)
    is_remote = "postgresql" in (folder / "lapwing.toml").read_text()
    with ExitStack() as stack:
        doors = [stack.enter_context(serving(folder, DoorSettings(limits=limits, tick=0.02), tokens)) for _ in "ab"]
        assert [wrong(door) for door in doors * 3] == [401] * 4 + [429] * 2
        told = [doors[i % 2].ask("ana", f"age > {i}", "0.01") for i in range(6)]
        assert [one.status_code for one in told] == [200] * 3 + ([429] * 3 if is_remote else [200] * 3)
        if is_remote:
            assert (code_of(told[-1]), int(told[-1].headers["Retry-After"]) > 500) == ("too_many", True)
        assert doors[1].ask("ben", "age > 1", "0.01").status_code == 200
        signed = [sign_in(door) for door in doors * 5]
        assert signed == [401] * 10
    tight = replace(UNLIMITED, sign_ins=Rate(burst=3, a_second=1e-3))
    with ExitStack() as stack:
        doors = [stack.enter_context(serving(folder, DoorSettings(limits=tight, tick=0.02), tokens)) for _ in "ab"]
        assert [sign_in(door) for door in doors * 3] == [401] * 3 + [429] * 3


def sign_in(door: Door) -> int:
    return door.client(None).post("/login", data={"name": "ana", "password": "a guess"}).status_code
