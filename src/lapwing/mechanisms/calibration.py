"""The smallest Gaussian noise for a price, by the price of the noise itself: never by the textbook formula.

The textbook's sigma = Δ sqrt(2 ln(1.25/δ))/ε is proved for ε below 1 only. At ε = 20 and δ = 1e-6 it misses its δ by a
factor of 161, and at ε = 1 it is a quarter too noisy.

Proof: proofs/gaussian_calibration.md
"""

import math
from collections.abc import Callable
from fractions import Fraction

from lapwing.accounting.pricing import price
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Event
from lapwing.vocabulary.exact import exactly_one_of, float_below, positive, probability
from lapwing.vocabulary.search import Search, decimals, integers

_FEW_DIGITS = 4


def smallest_variance(
    event_at: Callable[[Fraction], Event], *, epsilon: object, delta: object, near: Fraction | None = None
) -> Fraction:
    """Return the smallest sigma² of ten digits at which the event is (ε, δ)-differentially private.

    `event_at` is the release with a given sigma². Where its price takes long to find, `near` is a guess: then it is the
    first sigma² of four digits from there upwards.

    >>> from lapwing.vocabulary.event import GaussianNoise
    >>> def noise(variance):
    ...     return GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=variance)
    >>> round(float(smallest_variance(noise, epsilon=1, delta="1e-6")) ** 0.5, 4)
    4.2247

    Theorem: Balle, Wang, *Improving the Gaussian mechanism for differential privacy*, ICML 2018, Theorem 8.
    """
    most, at = float_below(probability("delta", delta)), float_below(positive("epsilon", epsilon))

    def private(variance: Fraction) -> bool:
        return price(event_at(variance)).delta(at) <= most

    search: Search[int] | Search[Fraction] = decimals(digits=10)
    unit = Fraction(1)
    if near is not None:
        unit = Fraction(10) ** (math.floor(math.log10(near)) - _FEW_DIGITS + 1)
        start = math.ceil(near / unit)
        search = integers(after=start - 1, most=start + 2 * 10**_FEW_DIGITS)
    try:
        while search.open:
            search.tell(private(search.guess * unit))
    except OverflowError:
        reason = "asks for more noise than there is"
        raise ParameterError("epsilon, delta", (epsilon, delta), reason=reason, remedy="raise one of them") from None
    return search.above * unit


def squared_l2_sensitivity(l2_sensitivity: object, l2_sensitivity_squared: object) -> Fraction:
    """Return the square of the L2 sensitivity, of which exactly one form was given.

    Both names are spelled out because a lecture that writes Δ² for the one and means the other makes noise that is too
    small by a factor of Δ (for Δ = 0.01, a hundred times).
    """
    given = {"l2_sensitivity": l2_sensitivity, "l2_sensitivity_squared": l2_sensitivity_squared}
    if exactly_one_of("sensitivity", given, ("l2_sensitivity",), ("l2_sensitivity_squared",)) == ("l2_sensitivity",):
        return positive("l2_sensitivity", l2_sensitivity) ** 2
    return positive("l2_sensitivity_squared", l2_sensitivity_squared)


def rational_root_above(square: Fraction) -> Fraction:
    """Return a number that is at least the root of `square`, and above it by less than a relative 2^-60.

    >>> rational_root_above(Fraction(4)), rational_root_above(Fraction(2)) ** 2 > 2
    (Fraction(2, 1), True)
    """
    places = max(0, 62 + (square.denominator.bit_length() - square.numerator.bit_length()) // 2)
    scaled = math.ceil(square * 4**places)
    return Fraction(math.isqrt(scaled - 1) + 1, 2**places)
