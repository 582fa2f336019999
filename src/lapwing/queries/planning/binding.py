"""What a condition means in a catalogue: names become columns, comparisons become sets, negation reaches the atoms.

Everything that has no exact, total meaning is refused here, before anything is charged, and the refusal says what to
write instead. Text and numbers are never compared with one another, so no engine ever converts one into the other.
"""

from collections.abc import Iterable, Sequence
from datetime import date
from fractions import Fraction

from lapwing.queries.algebra.functions import DATE_PARTS, MissingWhere
from lapwing.queries.algebra.pattern import pieces, read_as
from lapwing.queries.algebra.predicate import (
    ALWAYS,
    NEVER,
    AllOf,
    AnyOf,
    HasRows,
    InTexts,
    IsMissing,
    IsPresent,
    LacksRows,
    NotInTexts,
    Predicate,
    atom,
    every,
    in_intervals,
    some,
)
from lapwing.queries.catalogue.column import (
    Boolean,
    Category,
    Column,
    Date,
    Integer,
    Real,
    Text,
    called,
    check_text,
    holds_text,
    nearest_double,
    number_for,
    text_for,
    truth_for,
)
from lapwing.queries.catalogue.domains import (
    DAYS,
    DOUBLES,
    INTEGERS,
    TRUTHS,
    Domain,
    day_number,
    double_rank,
    intervals_of,
)
from lapwing.queries.language.expressions import (
    FLIPPED,
    Age,
    Among,
    And,
    Applied,
    Arithmetic,
    CastTo,
    Coalesce,
    Compare,
    Condition,
    Days,
    Instant,
    Is,
    Literal,
    Matches,
    Missing,
    Name,
    Not,
    Now,
    OneOf,
    Or,
    TimeBetween,
    Truth,
    Value,
    day_of,
)
from lapwing.queries.language.joined import Has, Joined, ScopedCondition
from lapwing.queries.limits import MOST_UNKNOWNS
from lapwing.queries.planning.computed import (
    NumberSet,
    TextSet,
    among,
    column_of,
    compare_columns,
    is_computed,
    numbers_that,
    place_of,
    solve,
)
from lapwing.queries.planning.days import compare_days
from lapwing.queries.planning.instants import A_DAY, are_moments, compare_moments, is_time_between
from lapwing.queries.planning.scope import Scope
from lapwing.queries.planning.semijoins import as_semijoins, untied_where
from lapwing.queries.planning.simplifying import row_of, simplified
from lapwing.vocabulary.deadline import spend
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import check_most


def bind(condition: Condition, scope: Scope) -> Predicate:
    """Return the predicate that is true exactly where SQL finds `condition` true."""
    try:
        return _bind(condition, scope, wanted=True)
    except RecursionError:
        raise BadQuestionError("the condition is nested too deeply; write it with fewer parentheses") from None


def _bind(condition: Condition, scope: Scope, *, wanted: bool, unknown: bool = False) -> Predicate:
    """Return where `condition` is true if `wanted`, and where it is false otherwise.

    With `unknown`, return where it is unknown, too.
    """
    known = scope.bound.get((id(condition), wanted, unknown))
    if known is None:  # the condition is kept as well, so that no other has its place
        spend()
        known = condition, _bind_anew(condition, scope, wanted=wanted, unknown=unknown)
        scope.bound[id(condition), wanted, unknown] = known
    return known[1]


def _bind_anew(condition: Condition, scope: Scope, *, wanted: bool, unknown: bool) -> Predicate:
    match condition:
        case And(parts) | Or(parts):
            bound = [_bind(part, scope, wanted=wanted, unknown=unknown) for part in parts]
            return every(bound) if isinstance(condition, And) is wanted else some(bound)
        case Not(part):
            return _bind(part, scope, wanted=not wanted, unknown=unknown)
        case ScopedCondition(where, alias, columns):
            return _bind(where, scope.alone(alias, columns), wanted=wanted, unknown=unknown)
        case Is(part, truth):
            return _is(part, truth, scope, wanted=wanted)
        case Has():
            return _has(condition, scope, wanted=wanted)
        case Joined(joins, where):
            return _bind(as_semijoins(joins, where, scope.population), scope, wanted=wanted, unknown=unknown)
        case _:
            bound = [_about_values(condition, scope, wanted=wanted)]
            return some([*bound, _unknown(condition, scope)]) if unknown else bound[0]


