"""The best adaptive adversary against a filter, by dynamic programming over the loss that has been realised.

The adversary knows the two tables and sees the realised loss after every answer. From a state of the filter it chooses
the next charge as a function of that loss. What it reaches in the end is the true delta of the interaction, as a
function of the level r (epsilon minus the realised loss) from which it starts.
"""

import math

import numpy as np

from accounting.filters.atoms import gaussian_profile

_NODES = np.linspace(-8.5, 8.5, 341)
_WEIGHTS = np.exp(-_NODES * _NODES / 2) / np.exp(-_NODES * _NODES / 2).sum()
_TINY = 1e-280


def stopped(r):
    """The value of asking nothing more."""
    return gaussian_profile(0.0, r)


class Game:
    """Values on a grid of levels. Between its points logarithms are interpolated.

    Values are log-concave where it matters, so this errs to the adversary's disadvantage, by less than 1e-4 in all.
    """

    def __init__(self, residue, epsilon, points=3001):
        reach = max(epsilon, 9 * math.sqrt(residue) + residue) + 0.3
        self.r = np.linspace(-reach, reach, points)

    def best(self, choices):
        """The value of having these choices (arrays on the grid), each level choosing for itself."""
        logs = np.log(np.maximum(np.max([stopped(self.r), *choices], axis=0), _TINY))
        return lambda r: np.exp(np.interp(r, self.r, logs))

    def charge(self, atoms, then):
        """The value before a charge, if `then` is the value after it."""
        return sum(p * then(self.r - loss) for loss, p in zip(atoms.losses, atoms.masses, strict=True))

    def gaussian(self, s, then):
        """The value before a Gaussian release of s."""
        if then is stopped:
            return gaussian_profile(s, self.r)
        return sum(w * then(self.r - s / 2 - math.sqrt(s) * z) for z, w in zip(_NODES, _WEIGHTS, strict=True))


def largest(admitted, high, rounds=30):
    """The largest size up to `high` that is admitted, by bisection; 0.0 if none is."""
    low = 0.0
    for _ in range(rounds):
        middle = (low + high) / 2
        low, high = (middle, high) if admitted(middle) else (low, middle)
    return low


def stopping_attack(epsilon, residue, rounds, last_charges):
    """Gaussian releases of residue/rounds; after each the adversary may finish with one other charge.

    `last_charges(spent)` lists the charges that the filter admits after Gaussian releases worth `spent`.
    """
    game = Game(residue, epsilon)
    value = stopped
    for done in range(rounds - 1, -1, -1):
        choices = [game.gaussian(residue / rounds, value)]
        if done:
            choices += [game.charge(charge, stopped) for charge in last_charges(residue * done / rounds)]
        value = game.best(choices)
    return float(value(epsilon))


def best_attack(epsilon, residue, states, families, residue_after):
    """From each of the residues residue * i/states to each lower one: the largest member of each family admitted.

    `families` are pairs of a function from size to atoms and a function from a residue to the largest size to try.
    """
    game = Game(residue, epsilon)
    s = [residue * i / states for i in range(states + 1)]
    values = [stopped]
    for i in range(1, states + 1):
        choices = []
        for k in range(i):
            choices.append(game.gaussian(s[i] - s[k], values[k]))
            for family, highest in families:

                def reaches(size, family=family, i=i, k=k):
                    after = residue_after(s[i], family(size).orders)
                    return after is not None and after >= s[k]

                size = largest(reaches, highest(s[i]))
                choices += [game.charge(order, values[k]) for order in family(size).orders] if size else []
        values.append(game.best(choices))
    return float(values[-1](epsilon))
