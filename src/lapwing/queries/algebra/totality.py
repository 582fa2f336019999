"""Every number on the way to an answer, and what holds it: no statement can fail, whatever the rows hold.

A database fails where a number leaves its type, and it computes a number only where a row asks for it. Such a failure
would say that there is a row: one exact bit, for next to nothing. So the range of every number that a statement makes
is worked out here, from the catalogue and the question alone, and what might leave its type is refused before it is
charged.

The rule for a new expression of the emitter: give its range, here or in `ranges`, in the type in which the widest and
the narrowest engine compute it. `check_total` runs once for each plan, before anything is charged, so that a refusal
costs nothing and says nothing about rows; a plan that several columns share is a plan of its own. It runs once more
where SQL is emitted, independently: the emitter trusts no caller, and an aggregate that reached it by another way is
refused instead of failing on a row.

Proof: proofs/totality.md
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeAlias

from lapwing.queries.algebra.aggregate import (
    FACTOR,
    LAST_PLACE,
    MODULUS,
    MOST_BUCKETS,
    OTHER_MODULUS,
    SHIFT,
    Aggregate,
    BinnedKey,
    BoundedRowsPerPerson,
    ClippedSumPerPerson,
    CountInSets,
    CountPeopleOfTables,
    CountPerPerson,
    DeclaredKey,
    DistinctKeys,
    GridKey,
    Key,
    LastStepPerPerson,
    PrivateKey,
    SketchedKeys,
)
from lapwing.queries.algebra.derived import (
    Beginning,
    Branch,
    CaseResult,
    Computed,
    ExtremeOfPerson,
    Filled,
    FilledDay,
    FirstCharacters,
    LookedUp,
    MeanOfPerson,
    NumberOfPerson,
    OnlyWhere,
    PartOfDay,
    Respelled,
    SumOfPerson,
    inputs,
    widened,
)
from lapwing.queries.algebra.pattern import pieces
from lapwing.queries.algebra.predicate import (
    GAPS,
    AllOf,
    AnyOf,
    Compared,
    Gap,
    HasRows,
    InIntervals,
    InTexts,
    IsMissing,
    IsPresent,
    LacksRows,
    Like,
    NotInTexts,
    NotLike,
    Predicate,
    Ref,
)
from lapwing.queries.algebra.ranges import FEW, MOST_ROWS, PACKED_BITS, Held, Number, listed, of_derived, of_term
from lapwing.queries.algebra.term import (
    ConstantTerm,
    Elapsed,
    FunctionOf,
    OnGrid,
    Plus,
    Rounded,
    SteppedDown,
    Term,
    Times,
    bounds,
    columns,
    magnitude,
    of_whole_numbers,
)
from lapwing.queries.catalogue.column import Category, Date, DerivedColumn, Integer, Real, Text, check_text
from lapwing.queries.catalogue.domains import DAYS, DOUBLES, INTEGERS, TRUTHS, Domain, Interval
from lapwing.queries.catalogue.population import KeyType, Population, RowsPerPerson, Table
from lapwing.vocabulary.errors import BadQuestionError

MOST_CONSTANTS = 20_000
"""How many parameters a statement may have: PostgreSQL takes 65,535."""
DEEPEST = 100
"""So deep expressions and conditions may be nested: the databases parse them by recursion."""
_MOST_TIMES = 2**20 + 1
_ELSEWHERE = "a case is about its own row, and names a row around it; compare the two outside of the case"
_TOO_MANY_COMPARED = (
    "three rows of a person or more are compared, each in a has within another; compare two at a time, joined by and"
)


def about_one_table(aggregate: Aggregate, population: Population) -> tuple[Aggregate, Population]:
    """Return the same aggregate about one table: the people of several are one, with a row a person."""
    match aggregate.bounding:
        case CountPeopleOfTables(tables=tables, max_cells=cells):
            within, people = population.with_people_of(tables)
            return replace(aggregate, table=people.name, bounding=CountPerPerson(max_cells=cells)), within
        case _:
            return aggregate, population


def _branches(derived: DerivedColumn) -> Sequence[Branch | OnlyWhere]:
    """Return what a derived column has conditions in."""
    match derived:
        case CaseResult(branches=branches):
            return branches
        case OnlyWhere():
            return (derived,)
        case _:
            return ()


def check_total(aggregate: Aggregate, population: Population) -> None:
    """Refuse an aggregate that an engine could fail on, or round, for some rows.

    Proof: proofs/totality.md
    """
    aggregate, population = about_one_table(aggregate, population)
    for number in numbers(aggregate):
        if not fits(number):
            most = f"{number.held.value.highest:.2e}"
            raise BadQuestionError(
                f"{number.what} could reach {magnitude(number.low, number.high)}, more than the {most} that every "
                "database computes exactly; clip its columns to tighter bounds or declare a coarser step"
            )
    constants(aggregate, population)


def fits(number: Number) -> bool:
    """Say whether a number stays within its type."""
    return number.held.value.lowest <= number.low <= number.high <= number.held.value.highest


def constants(aggregate: Aggregate, population: Population) -> int:
    """Return how many parameters a statement for `aggregate` has at most; refuse too many, and ones of wrong types."""
    conditions = _Conditions(population)
    table = conditions.seen(aggregate.table, aggregate.derived)
    conditions.check(aggregate, table)
    return conditions.constants


def numbers(aggregate: Aggregate) -> Iterator[Number]:
    """Yield every number that a statement for `aggregate` makes, with its range."""
    steps = aggregate.bounding.steps if isinstance(aggregate.bounding, LastStepPerPerson) else ()
    for derived in _derived_in(aggregate.where, *steps, *aggregate.derived):
        yield from of_derived(derived)
    for key in aggregate.keys:
        yield from _of_key(key)
    yield from _of_bounding(aggregate)
    yield from _of_ranks(aggregate.salt)


def _derived_in(*parts: Predicate | DerivedColumn) -> Iterator[DerivedColumn]:
    """Yield derived columns, with those of the rows that they and conditions look at."""
    for part in parts:
        match part:
            case AllOf(within) | AnyOf(within):
                yield from _derived_in(*within)
            case HasRows(where=where, derived=seen) | LacksRows(where=where, derived=seen):
                yield from _derived_in(where, *seen)
            case (
                ExtremeOfPerson(rows=rows)
                | NumberOfPerson(rows=rows)
                | SumOfPerson(rows=rows)
                | MeanOfPerson(rows=rows)
            ):
                yield part
                yield from _derived_in(rows.where, *rows.derived)
            case DerivedColumn():
                yield part
                yield from _derived_in(*(branch.where for branch in _branches(part)))
            case _:
                pass


def _of_key(key: Key) -> Iterator[Number]:
    match key:
        case GridKey(term=term, width=width):
            yield from of_term(term)
            low, high = bounds(term)
            yield Number("the range of the expression", 0, high - low, Held.TERM)
            yield Number("the width of a cell", width, width, Held.TERM)
        case BinnedKey(bins=bins):
            yield Number("the number of a bin", -1, len(bins) - 1, Held.WHOLE)
        case DeclaredKey() | PrivateKey():
            pass  # values as they are stored


_A_COUNT = Number("a count", 0, MOST_ROWS - 1, Held.WHOLE)


def _of_bounding(aggregate: Aggregate) -> Iterator[Number]:
    match aggregate.bounding:
        case CountPerPerson() | CountPeopleOfTables() | DistinctKeys() | LastStepPerPerson():
            yield _A_COUNT
        case SketchedKeys(buckets=buckets):
            yield _A_COUNT
            yield Number("what is left of a value", -OTHER_MODULUS, 2 * OTHER_MODULUS, Held.WHOLE)
            yield Number("a bucket of a sketch", 0, buckets - 1, Held.WHOLE)
            for salt in (aggregate.salt + 1, aggregate.salt + 2):
                yield from _of_ranks(salt)
        case CountInSets():
            yield _A_COUNT
            yield Number("the number of a cell", 0, sum(aggregate.sizes), Held.WHOLE)
            yield Number("the packed codes of a person", 0, 2**PACKED_BITS - 1, Held.WHOLE)
        case ClippedSumPerPerson(term=term, low=low, high=high):
            yield from of_term(term)
            yield _sum("the total of one person", *bounds(term), rows=MOST_ROWS)
            yield Number("the clipped total of one person", low, high, Held.TERM)
            yield _sum("the total", low, high, rows=MOST_ROWS)
        case BoundedRowsPerPerson(terms=terms, max_rows=rows):
            yield Number("the place of a row among those of its person", 0, LAST_PLACE * rows + MODULUS, Held.WHOLE)
            for term in terms:
                yield from of_term(term)
                low, high = bounds(term)
                yield Number("a part that is never negative", low if low >= 0 else -MOST_ROWS, high, Held.TERM)
                yield Number("the total of one person", rows * min(0, low), rows * max(0, high), Held.TERM)
                yield _sum("the total", rows * low, rows * high, rows=MOST_ROWS)


def _sum(what: str, low: int, high: int, *, rows: int) -> Number:
    return Number(what, rows * min(0, low), rows * max(0, high), Held.WIDE)


@lru_cache
def _of_ranks(salt: int) -> tuple[Number, ...]:
    """Return the numbers of ranks; all questions about a population have its salt."""
    most = (MODULUS - 1) * max(FACTOR, MODULUS - 1) + max(SHIFT, 2 * MODULUS)
    return (
        Number("the salt of a rank", min(0, salt) * FACTOR, max(0, salt) * FACTOR, Held.TERM),
        Number("a rank", -MODULUS, most, Held.WHOLE),
    )


def _of_codes(key: DeclaredKey) -> DeclaredKey:
    return DeclaredKey(column=key.column, values=tuple(range(len(key.values))), missing=False)


_SIGNS = ((0,), (-1, 1), (-1, 0, 1), (-1,), (1,), (-1, 0), (0, 1))
_Where: TypeAlias = tuple[Table, ...]
"""The table of a row and those of the rows around it, from the inside out."""
_Looking: TypeAlias = tuple[tuple[Table, Mapping[str, int]], ...]  # each with what is `behind` its derived columns
_Derived: TypeAlias = tuple[DerivedColumn, ...]


class _Conditions:
    """Checks that conditions compare each column with constants of its own type, and that there are not too many."""

    def __init__(self, population: Population) -> None:
        self.population = population
        self.constants = 0

    def check(self, aggregate: Aggregate, table: Table) -> None:
        self.count(10)  # limits, clips and the salt
        self.about_rows(aggregate.counted, table, aggregate.derived)
        for key in aggregate.keys:
            self.key(key, table)
        match aggregate.bounding:
            case LastStepPerPerson(steps=steps):
                for step in steps:
                    self.about_rows(step, table, aggregate.derived)
            case ClippedSumPerPerson(term=term):
                self.term(term, table)
            case BoundedRowsPerPerson(terms=terms):
                for term in terms:
                    self.term(term, table)
            case CountInSets(sets=sets):
                coded = all(isinstance(key, DeclaredKey) and key == _of_codes(key) for key in aggregate.keys)
                _require(coded, "people are counted in sets of keys with the values 0, 1, 2, ...")
                _require(bool(sets) and all(sets), "people are counted in sets, of one key or more each")
            case SketchedKeys(buckets=buckets):
                _require(len(aggregate.keys) == 1 and 0 < buckets <= MOST_BUCKETS, "a sketch is of one column")
            case CountPerPerson() | CountPeopleOfTables() | DistinctKeys():
                pass

    def seen(self, name: str, derived: _Derived, depth: int = 0) -> Table:
        """Return a table as its rows are seen; each derived column is made of what there is, in its own type."""
        _check_depth(depth)
        table = self.population.table(name)
        for one in derived:
            self.derived(one, table, depth + 1)
            table = widened(table, (one,), self.population)
        self.behind(table, derived)
        return table

    def derived(self, derived: DerivedColumn, table: Table, depth: int) -> None:
        self.count(8)  # a part of a day takes the most
        match derived:
            case LookedUp(table=other, column=column):
                self.population.table(other).column(column)
            case ExtremeOfPerson(rows=rows, column=column) | NumberOfPerson(rows=rows, column=column):
                seen = self.seen(rows.table, rows.derived, depth)
                self.about_rows(rows.where, seen, rows.derived, depth)
                if column is not None:
                    seen.column(column)
            case SumOfPerson(rows=rows, term=term) | MeanOfPerson(rows=rows, term=term):
                seen = self.seen(rows.table, rows.derived, depth)
                self.about_rows(rows.where, seen, rows.derived, depth)
                self.term(term, seen, depth)
            case PartOfDay(day=day) | Beginning(day=day):
                self.day(Ref(column=day), (table,))
            case Respelled(column=column) | FirstCharacters(column=column):
                _require(isinstance(table.column(str(column)).type, Text), "another spelling is that of a text")
            case Filled() | FilledDay():
                self.filled(derived, table)
            case OnlyWhere() | CaseResult():
                self.case(derived, table, depth)
            case Computed(term=term):
                self.term(term, table, depth)
                self.count(4 * len(columns(term)))
            case _:
                raise TypeError(derived)

    def filled(self, derived: Filled | FilledDay, table: Table) -> None:
        if isinstance(derived, FilledDay):
            self.day(Ref(column=derived.column), (table,))
            on_calendar = DAYS.lowest <= derived.otherwise <= DAYS.highest
            _require(on_calendar, "what stands for a missing day is a day of the calendar")
            return
        kind = table.column(derived.column).type
        fits = isinstance(kind, Text) if isinstance(derived.otherwise, str) else isinstance(kind, Integer | Real)
        _require(fits, "what stands for a gap is of the kind of the column")
        _require(
            derived.bits == (kind.bits if isinstance(kind, Real) else 0), "a gap is filled on the grid of a column"
        )

    def case(self, derived: OnlyWhere | CaseResult, table: Table, depth: int) -> None:
        branches = _branches(derived)
        if isinstance(derived, OnlyWhere):
            table.column(derived.column)
        else:
            _require(len({type(result) for result in derived.results}) == 1, "a case gives constants of one kind")
            self.count(2 * len(branches) + 1)
        for branch in branches:
            self.condition(branch.where, (table,), depth)

    def key(self, key: Key, table: Table) -> None:
        match key:
            case BinnedKey(column=column, domain=domain, bins=bins):
                self.intervals(table, column, domain, bins)
                self.count(2 * len(bins))
            case GridKey(term=term, width=width):
                _require(width >= 1, f"cells of width {width} cover no range")
                self.term(term, table)
                self.term(term, table)  # it is written twice
                self.count(3)
            case DeclaredKey(values=values):
                self.count(3 * min(len(values), FEW) + 3)
            case PrivateKey():
                pass

    def about_rows(self, predicate: Predicate, table: Table, derived: _Derived, depth: int = 0) -> None:
        self.condition(predicate, (table,), depth)
        self.looks_out(predicate, ((table, self.behind(table, derived)),))

    def behind(self, table: Table, derived: _Derived) -> dict[str, int]:
        """Return how many rows within each other are compared for each derived column, perhaps anew for every pair."""
        known: dict[str, int] = {}
        for one in derived:
            looks = [self.looks_out(case.where, ((table, known),))[1] for case in _branches(one)]
            known[one.name] = max([0, *looks, *(known.get(column, 0) for column in inputs(one))])
        return known

    def condition(self, predicate: Predicate, where: _Where, depth: int) -> None:
        _check_depth(depth)
        match predicate:
            case AllOf(parts) | AnyOf(parts):
                for part in parts:
                    self.condition(part, where, depth + 1)
            case HasRows(table=name, where=inner, at_least=times) | LacksRows(table=name, where=inner, at_least=times):
                _require(1 <= times <= _MOST_TIMES, f"{times} is too often for a condition; write at most {2**20}")
                self.count(1)
                table = self.seen(name, predicate.derived, depth + 1)
                self.condition(inner, (table, *where), depth + 1)
            case Gap() | Compared():
                self.two(predicate, where)
            case InIntervals(column=column, domain=domain, intervals=intervals):
                self.intervals(where[0], column, domain, intervals)
                many = listed(predicate) if len(intervals) > FEW else None
                self.count(2 * len(intervals) if many is None else 1 + 2 * len(many.ranges))
            case InTexts(column=column, texts=texts) | NotInTexts(column=column, texts=texts):
                self.texts(where[0], column, texts)
            case Like(column=column, patterns=patterns) | NotLike(column=column, patterns=patterns):
                self.patterns(where[0], column, patterns)
            case IsMissing() | IsPresent():
                self.count(2)

    def looks_out(self, predicate: Predicate, where: _Looking) -> tuple[frozenset[int], int]:
        """Return at which rows further out a predicate looks, and by how many rows within each other it does so.

        Rows of which a person has one do not count. Two rows make as many pairs as a person has rows, squared; with a
        third no database would end in time for somebody with some hundred rows, and its failure would tell of them.
        """
        match predicate:
            case AllOf(parts) | AnyOf(parts):
                looks = [self.looks_out(part, where) for part in parts]
                return frozenset().union(*(seen for seen, _ in looks)), max((rows for _, rows in looks), default=0)
            case Gap(until=one, since=other) | Compared(left=one, right=other):
                ups = {ref.up for ref in (one, other) if ref.up}
                behind = max(where[ref.up][1].get(ref.column, 0) for ref in (one, other))
                return frozenset(up for up in ups if where[up][0].rows is RowsPerPerson.MANY_A_PERSON), behind
            case HasRows(table=name, where=inner) | LacksRows(table=name, where=inner):
                table = self.population.table(name)
                seen, rows = self.looks_out(inner, ((table, self.behind(table, predicate.derived)), *where))
                rows = rows + (table.rows is RowsPerPerson.MANY_A_PERSON) if seen else 0
                _require(rows <= 1, _TOO_MANY_COMPARED)
                return frozenset(up - 1 for up in seen if up > 1), rows
            case _:
                return frozenset(), where[0][1].get(predicate.column, 0)

    def intervals(self, table: Table, column: str, domain: Domain, intervals: tuple[Interval, ...]) -> None:
        _require(self.domain(table, column) == domain, f"{column!r} is compared with what it does not hold")
        _check_intervals(domain, intervals)

    def texts(self, table: Table, column: str, texts: tuple[str, ...]) -> None:
        _require(self.domain(table, column) is None, f"{column!r} holds no text to compare with")
        for text in texts:
            check_text(column, text)
        self.count(len(texts) if len(texts) <= FEW else 1)

    def patterns(self, table: Table, column: str, patterns: tuple[str, ...]) -> None:
        self.texts(table, column, patterns)
        for pattern in patterns:
            start, middle, end = pieces(pattern)
            # A piece stands in the test of each piece after it, as often as those.
            self.count(len(start.runs) + 2 ** (len(middle) + 1) + (len(end.runs) if end else 0))

    def two(self, atom: Gap | Compared, where: _Where) -> None:
        if isinstance(atom, Gap):
            _check_intervals(GAPS[atom.unit], atom.intervals)
            for ref in (atom.until, atom.since):
                self.day(ref, where)
            self.count(6 * len(atom.intervals))
            return
        refs, signs = (atom.left, atom.right), atom.signs
        _require(all(ref.up < len(where) for ref in refs), _ELSEWHERE)
        lines = {self.domain(where[ref.up], ref.column) for ref in refs}
        alike = len(lines) == 1 or lines == {INTEGERS, DOUBLES}
        _require(alike, f"{atom.left.column!r} and {atom.right.column!r} do not hold the same")
        ordered = lines <= {INTEGERS, DOUBLES}
        _require(signs in (_SIGNS if ordered else _SIGNS[:3]), f"{atom.left.column!r} has no such order")
        self.count(2)

    def day(self, ref: Ref, where: _Where) -> None:
        _require(ref.up < len(where), _ELSEWHERE)
        column = where[ref.up].column(ref.column)
        _require(isinstance(column.type, Date), f"{ref.column!r} holds no days to count between")

    def term(self, term: Term, table: Table, depth: int = 0) -> None:
        _check_depth(depth)
        match term:
            case OnGrid(column=column, bits=bits):
                kind = table.column(column).type
                whole = isinstance(kind, Integer) and bits == 0
                _require(whole or isinstance(kind, Real), f"{column!r} is not on this grid")
                self.count(10)
            case Elapsed(until=until, since=since):
                for end in (until, since):
                    if isinstance(end, str):
                        self.day(Ref(column=end), (table,))
                self.count(7)
            case ConstantTerm():
                self.count(1)
            case Plus(left, right) | Times(left, right):
                self.term(left, table, depth + 1)
                self.term(right, table, depth + 1)
            case Rounded(inner, bits):
                _require(0 <= bits < 2**6, f"2^{bits} is not a width to round to")
                self.term(inner, table, depth + 1)
                self.count(2)
            case SteppedDown(width=width) | FunctionOf(width=width):
                _require(width >= 1, f"steps of width {width} lead nowhere")
                for inner in term.terms * of_whole_numbers(term).written:  # as often as it is written
                    self.term(inner, table, depth + 1)
                self.count(3)

    def domain(self, table: Table, column: str) -> Domain | None:
        """Return the domain that a column's numbers are on, or None where it holds text."""
        if column == self.population.person_key(table):
            return INTEGERS if table.key_type is KeyType.INTEGER else None
        kind = table.column(column).type
        if isinstance(kind.values[0] if isinstance(kind, Category) else kind, str | Text):
            return None
        match kind:
            case Integer() | Category():
                return INTEGERS
            case Real():
                return DOUBLES
            case Date():
                return DAYS
            case _:
                return TRUTHS

    def count(self, constants: int) -> None:
        self.constants += constants
        _require(
            self.constants <= MOST_CONSTANTS,
            f"the question has more than about {MOST_CONSTANTS} constants; ask about fewer values or groups at a time",
        )


def _check_intervals(domain: Domain, intervals: tuple[Interval, ...]) -> None:
    inside = all(domain.lowest <= low <= high <= domain.highest for low, high in intervals)
    _require(
        inside and bool(intervals), f"a span of values leaves {domain.lowest}..{domain.highest}; write smaller numbers"
    )


def _check_depth(depth: int) -> None:
    _require(depth <= DEEPEST, f"the question is nested deeper than {DEEPEST} levels; write it with fewer parentheses")


def _require(holds: bool, otherwise: str) -> None:  # noqa: FBT001 - the sentence says what it is about
    if not holds:
        raise BadQuestionError(otherwise)
