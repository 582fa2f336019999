"""Fingerprints of tables and vocabularies: their content at each data version, and the population that owns them.

A data version is a public number that the custodian advances. Content that changed while its number did not is refused
before anything is charged: two answers under one version must be about the same data. So are the data of one population
under the name of another. The fingerprint of a table in a database is its identity: new rows are not detected, another
table in its place is. No receipt may reveal anything about data, so fingerprints are kept in a file of the workspace,
and never in the ledger.
"""

import hashlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import Literal, TypeAlias

from lapwing.engines.stored_columns import same_relation
from lapwing.sources import Source, files_below, inside_of, place_of, share_data
from lapwing.vocabulary.codec import from_text, stored, to_text
from lapwing.vocabulary.errors import RegistrationError, SettingsError
from lapwing.vocabulary.lifetime import LockedFile

Part: TypeAlias = Literal["tables", "vocabularies"]


@stored("fingerprint")
class Fingerprint:
    """Identity of a file at one data version: its stat, the hash of its content, and which table in it is meant.

    A table in a database has the identity that its engine reports in place of a hash, and no stat. `readable` is the
    mark of the declaration under which all its cells were read without failure; empty before that.
    """

    version: int
    stat: tuple[int, ...]
    sha256: str
    inside: str
    readable: str = ""


@stored("known-data")
class KnownData:
    """Which ledger is ours, what tables ("population.table") and vocabularies were, and how populations are known."""

    ledger: str | None = None
    tables: Mapping[str, Fingerprint] = field(default_factory=dict)
    vocabularies: Mapping[str, Fingerprint] = field(default_factory=dict)
    seen: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)

    def owner(self, population: str, signs: Collection[tuple[str, ...]], folder: Path) -> str | None:
        """Return another population that is known by one of these signs, or by a place that holds the same data."""
        others, below = [(name, seen) for name, seen in self.seen.items() if name != population], cache(files_below)
        return next(
            (name for name, seen in others if any(share_data(*pair, folder, below) for pair in product(seen, signs))),
            None,
        )


