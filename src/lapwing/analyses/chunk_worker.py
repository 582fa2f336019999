"""A process that holds one function and no data, and makes a process for each chunk, which sees that chunk alone.

It is started as a script, with an empty environment, and imports nothing of lapwing. First it reads a line: the
function. Then for each chunk two numbers: rows and columns. The child reads the chunk, and not this process; it hears
nothing, writes nothing but one number, and is ended with all that it has started. What fails, or takes longer than it
may, is no number.
"""

import importlib
import json
import os
import select
import signal
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

SIZES, NUMBER, READY = struct.Struct("<qq"), struct.Struct("<d"), b"r"
_AT_ONCE = 1 << 20


def read_exactly(file: int, size: int) -> bytes:
    """Return so many bytes of a file, or fewer at its end."""
    parts = []
    while size > 0:
        part = os.read(file, min(size, _AT_ONCE))
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def read_line(file: int) -> bytes:
    """Return a line, byte by byte, so that nothing behind it is read."""
    line = b""
    while (one := os.read(file, 1)) not in {b"", b"\n"}:
        line += one
    return line


def loaded_function(told: dict[str, Any]) -> Callable[[Any], Any]:
    """Return the function that is told of: by its module and name, or by its source."""
    sys.path[:] = told["paths"]
    if told["source"] is None:
        found: Any = importlib.import_module(told["module"])
        for name in told["name"].split("."):
            found = getattr(found, name)
        return found  # type: ignore[no-any-return]
    space: dict[str, Any] = {alias: importlib.import_module(name) for alias, name in told["imports"].items()}
    exec(compile(told["source"], "<function>", "exec"), space)  # noqa: S102 - the custodian's own function
    if told["name"] not in space:
        raise LookupError(f"there is no {told['name']!r} in it")
    return space[told["name"]]  # type: ignore[no-any-return]


def work_on_chunk(function: Callable[[Any], Any], size: tuple[int, int], to: int) -> None:
    """Read a chunk, and write what the function makes of it. It is called in the chunk's own process."""
    import numpy as np  # noqa: PLC0415 - the process before it has none of this to do

    rows, columns = size
    chunk = np.frombuffer(read_exactly(0, rows * columns * 8), np.float64).reshape(rows, columns).copy()
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    os.write(to, READY)
    with np.errstate(all="ignore"):
        os.write(to, NUMBER.pack(float(function(chunk))))


def number_of_chunk(function: Callable[[Any], Any], size: tuple[int, int], seconds: float) -> float:
    """Return what the function makes of the next chunk, in a process of its own; NaN if nothing comes of it."""
    come, to = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setpgid(0, 0)
            os.close(come)
            work_on_chunk(function, size, to)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)  # at once, with nothing of what it would do at its end
    os.close(to)
    try:
        read_exactly(come, len(READY))  # the chunk has been read: time counts from here
        told = read_exactly(come, NUMBER.size) if select.select([come], [], [], seconds)[0] else b""
    finally:
        for end in (os.killpg, os.kill):
            with suppress(ProcessLookupError):
                end(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(come)
    return NUMBER.unpack(told)[0] if len(told) == NUMBER.size else float("nan")


def serve() -> None:
    """Answer one chunk after the other, until there are no more."""
    told = json.loads(read_line(0))
    try:
        function = loaded_function(told)
    except BaseException as wrong:  # noqa: BLE001 - whatever a module does when it is imported
        os.write(1, json.dumps({"failed": f"{type(wrong).__name__}: {wrong}"}).encode() + b"\n")
        return
    os.write(1, b"{}\n")
    while len(size := read_exactly(0, SIZES.size)) == SIZES.size:
        rows, columns = SIZES.unpack(size)
        os.write(1, NUMBER.pack(number_of_chunk(function, (rows, columns), told["seconds"])))


if __name__ == "__main__":
    import numpy as np

    np.zeros((2, 2)).mean()  # before any chunk is there: the processes of chunks inherit what is loaded
    serve()
