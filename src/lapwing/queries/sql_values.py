"""Reads values from SQL text: columns, constants, arithmetic, days and their parts, cases, a person's own numbers.

Databases disagree about AGE: here it counts completed years from the first day to the second. The others give the later
day first and an interval back, of which people take the years: `extract(year from age(day, born))` means that.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Final, TypeAlias

from sqlglot import exp

from lapwing.queries.days import day_of
from lapwing.queries.expressions import (
    Age,
    And,
    Arithmetic,
    Case,
    CastTo,
    Clip,
    Coalesce,
    Compare,
    Condition,
    DatePart,
    DateTrunc,
    Days,
    LeftOf,
    Literal,
    Name,
    Now,
    NumberOf,
    Step,
    TextOf,
    TruthOf,
    Value,
)
from lapwing.queries.joined import PerPerson
from lapwing.queries.sql_nodes import (
    cast_kind,
    divisor,
    function_name,
    is_date,
    literal,
    name_of,
    negative,
    number_of_days,
    only,
    table_name,
    upper_text,
)
from lapwing.queries.sql_refusals import refusal, refused_value
from lapwing.vocabulary.errors import BadQuestionError

_ARITHMETIC: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}
_TEXTS: dict[type[exp.Expr], str] = {exp.Lower: "lower", exp.Upper: "upper", exp.Trim: "trim"}
_PER_PERSON = {"number_of": "count", "different_of": "distinct", "first_of": "first", "last_of": "last"}
_MOST_BUCKETS = 100
Read: TypeAlias = Callable[[exp.Expr], Value]

_PARTS: Final[dict[type[exp.Expr], str]] = {
    exp.Year: "year",
    exp.Quarter: "quarter",
    exp.Month: "month",
    exp.Day: "day",
    exp.DayOfMonth: "day",
    exp.DayOfWeekIso: "weekday",
    exp.DayOfWeek: "dow",
}
_NAMED_PARTS: Final = {
    "year": "year",
    "quarter": "quarter",
    "month": "month",
    "day": "day",
    "isodow": "weekday",
    "dow": "dow",
    "dayofweek": "dow",
    "weekday": "dow",
}
_UNITS: Final = {"D": "DAY", "DD": "DAY", "M": "MONTH", "MM": "MONTH", "Y": "YEAR", "YY": "YEAR", "YYYY": "YEAR"}
"""How some databases shorten the units of a time."""
_DAYS_IN: Final = {"DAY": 1, "WEEK": 7}
_MONTHS_IN: Final = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_SUNDAY: Final = 7
_MONTHS: Final = 12
_MONTH_NAMES: Final = "January February March April May June July August September October November December"
_DAY_NAMES: Final = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"


class ValueReader(ABC):
    """Reads the syntax trees of values."""

    @abstractmethod
    def condition(self, node: exp.Expr) -> Condition:
        """Return the condition that a node writes."""

    @abstractmethod
    def subquery(self, node: exp.Subquery) -> Value:
        """Return the value that a SELECT about the same person's rows makes."""

    @abstractmethod
    def value(self, node: exp.Expr) -> Value:
        """Return the value that a node writes: a name, a constant, or what is `computed` from them."""

    def computed(self, node: exp.Expr) -> Value:
        """Return what is neither a name nor a constant."""
        match node:
            case exp.Paren():
                only(node, "this")
                return self.value(node.this)
            case exp.Neg():
                only(node, "this")
                return negative(self.value(node.this))
            case exp.Mul() if _is_floor(node.this) or _is_floor(node.expression):
                return self._step(node)
            case exp.Add() | exp.Sub() | exp.Mul():
                only(node, "this", "expression")
                return Arithmetic(_ARITHMETIC[type(node)], self.value(node.this), self.value(node.expression))
            case exp.Div():
                only(node, "this", "expression")
                return Arithmetic("*", self.value(node.this), Literal(1 / divisor(node)))
            case _:
                return self._called(node)

    def _called(self, node: exp.Expr) -> Value:
        match node:
            case exp.Anonymous():
                return self._call(node)
            case exp.Subquery():
                return self.subquery(node)
            case exp.Least() | exp.Greatest():
                return self._clip(node)
            case exp.Case() | exp.If() | exp.WidthBucket():
                return self._width_bucket(node) if isinstance(node, exp.WidthBucket) else self._case(node)
            case exp.Nullif():
                only(node, "this", "expression")
                value = self.value(node.this)
                return Case(((Compare("<>", value, self.value(node.expression)), value),))
            case exp.Coalesce() | exp.Lower() | exp.Upper() | exp.Trim() | exp.Left() | exp.Substring():
                return self._with_texts(node)
            case exp.Abs() | exp.Floor() | exp.Ceil() | exp.Round():
                return self._number_of(node)
            case _:
                return self._as_kind(node)

    def _as_kind(self, node: exp.Expr) -> Value:
        match node:
            case exp.Cast() if cast_kind(node) is not None and not is_date(node):
                only(node, "this", "to")
                only(node.to, "this")
                return CastTo(self.value(node.this), str(cast_kind(node)))
            case exp.Predicate() | exp.Connector() | exp.Not() | exp.StartsWith() | exp.EndsWith() | exp.Contains():
                return TruthOf(self.condition(node))
            case _:
                return read_days(node, self.value)

    def _call(self, node: exp.Anonymous) -> Value:
        only(node, "this", "expressions")
        arguments = node.expressions
        about_days = read_call_about_days(node, self.value)
        if about_days is not None:
            return about_days
        match function_name(node), len(arguments):
            case "clip", 3:
                value, low, high = (self.value(argument) for argument in arguments)
                return Clip(value, low, high)
            case "isnull", 2:
                return Coalesce(self.value(arguments[0]), self.value(arguments[1]))
            case name, 1 | 2 | 3 if name in _PER_PERSON:
                return self._per_person(_PER_PERSON[name], arguments)
            case _:
                raise refusal(node)

    def _per_person(self, function: str, arguments: list[exp.Expr]) -> Value:
        """Read number_of(visits, kind = 'ER', 20) and first_of(visits.day, kind = 'ER')."""
        column: Name | None = None
        if function == "count":
            table = table_name(arguments[0])
        else:
            column = name_of(arguments[0])
            if column.table is None:
                raise BadQuestionError(
                    f"{column.name!r} needs the table whose rows are meant; write first_of(visits.day, kind = 'ER')"
                )
            table = column.table
        rest = arguments[1:]
        said = bool(rest) and (isinstance(rest[-1], exp.Literal) or len(rest) > 1)  # the most that is counted
        most = self.value(rest.pop()) if said else None
        where = self.condition(rest[0]) if rest else And(())
        return PerPerson(function, table, column, where, table, most=most)

    def _clip(self, node: exp.Expr) -> Value:
        """Read LEAST(GREATEST(value, low), high), or the two the other way round."""
        only(node, "this", "expressions", "ignore_nulls")
        other = exp.Greatest if isinstance(node, exp.Least) else exp.Least
        inner = node.this
        if not isinstance(inner, other) or len(node.expressions) != 1 or len(inner.expressions) != 1:
            raise refusal(node)
        only(inner, "this", "expressions", "ignore_nulls")
        bounds = [self.value(inner.expressions[0]), self.value(node.expressions[0])]
        low, high = bounds if isinstance(node, exp.Least) else bounds[::-1]
        return Clip(self.value(inner.this), low, high)

    def _step(self, node: exp.Expr) -> Value:
        """Read FLOOR(value / width) * width."""
        only(node, "this", "expression")
        floor, width = (node.this, node.expression) if _is_floor(node.this) else (node.expression, node.this)
        only(floor, "this")
        only(floor.this, "this", "expression")
        widths = self.value(floor.this.expression), self.value(width)
        if not all(isinstance(each, Literal) for each in widths) or widths[0].value != widths[1].value:  # type: ignore[attr-defined]
            raise BadQuestionError("a step is as wide as its divisor, a constant; write floor(age / 10) * 10")
        return Step(self.value(floor.this.this), widths[0])

    def _case(self, node: exp.Expr) -> Value:
        """Read CASE, with conditions or with the values of an expression, and IF(condition, value, value)."""
        if isinstance(node, exp.If):
            only(node, "this", "true", "false")
            ifs, default, compared = [node], node.args.get("false"), None
        else:
            only(node, "this", "ifs", "default")
            ifs, default, compared = node.args["ifs"], node.args.get("default"), node.args.get("this")
            for each in ifs:
                only(each, "this", "true")
        branches = []
        for each in ifs:
            if compared is None:
                when = self.condition(each.this)
            else:
                when = Compare("=", self.value(compared), self.value(each.this))
            branches.append((when, self.value(each.args["true"])))
        return Case(tuple(branches), None if default is None else self.value(default))

    def _width_bucket(self, node: exp.Expr) -> Value:
        """Read WIDTH_BUCKET(value, low, high, n): 1 to n between the two, 0 below, n + 1 from `high` on."""
        only(node, "this", "min_value", "max_value", "num_buckets")
        value, *given = (self.value(node.args[name]) for name in ("this", "min_value", "max_value", "num_buckets"))
        match given:
            case [
                Literal(int() | Fraction() as low),
                Literal(int() | Fraction() as high),
                Literal(int() as number),
            ] if low < high and 1 <= number <= _MOST_BUCKETS:
                edges = [low + Fraction(i * (high - low), number) for i in range(number + 1)]
            case _:
                raise BadQuestionError(
                    f"the buckets lie between two rising constants, and are 1 to {_MOST_BUCKETS}; write "
                    "width_bucket(age, 0, 100, 10)"
                )
        limits = [Literal(int(edge) if edge.denominator == 1 else edge) for edge in edges]
        below = [(Compare("<", value, limit), Literal(place)) for place, limit in enumerate(limits)]
        return Case((*below, (Compare(">=", value, limits[-1]), Literal(number + 1))))

    def _with_texts(self, node: exp.Expr) -> Value:
        if isinstance(node, exp.Left | exp.Substring):
            return self._left(node)
        if not isinstance(node, exp.Coalesce):
            only(node, "this")
            return TextOf(_TEXTS[type(node)], self.value(node.this))
        only(node, "this", "expressions")
        value = self.value(node.this)
        for otherwise in node.expressions:
            value = Coalesce(value, self.value(otherwise))
        return value

    def _left(self, node: exp.Expr) -> Value:
        """Read LEFT(text, n) and SUBSTRING(text, 1, n): the first characters of a text."""
        if isinstance(node, exp.Left):
            only(node, "this", "expression")
            bounds: list[Value] = [Literal(1), self.value(node.expression)]
        else:
            only(node, "this", "start", "length")
            parts = [node.args.get("start"), node.args.get("length")]
            bounds = [Literal(None) if part is None else self.value(part) for part in parts]
        match bounds:
            case Literal(1), Literal(int() as number):
                return LeftOf(self.value(node.this), number)
            case _:
                raise BadQuestionError("only the first characters of a text can be taken; write left(code, 3)")

    def _number_of(self, node: exp.Expr) -> Value:
        only(node, "this", "decimals")
        places = node.args.get("decimals")
        digits = Literal(0) if places is None else self.value(places)
        if not isinstance(digits, Literal) or type(digits.value) is not int:
            raise BadQuestionError("the places that a number is rounded to are a whole number; write round(column, 1)")
        return NumberOf(type(node).__name__.lower(), self.value(node.this), digits.value)


