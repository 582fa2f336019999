"""The population of a server, decoded, as questions are planned with it. All of it is public."""

from collections.abc import Callable, Mapping
from datetime import date
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from urllib.parse import quote

from lapwing.doors.client.connection import VocabularyFile
from lapwing.engines.public_files import PublicFile
from lapwing.queries.algebra.predicate import Predicate
from lapwing.queries.catalogue.column import Boolean, Category, Column, ColumnType, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import KeyType, Population, RowsPerPerson, Segment, Table
from lapwing.vocabulary.codec import from_record
from lapwing.vocabulary.errors import DisagreementError, LapwingError, ServerError
from lapwing.vocabulary.guarantee import PrivacyUnit

T = TypeVar("T")


def as_told(what: str, read: Callable[[], T]) -> T:
    """Return the result of `read`, which decodes a reply of the server; refuse a reply that it cannot decode."""
    try:
        return read()
    except DisagreementError:
        raise
    except (LapwingError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
        remedy = "connect with the version of lapwing that the server has"
        raise ServerError(f"the server does not tell {what} as this client knows it", remedy=remedy) from None


class RemoteVocabulary:
    """A vocabulary of a server: a public file, which is fetched when a question first looks into it.

    The dictionary has its digest. A file with another digest is not parsed: a question about half of a vocabulary would
    be another question, and would be paid for.
    """

    def __init__(
        self, name: str, column_names: tuple[str, ...], digest: str | None, fetch: "Callable[[str], Any]"
    ) -> None:
        self.name, self.column_names, self._digest, self._fetch = name, column_names, digest, fetch
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
            if not isinstance(told, VocabularyFile):
                raise ServerError(f"the server does not tell the vocabulary {self.name}", remedy="ask the custodian")
            if sha256(told.data).hexdigest() != self._digest:
                remedy = "it was changed since, or damaged on the way: connect again; nothing was asked"
                raise DisagreementError(f"the vocabulary {self.name} is not the one of the dictionary", remedy=remedy)
            self._folder = TemporaryDirectory(prefix="lapwing-")
            self._suffix = told.suffix
            self._path.write_bytes(told.data)
        return PublicFile(name=self.name, path=self._path)

    @property
    def _path(self) -> Path:
        """The path of the fetched file."""
        return Path(self._folder.name if self._folder else "") / f"vocabulary{self._suffix}"


def read_population(told: Any, fetch: Callable[[str], Any]) -> Population:
    """Return the population of a dictionary: its tables, who is protected, and the contribution bounds.

    Its vocabularies are read by `fetch`, which takes the path of one.

    >>> read_population({"population": "clinic", "tables": []}, lambda path: None)
    Traceback (most recent call last):
    ...
    lapwing.errors.ServerError: the server does not tell what it knows of a population as this client knows it; ...
    """
    return as_told("what it knows of a population", lambda: _population(told, fetch))


def _population(told: Mapping[str, Any], fetch: Callable[[str], Any]) -> Population:
    public = (
        RemoteVocabulary(told_name(one["vocabulary"]), tuple(map(told_name, one["columns"])), one["digest"], fetch)
        for one in told_list(told["vocabularies"])
    )
    return Population(
        name=told_name(told["population"]),
        unit=from_record(PrivacyUnit, told["unit"]),
        tables=tuple(map(_table, told_list(told["tables"]))),
        now=_day(told["now"]),
        salt=told["salt"],
        vocabularies=tuple(public),
        segments=tuple(
            Segment(name=one["name"], first=one["first"], last=one["last"]) for one in told_list(told["segments"])
        ),
    )


def told_name(told: Any) -> str:
    """Return a name of a reply, if a terminal may show it."""
    if not isinstance(told, str) or not told.isprintable():
        raise TypeError(told)
    return told


def told_number(told: Any, *, least: int, most: int) -> int:
    """Return a whole number of a reply, if it is within these limits."""
    if type(told) is not int or not least <= told <= most:
        raise ValueError
    return told


def told_list(told: Any) -> list[Any]:
    """Return a value of a reply, if it is a list."""
    if not isinstance(told, list):
        raise TypeError
    return told


def told_truth(told: Any) -> bool:
    """Return a value of a reply, if it is true or false."""
    if not isinstance(told, bool):
        raise TypeError
    return told


def _table(told: Mapping[str, Any]) -> Table:
    return Table(
        name=told["table"],
        columns=tuple(map(_column, told_list(told["columns"]))),
        rows=RowsPerPerson.ONE_A_PERSON if told["rows"] == "one" else RowsPerPerson.MANY_A_PERSON,
        person_key=told["person_key"],
        key_type=KeyType(told["key_type"]),
        row_key=told["row_key"],
        max_rows=told["max_rows"],
    )


def _column(told: Mapping[str, Any]) -> Column:
    words: dict[str, Any] = {
        word: told_name(told[word]) for word in ("title", "unit", "description", "time_of") if told.get(word)
    }
    fixed = told_truth(told.get("fixed", False))
    return Column(name=told["column"], type=_type(told), nullable=bool(told["nullable"]), fixed=fixed, **words)


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
