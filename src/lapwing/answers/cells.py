"""One number of an answer for people and for programs: its words, its bounds, and over how many rows it is."""

from collections.abc import Sequence
from typing import Any

from lapwing.queries.plan import BoundedValue, Number
from lapwing.vocabulary.wording import format_exact, format_short, format_value, rounded


def rows_names(counted: Sequence[str]) -> list[str]:
    """Return the names of the columns that say over how many rows these columns were computed."""
    return ["rows"] if len(counted) == 1 else [f"rows of {name}" for name in counted]


def cell_record(cell: BoundedValue) -> dict[str, Any]:
    """Return a value, its bounds and its number of rows as JSON values: exactly, and `rounded` beside it."""
    parts = {"value": cell.value, "low": cell.low, "high": cell.high}
    return {
        **({} if cell.rows is None else {"rows": cell_record(cell.rows)}),
        **{name: format_exact(part) for name, part in parts.items()},
        "rounded": {name: rounded(part) for name, part in parts.items()},
    }


def cell_text(cell: BoundedValue) -> str:
    """Return a value for people to read, with its margin, or with its bounds where one is nearer than the other."""
    if cell.low is None or cell.high is None or isinstance(cell.value, str):
        return format_value(cell.value)
    below, above = format_short(cell.value - cell.low), format_short(cell.high - cell.value)
    if below == above:
        return f"{format_value(cell.value)} ± {above}"
    return f"{format_value(cell.value)} ({format_value(cell.low)} to {format_value(cell.high)})"


def reach(cell: BoundedValue) -> Number | None:
    """Return how far a value is from the farther of its bounds."""
    if cell.low is None or cell.high is None or isinstance(cell.value, str):
        return None
    return max(cell.high - cell.value, cell.value - cell.low)
