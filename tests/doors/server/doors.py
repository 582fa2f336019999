"""A server on a real socket with a small clinic behind it, and people of every role."""

import asyncio
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import uvicorn

import lapwing as lw
from budgets import KindOfBudget
from lapwing.doors.server.application import DoorSettings, make_application
from lapwing.doors.server.door_store import open_store
from lapwing.doors.server.people import Directory
from lapwing.doors.server.protocol import ImpatientProtocol
from lapwing.doors.server.rates import Limits, Rate
from lapwing.doors.server.roles import Role
from lapwing.noise.randomness import fresh_name

PEOPLE = {
    "ana": Role.ANALYST,
    "ben": Role.ANALYST,
    "cleo": Role.CUSTODIAN,
    "otto": Role.AUDITOR,
    "gina": Role.GUEST,
}
SETTINGS = """
{ledger}
[populations.clinic]
person_key = "patient_id"
budget = {budget}
[populations.clinic.tables.patient]
source = "patient.csv"
[populations.clinic.tables.patient.columns]
sex = {{ type = "category", values = ["F", "M"] }}
age = {{ type = "integer", low = 0, high = 120 }}
"""
UNLIMITED = Limits(
    looks=Rate(burst=1e9, a_second=1e9),
    asks=Rate(burst=1e9, a_second=1e9),
    wrong_tokens=Rate(burst=1e9, a_second=1e9),
    sign_ins=Rate(burst=1e9, a_second=1e9),
    at_once=8,
)
P = "/api/v1/populations/clinic"
AUTHORITIES = ssl.create_default_context()
"""Whom a client trusts, read once: each client of httpx would read all authorities of the world anew."""


def make_folder(folder: Path, budget: KindOfBudget, amount: str = "10", *, people: int = 400, ledger: str = "") -> Path:
    """Make a clinic in which half are women, and everybody has an age."""
    folder.mkdir(exist_ok=True)
    rows = "".join(f"{i},{'FM'[i % 2]},{i % 100}\n" for i in range(1, people + 1))
    (folder / "patient.csv").write_text(f"patient_id,sex,age\n{rows}")
    ledger = f'ledger = "{ledger}"' if ledger else ""
    lw.create(folder, SETTINGS.format(budget=budget.toml(amount), ledger=ledger)).close()
    return folder


def add_people(folder: Path, people: dict[str, Role] = PEOPLE) -> dict[str, str]:
    """Add people to a door, and return a token of each."""
    store = open_store(folder)
    directory = Directory(store)
    tokens = {}
    for id_, role in people.items():
        person = directory.add(id_, id_.capitalize(), role)
        tokens[id_], _ = directory.make_token(person, "tests")
    store.close()
    return tokens


