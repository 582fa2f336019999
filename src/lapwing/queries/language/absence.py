"""What is said of a row that is not there: its columns are missing, and three truth values do the rest, as in SQL.

    coalesce(v.nights, 0) = 0 or p.age > 30

is true of everybody for whom a LEFT JOIN finds no row of `v`; `v.nights > 1` is unknown there, and `v.nights is null`
is true. Whatever names no column of the row is left as it is written.
"""

from collections.abc import Callable
from dataclasses import fields, replace
from datetime import date
from fractions import Fraction
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Final

from lapwing.queries.language.expressions import (
    Among,
    And,
    Case,
    Coalesce,
    Compare,
    Condition,
    Is,
    Literal,
    Matches,
    Missing,
    Name,
    Not,
    OneOf,
    Or,
    Truth,
    TruthOf,
    Value,
)
from lapwing.queries.language.joined import Has, InConcepts, InConceptSet, PerPerson, PlaceOfRow
from lapwing.vocabulary.deadline import spend
from lapwing.vocabulary.frozen import frozen

TRUE: Final = Truth(Literal(value=True))
FALSE: Final = Truth(Literal(value=False))
UNKNOWN: Final = Truth(Literal(None))
_NULL: Final = Literal(None)
_COMPARED: Final[dict[str, Callable[[Any, Any], bool]]] = {"=": eq, "<>": ne, "<": lt, "<=": le, ">": gt, ">=": ge}

Rows = tuple[Has | PerPerson, ...]
"""The rows of other tables around a name, the innermost last: their columns hide those outside."""


@frozen(kw_only=False)
class Absence:
    """A row that is not there; `names` says whether a name, inside of these rows, is a column of it."""

    names: Callable[[Name, Rows], bool]

    def needs_row(self, condition: Condition) -> bool:
        """Say whether a condition is never true of the row."""
        return is_never_true(self.said(condition))

    def lacks(self, value: Value) -> bool:
        """Say whether a value is missing."""
        return _is_null(self.value(value))

    def said(self, condition: Condition, inside: Rows = ()) -> Condition:
        """Return what a condition says of the row."""
        spend()
        match condition:
            case And(parts) | Or(parts):
                return _joined(condition, tuple(self.said(part, inside) for part in parts))
            case Not(part):
                return _negated(self.said(part, inside))
            case Is(part, truth):
                said = self.said(part, inside)
                known = _known(said)
                return Is(said, truth) if known is None else _constant(known.value is truth)
            case Missing(value):
                made = self.value(value, inside)
                return _constant(made.value is None) if isinstance(made, Literal) else Missing(made)
            case Compare(operator, left, right):
                return _compared(Compare(operator, self.value(left, inside), self.value(right, inside)))
            case (
                OneOf(value=value)
                | Among(value=value)
                | Matches(value=value)
                | Truth(value)
                | InConceptSet(value=value)
                | InConcepts(value=value)
            ):
                made = self.value(value, inside)
                return UNKNOWN if _is_null(made) else replace(condition, value=made)
            case Has(where=where):
                return replace(condition, where=self.said(where, (*inside, condition)))
            case _:
                return condition

    def value(self, value: Value, inside: Rows = ()) -> Value:
        """Return a value as the row has it."""
        spend()
        match value:
            case Name():
                return _NULL if self.names(value, inside) else value
            case Coalesce(first, otherwise):
                made = self.value(first, inside)
                last = self.value(otherwise, inside)
                return last if _is_null(made) else made if isinstance(made, Literal) else Coalesce(made, last)
            case Case():
                return self._case(value, inside)
            case TruthOf(condition):
                said = self.said(condition, inside)
                known = _known(said)
                return TruthOf(said) if known is None else known
            case PerPerson(where=where):
                return replace(value, where=self.said(where, (*inside, value)))
            case PlaceOfRow():
                return value
            case _:
                return self._computed(value, inside)

    def _computed(self, value: Any, inside: Rows) -> Value:
        """Return what is computed from values, and is missing where one of them is."""
        parts = {one.name: getattr(value, one.name) for one in fields(value)}
        held = {name: self.value(part, inside) for name, part in parts.items() if isinstance(part, Value)}
        return _NULL if any(map(_is_null, held.values())) else replace(value, **held)

    def _case(self, case: Case, inside: Rows) -> Value:
        branches = list[tuple[Condition, Value]]()
        otherwise = case.otherwise
        for condition, then in case.branches:
            said = self.said(condition, inside)
            if said is TRUE:
                otherwise = then
                break
            if not is_never_true(said):
                branches.append((said, self.value(then, inside)))
        last = _NULL if otherwise is None else self.value(otherwise, inside)
        return Case(tuple(branches), None if _is_null(last) else last) if branches else last


def _known(said: Condition) -> Literal | None:
    """Return whether something is true, false or unknown, where that is known."""
    match said:
        case Truth(Literal() as truth):
            return truth
        case _:
            return None


def _is_null(value: Value) -> bool:
    return isinstance(value, Literal) and value.value is None


def _constant(truth: bool) -> Condition:  # noqa: FBT001 - it is one
    return TRUE if truth else FALSE


def _joined(condition: And | Or, parts: tuple[Condition, ...]) -> Condition:
    """Return parts that are joined by AND or OR; one of them may decide, and those that cannot are left out."""
    decides = isinstance(condition, Or)
    rest = list[Condition]()
    for part in parts:
        known = _known(part)
        if known is not None and known.value is decides:
            return _constant(decides)
        if known is None or known.value is None:
            rest.append(part)
    if all(_known(part) is not None for part in rest):
        return UNKNOWN if rest else _constant(not decides)
    return replace(condition, parts=tuple(rest))


def _negated(said: Condition) -> Condition:
    known = _known(said)
    if known is None:
        return Not(said)
    return UNKNOWN if known.value is None else _constant(not known.value)


def _compared(said: Compare) -> Condition:
    left, right = said.left, said.right
    if _is_null(left) or _is_null(right):
        return UNKNOWN
    if not isinstance(left, Literal) or not isinstance(right, Literal):
        return said
    kinds = {Fraction if type(one.value) is int else type(one.value) for one in (left, right)}
    known = len(kinds) == 1 and (said.operator in {"=", "<>"} or kinds in ({Fraction}, {date}))
    return _constant(_COMPARED[said.operator](left.value, right.value)) if known else said


def is_never_true(said: Condition) -> bool:
    """Say whether nothing that is still open can make a condition true."""
    match said:
        case And(parts):
            return any(map(is_never_true, parts))
        case Or(parts):
            return all(map(is_never_true, parts))
        case Truth(Literal(value=truth)):
            return truth is not True
        case _:
            return False
