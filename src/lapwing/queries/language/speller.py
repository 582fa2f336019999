"""Questions, conditions and values as one would write them: the one speller of the language.

It writes for people, who are shown a question (`written`, `described`), and for those who read the text again, exactly
(`Speller`): what it writes in a population plans as what was written, or it is refused. No text is ever a guess.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from datetime import date
from enum import Enum
from fractions import Fraction
from typing import Any, Final, TypeAlias

from sqlglot.dialects.duckdb import DuckDB
from sqlglot.parsers.duckdb import DuckDBParser

from lapwing.queries.algebra.functions import FUNCTIONS
from lapwing.queries.catalogue.column import written_name
from lapwing.queries.catalogue.population import Population, Table
from lapwing.queries.language.expressions import (
    Age,
    Among,
    And,
    Applied,
    Arithmetic,
    By,
    Case,
    CastTo,
    Clip,
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
    Spelled,
    TimeBetween,
    TimeOf,
    Truth,
    TruthOf,
    Value,
)
from lapwing.queries.language.joined import Has, InConceptSet, Link, PerPerson
from lapwing.queries.limits import MOST_DIGITS, MOST_VALUES
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.wording import format_exact

_PER_PERSON: Final = {
    "count": "number_of",
    "distinct": "different_of",
    "first": "first_of",
    "last": "last_of",
    "sum": "sum_of",
    "mean": "mean_of",
}
_SELECTED: Final = {
    "count": "count(*)",
    "distinct": "count(distinct {})",
    "first": "min({})",
    "last": "max({})",
    "sum": "sum({})",
    "mean": "avg({})",
}
_KINDS: Final = {"integer": "bigint", "number": "double", "text": "varchar", "day": "date", "truth value": "boolean"}
_MORE: Final = "..."
_ORDINARY: Final = ("table", "alias", "columns", "joins", "where", "kept", "by", "each")
_WORDS: Final = frozenset(
    word.casefold()
    for several in (*DuckDB.tokenizer_class.KEYWORDS, *DuckDBParser.NO_PAREN_FUNCTION_PARSERS)
    for word in several.split()
)
"""Words that mean something to the parser, so that a column of that name stands in quotes."""


ValueSets: TypeAlias = dict[str, tuple[int, ...] | tuple[str, ...]]
"""Long lists of values, by the names that a text has for them."""


def written(part: object) -> str:
    """Return a condition, a value or a group as one would write it, for people; what has no words is left out.

    >>> from lapwing.queries.language.expressions import col
    >>> written((col("age") >= 65) & col("city").like("B%"))
    "age >= 65 and city like 'B%'"
    """
    return Speller().part(part)


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
        said = told is not None and told is not False and not (isinstance(told, tuple) and not told)
        if said and field.name not in _ORDINARY:
            parts.append(f"{field.name}={written(told)}")
    return f"<{kind}: {' '.join(parts)}>"


class Speller:
    """Writes parts of a question about rows of a `table` of a `population`; without one, for people who look at them.

    In a population it is exact: what has no text that means the same is refused. Long lists of values are not spelt
    out; they are in `sets`, by the names that the text has for them.

    >>> from lapwing.queries.catalogue.population import Population, Table
    >>> from lapwing.queries.language.expressions import col
    >>> from lapwing.vocabulary.guarantee import PrivacyUnit
    >>> patients = Table(name="patients", columns=())
    >>> clinic = Population(name="clinic", unit=PrivacyUnit(person_key="id"), tables=(patients,))
    >>> Speller(clinic, patients).part(col("order") == 3)
    '"order" = 3'
    >>> Speller(clinic, patients).part(col("share") > Fraction(1, 3))
    Traceback (most recent call last):
    ...
    lapwing.errors.BadQuestionError: 1/3 cannot be written as text that means the same; ask it in SQL, or with ...
    """

    def __init__(
        self, population: Population | None = None, table: Table | None = None, sets: ValueSets | None = None
    ) -> None:
        self.sets: ValueSets = {} if sets is None else sets
        self._population = population
        self._rows: list[tuple[str, Table]] = [] if table is None else [(table.name, table)]

    def part(self, part: object) -> str:
        """Return a condition, a value, a group, or several of them."""
        match part:
            case By(column=column, edges=None):
                return self.part(column)
            case By(column=column, edges=edges):
                return f"bins({self._list((column, *(edges or ())))})"
            case Condition():
                return self._condition(part)
            case Value():
                return self._value(part)
            case Fraction():
                return str(format_exact(part))
            case tuple():
                return self._list(part)
            case _:
                return str(part)

    def _list(self, parts: Iterable[object]) -> str:
        return ", ".join(map(self.part, parts))

    def _unwritten(self, what: str) -> str:
        """Leave out what has no words, for people; refuse it where it will be read again."""
        if self._population is None:
            return _MORE
        raise BadQuestionError(
            f"{what} cannot be written as text that means the same; ask it in SQL, or with other words"
        )

    def _name(self, name: str) -> str:
        safe = written_name(name)
        return f'"{name}"' if safe == name and self._population is not None and name.casefold() in _WORDS else safe

    def _condition(self, part: Condition) -> str:
        match part:
            case And(()) | Or(()):
                return "true" if isinstance(part, And) else "false"
            case And(parts) | Or(parts):
                nested = (f"({self.part(one)})" if isinstance(one, And | Or) else self.part(one) for one in parts)
                return (" and " if isinstance(part, And) else " or ").join(nested)
            case Not(inner):
                return f"not ({self.part(inner)})"
            case Compare(sign, left, right):
                return f"{self.part(left)} {sign} {self.part(right)}"
            case OneOf(value, values):
                return f"{self.part(value)} in ({self._list(values)})"
            case Among(value, values, told):
                return f"{self.part(value)} in {self._among(values, told)}"
            case InConceptSet(value, name):
                known = () if self._population is None else self._population.concept_sets
                self.sets |= {one.name: one.values for one in known if one.name == name}
                return f"{self.part(value)} in concept_set({_quoted(name)})"
            case _:
                return self._other_condition(part)

    def _other_condition(self, part: Condition) -> str:
        match part:
            case Truth(value):
                return self.part(value)
            case Missing(value):
                return f"{self.part(value)} is null"
            case Matches(value, pattern, any_case):
                escape = " escape '\\'" if "\\" in pattern else ""
                return f"{self.part(value)} {'ilike' if any_case else 'like'} {_quoted(pattern)}{escape}"
            case Is(inner, truth):
                return f"({self.part(inner)}) is {'unknown' if truth is None else str(truth).lower()}"
            case Has(columns=None):
                return self._has(part)
            case _:
                return self._unwritten("a condition about joined rows")

    def _among(self, values: tuple[int, ...] | tuple[str, ...], told: str) -> str:
        if self._population is None:
            return told
        if len(values) <= MOST_VALUES // 10:
            return f"({self._list(map(Literal, values))})"
        name = next((one for one, known in self.sets.items() if known == values), f"set {len(self.sets) + 1}")
        self.sets[name] = values
        return f"concept_set({_quoted(name)})"

    def _has(self, has: Has) -> str:
        """Write other rows by `has(...)`; those that need a name of their own by a SELECT about the same person."""
        if self._population is None or (has.link is Link.IMPLIED and has.alias in {None, has.table}):
            with self._seeing(has):
                where = self.part(has.where)
            more = "" if not _said(has.where) and has.at_least == 1 else f", {where}"
            return f"has({self._name(has.table)}{more}{f', {has.at_least}' if has.at_least > 1 else ''})"
        if isinstance(has.link, tuple):
            mine, outer = has.link
            times = "" if has.at_least == 1 else f" group by {self.part(mine)} having count(*) >= {has.at_least}"
            return f"{self.part(outer)} in (select {self.part(mine)} {self._selected(has)}{times})"
        rows = self._selected(has)
        return f"exists (select 1 {rows})" if has.at_least == 1 else f"(select count(*) {rows}) >= {has.at_least}"

    def _selected(self, rows: Has | PerPerson) -> str:
        """Return FROM and WHERE of other rows of the same person."""
        outside = self._rows[:1]
        with self._seeing(rows) as alias:
            tied = [] if rows.link is not Link.IMPLIED else [" = ".join(map(self._key, (*self._rows[:1], *outside)))]
            such = " and ".join([*tied, *(f"({self.part(one)})" for one in _said(rows.where))]) or "true"
        return f"from {self._name(rows.table)} as {self._name(alias)} where {such}"

    def _key(self, row: tuple[str, Table]) -> str:
        alias, table = row
        key = table.name if self._population is None else self._population.person_key(table)
        return f"{self._name(alias)}.{self._name(key)}"

    @contextmanager
    def _seeing(self, rows: Has | PerPerson) -> Iterator[str]:
        """Write what is said about other rows, the nearest first; yield what they are called."""
        alias = rows.alias or rows.table
        before = self._rows
        if self._population is not None:
            self._rows = [(alias, self._population.table(rows.table)), *before]
        try:
            yield alias
        finally:
            self._rows = before

    def _value(self, part: Value) -> str:
        match part:
            case Name(name, table):
                return f"{self._name(table)}.{self._name(name)}" if table else self._name(name)
            case Spelled(text, value):
                return text if self._population is None else self._name(text) if value is None else self.part(value)
            case Literal(constant):
                return self._literal(constant)
            case Arithmetic():
                return self._arithmetic(part)
            case Clip(inner, low, high):
                return f"clip({self._list((inner, low, high))})"
            case Days() | Instant() | TimeOf() | TimeBetween():
                return self._time(part)
            case Now():
                return "current_date"
            case _:
                return self._called(part)

    def _time(self, part: Value) -> str:
        match part:
            case Instant(day, seconds):
                minutes, second = divmod(seconds, 60)
                return f"timestamp '{day} {minutes // 60:02d}:{minutes % 60:02d}:{second:02d}'"
            case Days(number, 0, 0):
                return f"interval '{number}' day"
            case Days(number, months, 0):
                return f"interval '{months}' month"
            case Days(number, _, seconds):
                return f"interval '{number * 86_400 + seconds}' second"
            case TimeOf("time", moment):
                return f"cast({self.part(moment)} as time)"
            case TimeOf(unit, moment):
                return f"{unit}({self.part(moment)})"
            case TimeBetween(unit, since, until):
                return f"date_diff('{unit}', {self._list((since, until))})"
            case _:
                raise TypeError(part)

    def _called(self, part: Value) -> str:
        match part:
            case Age(born, at):
                return f"age({self._list([born] if at is None else [born, at])})"
            case Applied("round", inner, None | Literal(0)):
                return f"round({self.part(inner)})"
            case Applied(function, inner, argument):
                second = "" if argument is None else self.part(argument)
                return FUNCTIONS[function].spelled.format(x=self.part(inner), y=second)
            case _:
                return self._made(part)

    def _made(self, part: Value) -> str:
        match part:
            case Coalesce(inner, otherwise):
                return f"coalesce({self._list((inner, otherwise))})"
            case TruthOf(condition):
                return f"({self.part(condition)})"
            case CastTo(inner, kind):
                return f"cast({self.part(inner)} as {_KINDS[kind]})"
            case Case(branches, otherwise):
                whens = " ".join(f"when {self.part(when)} then {self.part(then)}" for when, then in branches)
                return f"case {whens}{'' if otherwise is None else f' else {self.part(otherwise)}'} end"
            case PerPerson(columns=None):
                return self._per_person(part)
            case _:
                return self._unwritten("a value of joined rows")

    def _per_person(self, part: PerPerson) -> str:
        about = self._name(part.table) if part.column is None else self.part(part.column)
        if self._population is not None and (part.link is not Link.IMPLIED or part.alias not in {None, part.table}):
            if part.most is not None or isinstance(part.link, tuple):
                return self._unwritten("a value of a person's rows under another name")
            return f"(select {_SELECTED[part.function].format(about)} {self._selected(part)})"
        with self._seeing(part):
            such = [] if not _said(part.where) and part.most is None else [self.part(part.where)]
        most = [] if part.most is None else [self.part(part.most)]
        return f"{_PER_PERSON[part.function]}({', '.join([about, *such, *most])})"

    def _arithmetic(self, part: Arithmetic) -> str:
        """Spell a sum, a difference or a product; a division by one that leaves fractions whole is still a division."""
        match part:
            case Arithmetic("*", left, Literal(Fraction() as factor)) if factor in {1, -1}:
                return f"({self.part(left)} / {factor})"
        return f"({self.part(part.left)} {part.operator} {self.part(part.right)})"

    def _literal(self, constant: object) -> str:
        match constant:
            case None:
                return "null"
            case bool():
                return str(constant).lower()
            case date():
                return f"date '{constant.isoformat()}'"
            case str():
                return _quoted(constant)
            case Fraction() if self._population is not None and not _is_decimal(constant):
                return self._unwritten(str(constant))
            case _:
                return str(format_exact(constant))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _is_decimal(number: Fraction) -> bool:
    """Say whether a number has few enough digits to be read again, and ends."""
    return bool(10**MOST_DIGITS % number.denominator == 0)


def _said(condition: Condition) -> list[Condition]:
    """Return the parts of a condition that say something."""
    if isinstance(condition, And):
        return [part for one in condition.parts for part in _said(one)]
    return [condition]
