"""What a condition means in a catalogue: names become columns, comparisons become sets, negation reaches the atoms.

Everything that has no exact, total meaning is refused here, before anything is charged, and the refusal says what to
write instead. Text and numbers are never compared with one another, so no engine ever converts one into the other.
"""

from collections.abc import Iterable
from fractions import Fraction

from lapwing.queries.beside import beside
from lapwing.queries.column import Boolean, Category, Column, Date, Integer, Real, Text, check_text, nearest_double
from lapwing.queries.days import FLIPPED, compare_days, day_of
from lapwing.queries.expressions import (
    Age,
    Among,
    And,
    Arithmetic,
    Compare,
    Condition,
    DatePart,
    Days,
    Has,
    Link,
    Literal,
    Missing,
    Name,
    Not,
    OneOf,
    Or,
    PerPerson,
    Prefixed,
    ScopedCondition,
    Truth,
    Value,
)
from lapwing.queries.joined import Joined
from lapwing.queries.predicate import (
    ALWAYS,
    DAYS,
    DOUBLES,
    INTEGERS,
    NEVER,
    TRUTHS,
    Domain,
    HasRows,
    Interval,
    InTexts,
    IsMissing,
    IsPresent,
    LacksRows,
    NotInTexts,
    Predicate,
    StartsNotWith,
    StartsWith,
    atom,
    day_number,
    double_rank,
    every,
    in_intervals,
    intervals_of,
    some,
)
from lapwing.queries.scope import Scope
from lapwing.vocabulary.errors import BadQuestionError


def bind(condition: Condition, scope: Scope) -> Predicate:
    """Return the predicate that is true exactly where SQL finds `condition` true."""
    try:
        return _bind(condition, scope, wanted=True)
    except RecursionError:
        raise BadQuestionError("the condition is nested too deeply; write it with fewer parentheses") from None


def _bind(condition: Condition, scope: Scope, *, wanted: bool) -> Predicate:
    """Return where `condition` is true if `wanted`, and where it is false otherwise (it may also be unknown)."""
    match condition:
        case And(parts) | Or(parts):
            bound = [_bind(part, scope, wanted=wanted) for part in parts]
            return every(bound) if isinstance(condition, And) is wanted else some(bound)
        case Not(part):
            return _bind(part, scope, wanted=not wanted)
        case Truth(Literal(bool() as truth)):
            return ALWAYS if truth is wanted else NEVER
        case Compare(operator, left, right):
            return _compare(operator, left, right, scope, wanted=wanted)
        case Has():
            return _has(condition, scope, wanted=wanted)
        case Joined(joins, where):
            return _bind(beside(joins, where, scope.population), scope, wanted=wanted)
        case ScopedCondition(where, alias, columns):
            return _bind(where, scope.alone(alias, columns), wanted=wanted)
        case _:
            return _about_column(condition, scope, wanted=wanted)


def _about_column(condition: Condition, scope: Scope, *, wanted: bool) -> Predicate:
    match condition:
        case Truth(value):
            return _among(_column(value, scope), [Literal(value=True)], wanted=wanted)
        case OneOf(Age() | DatePart("year", _) as value, values):
            return _bind(Or(tuple(Compare("=", value, one) for one in values)), scope, wanted=wanted)
        case OneOf(value, values):
            return _among(_column(value, scope), values, wanted=wanted)
        case Among(value, values):
            return _among_public(_column(value, scope), values, wanted=wanted)
        case Missing(value):
            name = _column(value, scope).name
            return IsMissing(column=name) if wanted else IsPresent(column=name)
        case Prefixed(value, prefix):
            return _prefixed(_column(value, scope), prefix, wanted=wanted)
        case _:
            raise TypeError(condition)


