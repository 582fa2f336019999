"""White boxes of what is chosen (a candidate, one's own answer, keys that show) and how likely, from its definition.

With weights q_i = e^((u_i - u_best)/scale), the exponential mechanism chooses i with probability proportional to q_i.
Permute-and-flip looks at everybody at an independent uniform time t and takes i, when it comes, with probability q_i:
somebody else was not taken before t with probability 1 - t q_j, so P(i) = q_i ∫ ∏_{j≠i} (1 - t q_j) dt over [0, 1], a
polynomial. It is the highest score with exponential noise; as that noise forgets, "i wins by at least g" has the
probability that i wins with its score lowered by g.

Proof: proofs/white_box.md
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import reduce

import numpy as np
from scipy.special import logsumexp

from lapwing.auditor.added_noise import AddedNoise
from lapwing.auditor.noise_laws import NoiseLaw, Reals
from lapwing.auditor.pair_of_laws import PairOfLaws
from lapwing.auditor.white_box import FiniteModel, Inputs
from lapwing.auditor.worst_pairs import AuditedMovement
from lapwing.vocabulary.guarantee import Adjacency

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_TIMES, _LOG_WEIGHTS = (_NODES + 1) / 2, np.log(_WEIGHTS / 2)
_BEHIND = (0, 1, 4, 24)  # how many noise scales behind the best a candidate stands where the search begins


class AuditedRule(Enum):
    """How a candidate is chosen."""

    EXPONENTIAL = "exponential mechanism"
    PERMUTE_AND_FLIP = "permute-and-flip"


def log_chances(rule: AuditedRule, scores: Sequence[float], scale: float) -> Reals:
    """Return the log-probability that each candidate is chosen.

    >>> np.exp(log_chances(AuditedRule.EXPONENTIAL, [0, -math.log(3)], 1.0)).round(6).tolist()
    [0.75, 0.25]
    >>> np.exp(log_chances(AuditedRule.PERMUTE_AND_FLIP, [0, -math.log(3)], 1.0)).round(6).tolist()
    [0.833333, 0.166667]
    """
    behind = (np.asarray(scores, np.float64) - max(scores)) / scale
    if rule is AuditedRule.EXPONENTIAL:
        return np.asarray(behind - logsumexp(behind))
    with np.errstate(divide="ignore"):  # at time 1 the best one was surely taken
        passed_over = np.log1p(-np.outer(np.exp(behind), _TIMES))
    others = passed_over.sum(axis=0) - passed_over
    return np.asarray(behind + logsumexp(others + _LOG_WEIGHTS, axis=1), np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(FiniteModel):
    """One of several candidates, chosen by scores that are whole numbers.

    >>> from lapwing.vocabulary.guarantee import PureDP
    >>> found = Choice(rule=AuditedRule.PERMUTE_AND_FLIP, scale=2.0, sensitivity=1).worst(PureDP(epsilon=1))
    >>> round(found.number, 6)
    1.0
    """

    rule: AuditedRule
    scale: float  # of the noise, in units of score: 2Δ/ε, or Δ/ε for scores that move together
    sensitivity: int  # Δ, how far one person moves a score
    movement: AuditedMovement = AuditedMovement.EITHER_WAY
    candidates: int = 3  # the worst case needs no more than four
    # Where it is shown by how much the winner won: the ends of the intervals in which that is looked at, from 0.
    gaps: tuple[float, ...] = ()

    def starts(self) -> Iterator[Inputs]:
        """Yield scores near and far behind, each moved by all it can, either way or not."""
        moves = list(self.movement.moves(self.candidates))
        spots = [-math.ceil(scales * self.scale) for scales in _BEHIND]
        for scores in itertools.combinations_with_replacement(spots, self.candidates):
            for move in moves:
                yield scores, tuple(s + self.sensitivity * m for s, m in zip(scores, move, strict=True))

    def nearby(self, inputs: Inputs) -> Iterator[Inputs]:
        """Yield the same with one candidate further ahead or behind on both."""
        return _nearby(inputs, (1, -1, math.ceil(4 * self.scale)), least=-math.inf)

    def laws(self, inputs: Inputs) -> PairOfLaws:
        """Return the law of the winner (and of its gap, where it is shown)."""
        here, there = (self._law(scores) for scores in inputs)
        names: list[object] = [f"candidate {i + 1}" for i in range(self.candidates)]
        if self.gaps:
            ends = [f"{low:g} to {high:g}" for low, high in itertools.pairwise((*self.gaps, math.inf))]
            names = [f"{name} ahead by {end}" for name in names for end in ends]
        return PairOfLaws(inputs=inputs, here=here, there=there, outcomes=names)

    def _law(self, scores: Sequence[int]) -> Reals:
        if not self.gaps:
            return log_chances(self.rule, scores, self.scale)
        return np.concatenate([self._log_gaps(scores, i) for i in range(self.candidates)])

    def _log_gaps(self, scores: Sequence[int], i: int) -> Reals:
        """Return the log-probability that i wins by a gap in each interval, from the tail that keeps more digits."""
        laws = np.array(
            [
                log_chances(self.rule, [s - gap * (j == i) for j, s in enumerate(scores)], self.scale)
                for gap in self.gaps
            ]
        )
        wins = np.append(laws[:, i], -math.inf)
        fails = np.append(logsumexp(np.delete(laws, i, axis=1), axis=1), 0.0)
        with np.errstate(divide="ignore"):
            from_above = wins[:-1] + np.log1p(-np.exp(np.diff(wins)))
            from_below = fails[1:] + np.log1p(-np.exp(-np.diff(fails)))
        return np.where(wins[:-1] < fails[:-1], from_above, from_below)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramChoice(FiniteModel):
    """Cells chosen by how many rows they, and those before them, have: quantiles and tops.

    >>> from lapwing.vocabulary.guarantee import PureDP
    >>> median = HistogramChoice(rule=AuditedRule.PERMUTE_AND_FLIP, scale=2.0, cells=4, at=(Fraction(1, 2),))
    >>> median.worst(PureDP(epsilon=1)).refuted
    False
    """

    rule: AuditedRule
    scale: float  # of the noise of each choice
    cells: int
    at: tuple[Fraction, ...] = ()  # the fractions, for quantiles
    top: int = 0  # for tops: how many cells are chosen, one after the other
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    rows: int = 1  # of one person; all in one cell
    ends: tuple[tuple[int, float], ...] = ()  # of an interval: of each choice, how far off it aims, and its scale

    def starts(self) -> Iterator[Inputs]:
        """Yield histograms with no rows or many in each cell, and a person's rows more in, or moved to, each cell."""
        for counts in self._histograms():
            for cell in range(self.cells):
                if self.adjacency is Adjacency.ADD_REMOVE:
                    yield counts, _shifted(counts, cell, self.rows)
                else:
                    left = (_shifted(counts, i, -self.rows) for i in range(self.cells) if i != cell and counts[i])
                    yield from ((counts, _shifted(fewer, cell, self.rows)) for fewer in left)

    def _histograms(self) -> Iterator[tuple[int, ...]]:
        many = self.rows + math.ceil(30 * self.scale)
        if not self.ends:
            yield from itertools.product((0, many), repeat=self.cells)
            return
        between = (
            max(off for off, _ in self.ends) // self.at[0].denominator
        )  # rows from a quantile to what an end aims at
        for inner in itertools.product((0, between), repeat=self.cells - 2):
            yield (many, *inner, many)

    def nearby(self, inputs: Inputs) -> Iterator[Inputs]:
        """Yield the same with more, or fewer, rows in one cell of both."""
        return _nearby(inputs, (1, -1, 8, -8), least=0)

    def laws(self, inputs: Inputs) -> PairOfLaws:
        """Return the law of all choices together."""
        laws = [self.tops(counts) if self.top else self.quantiles(counts) for counts in inputs]
        names = [" then ".join(f"cell {cell + 1}" for cell in cells) for cells in laws[0]]
        here, there = (np.array(list(law.values())) for law in laws)
        return PairOfLaws(inputs=inputs, here=here, there=there, outcomes=names)

    def quantiles(self, counts: Sequence[int]) -> dict[tuple[int, ...], float]:
        """Return the log-probability of each way to choose the cells."""
        aims = [(q, *one) for q in self.at for one in self.ends or ((0, self.scale),)]
        chances = [log_chances(self.rule, quantile_scores(counts, q, off), scale) for q, off, scale in aims]
        cells = itertools.product(range(self.cells), repeat=len(aims))
        return {chosen: math.fsum(law[i] for law, i in zip(chances, chosen, strict=True)) for chosen in cells}

    def tops(self, counts: Sequence[int]) -> dict[tuple[int, ...], float]:
        """Return the log-probability of each order of chosen cells."""
        return {chosen: self._top(counts, chosen) for chosen in itertools.permutations(range(self.cells), self.top)}

    def _top(self, counts: Sequence[int], chosen: tuple[int, ...]) -> float:
        left, total = list(range(self.cells)), 0.0
        for cell in chosen:
            total += float(log_chances(self.rule, [counts[i] for i in left], self.scale)[left.index(cell)])
            left.remove(cell)
        return total


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedChoice(FiniteModel):
    """The largest cells, chosen one after the other, and the counts of those that were chosen, with noise on each.

    A person may be in all cells at once, so that every count moves by all of their rows.

    >>> from lapwing.auditor.noise_laws import AuditedDiscreteLaplace
    >>> from lapwing.vocabulary.guarantee import PureDP
    >>> top = HistogramChoice(rule=AuditedRule.PERMUTE_AND_FLIP, scale=2.0, cells=3, top=1)
    >>> CountedChoice(choice=top, law=AuditedDiscreteLaplace(2)).worst(PureDP(epsilon=1)).refuted
    False
    """

    choice: HistogramChoice
    law: NoiseLaw  # on the integers

    def starts(self) -> Iterator[Inputs]:
        """Yield histograms with no rows or many in each cell, and a person's rows more in some cells."""
        many = self.choice.rows + math.ceil(30 * self.choice.scale)
        for counts in itertools.product((0, many), repeat=self.choice.cells):
            for moved in itertools.product((0, self.choice.rows), repeat=self.choice.cells):
                if any(moved):
                    yield counts, tuple(count + move for count, move in zip(counts, moved, strict=True))

    def nearby(self, inputs: Inputs) -> Iterator[Inputs]:
        """Yield the same with more, or fewer, rows in one cell of both."""
        return _nearby(inputs, (1, -1, 8, -8), least=0)

    def laws(self, inputs: Inputs) -> PairOfLaws:
        """Return the joint law of the choices and of the counts that are released with them."""
        before, after = (self.choice.tops(counts) for counts in inputs)
        return _counted(inputs, before, after, self.law, lambda counts, chosen: [counts[cell] for cell in chosen])


