"""Changes parts of what is written, wherever they stand: names of rows, and columns that are looked up elsewhere."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from lapwing.queries.expressions import (
    Name,
)
from lapwing.queries.joined import Has, Join, PerPerson, ScopedCondition

Written = TypeVar("Written")


def changed(part: Written, change: Callable[[Name], Any], inside: Callable[[Any], Callable[[Name], Any]]) -> Written:
    """Return `part` with every name changed; `inside` says how, in rows of another table with names of their own."""
    found: Any = part
    if isinstance(found, Name):
        return change(found)  # type: ignore[no-any-return]
    if isinstance(found, ScopedCondition):
        return part  # a world of its own
    if isinstance(found, tuple):
        return tuple(changed(each, change, inside) for each in found)  # type: ignore[return-value]
    if not is_dataclass(found):
        return part
    within = inside(found) if isinstance(found, Has | PerPerson | Join) else change
    names = [one.name for one in fields(found) if one.name not in {"link", "alias", "table"}]
    held = {name: changed(getattr(found, name), within, inside) for name in names}
    if all(held[name] is getattr(found, name) for name in names):
        return part
    made: Any = replace(found, **held)  # type: ignore[type-var]
    return made  # type: ignore[no-any-return]


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
