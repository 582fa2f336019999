"""Names for derived columns, and plain English for what they are."""

import itertools
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import date
from fractions import Fraction

from lapwing.queries.algebra.derived import (
    Beginning,
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
    PersonRows,
    Respelled,
    Spelling,
    SumOfPerson,
)
from lapwing.queries.algebra.functions import FUNCTIONS, ROUNDED
from lapwing.queries.algebra.predicate import ALWAYS, Predicate, Unit
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
    leaves,
)
from lapwing.queries.algebra.words import Labels, words
from lapwing.queries.catalogue.column import DerivedColumn
from lapwing.queries.catalogue.domains import day
from lapwing.queries.catalogue.population import LONGEST_NAME
from lapwing.vocabulary.wording import format_short

_CUT = "..."
_MOST_NAMED = 4


def title(derived: DerivedColumn) -> str:
    """Return what a derived column is called: short, and much as one would write it."""
    match derived:
        case LookedUp(table=table, column=column):
            return f"{table}.{column}"
        case ExtremeOfPerson(rows=rows, column=column, last=last):
            return f"{'last' if last else 'first'}_of({rows.table}.{column}{_where(rows)})"
        case NumberOfPerson(rows=rows, column=None):
            return f"number_of({rows.table}{_where(rows)})"
        case SumOfPerson(rows=rows, term=term):
            return f"sum_of({rows.table}.{term.column}{_where(rows)})"
        case MeanOfPerson(rows=rows, term=term):
            return f"mean_of({rows.table}.{term.column}{_where(rows)})"
        case NumberOfPerson(rows=rows, column=column):
            return f"different_of({rows.table}.{column}{_where(rows)})"
        case _:
            return _title_of_row(derived)


def _title_of_row(derived: DerivedColumn) -> str:
    match derived:
        case PartOfDay(part=part, day=of):
            return f"{part.value}({of})"
        case Beginning(unit=unit, day=of):
            return f"{unit.value} of {of}"
        case Respelled(column=column, spelling=spelling):
            return f"{spelling.value}({column})"
        case FirstCharacters(column=column, length=length):
            return f"left({column}, {length})"
        case Filled(column=column, constant=constant) | FilledDay(column=column, constant=constant):
            return f"coalesce({column}, {_result(constant)})"
        case OnlyWhere(column=column, where=where):
            return f"{column} where {words(where)}"
        case CaseResult():
            truth = _truth(derived)
            return f"case ({_listed(derived)})" if truth is None else words(truth)
        case Computed(term=term):
            return spell(term)
        case _:
            raise TypeError(derived)


def numbered(name: str, number: int) -> str:
    """Return the n-th name like `name`, none longer than a database takes.

    >>> numbered("month(day)", 1), numbered("month(day)", 2)
    ('month(day)', 'month(day) (2)')
    """
    end = "" if number == 1 else f" ({number})"
    if len((name + end).encode()) <= LONGEST_NAME:
        return name + end
    kept = name.encode()[: LONGEST_NAME - len((_CUT + end).encode())].decode(errors="ignore")
    return kept.rstrip() + _CUT + end


def named_apart(made: DerivedColumn, taken: Collection[str], known: Mapping[str, DerivedColumn]) -> DerivedColumn:
    """Return a derived column under a name of its own: neither `taken` nor, in lower case, that of another `known`."""
    for number in itertools.count(1):
        name = numbered(title(made), number)
        named: DerivedColumn = replace(made, name=name)  # type: ignore[type-var]
        if name.casefold() not in taken and known.get(name.casefold()) in {None, named}:
            return named
    raise AssertionError("there is always a name left")


