"""Who did what, when, and what came of it: one JSON line each, and never data, a condition, an answer or a token.

There is one file a day, readable by its owner only; several processes append to it.
"""

import os
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec


class AuditLog:
    """`audit-2026-11-16.log` and its like, in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._lock = folder, Lock()
        self._day: date | None = None
        self._file = -1

    def write(self, about: Mapping[str, Any]) -> None:
        """Write a line, with the time in front."""
        now = datetime.now(UTC)
        line = msgspec.json.encode({"at": now.isoformat(timespec="milliseconds"), **about})
        with self._lock:
            if now.date() != self._day:
                self._close()
                path = self._folder / f"audit-{now.date()}.log"
                self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                self._day = now.date()
            os.write(self._file, line + b"\n")  # one call: lines of several processes never mix

    def close(self) -> None:
        """Close the file of the day."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._day is not None:
            os.close(self._file)
            self._day = None
