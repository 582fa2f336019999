"""The tables of a population as the session needs them: opened when they are first needed, and lent to questions.

A data version is a public number that the custodian advances. Content that changed while its number did not is refused
before anything is charged: two answers under one version must be about the same data.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from lapwing.engines.duckdb import DuckDB
from lapwing.engines.duckdb_registry import DuckDBTable
from lapwing.engines.engine import Engine, Generations
from lapwing.engines.reading import hide_failures
from lapwing.engines.rehearsal import rehearsal_engine
from lapwing.ledger.ledger import Ledger
from lapwing.queries.catalogue import Population, Table
from lapwing.sources import (
    FileSource,
    Fingerprints,
    PostgresSource,
    Source,
    SparkFiles,
    SparkSource,
    inside_of,
    stat_of,
)
from lapwing.vocabulary.errors import RegistrationError
from lapwing.vocabulary.loading import load_extra

if TYPE_CHECKING:
    from lapwing.engines.survey import TableSurvey

_PATIENCE = 3
"""How often tables are opened anew when a file is replaced while it is opened."""


def whose_row(population: Population, table: Table) -> tuple[str, str]:
    """Return what says whose row a row of a table is, as the ledger keeps it: a column, and what it holds."""
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
        self._found_right: dict[str, tuple[object, ...]] = {}
        self._rehearsing = Lock()
        self._rehearsal: Engine | None = None

    @contextmanager
    def hold(self, versions: Mapping[str, int]) -> Iterator[None]:
        """Keep open what a question will be about, until it has its end; refuse what changed unannounced.

        `versions` are those of all tables; where newer ones were announced just now, those count.
        """
        with self._lease(self._present(versions), charged=False):
            yield

    @contextmanager
    def lease(self, versions: Mapping[str, int]) -> Iterator[Engine]:
        """Lend an engine on the versions that a question was charged for.

        One that is not open is opened, but not where the tables have moved on: what was paid for was an answer about
        these versions. For the same reason it fails where a file that is read in its place is replaced meanwhile.
        """
        in_place = [table for table in versions if self._is_read_in_place(table)]
        before = self._stats(in_place)
        self._watch(versions, in_place)
        with self._lease(versions, charged=True) as engine:
            yield engine
        if self._stats(in_place) != before:
            raise self._moved_on()

    @contextmanager
    def _lease(self, versions: Mapping[str, int], *, charged: bool) -> Iterator[Engine]:
        held = self._engines.take(versions)
        if held is None:
            with self._engines.opening:
                held = self._engines.take(versions) or self._engines.add(
                    *hide_failures(lambda: self._open_at(versions, charged=charged), self._on_failure)
                )
        try:
            yield held.engine
        finally:
            self._engines.give_back(held)

    def _open_at(self, versions: Mapping[str, int], *, charged: bool) -> tuple[Engine, Mapping[str, int]]:
        for _ in range(_PATIENCE):
            before = self._stats(self._sources)
            present = self._charged(versions) if charged else self._present(versions)
            self._require_same_people()
            with ExitStack() as opened:
                engine = self._open()
                opened.callback(engine.close)
                if self._stats(self._sources) == before:  # it holds what was looked at
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

    def _is_read_in_place(self, table: str) -> bool:
        """Say whether every question reads the file of a table anew; of other files the engine keeps what it opened."""
        source = self._sources.get(table)
        return isinstance(source, FileSource) and source.path.suffix == ".parquet"

    def _stats(self, tables: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """Return how the files of tables look from outside: a file that is replaced looks different."""
        sources = {table: self._sources[table] for table in tables}
        return {
            table: stat_of(table, source.path)
            for table, source in sources.items()
            if isinstance(source, FileSource | DuckDBTable)
        }

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

    def _watch(self, versions: Mapping[str, int], tables: Collection[str]) -> None:
        """Refuse content that changed while its version did not, and the data of another population.

        A table that looks as it did when it was last found right is right, as long as the fingerprints look the same.
        """
        name, stamp, stats = self._population.name, self._fingerprints.stamp, self._stats(tables)
        for table in tables:
            source, content, looks = self._sources[table], None, (versions[table], stats.get(table), stamp)
            if self._found_right.get(table) == looks:
                continue
            if isinstance(source, FileSource | DuckDBTable):
                content = self._fingerprints.check(name, table, versions[table], source.path, inside_of(source))
            self._fingerprints.claim(name, table, source, content)
            self._found_right[table] = looks

    def changed(self) -> list[str]:
        """Return the tables whose content changed while their version did not."""
        name = self._population.name
        versions = self._ledger.population(name).tables
        return [
            table
            for table, source in self._sources.items()
            if isinstance(source, FileSource | DuckDBTable)
            and self._fingerprints.changed(f"{name}.{table}", versions[table], source.path, inside_of(source))
        ]

    def survey(self) -> "list[TableSurvey]":
        """Return exact facts about every table; for the custodian."""
        with closing(self._open()) as engine:
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

    def _open(self) -> Engine:
        return open_engine(self._population, self._sources, time_limit=self._time_limit, on_failure=self._on_failure)


def open_engine(
    population: Population, sources: Mapping[str, Source], *, time_limit: int, on_failure: Callable[[Exception], None]
) -> Engine:
    """Open the one database that holds all tables of a population, or refuse what does not fit."""
    used = {_DATABASE[type(source)] for source in sources.values()}
    addresses = {source.address for source in sources.values() if isinstance(source, PostgresSource)}
    if len(used) > 1 or len(addresses) > 1:
        reason = "has tables in several databases"
        raise RegistrationError(population.name, reason=reason, remedy="keep them in one place")
    if used == {"postgres"}:
        driver = load_extra("lapwing.engines.postgres", extra="postgres")
        in_postgres = {
            name: driver.PostgresTable(table=source.table, schema=source.schema)
            for name, source in sources.items()
            if isinstance(source, PostgresSource)
        }
        engine: Engine = driver.PostgreSQL(
            population, in_postgres, addresses.pop(), time_limit=time_limit, on_failure=on_failure
        )
        return engine
    if used == {"spark"}:
        return _open_spark(population, sources, time_limit=time_limit, on_failure=on_failure)
    places = {name: one.path if isinstance(one, FileSource) else one for name, one in sources.items()}
    return DuckDB(population, places, time_limit=time_limit, on_failure=on_failure)


def _open_spark(
    population: Population, sources: Mapping[str, Source], *, time_limit: int, on_failure: Callable[[Exception], None]
) -> Engine:
    driver = load_extra("lapwing.engines.spark", extra="spark")
    tables = {
        name: source.place if isinstance(source, SparkFiles) else driver.SparkTable.named(source.table)
        for name, source in sources.items()
        if isinstance(source, SparkSource | SparkFiles)
    }
    session = driver.session_of_this_process(population.name)
    engine: Engine = driver.Spark(population, tables, session, time_limit=time_limit, on_failure=on_failure)
    return engine


_DATABASE: Mapping[type[Source], str] = {
    FileSource: "duckdb",
    DuckDBTable: "duckdb",
    PostgresSource: "postgres",
    SparkSource: "spark",
    SparkFiles: "spark",
}
