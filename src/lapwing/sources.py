"""Where the tables of a population are, and by what they are known again: the custodian's, and never in the ledger.

Content that changed while its data version did not is noticed by its fingerprint, and so are the data of one population
under the name of another. No receipt may tell anything about data, so fingerprints are kept beside the workspace.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from lapwing.engines.duckdb_registry import DuckDBTable
from lapwing.vocabulary.codec import from_text, stored, to_text
from lapwing.vocabulary.errors import RegistrationError, SettingsError
from lapwing.vocabulary.lifetime import LockedFile


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSource:
    """A Parquet or CSV file."""

    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresSource:
    """A table of a PostgreSQL database; the address is the custodian's, so it is never shown."""

    address: str = field(repr=False)
    table: str
    schema: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSource:
    """A table that Apache Spark knows by this name, with its schema and catalogue if they are given."""

    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkFiles:
    """A Parquet file or folder that Apache Spark reads."""

    place: str


Source: TypeAlias = FileSource | DuckDBTable | PostgresSource | SparkSource | SparkFiles


def place_of(source: Source, folder: Path) -> tuple[str, ...]:
    """Return where a source is, however it was spelt: paths are resolved, and told from the folder of the workspace."""
    match source:
        case FileSource(path=path):
            return ("file", _from(folder, path))
        case DuckDBTable(path=path, table=table):
            return ("duckdb", _from(folder, path), table.casefold())
        case PostgresSource(address=address, schema=schema, table=table):
            return ("postgres", address, schema, table)
        case SparkSource(table=table):
            return ("spark", table.casefold())
        case SparkFiles(place=place):
            return ("file", place if "://" in place else _from(folder, Path(place)))


def _from(folder: Path, path: Path) -> str:
    return os.path.relpath(path.resolve(), folder.resolve())


@stored("fingerprint")
class Fingerprint:
    """What a file was at a version: how it looks from outside, its content, and which table in it is meant."""

    version: int
    stat: tuple[int, ...]
    sha256: str
    inside: str


@stored("known-data")
class KnownData:
    """Which ledger is ours, what tables ("population.table") and vocabularies were, and how populations are known."""

    ledger: str | None = None
    tables: Mapping[str, Fingerprint] = field(default_factory=dict)
    vocabularies: Mapping[str, Fingerprint] = field(default_factory=dict)
    seen: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)

    def owner(self, population: str, signs: Iterable[tuple[str, ...]]) -> str | None:
        """Return another population that is known by one of these signs."""
        others = ((name, seen) for name, seen in self.seen.items() if name != population)
        return next((name for name, seen in others if not set(seen).isdisjoint(signs)), None)


