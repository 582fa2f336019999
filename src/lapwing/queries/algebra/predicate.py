"""Which rows and people a question is about: a small closed algebra in one canonical form.

SQL's logic of missing values is kept: a comparison with a missing value is neither true nor false, and only what is
true counts. The algebra has no "not": negation is pushed down to the atoms before a predicate is built (`binding`), and
every atom is simply false where its column is missing (but for `IsMissing`). With only "and" and "or" above such atoms,
taking "unknown" for false at the atoms gives exactly the rows that SQL keeps, on every engine. Never negate what was
built here: `x < 5 and x > 7` folds to "never", but SQL's negation of it is not true where x is missing.

`HasRows` asks for rows of the *same person* in another table. It is a fact about a person, so a person stays one person
however many rows match, and a count of people has sensitivity 1 whatever it joins. Build with `every`, `some` and
`atom`: they sort, merge and fold, so that two spellings of a predicate become equal.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import Enum
from typing import TypeAlias

from lapwing.queries.algebra.pattern import ANYTHING, fits, pieces, read_as
from lapwing.queries.catalogue.column import DerivedColumn
from lapwing.queries.catalogue.domains import DAYS, Domain, Interval, intersection
from lapwing.vocabulary.codec import in_text_order, stored
from lapwing.vocabulary.deadline import spend


@stored("in-intervals")
class InIntervals:
    """The column holds one of these numbers: integers, days, ranks of doubles, or 0 and 1 for truth."""

    column: str
    domain: Domain
    intervals: tuple[Interval, ...]


@stored("in-texts")
class InTexts:
    """The column holds one of these texts."""

    column: str
    texts: tuple[str, ...]


@stored("not-in-texts")
class NotInTexts:
    """The column holds a text, and none of these."""

    column: str
    texts: tuple[str, ...]


@stored("like")
class Like:
    """The column holds a text that fits a pattern, in `any_case` A to Z, or `trimmed` of the blanks around it."""

    column: str
    patterns: tuple[str, ...]
    any_case: bool = False
    trimmed: bool = False


@stored("not-like")
class NotLike:
    """The column holds a text that fits none of these patterns."""

    column: str
    patterns: tuple[str, ...]
    any_case: bool = False
    trimmed: bool = False


@stored("is-missing")
class IsMissing:
    """The column holds nothing: NULL, not-a-number, or a day outside the calendar."""

    column: str


@stored("is-present")
class IsPresent:
    """The column holds something."""

    column: str


@stored("ref")
class Ref:
    """A column of this row (`up` = 0) or of the row of the same person that the `up`-th enclosing table gave."""

    column: str
    up: int = 0


class Unit(Enum):
    """In what the gap between two days is counted."""

    DAYS = "days"
    YEARS = "years"
    """Completed years; born on 29 February, one turns a year older on 1 March in other years."""


@stored("gap")
class Gap:
    """The time from the day `since` to the day `until` is one of these numbers."""

    until: Ref
    since: Ref
    unit: Unit
    intervals: tuple[Interval, ...]


@stored("compared")
class Compared:
    """Two values are known, and one stands to the other in one of these `signs`: -1 below, 0 equal, 1 above.

    Both are numbers, texts or truth values. An integer beside a double stands where the nearest double is.
    """

    left: Ref
    right: Ref
    signs: tuple[int, ...]


@stored("has-rows")
class HasRows:
    """The same person has at least `at_least` rows in `table`, which see `derived` too, for which `where` is true."""

    table: str
    where: "Predicate"
    at_least: int = 1
    derived: tuple[DerivedColumn, ...] = ()


@stored("lacks-rows")
class LacksRows:
    """The same person has fewer than `at_least` rows in `table`, which see `derived` too, for which `where` is true."""

    table: str
    where: "Predicate"
    at_least: int = 1
    derived: tuple[DerivedColumn, ...] = ()


@stored("all-of", kw_only=False)
class AllOf:
    """All parts are true; with no parts, always."""

    parts: tuple["Predicate", ...]


@stored("any-of", kw_only=False)
class AnyOf:
    """At least one part is true; with no parts, never."""

    parts: tuple["Predicate", ...]


About: TypeAlias = InIntervals | InTexts | NotInTexts | Like | NotLike | IsMissing | IsPresent
Atom: TypeAlias = About | Gap | Compared | HasRows | LacksRows
Predicate: TypeAlias = Atom | AllOf | AnyOf

ALWAYS, NEVER = AllOf(()), AnyOf(())
GAPS = {Unit.DAYS: Domain(DAYS.lowest - DAYS.highest, DAYS.highest - DAYS.lowest), Unit.YEARS: Domain(-9999, 9999)}


def every(parts: Iterable[Predicate]) -> Predicate:
    """Return the canonical form of "all of `parts`"."""
    flat = [p for part in parts for p in (part.parts if isinstance(part, AllOf) else (part,))]
    merged = _merged(flat, _both)
    return NEVER if NEVER in merged else _sorted(AllOf, (part for part in merged if part != ALWAYS))


def some(parts: Iterable[Predicate]) -> Predicate:
    """Return the canonical form of "at least one of `parts`"."""
    flat = [p for part in parts for p in (part.parts if isinstance(part, AnyOf) else (part,))]
    merged = _merged(flat, _either)
    return ALWAYS if ALWAYS in merged else _sorted(AnyOf, (part for part in merged if part != NEVER))


def atom(given: Atom) -> Predicate:
    """Return the canonical form of one atom: an impossible one is `NEVER`, one that only wants a value `IsPresent`."""
    match given:
        case InIntervals(intervals=()) | HasRows(where=AnyOf(())):
            return NEVER
        case LacksRows(where=AnyOf(())):
            return ALWAYS
        case InIntervals(column=column, domain=domain, intervals=intervals) if intervals == (
            (domain.lowest, domain.highest),
        ):
            return IsPresent(column=column)
        case InTexts() | NotInTexts() | Like() | NotLike():
            return _about_text(given)
        case Gap() | Compared():
            return _about_two(given)
        case _:
            return given


def _about_text(given: InTexts | NotInTexts | Like | NotLike) -> Predicate:
    """Return the canonical form; patterns that are whole texts are those texts, where letters and blanks count."""
    positive = isinstance(given, InTexts | Like)
    if isinstance(given, InTexts | NotInTexts):
        given = replace(given, texts=tuple(sorted(set(given.texts))))
        anything = not given.texts and not positive
        return IsPresent(column=given.column) if anything else given if given.texts else NEVER
    patterns = tuple(sorted(set(given.patterns)))
    if not patterns or ANYTHING in patterns:
        return IsPresent(column=given.column) if bool(patterns) is positive else NEVER
    texts = [] if given.any_case or given.trimmed else [pieces(pattern).exact for pattern in patterns]
    whole = tuple(text for text in texts if text is not None)
    if len(whole) == len(patterns):
        return atom((InTexts if positive else NotInTexts)(column=given.column, texts=whole))
    return replace(given, patterns=patterns)


def _about_two(given: Gap | Compared) -> Predicate:
    """Return the canonical form: the nearer row and the first name stand first."""
    match given:
        case Gap(intervals=()) | Compared(signs=()):
            return NEVER
        case Compared(left=left, right=right, signs=signs) if left == right and left.up == 0:
            return IsPresent(column=left.column) if 0 in signs else NEVER
        case Compared(left=left, right=right, signs=signs) if (right.up, right.column) < (left.up, left.column):
            return Compared(left=right, right=left, signs=tuple(sorted(-sign for sign in signs)))
        case Gap(until=until, since=since, unit=Unit.DAYS) if (since.up, since.column) < (until.up, until.column):
            # Days count the same both ways, years do not: 30 June to 1 July is 0 years, and -1 the other way.
            return replace(
                given, until=since, since=until, intervals=tuple((-b, -a) for a, b in reversed(given.intervals))
            )
        case _:
            return given


def _sorted(kind: type[AllOf] | type[AnyOf], parts: Iterable[Predicate]) -> Predicate:
    different = list(dict.fromkeys(parts))
    return different[0] if len(different) == 1 else kind(tuple(in_text_order(different)))


def _merged(parts: Iterable[Predicate], merge: Callable[[Predicate, Predicate], Predicate | None]) -> list[Predicate]:
    """Merge parts that speak about the same column until no two do."""
    done: dict[object, list[Predicate]] = {}
    todo = list(parts)
    while todo:
        part = todo.pop()
        others = done.setdefault(topic(part), [])
        spend(1 + len(others))
        for other in others:
            merged = merge(part, other)
            if merged is not None:
                others.remove(other)
                todo.append(merged)
                break
        else:
            others.append(part)
    return [part for others in done.values() for part in others]


def topic(part: Predicate) -> object:
    """Return what a part speaks about: parts about different things are never merged, nor are those about others."""
    match part:
        case Gap(until=until, since=since, unit=unit):
            return until, since, unit
        case Compared(left=left, right=right):
            return left, right
        case HasRows() | LacksRows() | AllOf() | AnyOf():
            return id(part)
        case _:
            return part.column


def in_intervals(column: str, domain: Domain, intervals: Iterable[Interval], *, wanted: bool) -> Predicate:
    """Return that the column is in `intervals`, or that it is present and in none of them."""
    chosen = domain.union(intervals) if wanted else domain.without(intervals)
    return atom(InIntervals(column=column, domain=domain, intervals=chosen))


def _both(left: Predicate, right: Predicate) -> Predicate | None:
    match left, right:
        case InIntervals() | Gap(), InIntervals() | Gap() if replace(left, intervals=right.intervals) == right:
            return atom(replace(left, intervals=intersection(left.intervals, right.intervals)))
        case Compared(signs=a), Compared(signs=b) if replace(left, signs=b) == right:
            return atom(replace(left, signs=tuple(sign for sign in a if sign in b)))
    return (
        _both_texts(left, right) or _both_texts(right, left) or _present_and(left, right) or _present_and(right, left)
    )


def _both_texts(left: Predicate, right: Predicate) -> Predicate | None:
    match left, right:
        case InTexts(column=c, texts=a), InTexts(column=d, texts=b) if c == d:
            return atom(InTexts(column=c, texts=tuple(set(a) & set(b))))
        case InTexts(column=c, texts=a), NotInTexts(column=d, texts=b) if c == d:
            return atom(InTexts(column=c, texts=tuple(set(a) - set(b))))
        case NotInTexts(column=c, texts=a), NotInTexts(column=d, texts=b) if c == d:
            return atom(NotInTexts(column=c, texts=tuple(set(a) | set(b))))
        case InTexts(column=c, texts=a), (Like() | NotLike()) as other if c == other.column:
            return atom(InTexts(column=c, texts=_fitting(a, other)))
        case NotLike(patterns=a), NotLike(patterns=b) if replace(left, patterns=b) == right:
            return atom(replace(left, patterns=(*a, *b)))
    return None


def _present_and(left: Predicate, right: Predicate) -> Predicate | None:
    # A column is present wherever an atom about its value is true, and no such atom is true where it is missing.
    match left:
        case IsPresent(column=column) if _valued(right) == column:
            return right
        case IsMissing(column=column) if _valued(right) == column or right == IsPresent(column=column):
            return NEVER
    return None


def _either(left: Predicate, right: Predicate) -> Predicate | None:
    match left, right:
        case InIntervals() | Gap(), InIntervals() | Gap() if replace(left, intervals=right.intervals) == right:
            domain = left.domain if isinstance(left, InIntervals) else GAPS[left.unit]
            return atom(replace(left, intervals=domain.union([*left.intervals, *right.intervals])))
        case Compared(signs=a), Compared(signs=b) if replace(left, signs=b) == right:
            return atom(replace(left, signs=tuple(sorted({*a, *b}))))
    return (
        _either_text(left, right) or _either_text(right, left) or _present_or(left, right) or _present_or(right, left)
    )


def _fitting(texts: tuple[str, ...], like: Like | NotLike) -> tuple[str, ...]:
    def fitting(text: str) -> bool:
        read = read_as(text, any_case=like.any_case, trimmed=like.trimmed)
        return any(fits(pattern, read) for pattern in like.patterns) is isinstance(like, Like)

    return tuple(filter(fitting, texts))


def _either_text(left: Predicate, right: Predicate) -> Predicate | None:
    match left, right:
        case InTexts(column=c, texts=a), InTexts(column=d, texts=b) if c == d:
            return atom(InTexts(column=c, texts=tuple(set(a) | set(b))))
        case InTexts(column=c, texts=a), NotInTexts(column=d, texts=b) if c == d:
            return atom(NotInTexts(column=c, texts=tuple(set(b) - set(a))))
        case NotInTexts(column=c, texts=a), NotInTexts(column=d, texts=b) if c == d:
            return atom(NotInTexts(column=c, texts=tuple(set(a) & set(b))))
        case Like(patterns=a), Like(patterns=b) if replace(left, patterns=b) == right:
            return atom(replace(left, patterns=(*a, *b)))
    return None


def _present_or(left: Predicate, right: Predicate) -> Predicate | None:
    match left:
        case IsPresent(column=column) if _valued(right) == column:
            return left
        case IsPresent(column=column) if right == IsMissing(column=column):
            return ALWAYS
    return None


def _valued(predicate: Predicate) -> str | None:
    """Return the column whose value an atom speaks about."""
    valued = (InIntervals, InTexts, NotInTexts, Like, NotLike)
    return predicate.column if isinstance(predicate, valued) else None
