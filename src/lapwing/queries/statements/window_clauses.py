"""Reads OVER (...) behind a statistic: a window over the rows of the answer, which is computed after the release."""

from collections.abc import Callable
from typing import Final, TypeAlias, TypeGuard

from sqlglot import exp

from lapwing.queries.language.sql.nodes import literal, only
from lapwing.queries.language.sql.refusals import refusal
from lapwing.queries.planning.windows import AnswerWindow, Place, PlaceInOrder, Ranking, Sorting
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import as_int

Find: TypeAlias = Callable[[exp.Expr], tuple[Place, str]]
"""Returns which key or which number of the answer a node names, and what it is called."""
_RANKINGS: Final[dict[type[exp.Expr], Ranking]] = {
    exp.Rank: Ranking.RANK,
    exp.DenseRank: Ranking.DENSE_RANK,
    exp.RowNumber: Ranking.ROW_NUMBER,
}


def is_of_answers(node: exp.Expr) -> bool:
    """Say whether a window is over the rows of an answer: a function of a statistic, or a place in an order."""
    if not isinstance(node, exp.Window):
        return False
    if type(node.this) in _RANKINGS:
        return True
    inside = node.this.args.get("this")
    return isinstance(inside, exp.Expr) and inside.find(exp.AggFunc) is not None


def is_rank(node: exp.Expr) -> TypeGuard[exp.Window]:
    """Say whether a column of a SELECT is the place of its row in an order."""
    return isinstance(node, exp.Window) and type(node.this) in _RANKINGS


def read_rank(window: exp.Window, find: Find) -> PlaceInOrder:
    """Read RANK() OVER (PARTITION BY key ORDER BY statistic)."""
    only(window, "this", "partition_by", "order", "over")
    only(window.this)
    partition, order = _parted(window, find), _ordered(window, find)
    if not order:
        raise BadQuestionError("a place needs an order; write rank() over (order by count(*) desc)")
    return PlaceInOrder(ranking=_RANKINGS[type(window.this)], order=order, partition=partition)


def read_window(window: exp.Window, find: Find) -> AnswerWindow:
    """Read SUM, AVG, LAG or LEAD of a statistic OVER (PARTITION BY key ORDER BY key)."""
    only(window, "this", "partition_by", "order", "over", "spec")
    function, partition, order = window.this, _parted(window, find), _ordered(window, find)
    first: int | None
    last: int | None
    match function:
        case exp.Lag() | exp.Lead():
            only(function, "this", "offset")
            if not order or window.args.get("spec"):
                raise BadQuestionError(
                    "the group before or after needs an order; write lag(count(*)) over (order by 1)"
                )
            offset = function.args.get("offset")
            steps = 1 if offset is None else as_int("steps", literal(offset).value, least=1)
            place = -steps if isinstance(function, exp.Lag) else steps
            first, last, peers = place, place, False
        case exp.Sum() | exp.Avg():
            only(function, "this")
            first, last, peers = _rows(window.args.get("spec"), ordered=bool(order))
        case _:
            raise refusal(window)
    column = find(function.this)[0]
    if isinstance(column, int):
        raise refusal(window)
    mean = isinstance(function, exp.Avg)
    return AnswerWindow(column=column, partition=partition, order=order, first=first, last=last, peers=peers, mean=mean)


def _parted(window: exp.Window, find: Find) -> tuple[int, ...]:
    found = [(node, find(node)[0]) for node in window.args.get("partition_by") or []]
    for node, place in found:
        if not isinstance(place, int):
            raise BadQuestionError(f"PARTITION BY names what the rows are grouped by, and {node.sql()} is a number")
    return tuple(place for _, place in found if isinstance(place, int))


def _ordered(window: exp.Window, find: Find) -> tuple[Sorting, ...]:
    order = window.args.get("order")
    if order is None:
        return ()
    only(order, "expressions")
    return tuple(_sorting(node, find) for node in order.expressions)


def _sorting(node: exp.Expr, find: Find) -> Sorting:
    only(node, "this", "desc", "nulls_first")
    by, name = find(node.this)
    return Sorting(by, name, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))


def _rows(spec: exp.Expr | None, *, ordered: bool) -> tuple[int | None, int | None, bool]:
    """Return the first and the last row of a frame, and whether those at the same place as the last are in it."""
    if spec is None:
        return (None, 0, True) if ordered else (None, None, False)
    only(spec, "kind", "start", "start_side", "end", "end_side")
    kind = str(spec.args.get("kind")).casefold()
    ends = [
        _place(spec.args.get(f"{end}"), spec.args.get(f"{end}_side"), start=end == "start") for end in ("start", "end")
    ]
    if kind == "rows" and ordered:
        return ends[0], ends[1], False
    if kind == "range" and ends in ([None, 0], [None, None]):
        return ends[0], ends[1], ends[1] == 0
    raise BadQuestionError(
        "a frame of groups is written with their number and in an order: rows between 2 preceding and current row"
    )


def _place(end: object, side: object, *, start: bool) -> int | None:
    """Return the place of an end of a frame, from the row itself; None if it is the first or the last row."""
    written = str(end).casefold() if isinstance(end, str) else ""
    if end is None or written == "current row":
        return 0
    if written == "unbounded":
        if (str(side).casefold() == "preceding") is not start:
            raise BadQuestionError("this frame ends before it begins; write rows between 2 preceding and current row")
        return None
    if not isinstance(end, exp.Expr):
        raise BadQuestionError("the ends of a frame are whole numbers; write rows between 2 preceding and current row")
    steps = as_int("rows", literal(end).value, least=0)
    return -steps if str(side).casefold() == "preceding" else steps