class Fingerprints:
    """What the content of each file was when its version was first seen, whose it was, and which ledger is ours.

    Many processes and threads share the file. It is changed under a lock, and replaced as a whole once the new one is
    on the disk, so that no record is lost and no reader sees half of it. It is kept beside the workspace and not in the
    ledger, which hosts may share whose files lie elsewhere, and which holds nothing that depends on data.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def stamp(self) -> tuple[int, ...]:
        """How the file looks from outside: as long as it looks the same, it says the same."""
        try:
            return stat_of(self._path.name, self._path)
        except RegistrationError:
            return ()

    def check(self, population: str, name: str, version: int, file: Path, inside: str = "") -> str:
        """Return the content of a file, taken down if its version is new; refuse one that changed under its version.

        Of a file that holds several tables, `inside` is the one that is asked about: another one is other data.
        """
        table = f"{population}.{name}"
        kept, stat = self._read().tables.get(table), stat_of(table, file)
        if kept and (kept.version, kept.stat, kept.inside) == (version, stat, inside):
            return kept.sha256
        found = Fingerprint(version=version, stat=stat, sha256=_content(table, file), inside=inside)
        with self._changing(table) as known:
            kept = known.tables.get(table)
            if kept and kept.version > version:
                reason = f"had version {kept.version} before, and it is {version} now"
                remedy = "ask again; if that does not help, the ledger is an old one: bring back the newest"
                raise RegistrationError(table, reason=reason, remedy=remedy)
            if kept and kept.version == version and (kept.sha256, kept.inside) != (found.sha256, inside):
                reason = f"has changed, and its data version is still {version}"
                remedy = f"bring the old data back, or lapwing advance {name}: the account goes on as it stands"
                raise RegistrationError(table, reason=reason, remedy=remedy)
            self._write(replace(known, tables={**known.tables, table: found}))
        return found.sha256

    def changed(self, table: str, version: int, file: Path, inside: str = "") -> bool:
        """Say whether the content of a file is not that of its version; nothing is known about a new version."""
        kept = self._read().tables.get(table)
        if kept is None or kept.version != version:
            return False
        return kept.inside != inside or (kept.stat != stat_of(table, file) and kept.sha256 != _content(table, file))

    def agree(self, vocabulary: str, file: Path) -> None:
        """Take down what a vocabulary is when it is first seen; refuse one that changed since."""
        kept, stat = self._read().vocabularies.get(vocabulary), stat_of(vocabulary, file)
        if kept and kept.stat == stat:
            return
        if self.has_new(vocabulary, file):
            reason, remedy = "has changed", f"bring the old file back, or lapwing advance {vocabulary}"
            raise RegistrationError(vocabulary, reason=reason, remedy=f"{remedy}: conditions then mean something else")
        version, content = kept.version if kept else 1, _content(vocabulary, file)
        self._keep(vocabulary, Fingerprint(version=version, stat=stat, sha256=content, inside=""))

    def has_new(self, vocabulary: str, file: Path) -> bool:
        """Say whether the content of a vocabulary is not what was agreed on."""
        kept = self._read().vocabularies.get(vocabulary)
        return kept is not None and kept.stat != stat_of(vocabulary, file) and kept.sha256 != _content(vocabulary, file)

    def accept(self, vocabulary: str, file: Path) -> int:
        """Take down what a vocabulary is now, and return its version: what was asked before keeps its answers."""
        kept = self._read().vocabularies.get(vocabulary)
        stat, content = stat_of(vocabulary, file), _content(vocabulary, file)
        version = 1 if kept is None else kept.version + (kept.sha256 != content)
        self._keep(vocabulary, Fingerprint(version=version, stat=stat, sha256=content, inside=""))
        return version

    def _keep(self, vocabulary: str, found: Fingerprint) -> None:
        with self._changing(vocabulary) as known:
            self._write(replace(known, vocabularies={**known.vocabularies, vocabulary: found}))

    @property
    def ledger(self) -> str | None:
        """The name of the ledger to which the workspace belongs, if it was ever opened with one."""
        return self._read().ledger

    def belong(self, ledger: str) -> None:
        """Remember the ledger to which the workspace belongs."""
        with self._locked():
            self._write(replace(self._read(), ledger=ledger))

    def claim(self, population: str, name: str, source: Source, content: str | None) -> None:
        """Remember where a table of a population is and what it holds; refuse the data of another population."""
        signs = self._signs(source, content)
        if signs <= self._seen_of(population, name, signs):
            return
        with suppress(OSError), self._locked():  # whoever may only read the folder can remember nothing in it
            seen = self._seen_of(population, name, signs) | signs
            known = self._read()
            self._write(replace(known, seen={**known.seen, population: tuple(sorted(seen))}))

    def owner(self, population: str, source: Source) -> str | None:
        """Return another population that was asked about at the place of a source, or about a copy of it, if any."""
        known = self._read()
        file = source.path if isinstance(source, FileSource | DuckDBTable) else None
        content = _content(file.name, file) if known.seen and file is not None and file.is_file() else None
        return known.owner(population, self._signs(source, content))

    def _seen_of(self, population: str, name: str, signs: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
        """Return by what a population is known; refuse signs by which another one is."""
        known = self._read()
        owner = known.owner(population, signs)
        if owner is not None:
            reason = f"holds the data of population {owner!r}, whose account goes on"
            raise RegistrationError(f"{population}.{name}", reason=reason, remedy=f"declare it as a table of {owner!r}")
        return set(known.seen.get(population, ()))

    def _signs(self, source: Source, content: str | None) -> set[tuple[str, ...]]:
        """Return by what a source is known again: its place and, wherever it is, its content."""
        inside = (inside_of(source),) if isinstance(source, DuckDBTable) else ()
        return {place_of(source, self._path.parent), *([("content", content, *inside)] if content else [])}

    def _read(self) -> KnownData:
        try:
            return _known_data(self._path.read_text("ascii"))
        except FileNotFoundError:
            return KnownData()
        except ValueError:  # what the codec and ASCII refuse
            reason = "is damaged, so nobody knows whether data changed since it was last asked about"
            remedy = "bring it back from a backup; if there is none and the data is what it was, delete this file"
            raise SettingsError(self._path.name, 0, reason=reason, remedy=remedy) from None

    @contextmanager
    def _changing(self, table: str) -> Iterator[KnownData]:
        """Give what is known, to be written anew by one at a time."""
        try:
            with self._locked():
                yield self._read()
        except OSError:
            remedy = "let somebody ask first who may write in the folder of the workspace"
            reason = f"is new, and {self._path.name} cannot be written"
            raise RegistrationError(table, reason=reason, remedy=remedy) from None

    def _locked(self) -> LockedFile:
        """Be alone among all threads and processes."""
        lock = self._path.with_suffix(".lock")
        with suppress(FileExistsError):
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL, 0o600))
        return LockedFile(lock)

    def _write(self, known: KnownData) -> None:
        fresh = self._path.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        opened = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)  # readable by nobody else from the start
        with os.fdopen(opened, "w", encoding="ascii") as file:
            file.write(to_text(known))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)


@lru_cache(maxsize=8)  # a question looks into the file twice for each table
def _known_data(text: str) -> KnownData:
    return from_text(KnownData, text)


def inside_of(source: Source) -> str:
    """Return the table inside a file that holds several."""
    return source.table.casefold() if isinstance(source, DuckDBTable) else ""


def stat_of(table: str, file: Path) -> tuple[int, ...]:
    """Return how a file looks from outside: one that is replaced looks different."""
    try:
        found = file.stat()
    except OSError:
        remedy = "bring the file back, or write its new place under source in lapwing.toml"
        raise RegistrationError(table, reason=f"is not at {file.name}", remedy=remedy) from None
    # The time of the last change, too: a program may set the time of the last writing back, but not this one.
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def _content(table: str, file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError:
        reason, remedy = f"cannot be read from {file.name}", "let this user read it"
        raise RegistrationError(table, reason=reason, remedy=remedy) from None
