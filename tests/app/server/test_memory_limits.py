"""What a server keeps, and what it works on at once, has a limit in bytes: large answers cost next to nothing."""

import asyncio
from fractions import Fraction

import lapwing as lw
from app.server.doors import P, code_of, make_folder, serving
from lapwing.app.server import memory as memories
from lapwing.app.server.house import Recent
from lapwing.app.server.jobs import Ending, JobName, Jobs
from lapwing.noise.randomness import fresh_name

CELLS = {"ask": "count", "table": "patient", "by": ["sex", {"column": "age", "edges": list(range(121))}]}


def test_what_was_not_wanted_for_longest_goes_when_there_are_too_many_bytes() -> None:
    kept = Recent[str, bytes](most=100, most_bytes=10)
    for name, size in (("a", 4), ("b", 4), ("a", 5), ("c", 2)):
        kept.put(name, b"x" * size)
    assert [kept.get(name) is not None for name in "abc"] == [True, False, True]
    kept.put("large", b"x" * 11)
    assert [kept.get(name) for name in ("a", "c", "large")] == [None] * 3
    kept.clear()
    kept.put("d", b"x" * 10)
    assert kept.get("d") is not None


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


def test_a_batch_has_no_more_numbers_than_a_question_may_have(quick_path, monkeypatch) -> None:
    """1,000 questions of 100,000 numbers each were taken, for an epsilon of a millionth: a hundred gigabytes."""
    with serving(make_folder(quick_path / "clinic")) as door:
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
        assert Fraction(door.left()) == 10
        assert len(door.call("ana", "POST", f"{P}/batches", few, key=fresh_name()).json()["answers"]) == 3


def test_long_requests_and_entries_are_listed_a_few_at_a_time(quick_path, monkeypatch) -> None:
    monkeypatch.setattr(memories, "_MOST_LISTED", 2_000)
    monkeypatch.setattr("lapwing.app.server.for_overseers._MOST_CHARACTERS", 3_000)
    with serving(make_folder(quick_path / "clinic")) as door:
        for number in range(4):
            door.ask("ana", f"age = {number} or sex = 'F'{' ' * 700}", "0.01", f"a-long-one-{number}")
        seen, before = [], {}
        while page := door.get("ana", f"{P}/answers", params={"limit": 100, **before}).json():
            assert len(page) <= 2
            seen += [one["key"] for one in page]
            before = {"before": page[-1]["number"]}
        assert seen == [f"a-long-one-{number}" for number in (3, 2, 1, 0)]
        monkeypatch.setattr("lapwing.app.server.for_analysts._ACTS_AT_ONCE", 1)
        acts = door.get("ana", f"{P}/history", params={"limit": 3}).json()
        monkeypatch.setattr("lapwing.app.server.for_analysts._MOST_CHARACTERS", 1)
        assert door.get("ana", f"{P}/history", params={"limit": 3}).json() == acts[:1]
        assert len({one["entry"] for one in acts}) == 3
        entries, after = [], 0
        while page := door.get("otto", "/api/v1/ledger/entries", params={"limit": 100, "after": after}).json():
            entries += page
            after = page[-1]["entry"]["seq"]
        with lw.open_workspace(door.folder) as workspace:
            assert len(entries) == workspace.ledger.last_entry()
