"""What a process does that is told to stop while it waits for data."""

import os
import signal
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path

from lapwing import count
from session.clinic import FixedNumber, door, same_ledger


class Waiting(FixedNumber):
    """Data that takes for ever: it is read once the question is charged."""

    def __init__(self, pipe: Connection) -> None:
        super().__init__(200)
        self._pipe = pipe

    def engine(self, versions: Mapping[str, int]) -> FixedNumber:
        self._pipe.send("charged")
        time.sleep(60)
        return super().engine(versions)


def ask_and_wait(pipe: Connection, folder: Path) -> None:
    """Ask a question whose data does not come, and tell what happens."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with same_ledger(folder) as ledger:
        try:
            answer = door(ledger, Waiting(pipe)).ask(count("patients"), epsilon=1, key="k")
        except KeyboardInterrupt:
            os._exit(130)
        pipe.send(f"released {answer.value}")
