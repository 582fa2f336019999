"""Which way numbers are rounded: towards more cost, always.

Prices are computed in floating point. Each elementary function is trusted to a relative error of `ROUND_OFF` and no
further; whatever is derived is raised by that much, so that no printed price is below the true one.
"""

import math
from fractions import Fraction

UNIT = 2.0**-53  # the relative error of one rounding to the nearest double
# what NumPy and SciPy are trusted to: 2048 units, where `exp` and `erfcx` miss by a few and `ndtr`, far out in its
# tail, by a few hundred (a test compares them with a computation in fifty digits)
ROUND_OFF = 2.0**-42
LARGEST_EXPONENT = 700.0  # e to this is still a number


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
