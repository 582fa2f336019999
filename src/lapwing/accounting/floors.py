"""What no price can be below: a last look at every price before it is used.

A plan is at least as easy to see through as any one of its parts, and a divergence is at least what Pinsker makes of
the total variation. Both are known in closed form wherever a law is that of a real pair of neighbours. A price below
such a floor, or below zero, or no number at all, is a fault of the arithmetic: it is refused, before any charge.

Proof: proofs/dominating_pairs.md, section "Floors"
"""

import math
from collections.abc import Sequence

from lapwing.accounting.losses.bounded_range import BoundedRangeLaw
from lapwing.accounting.losses.law import LossLaw
from lapwing.accounting.tilting import Factor
from lapwing.vocabulary.errors import ParameterError

_TOLERANCE = 1e-3
"""A floor is itself computed, from above: so much of it is given away."""


def checked_delta(delta: float, epsilon: float, orders: Sequence[Sequence[Factor]]) -> float:
    """Return `delta`, a price at `epsilon`, if no part alone costs more there."""
    _refuse_unless(_floor(epsilon, orders) <= delta <= 1, "delta", delta)
    return delta


def checked_epsilon(epsilon: float, delta: float, orders: Sequence[Sequence[Factor]]) -> float:
    """Return `epsilon`, a price at `delta`, if no part alone has a larger delta there."""
    _refuse_unless(epsilon >= 0 and (epsilon == math.inf or _floor(epsilon, orders) <= delta), "epsilon", epsilon)
    return epsilon


def checked_divergence(divergence: float, orders: Sequence[Sequence[Factor]]) -> float:
    """Return `divergence`, a price at some Renyi order, if it is at least twice the sum of squared total variations."""
    floor = max(sum(times * 2 * _exact(law, 0.0) ** 2 for law, times in order) for order in orders)
    _refuse_unless(divergence >= floor, "divergence", divergence)
    return divergence


def _floor(epsilon: float, orders: Sequence[Sequence[Factor]]) -> float:
    return max(_exact(law, epsilon) for order in orders for law, _ in order)


def _exact(law: LossLaw, epsilon: float) -> float:
    """Return a little less than the true profile of one use, or 0 where only bounds of it are known."""
    if not law.is_attained and not isinstance(law, BoundedRangeLaw):
        return 0.0
    return max(0.0, law.delta(epsilon) * (1 - _TOLERANCE) - law.infinite_mass)


def _refuse_unless(plausible: bool, currency: str, price: float) -> None:  # noqa: FBT001 - the condition, not a flag
    if not plausible:
        raise ParameterError(
            currency,
            price,
            reason="is less than this event can cost: the price was computed wrongly",
            remedy="nothing was charged; ask in other amounts, and report the event as a fault of lapwing",
        )
