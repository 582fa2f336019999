"""Apache Spark: tables of its catalogue, Parquet files, and data frames of a session that is already there.

Questions run in a new session of the same Spark, with all settings pinned that the meaning of a statement depends on.
Nothing in a statement is random and every sum is one of whole numbers, so a task that is tried again, tried twice or
run elsewhere gives the same number; noise is added later, once, where the answer was collected.
"""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from decimal import Decimal
from logging import LogRecord
from pathlib import Path
from threading import local
from typing import Any, TypeAlias

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DecimalType, StructField, StructType

from lapwing.engines.dialect import Dialect, Parameter, StoredColumn
from lapwing.engines.emitter import Statement
from lapwing.engines.engine import BITMAP_MEMORY, Engine, Row
from lapwing.engines.reading import TIME_LIMIT, stoppable
from lapwing.engines.rows_of_person import Integers
from lapwing.engines.stored_columns import Registered, declared_names, identity, select_list, source_of
from lapwing.queries.catalogue.population import KeyType, Population, Table
from lapwing.vocabulary.errors import RegistrationError
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.lifetime import closing_on_failure

SPARK = Dialect(
    quote="`",
    mark=lambda n: f":p{n}",
    text="STRING",
    integers=frozenset({"tinyint", "smallint", "int", "bigint"}),
    reals=frozenset({"float", "double"}),
    texts=frozenset({"string"}),
    days=frozenset({"date", "timestamp", "timestamp_ntz"}),
    total="SUM(CAST({} AS DECIMAL(38, 0)))",
    day_number="datediff({}, DATE '1970-01-01')",
    ymd="CAST(year({0}) * 10000 + month({0}) * 100 + day({0}) AS BIGINT)",
    beginning="trunc({1}, '{0}')",
    text_number="CAST(conv(substr(md5(CAST({} AS BINARY)), 1, 15), 16, 10) AS BIGINT)",
    starts_with="startswith({}, {})",
    alike="{} <=> {}",
    quotient="({} DIV {})",
    # A list goes as text: there are none in its API. See `among` for why it is not looked up with IN.
    in_list=(
        "CASE WHEN {0} IS NOT NULL THEN EXISTS (SELECT 1 FROM "
        "(SELECT explode(from_json({1}, 'array<{2}>')) AS item) AS listed WHERE listed.item = {0}) END"
    ),
    # It sees no further than the query around, and pairs every row with everybody's values where those are not equated.
    compares_rows=False,
    # Its NOT IN looks for missing values, too, and in an OR it compares every row with every other.
    among="EXISTS (SELECT 1 FROM ({1}) AS several (person) WHERE several.person = {0})",
)


@frozen()
class SparkTable:
    """A table or view of the catalogue of the session."""

    table: str
    schema: str | None = None
    catalog: str | None = None

    @property
    def relation(self) -> str:
        """The SQL of the name."""
        return ".".join(SPARK.name(part) for part in (self.catalog, self.schema, self.table) if part is not None)


Source: TypeAlias = str | Path | SparkTable | DataFrame
"""A Parquet file or folder, a table of the catalogue, or a data frame."""

_PINNED = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "false",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",  # a quoted name is a name and no pattern
    "spark.sql.variable.substitute": "false",  # a name may hold "${...}"
    "spark.sql.files.ignoreCorruptFiles": "false",  # an answer is about all people
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",  # days before 1582 would fail, or move
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.mergeSchema": "false",
    # Statistics of a file, a page or a table must not decide about single rows.
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.parquet.aggregatePushdown": "false",
    "spark.sql.parquet.recordLevelFilter.enabled": "false",
    "spark.sql.orc.filterPushdown": "false",
    "spark.sql.orc.aggregatePushdown": "false",
    "spark.sql.optimizer.metadataOnly": "false",
    "spark.sql.cbo.enabled": "false",
    # The parser caches states of every statement, without limit, until the driver runs out of memory and ends.
    "spark.sql.parser.manageParserCaches": "true",
    "spark.sql.parser.parserDfaCacheFlushThreshold": "10000",  # states, of about 10 kB each
}
_TELLING = {"Catalog", "Database", "Namespace", "Table", "Name", "View", "Type", "Provider", "Location", "Created Time"}
_TELLING |= {"View Text"}
_WHOLE_NAME = {"Catalog", "Database", "Table"}
_OF_TEXTS = {"csv", "json", "xml", "text", "hive"}
_engines = itertools.count()


