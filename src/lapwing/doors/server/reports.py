"""Long reports that the server keeps: what `lapwing audit` and `lapwing attack` find, computed in a process of its own.

So no question waits for a report. It reads no person's data: both commands read made-up rows alone. The report is kept
in the folder `reports` of the workspace, where it can also be put by hand:

    lapwing audit --json > reports/audit.json
"""

import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

REPORTS: Final = ("audit", "attack")
FOLDER: Final = "reports"
_LONGEST: Final = 1800


class Reports:
    """The kept reports of a workspace, and those that are being made."""

    def __init__(self, workspace: Path, program: Sequence[str] = (sys.executable, "-m", "lapwing")) -> None:
        self._folder, self._program = workspace / FOLDER, tuple(program)
        self._running: set[str] = set()
        self._lock = threading.Lock()

    def kept(self, name: str) -> dict[str, Any] | None:
        """Return a report and its time; None where there is none, or none that can be read."""
        path = self._folder / f"{name}.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            made = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        except (OSError, ValueError):
            return None
        return {**found, "made": made.isoformat(timespec="seconds")} if isinstance(found, dict) else None

    def is_running(self, name: str) -> bool:
        """Say whether a report is being made by this process."""
        with self._lock:
            return name in self._running

    def begin(self, name: str) -> bool:
        """Begin to make a report; one at a time, because each takes a core for a minute. Say whether it was begun."""
        if name not in REPORTS:
            return False
        with self._lock:
            if self._running:
                return False
            self._running.add(name)
        threading.Thread(target=self._make, args=(name,), daemon=True).start()
        return True

    def _make(self, name: str) -> None:
        command = [*self._program, name, "--json"]
        try:
            self._folder.mkdir(exist_ok=True)
            made = subprocess.run(  # noqa: S603 - ourselves, with a name of the list above
                command, capture_output=True, check=False, timeout=_LONGEST, cwd=self._folder
            )
            json.loads(made.stdout)
            unfinished = self._folder / f"{name}.unfinished"
            unfinished.write_bytes(made.stdout)
            unfinished.replace(self._folder / f"{name}.json")
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return  # the report before stays, and is shown with its date
        finally:
            with self._lock:
                self._running.discard(name)
