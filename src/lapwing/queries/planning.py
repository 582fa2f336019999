"""From a question to a plan: bound each person's part, derive the sensitivity, name the mechanisms that may release it.

It reads the catalogue and nothing else, so a plan costs the same and is refused alike whatever the tables hold.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from lapwing.queries import bernstein
from lapwing.queries.aggregate import (
    Aggregate,
    BoundedRowsPerPerson,
    Bounding,
    ClippedSumPerPerson,
    CountPerPerson,
    DeclaredKey,
    DistinctKeys,
    GridKey,
    Key,
    KeyOfColumn,
    LastStepPerPerson,
    PrivateKey,
    cell_count,
)
from lapwing.queries.binding import bind
from lapwing.queries.catalogue import Population, RowsPerPerson
from lapwing.queries.column import Category
from lapwing.queries.expressions import Missing, Name, Not, Value
from lapwing.queries.keys import bind_key
from lapwing.queries.limits import (
    MOST_CANONICAL,
    MOST_FRACTIONS,
    MOST_KEYS,
    MOST_NUMBERS,
    MOST_STATISTICS,
    check_most,
    check_size,
)
from lapwing.queries.measure import Measure, measure
from lapwing.queries.narrowing import narrowed
from lapwing.queries.plan import (
    AtLeast,
    Distinct,
    Family,
    Meaning,
    Moment,
    Moments,
    People,
    Plan,
    Quantiles,
    RowCount,
    Scale,
    Steps,
    Top,
    Total,
)
from lapwing.queries.predicate import Predicate, every
from lapwing.queries.questions import (
    Average,
    By,
    CountDistinct,
    CountPeople,
    CountRows,
    EnoughPeople,
    Funnel,
    Question,
    Ranks,
    Sum,
    TopCategories,
)
from lapwing.queries.scope import Scope
from lapwing.queries.segments import in_cell
from lapwing.queries.sensitivity import sensitivity
from lapwing.queries.term import ConstantTerm, bounds
from lapwing.queries.totality import check_total
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import as_int
from lapwing.vocabulary.wording import Setting

_MOST_BITS = 63
_MOST_STEPS = 2**28
"""One person moves a total or a moment by at most so many grid steps: noise a thousand times as large can be drawn."""


def plan(question: Question, population: Population) -> Plan:
    """Return the plan of `question`, or refuse it and say what to ask instead."""
    (planned,) = plan_together({"answer": question}, population).values()
    return planned


def plan_together(questions: Mapping[str, Question], population: Population) -> dict[str, Plan]:
    """Return the plans of what is asked together, by name, or refuse it all and say what to ask instead.

    What is too large is refused before anything is planned; numbers and texts are counted in all.
    """
    check_most("statistics", len(questions), MOST_STATISTICS)
    for question in questions.values():
        if not isinstance(question, Question):
            raise BadQuestionError("this is no question; write one with count(...), mean(...) or in SQL")
    check_size(*questions.values())
    plans, numbers, characters = dict[str, Plan](), 0, 0
    for name, question in questions.items():
        plans[name] = _Planner(question, population).plan()
        numbers += plans[name].numbers
        check_most("numbers in its answer", numbers, MOST_NUMBERS, "group by fewer or coarser keys, or ask for less")
        characters += len(plans[name].canonical)
        check_most("characters when it is written out", characters, MOST_CANONICAL, "group by coarser keys")
    return plans


class _Planner:
    """One question on its way to a plan."""

    def __init__(self, question: Question, population: Population) -> None:
        self.question, self.population = question, population
        table = population.table(question.table)
        self.scope = Scope(population, table, question.alias or table.name, columns=question.columns)
        self.where = self.asked_about()
        check_most("groupings", len(question.by), MOST_KEYS, "group by fewer columns")
        self.keys: tuple[Key, ...] = tuple(self.key(by) for by in question.by)

    def plan(self) -> Plan:
        match self.question:
            case CountPeople():
                return self.people()
            case CountRows(present=present):
                return self.count_rows(present)
            case EnoughPeople(people=people):
                self.ungrouped()
                return self.made(CountPerPerson(max_cells=1), AtLeast(people=people), Family.SPARSE_VECTOR)
            case Sum():
                return self.total(self.question)
            case Average():
                return self.moments(self.question)
            case Ranks():
                return self.quantiles(self.question)
            case TopCategories() | Funnel() | CountDistinct():
                return self.about_people(self.question)

    def people(self) -> Plan:
        return self.made(CountPerPerson(max_cells=self.groups()), People())

    def count_rows(self, present: Name | None) -> Plan:
        if present is not None and not self.scope.is_person_key(present):  # rows of nobody never count
            self.where = every([self.where, bind(Not(Missing(present)), self.scope)])
        if self.scope.table.rows is RowsPerPerson.ONE_A_PERSON:
            return self.people()
        bounding = ClippedSumPerPerson(term=ConstantTerm(1), low=0, high=self.rows(), max_cells=self.groups())
        return self.made(bounding, RowCount())

    def about_people(self, question: TopCategories | Funnel | CountDistinct) -> Plan:
        match question:
            case TopCategories():
                return self.top(question)
            case Funnel():
                return self.funnel(question)
            case CountDistinct() if self.scope.is_person_key(question.column):
                return self.people()
            case CountDistinct():
                return self.distinct(question)

    def total(self, question: Sum) -> Plan:
        rows, groups = self.rows(), self.groups()

        def most(values: list[Measure]) -> int:
            return rows * groups * max(abs(bound) for bound in bounds(values[0].term))

        (value,) = self.measured([question.value], most)
        low, high = (bound * rows for bound in bounds(value.term))
        bounding = ClippedSumPerPerson(term=value.term, low=min(0, low), high=max(0, high), max_cells=groups)
        return self.made(bounding, Total(step=value.step))

    def moments(self, question: Average) -> Plan:
        degree, rows, groups = _DEGREES[question.moment], self.rows(), self.groups()

        def most(values: list[Measure]) -> int:
            return math.prod(_scale(value).extent ** degree for value in values)

        values = self.measured(question.values, lambda values: rows * groups * most(values))
        terms = bernstein.products([bernstein.basis(value.term, degree) for value in values])
        bounding = BoundedRowsPerPerson(terms=terms, most=most(values), max_rows=rows, max_cells=groups)
        return self.made(bounding, Moments(moment=question.moment, scales=tuple(_scale(value) for value in values)))

    def measured(self, values: Sequence[Value], most: Callable[[list[Measure]], int]) -> list[Measure]:
        """Return the values on their own grids, or on the finest coarser ones on which a person moves few enough steps.

        What is rounded away is far below the noise, which is at least as many steps as one person moves.
        """
        measures = [measure(self.scope.spelled(value), self.scope) for value in values]
        for bits in range(_MOST_BITS, 1, -1):
            coarser = [value.coarser(max(0, _size(value).bit_length() - bits)) for value in measures]
            if most(coarser) <= _MOST_STEPS:
                return coarser
        raise BadQuestionError(
            f"one person could move this by more than {_MOST_STEPS} steps of the coarsest grid; clip tighter, or count "
            "fewer rows and groups of a person"
        )

    def quantiles(self, question: Ranks) -> Plan:
        self.ungrouped()
        check_most("quantiles", len(question.at), MOST_FRACTIONS)
        value = measure(self.scope.spelled(question.value), self.scope)
        scale = _scale(value)
        width = -(-(scale.extent + 1) // question.cells)
        key = GridKey(term=value.term, width=width)
        self.keys = (key,)
        bounding = BoundedRowsPerPerson(terms=(ConstantTerm(1),), most=1, max_rows=self.rows(), max_cells=None)
        coarse = Scale(low=scale.low, step=scale.step * width, extent=key.cells - 1)
        return self.made(bounding, Quantiles(at=question.at, scale=coarse), Family.SELECTION)

    def top(self, question: TopCategories) -> Plan:
        self.ungrouped()
        column = self.scope.column(question.column)
        if not isinstance(column.type, Category):
            raise BadQuestionError(f"{column.name!r} declares no categories to choose from; count by it instead")
        self.check_ranked(question)
        declared = DeclaredKey(column=column.name, values=column.type.values, missing=False)
        self.keys = (narrowed(declared, self.where),)
        k = as_int("k", question.k, most=cell_count(self.keys))
        return self.made(CountPerPerson(max_cells=None), Top(k=k), Family.SELECTION)

    def check_ranked(self, question: TopCategories) -> None:
        """Refuse a ranking by rows, or by other values, where the people are ranked by."""
        match question.ranked_by:
            case CountRows() if self.scope.table.rows is RowsPerPerson.MANY_A_PERSON:
                what = "count(*) counts rows"
            case CountDistinct(column=column) if not self.scope.is_person_key(column):
                what = f"count(distinct {column.name}) counts values"
            case _:
                return
        raise BadQuestionError(
            f"{what}, and the largest groups are found by people; write order by count(distinct "
            f"{self.scope.person_key}) desc"
        )

    def funnel(self, question: Funnel) -> Plan:
        self.ungrouped()
        if not question.steps:
            raise BadQuestionError("a funnel without steps is a count; write count(...)")
        check_most("steps", len(question.steps), MOST_FRACTIONS)
        steps = tuple(bind(step, self.scope) for step in question.steps)
        return self.made(LastStepPerPerson(steps=steps), Steps(names=question.names))

    def distinct(self, question: CountDistinct) -> Plan:
        self.ungrouped()
        key = self.key(By(column=question.column))
        self.keys = (replace(key, missing=False),)  # what is missing is no value, as in SQL
        return self.made(DistinctKeys(max_cells=self.groups()), Distinct())

    def made(self, bounding: Bounding, meaning: Meaning, family: Family = Family.NOISE) -> Plan:
        aggregate = Aggregate(
            table=self.scope.table.name,
            where=self.where,
            keys=self.keys,
            bounding=bounding,
            salt=self.population.salt,
        )
        count = aggregate.cell_count
        if count is None and isinstance(bounding, CountPerPerson):
            family = Family.THRESHOLD
        elif count is None and not isinstance(bounding, DistinctKeys):
            raise self.undeclared()
        if count is not None:
            check_most("cells", count, MOST_NUMBERS, "group by fewer or coarser keys")
        check_total(aggregate, self.population)
        return Plan(
            population=self.population.name,
            unit=self.population.unit,
            aggregate=aggregate,
            meaning=meaning,
            family=family,
            sensitivity=sensitivity(aggregate, self.population.unit),
        )

    def key(self, by: By) -> KeyOfColumn:
        """Return the groups that `by` makes and that the condition leaves possible."""
        return narrowed(bind_key(by, self.scope), self.where)

    def asked_about(self) -> Predicate:
        """Return the rows that are asked about: of the people of one cell, where only they are."""
        asked, cell = bind(self.question.where, self.scope), self.population.cell
        return asked if cell is None else every([asked, in_cell(self.population.cells, cell, self.scope.person_key)])

    def rows(self) -> int:
        """Return how many rows of a person count."""
        if self.scope.table.rows is RowsPerPerson.ONE_A_PERSON:
            return 1
        limit = self.scope.table.max_rows if self.question.max_rows is None else self.question.max_rows
        if limit is None:
            raise BadQuestionError(
                f"a person may have any number of rows in {self.scope.table.name}; say how many count: ",
                Setting("max_rows", 3),
            )
        return as_int("max_rows", limit, most=2**20)

    def groups(self) -> int:
        """Return in how many cells a person counts."""
        if not self.keys or self.scope.table.rows is RowsPerPerson.ONE_A_PERSON:
            return 1
        if self.question.max_groups is None:
            raise BadQuestionError(
                f"a person may be in any number of groups of {self.scope.table.name}; say in how many they count: ",
                Setting("max_groups", 2),
            )
        limit = as_int("max_groups", self.question.max_groups, most=2**20)
        count = cell_count(self.keys)
        return limit if count is None else min(limit, count)

    def ungrouped(self) -> None:
        if self.keys:
            raise BadQuestionError("this cannot be grouped; ask once for each group, with a where of its own")

    def undeclared(self) -> BadQuestionError:
        names = ", ".join(repr(key.column) for key in self.keys if isinstance(key, PrivateKey))
        return BadQuestionError(
            f"the values of {names} are not declared, and only people can be counted by such a column; count people by "
            "it first, or let the custodian declare its categories"
        )


_DEGREES = {Moment.MEAN: 1, Moment.VARIANCE: 2, Moment.COVARIANCE: 1, Moment.CORRELATION: 2}
"""The degree of the polynomials whose sums give a moment."""


def _size(value: Measure) -> int:
    low, high = bounds(value.term)
    return max(abs(low), abs(high), high - low)


def _scale(value: Measure) -> Scale:
    low, high = bounds(value.term)
    if low == high:
        raise BadQuestionError(f"the value is always {low * value.step}; there is nothing to ask about it")
    return Scale(low=Fraction(low) * value.step, step=value.step, extent=high - low)