@dataclass
class Door:
    """A running server, seen from outside."""

    port: int
    folder: Path
    tokens: dict[str, str]
    clients: dict[str, httpx.Client] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, who: str | None) -> httpx.Client:
        name = who or ""
        if name not in self.clients:
            headers = {"Authorization": f"Bearer {self.tokens[who]}"} if who else {}
            url = f"http://127.0.0.1:{self.port}"
            self.clients[name] = httpx.Client(
                base_url=url, headers=headers, timeout=60, trust_env=False, verify=AUTHORITIES
            )
        return self.clients[name]

    def call(self, who: str | None, method: str, path: str, body: Any = None, **more: Any) -> httpx.Response:
        headers = dict(more.pop("headers", {}))
        key = more.pop("key", None)
        if key is not None:
            headers["Idempotency-Key"] = key
        if isinstance(body, bytes):
            headers.setdefault("Content-Type", "application/json")
            return self.client(who).request(method, path, content=body, headers=headers, **more)
        return self.client(who).request(method, path, json=body, headers=headers, **more)

    def audit(self, until: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
        """Return the lines of the audit as soon as `until` is true of them: a line is written after its answer left."""
        end = time.monotonic() + 20
        while True:
            files = sorted(self.folder.glob("audit-*.log"))
            whole = [
                line for path in files for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")
            ]
            lines = [json.loads(line) for line in whole]
            if until(lines):
                return lines
            assert time.monotonic() < end, lines
            time.sleep(0.01)

    def get(self, who: str | None, path: str, **more: Any) -> httpx.Response:
        return self.call(who, "GET", path, **more)

    def ask(self, who: str, where: str = "sex = 'M'", epsilon: Any = "0.1", key: str | None = None) -> httpx.Response:
        return self.call(who, "POST", f"{P}/questions", count(where, epsilon), key=key or fresh_name())

    def left(self, who: str = "ana") -> str:
        """Return all that is left, to be compared: the numbers of the account, whichever kind of budget it has."""
        told = self.get(who, f"{P}/budget").json()
        return json.dumps([told["account"], told["own_account"]], sort_keys=True)

    def taken(self) -> Fraction:
        """Return what is not free any more, in the currency of the budget; with a delta, if only epsilons were paid."""
        account = self.get("otto", f"{P}/account").json()
        return Fraction(account["spent"]) + Fraction(account["reserved"])

    def raw(self, data: bytes, *, wait: float = 30) -> tuple[int, bytes]:
        """Send bytes as they are, and return the status and everything that came."""
        with socket.create_connection(("127.0.0.1", self.port), 5) as line:
            line.settimeout(wait)
            line.sendall(data)
            return read_response(line)


def read_response(line: socket.socket) -> tuple[int, bytes]:
    got = b""
    while b"\r\n\r\n" not in got:
        more = line.recv(65536)
        if not more:
            break
        got += more
    head, _, body = got.partition(b"\r\n\r\n")
    sizes = [int(one.split(b":")[1]) for one in head.split(b"\r\n") if one.lower().startswith(b"content-length")]
    while sizes and len(body) < sizes[0] and not head.startswith(b"HTTP/1.1 304"):
        more = line.recv(65536)
        if not more:
            break
        body += more
    return int(got[9:12] or 0), head + b"\r\n\r\n" + body


def count(where: str = "sex = 'M'", epsilon: Any = "0.1") -> dict[str, Any]:
    return {"question": {"ask": "count", "table": "patient", "where": where}, "price": {"epsilon": epsilon}}


@contextmanager
def serving(folder: Path, settings: DoorSettings | None = None, tokens: dict[str, str] | None = None) -> Iterator[Door]:
    """Serve a folder until the end of the block, in a thread of its own."""
    chosen = settings or DoorSettings(limits=UNLIMITED, tick=0.02)
    tokens = add_people(folder) if tokens is None else tokens
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    chosen = replace(chosen, address=f"http://127.0.0.1:{port}")
    if chosen.provider is not None:  # whose port 0 is the one that was free
        callback = chosen.provider.callback.replace(":0/", f":{port}/")
        chosen = replace(chosen, provider=replace(chosen.provider, callback=callback))
    application = make_application(lw.open_workspace(folder), open_store(folder), chosen)
    config = uvicorn.Config(
        application,
        http=ImpatientProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=32 * 1024,
        timeout_graceful_shutdown=5,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), daemon=True)
    thread.start()
    door = Door(port, folder, tokens)
    try:
        for _ in range(600):
            if server.started:
                break
            thread.join(0.05)
        yield door
    finally:
        for client in door.clients.values():
            client.close()
        server.should_exit = True
        thread.join(30)
        listening.close()
    assert not thread.is_alive()


@dataclass
class Process:
    """A server of its own, that can be killed and started again at the same port."""

    folder: Path
    port: int
    running: subprocess.Popen | None = None

    def start(self, fault: str = "") -> None:
        environment = {**os.environ, "LAPWING_FAULT": fault}
        words = ["serve", "--listen", f"127.0.0.1:{self.port}", "-w", str(self.folder)]
        self.running = subprocess.Popen(
            [sys.executable, "-m", "lapwing", *words],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def died(self) -> bool:
        return self.running is not None and self.running.poll() == -signal.SIGKILL

    def end(self) -> None:
        if self.running is not None:
            self.running.terminate()
            self.running.wait(30)


def code_of(response: httpx.Response) -> str:
    return str(json.loads(response.content)["error"]["code"])
