"""DuckDB inside this process: Parquet and CSV files, DuckDB files, and data frames of pandas, Polars and Arrow.

The database is private to the engine and locked once the tables are registered: no file but the registered ones can be
opened, nothing can be installed, no setting can be changed.

What does not fit into memory goes to a folder (`SpillFolder`): rows of people, so nobody else may read them and none
may stay behind. A process that is killed removes nothing. Its folder is known by a lock that died with it, and whoever
opens the next one removes it; the number of a process would not do, for numbers come back.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

import duckdb

from lapwing.engines.dialect import DUCKDB, literal
from lapwing.engines.duckdb_registry import Source, register
from lapwing.engines.emitter import Statement
from lapwing.engines.engine import BITMAP_MEMORY, Engine, Row
from lapwing.engines.reading import TIME_LIMIT, stoppable
from lapwing.engines.rows_of_person import Integers
from lapwing.queries.catalogue import Population
from lapwing.vocabulary.exact import as_int

T = TypeVar("T")

_PRIVATE: dict[str, str | bool | int | float | list[str]] = {
    # Those that decide about rows, or about an expression, by what is noted about all rows of a file or a group.
    "disabled_optimizers": "statistics_propagation,filter_pushdown,join_filter_pushdown,row_group_pruner,"
    "compressed_materialization,late_materialization",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
}
_PREFIX: Final = "lapwing-spill-"
_OWNER: Final = "owner"


class DuckDB(Engine):
    """An engine on DuckDB.

    Parameters
    ----------
    population, bitmap_memory, on_failure : as for every `Engine`
    sources : where each table of the population is; files are read where they lie, data frames and CSV are copied
    time_limit : seconds after which a statement is given up
    threads, memory_limit : what the database may use ("2GB"); all that there is, where they are not given

    >>> import pyarrow
    >>> from lapwing.queries.aggregate import Aggregate, CountPerPerson
    >>> from lapwing.queries.catalogue import Table
    >>> from lapwing.queries.predicate import ALWAYS
    >>> from lapwing.vocabulary.guarantee import PrivacyUnit
    >>> clinic = Population(
    ...     name="clinic", unit=PrivacyUnit(person_key="patient_id"), tables=(Table(name="patients", columns=()),)
    ... )
    >>> bounding = CountPerPerson(max_cells=1)
    >>> with DuckDB(clinic, {"patients": pyarrow.table({"patient_id": [1, 2, 2, None]})}) as engine:
    ...     engine.number(Aggregate(table="patients", where=ALWAYS, keys=(), bounding=bounding, salt=0))
    <sensitive>
    """

    _dialect = DUCKDB

    def __init__(
        self,
        population: Population,
        sources: Mapping[str, Source],
        *,
        time_limit: float = TIME_LIMIT,
        threads: int | None = None,
        memory_limit: str | None = None,
        bitmap_memory: int = BITMAP_MEMORY,
        on_failure: Callable[[Exception], None] = lambda _: None,
    ) -> None:
        self._spill = SpillFolder()
        self._time_limit = time_limit
        self._connection = duckdb.connect(config=_PRIVATE | {"temp_directory": str(self._spill.path)})
        try:
            registered = register(self._connection, population, sources)
            super().__init__(population, registered, bitmap_memory=bitmap_memory, on_failure=on_failure)
            self._lock_down(registered.files, threads, memory_limit)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the database."""
        self._connection.close()
        self._spill.close()

    def _rows(self, statement: Statement) -> Sequence[Row]:
        return self._fetched(statement, lambda cursor: cursor.fetchall())

    def _columns(self, statement: Statement) -> Sequence[Integers]:
        return list(self._fetched(statement, lambda cursor: cursor.fetchnumpy()).values())

    def _fetched(self, statement: Statement, fetch: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        # An open result owns its connection, so each statement has a cursor of its own and is read to the end.
        cursor = self._connection.cursor()
        try:
            with stoppable(cursor.interrupt, seconds=self._time_limit):
                return fetch(cursor.execute(statement.text, list(statement.parameters)))
        finally:
            cursor.close()

    def _lock_down(self, files: Sequence[str], threads: int | None, memory_limit: str | None) -> None:
        settings = {
            "allowed_paths": f"[{', '.join(files)}]",
            **({} if threads is None else {"threads": str(as_int("threads", threads))}),
            **({} if memory_limit is None else {"memory_limit": literal(memory_limit)}),
            "enable_external_access": "false",
            "lock_configuration": "true",
        }
        for name, value in settings.items():
            self._connection.execute(f"SET {name} = {value}").fetchall()


class SpillFolder:
    """A folder of this process in the system's place for temporary files, readable by its user only.

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
