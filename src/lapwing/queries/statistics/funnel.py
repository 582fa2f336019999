"""How many people pass one condition after the other, at the price of one count.

A person is in one bin, the first condition they fail or the end, and a step is the sum of all bins from its own on.
"""

import itertools
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from lapwing.mechanisms.weighted_sums import margin_of_equal_sum
from lapwing.queries.algebra.aggregate import LastStepPerPerson
from lapwing.queries.language.builders import ConditionLike, as_condition
from lapwing.queries.language.expressions import Condition
from lapwing.queries.limits import MOST_FRACTIONS
from lapwing.queries.planning.binding import bind
from lapwing.queries.planning.plan import BoundedValue, CellKey, Estimate, Noise, NoisyMeaning, Plan
from lapwing.queries.planning.planner import Planner, Question
from lapwing.queries.statistics.statistic import Statistic
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.event import DiscreteGaussianNoise, DiscreteLaplaceNoise
from lapwing.vocabulary.exact import Exact, check_most, probability
from lapwing.vocabulary.frozen import frozen


@frozen(repr=False, eq=False)
class Funnel(Question):
    """The number of people who pass the first step, the first two, ... and all of them."""

    steps: tuple[Condition, ...]
    names: tuple[str, ...]

    def called(self) -> tuple[str, dict[str, object]]:
        """Return what it is asked for with."""
        return "funnel", {"steps": self.steps}

    def plan(self, planner: Planner) -> Plan:
        """Let a person count at the last condition that one of their rows reaches."""
        planner.require_ungrouped()
        if not self.steps:
            raise BadQuestionError("a funnel without steps is a count; write count(...)")
        check_most("steps", len(self.steps), MOST_FRACTIONS)
        steps = tuple(bind(step, planner.scope) for step in self.steps)
        return planner.build(LastStepPerPerson(steps=steps), Steps(names=self.names))


def funnel(table: str, steps: Sequence[ConditionLike], where: ConditionLike = None) -> Funnel:
    """Ask how many people pass the first of `steps`, the first two, and so on, at the price of one count.

    >>> funnel("patients", ["sex = 'M'", "age between 20 and 30", "cancer_survivor"]).names
    ("sex = 'M'", 'age between 20 and 30', 'cancer_survivor')
    """
    names: list[str] = []
    for number, step in enumerate(steps, start=1):
        name = step if isinstance(step, str) else f"step {number}"
        names.append(f"{name} (step {number})" if name in names else name)
    conditions = tuple(as_condition(step) for step in steps)
    return Funnel(table=table, steps=conditions, names=tuple(names), where=as_condition(where))


@stored("steps")
class Steps(NoisyMeaning):
    """The number of people who pass the first n conditions, for each n, from the number that stops at each."""

    unit = "people"
    keys_are_groups = False
    row_name = "step"
    names: tuple[str, ...]

    @property
    def in_canonical(self) -> "Steps":
        """What an analyst calls the steps is not part of the question."""
        return Steps(names=())

    def estimates(self, plan: Plan, released: Sequence[int]) -> dict[CellKey, Estimate]:
        """Return how many pass each step: all that stop later."""
        plan.blocks(released)
        passed = list(itertools.accumulate(reversed(released)))[-2::-1]
        return {(name,): Fraction(number) for name, number in zip(self.names, passed, strict=True)}

    def margin(self, plan: Plan, noise: Noise, confidence: Exact) -> int:
        """Return how far off the first step is at most: the sum of the most bins."""
        del plan
        return self._margin_of_bins(len(self.names), noise, confidence)

    def forms(self, plan: Plan) -> None:
        """Return None: steps have bins in common, so that the errors of two are not independent."""

    def values(self, plan: Plan, released: Sequence[int], noise: Noise, confidence: Exact) -> list[BoundedValue]:
        """Return each step with its own margin: later ones are sums of fewer bins."""
        estimates, steps = self.estimates(plan, released), len(self.names)
        margins = [self._margin_of_bins(steps - i, noise, confidence) for i in range(steps)]
        return [
            BoundedValue.around(key, value, margin)
            for (key, value), margin in zip(estimates.items(), margins, strict=True)
        ]

    def _margin_of_bins(self, bins: int, noise: Noise, confidence: Exact) -> int:
        """Bound a step that is the sum of this many bins, such that the bounds of all steps hold at once."""
        each = 1 - (1 - probability("confidence", confidence)) / len(self.names)
        return _margin(noise.event, bins, each)

    def asked(self, plan: Plan) -> str:
        """Say how many conditions are passed, one after the other."""
        steps = plan.bounded_by(LastStepPerPerson).steps  # the ledger has no names of them
        return f"how many people pass {len(steps)} conditions, one after the other"

    def bounding(self, plan: Plan) -> str:
        """Say where a person counts."""
        del plan
        return "a person counts once, at the last condition that one of their rows reaches."


@lru_cache(maxsize=4096)
def _margin(event: DiscreteLaplaceNoise | DiscreteGaussianNoise, bins: int, confidence: Fraction) -> int:
    """Remember a margin, which takes long to find: no condition changes it, and previews ask for it again and again."""
    return margin_of_equal_sum(event, bins, confidence)


STATISTICS = (
    Statistic(
        name="funnel",
        ask=funnel,
        result="people",
        needs={"steps": "--step CONDITION, once for each"},
    ),
)
