"""Reads days from SQL text: dates, their parts, time between them and after them.

Databases disagree about AGE: here it counts completed years from the first day to the second. The others give the later
day first and an interval back, of which people take the years: `extract(year from age(day, born))` means that.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from sqlglot import exp

from lapwing.queries.language.expressions import (
    Age,
    Applied,
    Arithmetic,
    Case,
    CastTo,
    Compare,
    Days,
    Literal,
    Now,
    TimeBetween,
    TimeOf,
    Value,
    day_of,
    read_moment,
)
from lapwing.queries.language.sql.nodes import (
    function_name,
    is_date,
    literal,
    name_of,
    number_of_days,
    only,
    upper_text,
)
from lapwing.queries.language.sql.refusals import refusal, refused_value
from lapwing.vocabulary.errors import BadQuestionError

Read: TypeAlias = Callable[[exp.Expr], Value]
_PARTS: Final[dict[type[exp.Expr], str]] = {
    exp.Year: "year",
    exp.Quarter: "quarter",
    exp.Month: "month",
    exp.Week: "week",
    exp.WeekOfYear: "week",
    exp.Day: "day",
    exp.DayOfMonth: "day",
    exp.DayOfWeekIso: "weekday",
    exp.DayOfWeek: "dow",
}
_NAMED_PARTS: Final = {
    "year": "year",
    "quarter": "quarter",
    "month": "month",
    "week": "week",
    "day": "day",
    "isodow": "weekday",
    "dow": "dow",
    "dayofweek": "dow",
    "weekday": "dow",
}
_UNITS: Final = {"D": "DAY", "DD": "DAY", "M": "MONTH", "MM": "MONTH", "Y": "YEAR", "YY": "YEAR", "YYYY": "YEAR"}
"""How some databases shorten the units of a time."""
_TIMES: Final = ("hour", "minute", "second")
_SECONDS_IN: Final = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600}
_DAYS_IN: Final = {"DAY": 1, "WEEK": 7}
_MONTHS_IN: Final = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_FORMS: Final = {"%Y-%m": "month", "YYYY-MM": "month", "%Y": "year", "YYYY": "year"}
"""Forms of text that a day is written in, and the unit that it tells: the text of two days is the same in it alone."""
_NAMES: Final = {"%B": True, "%A": False}
"""Forms that write the name of a month, or else that of a day."""
_DAYS: Final = ("%Y-%m-%d", "YYYY-MM-DD")
_SUNDAY: Final = 7
_MONTHS: Final = 12
_MONTH_NAMES: Final = "January February March April May June July August September October November December"
_DAY_NAMES: Final = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"


def read_days(node: exp.Expr, read: Read) -> Value:
    """Return the value about days that a node writes; `read` reads what is inside of it."""
    match node:
        case exp.Cast() if is_date(node):
            only(node, "this", "to")
            only(node.to, "this")
            written = literal(node.this)
            found = read_moment(str(written.value))
            return found if found is not None and found.seconds else Literal(day_of(written))
        case exp.Cast() if node.to.is_type("time"):
            return _time_of_day(node, read)
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


def _time_of_day(node: exp.Cast, read: Read) -> Value:
    """Read TIME '08:30', or the time of day of a moment: started::time."""
    only(node, "this", "to")
    only(node.to, "this")
    if isinstance(node.this, exp.Literal):
        return Literal(seconds_of(str(literal(node.this).value)))
    return TimeOf("time", read(node.this))


def seconds_of(written: str) -> int:
    """Return a time of day that is written as text in seconds after midnight.

    >>> seconds_of("08:30")
    30600
    """
    found = read_moment(f"2000-01-01 {written}")
    if found is None:
        raise BadQuestionError(f"{written!r} is no time of day; write time '08:30:00'")
    return found.seconds


def _time_between(node: exp.Expr, read: Read) -> Value:
    """Read how many seconds lie between two moments, of which one is taken from the other."""
    inner = node.unnest()
    if not isinstance(inner, exp.Sub):
        raise BadQuestionError("seconds are those between two moments; write extract(epoch from ended - started)")
    for part in (node, inner):
        only(part, "this", "expression")
    return TimeBetween("second", read(inner.expression), read(inner.this))


def _read_time(node: exp.Expr, read: Read) -> Value:
    match node:
        case exp.Hour() | exp.Minute() | exp.Second():
            only(node, "this")
            return TimeOf(node.key, read(node.this))
        case exp.Extract() if upper_text(node.this).casefold() in _TIMES:
            only(node, "this", "expression")
            only(node.this, "this")
            return TimeOf(upper_text(node.this).casefold(), read(node.expression))
        case exp.Extract() if upper_text(node.this) == "EPOCH":
            only(node, "this", "expression")
            only(node.this, "this")
            return _time_between(node.expression, read)
        case exp.TimeToUnix():
            only(node, "this")
            return _time_between(node.this, read)
        case exp.Date(this=exp.Expr() as day):
            only(node, "this")
            return CastTo(read(day), "day")
        case _:
            raise refused_value(node)


def _read_part(node: exp.Expr, read: Read) -> Value:
    match node:
        case exp.Extract() if upper_text(node.this).casefold() in _NAMED_PARTS:
            only(node, "this", "expression")
            only(node.this, "this")
            return _part(_NAMED_PARTS[upper_text(node.this).casefold()], node.expression, read)
        case exp.TimestampTrunc() | exp.DateTrunc():
            only(node, "this", "unit")
            only(node.args["unit"], "this", "is_string")  # of a constant day the parser keeps it a text
            return Applied("date_trunc", read(node.this), Literal(upper_text(node.args["unit"]).casefold()))
        case exp.DateFromParts():
            return _begun(node, read)
        case _ if type(node) in _PARTS:
            only(node, "this")
            return _part(_PARTS[type(node)], node.this, read)
        case exp.Monthname() | exp.Dayname():
            only(node, "this")
            return _name(read(node.this), month=isinstance(node, exp.Monthname))
        case _:
            return _read_time(node, read)


def _begun(node: exp.Expr, read: Read) -> Value:
    """Read the first day of a month that is made of the parts of a day: make_date(year(d), month(d), 1)."""
    match node:
        case exp.DateFromParts(args={"year": exp.Year() as year, "month": exp.Month() as month, "day": first}):
            only(node, "year", "month", "day")
            only(year, "this")
            only(month, "this")
            if year.this == month.this and isinstance(first, exp.Literal) and literal(first).value == 1:
                for part in month.this.walk():  # it is read where the year has it
                    only(part, *part.args)
                return Applied("date_trunc", read(year.this), Literal("month"))
        case _:
            pass
    raise refused_value(node)


def read_written_day(node: exp.Expr, read: Read) -> Value:
    """Read a day that is written as text, strftime(d, '%Y-%m'), which makes the groups that its month or year makes.

    It is read as a group only: texts are in another order than days, and equal other ones.
    """
    only(node, "this", "format")
    form = node.args.get("format")
    written = str(literal(form).value) if isinstance(form, exp.Expr) else ""
    if written == "%H":
        hours = ((Compare("=", TimeOf("hour", read(node.this)), Literal(i)), Literal(f"{i:02d}")) for i in range(24))
        return Case(tuple(hours))
    if written in _NAMES:
        return _name(read(node.this), month=_NAMES[written])
    if written in _DAYS:
        return read(node.this)
    unit = _FORMS.get(written)
    if unit is None:
        raise refused_value(node)
    return Applied("date_trunc", read(node.this), Literal(unit))


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
            return _named_part(str(literal(part).value).casefold(), day, read)
        case "date_sub" | "datesub", [exp.Literal(is_string=True) as unit, since, until]:
            name = str(literal(unit).value).upper()
            ends = read(since), read(until)
            return Age(*ends) if name == "YEAR" else _between(name, *ends) if name == "DAY" else None
        case _:
            return _read_later(node, read)


def _named_part(name: str, day: exp.Expr, read: Read) -> Value | None:
    if name in _TIMES:
        return TimeOf(name, read(day))
    if name == "epoch":
        return _time_between(day, read)
    return _part(_NAMED_PARTS[name], day, read) if name in _NAMED_PARTS else None


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
        case "HOUR" | "MINUTE" | "SECOND" as turns:
            return TimeBetween(turns.casefold(), since, until)
        case "YEAR":
            return _turns("year", since, until)
        case "MONTH" | "QUARTER" as part:
            years = Arithmetic("*", Literal(_MONTHS // _MONTHS_IN[part]), _turns("year", since, until))
            return Arithmetic("+", years, _turns(part.casefold(), since, until))
        case _:
            raise BadQuestionError(
                "the time between two days is counted in days, months, quarters or years; write datediff('day', "
                "admitted, discharged), for weeks datediff('day', admitted, discharged) // 7, or age(born, day) for "
                "completed years"
            )


def _turns(part: str, since: Value, until: Value) -> Value:
    return Arithmetic("-", Applied(part, until), Applied(part, since))


def _name(day: Value, *, month: bool) -> Value:
    names, part = (_MONTH_NAMES, "month") if month else (_DAY_NAMES, "weekday")
    numbered = enumerate(names.split(), start=1)
    return Case(tuple((Compare("=", Applied(part, day), Literal(i)), Literal(name)) for i, name in numbered))


def _interval(node: exp.Interval) -> Value:
    only(node, "this", "unit")
    unit = node.args.get("unit")
    if isinstance(unit, exp.Expr):
        only(unit, "this")
    return _time(upper_text(unit).rstrip("S"), node.this)


def _time(unit: str, number: exp.Expr) -> Value:
    """Return a time that is added to a day: days, or months of the calendar."""
    unit = _UNITS.get(unit, unit)
    if unit in _SECONDS_IN:
        return Days(0, 0, number_of_days(number) * _SECONDS_IN[unit])
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
        return Applied(part, day)
    weekday = Applied("weekday", day)
    return Case(tuple((Compare("=", weekday, Literal(i)), Literal(i % _SUNDAY)) for i in range(1, _SUNDAY + 1)))