def _is_floor(node: exp.Expr) -> bool:
    return isinstance(node, exp.Floor) and isinstance(node.this, exp.Div)


def read_days(node: exp.Expr, read: Read) -> Value:
    """Return the value about days that a node writes; `read` reads what is inside of it."""
    match node:
        case exp.Cast() if is_date(node):
            only(node, "this", "to")
            only(node.to, "this")
            return Literal(day_of(literal(node.this)))
        case exp.Interval():
            return _interval(node)
        case exp.DateDiff():
            only(node, "this", "expression", "unit", "date_part_boundary")
            unit = node.args.get("unit")
            if isinstance(unit, exp.Expr):
                only(unit, "this")
            return _between(upper_text(unit), read(node.expression), read(node.this))
        case exp.DateAdd() | exp.DateSub() if isinstance(node.expression, exp.Interval):
            only(node, "this", "expression", "unit")
            return Arithmetic("+" if isinstance(node, exp.DateAdd) else "-", read(node.this), read(node.expression))
        case exp.CurrentDate():
            only(node)
            return Now()
        case _:
            return _read_part(node, read)


def _read_part(node: exp.Expr, read: Read) -> Value:
    match node:
        case exp.Extract() if upper_text(node.this).casefold() in _NAMED_PARTS:
            only(node, "this", "expression")
            only(node.this, "this")
            return _part(_NAMED_PARTS[upper_text(node.this).casefold()], node.expression, read)
        case exp.TimestampTrunc() | exp.DateTrunc():
            only(node, "this", "unit")
            only(node.args["unit"], "this")
            return DateTrunc(upper_text(node.args["unit"]).casefold(), read(node.this))
        case _ if type(node) in _PARTS:
            only(node, "this")
            return _part(_PARTS[type(node)], node.this, read)
        case exp.Monthname() | exp.Dayname():
            only(node, "this")
            return _name(read(node.this), month=isinstance(node, exp.Monthname))
        case _:
            raise refused_value(node)


