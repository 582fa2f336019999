"""From a question to a plan: bound each person's part, derive the sensitivity, name the mechanisms that may release it.

It reads the catalogue and nothing else, so a plan costs the same and is refused alike whatever the tables hold. How a
person's part is bounded is said by each statistic (`statistics`); what they share is here.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from lapwing.queries.algebra.aggregate import (
    Aggregate,
    BoundedRowsPerPerson,
    Bounding,
    ClippedSumPerPerson,
    CountPeopleOfTables,
    CountPerPerson,
    DistinctKeys,
    GridKey,
    Key,
    KeyOfColumn,
    Label,
    PrivateKey,
    SketchedKeys,
    cell_count,
    sensitivity,
)
from lapwing.queries.algebra.derived import LookedUp, of_person
from lapwing.queries.algebra.predicate import ALWAYS, InIntervals, Predicate, atom, every
from lapwing.queries.algebra.term import Term, bounds, columns
from lapwing.queries.algebra.totality import check_total
from lapwing.queries.algebra.words import Labels
from lapwing.queries.catalogue.column import Category, Text
from lapwing.queries.catalogue.domains import INTEGERS
from lapwing.queries.catalogue.population import ELSEWHERE, PeopleOf, Population, RowsPerPerson, Segment
from lapwing.queries.language.expressions import (
    EVERYONE,
    Among,
    By,
    Case,
    Condition,
    Literal,
    Name,
    Value,
)
from lapwing.queries.language.joined import InConcepts, InConceptSet, Join, check_table_name
from lapwing.queries.language.parts import check_size, shape
from lapwing.queries.language.sized import Sized
from lapwing.queries.limits import (
    MOST_CANONICAL,
    MOST_KEYS,
    MOST_NODES,
    MOST_NUMBERS,
)
from lapwing.queries.planning.binding import bind
from lapwing.queries.planning.deriving import derive
from lapwing.queries.planning.joins import resolve_joins
from lapwing.queries.planning.keys import bind_key, narrow
from lapwing.queries.planning.measure import Measure, measure
from lapwing.queries.planning.plan import Family, Meaning, Plan, Scale, ValueNames
from lapwing.vocabulary.frozen import frozen

if TYPE_CHECKING:
    from lapwing.queries.planning.presentation import Arrangement
from lapwing.queries.planning.scope import Scope
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import as_int, check_most
from lapwing.vocabulary.wording import Setting

_MOST_BITS = 63
_PUBLIC = frozenset({Among, InConceptSet, InConcepts})  # what is looked up before anything is planned
MOST_STEPS = 2**28
"""One person moves a total or a moment by at most 2^28 grid steps: noise a thousand times as large can be drawn."""


@frozen(repr=False, eq=False)
class Question(Sized, ABC):
    """A statistic of rows of a table, as it was put: which rows, and how to group them.

    `alias` is what it calls the row, and `columns` are those it may name, where WITH chose some; `joins` are rows of
    other tables that SQL put beside it. `kept` says of which rows the statistic is, and leaves the groups as they are.
    """

    MOST_KEYS: ClassVar[int] = MOST_KEYS

    table: str
    alias: str | None = None
    columns: tuple[str, ...] | None = None
    joins: tuple[Join, ...] = ()
    where: Condition = EVERYONE
    kept: Condition = EVERYONE
    by: tuple[By, ...] = ()
    max_rows: int | None = None
    max_groups: int | None = None
    each: Name | None = None
    """The column for each of whose values a SELECT left one row: that of the person, or it is refused."""
    once: bool = False
    """Whether a SELECT left one row a person, the first of theirs, so that no other is bounded away."""

    def __post_init__(self) -> None:
        check_table_name(self.table)
        Sized.__post_init__(self)

    def distinct_column(self) -> Name | None:
        """Return the column whose different values are counted, where that is asked: of a person, they are people."""
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Question) and shape(self) == shape(other)

    def __hash__(self) -> int:
        return hash(shape(self))

    def __repr__(self) -> str:
        from lapwing.queries.language.speller import described  # noqa: PLC0415 - most questions are never shown

        return described(self)

    @abstractmethod
    def plan(self, planner: "Planner") -> Plan:
        """Bound each person's part, or refuse the question and say what to ask instead."""

    def columns_of(self, name: str, *, alone: bool) -> "Mapping[str, Question]":
        """Return the questions of the columns that it asks for: itself, unless its values need one each.

        It is `alone` if nothing is asked beside it.
        """
        del alone
        return {name: self}

    def called(self) -> tuple[str, "Mapping[str, object]"]:
        """Return the name of its statistic, and the words with which that is asked for beside its rows and groups."""
        raise BadQuestionError(f"a {type(self).__name__} has no words to be sent with; ask it in SQL")

    def arranged(self, name: str) -> "Arrangement | None":
        """Return how the rows of its answer are shown, where not all in their own order, if its column has a name."""
        del name
        return None


