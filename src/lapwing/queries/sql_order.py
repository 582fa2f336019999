"""Reads ORDER BY, LIMIT, OFFSET and HAVING: what is done with the numbers after they were released."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from lapwing.queries.arrangement import Arrangement, Kept, Place, Sorting
from lapwing.queries.days import FLIPPED
from lapwing.queries.expressions import Literal
from lapwing.queries.sql_conditions import COMPARISONS
from lapwing.queries.sql_groups import SelectItem, at_place, called, is_same
from lapwing.queries.sql_nodes import chain, only
from lapwing.queries.sql_values import ValueReader
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import as_int, exact


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """What an answer tells: a key or a number, and how the SELECT wrote it."""

    item: SelectItem
    by: Place
    name: str


def read_arrangement(
    select: exp.Select, reader: ValueReader, items: list[SelectItem], told: Sequence[AnswerColumn]
) -> Arrangement:
    """Return how the rows of the answer are shown."""
    names = {one.by: one.item.heading for one in told if isinstance(one.by, int)}
    order, having = select.args.get("order"), select.args.get("having")
    if order is not None:
        only(order, "expressions")
    limit, offset = (_number(reader, select.args.get(name)) for name in ("limit", "offset"))
    return Arrangement(
        names=tuple(names.get(place) for place in range(max(names, default=-1) + 1)),
        having=() if having is None else tuple(_kept(reader, having, items, told)),
        order=() if order is None else tuple(_sorting(node, items, told) for node in order.expressions),
        first=limit,
        skipped=offset or 0,
    )


def _number(reader: ValueReader, node: exp.Expr | None) -> int | None:
    if node is None:
        return None
    only(node, "expression")
    most = reader.value(node.expression)
    return as_int("limit", exact("number", most.value if isinstance(most, Literal) else most), least=0)


def _sorting(node: exp.Expr, items: list[SelectItem], told: Sequence[AnswerColumn]) -> Sorting:
    only(node, "this", "desc", "nulls_first")
    one = _told(node.this, items, told, "ORDER BY")
    return Sorting(one.by, one.name, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))


def _told(node: exp.Expr, items: list[SelectItem], told: Sequence[AnswerColumn], clause: str) -> AnswerColumn:
    item = at_place(node, items, clause) or called(node, items)
    for one in told:
        if one.item is item or (item is None and is_same(one.item.node, node)):
            for part in node.walk():  # the same stands in the SELECT, where it was read
                only(part, *part.args)
            return one
    raise BadQuestionError(
        f"{clause} sees released numbers only, so it names what the SELECT tells; select it as well, or name a column "
        "of the SELECT by its place"
    )


def _kept(reader: ValueReader, having: exp.Expr, items: list[SelectItem], told: Sequence[AnswerColumn]) -> list[Kept]:
    only(having, "this")
    kept = list[Kept]()
    for node in chain(having.this) if isinstance(having.this, exp.And) else [having.this]:
        match node:
            case exp.Between():
                only(node, "this", "low", "high")
                pairs = [(">=", node.this, node.args["low"]), ("<=", node.this, node.args["high"])]
            case _ if type(node) in COMPARISONS:
                only(node, "this", "expression")
                pairs = [(COMPARISONS[type(node)], node.this, node.expression)]
            case _:
                raise BadQuestionError(
                    "HAVING compares released numbers with constants, joined by and; write having count(*) >= 20"
                )
        for comparison, left, right in pairs:
            if isinstance(left, exp.Literal | exp.Neg):
                comparison, left, right = FLIPPED[comparison], right, left  # noqa: PLW2901 - the same, read from the right
            one = _told(left, items, told, "HAVING")
            limit = reader.value(right)
            number = limit.value if isinstance(limit, Literal) else None
            if not isinstance(number, int | Fraction | str) or isinstance(number, bool):
                raise BadQuestionError("HAVING compares with a constant; write having count(*) >= 20")
            kept.append(Kept(one.by, one.name, comparison, number))
    return kept
