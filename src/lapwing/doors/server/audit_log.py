"""The audit log: who did what, when, with which result. One JSON line each; no data, condition, answer or token.

There is one file a day, readable by its owner only; several processes append to it. What anybody on the network can
cause, a refusal, is written as long as the file of the day has room for it (`MOST_REFUSALS`); charges, sign-ins and
decisions are always written.
"""

import os
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from threading import Lock
from typing import Any, Final

import msgspec

MOST_REFUSALS: Final = 64 * 1024 * 1024
"""Bytes of the file of a day, beyond which refusals are not written down any more."""


class AuditLog:
    """`audit-2026-11-16.log` and its like, in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._lock = folder, Lock()
        self._day: date | None = None
        self._file = -1
        self._is_full = False

    def write(self, about: Mapping[str, Any], *, always: bool = True) -> None:
        """Write a line, with the time in front; one that need not be written, only where there is room for it."""
        now = datetime.now(UTC)
        time = {"at": now.isoformat(timespec="milliseconds")}
        line = msgspec.json.encode({**time, **about})
        with self._lock:
            if now.date() != self._day:
                self._close()
                path = self._folder / f"audit-{now.date()}.log"
                self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                self._day, self._is_full = now.date(), False
            if not always:
                if self._is_full:
                    return
                if os.fstat(self._file).st_size > MOST_REFUSALS:
                    self._is_full = True
                    line = msgspec.json.encode({**time, "did": "-", "full": "refusals are not written until tomorrow"})
            os.write(self._file, line + b"\n")  # one call: lines of several processes never mix

    def close(self) -> None:
        """Close the file of the day."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._day is not None:
            os.close(self._file)
            self._day = None
