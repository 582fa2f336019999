"""Numbers for people, in short decimals of which it is said how they are rounded, and for programs, without a loss."""

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any

_DIGITS = 4
_SHORTEST_EXPONENT = -4
_LARGE = 1000


def decimal_below(number: Fraction) -> str:
    """Return a decimal of four digits that is at most `number`.

    >>> decimal_below(Fraction(1089, 100)), decimal_below(Fraction(1, 66)), decimal_below(Fraction(1, 10**7))
    ('10.89', '0.01515', '1e-7')
    """
    return _written(number, ROUND_FLOOR)


def decimal_above(number: Fraction) -> str:
    """Return a decimal of four digits that is at least `number`.

    >>> decimal_above(Fraction(1, 66)), decimal_above(Fraction(15)), decimal_above(Fraction(12345, 10**11))
    ('0.01516', '15', '1.235e-7')
    """
    return _written(number, ROUND_CEILING)


def decimal_near(number: Fraction) -> str:
    """Return the decimal of four digits that is nearest to `number`.

    >>> decimal_near(Fraction(1, 66)), decimal_near(Fraction(5000001, 10**13))
    ('0.01515', '5e-7')
    """
    return _written(number, ROUND_HALF_EVEN)


def format_short(number: Fraction | float) -> str:
    """Return a number for people to read.

    >>> [format_short(number) for number in (1234567, Fraction(1, 10), Fraction(1, 3), Fraction(4), Fraction(12345, 2))]
    ['1,234,567', '0.1', '0.3333', '4', '6,172.5']
    """
    if isinstance(number, int) or (isinstance(number, Fraction) and number.denominator == 1):
        return f"{int(number):,}"
    return f"{float(number):,.1f}" if abs(float(number)) >= _LARGE else f"{float(number):.4g}"


def spoken(value: Any) -> str:
    """Return any value for people to read.

    >>> spoken(1234), spoken(None), spoken("x"), spoken(""), spoken(True)
    ('1,234', '(missing)', 'x', '(empty)', 'true')
    """
    if value is None:
        return "(missing)"
    if isinstance(value, bool):
        return str(value).lower()
    return (value or "(empty)") if isinstance(value, str) else format_short(value)


def named(key: Any) -> str:
    """Return the key of a group for people to read: a number that is a name, such as a year, has no commas.

    >>> named(9201), named(None), named(""), named(True)
    ('9201', '(missing)', '(empty)', 'true')
    """
    return str(key) if type(key) is int else spoken(key)


def several(number: int, what: str) -> str:
    """Return a number of things.

    >>> several(1, "question"), several(2_000, "question"), several(3, "yes")
    ('1 question', '2,000 questions', '3 yeses')
    """
    plural = what if number == 1 else f"{what}es" if what.endswith("s") else f"{what}s"
    return f"{number:,} {plural}"


def percent(share: Fraction) -> str:
    """Return a probability as people say it.

    >>> percent(Fraction("0.95")), percent(Fraction("0.999"))
    ('95 %', '99.9 %')
    """
    return f"{float(share * 100):.6g} %"


def _written(number: Fraction, rounding: str) -> str:
    digits = max(_DIGITS, len(str(abs(int(number)))))  # whole numbers keep all of theirs
    context = Context(prec=digits, rounding=rounding)
    short = context.divide(Decimal(number.numerator), Decimal(number.denominator)).normalize(Context(prec=digits))
    if short and short.adjusted() < _SHORTEST_EXPONENT:
        return f"{short.scaleb(-short.adjusted()):f}e{short.adjusted()}"
    return f"{short:f}"


def rounded(value: Any) -> int | float | None:
    """Return a number as programs compare it, the nearest double of a fraction; None for what is no number.

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
