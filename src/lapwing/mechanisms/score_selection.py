"""Choosing among candidates by their scores: what all mechanisms that choose share.

Scores are read as integers on the lattice of the noise that will decide between them. Only differences from the best
score matter, so that is what is kept; a candidate so far behind that it cannot win is taken to be at a floor. Neither
step lets two candidates move apart by more than their scores did.

Proof: proofs/scores.md
"""

import math
from abc import abstractmethod
from dataclasses import field
from fractions import Fraction
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.margins import ByAccuracy
from lapwing.mechanisms.noise_mechanism import (
    ByEpsilon,
    Integers,
    Priced,
    Reals,
    ValueGrid,
    above_zero,
    integers,
    parse_noise,
    wrong_size,
)
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import ExponentialSelection, PureRelease
from lapwing.vocabulary.exact import Exact, as_int, exact, float_above, positive, probability
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency

Chosen = TypeVar("Chosen", PureRelease, ExponentialSelection)
Scores: TypeAlias = Integers | Reals

_LARGEST_SCORE = 1 << 61
_LARGEST_RATE = 20


@frozen()
class ScoreLattice:
    """How the scores of `candidates` are read: one step of score is `multiplier` lattice steps.

    One noise scale is 2^unit_bits lattice steps, or `scale` in units of score. No candidate counts as more than `floor`
    steps of score behind the best one.
    """

    candidates: int
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
        """Return how far apart scores may be that are read as this number of noise scales apart, rounded up."""
        return float_above(Fraction(scales) * self.scale + self.rounding)

    def in_scales(self, margin: Exact) -> Fraction:
        """Return a lower bound, in noise scales, on the distance of rounded scores that are at least `margin` apart."""
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


@frozen()
class _Chooser(Priced[Chosen], Generic[Chosen]):
    lattice: ScoreLattice = field(repr=False)


class ScoreSelection(_Chooser[Chosen], Generic[Chosen]):
    """The base of mechanisms that choose among candidates; subclasses draw the choice and bound its error.

    Noise has the scale 2Δ/ε, or Δ/ε for monotone scores, rounded up by less than a relative 2^-`UNIT_BITS` times it.
    """

    __slots__ = ()

    EVENT: ClassVar[type[Any]]
    UNIT_BITS: ClassVar[int]
    FLOOR_BITS: ClassVar[int]  # no score counts as further behind the best than two to this power of lattice steps
    FEWEST: ClassVar[int] = 1
    MOST: ClassVar[int] = 2**31

    def __init__(
        self,
        *,
        sensitivity: Exact,
        candidates: int,
        epsilon: Exact | None = None,
        within: Exact | None = None,
        confidence: Exact | None = None,
        monotone_under: Adjacency | None = None,
        grid: Exact | None = None,
    ) -> None:
        number = as_int("candidates", candidates, least=self.FEWEST, most=self.MOST)
        lattice = None if grid is None else ValueGrid(positive("grid", grid))
        if lattice is None:
            moved = as_int("sensitivity", sensitivity)
        else:
            moved = lattice.l1_steps(positive("sensitivity", sensitivity), 1)
        if not _is_monotone(monotone_under):
            moved *= 2

        def multiplier(rate: Fraction) -> int:
            return math.floor(rate / moved * (1 << self.UNIT_BITS))  # rounded down: towards more noise

        match parse_noise(epsilon=epsilon, within=above_zero(within), confidence=confidence):
            case ByEpsilon(price):
                pass
            case ByAccuracy() as target:
                step = Fraction(1) if lattice is None else lattice.step
                room = target.within if lattice is None else target.within - step
                if room <= 0:
                    reason = "is not above the step of the grid, by which rounding can move two scores"
                    raise ParameterError("within", within, reason=reason, remedy="give a finer grid")
                behind = Fraction(self.scales_behind(target.confidence, number)) * step * (1 << self.UNIT_BITS)
                price = target.bisect(lambda rate: behind <= room * multiplier(rate))[1]
            case _:  # pragma: no cover - it is asked for in no other way
                raise AssertionError
        if not 0 < multiplier(price) <= _LARGEST_RATE << self.UNIT_BITS:
            remedy = f"stay between {moved}/2^{self.UNIT_BITS} and {moved * _LARGEST_RATE}"
            raise ParameterError("epsilon", price, reason="is out of range for this sensitivity", remedy=remedy)
        steps, unit = multiplier(price), self.UNIT_BITS
        floor = (1 << self.FLOOR_BITS) // steps
        scores = ScoreLattice(candidates=number, multiplier=steps, floor=floor, unit_bits=unit, grid=lattice)
        super().__init__(event=self.EVENT(epsilon=price), lattice=scores)

    @property
    def epsilon(self) -> Fraction:
        """The price of a release."""
        return self.event.epsilon

    @property
    def noise_scale(self) -> Fraction:
        """The scale, in units of score, of the noise with which it chooses."""
        return self.lattice.scale

    def margin(self, confidence: Exact) -> float:
        """Return m such that the chosen score is at most m below the best, with probability at least `confidence`.

        Up to rounding it is the smallest m that holds for all scores: n - 1 candidates at m below a single best one
        attain it. A step of the `grid` is part of it, since scores are rounded before they are compared.
        """
        chance = probability("confidence", confidence)
        return self.lattice.in_scores(self.scales_behind(chance, self.lattice.candidates))

    @abstractmethod
    def release(self, value: Scores) -> object:
        """Return what was chosen by these scores."""

    @staticmethod
    @abstractmethod
    def scales_behind(confidence: Fraction, candidates: int) -> float:
        """Return how many noise scales the chosen score may be behind the best, rounded up."""

    @abstractmethod
    def confidence(self, margin: Exact) -> float:
        """Return the probability, rounded down, that the chosen score is at most `margin` below the best."""


def _is_monotone(monotone_under: object) -> bool:
    if monotone_under is None or monotone_under is Adjacency.ADD_REMOVE:
        return monotone_under is not None
    reason, remedy = "is not an adjacency", "write Adjacency.ADD_REMOVE, or leave it out"
    if monotone_under is Adjacency.REPLACE:
        reason += " under which all scores move the same way: if a person is replaced, one may rise while another falls"
        remedy = "leave it out, at twice the noise"
    raise ParameterError("monotone_under", monotone_under, reason=reason, remedy=remedy)