def _is(part: Condition, truth: bool | None, scope: Scope, *, wanted: bool) -> Predicate:  # noqa: FBT001 - as it is written
    """Return where a condition is true, false or unknown, or is not: this itself is never unknown."""
    if truth is not None:
        return _bind(part, scope, wanted=truth is wanted, unknown=not wanted)
    if _is_never_unknown(part):
        _bind(part, scope, wanted=wanted)  # which refuses what has no meaning
        return NEVER if wanted else ALWAYS
    most = "IS NULL of conditions within one another"
    check_most(most, 1 + _unknowns_within(part), MOST_UNKNOWNS, "say which values are missing")
    if wanted and not isinstance(part, And | Or | Not | ScopedCondition | Joined | Has | Is):
        _bind(part, scope, wanted=wanted)  # in the same way
        return _unknown(part, scope)
    if wanted:  # neither true nor false
        return every(_bind(part, scope, wanted=either, unknown=True) for either in (True, False))
    return some(_bind(part, scope, wanted=either) for either in (True, False))


def _is_never_unknown(part: Condition) -> bool:
    """Say whether a condition is true or false in every row, whatever is missing there."""
    match part:
        case Is() | Missing() | Has():
            return True
        case Not(inner):
            return _is_never_unknown(inner)
        case And(parts) | Or(parts):
            return all(_is_never_unknown(each) for each in parts)
        case _:
            return False


def _unknowns_within(part: Condition) -> int:
    """Return how many times it is asked, within one another, whether a condition is unknown: each doubles it."""
    match part:
        case Is(inner, truth):
            return _unknowns_within(inner) + (truth is None)
        case Not(inner) | ScopedCondition(where=inner) | Joined(where=inner) | Has(where=inner):
            return _unknowns_within(inner)
        case And(parts) | Or(parts):
            return max((_unknowns_within(each) for each in parts), default=0)
        case _:
            return 0


def _unknown(condition: Condition, scope: Scope) -> Predicate:
    """Return where a condition about values is unknown: where one of its columns is missing."""
    match condition:
        case Compare(_, left, right):
            return some([_missing(left, scope), _missing(right, scope)])
        case Missing():
            return NEVER
        case OneOf(Literal() as value, values):  # a column is compared with no NULL
            return _is(Or(tuple(Compare("=", value, one) for one in values)), None, scope, wanted=True)
        case Truth(value) | OneOf(value, _) | Matches(value, _, _) | Among(value, _, _):
            return _missing(value, scope)
        case _:
            raise TypeError(condition)


def _missing(value: Value, scope: Scope) -> Predicate:
    match value:
        case Literal(None):
            return ALWAYS
        case Literal() | Days() | Now():
            return NEVER
        case Coalesce(inner, otherwise):
            return every([_missing(inner, scope), _missing(otherwise, scope)])
        case Arithmetic(left=left, right=right):
            return some([_missing(left, scope), _missing(right, scope)])
        case Age(born, at):
            return some([_missing(born, scope), *([] if at is None else [_missing(at, scope)])])
        case Applied(value=inner, argument=argument) if row_of(value).gap is not MissingWhere.OWN:
            sides = [_missing(each, scope) for each in (inner, argument) if each is not None]
            return every(sides) if row_of(value).gap is MissingWhere.LEFT_OUT else some(sides)
        case CastTo(value=inner):
            return _missing(inner, scope)
        case _:
            return IsMissing(column=scope.column(value).name)