@dataclass(frozen=True, slots=True, kw_only=True)
class EnclosedChoice(FiniteModel):
    """Two cells around a quantile, and with noise the rows below them, of each span between them, and above them.

    A span is a single cell where there are more spans than cells; a wrong one that is told to `overlap` counts the rows
    of the cell after it, too.

    >>> from lapwing.auditor.noise_laws import AuditedDiscreteLaplace
    >>> from lapwing.vocabulary.guarantee import PureDP
    >>> rule, ends = AuditedRule.PERMUTE_AND_FLIP, ((-20, 4.0), (20, 4.0))
    >>> median = HistogramChoice(rule=rule, scale=4.0, cells=4, at=(Fraction(1, 2),), ends=ends)
    >>> right = EnclosedChoice(choice=median, law=AuditedDiscreteLaplace(2))
    >>> wrong = EnclosedChoice(choice=median, law=AuditedDiscreteLaplace(2), overlap=True)
    >>> [one.worst(PureDP(epsilon="1.5")).refuted for one in (right, wrong)]
    [False, True]
    """

    choice: HistogramChoice
    law: NoiseLaw  # on the integers
    overlap: bool = False

    def starts(self) -> Iterator[Inputs]:
        """Yield where the choice begins."""
        return self.choice.starts()

    def nearby(self, inputs: Inputs) -> Iterator[Inputs]:
        """Yield what the choice holds to be near."""
        return self.choice.nearby(inputs)

    def laws(self, inputs: Inputs) -> PairOfLaws:
        """Return the joint law of both cells and of the counts around and between them."""
        before, after = (self.choice.quantiles(counts) for counts in inputs)
        return _counted(inputs, before, after, self.law, self._numbers)

    def _numbers(self, counts: Sequence[int], chosen: tuple[int, ...]) -> list[int]:
        """Return the rows below, of each cell between, and above."""
        first, after = min(chosen), max(chosen) + 1
        more = 2 if self.overlap else 1
        between = [sum(counts[cell : min(cell + more, after)]) for cell in range(first, after)]
        return [sum(counts[:first]), *between, sum(counts[after:])]


