"""How many different values a column holds, where a person brings at most `max_groups` of them.

With `sketch=` they are not told apart one by one: each marks a place among a fixed number, and the marks are counted.
That takes the same room for a million values as for a thousand million, and is off by a few per cent.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from sqlglot import exp

from lapwing.queries.algebra.aggregate import MOST_BUCKETS, DistinctKeys, SketchedKeys
from lapwing.queries.algebra.words import at_most
from lapwing.queries.language.builders import ConditionLike, as_condition, as_name
from lapwing.queries.language.expressions import By, Name
from lapwing.queries.language.sql.nodes import name_of, only
from lapwing.queries.planning.plan import BoundedValue, CellKey, Estimate, Family, Noise, NoisyMeaning, Plan
from lapwing.queries.planning.planner import Planner, Question
from lapwing.queries.statistics.counts import plan_people
from lapwing.queries.statistics.sketched import SketchLaw, released_between
from lapwing.queries.statistics.statistic import Selected, Statistic
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact, as_int, as_written, probability
from lapwing.vocabulary.frozen import frozen

LEAST_BUCKETS: Final = 64
_PAIRS: Final = (
    "add those of each person up: select sum(n) from (select person, count(distinct kind) as n from visits group by "
    "person)"
)


@frozen(repr=False, eq=False)
class CountDistinct(Question):
    """The number of different values in a column."""

    column: Name
    sketch: int | None = None

    def distinct_column(self) -> Name:
        """Return the column whose different values are counted."""
        return self.column

    def called(self) -> tuple[str, dict[str, object]]:
        """Return what it is asked for with."""
        return "distinct", {"column": self.column, "sketch": self.sketch}

    def plan(self, planner: Planner) -> Plan:
        """Let a person bring few of the values; different people are people."""
        if isinstance(self.column, Name) and planner.scope.is_person_key(self.column):
            if self.sketch is not None:
                raise BadQuestionError("people are counted one by one; leave out sketch=")
            return plan_people(planner)
        planner.require_ungrouped()
        key = planner.key(By(column=self.column))
        planner.keys = (replace(key, missing=False),)  # what is missing is not a value, as in SQL
        if self.sketch is None:
            return planner.build(DistinctKeys(max_cells=planner.groups_of_people()), Distinct())
        return planner.build(SketchedKeys(max_cells=planner.groups_of_people(), buckets=self.sketch), Sketched())


def count_distinct(
    table: str,
    column: str | Name,
    where: ConditionLike = None,
    *,
    max_groups: int | None = None,
    sketch: int | None = None,
) -> CountDistinct:
    """Ask how many different values a column holds, counting at most `max_groups` of one person.

    `sketch` throws them into so many buckets, such as 4096, in place of telling them apart: for more values than fit.
    The answer is then off by about 1.5 over the root of that number, as a share, beside the noise.
    """
    if sketch is not None:
        sketch = as_int("sketch", sketch, least=LEAST_BUCKETS, most=MOST_BUCKETS)
    return CountDistinct(
        table=table, column=as_name(column), where=as_condition(where), max_groups=max_groups, sketch=sketch
    )


@stored("distinct")
class Distinct(NoisyMeaning):
    """The number of different values."""

    family_of_private_keys = Family.NOISE  # one number, whatever the values are: which they are is not told
    unit = "values"
    keys_are_groups = False
    asks = "how many of {plan.groups[0]} there are"

    def values(self, plan: Plan, released: Sequence[int], noise: Noise, confidence: Exact) -> list[BoundedValue]:
        """Return the number within what can be: that costs nothing, and brings it nearer the truth."""
        most = plan.aggregate.cell_count

        def clamp(number: Any) -> Any:
            return max(0, number) if most is None else min(most, max(0, number))

        around = NoisyMeaning.values(self, plan, released, noise, confidence)
        return [replace(one, value=clamp(one.value), low=clamp(one.low), high=clamp(one.high)) for one in around]

    def bounds_away(self, plan: Plan) -> tuple[str, ...]:
        """Say how many values of a person count."""
        return (at_most(plan.bounded_by(DistinctKeys).max_cells, "value"),)


@stored("sketched")
class Sketched(NoisyMeaning):
    """About how many different values there are, from the number of marks in a sketch."""

    family_of_private_keys = Family.NOISE
    unit = "values"
    keys_are_groups = False
    asks = "about how many of {plan.groups[0]} there are, by the marks that they make in a sketch"
    hides = "one person makes at most {plan.sensitivity.l1} marks that nobody else makes, and noise hides that much"
    error_of = "noise and the sketch"
    margin_refusal = "cannot be promised: the error of a sketch depends on how many values there are"

    def estimates(self, plan: Plan, released: Sequence[int]) -> dict[CellKey, Estimate]:
        """Return the number of values of which so many marks are to be expected."""
        return {(): Fraction(_law(plan).values(released[0]))}

    def margin(self, plan: Plan, noise: Noise, confidence: Exact) -> None:
        """Return None: the error grows with the number of values."""

    def forms(self, plan: Plan) -> None:
        """Return None: it is no linear form of the number of marks."""

    def error_if(self, plan: Plan, noise: Noise, confidence: Exact, rows: int) -> int:
        """Return how far away an end of the interval is if the values of this number of rows are all different."""
        values = min(rows, plan.aggregate.cell_count or rows)
        low, high = self._interval(plan, round(_law(plan).expected(values)), noise, confidence)
        return max(values - low, high - values)

    def values(self, plan: Plan, released: Sequence[int], noise: Noise, confidence: Exact) -> list[BoundedValue]:
        """Return the number with its bounds: half of the risk is that of noise, half that of the sketch."""
        low, high = self._interval(plan, released[0], noise, confidence)
        return [BoundedValue(key=(), value=min(high, max(low, _law(plan).values(released[0]))), low=low, high=high)]

    def _interval(self, plan: Plan, marks: int, noise: Noise, confidence: Exact) -> tuple[int, int]:
        risk = (1 - probability("confidence", as_written(confidence))) / 2
        margin = plan.margin_of_each(noise, 1 - risk)
        low, high = released_between(_law(plan), marks, margin, float(risk))
        most = plan.aggregate.cell_count
        return (low, high) if most is None else (min(low, most), min(high, most))

    def bounds_away(self, plan: Plan) -> tuple[str, ...]:
        """Say how many values of a person count."""
        return (at_most(plan.bounded_by(SketchedKeys).max_cells, "value"),)


def _law(plan: Plan) -> SketchLaw:
    return SketchLaw(buckets=plan.bounded_by(SketchedKeys).buckets)


def _read(selected: Selected, node: exp.Count) -> CountDistinct:
    """Read count(distinct column)."""
    only(node, "this", "big_int")
    only(node.this, "expressions")
    if len(node.this.expressions) != 1 or isinstance(node.this.expressions[0], exp.Tuple):
        raise BadQuestionError(
            "different values are counted in one column; write count(distinct column), and for pairs of a person and a "
            f"value {_PAIRS}"
        )
    return CountDistinct(column=name_of(node.this.expressions[0]), **selected.common)


STATISTICS = (
    Statistic(
        name="distinct",
        ask=count_distinct,
        result="values",
        columns=1,
        sql={exp.Distinct: ("count", _read)},
    ),
)
