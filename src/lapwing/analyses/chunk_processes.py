"""A function on each of many chunks, each in a process of its own that sees nothing else.

One process is started that holds the function and no data. For each chunk it makes another, which reads the chunk
itself and tells one number. The next chunk is sent when that process, with all that it has started, is gone.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from lapwing.analyses import chunk_worker
from lapwing.analyses.chunk_function import ChunkFunction
from lapwing.analyses.chunk_worker import NUMBER, SIZES
from lapwing.vocabulary.errors import BadQuestionError

Reals = NDArray[np.float64]


class ChunkProcesses:
    """Computes the number of one chunk after the other; NaN where the function gave none in time."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def number(self, chunk: Reals) -> float:
        """Return the function's number for these rows."""
        hears, tells = _pipes(self._process)
        hears.write(SIZES.pack(*chunk.shape))
        hears.write(np.ascontiguousarray(chunk, np.float64).tobytes())
        hears.flush()
        told = tells.read(NUMBER.size)
        return float(NUMBER.unpack(told)[0]) if len(told) == NUMBER.size else float("nan")

    def numbers(self, chunks: Sequence[Reals]) -> list[float]:
        """Return the function's number for each chunk."""
        return [self.number(one) for one in chunks]


@contextmanager
def chunk_processes(function: ChunkFunction, seconds: float) -> Iterator[ChunkProcesses]:
    """Start the process that holds a function, and end it with all others."""
    with tempfile.TemporaryDirectory() as nowhere:
        process = subprocess.Popen(  # noqa: S603 - ourselves, with a script of lapwing
            [sys.executable, "-I", str(Path(chunk_worker.__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=nowhere,
            env={},
        )
        hears, tells = _pipes(process)
        try:
            hears.write(function.header(seconds))
            hears.flush()
            begun: Any = json.loads(tells.readline() or b'{"failed": "it ended while it was loaded"}')
            if "failed" in begun:
                raise BadQuestionError(f"{function.called} cannot be loaded in a process of its own: {begun['failed']}")
            yield ChunkProcesses(process)
        finally:
            process.kill()
            process.wait()
            for pipe in (hears, tells):
                with suppress(OSError):
                    pipe.close()


def _pipes(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None:  # pragma: no cover - both were asked for
        raise TypeError(process)
    return process.stdin, process.stdout
