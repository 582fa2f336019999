"""What all engines on SQL databases share: from an aggregate to its statement, and from rows to a wrapped answer.

A database adds `_rows`, which runs one statement and reads the result to the end. Whatever it raises becomes the one
opaque failure here, so nothing else may call it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import TracebackType
from typing import ClassVar, Self, TypeVar

import numpy as np

from lapwing.engines.cohort_sql import emit_counts, emit_facts
from lapwing.engines.cohorts import Cohorts, Integers
from lapwing.engines.dialect import Dialect
from lapwing.engines.emitter import Statement, emit
from lapwing.engines.engine import (
    CellKey,
    Row,
    all_numbers,
    check_keyed,
    check_number,
    check_vector,
    hide_failures,
    numbers_by_cell,
    one_number,
)
from lapwing.engines.possible import possible_counts, possible_facts
from lapwing.engines.writer import RowOf, Writer
from lapwing.queries.aggregate import Aggregate, CountPerPerson
from lapwing.queries.catalogue import Population, RowsPerPerson, Table
from lapwing.queries.predicate import Predicate
from lapwing.vocabulary.exact import as_int
from lapwing.vocabulary.sensitive import Sensitive

T = TypeVar("T")

BITMAP_MEMORY = 2**28


def is_cohort(aggregate: Aggregate) -> bool:
    """Say whether an aggregate counts people, in one cell."""
    return isinstance(aggregate.bounding, CountPerPerson) and not aggregate.keys


class SQLEngine(ABC):
    """An engine that answers with one SELECT.

    Parameters
    ----------
    population : what the tables are and hold, as declared
    relations, one_row_a_person : what `emit` is told about where the tables are
    bitmap_memory : how many bytes the bitmaps of a table may take (see `cohorts`)
    on_failure : told the reason of every failure, for the custodian's log; the reason may hold data
    """

    _dialect: ClassVar[Dialect]

    def __init__(
        self,
        population: Population,
        relations: Mapping[str, str],
        *,
        one_row_a_person: Collection[str] = (),
        bitmap_memory: int,
        on_failure: Callable[[Exception], None],
    ) -> None:
        self._population, self._relations, self._one_row = population, relations, one_row_a_person
        self._on_failure = on_failure
        memory = as_int("bitmap_memory", bitmap_memory)
        self._cohorts = Cohorts(
            read_facts=self._read_facts,
            read_counts=self._read_counts,
            one_a_person={table.name for table in population.tables if table.rows is RowsPerPerson.ONE_A_PERSON},
            memory=memory,
        )

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

    def numbers(self, aggregates: Sequence[Aggregate], *, versions: Mapping[str, int]) -> list[Sensitive[int]]:
        """Return the number of each of many aggregates; cohorts of the same table are counted together.

        Numbers may be taken from what was read for others of the same `versions` of the tables.
        """
        for aggregate in aggregates:
            check_number(aggregate)
        cohorts: dict[str, list[Predicate]] = {}
        for aggregate in filter(is_cohort, aggregates):
            cohorts.setdefault(aggregate.table, []).append(aggregate.where)

        def counted() -> dict[str, Iterator[int]]:
            count = self._cohorts.counts
            return {table: iter(count(table, where, versions=versions)) for table, where in cohorts.items()}

        counts = hide_failures(counted, self._on_failure)
        return [Sensitive(next(counts[a.table])) if is_cohort(a) else self.number(a) for a in aggregates]

    def crowded(self) -> list[str]:
        """Return the tables declared to have one row a person in which somebody has several; for custodians only."""
        ones = [
            t for t in self._population.tables if t.rows is RowsPerPerson.ONE_A_PERSON and t.name not in self._one_row
        ]
        return hide_failures(lambda: [table.name for table in ones if self._is_crowded(table)], self._on_failure)

    @abstractmethod
    def close(self) -> None:
        """Let go of the database."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _run(self, aggregate: Aggregate, shape: Callable[[Aggregate, Sequence[Row]], T]) -> Sensitive[T]:
        def answered() -> Sensitive[T]:
            statement = emit(aggregate, self._population, self._dialect, self._relations, self._one_row)
            return Sensitive(shape(aggregate, self._rows(statement)))

        return hide_failures(answered, self._on_failure)

    def _is_crowded(self, table: Table) -> bool:
        writer, row = self._writer(), RowOf(table)
        key = writer.person(row)
        statement = Statement(f"SELECT COUNT({key}), COUNT(DISTINCT {key}) FROM {writer.relation(row)}", ())
        ((rows, people),) = self._rows(statement)
        return bool(rows > people)

    def _read_facts(self, table: str, predicates: Sequence[Predicate]) -> tuple[Integers, Integers]:
        people, facts = self._columns(emit_facts(self._writer(), table, predicates))
        possible_facts(people, facts, len(predicates))
        return people, facts

    def _read_counts(self, table: str, predicates: Sequence[Predicate]) -> Sequence[int]:
        (sent,) = self._rows(emit_counts(self._writer(), table, predicates))
        return possible_counts(sent, len(predicates))

    def _writer(self) -> Writer:
        return Writer(self._dialect, self._population, self._relations)

    def _columns(self, statement: Statement) -> Sequence[Integers]:
        """Run `statement` and return its columns, all of whole numbers of 64 bits."""
        return list(np.array(self._rows(statement), np.int64).reshape(-1, 2).T)

    @abstractmethod
    def _rows(self, statement: Statement) -> Sequence[Row]:
        """Run `statement` and return all its rows."""
