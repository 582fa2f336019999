"""A question in SQL: what an analyst would have to write to ask it so. Reading it must give the same plan.

It also makes a finding readable. Not every question of Python has a spelling: then it is None.
"""

from datetime import date
from fractions import Fraction

from lapwing.queries.expressions import (
    Age,
    And,
    Arithmetic,
    Case,
    CastTo,
    Clip,
    Coalesce,
    Compare,
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
    NumberOf,
    OneOf,
    Or,
    Step,
    TextOf,
    Truth,
    TruthOf,
)
from lapwing.queries.joined import Has, PerPerson
from lapwing.queries.statistics.bernstein import Moment
from lapwing.queries.statistics.counts import CountPeople, CountRows
from lapwing.queries.statistics.distinct import CountDistinct
from lapwing.queries.statistics.moments import MomentQuestion
from lapwing.queries.statistics.quantiles import QuantileQuestion
from lapwing.queries.statistics.top import TopCategories, TopCounts
from lapwing.queries.statistics.total import Sum

_MOMENTS = {
    Moment.MEAN: "avg",
    Moment.VARIANCE: "var_pop",
    Moment.COVARIANCE: "covar_pop",
    Moment.CORRELATION: "corr",
}


class CannotBeWrittenError(Exception):
    """SQL has no words for it."""


def in_sql(question, population):
    """Return a SELECT that asks `question`, or None where SQL cannot."""
    table = population.table(question.table)
    writer = Spelling(population)
    try:
        statistic = writer.statistic(question, population.person_key(table))
        where = writer.condition(question.where, ((table.name, table),))
        by = ", ".join(writer.grouping(each) for each in question.by)
    except CannotBeWrittenError:
        return None
    text = f"select {statistic} from {quoted(table.name)} where {where}"
    if isinstance(question, TopCategories):
        people = f"count(distinct {quoted(population.person_key(table))})"
        return f"{text} group by {statistic} order by {people} desc limit {question.k}"
    if isinstance(question, TopCounts):
        return f"{text} group by {by} order by {statistic} desc limit {question.k}"
    return f"{text} group by {by}" if by else text


def condition_in_sql(condition, population, table):
    """Return a condition about a row of `table` in SQL, or None where SQL cannot say it."""
    try:
        return Spelling(population).condition(condition, ((table.name, table),))
    except CannotBeWrittenError:
        return None


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


_PER_PERSON = {"count": "number_of", "distinct": "different_of", "first": "first_of", "last": "last_of"}


