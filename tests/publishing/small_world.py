"""A small made-up world of codes with strong dependence, and measurements of it with noise of known size."""

import itertools
import math
from fractions import Fraction

import numpy as np

from lapwing.mechanisms.residual_basis import whole_residual
from lapwing.publishing.residual_pool import ResidualPool


class SmallWorld:
    """People by columns of so many codes; each column depends on what is not a column."""

    def __init__(self, codes, people=20_000, seed=1):
        drawn = np.random.default_rng(seed)
        hidden = drawn.integers(0, 4, people)
        self.codes, self.people = tuple(codes), people
        self.rows = np.stack(
            [
                (hidden * (a + 1) + drawn.integers(0, c, people) * drawn.integers(0, 2, people)) % c
                for a, c in enumerate(codes)
            ]
        )

    def marginal(self, axes):
        shape = [self.codes[a] for a in axes]
        places = np.zeros(self.people, np.int64)
        for a in axes:
            places = places * self.codes[a] + self.rows[a]
        return np.bincount(places, minlength=math.prod(shape)).reshape(shape)

    def measured(self, sd, most=2, seed=2):
        """Return a pool with every residual of at most so many columns, each with noise of this size in a cell."""
        drawn, pool = np.random.default_rng(seed), ResidualPool(self.codes)
        for size in range(most + 1):
            for axes in itertools.combinations(range(len(self.codes)), size):
                sigma = Fraction(round(sd * math.prod(self.codes[a] for a in axes)))
                exact = whole_residual(self.marginal(axes))
                noisy = np.rint(exact + drawn.normal(0, float(sigma), exact.shape)).astype(np.int64)
                pool.add_residuals({axes: sigma}, [noisy.ravel().tolist()])
        return pool

    def distance(self, model, size):
        """Return the mean total variation between the model and the people over all tables of so many columns."""
        return float(
            np.mean(
                [
                    0.5 * np.abs(self.marginal(axes) / self.people - model.marginal(axes) / model.people).sum()
                    for axes in itertools.combinations(range(len(self.codes)), size)
                ]
            )
        )
