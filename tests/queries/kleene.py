"""What SQL says about a condition: true, false or unknown. Written from the standard, ignorant of the algebra."""

import math
import operator
from datetime import date
from fractions import Fraction

from engines.clinic import FAR_DAYS
from lapwing.queries.expressions import (
    Age,
    And,
    Arithmetic,
    Compare,
    DatePart,
    Has,
    Literal,
    Missing,
    Name,
    Not,
    OneOf,
    Or,
    Prefixed,
    Truth,
)

OPERATORS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Kleene:
    """Evaluates conditions on rows; `rows` are (table, row) pairs of one person, the innermost last."""

    def __init__(self, population, tables):
        self.population, self.tables = population, tables

    def truth(self, condition, rows):
        match condition:
            case And(parts) | Or(parts):
                found = [self.truth(part, rows) for part in parts]
                decisive = isinstance(condition, Or)
                return decisive if decisive in found else None if None in found else not decisive
            case Not(part):
                found = self.truth(part, rows)
                return None if found is None else not found
            case OneOf(value, values):
                return self.truth(Or(tuple(Compare("=", value, each) for each in values)), rows)
            case Has():
                return self.has(condition, rows)
        return self.about_values(condition, rows)

    def about_values(self, condition, rows):
        match condition:
            case Truth(value):
                return self.value(value, rows)
            case Missing(value):
                return self.value(value, rows) is None
            case Prefixed(value, prefix):
                text = self.value(value, rows)
                return None if text is None else text.startswith(prefix.value)
            case Compare(sign, left, right):
                a, b = self.value(left, rows), self.value(right, rows)
                return None if a is None or b is None else OPERATORS[sign](*alike(a, b))

    def has(self, condition, rows):
        table, row = rows[-1]
        other = self.population.table(condition.table)
        person = row[self.population.person_key(table)]
        mine = [r for r in self.tables[other.name] if r[self.population.person_key(other)] == person]
        return sum(self.truth(condition.where, [*rows, (other, r)]) is True for r in mine) >= condition.at_least

    def value(self, value, rows):
        match value:
            case Literal(constant):
                return constant
            case Name(name, of):
                place = next((t, r) for t, r in reversed(rows) if of in (None, t.name) and name in r)
                return plain(place[1][name])
            case Age(born, at):
                born, at = self.value(born, rows), self.population.now if at is None else self.value(at, rows)
                return (
                    None
                    if born is None or at is None
                    else at.year - born.year - ((at.month, at.day) < (born.month, born.day))
                )
            case DatePart("year", day):
                found = self.value(day, rows)
                return None if found is None else found.year
            case Arithmetic(sign, left, right):
                a, b = self.value(left, rows), self.value(right, rows)
                return None if a is None or b is None else shifted(sign, a, b)


def plain(value):
    """A missing value is None, however it was stored."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return None if value in FAR_DAYS else value


def shifted(sign, a, b):
    if isinstance(a, date) and isinstance(b, date):
        return (a - b).days
    return a.toordinal() + (b if sign == "+" else -b)


def alike(a, b):
    """Two values that may be compared: days as numbers where one of them is, constants as doubles where a column is."""
    if isinstance(a, date) != isinstance(b, date):
        return tuple(v.toordinal() if isinstance(v, date) else v for v in (a, b))
    if isinstance(a, float) and isinstance(b, int | Fraction):
        return a, double(b)
    if isinstance(b, float) and isinstance(a, int | Fraction):
        return double(a), b
    return a, b


def double(number):
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
