"""The exact privacy loss of transcripts of a sparse vector, and a search for the pair and transcript that lose most.

The loss of a transcript is ln P(transcript) - ln P'(transcript); a claim of epsilon-differential privacy says that no
transcript, on no pair of neighbours and in neither order, loses more than epsilon.

A search shows how much is lost *at least*: it refutes a false claim, and shows that a true one is attained. That
nothing loses more is what the proofs are for.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from lapwing.auditor.outcomes import (
    ABORT,
    CLEAR_YES,
    NO,
    YES,
    Abort,
    AuditedYes,
    Level,
    Number,
    Outcome,
    Questions,
    Transcript,
)
from lapwing.auditor.sparse_vector_oracle import Halting, Reveals, SparseVectorVariant
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import as_int, positive
from lapwing.vocabulary.guarantee import Adjacency


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbouringPair:
    """The true values of the same questions on two neighbouring tables, each measured from its public threshold."""

    here: Questions
    there: Questions


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """A pair and a transcript that lose `loss`; on `pair.here` the transcript has this `log_probability`."""

    loss: float
    log_probability: float
    pair: NeighbouringPair
    transcript: Transcript


def witness_of(variant: SparseVectorVariant, pair: NeighbouringPair, transcript: Transcript) -> Witness:
    """Return the witness that `pair` and `transcript` make."""
    here = variant.log_probability(pair.here, transcript)
    there = -math.inf if here == -math.inf else variant.log_probability(pair.there, transcript)
    loss = here if here == -math.inf else here - there
    return Witness(loss=loss, log_probability=here, pair=pair, transcript=transcript)


def every_transcript(
    variant: SparseVectorVariant, length: int, *, above: Sequence[Outcome] | None = None
) -> Iterator[Transcript]:
    """Yield the transcripts of the variant on `length` questions: of that length, and shorter ones that halted.

    A value above the threshold may have the outcomes `above`, such as `gap_bins(0, 2, inf)`: a bare yes if not given.

    >>> from lapwing.auditor.noise_laws import Laplace
    >>> above_threshold = SparseVectorVariant(threshold=Laplace(2), query=Laplace(4), yeses=1)
    >>> [len(transcript) for transcript in every_transcript(above_threshold, 3)]
    [3, 3, 2, 1]
    """
    return (t for t in every_beginning(variant, length, above=above) if len(t) == length or variant.is_over(t))


def every_beginning(
    variant: SparseVectorVariant, length: int, *, above: Sequence[Outcome] | None = None
) -> Iterator[Transcript]:
    """Yield every transcript of one to `length` outcomes, finished or not."""
    bare: Sequence[Outcome] = (YES, CLEAR_YES) if variant.clear else (YES,)
    told = bare if above is None else above

    def grow(transcript: Transcript) -> Iterator[Transcript]:
        if transcript:
            yield transcript
        if len(transcript) < length and not variant.is_over(transcript):
            late = variant.halting is Halting.ONE_YES_LATE and variant.is_exhausted(transcript)
            yield from grow((*transcript, NO))
            for outcome in (ABORT,) if late else told:
                yield from grow((*transcript, outcome))

    return grow(())


class AuditedMovement(Enum):
    """How the true values of all questions may move from a table to its neighbour, each by at most the sensitivity."""

    EITHER_WAY = "some up, some down"
    TOGETHER = "all up, or all down"

    @classmethod
    def of_counts(cls, adjacency: Adjacency) -> "AuditedMovement":
        """Return how counts move: together when one person comes or goes, either way when one replaces another.

        >>> AuditedMovement.of_counts(Adjacency.REPLACE)
        <AuditedMovement.EITHER_WAY: 'some up, some down'>
        """
        return cls.TOGETHER if adjacency is Adjacency.ADD_REMOVE else cls.EITHER_WAY

    def moves(self, values: int) -> Iterator[tuple[int, ...]]:
        """Yield how as many values may move, at least one of them: up by the sensitivity (1), down (-1), or not (0)."""
        for moves in itertools.product((-1, 0, 1), repeat=values):
            if any(moves) and (self is AuditedMovement.EITHER_WAY or len({*moves} - {0}) == 1):
                yield moves


def worst_loss(
    variant: SparseVectorVariant,
    *,
    sensitivity: Number = 1,
    movement: AuditedMovement = AuditedMovement.EITHER_WAY,
    noes: int = 10,
    yeses: int | None = None,
    clear_yeses: int = 0,
) -> Witness:
    """Return the worst transcript that was found among those with this number of noes, then this number of yeses.

    Equal outcomes share one true value. The values are searched for (on a lattice: among its points), and so are the
    numbers that are shown; the values of each outcome move by the sensitivity, up, down or not at all. Both orders of
    every pair are covered. By default `yeses` are all plain ones that the variant has to give, and its abort
    where it halts one yes late; as many as noes where it never halts.

    AboveThreshold as documents 000 and 003 print it keeps its claim of epsilon 1, and attains it.

    >>> from lapwing.auditor.noise_laws import Laplace
    >>> round(worst_loss(SparseVectorVariant(threshold=Laplace(2), query=Laplace(4), yeses=1)).loss, 6)
    1.0
    """
    template = _template(
        variant,
        noes=as_int("noes", noes, least=0),
        yeses=None if yeses is None else as_int("yeses", yeses, least=0),
        clear_yeses=as_int("clear_yeses", clear_yeses, least=0),
    )
    if not template:
        raise ParameterError("noes", noes, reason="is an empty transcript", remedy="ask at least one question")
    search = _Search(variant, positive("sensitivity", sensitivity), template)
    starts = sorted(search.starts(movement), key=lambda start: search.loss(*start))
    return search.witness(*max((search.climb(*start) for start in starts[-2:]), key=lambda end: search.loss(*end)))


def _template(variant: SparseVectorVariant, *, noes: int, yeses: int | None, clear_yeses: int) -> Transcript:
    late = variant.halting is Halting.ONE_YES_LATE and yeses is None
    if yeses is None:
        yeses = noes if variant.halting is Halting.NEVER else variant.yeses
    return (NO,) * noes + (CLEAR_YES,) * clear_yeses + (YES,) * yeses + (ABORT,) * late


_Point: TypeAlias = tuple[int, ...]
"""The true value of each kind of outcome, then each revealed number, in multiples of the search's resolution."""

