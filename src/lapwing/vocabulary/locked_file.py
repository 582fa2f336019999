"""A file that one thread of one process has for itself: opened, locked, and let go of whatever happens.

An interrupt can fall on any line, also on the one that lets go. So the lock belongs to an object: at the latest when
nobody refers to it any more, the lock goes, and nobody waits for ever.
"""

import io
import sys
from contextlib import suppress
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


class LockedFile(io.FileIO):
    """A file opened for reading and writing, and locked against all who open it so; use it in a `with`.

    Threads and forks each open it anew, so that the lock parts them, too.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "lock"
    >>> path.touch()
    >>> with LockedFile(path) as file:
    ...     _ = file.write(b"mine")
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, "r+")
        if sys.platform == "win32":
            msvcrt.locking(self.fileno(), msvcrt.LK_LOCK, 1)
        else:
            fcntl.flock(self.fileno(), fcntl.LOCK_EX)

    def close(self) -> None:
        """Let go of the lock and close the file: to close it is not enough where a fork, meanwhile, has copied it."""
        self._unlock()
        super().close()

    def __del__(self) -> None:
        if not self.closed:
            self.close()

    def _unlock(self) -> None:
        if not self.closed and sys.platform != "win32":
            with suppress(OSError):
                fcntl.flock(self.fileno(), fcntl.LOCK_UN)
