"""Loss laws with finitely many atoms, written down from scratch: what filters are tried with and judged by."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr


def gaussian_profile(s, r):
    """The profile of a Gaussian release with mu^2 = s: its hockey-stick divergence of order e^r."""
    r = np.asarray(r, float)
    if s <= 0:
        return -np.expm1(np.minimum(r, 0.0))
    m = math.sqrt(s)
    return ndtr(m / 2 - r / m) - np.exp(r) * ndtr(-m / 2 - r / m)


@dataclass(frozen=True, eq=False)
class Atoms:
    """One order of a pair: losses and their probabilities under the first law."""

    losses: np.ndarray
    masses: np.ndarray
    infinite_mass: float = 0.0

    def profile(self, r, after=0.0):
        """The profile of this order followed by a Gaussian release of `after`."""
        return gaussian_profile(after, np.asarray(r)[..., None] - self.losses) @ self.masses + self.infinite_mass

    @property
    def opposite(self):
        return Atoms(-self.losses, self.masses * np.exp(-self.losses))

    @property
    def orders(self):
        return self, self.opposite


def two_points(t, length):
    """Losses t and t - length: the member t of the bounded-range family."""
    p = math.expm1(t - length) / math.expm1(-length)
    return Atoms(np.array([t, t - length]), np.array([p, 1 - p]))


def randomized_response(epsilon):
    return two_points(epsilon, 2 * epsilon)


def rarely(probability, epsilon):
    """With this probability an answer by randomized response, otherwise nothing."""
    p = probability / (1 + math.exp(-epsilon))
    return Atoms(np.array([epsilon, 0.0, -epsilon]), np.array([p, 1 - probability, probability - p]))


def laplace(epsilon, cells=24):
    """Laplace noise with its dots connected: a pair a little worse than the truth."""
    x = np.linspace(-epsilon, epsilon, cells + 1)
    p = np.append(0.5 * np.exp((x[:-1] - epsilon) / 2), 1.0)
    q = 1 - np.append(0.5 * np.exp((-x[:-1] - epsilon) / 2), 0.0)
    upper = (np.diff(p) - np.exp(x[:-1]) * np.diff(q)) / -math.expm1(x[0] - x[1])
    masses = np.append(np.diff(p) - upper, 0.0)
    masses[1:] += upper
    masses[0] += p[0]
    return Atoms(x, masses)
