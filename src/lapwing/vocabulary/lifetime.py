"""Resources that are opened and closed in one process, and files that one thread of one process holds a lock on.

An interrupt can fall on any line, also on the one that releases a lock. So a lock belongs to an object, and is released
at the latest when that object is collected: no thread waits for ever.
"""

import io
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Protocol
from weakref import WeakSet

from lapwing.vocabulary.errors import BadQuestionError


class Lifetime:
    """Whether a resource of one process is open or closed; one `within` another is closed when that one is.

    A fork copies connections that both processes would then use, and locks that no thread will ever release. So a
    resource with a lifetime refuses to work in another process than its own, before anything is charged.

    >>> session = Lifetime("this session", remedy="open it again")
    >>> session.require()
    >>> session.end()
    >>> session.require()
    Traceback (most recent call last):
    ...
    lapwing.errors.BadQuestionError: this session is closed; open it again
    """

    def __init__(self, what: str, *, remedy: str, within: "Lifetime | None" = None) -> None:
        self._what, self._remedy, self._within = what, remedy, within
        self._process, self._ended = os.getpid(), False

    @property
    def is_here(self) -> bool:
        """Whether this is the process that opened the resource."""
        return self._process == os.getpid()

    def require(self) -> None:
        """Refuse if the resource is closed, or if this is another process."""
        if self._within is not None:
            self._within.require()
        if self._process != os.getpid():
            raise BadQuestionError(
                f"{self._what} was opened before the process forked, and works in the other one; {self._remedy} here"
            )
        if self._ended:
            raise BadQuestionError(f"{self._what} is closed; {self._remedy}")

    def end(self) -> None:
        """Mark the resource as closed."""
        self._ended = True


class Closable(Protocol):
    """A resource that holds a file, a connection or a lock until it is closed."""

    def close(self) -> None:
        """Release the resource."""


@contextmanager
def closing_on_failure(opened: Closable) -> Iterator[None]:
    """Close what was opened if the block fails, and leave it open if all goes well.

    >>> file = io.StringIO()
    >>> with closing_on_failure(file):
    ...     int("one")
    Traceback (most recent call last):
    ...
    ValueError: invalid literal for int() with base 10: 'one'
    >>> file.closed
    True
    """
    try:
        yield
    except BaseException:
        opened.close()
        raise


if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


class LockedFile(io.FileIO):
    """A file opened for reading and writing, and locked against all who open it so; use it in a `with`.

    Threads and forks each open it anew, so that the lock parts them, too. The lock goes with the file, when its last
    copy is closed; a fork closes its own at once. So leaving the `with` is one step, which no interrupt can divide: one
    that could would leave the lock to a traceback, and the process would wait for itself.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "lock"
    >>> path.touch()
    >>> with LockedFile(path) as file:
    ...     _ = file.write(b"mine")
    """

    def __init__(self, path: Path) -> None:
        with _opening:
            super().__init__(path, "r+")
            _opened.add(self)
        try:
            if sys.platform == "win32":
                msvcrt.locking(self.fileno(), msvcrt.LK_LOCK, 1)
            else:
                fcntl.flock(self.fileno(), fcntl.LOCK_EX)
        except BaseException:  # an interrupt, whose traceback would keep the file and the lock
            self.close()
            raise

    def __del__(self) -> None:
        if not self.closed:
            self.close()


def replace_text(path: Path, text: str) -> None:
    """Put a new text in the place of a file, in one step, which a crash does not divide.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "settings.toml"
    >>> _ = path.write_text("a = 1")
    >>> replace_text(path, "a = 2")
    >>> path.read_text(), [file.name for file in path.parent.iterdir()]
    ('a = 2', ['settings.toml'])
    """
    goal = path.resolve()  # what a link leads to, and not the link
    fresh = goal.with_name(f"{goal.name}.new")
    with fresh.open("w", encoding="utf-8") as file:
        shutil.copymode(goal, fresh)
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(goal)


_opening = RLock()
"""Held while a file is opened, so that no fork copies one that is not among `_opened` yet."""
_opened: WeakSet[LockedFile] = WeakSet()


def _close_copies() -> None:
    """Close, in a fork, the files that the parent has locked: it keeps the locks until it releases them."""
    for file in list(_opened):
        file.close()
    _opening.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_opening.acquire, after_in_parent=_opening.release, after_in_child=_close_copies)