def _about_values(condition: Condition, scope: Scope, *, wanted: bool) -> Predicate:
    match condition:
        case Compare(operator, left, right):
            return _compare(operator, _simple(left, scope), _simple(right, scope), scope, wanted=wanted)
        case Truth(value):
            return _one_of(_simple(value, scope), [Literal(value=True)], scope, wanted=wanted)
        case OneOf(Age() | Applied("year") as value, values):
            return _bind(Or(tuple(Compare("=", value, one) for one in values)), scope, wanted=wanted)
        case OneOf(value, values) if scope.time_of(value) is not None:
            return _bind(Or(tuple(Compare("=", value, one) for one in values)), scope, wanted=wanted)
        case OneOf(value, values):
            listed = [_simple(each, scope) for each in values]
            return _one_of(_simple(value, scope), listed, scope, wanted=wanted)
        case Among(value, values):
            if is_computed(value):
                raise BadQuestionError("a column is looked up in such a list as it is; write column in (...)")
            return _among_public(scope.column(value), values, wanted=wanted)
        case Missing(value):
            missing = _missing(_simple(value, scope), scope)
            return missing if wanted else _present(missing)
        case Matches(value, pattern, any_case):
            read = check_text("pattern", read_as(pattern, any_case=any_case, trimmed=False))
            pieces(read)  # which refuses what has too many
            return _solved(_simple(value, scope), TextSet((read,), wanted, any_case), scope)
        case _:
            raise TypeError(condition)


def _simple(value: Value, scope: Scope) -> Value:
    return value if isinstance(value, Name | Literal) else simplified(value, scope)


def _present(missing: Predicate) -> Predicate:
    """Return where none of the columns is missing: the negation of what `_missing` makes."""
    match missing:
        case AllOf(parts):
            return some(_present(part) for part in parts)
        case AnyOf(parts):
            return every(_present(part) for part in parts)
        case IsMissing(column=column):
            return IsPresent(column=column)
        case _:
            raise TypeError(missing)


def _compare(operator: str, left: Value, right: Value, scope: Scope, *, wanted: bool) -> Predicate:
    if isinstance(left, Literal):
        operator, left, right = FLIPPED[operator], right, left
    if isinstance(left, Literal) and isinstance(right, Literal):
        return _compare_constants(operator, left, right, wanted=wanted)
    may_be_moments = scope.population.has_times or isinstance(right, Instant) or _is_text(right)
    if may_be_moments and are_moments(left, right, scope):

        def times(operator: str, one: Value, other: Value) -> Predicate:
            return _compare(operator, one, other, scope, wanted=True)

        return compare_moments(operator, left, right, scope, times, wanted=wanted)
    if isinstance(right, Days) and (right.seconds or is_time_between(left, scope)):
        return _bind(_of_duration(operator, left, right), scope, wanted=wanted)
    if not (isinstance(left, Coalesce) and isinstance(right, Literal)) and _of_days(left, right, scope):
        return compare_days(operator, left, right, scope, wanted=wanted)
    if isinstance(left, Applied) and left.function == "abs" and _speaks_of_days(left.value, scope):
        return _bind(_far(operator, left.value, right), scope, wanted=wanted)
    if _is_quotient(left) or not isinstance(right, Literal):
        return _compare_two(operator, left, right, scope, wanted=wanted)
    return _compare_with_constant(operator, left, right, scope, wanted=wanted)


def _compare_two(operator: str, left: Value, right: Value, scope: Scope, *, wanted: bool) -> Predicate:
    """Compare a quotient, or two values of a row."""
    if isinstance(left, Applied) and left.function == "/" and left.argument is not None:
        return _bind(_of_quotient(operator, left.value, left.argument, right), scope, wanted=wanted)
    if _is_quotient(right):
        return _compare(FLIPPED[operator], right, left, scope, wanted=wanted)
    return compare_columns(operator, left, right, scope, wanted=wanted)


def _is_quotient(value: Value) -> bool:
    return isinstance(value, Applied) and value.function == "/"


