"""Where the tables of a population are: one class for each kind of place, and the one database that holds all of them.

A new kind of place is a class here and its line in `SOURCES`: its entries in lapwing.toml and at the command line, its
identity, its columns, and how its database is opened.
"""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from stat import S_ISDIR
from typing import Any, ClassVar, Final, TypeAlias
from urllib.parse import unquote

from lapwing.engines.duckdb import DuckDB, DuckDBTable, columns_of_file
from lapwing.engines.engine import Engine
from lapwing.engines.spark_connect import RemoteSpark, session_at
from lapwing.queries.catalogue.population import Population
from lapwing.vocabulary.errors import BadQuestionError, ParameterError, RegistrationError
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.loading import load_extra

FILES: Final = (".parquet", ".csv")
DATABASES: Final = (".duckdb", ".db")
_IN_A_URL: Final = re.compile(r"[a-z]+://[^?]*:[^?]*@")
_AS_A_WORD: Final = re.compile(r"(password|secret)\s*=")
_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/]*)(?=/|$))?(/.*|$)")  # file:/x is one, too, to Hadoop
_TOKEN_FILE: Final = re.compile(r"(;token_file=)([^;]*)")
_PATTERN: Final = re.compile(r"[{}\[\]*?\\]")


class TableSource(ABC):
    """The place of a table."""

    __slots__ = ()
    engine: ClassVar[str]
    """The engine that reads it."""
    written: ClassVar[str]
    """How lapwing.toml names such a place, for a remedy."""
    entries: ClassVar[Mapping[str, Any]]
    """The entries that it has there, all of them texts; each with its default, or ... where it must be given."""

    @classmethod
    @abstractmethod
    def from_settings(cls, given: Mapping[str, str], folder: Path) -> "TableSource":
        """Make it of the entries of lapwing.toml; paths are relative to the folder of the workspace."""

    @abstractmethod
    def entry(self, folder: Path) -> str | dict[str, str]:
        """Return it as lapwing.toml has it."""

    @abstractmethod
    def place(self, folder: Path) -> tuple[str, ...]:
        """Return the identity of the place, the same for all spellings of it: who owns it owns the data.

        Paths are resolved, and seen from the folder of the workspace, so that both can be moved together.
        """

    @property
    def database(self) -> tuple[str, ...]:
        """The identity of the database that holds it: all tables of a population are in one."""
        return (self.engine,)

    @classmethod
    @abstractmethod
    def open(cls, population: Population, sources: Mapping[str, Any], **how: Any) -> Engine:
        """Open the database that all these sources are in; `how` are the other words of `open_engine`."""

    @property
    def file(self) -> Path | None:
        """The file that holds it, where there is one: `path`, in those that have it."""
        return getattr(self, "path", None)

    def columns(self, table: str) -> dict[str, str | None]:
        """Return the columns that are there, each with its kind, or None where that is not known; no row is read."""
        remedy = "write its columns into lapwing.toml, then lapwing update"
        raise RegistrationError(table, reason="is where columns are not looked up", remedy=remedy)

    def neighbour(self, inner: str, schema: str) -> "TableSource | None":  # noqa: ARG002 - some have none
        """Return another table of the same database; None where it is no database in which one could be named."""
        return None

    def options(self, table: str) -> dict[str, str]:
        """Return it as the options of `lapwing add` for this table, with paths seen from the current folder."""
        entry, file = self.entry(Path()), {} if self.file is None else {"--source": str(self.file)}
        words = {} if isinstance(entry, str) else {"name": entry.get("table", table), **entry}
        named = {f"--{word}": words[word] for word in ("postgres", "name", "schema") if word in words}
        return file | {flag: given for flag, given in named.items() if (flag, given) != ("--name", table)}


class _InDuckDB(TableSource):
    __slots__ = ()
    engine = "duckdb"

    @classmethod
    def open(cls, population: Population, sources: Mapping[str, Any], **how: Any) -> Engine:
        places = {name: one.path if isinstance(one, FileSource) else one for name, one in sources.items()}
        return DuckDB(population, places, **how)


