"""What an analyst writes, before any name is looked up: the Python spelling, which the SQL spelling is read into.

    col("age").between(20, 30) & (col("sex") == "M") & ~has("visits", where=col("kind") == "ER", at_least=2)

    age between 20 and 30 and sex = 'M' and not has(visits, kind = 'ER', 2)

Nothing here means anything yet: `binding` gives it a meaning in a catalogue, or refuses it.
"""

import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias

from lapwing.queries.algebra.pattern import canonical, plain
from lapwing.queries.catalogue.public_tables import ConceptSet
from lapwing.queries.language.sized import Sized
from lapwing.queries.limits import MOST_VALUES
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import exact
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.loading import ShownAsWritten, load_when_called

(_read_condition,) = load_when_called("lapwing.queries.language.sql.reader", "read_condition")

Constant: TypeAlias = str | int | Fraction | bool | date | None
Given: TypeAlias = "Value | str | float | time | timedelta | Constant"
"""What may stand beside a column in Python: another value, or a constant."""


class Value(Sized, ShownAsWritten):
    """Something with a value in each row: a column, a constant, or arithmetic on them."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> "Compare":  # type: ignore[override]
        return Compare("=", self, value(other))

    def __ne__(self, other: object) -> "Compare":  # type: ignore[override]
        return Compare("<>", self, value(other))

    def __lt__(self, other: Given) -> "Compare":
        return Compare("<", self, value(other))

    def __le__(self, other: Given) -> "Compare":
        return Compare("<=", self, value(other))

    def __gt__(self, other: Given) -> "Compare":
        return Compare(">", self, value(other))

    def __ge__(self, other: Given) -> "Compare":
        return Compare(">=", self, value(other))

    def __add__(self, other: Given) -> "Arithmetic":
        return Arithmetic("+", self, value(other))

    def __radd__(self, other: Given) -> "Arithmetic":
        return Arithmetic("+", value(other), self)

    def __sub__(self, other: Given) -> "Arithmetic":
        return Arithmetic("-", self, value(other))

    def __rsub__(self, other: Given) -> "Arithmetic":
        return Arithmetic("-", value(other), self)

    def __mul__(self, other: Given) -> "Arithmetic":
        return Arithmetic("*", self, value(other))

    def __rmul__(self, other: Given) -> "Arithmetic":
        return Arithmetic("*", value(other), self)

    def __truediv__(self, divisor: Given) -> "Value":
        """Divide by a constant, or by a value that is not 0: by its bounds, by a condition, or by those of a clip."""
        by = value(divisor)
        return Arithmetic("*", self, Literal(1 / _width(by))) if isinstance(by, Literal) else Applied("/", self, by)

    def __rtruediv__(self, other: Given) -> "Value":
        return Applied("/", value(other), self)

    if not TYPE_CHECKING:  # a checker of types knows what is there

        def __getattr__(self, name: str) -> NoReturn:
            """Refuse what is not there, with the word for what people mean by it."""
            instead = f"; write {_GUESSED[name]}" if name in _GUESSED else ""
            told = f"a value has no attribute {name!r}{instead}"
            raise AttributeError(told, name=name, obj=self)

    def __neg__(self) -> "Arithmetic":
        return Arithmetic("-", Literal(0), self)

    def __and__(self, other: object) -> "Condition":
        return condition(self) & condition(other)

    def __or__(self, other: object) -> "Condition":
        return condition(self) | condition(other)

    def __invert__(self) -> "Condition":
        return ~condition(self)

    def __bool__(self) -> NoReturn:
        _no_truth()

    def between(self, low: Given, high: Given) -> "Condition":
        """Say that the value is from `low` to `high`, both included."""
        return And((Compare(">=", self, value(low)), Compare("<=", self, value(high))))

    def is_in(self, values: "tuple[Given, ...] | list[Given] | ConceptSet") -> "Condition":
        """Say that the value is one of `values`."""
        if isinstance(values, ConceptSet):
            return Among(self, values.values, values.told)
        if len(values) > MOST_VALUES and ({*map(type, values)} in ({int}, {str})):
            return Among(self, tuple(values), f"{len({*values}):,} values")  # type: ignore[arg-type] # of one type
        return OneOf(self, tuple(value(each) for each in values))

    def is_null(self) -> "Condition":
        """Say that the value is missing."""
        return Missing(self)

    def starts_with(self, prefix: str) -> "Condition":
        """Say that the text starts with `prefix`, letter for letter."""
        return Matches(self, f"{plain(prefix)}%")

    def ends_with(self, end: str) -> "Condition":
        """Say that the text ends with `end`, letter for letter."""
        return Matches(self, f"%{plain(end)}")

    def contains(self, text: str) -> "Condition":
        """Say that `text` stands somewhere in the text, letter for letter."""
        return Matches(self, f"%{plain(text)}%")

    def like(self, pattern: str, *, escape: str | None = None, any_case: bool = False) -> "Condition":
        """Say that the text fits a pattern: % stands for any characters and _ for one, but for those after `escape`."""
        return Matches(self, canonical(pattern, escape), any_case)

    def lower(self) -> "Applied":
        """Return the text with the letters A to Z made small."""
        return Applied("lower", self)

    def upper(self) -> "Applied":  # noqa: D102 - see lower
        return Applied("upper", self)

    def trim(self) -> "Applied":
        """Return the text without the blanks around it."""
        return Applied("trim", self)

    def prefix(self, length: int) -> "Applied":
        """Return the first characters of the text: of an ICD code, its chapter or its block."""
        return Applied("left", self, Literal(length))

    def coalesce(self, otherwise: Given) -> "Coalesce":
        """Return the value, or a constant where it is missing."""
        return Coalesce(self, value(otherwise))

    def __abs__(self) -> "Applied":
        return Applied("abs", self)

    def __floor__(self) -> "Applied":
        return Applied("floor", self)

    def __ceil__(self) -> "Applied":
        return Applied("ceil", self)

    def __round__(self, digits: int = 0) -> "Applied":
        return Applied("round", self, Literal(digits))

    def __floordiv__(self, width: Given) -> "Applied":
        """Divide and round down, as Python does: SQL's // cuts the fraction off, which differs below zero."""
        return Applied("floor", Arithmetic("*", self, Literal(1 / _width(width))))

    def __mod__(self, width: Given) -> "Applied":
        """Return the remainder with the sign of `width`, as Python does: SQL's % has the sign of the value."""
        whole = value(_width(width))
        return Applied("%", Arithmetic("+", Applied("%", self, whole), whole), whole)

    def sign(self) -> "Applied":
        """Return -1, 0 or 1."""
        return Applied("sign", self)

    def greatest(self, other: Given) -> "Value":
        """Return the greater of this and another value; what is missing is left out, as in SQL."""
        return extreme("greatest", [self, value(other)])

    def least(self, other: Given) -> "Value":
        """Return the smaller of this and another value; what is missing is left out, as in SQL."""
        return extreme("least", [self, value(other)])

    def year(self) -> "Applied":
        """Return the year of a day."""
        return Applied("year", self)

    def quarter(self) -> "Applied":
        """Return the quarter of a day, 1 to 4."""
        return Applied("quarter", self)

    def month(self) -> "Applied":
        """Return the month of a day, 1 to 12."""
        return Applied("month", self)

    def weekday(self) -> "Applied":
        """Return the day of the week, 1 for Monday to 7 for Sunday."""
        return Applied("weekday", self)

    def hour(self) -> "TimeOf":
        """Return the hour of a moment, 0 to 23: of a column of days whose times are declared (`time_of`)."""
        return TimeOf("hour", self)

    def time(self) -> "TimeOf":
        """Return the time of day of a moment, which is compared with `datetime.time` and counted in seconds."""
        return TimeOf("time", self)

    def since(self, begun: "str | Value", unit: str = "day") -> "Value":
        """Return the time from another day or moment: in days, or in turns of an "hour", a "minute" or a "second"."""
        since = col(begun) if isinstance(begun, str) else begun
        if unit == "day":
            return Arithmetic("-", self, since)
        if unit not in _TURNS:
            raise BadQuestionError(f"unit = {unit!r} is none; write one of 'day', 'hour', 'minute', 'second'")
        return TimeBetween(unit, since, self)

    def clip(self, low: Given, high: Given) -> "Clip":
        """Return the value moved into `low`..`high`: the bounds that a sum or a mean then uses."""
        return Clip(self, value(low), value(high))


