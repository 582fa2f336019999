"""Sets of numbers as spans with exact ends, and their images and inverse images under simple maps.

A condition about `2 * x` or `floor(x)` is solved on such a set when the question is planned: no database computes it.
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Final, TypeAlias

Edge: TypeAlias = tuple[Fraction | float, int]
"""A number, or an infinity, and 0; with 1 it is whatever lies just above the number, with -1 just below."""
Span: TypeAlias = tuple[Edge, Edge]
Spans: TypeAlias = tuple[Span, ...]

LEAST: Final[Edge] = (-math.inf, 0)
MOST: Final[Edge] = (math.inf, 0)
ZERO: Final[Edge] = (Fraction(0), 0)
_HALF: Final = Fraction(1, 2)


def is_in(spans: Spans, number: Fraction) -> bool:
    """Say whether a number is in one of the spans.

    >>> is_in((((Fraction(1), 0), (Fraction(2), -1)),), Fraction(2))
    False
    """
    return any(low <= (number, 0) <= high for low, high in spans)


def within(spans: Iterable[Span], low: Edge, high: Edge) -> Spans:
    """Return what spans have between two edges."""
    cut = ((max(a, low), min(b, high)) for a, b in spans)
    return tuple((a, b) for a, b in cut if a <= b)


def turned(span: Span) -> Span:
    """Return the span of the negatives."""
    (a, above), (b, below) = span
    return (-b, -below), (-a, -above)


def scaled_span(span: Span, factor: Fraction) -> Span:
    """Return the span of the multiples by a factor, which is not zero."""
    (a, above), (b, below) = span if factor > 0 else turned(span)
    return (a * abs(factor), above), (b * abs(factor), below)


def moved(span: Span, by: Fraction) -> Span:
    """Return the span of the sums with a number."""
    (a, above), (b, below) = span
    return (a + by, above), (b + by, below)


def before_rounding(function: str, spans: Spans, width: Fraction) -> Spans:
    """Return the numbers x for which `function` of x / width is in one of the spans.

    >>> [(low, high)] = before_rounding("floor", (((Fraction(3), 0), (Fraction(3), 0)),), Fraction(10))
    >>> low, high
    ((Fraction(30, 1), 0), (Fraction(40, 1), -1))
    """
    found = (_before_whole(function, span) for span in spans)
    return tuple(scaled_span(span, width) for span in found if span is not None)


def _before_whole(function: str, span: Span) -> Span | None:
    """Return the numbers that `function` makes whole numbers of a span of; None where there is no whole number."""
    (a, above), (b, below) = span
    first = a if isinstance(a, float) else math.floor(a) + 1 if above else math.ceil(a)
    last = b if isinstance(b, float) else math.ceil(b) - 1 if below else math.floor(b)
    if first > last:
        return None
    low, high = {
        "floor": ((first, 0), (last + 1, -1)),
        "ceil": ((first - 1, 1), (last, 0)),
        # Halves go away from zero: 0.5 is 1, and -0.5 is -1.
        "round": ((first - _HALF, int(first <= 0)), (last + _HALF, -int(last >= 0))),
        # What is left of a fraction is cut off: 0.9 and -0.9 are 0.
        "trunc": ((first, 0) if first > 0 else (first - 1, 1), (last, 0) if last < 0 else (last + 1, -1)),
    }[function]
    return LEAST if first == -math.inf else _exact(low), MOST if last == math.inf else _exact(high)


def _exact(edge: tuple[Fraction | float, int]) -> Edge:
    return Fraction(edge[0]), edge[1]
