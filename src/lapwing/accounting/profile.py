"""Solving a profile for epsilon."""

import math
from collections.abc import Callable

_LARGEST = 1e15


def epsilon_at(profile: Callable[[float], float], delta: float) -> float:
    """Return an epsilon >= 0 at which the falling function `profile` is at most `delta`, to 12 digits; or infinity.

    >>> round(epsilon_at(lambda epsilon: math.exp(-epsilon), 0.5), 9)
    0.693147181
    """
    if profile(0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while profile(high) > delta:
        low, high = high, 2 * high
        if high > _LARGEST:
            return math.inf
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if profile(middle) > delta:
            low = middle
        else:
            high = middle
    return high
