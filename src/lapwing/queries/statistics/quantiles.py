"""Below which value a fraction of the rows lies: chosen among the cells of a grid over the range of the value.

The score of a cell is computed from the number of rows in each; `score_sensitivity` says how far the protected people
move it, and it is derived here and nowhere else. An interval in values is read from noisy counts around each quantile.

Proof: proofs/ranked_choice.md, proofs/quantile_intervals.md
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from lapwing.mechanisms.enclosed_quantiles import PARTS, EnclosedQuantiles
from lapwing.mechanisms.histogram_selection import PrivateQuantiles, Selector
from lapwing.queries.algebra.aggregate import BoundedRowsPerPerson, GridKey, cell_count
from lapwing.queries.algebra.term import ConstantTerm, bounds
from lapwing.queries.algebra.words import at_most, from_to, is_a_column, plain, rows_count, value_words
from lapwing.queries.language.builders import ConditionLike, Groupings, ValueLike, as_condition, as_groups, as_value
from lapwing.queries.language.expressions import Literal, Value
from lapwing.queries.language.sql.nodes import only
from lapwing.queries.language.sql.refusals import refusal
from lapwing.queries.limits import MOST_FRACTIONS, MOST_NUMBERS
from lapwing.queries.planning.measure import measure
from lapwing.queries.planning.plan import (
    BoundedValue,
    CellKey,
    Choosing,
    ChosenMeaning,
    Number,
    Plan,
    Scale,
    plain_number,
)
from lapwing.queries.planning.planner import Planner, Question, scale_of
from lapwing.queries.statistics.statistic import Selected, Statistic
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.exact import Exact, as_int, as_written, check_most, exact, probability
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit
from lapwing.vocabulary.wording import format_exact

_MOST_GRID_CELLS = 100_000
_USUAL_CELLS = 10_000
"""How many cells there are at most where nothing is said. Ten times as many let a quantile be a fifth further off in
the order, and the grid is hardly ever the larger error."""
_MOST_SCORES, _USUAL_SCORES = 1_000_000, 300_000
"""Cells times quantiles times groups: how many scores are drawn from, at most; and where nothing is said."""
CONFIDENCE = "0.95"
"""How sure the interval of a quantile is, where nothing else is said: the confidence at which answers are shown."""


@frozen(repr=False, eq=False)
class QuantileQuestion(Question):
    """The values below which these fractions of the rows lie."""

    value: Value
    at: tuple[Fraction, ...]
    cells: int | None
    interval: Fraction | None

    def columns_of(self, name: str, *, alone: bool) -> Mapping[str, Question]:
        """Return a question for each fraction, where there are groups or others beside it to have rows in common."""
        if len(self.at) == 1 or (alone and not self.by):
            return {name: self}
        word = "quantile" if name == "answer" else name
        return {f"{word}_{float(fraction):g}": replace(self, at=(fraction,)) for fraction in self.at}

    def called(self) -> tuple[str, dict[str, object]]:
        """Return what it is asked for with."""
        interval = "none" if self.interval is None else format_exact(self.interval)
        return "quantiles", {"of": self.value, "at": self.at, "cells": self.cells, "interval": interval}

    def plan(self, planner: Planner) -> Plan:
        """Let few rows of a person count, in all groups and all cells of the grid together."""
        check_most("quantiles", len(self.at), MOST_FRACTIONS)
        asked = planner.of_rows(self.value)
        planner.scope.holding[:] = [planner.where]
        value = measure(asked, planner.scope)
        scale = scale_of(value)
        key = GridKey(term=value.term, width=self._width(scale, cell_count(planner.keys) or 1))
        grouped = bool(planner.keys)
        bounding = BoundedRowsPerPerson(terms=(ConstantTerm(1),), most=1, max_rows=planner.rows(asked), max_cells=None)
        planner.keys = (*planner.keys, key)
        coarse = Scale(low=scale.low, step=scale.step * key.width, extent=key.cells - 1)
        if not grouped:
            return planner.build(bounding, Quantiles(at=self.at, scale=coarse, interval=self.interval))
        (fraction,) = self.at
        return planner.build(bounding, QuantileOfGroups(at=fraction, scale=coarse, interval=self.interval))

    def _width(self, scale: Scale, groups: int) -> int:
        """Return how many values are in a cell: one, if there are few enough, and else so many that edges are round."""
        if self.cells is not None:
            check_most("cells of all its quantiles", self.cells * len(self.at) * groups, _MOST_SCORES, "ask for fewer")
            return -(-(scale.extent + 1) // self.cells)
        most = min(_USUAL_CELLS, MOST_NUMBERS // groups, _USUAL_SCORES // (groups * max(len(self.at), 1)))
        return round_width(scale, max(2, most))


def round_width(scale: Scale, most: int) -> int:
    """Return the least round width for which at most `most` cells cover a scale: a function of the declared range.

    Round is a power of two where values are halves, quarters and so on, and else 1, 2 or 5 with noughts.

    >>> round_width(Scale(low=Fraction(0), step=Fraction(1), extent=120), 10_000)
    1
    >>> round_width(Scale(low=Fraction(0), step=Fraction(1), extent=35_000_000), 10_000)
    5000
    >>> round_width(Scale(low=Fraction(0), step=Fraction(1, 1024), extent=1024 * 15_000), 10_000)
    2048
    """
    least, parts = -(-(scale.extent + 1) // most), scale.step.denominator
    if parts > 1 and parts & (parts - 1) == 0:
        return 1 << (least - 1).bit_length()
    tens = int("1" + "0" * (len(str(least)) - 1))
    return next(width for width in (tens, 2 * tens, 5 * tens, 10 * tens) if width >= least)


def quantiles(
    table: str,
    of: ValueLike,
    at: Exact | Sequence[Exact],
    where: ConditionLike = None,
    *,
    by: Groupings = (),
    max_rows: int | None = None,
    cells: int | None = None,
    interval: Exact | None = CONFIDENCE,
) -> QuantileQuestion:
    """Ask below which value the fractions `at` of the rows lie; the answers are edges of `cells` cells of its range.

    Where it is not said how many, there is one for each value of the declared range, if these are at most ten thousand
    in a group and a hundred thousand in all, and else fewer with round edges. The ends of intervals are edges too.
    At most `max_rows` rows of one person count, in all groups together (the table's own number if it is not said). So
    all groups together cost what one does, however many there are.

    Each comes with an interval of values that holds whatever the rows are, at any confidence that is asked for: rows
    are counted between two cells around it. The cells are looked for as far away as the confidence `interval` takes.
    With `interval=None` (or "none", for programs) the whole price is for the choice of the value, which is nearer in
    the order then, and is told with its place there alone.

    >>> quantiles("visits", "nights", ["0.25", "0.5", "0.75"], max_rows=3).at
    (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
    """
    fractions = [at] if isinstance(at, str) or not isinstance(at, Sequence) else list(at)
    return QuantileQuestion(
        table=table,
        value=as_value(of),
        at=tuple(sorted({probability("at", as_written(fraction)) for fraction in fractions})),
        where=as_condition(where),
        by=as_groups(by),
        max_rows=max_rows,
        cells=None if cells is None else as_int("cells", cells, least=2, most=_MOST_GRID_CELLS),
        interval=None if interval in (None, "none") else probability("interval", as_written(interval)),
    )


def median(
    table: str,
    of: ValueLike,
    where: ConditionLike = None,
    *,
    by: Groupings = (),
    max_rows: int | None = None,
    cells: int | None = None,
    interval: Exact | None = CONFIDENCE,
) -> QuantileQuestion:
    """Ask for the value in the middle; `by`, `max_rows`, `cells` and `interval` are those of `quantiles`."""
    return quantiles(table, of, "0.5", where, by=by, max_rows=max_rows, cells=cells, interval=interval)


def score_sensitivity(fraction: Fraction, rows: int, unit: PrivacyUnit, *, groups: int = 1) -> int:
    """Return how far the protected people move scores, if each has at most `rows` rows in all groups together.

    It is the sum over `groups` of how far the score of a cell moves there.

    The score for the fraction a/b is how far b * (rows below) is from a * (all rows). A row that comes or goes moves it
    by b - a if it is below and by a if it is not; a row that takes the place of another by b at most, and if it leaves
    one group and enters another, by the larger of a and b - a in both. Protected people move it as far as all their
    rows together.

    Proof: proofs/ranked_choice.md
    """
    a, b = fraction.numerator, fraction.denominator
    came_or_went = max(a, b - a)
    replaced = b if groups == 1 else 2 * came_or_went
    of_one_row = came_or_went if unit.adjacency is Adjacency.ADD_REMOVE else replaced
    return of_one_row * rows * unit.protects_groups_of


@frozen()
class _Ranked(ChosenMeaning):
    """What quantiles are told with: a place in the order, and an interval of values where its ends are chosen too."""

    unit = "rows in the order"
    accurate = "its place in the order within {margin} rows"  # no distance in years or francs
    scale: Scale
    interval: Fraction | None

    @property
    @abstractmethod
    def fractions(self) -> tuple[Fraction, ...]:
        """The fractions that are asked for."""

    @property
    def choices(self) -> int:
        """In how many parts the price is shared: those of different groups are about different rows, and share none."""
        return len(self.fractions) * (1 if self.interval is None else PARTS)

    @property
    def has_one_value(self) -> bool:
        """Whether one fraction is asked for."""
        return len(self.fractions) == 1

    def accuracy(self, margin: Number) -> str:
        """Say what a margin means, and that an interval comes with the answer."""
        told = ChosenMeaning.accuracy(self, margin)
        enclosed = f"an interval of values that comes with the answer, and {told} for all data"
        return told if self.interval is None else enclosed

    def usual(self, chooser: Choosing, confidence: Exact) -> Number | None:
        """Return about how far off an enclosed value is in the order where rows lie evenly."""
        return chooser.usual(confidence) if isinstance(chooser, EnclosedQuantiles) else None

    def selection(self, plan: Plan, epsilon: Fraction, selector: Selector) -> PrivateQuantiles | EnclosedQuantiles:
        """Return the mechanism that chooses, and that counts where there are intervals."""
        cells, rows, at = _grid(plan).cells, _rows(plan), self.fractions
        groups = (plan.aggregate.cell_count or 0) // cells
        moved = [score_sensitivity(fraction, rows, plan.unit, groups=groups) for fraction in at]
        if self.interval is None:
            return PrivateQuantiles(
                at=at, cells=cells, groups=groups, sensitivities=moved, epsilon=epsilon, selector=selector
            )
        return EnclosedQuantiles(
            at=at,
            cells=cells,
            groups=groups,
            sensitivities=moved,
            l1_sensitivity=plan.sensitivity.l1,
            epsilon=epsilon,
            selector=selector,
            interval=self.interval,
        )

    def _told(
        self,
        plan: Plan,
        keys: Sequence[CellKey],
        chosen: Sequence[int],
        ends: Sequence[tuple[int, int]] | None,
    ) -> list[BoundedValue]:
        """Return the lower edges of cells, between the `ends` of their intervals where there are any.

        The ends are those of the first value of the lowest cell, and of the last one of the highest: all values of the
        cells between them are inside.
        """
        scale, width = self.scale, _grid(plan).width
        least, most = bounds(_grid(plan).term)
        values = []
        for place, (key, cell) in enumerate(zip(keys, chosen, strict=True)):
            low = high = None
            if ends is not None:
                low = plain_number(scale.low + min(cell, ends[place][0]) * scale.step)
                last = (max(cell, ends[place][1]) + 1) * width - 1
                high = plain_number(scale.low + min(last, most - least) * scale.step / width)
            values.append(BoundedValue(key=key, value=plain_number(scale.low + cell * scale.step), low=low, high=high))
        return values


@stored("quantiles")
class Quantiles(_Ranked):
    """The values below which the fractions `at` of the rows lie, from a histogram with `scale.extent` + 1 cells."""

    row_name = "fraction"
    rows_are_fractions = True
    told_in_a_sentence = True
    told = "each has its place in the order within {margin} rows"
    at: tuple[Fraction, ...]

    @property
    def fractions(self) -> tuple[Fraction, ...]:
        """Those that one release chooses, each for itself."""
        return self.at

    def values(self, plan: Plan, released: Sequence[int], chooser: Choosing, confidence: Exact) -> list[BoundedValue]:
        """Return the lower edges of the chosen cells, with their intervals.

        Each was chosen for itself, so they may cross. Sorting them costs nothing, and none gets worse: of places that
        are all within a margin of theirs, so are the sorted ones; and so are sorted ends.
        """
        chosen, ends = _cells_and_ends(chooser, released, confidence)
        keys = [(str(fraction),) for fraction in self.at]
        ordered = None if ends is None else list(zip(*map(sorted, zip(*ends, strict=True)), strict=True))
        return self._told(plan, keys, sorted(chosen), ordered)

    def asked(self, plan: Plan) -> str:
        """Say which quantiles, of which value; the one at a half is the median."""
        term = _grid(plan).term
        value = value_words([term], as_it_is=is_a_column(term))
        if self.at == (Fraction(1, 2),):
            return f"the median of {value}"
        several = "quantiles" if len(self.at) > 1 else "quantile"
        return f"the {several} of {value} at {', '.join(str(fraction) for fraction in self.at)}"

    def bounding(self, plan: Plan) -> str:
        """Say how many rows of a person count."""
        return f"{rows_count(plan.aggregate, _rows(plan), None)}; a public rule picks which."

    def bounds_away(self, plan: Plan) -> tuple[str, ...]:
        """Say how many rows of a person count, and to what values are clipped."""
        return at_most(_rows(plan), "row"), _clipped(plan, self.scale)


@stored("quantile-of-groups")
class QuantileOfGroups(_Ranked):
    """The value below which the fraction `at` of the rows of each group lies."""

    keys_are_groups = True
    hides = (
        "one person moves the orders of all groups by at most {plan.sensitivity.linf}, and the choice hides that much"
    )
    told = "each has its place in the order of its group within {margin} rows"
    at: Fraction

    @property
    def fractions(self) -> tuple[Fraction, ...]:
        """The fraction that is asked for."""
        return (self.at,)

    def values(self, plan: Plan, released: Sequence[int], chooser: Choosing, confidence: Exact) -> list[BoundedValue]:
        """Return the lower edge of the chosen cell of each group, with its interval."""
        chosen, ends = _cells_and_ends(chooser, released, confidence)
        return self._told(plan, list(dict.fromkeys(cell[:-1] for cell in plan.aggregate.cells or ())), chosen, ends)

    def asked(self, plan: Plan) -> str:
        """Say at which fraction, of which value."""
        term = _grid(plan).term
        return f"the quantile of {value_words([term], as_it_is=is_a_column(term))} at {self.at}"

    def bounding(self, plan: Plan) -> str:
        """Say how many rows of a person count."""
        return f"{rows_count(plan.aggregate, _rows(plan), None)}, in all groups together; a public rule picks which."

    def bounds_away(self, plan: Plan) -> tuple[str, ...]:
        """Say how many rows of a person count, and to what values are clipped."""
        return f"{at_most(_rows(plan), 'row')} in all groups together", _clipped(plan, self.scale)


def _cells_and_ends(
    chooser: Choosing, released: Sequence[int], confidence: Exact
) -> tuple[list[int], list[tuple[int, int]] | None]:
    """Return the cells of the quantiles and, where they are enclosed, the first and last cells of their intervals."""
    if isinstance(chooser, PrivateQuantiles):
        return list(released), None
    if not isinstance(chooser, EnclosedQuantiles):
        raise TypeError(chooser)
    spans = chooser.spans(released)
    return [one.value() for one in spans], [chooser.ends(one, confidence) for one in spans]


def _clipped(plan: Plan, scale: Scale) -> str:
    key = _grid(plan)
    least, most = bounds(key.term)
    clipped = f"values clipped to {from_to(scale.low, scale.low + (most - least) * scale.step / key.width)}"
    return clipped if key.width == 1 else f"{clipped} and rounded down to steps of {plain(scale.step)} from there"


def _rows(plan: Plan) -> int:
    return plan.bounded_by(BoundedRowsPerPerson).max_rows


def _grid(plan: Plan) -> GridKey:
    (key,) = (key for key in plan.aggregate.keys if isinstance(key, GridKey))
    return key


def _read(selected: Selected, node: exp.Expr) -> QuantileQuestion:
    """Read median(x), quantile_cont(x, 0.9), and percentile_cont(0.9) within group (order by x)."""
    at: list[exp.Expr] = [exp.Literal.number("0.5")]
    match node:
        case exp.Median():
            only(node, "this")
            of = node.this
        case exp.PercentileCont():
            only(node, "this", "expression")
            of, several = node.this, node.expression
            if isinstance(several, exp.Array):
                only(several, "expressions")
                at = several.expressions
            else:
                at = [several]
        case _:
            only(node, "this", "expression")
            of, at = _read_within_group(node)
    value = selected.reader.value(of)
    fractions = [selected.reader.value(each) for each in at]
    numbers = [exact("number", each.value if isinstance(each, Literal) else each) for each in fractions]
    plain = quantiles(selected.table, value, numbers)
    return QuantileQuestion(
        value=plain.value,
        at=plain.at,
        cells=plain.cells,
        interval=plain.interval,
        **{**selected.common, "max_groups": None},
    )


def _read_within_group(node: exp.Expr) -> tuple[exp.Expr, list[exp.Expr]]:
    inner, order = node.this, node.expression
    if isinstance(inner, exp.PercentileCont) and isinstance(order, exp.Order) and len(order.expressions) == 1:
        only(inner, "this")
        only(order, "expressions")
        only(order.expressions[0], "this", "nulls_first")
        return order.expressions[0].this, [inner.this]
    raise refusal(inner if isinstance(inner, exp.PercentileDisc) else node)


STATISTICS = (
    Statistic(
        name="median",
        ask=median,
        result="median",
        columns=1,
        sql={
            exp.Median: ("median", _read),
            exp.PercentileCont: ("quantile", _read),
            exp.WithinGroup: ("quantile", _read),
        },
    ),
    Statistic(
        name="quantiles",
        ask=quantiles,
        result="value",
        columns=1,
        needs={"at": "--at 0.25,0.5,0.75"},
    ),
)