class Spelling:
    """Writes what `written` holds; `around` are the (alias, table) of the rows there, the nearest first."""

    def __init__(self, population):
        self.population = population

    def statistic(self, question, key):
        match question:
            case CountPeople() | TopCounts():
                return f"count(distinct {quoted(key)})"
            case CountRows():
                return "count(*)"
            case Sum(value=value) if not isinstance(value, Case):  # which SQL takes for a count of rows
                return f"sum({self.value(value)})"
            case MomentQuestion(moment=moment, values=values):
                return f"{_MOMENTS[moment]}({', '.join(map(self.value, values))})"
            case QuantileQuestion(value=value, at=at, cells=None):
                fractions = ", ".join(number(fraction) for fraction in at)
                return f"quantile_cont({self.value(value)}, [{fractions}])"
            case TopCategories(column=column):
                return quoted(column.name)
            case CountDistinct(column=column):
                return f"count(distinct {quoted(column.name)})"
        raise CannotBeWrittenError

    def grouping(self, by):
        column = self.value(by.column)
        edges = "".join(f", {self.value(edge)}" for edge in by.edges or ())
        return f"bins({column}{edges})" if edges else column

    def condition(self, condition, around):
        match condition:
            case And(()):
                return "true"
            case And(parts) | Or(parts):
                word = " and " if isinstance(condition, And) else " or "
                return "(" + word.join(self.condition(part, around) for part in parts) + ")"
            case Not(part):
                return f"(not {self.condition(part, around)})"
            case Has():
                return self.has(condition, around)
            case Truth(value):
                return self.value(value)
            case _:
                return self.about_values(condition)

    def about_values(self, condition):
        match condition:
            case Compare(sign, left, right):
                return f"({self.value(left)} {sign} {self.value(right)})"
            case OneOf(value, values):
                return f"({self.value(value)} in ({', '.join(map(self.value, values))}))"
            case Missing(value):
                return f"({self.value(value)} is null)"
            case Matches(value, pattern, any_case):
                sign = "ilike" if any_case else "like"
                escape = " escape '\\'" if "\\" in pattern else ""
                return f"({self.value(value)} {sign} {literal(pattern)}{escape})"
            case Is(part, truth):
                word = {True: "true", False: "false", None: "unknown"}[truth]
                return f"(({self.condition(part, ())}) is {word})"

    def has(self, has, around):
        """Write rows of another table by `has(...)`, and those that need an alias by a SELECT about the same person."""
        other = self.population.table(has.table)
        inside = ((has.alias, other), *around)
        where = self.condition(has.where, inside)
        if has.alias == has.table:
            return f"has({quoted(has.table)}, {where}, {has.at_least})"
        keys = [f"{quoted(alias)}.{quoted(self.population.person_key(table))}" for alias, table in inside[:2]]
        rows = f"from {quoted(has.table)} as {quoted(has.alias)} where {keys[0]} = {keys[1]} and {where}"
        return f"exists (select 1 {rows})" if has.at_least == 1 else f"((select count(*) {rows}) >= {has.at_least})"

    def value(self, value):
        match value:
            case Name(name, table):
                return f"{quoted(table)}.{quoted(name)}" if table else quoted(name)
            case Literal(constant):
                return literal(constant)
            case Days(days):
                return f"interval '{days}' day"
            case Arithmetic(sign, left, right):
                return f"({self.value(left)} {sign} {self.value(right)})"
            case Clip(inner, low, high):
                return f"clip({', '.join(map(self.value, (inner, low, high)))})"
            case Age(born, at):
                return f"age({', '.join(self.value(day) for day in (born, at) if day is not None)})"
            case DatePart(part, day):
                return f"extract({'isodow' if part == 'weekday' else part} from {self.value(day)})"
            case _:
                return self.of_more(value)

    def of_more(self, value):
        """Write what needs more than the columns of the row and arithmetic."""
        match value:
            case DateTrunc(unit, day):
                return f"date_trunc('{unit}', {self.value(day)})"
            case Step(inner, Literal() as width):
                return f"(floor({self.value(inner)} / {self.value(width)}) * {self.value(width)})"
            case Case(branches, otherwise):
                whens = " ".join(f"when {self.condition(w, ())} then {self.value(v)}" for w, v in branches)
                return f"case {whens}{'' if otherwise is None else f' else {self.value(otherwise)}'} end"
            case PerPerson(function, table, column, where, _, _, _, most):
                about = quoted(table) if column is None else self.value(column)
                most = "" if most is None else f", {self.value(most)}"
                return f"{_PER_PERSON[function]}({about}, {self.condition(where, ())}{most})"
        return self.computed(value)

    def computed(self, value):
        match value:
            case Coalesce(inner, otherwise):
                return f"coalesce({self.value(inner)}, {self.value(otherwise)})"
            case TextOf(function, inner):
                return f"{function}({self.value(inner)})"
            case LeftOf(inner, length):
                return f"left({self.value(inner)}, {length})"
            case TruthOf(stated):
                return f"({self.condition(stated, ())})"
            case CastTo(inner, "integer"):
                return f"({self.value(inner)})::int"
            case NumberOf("round", inner, digits):
                return f"round({self.value(inner)}, {digits})"
            case NumberOf(function, inner):
                return f"{function}({self.value(inner)})"
        raise CannotBeWrittenError


def literal(constant):
    match constant:
        case bool():
            return str(constant).lower()
        case date():
            return f"date '{constant.isoformat()}'"
        case str():
            return "'" + constant.replace("'", "''") + "'"
        case _:
            return number(constant)


def number(constant):
    """Return a number as a decimal, if it is one."""
    scaled = Fraction(constant) * 10**60
    if scaled.denominator > 1 or abs(constant) > 10**60:
        raise CannotBeWrittenError
    whole, part = divmod(abs(scaled.numerator), 10**60)
    tail = f".{part:060d}".rstrip("0").rstrip(".")
    return f"{'-' if constant < 0 else ''}{whole}{tail}"
