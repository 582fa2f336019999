"""Folders for what does not fit into memory: rows of people, so nobody else may read them and none may stay behind.

A process that is killed removes nothing. Its folder is known by a lock that died with it, and whoever opens the next
one removes it; the number of a process would not do, for numbers come back.
"""

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

_PREFIX: Final = "lapwing-spill-"
_OWNER: Final = "owner"


class SpillFolder:
    """A folder of this process in the system's place for temporary files, readable by its user only.

    Examples
    --------
    >>> folder = SpillFolder()
    >>> oct(folder.path.stat().st_mode & 0o777)
    '0o700'
    >>> folder.close()
    >>> folder.path.exists()
    False
    """

    def __init__(self) -> None:
        place = Path(tempfile.gettempdir())
        _sweep(place)
        self.path, self._process = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place)), os.getpid()
        # Locked before it has its name, so that nobody who sweeps ever finds it unlocked.
        unnamed = self.path / "unlocked"
        self._lock = os.open(unnamed, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        unnamed.rename(self.path / _OWNER)

    def close(self) -> None:
        """Remove the folder; a process that was forked off leaves it to the one that made it."""
        if self._process == os.getpid() and self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


def _sweep(place: Path) -> None:
    """Remove the folders of this user whose process is gone."""
    for folder in place.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # it is another user's, in use, or just being removed by another process
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            lock = os.open(folder / _OWNER, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
