"""The exponential mechanism: chooses a good candidate, each with a probability that grows with its score.

`lapwing.mechanisms.permute_and_flip` is never worse at the same epsilon. The exponential mechanism is for budgets that
are counted in rho or (epsilon, delta): there it costs about a quarter of what its epsilon alone would.
"""

import math
from fractions import Fraction

from lapwing.mechanisms.score_selection import Scores, ScoreSelection
from lapwing.noise.coins_and_dice import choose_exponential
from lapwing.noise.fine_lattice import UNIT_BITS
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import ExponentialSelection
from lapwing.vocabulary.exact import Exact, as_int, exact, float_above

_REACH = 44  # up to this number of noise scales behind the best, weights are what they should be; e^-44 is 8e-20
_SLACK = 1e-12  # more than what the logarithms, exponentials and sums below can lose


class ExponentialMechanism(ScoreSelection[ExponentialSelection]):
    """Chooses candidate i with probability ∝ e^(ε u_i / 2Δ): ε-differentially private, with bounded range.

    If one person moves every score by at most Δ, then choosing is ε-differentially private; more than that, the privacy
    loss lies in an interval of length ε, so that choosing is also ε²/8-zero-concentrated differentially private. Scores
    that all move the same way (`monotone_under`) are weighted by e^(ε u_i / Δ) at the same price.

    Scores and Δ are whole numbers, or rounded to a `grid`, whose step is a power of two. An accuracy (`within` with
    `confidence`) is how far the chosen score may fall short of the best one.

    >>> prices = ExponentialMechanism(sensitivity=5, candidates=3, epsilon=2)
    >>> prices.release([3, 4, 5]) in {0, 1, 2}
    True
    >>> prices.event
    ExponentialSelection(epsilon=Fraction(2, 1))
    >>> round(prices.margin("0.95"), 2)
    18.19

    Theorem: McSherry, Talwar, *Mechanism design via differential privacy*, FOCS 2007, Theorem 6; bounded range: Durfee,
    Rogers, NeurIPS 2019; ε²/8: Cesar, Rogers, ALT 2021.
    Proof: proofs/exponential.md
    """

    __slots__ = ()

    EVENT = ExponentialSelection
    UNIT_BITS = UNIT_BITS
    FLOOR_BITS = UNIT_BITS + 6  # about 64 noise scales, and never fewer than 44

    def release(self, value: Scores) -> int:
        """Return the index of the candidate that was chosen by its score."""
        return choose_exponential(self.lattice.offsets(value))

    def confidence(self, margin: Exact) -> float:  # noqa: D102 - as the base says
        scales = self.lattice.in_scales(margin)
        if scales < 0:
            return 0.0
        return (1 - _SLACK) / (1 + (self.lattice.candidates - 1) * math.exp(-float(min(scales, Fraction(_REACH)))))

    def utility(self, t: Exact, *, optimal: int = 1) -> float:
        """Return x such that the chosen score is at most the best minus x with probability at most e^(-t).

        This is Lemma 3.2 of the lecture on the exponential mechanism: x = (2Δ/ε) (ln(|H|/|H*|) + t), where |H| is the
        number of candidates and |H*| = `optimal` of them have the best score; a step of the `grid` is added where there
        is one. `margin` is a little tighter.

        >>> round(ExponentialMechanism(sensitivity=1, candidates=100, epsilon=1).utility(3), 2)
        15.21
        """
        best = as_int("optimal", optimal, most=self.lattice.candidates)
        scales = math.log(self.lattice.candidates / best) + float_above(exact("t", t))
        return self.lattice.in_scores(_within_reach("t", t, scales))

    @staticmethod
    def scales_behind(confidence: Fraction, candidates: int) -> float:  # noqa: D102 - as the base says
        odds = (candidates - 1) * confidence / (1 - confidence)
        return _within_reach("confidence", confidence, math.log(odds)) if odds > 1 else 0.0


def _within_reach(name: str, given: object, scales: float) -> float:
    if scales <= _REACH:
        return max(0.0, scales * (1 + _SLACK) + _SLACK)
    reason = f"is about scores more than {_REACH} noise scales behind the best, which may all count alike"
    raise ParameterError(name, given, reason=reason, remedy="ask for less")
