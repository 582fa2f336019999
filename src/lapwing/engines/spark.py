"""Apache Spark: tables of its catalogue, Parquet files, and data frames of a session that is already there.

Questions run in a new session of the same Spark, with all settings pinned that the meaning of a statement depends on.
Nothing in a statement is random and every sum is one of whole numbers, so a task that is tried again, tried twice or
run elsewhere gives the same number; noise is added later, once, where the answer was collected.
"""

import itertools
import json
import re
import warnings
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
from lapwing.engines.spark_connect import FilesRead, files_read, impatient, is_remote
from lapwing.engines.stored_columns import Registered, declared_names, identity, select_list, source_of
from lapwing.engines.text_hash import SAMPLE, murmur
from lapwing.queries.catalogue.population import KeyType, Population, RowsPerPerson, Table
from lapwing.vocabulary.errors import RegistrationError
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.lifetime import closing_on_failure

TEXT_HASH = "hash({})"
SPARK = Dialect(
    quote="`",
    mark=lambda n: f":p{n}",
    text="STRING",
    integers=frozenset({"tinyint", "smallint", "int", "bigint"}),
    reals=frozenset({"float", "double"}),
    texts=frozenset({"string"}),
    days=frozenset({"date", "timestamp", "timestamp_ntz"}),
    total="SUM(CAST({} AS DECIMAL(38, 0)))",
    small_total="SUM({})",
    of_least="min_by({}, {})",
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
    side_by_side=lambda names, marks: "SELECT inline(arrays_zip({})) AS ({})".format(
        ", ".join(f"from_json({mark}, 'array<BIGINT>')" for mark in marks), ", ".join(names)
    ),
    item="get(from_json({0}, 'array<{1}>'), {2})",
    text_hash=TEXT_HASH,
    as_stored=lambda name: f"{f'{name} as it is stored':_<99}",
    groups_first=True,
    bit="shiftleft(CAST(1 AS BIGINT), CAST({} AS INT))",
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
    "spark.databricks.delta.stats.skipping": "false",  # where it is installed; it may be set where it is not
    "spark.sql.sources.v2.bucketing.shuffle.enabled": "false",  # SPARK-59887: rows are lost
    # The parser caches states of every statement, without limit, until the driver runs out of memory and ends.
    "spark.sql.parser.manageParserCaches": "true",
    "spark.sql.parser.parserDfaCacheFlushThreshold": "10000",  # states, of about 10 kB each
}


@frozen(kw_only=False)
class _Pinned:
    """Files that were seen to hold one row a person: where they are, how they looked, and the columns that are read."""

    place: str | Path
    files: frozenset[tuple[object, ...]]
    columns: tuple[StoredColumn, ...]


_TELLING = {"Catalog", "Database", "Namespace", "Table", "Name", "View", "Type", "Provider", "Location", "Created Time"}
_TELLING |= {"View Text"}
_WHOLE_NAME = {"Catalog", "Database", "Table"}
_OF_TEXTS = {"csv", "json", "xml", "text", "hive"}
_UNTRIED = {"delta", "iceberg", "hudi"}
"""Formats whose readers go by what they note of files in ways that lapwing has not been tried with."""
_FEW_FILES = 200
_engines = itertools.count()


