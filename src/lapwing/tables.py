"""The tables of a population as the session needs them: opened when they are first needed, and lent to questions.

What changed while its data version did not is refused before anything is charged (`lapwing.fingerprints`).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from lapwing.engines.engine import Engine, Generation, Generations
from lapwing.engines.reading import hide_failures
from lapwing.engines.rehearsal import rehearsal_engine
from lapwing.fingerprints import Fingerprints, stats_of
from lapwing.ledger.ledger import Ledger
from lapwing.queries.catalogue.population import Population, Table
from lapwing.sources import Source, inside_of, open_engine
from lapwing.vocabulary.errors import EngineError, RegistrationError, UnavailableError

if TYPE_CHECKING:
    from lapwing.engines.survey import TableSurvey


T = TypeVar("T")

_PATIENCE = 3
"""How often tables are opened anew when a file is replaced while it is opened."""


def whose_row(population: Population, table: Table) -> tuple[str, str]:
    """Return the person key of a table as the ledger keeps it: the name of the column, and its type."""
    return population.person_key(table), table.key_type.value


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
        self._files = {table: source.file for table, source in sources.items() if source.file is not None}
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
        before = self._watch(versions, in_place)
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
        """Run an action before the charge; every failure is the same `UnavailableError`, for any reason."""
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
        self._watch(present, self._sources)
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
        """Return the stats of the files of tables; a file that is replaced has another one."""
        return stats_of(self._files_of(tables))

    def _files_of(self, tables: Iterable[str]) -> dict[str, Path]:
        return {table: self._files[table] for table in tables if table in self._files}

    def _present(self, versions: Mapping[str, int]) -> Mapping[str, int]:
        """Return the present versions, these or newer ones, after a look at what changed unannounced."""
        while True:
            try:
                self._watch(versions, self._sources)
            except RegistrationError:
                before, versions = versions, self._ledger.population(self._population.name).tables
                if versions == before:  # and not announced just now
                    raise
            else:
                return versions

    def _watch(self, versions: Mapping[str, int], tables: Collection[str]) -> Mapping[str, tuple[int, ...]]:
        """Refuse content that changed while its version did not, and the data of another population.

        A table that looks as it did when it was last found right is right, as long as the fingerprints look the same.
        Return how the files of the tables look.
        """
        name, (stats, stamp) = self._population.name, self._fingerprints.looks(self._files_of(tables))
        for table in tables:
            source, content, looks = self._sources[table], None, (versions[table], stats.get(table), stamp)
            if self._found_right.get(table) == looks:
                continue
            if source.file is not None:
                content = self._fingerprints.check(name, table, versions[table], source.file, self._read_as(table))
            self._fingerprints.claim(name, table, source, content)
            self._found_right[table] = looks
        return stats

    def _read_as(self, table: str) -> str:
        """Return which table of a file it is, and how its cells are read: read otherwise, it is other data."""
        return inside_of(self._sources[table]) or self._population.table(table).cells_written

    def _identify(self, versions: Mapping[str, int], identities: Mapping[str, str]) -> None:
        """Refuse a table of a database that another has taken the place of while its version is the same."""
        if not identities:
            return
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
            if source.file is not None
            and self._fingerprints.changed(f"{name}.{table}", versions[table], source.file, self._read_as(table))
        ]
        if self._files:
            return in_files
        with suppress(RegistrationError, UnavailableError), self._lease(versions, charged=False) as held:
            now = self._uncharged(held.engine.identities_now)
            return [t for t, one in now.items() if self._fingerprints.is_another(f"{name}.{t}", versions[t], one)]
        return []  # what cannot be opened is reported elsewhere

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