def read_call_about_days(node: exp.Anonymous, read: Read) -> Value | None:
    """Return the value about days of a function that the parser does not know; None if it is about something else."""
    arguments = node.expressions
    match function_name(node), arguments:
        case "age", [born]:
            return Age(read(born))
        case "age", [exp.CurrentDate() as today, born]:  # the later day first, as other databases have it
            only(today)
            return Age(read(born))
        case "age", [born, day]:
            return Age(read(born), read(day))
        case "weekday", [day]:
            return _part("dow", day, read)
        case "date_part" | "datepart", [exp.Literal(is_string=True) as part, day]:
            name = str(literal(part).value).casefold()
            return _part(_NAMED_PARTS[name], day, read) if name in _NAMED_PARTS else None
        case "date_sub" | "datesub", [exp.Literal(is_string=True) as unit, since, until]:
            name = str(literal(unit).value).upper()
            ends = read(since), read(until)
            return Age(*ends) if name == "YEAR" else _between(name, *ends) if name == "DAY" else None
        case _:
            return _read_later(node, read)


def _read_later(node: exp.Anonymous, read: Read) -> Value | None:
    match function_name(node), node.expressions:
        case "dateadd", [exp.Column() as unit, number, day]:
            return Arithmetic("+", read(day), _time(name_of(unit).name.upper().rstrip("S"), number))
        case "date_sub" | "datesub", [day, exp.Interval() as time]:
            return Arithmetic("-", read(day), read(time))
        case _:
            return None


