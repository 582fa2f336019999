"""Slow heads and slow bodies are cut, and others are served meanwhile."""

import socket
import time
from pathlib import Path

import pytest

from doors.server.doors import UNLIMITED, make_folder, read_response, serving
from lapwing.doors.server.application import DoorSettings
from lapwing.doors.server.guard import GuardLimits
from lapwing.doors.server.protocol import ImpatientProtocol

pytestmark = pytest.mark.one_budget("slow connections have nothing to do with what is spent")

PATIENCE = 1.0


@pytest.fixture
def door(quick_path: Path, monkeypatch, budget):
    monkeypatch.setattr(ImpatientProtocol, "patience", PATIENCE)
    settings = DoorSettings(limits=UNLIMITED, guard=GuardLimits(seconds=PATIENCE))
    with serving(make_folder(quick_path / "clinic", budget), settings) as door:
        yield door


def test_a_head_that_never_ends_is_hung_up_on_while_others_are_served(door) -> None:
    lines = [socket.create_connection(("127.0.0.1", door.port), 5) for _ in range(40)]
    begun = time.perf_counter()
    for line in lines:
        line.settimeout(20)
        line.sendall(b"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n")
    assert door.get(None, "/api/v1/health").status_code == 200
    assert time.perf_counter() - begun < PATIENCE + 5
    for line in lines:
        assert line.recv(100) == b""
        line.close()
    assert time.perf_counter() - begun >= PATIENCE * 0.9


def test_the_second_head_of_a_connection_may_not_take_longer(door) -> None:
    with socket.create_connection(("127.0.0.1", door.port), 5) as line:
        line.settimeout(20)
        line.sendall(b"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert read_response(line)[0] == 200
        line.sendall(b"GET /api/v1/health HT")
        begun = time.perf_counter()
        assert line.recv(100) == b""
        assert PATIENCE * 0.9 <= time.perf_counter() - begun < PATIENCE + 4


def test_a_slow_body_is_refused(door) -> None:
    with socket.create_connection(("127.0.0.1", door.port), 5) as line:
        line.settimeout(20)
        lines = ["POST /api/v1/acceptances HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json"]
        line.sendall("\r\n".join([*lines, "Content-Length: 50", "", ""]).encode())
        line.sendall(b'{"secret"')
        status, answer = read_response(line)
        assert status == 408
        assert b"connection: close" in answer.lower()


def test_a_body_does_not_wait_for_its_head(door) -> None:
    waited = []
    with socket.create_connection(("127.0.0.1", door.port), 5) as line:
        line.settimeout(20)
        for _ in range(25):
            begun = time.perf_counter()
            line.sendall(b"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert read_response(line)[0] == 200
            waited.append(time.perf_counter() - begun)
    assert min(waited[10:]) < 0.03  # whoever waits for an acknowledgement waits 40 ms, each time
