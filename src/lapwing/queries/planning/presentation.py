"""How the rows of an answer are shown: which of them, in which order, under which names.

It is computed from released numbers, noise and all, so it costs nothing and moves no number: the same question in
another order is the same question. A filter or a limit sees what was released, not what is true: a group that is a
little larger than another may stand below it, and a group near the limit of HAVING may be on the wrong side.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from datetime import date
from fractions import Fraction
from typing import Any, Final

from lapwing.queries.algebra.aggregate import BinnedKey, KeyOfColumn
from lapwing.queries.language.expressions import Applied, By, Spelled
from lapwing.queries.planning.measure import as_step, step_width
from lapwing.queries.planning.plan import BoundedValue, CellKey, Steps, value_of_bins
from lapwing.queries.planning.windows import AnswerWindow, Cells, Place, PlaceInOrder, Sorting, sort_rows, value_at
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.wording import format_short

_COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SHARE_OF_ROWS = 50


@frozen(kw_only=False)
class Kept:
    """Rows whose released number, or whose key, compares so with a constant."""

    by: Place
    name: str
    comparison: str
    limit: int | Fraction | str

    def keeps(self, value: Any) -> bool:
        """Say whether a row with this value stays; a day compares as it is written."""
        value = value.isoformat() if isinstance(value, date) else value
        if isinstance(value, str) is not isinstance(self.limit, str):
            return False
        return _COMPARISONS[self.comparison](value, self.limit)


@frozen(kw_only=False)
class Quotient:
    """A weighted sum of columns over another: `above` and `below` have the weights; where nothing is below, it is 1.

    Its bounds are those of the noise of all columns together: proofs/quotients.md. Of a `root` the square root is told.
    `digits` are those it is rounded to.
    """

    above: tuple[tuple[str, Fraction], ...]
    below: tuple[tuple[str, Fraction], ...] = ()
    digits: int | None = None
    root: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that it is computed from, each once."""
        return tuple(dict.fromkeys(name for name, _ in (*self.above, *self.below)))

    def words_with(self, names: Mapping[str, str]) -> str:
        """Return how it is computed, with what its columns are called."""
        sides = [[(names[name], weight) for name, weight in parts] for parts in (self.above, self.below) if parts]
        return f"{'the square root of ' * self.root}{' over '.join(map(_summed, sides))}"

    def told(self, cell: BoundedValue) -> BoundedValue:
        """Return a value as it is told: its root if that is asked for, rounded to `digits`, its bounds outwards.

        Proof: proofs/quotients.md
        """
        return self._rounded(_root(cell) if self.root else cell)

    def _rounded(self, cell: BoundedValue) -> BoundedValue:
        if self.digits is None or isinstance(cell.value, str):
            return cell
        unit = 10.0**self.digits
        low = None if cell.low is None else math.floor(cell.low * unit) / unit
        high = None if cell.high is None else math.ceil(cell.high * unit) / unit
        value = None if cell.value is None else round(float(cell.value), self.digits)
        return BoundedValue(key=cell.key, value=value, low=low, high=high)


def _summed(parts: Sequence[tuple[str, Fraction]]) -> str:
    words = ""
    for name, weight in parts:
        size = "" if abs(weight) == 1 else f"{format_short(abs(weight))} * "
        sign = ("-" if weight < 0 else "") if not words else " - " if weight < 0 else " + "
        words += f"{sign}{size}{name}"
    return words if len(parts) == 1 else f"({words})"


