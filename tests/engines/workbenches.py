"""Every engine, on a bench where its tables can be exchanged: building a fresh one for each example takes too long.

A new engine adds one line to `ENGINES` and one class with `load(tables)`; the contract suite and the test of one person
then run on it. `examples` and `corpus` are how many populations are tried for one kind of question and for all kinds.
"""

from contextlib import ExitStack
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from psycopg import sql
from pyspark.sql.pandas.types import from_arrow_schema

from engines.clinic import arrow_tables, arrow_type, as_stored
from engines.parquet_writers import number_of, write_parquet
from engines.rows_in_memory import RowsInMemory
from lapwing.engines.duckdb import DuckDB
from lapwing.engines.postgres import PostgreSQL, PostgresTable
from lapwing.engines.spark import Spark
from lapwing.queries.catalogue.population import KeyType, RowsPerPerson


class DuckDBBench(DuckDB):
    """Everything but loading is the engine's own."""

    examples, corpus = 5, 30

    def __init__(self, population, *, threads=1, **options):
        population = as_stored(population)
        empty = {table.name: [] for table in population.tables}
        super().__init__(population, arrow_tables(population, empty), threads=threads, **options)

    def load(self, tables):
        for name, arrow in arrow_tables(self._population, tables).items():
            self._connection.register("incoming", arrow)
            self._connection.execute(f"CREATE OR REPLACE TABLE {self._relations[name]} AS FROM incoming").fetchall()
            self._connection.unregister("incoming")
        self._one_row = one_row_a_person(self._population, tables)
        return self


class ParquetBench(DuckDB):
    """Parquet files where they lie, each time by another writer."""

    examples, corpus = 2, 12  # the engine is that of the bench above

    def __init__(self, population, *, threads=1, **options):
        population = as_stored(population)
        self.folder = TemporaryDirectory()
        self.files = {t.name: Path(self.folder.name) / f"{i}.parquet" for i, t in enumerate(population.tables)}
        self.write(arrow_tables(population, {table.name: [] for table in population.tables}))
        super().__init__(population, self.files, threads=threads, **options)

    def write(self, tables):
        for name, arrow in tables.items():
            write_parquet(arrow, self.files[name])

    def load(self, tables):
        self.write(arrow_tables(self._population, tables))
        return self

    def close(self):
        super().close()
        self.folder.cleanup()


class PostgresBench(PostgreSQL):
    """The tables of a database of its own, read by a role that may do nothing else."""

    examples, corpus = 4, 30

    def __init__(self, population, server, **options):
        population = as_stored(population)
        self.open = ExitStack()
        dsn = self.open.enter_context(server.database())
        self.admin = self.open.enter_context(psycopg.connect(dsn, autocommit=True))
        for table in population.tables:
            columns = sql.SQL(", ").join(
                sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kind))
                for name, kind in postgres_columns(population, table).items()
            )
            self.admin.execute(sql.SQL("create table {} ({})").format(sql.Identifier(table.name), columns))
        sources = {table.name: PostgresTable(table=table.name) for table in population.tables}
        super().__init__(population, sources, as_reader(self.admin, dsn), **options)

    def load(self, tables):
        with self.admin.transaction():
            for table in self._population.tables:
                self.fill(table, tables[table.name])
        self._one_row = one_row_a_person(self._population, tables)
        return self

    def fill(self, table, rows):
        names = postgres_columns(self._population, table)
        self.admin.execute(sql.SQL("delete from {}").format(sql.Identifier(table.name)))
        columns = sql.SQL(", ").join(map(sql.Identifier, names))
        into = sql.SQL("copy {} ({}) from stdin").format(sql.Identifier(table.name), columns)
        with self.admin.cursor() as cursor, cursor.copy(into) as copy:
            for row in rows:
                copy.write_row([row[name] for name in names])

    def close(self):
        super().close()
        self.open.close()


class SparkBench(Spark):
    """Data frames of the session of the test run: rows in memory, and every third table of patients a Parquet file."""

    examples, corpus = 1, 3  # a fifth of a second for every question: few, of every kind

    def __init__(self, population, session, **options):
        population = as_stored(population)
        self.given, self.folder, self.loads, self.turns = session, TemporaryDirectory(), count(), count()
        empty = {table.name: [] for table in population.tables}
        super().__init__(population, self.frames(population, empty), session, **options)

    def frames(self, population, tables):
        return {name: self.frame(name, arrow) for name, arrow in arrow_tables(population, tables).items()}

    def frame(self, name, arrow):
        if name != "patients" or number_of(arrow) // 100 % 3:  # files take several times as long as rows in memory
            schema = None if arrow.num_rows else from_arrow_schema(arrow.schema)  # Spark Connect infers none of nothing
            return self.given.createDataFrame(arrow, schema)
        place = f"{self.folder.name}/{next(self.loads)}.parquet"  # Spark remembers how long a file was
        write_parquet(arrow, place)
        return self.given.read.parquet(place)

    def close(self):
        super().close()
        self.folder.cleanup()

    def load(self, tables):
        for name, frame in self.frames(self._population, tables).items():
            frame.createOrReplaceGlobalTempView(self._views[name])
        # As if it were in files that are pinned, every other time.
        self._one_row = one_row_a_person(self._population, tables) if next(self.turns) % 2 else set()
        return self


class ConnectBench(SparkBench):
    """The same over Spark Connect: what is written is the same, so that few are enough."""

    examples, corpus = 1, 1


def as_reader(admin, dsn):
    """The connection string of a role that may read every table of this database and change none."""
    if not admin.execute("select 1 from pg_roles where rolname = 'reader'").fetchall():
        admin.execute("create role reader login")
    admin.execute("grant select on all tables in schema public to reader")
    return dsn.replace("user=postgres", "user=reader")


_POSTGRES = {
    "int64": "bigint",
    "double": "double precision",
    "bool": "boolean",
    "string": "text",
    "date32[day]": "date",
}


def postgres_columns(population, table):
    key = {population.person_key(table): "bigint" if table.key_type is KeyType.INTEGER else "text"}
    return key | {column.name: _POSTGRES[str(arrow_type(column.type))] for column in table.columns}


def one_row_a_person(population, tables):
    """The person tables in which every row is of a person of its own."""

    def is_unique(table):
        people = [row[population.person_key(table)] for row in tables[table.name]]
        return table.rows is RowsPerPerson.ONE_A_PERSON and None not in people and len(set(people)) == len(people)

    return {table.name for table in population.tables if is_unique(table)}


ENGINES = {
    "rows": lambda population, _: RowsInMemory(population),
    "duckdb": lambda population, _: DuckDBBench(population),
    "parquet": lambda population, _: ParquetBench(population),
    "postgres": lambda population, request: PostgresBench(population, request.getfixturevalue("postgres")),
    "spark": lambda population, request: SparkBench(population, request.getfixturevalue("spark")),
}
"""How to set up each engine; `request` is what pytest knows of the servers that run beside the tests."""
CONNECT = {
    "spark-connect": lambda population, request: ConnectBench(population, request.getfixturevalue("spark_remote"))
}
"""Spark once more, over Spark Connect: what is written for it is the same, how it is sent is not."""
QUICK = ("rows", "duckdb")
"""Those that need no server."""
