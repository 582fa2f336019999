"""Which derived column a value is: what may be named where a column may, in conditions, groups and values.

Everything here is total by construction, or refused with what to write instead.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Final

from lapwing.queries.algebra.derived import (
    Beginning,
    Branch,
    CaseResult,
    Computed,
    ExtremeOfPerson,
    Filled,
    FilledDay,
    FirstCharacters,
    MeanOfPerson,
    NumberOfPerson,
    OnlyWhere,
    PartOfDay,
    PersonRows,
    Respelled,
    Spelling,
    SumOfPerson,
    unclipped,
)
from lapwing.queries.algebra.functions import DATE_UNITS, Part, ScalarFunction, Takes
from lapwing.queries.algebra.predicate import ALWAYS, NEVER, AllOf, AnyOf, IsMissing, Predicate
from lapwing.queries.algebra.term import OnGrid, bounds, magnitude
from lapwing.queries.catalogue.column import (
    MOST_GRID,
    Boolean,
    Category,
    Column,
    Date,
    Integer,
    Real,
    Text,
    check_text,
    holds_text,
    number_for,
    text_for,
)
from lapwing.queries.catalogue.domains import day_number
from lapwing.queries.catalogue.population import RowsPerPerson
from lapwing.queries.language.expressions import (
    Age,
    And,
    Applied,
    Arithmetic,
    Case,
    Clip,
    Coalesce,
    Compare,
    Condition,
    Is,
    Literal,
    Missing,
    Name,
    Not,
    Now,
    OneOf,
    Or,
    TruthOf,
    Value,
    day_of,
)
from lapwing.queries.language.joined import PerPerson
from lapwing.queries.planning.binding import bind
from lapwing.queries.planning.days import now
from lapwing.queries.planning.instants import SECONDS
from lapwing.queries.planning.measure import Measure, declared, ends_of, is_elapsed, measure, name_of
from lapwing.queries.planning.scope import Scope
from lapwing.queries.planning.semijoins import untied_where
from lapwing.queries.planning.simplifying import row_of, simplified
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import as_int

_MOST_SUM: Final = 2**50
"""A sum is clipped to so many steps, beyond what people spend, weigh or earn; statistics of it say tighter bounds."""
_FINER: Final = 20
"""The mean of a person's rows is on a grid a million times finer than theirs."""
MOST_ROWS_OF_PERSON: Final = 2**20
_MOST_JOINED: Final = 1000
_MOST_CHARACTERS: Final = 1000


def derive(value: Value, scope: Scope) -> Column:
    """Return the column of the row of `scope` that a value is, or refuse it and say what to write instead."""
    value = simplified(value, scope)
    match value:
        case Name():
            return scope.column(value)
        case TruthOf(condition):
            return scope.add(_truth(condition, scope))
        case Applied():
            return _applied(value, row_of(value), scope)
        case Case():
            return _only_where(value, scope) or scope.add(_case(value, scope))
        case PerPerson():
            return _of_person(value, scope)
        case Age() | Arithmetic() | Clip():
            return _computed(value, scope)
        case _:
            return _other(value, scope)


def _other(value: Value, scope: Scope) -> Column:
    match value:
        case Coalesce(inner, Literal() as otherwise):
            return _filled(inner, otherwise, scope)
        case Coalesce(inner, Now()):
            return _filled(inner, Literal(now(scope)), scope)
        case Now():
            raise BadQuestionError("current_date is compared with days; for completed years write age(born)")
        case Literal():
            raise BadQuestionError("a constant is the same in every row; name a column, or compute with one")
        case _:
            raise BadQuestionError("this is no value of a row; write a column, or what is computed from columns")


def _applied(value: Applied, row: ScalarFunction, scope: Scope) -> Column:
    """Return the column that a function makes: of numbers a term, of a day a part, of a text another one."""
    match row.takes, value.argument:
        case Takes.DAY, None:
            return scope.add(PartOfDay(name="", part=Part(row.name), day=_day(value.value, scope).name))
        case Takes.DAY, Literal("day"):
            return _day(value.value, scope)
        case Takes.DAY, Literal(unit) if unit in DATE_UNITS:
            return scope.add(Beginning(name="", unit=Part(unit), day=_day(value.value, scope).name))
        case Takes.DAY, _:
            given = value.argument.value if isinstance(value.argument, Literal) else "such unit"
            if given in SECONDS and isinstance(value.value, Name):
                name = value.value.name
                raise BadQuestionError(
                    f"moments are grouped by day and {given}; write group by {name}::date, hour({name})"
                )
            raise BadQuestionError(f"a day has no {given!r} here; write one of {', '.join(DATE_UNITS)}")
        case Takes.DECLARED, other:
            return _of_declared(value.value, other, scope)
        case Takes.TEXT, None:
            return _respelled(row, value.value, scope)
        case Takes.TEXT, Literal(int() as length):
            return _left(value.value, length, scope)
        case _:
            return _computed(value, scope)