class Fingerprints:
    """Record of the fingerprint of each file at its version, of the population that owns it, and of our ledger.

    Many processes and threads share the file. It is changed under a lock, and replaced as a whole once the new one is
    on the disk, so that no record is lost and no reader sees half of it. It is kept in the workspace and not in the
    ledger, which hosts may share whose files lie elsewhere, and which holds nothing that depends on data.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def stamp(self) -> tuple[int, ...]:
        """The stat of the file of fingerprints: equal stats mean equal content."""
        try:
            return stat_of(self._path.name, self._path)
        except RegistrationError:
            return ()

    def looks(self, files: Mapping[str, Path]) -> tuple[dict[str, tuple[int, ...]], tuple[int, ...]]:
        """Return the stats of the files of tables, and that of the file of fingerprints."""
        return stats_of(files), self.stamp

    def check(self, population: str, name: str, version: int, file: Path, inside: str = "") -> str:
        """Return the content of a file, taken down if its version is new; refuse one that changed under its version.

        Of a file that holds several tables, `inside` is the one that is asked about: another one is other data.
        """
        table = f"{population}.{name}"
        changed = _unannounced(table, name, version, "has changed")
        return self._check("tables", table, version, file, inside=inside, changed=changed)

    def agree(self, vocabulary: str, file: Path) -> None:
        """Take down what a vocabulary is when it is first seen; refuse one that changed since."""
        kept = self._read().vocabularies.get(vocabulary)
        remedy = f"bring the old file back, or lapwing advance {vocabulary}: conditions then mean something else"
        changed = RegistrationError(vocabulary, reason="has changed", remedy=remedy)
        self._check("vocabularies", vocabulary, kept.version if kept else 1, file, inside="", changed=changed)

    def _check(
        self, part: Part, name: str, version: int, file: Path, *, inside: str, changed: RegistrationError
    ) -> str:
        kept, stat = getattr(self._read(), part).get(name), stat_of(name, file)
        if kept and (kept.version, kept.stat, kept.inside) == (version, stat, inside):
            return str(kept.sha256)
        found = Fingerprint(version=version, stat=stat, sha256=_content(name, file), inside=inside)
        self._take_down(part, name, found, changed)
        return found.sha256

    def identify(self, population: str, name: str, version: int, identity: str) -> None:
        """Take down what a table in a database is, if its version is new; refuse another one under its version."""
        table = f"{population}.{name}"
        kept = self._read().tables.get(table)
        if kept is None or kept.version != version or same_relation(kept.sha256, identity) != kept.sha256:
            found = Fingerprint(version=version, stat=(), sha256=identity, inside="")
            another = _unannounced(table, name, version, "is another table than it was, or has other columns")
            self._take_down("tables", table, found, another, same_relation)

    def _take_down(
        self,
        part: Part,
        name: str,
        found: Fingerprint,
        changed: RegistrationError,
        same: Callable[[str, str], str | None] = lambda kept, found: kept if kept == found else None,
    ) -> None:
        """Keep what something is at its version; refuse it as `changed` where it was not the `same` then."""
        with self._changing(name) as known:
            kept, version = getattr(known, part).get(name), found.version
            if kept and kept.version > version:
                reason = f"had version {kept.version} before, and it is {version} now"
                remedy = "ask again; if that does not help, the ledger is an old one: bring back the newest"
                raise RegistrationError(name, reason=reason, remedy=remedy)
            if kept and kept.version == version:
                whole = same(kept.sha256, found.sha256)
                if whole is None or kept.inside != found.inside:
                    raise changed
                found = replace(found, sha256=whole)
            self._put(known, part, name, found)

    def _put(self, known: KnownData, part: Part, name: str, found: Fingerprint) -> None:
        fresh: Mapping[str, Mapping[str, Fingerprint]] = {part: {**getattr(known, part), name: found}}
        self._write(replace(known, **fresh))  # type: ignore[arg-type] # one of two fields of this type

    def changed(self, table: str, version: int, file: Path, inside: str = "") -> bool:
        """Say whether the content of a file is not that of its version; nothing is known about a new version."""
        kept = self._read().tables.get(table)
        return kept is not None and kept.version == version and _differs(kept, table, file, inside)

    def has_new(self, vocabulary: str, file: Path) -> bool:
        """Say whether the content of a vocabulary is not what was agreed on."""
        kept = self._read().vocabularies.get(vocabulary)
        return kept is not None and _differs(kept, vocabulary, file)

    def is_another(self, table: str, version: int, identity: str) -> bool:
        """Say whether a table in a database is not that of its version; nothing is known about a new version."""
        kept = self._read().tables.get(table)
        return kept is not None and kept.version == version and same_relation(kept.sha256, identity) is None

    def accept(self, vocabulary: str, file: Path) -> int:
        """Take down what a vocabulary is now, and return its version: what was asked before keeps its answers."""
        stat, content = stat_of(vocabulary, file), _content(vocabulary, file)
        with self._changing(vocabulary) as known:
            kept = known.vocabularies.get(vocabulary)
            version = 1 if kept is None else kept.version + (kept.sha256 != content)
            found = Fingerprint(version=version, stat=stat, sha256=content, inside="")
            self._put(known, "vocabularies", vocabulary, found)
        return version

    def readable(self, population: str, stats: Mapping[str, tuple[int, ...]]) -> dict[str, str]:
        """Return the marks of the tables that were read to the last cell and still look as they did then."""
        known = self._read().tables
        kept = {name: known.get(f"{population}.{name}") for name in stats}
        return {name: one.readable for name, one in kept.items() if one and one.readable and one.stat == stats[name]}

    def keep_readable(self, population: str, stats: Mapping[str, tuple[int, ...]], marks: Mapping[str, str]) -> None:
        """Remember that tables with these stats were read to the last cell."""
        if marks == self.readable(population, {name: stats[name] for name in marks}):
            return
        with suppress(OSError), self._locked():  # with read access only, nothing can be remembered in it
            known = self._read()
            read = {
                table: replace(kept, readable=mark)
                for name, mark in marks.items()
                if (kept := known.tables.get(table := f"{population}.{name}")) and kept.stat == stats[name]
            }
            self._write(replace(known, tables={**known.tables, **read}))

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
        with suppress(OSError), self._locked():  # with read access only, nothing can be remembered in it
            seen = self._seen_of(population, name, signs) | signs
            known = self._read()
            self._write(replace(known, seen={**known.seen, population: tuple(sorted(seen))}))

    def owner(self, population: str, source: Source) -> str | None:
        """Return another population that was asked about at the place of a source, or about a copy of it, if any."""
        known = self._read()
        file = source.file
        content = _content(file.name, file) if known.seen and file is not None and file.is_file() else None
        return known.owner(population, self._signs(source, content), self._path.parent)

    def _seen_of(self, population: str, name: str, signs: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
        """Return by what a population is known; refuse signs by which another one is."""
        known = self._read()
        owner = known.owner(population, signs, self._path.parent)
        if owner is not None:
            reason = f"holds the data of population {owner!r}, whose account goes on"
            raise RegistrationError(f"{population}.{name}", reason=reason, remedy=f"declare it as a table of {owner!r}")
        return set(known.seen.get(population, ()))

    def _signs(self, source: Source, content: str | None) -> set[tuple[str, ...]]:
        """Return by what a source is known again: its place and, wherever it is, its content."""
        place, inside = place_of(source, self._path.parent), inside_of(source)
        if content is None:
            return {place}
        return {place, ("content", content, inside) if inside else ("content", content)}

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
        """Yield the known data under the lock, to be replaced."""
        try:
            with self._locked():
                yield self._read()
        except OSError:
            remedy = "let somebody ask first who may write in the folder of the workspace"
            reason = f"is new, and {self._path.name} cannot be written"
            raise RegistrationError(table, reason=reason, remedy=remedy) from None

    def _locked(self) -> LockedFile:
        """Return the lock of the file, held against all other threads and processes until it is left."""
        lock = self._path.with_suffix(".lock")
        with suppress(FileExistsError):
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL, 0o600))
        return LockedFile(lock)

    def _write(self, known: KnownData) -> None:
        fresh = self._path.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        opened = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)  # for its owner only, from the start
        with os.fdopen(opened, "w", encoding="ascii") as file:
            file.write(to_text(known))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)


@lru_cache(maxsize=8)  # a question looks into the file twice for each table
def _known_data(text: str) -> KnownData:
    return from_text(KnownData, text)


def stats_of(files: Mapping[str, Path]) -> dict[str, tuple[int, ...]]:
    """Return the stats of the files of tables; a file that is replaced has another one."""
    looks: dict[str, tuple[int, ...]] = {}
    for table, file in files.items():
        try:
            found = os.stat(file)  # noqa: PTH116 - a question looks many times, and the path is slow to ask
        except OSError:
            remedy = "bring the file back, or write its new place under source in lapwing.toml"
            raise RegistrationError(table, reason=f"is not at {file.name}", remedy=remedy) from None
        # The time of the last change, too: a program may set the time of the last writing back, but not this one.
        looks[table] = found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino
    return looks


def stat_of(name: str, file: Path) -> tuple[int, ...]:
    """Return the stat of one file."""
    return stats_of({name: file})[name]


def _differs(kept: Fingerprint, name: str, file: Path, inside: str = "") -> bool:
    return kept.inside != inside or (kept.stat != stat_of(name, file) and kept.sha256 != _content(name, file))


def _unannounced(table: str, name: str, version: int, reason: str) -> RegistrationError:
    remedy = f"bring the old data back, or lapwing advance {name}: the account goes on as it stands"
    return RegistrationError(table, reason=f"{reason}, and its data version is still {version}", remedy=remedy)


def _content(table: str, file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError:
        reason, remedy = f"cannot be read from {file.name}", "let this user read it"
        raise RegistrationError(table, reason=reason, remedy=remedy) from None
