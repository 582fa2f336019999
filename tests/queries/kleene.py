"""What SQL says about a condition: true, false or unknown. Written from the standard, ignorant of the algebra."""

import math
import operator
import re
from datetime import date
from fractions import Fraction

from engines.clinic import FAR_DAYS
from lapwing.queries.catalogue.column import Category
from lapwing.queries.language.expressions import (
    Age,
    And,
    Applied,
    Arithmetic,
    CastTo,
    Coalesce,
    Compare,
    Is,
    Literal,
    Matches,
    Missing,
    Name,
    Not,
    OneOf,
    Or,
    Truth,
)
from lapwing.queries.language.joined import Has

OPERATORS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul}


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
            case Is(part, truth):
                return self.truth(part, rows) is truth
        return self.about_values(condition, rows)

    def about_values(self, condition, rows):
        match condition:
            case Truth(value):
                return self.value(value, rows)
            case Missing(value):
                return self.value(value, rows) is None
            case Matches(value, pattern, any_case):
                text = self.value(Applied("lower" if any_case else "as it is", value), rows)
                return None if text is None else matches(small(pattern) if any_case else pattern, text)
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
            case Applied("year", day):
                found = self.value(day, rows)
                return None if found is None else found.year
            case Arithmetic(sign, left, right):
                a, b = self.value(left, rows), self.value(right, rows)
                return None if a is None or b is None else computed(sign, a, b)
            case _:
                return self.of_one(value, rows)

    def of_one(self, value, rows):
        match value:
            case Coalesce(inner, otherwise):
                found = self.value(inner, rows)
                return self.value(otherwise, rows) if found is None else found
            case CastTo(inner, _):
                return self.value(inner, rows)
            case Applied("abs" | "floor" | "ceil" | "round" as function, inner, argument):
                found, places = self.value(inner, rows), argument.value if argument is not None else 0
                return None if found is None else rounded(function, found, places)
            case Applied("sign" | "//" | "greatest" | "least" as function, inner, argument):
                found, other = self.value(inner, rows), argument.value if argument is not None else 1
                return None if found is None else of_number(function, found, other)
            case Applied(function, inner):
                return self.text(function, inner, rows)

    def text(self, function, inner, rows):
        found = self.value(inner, rows)
        if isinstance(inner, Name) and found is not None:
            table = next(t for t, r in reversed(rows) if inner.table in (None, t.name) and inner.name in r)
            kind = table.column(inner.name).type
            if isinstance(kind, Category) and found not in kind.values:
                return UNDECLARED
        changes = {"lower": small, "upper": large, "trim": lambda text: text.strip(" "), "as it is": str}
        return found if found in (None, UNDECLARED) else changes[function](found)


UNDECLARED = "\x00"
"""What a category that was never declared becomes: of those, functions of text know nothing."""


def small(text):
    return re.sub("[A-Z]", lambda letter: letter[0].lower(), text)


def large(text):
    return re.sub("[a-z]", lambda letter: letter[0].upper(), text)


def matches(pattern, text):
    if text == UNDECLARED:
        return False
    signs = re.findall(r"\\.|.", pattern, re.DOTALL)
    regex = "".join({"%": ".*", "_": "."}.get(sign) or re.escape(sign[-1]) for sign in signs)
    return re.fullmatch(regex, text, re.DOTALL) is not None


def rounded(function, number, digits):
    if isinstance(number, float) and math.isinf(number):
        return abs(number) if function == "abs" else number
    number = Fraction(number)
    if function == "round":
        whole = math.floor(abs(number) * Fraction(10) ** digits + Fraction(1, 2)) / Fraction(10) ** digits
        return whole if number > 0 else -whole
    return Fraction({"abs": abs, "floor": math.floor, "ceil": math.ceil}[function](number))


def computed(sign, a, b):
    if isinstance(a, date) or isinstance(b, date):
        return shifted(sign, a, b)
    if any(isinstance(each, float) and math.isinf(each) for each in (a, b)):
        a, b = (float(each) for each in (a, b))
        return 0 if sign == "*" and 0 in (a, b) else ARITHMETIC[sign](a, b)
    return ARITHMETIC[sign](Fraction(a), Fraction(b))


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


def of_number(function, number, other):
    """Return a function of a number, with a second argument where it has one."""
    if isinstance(number, float) and not math.isinf(number):
        number = Fraction(number)
    match function:
        case "sign":
            return (number > 0) - (number < 0)
        case "//":
            return math.trunc(number / other)
        case _:
            return max(number, other) if function == "greatest" else min(number, other)
