"""How many different values a column holds, where a person brings at most `max_groups` of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from sqlglot import exp

from lapwing.queries.algebra.aggregate import DistinctKeys
from lapwing.queries.algebra.words import at_most
from lapwing.queries.language.builders import ConditionLike, as_condition, as_name
from lapwing.queries.language.expressions import By, Name
from lapwing.queries.language.sql.nodes import name_of, only
from lapwing.queries.planning.plan import BoundedValue, Family, Noise, NoisyMeaning, Plan
from lapwing.queries.planning.planner import Planner, Question
from lapwing.queries.statistics.counts import plan_people
from lapwing.queries.statistics.statistic import Selected, Statistic
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact
from lapwing.vocabulary.frozen import frozen

_PAIRS: Final = (
    "add those of each person up: select sum(n) from (select person, count(distinct kind) as n from visits group by "
    "person)"
)


@frozen(repr=False, eq=False)
class CountDistinct(Question):
    """The number of different values in a column."""

    column: Name

    def distinct_column(self) -> Name:
        """Return the column whose different values are counted."""
        return self.column

    def called(self) -> tuple[str, dict[str, object]]:
        """Return what it is asked for with."""
        return "distinct", {"column": self.column}

    def plan(self, planner: Planner) -> Plan:
        """Let a person bring few of the values; different people are people."""
        if isinstance(self.column, Name) and planner.scope.is_person_key(self.column):
            return plan_people(planner)
        planner.require_ungrouped()
        key = planner.key(By(column=self.column))
        planner.keys = (replace(key, missing=False),)  # what is missing is not a value, as in SQL
        return planner.build(DistinctKeys(max_cells=planner.groups_of_people()), Distinct())


def count_distinct(
    table: str, column: str | Name, where: ConditionLike = None, *, max_groups: int | None = None
) -> CountDistinct:
    """Ask how many different values a column holds, counting at most `max_groups` of one person."""
    return CountDistinct(table=table, column=as_name(column), where=as_condition(where), max_groups=max_groups)


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
