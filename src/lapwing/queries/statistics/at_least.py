"""Whether there are at least so many people: asked in a stream, where a no is paid for by the stream."""

from dataclasses import dataclass

from lapwing.queries.aggregate import CountPerPerson
from lapwing.queries.plan import Family, Meaning, Plan
from lapwing.queries.planning import Planner, Question
from lapwing.queries.questions import ConditionLike, as_condition
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.exact import as_int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AtLeastQuestion(Question):
    """Whether at least `people` people have such a row."""

    people: int

    def plan(self, planner: Planner) -> Plan:
        """Let a person count once."""
        planner.require_ungrouped()
        return planner.build(CountPerPerson(max_cells=1), AtLeast(people=self.people))


def at_least(people: int, table: str, where: ConditionLike = None) -> AtLeastQuestion:
    """Ask whether at least `people` people have a row for which `where` is true, in a stream."""
    number = as_int("people", people, least=0, most=2**62)
    return AtLeastQuestion(people=number, table=table, where=as_condition(where))


@stored("at-least")
@dataclass(frozen=True, slots=True, kw_only=True)
class AtLeast(Meaning):
    """Whether there are at least `people` people."""

    family = Family.SPARSE_VECTOR
    unit = "people"
    people: int

    def asked(self, plan: Plan) -> str:
        """Say what is asked."""
        del plan
        return f"whether there are at least {self.people} people"

    def hidden(self, plan: Plan) -> str:
        """Say how far one person can move the number that is compared."""
        return f"one person changes the number by at most {plan.sensitivity.l1}, and noise hides that much"
