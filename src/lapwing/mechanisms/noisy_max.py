"""Report noisy max with gap: permute-and-flip, which also says by how much its winner won. The gap is free.

The winner's own noisy score is never released: index and gap are all that the proof covers.

Proof: proofs/noisy_max.md
"""

from dataclasses import dataclass, field
from fractions import Fraction

from lapwing.accounting.priced_loss import PricedLoss
from lapwing.accounting.pricing import price
from lapwing.mechanisms.permute_and_flip import PermuteAndFlip, noisy_scores
from lapwing.mechanisms.scores import Scores
from lapwing.vocabulary.event import PureRelease
from lapwing.vocabulary.exact import Exact, as_int
from lapwing.vocabulary.guarantee import Adjacency


@dataclass(frozen=True, slots=True, kw_only=True)
class Winner:
    """The candidate whose noisy score was highest, and how far the runner-up was behind.

    `gap` is the difference of two noisy scores after the larger was picked, so it is too large on average; take it as
    evidence of how clear the decision was, not as an estimate with a margin.
    """

    index: int
    gap: float


@dataclass(frozen=True, slots=True, init=False)
class NoisyMaxWithGap:
    """Releases the index of the highest of the scores with exponential noise, and its gap to the runner-up.

    If one person moves every score by at most Δ and the noise has scale 2Δ/ε (Δ/ε for monotone scores), then index and
    gap together are ε-differentially private: the gap costs nothing.

    Parameters
    ----------
    sensitivity, candidates, epsilon, within, confidence, monotone_under, grid : as in `PermuteAndFlip`; at least two
        candidates

    Examples
    --------
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

    event: PureRelease
    _selector: PermuteAndFlip = field(repr=False)

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
        selector = PermuteAndFlip(
            sensitivity=sensitivity,
            candidates=as_int("candidates", candidates, least=2),
            epsilon=epsilon,
            within=within,
            confidence=confidence,
            monotone_under=monotone_under,
            grid=grid,
        )
        object.__setattr__(self, "event", selector.event)
        object.__setattr__(self, "_selector", selector)

    @property
    def epsilon(self) -> Fraction:
        """The price of a release."""
        return self.event.epsilon

    @property
    def loss(self) -> PricedLoss:
        """What a release costs, in every currency."""
        return price(self.event)

    def release(self, value: Scores) -> Winner:
        """Return the winner and its gap."""
        lattice = self._selector.lattice
        noisy = noisy_scores(lattice, value)
        winner = int(noisy.argmax())
        best = int(noisy[winner])
        noisy[:winner] += 1  # a tie goes to the lower index: the winner had to be above these, not just level
        noisy[winner] = noisy.min()
        return Winner(index=winner, gap=float((best - int(noisy.max())) * lattice.unit))

    def margin(self, confidence: Exact) -> float:
        """Return m such that the winner's score is at most m below the best, with probability at least `confidence`."""
        return self._selector.margin(confidence)

    def confidence(self, margin: Exact) -> float:
        """Return the probability, rounded down, that the winner's score is at most `margin` below the best."""
        return self._selector.confidence(margin)