def _day(value: Value, scope: Scope) -> Column:
    column = scope.column(value)
    if not isinstance(column.type, Date):
        raise BadQuestionError(f"{column.name!r} holds no days; a part of a day needs a column of days: month(day)")
    return column


def _computed(value: Value, scope: Scope) -> Column:
    if is_elapsed(value, scope):
        unit, until, since = ends_of(value, scope)
        if isinstance(until, int) and isinstance(since, int):
            raise BadQuestionError("the time between two fixed days is a number; write the number")
        return scope.add(Computed(name="", term=unclipped(name_of(until), name_of(since), unit), bits=0))
    found = measure(value, scope)
    low, high = bounds(found.term)
    if max(abs(low), abs(high)) >= MOST_GRID:
        raise BadQuestionError(
            f"the expression could reach {magnitude(low, high)} grid steps, more than 2^52; clip its columns to "
            "tighter bounds or declare a coarser step"
        )
    if low == high:
        raise BadQuestionError(f"the value is always {low * found.step}; there is nothing to ask about it")
    return scope.add(_on_grid(found))


def _on_grid(found: Measure) -> Computed:
    return Computed(name="", term=found.term, bits=found.bits)


def _case(written: Case, scope: Scope) -> CaseResult:
    branches = tuple(Branch(bind(where, scope), _result(result)) for where, result in written.branches)
    otherwise = None if written.otherwise is None else _result(written.otherwise)
    made = CaseResult(name="", branches=branches, otherwise=otherwise)
    if len({type(result) for result in made.results}) != 1:
        raise BadQuestionError(
            "what a case gives is public: constants of one kind, all text, all whole numbers or all truth values; "
            "write case when age >= 65 then 'old' else 'young' end"
        )
    return made


def _only_where(written: Case, scope: Scope) -> Column | None:
    """Return a column where a condition is true, missing elsewhere; None for a case that gives constants."""
    match written:
        case Case(branches=((where, made),), otherwise=None | Literal(None)) if not isinstance(made, Literal):
            column, predicate = scope.column(made), bind(where, scope)
        case _:
            return None
    if predicate == ALWAYS:
        return column
    return scope.add(OnlyWhere(name="", column=column.name, where=predicate))


def _truth(condition: Condition, scope: Scope) -> CaseResult:
    """Return whether a condition is true; missing only where it can be unknown: no group would be nobody's."""
    true = Branch(bind(condition, scope), True)  # noqa: FBT003 - a public value
    if true.where in (ALWAYS, NEVER):
        raise BadQuestionError(
            "the condition is the same in every row, so there is nothing to ask about it; name a column"
        )
    if not can_be_unknown(condition, scope):
        return CaseResult(name="", branches=(true,), otherwise=False)
    return CaseResult(name="", branches=(true, Branch(bind(Not(condition), scope), False)), otherwise=None)  # noqa: FBT003


def can_be_unknown(condition: Condition, scope: Scope) -> bool:
    """Say whether a condition is unknown where a column is missing that may be."""
    unknown = bind(Is(condition, None), scope)
    return any(scope.row.column(column).nullable for column in _missing(unknown))


def _missing(predicate: Predicate) -> Iterator[str]:
    """Yield the columns that a predicate about this row finds missing."""
    match predicate:
        case IsMissing(column=column):
            yield column
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _missing(part)
        case _:
            pass


def _filled(inner: Value, otherwise: Literal, scope: Scope) -> Column:
    """Return a column with a constant in the place of what is missing: of categories, a case of the declared ones."""
    column = scope.column(inner)
    match column.type:
        case _ if not column.nullable:
            return column
        case Category(values=values):
            known: tuple[str | int, ...] = values
        case Boolean():
            known = (False, True)
        case Date():
            fixed = day_number(day_of(otherwise, column.name))
            return scope.add(FilledDay(name="", column=column.name, otherwise=fixed))
        case kind:
            bits = kind.bits if isinstance(kind, Real) else 0
            filling = _filling(column, kind, otherwise)
            return scope.add(Filled(name="", column=column.name, otherwise=filling, bits=bits))
    kept = tuple((Compare("=", inner, Literal(value)), Literal(value)) for value in known)
    return scope.add(_case(Case((*kept, (Missing(inner), otherwise))), scope))


