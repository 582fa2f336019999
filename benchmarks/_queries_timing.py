"""CPU seconds of whole trees of processes, for systems that work in processes of their own.

On a machine with other tenants a clock on the wall measures them too; processor time is what the work itself takes.
"""

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil

HERE = Path(__file__).parent
_OWN_AND_REAPED = 4  # user and system, of a process and of its children that have ended


def cpu(processes: Sequence[psutil.Process]) -> float:
    """Return the CPU seconds that processes and all their descendants have used so far."""
    total = 0.0
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            for one in (process, *process.children(recursive=True)):
                with contextlib.suppress(psutil.NoSuchProcess):
                    total += sum(one.cpu_times()[:_OWN_AND_REAPED])
    return total


def seconds_of(call: Callable[[], object], *servers: psutil.Process) -> float:
    """Return the CPU seconds of a call, in this process and in `servers`."""
    processes = [psutil.Process(), *servers]
    start = cpu(processes)
    call()
    return cpu(processes) - start


def seconds_of_peer(environment: str | None, peer: str, *arguments: str, servers: Sequence[psutil.Process] = ()):
    """Return the CPU seconds of each run of a peer, or none where it does not run.

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
            seconds = list(_between(started, [psutil.Process(started.pid), *servers]))
        said.seek(0)
        if not seconds:
            print(f"{peer} does not run here: {said.read().strip().splitlines()[-1:]}")
    return seconds


def _between(started: subprocess.Popen, processes: Sequence[psutil.Process]) -> Iterator[float]:
    start = 0.0
    for line in started.stdout or ():
        match line.strip():
            case "begin":
                start = cpu(processes)
            case "end":
                yield cpu(processes) - start