class Spark(Engine):
    """An engine on Apache Spark.

    Parameters
    ----------
    population, bitmap_memory, on_failure : as for every `Engine`
    sources : where each table of the population is
    session : a session of the cluster; it stays open when the engine is closed, and its settings are not touched
    time_limit : seconds after which the jobs of a statement are cancelled
    """

    _dialect = SPARK

    def __init__(
        self,
        population: Population,
        sources: Mapping[str, Source],
        session: SparkSession,
        *,
        time_limit: float = TIME_LIMIT,
        bitmap_memory: int = BITMAP_MEMORY,
        on_failure: Callable[[Exception], None] = lambda _: None,
    ) -> None:
        self._name, self._numbers = f"lapwing_{next(_engines)}", itertools.count()
        self._time_limit, self._closed = time_limit, False
        self._views: dict[str, str] = {}
        self._catalogued: dict[str, tuple[SparkTable, set[str]]] = {}
        self._session = session.newSession()
        for setting, value in _PINNED.items():
            self._session.conf.set(setting, value)
        with closing_on_failure(self):
            found = Registered()
            for table in population.tables:
                found.relations[table.name] = self._registered(population, table, sources, found)
            self._identities = found.identities
        super().__init__(population, found, bitmap_memory=bitmap_memory, on_failure=on_failure)

    def close(self) -> None:
        """Let go of the data frames; the session that was given stays as it was."""
        for view in self._views.values():
            with suppress(Exception):
                self._session.catalog.dropGlobalTempView(view)
        self._closed = True

    def identities_now(self) -> Mapping[str, str]:
        """Return the current identities of the tables; of files those that were listed, for no others are read."""
        with _unlogged():
            catalogued = {name: self._identity(*given) for name, given in self._catalogued.items()}
        return {**self._identities, **catalogued}

    def _identity(self, table: SparkTable, read: set[str]) -> str:
        """Return the identity of a table, or of the view of this name, from the catalogue of Spark."""
        described = self._session.sql(f"DESCRIBE TABLE EXTENDED {table.relation}").collect()
        told = sorted((str(row[0]), str(row[1])) for row in described if row[0] in _TELLING)
        if not {name for name, _ in told} >= _WHOLE_NAME:  # then its spelling is all that is known of its name
            told.insert(0, ("Spelling", table.relation))
        return identity(told, _among(_columns(self._session.table(table.relation).schema), read))

    def _files(self, source: str | Path) -> list[tuple[object, ...]]:
        """Return the names of the files with rows in a place, with how long each is and when it was written."""
        told = ("_metadata.file_name", "_metadata.file_size", "_metadata.file_modification_time")
        return sorted(map(tuple, self._session.read.parquet(str(source)).select(*told).distinct().collect()))

    def _rows(self, statement: Statement) -> Sequence[Row]:
        return self._collected(statement, lambda frame: [[_plain(part) for part in row] for row in frame.collect()])

    def _columns(self, statement: Statement, width: int = 2) -> Sequence[Integers]:
        del width
        return self._collected(statement, lambda frame: [column.to_numpy() for column in frame.toArrow().columns])

    def _collected(self, statement: Statement, collect: Callable[[DataFrame], list[Any]]) -> list[Any]:
        if self._closed:
            raise RuntimeError("the engine is closed")
        if self._catalogued and self.identities_now() != self.identities:
            raise RuntimeError("a table is another one than was registered, or was altered; register it again")
        context, tag = self._session.sparkContext, f"{self._name}_{next(self._numbers)}"
        context.addJobTag(tag)
        try:
            arguments = {f"p{n}": _sent(value) for n, value in enumerate(statement.parameters)}
            with _unlogged(), stoppable(lambda: context.cancelJobsWithTag(tag), seconds=self._time_limit):
                return collect(self._session.sql(statement.text, args=arguments))
        finally:
            context.removeJobTag(tag)

    def _registered(
        self, population: Population, table: Table, sources: Mapping[str, Source], found: Registered
    ) -> str:
        """Return the SQL of a relation with the declared columns in the types that the emitter writes for."""
        source = source_of(table, sources, "name its Parquet file, its SparkTable or its data frame")
        try:
            with _unlogged():
                place = self._place(table.name, source)
                frame = self._session.table(place)
                _require_one_place(table, declared_names(population, table), frame)
                if table.key_type is KeyType.INTEGER:
                    _require_numbers(table, population.person_key(table), frame)
                stored = _columns(frame.schema)
                relation = (
                    f"(SELECT {select_list(population, table, stored, SPARK, _read, keys=found.keys)} FROM {place})"
                )
                # Every declared cell, through the expressions that questions use: the reader may choke on one.
                self._session.sql(f"SELECT max(xxhash64(*)) FROM {relation}").collect()
                read = declared_names(population, table)
                if isinstance(source, SparkTable):
                    self._catalogued[table.name] = source, read
                    found.identities[table.name] = self._identity(source, read)
                elif not isinstance(source, DataFrame):
                    found.identities[table.name] = identity(self._files(source), _among(stored, read))
        except (PySparkException, Py4JError) as failure:
            reason = str(failure).partition("\n\tat ")[0]  # without the calls of Java
            remedy = "mend the data or its place"
            raise RegistrationError(table.name, reason=f"cannot be read: {reason}", remedy=remedy) from None
        return relation

    def _place(self, name: str, source: Source) -> str:
        view = f"{self._name}_{next(self._numbers)}"  # a name of the catalogue may be no name for a view
        match source:
            case SparkTable():
                return source.relation
            case str() | Path():
                self._session.read.parquet(str(source)).createTempView(view)
                return SPARK.name(view)
            case frame:
                # A frame belongs to its session; a global view is how another session may read it.
                frame.createGlobalTempView(view)
                self._views[name] = view
                return f"{SPARK.name('global_temp')}.{SPARK.name(view)}"


