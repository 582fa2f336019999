"""The contract of an engine, and what every engine does with the rows its database returned.

An engine never shows what it read. It returns wrapped whole numbers, or fails with one constant message. A database
adds `_rows`, which runs one statement and reads the result to the end; any error it raises becomes the one failure
here, so nothing else may call it.

The second line of defence is here too: an exact answer that cannot be true is a failure, and never gets as far as the
noise. Noise hides one person's contribution only while the contribution bound of the plan holds. Should a database add
up wrongly, wrap around or send a cell twice, its number must not be released. So every number is checked against public
facts: the cells of the aggregate and the contribution bounds. The checks reveal nothing about the rows. They follow
from the aggregate alone, and on a database that computes correctly they hold for all rows whatsoever
(`proofs/totality.md`): only a broken database can fail them.
"""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from lapwing.engines.cohorts import Cohorts
from lapwing.engines.derived_sql import widened_relation
from lapwing.engines.dialect import Dialect, Writer
from lapwing.engines.emitter import (
    Fact,
    Statement,
    emit,
    emit_counts,
    emit_facts,
    emit_people,
    emit_size,
    has_small_terms,
)
from lapwing.engines.grouped_atoms import Cells, emit_cells, emit_sets
from lapwing.engines.reading import hide_failures
from lapwing.engines.rows_of_person import Integers, Truths
from lapwing.engines.stored_columns import Registered
from lapwing.queries.algebra.aggregate import (
    LEVELS,
    Aggregate,
    BinnedKey,
    BoundedRowsPerPerson,
    ClippedSumPerPerson,
    CountInSets,
    CountPeopleOfTables,
    CountPerPerson,
    DeclaredKey,
    DistinctKeys,
    GridKey,
    Key,
    Label,
    LastStepPerPerson,
    PrivateKey,
    SketchedKeys,
)
from lapwing.queries.algebra.ranges import MOST_ROWS
from lapwing.queries.algebra.term import bounds
from lapwing.queries.catalogue.population import Population, RowsPerPerson
from lapwing.vocabulary.exact import Sensitive, as_int

if TYPE_CHECKING:
    from lapwing.engines.survey import TableSurvey

T = TypeVar("T")
Row: TypeAlias = Sequence[Any]
CellKey: TypeAlias = tuple[Label, ...]

BITMAP_MEMORY: Final = 2**28


