"""Which categories have the most people: chosen one after the other, and with their counts if these are wanted.

A protected person is in each category at most once, so a count, which is its own score, moves by at most 1 for each
person: `Sensitivity.linf`. Under ADD_REMOVE all counts move the same way, which makes the choice half as dear.

With counts there are two ways. All categories are counted and the largest are shown; that is best where a person is in
few of them. Or the largest are chosen, and only they are counted; that is best where few are wanted, and nobody need
say in how many categories a person counts. Which is taken follows from public numbers alone.

Proof: proofs/ranked_choice.md, and proofs/counted_top.md with counts
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, overload

from lapwing.mechanisms.counted_top import CountedTop
from lapwing.mechanisms.histogram_selection import Selector, TopK
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.mechanisms.permute_and_flip import PermuteAndFlip
from lapwing.mechanisms.weighted_sums import margin_of_equal_sum
from lapwing.queries.algebra.aggregate import CountPerPerson, DeclaredKey, cell_count
from lapwing.queries.catalogue.column import Category
from lapwing.queries.language.builders import ConditionLike, as_condition, as_name
from lapwing.queries.language.expressions import By, Name
from lapwing.queries.planning.keys import narrow
from lapwing.queries.planning.plan import BoundedValue, Choosing, ChosenMeaning, Number, Plan
from lapwing.queries.planning.planner import Planner, Question
from lapwing.queries.planning.presentation import Arrangement
from lapwing.queries.planning.windows import Sorting
from lapwing.queries.statistics.counts import CountPeople, CountRows, People, plan_people
from lapwing.queries.statistics.distinct import CountDistinct
from lapwing.queries.statistics.statistic import Statistic
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact, as_int
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency
from lapwing.vocabulary.wording import Setting

_JUDGED_AT: Final = Fraction(95, 100)
"""The confidence at which two ways are compared."""


@frozen(repr=False, eq=False)
class TopCategories(Question):
    """The `k` categories with the most people; `ranked_by` is what SQL ranks them by, which must count people too."""

    column: Name
    k: int
    ranked_by: Question | None = None

    def distinct_column(self) -> Name | None:
        """Return what SQL counts, to find the largest groups."""
        return None if self.ranked_by is None else self.ranked_by.distinct_column()

    def called(self) -> tuple[str, dict[str, object]]:
        """Return what it is asked for with."""
        return "top", {"column": self.column, "k": self.k}

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
            case CountDistinct() if not _is_of_people(self.ranked_by, planner):
                what = "what it is ordered by counts values"
            case _:
                return
        raise BadQuestionError(
            f"{what}, and the largest groups are found by people; write order by count(distinct "
            f"{planner.scope.person_key}) desc"
        )


def _is_of_people(counted: CountDistinct, planner: Planner) -> bool:
    column = counted.distinct_column()
    return column is not None and planner.scope.is_person_key(column)


@frozen(repr=False, eq=False)
class TopCounts(Question):
    """The `k` groups with the most people, and how many each has; `counted` is the count that they are the largest of.

    Where something else than people is counted, or the groups are not those of one column, all groups are released.
    """

    k: int
    counted: Question

    def distinct_column(self) -> Name | None:
        """Return what is counted in the groups, if that is different values of a column."""
        return self.counted.distinct_column()

    def called(self) -> tuple[str, dict[str, object]]:
        """Return what it is asked for with."""
        return "top", {"column": self.by[0].column, "k": self.k, "counts": True}

    def plan(self, planner: Planner) -> Plan:
        """Count in all groups, or choose the largest and count only them: what is more exact at the same price."""
        if not self._counts_people(planner) or len(planner.keys) != 1 or cell_count(planner.keys) is None:
            return self.counted.plan(planner)
        if planner.one_a_person:
            return plan_people(planner)
        k = min(as_int("k", self.k), cell_count(planner.keys) or 1)
        said = self.max_groups is not None
        everywhere = planner.build(CountPerPerson(max_cells=planner.groups() if said else None), People())
        chosen = planner.build(CountPerPerson(max_cells=None), CountedTopMeaning(k=k))
        return chosen if better_by_choice(chosen, everywhere, k) else everywhere

    def _counts_people(self, planner: Planner) -> bool:
        match self.counted:
            case CountRows(present=None) | CountPeople():
                return planner.one_a_person or isinstance(self.counted, CountPeople)
            case CountDistinct():
                return _is_of_people(self.counted, planner)
            case _:
                return False

    def arranged(self, name: str) -> Arrangement:
        """Return how its answer is shown: the largest first."""
        return Arrangement(order=(Sorting(by=name, name=name, falling=True),), first=self.k)


def better_by_choice(chosen: Plan, everywhere: Plan, k: int) -> bool:
    """Say whether choosing the `k` largest cells and counting them is more exact than counting in all cells.

    Proof: proofs/counted_top.md
    """
    half, cells = Fraction(1, 2), chosen.numbers
    by_choice = _counted_top(chosen, k, half, half, PermuteAndFlip)
    noise = GeometricMechanism(l1_sensitivity=everywhere.sensitivity.l1, epsilon=1)
    wrong = (1 - _JUDGED_AT) / 2
    pairs = k * (cells - k)  # one of them is shown, the other is not
    left_out = margin_of_equal_sum(noise.event, 2, 1 - 2 * wrong / pairs) if pairs > 1 else 0
    worst = max(by_choice.margin(_JUDGED_AT), by_choice.margin_of_choice(_JUDGED_AT))
    return worst < max(left_out, noise.margin(1 - wrong, values=cells))


def _counted_top(plan: Plan, k: int, choosing: Fraction, counting: Fraction, selector: Selector) -> CountedTop:
    return CountedTop(
        k=k,
        cells=plan.numbers,
        sensitivity=plan.sensitivity.linf,
        choosing=choosing,
        counting=counting,
        monotone_under=Adjacency.ADD_REMOVE if plan.monotone else None,
        selector=selector,
    )


@overload
def top(table: str, column: str | Name, k: int, where: ConditionLike = None) -> TopCategories: ...
@overload
def top(
    table: str, column: str | Name, k: int, where: ConditionLike = None, *, counts: bool, max_groups: int | None = None
) -> TopCategories | TopCounts: ...
def top(
    table: str,
    column: str | Name,
    k: int,
    where: ConditionLike = None,
    *,
    counts: bool = False,
    max_groups: int | None = None,
) -> TopCategories | TopCounts:
    """Ask which `k` categories of a column have the most people, and with `counts`, how many each has.

    With counts a column need not declare its categories, where a delta is offered. `max_groups` is in how many
    categories one person counts: it may be left out where categories are declared, and everybody then counts in all.
    """
    if not counts:
        if max_groups is not None:
            raise BadQuestionError(
                Setting("max_groups", max_groups),
                " is in how many categories one person is counted; leave it out, or ask for the counts as well: ",
                Setting("counts", value=True),
            )
        return TopCategories(table=table, column=as_name(column), k=as_int("k", k), where=as_condition(where))
    common: dict[str, Any] = {
        "table": table,
        "where": as_condition(where),
        "by": (By(column=as_name(column)),),
        "max_groups": max_groups,
    }
    return TopCounts(**common, k=as_int("k", k), counted=CountPeople(**common))


@stored("top")
class Top(ChosenMeaning):
    """The `k` cells with the most people."""

    unit = "people"
    row_name = "rank"
    rows_have_names = True
    asks = "which {self.which} {plan.groups[0]} {self.have} the most people"
    accurate = "no category that is left out has over {margin} people more"
    told = "no category that is missing has over {margin} people more"
    k: int

    @property
    def which(self) -> str:
        """How many are asked for, in words."""
        return "of" if self.k == 1 else f"{self.k} of"

    @property
    def have(self) -> str:
        """Have, or has."""
        return "has" if self.k == 1 else "have"

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

    def values(self, plan: Plan, released: Sequence[int], chooser: Choosing, confidence: Exact) -> list[BoundedValue]:
        """Return the names of the chosen categories, by rank."""
        del chooser, confidence
        cells = plan.aggregate.cells or ()
        chosen = [cells[number][0] for number in released]
        return [
            BoundedValue(key=(i, *plan.name_of(category)), value=str(category), low=None, high=None)
            for i, category in enumerate(chosen, start=1)
        ]


@stored("counted-top")
class CountedTopMeaning(ChosenMeaning):
    """The `k` cells with the most people, and how many each has."""

    unit = "people"
    keys_are_groups = True
    asks = "which {self.k} groups have the most people, and how many"
    hides = "one person moves each count by at most {plan.sensitivity.linf}; the choice and the noise hide that much"
    accurate = "within {margin}"
    told = "no category that is missing has over {margin} people more, and all counts are within their bounds"
    k: int

    @property
    def choices(self) -> int:
        """How many parts share the price: a half is for the choices, and a half for the counts."""
        return 2 * self.k

    def selection(self, plan: Plan, epsilon: Fraction, selector: Selector) -> CountedTop:
        """Return the mechanism that chooses and counts."""
        return _counted_top(plan, self.k, epsilon / 2, epsilon / 2, selector)

    def margin_of_choice(self, plan: Plan, chooser: Choosing, confidence: Exact) -> Number | None:
        """Return how many people more a category may have that was not chosen; counts have a margin of their own."""
        del plan
        if not isinstance(chooser, CountedTop):
            raise TypeError(chooser)
        return chooser.margin_of_choice(confidence)

    def values(self, plan: Plan, released: Sequence[int], chooser: Choosing, confidence: Exact) -> list[BoundedValue]:
        """Return the chosen cells with their counts."""
        cells, margin = plan.aggregate.cells or (), chooser.margin(confidence)
        pairs = zip(released[::2], released[1::2], strict=True)
        return [BoundedValue.around(cells[cell], Fraction(count), margin) for cell, count in pairs]


STATISTICS = (
    Statistic(
        name="top",
        ask=top,
        result="category",
        other_results={TopCounts: "people"},
        columns=1,
        needs={"k": "-k 3"},
    ),
)
