"""White boxes of noise that is added to numbers, and of what is built from it: vectors, samples, and many releases.

Added noise is hardest on two inputs that are as far apart as the sensitivity allows, and where they lie does not
matter: so all ways to spread the sensitivity over the coordinates are tried, and the search is complete.
"""

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import reduce

import numpy as np

from lapwing.auditor.noise_laws import NoiseLaw, Reals
from lapwing.auditor.pair_of_laws import AtMost, AuditedAtLeast, PairOfLaws
from lapwing.auditor.white_box import FiniteModel, Inputs
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import as_int, coerce_fields
from lapwing.vocabulary.search import first_integer

_DEPTH = 60.0  # where a tail has less than e^-60 of the mass, its outcomes are merged into one
_MOST_STEPS = 1 << 22


class Norm(Enum):
    """How the distance of two inputs is measured, in steps."""

    L1 = 1
    L2_SQUARED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedNoise(FiniteModel):
    """Noise of one law on each coordinate of a vector of numbers on its lattice.

    Geometric noise of scale 2 on a count: epsilon is 1/2, and attained by every answer at or below the smaller count.

    >>> from lapwing.auditor.noise_laws import AuditedDiscreteLaplace
    >>> from lapwing.vocabulary.guarantee import PureDP
    >>> found = AddedNoise(law=AuditedDiscreteLaplace(2), reach=1).worst(PureDP(epsilon="0.5"))
    >>> round(found.number, 9), found.inputs, found.event
    (0.5, '0 | 1', '<= 0')
    """

    law: NoiseLaw  # on a lattice
    reach: int  # how far neighbours are apart at most, in lattice steps (or their square)
    norm: Norm = Norm.L1  # how that is measured
    dimension: int = 1  # how many coordinates there are

    def __post_init__(self) -> None:
        if self.law.step is None:
            raise ParameterError("law", self.law, reason="is not on a lattice", remedy="round it to one")
        coerce_fields(self, as_int, "reach", "dimension")

    def starts(self) -> Iterator[Inputs]:
        """Yield every way to move coordinates, but for their order and signs."""
        for move in _moves(self.reach, self.norm, self.dimension):
            yield (0,) * len(move), move

    def laws(self, inputs: Inputs) -> PairOfLaws:
        """Return the law of the answers, coordinate by coordinate; those that do not move reveal nothing."""
        pairs = [self._one(there - here) for here, there in zip(*inputs, strict=True)]
        return pairs[0] if len(pairs) == 1 else reduce(PairOfLaws.times, (pair.condensed() for pair in pairs))

    def _one(self, move: int) -> PairOfLaws:
        step, furthest = self.law.step or 1, _furthest(self.law)
        low, *inner, high = (np.arange(-furthest, furthest + move + 1) * float(step)).tolist()

        def log_law(shift: int) -> Reals:
            below, above = self.law.log_below([low], (1 - shift) * step), self.law.log_at_least([high], -shift * step)
            return np.concatenate((below, self.law.log_density(inner, -shift * step), above))

        names = [AtMost(low), *inner, AuditedAtLeast(high)]
        return PairOfLaws(inputs=(0, move * step), here=log_law(0), there=log_law(move), outcomes=names)


@dataclass(frozen=True, slots=True, kw_only=True)
class OnASample(FiniteModel):
    """A mechanism on a secret sample that holds the person in question with probability `rate`.

    With Poisson sampling and one person more or less, and everybody else's contribution the same in every sample, the
    answer has the law of the part without the person, or with probability `rate` that with them. Sampling without
    replacement of a table in which all others are alike gives the same two laws when one person is replaced.
    """

    part: FiniteModel
    rate: float

    def starts(self) -> Iterable[Inputs]:
        """Yield where the part begins."""
        return self.part.starts()

    def nearby(self, inputs: Inputs) -> Iterable[Inputs]:
        """Yield what the part holds to be near."""
        return self.part.nearby(inputs)

    def laws(self, inputs: Inputs) -> PairOfLaws:
        """Return the law without the person, and the mixture with them."""
        pair = self.part.laws(inputs)
        with np.errstate(invalid="ignore"):
            mixed = np.logaddexp(math.log1p(-self.rate) + pair.here, math.log(self.rate) + pair.there)
        return PairOfLaws(inputs=pair.inputs, here=pair.here, there=mixed, outcomes=pair.outcomes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Several(FiniteModel):
    """Several mechanisms on the same table, each with randomness of its own."""

    parts: tuple[FiniteModel, ...]

    def starts(self) -> Iterator[Inputs]:
        """Yield every combination of the starts of the parts."""
        for starts in itertools.product(*(tuple(part.starts()) for part in self.parts)):
            here, there = zip(*starts, strict=True)
            yield tuple(itertools.chain(*here)), tuple(itertools.chain(*there))

    def laws(self, inputs: Inputs) -> PairOfLaws:
        """Return the law of all answers together."""
        pairs, at = [], 0
        for part in self.parts:
            width = len(next(iter(part.starts()))[0])
            sides = inputs[0][at : at + width], inputs[1][at : at + width]
            pairs.append(part.laws(sides).condensed())
            at += width
        return reduce(PairOfLaws.times, pairs)


def _moves(reach: int, norm: Norm, dimension: int) -> Iterator[tuple[int, ...]]:
    """Yield the moves within reach whose steps fall, and of which the last is as large as it can be."""

    def grow(left: int, largest: int, places: int) -> Iterator[tuple[int, ...]]:
        if places == 0 or left < 1:
            yield ()
            return
        most = min(largest, left if norm is Norm.L1 else math.isqrt(left))
        for step in (most,) if places == 1 else range(most, 0, -1):
            for rest in grow(left - step**norm.value, step, places - 1):
                yield (step, *rest)

    return grow(reach, reach, dimension)


def _furthest(law: NoiseLaw) -> int:
    step = law.step or 1

    def far(steps: int) -> bool:
        return max(float(law.log_at_least(0.0, steps * step)), float(law.log_below(0.0, -steps * step))) <= -_DEPTH

    try:
        return first_integer(far, after=0, most=_MOST_STEPS)
    except OverflowError:
        reason = f"reaches further than {_MOST_STEPS} steps, too many to be listed"
        remedy = "audit it at a larger epsilon, or on a coarser grid"
        raise ParameterError("law", law, reason=reason, remedy=remedy) from None
