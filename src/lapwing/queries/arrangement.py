"""How the rows of an answer are shown: which of them, in which order, under which names.

It is computed from released numbers, noise and all, so it costs nothing and moves no number: the same question in
another order is the same question. A filter or a limit sees what was released, not what is true: a group that is a
little larger than another may stand below it, and a group near the limit of HAVING may be on the wrong side.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeAlias

from lapwing.queries.plan import BoundedValue, CellKey
from lapwing.vocabulary.wording import format_short

_COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
Place: TypeAlias = int | str
"""What is sorted or filtered by: the place of a key among the groups, or the name of a column of the answer."""
Cells: TypeAlias = Mapping[CellKey, Mapping[str, BoundedValue]]


@dataclass(frozen=True, slots=True)
class Sorting:
    """Rows in the order of a key or of a number, the largest first if it is `falling`."""

    by: Place
    name: str
    falling: bool = False
    missing_first: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """Rows whose released number, or whose key, compares so with a constant."""

    by: Place
    name: str
    comparison: str
    limit: int | Fraction | str

    def keeps(self, table: Cells, key: CellKey) -> bool:
        """Say whether a row stays; what is missing compares with nothing."""
        value: Any = _value(table, key, self.by)
        if value is None or isinstance(value, str) is not isinstance(self.limit, str):
            return False
        return _COMPARISONS[self.comparison](value, self.limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrangement:
    """Which rows of an answer are shown, in which order, and what their keys are called.

    Parameters
    ----------
    names : a name for each key, or None for that of its column
    having : what is said about every row that is shown
    order : by what the rows are sorted, the first counts most
    first : how many rows are shown at most
    skipped : how many rows are left out before
    roots : the columns of which the square root is told: variances, as standard deviations
    """

    names: tuple[str | None, ...] = ()
    having: tuple[Kept, ...] = ()
    order: tuple[Sorting, ...] = ()
    first: int | None = None
    skipped: int = 0
    roots: frozenset[str] = frozenset()

    def told(self, name: str, cell: BoundedValue) -> BoundedValue:
        """Return a number of a column as it is told; a root rises with its number, so its bounds are roots too."""
        if name not in self.roots or isinstance(cell.value, str):
            return cell
        value, low, high = (None if n is None else math.sqrt(max(0, n)) for n in (cell.value, cell.low, cell.high))
        return BoundedValue(key=cell.key, value=value or 0.0, low=low, high=high)

    def shown(self, table: Cells, keys: Sequence[CellKey]) -> list[CellKey]:
        """Return the rows that are shown, of these in their own order."""
        rows = [key for key in keys if all(kept.keeps(table, key) for kept in self.having)]
        for sorting in reversed(self.order):
            present = [key for key in rows if _value(table, key, sorting.by) is not None]
            missing = [key for key in rows if _value(table, key, sorting.by) is None]
            present.sort(key=lambda key, by=sorting.by: _value(table, key, by), reverse=sorting.falling)  # type: ignore[misc]
            rows = missing + present if sorting.missing_first else present + missing
        return rows[self.skipped :][: self.first]

    def named(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of the keys, where these are those of their columns."""
        given = self.names + (None,) * (len(keys) - len(self.names))
        return tuple(name or key for name, key in zip(given, keys, strict=False))

    @property
    def words(self) -> str:
        """What is done with the released numbers, in plain English; nothing if nothing is."""
        parts = [f"the square root of the variance is told as {name}" for name in sorted(self.roots)]
        if self.having:
            parts.append(
                "kept where " + " and ".join(f"{k.name} {k.comparison} {_plain(k.limit)}" for k in self.having)
            )
        if self.order:
            parts.append("sorted by " + ", ".join(f"{s.name}{' from the largest' * s.falling}" for s in self.order))
        if self.first is not None or self.skipped:
            after = f" after {self.skipped}" if self.skipped else ""
            parts.append(f"the first {self.first}{after}" if self.first is not None else f"those{after}")
        return f"of the released numbers, with their noise, which costs nothing: {', '.join(parts)}" if parts else ""


AS_IT_IS: Final = Arrangement()


def _value(table: Cells, key: CellKey, by: Place) -> Any:
    if isinstance(by, int):
        return key[by]
    cell = table[key].get(by)
    return None if cell is None else cell.value


def _plain(limit: int | Fraction | str) -> str:
    return repr(limit) if isinstance(limit, str) else format_short(limit)
