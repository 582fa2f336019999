"""What an engine is, and what every engine does with the rows its database returned.

An engine never shows what it read. It returns wrapped whole numbers, or fails with one constant message: the reason of
a failure may depend on the data, so it is for the custodian's log only.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeAlias, TypeVar

from lapwing.engines.possible import ImpossibleError, possible_label, possible_numbers
from lapwing.queries.aggregate import Aggregate, DistinctKeys, Label, LastStepPerPerson
from lapwing.vocabulary.errors import EngineError
from lapwing.vocabulary.sensitive import Sensitive

T = TypeVar("T")
Row: TypeAlias = Sequence[Any]
CellKey: TypeAlias = tuple[Label, ...]


class Engine(Protocol):
    """A database that holds one population.

    All three ways of running an aggregate read the same rows the same way; the caller takes the one that fits the
    aggregate, and any other is refused before data is read. What is read inside a `cancellation.CancelScope` can be
    cancelled.
    """

    def number(self, aggregate: Aggregate) -> Sensitive[int]:
        """Return the one number of an aggregate that has one public cell and one term."""

    def vector(self, aggregate: Aggregate) -> Sensitive[tuple[int, ...]]:
        """Return all numbers of an aggregate with public cells: cell after cell, the terms of a cell together."""

    def keyed(self, aggregate: Aggregate) -> Sensitive[Mapping[CellKey, tuple[int, ...]]]:
        """Return the numbers of an aggregate whose cells only the data knows; the keys are as secret as the counts."""

    def numbers(self, aggregates: Sequence[Aggregate], *, versions: Mapping[str, int]) -> list[Sensitive[int]]:
        """Return the number of each of many aggregates, without reading a table anew for each.

        `versions` are those of the tables, public counts that the custodian advances. Numbers may be taken from what
        was read for others of the same versions.
        """

    def crowded(self) -> list[str]:
        """Return the tables declared to have one row a person in which somebody has several; for custodians only."""

    def close(self) -> None:
        """Let go of the database."""


def check_number(aggregate: Aggregate) -> None:
    """Refuse an aggregate that has more than one number."""
    if aggregate.cells is None or len(aggregate.cells) * aggregate.terms != 1:
        raise ValueError("this aggregate has not one number; ask for its vector or its keyed numbers")


def check_vector(aggregate: Aggregate) -> None:
    """Refuse an aggregate whose cells only the data knows."""
    if aggregate.cells is None:
        raise ValueError("this aggregate has no public cells; ask for its keyed numbers")


def check_keyed(aggregate: Aggregate) -> None:
    """Refuse an aggregate whose cells are public: its zeros would be missing."""
    if aggregate.cells is not None:
        raise ValueError("keyed numbers are for cells that only the data knows; ask for the vector")


def one_number(aggregate: Aggregate, rows: Iterable[Row]) -> int:
    """Return the single number of `rows`, after checking that it is what was asked for."""
    (number,) = all_numbers(aggregate, rows)
    return number


def all_numbers(aggregate: Aggregate, rows: Iterable[Row]) -> tuple[int, ...]:
    """Return the numbers of all public cells, zero where the database sent none."""
    sent = numbers_by_cell(aggregate, rows)
    zeros = (0,) * aggregate.terms
    cells = aggregate.cells or ()
    if cells == ((),) and not sent:
        raise ImpossibleError("no number where there always is one")
    numbers = tuple(number for cell in cells for number in sent.pop(cell, zeros))
    if sent:
        raise ImpossibleError("a cell that was not asked for")
    return numbers


def numbers_by_cell(aggregate: Aggregate, rows: Iterable[Row]) -> dict[CellKey, tuple[int, ...]]:
    """Return what a database sent: the parts of a cell's key, then whole numbers, one row a cell.

    A database that sends anything else, or a number that cannot be (`possible`), has failed.
    """
    cells: dict[CellKey, tuple[int, ...]] = {}
    for row in rows:
        cell, numbers = _cell(aggregate, row)
        if cell in cells:
            raise ImpossibleError("a cell that came twice")
        cells[cell] = possible_numbers(aggregate, numbers)
    return cells


def _cell(aggregate: Aggregate, row: Row) -> tuple[CellKey, Row]:
    match aggregate.bounding:
        case DistinctKeys():
            return (), row
        case LastStepPerPerson(steps=steps):
            passed, *numbers = row
            if type(passed) is not int or not 0 <= passed <= len(steps):
                raise ImpossibleError("a step that there is not")
            return (passed,), numbers
        case _:
            keys = aggregate.keys
            parts = zip(keys, row[: len(keys)], strict=True)
            return tuple(possible_label(key, part) for key, part in parts), row[len(keys) :]


def hide_failures(work: Callable[[], T], on_failure: Callable[[Exception], None]) -> T:
    """Return what `work` returns; should it fail in any way, tell the custodian why and the caller only that it failed.

    Whatever touches data runs in here. An interrupt (Ctrl-C, a signal handler that ends the process) comes out as a new
    one of its kind. Neither it nor the one failure has a cause, a context, or a traceback to frames that held a value.
    """
    try:
        return _hide_failures(work, on_failure)
    except BaseException as failure:  # noqa: BLE001 - whatever went wrong may depend on the data
        kind = failure.__class__  # no call in this block: calls are where the interpreter lets a second interrupt in
    # Outside the except block, so that the reason is no context of this error, no local here, and in no traceback.
    raise _constant(kind)


def _hide_failures(work: Callable[[], T], on_failure: Callable[[Exception], None]) -> T:
    """Tell the custodian. What is interrupted or fails in here, with the reason at hand, is forgotten one frame up."""
    try:
        return work()
    except EngineError:  # whose reason was told already, where it happened
        raise
    except Exception as failure:  # noqa: BLE001 - as above
        with suppress(Exception):
            on_failure(failure)
    raise EngineError


_INTERRUPTS = (KeyboardInterrupt, SystemExit, GeneratorExit)


def _constant(kind: type[BaseException]) -> BaseException:
    """Return what is told of a failure of this kind: the interrupt it was, or the one failure."""
    match [one for one in _INTERRUPTS if issubclass(kind, one)]:
        case [interrupt]:
            return SystemExit(1) if interrupt is SystemExit else interrupt()
        case _:
            return EngineError()