@frozen()
class FileSource(_InDuckDB):
    """A Parquet or CSV file."""

    written: ClassVar[str] = "name a .parquet or .csv file"
    entries: ClassVar[Mapping[str, Any]] = {"source": ...}
    path: Path

    @classmethod
    def from_settings(cls, given: Mapping[str, str], folder: Path) -> "FileSource":
        """Read the name of the file, which is the only entry."""
        name = given["source"]
        if Path(name).suffix not in FILES:
            shown = "an address" if "://" in name else name  # which may hold a password
            places = [one.written for one in SOURCES.values()]
            remedy = f"{cls.written}, or write {', '.join(places[:-1])} or {places[-1]}"
            raise ParameterError("source", shown, reason="is not a file that can be read", remedy=remedy)
        return FileSource(path=folder / name)

    def entry(self, folder: Path) -> str:
        """Return the path from the workspace on."""
        return _seen_from(folder.resolve(), self.path.resolve())

    def place(self, folder: Path) -> tuple[str, ...]:
        """Return the resolved path."""
        return ("file", _relative(folder, self.path))

    def columns(self, table: str) -> dict[str, str | None]:
        """Return the names in the first line of a CSV file, or the schema of a Parquet file."""
        return columns_of_file(table, self.path)


@frozen()
class DuckDBSource(DuckDBTable, _InDuckDB):
    """A table inside a DuckDB file."""

    written: ClassVar[str] = '{ duckdb = "file", table = "name" }'
    entries: ClassVar[Mapping[str, Any]] = {"duckdb": ..., "table": ...}

    @classmethod
    def from_settings(cls, given: Mapping[str, str], folder: Path) -> "DuckDBSource":
        """Read the file and the name of the table in it."""
        return DuckDBSource(path=folder / given["duckdb"], table=given["table"])

    def entry(self, folder: Path) -> dict[str, str]:
        """Return the path from the workspace on, and the table."""
        return {"duckdb": _seen_from(folder.resolve(), self.path.resolve()), "table": self.table}

    def place(self, folder: Path) -> tuple[str, ...]:
        """Return the path and the name of the table in lower case: names in DuckDB are case-insensitive."""
        return ("duckdb", _relative(folder, self.path), self.table.casefold())

    def columns(self, table: str) -> dict[str, str | None]:
        """Return the columns that DuckDB describes."""
        return columns_of_file(table, self)

    def neighbour(self, inner: str, schema: str) -> "DuckDBSource":  # noqa: ARG002 - it has one schema
        """Return another table of the file."""
        return DuckDBSource(path=self.path, table=inner)


@frozen()
class PostgresSource(TableSource):
    """A table of a PostgreSQL database; the address is the custodian's, so it is never shown."""

    engine: ClassVar[str] = "postgres"
    written: ClassVar[str] = '{ postgres = "address", table = "name" }'
    entries: ClassVar[Mapping[str, Any]] = {"postgres": ..., "table": ..., "schema": "public"}
    address: str = field(repr=False)
    table: str
    schema: str = "public"

    @classmethod
    def from_settings(cls, given: Mapping[str, str], folder: Path) -> "PostgresSource":  # noqa: ARG003 - it has no path
        """Read the address, which holds no password, the table and its schema."""
        require_no_password("postgres", given["postgres"])
        return PostgresSource(address=given["postgres"], table=given["table"], schema=given["schema"])

    def entry(self, folder: Path) -> dict[str, str]:  # noqa: ARG002 - it has no path
        """Return the address, the table, and its schema where that is not the usual one."""
        place = {"postgres": self.address, "table": self.table}
        return place if self.schema == "public" else {**place, "schema": self.schema}

    def place(self, folder: Path) -> tuple[str, ...]:  # noqa: ARG002 - it has no path
        """Return the address in one spelling, the schema and the table."""
        return (*self.database, self.schema, self.table)

    @property
    def database(self) -> tuple[str, ...]:
        """The address in one spelling."""
        return (self.engine, _one_spelling(self.address))

    @classmethod
    def open(cls, population: Population, sources: Mapping[str, Any], **how: Any) -> Engine:
        """Connect to the server."""
        driver = load_extra("lapwing.engines.postgres", extra="postgres")
        tables = {name: driver.PostgresTable(table=one.table, schema=one.schema) for name, one in sources.items()}
        address = next(iter(sources.values())).address
        engine: Engine = driver.PostgreSQL(population, tables, address, **_without_files(how))
        return engine

    def columns(self, table: str) -> dict[str, str | None]:
        """Return the columns of the information schema that this role may see."""
        driver = load_extra("lapwing.engines.postgres", extra="postgres")
        return dict(driver.columns_in_postgres(table, self.address, schema=self.schema, name=self.table))

    def neighbour(self, inner: str, schema: str) -> "PostgresSource":
        """Return another table of the database."""
        return PostgresSource(address=self.address, table=inner, schema=schema)