@frozen(kw_only=False, eq=False)
class Name(Value):
    """A column by its name, perhaps with the name of its table."""

    name: str
    table: str | None = None


@frozen(kw_only=False, eq=False)
class Literal(Value):
    """A constant."""

    value: Constant


@frozen(kw_only=False, eq=False)
class Days(Value):
    """A number of days, which are added to days and to nothing else: SQL's interval '30' day.

    `months` of the calendar are added to a day that is known when the question is asked, and to no column. `seconds`
    are those of less than a day, with which the time between two moments is compared.
    """

    number: int
    months: int = 0
    seconds: int = 0


@frozen(kw_only=False, eq=False)
class Instant(Value):
    """A time on a day, such as TIMESTAMP '2025-01-31 08:30:00': `seconds` after its midnight."""

    day: date
    seconds: int


@frozen(kw_only=False, eq=False)
class Now(Value):
    """The day that the population calls "now": no question asks the clock."""


@frozen(kw_only=False, eq=False)
class Arithmetic(Value):
    """A sum, a difference or a product."""

    operator: str
    left: Value
    right: Value


@frozen(kw_only=False, eq=False)
class Clip(Value):
    """A value moved into bounds."""

    value: Value
    low: Value
    high: Value


@frozen(kw_only=False, eq=False)
class Age(Value):
    """Completed years from `born` to `at`, or to the population's "now" where it is not given."""

    born: Value
    at: Value | None = None


