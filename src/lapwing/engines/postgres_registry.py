"""Which tables of a PostgreSQL database are questioned, and whether they still are what the catalogue says.

The shape of the tables is read from the system catalogue: once when they are registered, to the custodian's face, and
again in the transaction of every question. A table that was altered in between could make an expression fail, or count
a person twice, so it has to be registered again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import psycopg

from lapwing.engines.dialect import POSTGRES
from lapwing.engines.stored_names import stored_name
from lapwing.queries.catalogue import KeyType, Population, RowsPerPerson, Table
from lapwing.queries.column import Boolean, Category, ColumnType, Date, Integer, Real, Text
from lapwing.vocabulary.errors import RegistrationError


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresTable:
    """A table or view of the database."""

    table: str
    schema: str = "public"


class Stored(NamedTuple):
    """What the database says about one column of a table."""

    source: int
    name: str
    type: str
    digits: int | None
    bytewise: bool
    unique: bool
    computed: bool
    writable: bool


Shape: TypeAlias = tuple[Stored, ...]

_WHOLE = {"smallint", "integer", "bigint"}
_TEXT = {"text", "character varying", "uuid", "enum"}
_DAY = {"date", "timestamp without time zone", "timestamp with time zone"}
_CAN_BE_NAN = {"real", "double precision", "numeric"}
_MOST_DIGITS = 15  # a decimal of more digits is not one double divided by another, so engines would round it apart
_KEY_STORED_AS = {KeyType.INTEGER: POSTGRES.integer, KeyType.TEXT: POSTGRES.text}

# Decimals have so many digits, and a scale with a sign in eleven bits. One below zero or above the number of digits
# allows cells that no double holds, such as 1e400: then, as where a column says nothing, there are no digits to go by.
_SHAPE = """
SELECT place, attname,
       CASE typtype WHEN 'e' THEN 'enum' ELSE format_type(atttypid, NULL) END,
       CASE WHEN atttypid = 'numeric'::regtype AND atttypmod >= 4 AND scale BETWEEN 0 AND digits THEN digits END,
       COALESCE(collisdeterministic, TRUE),
       attnotnull AND (relkind = 'p' OR relkind = 'r' AND NOT relhassubclass) AND EXISTS (
           SELECT 1 FROM pg_index
           WHERE indrelid = pg_class.oid AND indisunique AND indisvalid AND indimmediate AND indpred IS NULL
             AND indnkeyatts = 1 AND indkey[0] = attnum) AND NOT EXISTS (
           SELECT 1 FROM pg_constraint  -- NOT NULL may have been declared for the rows to come only
           WHERE conrelid = pg_class.oid AND contype = 'n' AND conkey = ARRAY[attnum] AND NOT convalidated),
       attgenerated = 'v',
       has_table_privilege(pg_class.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS sources (schema, name, place)
JOIN pg_namespace ON nspname = schema
JOIN pg_class ON relnamespace = pg_namespace.oid AND relname = name AND relkind IN ('r', 'p', 'v', 'm', 'f')
JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
JOIN pg_type ON pg_type.oid = atttypid
CROSS JOIN LATERAL (SELECT ((atttypmod - 4) >> 16) & 65535, (((atttypmod - 4) & 2047) # 1024) - 1024)
    AS decimals (digits, scale)
LEFT JOIN pg_collation ON pg_collation.oid = attcollation
ORDER BY place, attnum
"""


def shape_of(connection: psycopg.Connection, sources: Mapping[str, PostgresTable]) -> Shape:
    """Return what the database says about the columns of all `sources`."""
    places = sources.values()
    rows = connection.execute(_SHAPE, [[place.schema for place in places], [place.table for place in places]])
    return tuple(Stored(*row) for row in rows)


@dataclass(frozen=True)
class Registry:
    """The tables of a population in a database of a known shape.

    Attributes
    ----------
    relations : for each table, the SQL of a relation with its declared columns in the types that the emitter writes for
    one_row_a_person : person tables whose key is declared unique and never missing in the database itself
    """

    relations: Mapping[str, str]
    one_row_a_person: frozenset[str]


def register(population: Population, sources: Mapping[str, PostgresTable], shape: Shape) -> Registry:
    """Return how to read the tables of `population`, or say which is not what the catalogue says."""
    relations, one_row = {}, set()
    for table in population.tables:
        if table.name not in sources:
            raise RegistrationError(table.name, reason="has no source", remedy="name its PostgresTable")
        place = list(sources).index(table.name) + 1
        stored = [column for column in shape if column.source == place]
        source = sources[table.name]
        name = f"{POSTGRES.name(source.schema)}.{POSTGRES.name(source.table)}"
        if not stored:
            raise RegistrationError(
                table.name, reason=f"is not in the database as {name}", remedy="name its PostgresTable, schema included"
            )
        if stored[0].writable:
            raise RegistrationError(
                table.name,
                reason=f"is open for writing to this role as {name}",
                remedy=f"connect as a role that has been granted nothing but SELECT ON {name}",
            )
        relations[table.name] = f"(SELECT {_columns(population, table, stored)} FROM {name})"
        key = _find(table, population.person_key(table), stored)
        if key.unique and table.rows is RowsPerPerson.ONE_A_PERSON:
            one_row.add(table.name)
    return Registry(relations, frozenset(one_row))


def _columns(population: Population, table: Table, stored: list[Stored]) -> str:
    wanted: list[tuple[str, ColumnType | None]] = [(population.person_key(table), None)]
    wanted += [(column.name, column.type) for column in table.columns]
    return ", ".join(_column(table, name, kind, _find(table, name, stored)) for name, kind in wanted)


def _find(table: Table, name: str, stored: list[Stored]) -> Stored:
    found = stored_name(table, name, [column.name for column in stored])
    return next(column for column in stored if column.name == found)


def _column(table: Table, name: str, kind: ColumnType | None, stored: Stored) -> str:
    wanted = _KEY_STORED_AS[table.key_type] if kind is None else _stored_as(kind)
    if not _fits(stored, wanted):
        declared = f"a person key of {table.key_type.value}" if kind is None else type(kind).__name__
        raise RegistrationError(
            table.name,
            reason=f"holds {name!r} as {stored.type}, declared as {declared}",
            remedy=f"store it as {wanted}, show it so in a view, or declare what it is",
        )
    if stored.computed:
        raise RegistrationError(
            table.name,
            reason=f"has {name!r} computed when it is read, which may fail on a single row",
            remedy="store it: GENERATED ALWAYS AS (...) STORED, or a plain column",
        )
    column = POSTGRES.name(stored.name)
    if stored.type.upper() != wanted:
        column = f"CAST({column} AS {wanted})"
    if stored.type in _CAN_BE_NAN:  # which every other database takes for something else: no predicate meets it
        column = f"NULLIF({column}, CAST('NaN' AS {wanted}))"
    if not stored.bytewise:  # such a collation takes different texts for the same
        column = f'{column} COLLATE "C"'
    return f"{column} AS {POSTGRES.name(name)}"


def _stored_as(kind: ColumnType) -> str:
    match kind:
        case Integer():
            return POSTGRES.integer
        case Real():
            return POSTGRES.real
        case Category(values=values):
            return POSTGRES.text if isinstance(values[0], str) else POSTGRES.integer
        case Text():
            return POSTGRES.text
        case Date():
            return POSTGRES.day
        case Boolean():
            return POSTGRES.truth


def _fits(stored: Stored, wanted: str) -> bool:
    """Say whether the cast to the wanted type can neither fail nor depend on the engine."""
    decimal = stored.type == "numeric" and stored.digits is not None and stored.digits <= _MOST_DIGITS
    fits = {
        POSTGRES.integer: stored.type in _WHOLE,
        POSTGRES.real: stored.type in _WHOLE | {"real", "double precision"} or decimal,
        POSTGRES.text: stored.type in _TEXT,
        POSTGRES.day: stored.type in _DAY,
        POSTGRES.truth: stored.type == "boolean",
    }
    return fits[wanted]