@frozen()
class SparkSource(TableSource):
    """A table that Apache Spark knows by its name, or, where that has a /, a Parquet file or folder that it reads.

    `remote` is the address of a server of Spark Connect; without one it is the Spark of this process.
    """

    engine: ClassVar[str] = "spark"
    written: ClassVar[str] = '{ spark = "name" }'
    entries: ClassVar[Mapping[str, Any]] = {"spark": ..., "remote": ""}
    table: str
    remote: str = field(default="", repr=False)

    @classmethod
    def from_settings(cls, given: Mapping[str, str], folder: Path) -> "SparkSource":
        """Read the name of the table, or where the files are."""
        name, remote = given["spark"], given["remote"]
        if remote:
            RemoteSpark.read(remote)
            remote = _TOKEN_FILE.sub(lambda found: found[1] + os.path.join(folder, found[2]), remote)  # noqa: PTH118
        if not name:
            raise ParameterError("spark", name, reason="is empty", remedy=f"write {cls.written}")
        if "/" not in name:
            if "`" in name:
                raise ParameterError("spark", name, reason="has backquotes", remedy="write the name without them")
            return SparkSource(table=name, remote=remote)
        is_url = _URL.fullmatch(name) is not None
        whole = name if is_url else os.path.join(folder, name)  # noqa: PTH118 - it keeps the /
        if _PATTERN.search(whole):  # Spark would read all files that match: each file would have many names
            shown = "an address" if is_url else whole  # which may hold a password
            remedy = "name one file, or the folder that holds all of them"
            raise ParameterError("spark", shown, reason="has a character {}[]*?\\ of a pattern", remedy=remedy)
        return SparkSource(table=whole, remote=remote)

    def entry(self, folder: Path) -> dict[str, str]:  # noqa: ARG002 - files are named from the root on
        """Return the name, the address, or the whole path, and the server."""
        is_path = "/" in self.table and not _URL.fullmatch(self.table)
        place = {"spark": str(_in_hadoop(self.table).resolve()) if is_path else self.table}
        return {**place, "remote": self.remote} if self.remote else place

    @property
    def database(self) -> tuple[str, ...]:
        """The server, where there is one."""
        return (self.engine, RemoteSpark.read(self.remote).place) if self.remote else (self.engine,)

    def place(self, folder: Path) -> tuple[str, ...]:
        """Return the whole name, whose case Spark ignores; or the file, the same for whichever engine reads it.

        A path without a scheme passes for one of this machine, even where Spark would look for it elsewhere.
        """
        if "/" not in self.table:
            return ("spark", *(part.casefold() for part in self.whole_name.values()))
        url = _URL.fullmatch(self.table)
        scheme, host, path = ("file", "", self.table) if url is None else (url[1].lower(), url[2] or "", url[3] or "/")
        if scheme == "file" and not host:
            return ("file", _relative(folder, _in_hadoop(path)))
        return ("file", f"{scheme}://{host.lower()}{_in_hadoop(path)}")

    @property
    def whole_name(self) -> dict[str, str]:
        """The catalogue, the schema and the table; a session does not choose those that are missing.

        >>> SparkSource(table="person").whole_name
        {'catalog': 'spark_catalog', 'schema': 'default', 'table': 'person'}
        """
        given = self.table.split(".", maxsplit=2)
        parts = (*("spark_catalog", "default")[: 3 - len(given)], *given)
        return dict(zip(("catalog", "schema", "table"), parts, strict=True))

    @classmethod
    def open(cls, population: Population, sources: Mapping[str, Any], **how: Any) -> Engine:
        """Open a session of this process."""
        driver = load_extra("lapwing.engines.spark", extra="spark")
        tables = {
            name: one.table if "/" in one.table else driver.SparkTable(**one.whole_name)
            for name, one in sources.items()
        }
        remote = next(iter(sources.values())).remote
        if remote:
            return _over_connect(driver, population, tables, remote, _without_files(how))
        session = driver.session_of_this_process(population.name)
        engine: Engine = driver.Spark(population, tables, session, **_without_files(how))
        return engine


