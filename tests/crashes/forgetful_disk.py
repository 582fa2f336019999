"""A disk that forgets, when the power is cut, what was not synced: a layer between SQLite and the file system.

What was written and not synced survives by chance, write by write, and may be torn at a sector. This is a model, and a
harsh one: real disks keep more. It runs the ledger's own statements through apsw, whose SQLite takes file systems
written in Python.
"""

import random
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

_SECTOR = 512


class PowerCut(Exception):  # noqa: N818 - it is not an error of anyone
    """The power is off: nothing is read or written any more."""


@dataclass(frozen=True)
class Write:
    """Bytes written at a place of a file."""

    content: bytes
    offset: int

    def happen(self, image: bytearray) -> None:
        image.extend(bytes(max(0, self.offset - len(image))))
        image[self.offset : self.offset + len(self.content)] = self.content

    def torn(self, chance: random.Random) -> "Write":
        return Write(self.content[: chance.randrange(0, len(self.content) + 1, _SECTOR)], self.offset)


@dataclass(frozen=True)
class Truncation:
    """A file cut off at a size."""

    size: int

    def happen(self, image: bytearray) -> None:
        del image[self.size :]

    def torn(self, chance: random.Random) -> "Truncation":
        del chance
        return self


class ForgetfulDisk:
    """The files of one folder, with what of them is safe and what is not yet.

    Parameters
    ----------
    folder : where the files really are
    chance : decides what survives
    cut_after : the power is cut at this write, truncation or sync
    """

    def __init__(self, folder: Path, *, chance: random.Random, cut_after: int) -> None:
        self._chance, self._left = chance, cut_after
        self.safe: dict[str, bytes] = {file.name: file.read_bytes() for file in folder.iterdir()}
        self.unsafe: dict[str, list[Write | Truncation]] = {}
        self.vfs = _FileSystem(self)
        self.writes_lost = 0

    @property
    def is_off(self) -> bool:
        """Whether the power was cut."""
        return self._left <= 0

    def use(self) -> None:
        """Count an operation; cut the power when it is time."""
        self._left -= 1
        if self.is_off:
            raise PowerCut

    def note(self, name: str, change: "Write | Truncation") -> None:
        """Remember a change that is not yet safe."""
        self.unsafe.setdefault(name, []).append(change)

    def sync(self, name: str) -> None:
        """Make all that was changed in a file safe."""
        image = bytearray(self.safe.get(name, b""))
        for change in self.unsafe.pop(name, []):
            change.happen(image)
        self.safe[name] = bytes(image)

    def delete(self, name: str) -> None:
        """Delete a file."""
        self.safe.pop(name, None)
        self.unsafe.pop(name, None)

    def after_the_cut(self, folder: Path) -> None:
        """Write down what the files look like when the power is back."""
        for name in {*self.safe, *self.unsafe}:
            image = bytearray(self.safe.get(name, b""))
            for change in self.unsafe.get(name, []):
                match self._chance.randrange(6):
                    case 0 | 1 | 2:
                        change.happen(image)
                    case 3:
                        change.torn(self._chance).happen(image)
                    case _:
                        self.writes_lost += 1
            (folder / name).write_bytes(image)

    def connect(self, path: Path) -> "_Connection":
        """Open a database on this disk, for `SqliteDatabase`."""
        return _Connection(apsw.Connection(str(path), vfs=self.vfs.name))


class _Connection:
    """An apsw connection that looks like one of sqlite3."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        connection.execute("pragma wal_autocheckpoint = 30")  # so that the main file is written often

    def execute(self, statement: str, values: Any = ()) -> Any:
        try:
            return self._connection.execute(statement, values)
        except (apsw.Error, PowerCut) as error:
            translated = sqlite3.OperationalError(str(error))
            translated.sqlite_errorcode = sqlite3.SQLITE_IOERR
            raise translated from error

    def close(self) -> None:
        self._connection.close()


class CarelessConnection:
    """A connection that syncs less than it says: the lie that the model must catch."""

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Any = ()) -> Any:
        if statement == "pragma synchronous":
            return self._connection.execute("select 2")
        return self._connection.execute(statement.replace("synchronous = full", "synchronous = normal"), values)

    def close(self) -> None:
        self._connection.close()


class _FileSystem(apsw.VFS):
    def __init__(self, disk: ForgetfulDisk) -> None:
        self.name = f"forgetful-{id(disk)}"
        self._disk = disk
        super().__init__(self.name, "")

    def xOpen(self, name, flags):  # noqa: N802 - SQLite's name
        return _File(self._disk, name, flags)

    def xDelete(self, name, syncdir):  # noqa: N802 - SQLite's name
        self._disk.use()
        super().xDelete(name, syncdir)
        self._disk.delete(Path(name).name)


class _File(apsw.VFSFile):
    def __init__(self, disk: ForgetfulDisk, name, flags) -> None:
        self._disk = disk
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._name = Path(path).name if path else "temporary"
        super().__init__("", name, flags)

    def xWrite(self, data, offset):  # noqa: N802 - SQLite's name
        self._disk.use()
        super().xWrite(data, offset)
        self._disk.note(self._name, Write(bytes(data), offset))

    def xTruncate(self, newsize):  # noqa: N802 - SQLite's name
        self._disk.use()
        super().xTruncate(newsize)
        self._disk.note(self._name, Truncation(newsize))

    def xSync(self, flags):  # noqa: N802 - SQLite's name
        self._disk.use()
        super().xSync(flags)
        self._disk.sync(self._name)
