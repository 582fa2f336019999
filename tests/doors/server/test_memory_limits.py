"""What a server keeps, and what it works on at once, has a limit in bytes: large answers cost next to nothing."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import lapwing as lw
from doors.server.doors import P, code_of, make_folder, serving
from lapwing.doors.server import memory as memories
from lapwing.doors.server.jobs import Ending, JobName, Jobs
from lapwing.doors.server.lru_cache import LruCache
from lapwing.doors.server.rates import Buckets, Rate
from lapwing.noise.randomness import fresh_name

pytestmark = pytest.mark.one_budget("memory is counted in bytes")

CELLS = {"ask": "count", "table": "patient", "by": ["sex", {"column": "age", "edges": list(range(121))}]}


def test_what_was_not_wanted_for_longest_goes_when_there_are_too_many_bytes() -> None:
    kept = LruCache[str, bytes](most=100, most_bytes=10)
    for name, size in (("a", 4), ("b", 4), ("a", 5), ("c", 2)):
        kept.put(name, b"x" * size)
    assert [kept.get(name) is not None for name in "abc"] == [True, False, True]
    kept.put("large", b"x" * 11)
    assert [kept.get(name) for name in ("a", "c", "large")] == [None] * 3
    kept.clear()
    kept.put("d", b"x" * 10)
    assert kept.get("d") is not None


def test_questions_that_were_read_are_kept_by_the_length_of_what_they_were_read_from(
    quick_path, monkeypatch, budget
) -> None:
    """A preview is free: a megabyte of numbers each would be thirty megabytes each, two thousand times."""
    with serving(make_folder(quick_path / "clinic", budget)) as door:
        kept = []
        put = LruCache.put

        def watched(recent, name, value, *, size=0):
            put(recent, name, value, size=size)
            kept.append((size, recent._bytes, recent._most_bytes))

        several = {f"q{number}": {**CELLS, "by": [], "where": f"age = 1{' ' * 19_000}"} for number in range(20)}
        monkeypatch.setattr(LruCache, "put", watched)
        for number in range(12):
            body = {"question": {"ask": "together", "questions": several}, "price": {"epsilon": f"0.{number + 1}"}}
            assert door.call("ana", "POST", f"{P}/previews", body).status_code == 200
        large = [one for one in kept if one[0] > 300_000]
        assert len(large) == 12
        assert max(held for _, held, _ in large) <= large[0][2] == 4 * 1024 * 1024
        edges = [{"column": "age", "edges": list(range(1000))}] * 8
        body = {
            "question": {"ask": "together", "questions": {"a": {**CELLS, "by": edges}, "b": {**CELLS, "by": edges}}}
        }
        told = door.call("ana", "POST", f"{P}/previews", {**body, "price": {"epsilon": "1"}})
        assert (told.status_code, "16000 edges of bins, more than 10000" in told.text) == (422, True), told.text


def test_two_at_once_do_not_find_a_full_bucket_each() -> None:
    buckets, before = Buckets(Rate(burst=50, a_second=1e-9), clock=lambda: 0.0), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            told = list(pool.map(lambda _: buckets.take("ana"), range(4_000)))
    finally:
        sys.setswitchinterval(before)
    assert told.count(0.0) == 50


def test_finished_jobs_are_forgotten_by_their_bytes_and_running_ones_are_not() -> None:
    async def run() -> tuple[list[bool], int]:
        jobs = Jobs(tick=0.001, at_once=8, most_waiting=64, on_failure=print, most_bytes=250)
        names = [JobName("clinic", "ana", f"key-{number}") for number in range(6)]
        for name in names:
            job = jobs.start(name, "d", None, lambda _: b"x" * 100, begun=0.0)
            assert await jobs.wait(job, 10) == Ending(200, b"x" * 100)
        again = jobs.start(names[0], "d", None, lambda _: b"y" * 10, begun=0.0)
        assert (await jobs.wait(again, 10)).body == b"y" * 10, "it is done anew, from the ledger"
        return [jobs.find(name) is not None for name in names], jobs._bytes

    found, size = asyncio.run(run())
    assert found == [True, False, False, False, True, True]
    assert size == 210


def test_a_batch_has_no_more_numbers_than_a_question_may_have(quick_path, monkeypatch, budget) -> None:
    """1,000 questions of 100,000 numbers each were taken, for an epsilon of a millionth: a hundred gigabytes."""
    with serving(make_folder(quick_path / "clinic", budget)) as door:
        several = [{**CELLS, "where": f"age <> {number % 100}"} for number in range(500)]
        told = door.call(
            "ana", "POST", f"{P}/batches", {"questions": several, "price": {"epsilon": "1e-8"}}, key=fresh_name()
        )
        assert (told.status_code, code_of(told)) == (422, "bad_question")
        assert "more than 100,000 numbers in their answers; ask them in parts" in told.text
        few = {"questions": several[:3], "price": {"epsilon": "0.01"}}
        with monkeypatch.context() as smaller:
            smaller.setattr("lapwing.session.MOST_TOGETHER_CANONICAL", 1_000)
            told = door.call("ana", "POST", f"{P}/batches", few, key=fresh_name())
        assert "characters when they are written out; ask them in parts" in told.text
        assert 10 - door.taken() == 10
        assert len(door.call("ana", "POST", f"{P}/batches", few, key=fresh_name()).json()["answers"]) == 3


def test_long_requests_and_entries_are_listed_a_few_at_a_time(quick_path, monkeypatch, budget) -> None:
    monkeypatch.setattr(memories, "_MOST_LISTED", 2_000)
    monkeypatch.setattr("lapwing.doors.server.for_overseers._MOST_CHARACTERS", 3_000)
    with serving(make_folder(quick_path / "clinic", budget)) as door:
        for number in range(4):
            door.ask("ana", f"age = {number} or sex = 'F'{' ' * 700}", "0.01", f"a-long-one-{number}")
        seen, before = [], {}
        while page := door.get("ana", f"{P}/answers", params={"limit": 100, **before}).json():
            assert len(page) <= 2
            seen += [one["key"] for one in page]
            before = {"before": page[-1]["number"]}
        assert seen == [f"a-long-one-{number}" for number in (3, 2, 1, 0)]
        monkeypatch.setattr("lapwing.doors.server.for_analysts._ACTS_AT_ONCE", 1)
        acts = door.get("ana", f"{P}/history", params={"limit": 3}).json()
        monkeypatch.setattr("lapwing.doors.server.for_analysts._MOST_CHARACTERS", 1)
        assert door.get("ana", f"{P}/history", params={"limit": 3}).json() == acts[:1]
        assert len({one["entry"] for one in acts}) == 3
        entries, after = [], 0
        while page := door.get("otto", "/api/v1/ledger/entries", params={"limit": 100, "after": after}).json():
            entries += page
            after = page[-1]["entry"]["seq"]
        with lw.open_workspace(door.folder) as workspace:
            assert len(entries) == workspace.ledger.last_entry()
