"""Windows over the rows of an answer: shares of a total, running totals, the group before, places in an order.

They are computed from released numbers, noise and all, so they cost nothing. A window names groups, and adds up the
numbers of one column over them: where it is ordered by keys, which groups these are is public, and the sum is one
weighted sum of released numbers more. Where it is ordered by a number, the noise decides which groups they are, and the
bounds of the sum are the sums of bounds that hold for all groups at once.

Proof: proofs/quotients.md
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import Any, TypeAlias

from lapwing.queries.planning.plan import BoundedValue, CellKey, Form
from lapwing.vocabulary.frozen import frozen

Place: TypeAlias = int | str
"""What is sorted or filtered by: the place of a key among the groups, or the name of a column of the answer."""
Cells: TypeAlias = Mapping[CellKey, Mapping[str, BoundedValue]]
Groups: TypeAlias = Mapping[CellKey, Sequence[CellKey]]
"""For each row of an answer the rows that its window holds."""


@frozen(kw_only=False)
class Sorting:
    """Rows in the order of a key or of a number, the largest first if it is `falling`."""

    by: Place
    name: str
    falling: bool = False
    missing_first: bool = False


def value_at(table: Cells, key: CellKey, by: Place) -> Any:
    """Return the key or the number of a row that it is sorted or filtered by; None where it is missing."""
    if isinstance(by, int):
        return key[by]
    cell = table[key].get(by)
    return None if cell is None else cell.value


def sort_rows(table: Cells, keys: Iterable[CellKey], order: Sequence[Sorting]) -> list[CellKey]:
    """Return rows in an order; those that it does not tell apart stay as they are."""
    rows = list(keys)
    for sorting in reversed(order):
        present = [key for key in rows if value_at(table, key, sorting.by) is not None]
        missing = [key for key in rows if value_at(table, key, sorting.by) is None]
        present.sort(key=lambda key, by=sorting.by: value_at(table, key, by), reverse=sorting.falling)  # type: ignore[misc]
        rows = missing + present if sorting.missing_first else present + missing
    return rows


@frozen()
class AnswerWindow:
    """A sum of one column over the rows from `first` to `last`, counted from each row; None is the first or the last.

    Parameters
    ----------
    column : the column that is added up
    partition : the places of the keys that all rows of a window share
    order : in which order the rows stand
    first, last : the places of the first and of the last row, the row itself having the place 0
    peers : whether rows that stand at the same place of the order as the last are in it too
    mean : whether the sum is divided by the number of rows
    """

    column: str
    partition: tuple[int, ...] = ()
    order: tuple[Sorting, ...] = ()
    first: int | None = None
    last: int | None = None
    peers: bool = False
    mean: bool = False

    @property
    def is_public(self) -> bool:
        """Whether the keys alone say which rows it holds."""
        return all(isinstance(one.by, int) for one in self.order)

    @property
    def words(self) -> str:
        """What is computed, in plain English."""
        over = "all groups" if not self.partition else "the groups with the same keys"
        in_order = ", ".join(f"{one.name}{' from the largest' * one.falling}" for one in self.order)
        if self.first is None and self.last is not None:
            over += f" up to this one, by {in_order}"
        elif self.first is not None and self.first == self.last:
            steps = abs(self.first)
            side = "before" if self.first < 0 else "after"
            return f"{self.column} of the group {'' if steps == 1 else f'{steps} places '}{side} it, by {in_order}"
        elif self.first is not None:
            over += f" next to this one, by {in_order}"
        return f"the {'mean' if self.mean else 'sum'} of {self.column} over {over}"

    def groups(self, table: Cells, keys: Sequence[CellKey]) -> Groups:
        """Return the rows that the window of each of these rows holds."""
        found = dict[CellKey, Sequence[CellKey]]()
        for rows in _parted(sort_rows(table, keys, self.order), self.partition):
            for place, key in enumerate(rows):
                start = 0 if self.first is None else max(0, place + self.first)
                end = len(rows) if self.last is None else max(0, place + self.last + 1)
                while self.peers and end < len(rows) and self._place(table, rows[end]) == self._place(table, key):
                    end += 1
                found[key] = rows[start:end]
        return found

    def _place(self, table: Cells, key: CellKey) -> list[Any]:
        return [value_at(table, key, one.by) for one in self.order]

    def weight(self, held: Sequence[CellKey]) -> Fraction:
        """Return the weight of each row of those that are held."""
        return Fraction(1, len(held)) if self.mean else Fraction(1)

    def forms(self, column: Mapping[CellKey, Form], groups: Groups) -> dict[CellKey, Form]:
        """Return the sums as weighted sums of released numbers, where those of the column are; nothing held is none."""
        found = dict[CellKey, Form]()
        for key, held in groups.items():
            form = dict[int, Fraction]()
            for each in held:
                for place, weight in column[each].items():
                    form[place] = form.get(place, Fraction(0)) + weight * self.weight(held)
            if held:
                found[key] = form
        return found

    def sums(self, column: Mapping[CellKey, BoundedValue], groups: Groups) -> dict[CellKey, BoundedValue]:
        """Return the sums with bounds: those of all numbers that are added up."""
        found = dict[CellKey, BoundedValue]()
        for key, held in groups.items():
            cells = [column[each] for each in held if each in column]
            weight = self.weight(held) if held else Fraction(1)
            parts = [[getattr(cell, part) for cell in cells] for part in ("low", "value", "high")]
            low, value, high = (
                None if None in part or not part else sum(map(Fraction, part)) * weight for part in parts
            )
            found[key] = BoundedValue(key=key, value=value, low=low, high=high)
        return found


class Ranking(Enum):
    """How rows at the same place of an order are numbered."""

    RANK = "rank"
    DENSE_RANK = "dense_rank"
    ROW_NUMBER = "row_number"


@frozen()
class PlaceInOrder:
    """The place of each row in an order, from 1 on, among the rows that share the keys of `partition`."""

    ranking: Ranking
    order: tuple[Sorting, ...]
    partition: tuple[int, ...] = ()

    @property
    def words(self) -> str:
        """What is computed, in plain English."""
        return "the place by " + ", ".join(f"{one.name}{' from the largest' * one.falling}" for one in self.order)

    def places(self, table: Cells, keys: Sequence[CellKey]) -> list[BoundedValue]:
        """Return the place of each row.

        Its bounds hold where those of the number that comes first in the order do, for all rows at once: a row is
        behind those that are surely better, and before those that are surely worse.
        """
        found = list[BoundedValue]()
        for rows in _parted(sort_rows(table, keys, self.order), self.partition):
            values = [[value_at(table, key, one.by) for one in self.order] for key in rows]
            rank = dense = 0
            for place, key in enumerate(rows):
                if not place or values[place] != values[place - 1]:
                    rank, dense = place + 1, dense + 1
                told = {Ranking.RANK: rank, Ranking.DENSE_RANK: dense, Ranking.ROW_NUMBER: place + 1}[self.ranking]
                low, high = self._bounds(table, key, rows, told)
                found.append(BoundedValue(key=key, value=told, low=low, high=high))
        return found

    def _bounds(self, table: Cells, key: CellKey, rows: Sequence[CellKey], told: int) -> tuple[int | None, int | None]:
        by, falling = self.order[0].by, self.order[0].falling
        if isinstance(by, int):
            return told, told
        cells = [table[each].get(by) for each in rows if each != key]
        own, known = table[key].get(by), [cell for cell in cells if cell is not None and cell.low is not None]
        if own is None or own.low is None or own.high is None or len(known) < len(cells):
            return None, None
        ends: list[tuple[Any, Any]] = [(cell.low, cell.high) for cell in known]
        better = sum(low > own.high if falling else high < own.low for low, high in ends)
        not_worse = sum(high >= own.low if falling else low <= own.high for low, high in ends)
        if self.ranking is Ranking.DENSE_RANK:
            better = min(better, 1)
        return min(1 + better, told), max(1 + not_worse, told)


def _parted(rows: Sequence[CellKey], partition: Sequence[int]) -> list[list[CellKey]]:
    """Return rows by the keys that they share, each part in the order of the rows."""
    parts = dict[tuple[Any, ...], list[CellKey]]()
    for key in rows:
        parts.setdefault(tuple(key[place] for place in partition), []).append(key)
    return list(parts.values())