class Spark(Engine):
    """An engine on Apache Spark.

    Parameters
    ----------
    population, bitmap_memory, on_failure : as for every `Engine`
    sources : where each table of the population is
    session : a session of the cluster, of Spark Connect or not; it stays open when the engine is closed, and keeps its
        settings
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
        self._pinned: dict[str, _Pinned] = {}
        self._places: dict[str | Path, tuple[Any, Any]] = {}
        self._session = session.newSession()
        if is_remote(self._session):
            impatient(self._session)
        with closing_on_failure(self):
            self._pin_settings(population.name)
            self._require_our_hash(population.name)
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
        if is_remote(self._session):
            self._session.stop()  # ours alone: the server goes on, and so does the session that was given

    def _pin_settings(self, population: str) -> None:
        """Set what statements rest on, and see that it is set: a server may refuse, or only say that it did."""
        if (
            self._setting("spark.sql.session.timeZone") is None
        ):  # which every Spark has; each request is tried for a minute
            raise RegistrationError(population, reason="is on a Spark that is away", remedy="start it")
        for setting, value in _PINNED.items():
            with suppress(PySparkException, Py4JError):
                if not is_remote(self._session) or self._setting(setting) != value:
                    self._session.conf.set(setting, value)  # of an old name, Spark Connect warns whenever it is set
        now = {setting: self._setting(setting) for setting in _PINNED}
        other = [setting for setting, value in _PINNED.items() if now[setting] != value]
        if other:
            reason = f"is on a Spark that does not take what statements rest on: {', '.join(other)}"
            raise RegistrationError(population, reason=reason, remedy="let sessions set these, or set them so")

    def _require_our_hash(self, population: str) -> None:
        """See that texts are hashed as statements take it: else no text of a condition would be found."""
        hashes = ", ".join(TEXT_HASH.format(f"CAST({SPARK.mark(n)} AS STRING)") for n in range(len(SAMPLE)))
        (told,) = self._session.sql(bound(Statement(f"SELECT {hashes}", SAMPLE))).collect()
        if tuple(told) != tuple(map(murmur, SAMPLE)):
            reason = "is on a Spark whose hash of texts is not that of Apache Spark"
            raise RegistrationError(population, reason=reason, remedy="use one that hashes as Apache Spark 4 does")

    def _setting(self, name: str) -> str | None:
        with suppress(PySparkException, Py4JError):
            return str(self._session.conf.get(name))
        return None

    def identities_now(self) -> Mapping[str, str]:
        """Return the current identities of the tables; of files those that were listed, for no others are read.

        Files that are trusted to hold one row a person are looked at again.
        """
        with _unlogged():
            now = {name: self._identity(*given) for name, given in self._catalogued.items()}
            for name, pinned in self._pinned.items():
                files = self._stats(pinned.place)
                if not files >= pinned.files:
                    now[name] = identity(sorted(files), pinned.columns)
        return {**self._identities, **now}

    def _warn_of_untried(self, name: str, table: SparkTable) -> None:
        """Tell a custodian of a table whose versions are not pinned, and whose reader may skip files by their notes."""
        for row in self._session.sql(f"DESCRIBE TABLE EXTENDED {table.relation}").collect():
            if row[0] == "Provider" and str(row[1]).lower() in _UNTRIED:
                warnings.warn(
                    f"{name} is a table of {row[1]}: lapwing has not been tried with it, does not pin its version, and "
                    "cannot keep all of its notes of files from deciding; a copy in Parquet is held to the contract",
                    stacklevel=2,
                )

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

    def _stats(self, place: str | Path) -> frozenset[tuple[object, ...]]:
        """Return the name, length and time of each file in a place, as they are now."""
        if not is_remote(self._session):
            if place not in self._places:
                self._places[place] = _file_system(self._session, str(place))
            few = _looked_at(*self._places[place])
            if few is not None:
                return few
        found = self._session.read.format("binaryFile").option("recursiveFileLookup", "true").load(str(place))
        return frozenset(map(tuple, found.selectExpr("path", "length", "unix_micros(modificationTime)").collect()))

    def _pin(self, table: Table, source: str | Path, relation: str, key: str, stored: Sequence[StoredColumn]) -> bool:
        """See whether files hold one row a person, and remember them as they were before and after that."""
        before, name = self._stats(source), SPARK.name(key)
        seen = f"SELECT COUNT(*), COUNT({name}), COUNT(DISTINCT {name}) FROM {relation}"
        ((rows, keys, people),) = self._session.sql(seen).collect()
        if not rows == keys == people or self._stats(source) != before:
            return False
        self._pinned[table.name] = _Pinned(source, before, tuple(stored))
        return True

    def _rows(self, statement: Statement) -> Sequence[Row]:
        return self._collected(statement, lambda frame: [[_plain(part) for part in row] for row in frame.collect()])

    def _columns(self, statement: Statement, width: int = 2) -> Sequence[Integers]:
        del width
        return self._collected(statement, lambda frame: [column.to_numpy() for column in frame.toArrow().columns])

    def _collected(self, statement: Statement, collect: Callable[[DataFrame], list[Any]]) -> list[Any]:
        if self._closed:
            raise RuntimeError("the engine is closed")
        if self._catalogued:
            self._require_the_same()
        tag = f"{self._name}_{next(self._numbers)}"
        with _tagged(self._session, tag) as stop, _unlogged(), stoppable(stop, seconds=self._time_limit):
            found = collect(self._session.sql(bound(statement)))
        if self._pinned:  # what was read is what was trusted only if it is still there
            self._require_the_same()
        return found

    def _require_the_same(self) -> None:
        if self.identities_now() != self.identities:
            raise RuntimeError("a table is another one than was registered, or was altered; register it again")

    def _registered(
        self, population: Population, table: Table, sources: Mapping[str, Source], found: Registered
    ) -> str:
        """Return the SQL of a relation with the declared columns in the types that the emitter writes for."""
        source = source_of(table, sources, "name its Parquet file, its SparkTable or its data frame")
        try:
            with _unlogged():
                place = self._place(table.name, source)
                frame = self._session.table(place)
                for files in _files_read(self._session, place):
                    _require_one_place(table, declared_names(population, table), files)
                    if table.key_type is KeyType.INTEGER:
                        _require_numbers(table, population.person_key(table), files)
                stored = _columns(frame.schema)
                listed = select_list(
                    population, table, stored, SPARK, _read, keys=found.keys, read_unchecked=_unchecked
                )
                relation = self._relation(f"SELECT {listed} FROM {place}", source)
                # Every declared cell, through the expressions that questions use: the reader may choke on one.
                self._session.sql(f"SELECT max(xxhash64(*)) FROM {relation}").collect()
                read = declared_names(population, table)
                if isinstance(source, SparkTable):
                    self._catalogued[table.name] = source, read
                    found.identities[table.name] = self._identity(source, read)
                    self._warn_of_untried(table.name, source)
                elif isinstance(source, str | Path):
                    found.identities[table.name] = identity(self._files(source), _among(stored, read))
                    one = table.rows is RowsPerPerson.ONE_A_PERSON
                    key = population.person_key(table)
                    if one and self._pin(table, source, relation, key, _among(stored, read)):
                        found.one_row_a_person.add(table.name)
        except (PySparkException, Py4JError) as failure:
            reason = str(failure).partition("\n\tat ")[0]  # without the calls of Java
            remedy = "mend the data or its place"
            raise RegistrationError(table.name, reason=f"cannot be read: {reason}", remedy=remedy) from None
        return relation

    def _relation(self, select: str, source: Source) -> str:
        """Return the SQL of what reads a table; of files a view, so that it is parsed and bound once.

        What a name of the catalogue stands for may change, and is looked up by each statement.
        """
        if not isinstance(source, str | Path):
            return f"({select})"
        view = f"{self._name}_{next(self._numbers)}"
        self._session.sql(select).createTempView(view)
        return SPARK.name(view)

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


def _file_system(session: SparkSession, place: str) -> tuple[Any, Any]:
    """Return the file system that a place is in, and its path there: to find it takes longer than to look."""
    java: Any = session._jvm  # noqa: SLF001 - no other way leads to the file system
    path = java.org.apache.hadoop.fs.Path(place)
    return path.getFileSystem(session._jsparkSession.sessionState().newHadoopConf()), path  # noqa: SLF001


def _looked_at(system: Any, path: Any) -> frozenset[tuple[object, ...]] | None:
    """Return the name, length and time of each file in a place, without a job of Spark; None where there are many."""
    left, found = system.listFiles(path, True), list[tuple[object, ...]]()  # noqa: FBT003 - of Java
    while left.hasNext():
        if len(found) == _FEW_FILES:
            return None
        file = left.next()
        found.append((file.getPath().toString(), file.getLen(), file.getModificationTime() * 1000))
    return frozenset(one for one in found if str(one[0]).rpartition("/")[2][:1] not in {"_", "."})


@contextmanager
def _tagged(session: SparkSession, tag: str) -> Iterator[Callable[[], object]]:
    """Give the jobs of this thread a tag, by which the call that comes back stops them."""
    if is_remote(session):
        session.addTag(tag)
        try:
            yield lambda: session.interruptTag(tag)
        finally:
            session.removeTag(tag)
        return
    context = session.sparkContext  # whose jobs are stopped wherever they have got to
    context.addJobTag(tag)
    try:
        yield lambda: context.cancelJobsWithTag(tag)
    finally:
        context.removeJobTag(tag)


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


_MARK = re.compile(r"`(?:[^`]|``)*`|'[^']*'|CAST\(:p(\d+) AS (BIGINT|STRING)\)|:p(\d+)")
"""A name, a fixed text of ours, or the mark of a parameter, whichever comes first: a name may hold a mark."""
_OWN_TYPE = {"BIGINT": int, "STRING": str}
_HARMLESS = re.compile(r'[A-Za-z0-9 _.,:"\[\]-]*')


def bound(statement: Statement) -> str:
    """Return the text of a statement with its parameters written in, each in signs that can be nothing but a value.

    Spark itself writes parameters into the text, after it has read that once for the marks alone: half of what it
    takes to read a statement. Texts go as the digits of their bytes, unless no sign in them could end a quote.
    """

    def written(found: re.Match[str]) -> str:
        number = found[1] or found[3]
        if number is None:
            return found[0]
        value = statement.parameters[int(number)]
        cast = found[2] is not None and type(value) is not _OWN_TYPE[found[2]]
        return f"CAST({_constant(value)} AS {found[2]})" if cast else _constant(value)

    return _MARK.sub(written, statement.text)


def _constant(value: Parameter) -> str:
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return f"{int.__repr__(value)}L"
        case float():
            return f"CAST('{float.__repr__(value)}' AS DOUBLE)"
        case date():  # as text: the driver cannot write the years before 1000
            return f"'{value.isoformat()}'"
        case str():
            return f"'{value}'" if _HARMLESS.fullmatch(value) else f"CAST(X'{value.encode().hex()}' AS STRING)"
        case list():
            return _constant(json.dumps(value, separators=(",", ":")))


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


def _files_read(session: SparkSession, place: str) -> Iterator[FilesRead]:
    """Yield the files that a table is read from, of whatever views are in between."""
    if is_remote(session):
        yield from files_read(session, place)
        return
    plan = session.table(place)._jdf.queryExecution().analyzed()  # noqa: SLF001 - no other way leads to the files
    leaves = plan.collectLeaves()
    for leaf in map(leaves.apply, range(leaves.size())):
        kind = leaf.getClass().getSimpleName()
        if kind == "HiveTableRelation":
            yield FilesRead("Hive", frozenset(), frozenset())
        elif kind == "LogicalRelation" and leaf.relation().getClass().getSimpleName() == "HadoopFsRelation":
            files = leaf.relation()
            inside, folders = files.dataSchema().fieldNames(), files.partitionSchema().fieldNames()
            yield FilesRead(files.fileFormat().toString(), frozenset(inside), frozenset(folders))


def _require_one_place(table: Table, declared: set[str], files: FilesRead) -> None:
    """Refuse a column that is inside of the files and in the names of their folders: Spark reads the folders'."""
    inside = {name.casefold() for name in files.inside}
    for name in sorted(files.folders):
        if name.casefold() in inside & declared:
            raise RegistrationError(
                table.name,
                reason=f"has {name!r} in the names of folders and inside of the files, of which Spark reads one",
                remedy="rename one of the two",
            )