def _between(unit: str, since: Value, until: Value) -> Value:
    """Return the time from one day to another: of years and months their turns are counted, as DATEDIFF has it."""
    match _UNITS.get(unit, unit):
        case "DAY":
            return Arithmetic("-", until, since)
        case "YEAR":
            return _turns("year", since, until)
        case "MONTH":
            years = Arithmetic("*", Literal(_MONTHS), _turns("year", since, until))
            return Arithmetic("+", years, _turns("month", since, until))
        case _:
            raise BadQuestionError(
                "the time between two days is counted in days, months or years; write datediff('day', admitted, "
                "discharged), or age(born, day) for completed years"
            )


def _turns(part: str, since: Value, until: Value) -> Value:
    return Arithmetic("-", DatePart(part, until), DatePart(part, since))


def _name(day: Value, *, month: bool) -> Value:
    names, part = (_MONTH_NAMES, "month") if month else (_DAY_NAMES, "weekday")
    numbered = enumerate(names.split(), start=1)
    return Case(tuple((Compare("=", DatePart(part, day), Literal(i)), Literal(name)) for i, name in numbered))


def _interval(node: exp.Interval) -> Value:
    only(node, "this", "unit")
    unit = node.args.get("unit")
    if isinstance(unit, exp.Expr):
        only(unit, "this")
    return _time(upper_text(unit).rstrip("S"), node.this)


def _time(unit: str, number: exp.Expr) -> Value:
    """Return a time that is added to a day: days, or months of the calendar."""
    unit = _UNITS.get(unit, unit)
    if unit in _DAYS_IN:
        return Days(number_of_days(number) * _DAYS_IN[unit])
    if unit in _MONTHS_IN:
        return Days(0, number_of_days(number) * _MONTHS_IN[unit])
    raise BadQuestionError("a time is counted in days, weeks, months or years; write interval 30 day")


def _part(part: str, node: exp.Expr, read: Read) -> Value:
    """Return a part of a day; "dow" counts weekdays from 0 for Sunday, as SQL does, and ours from 1 for Monday."""
    if part == "year" and isinstance(node, exp.Anonymous) and function_name(node) == "age":
        only(node, "this", "expressions")
        match [read(each) for each in node.expressions]:
            case [born]:
                return Age(born)
            case [day, born]:
                return Age(born, day)
            case _:
                raise refusal(node)
    day = read(node)
    if part != "dow":
        return DatePart(part, day)
    weekday = DatePart("weekday", day)
    return Case(tuple((Compare("=", weekday, Literal(i)), Literal(i % _SUNDAY)) for i in range(1, _SUNDAY + 1)))
