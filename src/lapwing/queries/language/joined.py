"""What a row is seen beside, as it is written: other rows of its person, joined tables, values of a vocabulary.

Names in what is written can be changed, wherever they stand: those of rows, and of columns that are looked up
elsewhere.
"""

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
from typing import Any, Final, TypeVar

from lapwing.queries.catalogue.public_tables import ConceptExpression
from lapwing.queries.language.expressions import EVERYONE, And, Condition, Name, Value
from lapwing.queries.language.sized import Sized
from lapwing.vocabulary.deadline import spend
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.frozen import frozen

EVERYBODY: Final = ""
"""As the name of a table: everybody who is in a table that its condition names, as UNION gives them."""
THE_ROW: Final = ""
"""As the name of a column: what is missing exactly where a LEFT JOIN finds no row."""


class Link(Enum):
    """How a condition says that rows of another table are those of the same person."""

    IMPLIED = "implied"
    """It need not say it: `has(visits, ...)`."""

    IN_WHERE = "in where"
    """One of the parts of its where says it: `v.person = p.person and ...`."""


@frozen(kw_only=False, eq=False)
class Has(Condition):
    """The same person has at least `at_least` rows in `table` for which `where` is true.

    `alias` is what `where` calls the row; `link` says how the two rows are tied, or names the two columns that do it;
    `columns` are those of the row that may be named, where WITH chose some.
    """

    table: str
    where: Condition
    at_least: int = 1
    alias: str | None = None
    link: Link | tuple[Name, Name] = Link.IMPLIED
    columns: tuple[str, ...] | None = None


@frozen(kw_only=False, eq=False)
class ScopedCondition(Condition):
    """A condition about this row in a world of its own: what WITH says about the rows it names.

    In it the row is called `alias` and has these `columns`, and no row around it can be named, whatever they are called
    where the rows are used.
    """

    where: Condition
    alias: str
    columns: tuple[str, ...] | None = None


PER_PERSON = ("count", "distinct", "first", "last", "sum", "mean")


@frozen(kw_only=False, eq=False)
class PerPerson(Value):
    """A number or a day that the same person's rows of `table` make, those for which `where` is true.

    `function` is one of `PER_PERSON`: how many rows there are, how many different values of `column`, its sum, or its
    first or last value. Without rows a number is 0 and a value is missing. `most` is the most that is counted; without
    it, the rows that count in the table. `alias`, `link` and `columns` are as in `Has`.
    """

    function: str
    table: str
    column: Value | None = None
    where: Condition = EVERYONE
    alias: str | None = None
    link: Link | tuple[Name, Name] = Link.IMPLIED
    columns: tuple[str, ...] | None = None
    most: Value | None = None


@frozen(kw_only=False, eq=False)
class PlaceOfRow(Value):
    """The place of a row among its person's in an order, of which is known where it is `first`.

    With `alone`, only one of several rows that are equally early is: SQL leaves open which. `by` is what orders them.
    """

    first: Condition
    alone: bool
    by: Name


@frozen(kw_only=False, eq=False)
class Join(Sized):
    """Rows of another table beside this row, as SQL joins them: which means nothing before the catalogue is asked.

    `on` says which rows belong together; with `left` this row stays where there is none. `columns` are those that may
    be named, where a SELECT chose some, `said` is what it said about each row, and `key` is the column for each of
    whose values it left one row, if it did.
    """

    table: str
    alias: str
    on: Condition
    left: bool = False
    columns: tuple[str, ...] | None = None
    said: Condition = EVERYONE
    key: Name | None = None
    single: bool = False
    """Whether it means something only where a person has one row: else rows would count times each other."""
    repeats: bool = False
    """Whether rows may be there several times: a SELECT joined others to them."""
    once: bool = False
    """Whether one row a person is left of them, the first of theirs, of which no column is looked up."""
    natural: bool = False
    """Whether `on` says besides that whatever is called alike here and before is equal."""


@frozen(kw_only=False, eq=False)
class Joined(Condition):
    """The row, the first of `joins`, has rows of the others beside it for which `where` is true."""

    joins: tuple[Join, ...]
    where: Condition


@frozen(kw_only=False, eq=False)
class InConceptSet(Condition):
    """The value is one of a concept set, which the analyst gave under this name."""

    value: Value
    name: str


@frozen(kw_only=False, eq=False)
class InConcepts(Condition):
    """The value is one of a set of concepts that the vocabulary spells out."""

    value: Value
    concepts: ConceptExpression


Written = TypeVar("Written")


def changed(part: Written, change: Callable[[Name], Any], inside: Callable[[Any], Callable[[Name], Any]]) -> Written:
    """Return `part` with every name changed; `inside` says how, in rows of another table with names of their own.

    What is there several times is changed once, and shared as it was.
    """
    known = dict[tuple[int, int], tuple[Any, Any]]()

    def made(found: Any, change: Callable[[Name], Any]) -> Any:
        if isinstance(found, Name):
            return change(found)
        if isinstance(found, tuple):
            if found and isinstance(found[0], int | str):
                return found  # a list of values has no names
            several = tuple([made(each, change) for each in found])
            return several if any(one is not other for one, other in zip(several, found, strict=True)) else found
        kind: Any = type(found)
        names = _names_of(kind)
        if names is None or isinstance(found, ScopedCondition):  # that is a world of its own
            return found
        place = id(found), id(change)
        if place not in known:
            spend()
            within = inside(found) if isinstance(found, Has | PerPerson | Join) else change
            held = {name: made(getattr(found, name), within) for name in names}
            same = all(held[name] is getattr(found, name) for name in names)
            known[place] = found if same else replace(found, **held), change  # kept, so that no other has its place
        return known[place][0]

    return made(part, change)  # type: ignore[no-any-return]


@cache
def _names_of(kind: Any) -> tuple[str, ...] | None:
    """Return the fields of a part that may hold names of columns; None for what has no parts."""
    if not is_dataclass(kind):
        return None
    return tuple(one.name for one in fields(kind) if one.name not in {"link", "alias", "table"})


def renamed(part: Written, old: str, new: str) -> Written:
    """Return `part`, which calls its row `old` or leaves the name out, as it is said of a row that is called `new`."""

    def own(name: Name) -> Name:
        return Name(name.name, new) if name.table is None or name.table.casefold() == old.casefold() else name

    def outer(name: Name) -> Name:
        return Name(name.name, new) if name.table is not None and name.table.casefold() == old.casefold() else name

    def inside(rows: Any) -> Callable[[Name], Name]:
        return (lambda name: name) if (rows.alias or rows.table).casefold() == old.casefold() else outer

    return changed(part, own, inside)


def names_in(part: object, row: str) -> set[str]:
    """Return the columns of a row that `part` names, alone or with the name of the row."""
    found = set[str]()

    def note(name: Name) -> Name:
        if name.table is None or name.table.casefold() == row.casefold():
            found.add(name.name)
        return name

    changed(part, note, lambda _: lambda name: note(name) if name.table is not None else name)
    return found


def joined_by_and(condition: Condition) -> Iterator[Condition]:
    """Go through the parts of a condition that are joined by "and"."""
    if isinstance(condition, And):
        for part in condition.parts:
            yield from joined_by_and(part)
    else:
        yield condition


def check_table_name(given: object) -> None:
    """Refuse what is no name of a table."""
    if not isinstance(given, str):
        raise BadQuestionError(
            f"a table is named by a text, and this is of type {type(given).__name__}; write its name, as in "
            'count("patients"): the custodian has the rows'
        )
