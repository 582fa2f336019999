"""64 clients ask streams, one by one and in batches, at two processes, of which one is killed at each step.

The cap is exact, what was told was charged before, every question has one end, and no noise is drawn anew: a key that
is put again, at either process, has the outcome that the ledger has for it.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pytest

import lapwing as lw
from doors.server.doors import P
from doors.server.test_race import CAP, Race, racing
from lapwing.ledger.replay import verify
from lapwing.noise.randomness import fresh_name
from lapwing.streams import STEPS

pytestmark = pytest.mark.one_budget("processes race for one sum, which shows at once if it was overdrawn")

CLIENTS, STREAMS, PRICE, YESES = 64, 30, "0.25", 2
POINTS = {
    "sqlite": ["stream.sealed", "open.committed", "stream.intended", "stream.decided", "decide.written", "stream.told"],
    "postgres": [
        "open.written",
        "stream.opened",
        "intend.written",
        "intend.committed",
        "stream.read",
        "decide.committed",
    ],
}
"""Where a process is killed; on both ledgers together, at every step of a stream and of its transactions."""
EACH = 3
FINAL = {200, 402, 410, 422}


@dataclass
class StreamRace(Race):
    """Clients that open streams, and ask each of them two questions and a batch at the same moment."""

    streams: dict[str, str] = field(default_factory=dict)
    bodies: dict[str, tuple[str, Any, int]] = field(default_factory=dict)
    clients: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(CLIENTS))

    async def put(self, path: str, body: Any, *, who: int, key: str, first: int) -> tuple[int, Any]:
        """Put something until it has an end, at one process and at the other in turn."""
        self.bodies[key] = path, body, who
        for attempt in range(400):
            try:
                async with self.clients:
                    status, told = await self.call((first + attempt) % 2, "POST", path, body, who=who, key=key)
            except (OSError, ValueError, TimeoutError):
                await asyncio.sleep(0.1)
                continue
            if status in FINAL or told.get("error", {}).get("code") in {"stream_halted", "stream_closed"}:
                self.told[key] = (status, told, body)
                return status, told
            await asyncio.sleep(0.1)
        raise AssertionError(f"{path}: {status} {told}")

    async def use(self, number: int) -> None:
        """Open a stream, and ask it."""
        who, key = number % 4, fresh_name()
        terms = {"at_least": 100, "yeses": YESES, "epsilon": PRICE}
        status, told = await self.put(f"{P}/streams", terms, who=who, key=key, first=number)
        if status != 200:
            return
        self.streams[key] = told["stream"]
        place = f"{P}/streams/{told['stream']}"
        asks = [(f"{place}/questions", {"where": f"age >= {age}"}) for age in (30, 80)]
        asks.append((f"{place}/batches", {"wheres": ["age >= 90", f"age >= {30 + number}", "sex = 'F'"]}))
        await asyncio.gather(
            *(self.put(*ask, who=who, key=fresh_name(), first=number + i) for i, ask in enumerate(asks))
        )

    async def run(self, points: list[str]) -> None:
        numbers, work = iter(range(STREAMS)), list[asyncio.Task[None]]()
        for point in points:
            self.processes[1].start(f"{point}:kill:1")
            await asyncio.gather(self.up(0), self.up(1))
            work += [asyncio.create_task(self.use(next(numbers))) for _ in range(EACH)]
            await self.wait_for_death(point)
        self.processes[1].start()
        await self.up(1)
        work += [asyncio.create_task(self.use(number)) for number in numbers]
        await asyncio.gather(*work)

    async def put_again(self, keys: list[str]) -> list[tuple[int, Any]]:
        """Put what was answered once more, at each of the processes."""
        found = []
        for key in keys:
            path, body, who = self.bodies[key]
            found += [await self.call(place, "POST", path, body, who=who, key=key) for place in (0, 1)]
        return found


def verdicts(told: Any) -> list[Any]:
    """Return what was told of each question that has an answer: verdict, gap and receipt."""
    answers = told.get("answers", [told])
    return [(one["verdict"], one["gap"], one["receipt"]) for one in answers if one is not None]


def test_every_step_of_a_stream_is_a_place_to_die() -> None:
    points = {point for points in POINTS.values() for point in points}
    transactions = {f"{act}.{phase}" for act in ("open", "intend", "decide") for phase in ("written", "committed")}
    assert set(STEPS) | transactions == points


@pytest.mark.parametrize("ledger", ["sqlite", "postgres"])
def test_streams_and_batches_have_one_end_whoever_dies(ledger, request, quick_path, budget) -> None:
    folder = quick_path / "clinic"
    race = racing(StreamRace, ledger, request, folder, budget)
    try:
        asyncio.run(race.run(POINTS[ledger]))
        answered = [key for key, (status, _, _) in race.told.items() if status == 200 and key not in race.streams]
        again = asyncio.run(race.put_again(answered[-6:]))
    finally:
        for process in race.processes:
            process.end()
    assert race.killed == POINTS[ledger]
    first = [race.told[key][1] for key in answered[-6:]]
    assert [verdicts(told) for _, told in again] == [verdicts(told) for told in first for _ in (0, 1)]
    with lw.open_workspace(folder) as workspace:
        kept = workspace.ledger
        assert kept.reservations.unsettled() == []  # whoever lives has decided what the dead left
        verify(kept)
        check(race, kept.history("clinic"))


def check(race: StreamRace, entries: list[dict]) -> None:
    """Compare what was told with what was written."""
    kinds = Counter(entry["kind"] for entry in entries)
    assert kinds["opening"] == len(race.streams) == Fraction(CAP) / Fraction(PRICE)  # not one more, and none is lost
    assert {status for status, _, _ in race.told.values()} <= {200, 402, 409}, "nothing was lost: the data is there"
    asked = {entry["request"]: entry for entry in entries if entry["kind"] in {"intent", "recall"}}
    ends = {entry["settles"]: entry for entry in entries if "settles" in entry}
    assert len(ends) == kinds["intent"], "each question has one end, from the one seed that it was asked with"
    yeses = Counter(entry["stream"] for entry in entries for _ in range(entry.get("units", 0)) if "settles" in entry)
    given = set[tuple[str, int]]()
    for key, (status, answer, _) in race.told.items():
        if status == 200 and key not in race.streams:
            receipts = {receipt.split(":")[2] for _, _, receipt in verdicts(answer)}
            if asked.get(key, {}).get("kind") == "intent" and "answers" not in answer:
                assert receipts == {str(ends[asked[key]["seq"]]["seq"])}
            answers = [one for one in answer.get("answers", [answer]) if one]
            given |= {(one["stream"], one["question"]) for one in answers if one["verdict"] == "above"}
    assert Counter(stream for stream, _ in given) <= yeses, "what was told was charged before"
    assert all(number <= YESES for number in yeses.values())
