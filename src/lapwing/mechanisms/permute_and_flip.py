"""Permute-and-flip: the default way to choose a good candidate; and report noisy max, which also releases the gap.

Never worse than the exponential mechanism. The gap to the runner-up is free; the winner's own noisy score is never
released: index and gap are all that the proof covers.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.score_selection import ScoreLattice, Scores, ScoreSelection
from lapwing.noise.coins_and_dice import exponential_lattice
from lapwing.noise.fine_lattice import UNIT_BITS
from lapwing.vocabulary.event import PureRelease
from lapwing.vocabulary.exact import Exact, float_below
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.search import floats

_UNIT_BITS = 40  # noise is cut to 2^-40 of its scale: in 64 bits, scores two million scales apart have room
_UNIT = 2.0**-_UNIT_BITS
_SLACK = 1e-12
_EXACT_DOWN_TO = 1e-6


class _NoisyMaximum(ScoreSelection[PureRelease]):
    __slots__ = ()

    EVENT = PureRelease
    UNIT_BITS = _UNIT_BITS
    FLOOR_BITS = 61

    def confidence(self, margin: Exact) -> float:
        scales = float_below(self.lattice.in_scales(margin))
        if scales < 0:
            return 0.0
        return max(0.0, 1 - _chance_behind(max(0.0, scales - _UNIT), self.lattice.candidates))

    @staticmethod
    def scales_behind(confidence: Fraction, candidates: int) -> float:
        allowed = float_below(1 - confidence)
        if _chance_behind(0.0, candidates) <= allowed:
            return 0.0
        search = floats(relative=_SLACK)
        while search.open:
            search.tell(_chance_behind(search.guess, candidates) <= allowed)
        return search.above + _UNIT


class PermuteAndFlip(_NoisyMaximum):
    """Looks at the candidates in random order and takes each with probability e^(ε (u_i - u_best) / 2Δ).

    If one person moves every score by at most Δ, then choosing is ε-differentially private; scores that all move the
    same way (`monotone_under`) are weighted by e^(ε (u_i - u_best) / Δ) at the same price. For all scores, the chosen
    one is in distribution at least as good as that of the exponential mechanism. Nothing better than ε is claimed:
    bounded range does not hold here, and ε²/8 must never be charged.

    It is drawn as the largest score with exponential noise, which is the same law but for ties (there are none, up to a
    probability of 2^-40 for two candidates): they go to the lower index.

    Scores and Δ are whole numbers, or rounded to a `grid`, whose step is a power of two. An accuracy (`within` with
    `confidence`) is how far the chosen score may fall short of the best one.

    >>> from lapwing.vocabulary.guarantee import Adjacency
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

    __slots__ = ()

    def release(self, value: Scores) -> int:
        """Return the index of the candidate that was chosen by its score."""
        return int(noisy_scores(self.lattice, value).argmax())


@frozen()
class Winner:
    """The candidate whose noisy score was highest, and how far the runner-up was behind.

    `gap` is the difference of two noisy scores after the larger was picked, so it is too large on average; take it as
    evidence of how clear the decision was, not as an estimate with a margin.
    """

    index: int
    gap: float


class NoisyMaxWithGap(_NoisyMaximum):
    """Releases the index of the highest of the scores with exponential noise, and its gap to the runner-up.

    If one person moves every score by at most Δ and the noise has scale 2Δ/ε (Δ/ε for monotone scores), then index and
    gap together are ε-differentially private: the gap costs nothing. There are at least two candidates.

    >>> commonest = NoisyMaxWithGap(sensitivity=1, candidates=4, epsilon=1)
    >>> winner = commonest.release([120, 40, 80, 7])
    >>> winner.index in range(4), winner.gap >= 0
    (True, True)
    >>> commonest.event
    PureRelease(epsilon=Fraction(1, 1))

    Theorem: Ding, Wang, Xiao, Zhang, Kifer, *Free gap information from the differentially private sparse vector and
    noisy max mechanisms*, PVLDB 2019, for Laplace noise; the proof here is for exponential noise.
    Proof: proofs/noisy_max.md
    """

    __slots__ = ()

    FEWEST = 2

    def release(self, value: Scores) -> Winner:
        """Return the winner and its gap."""
        lattice = self.lattice
        noisy = noisy_scores(lattice, value)
        winner = int(noisy.argmax())
        best = int(noisy[winner])
        noisy[:winner] += 1  # a tie goes to the lower index: the winner had to be above these, not just level
        noisy[winner] = noisy.min()
        return Winner(index=winner, gap=float((best - int(noisy.max())) * lattice.unit))


def noisy_scores(lattice: ScoreLattice, scores: Scores) -> NDArray[np.int64]:
    """Return the scores, each with exponential noise of its own, in lattice steps: as secret as the scores themselves.

    Only the index of the highest, and by how much it is the highest, may be shown.
    """
    offsets = lattice.offsets(scores)
    noise = exponential_lattice(offsets.size) >> np.uint64(UNIT_BITS - _UNIT_BITS)
    return offsets + noise.astype(np.int64)


def _chance_behind(scales: float, candidates: int) -> float:
    """Bound the probability that one of n - 1 candidates `scales` behind the best one wins: 1 - (1 - (1-p)^n)/(n p)."""
    p = math.exp(-scales)
    union = (candidates - 1) * p / 2
    if p == 1:
        return 1 - 1 / candidates
    if union < _EXACT_DOWN_TO:  # below, the formula cancels, and the union bound is as good
        return union * (1 + _SLACK)
    return 1 + math.expm1(candidates * math.log1p(-p)) / (candidates * p) + _SLACK
