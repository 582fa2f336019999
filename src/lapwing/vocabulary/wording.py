"""Words for people: numbers as short decimals with a stated direction of rounding, and messages with parameters.

Python writes `epsilon="0.1"`, the command line `--epsilon 0.1`, and JSON lists the settings: the parameters of a
message are data, and no code reads English. For programs numbers are written without a loss (`format_exact`).
"""

import math
import unicodedata
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from types import EllipsisType
from typing import Any, Self, TypeAlias

from lapwing.vocabulary.frozen import frozen

_DIGITS = 4
_SHORTEST_EXPONENT = -4
_LARGE = 1000
_MOST_PLACES = 12
Number: TypeAlias = int | Fraction | float


def decimal_below(number: Fraction) -> str:
    """Return a decimal of four digits that is at most `number`.

    >>> decimal_below(Fraction(1089, 100)), decimal_below(Fraction(1, 66)), decimal_below(Fraction(1, 10**7))
    ('10.89', '0.01515', '1e-7')
    """
    return _format(number, ROUND_FLOOR)


def decimal_above(number: Fraction) -> str:
    """Return a decimal of four digits that is at least `number`.

    >>> decimal_above(Fraction(1, 66)), decimal_above(Fraction(15)), decimal_above(Fraction(12345, 10**11))
    ('0.01516', '15', '1.235e-7')
    """
    return _format(number, ROUND_CEILING)


def decimal_near(number: Fraction) -> str:
    """Return the decimal of four digits that is nearest to `number`.

    >>> decimal_near(Fraction(1, 66)), decimal_near(Fraction(5000001, 10**13))
    ('0.01515', '5e-7')
    """
    return _format(number, ROUND_HALF_EVEN)


def format_short(number: Fraction | float) -> str:
    """Return a number for people to read.

    >>> [format_short(number) for number in (1234567, Fraction(1, 10), Fraction(1, 3), Fraction(4), Fraction(12345, 2))]
    ['1,234,567', '0.1', '0.3333', '4', '6,172.5']
    """
    if isinstance(number, int) or (isinstance(number, Fraction) and number.denominator == 1):
        return f"{int(number):,}"
    return f"{float(number):,.1f}" if abs(float(number)) >= _LARGE else f"{float(number):.4g}"


def format_bounded(value: Number, low: Number, high: Number) -> tuple[str, str, str, str]:
    """Return a value, its bounds and its margin for people to read, with as many digits as the bounds give meaning to.

    The bounds are rounded outwards, and the margin, the distance of the farther one, upwards.

    >>> format_bounded(Fraction(2483333, 10**5), Fraction(2471, 100), Fraction(2495666, 10**5))
    ('24.83', '24.71', '24.96', '0.13')
    >>> format_bounded(Fraction("1974.218"), Fraction("1974.2069"), Fraction("1974.2291"))
    ('1,974.218', '1,974.206', '1,974.230', '0.012')
    >>> format_bounded(752, 748, 756)
    ('752', '748', '756', '4')
    """
    parts = (value, low, high, max(high - value, value - low))
    places = max(0, 1 - math.floor(math.log10(parts[-1]))) if parts[-1] > 0 else _DIGITS
    if all(Fraction(part).denominator == 1 for part in parts) or places > _MOST_PLACES:
        short, least, most, margin = map(format_short, parts)
        return short, least, most, margin
    numbers = [Fraction(part) * 10**places for part in parts]
    whole = (round(numbers[0]), math.floor(numbers[1]), math.ceil(numbers[2]), math.ceil(numbers[3]))
    near, least, most, margin = (f"{Decimal(number).scaleb(-places):,.{places}f}" for number in whole)
    return near, least, most, margin


def format_value(value: Any) -> str:
    """Return any value for people to read.

    >>> format_value(1234), format_value(None), format_value("x"), format_value(""), format_value(True)
    ('1,234', '(missing)', 'x', '(empty)', 'true')
    """
    if value is None:
        return "(missing)"
    if isinstance(value, bool):
        return str(value).lower()
    return escaped(value or "(empty)") if isinstance(value, str) else format_short(value)


def named(key: Any) -> str:
    """Return the key of a group for people to read: a number that is a name, such as a year, has no commas.

    >>> named(9201), named(1980.0), named(None), named(""), named(True)
    ('9201', '1980', '(missing)', '(empty)', 'true')
    """
    if isinstance(key, float):
        return str(int(key)) if key.is_integer() else str(key)
    return str(key) if type(key) is int else format_value(key)


def escaped(text: str) -> str:
    r"""Return a text as one line that is harmless to look at: what is not printable in it is spelt out.

    So a name chosen by another user moves no cursor, begins no line of a log, and does not turn the direction of
    writing.

    >>> escaped("a\x1b[2J\nb\u202e"), escaped("Zürich 北京")
    ('a\\x1b[2J\\nb\\u202e', 'Zürich 北京')
    """
    if is_printable(text):
        return text
    return "".join(sign if is_printable(sign) else sign.encode("unicode_escape").decode() for sign in text)


def is_printable(text: str) -> bool:
    r"""Return whether a text is displayed as it is: no control characters, no invisible or direction marks.

    Blanks of every width are printable.

    >>> is_printable("Ile\u00a0de France"), is_printable("a\tb"), is_printable("a\u200bb"), is_printable("\u202ea")
    (True, False, False, False)
    """
    return text.isprintable() or all(one.isprintable() or unicodedata.category(one) == "Zs" for one in text)


