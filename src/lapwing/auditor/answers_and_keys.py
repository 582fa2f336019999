"""White boxes of one person's own answer (randomized response), and of keys that show once enough people have them."""

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np

from lapwing.auditor.noise_laws import NoiseLaw, Reals
from lapwing.auditor.pair_of_laws import PairOfLaws
from lapwing.auditor.white_box import Achieved, Inputs, search
from lapwing.vocabulary.guarantee import Guarantee

_SHOWN = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedAnswer:
    """The true category with probability odds/(odds + k - 1), and else one of the k - 1 others, evenly.

    >>> from lapwing.vocabulary.guarantee import PureDP
    >>> round(RandomizedAnswer(odds=math.exp(0.5), categories=4).worst(PureDP(epsilon="0.5")).number, 9)
    0.5
    """

    odds: float
    categories: int

    def worst(self, claim: Guarantee) -> Achieved:
        """Return the most that is lost on any two truths: all pairs are alike."""
        return search(self, claim)

    def starts(self) -> Iterator[Inputs]:
        """Yield the one pair of truths there is, up to names."""
        yield (0,), (1,)

    def nearby(self, inputs: Inputs) -> Iterable[Inputs]:  # noqa: ARG002 - there are no others
        """Return nothing: all pairs are alike."""
        return ()

    def laws(self, inputs: Inputs) -> PairOfLaws:
        """Return the law of the answer for both truths."""
        here, there = (self._law(truth) for (truth,) in inputs)
        names = [f"answer {i}" for i in range(self.categories)]
        return PairOfLaws(inputs=inputs, here=here, there=there, outcomes=names)

    def _law(self, truth: int) -> Reals:
        logs = np.zeros(self.categories)
        logs[truth] = math.log(self.odds)
        return logs - math.log(self.odds + self.categories - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdedKeys:
    """Noise on the count of every key that somebody has; a key shows, with its noisy count, from `threshold` on.

    Parameters
    ----------
    law : the noise, on the integers
    threshold : the smallest noisy count that is shown
    reach : how far neighbours' counts are apart in all, each by at most `people`
    people : how many people are protected together

    Examples
    --------
    The key of one person alone shows with probability P(noise >= threshold - 1): that is the whole delta.

    >>> from lapwing.auditor.noise_laws import AuditedDiscreteLaplace
    >>> from lapwing.vocabulary.guarantee import ApproximateDP
    >>> keys = ThresholdedKeys(law=AuditedDiscreteLaplace(1), threshold=15, reach=1)
    >>> found = keys.worst(ApproximateDP(epsilon=1, delta="1e-6"))
    >>> found.refuted, found.delta < 1e-6
    (False, True)
    """

    law: NoiseLaw
    threshold: int
    reach: int
    people: int = 1

    def worst(self, claim: Guarantee) -> Achieved:
        """Return the most that was found to be lost."""
        return search(self, claim)

    def starts(self) -> Iterator[Inputs]:
        """Yield keys that are new, rare, or near the threshold, to which the neighbour adds what it can."""
        spots = (0, 1, self.threshold - 2, self.threshold, self.threshold + 20)
        for moves in ((1,) * self.reach, _chunks(self.reach, self.people)):
            for width in range(1, len(moves) + 1):
                for counts in itertools.combinations_with_replacement(spots, width):
                    yield counts, tuple(count + move for count, move in zip(counts, moves, strict=False))

    def nearby(self, inputs: Inputs) -> Iterator[Inputs]:
        """Yield the same with one key that has one person more, or less, on both."""
        for i, by in itertools.product(range(len(inputs[0])), (1, -1)):
            if inputs[0][i] + by >= 0:
                yield _more(inputs[0], i, by), _more(inputs[1], i, by)

    def laws(self, inputs: Inputs) -> PairOfLaws:
        """Return the law of what is shown of the keys that the neighbour changes; the others tell nothing."""
        pairs = [self._one(here, there).condensed() for here, there in zip(*inputs, strict=True)]
        return reduce(PairOfLaws.times, pairs)

    def _one(self, here: int, there: int) -> PairOfLaws:
        shown = np.arange(self.threshold, max(self.threshold, there) + _SHOWN, dtype=np.float64)
        names = ["not shown", *(f"shown as {n:g}" for n in shown)]
        laws = (self._law(count, shown) for count in (here, there))
        return PairOfLaws(inputs=(here, there), here=next(laws), there=next(laws), outcomes=names)

    def _law(self, count: int, shown: Reals) -> Reals:
        if count == 0:  # nobody has the key, so it is not even looked at
            return np.concatenate(([0.0], np.full(len(shown), -math.inf)))
        inner, last = self.law.log_density(shown[:-1], -count), self.law.log_at_least(shown[-1:], -count)
        return np.concatenate((self.law.log_below(shown[:1], -count), inner, last))


def _chunks(reach: int, people: int) -> tuple[int, ...]:
    """Return how many people each key gets if as many as there are share one."""
    return (people,) * (reach // people) + ((reach % people,) if reach % people else ())


def _more(counts: tuple[int, ...], i: int, by: int) -> tuple[int, ...]:
    return (*counts[:i], counts[i] + by, *counts[i + 1 :])
