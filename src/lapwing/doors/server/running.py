"""Processes that serve: one, or several behind one socket, spawned so that none inherits noise or databases.

What they share is the ledger and the store of people. One that dies is started again, and all end with the first.
"""

import gc
import logging
import multiprocessing
import os
import signal
import socket
import threading
import time
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

import uvicorn

from lapwing.doors.server.application import DoorSettings, make_application
from lapwing.doors.server.door_file import Listening
from lapwing.doors.server.door_store import open_store
from lapwing.doors.server.guard import Guard
from lapwing.doors.server.protocol import ImpatientProtocol
from lapwing.workspace.workspace import open_workspace

_HEAD: Final = 32 * 1024
_LOOK: Final = 0.2
_SHORTEST_LIFE: Final = 5.0
_PATIENCE: Final = 15.0


def application(folder: Path, settings: DoorSettings) -> Guard:
    """Return the server of a folder, opened in this process."""
    return make_application(open_workspace(folder), open_store(folder), settings)


def listen(listening: Listening) -> socket.socket:
    """Return a socket that listens, where it is safe to."""
    listening.require_safe()
    family = socket.AF_INET6 if ":" in listening.host else socket.AF_INET
    made = socket.create_server((listening.host, listening.port), family=family, backlog=512)
    # asyncio sends without delay only where a socket says that it is TCP, which this one would not: the second part of
    # each answer would wait for 40 ms.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=made.detach())


def serve(folder: Path, listening: Listening, bound: socket.socket, *, workers: int = 1) -> None:
    """Serve a workspace until the process is stopped."""
    if workers == 1:
        _serve(folder, listening, bound)
    else:
        Workers(folder, listening, bound, workers).run()


def _serve(folder: Path, listening: Listening, bound: socket.socket) -> None:
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # it would write down bad requests as they came
    _Server(configuration(partial(application, folder, listening.shown()), listening)).run([bound])


class _Server(uvicorn.Server):
    """A process that does nothing but serve, from when it is ready."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin; what is here then stays, and looking through it for garbage would cost every request."""
        await super().startup(sockets)
        gc.collect()
        gc.freeze()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End; what was here is garbage now."""
        gc.unfreeze()
        await super().shutdown(sockets)


def configuration(make: partial[Guard], listening: Listening) -> uvicorn.Config:
    """Return how uvicorn is to serve: with no names, no logs and no headers of its own, and nothing believed."""
    return uvicorn.Config(
        make,
        factory=True,
        http=ImpatientProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=_HEAD,
        limit_concurrency=listening.door.limits.connections,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=10,
        ssl_certfile=None if listening.tls is None else listening.tls.certificate,
        ssl_keyfile=None if listening.tls is None else listening.tls.key,
    )


class Workers:
    """Several processes behind one socket, which this one looks after."""

    def __init__(self, folder: Path, listening: Listening, bound: socket.socket, number: int) -> None:
        self._given, self._number = (folder, listening, bound), number
        self._spawning = multiprocessing.get_context("spawn")
        self._ended = threading.Event()

    def run(self) -> None:
        """Keep the workers running until this process is stopped, or they cannot even start."""
        for sign in (signal.SIGTERM, signal.SIGINT):
            signal.signal(sign, lambda *_: self._ended.set())
        running = {place: (self._start(), time.monotonic()) for place in range(self._number)}
        while not self._ended.wait(_LOOK):
            for place, (process, begun) in running.items():
                if process.is_alive():
                    continue
                if time.monotonic() - begun < _SHORTEST_LIFE and process.exitcode != -signal.SIGKILL:
                    self._ended.set()  # the cause affects all workers
                running[place] = (self._start(), time.monotonic())
        for process, _ in running.values():
            process.terminate()
        for process, _ in running.values():
            process.join(_PATIENCE)
            process.kill()

    def _start(self) -> BaseProcess:
        process = self._spawning.Process(target=_work, args=(*self._given, os.getpid()))
        process.start()
        return process


def _work(folder: Path, listening: Listening, bound: socket.socket, parent: int) -> None:
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    _serve(folder, listening, bound)


def _end_with(parent: int) -> None:
    """End this process when the one that looks after it is gone."""
    while os.getppid() == parent:
        time.sleep(1)
    os.kill(os.getpid(), signal.SIGTERM)
