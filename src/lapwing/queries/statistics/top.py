"""Which categories have the most people: chosen one after the other, and not told with their counts.

A protected person is in each category at most once, so a count, which is its own score, moves by at most 1 for each
person: `Sensitivity.linf`. Under ADD_REMOVE all counts move the same way, which makes the choice half as dear.

Proof: proofs/ranked_choice.md
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from lapwing.mechanisms.histogram_selection import Selector, TopK
from lapwing.queries.aggregate import CountPerPerson, DeclaredKey, cell_count
from lapwing.queries.column import Category
from lapwing.queries.expressions import Name
from lapwing.queries.keys import narrow
from lapwing.queries.plan import BoundedValue, ChosenMeaning, Plan
from lapwing.queries.planning import Planner, Question
from lapwing.queries.questions import WHERE, ConditionLike, Statistic, as_condition, as_name
from lapwing.queries.statistics.counts import CountRows
from lapwing.queries.statistics.distinct import CountDistinct
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import as_int
from lapwing.vocabulary.guarantee import Adjacency


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TopCategories(Question):
    """The `k` categories with the most people; `ranked_by` is what SQL ranks them by, which must count people too."""

    column: Name
    k: int
    ranked_by: Question | None = None

    def counted(self) -> Name | None:
        """Return what SQL counts, to find the largest groups."""
        return None if self.ranked_by is None else self.ranked_by.counted()

    def plan(self, planner: Planner) -> Plan:
        """Let a person count once in every category they have."""
        planner.require_ungrouped()
        column = planner.scope.column(self.column)
        if not isinstance(column.type, Category):
            raise BadQuestionError(f"{column.name!r} declares no categories to choose from; count by it instead")
        self._require_people(planner)
        declared = DeclaredKey(column=column.name, values=column.type.values, missing=False)
        planner.keys = (narrow(declared, planner.where),)
        k = as_int("k", self.k, most=cell_count(planner.keys))
        return planner.build(CountPerPerson(max_cells=None), Top(k=k))

    def _require_people(self, planner: Planner) -> None:
        """Refuse a ranking by rows, or by other values, where the people are ranked by."""
        match self.ranked_by:
            case CountRows() if not planner.one_a_person:
                what = "count(*) counts rows"
            case CountDistinct(column=column) if not planner.scope.is_person_key(column):
                what = f"count(distinct {column.name}) counts values"
            case _:
                return
        raise BadQuestionError(
            f"{what}, and the largest groups are found by people; write order by count(distinct "
            f"{planner.scope.person_key}) desc"
        )


def top(table: str, column: str | Name, k: int, where: ConditionLike = None) -> TopCategories:
    """Ask which `k` categories of a column have the most people."""
    return TopCategories(table=table, column=as_name(column), k=as_int("k", k), where=as_condition(where))


@stored("top")
class Top(ChosenMeaning):
    """The `k` cells with the most people."""

    unit = "people"
    row_name = "rank"
    asks = "which {self.k} of {plan.groups[0]} have the most people"
    accurate = "no category that is left out has over {margin} people more"
    told = "no category that is missing has over {margin} people more"
    k: int

    @property
    def choices(self) -> int:
        """How many choices share the price."""
        return self.k

    def selection(self, plan: Plan, epsilon: Fraction, selector: Selector) -> TopK:
        """Return the mechanism that chooses."""
        return TopK(
            k=self.k,
            cells=plan.aggregate.cell_count or 0,
            sensitivity=plan.sensitivity.linf,
            monotone_under=Adjacency.ADD_REMOVE if plan.monotone else None,
            epsilon=epsilon,
            selector=selector,
        )

    def values(self, plan: Plan, released: Sequence[int]) -> list[BoundedValue]:
        """Return the names of the chosen categories, by rank."""
        cells = plan.aggregate.cells or ()
        return [
            BoundedValue(key=(i,), value=str(cells[number][0]), low=None, high=None)
            for i, number in enumerate(released, start=1)
        ]


STATISTICS = (Statistic(name="top", ask=top, result="category", columns=1, options=WHERE | {"k"}, needs={"k": "-k 3"}),)
