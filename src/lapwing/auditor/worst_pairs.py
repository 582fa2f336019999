"""A search for the pair of neighbouring tables, and the transcript, that lose most.

A search shows how much is lost *at least*: it refutes a false claim, and shows that a true one is attained. That
nothing loses more is what the proofs are for.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from lapwing.auditor.privacy_loss import NeighbouringPair, Witness, testify
from lapwing.auditor.sparse_vector_oracle import Halting, Reveals, SparseVectorVariant, ThresholdNoise
from lapwing.auditor.transcripts import ABORT, CLEAR_YES, NO, YES, Abort, Level, Number, Outcome, Transcript, Yes
from lapwing.vocabulary.adjacency import Adjacency
from lapwing.vocabulary.exact import positive, whole


class Movement(Enum):
    """How the true values of all questions may move from a table to its neighbour, each by at most the sensitivity."""

    EITHER_WAY = "some up, some down"
    TOGETHER = "all up, or all down"

    @classmethod
    def of_counts(cls, adjacency: Adjacency) -> "Movement":
        """Return how counts move: together when one person comes or goes, either way when one replaces another.

        >>> Movement.of_counts(Adjacency.REPLACE)
        <Movement.EITHER_WAY: 'some up, some down'>
        """
        return cls.TOGETHER if adjacency is Adjacency.ADD_REMOVE else cls.EITHER_WAY


def worst_loss(
    variant: SparseVectorVariant,
    *,
    sensitivity: Number = 1,
    movement: Movement = Movement.EITHER_WAY,
    noes: int = 10,
    yeses: int | None = None,
    clear_yeses: int = 0,
) -> Witness:
    """Return the worst transcript that was found among those with so many noes, then so many yeses.

    Equal outcomes share one true value. The values are searched for (on a lattice: among its points), and so are the
    numbers that are told; the values of each outcome move by the sensitivity, up, down or not at all. Both orders of
    every pair are covered. Where the threshold noise is redrawn, all the noes come before each yes.

    Parameters
    ----------
    variant : the suspect
    sensitivity : how far a value moves between neighbours
    movement : whether the values of one pair may move in different directions
    noes : how many questions get a no
    yeses : how many get a plain yes. Unless it is said: all that the variant has to give, and its abort where it halts
        one yes late; as many as noes where it never halts
    clear_yeses : how many get a clear yes, where the variant has two comparisons

    Examples
    --------
    AboveThreshold as documents 000 and 003 print it keeps its claim of epsilon 1, and attains it.

    >>> from lapwing.auditor.noise_laws import Laplace
    >>> round(worst_loss(SparseVectorVariant(threshold=Laplace(2), query=Laplace(4), yeses=1)).loss, 6)
    1.0
    """
    noes, clear_yeses = whole("noes", noes, least=0), whole("clear_yeses", clear_yeses, least=0)
    template = _template(variant, noes=noes, yeses=yeses, clear_yeses=clear_yeses)
    search = _Search(variant, positive("sensitivity", sensitivity), template)
    starts = sorted(search.starts(movement), key=lambda start: search.witness(*start).loss)
    return max((search.climb(*start) for start in starts[-2:]), key=lambda witness: witness.loss)


def _template(variant: SparseVectorVariant, *, noes: int, yeses: int | None, clear_yeses: int) -> Transcript:
    """Return the transcript to be searched, with nothing told yet."""
    late = variant.halting is Halting.ONE_YES_LATE and yeses is None
    if yeses is None:
        yeses = noes if variant.halting is Halting.NEVER else variant.yeses
    if variant.threshold_noise is ThresholdNoise.REDRAWN_AFTER_YES:
        return ((NO,) * noes + (YES,)) * yeses
    return (NO,) * noes + (CLEAR_YES,) * clear_yeses + (YES,) * yeses + (ABORT,) * late


_Point: TypeAlias = tuple[int, ...]
"""The true value of each kind of outcome, then each told number, in multiples of the search's resolution."""

_Moves: TypeAlias = tuple[int, ...]
"""How the value of each kind moves to the neighbour: up by the sensitivity (1), down (-1), or not (0)."""

_TOLD_AS = {Reveals.GAP: "gap", Reveals.COMPARED_VALUE: "compared", Reveals.NUMERIC: "numeric"}
_FAR = (-32, -4, -1, 0, 4, 32)
_LIMIT = 256
_MOST_SWEEPS = 16


