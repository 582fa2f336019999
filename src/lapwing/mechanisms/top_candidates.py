"""The few best of many candidates: permute-and-flip, again and again, each time without those already chosen.

Proof: proofs/top_candidates.md
"""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from lapwing.accounting.priced_loss import PricedLoss
from lapwing.accounting.pricing import price
from lapwing.mechanisms.noisy_sums import integers, wrong_size
from lapwing.mechanisms.permute_and_flip import PermuteAndFlip
from lapwing.mechanisms.scores import Scores
from lapwing.vocabulary.adjacency import Adjacency
from lapwing.vocabulary.event import PureRelease, Repeated
from lapwing.vocabulary.exact import Exact, positive, whole


@dataclass(frozen=True, slots=True, init=False)
class TopCandidates:
    """Chooses `k` of the candidates with the highest scores, best first: ε-differentially private.

    If one person moves every score by at most Δ, then each of the k choices is (ε/k)-differentially private given those
    before it, and all of them together ε.

    Parameters
    ----------
    k : how many are chosen
    sensitivity, candidates, monotone_under : as in `PermuteAndFlip`; more candidates than `k`
    epsilon : the price of all k choices

    Examples
    --------
    >>> commonest = TopCandidates(k=2, sensitivity=1, candidates=4, epsilon=1, monotone_under=Adjacency.ADD_REMOVE)
    >>> chosen = commonest.release([12_000, 4_000, 8_000, 7])
    >>> chosen
    (0, 2)
    >>> commonest.event
    Repeated(part=PureRelease(epsilon=Fraction(1, 2)), times=2)

    Proof: proofs/top_candidates.md
    """

    event: Repeated
    candidates: int
    _choices: tuple[PermuteAndFlip, ...] = field(repr=False)

    def __init__(
        self,
        *,
        k: int,
        sensitivity: int,
        candidates: int,
        epsilon: Exact,
        monotone_under: Adjacency | None = None,
    ) -> None:
        number = whole("candidates", candidates, least=2, most=2**31)
        times = whole("k", k, most=number - 1)
        each = positive("epsilon", epsilon) / times
        choices = tuple(
            PermuteAndFlip(
                sensitivity=whole("sensitivity", sensitivity),
                candidates=number - chosen,
                epsilon=each,
                monotone_under=monotone_under,
            )
            for chosen in range(times)
        )
        object.__setattr__(self, "event", Repeated(part=PureRelease(epsilon=each), times=times))
        object.__setattr__(self, "candidates", number)
        object.__setattr__(self, "_choices", choices)

    @property
    def epsilon(self) -> Fraction:
        """The price of a release."""
        return sum((choice.epsilon for choice in self._choices), Fraction(0))

    @property
    def loss(self) -> PricedLoss:
        """What a release costs, in every currency."""
        return price(self.event)

    def release(self, value: Scores) -> tuple[int, ...]:
        """Return the indices of the chosen candidates, the first choice first."""
        scores = integers(value)
        if isinstance(scores, int) or scores.shape != (self.candidates,):
            del scores, value
            raise wrong_size(self.candidates)
        left = np.arange(scores.size)
        chosen = []
        for choice in self._choices:
            place = choice.release(scores[left])
            chosen.append(int(left[place]))
            left = np.delete(left, place)
        return tuple(chosen)
