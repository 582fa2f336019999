"""Three hosts on one ledger in PostgreSQL behind a proxy that routes by population; one is killed while all are busy.

Each host is a process of its own with a workspace of its own, made by `join`. The proxy is HAProxy with the settings
that docs/operations.md prints, where there is one (on the path, or named by LAPWING_HAPROXY), or else `OwnProxy`,
which routes alike in a few lines.
"""

import asyncio
import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import lapwing as lw
from doors.server.doors import Process, add_people, count
from lapwing.doors.server.roles import Role
from lapwing.ledger.replay import verify
from lapwing.noise.randomness import fresh_name
from lapwing.workspace.creating import join

PAGE = Path(__file__).parents[3] / "docs" / "operations.md"
POPULATIONS = ("north", "south", "east", "west", "coast", "islands")
ANALYSTS = 4
PATIENCE = 75.0
"""Seconds for which a client tries again; what a dead host had in hand is settled within thirty."""
PRICE = "0.01"
SETTINGS = """
[populations.{name}]
person_key = "patient_id"
budget = {{ epsilon = 1000 }}
[populations.{name}.tables.patient]
source = "{name}.csv"
[populations.{name}.tables.patient.columns]
sex = {{ type = "category", values = ["F", "M"] }}
age = {{ type = "integer", low = 0, high = 120 }}
"""
LIMITS = """
[limits]
looks = { burst = 100000, a_second = 100000 }
asks = { burst = 100000, a_second = 100000 }
at_once = 16
waiting = 200
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def make_hosts(folder: Path, ledger: str, hosts: int = 3) -> tuple[list[Path], list[str]]:
    """Make the workspaces of several hosts on one ledger, and analysts; return both, analysts by their tokens."""
    places = [folder / f"host-{number}" for number in range(hosts)]
    for place in places:
        place.mkdir()
        for shift, name in enumerate(POPULATIONS):
            rows = "".join(f"{i},{'FM'[i % 2]},{(i + shift) % 100}\n" for i in range(1, 201))
            (place / f"{name}.csv").write_text(f"patient_id,sex,age\n{rows}")
    first, *others = places
    written = f'ledger = "{ledger}"\n' + "".join(SETTINGS.format(name=name) for name in POPULATIONS)
    lw.create(first, written).close()
    for place in others:
        join(place, ledger, key_file=first / "stream.key", settings=first / "lapwing.toml").close()
    for place in places:
        (place / "door.toml").write_text(LIMITS)
    tokens = add_people(first, {f"p{i}": Role.ANALYST for i in range(ANALYSTS)})
    return places, list(tokens.values())


class HAProxy:
    """HAProxy, with the settings of the page of operations."""

    def __init__(self, folder: Path, ports: list[int]) -> None:
        self.port, self._folder, self._ports = free_port(), folder, ports
        self._running: subprocess.Popen[bytes] | None = None

    @staticmethod
    def found() -> str | None:
        return os.environ.get("LAPWING_HAPROXY") or shutil.which("haproxy")

    def settings(self) -> str:
        """Return what is printed, with our ports, without TLS and without the lines that need root."""
        (printed,) = re.findall(r"^```haproxy\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        text = re.sub(r"bind .*", f"bind 127.0.0.1:{self.port}", printed).replace("clinic.example.org", "127.0.0.1")
        ports = iter(self._ports)
        return re.sub(r"10\.0\.0\.\d+:8431", lambda _: f"127.0.0.1:{next(ports)}", text)

    async def __aenter__(self) -> Self:
        path = self._folder / "haproxy.cfg"
        path.write_text(self.settings())
        self._running = subprocess.Popen(  # noqa: ASYNC220 - it only begins
            [str(self.found()), "-db", "-f", str(path)], stderr=subprocess.DEVNULL
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._running is not None:
            self._running.terminate()
            self._running.wait(10)


class OwnProxy:
    """A proxy that sends a connection to the host of the population in its first line, or to the next that is there."""

    def __init__(self, folder: Path, ports: list[int]) -> None:
        del folder
        self.port, self._ports = free_port(), ports
        self._server: asyncio.Server | None = None

    def order(self, line: bytes) -> list[int]:
        """Return the ports by rendezvous hashing: a host that is gone moves its own populations and no others."""
        found = re.search(rb"/populations/([^/ ?]+)", line)
        name = found[1] if found else os.urandom(8)
        return sorted(self._ports, key=lambda port: sha256(name + str(port).encode()).digest())

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._pass, "127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        for port in self.order(line):
            try:
                there, back = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                continue
            back.write(line)
            await asyncio.gather(_copy(reader, back), _copy(there, writer), return_exceptions=True)
            break
        writer.close()


async def _copy(source: asyncio.StreamReader, goal: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(65536):
            goal.write(data)
            await goal.drain()
    finally:
        goal.close()


@dataclass
class Load:
    """Clients that ask through a proxy until each key is answered or lost, and what they were told."""

    port: int
    tokens: list[str]
    told: dict[str, tuple[int, Any]] = field(default_factory=dict)
    asked: dict[str, tuple[int, str, Any]] = field(default_factory=dict)
    times: list[tuple[float, str]] = field(default_factory=list)
    put_off: Counter[str] = field(default_factory=Counter)

    async def call(self, path: str, who: int, body: Any = None, *, key: str = "", port: int = 0) -> Any:
        reader, writer = await asyncio.open_connection("127.0.0.1", port or self.port)
        try:
            data = b"" if body is None else json.dumps(body).encode()
            head = [
                f"{'GET' if body is None else 'POST'} {path} HTTP/1.1",
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
        status, body = int(got[9:12] or 0), got.partition(b"\r\n\r\n")[2]
        return status, json.loads(body)

    async def ask(self, number: int) -> None:
        """Ask one question under one key until it has an end, as a client does whose connection may break."""
        key, population, who = fresh_name(), POPULATIONS[number % len(POPULATIONS)], number % ANALYSTS
        body = count(f"age >= {number % 100} and age < {number % 100 + number // 100 + 1}", PRICE)
        self.asked[key] = (who, population, body)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                status, told = await self.call(f"/api/v1/populations/{population}/questions", who, body, key=key)
            except (OSError, ValueError, TimeoutError):
                self.put_off["no answer"] += 1
                await asyncio.sleep(0.05)
                continue
            if status not in {409, 429, 502, 503, 504}:
                self.told[key] = (status, told)
                if status == 200:
                    self.times.append((time.monotonic(), population))
                return
            self.put_off[f"{status} {told['error']['code']}"] += 1
            await asyncio.sleep(0.5)

    async def again(self, key: str, port: int) -> tuple[int, Any]:
        """Ask under a key once more, at one host."""
        who, population, body = self.asked[key]
        path = f"/api/v1/populations/{population}/questions"
        return tuple(await self.call(path, who, body, key=key, port=port))


@dataclass
class Outcome:
    """What became of it: the load, what the ledger has, and how long nothing was answered."""

    load: Load
    statuses: Counter[int]
    charges: int
    keys_charged_twice: int
    unsettled: int
    different: list[str]
    longest_gap: float
    after: Counter[str]
    proxy: str


async def up(load: Load, ports: list[int]) -> None:
    for port in ports:
        for _ in range(600):
            try:
                if (await load.call("/api/v1/me", 0, port=port))[0] == 200:
                    break
            except (OSError, ValueError):
                await asyncio.sleep(0.05)
        else:
            raise AssertionError(f"no server at {port}")


async def kill_one_under_load(
    folder: Path, ledger: str, *, questions: int, clients: int, kind: type[HAProxy | OwnProxy] | None = None
) -> Outcome:
    """Ask through the proxy, kill the host of a population that is asked, and look at what is there in the end."""
    places, tokens = make_hosts(folder, ledger)
    hosts = [Process(place, free_port()) for place in places]
    ports = [host.port for host in hosts]
    kind = kind or (HAProxy if HAProxy.found() else OwnProxy)
    waiting, killed = iter(range(questions)), 0.0
    try:
        for host in hosts:
            host.start()
        await up(Load(0, tokens), ports)
        async with kind(folder, ports) as proxy:
            load = Load(proxy.port, tokens)
            await up(load, [proxy.port])

            async def client() -> None:
                for number in waiting:
                    await load.ask(number)

            crowd = [asyncio.create_task(client()) for _ in range(clients)]
            while len(load.told) < questions // 3:  # noqa: ASYNC110 - clients are as they are outside
                await asyncio.sleep(0.01)
            victim = hosts[1]
            assert victim.running is not None
            victim.running.kill()
            killed = time.monotonic()
            await asyncio.gather(*crowd)
            keys = [key for key, (status, _) in load.told.items() if status == 200]
            different = []
            for key in keys[:: max(1, len(keys) // 24)]:
                for port in (ports[0], ports[2]):
                    status, told = await load.again(key, port)
                    if (status, told.get("released")) != (200, load.told[key][1]["released"]):
                        different.append(key)
    finally:
        for host in hosts:
            host.end()
    charged: Counter[str] = Counter()
    with lw.open_workspace(places[0]) as workspace:
        workspace.recover()
        for name in POPULATIONS:
            charged.update(one["request"] for one in workspace.ledger.history(name) if one["kind"] == "charge")
        unsettled = sum(len(workspace.ledger.of(name).questions.unsettled()) for name in POPULATIONS)
        verify(workspace.ledger)
    times = sorted(at for at, _ in load.times)
    gaps = [later - earlier for earlier, later in itertools.pairwise(times) if later > killed]
    return Outcome(
        load=load,
        statuses=Counter(status for status, _ in load.told.values()),
        charges=len(charged),
        keys_charged_twice=sum(number > 1 for number in charged.values()),
        unsettled=unsettled,
        different=different,
        longest_gap=max(gaps, default=0.0),
        after=Counter(name for at, name in load.times if at > killed),
        proxy=kind.__name__,
    )