_Moves: TypeAlias = tuple[int, ...]  # how the value of each kind moves to the neighbour
_TOLD_AS = {Reveals.GAP: "gap", Reveals.COMPARED_VALUE: "compared", Reveals.NUMERIC: "numeric"}

_FIRST_TRIED: dict[Outcome | str, tuple[int, ...]] = {
    NO: (-1, 0, 4, 32),
    YES: (-32, -4, 0, 4),
    CLEAR_YES: (-32, -4, 0, 4),
    "gap": (0, 4, 32),
    "compared": (-4, 0, 4),
    "numeric": (-32, 32),
}
"""Where the search begins, in units of the largest noise scale: near the threshold, and far out in the tails."""

_FURTHEST = 256
_MOST_SWEEPS = 16


class _Search:
    """Hill climbing from a coarse grid of true values and revealed numbers, in ever smaller steps.

    One unit is the largest noise scale. On a lattice the search stays on it, unless the sensitivity itself does not:
    that mistake is searched for in steps of half the sensitivity.
    """

    def __init__(self, variant: SparseVectorVariant, sensitivity: Fraction, template: Transcript) -> None:
        self.variant, self.sensitivity, self.template = variant, sensitivity, template
        self.kinds = tuple(dict.fromkeys(_kind(outcome) for outcome in template))
        anything_told = any(isinstance(kind, AuditedYes) for kind in self.kinds)
        self.told = tuple(_TOLD_AS[what] for what in variant.reveals) if anything_told else ()
        clear = [variant.clear.query] if variant.clear else []
        unit = max(float(sensitivity), *(law.scale for law in (variant.threshold, variant.query, *clear)))
        self.resolution = Fraction(unit) / 16
        if variant.lattice is not None:
            on_it = (sensitivity / variant.lattice).denominator == 1
            self.resolution = variant.lattice if on_it else sensitivity / 2
        self.unit = max(1, round(unit / self.resolution))
        self.known: dict[tuple[_Point, _Moves], float] = {}

    def starts(self, movement: AuditedMovement) -> Iterator[tuple[_Point, _Moves]]:
        tried = [[self.unit * units for units in _FIRST_TRIED[axis]] for axis in (*self.kinds, *self.told)]
        return itertools.product(itertools.product(*tried), self._moves(movement))

    def climb(self, point: _Point, moves: _Moves) -> tuple[_Point, _Moves]:
        best, step = self.loss(point, moves), 16 * self.unit
        while step and best < math.inf:
            for _ in range(_MOST_SWEEPS):
                before = best
                for axis, change in itertools.product(range(len(point)), (step, -step)):
                    tried = (*point[:axis], point[axis] + change, *point[axis + 1 :])
                    if abs(tried[axis]) <= _FURTHEST * self.unit and self.loss(tried, moves) > best:
                        best, point = self.loss(tried, moves), tried
                if best <= before + 1e-12:
                    break
            step //= 4
        return point, moves

    def loss(self, point: _Point, moves: _Moves) -> float:
        here = self._log_probability(point, (0,) * len(moves))
        return here if here == -math.inf else here - self._log_probability(point, moves)

    def witness(self, point: _Point, moves: _Moves) -> Witness:
        here, there = self._values(point, (0,) * len(moves)), self._values(point, moves)
        return witness_of(self.variant, NeighbouringPair(here=here, there=there), self._transcript(point))

    def _log_probability(self, point: _Point, moves: _Moves) -> float:
        if (point, moves) not in self.known:
            values, transcript = self._values(point, moves), self._transcript(point)
            self.known[point, moves] = self.variant.log_probability(values, transcript)
        return self.known[point, moves]

    def _values(self, point: _Point, moves: _Moves) -> tuple[Number, ...]:
        values = {
            kind: _plain(steps * self.resolution + move * self.sensitivity)
            for kind, steps, move in zip(self.kinds, point, moves, strict=False)
        }
        return tuple(values[_kind(outcome)] for outcome in self.template)

    def _transcript(self, point: _Point) -> Transcript:
        numbers = [_plain(steps * self.resolution) for steps in point[len(self.kinds) :]]
        said = {kind: self._tell(kind, dict(zip(self.told, numbers, strict=True))) for kind in self.kinds}
        return tuple(outcome if isinstance(outcome, Abort) else said[outcome] for outcome in self.template)

    def _tell(self, kind: Outcome, told: dict[str, Number]) -> Outcome:
        if not isinstance(kind, AuditedYes):
            return kind
        gap = told.get("gap")
        if gap is not None and kind.level is Level.CLEAR and self.variant.clear is not None:
            least = math.ceil(Fraction(self.variant.clear.margin) / self.resolution) * self.resolution
            gap = _plain(least + Fraction(gap))
        return replace(kind, gap=gap, compared=told.get("compared"), numeric=told.get("numeric"))

    def _moves(self, movement: AuditedMovement) -> list[_Moves]:
        """Return the ways to move, without those that lose less than another way at all values."""
        allowed = list(movement.moves(len(self.kinds)))
        return [moves for moves in allowed if not any(self._outdone(moves, by=other) for other in allowed)]

    def _outdone(self, moves: _Moves, *, by: _Moves) -> bool:
        """Say whether each outcome is at most as likely after `by`: a higher value makes a no less likely, a yes more.

        A yes with a number has no such order, so it must move alike in both.
        """
        if by == moves:
            return False
        for kind, move, other in zip(self.kinds, moves, by, strict=True):
            if isinstance(kind, AuditedYes) and (other != move if self.told else other > move):
                return False
            if not isinstance(kind, AuditedYes) and other < move:
                return False
        return True


def _kind(outcome: Outcome) -> Outcome:
    return YES if isinstance(outcome, Abort) else outcome  # an abort is one more yes, of which no number is shown


def _plain(number: Fraction) -> Number:
    return int(number) if number.denominator == 1 else float(number)
