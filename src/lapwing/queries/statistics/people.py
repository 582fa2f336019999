"""How many people: each counts once in a group, however many rows they have."""

from dataclasses import dataclass

from lapwing.queries.aggregate import CountPerPerson
from lapwing.queries.plan import Family, NoisyMeaning, Plan
from lapwing.queries.planning import Planner, Question
from lapwing.queries.questions import ConditionLike, Groupings, as_condition, as_groups
from lapwing.queries.statistics.statistic import GROUPED, Statistic
from lapwing.vocabulary.codec import stored


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountPeople(Question):
    """The number of people who have such a row."""

    def plan(self, planner: Planner) -> Plan:
        """Let a person count once in each of few groups."""
        return plan_people(planner)


def count(
    table: str,
    where: ConditionLike = None,
    *,
    by: Groupings = (),
    max_groups: int | None = None,
) -> CountPeople:
    """Ask how many people have a row in `table` for which `where` is true; each person counts once.

    Parameters
    ----------
    table : the table to look in
    where : which rows, as SQL text or built with `col`
    by : columns to group by
    max_groups : in how many groups one person may count, for tables with many rows a person

    Examples
    --------
    >>> count("patients", "sex = 'M' and age between 20 and 30").table
    'patients'
    """
    return CountPeople(table=table, where=as_condition(where), by=as_groups(by), max_groups=max_groups)


def plan_people(planner: Planner) -> Plan:
    """Plan a count of people: what other statistics are where everybody has one row, or one value."""
    return planner.build(CountPerPerson(max_cells=planner.groups()), People())


@stored("people")
@dataclass(frozen=True, slots=True, kw_only=True)
class People(NoisyMeaning):
    """The number of people in each cell."""

    family_of_private_keys = Family.THRESHOLD
    unit = "people"

    def asked(self, plan: Plan) -> str:
        """Say what is asked."""
        del plan
        return "the number of people"


STATISTICS = (Statistic(name="count", ask=count, tells="people", options=GROUPED - {"max_rows"}),)
