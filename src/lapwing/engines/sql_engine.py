"""What all engines on SQL databases share: from an aggregate to its statement, and from rows to a wrapped answer.

A database adds `_rows`, which runs one statement and reads the result to the end. Whatever it raises becomes the one
opaque failure here, so nothing else may call it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from types import TracebackType
from typing import ClassVar, Self, TypeVar

from lapwing.engines.dialect import Dialect
from lapwing.engines.emitter import Statement, emit
from lapwing.engines.engine import (
    CellKey,
    Row,
    all_numbers,
    check_keyed,
    check_number,
    check_vector,
    numbers_by_cell,
    one_number,
    unless_it_fails,
)
from lapwing.queries.aggregate import Aggregate
from lapwing.queries.catalogue import Population
from lapwing.vocabulary.sensitive import Sensitive

T = TypeVar("T")


class SQLEngine(ABC):
    """An engine that answers with one SELECT.

    Attributes
    ----------
    _population, _relations, _one_row : what `emit` is told about the tables
    _on_failure : told the reason of every failure, for the custodian's log
    """

    _dialect: ClassVar[Dialect]
    _population: Population
    _relations: Mapping[str, str]
    _one_row: Collection[str] = ()
    _on_failure: Callable[[Exception], None]

    def number(self, aggregate: Aggregate) -> Sensitive[int]:
        """Return the one number of an aggregate that has one public cell and one term."""
        check_number(aggregate)
        return self._run(aggregate, one_number)

    def vector(self, aggregate: Aggregate) -> Sensitive[tuple[int, ...]]:
        """Return all numbers of an aggregate with public cells: cell after cell, the terms of a cell together."""
        check_vector(aggregate)
        return self._run(aggregate, all_numbers)

    def keyed(self, aggregate: Aggregate) -> Sensitive[Mapping[CellKey, tuple[int, ...]]]:
        """Return the numbers of an aggregate whose cells only the data knows, by cell."""
        check_keyed(aggregate)
        return self._run(aggregate, numbers_by_cell)

    @abstractmethod
    def cancel(self) -> None:
        """Stop what is running, from any thread."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the database."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _run(self, aggregate: Aggregate, shape: Callable[[Aggregate, Sequence[Row]], T]) -> Sensitive[T]:
        statement = emit(aggregate, self._population, self._dialect, self._relations, self._one_row)
        return unless_it_fails(lambda: Sensitive(shape(aggregate, self._rows(statement))), self._on_failure)

    @abstractmethod
    def _rows(self, statement: Statement) -> Sequence[Row]:
        """Run `statement` and return all its rows."""
