"""What an engine is, and what every engine does with the rows its database returned.

An engine never shows what it read. It returns wrapped whole numbers, or fails with one constant message: the reason of
a failure may depend on the data, so it is for the custodian's log only.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from lapwing.queries.aggregate import Aggregate, Label
from lapwing.vocabulary.errors import EngineError
from lapwing.vocabulary.sensitive import Sensitive

Row: TypeAlias = Sequence[Any]
CellKey: TypeAlias = tuple[Label, ...]


class Engine(Protocol):
    """A database that holds one population.

    All three ways of running an aggregate read the same rows the same way; the caller takes the one that fits the
    aggregate, and any other is refused before data is read.
    """

    def number(self, aggregate: Aggregate) -> Sensitive[int]:
        """Return the one number of an aggregate that has one public cell and one term."""

    def vector(self, aggregate: Aggregate) -> Sensitive[tuple[int, ...]]:
        """Return all numbers of an aggregate with public cells: cell after cell, the terms of a cell together."""

    def keyed(self, aggregate: Aggregate) -> Sensitive[Mapping[CellKey, int]]:
        """Return the numbers of an aggregate whose cells only the data knows; the keys are as secret as the counts."""

    def cancel(self) -> None:
        """Stop what is running, from any thread; it fails like any other failure."""

    def close(self) -> None:
        """Let go of the database."""


def read_cells(aggregate: Aggregate, rows: Iterable[Row]) -> dict[CellKey, tuple[int, ...]]:
    """Return what a database sent, after checking that it is what was asked for: one row a cell, whole numbers only.

    The numbers of a row come after the parts of its key. A database that sends anything else has failed.
    """
    keys = len(aggregate.keys) if aggregate.cells is None or aggregate.keys else 0
    cells: dict[CellKey, tuple[int, ...]] = {}
    for row in rows:
        key, numbers = tuple(row[: -aggregate.terms]), tuple(row[-aggregate.terms :])
        if len(key) != keys or key in cells or any(type(number) is not int for number in numbers):
            raise EngineError
        cells[key] = numbers
    return cells
