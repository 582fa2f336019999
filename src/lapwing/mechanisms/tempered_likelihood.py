"""One draw from the posterior of a proportion: the exponential mechanism, with the log-likelihood as the score.

A posterior is random already, and it is tempting to call one draw of it private for nothing. It is private at all only
because one person's log-likelihood is bounded: candidates are proportions from 1 % to 99 %, so that nobody's answer has
a likelihood below 1 %. Noise on the two counts with a posterior from them is twice as exact at the same price, and
comes with an interval; this is here for the documents, which ask for it, and to be compared with.
"""

import math
from fractions import Fraction
from typing import Final

from lapwing.mechanisms.exponential import ExponentialMechanism
from lapwing.mechanisms.noise_mechanism import Integers, Priced, integers, wrong_size
from lapwing.vocabulary.event import ExponentialSelection
from lapwing.vocabulary.exact import Exact, as_int, fill, positive, probability
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency

_UNITS: Final = 1 << 10  # a score counts 1/1024 of a natural logarithm
_FARTHEST: Final = 1 << 40


@frozen(kw_only=False, init=False)
class PosteriorDraw(Priced[ExponentialSelection]):
    """Draws one of `points` proportions, evenly spread between 0 and 1, each by a power of its likelihood.

    Its input are two counts, of noes and of yeses. A yes adds log p to the score of p and a no log(1 - p), in whole
    steps: between -B and 0, where B is minus the logarithm of the smallest proportion. The law is the posterior under a
    flat prior, tempered: likelihoods are taken to a power of at most 1, which is smaller at a smaller epsilon.

    Parameters
    ----------
    points : how many proportions there are to choose from
    sensitivity : how many rows one protected person, or group, adds at most
    epsilon : the price
    one_way : whether neighbours differ in people who are there or not; then all scores move the same way

    >>> draw = PosteriorDraw(points=9, sensitivity=1, epsilon=20, one_way=True)
    >>> draw.value(*draw.release([0, 5000]))
    0.9

    Proof: proofs/posterior_draw.md
    """

    points: int
    scores: tuple[tuple[int, int], ...]
    chooser: ExponentialMechanism

    def __init__(self, *, points: int, sensitivity: int, epsilon: Exact, one_way: bool) -> None:
        many, rows, price = (
            as_int("points", points, least=2, most=9999),
            as_int("sensitivity", sensitivity),
            positive("epsilon", epsilon),
        )
        scores = tuple((_score(many + 1 - i, many + 1), _score(i, many + 1)) for i in range(1, many + 1))
        bound = -min(min(pair) for pair in scores)
        untempered = math.ceil(
            price * _UNITS * (1 if one_way else Fraction(1, 2))
        )  # no likelihood counts more than once
        chooser = ExponentialMechanism(
            sensitivity=max(rows * bound, untempered),
            candidates=many,
            epsilon=price,
            monotone_under=Adjacency.ADD_REMOVE if one_way else None,
        )
        fill(self, event=chooser.event, points=many, scores=scores, chooser=chooser)

    @property
    def temper(self) -> float:
        """The power to which likelihoods are taken: 1 is the posterior itself."""
        return _UNITS / float(self.chooser.noise_scale)

    def value(self, place: int) -> float:
        """Return the proportion at a place."""
        return (place + 1) / (self.points + 1)

    def release(self, value: Integers) -> tuple[int]:
        """Return the place of the proportion that was drawn, from the numbers of noes and of yeses."""
        counts = integers(value)
        if isinstance(counts, int) or counts.size != 2:  # noqa: PLR2004 - noes and yeses
            del counts
            raise wrong_size(2)
        no, yes = (max(0, min(_FARTHEST, int(one))) for one in counts.tolist())
        return (self.chooser.release([no * against + yes * for_ for against, for_ in self.scores]),)

    def margin(self, confidence: Exact) -> float:
        """Return 1, whatever the confidence: how far one draw is off depends on how many people there are."""
        probability("confidence", confidence)
        return 1.0


def _score(part: int, whole: int) -> int:
    """Return log(part/whole) in whole steps, rounded to the nearest; the same on every machine up to one step."""
    return round(math.log(part / whole) * _UNITS)
