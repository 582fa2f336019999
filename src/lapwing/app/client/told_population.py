"""The population that a server tells of, as the noun that questions are planned with. All of it is public."""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, TypeVar

from lapwing.queries.catalogue import KeyType, Population, RowsPerPerson, Segment, Table
from lapwing.queries.column import Boolean, Category, Column, ColumnType, Date, Integer, Real, Text
from lapwing.vocabulary.codec import from_record
from lapwing.vocabulary.errors import LapwingError, ServerError
from lapwing.vocabulary.guarantee import PrivacyUnit

T = TypeVar("T")


def as_told(what: str, read: Callable[[], T]) -> T:
    """Return what `read` makes of something that a server told, or refuse a server that tells anything else."""
    try:
        return read()
    except (LapwingError, LookupError, TypeError, ValueError, AttributeError):
        remedy = "connect with the version of lapwing that the server has"
        raise ServerError(f"the server does not tell {what} as this client knows it", remedy=remedy) from None


def read_population(told: Any) -> Population:
    """Return the population of a dictionary: its tables, who is protected, and what decides which rows count.

    >>> read_population({"population": "clinic", "tables": []})
    Traceback (most recent call last):
    ...
    lapwing.errors.ServerError: the server does not tell what it knows of a population as this client knows it; ...
    """
    return as_told("what it knows of a population", lambda: _population(told))


def _population(told: Mapping[str, Any]) -> Population:
    return Population(
        name=str(told["population"]),
        unit=from_record(PrivacyUnit, told["unit"]),
        tables=tuple(map(_table, told["tables"])),
        now=_day(told["now"]),
        salt=told["salt"],
        segments=tuple(Segment(name=one["name"], first=one["first"], last=one["last"]) for one in told["segments"]),
    )


def _table(told: Mapping[str, Any]) -> Table:
    return Table(
        name=told["table"],
        columns=tuple(map(_column, told["columns"])),
        rows=RowsPerPerson.ONE_A_PERSON if told["rows"] == "one" else RowsPerPerson.MANY_A_PERSON,
        person_key=told["person_key"],
        key_type=KeyType(told["key_type"]),
        row_key=told["row_key"],
        max_rows=told["max_rows"],
    )


def _column(told: Mapping[str, Any]) -> Column:
    return Column(name=told["column"], type=_type(told), nullable=bool(told["nullable"]))


def _type(told: Mapping[str, Any]) -> ColumnType:
    match told["type"]:
        case "category":
            called = {"labels": tuple(told["labels"]), "label_name": told["label_name"]} if "labels" in told else {}
            return Category(values=tuple(told["values"]), **called)
        case "integer":
            return Integer(low=told["low"], high=told["high"])
        case "real":
            return Real(low=told["low"], high=told["high"], step=told["step"])
        case "date":
            return Date(first=_day(told["first"]), last=_day(told["last"]))
        case "boolean":
            return Boolean()
        case "text":
            return Text()
        case other:
            raise ValueError(other)


def _day(told: str | None) -> date | None:
    return None if told is None else date.fromisoformat(told)