def _compare(operator: str, left: Value, right: Value, scope: Scope, *, wanted: bool) -> Predicate:
    if _of_days(left, right, scope):
        return compare_days(operator, left, right, scope, wanted=wanted)
    if isinstance(left, Literal) and not isinstance(right, Literal):
        operator, left, right = FLIPPED[operator], right, left
    if not isinstance(right, Literal) and not (isinstance(left, Name) and isinstance(right, Name)):
        return _compare(operator, Arithmetic("-", left, right), Literal(0), scope, wanted=wanted)
    column = _column(left, scope)
    if not isinstance(right, Literal):
        raise BadQuestionError(
            f"{column.name!r} can be compared with a constant, not with another column or with arithmetic; only days "
            "can be compared with one another"
        )
    if operator in {"=", "<>"}:
        return _among(column, [right], wanted=wanted is (operator == "="))
    domain, limit = _limit(column, right)
    chosen = intervals_of(operator, limit, domain)
    return in_intervals(column.name, domain, chosen, wanted=wanted)


def _of_days(left: Value, right: Value, scope: Scope) -> bool:
    one, other = _speaks_of_days(left, scope), _speaks_of_days(right, scope)
    if one and other:
        return True
    # A year or an age is compared with a number as days are; with a column it is a number like any other.
    fixed = isinstance(left, Literal) or isinstance(right, Literal)
    return (one or other) and (fixed or not isinstance(left if one else right, Age | DatePart))


def _column(value: Value, scope: Scope) -> Column:
    if isinstance(value, Literal | Days):
        raise BadQuestionError(
            "a condition is about a column; write the column on one side and a constant on the other"
        )
    return scope.column(value)


def _limit(column: Column, literal: Literal) -> tuple[Domain, Fraction]:
    """Return the domain of an ordered column and the place of a constant on it."""
    match column.type:
        case Integer() | Category():
            if isinstance(column.type, Category) and isinstance(column.type.values[0], str):
                raise _unordered(column)
            return INTEGERS, _number(column, literal)
        case Real():
            return DOUBLES, Fraction(double_rank(nearest_double(_number(column, literal))))
        case Text() | Boolean():
            raise _unordered(column)
        case Date():
            return DAYS, Fraction(day_number(day_of(literal, column.name)))


def _among(column: Column, values: Iterable[Value], *, wanted: bool) -> Predicate:
    literals = [_constant(column, value) for value in values]
    if not literals:
        raise BadQuestionError(f"the list of values for {column.name!r} is empty; name at least one")
    match column.type:
        case Text():
            texts = tuple(_text(column, literal) for literal in literals)
        case Category(values=declared) if isinstance(declared[0], str):
            texts = tuple(_text(column, literal) for literal in literals)
            _check_declared(column, texts, declared)
        case Boolean():
            return in_intervals(column.name, TRUTHS, [_truth(column, literal) for literal in literals], wanted=wanted)
        case _:
            points: list[Interval] = []
            for literal in literals:
                domain, place = _limit(column, literal)
                if isinstance(column.type, Category):
                    _check_declared(column, (place,), column.type.values)
                points += intervals_of("=", place, domain)
            return in_intervals(column.name, domain, points, wanted=wanted)
    return atom(InTexts(column=column.name, texts=texts) if wanted else NotInTexts(column=column.name, texts=texts))


def _among_public(column: Column, values: tuple[int, ...] | tuple[str, ...], *, wanted: bool) -> Predicate:
    """Return that a column holds one of many public values; a text is compared with numbers as they are written."""
    match column.type:
        case Text():
            in_texts = True
        case Category(values=declared):
            in_texts = isinstance(declared[0], str)
        case Integer():
            in_texts = False
        case _:
            raise BadQuestionError(
                f"{column.name!r} is a {column.kind}, and only whole numbers and texts are looked up in such a list; "
                "compare it with constants"
            )
    if in_texts:
        kind = InTexts if wanted else NotInTexts
        return atom(kind(column=column.name, texts=tuple(map(str, values))))
    texts = [value for value in values if isinstance(value, str)]
    if texts:
        raise BadQuestionError(f"{column.name!r} holds numbers, and the list holds texts, such as {texts[0]!r}")
    points = [(int(value), int(value)) for value in values]
    return in_intervals(column.name, INTEGERS, points, wanted=wanted)


def _prefixed(column: Column, prefix: Value, *, wanted: bool) -> Predicate:
    if not isinstance(column.type, Text):
        raise BadQuestionError(
            f"only text has a beginning, and {column.name!r} is not text; compare it with = or in (...)"
        )
    text = _text(column, _constant(column, prefix))
    kind = StartsWith if wanted else StartsNotWith
    return atom(kind(column=column.name, prefix=text))


