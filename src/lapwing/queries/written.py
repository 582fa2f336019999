"""Questions, conditions and values as one would write them: what Python shows of them, and nothing that is asked."""

import re
from dataclasses import fields
from datetime import date
from enum import Enum
from fractions import Fraction
from typing import Any

from lapwing.queries.column import written_name
from lapwing.queries.expressions import (
    Age,
    Among,
    And,
    Arithmetic,
    By,
    Case,
    CastTo,
    Clip,
    Coalesce,
    Compare,
    Condition,
    DatePart,
    DateTrunc,
    Days,
    Is,
    LeftOf,
    Literal,
    Matches,
    Missing,
    Name,
    Not,
    Now,
    NumberOf,
    OneOf,
    Or,
    Spelled,
    Step,
    TextOf,
    Truth,
    TruthOf,
    Value,
)
from lapwing.queries.joined import Has, InConceptSet, PerPerson
from lapwing.vocabulary.wording import format_exact

_PER_PERSON = {"count": "number_of", "distinct": "different_of", "first": "first_of", "last": "last_of"}
_MORE = "..."
_ORDINARY = ("table", "alias", "columns", "joins", "where", "kept", "by", "each")


def written(part: object) -> str:
    """Return a condition, a value or a group much as one would write it in SQL; what is long is left out.

    >>> from lapwing.queries.expressions import col
    >>> written((col("age") >= 65) & col("city").like("B%"))
    "age >= 65 and city like 'B%'"
    """
    match part:
        case By(column=column, edges=None):
            return written(column)
        case By(column=column, edges=edges):
            return f"bins({written(column)}, {', '.join(map(written, edges or ()))})"
        case Condition():
            return _condition(part)
        case Value():
            return _value(part)
        case Fraction():
            return str(format_exact(part))
        case tuple():
            return ", ".join(map(written, part))
        case _:
            return str(part)


def described(question: Any) -> str:
    """Return a question in one line: what kind it is, of which rows, by which groups, and what else it says.

    >>> from lapwing.queries.statistics.counts import count
    >>> count("patients", "age >= 65", by="sex")
    <count people: patients where age >= 65 by sex>
    """
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(question).__name__.removesuffix("Question")).lower()
    parts: list[str] = [question.table]
    parts += [f"beside {join.table}" for join in question.joins]
    such = [*_said(question.where), *_said(question.kept)]
    parts += [f"where {written(And(tuple(such)))}"] if such else []
    parts += [f"by {written(question.by)}"] if question.by else []
    for field in fields(question):
        told: Any = getattr(question, field.name)
        if isinstance(told, Enum):
            kind = told.name.lower().replace("_", " ")
            continue
        said = told is not None and not (isinstance(told, tuple) and not told)
        if said and field.name not in _ORDINARY:
            parts.append(f"{field.name}={written(told)}")
    return f"<{kind}: {' '.join(parts)}>"


def _said(condition: Condition) -> list[Condition]:
    """Return the parts of a condition that say something."""
    if isinstance(condition, And):
        return [part for one in condition.parts for part in _said(one)]
    return [condition]


def _condition(part: Condition) -> str:
    match part:
        case And(()):
            return "true"
        case And(parts) | Or(parts):
            word = " and " if isinstance(part, And) else " or "
            return word.join(f"({written(one)})" if isinstance(one, And | Or) else written(one) for one in parts)
        case Not(inner):
            return f"not ({written(inner)})"
        case Compare(sign, left, right):
            return f"{written(left)} {sign} {written(right)}"
        case OneOf(value, values):
            return f"{written(value)} in ({written(values)})"
        case Among(value, _, told):
            return f"{written(value)} in {told}"
        case InConceptSet(value, name):
            return f"{written(value)} in concept_set({name!r})"
        case _:
            return _other_condition(part)


def _other_condition(part: Condition) -> str:
    match part:
        case Truth(value):
            return written(value)
        case Missing(value):
            return f"{written(value)} is null"
        case Matches(value, pattern, any_case):
            return f"{written(value)} {'ilike' if any_case else 'like'} {pattern!r}"
        case Is(inner, truth):
            return f"({written(inner)}) is {'unknown' if truth is None else str(truth).lower()}"
        case Has(table, where, times):
            more = "" if not _said(where) and times == 1 else f", {written(where)}"
            return f"has({table}{more}{f', {times}' if times > 1 else ''})"
        case _:
            return _MORE


def _value(part: Value) -> str:
    match part:
        case Name(name, table):
            return f"{table}.{written_name(name)}" if table else written_name(name)
        case Spelled(text):
            return text
        case Literal(constant):
            return _literal(constant)
        case Arithmetic(sign, left, right):
            return f"({written(left)} {sign} {written(right)})"
        case Clip(inner, low, high):
            return f"clip({written((inner, low, high))})"
        case Days(number):
            return f"interval {number} day"
        case Now():
            return "current_date"
        case _:
            return _called(part)


def _called(part: Value) -> str:
    match part:
        case Age(born, at):
            return f"age({written((born, *([] if at is None else [at])))})"
        case DatePart(name, day):
            return f"{name}({written(day)})"
        case DateTrunc(unit, day):
            return f"date_trunc({unit!r}, {written(day)})"
        case TextOf(function, inner) | NumberOf(function, inner):
            return f"{function}({written(inner)})"
        case LeftOf(inner, length):
            return f"left({written(inner)}, {length})"
        case Coalesce(inner, otherwise):
            return f"coalesce({written((inner, otherwise))})"
        case TruthOf(condition):
            return written(condition)
        case _:
            return _made(part)


def _made(part: Value) -> str:
    match part:
        case CastTo(inner, kind):
            return f"cast({written(inner)} as {kind})"
        case Step(inner, width):
            return f"floor({written(inner)} / {written(width)}) * {written(width)}"
        case Case(branches, otherwise):
            whens = " ".join(f"when {written(when)} then {written(then)}" for when, then in branches)
            return f"case {whens}{'' if otherwise is None else f' else {written(otherwise)}'} end"
        case PerPerson(function, table, column, where):
            about = table if column is None else written(column)
            return f"{_PER_PERSON[function]}({about}{'' if not _said(where) else f', {written(where)}'})"
        case _:
            return _MORE


def _literal(constant: object) -> str:
    match constant:
        case None:
            return "null"
        case bool():
            return str(constant).lower()
        case date():
            return f"date '{constant.isoformat()}'"
        case str():
            return "'" + constant.replace("'", "''") + "'"
        case _:
            return str(format_exact(constant))