def _counted(
    inputs: Inputs,
    before: Mapping[tuple[int, ...], float],
    after: Mapping[tuple[int, ...], float],
    law: NoiseLaw,
    numbers: Callable[[Sequence[int], tuple[int, ...]], Sequence[int]],
) -> PairOfLaws:
    """Return the joint law of what is chosen and of the numbers that it decides on, each with noise."""
    heres, theres, names = list[Reals](), list[Reals](), list[object]()
    known = dict[tuple[int, ...], PairOfLaws]()
    for chosen in before:
        both = zip(*(numbers(counts, chosen) for counts in inputs), strict=True)
        moves = tuple(there - here for here, there in both if there != here)
        if moves not in known:
            known[moves] = _moved(inputs, moves, law)
        counted = known[moves]
        heres.append(before[chosen] + counted.here)
        theres.append(after[chosen] + counted.there)
        cells = " then ".join(f"cell {cell + 1}" for cell in chosen)
        names += [f"{cells}, counts {outcome}" for outcome in counted.outcomes]
    return PairOfLaws(inputs=inputs, here=np.concatenate(heres), there=np.concatenate(theres), outcomes=names)


def _moved(inputs: Inputs, moves: tuple[int, ...], law: NoiseLaw) -> PairOfLaws:
    """Return the law of numbers that move; those that do not reveal nothing."""
    if not moves:
        return PairOfLaws(inputs=inputs, here=np.zeros(1), there=np.zeros(1), outcomes=["alike"])
    noise = AddedNoise(law=law, reach=sum(moves), dimension=len(moves))
    return noise.laws(((0,) * len(moves), moves)).condensed()


