"""Who did what, when, and what came of it: one JSON line each, and never data, a condition, an answer or a token.

There is one file a day, readable by its owner only; several processes append to it.
"""

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec


class AuditLog(ABC):
    """Where lines about requests go."""

    def write(self, about: Mapping[str, Any]) -> None:
        """Write a line, with the time in front."""
        now = datetime.now(UTC)
        line = msgspec.json.encode({"at": now.isoformat(timespec="milliseconds"), **about})
        self._append(now.date(), line.decode() + "\n")

    @abstractmethod
    def _append(self, day: date, line: str) -> None: ...

    def close(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Let go of files."""


class AuditFiles(AuditLog):
    """`audit-2026-11-16.log` and its like, in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._lock = folder, Lock()
        self._day: date | None = None
        self._file = -1

    def _append(self, day: date, line: str) -> None:
        with self._lock:
            if day != self._day:
                self._close()
                path = self._folder / f"audit-{day}.log"
                self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                self._day = day
            os.write(self._file, line.encode())  # one call: lines of several processes never mix

    def close(self) -> None:
        """Close the file of the day."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._day is not None:
            os.close(self._file)
            self._day = None


class AuditStream(AuditLog):
    """Standard error, for those who let their system collect it."""

    def _append(self, day: date, line: str) -> None:
        del day
        sys.stderr.write(line)
