"""How often a rule answers right: computed over all noise, not bounded, and before anything is asked.

Distances and margins are in lattice steps. The worst case that is meant: `above` questions lie a margin above their
threshold, `below` questions a margin below, and all of them are to be answered right. Questions that lie farther away
only help.
"""

import math
from dataclasses import replace

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import logsumexp

from lapwing.mechanisms.sparse_vector.rule import Rule
from lapwing.mechanisms.sparse_vector.tails import (
    Floats,
    depth,
    log_at_least,
    log_below,
    quadrature,
    reach,
    width,
)
from lapwing.noise.laws import Geometric

_HOPELESS = -1e4  # the log of a chance that is as good as none, and still a number to search with


def chance_of_yes(rule: Rule, distance: int) -> float:
    """Return the probability that a value `distance` steps above its threshold gets a yes."""
    z, log_weight = _over_the_threshold_noise(rule, (distance,))
    return min(1.0, float(np.exp(logsumexp(log_weight + _log_yes(rule, z - distance)))))


def chance_all_right(rule: Rule, *, margin: int, below: int, above: int) -> float:
    """Return the probability that all questions are answered right when each is `margin` steps from its threshold."""
    return min(1.0, math.exp(_log_all_right(rule, float(margin), 0.0, below, above)))


def margin(rule: Rule, *, below: int, above: int, confidence: float) -> int:
    """Return the smallest distance at which all questions are answered right with probability `confidence`."""
    low, high = -1, 1
    while chance_all_right(rule, margin=high, below=below, above=above) < confidence:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if chance_all_right(rule, margin=middle, below=below, above=above) < confidence:
            low = middle
        else:
            high = middle
    return high


def guaranteed_margin(rule: Rule, *, below: int, above: int, beta: float) -> int:
    """Return a distance at which all are answered right except with probability `beta`, by the union bound.

    For one-sided noise with the bar in the middle this is half of b₁ ln(2/beta) + b₂ ln(2 below/beta), where b₁ and b₂
    are the scales of the threshold's and the questions' noise; for two-sided noise it is about that sum.

    Proof: proofs/sparse_vector_interval.md
    """
    once, ways = rule.threshold_noise, rule.comparisons
    share = beta / (2 if isinstance(once, Geometric) else 4)  # noise to the left of zero can err in two more ways
    false_yes = max(reach(one.noise, share / (max(below, 1) * len(ways))) - one.bar for one in ways)
    false_no = min(depth(one.noise, share / max(above, 1)) + one.bar for one in ways)
    return max(false_yes + depth(once, share) + 1, false_no + reach(once, share), 0)


def best_lift(rule: Rule, *, below: int, above: int, confidence: float) -> int:
    """Return by how many steps the bar should be raised so that the margin is smallest."""
    scale = max(width(rule.threshold_noise), *(width(one.noise) for one in rule.comparisons))

    def margin_if_lifted(lift: float) -> float:
        def excess(at: float) -> float:
            return max(_log_all_right(rule, at, lift, below, above), _HOPELESS) - math.log(confidence)

        high = scale
        while excess(high) < 0:
            high *= 2
        return float(brentq(excess, -scale, high, xtol=scale / 1000)) if excess(-scale) < 0 else -scale

    most = math.log(below + above + 2) + 2
    found = minimize_scalar(
        margin_if_lifted, bounds=(-3 * scale, most * scale), method="bounded", options={"xatol": scale / 100}
    )
    return round(float(found.x))


def lifted(rule: Rule, steps: int) -> Rule:
    """Return the rule with every bar raised."""
    return replace(rule, comparisons=tuple(replace(one, bar=one.bar + steps) for one in rule.comparisons))


def _log_all_right(rule: Rule, margin: float, lift: float, below: int, above: int) -> float:
    z, log_weight = _over_the_threshold_noise(rule, (-margin - lift, margin - lift))
    total = log_weight
    if below:
        total = total + below * _log_no(rule, z + lift + margin)
    if above:
        total = total + above * _log_yes(rule, z + lift - margin)
    return float(logsumexp(total))


def _over_the_threshold_noise(rule: Rule, distances: tuple[float, ...]) -> tuple[Floats, Floats]:
    breaks = [at - one.bar + edge for one in rule.comparisons for at in distances for edge in (0, 1)]
    return quadrature(rule.threshold_noise, breaks, finest=min(width(one.noise) for one in rule.comparisons))


def _log_no(rule: Rule, x: Floats) -> Floats:
    """Return ln P(no) of a value that lies x steps below its threshold's noise: every comparison fails."""
    log_no = np.zeros_like(x)
    for one in rule.comparisons:
        log_no = log_no + log_below(one.noise, one.bar + x)
    return log_no


def _log_yes(rule: Rule, x: Floats) -> Floats:
    if len(rule.comparisons) == 1:
        (only,) = rule.comparisons
        return log_at_least(only.noise, only.bar + x)
    with np.errstate(divide="ignore"):
        log_yes: Floats = np.log(-np.expm1(_log_no(rule, x)))
    return log_yes
