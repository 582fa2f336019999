"""Filters that look right and are not. Each is broken by the attack that was made for it (`test_attacks.py`)."""

import math

import numpy as np
from scipy.optimize import brentq

from accounting.filters.atoms import gaussian_profile, randomized_response

_Z = np.linspace(-9, 9, 6001)
_WEIGHTS = np.exp(-_Z * _Z / 2) / np.exp(-_Z * _Z / 2).sum()


class TotalAsGate:
    """Admits while the exact total of all charges so far, as if fixed in advance, is at most delta.

    This is what "check the PLD after each query" does. It knows Gaussian releases, then one last charge.
    """

    def __init__(self, epsilon, delta):
        self.epsilon, self.delta = epsilon, delta
        self.residue = brentq(lambda s: float(gaussian_profile(s, epsilon)) - delta, 1e-9, 100)

    def total(self, spent, profile):
        mu = math.sqrt(spent)
        return float(_WEIGHTS @ profile(self.epsilon - spent / 2 - mu * _Z))

    def largest_last(self, spent, family):
        """The largest member of `family` that is admitted after Gaussian releases worth `spent`."""
        return brentq(lambda size: self.total(spent, family(size).profile) - self.delta, 1e-7, self.epsilon)


def residue_on_points(s, orders, slack):
    """The residue, its inequality checked in the orders given, at 160 levels r >= 0 and nowhere between them."""
    top = math.sqrt(s) * (math.sqrt(2 * math.log(1 / slack)) + 1) + s
    r = np.linspace(0, top, 160)
    target = gaussian_profile(s, r) + slack

    def holds(after):
        return all(np.all(order.profile(r, after) <= target * (1 + 1e-12)) for order in orders)

    if not holds(0.0):
        return None
    low, high = 0.0, s
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def residue_one_order(s, orders, slack):
    """The same, with the opposite order of an asymmetric pair forgotten."""
    return residue_on_points(s, orders[:1], slack)


class SplitBooks:
    """Two arms, each of which books only what it admitted itself."""

    def __init__(self, epsilon, residue):
        self.epsilon, self.residue = epsilon, residue

    def admit_randomized_response(self, epsilon):
        fits = epsilon <= self.epsilon
        self.epsilon -= epsilon if fits else 0.0
        return fits

    def admit_gaussian(self, mu_squared):
        fits = mu_squared <= self.residue
        self.residue -= mu_squared if fits else 0.0
        return fits


class KeptAlive:
    """Two arms that both book what they can, but a residue arm that cannot book an admitted charge simply lives on."""

    def __init__(self, epsilon, residue):
        self.epsilon, self.residue = epsilon, residue

    def admit_randomized_response(self, epsilon):
        after = residue_on_points(self.residue, randomized_response(epsilon).orders, 1e-13)
        fits = epsilon <= self.epsilon or after is not None
        self.epsilon -= epsilon if fits else 0.0
        self.residue = after if fits and after is not None else self.residue
        return fits

    def admit_gaussian(self, mu_squared):
        fits = mu_squared <= self.residue
        self.residue -= mu_squared if fits else 0.0
        return fits
