"""Permute-and-flip: the default way to choose a good candidate. Never worse than the exponential mechanism.

Proof: proofs/permute_and_flip.md
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from lapwing.accounting.priced_loss import PricedLoss
from lapwing.accounting.pricing import price
from lapwing.accounting.rounding import float_below
from lapwing.mechanisms.scores import ScoreLattice, Scores, score_lattice
from lapwing.noise.candidate_noise import exponential_lattice
from lapwing.noise.fine_lattice import UNIT_BITS
from lapwing.vocabulary.event import PureRelease
from lapwing.vocabulary.exact import Exact, probability
from lapwing.vocabulary.guarantee import Adjacency

_UNIT_BITS = 40
"""Noise is cut to 2^-40 of its scale, which leaves room in 64 bits for scores two million scales apart."""

_UNIT = 2.0**-_UNIT_BITS
_FLOOR_BITS = 61
_SLACK = 1e-12
_EXACT_DOWN_TO = 1e-6


@dataclass(frozen=True, slots=True, init=False)
class PermuteAndFlip:
    """Looks at the candidates in random order and takes each with probability e^(ε (u_i - u_best) / 2Δ).

    If one person moves every score by at most Δ, then choosing is ε-differentially private; scores that all move the
    same way (`monotone_under`) are weighted by e^(ε (u_i - u_best) / Δ) at the same price. Whatever the scores are, the
    chosen one is in distribution at least as good as that of the exponential mechanism. Nothing better than ε is
    claimed: bounded range does not hold here, and ε²/8 must never be charged.

    It is drawn as the largest score with exponential noise, which is the same law but for ties (there are none, up to a
    probability of 2^-40 for two candidates): they go to the lower index.

    Parameters
    ----------
    sensitivity : Δ; a whole number where there is no `grid`
    candidates : how many there are; public
    epsilon : the price; or
    within, confidence : the accuracy: how far the chosen score may fall short of the best one
    monotone_under : the adjacency under which all scores move the same way, ADD_REMOVE, if they do
    grid : for scores that are not whole numbers: the step, a power of two, to whose multiples they are rounded

    Examples
    --------
    >>> commonest = PermuteAndFlip(sensitivity=1, candidates=4, epsilon=1, monotone_under=Adjacency.ADD_REMOVE)
    >>> commonest.release([120, 40, 80, 7]) in range(4)
    True
    >>> commonest.event
    PureRelease(epsilon=Fraction(1, 1))
    >>> round(commonest.margin("0.95"), 2)
    3.38

    Theorem: McKenna, Sheldon, *Permute-and-flip: a new mechanism for differentially private selection*, NeurIPS 2020;
    as noisy maximum: Ding, Kifer, Steinke and others 2021.
    Proof: proofs/permute_and_flip.md
    """

    event: PureRelease
    lattice: ScoreLattice = field(repr=False)

    def __init__(
        self,
        *,
        sensitivity: Exact,
        candidates: int,
        epsilon: Exact | None = None,
        within: Exact | None = None,
        confidence: Exact | None = None,
        monotone_under: Adjacency | None = None,
        grid: Exact | None = None,
    ) -> None:
        lattice = score_lattice(
            sensitivity=sensitivity,
            candidates=candidates,
            epsilon=epsilon,
            within=within,
            confidence=confidence,
            monotone_under=monotone_under,
            grid=grid,
            unit_bits=_UNIT_BITS,
            floor_bits=_FLOOR_BITS,
            shortfall=_scales_behind,
        )
        object.__setattr__(self, "event", PureRelease(epsilon=lattice.epsilon))
        object.__setattr__(self, "lattice", lattice)

    @property
    def epsilon(self) -> Fraction:
        """The price of a release."""
        return self.event.epsilon

    @property
    def loss(self) -> PricedLoss:
        """What a release costs, in every currency."""
        return price(self.event)

    def release(self, value: Scores) -> int:
        """Return the index of the candidate that was chosen by its score."""
        return int(noisy_scores(self.lattice, value).argmax())

    def margin(self, confidence: Exact) -> float:
        """Return m such that the chosen score is at most m below the best, with probability at least `confidence`.

        Up to rounding it is the smallest m that holds for all scores: n - 1 candidates at m below a single best one
        attain it. A step of the `grid` is part of it, since scores are rounded before they are compared.
        """
        chance = probability("confidence", confidence)
        return self.lattice.in_scores(_scales_behind(chance, self.lattice.candidates))

    def confidence(self, margin: Exact) -> float:
        """Return the probability, rounded down, that the chosen score is at most `margin` below the best."""
        scales = float_below(self.lattice.in_scales(margin))
        if scales < 0:
            return 0.0
        return max(0.0, 1 - _chance_behind(max(0.0, scales - _UNIT), self.lattice.candidates))


def noisy_scores(lattice: ScoreLattice, scores: Scores) -> NDArray[np.int64]:
    """Return the scores, each with exponential noise of its own, in lattice steps: as secret as the scores themselves.

    Only the index of the highest, and by how much it is the highest, may be shown.
    """
    offsets = lattice.offsets(scores)
    noise = exponential_lattice(offsets.size) >> np.uint64(UNIT_BITS - _UNIT_BITS)
    return offsets + noise.astype(np.int64)


def _scales_behind(confidence: Fraction, candidates: int) -> float:
    """Return how many noise scales the chosen score may be behind the best, rounded up."""
    allowed = float_below(1 - confidence)
    low, high = 0.0, 1.0
    if _chance_behind(low, candidates) <= allowed:
        return 0.0
    while _chance_behind(high, candidates) > allowed:
        low, high = high, 2 * high
    while high - low > _SLACK * high:
        middle = (low + high) / 2
        low, high = (low, middle) if _chance_behind(middle, candidates) <= allowed else (middle, high)
    return high + _UNIT


def _chance_behind(scales: float, candidates: int) -> float:
    """Bound the probability that one of n - 1 candidates `scales` behind the best one wins: 1 - (1 - (1-p)^n)/(n p)."""
    p = math.exp(-scales)
    union = (candidates - 1) * p / 2
    if p == 1:
        return 1 - 1 / candidates
    if union < _EXACT_DOWN_TO:  # below, the formula cancels, and the union bound is as good
        return union * (1 + _SLACK)
    return 1 + math.expm1(candidates * math.log1p(-p)) / (candidates * p) + _SLACK
