"""What the clauses of a SELECT name: rows in FROM and WITH, GROUP BY, and ORDER BY, LIMIT, OFFSET and HAVING.

Groups are columns and expressions, places and names of what is selected, ALL, and bins. The other clauses, and the
arithmetic of a SELECT with its statistics, say what is done with the numbers after they were released.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from sqlglot import exp

from lapwing.queries.language.expressions import (
    EVERYONE,
    And,
    By,
    Compare,
    Condition,
    Literal,
    Missing,
    Name,
    Not,
    Or,
    Value,
)
from lapwing.queries.language.joined import Has, Join, Joined, Link, PlaceOfRow, ScopedCondition, renamed
from lapwing.queries.language.sql.dates import Read, read_written_day
from lapwing.queries.language.sql.nodes import as_written, identifier, literal, name_of, only
from lapwing.queries.language.sql.refusals import refusal
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.frozen import frozen

_LONGEST_HEADING: Final = 40


@frozen(kw_only=False)
class Given:
    """Rows of a table under a name, some of them: what FROM names, or what WITH gave a name to.

    Parameters
    ----------
    table : whose rows they are
    alias : what they are called
    where : which of them
    columns : those that may be named, where a SELECT chose some
    joins : the tables of a FROM with several, this one first
    key : the column for each of whose values DISTINCT or GROUP BY left one row
    at_least : how many rows there must be for it
    values : what a SELECT computed, by lower-case names, in which the row is called `inside`
    """

    table: str
    alias: str
    where: Condition
    columns: tuple[str, ...] | None = None
    joins: tuple[Join, ...] = ()
    key: Name | None = None
    at_least: int = 1
    values: Mapping[str, Value] = field(default_factory=dict)
    inside: str = ""
    _renamed: dict[str, Value] = field(default_factory=dict, init=False, compare=False, repr=False)
    """What was computed as it is said of these rows: made once, and shared wherever it is named."""

    def own(self, node: exp.Expr) -> Name:
        """Return a column of these rows that is only listed, so that nobody looks it up."""
        name = name_of(node)
        if name.table is not None and name.table.casefold() != self.alias.casefold():
            raise BadQuestionError(f"{name.table}.{name.name} is not a column of {self.alias}; write {name.name}")
        if self.columns is not None and name.name.casefold() not in {
            *(column.casefold() for column in self.columns),
            *self.values,
        }:
            raise BadQuestionError(f"{self.alias} has no column {name.name!r}; it has {', '.join(self.columns)}")
        return name

    def computed(self, name: Name) -> Value | None:
        """Return what a SELECT computed under this name, if it did, as it is said of these rows."""
        if name.table is not None and name.table.casefold() != self.alias.casefold():
            return None
        made = self.values.get(name.name.casefold())
        if not self.inside:  # its FROM is the one around it
            return Name(name.name) if made is None and self.joins and name.table is not None else made
        if made is None:
            return None
        called = name.name.casefold()
        if called not in self._renamed:
            self._renamed[called] = renamed(made, self.inside, self.alias)
        return self._renamed[called]

    @property
    def said(self) -> Condition:
        """What is said about each of the rows."""
        if self.joins:
            return ScopedCondition(Joined(self.joins, self.where), self.joins[0].alias)
        return self.several if self.key is not None and self.at_least > 1 else self.where

    @property
    def several(self) -> Condition:
        """That the person of a row has as many such rows as HAVING asks for."""
        link = (self.key, Name(self.key.name)) if self.key is not None else (Name(""), Name(""))
        return Has(self.table, self.where, self.at_least, self.alias, link, self.columns)

    def join(self, on: Condition = EVERYONE, *, left: bool = False) -> Join:
        """Return these rows as a table of a FROM with several."""
        repeats = bool(self.joins) and self.key is None
        return Join(self.table, self.alias, on, left, self.columns, self.said, self.key, repeats=repeats)


def place_of_row(window: exp.Window, rows: Given, seen: Given) -> PlaceOfRow:
    """Read ROW_NUMBER() OVER (PARTITION BY person ORDER BY day): a row is the first where no other is before it."""
    among, order = window.args.get("partition_by") or [], window.args.get("order")
    known = isinstance(window.this, exp.RowNumber | exp.Rank | exp.DenseRank)
    if not known or len(among) != 1 or order is None or len(order.expressions) != 1:
        raise refusal(window)
    only(window, "this", "partition_by", "order", "over")
    only(window.this)
    only(order, "expressions")
    by = order.expressions[0]
    only(by, "this", "desc", "nulls_first")
    key, day = seen.own(among[0]), seen.own(by.this).name
    if seen.computed(Name(day)) is not None:
        raise refusal(window)
    other = f"another of {seen.alias}"
    here, there = Name(day, seen.alias), Name(day, other)
    before = Compare(">" if by.args.get("desc") else "<", there, here)

    def none(where: Condition) -> Condition:
        same = Compare("=", Name(key.name, other), Name(key.name, seen.alias))
        return Not(Has(rows.table, And((same, rows.where, where)), 1, other, Link.IN_WHERE, seen.columns))

    known_day, unknown_day = Not(Missing(here)), Missing(here)  # which come last
    first = Or((And((known_day, none(before))), And((unknown_day, none(Not(Missing(there)))))))
    return PlaceOfRow(first, isinstance(window.this, exp.RowNumber), here)


@frozen(kw_only=False)
class SelectItem:
    """One column of a SELECT: what it is made by, the name that it gets, if any, and how it is written, if shortly."""

    alias: str | None
    node: exp.Expr
    written: str | None = None

    @property
    def heading(self) -> str | None:
        """What it is called: by its name, or as it is written where it is a condition."""
        return self.alias or (self.written if isinstance(self.node, exp.Predicate | exp.Connector | exp.Not) else None)


def items_of(select: exp.Select, text: str = "") -> list[SelectItem]:
    """Return the columns of a SELECT; `text` is what it was read from."""
    written = as_written(text)
    if len(written) != len(select.expressions):
        written = [""] * len(select.expressions)
    return [_item(node, " ".join(words.split())) for node, words in zip(select.expressions, written, strict=True)]


def _item(node: exp.Expr, written: str) -> SelectItem:
    if not isinstance(node, exp.Alias):
        return SelectItem(None, node, written if 0 < len(written) <= _LONGEST_HEADING else None)
    only(node, "this", "alias")
    return SelectItem(identifier(node.args["alias"]), node.this)


def at_place(node: exp.Expr, items: list[SelectItem], clause: str) -> SelectItem | None:
    """Return the column of the SELECT that a number names by its place, counted from 1; None if it is no number."""
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    place = literal(node).value
    if not isinstance(place, int) or not 1 <= place <= len(items):
        raise BadQuestionError(f"{clause} {place} names no column; write a number from 1 to {len(items)}")
    return items[place - 1]


def called(node: exp.Expr, items: list[SelectItem]) -> SelectItem | None:
    """Return the column of the SELECT that has this name; None if there is none."""
    if isinstance(node, exp.Column) and not node.args.get("table"):
        name = name_of(node).name.casefold()
        return next((item for item in items if item.alias is not None and item.alias.casefold() == name), None)
    return None


def is_same(node: exp.Expr, other: exp.Expr) -> bool:
    """Say whether two nodes write the same; one of two columns may leave its table out."""
    if isinstance(node, exp.Column) and isinstance(other, exp.Column):
        one, two = name_of(node), name_of(other)
        tables = {name.table.casefold() for name in (one, two) if name.table}
        return one.name.casefold() == two.name.casefold() and len(tables) <= 1
    return node == other


def group_nodes(group: exp.Expr | None, items: list[SelectItem], statistics: list[SelectItem]) -> list[exp.Expr]:
    """Return what the rows are grouped by: places and names are replaced by what they stand for."""
    if group is None:
        return []
    if group.args.get("all"):
        only(group, "all")
        return [item.node for item in items if item not in statistics]
    only(group, "expressions")
    nodes = []
    for node in group.expressions:
        item = at_place(node, items, "GROUP BY") or called(node, [item for item in items if item not in statistics])
        if item is not None and item in statistics:
            raise BadQuestionError(
                f"GROUP BY {node.name} names a statistic, and rows are grouped by what they hold; name a column"
            )
        nodes.append(node if item is None else item.node)
    return nodes


def grouping(read: Read, node: exp.Expr) -> By:
    """Return what GROUP BY names: a column, an expression, or bins(value, edge, edge, ...)."""
    match node:
        case exp.Anonymous() if str(node.this).casefold() == "bins" and len(node.expressions) > 1:
            only(node, "this", "expressions")
            value, *edges = (read(each) for each in node.expressions)
            constants = tuple(edge for edge in edges if isinstance(edge, Literal))
            if len(constants) == len(edges):
                return By(column=value, edges=constants)
        case exp.Literal() | exp.Null() | exp.Star():
            pass
        case exp.TimeToStr() | exp.ToChar():
            return By(column=read_written_day(node, read))
        case _ if _is_quotient(node):
            raise BadQuestionError(
                "databases disagree about what / leaves of whole numbers; for groups of the same width, named by "
                f"their lower ends, write floor({_divided(node)} / 10) * 10"
            )
        case _:
            return By(column=read(node))
    raise BadQuestionError(
        "groups are made by columns, and the edges of bins are constants; write group by column, year(day), or "
        "bins(column, 0, 18, 65, 120)"
    )


def _divided(node: exp.Expr) -> str:
    """Return the column that a group divides, as it is written."""
    column = node.find(exp.Column)
    return "age" if column is None else column.sql("duckdb")


def _is_quotient(node: exp.Expr) -> bool:
    """Say whether a group is made by dividing, and not by whole steps: floor(age / 10) * 10, age // 10."""
    match node.unnest():
        case exp.Div():
            return True
        case exp.Cast(this=cast):
            return _is_quotient(cast)
        case exp.Mul(this=left, expression=right):
            return _is_quotient(left) or _is_quotient(right)
        case _:
            return False
