"""Reads GROUP BY: columns and expressions, places and names of what is selected, ALL, and bins."""

from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from lapwing.queries.expressions import By, Literal
from lapwing.queries.sql_nodes import as_written, identifier, literal, name_of, only
from lapwing.queries.sql_values import ValueReader
from lapwing.vocabulary.errors import BadQuestionError

_LONGEST_HEADING: Final = 40


@dataclass(frozen=True, slots=True)
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


def grouping(reader: ValueReader, node: exp.Expr) -> By:
    """Return what GROUP BY names: a column, an expression, or bins(value, edge, edge, ...)."""
    match node:
        case exp.Anonymous() if str(node.this).casefold() == "bins" and len(node.expressions) > 1:
            only(node, "this", "expressions")
            value, *edges = (reader.value(each) for each in node.expressions)
            constants = tuple(edge for edge in edges if isinstance(edge, Literal))
            if len(constants) == len(edges):
                return By(column=value, edges=constants)
        case exp.Literal() | exp.Null() | exp.Star():
            pass
        case _:
            return By(column=reader.value(node))
    raise BadQuestionError(
        "groups are made by columns, and the edges of bins are constants; write group by column, year(day), or "
        "bins(column, 0, 18, 65, 120)"
    )