def _has(has: Has, scope: Scope, *, wanted: bool) -> Predicate:
    table = scope.population.table(has.table)
    inner = scope.inner(table, has.alias, has.columns)
    where = _bind(untied_where(has, inner, scope), inner, wanted=True)
    kind = HasRows if wanted else LacksRows
    return atom(kind(table=table.name, where=where, at_least=has.at_least, derived=inner.in_order))


def untied_where(rows: Has | PerPerson, inner: Scope, outer: Scope) -> Condition:
    """Return which rows of the same person are meant, without what says that they are the same person's."""
    match rows.link:
        case Link.IN_WHERE:
            return _without_tie(rows.where, inner, outer)
        case (Name() as one, Name() as other):
            if not (_is_key_of(one, inner, inner) and _is_key_of(other, outer, outer)):
                raise _untied(inner, outer)
            return rows.where
        case _:
            return rows.where


def _without_tie(where: Condition, inner: Scope, outer: Scope) -> Condition:
    """Return `where` without the part that says "the same person"; there must be one."""
    if isinstance(where, Joined):
        where = beside(where.joins, where.where, inner.population)
    parts = list(_conjuncts(where))
    rest = [part for part in parts if not _is_tie(part, inner, outer)]
    if len(rest) == len(parts):
        raise _untied(inner, outer)
    return And(tuple(rest))


def _conjuncts(condition: Condition) -> Iterable[Condition]:
    if isinstance(condition, And):
        for part in condition.parts:
            yield from _conjuncts(part)
    else:
        yield condition


def _is_tie(part: Condition, inner: Scope, outer: Scope) -> bool:
    match part:
        case Compare("=", Name() as one, Name() as other):
            pairs = ((one, other), (other, one))
            return any(_is_key_of(a, inner, inner) and _is_key_of(b, inner, outer) for a, b in pairs)
        case _:
            return False


def _is_key_of(name: Name, read_in: Scope, owner: Scope) -> bool:
    """Say whether `name`, read in one scope, means the person key of another."""
    found = read_in.find(name)
    return found is not None and found[1] is owner and owner.is_person_key(name)


def _untied(inner: Scope, outer: Scope) -> BadQuestionError:
    return BadQuestionError(
        f"rows of {inner.table.name} are joined to the same person only; write "
        f"{inner.alias}.{inner.person_key} = {outer.alias}.{outer.person_key}, or has({inner.table.name}, ...)"
    )


def _constant(column: Column, value: Value) -> Literal:
    if not isinstance(value, Literal):
        raise BadQuestionError(f"{column.name!r} can be compared with constants only; write numbers or text")
    if value.value is None:
        raise BadQuestionError(f"nothing equals NULL; write {column.written} is null")
    return value


def _number(column: Column, literal: Literal) -> Fraction:
    value = _constant(column, literal).value
    if isinstance(value, bool):
        raise BadQuestionError(
            f"{column.name!r} holds numbers and is neither true nor false; compare it, all of it in quotes: "
            f'"{column.name} > 3"'
        )
    if not isinstance(value, int | Fraction):
        raise BadQuestionError(f"{column.name!r} holds numbers, and {value!r} is not one; write a number")
    return Fraction(value)


def _text(column: Column, literal: Literal) -> str:
    if not isinstance(literal.value, str):
        raise BadQuestionError(f"{column.name!r} holds text, and {literal.value!r} is not; write it in quotes")
    return check_text(column.name, literal.value)


def _truth(column: Column, literal: Literal) -> Interval:
    if not isinstance(literal.value, bool):
        raise BadQuestionError(f"{column.name!r} is true or false; write {column.written} or not {column.written}")
    return (int(literal.value), int(literal.value))


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
        case Age() | DatePart("year", _) | Days():
            return True
        case Arithmetic(left=left, right=right):
            return any(isinstance(part, Days) or scope.is_day(part) for part in _summands(left, right))
        case _:
            return scope.is_day(value)


def _summands(*values: Value) -> Iterable[Value]:
    for value in values:
        if isinstance(value, Arithmetic):
            yield from _summands(value.left, value.right)
        else:
            yield value
