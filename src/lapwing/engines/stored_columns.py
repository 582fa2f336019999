"""The tables of an engine: which stored columns are meant, and whether they can be read as what the catalogue says.

A column's type is looked up, and it is read, under the very same name. What does not fit is refused here, to the
custodian's face: it must not wait for a question.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TypeVar

from lapwing.engines.dialect import DUCKDB, POSTGRES, SPARK, Dialect, StoredColumn
from lapwing.queries.catalogue import Population, Table
from lapwing.queries.column import ColumnType
from lapwing.vocabulary.errors import RegistrationError
from lapwing.vocabulary.frozen import frozen

S = TypeVar("S")
C = TypeVar("C", bound=StoredColumn)
_FLOATS = DUCKDB.reals | POSTGRES.reals | SPARK.reals


@frozen(kw_only=False)
class Registered:
    """What the tables of a population have become.

    Attributes
    ----------
    relations : for each table, the SQL of a relation with its declared columns in the types that the emitter writes for
    one_row_a_person : person tables that are known to hold one row for each person, on data that cannot change that
    files : the SQL of where the files are that questions will read
    readable : for each table that is read where it lies, the mark of how all its cells were read without failure
    """

    relations: dict[str, str] = field(default_factory=dict)
    one_row_a_person: set[str] = field(default_factory=set)
    files: list[str] = field(default_factory=list)
    readable: dict[str, str] = field(default_factory=dict)


def source_of(table: Table, sources: Mapping[str, S], remedy: str) -> S:
    """Return where a table is, or refuse and say what to name."""
    if table.name not in sources:
        raise RegistrationError(table.name, reason="has no source", remedy=remedy)
    return sources[table.name]


def stored_name(table: Table, declared: str, stored: Sequence[str]) -> str:
    """Return the one stored column that has the declared name, or failing that the one that has it but for its case.

    >>> people = Table(name="people", columns=())
    >>> stored_name(people, "straße", ["STRASSE", "straße"]), stored_name(people, "age", ["id", "AGE"])
    ('straße', 'AGE')
    """
    matches = [name for name in stored if name == declared]
    matches = matches or [name for name in stored if name.casefold() == declared.casefold()]
    if len(matches) != 1:
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
    remedy: str = "store it as {}, or declare what it is",
) -> str:
    """Return the SELECT list that reads the declared columns of a table, each under its declared name.

    Parameters
    ----------
    stored : the columns that there are
    read : given the declared name, the stored column and a type that the dialect accepts it for: the SQL of the column
        in that type, for which no cell fails, NaN is missing and different texts are different
    remedy : what to do about a column that is not stored as declared
    """
    wanted: list[tuple[str, ColumnType | None]] = [(population.person_key(table), None)]
    names, pieces = [column.name for column in stored], []
    for name, kind in [*wanted, *((column.name, column.type) for column in table.columns)]:
        column = stored[names.index(stored_name(table, name, names))]
        type_ = dialect.type_of(table.key_type if kind is None else kind)
        if not dialect.accepts(column, type_):
            raise _mismatch(table, name, kind, column, remedy.format(type_))
        pieces.append(f"{read(name, column, type_)} AS {dialect.name(name)}")
    return ", ".join(pieces)


def kind_of(dialect: Dialect, stored: str) -> str | None:
    """Return the kind of a stored type.

    >>> kind_of(DUCKDB, "BIGINT"), kind_of(DUCKDB, "DECIMAL(18,3)"), kind_of(POSTGRES, "character varying")
    ('integer', 'real', 'text')
    """
    bare = StoredColumn("", stored).bare
    kinds = {
        "integer": dialect.integers,
        "real": dialect.reals | {"decimal", "numeric"},
        "text": dialect.texts,
        "date": dialect.days,
        "boolean": {"boolean"},
    }
    return next((kind for kind, names in kinds.items() if bare in names), None)


def _mismatch(table: Table, name: str, kind: ColumnType | None, stored: StoredColumn, remedy: str) -> RegistrationError:
    if kind is None:
        why = "which cannot tell people apart" if stored.bare in _FLOATS else f"not {table.key_type.value}"
        return RegistrationError(
            table.name,
            reason=f"holds the person key {name!r} as {stored.type}, {why}",
            remedy="store it as a 64-bit integer or as text",
        )
    return RegistrationError(
        table.name, reason=f"holds {name!r} as {stored.type}, declared as {type(kind).__name__}", remedy=remedy
    )
