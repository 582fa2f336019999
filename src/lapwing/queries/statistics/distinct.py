"""How many different values a column holds, where a person brings at most `max_groups` of them.

With `sketch=` they are not told apart one by one: each marks a place among a fixed number, and the marks are counted.
That takes the same room for a million values as for a thousand million, and is off by a few per cent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from sqlglot import exp

from lapwing.queries.algebra.aggregate import MOST_BUCKETS, DistinctKeys, KeyOfColumn, PrivateKey, SketchedKeys
from lapwing.queries.algebra.words import at_most
from lapwing.queries.catalogue.column import Date
from lapwing.queries.language.builders import ConditionLike, as_condition, as_name
from lapwing.queries.language.expressions import And, Arithmetic, By, Literal, Missing, Name, Value
from lapwing.queries.language.joined import PerPerson
from lapwing.queries.language.sql.nodes import only
from lapwing.queries.planning.plan import BoundedValue, CellKey, Estimate, Family, Noise, NoisyMeaning, Plan
from lapwing.queries.planning.planner import Planner, Question
from lapwing.queries.statistics.counts import plan_people
from lapwing.queries.statistics.sketched import SketchLaw, released_between
from lapwing.queries.statistics.statistic import Selected, Statistic
from lapwing.queries.statistics.total import Sum
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact, as_int, as_written, probability
from lapwing.vocabulary.frozen import frozen

LEAST_BUCKETS: Final = 64


@frozen(repr=False, eq=False)
class CountDistinct(Question):
    """The number of different values in a column, or of different values of several columns beside one another."""

    column: Value
    sketch: int | None = None
    others: tuple[Value, ...] = ()

    def distinct_column(self) -> Name | None:
        """Return the column whose different values are counted, where it is one."""
        return self.column if isinstance(self.column, Name) and not self.others else None

    def called(self) -> tuple[str, Mapping[str, object]]:
        """Return what it is asked for with."""
        named = (self.column, *self.others) if self.others else self.column
        return "distinct", {"column": named, "sketch": self.sketch}

    def plan(self, planner: Planner) -> Plan:
        """Let a person bring few of the values; different people are people."""
        if self.others:
            return self._plan_of_several(planner)
        if isinstance(self.column, Name) and planner.scope.is_person_key(self.column):
            if self.sketch is not None:
                raise BadQuestionError("people are counted one by one; leave out sketch=")
            return plan_people(planner)
        planner.require_ungrouped()
        planner.keys = (replace(_key(planner, self.column), missing=False),)  # what is missing is no value, as in SQL
        if self.sketch is None:
            return planner.build(DistinctKeys(max_cells=planner.groups_of_people()), Distinct())
        return planner.build(SketchedKeys(max_cells=planner.groups_of_people(), buckets=self.sketch), Sketched())

    def _plan_of_several(self, planner: Planner) -> Plan:
        """Count different rows of several columns; with the person among them, those of each person are added up."""
        planner.require_ungrouped()
        names = (self.column, *self.others)
        rest = [one for one in names if not (isinstance(one, Name) and planner.scope.is_person_key(one))]
        if len(rest) == len(names):
            planner.keys = tuple(_key(planner, name) for name in names)
            return planner.build(DistinctKeys(max_cells=planner.groups_of_people()), Distinct())
        if len(rest) != 1:
            raise BadQuestionError(
                "beside the person, different values of one column are counted; write count(distinct (person, kind))"
            )
        key = Name(planner.scope.person_key)
        rows, tie = And((self.where, self.kept)), (key, key)
        of_each: Value = PerPerson("distinct", self.table, rest[0], rows, self.alias, tie, self.columns)
        if planner.scope.column(rest[0]).nullable:  # beside a person, what is missing is a value, as in SQL
            gaps = And((*rows.parts, Missing(rest[0])))
            one = PerPerson("count", self.table, None, gaps, self.alias, tie, self.columns, Literal(1))
            of_each = Arithmetic("+", of_each, one)
        added = Sum(table=self.table, alias=self.alias, where=rows, each=key, value=of_each)
        return added.plan(Planner(added, planner.population))


def _key(planner: Planner, value: Value) -> KeyOfColumn:
    """Return what tells values apart: days are too many to be listed, and need not be."""
    column = planner.scope.column(value)
    if isinstance(column.type, Date) and planner.scope.time_of(value) is None:
        return PrivateKey(column=column.name, missing=column.nullable)
    return planner.key(By(column=value))


def count_distinct(
    table: str,
    column: str | Value | Sequence[str | Value],
    where: ConditionLike = None,
    *,
    max_groups: int | None = None,
    sketch: int | None = None,
) -> CountDistinct:
    """Ask how many different values a column holds, counting at most `max_groups` of one person.

    Of several columns, such as ["reader_id", "branch"], different values beside one another are counted.

    `sketch` throws them into so many buckets, such as 4096, in place of telling them apart: for more values than fit.
    The answer is then off by about 1.5 over the root of that number, as a share, beside the noise.
    """
    if sketch is not None:
        sketch = as_int("sketch", sketch, least=LEAST_BUCKETS, most=MOST_BUCKETS)
    several = [column] if isinstance(column, str | Value) else list(column)
    if not several or (sketch is not None and len(several) > 1):
        raise BadQuestionError("a sketch is of one column; name one, or leave out sketch=")
    first, *others = (one if isinstance(one, Value) else as_name(one) for one in several)
    return CountDistinct(
        table=table,
        column=first,
        others=tuple(others),
        where=as_condition(where),
        max_groups=max_groups,
        sketch=sketch,
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
    columns = node.this.expressions
    if len(columns) == 1 and isinstance(columns[0], exp.Tuple):
        only(columns[0], "expressions")
        columns = columns[0].expressions
    elif len(columns) > 1:
        raise BadQuestionError(
            "different values are counted in one column, or in several in brackets; write count(distinct column), or "
            "count(distinct (one, other))"
        )
    first, *others = map(selected.reader.value, columns)
    return CountDistinct(column=first, others=tuple(others), **selected.common)


STATISTICS = (
    Statistic(
        name="distinct",
        ask=count_distinct,
        result="values",
        columns=1,
        sql={exp.Distinct: ("count", _read)},
    ),
)
