"""The server beside a bare endpoint: CPU time of its process for each request, and what the clock on the wall tells.

Clients and servers are processes of their own, so that the CPU time of a server is its own; both are asked in turn, so
that what others do on the machine touches both alike. Rates are those of one core.

An answer that was there already stands for its new key for ever, also when the data changes and the machine fails: the
key is committed, durably, before the answer is told. What that is to be held against is a bare endpoint that commits a
key, durably, in a thread, and does nothing else; the table has the plain one beside it.
"""

import asyncio
import json
import os
import random  # noqa: TID251 - which world is asked first
import secrets  # noqa: TID251 - keys of a client
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import lapwing as lw
from _report import Goals, clock, table
from lapwing.doors.server.door_store import open_store
from lapwing.doors.server.people import Directory
from lapwing.doors.server.roles import Role

P = "/api/v1/populations/clinic"
CONNECTIONS, ROUNDS, SECONDS, PAIRS = 8, 4, 0.6, 400
WHERE = "sex = 'M' and age between 20 and 30 and cancer_survivor and has(visit, service = 'surgery')"
LIMITS = """
tick = "{tick}"
[limits]
looks = {{ burst = 1000000, a_second = 1000000 }}
asks = {{ burst = 1000000, a_second = 1000000 }}
at_once = 16
"""
BARE = """
import sqlite3, sys, threading, uvicorn
from anyio import to_thread
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
async def bare(request):
    return JSONResponse({"ok": True})
keys = sqlite3.connect(sys.argv[2], isolation_level=None, check_same_thread=False)
for statement in ("pragma journal_mode = wal", "pragma synchronous = full", "create table keys (key text primary key)"):
    keys.execute(statement)
turn = threading.Lock()
def keep(key):
    with turn:
        keys.execute("insert into keys values (?) on conflict do nothing", [key])
async def kept(request):
    await to_thread.run_sync(keep, request.headers["idempotency-key"])
    return JSONResponse({"ok": True})
app = Starlette(routes=[Route("/bare", bare), Route("/kept", kept, methods=["POST"])])
uvicorn.run(app, port=int(sys.argv[1]), http="h11", ws="none", log_config=None, access_log=False)
"""
TICKS = os.sysconf("SC_CLK_TCK")
NEW_PREVIEW = 2.0 / 0.12
"""2.0 ms of CPU on a quiet machine, where a bare endpoint takes 0.12 ms: a ratio, since machines differ."""


class Line:
    """A connection that is kept, and one request at a time on it."""

    def __init__(self, port: int) -> None:
        self.port, self.pair = port, None

    async def send(self, request: bytes) -> tuple[int, bytes]:
        """Send a request, and return the status and the body of the answer."""
        if self.pair is None:
            self.pair = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.pair
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        sizes = [one for one in head.lower().split(b"\r\n") if one.startswith(b"content-length")]
        body = await reader.readexactly(int(sizes[0].split(b":")[1])) if sizes else b""
        return int(head[9:12]), body

    def close(self) -> None:
        """Hang up."""
        if self.pair is not None:
            self.pair[1].close()


