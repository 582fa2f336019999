"""The total of a value: a person's part in a group is clipped to `max_rows` times the bounds of the value.

Where a person may be in several groups and nobody said in how many, `max_rows` rows of a person are picked, in all
groups together: however many groups there are, they cost what one does.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Unpack

from sqlglot import exp

from lapwing.queries.algebra.aggregate import BoundedRowsPerPerson, ClippedSumPerPerson
from lapwing.queries.algebra.term import Term, bounds
from lapwing.queries.algebra.words import (
    from_to,
    groups_at_most,
    in_groups,
    is_a_column,
    picked_rows,
    plain,
    rows_at_most,
    value_words,
)
from lapwing.queries.language.builders import ConditionLike, ValueLike, as_value
from lapwing.queries.language.expressions import Value
from lapwing.queries.language.sql.nodes import only
from lapwing.queries.planning.measure import Measure
from lapwing.queries.planning.plan import CellKey, Estimate, Family, Form, Noise, NoisyMeaning, Number, Plan
from lapwing.queries.planning.planner import Planner, Question
from lapwing.queries.statistics.counts import People
from lapwing.queries.statistics.statistic import GroupWords, Selected, Statistic, rows_of
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact
from lapwing.vocabulary.frozen import frozen


@frozen(repr=False, eq=False)
class Sum(Question):
    """The total of a value, a person's part bounded by `max_rows` times its bounds."""

    value: Value

    def called(self) -> tuple[str, dict[str, object]]:
        """Return what it is asked for with."""
        return "total", {"of": self.value}

    def plan(self, planner: Planner) -> Plan:
        """Clip a person's total in each of few groups, or let few of their rows count in all groups together."""
        asked = planner.of_rows(self.value)
        once = not planner.one_a_person and planner.once(asked)
        if once and self.each is None:
            raise BadQuestionError(
                f"this is the same in all rows that a person has in {planner.scope.table.name}, so that a total would "
                "count it once for each; ask for its mean, or ask about a table with one row a person"
            )
        rows, groups = 1 if once else planner.rows(), planner.groups_of_rows()

        def most(values: list[Measure]) -> int:
            return rows * (groups or 1) * max(abs(bound) for bound in bounds(values[0].term))

        (value,) = planner.measure([asked], most)
        low, high = (bound * rows for bound in bounds(value.term))
        if once and low < 0:
            raise BadQuestionError(
                "a number of each person that may be below 0 is added up as its mean times how many people there are; "
                "ask for avg and count(*), or clip it: sum(clip(total, 0, 5000))"
            )
        if (groups is None or once) and low >= 0:  # one row stands for all of a person
            picked = BoundedRowsPerPerson(terms=(value.term,), most=max(1, high // rows), max_rows=rows, max_cells=None)
            return planner.build(picked, Total(step=value.step))
        groups = planner.groups()  # where values may be below zero, it must be said in how many
        bounding = ClippedSumPerPerson(term=value.term, low=min(0, low), high=max(0, high), max_cells=groups)
        return planner.build(bounding, Total(step=value.step))


def total(table: str, of: ValueLike, where: ConditionLike = None, **grouped: Unpack[GroupWords]) -> Sum:
    """Ask for the total of a value. A person's part in a group is clipped to `max_rows` times the value's bounds.

    The words `by=`, `max_rows=` and `max_groups=` are those of `mean`: without `max_groups` at most `max_rows` rows of
    a person count, in all groups together.

    >>> total("visits", "clip(cost, 0, 500)", "kind = 'ER'", max_rows=3).max_rows
    3
    """
    return Sum(value=as_value(of), **rows_of(table, where, **grouped))


@stored("total")
class Total(NoisyMeaning):
    """The total of a value in each cell, in steps of `step`."""

    family_of_private_keys = Family.SHOWN_KEYS
    shown_by = People()
    unit = "value"
    step: Fraction

    def estimates(self, plan: Plan, released: Sequence[int]) -> dict[CellKey, Estimate]:
        """Return the total in each cell."""
        return {key: number * self.step for key, (number,) in plan.blocks(released)}

    def margin(self, plan: Plan, noise: Noise, confidence: Exact) -> Number:
        """Return how far off all totals are at most, all at once."""
        return plan.margin_of_each(noise, confidence) * self.step

    def forms(self, plan: Plan) -> Mapping[CellKey, Form]:
        """Return the number of each cell, in steps."""
        return {key: {place: self.step} for place, key in enumerate(plan.aggregate.cells or ())}

    def asked(self, plan: Plan) -> str:
        """Say of which value, and in which steps."""
        term = _term(plan)
        return f"the total of {value_words([term], as_it_is=is_a_column(term))}, in steps of {self.step}"

    def bounding(self, plan: Plan) -> str:
        """Say to what a person's total is clipped, or how many rows count."""
        match plan.aggregate.bounding:
            case BoundedRowsPerPerson() as picked:
                return picked_rows(plan.aggregate, picked)
            case _:
                clipped = plan.bounded_by(ClippedSumPerPerson)
                total_ = from_to(clipped.low * self.step, clipped.high * self.step)
                return f"a person's total is clipped to {total_}{in_groups(plan.aggregate, clipped.max_cells)}."

    def bounds_away(self, plan: Plan) -> tuple[str, ...]:
        """Say how many rows and groups of a person count, and to what values and totals are clipped."""
        least, most = bounds(_term(plan))
        values = f"values clipped to {from_to(least * self.step, most * self.step)}"
        match plan.aggregate.bounding:
            case BoundedRowsPerPerson(max_rows=rows):
                return rows_at_most(plan.aggregate, rows), values
            case _:
                clipped = plan.bounded_by(ClippedSumPerPerson)
                if (clipped.low, clipped.high) != (min(0, least), max(0, most)):
                    values += f", a person's total to {from_to(clipped.low * self.step, clipped.high * self.step)}"
                return *groups_at_most(plan.aggregate), values

    def hidden(self, plan: Plan) -> str:
        """Say how far one person can move the total."""
        groups = " in all groups together" if plan.aggregate.keys else ""
        moved = plain(plan.sensitivity.l1 * self.step)
        return f"one person changes the total by at most {moved}{groups}, and noise hides that much"


def _term(plan: Plan) -> Term:
    match plan.aggregate.bounding:
        case BoundedRowsPerPerson(terms=(term,)):
            return term
        case _:
            return plan.bounded_by(ClippedSumPerPerson).term


def _read(selected: Selected, node: exp.Sum) -> Sum:
    only(node, "this")
    return Sum(value=selected.reader.value(node.this), **selected.common)


STATISTICS = (Statistic(name="total", ask=total, result="total", columns=1, sql={exp.Sum: ("sum", _read)}),)