def _compare_with_constant(operator: str, left: Value, right: Literal, scope: Scope, *, wanted: bool) -> Predicate:
    if operator in {"=", "<>"}:
        return _one_of(left, [right], scope, wanted=wanted is (operator == "="))
    if not isinstance(left, Name) and is_computed(left):
        column = column_of(left, scope)
        if holds_text(column):
            raise _unordered(column)
        asked = numbers_that(operator if wanted else _OPPOSITE[operator], place_of(column, _constant(column, right)))
        return _solved(left, asked, scope)
    column = _column(left, scope)
    domain, limit = _limit(column, _constant(column, right))
    chosen = intervals_of(operator, limit, domain)
    return in_intervals(column.name, domain, chosen, wanted=wanted)


def _of_days(left: Value, right: Value, scope: Scope) -> bool:
    one, other = _speaks_of_days(left, scope), _speaks_of_days(right, scope)
    if one and other:
        return True
    # A year or an age is compared with a number as days are; with a column it is a number like any other.
    fixed = isinstance(left, Literal) or isinstance(right, Literal)
    return (one or other) and (fixed or not (_is_number_of_day(left if one else right)))


def _is_number_of_day(value: Value) -> bool:
    """Say whether a value is an age, or a part of a day."""
    return isinstance(value, Age) or (isinstance(value, Applied) and value.function in DATE_PARTS)


def _column(value: Value, scope: Scope) -> Column:
    if isinstance(value, Literal | Days):
        raise BadQuestionError(
            "a condition is about a column; write the column on one side and a constant on the other"
        )
    return scope.column(value)


def _far(operator: str, days: Value, limit: Value) -> Condition:
    """Return how many days lie between two, whichever is the first: ABS of a difference, compared with a number."""
    if not isinstance(limit, Literal) or isinstance(limit.value, bool) or not isinstance(limit.value, int | Fraction):
        raise BadQuestionError("a number of days is compared with a number; write abs(day - other) <= 30")
    back = Literal(-limit.value)
    match operator:
        case "=" | "<>":
            equal = And((_far("<=", days, limit), _far(">=", days, limit)))
            return equal if operator == "=" else Not(equal)
        case _:
            ends = Compare(operator, days, limit), Compare(FLIPPED[operator], days, back)
            return And(ends) if operator in {"<", "<="} else Or(ends)


def _is_text(value: Value) -> bool:
    return isinstance(value, Literal) and isinstance(value.value, str)


def _of_duration(operator: str, left: Value, right: Days) -> Condition:
    """Return a comparison of the time between two moments with a number of days, hours, minutes and seconds."""
    match left:
        case Arithmetic("-", until, since):
            seconds = right.number * A_DAY + right.seconds
            return Compare(operator, TimeBetween("second", since, until), Literal(seconds))
        case _:
            raise BadQuestionError(
                "hours and minutes are compared with the time between two moments; write ended - started > interval "
                "'30' minute, or date_diff('minute', started, ended) > 30"
            )


def _of_quotient(operator: str, above: Value, below: Value, limit: Value) -> Condition:
    """Return a comparison of above / below without dividing; what 0 divides is an infinity, as DuckDB has it."""
    zero, product = Literal(0), Arithmetic("*", limit, below)
    if isinstance(limit, Literal) and isinstance(limit.value, Fraction):  # both sides are multiples on their grids
        above = Arithmetic("*", Literal(limit.value.denominator), above)
        product = Arithmetic("*", Literal(limit.value.numerator), below)
    cases = [
        And((Compare(">", below, zero), Compare(operator, above, product))),
        And((Compare("<", below, zero), Compare(FLIPPED[operator], above, product))),
    ]
    if operator != "=":
        signs = {"<": ("<",), "<=": ("<",), ">": (">=",), ">=": (">=",), "<>": ("<", ">=")}[operator]
        cases += [And((Compare("=", below, zero), Compare(sign, above, zero))) for sign in signs]
    return Or(tuple(cases))


