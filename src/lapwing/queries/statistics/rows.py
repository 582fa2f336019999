"""How many rows, of which a person may have several: at most `max_rows` of them count in a group."""

from dataclasses import dataclass

from sqlglot import exp

from lapwing.queries.aggregate import ClippedSumPerPerson
from lapwing.queries.binding import bind
from lapwing.queries.expressions import Missing, Name, Not
from lapwing.queries.plan import NoisyMeaning, Plan
from lapwing.queries.planning import Planner, Question
from lapwing.queries.predicate import every
from lapwing.queries.questions import ConditionLike, Groupings, as_condition, as_groups
from lapwing.queries.sql_nodes import literal, name_of
from lapwing.queries.sql_refusals import only, refusal
from lapwing.queries.statistics.people import plan_people
from lapwing.queries.statistics.statistic import Selected, Statistic
from lapwing.queries.term import ConstantTerm
from lapwing.queries.words import at_most, groups_at_most, in_groups
from lapwing.vocabulary.codec import stored


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountRows(Question):
    """The number of such rows, counting at most `max_rows` of a person; of those with a value in `present` only.

    Unlike a condition, `present` says nothing about the groups: beside it, others may be counted.
    """

    present: Name | None = None

    def plan(self, planner: Planner) -> Plan:
        """Clip a person's number of rows in a group; where everybody has one row, count people."""
        if self.present is not None and not planner.scope.is_person_key(self.present):  # rows of nobody never count
            planner.where = every([planner.where, bind(Not(Missing(self.present)), planner.scope)])
        if planner.one_a_person:
            return plan_people(planner)
        bounding = ClippedSumPerPerson(term=ConstantTerm(1), low=0, high=planner.rows(), max_cells=planner.groups())
        return planner.build(bounding, RowCount())


def count_rows(
    table: str,
    where: ConditionLike = None,
    *,
    by: Groupings = (),
    max_rows: int | None = None,
    max_groups: int | None = None,
) -> CountRows:
    """Ask how many rows there are for which `where` is true, counting at most `max_rows` of one person in a group."""
    where, groups = as_condition(where), as_groups(by)
    return CountRows(table=table, where=where, by=groups, max_rows=max_rows, max_groups=max_groups)


@stored("rows")
@dataclass(frozen=True, slots=True, kw_only=True)
class RowCount(NoisyMeaning):
    """The number of rows in each cell."""

    unit = "rows"

    def asked(self, plan: Plan) -> str:
        """Say what is asked."""
        del plan
        return "the number of rows"

    def bounding(self, plan: Plan) -> str:
        """Say how many rows of a person count."""
        rows, groups = plan.bounded_by(ClippedSumPerPerson).high, plan.bounded_by(ClippedSumPerPerson).max_cells
        return f"at most {rows} row{'' if rows == 1 else 's'} of a person count{in_groups(plan.aggregate, groups)}."

    def bounds_away(self, plan: Plan) -> tuple[str, ...]:
        """Say how many rows and groups of a person count."""
        return at_most(plan.bounded_by(ClippedSumPerPerson).high, "row"), *groups_at_most(plan.aggregate)


def _read(selected: Selected, node: exp.Count) -> CountRows:
    """Read count(*), count(1) and count(column)."""
    only(node, "this", "big_int")
    match node.this:
        case exp.Star():
            only(node.this)
            return CountRows(**selected.common)
        case exp.Column():
            return CountRows(**selected.common, present=name_of(node.this))
        case exp.Literal() if not node.this.is_string:
            literal(node.this)
            return CountRows(**selected.common)
        case _:
            raise refusal(node.this)


STATISTICS = (Statistic(name="rows", ask=count_rows, tells="rows", sql={exp.Count: ("count", _read)}),)
