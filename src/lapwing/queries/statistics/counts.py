"""How many people, how many rows, and whether there are at least N people.

A person counts once in a group, however many rows they have; of their rows, at most `max_rows` count in a group.
Whether there are at least N is asked in a stream, where a no is paid for by the stream.
"""

from typing import Unpack

from sqlglot import exp

from lapwing.queries.algebra.aggregate import BoundedRowsPerPerson, ClippedSumPerPerson, CountPerPerson
from lapwing.queries.algebra.predicate import every
from lapwing.queries.algebra.term import ConstantTerm
from lapwing.queries.algebra.words import at_most, groups_at_most, picked_rows, rows_at_most, rows_count
from lapwing.queries.language.builders import ConditionLike, Groupings, as_condition, as_groups
from lapwing.queries.language.expressions import Missing, Name, Not, Value
from lapwing.queries.language.joined import PerPerson
from lapwing.queries.language.sql.nodes import literal, only
from lapwing.queries.language.sql.refusals import refusal
from lapwing.queries.planning.binding import bind
from lapwing.queries.planning.plan import Family, Meaning, NoisyMeaning, Plan
from lapwing.queries.planning.planner import Planner, Question
from lapwing.queries.planning.scope import Scope
from lapwing.queries.statistics.statistic import GroupWords, Selected, Statistic, rows_of
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import as_int
from lapwing.vocabulary.frozen import frozen


@frozen(repr=False, eq=False)
class CountPeople(Question):
    """The number of people who have such a row."""

    def called(self) -> tuple[str, dict[str, object]]:
        """Return what it is asked for with."""
        return "count", {}

    def plan(self, planner: Planner) -> Plan:
        """Let a person count once in each of few groups."""
        return plan_people(planner)


def count(table: str, where: ConditionLike = None, *, by: Groupings = (), max_groups: int | None = None) -> CountPeople:
    """Ask how many people have a row in `table` for which `where` is true; each person counts once.

    Parameters
    ----------
    table : the table to look in
    where : which rows, as SQL text or built with `col`
    by : columns to group by
    max_groups : in how many groups one person may count, for tables with many rows a person

    >>> count("patients", "sex = 'M' and age between 20 and 30").table
    'patients'
    """
    return CountPeople(table=table, where=as_condition(where), by=as_groups(by), max_groups=max_groups)


def plan_people(planner: Planner) -> Plan:
    """Plan a count of people: what other statistics are where everybody has one row, or one value."""
    return planner.build(CountPerPerson(max_cells=planner.groups_of_people()), People())


@stored("people")
class People(NoisyMeaning):
    """The number of people in each cell."""

    family_of_private_keys = Family.THRESHOLD
    unit = "people"
    asks = "the number of people"


@frozen(repr=False, eq=False)
class CountRows(Question):
    """The number of such rows, counting at most `max_rows` of a person; of those with a value in `present` only.

    Unlike a condition, `present` says nothing about the groups: beside it, others may be counted. Where a SELECT left
    one row for `each` person, people are counted.
    """

    present: Value | None = None

    def distinct_column(self) -> Name | None:
        """Return the person key, where one row for each was left."""
        return self.each

    def called(self) -> tuple[str, dict[str, object]]:
        """Return what it is asked for with."""
        return "rows", {}

    def plan(self, planner: Planner) -> Plan:
        """Clip a person's number of rows, in a group or in all together; where everybody has one row, count people."""
        if self.present is not None and not _is_key(self.present, planner.scope):  # rows of nobody never count
            planner.where = every([planner.where, bind(Not(Missing(self.present)), planner.scope)])
        if planner.one_a_person or self.each is not None:
            return plan_people(planner)
        rows, groups = planner.rows(), planner.groups_of_rows()
        if groups is None:
            return planner.build(rows_of_all_groups(rows), RowCount())
        bounding = ClippedSumPerPerson(term=ConstantTerm(1), low=0, high=rows, max_cells=groups)
        return planner.build(bounding, RowCount())


def _is_key(value: Value, scope: Scope) -> bool:
    return isinstance(value, Name) and scope.is_person_key(value)


