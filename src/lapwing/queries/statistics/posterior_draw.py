"""One draw from the posterior of a proportion, as a mechanism: the exponential mechanism on its log-likelihood.

`answer.posterior(...)` of a proportion is more exact at the same price, and comes with an interval.
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import Final

from lapwing.mechanisms.histogram_selection import Selector
from lapwing.mechanisms.tempered_likelihood import PosteriorDraw
from lapwing.queries.algebra.aggregate import BoundedRowsPerPerson
from lapwing.queries.algebra.words import picked_rows, rows_at_most
from lapwing.queries.language.builders import ConditionLike, as_condition
from lapwing.queries.language.expressions import TruthOf, Value
from lapwing.queries.planning.plan import BoundedValue, Choosing, ChosenMeaning, Family, Plan, plain_number
from lapwing.queries.planning.planner import Planner, Question
from lapwing.queries.statistics.bernstein import Moment
from lapwing.queries.statistics.moments import ProportionQuestion
from lapwing.queries.statistics.statistic import Statistic, rows_of
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency

POINTS: Final = 99
"""The proportions that are drawn from: 1 % to 99 %."""


@frozen(repr=False, eq=False)
class PosteriorDrawQuestion(Question):
    """One draw from the posterior of a proportion."""

    value: Value

    def called(self) -> tuple[str, dict[str, object]]:
        """Return its condition."""
        return "posterior_draw", {"of": self.value}

    def plan(self, planner: Planner) -> Plan:
        """Count those for whom the condition is true and those for whom it is false, as for a proportion."""
        planner.require_ungrouped()
        common = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "value"}
        planned = ProportionQuestion(moment=Moment.MEAN, values=(self.value,), **common).plan(planner)
        if planned.bounded_by(BoundedRowsPerPerson).most != 1:
            raise BadQuestionError("a draw is from the posterior of a condition; write one, such as smoker = 'yes'")
        return replace(planned, meaning=DrawnProportion(points=POINTS), family=Family.SELECTION)


def posterior_draw(
    table: str, of: ConditionLike, where: ConditionLike = None, *, max_rows: int | None = None
) -> PosteriorDrawQuestion:
    """Ask for one draw from the posterior of a proportion under a flat prior, tempered by the price.

    `proportion(...)` with `answer.posterior(...)` is more exact at the same price.

    >>> posterior_draw("patients", "age >= 65").table
    'patients'
    """
    rows = rows_of(table, where, max_rows=max_rows)
    return PosteriorDrawQuestion(value=TruthOf(as_condition(of)), **rows)


@stored("drawn-proportion")
class DrawnProportion(ChosenMeaning):
    """One of `points` proportions, drawn by a power of its likelihood."""

    unit = "value"
    asks = "one draw from the posterior of a proportion, of {self.points} values"
    accurate = "about {margin}"
    told = "about {margin}"
    hides = "one person changes the likelihood of no proportion by more than a bound, and the draw hides that much"
    margin_refusal = "cannot be promised: how far one draw is off depends on how many there are"
    points: int

    @property
    def choices(self) -> int:
        """One."""
        return 1

    def selection(self, plan: Plan, epsilon: Fraction, selector: Selector) -> PosteriorDraw:
        """Return the mechanism that draws; it is the exponential one whatever the budget is."""
        del selector
        rows = plan.bounded_by(BoundedRowsPerPerson).max_rows * plan.unit.protects_groups_of
        one_way = plan.unit.adjacency is Adjacency.ADD_REMOVE
        return PosteriorDraw(points=self.points, sensitivity=rows, epsilon=epsilon, one_way=one_way)

    def margin(self, plan: Plan, chooser: Choosing, confidence: Exact) -> None:
        """Return None: one draw tells nothing of how far off it is."""

    def values(self, plan: Plan, released: Sequence[int], chooser: Choosing, confidence: Exact) -> list[BoundedValue]:
        """Return the proportion that was drawn; it has no bounds."""
        del plan, chooser, confidence
        drawn = plain_number(Fraction(released[0] + 1, self.points + 1))
        return [BoundedValue(key=(), value=drawn, low=None, high=None)]

    def bounding(self, plan: Plan) -> str:
        """Say how many rows of a person count."""
        return picked_rows(plan.aggregate, plan.bounded_by(BoundedRowsPerPerson))

    def bounds_away(self, plan: Plan) -> tuple[str, ...]:
        """Say how many rows of a person count."""
        return (rows_at_most(plan.aggregate, plan.bounded_by(BoundedRowsPerPerson).max_rows),)


STATISTICS = (Statistic(name="posterior_draw", ask=posterior_draw, result="proportion", columns=1),)
