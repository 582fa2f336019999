"""Parameters are exact: what a person writes is turned into one rational number, once, here.

`"0.1"` is one tenth. The float `0.1` is taken for exactly what it is, 3602879701896397/36028797018963968, because
rounding it would be a guess about what was meant; only the doors, where people write prices, make it (`as_written`).
Every number that is refused is refused with a reason.

Where floating point comes in, numbers are rounded towards more cost, always: each elementary function is trusted to a
relative error of `ROUND_OFF` and no further; derived numbers are raised by that much, so that no printed price is below
the true one. And an answer with no noise on it yet is exact, too: it is wrapped, so that it cannot be shown by accident
(`Sensitive`).
"""

import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar

from lapwing.vocabulary.errors import BadQuestionError, ParameterError, SecrecyError

T_co = TypeVar("T_co", covariant=True)
Exact: TypeAlias = str | int | float | Decimal | Fraction  # what may be written where a number is wanted
LARGEST = Fraction(10) ** 100
SMALLEST = 1 / LARGEST
UNIT = 2.0**-53  # the relative error of one rounding to the nearest double
# what NumPy and SciPy are trusted to: 2048 units, where `exp` and `erfcx` miss by a few and `ndtr`, far out in its
# tail, by a few hundred (a test compares them with a computation in fifty digits)
ROUND_OFF = 2.0**-42
LARGEST_EXPONENT = 700.0  # e to this is still a number
_FEW_BITS = 300  # so few can neither leave the range nor be too many
_LARGEST_SMALL = 2**_FEW_BITS
_LEAST_CONFIDENCE, _MOST_CONFIDENCE = Fraction(1, 10**9), 1 - Fraction(1, 10**9)
_MOST_BITS = 1100  # every float has fewer; more is an attempt to exhaust memory
_NUMBER = re.compile(r"[+-]?\d{1,400}(\.\d{0,400})?([eE][+-]?\d{1,3})?|[+-]?\.\d{1,400}([eE][+-]?\d{1,3})?")
_RATIO = re.compile(r"[+-]?\d{1,400}\s*/\s*\d{1,400}")


def exact(name: str, given: object) -> Fraction:
    """Return the rational number that `given` is; refuse what is not a number, under the `name` of the parameter.

    >>> exact("epsilon", "0.1")
    Fraction(1, 10)
    >>> exact("epsilon", 0.5), exact("epsilon", "1/3"), exact("epsilon", 2)
    (Fraction(1, 2), Fraction(1, 3), Fraction(2, 1))
    >>> exact("epsilon", float("nan"))
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: epsilon = nan is not a number; write a finite number such as "0.1"
    """
    if type(given) is Fraction:
        number = given
    elif isinstance(given, bool) or type(given).__name__ in {"bool", "bool_"}:
        raise ParameterError(name, given, reason="is a truth value", remedy='write a number such as "0.1"')
    else:
        number = _from_text(name, given) if isinstance(given, str) else _from_number(name, given)
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > _FEW_BITS:
        _check_size(name, given, number)
    return number


def as_written(given: object) -> object:
    """Return a float as the shortest decimal that means it, and anything else as it is.

    For what people write at a door. A price is a name: the same question at the same price is answered as before, and
    a person who writes 0.1 without quotes means one tenth. From then on all is exact.

    >>> exact("epsilon", as_written(0.1)), as_written("1/3"), as_written(float("nan"))
    (Fraction(1, 10), '1/3', nan)
    """
    return float.__repr__(given) if isinstance(given, float) and math.isfinite(given) else given


def _check_size(name: str, given: object, number: Fraction) -> None:
    if abs(number) > LARGEST:
        raise ParameterError(name, given, reason="is absurdly large", remedy="stay below 1e100")
    if number and abs(number) < SMALLEST:
        raise ParameterError(name, given, reason="is absurdly small", remedy="stay above 1e-100")
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > _MOST_BITS:
        remedy = f"use a fraction of at most {_MOST_BITS} bits"
        raise ParameterError(name, given, reason="has absurdly many digits", remedy=remedy)


def positive(name: str, given: object) -> Fraction:
    """Return `given` as an exact number above zero.

    >>> positive("epsilon", "0.1")
    Fraction(1, 10)
    >>> positive("epsilon", 0)
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: epsilon = 0 is zero; write a number above zero, such as "0.1"
    """
    number = exact(name, given)
    if number <= 0:
        reason = "is negative" if number else "is zero"
        example = "20" if name == "within" else "0.1"
        raise ParameterError(name, given, reason=reason, remedy=f'write a number above zero, such as "{example}"')
    return number