def session_of_this_process(population: str) -> SparkSession:
    """Return the active session, or start one with the configuration of Spark (`SPARK_CONF_DIR`)."""
    try:
        return SparkSession.getActiveSession() or SparkSession.builder.appName("lapwing").getOrCreate()
    except Exception as failure:  # noqa: BLE001 - Java, the gateway and the cluster each fail in their own way
        reason = f"is on a Spark that does not start: {failure}"
    raise RegistrationError(population, reason=reason, remedy="mend SPARK_CONF_DIR or JAVA_HOME; Java 17 or newer")


_thread = local()


def _is_not_ours(_: LogRecord) -> bool:
    """Drop what is logged by a thread while it runs a statement of ours."""
    return not getattr(_thread, "ours", False)


@contextmanager
def _unlogged() -> Iterator[None]:
    """Keep PySpark from printing why a statement of ours failed, which may hold data; those of the host it prints."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).addFilter(_is_not_ours)
    before, _thread.ours = getattr(_thread, "ours", False), True
    try:
        yield
    finally:
        _thread.ours = before


def _sent(value: Parameter) -> Any:
    """Return a parameter as the driver takes it: a day as text, since it cannot write the years before 1000."""
    if isinstance(value, list):
        return json.dumps(value)
    return value.isoformat() if isinstance(value, date) else value


def _plain(part: Any) -> Any:
    """Return a whole decimal as a whole number, and everything else as it is."""
    return int(part) if isinstance(part, Decimal) and part == part.to_integral_value() else part


def _columns(stored: StructType) -> list[StoredColumn]:
    """Return the columns of a frame; those of the same name too, for no one of them is meant."""
    return [
        StoredColumn(
            field.name,
            _type_of(field),
            field.dataType.precision if isinstance(field.dataType, DecimalType) else None,
        )
        for field in stored.fields
    ]


def _type_of(field: StructField) -> str:
    """Return the type of a column; texts of a fixed length, which are filled up with blanks, pass for plain ones."""
    shown: str = field.metadata.get("__CHAR_VARCHAR_TYPE_STRING", "")
    return shown if shown.startswith("char(") else field.dataType.simpleString()


def _among(stored: Sequence[StoredColumn], read: set[str]) -> list[StoredColumn]:
    return [column for column in stored if column.name.casefold() in read]


def _require_one_place(table: Table, declared: set[str], frame: DataFrame) -> None:
    """Refuse a column that is inside of the files and in the names of their folders: Spark reads the folders'."""
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()  # noqa: SLF001 - no other way leads to the files
    for leaf in map(leaves.apply, range(leaves.size())):
        if leaf.getClass().getSimpleName() != "LogicalRelation":
            continue
        files = leaf.relation()
        if files.getClass().getSimpleName() != "HadoopFsRelation":
            continue
        inside = {name.casefold() for name in files.dataSchema().fieldNames()}
        for name in files.partitionSchema().fieldNames():
            if name.casefold() in inside & declared:
                raise RegistrationError(
                    table.name,
                    reason=f"has {name!r} in the names of folders and inside of the files, of which Spark reads one",
                    remedy="rename one of the two",
                )


def _require_numbers(table: Table, key: str, frame: DataFrame) -> None:
    """Refuse whole numbers as keys that Spark makes of texts: it reads 7, 007 and +7 as one, and they may be three.

    It does so with files of texts, and with the names of folders.
    """
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()  # noqa: SLF001 - no other way leads to the files
    for leaf in map(leaves.apply, range(leaves.size())):
        kind, files = leaf.getClass().getSimpleName(), None
        if kind == "LogicalRelation" and leaf.relation().getClass().getSimpleName() == "HadoopFsRelation":
            files = leaf.relation()
        form = "Hive" if kind == "HiveTableRelation" else "" if files is None else files.fileFormat().toString()
        if form.lower() in _OF_TEXTS:
            raise RegistrationError(
                table.name,
                reason=f"is in files of {form}, of which Spark reads the person keys 7 and 007 as one number",
                remedy='store it as Parquet, or show its keys as texts: key_type = "text"',
            )
        folders = () if files is None else files.partitionSchema().fieldNames()
        if any(name.casefold() == key.casefold() for name in folders):
            raise RegistrationError(
                table.name,
                reason="has its person key in the names of folders, of which Spark reads 7 and 007 as one number",
                remedy="store the key inside of the files",
            )


def _read(_: str, stored: StoredColumn, wanted: str) -> str:
    column = SPARK.name(stored.name)
    if stored.type.startswith("string collate"):  # some collations take different texts for the same
        column = f"{column} COLLATE UTF8_BINARY"
    column = f"CAST({column} AS {wanted})"
    # The equality of NaN differs between databases, and so do its statistics in files: it is read as missing.
    if stored.bare in SPARK.reals:
        column = f"CASE WHEN isnan({column}) THEN NULL ELSE {column} END"
    # Bytes that are not text would be two cells to Spark and one to its driver.
    return f"try_validate_utf8({column})" if wanted == SPARK.text else column