CASTS = ("integer", "number", "text", "day", "truth value")


@frozen(kw_only=False, eq=False)
class Applied(Value):
    """A function of the table in `algebra/functions` of a value; `argument` is its second one, mostly a constant."""

    function: str
    value: Value
    argument: Value | None = None


@frozen(kw_only=False, eq=False)
class Case(Value):
    """The value beside the first condition that is true, or `otherwise`; without one the value is missing.

    The values are constants of one kind, all text, all whole numbers or all truth values, so that they are public.
    """

    branches: "tuple[tuple[Condition, Value], ...]"
    otherwise: Value | None = None


@frozen(kw_only=False, eq=False)
class CastTo(Value):
    """A value as one of `CASTS`, which it has to be already: no row may hold what cannot be converted."""

    value: Value
    kind: str


@frozen(kw_only=False, eq=False)
class TruthOf(Value):
    """Whether a condition is true: a truth value, missing where the condition is unknown."""

    condition: "Condition"


@frozen(kw_only=False, eq=False)
class TimeOf(Value):
    """The time of day of a moment in seconds after midnight, or its "hour", "minute" or "second"."""

    part: str
    moment: Value


@frozen(kw_only=False, eq=False)
class TimeBetween(Value):
    """How many turns of a "hour", a "minute" or a "second" lie between two moments."""

    unit: str
    begin: Value
    end: Value


@frozen(kw_only=False, eq=False)
class Coalesce(Value):
    """A value, or a constant where it is missing."""

    value: Value
    otherwise: Value


@frozen(kw_only=False, eq=False)
class Spelled(Value):
    """A text that stands for a value: the column that is called exactly so, whatever the signs in its name.

    Where there is none, it is the value that it reads as, or refused for the reason why it cannot be read.
    """

    text: str
    value: Value | None
    refusal: str = ""


class Condition(Sized, ShownAsWritten):
    """Something that is true or not in each row, or unknown where a value is missing."""

    __slots__ = ()

    def __and__(self, other: "Condition | Value | str") -> "Condition":
        return And(
            tuple(part for one in (self, condition(other)) for part in (one.parts if isinstance(one, And) else (one,)))
        )

    def __or__(self, other: "Condition | Value | str") -> "Condition":
        return Or(
            tuple(part for one in (self, condition(other)) for part in (one.parts if isinstance(one, Or) else (one,)))
        )

    def __invert__(self) -> "Condition":
        return Not(self)

    def __bool__(self) -> NoReturn:
        _no_truth()


