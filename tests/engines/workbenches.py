"""Every engine, on a bench where its tables can be exchanged: building a fresh one for each example takes too long.

A new engine adds one line to `ENGINES` and one class with `load(tables)`; the contract suite and the test of one person
then run on it.
"""

from engines.clinic import arrow_tables
from engines.rows_in_memory import RowsInMemory
from lapwing.engines.dialect import DUCKDB
from lapwing.engines.duckdb import DuckDB
from lapwing.queries.catalogue import Rows


class DuckDBBench(DuckDB):
    """Everything but loading is the engine's own."""

    examples = 12

    def __init__(self, population, *, threads=1, **options):
        empty = {table.name: [] for table in population.tables}
        super().__init__(population, arrow_tables(population, empty), threads=threads, **options)

    def load(self, tables):
        for name, arrow in arrow_tables(self._population, tables).items():
            self._connection.register("incoming", arrow)
            place = DUCKDB.name(f"data of {name}")
            self._connection.execute(f"CREATE OR REPLACE TABLE {place} AS FROM incoming").fetchall()
            self._connection.unregister("incoming")
        self._one_row = {t.name for t in self._population.tables if self._is_unique(t, tables[t.name])}
        return self

    def _is_unique(self, table, rows):
        people = [row[self._population.person_key(table)] for row in rows]
        return table.rows is Rows.ONE_A_PERSON and None not in people and len(set(people)) == len(people)


ENGINES = {"rows": RowsInMemory, "duckdb": DuckDBBench}