def _require_numbers(table: Table, key: str, files: FilesRead) -> None:
    """Refuse whole numbers as keys that Spark makes of texts: it reads 7, 007 and +7 as one, and they may be three.

    It does so with files of texts, and with the names of folders.
    """
    if files.form.lower() in _OF_TEXTS:
        raise RegistrationError(
            table.name,
            reason=f"is in files of {files.form}, of which Spark reads the person keys 7 and 007 as one number",
            remedy='store it as Parquet, or show its keys as texts: key_type = "text"',
        )
    if any(name.casefold() == key.casefold() for name in files.folders):
        raise RegistrationError(
            table.name,
            reason="has its person key in the names of folders, of which Spark reads 7 and 007 as one number",
            remedy="store the key inside of the files",
        )


def _read(name: str, stored: StoredColumn, wanted: str) -> str:
    column = _unchecked(name, stored, wanted)
    # Bytes that are not text would be two cells to Spark and one to its driver.
    return f"try_validate_utf8({column})" if wanted == SPARK.text else column


def _unchecked(_: str, stored: StoredColumn, wanted: str) -> str:
    column = SPARK.name(stored.name)
    if stored.type.startswith("string collate"):  # some collations take different texts for the same
        column = f"{column} COLLATE UTF8_BINARY"
    column = f"CAST({column} AS {wanted})"
    # The equality of NaN differs between databases, and so do its statistics in files: it is read as missing.
    if stored.bare in SPARK.reals:
        column = f"CASE WHEN isnan({column}) THEN NULL ELSE {column} END"
    return column
