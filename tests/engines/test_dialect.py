"""A dialect is all that differs in the SQL of two databases: SQLite, for which there is no engine, needs no more.

It has no days and no truth values, and keeps them as texts and whole numbers: two kinds have one type.
"""

import json
from datetime import date, timedelta
from hashlib import md5

import apsw  # its SQLite is new: older ones have a parser of a fixed depth, and say so of a long expression
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.clinic import FAR_DAYS, clinic, rows_of_anyone
from engines.rows_in_memory import RowsInMemory
from lapwing.engines.dialect import Dialect, Kind, StoredColumn
from lapwing.engines.engine import BITMAP_MEMORY, Engine
from lapwing.engines.stored_columns import Registered, select_list
from lapwing.queries.algebra.aggregate import DeclaredKey
from lapwing.queries.catalogue.population import KeyType, Population, Table
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.errors import RegistrationError
from lapwing.vocabulary.guarantee import PrivacyUnit
from queries.asked import QUESTIONS

SQLITE = Dialect(
    mark=lambda n: f"?{n + 1}",
    integer="INTEGER",
    real="REAL",
    text="TEXT",
    day="TEXT",
    truth="INTEGER",
    integers=frozenset({"integer"}),
    reals=frozenset({"real"}),
    texts=frozenset({"text"}),
    days=frozenset({"date"}),
    greatest="coalesce(max({0}, {1}), {0}, {1})",
    least="coalesce(min({0}, {1}), {0}, {1})",
    modulo="(({}) % ({}))",
    alike="{} IS {}",
    day_number="CAST(julianday({}) - 2440587.5 AS INTEGER)",
    ymd="CAST(replace({}, '-', '') AS INTEGER)",
    part_of_day="part('{}', {})",
    beginning="beginning('{}', {})",
    text_number="text_number({})",
    small="lower({})",
    capital="upper({})",
    trimmed="trim({}, ' ')",
    starts_with="(substr({0}, 1, length({1})) = {1})",
    ending="substr({}, -{})",
    place="instr({1}, {0})",
    in_list="{0} IN (SELECT value FROM json_each({1}))",
)
CLINIC, TEXT_KEYS = clinic(), clinic(KeyType.TEXT, salt=7)


def part(name, day):
    given = date.fromisoformat(day)
    parts = {"YEAR": given.year, "QUARTER": (given.month + 2) // 3, "MONTH": given.month, "DAY": given.day}
    return {**parts, "WEEK": given.isocalendar().week}[name]


def beginning(unit, day):
    given = date.fromisoformat(day)
    if unit == "week":
        return (given - timedelta(days=given.weekday())).isoformat()
    first = {"year": 1, "quarter": (given.month - 1) // 3 * 3 + 1, "month": given.month}[unit]
    return given.replace(month=first, day=1).isoformat()


def text_number(text):
    return None if text is None else int(md5(text.encode()).hexdigest()[:15], 16)  # noqa: S324 - as the others have it


class SQLite(Engine):
    """An engine is its dialect, how its tables are registered, and how a statement is run."""

    _dialect = SQLITE

    def __init__(self, population):
        self._connection = apsw.Connection(":memory:")
        for function, arguments in ((part, 2), (beginning, 2), (text_number, 1)):
            self._connection.create_scalar_function(function.__name__, function, arguments, deterministic=True)
        registered = Registered()
        for table in population.tables:
            stored = [StoredColumn(name, type_) for name, type_ in stored_columns(population, table)]
            defined = ", ".join(f"{SQLITE.name(column.name)} {column.type}" for column in stored)
            self._connection.execute(f"CREATE TABLE {SQLITE.name(table.name)} ({defined})")
            columns = select_list(
                population, table, stored, SQLITE, lambda _, column, __: SQLITE.name(column.name), keys=registered.keys
            )
            registered.relations[table.name] = f"(SELECT {columns} FROM {SQLITE.name(table.name)})"  # noqa: S608 - names of a test
        super().__init__(population, registered, bitmap_memory=BITMAP_MEMORY, on_failure=print)

    def load(self, tables):
        for table in self._population.tables:
            self._connection.execute(f"DELETE FROM {SQLITE.name(table.name)}")  # noqa: S608
            for row in tables[table.name]:
                names = ", ".join(map(SQLITE.name, row))
                into = f"INSERT INTO {SQLITE.name(table.name)} ({names}) VALUES ({', '.join('?' * len(row))})"  # noqa: S608
                self._connection.execute(into, [sent(value) for value in row.values()])
        return self

    def _rows(self, statement):
        return self._connection.execute(statement.text, [sent(value) for value in statement.parameters]).fetchall()

    def close(self):
        self._connection.close()


def stored_columns(population, table):
    yield population.person_key(table), table.key_type.value
    for column in table.columns:
        yield column.name, {Kind.DAY: "date", Kind.TRUTH: "boolean"}.get(kind := Kind.of(column.type), kind.value)


def sent(value):
    match value:
        case list():
            return json.dumps(value)
        case date():
            return value.isoformat()
        case str() if value in FAR_DAYS:
            return None  # its days are those of the calendar
        case _:
            return value


@pytest.mark.parametrize("population", [CLINIC, TEXT_KEYS], ids=["integer keys", "text keys"])
def test_a_database_of_which_only_the_dialect_is_known_agrees_with_the_oracle(population) -> None:
    asked = 0
    with SQLite(population) as engine:

        @settings(max_examples=12)
        @given(rows_of_anyone(population), st.lists(QUESTIONS, min_size=4, max_size=6))
        def agree(tables, questions) -> None:
            nonlocal asked
            engine.load(tables)
            oracle = RowsInMemory(population).load(tables)
            for question in questions:
                aggregate = plan(question, population).aggregate
                if any(isinstance(key, DeclaredKey) and type(key.values[0]) is bool for key in aggregate.keys):
                    continue  # its truths come back as whole numbers, which no engine takes for a group of truths
                read = "keyed" if aggregate.cells is None else "vector"
                found, wanted = (getattr(one, read)(aggregate).open_for_release() for one in (engine, oracle))
                assert found == wanted, question
                asked += 1

        agree()
    assert asked >= 40


@pytest.mark.parametrize("kind", Kind)
def test_what_is_of_a_kind_is_accepted_although_another_kind_has_its_type(kind) -> None:
    stored = {Kind.DAY: "DATE", Kind.TRUTH: "BOOLEAN"}.get(kind, kind.value.upper())
    accepted = [one for one in Kind if SQLITE.accepts(StoredColumn("x", stored), one)]
    assert accepted == ([Kind.INTEGER, Kind.REAL] if kind is Kind.INTEGER else [kind])
    assert SQLITE.kind_stored(stored) is kind


def test_a_key_that_is_a_floating_point_number_is_refused_in_any_dialect() -> None:
    population = Population(name="p", unit=PrivacyUnit(person_key="pid"), tables=(Table(name="t", columns=()),))
    with pytest.raises(RegistrationError, match="as REAL, which cannot tell people apart"):
        select_list(population, population.table("t"), [StoredColumn("pid", "REAL")], SQLITE, lambda *_: "pid", keys={})
