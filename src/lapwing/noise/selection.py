"""Noise for choosing the best of many candidates: exponential noise on a lattice, and the exponential weights.

Scores are exact integers in units of 2^-56 of the noise's scale.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from lapwing.noise import reference_samplers
from lapwing.noise.randomness import SYSTEM, RandomSource

UNIT_BITS = 56
"""One unit of the standard exponential law is 2^56 lattice steps."""


def exponential_lattice(count: int, *, source: RandomSource = SYSTEM) -> NDArray[np.uint64]:
    """Return `count` independent W = floor(2^56 E), E standard exponential: P(W >= t) = e^(-t 2^-56) exactly."""
    scale = Fraction(1 << UNIT_BITS)
    return np.array([reference_samplers.geometric(scale, source) for _ in range(count)], np.uint64)


def choose_exponential(offsets: Sequence[int] | NDArray[np.int64], *, source: RandomSource = SYSTEM) -> int:
    """Return index i with probability exactly proportional to e^(offsets[i] 2^-56); offsets are at most 0."""
    exponents = [Fraction(-int(offset), 1 << UNIT_BITS) for offset in offsets]
    while True:
        index = reference_samplers.uniform_below(len(exponents), source)
        if reference_samplers.decays(exponents[index], source):
            return index