def _filling(column: Column, kind: Integer | Real | Text, otherwise: Literal) -> str | int:
    """Return the constant that stands for what is missing, of the kind that the column holds and on its grid."""
    if isinstance(kind, Text):
        return text_for(column, otherwise.value)
    number = number_for(column, otherwise.value)
    steps = number * Fraction(2) ** kind.bits if isinstance(kind, Real) else number
    if steps.denominator != 1 or max(abs(steps), abs(number)) >= MOST_GRID:
        what = "a whole number" if isinstance(kind, Integer) else f"a multiple of {kind.step}, the step of its grid,"
        raise BadQuestionError(f"what stands for a missing {column.name!r} is {what} below 2^52, and {number} is not")
    return int(steps)


def _respelled(row: ScalarFunction, inner: Value, scope: Scope) -> Column:
    """Return a text in another spelling; of categories, the declared texts that are then alike are one."""
    column = scope.column(inner)
    if row.change is None or not holds_text(column):
        raise BadQuestionError(f"{row.name}(...) is for text, and {column.name!r} holds none; name it as it is")
    if isinstance(column.type, Text):
        return scope.add(Respelled(name="", column=column.name, spelling=Spelling(row.name)))
    return _changed(inner, column, row.change, scope)


def _left(inner: Value, length: int, scope: Scope) -> Column:
    column = scope.column(inner)
    if not holds_text(column) or not 1 <= length <= _MOST_CHARACTERS:
        raise BadQuestionError(
            f"left(...) takes the first 1 to {_MOST_CHARACTERS:,} characters of a text; write left(code, 3)"
        )
    if isinstance(column.type, Text):
        return scope.add(FirstCharacters(name="", column=column.name, length=length))
    return _changed(inner, column, lambda text: text[:length], scope)


def _of_declared(one: Value, other: Value | None, scope: Scope) -> Column:
    """Return the length of a declared text, or two of them joined: a case of what they are, so that it is public."""
    if other is None:
        lengths = {text: len(text) for text, _ in _texts(one, scope)}
        alike = {n: tuple(Literal(text) for text in lengths if lengths[text] == n) for n in sorted({*lengths.values()})}
        return scope.add(_case(Case(tuple((OneOf(one, those), Literal(n)) for n, those in alike.items())), scope))
    pairs = [(a, b) for a in _texts(one, scope) for b in _texts(other, scope)]
    if len(pairs) > _MOST_JOINED:
        raise BadQuestionError(
            f"joined, these texts would be {len(pairs):,}, more than {_MOST_JOINED:,}; group by each column"
        )
    made: dict[str, list[Condition]] = {}
    for (first, is_first), (second, is_second) in pairs:
        made.setdefault(first + second, []).append(And((*is_first, *is_second)))
    return scope.add(_case(Case(tuple((Or(tuple(where)), Literal(text)) for text, where in made.items())), scope))


def _texts(value: Value, scope: Scope) -> list[tuple[str, tuple[Condition, ...]]]:
    """Return the texts that a value may be, each with where it is so; a constant is always."""
    if isinstance(value, Literal) and isinstance(value.value, str):
        return [(value.value, ())]
    column = None if isinstance(value, Literal) else scope.column(value)
    if column is not None and isinstance(column.type, Integer | Category) and not holds_text(column):
        return [(str(number), (Compare("=", value, Literal(number)),)) for number in _few_numbers(column)]
    if column is None or not isinstance(column.type, Category) or not holds_text(column):
        what = "a constant" if column is None else repr(column.name)
        raise BadQuestionError(
            f"{what} has no declared texts, so that what is made of it is not public; group by the column itself, and "
            "compare its length with a number, as length(column) >= 5"
        )
    return [(str(text), (Compare("=", value, Literal(text)),)) for text in column.type.values]


def _few_numbers(column: Column) -> Sequence[int]:
    """Return the declared whole numbers of a column, which are written as texts."""
    match column.type:
        case Integer(low=int() as low, high=int() as high) if high - low < _MOST_JOINED:
            return range(low, high + 1)
        case Category(values=values):
            return [int(value) for value in values]
        case _:
            raise BadQuestionError(
                f"{column.name!r} may be any of more than {_MOST_JOINED:,} numbers, too many to be written as texts; "
                "group by the number itself"
            )


def _changed(inner: Value, column: Column, change: Callable[[str], str], scope: Scope) -> Column:
    """Return declared texts after a change, as a case: those that are then alike are one."""
    alike: dict[str, list[str]] = {}
    for text in column.type.values if isinstance(column.type, Category) else ():
        alike.setdefault(change(str(text)), []).append(str(text))
    branches = tuple((OneOf(inner, tuple(map(Literal, those))), Literal(made)) for made, those in alike.items())
    return scope.add(_case(Case(branches), scope))


