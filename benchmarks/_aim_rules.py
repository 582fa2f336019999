"""A peer in one process: the rules of AIM on our own inference, for `publishing.py`.

Selection, spending and annealing are those of McKenna, Mullins, Sheldon, Miklau, *AIM: an adaptive and iterative
mechanism for differentially private synthetic data*, VLDB 2022: every single column first, then rounds in which a table
is chosen by the exponential mechanism and measured with Gaussian noise, and the price of a round grows where little was
learnt. Its accounting is that of zero-concentrated privacy, as its selection is not Gaussian. The model is a junction
tree that is fitted by blocks, where AIM descends by mirror steps; noise is NumPy's, as this is for errors and not for
release.
"""

import itertools
import math

import numpy as np
from scipy.optimize import brentq

from lapwing.publishing.block_fitting import FitTarget, fit_tree
from lapwing.publishing.junction_trees import cells_of_tree, junction_tree
from lapwing.publishing.public_draws import PublicDraws
from lapwing.publishing.weighted_rows import rows_of_tree

MEAN_ABSOLUTE = math.sqrt(2 / math.pi)
ROWS, SWEEPS = 200_000, 20


def rho_of(epsilon, delta):
    """Return the rho whose best conversion is this epsilon and delta (Canonne, Kamath, Steinke)."""

    def epsilon_of(rho):
        orders = 1 + np.exp(np.linspace(-12, 12, 4000))
        gap = (np.log(1 / (orders * delta)) + (orders - 1) * np.log1p(-1 / orders)) / (orders - 1)
        return float((rho * orders + gap).min())

    return brentq(lambda rho: epsilon_of(rho) - epsilon, 1e-9, 200)


class AimRules:
    """AIM on tables that are given by `truth(axes)`; returns rows with the law of its last model."""

    def __init__(self, codes, truth, people, *, most_cells=200_000, seed=0):
        self.codes, self.truth, self.people, self.most = codes, truth, people, most_cells
        self.drawn = np.random.default_rng(seed)  # noqa: TID251 - a peer, whose noise protects nobody

    def run(self, rho):
        width = len(self.codes)
        workload = [w for w in itertools.combinations(range(width), 3) if self.cells(w) <= 10_000]
        weights = {
            axes: sum(len(set(axes) & set(w)) for w in workload)
            for size in (1, 2, 3)
            for axes in itertools.combinations(range(width), size)
            if self.cells(axes) <= 10_000
        }
        rounds = 16 * width
        sigma, epsilon = math.sqrt(rounds / (2 * 0.9 * rho)), math.sqrt(8 * 0.1 * rho / rounds)
        measured, used = {}, 0.0
        for a in range(width):
            self.measure(measured, (a,), sigma)
            used += 1 / (2 * sigma**2)
        rows = self.fit(measured)
        while used < rho:
            left = rho - used
            last = left < 2 * (1 / (2 * sigma**2) + epsilon**2 / 8)
            if last:
                sigma, epsilon = math.sqrt(1 / (2 * 0.9 * left)), math.sqrt(8 * 0.1 * left)
            used = rho if last else used + 1 / (2 * sigma**2) + epsilon**2 / 8
            limit = self.most * used / rho
            fits = [one for one in weights if one in measured or cells_of_tree(self.codes, [*measured, one]) <= limit]
            axes = self.select(fits, weights, rows, sigma, epsilon)
            before = rows.marginal(axes)
            self.measure(measured, axes, sigma)
            rows = self.fit(measured)
            learnt = np.abs(rows.marginal(axes) - before).sum() * self.people
            if learnt <= MEAN_ABSOLUTE * sigma * self.cells(axes):
                sigma, epsilon = sigma / 2, epsilon * 2
        return rows

    def select(self, fits, weights, rows, sigma, epsilon):
        scores = [
            weights[axes]
            * (
                np.abs(self.truth(axes) - self.people * rows.marginal(axes)).sum()
                - MEAN_ABSOLUTE * sigma * self.cells(axes)
            )
            for axes in fits
        ]
        noisy = 0.5 * epsilon / max(weights.values()) * np.array(scores) + self.drawn.gumbel(size=len(fits))
        return fits[int(noisy.argmax())]

    def measure(self, measured, axes, sigma):
        noisy = self.truth(axes) + self.drawn.normal(0, sigma, [self.codes[a] for a in axes])
        if axes in measured:
            before, precision = measured[axes]
            whole = precision + sigma**-2
            noisy, sigma = (before * precision + noisy * sigma**-2) / whole, whole**-0.5
        measured[axes] = (noisy, sigma**-2)

    def fit(self, measured):
        largest = [axes for axes in measured if not any(set(axes) < set(other) for other in measured)]
        targets = [
            FitTarget(axes=axes, shares=measured[axes][0] / self.people, sd=measured[axes][1] ** -0.5 / self.people)
            for axes in measured
        ]
        tree = junction_tree(self.codes, largest)
        return rows_of_tree(tree, fit_tree(tree, targets, SWEEPS), ROWS, PublicDraws("0"))

    def cells(self, axes):
        return math.prod(self.codes[a] for a in axes)