def plan(question: Question, population: Population) -> Plan:
    """Return the plan of `question`, or refuse it and say what to ask instead."""
    (planned,) = plan_together({"answer": question}, population).values()
    return planned


def plan_together(questions: Mapping[str, Question], population: Population) -> dict[str, Plan]:
    """Return the plans of what is asked together, by name, or refuse it all and say what to ask instead.

    What is too large is refused before anything is planned; numbers and texts are counted in all. Equal questions, such
    as a variance and its root, are planned once, and have one plan.
    """
    for question in questions.values():
        if not isinstance(question, Question):
            raise BadQuestionError(
                "this is not a question; write one with count(...), mean(...) or in SQL, and several with "
                "ask_many([...]), or with a dict as columns of one answer: ask({'n': count(...), 'mean': mean(...)})"
            )
    check_size(tuple(questions.values()))
    alone = len(questions) == 1
    questions = {n: one for name, asked in questions.items() for n, one in asked.columns_of(name, alone=alone).items()}
    plans, numbers, characters, parts = dict[str, Plan](), 0, 0, 0
    known = dict[tuple[object, ...], _Resolved]()  # by what makes two questions equal
    for name, asked in questions.items():
        alike = shape(asked)
        resolved = known.get(alike) or known.setdefault(alike, _Resolved(asked, alike, population))
        parts += resolved.parts
        check_most("parts with what its joins find", parts, MOST_NODES)
        plans[name] = resolved.plan
        numbers += plans[name].numbers
        check_most("numbers in its answer", numbers, MOST_NUMBERS, "group by fewer or coarser keys, or ask for less")
        characters += len(plans[name].canonical)
        check_most("characters when it is written out", characters, MOST_CANONICAL, "group by coarser keys")
    return plans


class _Resolved:
    """A question with its public values looked up and its joins resolved; `parts` is how many parts these have."""

    def __init__(self, asked: Question, parts: tuple[object, ...], population: Population) -> None:
        public = bool(population.vocabularies) or not _PUBLIC.isdisjoint(parts)
        self._question, self._labels = _looked_up(asked, population) if public else (asked, {})
        self._population, self.parts = population, 0
        if self._question.joins or not self._question.table:
            self._question, self._population = resolve_joins(self._question, population)
            self.parts = self._question.size

    @cached_property
    def plan(self) -> Plan:
        """Its plan, which is made once, however many columns ask for it."""
        return replace(self._question.plan(Planner(self._question, self._population)), labels=self._labels)


def _looked_up(asked: Question, population: Population) -> tuple[Question, Labels]:
    """Return a question with the values that it takes from vocabularies and concept sets, and what they are called."""
    from lapwing.queries.planning.public_values import told_values, with_public_values  # noqa: PLC0415 - most questions need none

    question = with_public_values(asked, population)
    return question, told_values(question)