def _over_connect(driver: Any, population: Population, tables: Any, remote: str, how: Mapping[str, Any]) -> Engine:
    session = session_at(population.name, remote)
    try:
        engine: Engine = driver.Spark(population, tables, session, **how)
    finally:
        session.stop()  # the engine has one of its own
    return engine


Source: TypeAlias = TableSource
SOURCES: Final[Mapping[str, type[Source]]] = {"duckdb": DuckDBSource, "postgres": PostgresSource, "spark": SparkSource}
"""The places that lapwing.toml names by a word; a file stands there without one."""


def named_source(
    table: str,
    *,
    source: Path | None = None,
    postgres: str | None = None,
    name: str | None = None,
    schema: str | None = None,
) -> Source:
    """Return the source of a table that the options of a command name: a file that is there, or an address."""
    if (source is None) == (postgres is None):
        said = "no place is" if source is None else "two places are"
        raise BadQuestionError(f"{said} named for table {table}; write --source FILE, or --postgres ADDRESS")
    if source is None:
        require_no_password("postgres", postgres or "")
        return PostgresSource(address=postgres or "", table=name or table, schema=schema or "public")
    require_file(source)
    return FileSource(path=source) if source.suffix in FILES else DuckDBSource(path=source, table=name or table)


def require_file(path: Path) -> None:
    """Refuse a file that is not there, or that nothing here reads, before anything is asked or written."""
    if path.suffix not in {*FILES, *DATABASES}:
        remedy = "name a .parquet, .csv or .duckdb file"
        raise ParameterError("source", str(path), reason="is not a file that can be read", remedy=remedy)
    if not os.path.isfile(path):  # noqa: PTH113 - never raises
        seen = "" if path.is_absolute() else f", seen from {Path.cwd()}"
        raise BadQuestionError(f"there is no file {path}{seen}; check its path")


def require_no_password(name: str, address: str) -> None:
    """Refuse an address of PostgreSQL that holds a password, without repeating it.

    >>> require_no_password("postgres", "postgresql://reader@db.example.org:5432/ehr?passfile=/etc/lapwing/pgpass")
    >>> require_no_password("postgres", "postgresql://reader:hunter2@db.example.org/ehr")
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: postgres = 'an address' holds a password, ...
    """
    if _IN_A_URL.match(address) or _AS_A_WORD.search(unquote(address)):
        reason = "holds a password, for all to see who read the file or the list of processes"
        places = "in ~/.pgpass, in the file that PGPASSFILE or passfile=... names, or in a service file"
        raise ParameterError(name, "an address", reason=reason, remedy=f"take it out, and keep it {places}")


def place_of(source: Source, folder: Path) -> tuple[str, ...]:
    """Return the identity of a place, however it was spelt."""
    return source.place(folder)


def files_below(path: str) -> frozenset[tuple[int, int]]:
    """Return which files are at a path, or in the folder there and below it, by what the disk knows them by.

    Those in a folder of which Spark reads no rows are left out (`_SUCCESS`).
    """
    found, seen = set[tuple[int, int]](), set[tuple[int, int]]()
    left = [path]
    while left:
        here = left.pop()
        with suppress(OSError):  # it is not there, or elsewhere
            stat = os.stat(here)  # noqa: PTH116 - of thousands of files
            known = stat.st_dev, stat.st_ino
            if not S_ISDIR(stat.st_mode):
                found.add(known)
            elif known not in seen:  # a link may lead back
                seen.add(known)
                left += [entry.path for entry in os.scandir(here) if entry.name[:1] not in "_." or "=" in entry.name]
    return frozenset(found)


