"""Means, variances, covariances and correlations, at the price of one count: from sums of Bernstein polynomials.

One release of the sums of one value gives the number of rows, the mean and the variance together; of products of the
polynomials of two values, their covariance and correlation.

Proof: proofs/bernstein_moments.md, proofs/moment_intervals.md
"""

import itertools
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Unpack

from sqlglot import exp

from lapwing.mechanisms.weighted_sums import WholeNoise, margin_of_equal_sum
from lapwing.queries.algebra.aggregate import BoundedRowsPerPerson
from lapwing.queries.algebra.term import Term
from lapwing.queries.algebra.words import from_to, groups_at_most, leaves, picked_rows, rows_at_most, value_words
from lapwing.queries.language.builders import ConditionLike, ValueLike, as_condition, as_value
from lapwing.queries.language.expressions import Case, Literal, TruthOf, Value
from lapwing.queries.language.sql.nodes import only
from lapwing.queries.planning.deriving import can_be_unknown
from lapwing.queries.planning.measure import Measure
from lapwing.queries.planning.plan import (
    BoundedValue,
    CellKey,
    Estimate,
    Family,
    Noise,
    NoisyMeaning,
    Plan,
    Scale,
    plain_number,
)
from lapwing.queries.planning.planner import MOST_STEPS, Planner, Question, scale_of
from lapwing.queries.planning.presentation import Arrangement
from lapwing.queries.statistics.bernstein import Moment, basis, coarser, moment, products, unrounded
from lapwing.queries.statistics.counts import People
from lapwing.queries.statistics.moment_intervals import is_known, moment_interval
from lapwing.queries.statistics.statistic import GroupWords, Selected, Statistic, rows_of
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact
from lapwing.vocabulary.frozen import frozen

_DEGREES = {Moment.MEAN: 1, Moment.VARIANCE: 2, Moment.COVARIANCE: 1, Moment.CORRELATION: 2}
"""The degree of the polynomials whose sums give a moment."""
_MOST_PRODUCT = 2**48
"""What a row adds to the sums before it is rounded: every database computes products of four so large exactly."""


_KNOWN_AT = "0.95"
"""The confidence at which a value is told, or missing."""