@frozen(kw_only=False)
class LabelledRows:
    """Numbers of several SELECTs as rows of one table, each with its labels: a UNION ALL.

    `names` are those of the labels and `columns` those of the numbers; each of the `rows` has its labels and the names
    under which its numbers are known.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[CellKey, tuple[str, ...]], ...]

    def confidence_of_each(self, confidence: Fraction) -> Fraction:
        """Return with what confidence each row is bounded so that a column is with the one that is given."""
        return 1 - (1 - confidence) / len(self.rows)

    def table(self, cells: Mapping[str, BoundedValue]) -> dict[CellKey, dict[str, BoundedValue]]:
        """Return the rows of numbers that are known by name."""
        return {
            key: {column: replace(cells[name], key=key) for column, name in zip(self.columns, names, strict=True)}
            for key, names in self.rows
        }

    def of_column(self, column: str) -> list[str]:
        """Return the names under which the numbers of a column are known."""
        return [names[self.columns.index(column)] for _, names in self.rows]


@frozen()
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
    squares : the columns of which the square is told: correlations, as the share of the variance that a line explains
    samples : variances and covariances that are told as those of a sample: over one row less
    columns : the numbers that are told, where not all are
    made : those of them that are computed from others
    windows : sums over several rows of which some of these are computed, by a name
    ranks : those of them that are places in an order
    labelled : the rows that several numbers are told in, where each has labels of its own
    steps : the widths of keys that are told by their lower ends
    beside : the numbers that are of no group, such as that of all rows, and are computed with in each group
    """

    names: tuple[str | None, ...] = ()
    having: tuple[Kept, ...] = ()
    order: tuple[Sorting, ...] = ()
    first: int | None = None
    skipped: int = 0
    roots: frozenset[str] = frozenset()
    squares: frozenset[str] = frozenset()
    samples: frozenset[str] = frozenset()
    columns: tuple[str, ...] = ()
    made: Mapping[str, Quotient] = field(default_factory=dict)
    windows: Mapping[str, AnswerWindow] = field(default_factory=dict)
    ranks: Mapping[str, PlaceInOrder] = field(default_factory=dict)
    labelled: LabelledRows | None = None
    steps: Steps = field(default_factory=dict)
    beside: frozenset[str] = frozenset()

    def told(self, name: str, cell: BoundedValue) -> BoundedValue:
        """Return a number of a column as it is told; a root rises with its number, so its bounds are roots too."""
        if name in self.squares and not isinstance(cell.value, str):
            return _squared(cell)
        if name not in self.roots or isinstance(cell.value, str):
            return cell
        return _root(cell)

    def confidences(self, name: str, confidence: Fraction) -> tuple[Fraction, ...]:
        """Return at which confidences a column is wanted: of the variance of a sample, also for its number of rows.

        That has a part of the chance to err: proofs/quotients.md.
        """
        for_rows = (1 - confidence) / _SHARE_OF_ROWS
        return (confidence + for_rows, 1 - for_rows) if name in self.samples else (confidence,)

    def combined(self, name: str, cells: list[BoundedValue], *of_rows: list[BoundedValue]) -> list[BoundedValue]:
        """Return what a column tells, from what it was at each of its `confidences`."""
        if of_rows:
            rows = {cell.key: cell.rows for cell in of_rows[0]}
            cells = [of_sample(cell, rows[cell.key]) for cell in cells]
        return [self.told(name, cell) for cell in cells]

    def check_within(self, margin: Fraction) -> None:
        """Refuse to promise a margin for what is computed from answers: it depends on what comes out."""
        if self.made or self.ranks:
            reason = "cannot be promised for what is computed from answers"
            remedy = "offer an epsilon; the answer comes with its interval"
            raise ParameterError("within", margin, reason=reason, remedy=remedy)

    def check_having(self, keys: Sequence[KeyOfColumn]) -> None:
        """Refuse to compare a bin with a constant where it takes two values to tell one."""
        for kept in self.having:
            if self._told_by(kept.by, keys) is None:
                raise BadQuestionError(
                    f"HAVING compares one value, and a bin of {kept.name!r} has two ends; say it of the column in WHERE"
                )

    def kept(self, table: Cells, keys: Sequence[CellKey], kinds: Sequence[KeyOfColumn]) -> list[CellKey]:
        """Return the rows that HAVING keeps, of these in their own order; `kinds` are those of their keys."""
        rows = list(keys)
        for kept in self.having:
            told = self._told_by(kept.by, kinds) or _as_it_is
            values = [value_at(table, key, kept.by) for key in rows]
            rows = [
                key for key, value in zip(rows, values, strict=True) if value is not None and kept.keeps(told(value))
            ]
        return rows

    def shown(self, table: Cells, keys: Sequence[CellKey]) -> list[CellKey]:
        """Return the rows that are shown, of those that are kept."""
        return sort_rows(table, keys, self.order)[self.skipped :][: self.first]

    def sources(self, name: str) -> set[str]:
        """Return the columns that were released and that a column is computed from."""
        if self.labelled is not None and name in self.labelled.columns:
            return {each for one in self.labelled.of_column(name) for each in replace(self, labelled=None).sources(one)}
        if name in self.ranks:
            return {one.by for one in self.ranks[name].order if isinstance(one.by, str)}
        names = self.made[name].names if name in self.made else (name,)
        return {self.windows[each].column if each in self.windows else each for each in names}

    def _told_by(self, by: Place, kinds: Sequence[KeyOfColumn]) -> Callable[[Any], Any] | None:
        """Return how a key or a number is told as one value; None if it takes two, the ends of a bin."""
        if not isinstance(by, int) or not isinstance(kind := kinds[by], BinnedKey):
            return _as_it_is
        return value_of_bins(kind, self.steps.get(by))

    def named(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of the keys, where these are those of their columns."""
        given = self.names + (None,) * (len(keys) - len(self.names))
        return tuple(name or key for name, key in zip(given, keys, strict=False))

    def _words_of(self, quotient: Quotient) -> str:
        """Return how a column is computed, with its windows in words."""
        named = ((each, self.windows[each].words if each in self.windows else each) for each in quotient.names)
        return quotient.words_with(dict(named))

    @property
    def words(self) -> str:
        """What is done with the released numbers, in plain English; nothing if nothing is."""
        parts = [
            f"the square root of the variance{' of a sample' * (name in self.samples)} is told as {name}"
            for name in sorted(self.roots)
        ]
        parts += [f"the square of the correlation is told as {name}" for name in sorted(self.squares)]
        parts += [f"{name} is over one row less" for name in sorted(self.samples - self.roots)]
        parts += [f"{name} is {self._words_of(quotient)}" for name, quotient in self.made.items()]
        parts += [f"{name} is {ranked.words}" for name, ranked in self.ranks.items()]
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


def _root(cell: BoundedValue) -> BoundedValue:
    """Return the square root of a number, which is taken as 0 below 0; it is missing where all it can be is below 0.

    Proof: proofs/quotients.md
    """
    if isinstance(cell.value, str) or (cell.high is not None and cell.high < 0):
        return BoundedValue(key=cell.key, value=None, low=None, high=None)
    value, low, high = (None if n is None else math.sqrt(max(0, n)) for n in (cell.value, cell.low, cell.high))
    return BoundedValue(key=cell.key, value=value, low=low, high=high)


def _squared(cell: BoundedValue) -> BoundedValue:
    """Return the square of a number: of what may be 0 it is at least 0."""
    if cell.low is None or cell.high is None:
        low = high = None
    else:
        ends = sorted((float(cell.low) ** 2, float(cell.high) ** 2))
        low, high = (0.0 if cell.low <= 0 <= cell.high else ends[0]), ends[1]
    return BoundedValue(
        key=cell.key, value=None if cell.value is None else float(cell.value) ** 2, low=low, high=high, rows=cell.rows
    )


def of_sample(variance: BoundedValue, rows: BoundedValue | None) -> BoundedValue:
    """Return the variance or covariance of a sample: over one row less. Its size falls with the number of rows.

    There are two rows at least. Proof: proofs/quotients.md
    """

    def times(number: Any, many: Any) -> float:
        return float(number) * (1 + 1 / (max(2, int(many)) - 1))

    if rows is None or variance.low is None or variance.high is None or isinstance(variance.value, str):
        return variance
    low = times(variance.low, rows.high if variance.low >= 0 else rows.low)
    high = times(variance.high, rows.low if variance.high >= 0 else rows.high)
    value = None if variance.value is None else times(variance.value, rows.value)
    if value is not None:
        low, high = min(low, value), max(high, value)
    return BoundedValue(key=variance.key, value=value, low=low, high=high, rows=variance.rows)


def arranged_together(several: Sequence[Arrangement]) -> Arrangement:
    """Return how an answer is shown of which several columns say how: the first says the order of its rows."""
    roots = frozenset().union(*(one.roots for one in several))
    squares = frozenset().union(*(one.squares for one in several))
    samples = frozenset().union(*(one.samples for one in several))
    return replace(several[0], roots=roots, squares=squares, samples=samples)


def with_steps(arrangement: Arrangement | None, by: Sequence[By]) -> Arrangement | None:
    """Return how an answer is shown whose rows are grouped so: steps, other than bins, are told by their lower ends."""
    values = [as_step(one.column.value if isinstance(one.column, Spelled) else one.column) for one in by]
    widths = {
        place: step_width(value.argument)
        for place, (one, value) in enumerate(zip(by, values, strict=True))
        if one.edges is None and isinstance(value, Applied) and value.function == "step"
    }
    return replace(arrangement or AS_IT_IS, steps=widths) if widths else arrangement


def _as_it_is(value: Any) -> Any:
    return value


def _plain(limit: int | Fraction | str) -> str:
    return repr(limit) if isinstance(limit, str) else format_short(limit)