class Server:
    """A process that serves."""

    def __init__(self, command: list[str], port: int) -> None:
        self.port, self.begun = port, time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603

    async def up(self, path: str) -> float:
        """Wait until it answers, and return how long that took from its start."""
        line = Line(self.port)
        while time.perf_counter() < self.begun + 60:
            try:
                await line.send(http("GET", path))
            except OSError:
                line.pair = None
                await asyncio.sleep(0.02)
            else:
                line.close()
                return time.perf_counter() - self.begun
        raise TimeoutError(path)

    def cpu(self) -> float:
        """Return the CPU seconds that it has used."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / TICKS

    def end(self) -> None:
        """Stop it."""
        self.process.terminate()
        self.process.wait(30)


def http(method: str, path: str, body: object = None, *, token: str = "", key: str = "") -> bytes:
    data = b"" if body is None else json.dumps(body).encode()
    head = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(data)}"]
    head += [f"Authorization: Bearer {token}"] if token else []
    head += ["Content-Type: application/json"] if body is not None else []
    head += [f"Idempotency-Key: {key}"] if key else []
    return "\r\n".join(head).encode() + b"\r\n\r\n" + data


def count(where: str, epsilon: str = "0.0001") -> dict:
    return {"question": {"ask": "count", "table": "patient", "where": where}, "price": {"epsilon": epsilon}}


async def load(server: Server, make: Callable[[], bytes], seconds: float) -> tuple[int, float]:
    """Return how many requests were answered in that time, and how much CPU time of the server they took."""
    done, until, before = 0, time.perf_counter() + seconds, server.cpu()

    async def one() -> None:
        nonlocal done
        line = Line(server.port)
        while time.perf_counter() < until:
            status, body = await line.send(make())
            if status != 200:
                raise RuntimeError(f"{status}: {body[:200]!r}")
            done += 1
        line.close()

    await asyncio.gather(*(one() for _ in range(CONNECTIONS)))
    return done, server.cpu() - before


def free_port() -> int:
    import socket  # noqa: PLC0415

    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def make_workspace(folder: Path, declare: Callable[[Path], None] = lambda _: None) -> str:
    """Make a clinic with a door, and return a token of an analyst; `declare` may change what is declared."""
    lw.make_clinic(folder, people=20_000, epsilon=1000)
    declare(folder)
    lw.create(folder).close()
    return open_door(folder, tick="0.1")


def open_door(folder: Path, tick: str) -> str:
    (folder / "door.toml").write_text(LIMITS.format(tick=tick), encoding="utf-8")
    store = open_store(folder)
    people = Directory(store)
    token, _ = people.make_token(people.add("ana", "Ana", Role.ANALYST), "benchmark")
    store.close()
    return token


def start(folder: Path) -> Server:
    port = free_port()
    return Server([sys.executable, "-m", "lapwing", "serve", "--listen", f"127.0.0.1:{port}", "-w", str(folder)], port)


async def measure_rates(folder: Path, token: str, goals: Goals) -> None:
    server, port = start(folder), free_port()
    bare = Server([sys.executable, "-c", BARE, str(port), str(folder.parent / "keys.db")], port)
    try:
        first, _ = await server.up("/api/v1/health"), await bare.up("/bare")
        number = 0

        def next_number() -> int:
            nonlocal number
            number += 1
            return number

        line = Line(server.port)
        terms = {"at_least": 5000, "yeses": 5, "epsilon": "1"}
        opened = await line.send(http("POST", f"{P}/streams", terms, token=token, key=secrets.token_hex(12)))
        stream = json.loads(opened[1])["stream"]
        await line.send(http("POST", f"{P}/questions", count(WHERE), token=token, key="the-same-key"))
        atoms = [f"age = {i % 90} and visits >= {i % 30} and sex = 'M'" for i in range(90)]  # all that is asked below
        batch = {"wheres": atoms, "at_least": 5001}
        await line.send(http("POST", f"{P}/streams/{stream}/batches", batch, token=token, key=secrets.token_hex(12)))
        line.close()
        cases: dict[str, tuple[Server, Callable[[], bytes]]] = {
            "bare endpoint": (bare, lambda: http("GET", "/bare")),
            "bare, keeps a key": (bare, lambda: http("POST", "/kept", {}, key=secrets.token_hex(12))),
            "preview again": (server, lambda: http("POST", f"{P}/previews", count(WHERE), token=token)),
            "new preview": (
                server,
                lambda: http(
                    "POST", f"{P}/previews", count(f"{WHERE} and bmi > {10 + next_number() / 1000}"), token=token
                ),
            ),
            "stored answer, same key": (
                server,
                lambda: http("POST", f"{P}/questions", count(WHERE), token=token, key="the-same-key"),
            ),
            "stored answer, new key": (
                server,
                lambda: http("POST", f"{P}/questions", count(WHERE), token=token, key=secrets.token_hex(12)),
            ),
            "question of a stream": (
                server,
                lambda: http(
                    "POST",
                    f"{P}/streams/{stream}/questions",
                    {"where": f"age = {(n := next_number()) % 90} and visits >= {n // 90 % 30} and sex = 'M'"},
                    token=token,
                    key=secrets.token_hex(12),
                ),
            ),
        }
        found: dict[str, list[tuple[int, float]]] = {name: [] for name in cases}
        for _ in range(ROUNDS):
            for name, (whose, make) in cases.items():
                found[name].append(await load(whose, make, SECONDS))
        spent = {name: min(cpu / done for done, cpu in slices) * 1e3 for name, slices in found.items()}
        rates = {name: statistics.median(done / SECONDS for done, _ in slices) for name, slices in found.items()}
    finally:
        server.end()
        bare.end()
    base = spent["bare endpoint"]
    table(
        "requests at 8 connections",
        ["", "CPU ms each", "of bare", "a second, on the clock"],
        [[name, f"{one:.2f}", f"{base / one:.2f}", f"{rates[name]:,.0f}"] for name, one in spent.items()],
    )
    goals.at_least("preview again, of a bare endpoint", base / spent["preview again"], 0.4)
    goals.at_most("new preview, beside a bare endpoint", spent["new preview"] / base, NEW_PREVIEW)
    goals.at_least("stored answer, same key, of a bare endpoint", base / spent["stored answer, same key"], 0.4)
    kept = spent["bare, keeps a key"] / spent["stored answer, new key"]
    goals.at_least("stored answer, new key, of a bare endpoint that keeps a key", kept, 0.25)
    goals.at_most("question of a stream on known atoms", spent["question of a stream"], 5, " ms CPU")
    goals.at_most("start to the first answer", first, 15, " s")


async def measure_batches(folder: Path, token: str, goals: Goals) -> None:
    """Ask many conditions through HTTP and in this process, one after the other, of streams alike."""
    wheres = [f"age = {i % 90} and visits >= {i // 90} and sex = 'F'" for i in range(2000)]
    terms = {"at_least": 5000, "yeses": 5, "epsilon": "1"}
    server = start(folder)
    try:
        await server.up("/api/v1/health")
        line, outside, inside = Line(server.port), [], []
        for turn in range(3):
            fresh = [f"{where} and age < {100 + turn}" for where in wheres]
            status, body = await line.send(http("POST", f"{P}/streams", terms, token=token, key=secrets.token_hex(12)))
            place = f"{P}/streams/{json.loads(body)['stream']}/batches"
            before = server.cpu()
            status, body = await line.send(
                http("POST", place, {"wheres": fresh}, token=token, key=secrets.token_hex(12))
            )
            outside.append(server.cpu() - before)
            if status != 200:
                raise RuntimeError(body[:200])
            with lw.open(folder, analyst="ana") as session:
                stream = session.stream(at_least=5000, yeses=5, epsilon=1)
                session.tables()
                fresh = [f"{where} and age < {110 + turn}" for where in wheres]
                stream.ask_many(fresh[:2])
                begun = clock()
                stream.ask_many(fresh)
                inside.append(clock() - begun)
        line.close()
    finally:
        server.end()
    ratio = min(inside) / min(outside)
    table(
        "2,000 conditions in one request",
        ["", "CPU s"],
        [["in this process", f"{min(inside):.2f}"], ["through HTTP", f"{min(outside):.2f}"]],
    )
    goals.at_least("many conditions through HTTP, of the same in process", ratio, 0.5)


WORLDS = """
[populations.{name}]
person_key = "patient_id"
budget = {{ epsilon = "1000" }}
[populations.{name}.tables.patient]
source = "{name}.parquet"
columns.age = {{ type = "integer", low = 0, high = 120 }}
"""


def make_worlds(folder: Path) -> str:
    """Make two populations that differ in how long they take to count."""
    import duckdb  # noqa: PLC0415

    folder.mkdir()
    for name, rows in (("early", 20_000), ("late", 120_000)):
        file = folder / f"{name}.parquet"
        select = f"select i as patient_id, (hash(i) % 100)::integer as age from range({rows}) t(i)"  # noqa: S608 - ours
        with duckdb.connect() as made:
            made.execute(f"copy ({select}) to '{file}' (format parquet)")
    lw.create(folder, "".join(WORLDS.format(name=name) for name in ("early", "late"))).close()
    return open_door(folder, tick="0.1")


def auc(early: list[float], late: list[float]) -> float:
    """Return how well the times of two worlds are told apart: 0.5 is not at all, 1 is always."""
    better = sum((x < y) + (x == y) / 2 for x in early for y in late)
    return better / (len(early) * len(late))


def by_chance(pairs: int) -> float:
    """Return the standard deviation of that number where the worlds are alike."""
    return ((2 * pairs + 1) / (12 * pairs * pairs)) ** 0.5


async def answer_times(folder: Path, token: str, tick: str, pairs: int) -> tuple[float, float]:
    """Return how well two worlds are told apart, and in how many answers the later tick was needed."""
    (folder / "door.toml").write_text(LIMITS.format(tick=tick), encoding="utf-8")
    server = start(folder)
    times: dict[str, list[float]] = {"early": [], "late": []}
    try:
        await server.up("/api/v1/health")
        line, number = Line(server.port), secrets.randbelow(10**9)
        for turn in range(pairs + 3):
            for world in random.sample(["early", "late"], 2):
                number += 1
                body = count(f"age >= {number % 100} and age <> {number // 100 % 100}", f"0.{number:010d}1")
                request = http(
                    "POST", f"/api/v1/populations/{world}/questions", body, token=token, key=secrets.token_hex(12)
                )
                begun = time.perf_counter()
                status, told = await line.send(request)
                if status != 200:
                    raise RuntimeError(told[:200])
                if turn >= 3:
                    times[world].append(time.perf_counter() - begun)
        line.close()
    finally:
        server.end()
    late = [one > 1.5 * float(tick) for world in times.values() for one in world]
    return auc(times["early"], times["late"]), sum(late) / len(late)


async def measure_times(folder: Path, goals: Goals) -> None:
    token = make_worlds(folder)
    without, _ = await answer_times(folder, token, "0.001", 40)
    with_ticks, missed = await answer_times(folder, token, "0.1", PAIRS)
    table(
        "an early and a late world, told apart by the time of an answer",
        ["", "AUC", "by chance 0.5 +-", "after the first tick"],
        [
            ["tick of 1 ms", f"{without:.2f}", f"{by_chance(40):.2f}", "-"],
            ["tick of 100 ms", f"{with_ticks:.2f}", f"{by_chance(PAIRS):.2f}", f"{missed:.0%}"],
        ],
    )
    goals.at_most("answer times of two worlds, AUC", max(with_ticks, 1 - with_ticks), 0.55, "")


def main() -> None:
    goals, place = Goals(), Path(tempfile.mkdtemp(prefix="lapwing-bench-"))
    try:
        token = make_workspace(place / "clinic")
        asyncio.run(measure_rates(place / "clinic", token, goals))
        asyncio.run(measure_batches(place / "clinic", token, goals))
        asyncio.run(measure_times(place / "worlds", goals))
    finally:
        shutil.rmtree(place)
    goals.close()


if __name__ == "__main__":
    main()
