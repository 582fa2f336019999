"""What a count says that is shown only because, with its noise, it reached a threshold.

Small counts are shown for having met large noise, so the noise of what is shown is not that of the law: value ± margin
would be wrong for nearly all small counts. Bounds that hold for a count *given that it is shown* come from that
conditional law. Near the threshold they reach far down, for there the value says little.

Proof: proofs/shown_counts.md
"""

from collections.abc import Callable
from fractions import Fraction

from lapwing.mechanisms.tails import Tail
from lapwing.vocabulary.exact import Exact, probability

_PRECISIONS = (64, 256, 1024, 4096)


def shown_bounds(tail: Tail, *, threshold: int, shown: int, confidence: Exact) -> tuple[int, int]:
    """Return bounds on a count of at least 1 that was shown as `shown`, its noise included.

    Whatever the count: among the times that it is shown, these bounds hold with probability at least `confidence`.

    Parameters
    ----------
    tail : P(|Z| > m) of the noise, whole numbers of a symmetric and log-concave law
    threshold : from which on counts with noise are shown
    shown : what is shown, at least `threshold`
    confidence : how often the bounds hold

    Examples
    --------
    >>> from lapwing.mechanisms.tails import discrete_laplace_tail
    >>> one = discrete_laplace_tail(Fraction(1))
    >>> shown_bounds(one, threshold=15, shown=100, confidence="0.95")
    (97, 103)
    >>> shown_bounds(one, threshold=15, shown=16, confidence="0.95")  # it may be anybody's luck
    (1, 19)

    Proof: proofs/shown_counts.md
    """
    chance = 1 - probability("confidence", confidence)

    def plausible(count: int) -> bool:
        return count >= 1 and _may_be_as_far(tail, threshold, count, abs(shown - count), chance)

    return _last(plausible, shown, -1), _last(plausible, shown, 1)


def _may_be_as_far(tail: Tail, threshold: int, count: int, far: int, chance: Fraction) -> bool:
    """Say whether P(|Z| >= far | count + Z >= threshold) is above `chance`; in doubt, yes."""
    if far == 0:
        return True
    for bits in _PRECISIONS:
        lift = threshold - count
        shown_low, shown_high = _at_least(tail, lift, bits)
        low, high = _at_least(tail, far, bits)
        if lift <= -far:  # as far below the count is shown, too
            near_low, near_high = _at_least(tail, 1 - far, bits)
            low, high = low + max(0, shown_low - near_high), high + shown_high - near_low
        if high <= chance * shown_low:
            return False
        if low > chance * shown_high:
            return True
    return True


def _at_least(tail: Tail, lift: int, bits: int) -> tuple[int, int]:
    """Bound 2^(bits+1) P(Z >= lift): half of the tail on its side, as the law is symmetric."""
    if lift > 0:
        return tail(lift - 1, bits)
    low, high = tail(-lift, bits)
    return (2 << bits) - high, (2 << bits) - low


def _last(plausible: Callable[[int], bool], start: int, step: int) -> int:
    """Return the last plausible number from `start` on, which is one; beyond the last there are none."""
    near, far = 0, 1
    while plausible(start + step * far):
        near, far = far, 2 * far
    while far - near > 1:
        middle = (near + far) // 2
        near, far = (middle, far) if plausible(start + step * middle) else (near, middle)
    return start + step * near
