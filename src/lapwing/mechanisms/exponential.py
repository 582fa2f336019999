"""The exponential mechanism: chooses a good candidate, each with a probability that grows with its score.

`lapwing.mechanisms.permute_and_flip` is never worse at the same epsilon. The exponential mechanism is for budgets that
are counted in rho or (epsilon, delta): there it costs about a quarter of what its epsilon alone would. Candidates are
listed, or all whole numbers of a range.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from lapwing.mechanisms.noise_mechanism import Integers, integers
from lapwing.mechanisms.score_selection import Scores, ScoreSelection
from lapwing.noise.coins_and_dice import choose_exponential, choose_exponential_sized
from lapwing.noise.fine_lattice import UNIT_BITS
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import ExponentialSelection
from lapwing.vocabulary.exact import Exact, Sensitive, as_int, exact, fill, float_above
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency

_REACH = 44  # up to this number of noise scales behind the best, weights are what they should be; e^-44 is 8e-20
_FARTHEST = 2**53  # numbers of a range, and how far from 0 they lie
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


@frozen(kw_only=False, init=False)
class ExponentialOnRange(ExponentialMechanism):
    """Chooses one of all whole numbers from `low` to `high`, r with probability ∝ e^(ε u(r) / 2Δ).

    If one person moves the score of every number by at most Δ, then choosing is ε-differentially private: it is the
    exponential mechanism with `high` - `low` + 1 candidates, up to 2^53. Where the score changes may depend on data.

    The score is a step function: `release` takes the scores of pieces and their `starts`. From its start up to the next
    start a piece has its score. The first piece begins at `low` whatever its start is; a start below the one before it,
    or outside of the range, counts as the nearest place that is possible. Time and memory grow with the number of
    pieces, not of candidates. A range of the reals is one of whole numbers of small steps. On all integers without
    bounds only scores that fall fast enough have a law at all: with the score -|r - f| it is geometric noise.

    The median of 1,001 incomes among a million million possible ones, by the score -|2 (rows below) - all rows|, which
    one person who comes or goes moves by 1:

    >>> incomes = sorted(30_000 + 40 * row for row in range(1001))
    >>> scores = [-abs(2 * below - 1001) for below in range(1002)]
    >>> median = ExponentialOnRange(low=0, high=10**12, sensitivity=1, epsilon=1)
    >>> 40_000 < median.release(scores, starts=[0, *incomes]) < 60_000
    True
    >>> round(median.margin("0.95"), 1)  # by how much its score falls short of the best
    61.2

    Theorem: McSherry, Talwar, *Mechanism design via differential privacy*, FOCS 2007, Theorem 6.
    Proof: proofs/exponential_on_range.md
    """

    low: int

    MOST = _FARTHEST

    def __init__(
        self,
        *,
        low: int,
        high: int,
        sensitivity: Exact,
        epsilon: Exact | None = None,
        within: Exact | None = None,
        confidence: Exact | None = None,
        monotone_under: Adjacency | None = None,
    ) -> None:
        first = as_int("low", low, least=-_FARTHEST, most=_FARTHEST)
        last = as_int("high", high, least=-_FARTHEST, most=_FARTHEST)
        if not first <= last < first + self.MOST:
            reason = f"is below low, {first}" if last < first else f"is more than 2^53 numbers away from low, {first}"
            raise ParameterError("high", high, reason=reason, remedy="give a range of 1 to 2^53 whole numbers")
        ExponentialMechanism.__init__(
            self,
            sensitivity=sensitivity,
            candidates=last - first + 1,
            epsilon=epsilon,
            within=within,
            confidence=confidence,
            monotone_under=monotone_under,
        )
        fill(self, low=first)

    @property
    def high(self) -> int:
        """The last candidate."""
        return self.low + self.lattice.candidates - 1

    def release(self, value: Scores, *, starts: Integers | None = None) -> int:
        """Return the number that was chosen by its score; without `starts`, from the scores of all numbers in order."""
        if starts is None:
            return self.low + choose_exponential(self.lattice.offsets(value))
        scores = integers(value, remedy="hand in an integer score for every piece")
        begins = integers(starts, remedy="hand in integers: where each piece begins")
        if isinstance(scores, int) or isinstance(begins, int) or scores.shape != begins.shape or not scores.size:
            del scores, begins
            remedy = "hand in a score and a start for each piece, one or more"
            raise ParameterError("starts", Sensitive(None), reason="are not as many as scores", remedy=remedy)
        begins = np.maximum.accumulate(np.clip(begins, self.low, self.high + 1))
        begins[0] = self.low
        sizes = np.diff(np.append(begins, self.high + 1))
        kept = sizes > 0
        lattice = replace(self.lattice, candidates=int(kept.sum()))
        chosen, place = choose_exponential_sized(lattice.offsets(scores[kept]), sizes[kept].tolist())
        return int(begins[kept][chosen]) + place


def _within_reach(name: str, given: object, scales: float) -> float:
    if scales <= _REACH:
        return max(0.0, scales * (1 + _SLACK) + _SLACK)
    reason = f"is about scores more than {_REACH} noise scales behind the best, which may all count alike"
    raise ParameterError(name, given, reason=reason, remedy="ask for less")
