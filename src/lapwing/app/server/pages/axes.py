"""The columns by which people are counted: one for groups, two or three for a grid, each with declared groups."""

from math import prod
from typing import Any, Final

from lapwing.app.server.pages.cohort_document import UnclearError
from lapwing.app.server.pages.dictionary import Dictionary, Field

AXES: Final = ("by", "by2", "by3")
"""The fields of a form that choose them; the last may be left open."""
MOST_CELLS: Final = 240
_FEWEST: Final = {"groups": 1, "grid": 2}
_MOST: Final = {"groups": 1, "grid": 3}


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
    if kind == "grid" and cells > MOST_CELLS:
        raise UnclearError("cohort.unclear.cells", n=cells, most=MOST_CELLS)
    return tuple(found)


def groups_in(field: Field) -> int:
    """Return how many groups a column has, with that of those for whom it is not known."""
    return (len(field.edges) - 1 if field.edges else len(field.values)) + field.nullable


def grouping_of(field: Field) -> Any:
    """Return a column as a question counts by it."""
    return {"column": field.written, "edges": field.edges} if field.edges else field.written


def sql_of_axes(axes: tuple[Field, ...], where: str) -> str:
    """Return the SELECT that counts by columns; `where` is all that stands behind FROM."""
    columns = "".join(f"{_sql(one)}, " for one in axes)
    grouped = f"\ngroup by {', '.join(str(place) for place in range(1, len(axes) + 1))}" if axes else ""
    return f"select {columns}count(*)\n{where}{grouped}"


def _sql(field: Field) -> str:
    return f"bins({field.written}, {', '.join(map(str, field.edges))})" if field.edges else field.written
