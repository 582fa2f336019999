"""From a tail to what people ask for: the margin at a confidence, the confidence of a margin, the noise for a margin.

Everything is decided on certified bounds (`lapwing.mechanisms.tails`) and, should those not decide, towards caution: a
margin may come out too wide by one step, never too narrow.

Proof: proofs/margins.md
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction

from lapwing.accounting.rounding import float_below
from lapwing.mechanisms.tails import Tail
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import as_int, exact, probability

_LARGEST_EXPONENT = 40


@dataclass(frozen=True, slots=True)
class Spread:
    """How far noise reaches that lives on the multiples of `step`: P(|X| > m steps) is `tail`.

    `values` below is a number of independent draws, all of which are meant together.

    Examples
    --------
    >>> from lapwing.mechanisms.tails import discrete_laplace_tail
    >>> spread = Spread(discrete_laplace_tail(Fraction(10)))
    >>> spread.margin("0.95"), spread.margin("0.95", values=100)
    (Fraction(30, 1), Fraction(76, 1))
    >>> round(spread.confidence(30), 4)
    0.9527
    """

    tail: Tail
    step: Fraction = Fraction(1)

    def margin(self, confidence: object, values: object = 1) -> Fraction:
        """Return the smallest m for which all draws stay within m, with probability at least `confidence`."""
        wanted, many = probability("confidence", confidence), as_int("values", values)
        below, above = -1, 0
        while not self.certainly_within(above, wanted, many):
            below, above = above, 2 * above + 1
        while above - below > 1:
            middle = (below + above) // 2
            if self.certainly_within(middle, wanted, many):
                above = middle
            else:
                below = middle
        return above * self.step

    def confidence(self, margin: object, values: object = 1) -> float:
        """Return the probability, rounded down, that all draws stay within `margin`."""
        steps, many, bits = math.floor(exact("margin", margin) / self.step), as_int("values", values), 192
        if steps < 0:
            return 0.0
        one = 1 << bits
        single = Fraction(one - min(one, self.tail(steps, bits)[1]), one)
        return float_below(single if many == 1 else _power_bounds(single, Fraction(many), bits)[0])

    def certainly_within(self, steps: int, confidence: Fraction, values: int) -> bool:
        """Say whether all draws stay within `steps` steps at this confidence; in doubt, no."""
        bits = 64 + math.ceil(1 / (1 - confidence)).bit_length() + values.bit_length()
        for precision in (bits, 2 * bits, 4 * bits):
            low, high = self.tail(steps, precision)
            least, most = _allowed_tail(confidence, values, precision)
            if high <= least:
                return True
            if low > most:
                return False
        return False


@dataclass(frozen=True, slots=True, init=False)
class Accuracy:
    """A wish: `values` answers, all within `within` of the truth, with probability at least `confidence`."""

    within: Fraction
    confidence: Fraction
    values: int

    def __init__(self, within: object, confidence: object, values: object) -> None:
        object.__setattr__(self, "within", exact("within", within))
        object.__setattr__(self, "confidence", probability("confidence", confidence))
        object.__setattr__(self, "values", as_int("values", values))
        if self.within < 0:
            raise ParameterError("within", within, reason="is negative", remedy="write how far off an answer may be")

    def met_by(self, spread: Spread, rounding: Fraction = Fraction(0)) -> bool:
        """Say whether noise of this spread grants the wish, where values are first rounded by at most `rounding`."""
        steps = math.floor((self.within - rounding) / spread.step)
        return steps >= 0 and spread.certainly_within(steps, self.confidence, self.values)

    def turning_point(self, granted: Callable[[Fraction], bool]) -> tuple[Fraction, Fraction]:
        """Return the last number of six digits that is not `granted`, and the first that is (see `turning_point`)."""
        try:
            return turning_point(granted, digits=6)
        except OverflowError:
            raise ParameterError(
                "within", self.within, reason="is out of reach at this confidence", remedy="change one of the two"
            ) from None


def turning_point(turned: Callable[[Fraction], bool], *, digits: int) -> tuple[Fraction, Fraction]:
    """Return two neighbouring decimals of so many digits: the last that is not `turned`, and the first that is.

    `turned` is false for all numbers up to some point and true for all beyond; where it is not so well behaved, the
    first number returned is still not `turned`, and the second is.

    Examples
    --------
    >>> turning_point(lambda x: x * x > 2, digits=3)
    (Fraction(141, 100), Fraction(71, 50))
    """
    exponent = 0
    while turned(Fraction(10) ** exponent):
        exponent -= 1
        if exponent < -_LARGEST_EXPONENT:
            raise OverflowError
    while not turned(Fraction(10) ** (exponent + 1)):
        exponent += 1
        if exponent > _LARGEST_EXPONENT:
            raise OverflowError
    unit = Fraction(10) ** (exponent - digits + 1)
    below, above = 10 ** (digits - 1), 10**digits
    while above - below > 1:
        middle = (below + above) // 2
        if turned(middle * unit):
            above = middle
        else:
            below = middle
    return below * unit, above * unit


def _allowed_tail(confidence: Fraction, values: int, bits: int) -> tuple[int, int]:
    """Bound 2^bits (1 - confidence^(1/values)): how much tail each of the draws may have."""
    if values == 1:
        share = (1 - confidence) * (1 << bits)
        return math.floor(share), math.ceil(share)
    low, high = _power_bounds(confidence, Fraction(1, values), bits)
    return math.floor((1 - high) * (1 << bits)), math.ceil((1 - low) * (1 << bits))


def _power_bounds(number: Fraction, exponent: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Bound number^exponent to about 2^-bits, for 0 <= number < 1: `Decimal` rounds ln and exp correctly."""
    if number == 0:
        return Fraction(0), Fraction(0)
    digits = bits // 3 + 10
    context = Context(prec=digits + 10 + len(str(math.ceil(exponent))), Emax=MAX_EMAX, Emin=MIN_EMIN)
    logarithm = context.ln(context.divide(Decimal(number.numerator), Decimal(number.denominator)))
    product = context.divide(context.multiply(logarithm, Decimal(exponent.numerator)), Decimal(exponent.denominator))
    power, slack = Fraction(context.exp(product)), Fraction(1, 10**digits)
    return max(Fraction(0), power - slack), min(Fraction(1), power + slack)
