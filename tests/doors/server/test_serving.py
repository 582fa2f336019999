"""`lapwing serve` and `lapwing people`: processes that others start, at the command line."""

import asyncio
import gc
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import httpx
import psutil
import pytest
import uvicorn
from click.testing import CliRunner

import lapwing as lw
from doors.server.doors import make_folder, serving
from lapwing.doors.cli import main
from lapwing.doors.server import running
from lapwing.doors.server.door_file import FILE, Listening, read_door
from lapwing.doors.server.door_store import open_store
from lapwing.doors.server.identities import Identities
from lapwing.doors.server.people import Directory
from lapwing.doors.server.running import listen
from lapwing.vocabulary.errors import ParameterError, SettingsError

pytestmark = pytest.mark.one_budget("processes and people have nothing to do with what is spent")


@contextmanager
def command(*words: str):
    """Start `lapwing` as a process of its own, and return it with its first lines until the address is known."""
    started = subprocess.Popen(
        [sys.executable, "-m", "lapwing", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        yield started
    finally:
        started.terminate()
        started.wait(30)
        started.stdout.close()


def lines_of(process, until: str) -> str:
    told = ""
    for line in process.stdout:
        told += line
        if until in line:
            return told
    raise AssertionError(told)


def wait_for(url: str, token: str) -> httpx.Response:
    for _ in range(400):
        try:
            return httpx.get(url, headers={"Authorization": f"Bearer {token}"}, trust_env=False)
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError("nobody answers")


def lapwing(*words: str) -> str:
    told = CliRunner().invoke(main, words)
    assert isinstance(told.exception, SystemExit | None), told.exception
    return told.output


def test_people_are_added_listed_and_disabled(quick_path, budget) -> None:
    folder = str(make_folder(quick_path / "clinic", budget))
    added = json.loads(lapwing("people", "add", "ana", "--name", "Ana", "--json", "-w", folder))
    assert added["role"] == "analyst"
    assert added["token"].startswith("lw_")
    lapwing("people", "add", "cleo", "--role", "custodian", "-w", folder)
    assert "Ana" in lapwing("people", "list", "-w", folder)
    lapwing("people", "disable", "ana", "-w", folder)
    listed = json.loads(lapwing("people", "list", "--json", "-w", folder))["people"]
    assert [(one["id"], one["disabled"]) for one in listed] == [("ana", True), ("cleo", False)]
    assert "last custodian" in lapwing("people", "disable", "cleo", "-w", folder)


def test_somebody_is_linked_to_who_they_are_at_the_provider(quick_path, budget) -> None:
    folder = make_folder(quick_path / "clinic", budget)
    lapwing("people", "add", "ana", "-w", str(folder))
    assert "declare the provider" in lapwing("people", "link", "ana", "s-1", "-w", str(folder))
    issuer = "https://login.example.org"
    (folder / FILE).write_text(
        f'[sign_in]\nname = "H"\nissuer = "{issuer}"\nclient = "c"\ncallback = "https://localhost/sign-in/return"\n'
    )
    told = json.loads(lapwing("people", "link", "ana", "s-1", "--json", "-w", str(folder)))
    assert told == {"id": "ana", "issuer": issuer, "subject": "s-1"}
    assert "is not known here" in lapwing("people", "link", "zoe", "s-1", "-w", str(folder))
    store = open_store(folder)
    person = Identities(store, Directory(store)).person_of(issuer, "s-1")
    store.close()
    assert person is not None
    assert person.id == "ana"


def test_several_processes_serve_behind_one_socket_and_one_that_dies_is_started_again(quick_path, budget) -> None:
    folder = make_folder(quick_path / "clinic", budget)
    token = json.loads(lapwing("people", "add", "ana", "--json", "-w", str(folder)))["token"]
    with command("serve", "--workers", "2", "--listen", "127.0.0.1:0", "-w", str(folder)) as process:
        address = re.search(r"http://127.0.0.1:\d+", lines_of(process, "serves")).group()
        assert wait_for(f"{address}/api/v1/me", token).json()["id"] == "ana"
        before = workers_of(process)
        assert len(before) == 2
        os.kill(before[0], signal.SIGKILL)
        for _ in range(300):
            alive = workers_of(process)
            if len(set(alive) - {before[0]}) == 2:
                break
            time.sleep(0.1)
        assert wait_for(f"{address}/api/v1/me", token).status_code == 200
    assert not [pid for pid in alive if is_running(pid)]


def workers_of(process) -> list[int]:
    """Return the processes that serve, of a process that looks after them."""
    children = [one for one in psutil.Process(process.pid).children() if is_running(one.pid)]
    return [one.pid for one in children if "spawn_main" in " ".join(one.cmdline())]


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_the_first_custodian_comes_in_by_a_link(quick_path, budget) -> None:
    folder = make_folder(quick_path / "clinic", budget)
    with command("serve", "--listen", "127.0.0.1:0", "-w", str(folder)) as process:
        told = lines_of(process, "curl")
        address, secret = re.search(r"(http://127.0.0.1:\d+)/invitations/(\S+)", told).groups()
        wait_for(f"{address}/api/v1/me", "x")
        body = {"secret": secret, "password": "correct horse battery"}
        accepted = httpx.post(f"{address}/api/v1/acceptances", json=body, trust_env=False).json()
        assert accepted["person"]["role"] == "custodian"
        assert httpx.post(f"{address}/api/v1/acceptances", json=body, trust_env=False).status_code == 404


@pytest.mark.parametrize(("kind", "left"), [("epsilon", "10"), ("delta", None), ("rho", "1")])
def test_the_demo_has_people_who_are_signed_in(kind, left) -> None:
    with command("serve", "--demo", "--budget", kind, "--listen", "127.0.0.1:0") as process:
        told = lines_of(process, "lapwing.connect")
        address = re.search(r"http://127.0.0.1:\d+", told).group()
        tokens = dict(re.findall(r"(\w+) \(\w+\): (lw_\S+)", told))
        assert set(tokens) == {"ana", "cleo", "otto"}
        (waits,) = wait_for(f"{address}/api/v1/populations/clinic/all-requests", tokens["cleo"]).json()
        assert (waits["person"], waits["state"]) == ("ana", "open")
        held = wait_for(f"{address}/api/v1/populations/clinic/budget", tokens["ana"]).json()
        assert (held["left"] or {}).get("amount") == left
        url, token = re.search(r'lapwing.connect\("(\S+)", "(\S+)"\)', told).groups()
        with lw.connect(url, token) as clinic:
            assert clinic.analyst == "ana"
            assert clinic.ask(lw.count("patient"), within=500).value > 15_000


def test_an_address_that_others_reach_needs_tls(quick_path, budget) -> None:
    folder = make_folder(quick_path / "clinic", budget)
    assert "has no TLS" in lapwing("serve", "--listen", "0.0.0.0:0", "-w", str(folder))
    with pytest.raises(ParameterError, match="has no TLS"):
        Listening(host="::").require_safe()
    Listening(host="::", plain=True).require_safe()


def test_door_toml_says_where_and_how(tmp_path) -> None:
    assert read_door(tmp_path) == Listening()
    (tmp_path / FILE).write_text(
        """
        listen = "10.0.0.1:443"
        hosts = ["Clinic.Example.org"]
        tick = "0.25"
        tls = { certificate = "full.pem", key = "private.pem" }
        [limits]
        asks = { burst = 5, a_second = 0.5 }
        at_once = 3
        """
    )
    found = read_door(tmp_path)
    assert (found.host, found.port, found.door.tick) == ("10.0.0.1", 443, 0.25)
    assert found.tls is not None
    assert found.tls.certificate == Path(tmp_path / "full.pem")
    assert (found.door.limits.asks.burst, found.door.limits.at_once) == (5, 3)
    assert found.address == "https://clinic.example.org:443"
    assert found.shown().secure


@pytest.mark.parametrize(
    "text", ["listn = 1", "tick = 0", "listen = 'x'", "[limits]\nasks = { burst = -1 }", "[limits]\nat_once = 0"]
)
def test_a_slip_in_door_toml_is_refused_with_its_line(tmp_path, text) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(SettingsError, match=f"{FILE}, line"):
        read_door(tmp_path)


def test_an_answer_is_sent_without_delay() -> None:
    async def delays() -> int:
        bound, told = listen(Listening(host="127.0.0.1", port=0)), asyncio.get_running_loop().create_future()

        async def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            told.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        async with await asyncio.start_server(accept, sock=bound):
            _, writer = await asyncio.open_connection(*bound.getsockname())
            writer.close()
            return await told

    assert asyncio.run(delays()) == 1


def test_only_a_process_that_does_nothing_else_keeps_its_objects_from_the_collector(quick_path, budget, monkeypatch):
    """A server in the process of somebody else leaves their garbage alone: going through all of it takes long."""
    before = gc.get_freeze_count()
    with serving(make_folder(quick_path / "clinic", budget), tokens={}):
        assert gc.get_freeze_count() <= before  # some that were frozen may have been let go
    done = []

    async def started(_self, _sockets) -> None:
        done.append("started")

    async def ended(_self, _sockets) -> None:
        done.append("ended")

    monkeypatch.setattr(uvicorn.Server, "startup", started)
    monkeypatch.setattr(uvicorn.Server, "shutdown", ended)
    names = ("collect", "freeze", "unfreeze")
    monkeypatch.setattr(running, "gc", SimpleNamespace(**{name: partial(done.append, name) for name in names}))
    server = running._Server(uvicorn.Config(None))
    asyncio.run(server.startup())
    asyncio.run(server.shutdown())
    assert done == ["started", "collect", "freeze", "unfreeze", "ended"]
