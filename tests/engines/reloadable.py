"""A DuckDB engine whose tables can be exchanged: building a fresh one for every example would take most of the time."""

from engines.clinic import arrow_tables
from lapwing.engines.dialect import DUCKDB
from lapwing.engines.duckdb import DuckDB
from lapwing.queries.catalogue import Rows


class ReloadableDuckDB(DuckDB):
    """Everything but loading is the engine's own."""

    def __init__(self, population, tables=None, **options):
        empty = {table.name: [] for table in population.tables}
        super().__init__(population, arrow_tables(population, tables or empty), **options)

    def load(self, tables):
        for name, arrow in arrow_tables(self._population, tables).items():
            self._connection.register("incoming", arrow)
            self._connection.execute(
                f"CREATE OR REPLACE TABLE {DUCKDB.name(f'data of {name}')} AS FROM incoming"
            ).fetchall()
            self._connection.unregister("incoming")
        self._one_row = {t.name for t in self._population.tables if self._one_row_seen(t, tables[t.name])}
        return self

    def _one_row_seen(self, table, rows):
        people = [row[self._population.person_key(table)] for row in rows]
        return table.rows is Rows.ONE_A_PERSON and None not in people and len(set(people)) == len(people)