@frozen(kw_only=False, eq=False)
class Truth(Condition):
    """A truth value of its own: a column, or TRUE and FALSE."""

    value: Value


@frozen(kw_only=False, eq=False)
class Compare(Condition):
    """One of = <> < <= > >= between two values."""

    operator: str
    left: Value
    right: Value


@frozen(kw_only=False, eq=False)
class OneOf(Condition):
    """The value is one of several."""

    value: Value
    values: tuple[Value, ...]


@frozen(kw_only=False, eq=False)
class Among(Condition):
    """The value is one of many public ones, which are `told` in a few words: they would fill pages."""

    value: Value
    values: tuple[int, ...] | tuple[str, ...]
    told: str


@frozen(kw_only=False, eq=False)
class Missing(Condition):
    """The value is missing."""

    value: Value


@frozen(kw_only=False, eq=False)
class Matches(Condition):
    """The text fits a pattern of LIKE, in the canonical form of `pattern`; with `any_case` A to Z count as a to z."""

    value: Value
    pattern: str
    any_case: bool = False


@frozen(kw_only=False, eq=False)
class Is(Condition):
    """The condition is true, is false, or (`truth` is None) is unknown because a value is missing; this never is."""

    part: Condition
    truth: bool | None


@frozen(kw_only=False, eq=False)
class And(Condition):
    """All parts are true."""

    parts: tuple[Condition, ...]


@frozen(kw_only=False, eq=False)
class Or(Condition):
    """At least one part is true."""

    parts: tuple[Condition, ...]


@frozen(kw_only=False, eq=False)
class Not(Condition):
    """The part is false; where it is unknown, so is this."""

    part: Condition


_TURNS: Final = ("hour", "minute", "second")
_GUESSED: Final = {
    "isin": "is_in([...])",
    "isna": "is_null()",
    "isnull": "is_null()",
    "notna": "~col('x').is_null()",
    "notnull": "~col('x').is_null()",
    "fillna": "coalesce(0)",
    "fill_null": "coalesce(0)",
    "is_between": "between(low, high)",
    "startswith": "starts_with('abc')",
    "endswith": "ends_with('abc')",
    "str": "lower(), upper(), trim(), contains('abc') or starts_with('abc')",
    "dt": "col('day').year(), .quarter(), .month(), .weekday() or .hour()",
    "abs": "abs(col('x'))",
    "round": "round(col('x'))",
    "mean": "lw.mean(table, column)",
    "sum": "lw.total(table, column)",
    "count": "lw.count_rows(table)",
}
"""What people call on a column, and what they mean."""
EVERYONE = And(())


def col(name: str) -> Name:
    """Return a column by its name; "visits.day" names the table too.

    >>> col("visits.day")
    Name(name='day', table='visits')
    """
    table, _, column = name.rpartition(".")
    return Name(column, table or None)


def value(given: object) -> Value:
    """Return what was given as a value; numbers are taken exactly."""
    match given:
        case Value():
            return given
        case datetime() if given.time() == time() and given.tzinfo is None:  # midnight is the day
            return Literal(given.date())
        case datetime() if given.tzinfo is not None:
            raise BadQuestionError("a moment here has no time zone; write datetime(2025, 1, 31, 8, 30)")
        case datetime():
            return Instant(given.date(), given.hour * 3600 + given.minute * 60 + given.second)
        case time():
            return Literal(given.hour * 3600 + given.minute * 60 + given.second)
        case timedelta():
            return Days(given.days, 0, given.seconds)
        case str() | bool() | int() | date() | None:
            return Literal(given)
        case _:
            number = exact("value", given)
            return Literal(int(number) if number.denominator == 1 else number)


