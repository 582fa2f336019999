"""64 clients at two processes, of which one is killed at each step of a question: the cap is exact, nothing is lost.

The ledger is in SQLite, or in PostgreSQL. Whoever gets no answer asks again under the same key, at the other process.
"""

import asyncio
import json
import socket
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import pytest

import lapwing as lw
from doors.server.doors import P, Process, add_people, count, make_folder
from lapwing.doors.server.roles import Role
from lapwing.ledger.replay import verify
from lapwing.noise.randomness import fresh_name
from lapwing.session import STEPS

pytestmark = pytest.mark.one_budget("processes race for one sum, which shows at once if it was overdrawn")

CLIENTS, QUESTIONS, PRICE, CAP = 64, 150, "0.05", "5"
POINTS = {
    "sqlite": ["ask.checked", "charge.committed", "ask.read", "answer.written", "ask.answered"],
    "postgres": ["charge.written", "ask.charged", "ask.noised", "answer.committed"],
}
"""Where a process is killed; on both ledgers together, at every step."""
EACH = 10
LIMITS = """
[limits]
looks = { burst = 100000, a_second = 100000 }
asks = { burst = 100000, a_second = 100000 }
at_once = 16
waiting = 200
"""


@dataclass
class Race:
    """What 64 clients do, and what they were told."""

    processes: list[Process]
    tokens: list[str]
    told: dict[str, tuple[int, Any, dict]] = field(default_factory=dict)
    killed: list[str] = field(default_factory=list)

    async def call(self, place: int, method: str, path: str, body: Any = None, *, who: int = 0, key: str = "") -> Any:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.processes[place].port)
        try:
            data = b"" if body is None else json.dumps(body).encode()
            head = [
                f"{method} {path} HTTP/1.1",
                "Host: 127.0.0.1",
                "Connection: close",
                f"Authorization: Bearer {self.tokens[who]}",
                "Content-Type: application/json",
                f"Content-Length: {len(data)}",
                *([f"Idempotency-Key: {key}"] if key else []),
            ]
            writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + data)
            got = await asyncio.wait_for(reader.read(), 60)
        finally:
            writer.close()
        if not got:
            raise ConnectionError
        return int(got[9:12]), json.loads(got.partition(b"\r\n\r\n")[2])

    async def client(self, number: int, work: "asyncio.Queue[tuple[int, str, dict]]") -> None:
        while True:
            i, key, body = await work.get()
            for attempt in range(200):
                place = (number + i + attempt) % 2
                try:
                    status, told = await self.call(place, "POST", f"{P}/questions", body, who=i % 4, key=key)
                except (OSError, ValueError, TimeoutError):
                    await asyncio.sleep(0.1)
                    continue
                if status in {429, 503} or (status == 409 and attempt < 5):
                    await asyncio.sleep(0.1)
                    continue
                self.told[key] = (status, told, body)
                break
            work.task_done()

    async def up(self, place: int) -> None:
        for _ in range(600):
            try:
                if (await self.call(place, "GET", "/api/v1/me"))[0] == 200:
                    return
            except OSError:
                await asyncio.sleep(0.1)
        raise AssertionError("no server")

    async def run(self, points: list[str]) -> None:
        bodies = [count(f"age = {i % 100} and sex = '{'FM'[i // 100 % 2]}'", PRICE) for i in range(QUESTIONS)]
        waiting = [(i, fresh_name(), body) for i, body in enumerate(bodies)]
        work: asyncio.Queue[tuple[int, str, dict]] = asyncio.Queue()
        clients = [asyncio.create_task(self.client(number, work)) for number in range(CLIENTS)]
        for point in points:  # each time the second process dies at another step, with questions on their way
            self.processes[1].start(f"{point}:kill:2")
            await asyncio.gather(self.up(0), self.up(1))
            for _ in range(EACH):
                work.put_nowait(waiting.pop())
            await self.wait_for_death(point)
        self.processes[1].start()
        await self.up(1)
        while waiting:
            work.put_nowait(waiting.pop())
        await work.join()
        for client in clients:
            client.cancel()

    async def wait_for_death(self, point: str) -> None:
        """Wait, for so long, until the second process has died at a step."""
        for _ in range(600):
            if self.processes[1].died():
                self.killed.append(point)
                return
            await asyncio.sleep(0.05)

    async def again(self, place: int, keys: list[str]) -> list[Any]:
        await self.up(place)
        owners = {key: self.told[key][1] for key in keys}
        found = []
        for key in owners:
            for who in range(4):
                status, told = await self.call(place, "GET", f"{P}/answers/{key}", who=who)
                if status == 200:
                    found.append(told["released"])
        return found


def url_of(dsn: str) -> str:
    """Return a connection string as an address."""
    words = dict(word.split("=") for word in dsn.split())
    return f"postgresql://{words['user']}@/{words['dbname']}?host={words['host']}"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


R = TypeVar("R", bound=Race)


def racing(kind: type[R], ledger: str, request, folder: Path, budget) -> R:
    """Return a race of four analysts at two processes of one clinic, of which the first is started."""
    address = url_of(request.getfixturevalue("database")) if ledger == "postgres" else ""
    make_folder(folder, budget, CAP, ledger=address)
    (folder / "door.toml").write_text(LIMITS)
    tokens = add_people(folder, {f"p{i}": Role.ANALYST for i in range(4)})
    race = kind([Process(folder, free_port()) for _ in range(2)], list(tokens.values()))
    race.processes[0].start()
    return race


def test_every_step_of_a_question_is_a_place_to_die() -> None:
    assert set(STEPS) <= {point for points in POINTS.values() for point in points}


@pytest.mark.parametrize("ledger", ["sqlite", "postgres"])
def test_the_cap_is_exact_whoever_dies(ledger, request, quick_path, budget) -> None:
    folder = quick_path / "clinic"
    race = racing(Race, ledger, request, folder, budget)
    try:
        asyncio.run(race.run(POINTS[ledger]))
        answered = [key for key, (status, _, _) in race.told.items() if status == 200]
        for place in (0, 1):
            assert asyncio.run(race.again(place, answered[:8])) == [
                race.told[key][1]["released"] for key in answered[:8]
            ]
    finally:
        for process in race.processes:
            process.end()
    statuses = Counter(status for status, _, _ in race.told.values())
    assert set(statuses) <= {200, 402, 409, 410}, statuses
    assert len(race.told) == QUESTIONS
    assert race.killed == POINTS[ledger]
    with lw.open_workspace(folder) as workspace:
        charges = [entry for entry in workspace.ledger.history("clinic") if entry["kind"] == "charge"]
        assert len(charges) == Fraction(CAP) / Fraction(PRICE)  # not one more, and whoever dies takes none away
        assert statuses[200] <= len(charges)
        assert workspace.ledger.questions.unsettled() == []  # a living process has settled what dead ones left
        verify(workspace.ledger)