def share_data(
    one: tuple[str, ...],
    other: tuple[str, ...],
    folder: Path,
    below: Callable[[str], frozenset[tuple[int, int]]] = files_below,
) -> bool:
    """Say whether two identities of places stand for the same data: one is inside of the other, or a file is in both.

    A file that has two names (hard links) is one file, as long as it is there; a folder holds all that is below it.
    `below` is `files_below`, which may remember what it found where many places are compared.

    >>> share_data(("file", "../data"), ("file", "../data/a.parquet"), Path("/srv/clinic"))
    True
    >>> share_data(("file", "../data"), ("file", "../database/a.parquet"), Path("/srv/clinic"))
    False
    """
    if one == other:
        return True
    if (one[0], *one[2:]) != (other[0], *other[2:]) or one[0] not in {"file", "duckdb"}:
        return False
    paths = [place[1] if "://" in place[1] else os.path.normpath(folder.resolve() / place[1]) for place in (one, other)]
    shorter, longer = sorted((path.rstrip("/") + "/" for path in paths), key=len)
    if longer.startswith(shorter):
        return True
    return not below(paths[0]).isdisjoint(below(paths[1]))


def inside_of(source: Source) -> str:
    """Return the table inside a file that holds several."""
    return source.table.casefold() if isinstance(source, DuckDBTable) else ""


def open_engine(
    population: Population,
    sources: Mapping[str, Source],
    *,
    time_limit: int,
    on_failure: Callable[[Exception], None],
    readable: Mapping[str, str] = {},
) -> Engine:
    """Open the one database that holds all tables of a population, or refuse what does not fit.

    `readable` has the marks of files that were read before and did not change since (see `DuckDB`).
    """
    if len({source.database for source in sources.values()}) > 1:
        reason = "has tables in several databases"
        raise RegistrationError(population.name, reason=reason, remedy="keep them in one place")
    kind: type[Source] = type(next(iter(sources.values()))) if sources else FileSource
    return kind.open(population, sources, time_limit=time_limit, on_failure=on_failure, readable=readable)


def _without_files(how: Mapping[str, Any]) -> dict[str, Any]:
    return {word: given for word, given in how.items() if word != "readable"}


def _relative(folder: Path, path: Path) -> str:
    return os.path.relpath(path.resolve(), folder.resolve())


def _in_hadoop(path: str) -> Path:
    """Return a path as Hadoop reads it: `a/..` is nothing, even where a is a link, and %20 is no blank.

    >>> _in_hadoop("//srv/link/../a%20b.parquet/").as_posix()
    '/srv/a%20b.parquet'
    """
    return Path(os.path.normpath("/" + path.lstrip("/") if path.startswith("/") else path))


def _seen_from(home: Path, whole: Path) -> str:
    """Return a path relative to a folder, unless they have nothing but the root in common.

    >>> home = Path("/srv/clinic")
    >>> [_seen_from(home, Path(path)) for path in ("/srv/clinic/a.csv", "/srv/data/a.csv", "/mnt/a.csv")]
    ['a.csv', '../data/a.csv', '/mnt/a.csv']
    """
    apart = whole.anchor != home.anchor or Path(os.path.commonpath([home, whole])) == Path(home.anchor)
    return str(whole) if apart else Path(os.path.relpath(whole, home)).as_posix()


def _one_spelling(address: str) -> str:
    """Return the one spelling of an address: two populations with the same table would have two budgets.

    >>> {_one_spelling(f"{scheme}://db/ehr") for scheme in ("postgresql", "postgres")}
    {'postgresql://db/ehr'}
    >>> _one_spelling("postgresql://reader@DB.example.org:5432/ehr"), _one_spelling("dbname=ehr  host=db")
    ('postgresql://reader@db.example.org/ehr', 'dbname=ehr host=db')
    """
    if not address.startswith(("postgresql://", "postgres://")):
        return " ".join(sorted(address.split()))
    around, _, query = address.partition("://")[2].partition("?")
    netloc, slash, path = around.partition("/")
    user, at, host = netloc.rpartition("@")
    place = f"postgresql://{user}{at}{host.lower().removesuffix(':5432')}{slash}{path}"
    return f"{place}?{'&'.join(sorted(query.split('&')))}" if query else place