class Engine(ABC):
    """A database that holds one population, and answers with one SELECT.

    `number`, `vector` and `keyed` read the same rows the same way; the caller takes the one that fits the aggregate,
    and any other is refused before data is read. What is read inside a `reading.CancelScope` can be cancelled.

    Parameters
    ----------
    population : what the tables are and hold, as declared
    registered : what its tables have become
    bitmap_memory : how many bytes the bitmaps of a table may take (see `cohorts`)
    on_failure : called with the reason of every failure, for the custodian's log; the reason may hold data

    Attributes
    ----------
    readable : for tables in files, the marks of how each of their cells was read without failure
    identities : for tables in a database, the identity of each when it was registered, to detect one in its place
    """

    _dialect: ClassVar[Dialect]

    def __init__(
        self,
        population: Population,
        registered: Registered,
        *,
        bitmap_memory: int,
        on_failure: Callable[[Exception], None],
    ) -> None:
        self._population = population
        self._relations, self._one_row = registered.relations, registered.one_row_a_person
        self.readable: Mapping[str, str] = registered.readable
        self.identities: Mapping[str, str] = registered.identities
        self._on_failure = on_failure
        self._one_a_person = {t.name for t in population.tables if t.rows is RowsPerPerson.ONE_A_PERSON}
        self._bitmap_memory = as_int("bitmap_memory", bitmap_memory)

    @cached_property
    def _cohorts(self) -> Cohorts:
        read = self._read_size, self._read_facts, self._read_counts, self._read_cells
        return Cohorts(*read, one_row=lambda table: table in self._one_row, memory=self._bitmap_memory)

    def identities_now(self) -> Mapping[str, str]:
        """Return the `identities` as they are in the database now; fail if it cannot be asked just now."""
        return self.identities

    def number(self, aggregate: Aggregate) -> Sensitive[int]:
        """Return the one number of an aggregate that has one public cell and one term."""
        check_number(aggregate)
        return self._run(aggregate, lambda asked, rows: all_numbers(asked, rows)[0])

    def vector(self, aggregate: Aggregate) -> Sensitive[tuple[int, ...]]:
        """Return all numbers of an aggregate with public cells: cell after cell, the terms of a cell together."""
        check_vector(aggregate)
        return self._run(aggregate, all_numbers)

    def in_sets(self, aggregate: Aggregate) -> list[Sensitive[tuple[int, ...]]]:
        """Return the numbers of each set of keys, of an aggregate that counts people in sets."""

        def answer() -> list[Sensitive[tuple[int, ...]]]:
            statement = emit(aggregate, self._population, self._dialect, self._relations, self._one_row)
            numbers = iter(numbers_of_cells(aggregate, self._rows(statement)))
            return [Sensitive(tuple(itertools.islice(numbers, size))) for size in aggregate.sizes]

        return hide_failures(answer, self._on_failure)

    def keyed(self, aggregate: Aggregate) -> Sensitive[Mapping[CellKey, tuple[int, ...]]]:
        """Return the numbers of an aggregate whose cells only the data knows; the keys are as secret as the counts."""
        check_keyed(aggregate)
        return self._run(aggregate, numbers_by_cell)

    def people(self, aggregate: Aggregate) -> Sensitive[Integers]:
        """Return the terms of each row that an aggregate of bounded rows adds up: one row of whole numbers for each.

        It is for a mechanism that samples people, or that sums a function of each row. No order is promised.
        """

        def answer() -> Sensitive[Integers]:
            statement = emit_people(self._writer(), aggregate, one_row=aggregate.table in self._one_row)
            return Sensitive(possible_people(aggregate, self._columns(statement, aggregate.terms)))

        return hide_failures(answer, self._on_failure)

    def numbers(self, aggregates: Sequence[Aggregate], *, versions: Mapping[str, int]) -> list[Sensitive[int]]:
        """Return the number of each of many aggregates; cohorts of the same table are counted together.

        `versions` are those of the tables, public counts that the custodian advances. Numbers may be taken from what
        was read for others of the same versions.
        """
        for aggregate in aggregates:
            check_number(aggregate)
        counts = iter(self._count_together(list(filter(is_cohort, aggregates)), versions))
        return [Sensitive(next(counts)) if is_cohort(one) else self.number(one) for one in aggregates]

    def vectors(
        self, aggregates: Sequence[Aggregate], *, versions: Mapping[str, int]
    ) -> list[Sensitive[tuple[int, ...]]]:
        """Return all numbers of each of many aggregates with public cells; cohorts are counted as by `numbers`."""
        for aggregate in aggregates:
            check_vector(aggregate)
        counts = iter(self._count_together(list(filter(is_cohort, aggregates)), versions))
        return [Sensitive((next(counts),)) if is_cohort(one) else self.vector(one) for one in aggregates]

    def _count_together(self, aggregates: Sequence[Aggregate], versions: Mapping[str, int]) -> list[int]:
        cohorts: dict[str, list[Fact]] = {}
        for aggregate in aggregates:
            cohorts.setdefault(aggregate.table, []).append(Fact(aggregate.where, aggregate.derived))

        def count_cohorts() -> dict[str, Iterator[int]]:
            count = self._cohorts.counts
            return {table: iter(count(table, where, versions=versions)) for table, where in cohorts.items()}

        counts = hide_failures(count_cohorts, self._on_failure)
        return [next(counts[one.table]) for one in aggregates]

    def survey(self) -> "list[TableSurvey]":
        """Return exact facts about every table; for custodians only, and no private answer."""
        from lapwing.engines.survey import survey_table  # noqa: PLC0415 - no question needs it

        ones = [table for table in self._population.tables if table.name in self._one_a_person]
        people = ones[0] if len(ones) == 1 else None
        tables = self._population.tables
        return hide_failures(
            lambda: [survey_table(table, people, self._writer, self._rows) for table in tables], self._on_failure
        )

    @abstractmethod
    def close(self) -> None:
        """Close the database."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, aggregate: Aggregate, shape: Callable[[Aggregate, Sequence[Row]], T]) -> Sensitive[T]:
        def answer() -> Sensitive[T]:
            statement = emit(aggregate, self._population, self._dialect, self._relations, self._one_row)
            return Sensitive(shape(aggregate, self._rows(statement)))

        return hide_failures(answer, self._on_failure)

    def _read_size(self, table: str) -> tuple[int, int]:
        (sent,) = self._rows(emit_size(self._writer(), table, one_row=table in self._one_row))
        (people,) = possible_counts(sent, 1)
        return sent[0], people

    def _read_facts(self, table: str, asked: Sequence[Fact]) -> tuple[Integers, Integers]:
        people, facts = self._columns(emit_facts(self._writer(), table, asked))
        possible_facts(people, facts, len(asked))
        return people, facts

    def _read_counts(self, table: str, asked: Sequence[Fact]) -> Sequence[int]:
        (sent,) = self._rows(emit_counts(self._writer(), table, asked))
        return possible_counts(sent, len(asked))

    def _read_cells(self, table: str, cells: Cells, wanted: Truths) -> list[int]:
        if table in self._one_row:
            return counts_of_cells(self._rows(emit_cells(self._writer(), table, cells)), wanted)
        everyone = np.ones((1, cells.count), np.bool_)
        sent = self._rows(emit_sets(self._writer(), table, cells, np.concatenate([everyone, wanted])))
        return counts_of_sets(sent, len(wanted))

    def _writer(self) -> Writer:
        return Writer(self._dialect, self._population, self._relations, widened_relation)

    def _columns(self, statement: Statement, width: int = 2) -> Sequence[Integers]:
        """Run `statement` and return its columns, `width` of them, all of whole numbers of 64 bits."""
        return list(np.array(self._rows(statement), np.int64).reshape(-1, width).T)

    @abstractmethod
    def _rows(self, statement: Statement) -> Sequence[Row]:
        """Run `statement` and return all its rows."""


@dataclass(eq=False, slots=True)
class Generation:
    """An engine on some versions of the tables, and how many questions hold it."""

    engine: Engine
    versions: Mapping[str, int]
    leases: int = 0

    def serves(self, versions: Mapping[str, int]) -> bool:
        """Return whether the engine reads these versions."""
        return versions.items() <= self.versions.items()


class Generations:
    """The engines of one population that are in use: one for all who ask about the same versions of the tables.

    When the tables have a new version a new engine is opened; questions that run end on the old one, which is closed
    with its last lease. No engine is closed under a question.

    `take` and `add` return a lease that must be given back. A thread that finds no engine takes the lock `opening`,
    looks again, and adds one: it is opened once for all that wait. Only `on_failure` gets the reason why an engine
    could not be closed.
    """

    def __init__(self, on_failure: Callable[[Exception], None]) -> None:
        self._on_failure = on_failure
        self._lock, self.opening = Lock(), Lock()
        self._all: list[Generation] = []  # the newest last
        self._closed = False

    def take(self, versions: Mapping[str, int]) -> Generation | None:
        """Hold the newest engine on these versions, if there is one."""
        with self._lock:
            found = next((one for one in reversed(self._all) if one.serves(versions)), None)
            if found is not None:
                found.leases += 1
            return found

    def add(self, engine: Engine, versions: Mapping[str, int]) -> Generation:
        """Hold a new engine on these versions of all its tables; older ones without a lease are closed."""
        made = Generation(engine, versions, leases=1)
        with self._lock:
            self._all.append(made)
        self._retire()
        return made

    def give_back(self, generation: Generation) -> None:
        """Give back a lease of an engine; with its last lease it is closed, if there is a newer one."""
        with self._lock:
            generation.leases -= 1
        self._retire()

    def close(self) -> None:
        """Close the engines without a lease; the others are closed with their last lease."""
        self._closed = True
        self._retire()

    def _retire(self) -> None:
        """Close every engine without a lease, except the newest, which the next question will want."""
        with self._lock:
            older = self._all if self._closed else self._all[:-1]
            idle = [one for one in older if not one.leases]
            self._all = [one for one in self._all if one not in idle]
        for one in idle:
            try:
                one.engine.close()
            except Exception as failure:  # noqa: BLE001 - it is gone for us, and a matter of the custodian
                self._on_failure(failure)


def is_cohort(aggregate: Aggregate) -> bool:
    """Return whether an aggregate counts people, in one cell, by what stands in their rows."""
    return isinstance(aggregate.bounding, CountPerPerson) and not aggregate.keys


def check_number(aggregate: Aggregate) -> None:
    """Refuse an aggregate that has more than one number."""
    if aggregate.cells is None or len(aggregate.cells) * aggregate.terms != 1:
        raise ValueError("this aggregate does not have exactly one number; ask for its vector or its keyed numbers")


def check_vector(aggregate: Aggregate) -> None:
    """Refuse an aggregate whose cells only the data knows."""
    if aggregate.cells is None:
        raise ValueError("this aggregate has no public cells; ask for its keyed numbers")


def check_keyed(aggregate: Aggregate) -> None:
    """Refuse an aggregate whose cells are public: its zeros would be missing."""
    if aggregate.cells is not None:
        raise ValueError("keyed numbers are for cells that only the data knows; ask for the vector")


def all_numbers(aggregate: Aggregate, rows: Iterable[Row]) -> tuple[int, ...]:
    """Return the numbers of all public cells, zero where the database sent none."""
    sent, cells, zeros = numbers_by_cell(aggregate, rows), aggregate.cells or (), (0,) * aggregate.terms
    _require(cells != ((),) or bool(sent), "no number where there always is one")
    numbers = tuple(number for cell in cells for number in sent.pop(cell, zeros))
    _require(not sent, "a cell that was not asked for")
    return numbers


def numbers_of_cells(aggregate: Aggregate, rows: Iterable[Row]) -> list[int]:
    """Return the numbers of all cells of sets: as `all_numbers` does, faster, for there are many.

    Proof: proofs/totality.md
    """
    size = sum(aggregate.sizes)
    numbers = [0] * size
    for cell, count, *more in rows:
        whole = type(cell) is int and type(count) is int and not more
        if not (whole and 0 <= cell < size and 0 < count < MOST_ROWS and not numbers[cell]):
            raise ImpossibleError("a cell that was not asked for or came twice, or a count that cannot be")
        numbers[cell] = count
    return numbers


def numbers_by_cell(aggregate: Aggregate, rows: Iterable[Row]) -> dict[CellKey, tuple[int, ...]]:
    """Return the numbers of each cell from the rows of a database: the parts of its key, then whole numbers.

    A database that sends anything else, or a number that cannot be (`possible_numbers`), has failed.
    """
    cells: dict[CellKey, tuple[int, ...]] = {}
    for row in rows:
        cell, numbers = _cell(aggregate, row)
        _require(cell not in cells, "a cell that came twice")
        cells[cell] = possible_numbers(aggregate, numbers)
    return cells


def _cell(aggregate: Aggregate, row: Row) -> tuple[CellKey, Row]:
    match aggregate.bounding:
        case DistinctKeys() | SketchedKeys():
            return (), row
        case LastStepPerPerson(steps=steps):
            passed, *numbers = row
            _require(type(passed) is int and 0 <= passed <= len(steps), "a step that does not exist")
            return (passed,), numbers
        case CountInSets():
            cell, *numbers = row
            _require(type(cell) is int, "a cell without a number")
            return (cell,), numbers
        case _:
            keys = aggregate.keys
            parts = zip(keys, row[: len(keys)], strict=True)
            return tuple(possible_label(key, part) for key, part in parts), row[len(keys) :]


class ImpossibleError(ValueError):
    """A database sent what cannot be true. Only the custodian hears of it."""


def possible_numbers(aggregate: Aggregate, sent: Sequence[Any]) -> tuple[int, ...]:
    """Return the numbers of a cell, one for each term, from what a database sent for it.

    For sums, the first number sent is how many parts were added: `parts` times the bounds of a part bound the total.

    Proof: proofs/totality.md
    """
    bounding = aggregate.bounding
    summed = isinstance(bounding, ClippedSumPerPerson | BoundedRowsPerPerson)
    _require(len(sent) == aggregate.terms + summed, "more or fewer numbers than were asked for")
    _require(all(type(number) is int for number in sent), "a number that is not whole")
    # With keys, a cell is sent only if a person is in it; without keys there is one row, even if it is empty.
    grouped = bool(aggregate.keys) and not isinstance(bounding, DistinctKeys | SketchedKeys)
    least = 1 if grouped or isinstance(bounding, LastStepPerPerson) else 0
    _require(least <= sent[0] < MOST_ROWS, "a count that cannot be")
    parts, *numbers = sent if summed else (0, *sent)
    match bounding:
        case ClippedSumPerPerson(low=low, high=high):
            _require(parts * low <= numbers[0] <= parts * high, "a total beyond the bounds of its parts")
        case BoundedRowsPerPerson():
            _require(_rows_fit(bounding, parts, numbers), "a total beyond the bounds of its rows")
        case DistinctKeys():
            cells = aggregate.cell_count
            _require(cells is None or sent[0] <= cells, "more cells than there are")
        case SketchedKeys(buckets=buckets):
            _require(sent[0] <= buckets * LEVELS, "more marks than there are places")
        case CountPerPerson() | CountPeopleOfTables() | CountInSets() | LastStepPerPerson():
            pass
    return tuple(numbers)


def possible_people(aggregate: Aggregate, columns: Sequence[NDArray[Any]]) -> Integers:
    """Return the rows of people from the columns that a database sent; one out of the bounds of its term has failed.

    Proof: proofs/totality.md
    """
    bounding = aggregate.bounding
    if not isinstance(bounding, BoundedRowsPerPerson):
        raise TypeError(bounding)
    _require(len(columns) == len(bounding.terms), "more or fewer numbers than were asked for")
    _require(len({column.shape for column in columns}) == 1, "columns of different length")
    for column, term in zip(columns, bounding.terms, strict=True):
        low, high = bounds(term)
        _require(column.dtype in (np.int16, np.int64) and not np.ma.is_masked(column), "a number that is not whole")
        _require(not len(column) or low <= column.min() <= column.max() <= high, "a number beyond its bounds")
    held = np.empty((len(columns), len(columns[0])), np.int16 if has_small_terms(bounding) else np.int64)
    for place, column in enumerate(columns):
        held[place] = column
    return held.T


def _rows_fit(bounding: BoundedRowsPerPerson, parts: int, numbers: Sequence[int]) -> bool:
    rows = parts * (1 if bounding.max_cells is None else bounding.max_rows)
    each = all(0 <= number <= rows * bounds(term)[1] for number, term in zip(numbers, bounding.terms, strict=True))
    return each and sum(numbers) <= rows * bounding.most


def possible_label(key: Key, part: Any) -> Label:
    """Return the label of a cell along a key, from what a database sent for it.

    Proof: proofs/totality.md
    """
    match key:
        case BinnedKey() | DeclaredKey() | PrivateKey() if part is None:
            _require(key.missing, "a cell for missing values that was not asked for")
            return None
        case BinnedKey(bins=bins):
            _require(type(part) is int and 0 <= part < len(bins), "a bin that there is not")
            return bins[part]
        case GridKey(width=width):
            _require(type(part) is int and part % width == 0, "a place between two cells")
            _require(0 <= part // width < key.cells, "a cell outside of the range")
            return int(part) // width
        case DeclaredKey(values=values):
            _require(type(part) is type(values[0]), "a value of another type than declared")
        case PrivateKey():
            _require(type(part) in {int, str}, "a value that is neither a number nor a text")
    label: Label = part
    return label


def possible_counts(sent: Sequence[Any], cohorts: int) -> list[int]:
    """Return the numbers of people in the `cohorts`, from what was sent: how many people there are, then these.

    Proof: proofs/totality.md
    """
    people, *counts = sent
    _require(len(counts) == cohorts, "more or fewer counts than were asked for")
    _require(all(type(number) is int for number in sent), "a number that is not whole")
    _require(0 <= people < MOST_ROWS and all(0 <= count <= people for count in counts), "more people than there are")
    return counts


def counts_of_cells(rows: Sequence[Row], wanted: Truths) -> list[int]:
    """Return the number of people in each cohort, from the number in each cell and where `wanted` is true.

    Proof: proofs/cohort_bitmaps.md
    """
    numbers: dict[int, int] = {}
    for cell, count in rows:
        whole = type(cell) is int and type(count) is int
        _require(whole and 0 <= cell < wanted.shape[1] and cell not in numbers, "a cell that was not asked for")
        _require(count > 0, "a count that cannot be")
        numbers[cell] = count
    _require(sum(numbers.values()) < MOST_ROWS, "more people than there can be")
    held = wanted[:, list(numbers)] @ np.array(list(numbers.values()), np.int64)
    return [int(count) for count in held]


def counts_of_sets(rows: Sequence[Row], cohorts: int) -> list[int]:
    """Return the number of people in each of the `cohorts`, from those that were sent: the first is everybody.

    Proof: proofs/cohort_bitmaps.md
    """
    numbers: dict[int, int] = {}
    for cohort, count in rows:
        _require(
            type(cohort) is int and 0 <= cohort <= cohorts and cohort not in numbers, "a cohort that nobody asked for"
        )
        numbers[cohort] = count
    return possible_counts([numbers.get(cohort, 0) for cohort in range(cohorts + 1)], cohorts)


def possible_facts(people: NDArray[Any], facts: NDArray[Any], atoms: int) -> None:
    """Refuse facts that are not one whole number a row with a bit for each atom.

    Proof: proofs/totality.md
    """
    for column in (people, facts):
        _require(column.dtype == np.int64 and not np.ma.is_masked(column), "facts that are not whole")
    _require(people.shape == facts.shape, "facts about nobody")
    _require(not len(facts) or 0 <= facts.min() <= facts.max() < 2**atoms, "facts that were not asked for")


def _require(holds: bool, otherwise: str) -> None:  # noqa: FBT001 - the text names the check
    if not holds:
        raise ImpossibleError(otherwise)
