"""The tables of a population as the session needs them: opened when they are first needed, and lent to questions.

A data version is a public number that the custodian advances. Content that changed while its number did not is refused
before anything is charged: two answers under one version must be about the same data. It is noticed by its fingerprint,
and so are the data of one population under the name of another. Of a table in a database that is what tells it from
others: rows that come there are not seen, another table in its place is. No receipt may tell anything about data, so
they are kept beside the workspace, and never in the ledger.
"""

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import field, replace
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from lapwing.engines.duckdb import DuckDBTable
from lapwing.engines.engine import Engine, Generation, Generations
from lapwing.engines.reading import hide_failures
from lapwing.engines.rehearsal import rehearsal_engine
from lapwing.engines.stored_columns import same_relation
from lapwing.ledger.ledger import Ledger
from lapwing.queries.catalogue.population import Population, Table
from lapwing.sources import FileSource, Source, inside_of, open_engine, place_of
from lapwing.vocabulary.codec import from_text, stored, to_text
from lapwing.vocabulary.errors import EngineError, RegistrationError, SettingsError, UnavailableError
from lapwing.vocabulary.lifetime import LockedFile

if TYPE_CHECKING:
    from lapwing.engines.survey import TableSurvey


T = TypeVar("T")

_PATIENCE = 3
"""How often tables are opened anew when a file is replaced while it is opened."""


def whose_row(population: Population, table: Table) -> tuple[str, str]:
    """Return what says whose row a row of a table is, as the ledger keeps it: a column, and what it holds."""
    return population.person_key(table), table.key_type.value


