"""A toy statistic in one file, as anybody would add one: how many dozens of people there are."""

from dataclasses import dataclass
from fractions import Fraction

from lapwing.queries.aggregate import CountPerPerson
from lapwing.queries.plan import NoisyMeaning
from lapwing.queries.planning import Question
from lapwing.queries.questions import GROUPED, Statistic, as_condition, as_groups
from lapwing.queries.sql_nodes import only
from lapwing.vocabulary.codec import stored


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountDozens(Question):
    def plan(self, planner):
        return planner.build(CountPerPerson(max_cells=planner.groups()), Dozens())


def dozens(table, where=None, *, by=(), max_groups=None):
    return CountDozens(table=table, where=as_condition(where), by=as_groups(by), max_groups=max_groups)


@stored("toy-dozens")
@dataclass(frozen=True, slots=True, kw_only=True)
class Dozens(NoisyMeaning):
    unit = "dozens"

    def estimates(self, plan, released):
        return {key: Fraction(number, 12) for key, (number,) in plan.blocks(released)}

    def margin(self, plan, noise, confidence):
        return Fraction(plan.margin_of_each(noise, confidence), 12)

    def asked(self, plan):
        del plan
        return "how many dozens of people there are"


def _read(selected, node):
    only(node, "this", "expressions")
    for star in node.expressions:
        only(star)
    return CountDozens(**selected.common)


DOZENS = Statistic(
    name="dozens", ask=dozens, tells="dozens", options=GROUPED - {"max_rows"}, sql={"dozens": ("dozens", _read)}
)