def rows_of_all_groups(rows: int) -> BoundedRowsPerPerson:
    """Return that few rows of a person count, in all groups together: however many there are, they cost the same."""
    return BoundedRowsPerPerson(terms=(ConstantTerm(1),), most=1, max_rows=rows, max_cells=None)


def count_rows(table: str, where: ConditionLike = None, **grouped: Unpack[GroupWords]) -> CountRows:
    """Ask how many rows there are for which `where` is true, counting at most `max_rows` of one person.

    The words `by=`, `max_rows=` and `max_groups=` are those of `mean`: without `max_groups` these are the rows of a
    person in all groups together, and with `max_groups=N` those in each of N groups, which costs N times as much.
    """
    return CountRows(**rows_of(table, where, **grouped))


@stored("rows")
class RowCount(NoisyMeaning):
    """The number of rows in each cell."""

    family_of_private_keys = Family.SHOWN_KEYS
    shown_by = People()
    unit = "rows"
    asks = "the number of rows"

    def bounding(self, plan: Plan) -> str:
        """Say how many rows of a person count."""
        match plan.aggregate.bounding:
            case BoundedRowsPerPerson() as picked:
                return picked_rows(plan.aggregate, picked)
            case _:
                clipped = plan.bounded_by(ClippedSumPerPerson)
                return f"{rows_count(plan.aggregate, clipped.high, clipped.max_cells)}."

    def bounds_away(self, plan: Plan) -> tuple[str, ...]:
        """Say how many rows and groups of a person count."""
        match plan.aggregate.bounding:
            case BoundedRowsPerPerson(max_rows=rows):
                return (rows_at_most(plan.aggregate, rows),)
            case _:
                return at_most(plan.bounded_by(ClippedSumPerPerson).high, "row"), *groups_at_most(plan.aggregate)


def _read(selected: Selected, node: exp.Count) -> CountRows:
    """Read count(*), count(1) and count(column)."""
    only(node, "this", "big_int")
    match node.this:
        case None:  # count() is count(*)
            return CountRows(**selected.common)
        case exp.Star():
            only(node.this)
            return CountRows(**selected.common)
        case exp.Column():
            present = selected.reader.value(node.this)
            if isinstance(present, PerPerson) and present.function in {"count", "distinct"}:
                return CountRows(**selected.common)  # a number of rows is never missing
            return CountRows(**selected.common, present=present)
        case exp.Literal() if not node.this.is_string:
            literal(node.this)
            return CountRows(**selected.common)
        case exp.AggFunc() | exp.Window() | exp.Subquery() | exp.Literal() | exp.Null():
            raise refusal(node.this)
        case _:
            return CountRows(**selected.common, present=selected.reader.value(node.this))


@frozen(repr=False, eq=False)
class AtLeastQuestion(Question):
    """Whether at least `people` people have such a row."""

    people: int

    def plan(self, planner: Planner) -> Plan:
        """Let a person count once."""
        planner.require_ungrouped()
        return planner.build(CountPerPerson(max_cells=1), AtLeast(people=self.people))


def at_least(people: int, table: str, where: ConditionLike = None) -> AtLeastQuestion:
    """Ask whether at least `people` people have a row for which `where` is true; a stream answers it."""
    number = as_int("people", people, least=0, most=2**62)
    return AtLeastQuestion(people=number, table=table, where=as_condition(where))


@stored("at-least")
class AtLeast(Meaning):
    """Whether there are at least `people` people."""

    family = Family.SPARSE_VECTOR
    unit = "people"
    asks = "whether there are at least {self.people} people"
    hides = "one person changes the number by at most {plan.sensitivity.l1}, and noise hides that much"
    people: int


def people_asked_for(meaning: Meaning) -> int:
    """Return how many people a question of a stream asks for; streams are asked nothing else."""
    if not isinstance(meaning, AtLeast):
        raise BadQuestionError("a stream is asked only whether there are at least N people")
    return meaning.people


STATISTICS = (
    Statistic(name="count", ask=count, result="people"),
    Statistic(name="rows", ask=count_rows, result="rows", sql={exp.Count: ("count", _read)}),
)
