"""The population that a server tells of, as the noun that questions are planned with. All of it is public."""

from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from urllib.parse import quote

from lapwing.engines.public_files import PublicFile
from lapwing.queries.catalogue import KeyType, Population, RowsPerPerson, Segment, Table
from lapwing.queries.column import Boolean, Category, Column, ColumnType, Date, Integer, Real, Text
from lapwing.queries.predicate import Predicate
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


class RemoteVocabulary:
    """A vocabulary of a server: a public file, which is fetched when a question first looks into it."""

    def __init__(self, name: str, column_names: tuple[str, ...], fetch: "Callable[[str], Any]") -> None:
        self.name, self.column_names, self._fetch = name, column_names, fetch
        self._folder: TemporaryDirectory[str] | None = None
        self._suffix = ""

    def columns(self, named: frozenset[str]) -> tuple[Column, ...]:
        """Return its columns; those that are named, in small letters, have their types, and the others are text."""
        return self._file().columns(named)

    def select(self, columns: tuple[Column, ...], names: tuple[str, ...], where: Predicate) -> list[tuple[Any, ...]]:
        """Return the different rows of what is named, of these columns, for which `where` is true."""
        return self._file().select(columns, names, where)

    def forget(self) -> None:
        """Remove what was fetched."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _file(self) -> PublicFile:
        if self._folder is None:
            told = self._fetch(f"/vocabularies/{quote(self.name, safe='')}")
            if not isinstance(told, str | bytes):
                raise ServerError(f"the server does not tell the vocabulary {self.name}", remedy="ask the custodian")
            self._folder = TemporaryDirectory(prefix="lapwing-")
            self._suffix = ".csv" if isinstance(told, str) else ".parquet"
            self._path.write_bytes(told.encode() if isinstance(told, str) else told)
        return PublicFile(name=self.name, path=self._path)

    @property
    def _path(self) -> Path:
        """Where it was put, once it was fetched."""
        return Path(self._folder.name if self._folder else "") / f"vocabulary{self._suffix}"


def read_population(told: Any, fetch: Callable[[str], Any]) -> Population:
    """Return the population of a dictionary: its tables, who is protected, and what decides which rows count.

    Its vocabularies are looked into by `fetch`, which is given what to fetch.

    >>> read_population({"population": "clinic", "tables": []}, lambda path: None)
    Traceback (most recent call last):
    ...
    lapwing.errors.ServerError: the server does not tell what it knows of a population as this client knows it; ...
    """
    return as_told("what it knows of a population", lambda: _population(told, fetch))


def _population(told: Mapping[str, Any], fetch: Callable[[str], Any]) -> Population:
    public = (
        RemoteVocabulary(str(one["vocabulary"]), tuple(map(str, one["columns"])), fetch) for one in told["vocabularies"]
    )
    return Population(
        name=str(told["population"]),
        unit=from_record(PrivacyUnit, told["unit"]),
        tables=tuple(map(_table, told["tables"])),
        now=_day(told["now"]),
        salt=told["salt"],
        vocabularies=tuple(public),
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
