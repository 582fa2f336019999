"""The columns by which people are counted: one for groups, two or three for a grid, each with declared groups.

A stream is asked about each group of up to two columns: a cell is then a condition of its own.
"""

from functools import reduce
from itertools import pairwise, product
from math import prod
from operator import and_
from typing import Any, Final

from lapwing.doors.server.pages.cohort_document import UnclearError
from lapwing.doors.server.pages.cohort_text import constant_of
from lapwing.doors.server.pages.dictionary import Dictionary, Field
from lapwing.doors.server.pages.page_words import Messages
from lapwing.queries.language.expressions import Compare, Condition, Missing, Not, Truth
from lapwing.queries.language.speller import written
from lapwing.vocabulary.frozen import frozen

AXES: Final = ("by", "by2", "by3")
"""The fields of a form that choose them; the last may be left open."""
EACH: Final = ("each", "each2")
"""The axes of a grid: a stream is asked for each of their groups. Both may be left open."""
MOST_CELLS: Final = 240
_FEWEST: Final = {"enough": 0, "groups": 1, "grid": 2}
_MOST: Final = {"enough": 2, "groups": 1, "grid": 3}


@frozen()
class AskedCell:
    """One cell of a grid that a stream is asked about: what it is called along each axis, and who is in it."""

    labels: tuple[str, ...]
    where: str


def axes_of(kind: str, chosen: tuple[str, ...], dictionary: Dictionary) -> tuple[Field, ...]:
    """Return the columns of a kind of question; where none was chosen, the first that are left."""
    if kind not in _FEWEST:
        return ()
    known = {one.name: one for one in dictionary.groupings}
    found = [known[name] for name in chosen[: _MOST[kind]] if name in known]
    if len({one.name for one in found}) < len(found):
        raise UnclearError("cohort.unclear.same_axis")
    found += [one for one in known.values() if one not in found][: max(0, _FEWEST[kind] - len(found))]
    if len(found) < _FEWEST[kind]:
        raise UnclearError("cohort.unclear.no_groups")
    cells = prod(groups_in(one) for one in found)
    if kind != "groups" and cells > MOST_CELLS:
        raise UnclearError("cohort.unclear.cells", n=cells, most=MOST_CELLS)
    return tuple(found)


def groups_in(field: Field) -> int:
    """Return how many groups a column has, with that of missing values."""
    return (len(field.edges) - 1 if field.edges else len(field.values)) + field.nullable


def cells_of(axes: tuple[Field, ...], of: Condition, say: Messages) -> list[AskedCell]:
    """Return the cells of a grid, the last axis changing first; none without axes. `of` is who is meant in all."""
    found = product(*(_parts(one, say) for one in axes)) if axes else ()
    return [
        AskedCell(
            labels=tuple(label for label, _ in cell),
            where=written(reduce(and_, (where for _, where in cell), of)),
        )
        for cell in found
    ]


def _parts(field: Field, say: Messages) -> list[tuple[str, Condition]]:
    """Return the groups of a column, as they are called and as conditions."""
    told: list[tuple[str, Condition]]
    if field.edges:
        told = [_bin(field, low, high) for low, high in pairwise(field.edges)]
    elif field.kind == "boolean":
        is_true = Truth(field.value)
        told = [(str(say("answer.yes")), is_true), (str(say("answer.no")), Not(is_true))]
    else:
        told = [(called, Compare("=", field.value, constant_of(field, value))) for value, called in field.values]
    return [*told, *([(str(say("cohort.not_known")), Missing(field.value))] if field.nullable else [])]


def _bin(field: Field, low: int, high: int) -> tuple[str, Condition]:
    """Return one bin of a column, which holds its lower edge; the last holds both, like those of a count."""
    is_last = high == field.edges[-1]
    end = high if is_last or field.kind != "integer" else high - 1
    below = field.value <= high if is_last else field.value < high
    return f"{low}–{end}", (field.value >= low) & below


def grouping_of(field: Field) -> Any:
    """Return a column as a question counts by it."""
    return {"column": field.written, "edges": field.edges} if field.edges else field.written


def sql_of_axes(axes: tuple[Field, ...], where: str) -> str:
    """Return the SELECT that counts by columns; `where` is all that follows FROM."""
    columns = "".join(f"{_sql(one)}, " for one in axes)
    grouped = f"\ngroup by {', '.join(str(place) for place in range(1, len(axes) + 1))}" if axes else ""
    return f"select {columns}count(*)\n{where}{grouped}"


def _sql(field: Field) -> str:
    return f"bins({field.written}, {', '.join(map(str, field.edges))})" if field.edges else field.written
