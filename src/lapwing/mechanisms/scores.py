"""Scores of candidates, as integers on the lattice of the noise that will decide between them.

Only differences from the best score matter, so that is what is kept; a candidate so far behind that it cannot win is
taken to be at a floor. Neither step lets two candidates move apart by more than their scores did.

Proof: proofs/scores.md
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.accounting.rounding import float_above
from lapwing.mechanisms.margins import Accuracy
from lapwing.mechanisms.noise_addition import Integers, Reals, ValueGrid, integers, wrong_size
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Exact, as_int, exact, exactly_one_of, positive
from lapwing.vocabulary.guarantee import Adjacency

Scores: TypeAlias = Integers | Reals

_LARGEST_SCORE = 1 << 61
_LARGEST_RATE = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreLattice:
    """How the scores of `candidates` are read: one step of score is `multiplier` lattice steps.

    One noise scale is 2^unit_bits lattice steps, or `scale` in units of score. No candidate counts as more than `floor`
    steps of score behind the best one.
    """

    candidates: int
    epsilon: Fraction
    multiplier: int
    floor: int
    unit_bits: int
    grid: ValueGrid | None = None

    @property
    def unit(self) -> Fraction:
        """One lattice step in units of score."""
        return (self.grid.step if self.grid else Fraction(1)) / self.multiplier

    @property
    def scale(self) -> Fraction:
        """The scale of the noise in units of score."""
        return self.unit * (1 << self.unit_bits)

    @property
    def rounding(self) -> Fraction:
        """By how much the grid can move two scores towards each other."""
        return self.grid.step if self.grid else Fraction(0)

    def in_scores(self, scales: float) -> float:
        """Return how far apart scores may be that are read as so many noise scales apart, rounded up."""
        return float_above(Fraction(scales) * self.scale + self.rounding)

    def in_scales(self, margin: Exact) -> Fraction:
        """Return how many noise scales apart scores are read at least, if they are `margin` apart or more."""
        return (exact("margin", margin) - self.rounding) / self.scale

    def offsets(self, scores: Scores) -> NDArray[np.int64]:
        """Open the scores and return how far each lies behind the best: lattice steps, at most 0."""
        steps = (
            self.grid.steps(scores)
            if self.grid
            else integers(scores, remedy="hand in an integer for every candidate, or give a grid for other scores")
        )
        if isinstance(steps, int) or steps.shape != (self.candidates,):
            del steps
            raise wrong_size(self.candidates, "hand in one score for each of the candidates")
        bounded = np.clip(steps, -_LARGEST_SCORE, _LARGEST_SCORE)
        behind: NDArray[np.int64] = np.maximum(bounded - bounded.max(), -self.floor) * self.multiplier
        return behind


def score_lattice(
    *,
    sensitivity: Exact,
    candidates: int,
    epsilon: Exact | None,
    within: Exact | None,
    confidence: Exact | None,
    monotone_under: Adjacency | None,
    grid: Exact | None,
    unit_bits: int,
    floor_bits: int,
    shortfall: Callable[[Fraction, int], float],
) -> ScoreLattice:
    """Return the lattice on which noise of scale 2Δ/ε, or Δ/ε for monotone scores, has 2^unit_bits steps a scale.

    `shortfall(confidence, candidates)` says how many noise scales the chosen score may be behind the best: from it
    comes the smallest epsilon for a wanted accuracy. The other parameters are those of the mechanisms.
    """
    number = as_int("candidates", candidates, most=2**31)
    lattice = None if grid is None else ValueGrid(positive("grid", grid))
    step = Fraction(1) if lattice is None else lattice.step
    if lattice is None:
        moves = as_int("sensitivity", sensitivity)
    else:
        moves = lattice.l1_steps(positive("sensitivity", sensitivity), 1)
    if not _is_monotone(monotone_under):
        moves *= 2

    def multiplier(rate: Fraction) -> int:
        return math.floor(rate / moves * (1 << unit_bits))  # rounded down: towards more noise

    given = {"epsilon": epsilon, "within": within, "confidence": confidence}
    if exactly_one_of("noise", given, ("epsilon",), ("within", "confidence")) == ("epsilon",):
        price = positive("epsilon", epsilon)
    else:
        wish = Accuracy(positive("within", within), confidence, 1)
        room = wish.within if lattice is None else wish.within - step
        if room <= 0:
            reason = "is not above the step of the grid, by which rounding can move two scores"
            raise ParameterError("within", within, reason=reason, remedy="give a finer grid")
        behind = Fraction(shortfall(wish.confidence, number)) * step * (1 << unit_bits)
        price = wish.turning_point(lambda rate: behind <= room * multiplier(rate))[1]
    if not 0 < multiplier(price) <= _LARGEST_RATE << unit_bits:
        raise ParameterError(
            "epsilon",
            price,
            reason="is out of range for this sensitivity",
            remedy=f"stay between {moves}/2^{unit_bits} and {moves * _LARGEST_RATE}",
        )
    floor = (1 << floor_bits) // multiplier(price)
    return ScoreLattice(
        candidates=number, epsilon=price, multiplier=multiplier(price), floor=floor, unit_bits=unit_bits, grid=lattice
    )


def _is_monotone(monotone_under: object) -> bool:
    if not isinstance(monotone_under, Adjacency | None):
        remedy = "write Adjacency.ADD_REMOVE, or leave it out"
        raise ParameterError("monotone_under", monotone_under, reason="is no adjacency", remedy=remedy)
    match monotone_under:
        case None:
            return False
        case Adjacency.ADD_REMOVE:
            return True
        case _:
            raise ParameterError(
                "monotone_under",
                monotone_under,
                reason="is no adjacency under which all scores move the same way: where a person is replaced, one may "
                "rise while another falls",
                remedy="leave it out, at twice the noise",
            )