def explained(derived: DerivedColumn, labels: Labels) -> str | None:  # noqa: PLR0911 - one for each kind
    """Say what a derived column is, where its name does not say all of it; `labels` is that of `words`."""
    match derived:
        case NumberOfPerson(rows=rows, column=column, most=most):
            what = "rows" if column is None else f"different values of {column}"
            several = f"the number of {what} that the person has in {rows.table}{_such(rows, labels)}, at most {most}"
            return f"{derived.name} is {several}"
        case SumOfPerson(rows=rows, term=term) | MeanOfPerson(rows=rows, term=term):
            step, made = Fraction(2) ** -term.bits, "sum" if isinstance(derived, SumOfPerson) else "mean"
            ends = f"{format_short(term.low * step)}..{format_short(term.high * step)}"
            several = f"the {made} of {term.column}, clipped to {ends}, of all rows of the person in {rows.table}"
            return f"{derived.name} is {several}{_such(rows, labels)}"
        case ExtremeOfPerson(rows=rows, column=column, last=last):
            which = "last" if last else "first"
            several = f"the {which} {column} that the person has in {rows.table}{_such(rows, labels)}"
            return None if rows.where == ALWAYS else f"{derived.name} is {several}"
        case OnlyWhere(column=column, where=where):
            whole = f"{column} where {words(where, labels)}"
            return f"{derived.name} is {'' if whole == derived.name else f'{whole}, '}missing elsewhere"
        case CaseResult() if (truth := _truth(derived)) is not None:
            whole = words(truth, labels)
            return None if whole == derived.name else f"{derived.name} is whether {whole}"
        case CaseResult():
            return f"{derived.name} is {_branches(derived, labels)}"
        case Respelled(spelling=Spelling.LOWER | Spelling.UPPER):
            return f"{derived.name} changes the letters A to Z and no others, so Ä and ä stay two"
        case Computed(term=Elapsed(until=int() as until, unit=Unit.YEARS)):
            return f"{derived.name} is counted to {day(until)}"
        case _:
            return None


def spell(term: Term) -> str:
    """Return a term much as one would write it."""
    match term:
        case OnGrid(column=column):
            return column
        case Elapsed():
            return _time(term)
        case ConstantTerm(value):
            return str(value)
        case Plus(left, right):
            return _sum(left, right)
        case Times(left, right):
            return f"{spell(left)} * {spell(right)}"
        case Rounded(inner, _):
            return spell(inner)
        case SteppedDown() | FunctionOf():
            return _function(term)


def _function(term: SteppedDown | FunctionOf) -> str:
    first, *rest = map(spell, term.terms)
    if isinstance(term, SteppedDown):
        return f"{first} in steps of {term.width}"
    if term.function in ROUNDED:
        grid = max((leaf.bits for leaf in leaves(term) if isinstance(leaf, OnGrid)), default=0)
        width = Fraction(term.width, 2**grid) if grid >= 0 else Fraction(term.width)
        return f"{term.function}({first})" if width == 1 else f"{term.function}({first} / {width})"
    if isinstance(term.terms[0], Elapsed) and term.function in {"//", "%"}:
        first = f"({first})"
    return FUNCTIONS[term.function].spelled.format(x=first, y=rest[0] if rest else term.width)


def _sum(left: Term, right: Term) -> str:
    for one, other in ((left, right), (right, left)):
        match other:
            case Times(ConstantTerm(-1), taken) | Times(taken, ConstantTerm(-1)):
                return f"({spell(one)} - {spell(taken)})"
            case _:
                pass
    return f"({spell(left)} + {spell(right)})"


def _time(term: Elapsed) -> str:
    if term.unit is Unit.DAYS:
        return f"{_day(term.until)} - {_day(term.since)}"
    until = "" if isinstance(term.until, int) else f", {term.until}"
    return f"age({_day(term.since)}{until})"


def _day(end: str | int) -> str:
    return end if isinstance(end, str) else day(end).isoformat()


def _branches(case: CaseResult, labels: Labels) -> str:
    said = [f"{_result(branch.result)} where {words(branch.where, labels)}" for branch in case.branches]
    return ", else ".join([*said, _result(case.otherwise)])


def _listed(case: CaseResult) -> str:
    """Return what a case can be, the first few of many."""
    known = [str(result).lower() if isinstance(result, bool) else str(result) for result in case.results]
    return ", ".join(known if len(known) <= _MOST_NAMED else [*known[:_MOST_NAMED], _CUT])


def _truth(case: CaseResult) -> Predicate | None:
    """Return the condition of which a case is the truth value, if it is one."""
    results = [branch.result for branch in case.branches]
    says = results[0] is True and (case.otherwise is False or (results[1:] == [False] and case.otherwise is None))
    return case.branches[0].where if says else None


def _result(result: str | int | Fraction | bool | date | None) -> str:  # noqa: FBT001 - a public value
    match result:
        case None:
            return "missing"
        case bool() | Fraction():
            return str(result).lower()
        case date():
            return f"date '{result}'"
        case _:
            return repr(result)


def _where(rows: PersonRows) -> str:
    return "" if rows.where == ALWAYS else f" where {words(rows.where)}"


def _such(rows: PersonRows, labels: Labels) -> str:
    return "" if rows.where == ALWAYS else f" where ({words(rows.where, labels)})"
