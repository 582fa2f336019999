"""A file that is changed while others read it: they see it as it was or as it is now, and never half of it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lapwing.vocabulary.lifetime import LockedFile


@contextmanager
def changing(path: Path) -> Iterator[Path]:
    """Be alone among all who change a file in this way, in this process and in others.

    Whoever waited may hold the lock of a file that was replaced meanwhile, and waits for the new one.
    """
    while True:
        with LockedFile(path) as file:
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                yield path
                return


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