def _result(value: Value) -> str | int | bool | None:
    match value:
        case Literal(None):
            return None
        case Literal(bool() as truth):
            return truth
        case Literal(str() as text):
            return check_text("case", text)
        case Literal(int() as number) if abs(number) <= MOST_GRID:
            return number
        case Literal(Fraction() as number) if number.denominator == 1 and abs(number) <= MOST_GRID:
            return int(number)
        case _:
            raise BadQuestionError(
                "what a case gives is public: text, whole numbers below 2^52 or truth values, and no columns; write "
                "case when age >= 65 then 'old' else 'young' end, or avg(cost) filter (where age >= 65)"
            )


def _of_person(value: PerPerson, scope: Scope) -> Column:
    table = scope.population.table(value.table)
    tied = scope.inner(table, value.alias, value.columns)
    where = untied_where(value, tied, scope)
    rows = Scope(
        scope.population, table, tied.alias, columns=value.columns, derive=scope.derive, beyond=scope
    )  # nothing of the row around: what a person's rows make is the same in all of their rows
    predicate = bind(where, rows)
    column = None if value.column is None else rows.column(value.column)
    found = PersonRows(table=table.name, where=predicate, derived=rows.in_order)
    make = _FUNCTIONS.get(value.function)
    if make is None:
        raise BadQuestionError(
            f"there is no {value.function!r} of a person's rows; write one of {', '.join(_FUNCTIONS)}"
        )
    return make(value, found, column, scope)


def _count(value: PerPerson, rows: PersonRows, column: Column | None, scope: Scope) -> Column:
    del column
    return scope.add(NumberOfPerson(name="", rows=rows, column=None, most=_most(value, scope)))


def _distinct(value: PerPerson, rows: PersonRows, column: Column | None, scope: Scope) -> Column:
    if column is None or not isinstance(column.type, Integer | Category | Text | Date | Boolean):
        raise BadQuestionError(
            "different values are counted in one column that holds no fractions; write "
            f"different_of({rows.table}.column)"
        )
    return scope.add(NumberOfPerson(name="", rows=rows, column=column.name, most=_most(value, scope)))


def _extreme(value: PerPerson, rows: PersonRows, column: Column | None, scope: Scope) -> Column:
    if column is None or not isinstance(column.type, Integer | Real | Date):
        raise BadQuestionError(
            f"the first and the last are those of days or numbers; write {value.function}_of({rows.table}.day)"
        )
    made = ExtremeOfPerson(name="", rows=rows, column=column.name, last=value.function == "last")
    return scope.add(made)


def _sum(value: PerPerson, rows: PersonRows, column: Column | None, scope: Scope) -> Column:
    if column is None:
        raise BadQuestionError(f"{value.function} is that of numbers; write sum_of({rows.table}.cost)")
    term = declared(column).term
    if not isinstance(term, OnGrid):
        raise TypeError(term)
    low, high = (-_MOST_SUM if term.low < 0 else 0), (_MOST_SUM if term.high > 0 else 0)
    return scope.add(SumOfPerson(name="", rows=rows, term=term, low=low, high=high))


def _mean(value: PerPerson, rows: PersonRows, column: Column | None, scope: Scope) -> Column:
    if column is None:
        raise BadQuestionError(f"{value.function} is that of numbers; write mean_of({rows.table}.cost)")
    term = declared(column).term
    if not isinstance(term, OnGrid):
        raise TypeError(term)
    room = _MOST_SUM.bit_length() - max(abs(term.low), abs(term.high)).bit_length()
    return scope.add(MeanOfPerson(name="", rows=rows, term=term, finer=max(0, min(_FINER, room))))


_FUNCTIONS: Final[dict[str, Callable[[PerPerson, PersonRows, Column | None, Scope], Column]]] = {
    "count": _count,
    "distinct": _distinct,
    "sum": _sum,
    "mean": _mean,
    "first": _extreme,
    "last": _extreme,
}


def _most(value: PerPerson, scope: Scope) -> int:
    """Return the most that is counted: it bounds the value."""
    table = scope.population.table(value.table)
    if value.most is not None:
        number = value.most.value if isinstance(value.most, Literal) else value.most
        return as_int("the most that is counted", number, most=MOST_ROWS_OF_PERSON)
    if table.rows is RowsPerPerson.ONE_A_PERSON:
        return 1
    if table.max_rows is None:
        word = "number_of" if value.function == "count" else "different_of"
        raise BadQuestionError(
            f"a person may have any number of rows in {table.name}; say the most that is counted, at the end: "
            f"{word}({table.name}, 20)"
        )
    return table.max_rows