def quantile_scores(counts: Sequence[int], q: Fraction, off: int = 0) -> list[int]:
    """Return how far q of all rows is outside the rows below each cell and the next, times q's denominator, negated.

    What is aimed at may lie `off` that, as the end of an interval does: nothing is outside of the first cell below it,
    nor of the last one above it.

    >>> quantile_scores([0, 15, 5], Fraction(1, 2)), quantile_scores([0, 15, 5], Fraction(1, 2), -24)
    ([-20, 0, -10], [0, -4, -34])
    """
    rows, wanted, scores = 0, q.numerator * sum(counts) + off, []
    for cell, count in enumerate(counts):
        low, high = q.denominator * rows, q.denominator * (rows + count)
        too_high, too_low = cell and low - wanted, cell < len(counts) - 1 and wanted - high
        scores.append(-max(too_high, too_low, 0))
        rows += count
    return scores


def _shifted(scores: tuple[int, ...], i: int, by: int) -> tuple[int, ...]:
    return (*scores[:i], scores[i] + by, *scores[i + 1 :])


def _nearby(inputs: Inputs, steps: tuple[int, ...], *, least: float) -> Iterator[Inputs]:
    for i, by in itertools.product(range(len(inputs[0])), steps):
        if min(inputs[0][i], inputs[1][i]) + by >= least:
            yield _shifted(inputs[0], i, by), _shifted(inputs[1], i, by)