def _width(given: Given) -> Fraction:
    """Return what a column is divided by: a constant above zero."""
    width = value(given)
    number = width.value if isinstance(width, Literal) else None
    if isinstance(number, bool) or not isinstance(number, int | Fraction) or number <= 0:
        raise BadQuestionError(
            "a column is divided by a constant above 0, for a row might divide by 0; write col('age') // 10, or divide "
            "the answers: sum(cost) / sum(days) in SQL, or answer.ratio(...)"
        )
    return Fraction(number)


def extreme(function: str, values: Sequence[Value]) -> Value:
    """Return the greatest or the least of several values, of which those that are missing are left out.

    A constant is never missing, and so with one among them nothing is: it stands for each of the others that is.
    """
    numbers = [one.value for one in values if isinstance(one, Literal)]
    others = [one for one in values if not isinstance(one, Literal)]
    if not all(isinstance(one, int | Fraction) and not isinstance(one, bool) for one in numbers):
        raise BadQuestionError(f"{function} is that of numbers; write {function}(age, 18)")
    if numbers:
        limit = Literal((max if function == "greatest" else min)(numbers))  # type: ignore[type-var] # numbers
        others = [Coalesce(Applied(function, one, limit), limit) for one in others] or [limit]
    found, *rest = others
    for one in rest:
        found = Applied(function, found, one)
    return found


def condition(given: object) -> Condition:
    """Return what was given as a condition; a column by itself must be true, and a text is read as SQL."""
    match given:
        case Condition():
            return given
        case Value():
            return Truth(given)
        case str():
            return _read_condition(given)  # type: ignore[no-any-return]
        case _:
            raise BadQuestionError(
                f'this is not a condition ({type(given).__name__}); write it as SQL text, "age < 30", or with col(...),'
                " &, | and ~"
            )


def _no_truth() -> NoReturn:
    raise BadQuestionError(
        "a condition has no truth value before it meets a row; join conditions with & | ~ instead of and, or, not, "
        "and write col(...).between(low, high) instead of low <= col(...) <= high"
    )


@frozen(eq=False)
class By(Sized):
    """What to group by: the values that a column or an expression can take, or its bins between `edges`.

    Edges rise; a bin holds its lower edge and not its upper, but the last holds both.
    """

    column: Value
    edges: tuple[Literal, ...] | None = None


FLIPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


_MOMENT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?)?")
"""A day, or a moment of it: at midnight it is the day."""
_WITH_TIME: Final = re.compile(r"(\d{4}-\d{2}-\d{2})[ T](\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d*)?)?")


def day_of(literal: Literal, column: str | None = None) -> date:
    """Return the day that a constant names, or that a column is compared with."""
    value = literal.value
    if isinstance(value, date):
        return value
    if isinstance(value, str) and _MOMENT.fullmatch(value):
        given, of_day = value[: len("2025-01-01")], value[len("2025-01-01 ") :]
        try:
            found = date.fromisoformat(given)
        except ValueError:
            pass
        else:
            if not of_day.strip("0:."):
                return found
            raise BadQuestionError(f"{value!r} has a time of day, and days have no hours here; write date '{given}'")
    reason = f"{value!r} is not a day" if column is None else f"{column!r} holds days, and {value!r} is not one"
    raise BadQuestionError(f"{reason}; write a day as date '2025-01-31'")


def read_moment(text: str) -> Instant | None:
    """Return the moment that a text writes; None of a text that writes none.

    >>> read_moment("2025-01-31 08:30"), read_moment("2025-01-31")
    (Instant(day=datetime.date(2025, 1, 31), seconds=30600), None)
    """
    found = _WITH_TIME.fullmatch(text)
    if found is None:
        return None
    hour, minute, second = (int(part or 0) for part in found.groups()[1:])
    try:
        day = date.fromisoformat(found[1])
    except ValueError:
        return None
    if hour > 23 or minute > 59 or second > 59:  # noqa: PLR2004 - the ends of a day, an hour and a minute
        raise BadQuestionError(f"{text!r} is no moment; write timestamp '2025-01-31 08:30:00'")
    return Instant(day, hour * 3600 + minute * 60 + second)