def escaped_lines(text: str) -> str:
    r"""Return the same of a text of several lines.

    >>> escaped_lines("a\nb\x07")
    'a\nb\\x07'
    """
    return "\n".join(map(escaped, text.split("\n")))


def several(number: int, what: str) -> str:
    """Return a number of things.

    >>> several(1, "question"), several(2_000, "question"), several(3, "yes")
    ('1 question', '2,000 questions', '3 yeses')
    """
    plural = what if number == 1 else f"{what}es" if what.endswith("s") else f"{what}s"
    return f"{number:,} {plural}"


def percent(share: Fraction) -> str:
    """Return a probability in percent, for people.

    >>> percent(Fraction("0.95")), percent(Fraction("0.999"))
    ('95 %', '99.9 %')
    """
    return f"{float(share * 100):.6g} %"


def _format(number: Fraction, rounding: str) -> str:
    digits = max(_DIGITS, len(str(abs(int(number)))))  # whole numbers keep all of theirs
    context = Context(prec=digits, rounding=rounding)
    short = context.divide(Decimal(number.numerator), Decimal(number.denominator)).normalize(Context(prec=digits))
    if short and short.adjusted() < _SHORTEST_EXPONENT:
        return f"{short.scaleb(-short.adjusted()):f}e{short.adjusted()}"
    return f"{short:f}"


def rounded(value: Any) -> int | float | None:
    """Return a number as programs compare it, the nearest double of a fraction; None for what is not a number.

    >>> rounded(Fraction(1, 3)), rounded(7), rounded("ER"), rounded(None)
    (0.3333333333333333, 7, None, None)
    """
    return value if isinstance(value, int | float) else float(value) if isinstance(value, Fraction) else None


def format_exact(value: Any) -> Any:
    """Return a value as JSON can hold it without a loss: a fraction as a decimal if it is one, else as a ratio.

    >>> [format_exact(number) for number in (Fraction(1, 10), Fraction(1, 3), Fraction(4), 2.5, None)]
    ['0.1', '1/3', '4', 2.5, None]
    """
    if not isinstance(value, Fraction):
        return value
    places = max(value.denominator.bit_length(), 1)
    scaled = value * 10**places
    if scaled.denominator != 1:
        return str(value)
    whole, rest = divmod(abs(scaled.numerator), 10**places)
    digits = f"{rest:0{places}d}".rstrip("0")
    return f"{'-' if value < 0 else ''}{whole}" + (f".{digits}" if digits else "")


@frozen(kw_only=False)
class Setting:
    """A parameter, and the value that is proposed for it, if one is.

    >>> print(Setting("epsilon", "0.1"), Setting("max_rows", 3), Setting("table"))
    epsilon="0.1" max_rows=3 table=
    """

    name: str
    value: str | int | None = None

    def __str__(self) -> str:
        value = "" if self.value is None else f'"{self.value}"' if isinstance(self.value, str) else self.value
        return f"{self.name}={value}"


Argument: TypeAlias = "Setting | str | list[str | int | EllipsisType] | EllipsisType"


@frozen(kw_only=False)
class Call:
    """A call in a message: the name of the function, and its arguments as a reader should see them.

    >>> print(Call("stream", (Setting("at_least", 200), ...)), Call("bins", ("age", [0, 18, 65])))
    stream(at_least=200, ...) bins('age', [0, 18, 65])
    """

    name: str
    arguments: tuple[Argument, ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(_in_python, self.arguments))})"


def _in_python(argument: Argument) -> str:
    if isinstance(argument, list):
        return f"[{', '.join(map(_in_python, argument))}]"  # type: ignore[arg-type]  # a number is written like a text
    if isinstance(argument, Setting):
        return str(argument)
    return "..." if argument is ... else repr(argument)


Spell: TypeAlias = Callable[[Setting | Call], str]  # how a door writes a parameter or a call; `str` is how Python does


class Message(str):
    """A text for people, as Python words it, that knows its parameters.

    >>> message = Message("say how many count: ", Setting("max_rows", 3))
    >>> print(message)
    say how many count: max_rows=3
    >>> message.spelled(lambda one: f"--{one.name} {one.value}"), message.settings
    ('say how many count: --max_rows 3', {'max_rows': 3})
    """

    __slots__ = ("pieces",)
    pieces: tuple[str | Setting | Call, ...]

    def __new__(cls, *pieces: str | Setting | Call) -> Self:
        """Put a message together; one that is a part of another stays data there."""
        message = super().__new__(cls, "".join(map(str, pieces)))
        flat = [part for one in pieces for part in (one.pieces if isinstance(one, Message) else (one,))]
        message.pieces = tuple(flat)
        return message

    def spelled(self, spell: Spell) -> str:
        """Return the message as a door words it."""
        return "".join(piece if isinstance(piece, str) else spell(piece) for piece in self.pieces)

    @property
    def settings(self) -> dict[str, str | int | None]:
        """The proposed settings, by the names of the parameters."""
        parts = [part for one in self.pieces for part in (one.arguments if isinstance(one, Call) else (one,))]
        return {one.name: one.value for one in parts if isinstance(one, Setting)}
