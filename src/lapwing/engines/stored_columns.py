"""The tables of an engine: which stored columns are meant, and whether they can be read as the declared types.

A column's type is looked up, and it is read, under the very same name. What does not fit is refused here, to the
custodian's face: it must not wait for a question.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TypeVar

from lapwing.engines.dialect import Dialect, Kind, StoredColumn
from lapwing.queries.catalogue.column import ColumnType
from lapwing.queries.catalogue.population import Population, Table
from lapwing.vocabulary.errors import RegistrationError
from lapwing.vocabulary.frozen import frozen

S = TypeVar("S")
C = TypeVar("C", bound=StoredColumn)


@frozen(kw_only=False)
class Registered:
    """The tables of a population as they were registered in an engine.

    Attributes
    ----------
    relations : for each table, the SQL of a relation with its declared columns in the types that the emitter writes for
    one_row_a_person : person tables that are known to hold one row for each person, on data that cannot change that
    files : the SQL of where the files are that questions will read
    readable : for each table that is read where it lies, the mark of how all its cells were read without failure
    keys : for each table, the column that holds its person keys
    identities : for each table in a database, its identity (`identity`)
    """

    relations: dict[str, str] = field(default_factory=dict)
    one_row_a_person: set[str] = field(default_factory=set)
    files: list[str] = field(default_factory=list)
    readable: dict[str, str] = field(default_factory=dict)
    keys: dict[str, StoredColumn] = field(default_factory=dict)
    identities: dict[str, str] = field(default_factory=dict)


def declared_names(population: Population, table: Table) -> set[str]:
    """Return the case-folded names of the columns of a table that are read: others do not exist."""
    columns = (column.time_of or column.name for column in table.columns)
    return {name.casefold() for name in (population.person_key(table), *columns)}


def identity(relation: Iterable[object], columns: Iterable[StoredColumn]) -> str:
    """Return the identity of a relation: a digest of its place, and one for each column that is read.

    It does not depend on rows: a table with new rows is the same.
    """
    read = sorted(f"{_digest(column.name)}:{_digest((column.type, column.digits))}" for column in columns)
    return " ".join([hashlib.sha256(repr(tuple(relation)).encode()).hexdigest(), *read])


def same_relation(kept: str, found: str) -> str | None:
    """Return the merged identity of the same relation read with other columns; None for two relations.

    >>> same_relation("a 1:i 2:t", "a 1:i 3:d"), same_relation("a 1:i", "a 1:t"), same_relation("a", "b")
    ('a 1:i 2:t 3:d', None, None)
    """
    (one, *before), (other, *now) = kept.split(" "), found.split(" ")
    columns, again = (dict(column.split(":") for column in side) for side in (before, now))
    if one != other or any(columns.get(name, type_) != type_ for name, type_ in again.items()):
        return None
    return " ".join([one, *(f"{name}:{type_}" for name, type_ in sorted((columns | again).items()))])


def _digest(part: object) -> str:
    return hashlib.sha256(repr(part).encode()).hexdigest()[:16]


def source_of(table: Table, sources: Mapping[str, S], remedy: str) -> S:
    """Return the source of a table, or refuse and say what to name."""
    if table.name not in sources:
        raise RegistrationError(table.name, reason="has no source", remedy=remedy)
    return sources[table.name]


def stored_name(table: Table, declared: str, stored: Sequence[str]) -> str:
    """Return the one stored column that has the declared name, in any case; refuse if there are several or none.

    >>> stored_name(Table(name="people", columns=()), "age", ["id", "AGE"])
    'AGE'
    """
    matches = [name for name in stored if name.casefold() == declared.casefold()]
    if len(matches) > 1:
        listed = ", ".join(map(repr, matches))
        raise RegistrationError(
            table.name,
            reason=f"has {len(matches)} columns called {declared!r}, whatever their case: {listed}",
            remedy="rename all but one of them",
        )
    if not matches:
        there = ", ".join(stored)
        raise RegistrationError(
            table.name, reason=f"does not have exactly one column {declared!r}", remedy=f"it has {there}"
        )
    return matches[0]


def select_list(
    population: Population,
    table: Table,
    stored: Sequence[C],
    dialect: Dialect,
    read: Callable[[str, C, str], str],
    *,
    keys: dict[str, StoredColumn],
    read_unchecked: Callable[[str, C, str], str] | None = None,
    remedy: str = "store it as {}, or declare what it is",
) -> str:
    """Return the SELECT list that reads the declared columns of a table, each under its declared name.

    Parameters
    ----------
    stored : the columns that there are
    read : given the declared name, the stored column and a type that the dialect accepts it for: the SQL of the column
        in that type, for which no cell fails, NaN is missing and different texts are different
    keys : the columns of the person keys of the tables before; this table's is added
    read_unchecked : the same for texts that may be no texts, for a dialect that has them `as_stored`, too
    remedy : what to do about a column that is not stored as declared
    """
    names, pieces = [column.name for column in stored], []
    wanted = [(population.person_key(table), None, ""), *((one.name, one.type, one.time_of) for one in table.columns)]
    for name, kind, time_of in wanted:
        column = stored[names.index(stored_name(table, time_of or name, names))]
        wanted_kind = Kind.DAY if time_of else Kind.of(table.key_type if kind is None else kind)
        type_ = dialect.type_of_kind(wanted_kind)
        if not dialect.accepts(column, wanted_kind):
            floats = column.bare in dialect.reals
            raise _mismatch(table, name, kind, column, remedy.format(type_), floats=floats)
        if kind is None:
            _require_one_spelling(table, column, keys)
            keys[table.name] = column
        seconds = dialect.time_of_day.format(dialect.name(column.name))
        pieces.append(f"{seconds if time_of else read(name, column, type_)} AS {dialect.name(name)}")
        if read_unchecked and dialect.as_stored and kind is not None and wanted_kind is Kind.TEXT:
            pieces.append(f"{read_unchecked(name, column, type_)} AS {dialect.name(dialect.as_stored(name))}")
    return ", ".join(pieces)


def _require_one_spelling(table: Table, key: StoredColumn, others: Mapping[str, StoredColumn]) -> None:
    """Refuse keys that are UUIDs here and texts there: a text may spell a UUID in several ways, a person's be one."""
    for name, other in others.items():
        if (key.bare == "uuid") != (other.bare == "uuid"):
            raise RegistrationError(
                table.name,
                reason=f"holds the person key as {key.type}, and {name} as {other.type}: one person could be two",
                remedy="store the keys of all tables as uuid, or of all as text",
            )


def _mismatch(
    table: Table, name: str, kind: ColumnType | None, stored: StoredColumn, remedy: str, *, floats: bool
) -> RegistrationError:
    if kind is None:
        why = "which cannot tell people apart" if floats else f"not {table.key_type.value}"
        return RegistrationError(
            table.name,
            reason=f"holds the person key {name!r} as {stored.type}, {why}",
            remedy="store it as a 64-bit integer or as text",
        )
    return RegistrationError(
        table.name, reason=f"holds {name!r} as {stored.type}, declared as {type(kind).__name__}", remedy=remedy
    )
