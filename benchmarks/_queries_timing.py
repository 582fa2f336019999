"""Seconds of systems that work in processes of their own: on the wall, and of the processor in all their processes.

What a person waits for is the time on the wall; on a machine with other tenants it measures them too, so it is compared
with that of a neighbour in time, and processor time is shown beside it.
"""

import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

HERE = Path(__file__).parent
_OWN_AND_REAPED = 4  # user and system, of a process and of its children that have ended


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds on the wall, and CPU seconds."""

    wall: float
    cpu: float

    @property
    def cells(self) -> list[str]:
        """The figures as cells of a table."""
        return [f"{self.wall:.1f}", f"{self.cpu:.1f}"]


class Watch:
    """Reads what processes and all their descendants have spent since it was made."""

    def __init__(self, *processes: psutil.Process) -> None:
        self._processes = processes
        self._wall, self._cpu = time.perf_counter(), self._used()

    def spent(self) -> Spent:
        return Spent(time.perf_counter() - self._wall, self._used() - self._cpu)

    def _used(self) -> float:
        everyone = set(self._processes)
        for process in self._processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                everyone.update(process.children(recursive=True))
        total = 0.0
        for process in everyone:
            with contextlib.suppress(psutil.NoSuchProcess):
                total += sum(process.cpu_times()[:_OWN_AND_REAPED])
        return total


def spent_by(call: Callable[[], object], *servers: psutil.Process, runs: int = 1) -> Spent:
    """Return the median of what runs of a call take, in this process and in `servers`."""
    found = []
    for _ in range(runs):
        watch = Watch(psutil.Process(), *servers)
        call()
        found.append(watch.spent())
    return median(found)


def median(found: Sequence[Spent]) -> Spent:
    """Return the median of the walls and of the CPU seconds."""
    return Spent(statistics.median(one.wall for one in found), statistics.median(one.cpu for one in found))


def spent_by_peer(
    environment: str | None, peer: str, *arguments: str, servers: Sequence[psutil.Process] = ()
) -> list[Spent]:
    """Return what each run of a peer takes; nothing where it does not run.

    Parameters
    ----------
    environment : the folder of its Python, or None for this one
    peer : its script, `_queries_<peer>.py`, which says "begin" and "end" around each run
    """
    python = Path(sys.executable) if environment is None else HERE.parent / environment / "bin" / "python"
    if not python.exists():
        return []
    with tempfile.TemporaryFile("w+") as said:
        command = [python, HERE / f"_queries_{peer}.py", *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True) as started:  # noqa: S603
            found = list(_between(started, psutil.Process(started.pid), *servers))
        said.seek(0)
        if not found:
            print(f"{peer} does not run here: {said.read().strip().splitlines()[-1:]}")
    return found


def _between(started: subprocess.Popen, *processes: psutil.Process) -> Iterator[Spent]:
    watch = Watch(*processes)
    for line in started.stdout or ():
        match line.strip():
            case "begin":
                watch = Watch(*processes)
            case "end":
                yield watch.spent()