def probability(name: str, given: object) -> Fraction:
    """Return `given` as an exact number strictly between zero and one.

    >>> probability("delta", "1e-6")
    Fraction(1, 1000000)
    >>> probability("confidence", 95)
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: confidence = 95 is not strictly between 0 and 1; write "0.95" for 95 %
    """
    number = exact(name, given)
    if not 0 < number < 1:
        example = {"confidence": "0.95", "at": "0.5", "prior": "0.5"}.get(name, "1e-6")
        meant = number / 100 if name in {"confidence", "at", "prior"} and 1 < number < 100 else None  # noqa: PLR2004 - %
        remedy = f'write for example "{example}"' if meant is None else f'write "{float(meant):.6g}" for {given} %'
        raise ParameterError(name, given, reason="is not strictly between 0 and 1", remedy=remedy)
    return number


def as_confidence(confidence: Exact) -> Fraction:
    """Return a confidence as an exact number; a float is read as it is written.

    >>> as_confidence("0.95")
    Fraction(19, 20)
    >>> as_confidence("1e-12")
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: confidence = '1e-12' is out of range; stay between 1e-9 and 1 - 1e-9, ...
    """
    number = probability("confidence", as_written(confidence))
    if not _LEAST_CONFIDENCE <= number <= _MOST_CONFIDENCE:
        remedy = 'stay between 1e-9 and 1 - 1e-9, for example "0.95"'
        raise ParameterError("confidence", confidence, reason="is out of range", remedy=remedy)
    return number


def as_int(name: str, given: object, *, least: int = 1, most: int | None = None) -> int:
    """Return `given` as a whole number in a range.

    >>> as_int("yeses", 5)
    5
    >>> as_int("yeses", "2.5")
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: yeses = '2.5' is not a whole number; write one, at least 1
    """
    if type(given) is int and least <= given <= (given if most is None else most) < _LARGEST_SMALL:
        return given
    bounds = f"at least {least}" if most is None else f"from {least} to {most}"
    try:
        number = exact(name, given)
    except ParameterError as refused:
        raise ParameterError(name, given, reason=refused.reason, remedy=f"write a whole number, {bounds}") from None
    if number.denominator != 1:
        raise ParameterError(name, given, reason="is not a whole number", remedy=f"write one, {bounds}")
    if number < least or (most is not None and number > most):
        raise ParameterError(name, given, reason="is out of range", remedy=f"write a whole number, {bounds}")
    return int(number)


def exactly_one_of(what: str, given: Mapping[str, object], *ways: tuple[str, ...]) -> tuple[str, ...]:
    """Return the one of `ways` to specify `what` whose names are exactly those given; refuse none, several, mixtures.

    >>> exactly_one_of("noise", {"epsilon": "0.1", "scale": None}, ("epsilon",), ("scale",))
    ('epsilon',)
    >>> exactly_one_of("noise", {"epsilon": "0.1", "scale": 10}, ("epsilon",), ("scale",))
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: epsilon, scale = ('0.1', 10) says the noise more than once;
    give epsilon alone, or scale alone
    """
    there = {name: value for name, value in given.items() if value is not None}
    for way in ways:
        if set(way) == set(there):
            return way
    too_little = any(set(there) < set(way) for way in ways)
    values = tuple(there.values())
    raise ParameterError(
        ", ".join(there) or what,
        values[0] if len(values) == 1 else values or None,
        reason=f"does not say the {what}" if too_little else f"says the {what} more than once",
        remedy="give " + ", or ".join(" with ".join(way) if len(way) > 1 else f"{way[0]} alone" for way in ways),
    )


def coerce_fields(record: object, read: Callable[[str, object], object], *names: str) -> None:
    """Replace fields of a frozen record, while it is made, by what `read` makes of them."""
    for name in names:
        object.__setattr__(record, name, read(name, getattr(record, name)))


def fill(record: object, **values: object) -> None:
    """Set the fields of a frozen record that takes what people write and keeps exact numbers, so has its own init."""
    for name, value in values.items():
        object.__setattr__(record, name, value)


def _from_text(name: str, given: str) -> Fraction:
    text = given.strip()
    if text.lower().lstrip("+-") in {"nan", "inf", "infinity"}:
        return _from_number(name, float(text))
    if not (_NUMBER.fullmatch(text) or _RATIO.fullmatch(text)) or not text.isascii():
        remedy = 'write a decimal such as "0.1" or a ratio such as "1/3"'
        raise ParameterError(name, given, reason="is not a number", remedy=remedy)
    try:
        return Fraction(text.replace(" ", ""))
    except ZeroDivisionError:
        raise ParameterError(name, given, reason="divides by zero", remedy="write a finite number") from None


