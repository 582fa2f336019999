"""Losses with atoms only: randomized response, discrete noise, and what is known by its bounds only.

Proof: proofs/atomic_losses.md
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice

import numpy as np

from lapwing.accounting.conversions import curve, delta_from_renyi, epsilon_from_renyi
from lapwing.accounting.dominating_pair import DominatingPair, Floats
from lapwing.accounting.losses.continuous import GaussianLaw
from lapwing.accounting.losses.law import LossLattice, Orders
from lapwing.vocabulary.exact import ROUND_OFF, UNIT, float_above, float_below, fraction_above


@dataclass(frozen=True, eq=False, kw_only=True)
class AtomicLaw:
    """A finite law, with known exact bounds besides its atoms, and perhaps a tighter `renyi_bound` than theirs."""

    pair: DominatingPair
    reverse: DominatingPair | None = None  # the atoms of the other order; none if the pair is symmetric
    pure_epsilon: Fraction | None = None
    rho: Fraction | None = None
    spacing: float | None = None
    is_attained: bool = True
    response: tuple[Fraction, Fraction] | None = None  # whose randomized response has these atoms, if one has
    renyi_bound: Callable[[float], float] | None = field(default=None, repr=False)

    mu_squared = None

    @property
    def infinite_mass(self) -> float:
        """The mass of what is impossible under Q."""
        return self.pair.infinite_mass

    @property
    def other_order(self) -> "AtomicLaw":
        """The law with the two orders exchanged."""
        return self if self.reverse is None else replace(self, pair=self.reverse, reverse=self.pair)

    def delta(self, epsilon: float) -> float:
        """Return the profile of the atoms."""
        return self.pair.delta(epsilon)

    def renyi(self, alpha: float) -> float:
        """Return the divergence of the atoms, or a bound that is known to be tighter."""
        atoms = math.inf
        if self.infinite_mass == 0:
            atoms = min(self.cumulant_above(alpha - 1) / (alpha - 1), float(self.pair.losses[-1]))
        return atoms if self.renyi_bound is None else min(atoms, self.renyi_bound(alpha))

    def cumulant_above(self, order: float) -> float:
        """Return the cumulant at one real order > 0, rounded up; tiny losses keep their leading digits."""
        powers, roundings = order * self.pair.losses, (8 + len(self.pair.losses)) * UNIT
        if powers[-1] > 1:
            cumulant = float(self.cumulant(np.array([order]))[0])
            return cumulant + ROUND_OFF * (abs(cumulant) + float(powers[-1])) + roundings
        grown = np.expm1(powers)  # the masses sum to 1, so this is the moment less 1
        moment = float(self.pair.masses @ grown) + roundings * float(self.pair.masses @ np.abs(grown))
        return math.log1p(max(moment, 0.0)) * (1 + ROUND_OFF)

    def cumulant(self, order: Orders) -> Orders:
        """Return log of the sum of the tilted atoms."""
        powers = np.multiply.outer(np.asarray(order), self.pair.losses)
        top = powers.real.max(axis=-1, keepdims=True)
        return np.asarray(top[..., 0] + np.log(np.exp(powers - top) @ self.pair.masses))

    def span(self, tail: float) -> tuple[float, float]:
        """Return the lowest and highest atom, for every tail."""
        del tail
        return float(self.pair.losses[0]), float(self.pair.losses[-1])

    def on_grid(self, step: float, tail: float) -> LossLattice:
        """Return the atoms, each split between its neighbours on a grid that ends at the highest one."""
        del tail
        top = float(self.pair.losses[-1])
        depth = (top - self.pair.losses) / step
        below = np.ceil(depth * (1 - ROUND_OFF)).astype(np.int64)
        rise = np.clip((below - depth) * step, 0.0, step)
        raised = self.pair.masses * np.minimum(np.expm1(-rise) / math.expm1(-step) * (1 + ROUND_OFF), 1.0)
        size = int(below[0]) + 1
        masses = np.zeros(size)
        np.add.at(masses, below, self.pair.masses - raised)
        np.add.at(masses, np.maximum(below - 1, 0), raised)
        return LossLattice(top - (size - 1) * step, step, masses[::-1] * (1 + ROUND_OFF), self.infinite_mass)

    def members(self, at_most: int) -> tuple[DominatingPair, ...]:
        """Return the atoms, coarsened if there are too many."""
        return (self.pair.coarsened(at_most),)


def pure(epsilon: Fraction) -> AtomicLaw:
    """Return the law of binary randomized response, which dominates everything that is epsilon-DP (KOV 2015)."""
    return k_ary(epsilon, 2)


def approximate(epsilon: Fraction, delta: Fraction) -> AtomicLaw:
    """Return the law that dominates everything that is (epsilon, delta)-DP (KOV 2015, Theorem 3.3)."""
    plain, lost = pure(epsilon).pair, float_above(delta)
    pair = DominatingPair(plain.losses, plain.masses * (1 - lost), lost) if lost < 1 else DominatingPair.worst()
    return AtomicLaw(pair=pair, spacing=2 * float_above(epsilon), response=(epsilon, delta))


def k_ary(epsilon: Fraction, categories: int) -> AtomicLaw:
    """Return the law of randomized response among `categories` answers."""
    e, others = float_above(epsilon), categories - 1
    truth = 1 / (1 + others * math.exp(-e))
    lie = math.exp(-e) * truth
    between = [(0.0, (others - 1) * lie)] if others > 1 else []
    losses, masses = np.array([(-e, lie), *between, (e, truth)]).T
    pair = DominatingPair.of_total_one(losses, masses * (1 + ROUND_OFF), 0.0)
    divergence = e * -math.expm1(-e) * truth
    rho = fraction_above(max(divergence, _largest_slope(e, (others - 1) / 2 * math.exp(-e / 2))))
    return AtomicLaw(
        pair=pair,
        pure_epsilon=epsilon,
        rho=min(rho, pure_rho(epsilon)),
        spacing=e if between else 2 * e,
        response=None if between else (epsilon, Fraction(0)),
    )


def _largest_slope(e: float, silence: float) -> float:
    """Return a bound of R(alpha)/alpha of randomized response with many categories, or 0 where the divergence is one.

    The cumulant is log(cosh(w) + s) at w = e (order + 1/2), and falls short of its tangent in w^2 as long as s <= 1.
    Else its slope in w^2 is bounded on each interval [w, r w]: sinh/(cosh + s) rises with w, and 1/w falls.
    """
    if silence <= 1:
        return 0.0
    ratio = 1.01
    w = e / 2 * ratio ** np.arange(math.ceil(math.log(max(200 / e, 2)) / math.log(ratio)) + 1)
    rises = np.sinh(np.minimum(w * ratio, 300.0)) / (np.cosh(np.minimum(w * ratio, 300.0)) + silence)
    return e * e / 2 * max(float(np.max(rises / w)), 1 / float(w[-1]))


def pure_rho(epsilon: Fraction) -> Fraction:
    """Return e tanh(e/2), a zCDP bound of everything that is e-DP; never more than the e^2/2 of Bun and Steinke."""
    e = float_above(epsilon)
    return min(fraction_above(e * math.tanh(e / 2)), epsilon**2 / 2)


def discrete_laplace(sensitivity: int, scale: Fraction) -> AtomicLaw:
    """Return the law of P(x) proportional to e^(-|x|/scale), moved by `sensitivity`, in at most `_MOST_ATOMS` atoms."""
    if sensitivity == 1:
        return pure(1 / scale)
    step, epsilon = float_above(1 / scale), sensitivity / scale
    spacing = 2 * step if sensitivity <= _MOST_ATOMS else None
    pair = _geometric_atoms(sensitivity, step) if spacing else _geometric_outline(sensitivity, step)
    divergence = float(pair.losses @ pair.masses) + ROUND_OFF * step * sensitivity
    return AtomicLaw(
        pair=pair,
        pure_epsilon=epsilon,
        rho=min(pure_rho(epsilon), fraction_above(divergence)),
        spacing=spacing,
        is_attained=spacing is not None,
    )


def _geometric_atoms(sensitivity: int, step: float) -> DominatingPair:
    """Return every atom, the losses raised by the one rounding that they have gone through."""
    between = -math.expm1(-step) * np.exp(-step * np.arange(sensitivity - 1, 0, -1))
    masses = np.concatenate([[math.exp(-step * sensitivity)], between, [1.0]]) / (1 + math.exp(-step))
    losses = np.nextafter(step * np.arange(-sensitivity, sensitivity + 1.0, 2.0), math.inf)
    return DominatingPair.of_total_one(losses, masses * (1 + ROUND_OFF), 0.0)


def _geometric_outline(sensitivity: int, step: float) -> DominatingPair:
    """Return some of the dots of the profile, connected: 1 - e^(-step j) at the j-th loss from the top."""
    below = np.unique(np.rint(np.linspace(0.0, 1.0, _MOST_ATOMS) * float(sensitivity)))[::-1]
    losses = step * (float(sensitivity) - 2 * below)
    heights = -np.expm1(-step * below) * (1 + ROUND_OFF)
    return DominatingPair.through(losses + 4 * UNIT * float(losses[-1]), heights)


_LOST, _KNOTS, _HIGHEST = 1e-16, 257, 600.0


def renyi_curve(bound: Callable[[float], float]) -> AtomicLaw:
    """Return a law that dominates every pair whose divergences, in both orders, stay below `bound`."""
    divergences = curve(bound)
    right = np.linspace(0.0, min(epsilon_from_renyi(divergences, _LOST), _HIGHEST), _KNOTS)
    heights = np.array([delta_from_renyi(divergences, x) for x in right.tolist()])
    # the other order has the same divergences, and its profile at x determines this one at -x
    left = -right[:0:-1]
    mirrored = np.minimum(-np.expm1(left) + np.exp(left) * heights[:0:-1], 1.0)
    pair = DominatingPair.through(*_convex(np.append(left, right), np.append(mirrored, heights)))
    return AtomicLaw(pair=pair, is_attained=False, renyi_bound=bound)


def _convex(knots: Floats, heights: Floats) -> tuple[Floats, Floats]:
    """Return the corners of the greatest function below `heights` that is convex in e^knot."""
    corners: list[tuple[float, float, float]] = []
    for x, y in zip(knots.tolist(), heights.tolist(), strict=True):
        t = math.exp(x)
        while len(corners) > 1:
            (_, t0, y0), (_, t1, y1) = corners[-2:]
            if (y1 - y0) * (t - t0) < (y - y0) * (t1 - t0):
                break
            corners.pop()
        corners.append((x, t, y))
    return np.array([x for x, _, _ in corners]), np.array([y for _, _, y in corners])


_REACH = 15
_BEYOND = 1e-48  # more than the mass beyond `_REACH` standard deviations: the tails lie below 2 e^(-15^2/2)
_MOST_ATOMS = 8192
# up to these every atom is looked at, of one move and of each of several; a larger sigma is close enough to continuous
_LARGEST_SIGMA, _LARGEST_SIGMA_OF_MANY = 2.0e4, 2.0e3
_LARGEST_EXPONENT = 50.0
_MOST_MOVES = 24  # how many different moves are looked at one by one


def discrete_gaussian(
    l2_sensitivity_squared: int, sigma_squared: Fraction, dimension: int
) -> list[list[tuple[AtomicLaw, int]]]:
    """Return the moves that are worst cases, each as laws and how often each is met.

    The noise is on `dimension` integers that move by that length together. Each integer that moves by a is one use of
    the law of one coordinate moved by a.
    """
    moves = list(islice(_largest_moves(l2_sensitivity_squared, dimension), _MOST_MOVES + 1))
    largest = _LARGEST_SIGMA if len(moves) == 1 else _LARGEST_SIGMA_OF_MANY
    if sigma_squared > largest**2 or len(moves) > _MOST_MOVES:
        moved = math.isqrt(l2_sensitivity_squared) ** 2 if dimension == 1 else l2_sensitivity_squared
        return [[(_shifted_gaussian(moved, sigma_squared, dimension), 1)]]
    laws = {entry: _one_coordinate(entry, sigma_squared) for entry in {entry for move in moves for entry in move}}
    return [[(laws[entry], times) for entry, times in move.items()] for move in moves]


def _largest_moves(squared: int, dimension: int, most: int | None = None) -> Iterator[dict[int, int]]:
    """Yield every way to move `dimension` integers that cannot be made longer: how often each entry occurs.

    Entries come in falling order, none above `most`. A move is one of the largest if no entry, zero included, can grow.
    """
    longest = math.isqrt(squared) if most is None else min(most, math.isqrt(squared))
    if dimension == 0 or longest == 0:
        yield {}
        return
    if longest == 1 or dimension == 1:
        yield {longest: min(squared, dimension)}
        return
    for entry in range(longest, 0, -1):
        for rest in _largest_moves(squared - entry * entry, dimension - 1, entry):
            move = {entry: rest.get(entry, 0) + 1, **{key: times for key, times in rest.items() if key != entry}}
            left = squared - sum(times * key * key for key, times in move.items())
            idle = sum(move.values()) < dimension
            if left < (1 if idle else 2 * min(move) + 1):
                yield move


def _one_coordinate(sensitivity: int, sigma_squared: Fraction) -> AtomicLaw:
    """Return the law of a discrete Gaussian against itself moved by `sensitivity`."""
    variance = float(sigma_squared)
    reach = math.ceil(_REACH * math.sqrt(variance)) + 1
    x = np.arange(-reach, reach + 1, dtype=np.float64)
    masses = np.exp(-(x**2) / (2 * variance))
    losses = (sensitivity**2 + 2.0 * sensitivity * x) / (2 * variance)
    losses += ROUND_OFF * float(losses[-1])
    spacing: float | None = sensitivity / variance
    pair = DominatingPair.of_total_one(losses, masses / masses.sum() * (1 + ROUND_OFF), _BEYOND)
    if len(x) > _MOST_ATOMS:
        pair, spacing = pair.onto(np.linspace(pair.losses[0], pair.losses[-1], _MOST_ATOMS)), None
    return _law(pair, Fraction(sensitivity**2) / (2 * sigma_squared), spacing)


def _shifted_gaussian(l2_sensitivity_squared: int, sigma_squared: Fraction, dimension: int) -> AtomicLaw:
    """Return the law of a continuous Gaussian, moved up by what rounding to integers can add to the loss.

    A discrete Gaussian's probability of x is at most e^(1/24 sigma^2) times that of the unit cell around x under the
    continuous one, and in that cell the continuous loss differs by at most (L1 length of the move) / (2 sigma^2).
    """
    variance, dimension = float_below(sigma_squared), min(dimension, l2_sensitivity_squared)  # so many can move
    continuous = GaussianLaw(Fraction(l2_sensitivity_squared) / sigma_squared)
    l1 = min(math.sqrt(dimension * l2_sensitivity_squared), float(l2_sensitivity_squared))
    shift = l1 / (2 * variance) * (1 + ROUND_OFF)
    if dimension > _LARGEST_EXPONENT * 24 * variance:
        return _law(DominatingPair.worst(), continuous.rho, None)
    inflation = math.exp(dimension / (24 * variance)) * (1 + ROUND_OFF)
    (pair,) = continuous.members(_MOST_ATOMS)
    moved = DominatingPair.of_total_one(
        pair.losses + shift, pair.masses * inflation, min(1.0, pair.infinite_mass * inflation)
    )
    return _law(moved, continuous.rho, None)


def _law(pair: DominatingPair, rho: Fraction, spacing: float | None) -> AtomicLaw:
    bound = float_above(rho) * (1 + ROUND_OFF)
    attained = spacing is not None
    return AtomicLaw(pair=pair, rho=rho, spacing=spacing, is_attained=attained, renyi_bound=lambda alpha: alpha * bound)
