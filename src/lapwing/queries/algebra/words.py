"""Plain English for what plans are made of: conditions, groups, values, and what bounds leave out."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from lapwing.queries.algebra.aggregate import (
    Aggregate,
    BinnedKey,
    BoundedRowsPerPerson,
    ClippedSumPerPerson,
    CountPeopleOfTables,
    CountPerPerson,
    DeclaredKey,
    GridKey,
    Key,
    PrivateKey,
)
from lapwing.queries.algebra.pattern import pieces
from lapwing.queries.algebra.predicate import (
    ALWAYS,
    GAPS,
    About,
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
    Unit,
)
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
    columns,
)
from lapwing.queries.catalogue.domains import DAYS, DOUBLES, TRUTHS, Domain, Interval, day, double_at
from lapwing.vocabulary.wording import several

Labels: TypeAlias = Mapping[object, str]
"""What lists of values are called, by the lists as predicates hold them."""
_NO_LABELS: Labels = {}
_MOST_READ = 100
"""How many values of a list are read out."""


def at_most(number: int, what: str) -> str:
    """Say how many of something a person has at most: 'one row a person', 'at most 3 rows a person'."""
    return f"one {what} a person" if number == 1 else f"at most {number} {what}s a person"


def groups_at_most(aggregate: Aggregate) -> tuple[str, ...]:
    """Say in how many groups a person counts, where there are groups and not all may count."""
    match aggregate.bounding:
        case (
            CountPerPerson(max_cells=int() as groups)
            | CountPeopleOfTables(max_cells=int() as groups)
            | ClippedSumPerPerson(max_cells=groups)
            | BoundedRowsPerPerson(max_cells=int() as groups)
        ) if aggregate.keys:
            return (at_most(groups, "group"),)
        case _:
            return ()


def in_tables(aggregate: Aggregate) -> str:
    """Say of which tables an aggregate is."""
    tables = aggregate.bounding.tables if isinstance(aggregate.bounding, CountPeopleOfTables) else (aggregate.table,)
    return " or ".join(tables)


def in_groups(aggregate: Aggregate, groups: int | None) -> str:
    """Say in how many groups, for the middle of a sentence."""
    if not aggregate.keys or groups is None:
        return ""
    return " in one group" if groups == 1 else f" in each of at most {groups} groups"


def rows_count(aggregate: Aggregate, rows: int, groups: int | None) -> str:
    """Say how many rows of a person count, and in how many groups."""
    return f"at most {rows} row{'' if rows == 1 else 's'} of a person count{in_groups(aggregate, groups)}"


def picked_rows(aggregate: Aggregate, bounding: BoundedRowsPerPerson) -> str:
    """Say how many rows of a person count, in a sentence, where a rule picks them."""
    together = ", in all groups together" if aggregate.keys and bounding.max_cells is None else ""
    return f"{rows_count(aggregate, bounding.max_rows, bounding.max_cells)}{together}; a public rule picks which."


def rows_at_most(aggregate: Aggregate, rows: int) -> str:
    """Say how many rows a person has at most, and where these are the rows of all groups."""
    grouped = isinstance(aggregate.bounding, BoundedRowsPerPerson) and aggregate.bounding.max_cells is None
    return f"{at_most(rows, 'row')}{' in all groups together' if grouped and aggregate.keys else ''}"


def plain(number: Fraction) -> str:
    """Return a number as it is declared: on a grid of powers of two every one is a decimal."""
    return str(number.numerator) if number.denominator == 1 else f"{float(number):.12g}"


def from_to(low: Fraction, high: Fraction) -> str:
    """Return the range from one number to another."""
    return f"{plain(low)}..{plain(high)}"


def value_words(measured: Iterable[Term], *, as_it_is: bool) -> str:
    """Name what is added up or ranked: columns `as_it_is`, or a value that is computed from columns."""
    names = " and ".join(sorted(set().union(*map(columns, measured))))
    return names if as_it_is else f"a value of {names}"


def is_a_column(term: Term) -> bool:
    """Whether a term is one column, with nothing computed from it."""
    return leaves(term) == {term}


def leaves(term: Term) -> set[Term]:
    """Return the columns that a term is computed from, on the grid they are computed on."""
    match term:
        case OnGrid() | Rounded(OnGrid(), _):
            return {term}
        case Plus(left, right) | Times(left, right):
            return leaves(left) | leaves(right)
        case Rounded() | SteppedDown() | FunctionOf() | Elapsed() | ConstantTerm():
            return set()


def key_words(key: Key) -> str:
    """Name the groups of a key."""
    match key:
        case DeclaredKey(column=column, values=values):
            return f"the {len(values)} declared values of {column}"
        case BinnedKey(column=column, bins=bins):
            return f"{several(len(bins), 'bin')} of {column}"
        case GridKey():
            return f"{key.cells} cells"
        case PrivateKey(column=column):
            return f"whatever values {column} has"


_SIGNS = {
    (-1,): "is below",
    (-1, 0): "is at most",
    (0,): "is equal to",
    (0, 1): "is at least",
    (1,): "is above",
    (-1, 1): "is not equal to",
    (-1, 0, 1): "is known, and so is",
}


def words(predicate: Predicate, labels: Labels = _NO_LABELS) -> str:
    """Return a predicate in words; `labels` has what long lists of values are called.

    >>> words(AllOf((IsMissing(column="age"), InTexts(column="sex", texts=("F", "M")))))
    "age is missing and sex is 'F' or 'M'"
    """
    match predicate:
        case AllOf(()) | AnyOf(()):
            return "always" if predicate == ALWAYS else "never"
        case AllOf(parts):
            return " and ".join(_inside(part, labels) for part in parts)
        case AnyOf(parts):
            return " or ".join(_inside(part, labels) for part in parts)
        case HasRows(table=table, where=where, at_least=times):
            rows = "a row" if times == 1 else f"at least {times} rows"
            return f"the person has {rows} in {table}{_such(where, labels)}"
        case LacksRows(table=table, where=where, at_least=1):
            return f"the person has no row in {table}{_such(where, labels)}"
        case LacksRows(table=table, where=where, at_least=times):
            return f"the person has fewer than {times} rows in {table}{_such(where, labels)}"
        case Gap() | Compared():
            return _two(predicate)
        case _:
            return f"{predicate.column} {_value(predicate, labels)}"


@lru_cache(maxsize=1 << 12)
def bin_words(domain: Domain, label: Interval) -> str:
    """Name a bin; each is in many rows, so names are remembered."""
    return _interval(domain, label)


def _inside(predicate: Predicate, labels: Labels) -> str:
    several = isinstance(predicate, AllOf | AnyOf) and len(predicate.parts) > 1
    return f"({words(predicate, labels)})" if several else words(predicate, labels)


def _such(where: Predicate, labels: Labels) -> str:
    return "" if where == ALWAYS else f" where ({words(where, labels)})"


def _value(atom: About, labels: Labels) -> str:
    match atom:
        case InIntervals(domain=domain, intervals=intervals):
            return _among(labels, intervals, domain.without(intervals)) or (
                "is " + " or ".join(_interval(domain, interval) for interval in intervals)
            )
        case InTexts(texts=texts):
            return _among(labels, texts, ()) or "is " + " or ".join(repr(text) for text in texts)
        case NotInTexts(texts=(text,)):
            return f"is known and not {text!r}"
        case NotInTexts(texts=texts):
            return _among(labels, (), texts) or "is neither " + " nor ".join(repr(text) for text in texts)
        case Like() | NotLike():
            return _like(atom)
        case IsMissing():
            return "is missing"
        case IsPresent():
            return "is known"


def _among(labels: Labels, wanted: tuple[object, ...], unwanted: tuple[object, ...]) -> str:
    """Say what a long list of values is called, where it has a name or too many values to be read."""
    if wanted in labels:
        return f"is one of {labels[wanted]}"
    if unwanted in labels:
        return f"is none of {labels[unwanted]}"
    return f"is one of {len(wanted):,} values or ranges" if len(wanted) > _MOST_READ else ""


def _like(like: Like | NotLike) -> str:
    """Say which patterns a text fits, or does not."""
    yes = isinstance(like, Like)
    if len(like.patterns) > _MOST_READ:
        said = f"fits {'one' if yes else 'none'} of {len(like.patterns):,} patterns"
    else:
        said = (" or " if yes else " and ").join(_pattern(pattern, yes=yes) for pattern in like.patterns)
    if like.any_case:  # of other letters, the spelling that was written is the one that is found
        plain = all(pattern.isascii() for pattern in like.patterns)
        said += ", in capital or small letters" if plain else ", in capital or small letters A to Z"
    return said + (", blanks around it left out" if like.trimmed else "")


def _pattern(pattern: str, *, yes: bool) -> str:
    start, middle, end = pieces(pattern)
    if pieces(pattern).exact is not None:
        return f"is {'' if yes else 'not '}{start.text!r}"
    verb, given = "", ""
    if end is not None:
        match start.text, middle, end.text:
            case str(given), (), "":
                verb = "start_ with"
            case "", (), str(given):
                verb = "end_ with"
            case "", (given,), "":
                verb = "contain_"
            case _:
                pass
    if not verb:
        return f"is {'' if yes else 'not '}like {pattern!r}"
    return f"{verb.replace('_', 's')} {given!r}" if yes else f"does not {verb.replace('_', '')} {given!r}"


def _interval(domain: Domain, interval: Interval) -> str:
    low, high = interval
    if low == high:
        return _point(domain, low)
    least, most = _end(domain, low, low - 1, "at least", "over"), _end(domain, high, high + 1, "at most", "below")
    if low == domain.lowest or high == domain.highest:
        return most if low == domain.lowest else least
    if least.startswith("over") or most.startswith("below"):
        return f"{least} and {most}"
    return f"from {_point(domain, low)} to {_point(domain, high)}"


def _end(domain: Domain, place: int, beyond: int, within: str, outside: str) -> str:
    """Say where an interval ends: by its last number, or by the first beyond, whichever is shorter to say."""
    if (
        domain == DOUBLES
        and domain.lowest < place < domain.highest
        and len(_point(domain, beyond)) < len(_point(domain, place))
    ):
        return f"{outside} {_point(domain, beyond)}"
    return f"{within} {_point(domain, place)}"


def _point(domain: Domain, number: int) -> str:
    if domain == DAYS:
        return day(number).isoformat()
    if domain == DOUBLES:
        return repr(double_at(number)).removesuffix(".0")
    return str(bool(number)).lower() if domain == TRUTHS else str(number)


def _two(gap: Gap | Compared) -> str:
    if isinstance(gap, Compared):
        return f"{_ref(gap.left)} {_SIGNS[gap.signs]} {_ref(gap.right)}"
    intervals = " or ".join(_interval(GAPS[gap.unit], interval) for interval in gap.intervals)
    unit = "day" if gap.unit is Unit.DAYS else "completed year"
    plural = "" if intervals.split()[-1] in {"1", "-1"} else "s"
    return f"from {_ref(gap.since)} to {_ref(gap.until)} it is {intervals} {unit}{plural}"


def _ref(ref: Ref) -> str:
    return ref.column if ref.up == 0 else f"the outer row's {ref.column}"