_SHOWN = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedAnswer(FiniteModel):
    """The true category with probability odds/(odds + k - 1), and else one of the k - 1 others, evenly.

    >>> from lapwing.vocabulary.guarantee import PureDP
    >>> round(RandomizedAnswer(odds=math.exp(0.5), categories=4).worst(PureDP(epsilon="0.5")).number, 9)
    0.5
    """

    odds: float
    categories: int

    def starts(self) -> Iterator[Inputs]:
        """Yield the one pair of truths there is, up to names."""
        yield (0,), (1,)

    def laws(self, inputs: Inputs) -> PairOfLaws:
        """Return the law of the answer for both truths."""
        here, there = (self._law(truth) for (truth,) in inputs)
        names = [f"answer {i}" for i in range(self.categories)]
        return PairOfLaws(inputs=inputs, here=here, there=there, outcomes=names)

    def _law(self, truth: int) -> Reals:
        logs = np.zeros(self.categories)
        logs[truth] = math.log(self.odds)
        return logs - math.log(self.odds + self.categories - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdedKeys(FiniteModel):
    """Noise on the count of every key that somebody has; a key shows, with its noisy count, from `threshold` on.

    The key of one person alone shows with probability P(noise >= threshold - 1): that is the whole delta.

    >>> from lapwing.auditor.noise_laws import AuditedDiscreteLaplace
    >>> from lapwing.vocabulary.guarantee import ApproximateDP
    >>> keys = ThresholdedKeys(law=AuditedDiscreteLaplace(1), threshold=15, reach=1)
    >>> found = keys.worst(ApproximateDP(epsilon=1, delta="1e-6"))
    >>> found.refuted, found.delta < 1e-6
    (False, True)
    """

    law: NoiseLaw  # on the integers
    threshold: int
    reach: int  # how far neighbours' counts are apart in all, each by at most `people`
    people: int = 1  # protected together

    def starts(self) -> Iterator[Inputs]:
        """Yield keys that are new, rare, or near the threshold, to which the neighbour adds what it can."""
        spots = (0, 1, self.threshold - 2, self.threshold, self.threshold + 20)
        for moves in ((1,) * self.reach, _chunks(self.reach, self.people)):
            for width in range(1, len(moves) + 1):
                for counts in itertools.combinations_with_replacement(spots, width):
                    yield counts, tuple(count + move for count, move in zip(counts, moves, strict=False))

    def nearby(self, inputs: Inputs) -> Iterator[Inputs]:
        """Yield the same with one key that has one person more, or less, on both."""
        return _nearby(inputs, (1, -1), least=0)

    def laws(self, inputs: Inputs) -> PairOfLaws:
        """Return the law of what is shown of the keys that the neighbour changes; the others reveal nothing."""
        pairs = [self._one(here, there).condensed() for here, there in zip(*inputs, strict=True)]
        return reduce(PairOfLaws.times, pairs)

    def _one(self, here: int, there: int) -> PairOfLaws:
        shown = np.arange(self.threshold, max(self.threshold, there) + _SHOWN, dtype=np.float64)
        names = ["not shown", *(f"shown as {n:g}" for n in shown)]
        laws = (self._law(count, shown) for count in (here, there))
        return PairOfLaws(inputs=(here, there), here=next(laws), there=next(laws), outcomes=names)

    def _law(self, count: int, shown: Reals) -> Reals:
        if count == 0:  # no person has the key, so it is no candidate
            return np.concatenate(([0.0], np.full(len(shown), -math.inf)))
        inner, last = self.law.log_density(shown[:-1], -count), self.law.log_at_least(shown[-1:], -count)
        return np.concatenate((self.law.log_below(shown[:1], -count), inner, last))


def _chunks(reach: int, people: int) -> tuple[int, ...]:
    return (people,) * (reach // people) + ((reach % people,) if reach % people else ())
