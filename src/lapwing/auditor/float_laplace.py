"""Why Laplace noise in floating point keeps no promise: the floats that two neighbouring counts can reach, computed.

The textbook draws U, a multiple of 2^-53 below 1, and returns x + ln(2U) for U < 1/2 and x - ln(2 - 2U) above, in
double precision. Around one float, a handful of values of U lead there from 0, and others from 1; all of them are
listed, so nothing here is sampled. Most floats that one of the two reaches cannot be reached from the other: whoever
sees one knows the count.

From 1, a float y with |y| < 1/4 comes from noise between -5/4 and -3/4. Such noise is a multiple of 2^-53, and the sum
is exact, so y is a multiple of 2^-53, too. From 0, y is the noise itself, whose last bits are finer. (Mironov, *On
significance of the least significant bits for differential privacy*, CCS 2012; Haney and others 2022.)
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lapwing.auditor.pair_of_laws import PairOfLaws
from lapwing.auditor.white_box import Achieved, measured
from lapwing.vocabulary.guarantee import Guarantee

_UNIT = 2.0**-52
"""2U and 2 - 2U are multiples of this, each with probability 2^-53."""

_CHANCE = 2.0**-53


@dataclass(frozen=True, slots=True)
class FloatLaplace:
    """Laplace noise of scale 1, drawn as textbooks and libraries do, on the counts 0 and 1.

    Parameters
    ----------
    around : the answer near which all reachable floats are listed, between 0 and 1/4
    draws : how many consecutive values of U, seen from 0, make up the neighbourhood

    Examples
    --------
    >>> from lapwing.vocabulary.guarantee import PureDP
    >>> found = FloatLaplace().worst(PureDP(epsilon=1))
    >>> found.number, found.event
    (inf, 'a float that 0 reaches and 1 does not')
    """

    around: float = 0.1
    draws: int = 1 << 16

    def worst(self, claim: Guarantee) -> Achieved:
        """Return what is lost near one float."""
        return measured(self.laws(), claim)

    def laws(self) -> PairOfLaws:
        """Return the laws of: a float that only 0 reaches, one that only 1 reaches, one that both do, another place."""
        from_0, from_1 = self.reachable()
        shared = np.isin(from_0, from_1)
        masses = [
            _CHANCE * np.array([np.count_nonzero(~shared), 0, np.count_nonzero(shared)], np.float64),
            _CHANCE * np.array([0, np.count_nonzero(~np.isin(from_1, from_0)), np.isin(from_1, from_0).sum()]),
        ]
        names = [
            "a float that 0 reaches and 1 does not",
            "a float that 1 reaches and 0 does not",
            "a float that both reach",
            "a float elsewhere",
        ]
        with np.errstate(divide="ignore"):
            here, there = (np.log(np.append(mass, 1 - mass.sum())) for mass in masses)
        return PairOfLaws(inputs=(0, 1), here=here, there=there, outcomes=names)

    def reachable(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the answers near `around` from 0 and from 1, one for each value of U that leads there."""
        first = round(np.exp(-self.around) / _UNIT)
        from_0 = 0.0 - np.log((first - np.arange(self.draws)) * _UNIT)  # here 2 - 2U falls, so that answers rise
        low, high = float(from_0.min()), float(from_0.max())
        middle = round(np.exp((low + high) / 2 - 1) / _UNIT)
        width = round((high - low) * np.exp(self.around - 1) / _UNIT) + 16
        from_1 = 1.0 + np.log((middle + np.arange(-width, width)) * _UNIT)
        return from_0, from_1[(from_1 >= low) & (from_1 <= high)]