def _from_number(name: str, given: object) -> Fraction:
    finite = 'write a finite number such as "0.1"'
    if isinstance(given, Rational):
        return Fraction(int(given.numerator), int(given.denominator))
    if not hasattr(given, "as_integer_ratio"):  # floats of every width, NumPy's included, have it
        reason = f"is a {type(given).__name__}, no number"
        raise ParameterError(name, given, reason=reason, remedy='write a number such as "0.1"')
    try:
        return Fraction(*given.as_integer_ratio())
    except ValueError:
        raise ParameterError(name, given, reason="is not a number", remedy=finite) from None
    except OverflowError:
        raise ParameterError(name, given, reason="is infinite", remedy=finite) from None


def ceil_to_grid(number: Fraction, grid: Fraction) -> Fraction:
    """Return the smallest multiple of `grid` that is at least `number`.

    >>> ceil_to_grid(Fraction(5, 2), Fraction(1))
    Fraction(3, 1)
    """
    return math.ceil(number / grid) * grid


def check_most(what: str, number: int, most: int, instead: str = "ask several questions") -> None:
    """Refuse more than there may be, with both numbers."""
    if number > most:
        raise BadQuestionError(f"the question has {number} {what}, more than {most}; {instead}")


def require_words(others: Iterable[str], known: Iterable[str]) -> None:
    """Refuse unknown parameter names, and propose the nearest known one.

    >>> require_words({"epsilo": "0.1"}, ["epsilon", "delta"])
    Traceback (most recent call last):
    ...
    lapwing.errors.BadQuestionError: there is no epsilo= here; write epsilon=
    """
    for word in others:
        near = difflib.get_close_matches(word, list(known), n=1) or list(known)
        raise BadQuestionError(f"there is no {word}= here; write {', '.join(f'{one}=' for one in near)}")


def float_above(number: Fraction) -> float:
    """Return a double that is at least `number`, the nearest one where that is possible."""
    near = float(number)
    return near if Fraction(near) >= number else math.nextafter(near, math.inf)


def float_below(number: Fraction) -> float:
    """Return a double that is at most `number`, the nearest one where that is possible."""
    return -float_above(-number)


def root_above(number: Fraction) -> float:
    """Return a double that is at least the square root of `number`."""
    root = math.sqrt(float_above(number))
    while Fraction(root) ** 2 < number:
        root = math.nextafter(root, math.inf)
    return root


def fraction_above(value: float) -> Fraction:
    """Return a fraction that is at least what `value` stands for, `value` having been computed to `ROUND_OFF`."""
    return Fraction(math.nextafter(value * (1 + 2 * ROUND_OFF), math.inf))


def _refuse(what: str) -> Callable[..., Any]:
    def refuse(_: object, *__: object, **___: object) -> NoReturn:
        raise SecrecyError(f"an exact value may not be {what}; release it through a mechanism")

    return refuse


class Sensitive(Generic[T_co]):
    """An exact answer, which only a mechanism may open.

    It refuses to be printed in full, formatted, compared, hashed, counted, copied out, pickled or used as a truth
    value, so that logs, tracebacks, f-strings and test reports never hold it. This guards against accidents, not
    against code that means harm: Python cannot hide a value from the process it lives in.

    >>> cohort = Sensitive(17)
    >>> cohort
    <sensitive>
    >>> f"{cohort}"
    Traceback (most recent call last):
    ...
    lapwing.errors.SecrecyError: an exact value may not be formatted; release it through a mechanism
    >>> cohort == 17
    Traceback (most recent call last):
    ...
    lapwing.errors.SecrecyError: an exact value may not be compared; release it through a mechanism
    """

    __slots__ = ("__opened",)

    def __init__(self, value: T_co) -> None:
        # Inside a closure, so that tools that walk the attributes of objects (inspect, rich) find no value.
        self.__opened: Callable[[], T_co] = lambda: value

    def open_for_release(self) -> T_co:
        """Return the exact value. Mechanisms call this, and nothing else may (a test reads the source for it)."""
        return self.__opened()

    def __repr__(self) -> str:
        return "<sensitive>"

    __str__ = _refuse("printed")
    __format__ = _refuse("formatted")
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse("compared")
    __hash__ = _refuse("hashed")
    __bool__ = _refuse("used as a truth value")
    __int__ = _refuse("turned into an int")
    __float__ = _refuse("turned into a float")
    __index__ = _refuse("used as an index")
    __len__ = _refuse("measured")
    __array__ = _refuse("turned into an array")
    __copy__ = __deepcopy__ = _refuse("copied")
    __getstate__ = __reduce_ex__ = _refuse("pickled")
