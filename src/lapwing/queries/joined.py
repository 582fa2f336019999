"""Tables that stand beside one another, as they are written: `joins` gives them a meaning."""

from dataclasses import dataclass

from lapwing.queries.expressions import EVERYONE, Condition, Name


@dataclass(frozen=True, slots=True, eq=False)
class Join:
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


@dataclass(frozen=True, slots=True, eq=False)
class Joined(Condition):
    """The row, the first of `joins`, has rows of the others beside it for which `where` is true."""

    joins: tuple[Join, ...]
    where: Condition