class Planner:
    """One question on its way to a plan, and what it means in the catalogue: its rows, its groups, a person's limits.

    `where` and `keys` are public to the statistic, which may narrow the first and set the second.
    """

    def __init__(self, question: Question, population: Population) -> None:
        self.question, self.population = question, population
        table = population.table(question.table)
        self.scope = Scope(population, table, question.alias or table.name, columns=question.columns, derive=derive)
        if question.each is not None and not self.scope.is_person_key(question.each):
            raise BadQuestionError(
                f"one row for each {question.each.name!r} is not one a person; ask about the rows themselves, or for "
                f"count(distinct {question.each.name})"
            )
        self.where = ALWAYS if question.where is EVERYONE else bind(question.where, self.scope)
        if population.segment is not None:
            of_segment = in_segment(population.segments, population.segment, self.scope.person_key)
            self.where = every([self.where, of_segment])
        check_most("groupings", len(question.by), question.MOST_KEYS, "group by fewer columns")
        self.keys: tuple[Key, ...] = tuple(map(self.key, question.by))
        if question.kept is not EVERYONE:
            self.where = every([self.where, bind(question.kept, self.scope)])

    @property
    def one_a_person(self) -> bool:
        """Whether each person has at most one row in the table."""
        return self.scope.table.rows is RowsPerPerson.ONE_A_PERSON

    def of_rows(self, value: Value) -> Value:
        """Return a value that is missing but where a condition is true as the value itself, and count only such rows.

        The mean of `case when A then x end` is that of x over the rows with A; so it is written in one way.
        """
        match self.scope.spelled(value):
            case Case(((condition, made),), None | Literal(None)) if not isinstance(made, Literal):
                self.where = every([self.where, bind(condition, self.scope)])
                return made
            case written:
                return written

    def measure(
        self,
        values: Sequence[Value],
        most: Callable[[list[Measure]], int],
        limit: int = MOST_STEPS,
        size: "Callable[[Measure], int] | None" = None,
    ) -> list[Measure]:
        """Return the values on their own grids, or on the finest coarser ones on which `most` keeps to the limit.

        That is how far a person moves the sums, or what a row adds to them; the values with the largest `size` are
        rounded first. What is rounded away is far below the noise, which is at least as many steps as one person moves.
        """
        self.scope.holding[:] = [self.where]
        measures = [measure(self.scope.spelled(value), self.scope) for value in values]
        for bits in range(_MOST_BITS, 1, -1):
            coarser = [value.coarser(max(0, (size or _size)(value).bit_length() - bits)) for value in measures]
            if most(coarser) <= limit:
                return coarser
        raise BadQuestionError(
            f"one person could move this by more than {limit} steps of the coarsest grid; clip tighter, or count "
            "fewer rows and groups of a person"
        )

    def build(self, bounding: Bounding, meaning: Meaning) -> Plan:
        """Return the plan of a statistic that bounds each person so, and whose numbers mean this."""
        table, bounding = self._of_tables(bounding)
        aggregate = Aggregate(
            table=table,
            where=self.where,
            keys=self.keys,
            bounding=bounding,
            salt=self.population.salt,
            derived=self.scope.in_order,
        )
        count = aggregate.cell_count
        family = meaning.family if count is not None else meaning.family_of_private_keys
        if family is None:
            raise self._undeclared()
        shown_by = self._people(meaning.shown_by) if family is Family.SHOWN_KEYS and meaning.shown_by else None
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
            names=self._names(),
            cut=self._may_cut(aggregate),
            shown_by=shown_by,
        )

    def _people(self, people: Meaning) -> Plan:
        """Return the plan of the people in each group, whatever rows of theirs the statistic is of.

        In as many groups as nothing else was said of, a person counts whose rows that count are in as many.
        """
        everybody = replace(self.question, kept=EVERYONE)
        if everybody.max_groups is None and not self.in_one_group:
            everybody = replace(everybody, max_groups=self.rows())
        planner = Planner(everybody, self.population)
        return planner.build(CountPerPerson(max_cells=planner.groups()), people)

    def _may_cut(self, aggregate: Aggregate) -> bool:
        """Say whether somebody may have more rows, or be in more groups, than count: the bounds say it, and no data."""
        if self.one_a_person:
            return False
        match aggregate.bounding:
            case BoundedRowsPerPerson(max_rows=rows, max_cells=cells) | ClippedSumPerPerson(high=rows, max_cells=cells):
                unsaid = self.question.max_rows is None and self.scope.table.max_rows != rows
                whole = self.question.once or (
                    rows == 1 and unsaid and isinstance(aggregate.bounding, BoundedRowsPerPerson)
                )
            case CountPerPerson(max_cells=cells) | DistinctKeys(max_cells=cells) | SketchedKeys(max_cells=cells):
                whole = True
            case _:
                return False
        count = aggregate.cell_count
        few = cells is not None and not self.in_one_group and (count is None or cells < count)
        return few or not whole

    def _of_tables(self, bounding: Bounding) -> tuple[str, Bounding]:
        """Return the table that is asked about; of the people of several tables, that they are counted."""
        table = self.scope.table
        match bounding:
            case _ if not isinstance(table, PeopleOf):
                return table.name, bounding
            case CountPerPerson(max_cells=cells):
                return table.of[0], CountPeopleOfTables(tables=table.of, max_cells=cells)
            case _:
                raise BadQuestionError(
                    "of a UNION people are counted; for another statistic of them ask a table about its people, where "
                    f"{table.person_key} in (select ... union select ...)"
                )

    def _names(self) -> dict[str, ValueNames]:
        """Return what the values of the grouped columns are called, where the catalogue says it."""
        named = {}
        for column in self.scope.row.columns:
            kind = column.type
            if isinstance(kind, Category) and kind.labels and any(column.name == _column_of(key) for key in self.keys):
                names: dict[Label, str] = dict(zip(kind.values, kind.labels, strict=True))
                named[column.name] = ValueNames(title=kind.label_name, names=names)
        return named

    def key(self, by: By) -> KeyOfColumn:
        """Return the groups that `by` makes and that the condition leaves possible."""
        self.scope.holding[:] = [self.where]
        key = bind_key(by, self.scope, self.where)
        return narrow(key, self.where, self.scope.derived)

    def rows(self, *values: Value) -> int:
        """Return how many rows of a person count; one, where all `values` are the same in all of their rows."""
        if self.one_a_person or self.once(*values):
            return 1
        limit = self.scope.table.max_rows if self.question.max_rows is None else self.question.max_rows
        if limit is None:
            raise BadQuestionError(
                f"a person may have any number of rows in {self.scope.table.name}; say how many count: ",
                Setting("max_rows", 3),
            )
        return as_int("max_rows", limit, most=2**20)

    def groups_of_rows(self) -> int | None:
        """Return in how many cells rows of a person count; None where those of all cells are bounded together.

        That is so where somebody may be in several groups and nobody said in how many, or only the data knows the
        groups: then `max_groups` says to how many a person is counted when it is decided which are shown.
        """
        if self.in_one_group:
            return 1
        known = self.question.max_groups is not None and cell_count(self.keys) is not None
        return self.groups() if known else None

    @property
    def in_one_group(self) -> bool:
        """Whether nobody can be in two groups."""
        return not self.keys or self.one_a_person or self._of_person()

    def groups(self) -> int:
        """Return in how many cells a person counts."""
        if self.in_one_group:
            return 1
        if self.question.max_groups is None:
            raise BadQuestionError(
                f"a person may be in any number of groups of {self.scope.table.name}; say in how many they count: ",
                Setting("max_groups", 2),
            )
        return self._in_cells(as_int("max_groups", self.question.max_groups, most=2**20))

    def groups_of_people(self) -> int:
        """Return in how many cells a person is counted once: if nobody says it, in as many as rows of theirs count."""
        rows = self.scope.table.max_rows
        unsaid = self.question.max_groups is None and not self.in_one_group
        return self._in_cells(rows) if rows is not None and unsaid else self.groups()

    def _in_cells(self, limit: int) -> int:
        """Return in how many cells somebody can be who is in so many at most."""
        count = cell_count(self.keys)
        return limit if count is None else min(limit, count)

    def once(self, *values: Value) -> bool:
        """Say whether `values` and keys are the same in all rows of a person, and no number of rows was asked for."""
        if self.question.max_rows is not None or not values:
            return False
        self.scope.holding[:] = [self.where]
        return self._of_person(*(measure(self.scope.spelled(value), self.scope).term for value in values))

    def _of_person(self, *values: Term) -> bool:
        """Say whether the keys and these values are the same in all rows of a person."""
        names = {key.column for key in self.keys if not isinstance(key, GridKey)}
        measured = [*values, *(key.term for key in self.keys if isinstance(key, GridKey))]
        return names.union(*map(columns, measured)) <= of_person(self.scope.in_order)

    def require_ungrouped(self) -> None:
        """Refuse groups."""
        if self.keys:
            raise BadQuestionError("this cannot be grouped; ask once for each group, with a where of its own")

    def _undeclared(self) -> BadQuestionError:
        keys = [key.column for key in self.keys if isinstance(key, PrivateKey)]
        names = ", ".join(map(repr, keys))
        column = self.scope.row.column(keys[0])
        some = "'A', 'B'" if isinstance(column.type, Text) else "1, 2"
        derived = self.scope.derived.get(keys[0].casefold())
        plain = derived is None or isinstance(derived, LookedUp)
        written = f"{derived.table}.{derived.column}" if isinstance(derived, LookedUp) else column.written
        listed = f"list them, where {written} in ({some}), which makes these groups public, " if plain else ""
        return BadQuestionError(
            f"the values of {names} are not declared, and by such a column there are counts, totals and means only; "
            f"{listed}{'' if plain else 'ask for one of these, '}or let the custodian declare its categories"
        )


def _column_of(key: Key) -> str | None:
    return None if isinstance(key, GridKey) else key.column


def _size(value: Measure) -> int:
    low, high = bounds(value.term)
    return max(abs(low), abs(high), high - low)


def scale_of(value: Measure) -> Scale:
    """Return the grid that a value is on; one that is always the same is refused."""
    low, high = bounds(value.term)
    if low == high:
        raise BadQuestionError(f"the value is always {low * value.step}; there is nothing to ask about it")
    return Scale(low=Fraction(low) * value.step, step=value.step, extent=high - low)


def in_segment(segments: Sequence[Segment], name: str, person_key: str) -> Predicate:
    """Return the condition that a row is of somebody in the segment called `name`, one of `segments` or `ELSEWHERE`."""
    keys = [(segment.first, segment.last) for segment in segments if name in {segment.name, ELSEWHERE}]
    intervals = INTEGERS.without(keys) if name == ELSEWHERE else INTEGERS.union(keys)
    return atom(InIntervals(column=person_key, domain=INTEGERS, intervals=intervals))
