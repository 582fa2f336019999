"""A lock goes wherever an interrupt falls, and a fork keeps no copy of it."""

import fcntl
import os
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from lapwing.vocabulary import lifetime
from lapwing.vocabulary.lifetime import LockedFile
from session.every_line import only_a_trace_fails_at


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "lock"
    made.touch()
    return made


def is_free(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class Interrupting:
    """Interrupts at one of the calls and lines of the lock, and says whether there was one of this number."""

    def __init__(self, number: int) -> None:
        self.left, self.is_done = number, False

    def __call__(self, frame: FrameType, event: str, argument: Any) -> "Interrupting | None":
        del argument
        if frame.f_code.co_filename != lifetime.__file__ or frame.f_code.co_name == "__del__":
            return None  # what is raised while something is destroyed comes out nowhere
        if event == "call" or (event == "line" and not only_a_trace_fails_at(frame)):
            self.left -= 1
            if self.left < 0 and not self.is_done:
                self.is_done = True
                raise KeyboardInterrupt
        return self


def use(path: Path) -> None:
    with LockedFile(path) as file:
        file.write(b"mine")


def interrupts(path: Path) -> Iterator[BaseException]:
    """Interrupt the use of a lock at each of its lines once."""
    for number in count():
        tracing, before = Interrupting(number), sys.gettrace()
        sys.settrace(tracing)
        try:
            use(path)
        except KeyboardInterrupt as raised:
            sys.settrace(before)
            yield raised
        finally:
            sys.settrace(before)
        if not tracing.is_done:
            return


def test_an_interrupt_at_any_line_leaves_no_lock_to_its_traceback(path) -> None:
    kept = []
    for raised in interrupts(path):
        kept.append(raised)  # as a debugger does, or whoever logs it later
        assert is_free(path), raised.__traceback__
    assert kept


def test_a_fork_keeps_no_copy_of_a_lock(path) -> None:
    """The lock is the parent's until it lets go, and then nobody's, however long the child lives."""
    ready, done = os.pipe(), os.pipe()
    with LockedFile(path):
        child = os.fork()
        if not child:
            os.write(ready[1], b"x")
            os.read(done[0], 1)
            os._exit(0)
        os.read(ready[0], 1)
        assert not is_free(path)
    try:
        assert is_free(path)
    finally:
        os.write(done[1], b"x")
        assert os.waitpid(child, 0)[1] == 0
        for end in (*ready, *done):
            os.close(end)
