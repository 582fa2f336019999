"""The exact law of a sparse vector with one-sided geometric noise: what the loss of a transcript really is."""

import math

import numpy as np
from scipy.special import logsumexp

_NOISE = np.arange(3000)


def log_no(gap, scale):
    """log P(noise < z - gap) for every threshold noise z."""
    x = _NOISE - gap
    with np.errstate(divide="ignore"):
        return np.where(x > 0, np.log(-np.expm1(-np.maximum(x, 1) / scale)), -np.inf)


def log_yes(gap, scale):
    """log P(noise >= z - gap) for every threshold noise z."""
    return -np.maximum(_NOISE - gap, 0) / scale


class Stream:
    """Likelihoods of one stream's transcript under two tables, the threshold noise not yet summed out.

    `opening` is the epsilon of the threshold noise, `price` that of a yes; a question moves by at most 1 between the
    tables, all questions the same way.
    """

    def __init__(self, opening, price):
        self.scale = 1 / price
        noise = math.log(-math.expm1(-opening)) - _NOISE * opening
        self.laws = noise, noise

    def answered(self, law_of_answer, gaps):
        """The stream after an answer to a question that lies `gaps` above its threshold in the two tables."""
        after = Stream.__new__(Stream)
        after.scale = self.scale
        after.laws = tuple(law + law_of_answer(gap, self.scale) for law, gap in zip(self.laws, gaps, strict=True))
        return after

    @property
    def loss(self):
        first, second = (float(logsumexp(law)) for law in self.laws)
        return first - second