@stored("fingerprint")
class Fingerprint:
    """What a file was at a version: how it looks from outside, its content, and which table in it is meant.

    Of a table in a database, what tells it from others stands for its content, and it has no looks.
    `readable` is the mark of how all its cells were read without failure, empty before they were.
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
        self._take_down(table, name, found, "has changed")
        return found.sha256

    def identify(self, population: str, name: str, version: int, identity: str) -> None:
        """Take down what a table in a database is, if its version is new; refuse another one under its version."""
        table = f"{population}.{name}"
        kept = self._read().tables.get(table)
        if kept is None or kept.version != version or same_relation(kept.sha256, identity) != kept.sha256:
            found = Fingerprint(version=version, stat=(), sha256=identity, inside="")
            self._take_down(table, name, found, "is another table than it was, or has other columns", same_relation)

    def _take_down(
        self,
        table: str,
        name: str,
        found: Fingerprint,
        otherwise: str,
        same: Callable[[str, str], str | None] = lambda kept, found: kept if kept == found else None,
    ) -> None:
        """Keep what a table is at its version; refuse it where it was something else then, as `same` says."""
        with self._changing(table) as known:
            kept, version = known.tables.get(table), found.version
            if kept and kept.version > version:
                reason = f"had version {kept.version} before, and it is {version} now"
                remedy = "ask again; if that does not help, the ledger is an old one: bring back the newest"
                raise RegistrationError(table, reason=reason, remedy=remedy)
            if kept and kept.version == version:
                whole = same(kept.sha256, found.sha256)
                if whole is None or kept.inside != found.inside:
                    reason = f"{otherwise}, and its data version is still {version}"
                    remedy = f"bring the old data back, or lapwing advance {name}: the account goes on as it stands"
                    raise RegistrationError(table, reason=reason, remedy=remedy)
                found = replace(found, sha256=whole)
            self._write(replace(known, tables={**known.tables, table: found}))

    def readable(self, population: str, stats: Mapping[str, tuple[int, ...]]) -> dict[str, str]:
        """Return the marks of the tables that were read to the last cell and still look as they did then."""
        known = self._read().tables
        kept = {name: known.get(f"{population}.{name}") for name in stats}
        return {name: one.readable for name, one in kept.items() if one and one.readable and one.stat == stats[name]}

    def keep_readable(self, population: str, stats: Mapping[str, tuple[int, ...]], marks: Mapping[str, str]) -> None:
        """Remember that tables with these looks were read to the last cell."""
        if marks == self.readable(population, {name: stats[name] for name in marks}):
            return
        with suppress(OSError), self._locked():  # whoever may only read the folder can remember nothing in it
            known = self._read()
            read = {
                table: replace(kept, readable=mark)
                for name, mark in marks.items()
                if (kept := known.tables.get(table := f"{population}.{name}")) and kept.stat == stats[name]
            }
            self._write(replace(known, tables={**known.tables, **read}))

    def changed(self, table: str, version: int, file: Path, inside: str = "") -> bool:
        """Say whether the content of a file is not that of its version; nothing is known about a new version."""
        kept = self._read().tables.get(table)
        if kept is None or kept.version != version:
            return False
        return kept.inside != inside or (kept.stat != stat_of(table, file) and kept.sha256 != _content(table, file))

    def is_another(self, table: str, version: int, identity: str) -> bool:
        """Say whether a table in a database is not that of its version; nothing is known about a new version."""
        kept = self._read().tables.get(table)
        return kept is not None and kept.version == version and same_relation(kept.sha256, identity) is None

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
        """Return the lock of the file, held against all other threads and processes until it is left."""
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


def stat_of(table: str, file: Path) -> tuple[int, ...]:
    """Return how a file looks from outside: one that is replaced looks different."""
    try:
        found = os.stat(file)  # noqa: PTH116 - a question looks many times, and the path is slow to ask
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


class Tables:
    """The tables of one population, as the session needs them."""

    def __init__(
        self,
        population: Population,
        sources: Mapping[str, Source],
        *,
        ledger: Ledger,
        fingerprints: Fingerprints,
        time_limit: int,
        on_failure: Callable[[Exception], None],
    ) -> None:
        self._population, self._sources, self._time_limit = population, sources, time_limit
        self._ledger, self._fingerprints = ledger, fingerprints
        self._on_failure = on_failure
        self._engines = Generations(on_failure)
        self._files = {
            table: source.path for table, source in sources.items() if isinstance(source, FileSource | DuckDBTable)
        }
        # Files that every question reads anew; of others the engine keeps what it opened.
        self._in_place = frozenset(table for table, file in self._files.items() if file.suffix == ".parquet")
        self._found_right: dict[str, tuple[object, ...]] = {}
        self._identified: dict[str, tuple[object, ...]] = {}
        self._rehearsing = Lock()
        self._rehearsal: Engine | None = None

    @contextmanager
    def hold(self, versions: Mapping[str, int], *, reads: bool = False) -> Iterator[Mapping[str, int]]:
        """Keep open what a question will be about, until it has its end; refuse what changed unannounced.

        With `reads`, a database that is away is refused as well, though its tables were opened before, and so is a
        table that another has taken the place of since.
        `versions` are those of all tables; where newer ones were announced just now, those count, and are given. A
        question is charged for them or not at all (`MovedOnError`): what is charged for is open.
        """
        while True:
            with self._lease(self._present(versions), charged=False) as held:
                now = self._uncharged(held.engine.identities_now) if reads else held.engine.identities
                newer = self._newer_than(held.versions, now)
                if newer is None:
                    yield held.versions
                    return
            versions = newer

    @contextmanager
    def lease(self, versions: Mapping[str, int]) -> Iterator[Engine]:
        """Lend an engine on the versions that a question was charged for.

        One that is not open is opened, but not where the tables have moved on: what was paid for was an answer about
        these versions. For the same reason it fails where a file that is read in its place is replaced meanwhile.
        """
        in_place = [table for table in versions if table in self._in_place]
        before = self._stats(in_place)
        self._watch(versions, in_place, before)
        with self._lease(versions, charged=True) as held:
            yield held.engine
        if self._stats(in_place) != before:
            raise self._moved_on()

    @contextmanager
    def _lease(self, versions: Mapping[str, int], *, charged: bool) -> Iterator[Generation]:
        held = self._engines.take(versions)
        if held is None:
            with self._engines.opening:
                held = self._engines.take(versions) or self._engines.add(*self._opened(versions, charged=charged))
        try:
            yield held
        finally:
            self._engines.give_back(held)

    def _opened(self, versions: Mapping[str, int], *, charged: bool) -> tuple[Engine, Mapping[str, int]]:
        if charged:
            return hide_failures(lambda: self._open_at(versions, charged=True), self._on_failure)
        return self._uncharged(lambda: self._open_at(versions, charged=False))

    def _uncharged(self, work: Callable[[], T]) -> T:
        """Do something before the charge; whoever asks is told that, and whatever the reason was, in the same words."""
        with suppress(EngineError):
            return hide_failures(work, self._on_failure)
        raise UnavailableError

    def _open_at(self, versions: Mapping[str, int], *, charged: bool) -> tuple[Engine, Mapping[str, int]]:
        for _ in range(_PATIENCE):
            before = self._stats(self._sources)
            present = self._charged(versions) if charged else self._present(versions)
            self._require_same_people()
            with ExitStack() as opened:
                engine = self._open(before)
                opened.callback(engine.close)
                if charged:
                    self._identify(present, engine.identities)
                if self._stats(self._sources) == before:  # it holds what was looked at
                    self._fingerprints.keep_readable(self._population.name, before, engine.readable)
                    opened.pop_all()
                    return engine, present
        raise self._moved_on()

    def _charged(self, versions: Mapping[str, int]) -> Mapping[str, int]:
        """Return the present versions, after a look at what changed unannounced; refuse others than were charged."""
        present = self._ledger.population(self._population.name).tables
        if any(present.get(table) != version for table, version in versions.items()):
            raise self._moved_on()
        self._watch(present, self._sources, self._stats(self._sources))
        return present

    def _require_same_people(self) -> None:
        """Refuse to go on where the custodian has corrected who is protected since these tables were declared.

        A correction gives the tables new versions, so that nothing is read before this is looked at.
        """
        decided = self._ledger.population(self._population.name)
        keys = {table.name: whose_row(self._population, table) for table in self._population.tables}
        if decided.unit != self._population.unit or any(decided.keys.get(t, key) != key for t, key in keys.items()):
            reason = "was corrected: it has another person key, or protects others than it did"
            raise RegistrationError(self._population.name, reason=reason, remedy="open the workspace again")

    def _moved_on(self) -> RegistrationError:
        return RegistrationError(self._population.name, reason="has another data version by now", remedy="ask again")

    def _stats(self, tables: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """Return how the files of tables look from outside: a file that is replaced looks different."""
        return {table: stat_of(table, self._files[table]) for table in tables if table in self._files}

    def _present(self, versions: Mapping[str, int]) -> Mapping[str, int]:
        """Return the present versions, these or newer ones, after a look at what changed unannounced."""
        while True:
            try:
                self._watch(versions, self._sources, self._stats(self._sources))
            except RegistrationError:
                before, versions = versions, self._ledger.population(self._population.name).tables
                if versions == before:  # and not announced just now
                    raise
            else:
                return versions

    def _watch(
        self, versions: Mapping[str, int], tables: Collection[str], stats: Mapping[str, tuple[int, ...]]
    ) -> None:
        """Refuse content that changed while its version did not, and the data of another population.

        A table that looks as it did when it was last found right is right, as long as the fingerprints look the same.
        """
        name, stamp = self._population.name, self._fingerprints.stamp
        for table in tables:
            source, content, looks = self._sources[table], None, (versions[table], stats.get(table), stamp)
            if self._found_right.get(table) == looks:
                continue
            if isinstance(source, FileSource | DuckDBTable):
                content = self._fingerprints.check(name, table, versions[table], source.path, inside_of(source))
            self._fingerprints.claim(name, table, source, content)
            self._found_right[table] = looks

    def _identify(self, versions: Mapping[str, int], identities: Mapping[str, str]) -> None:
        """Refuse a table of a database that another has taken the place of while its version is the same."""
        name, stamp = self._population.name, self._fingerprints.stamp
        for table, identity in identities.items():
            looks = (versions[table], identity, stamp)
            if self._identified.get(table) != looks:
                self._fingerprints.identify(name, table, versions[table], identity)
                self._fingerprints.claim(name, table, self._sources[table], identity.partition(" ")[0])
                self._identified[table] = looks

    def _newer_than(self, versions: Mapping[str, int], identities: Mapping[str, str]) -> Mapping[str, int] | None:
        """Return versions that were announced just now, if they are why tables are not those of theirs any more."""
        try:
            self._identify(versions, identities)
        except RegistrationError:
            newest = self._ledger.population(self._population.name).tables
            if dict(newest) == dict(versions):
                raise
            return newest
        return None

    def changed(self) -> list[str]:
        """Return the tables whose content changed, or that became others, while their version did not."""
        name = self._population.name
        versions = self._ledger.population(name).tables
        in_files = [
            table
            for table, source in self._sources.items()
            if isinstance(source, FileSource | DuckDBTable)
            and self._fingerprints.changed(f"{name}.{table}", versions[table], source.path, inside_of(source))
        ]
        if self._files:
            return in_files
        with suppress(RegistrationError, UnavailableError), self._lease(versions, charged=False) as held:
            now = self._uncharged(held.engine.identities_now)
            return [t for t, one in now.items() if self._fingerprints.is_another(f"{name}.{t}", versions[t], one)]
        return []  # what cannot be opened is told elsewhere

    def survey(self) -> "list[TableSurvey]":
        """Return exact facts about every table; for the custodian."""
        with closing(self._open({})) as engine:
            return engine.survey()

    def rehearsal(self) -> Engine:
        """Return an engine on made-up rows."""
        with self._rehearsing:
            if self._rehearsal is None:
                self._rehearsal = rehearsal_engine(self._population)
            return self._rehearsal

    def close(self) -> None:
        """Let go of the databases, of each as soon as the questions that are running on it have ended."""
        self._engines.close()
        with self._rehearsing:
            if self._rehearsal is not None:
                self._rehearsal.close()
                self._rehearsal = None

    def _open(self, stats: Mapping[str, tuple[int, ...]]) -> Engine:
        """Open the database; files that look like this need not be read to the last cell where they were before."""
        readable = self._fingerprints.readable(self._population.name, stats)
        return open_engine(
            self._population,
            self._sources,
            time_limit=self._time_limit,
            on_failure=self._on_failure,
            readable=readable,
        )