_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def _compare_constants(operator: str, left: Literal, right: Literal, *, wanted: bool) -> Predicate:
    one, other = left.value, right.value
    if one is None or other is None:
        return NEVER
    if isinstance(one, date) and isinstance(other, date):
        one, other = day_number(one), day_number(other)
    numbers = all(isinstance(each, int | Fraction) and not isinstance(each, bool) for each in (one, other))
    if not numbers and (type(one) is not type(other) or operator not in {"=", "<>"}):
        raise BadQuestionError(f"the constants {one!r} and {other!r} cannot be compared so; compare a column with one")
    asked = {"=": one == other, "<>": one != other}
    if numbers:
        asked[operator] = numbers_that(operator, Fraction(other)).has(Fraction(one))  # type: ignore[arg-type]
    return ALWAYS if asked[operator] is wanted else NEVER


def _one_of(value: Value, values: Sequence[Value], scope: Scope, *, wanted: bool) -> Predicate:
    """Return where a value is one of several constants, or is known and none of them."""
    if isinstance(value, Literal):
        equal = [_compare_constants("=", value, each, wanted=wanted) for each in values if isinstance(each, Literal)]
        return some(equal) if wanted else every(equal)
    if isinstance(value, Name) or not is_computed(value):
        return _among(_column(value, scope), values, wanted=wanted)
    column = column_of(value, scope)
    return _solved(value, among(column, [_constant(column, each) for each in values], wanted=wanted), scope)


def _solved(value: Value, asked: NumberSet | TextSet, scope: Scope) -> Predicate:
    """Return where the one column that `value` is computed from makes it what is asked."""
    column = column_of(value, scope)
    found = solve(value, asked, scope)
    if (
        isinstance(column.type, Category)
        and isinstance(asked, TextSet)
        and found in (NEVER, IsPresent(column=column.name))
    ):
        there = ", ".join(repr(each) for each in column.type.values[:10])
        raise BadQuestionError(f"{column.name!r} has no category that fits; it has {there}")
    return found


def _limit(column: Column, literal: Literal) -> tuple[Domain, Fraction]:
    """Return the domain of an ordered column and the place of a constant on it."""
    match column.type:
        case Integer() if type(literal.value) is int:
            return INTEGERS, Fraction(literal.value)
        case Integer() | Category() if not holds_text(column):
            return INTEGERS, number_for(column, literal.value)
        case Real():
            return DOUBLES, Fraction(double_rank(nearest_double(number_for(column, literal.value))))
        case Date():
            return DAYS, Fraction(day_number(day_of(literal, column.name)))
        case _:
            raise _unordered(column)


def _among(column: Column, values: Sequence[Value], *, wanted: bool) -> Predicate:
    literals = [_constant(column, value) for value in values]
    if isinstance(column.type, Category) and column.type.labels:
        literals = [one for literal in literals for one in _named(column, literal)]
    if not literals:
        raise BadQuestionError(f"the list of values for {column.name!r} is empty; name at least one")
    declared = column.type.values if isinstance(column.type, Category) else None
    if holds_text(column):
        texts = tuple(text_for(column, literal.value) for literal in literals)
        if declared is not None:
            _check_declared(column, texts, declared)
        return atom(InTexts(column=column.name, texts=texts) if wanted else NotInTexts(column=column.name, texts=texts))
    if isinstance(column.type, Boolean):
        truths = [int(truth_for(column, literal.value)) for literal in literals]
        return in_intervals(column.name, TRUTHS, [(truth, truth) for truth in truths], wanted=wanted)
    domain, places = _places(column, literals)
    if declared is not None:
        _check_declared(column, places, declared)
    points = [(int(place), int(place)) for place in places if place.denominator == 1]
    return in_intervals(column.name, domain, points, wanted=wanted)


def _named(column: Column, literal: Literal) -> list[Literal]:
    """Return the categories that a constant names, by themselves or by what they are called."""
    known = called(column, literal.value)
    return [literal] if known is None else [Literal(value) for value in known]


