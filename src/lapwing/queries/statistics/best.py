"""The best of named questions: which of several counts, or totals, is about the largest.

Only the name is released, by private selection; none of the numbers is. Questions of one kind are compared, whatever
their tables, conditions and bounds: the one that a person can move furthest decides about the noise of all.

Proof: proofs/named_choice.md
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from lapwing.mechanisms.histogram_selection import Selector
from lapwing.mechanisms.named_choice import NamedChoice
from lapwing.queries.algebra.aggregate import Aggregate, Sensitivity, sensitivity
from lapwing.queries.planning.plan import BoundedValue, Choosing, ChosenMeaning, Family, Meaning, NoisyMeaning, Plan
from lapwing.queries.planning.planner import Planner, Question, plan
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Exact, check_most
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit

_MOST: Final = 1000
_LONGEST: Final = 200


@frozen(repr=False, eq=False)
class BestOf(Question):
    """Which of several questions has about the largest answer."""

    names: tuple[str, ...]
    candidates: tuple[Question, ...]

    def called(self) -> tuple[str, dict[str, object]]:
        """Return the candidates by their names."""
        return "best_of", dict(zip(self.names, self.candidates, strict=True))

    def plan(self, planner: Planner) -> Plan:
        """Plan each candidate by itself, and choose among their numbers."""
        plans = [plan(one, planner.population) for one in self.candidates]
        for name, one in zip(self.names, plans, strict=True):
            if not isinstance(one.meaning, NoisyMeaning) or one.family is not Family.NOISE or one.numbers != 1:
                raise BadQuestionError(
                    f"{name!r} is not one count or one total: {one.meaning.asked(one)}; compare counts of people, "
                    "counts of rows or totals, without groups"
                )
        kinds = {type(one.meaning): name for name, one in zip(self.names, plans, strict=True)}
        if len(kinds) > 1:
            pair = " and ".join(repr(name) for name in list(kinds.values())[:2])
            raise BadQuestionError(f"{pair} count different things; compare questions of one kind, such as counts")
        steps = [_step(one.meaning) for one in plans]
        step = min(steps)
        meaning = Best(
            names=self.names,
            aggregates=tuple(one.aggregate for one in plans),
            meanings=tuple(one.meaning.in_canonical for one in plans),
            factors=tuple(int(one / step) for one in steps),
            step=step,
        )
        moved = meaning.moved(planner.population.unit)
        return replace(plans[0], meaning=meaning, family=Family.SELECTION, sensitivity=moved)


def best_of(questions: Mapping[str, Question]) -> BestOf:
    """Ask which of several questions, by their names, has about the largest answer: one name, at the price of a choice.

    They are counts of people, counts of rows or totals, all of one kind, and without groups. `session.choose` asks it.

    >>> from lapwing.queries.statistics.counts import count
    >>> best_of({"young": count("patients", "age < 30"), "old": count("patients", "age > 60")}).names
    ('young', 'old')
    """
    if not isinstance(questions, Mapping) or len(questions) < 2:  # noqa: PLR2004 - among one there is no choice
        raise BadQuestionError(
            "a choice is among two questions or more, by their names; write best_of({'young': count(...), 'old': "
            "count(...)})"
        )
    check_most("questions to choose from", len(questions), _MOST, "choose among fewer")
    for name, one in questions.items():
        if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST:
            raise BadQuestionError(f"a name has 1 to {_LONGEST} characters; {str(name)[:40]!r} has not")
        if not isinstance(one, Question):
            raise BadQuestionError(
                f"{name!r} is not a question; write one with count(...), count_rows(...) or total(...)"
            )
        if isinstance(one, BestOf) or one.joins or not one.table:
            raise BadQuestionError(f"{name!r} is a choice or a join; compare questions about one table, with has(...)")
    first = next(iter(questions.values()))
    return BestOf(table=first.table, names=tuple(questions), candidates=tuple(questions.values()))


def _step(meaning: Meaning) -> Fraction:
    step: Any = getattr(meaning, "step", Fraction(1))
    return Fraction(step)


@stored("best-of")
class Best(ChosenMeaning):
    """The name of the candidate whose number, in common steps, is about the largest."""

    unit = "value"
    accurate = "no other has over {margin} more"
    told = "no other has over {margin} more"
    names: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    meanings: tuple[Meaning, ...]
    factors: tuple[int, ...]
    step: Fraction

    @property
    def choices(self) -> int:
        """One."""
        return 1

    @property
    def reads(self) -> tuple[Aggregate, ...]:
        """What is computed for each candidate."""
        return self.aggregates

    def moved(self, unit: PrivacyUnit) -> Sensitivity:
        """Return how far the protected people move any of the numbers, in common steps: the largest of all.

        Proof: proofs/named_choice.md
        """
        each = [sensitivity(one, unit) for one in self.aggregates]
        most = max(factor * one.linf for factor, one in zip(self.factors, each, strict=True))
        monotone = all(one.monotone for one in each)
        reason = "the largest of what one person can do to any candidate"
        return Sensitivity(l1=most, l2_squared=most**2, linf=most, monotone=monotone, reason=reason)

    def selection(self, plan: Plan, epsilon: Fraction, selector: Selector) -> NamedChoice:
        """Return the mechanism that chooses."""
        moved, pays_half = self.moved(plan.unit), plan.unit.adjacency is Adjacency.ADD_REMOVE
        return NamedChoice(
            factors=self.factors,
            sensitivity=moved.linf,
            epsilon=epsilon,
            step=self.step,
            monotone_under=Adjacency.ADD_REMOVE if moved.monotone and pays_half else None,
            selector=selector,
        )

    def values(self, plan: Plan, released: Sequence[int], chooser: Choosing, confidence: Exact) -> list[BoundedValue]:
        """Return the name of the chosen one."""
        del plan, chooser, confidence
        return [BoundedValue(key=(), value=self.names[released[0]], low=None, high=None)]

    def asked(self, plan: Plan) -> str:
        """Say what is compared."""
        each = (self._candidate(plan, place).asked for place in range(len(self.names)))
        told = "; ".join(f"{name}: {asked}" for name, asked in zip(self.names, each, strict=True))
        return f"which of these {len(self.names)} is the largest: {told}"

    def bounding(self, plan: Plan) -> str:
        """Say how a person's part of each is bounded."""
        each = (self.meanings[place].bounding(self._candidate(plan, place)) for place in range(len(self.names)))
        return " ".join(dict.fromkeys(each))

    def bounds_away(self, plan: Plan) -> tuple[str, ...]:
        """Say what is bounded away in any of them."""
        found = (self.meanings[place].bounds_away(self._candidate(plan, place)) for place in range(len(self.names)))
        return tuple(dict.fromkeys(phrase for phrases in found for phrase in phrases))

    def _candidate(self, plan: Plan, place: int) -> Plan:
        """Return a candidate as if it were asked alone."""
        aggregate = self.aggregates[place]
        moved = sensitivity(aggregate, plan.unit)
        return replace(plan, aggregate=aggregate, meaning=self.meanings[place], family=Family.NOISE, sensitivity=moved)