class _Search:
    """From a coarse grid of true values and told numbers uphill, in ever smaller steps.

    One unit is the largest noise scale. On a lattice the search stays on it, unless the sensitivity itself does not:
    that mistake is searched for in steps of half the sensitivity.
    """

    def __init__(self, variant: SparseVectorVariant, sensitivity: Fraction, template: Transcript) -> None:
        self.variant, self.sensitivity, self.template = variant, sensitivity, template
        self.kinds = tuple(dict.fromkeys(_kind(outcome) for outcome in template))
        anything_told = any(isinstance(kind, Yes) for kind in self.kinds)
        self.told = tuple(_TOLD_AS[what] for what in variant.reveals) if anything_told else ()
        clear = [variant.clear.query] if variant.clear else []
        unit = max(float(sensitivity), *(law.scale for law in (variant.threshold, variant.query, *clear)))
        self.resolution = Fraction(unit) / 16
        if variant.lattice is not None:
            on_it = (sensitivity / variant.lattice).denominator == 1
            self.resolution = variant.lattice if on_it else sensitivity / 2
        self.unit = max(1, round(unit / self.resolution))

    def starts(self, movement: Movement) -> Iterator[tuple[_Point, _Moves]]:
        far = [self.unit * units for units in _FAR]
        points = itertools.product(*[far] * len(self.kinds), *[far[2:]] * len(self.told))
        return itertools.product(points, self._moves(movement))

    def climb(self, point: _Point, moves: _Moves) -> Witness:
        best = self.witness(point, moves)
        step = 16 * self.unit
        while step and best.loss < math.inf:
            for _ in range(_MOST_SWEEPS):
                before = best.loss
                for axis, change in itertools.product(range(len(point)), (step, -step)):
                    tried = (*point[:axis], point[axis] + change, *point[axis + 1 :])
                    found = self.witness(tried, moves)
                    if found.loss > best.loss and abs(tried[axis]) <= _LIMIT * self.unit:
                        best, point = found, tried
                if best.loss <= before + 1e-12:
                    break
            step //= 4
        return best

    def witness(self, point: _Point, moves: _Moves) -> Witness:
        numbers = [_plain(steps * self.resolution) for steps in point]
        here = dict(zip(self.kinds, numbers, strict=False))
        there = {
            kind: _plain(Fraction(here[kind]) + move * self.sensitivity)
            for kind, move in zip(self.kinds, moves, strict=True)
        }
        told = dict(zip(self.told, numbers[len(self.kinds) :], strict=True))
        said = {kind: self._tell(kind, told) for kind in self.kinds}
        pair = NeighbouringPair(
            here=tuple(here[_kind(outcome)] for outcome in self.template),
            there=tuple(there[_kind(outcome)] for outcome in self.template),
        )
        transcript = tuple(outcome if isinstance(outcome, Abort) else said[outcome] for outcome in self.template)
        return testify(self.variant, pair, transcript)

    def _tell(self, kind: Outcome, told: dict[str, Number]) -> Outcome:
        if not isinstance(kind, Yes):
            return kind
        gap = told.get("gap")
        if gap is not None and kind.level is Level.CLEAR and self.variant.clear is not None:
            least = math.ceil(Fraction(self.variant.clear.margin) / self.resolution) * self.resolution
            gap = _plain(least + Fraction(gap))
        return replace(kind, gap=gap, compared=told.get("compared"), numeric=told.get("numeric"))

    def _moves(self, movement: Movement) -> list[_Moves]:
        """Return the ways to move, without those that lose less than another way whatever the values are."""
        allowed = [
            moves
            for moves in itertools.product((-1, 0, 1), repeat=len(self.kinds))
            if any(moves) and (movement is Movement.EITHER_WAY or len({*moves} - {0}) == 1)
        ]
        return [moves for moves in allowed if not any(self._outdone(moves, by=other) for other in allowed)]

    def _outdone(self, moves: _Moves, *, by: _Moves) -> bool:
        """Say whether each outcome is at most as likely after `by`: a higher value makes a no less likely, a yes more.

        Of a yes with a number nothing can be said, so it must move alike in both.
        """
        if by == moves:
            return False
        for kind, move, other in zip(self.kinds, moves, by, strict=True):
            if isinstance(kind, Yes) and (other != move if self.told else other > move):
                return False
            if not isinstance(kind, Yes) and other < move:
                return False
        return True


def _kind(outcome: Outcome) -> Outcome:
    """Return the kind of outcome: an abort is one more yes, of which no number is told."""
    return YES if isinstance(outcome, Abort) else outcome


def _plain(number: Fraction) -> Number:
    return int(number) if number.denominator == 1 else float(number)
