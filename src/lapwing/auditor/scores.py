"""Scores that are high where one table is the likelier one, learnt from samples of both.

A score is fitted on draws that are used for nothing else. How good it is decides what an audit sees, never whether what
it says is true: an event is "the score is at least t", and its probabilities are measured on fresh draws.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from lapwing.auditor.outcomes import Codes, Outcomes, Reader, Reals

Cells: TypeAlias = Callable[[Outcomes], Codes]
"""Into which of finitely many cells, numbered from 0, each output falls."""

_FEWEST_A_CELL = 20
_FEWEST_CROSSED = 8
_MOST_CROSSED = 12
_FEATURES = 60
_MOST_FITTED = 50_000
_MOST_REGRESSED = 20_000
_NEWTON_STEPS = 8
_RIDGE = 1e-6
_SMALLEST_NORMAL = -1074


@dataclass(frozen=True, slots=True)
class Score:
    """A number for each output, and what it is in words."""

    of: Callable[[Outcomes], Reals]
    words: Callable[[float], str]


def scores(here: Outcomes, there: Outcomes, reader: Reader) -> Iterator[Score]:
    """Return every score that is worth trying on these draws; each is high where `here` is likelier."""
    yield Score(lambda outcomes: np.zeros(len(outcomes)), lambda _: "any output")
    here, there, columns = here[:_MOST_FITTED], there[:_MOST_FITTED], here.columns
    for j in _busy(_together(here, there)):
        yield from _thresholds(j, columns)
    for cells, words in _partitions(here, there):
        yield _likelihood_ratio(here, there, cells, words, reader)
    fewer = here[:_MOST_REGRESSED], there[:_MOST_REGRESSED]
    if len(_busy(_together(*fewer))) > 1:
        yield _logistic(*fewer)


def _thresholds(j: int, columns: int) -> Iterator[Score]:
    name = "output" if columns == 1 else f"part {j + 1}"

    def signed(outcomes: Outcomes, sign: float) -> Reals:
        return np.nan_to_num(sign * outcomes.numbers[:, j], nan=-np.inf)

    yield Score(lambda outcomes: signed(outcomes, 1.0), lambda t: f"{name} >= {t:.6g}")
    yield Score(lambda outcomes: signed(outcomes, -1.0), lambda t: f"{name} <= {-t:.6g}")


def _partitions(here: Outcomes, there: Outcomes) -> Iterator[tuple[Cells, str]]:
    """Return ways to sort outputs into cells: each column alone, coarse to fine, and columns together."""
    both = _together(here, there)
    busy = _busy(both)
    most = max(2, len(both) // _FEWEST_A_CELL)
    finest = [bins for bins in (2, 8, 32, 128, 512) if bins <= most] or [2]
    for j in busy:
        few = len(np.unique(_numbers(both, j))) <= finest[0]
        for bins in finest[:1] if few else finest[-3::2]:
            yield _column(both, j, bins), f"part {j + 1} in {bins} bins" if both.columns > 1 else f"{bins} bins"
    for j in busy:
        if _has_fractions(both, j):
            grids = _crossed([_column(both, j, 8), _finest_bit(j)], both)
            if grids is not None:
                yield grids, f"the finest bit of part {j + 1}"
    if len(busy) > 1:
        for bins in (2, 4, 16):
            crossed = _crossed([_column(both, j, bins) for j in busy[:_MOST_CROSSED]], both)
            if crossed is None:
                break
            yield crossed, f"{bins} bins a part"


def _together(here: Outcomes, there: Outcomes) -> Outcomes:
    return Outcomes(np.vstack([here.numbers, there.numbers]), np.vstack([here.labels, there.labels]))


def _busy(both: Outcomes) -> list[int]:
    """Return the columns in which not all outputs are the same; of very many, the first."""
    return [j for j in range(both.columns) if _varies(both, j)][:_FEATURES]


def _varies(both: Outcomes, j: int) -> bool:
    numbers, labels = both.numbers[:, j], both.labels[:, j]
    return bool((labels != labels[0]).any() or (~np.isnan(numbers) & (numbers != numbers[0])).any())


def _has_fractions(both: Outcomes, j: int) -> bool:
    seen = _numbers(both, j)
    return bool((seen != np.round(seen)).any())


def _column(both: Outcomes, j: int, bins: int) -> Cells:
    """Sort by one column: few distinct numbers each have a cell, many share `bins`; each label has its own."""
    seen = _numbers(both, j)
    distinct = np.unique(seen)
    if len(distinct) > bins:
        distinct = np.unique(np.quantile(seen, np.linspace(0, 1, bins + 1)[:-1]))
    known = np.unique(both.labels[:, j])
    place = np.full(int(known[-1]) + 2, len(known), np.int64)
    place[known] = np.arange(len(known))

    def cells(outcomes: Outcomes) -> Codes:
        labels = outcomes.labels[:, j]
        found = len(distinct) + 1 + place[np.minimum(labels, len(place) - 1)]
        number = labels == 0
        found[number] = np.searchsorted(distinct, outcomes.numbers[number, j], side="right")
        return found

    return cells


def _numbers(both: Outcomes, j: int) -> Reals:
    numbers: Reals = both.numbers[both.labels[:, j] == 0, j]
    return numbers


def _finest_bit(j: int) -> Cells:
    """Sort by the lowest bit that is set: a sum of doubles keeps the grid of its summands, which tells one of them."""

    def cells(outcomes: Outcomes) -> Codes:
        mantissa, exponent = np.frexp(np.nan_to_num(outcomes.numbers[:, j]))
        whole = (mantissa * 2.0**53).astype(np.int64)
        lowest = np.where(whole == 0, 1, whole & -whole)
        place = np.where(whole == 0, 1024, exponent - 53 + np.round(np.log2(lowest)))
        return np.asarray(np.maximum(place - _SMALLEST_NORMAL, 0), np.int64)

    return cells


def _crossed(parts: list[Cells], both: Outcomes) -> Cells | None:
    """Sort by several columns together, unless nearly each output falls into a cell of its own.

    Combinations that were never seen share one cell.
    """
    steps: list[tuple[Cells, int, Codes]] = []
    place = np.zeros(len(both), np.int64)
    for cells in parts:
        mine = cells(both)
        radix = int(mine.max()) + 2
        combined = place * radix + mine
        known = np.unique(combined)
        if len(known) > len(both) // _FEWEST_CROSSED:
            return None
        steps.append((cells, radix, known))
        place = np.searchsorted(known, combined)

    def crossed(outcomes: Outcomes) -> Codes:
        place = np.zeros(len(outcomes), np.int64)
        lost = np.zeros(len(outcomes), bool)
        for cells, radix, known in steps:
            mine = cells(outcomes)
            combined = place * radix + np.minimum(mine, radix - 1)
            place = np.minimum(np.searchsorted(known, combined), len(known) - 1)
            lost |= known[place] != combined
        return np.where(lost, len(steps[-1][2]), place)

    return crossed


def _likelihood_ratio(here: Outcomes, there: Outcomes, cells: Cells, words: str, reader: Reader) -> Score:
    mine, theirs = cells(here), cells(there)
    size = int(max(mine.max(), theirs.max())) + 2
    ratios = _log_ratios(mine, theirs, size)

    def score(outcomes: Outcomes) -> Reals:
        return ratios[np.minimum(cells(outcomes), size - 1)]

    def told(t: float) -> str:
        single = here.columns == 1 and not np.any(here.labels[:, 0] == 0)
        if not single:
            return f"the likelihood ratio of {words} is at least {np.exp(t):.4g}"
        chosen = {reader.meaning(int(code)) for code in np.unique(here.labels[score(here) >= t, 0])}
        return f"the output is one of {', '.join(sorted(chosen)[:5])}"

    return Score(score, told)


def _log_ratios(mine: Codes, theirs: Codes, size: int) -> Reals:
    """Return ln of the ratio of each cell, drawn towards 0 where little was seen."""
    a, b = (np.bincount(codes, minlength=size).astype(np.float64) for codes in (mine, theirs))
    return np.log((a / len(mine) + 1 / len(mine)) / (b / len(theirs) + 1 / len(theirs)))


def _logistic(here: Outcomes, there: Outcomes) -> Score:
    """Fit a logistic regression on the likelihood ratio of each column: exact where each has noise of its own."""
    both = _together(here, there)
    bins = int(np.clip(len(both) // 200, 4, 64))
    tables = []
    for j in _busy(both):
        cells = _column(both, j, bins)
        mine, theirs = cells(here), cells(there)
        size = int(max(mine.max(), theirs.max())) + 2
        tables.append((cells, _log_ratios(mine, theirs, size), size))

    def features(outcomes: Outcomes) -> NDArray[np.float64]:
        return np.column_stack([ratios[np.minimum(cells(outcomes), size - 1)] for cells, ratios, size in tables])

    x = np.vstack([features(here), features(there)])
    y = np.concatenate([np.ones(len(here)), np.zeros(len(there))])
    weights = np.ones(x.shape[1])
    for _ in range(_NEWTON_STEPS):
        chance = expit(x @ weights)
        slope = x.T @ (chance - y) / len(y) + _RIDGE * weights
        bend = (x * (chance * (1 - chance))[:, None]).T @ x / len(y) + _RIDGE * np.eye(len(weights))
        weights = weights - np.linalg.solve(bend, slope)

    def score(outcomes: Outcomes) -> Reals:
        # Row by row: the last bit of a matrix product may depend on how many rows there are, and an event is fixed.
        total: Reals = (features(outcomes) * weights).sum(axis=1)
        return total

    return Score(score, lambda t: f"the logistic score is at least {t:.4g}")