def _places(column: Column, literals: Sequence[Literal]) -> tuple[Domain, Sequence[int | Fraction]]:
    """Return where constants stand on the domain of a column; whole numbers at once, for there may be many."""
    if isinstance(column.type, Integer | Category) and all(type(literal.value) is int for literal in literals):
        return INTEGERS, [literal.value for literal in literals]  # type: ignore[misc] # they are
    limits = [_limit(column, literal) for literal in literals]
    return limits[0][0], [place for _, place in limits]


def _among_public(column: Column, values: tuple[int, ...] | tuple[str, ...], *, wanted: bool) -> Predicate:
    """Return that a column holds one of many public values; a text is compared with numbers as they are written."""
    if not isinstance(column.type, Text | Category | Integer):
        raise BadQuestionError(
            f"{column.name!r} is a {column.kind}, and only whole numbers and texts are looked up in such a list; "
            "compare it with constants"
        )
    texts = [value for value in values if isinstance(value, str)]
    if texts and not holds_text(column):
        raise BadQuestionError(f"{column.name!r} holds numbers, and the list holds texts, such as {texts[0]!r}")
    _check_some_declared(column, values)
    if holds_text(column):
        kind = InTexts if wanted else NotInTexts
        return atom(kind(column=column.name, texts=tuple(map(str, values))))
    points = [(int(value), int(value)) for value in values]
    return in_intervals(column.name, INTEGERS, points, wanted=wanted)


def _check_some_declared(column: Column, values: tuple[int, ...] | tuple[str, ...]) -> None:
    """Refuse a list none of whose values a category declares: it would be paid for, and be about nobody."""
    if isinstance(column.type, Category) and set(map(str, values)).isdisjoint(map(str, column.type.values)):
        there = ", ".join(repr(each) for each in column.type.values[:5])
        raise BadQuestionError(
            f"none of the {len(values):,} values of the list is a category of {column.name!r}, so it would be about "
            f"nobody; it has {len(column.type.values):,} categories, such as {there}"
        )


def _has(has: Has, scope: Scope, *, wanted: bool) -> Predicate:
    table = scope.population.table(has.table)
    inner = scope.inner(table, has.alias, has.columns)
    where = _bind(untied_where(has, inner, scope), inner, wanted=True)
    kind = HasRows if wanted else LacksRows
    return atom(kind(table=table.name, where=where, at_least=has.at_least, derived=inner.in_order))


def _constant(column: Column, value: Value) -> Literal:
    if not isinstance(value, Literal):
        raise BadQuestionError(f"{column.name!r} can be compared with constants only; write numbers or text")
    if value.value is None:
        raise BadQuestionError(f"nothing equals NULL; write {column.written} is null")
    return value


def _check_declared(column: Column, values: Iterable[object], declared: Iterable[object]) -> None:
    there_are = list(declared)
    known = set(there_are)
    unknown = [value for value in values if value not in known]
    if unknown:
        there = ", ".join(repr(value) for value in there_are[:10])
        raise BadQuestionError(f"{column.name!r} has no category {_plain(unknown[0])}; it has {there}")


def _plain(value: object) -> str:
    return str(value) if isinstance(value, Fraction) else repr(value)


def _unordered(column: Column) -> BadQuestionError:
    return BadQuestionError(
        f"{column.name!r} has no order that all databases agree on; compare it with =, <>, in (...) or starts_with"
    )


def _speaks_of_days(value: Value, scope: Scope) -> bool:
    """Say whether a value is a day, a number of days between two, an age or a year."""
    match value:
        case Days() | Age() | Applied("year"):
            return True
        case Arithmetic("+" | "-", left, right):
            return any(isinstance(part, Days) or scope.is_day(part) for part in _summands(left, right))
        case _:
            return scope.is_day(value)


def _summands(*values: Value) -> Iterable[Value]:
    for value in values:
        if isinstance(value, Arithmetic) and value.operator != "*":
            yield from _summands(value.left, value.right)
        else:
            yield value