@frozen(repr=False, eq=False)
class MomentQuestion(Question):
    """The mean, variance, covariance or correlation of one or two values."""

    moment: Moment
    values: tuple[Value, ...]

    def called(self) -> tuple[str, dict[str, object]]:
        """Return what it is asked for with."""
        return self.moment.value, dict(zip(("of",) if len(self.values) == 1 else ("x", "y"), self.values, strict=True))

    def plan(self, planner: Planner) -> Plan:
        """Let few rows of a person count, in all groups together or in each of few."""
        asked = tuple(map(planner.of_rows, self.values))
        degree, rows, groups = _DEGREES[self.moment], planner.rows(*asked), planner.groups_of_rows()

        def most(values: list[Measure]) -> int:
            return math.prod(scale_of(value).extent ** degree for value in values)

        often = rows * (groups or 1)
        if self.moment is Moment.CORRELATION:  # of products of four the grids of the values would be coarse
            values = planner.measure(asked, most, _MOST_PRODUCT, lambda value: scale_of(value).extent)
        else:
            values = planner.measure(asked, lambda values: often * most(values))
        terms = products([basis(value.term, degree) for value in values])
        terms, unit = coarser(terms, most(values), max(1, MOST_STEPS // often))
        bounding = BoundedRowsPerPerson(terms=terms, most=unit, max_rows=rows, max_cells=groups)
        scales = tuple(scale_of(value) for value in values)
        return planner.build(bounding, Moments(moment=self.moment, scales=scales))


def mean(table: str, of: ValueLike, where: ConditionLike = None, **grouped: Unpack[GroupWords]) -> MomentQuestion:
    """Ask for the mean of a value over rows.

    Parameters
    ----------
    table : the table to look in
    of : a column, or arithmetic on columns such as "clip(cost, 0, 500)"
    where : which rows, as SQL text or built with `col`
    grouped : `by=`, columns to group by; for tables with many rows a person also `max_rows=`, how many rows of one
        person count in all groups together (the table's own number if it is not said); with `max_groups=N` as many
        count in each of N groups, which costs N times as much

    >>> mean("visits", "nights", "kind = 'ER'", max_rows=3).max_rows
    3
    """
    return _ask(Moment.MEAN, (of,), rows_of(table, where, **grouped))


@frozen(repr=False, eq=False)
class ProportionQuestion(MomentQuestion):
    """The part of the rows for which a condition is true, of those for which it is true or false."""

    def called(self) -> tuple[str, dict[str, object]]:
        """Return its condition, as that of a proportion."""
        return "proportion", {"of": self.values[0]}

    def plan(self, planner: Planner) -> Plan:
        """Plan the mean of 1 and 0; a condition that is never unknown is one case, and 0 otherwise."""
        match self.values:
            case (TruthOf(condition),) if not can_be_unknown(condition, planner.scope):
                met = Case(((condition, Literal(1)),), Literal(0))
                return replace(self, values=(met,)).plan(planner)
            case _:
                return MomentQuestion.plan(self, planner)


def proportion(
    table: str, of: ConditionLike, where: ConditionLike = None, **grouped: Unpack[GroupWords]
) -> MomentQuestion:
    """Ask which part of the rows that `where` keeps has `of` true, from 0 to 1, at the price of one count.

    It is the mean of 1 where the condition is true and 0 where it is false, so that two counts of different rows are
    released. Rows for which it is unknown, because a value is missing, are left out, as avg(condition) does.

    The words `by=`, `max_rows=` and `max_groups=` are those of `mean`.

    >>> proportion("patients", "age >= 65", by="sex").moment
    <Moment.MEAN: 'mean'>
    """
    rows = rows_of(table, where, **grouped)
    return ProportionQuestion(moment=Moment.MEAN, values=(TruthOf(as_condition(of)),), **rows)


def variance(table: str, of: ValueLike, where: ConditionLike = None, **grouped: Unpack[GroupWords]) -> MomentQuestion:
    """Ask for the variance of a value over rows; `by=`, `max_rows=` and `max_groups=` are those of `mean`."""
    return _ask(Moment.VARIANCE, (of,), rows_of(table, where, **grouped))


@frozen(eq=False)
class StddevQuestion(MomentQuestion):
    """The standard deviation of a value: the root of its variance, of a `sample` over one row less."""

    sample: bool

    def called(self) -> tuple[str, dict[str, object]]:
        """Return its value, and whether it is that of a sample."""
        return "stddev", {"of": self.values[0], "sample": self.sample}

    def arranged(self, name: str) -> Arrangement:
        """Return that the root of the variance is told."""
        return Arrangement(roots=frozenset({name}), samples=frozenset({name} if self.sample else ()))


def stddev(
    table: str, of: ValueLike, where: ConditionLike = None, *, sample: bool = True, **grouped: Unpack[GroupWords]
) -> StddevQuestion:
    """Ask for the standard deviation of a value over rows, in the unit of the value; it costs what the variance does.

    It is that of a `sample`, over one row less, as stddev and stddev_samp of SQL; without, that of all rows, as
    stddev_pop. `by=`, `max_rows=` and `max_groups=` are those of `mean`.

    >>> stddev("patients", "age").moment
    <Moment.VARIANCE: 'variance'>
    """
    return StddevQuestion(
        moment=Moment.VARIANCE, values=(as_value(of),), sample=sample, **rows_of(table, where, **grouped)
    )


def covariance(
    table: str, x: ValueLike, y: ValueLike, where: ConditionLike = None, **grouped: Unpack[GroupWords]
) -> MomentQuestion:
    """Ask for the covariance of two values over rows; `by=`, `max_rows=` and `max_groups=` are those of `mean`."""
    return _ask(Moment.COVARIANCE, (x, y), rows_of(table, where, **grouped))


def correlation(
    table: str, x: ValueLike, y: ValueLike, where: ConditionLike = None, **grouped: Unpack[GroupWords]
) -> MomentQuestion:
    """Ask for the correlation of two values over rows; `by=`, `max_rows=` and `max_groups=` are those of `mean`."""
    return _ask(Moment.CORRELATION, (x, y), rows_of(table, where, **grouped))


def _ask(moment: Moment, values: tuple[ValueLike, ...], rows: dict[str, Any]) -> MomentQuestion:
    return MomentQuestion(moment=moment, values=tuple(map(as_value, values)), **rows)


def row_count(key: CellKey, sums: Sequence[int], unit: int, noise: WholeNoise, chance: float) -> BoundedValue:
    """Return the number of rows in a cell with its bounds: a row adds `unit` to its sums together.

    Proof: proofs/moment_intervals.md
    """
    total, reach = sum(sums), _reach_of_rows(noise, len(sums), chance)
    value = max(0, round(Fraction(total, unit)))
    low, high = (math.ceil(Fraction(total - reach, unit)), math.floor(Fraction(total + reach, unit)))
    return BoundedValue(key=key, value=value, low=max(0, min(low, value)), high=max(high, value))


@lru_cache(maxsize=256)
def _reach_of_rows(noise: WholeNoise, terms: int, chance: float) -> int:
    return margin_of_equal_sum(noise, terms, 1 - Fraction(chance))


@stored("moments")
class Moments(NoisyMeaning):
    """Bernstein sums of one or two values, from which `moment` follows."""

    family_of_private_keys = Family.SHOWN_KEYS
    shown_by = People()
    unit = "value"
    hides = "noise hides whatever one person within these bounds can add"
    margin_refusal = "cannot be promised: the error of a mean or a moment depends on how many rows there are"
    moment: Moment
    scales: tuple[Scale, ...]

    def estimates(self, plan: Plan, released: Sequence[int]) -> dict[CellKey, Estimate]:
        """Return the moment in each cell; it lies within its bounds, at any confidence."""
        return {
            key: moment(self.moment, self.scales, [max(0, number) for number in block])
            for key, block in plan.blocks(released)
        }

    def margin(self, plan: Plan, noise: Noise, confidence: Exact) -> None:
        """Return None: the error of a moment depends on how many rows there are."""

    def forms(self, plan: Plan) -> None:
        """Return None: a moment is a quotient of sums."""

    def error_if(self, plan: Plan, noise: Noise, confidence: Exact, rows: int) -> float:
        """Return half of the interval that comes if the values of this number of rows fill their range evenly.

        All Bernstein polynomials of a degree have the same average then.
        """
        terms, unit = plan.aggregate.terms, plan.bounded_by(BoundedRowsPerPerson).most
        sums = (rows * unit // terms,) * terms
        low, high = moment_interval(self.moment, self.scales, sums, noise.event, plan.chance_of_each(confidence))
        return float(high - low) / 2

    def values(self, plan: Plan, released: Sequence[int], noise: Noise, confidence: Exact) -> list[BoundedValue]:
        """Return the moment in each cell with its bounds, and the number of rows with its own.

        It is missing where its bounds at 95 %, a function of released numbers, are all that it can be.
        """
        estimates, chance = self.estimates(plan, released), plan.chance_of_each(confidence)
        usual = plan.chance_of_each(_KNOWN_AT)
        unit, found = plan.bounded_by(BoundedRowsPerPerson).most, []
        for key, block in plan.blocks(released):
            low, high = moment_interval(self.moment, self.scales, tuple(block), noise.event, chance)
            rows = row_count(key, block, unit, noise.event, chance)
            known = is_known(self.moment, self.scales, tuple(block), noise.event, usual)
            value = plain_number(estimates[key]) if known else None
            found.append(BoundedValue(key=key, value=value, low=low, high=high, rows=rows))
        return found

    def asked(self, plan: Plan) -> str:
        """Say which moment, of which value, and that the number of rows comes with it."""
        bounded = plan.bounded_by(BoundedRowsPerPerson)
        value = value_words(bounded.terms, as_it_is=self.of_columns(bounded) is not None)
        return f"the {self.moment.value} of {value}, and with it the number of rows"

    def of_columns(self, bounded: BoundedRowsPerPerson) -> tuple[Term, ...] | None:
        """Return the columns whose moments these are, each on its grid; None where more is computed from them."""
        columns = sorted(set().union(*map(leaves, map(unrounded, bounded.terms))), key=repr)
        if len(columns) != len(self.scales):
            return None
        with suppress(BadQuestionError):  # too wide to be what was planned
            return next(
                (one for one in itertools.permutations(columns) if bounded.terms == self.sums(one, bounded.most)), None
            )
        return None

    def sums(self, values: Sequence[Term], most: int) -> tuple[Term, ...]:
        """Return what a row adds to the sums of these values, at most `most` in all."""
        degree = _DEGREES[self.moment]
        whole = math.prod(scale.extent**degree for scale in self.scales)
        return coarser(products([basis(value, degree) for value in values]), whole, most)[0]

    def bounding(self, plan: Plan) -> str:
        """Say how many rows of a person count."""
        return picked_rows(plan.aggregate, plan.bounded_by(BoundedRowsPerPerson))

    def bounds_away(self, plan: Plan) -> tuple[str, ...]:
        """Say how many rows and groups of a person count, and to what values are clipped."""
        values = " and ".join(from_to(scale.low, scale.low + scale.width) for scale in self.scales)
        rows = rows_at_most(plan.aggregate, plan.bounded_by(BoundedRowsPerPerson).max_rows)
        return rows, *groups_at_most(plan.aggregate), f"values clipped to {values}"


def _statistic(moment: Moment, ask: Callable[..., MomentQuestion], node: type[exp.Expr], word: str) -> Statistic:
    parts = ("this", "expression") if moment in {Moment.COVARIANCE, Moment.CORRELATION} else ("this",)

    def read(selected: Selected, node: exp.Expr) -> MomentQuestion:
        only(node, *parts)
        values = tuple(selected.reader.value(node.args[part]) for part in parts)
        return MomentQuestion(moment=moment, values=values, **selected.common)

    return Statistic(name=moment.value, ask=ask, result=moment.value, columns=len(parts), sql={node: (word, read)})


STATISTICS = (
    _statistic(Moment.MEAN, mean, exp.Avg, "avg"),
    Statistic(name="proportion", ask=proportion, result="proportion", columns=1),
    _statistic(Moment.VARIANCE, variance, exp.VariancePop, "var_pop"),
    Statistic(name="stddev", ask=stddev, result="stddev", columns=1),
    _statistic(Moment.COVARIANCE, covariance, exp.CovarPop, "covar_pop"),
    _statistic(Moment.CORRELATION, correlation, exp.Corr, "corr"),
)
