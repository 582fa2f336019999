"""The rows of an answer, and what was computed from its values since."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lapwing.answers.cells import no_column, plain
from lapwing.queries.plan import BoundedValue, CellKey, Shown
from lapwing.vocabulary.errors import BadQuestionError


@dataclass(frozen=True, slots=True)
class Change:
    """A function that was applied to every value; a rising one may be applied to bounds as well."""

    function: Callable[[Any], Any]
    rising: bool

    def of(self, cell: BoundedValue) -> BoundedValue:
        """Return the cell after the change."""
        value = self.function(cell.value)
        if not self.rising or cell.low is None or cell.high is None:
            return replace(cell, value=value, low=None, high=None)
        low, high = self.function(cell.low), self.function(cell.high)
        if not low <= value <= high:
            raise BadQuestionError(f"this function falls between {cell.low} and {cell.high}; use map, without bounds")
        return replace(cell, value=value, low=low, high=high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of an answer: what it is about, and a value with its bounds for each column.

    `row["n"]` is a value, and `row["sex"]` what the row is about. `names` are those of the parts of its `key`, and
    `cell` says which group it is, as programs know it.
    """

    key: tuple[Shown, ...]
    cells: Mapping[str, BoundedValue]
    names: tuple[str, ...] = ()
    cell: CellKey = ()

    def __getitem__(self, column: str) -> Any:
        if column in self.cells:
            return plain(self.cells[column].value)
        if column in self.names:
            return self.key[self.names.index(column)]
        raise no_column(column, [*self.names, *self.cells])
