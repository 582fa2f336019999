"""Scores that are high where one table is the likelier one, learnt from samples of both.

A score is fitted on draws that are used for nothing else. How good it is decides what an audit sees, never whether what
it says is true: an event is "the score is at least t", and its probabilities are measured on fresh draws.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import expit

from lapwing.auditor.outcomes import Codes, OutcomeReader, Outcomes, Reals, stacked

Cells: TypeAlias = Callable[[Outcomes], Codes]  # into which of finitely many cells, numbered from 0, each output falls

_FEWEST_A_CELL, _FEWEST_CROSSED, _MOST_CROSSED, _FEATURES = 20, 8, 12, 60
_MOST_FITTED, _MOST_REGRESSED = 50_000, 20_000
_NEWTON_STEPS, _RIDGE, _SMALLEST_NORMAL = 8, 1e-6, -1074

_LOWEST_BITS = (
    "This is in the lowest bits and no chance: doubles added to doubles keep a trace of both, whatever the scale of"
    " the noise."
)


@dataclass(frozen=True, slots=True)
class Score:
    """A statistic of outputs, its description, and a hint on a surprising result."""

    of: Callable[[Outcomes], Reals]
    words: Callable[[float], str]
    hint: str = ""


def scores(here: Outcomes, there: Outcomes, columns: list[int], reader: OutcomeReader) -> Iterator[Score]:
    """Return every score of these columns that is worth trying; each is high where `here` is likelier."""
    yield Score(lambda outcomes: np.zeros(len(outcomes)), lambda _: "any output")
    here, there = here[:_MOST_FITTED], there[:_MOST_FITTED]
    for j in columns:
        yield from _thresholds(j)
    for cells, words, hint in _partitions(here, there, columns):
        yield _likelihood_ratio(here, there, cells, words, reader, hint=hint)
    if len(columns) > 1:
        yield _logistic(here[:_MOST_REGRESSED], there[:_MOST_REGRESSED], columns)


def telling(here: Outcomes, there: Outcomes) -> tuple[list[int], int]:
    """Return the columns to look at, and how many more vary: of very many, those in which the tables differ most."""
    here, there = here[:_MOST_FITTED], there[:_MOST_FITTED]
    both = stacked([here, there])
    busy = [j for j in range(both.columns) if _varies(both, j)]
    chosen = _most_different(here, there, busy, _FEATURES)
    return chosen, len(busy) - len(chosen)


def _most_different(here: Outcomes, there: Outcomes, columns: list[int], most: int) -> list[int]:
    """Return at most this number of columns, in their order: those with the largest chi-square between the tables."""
    if len(columns) <= most:
        return columns
    here, there = here[:_MOST_REGRESSED], there[:_MOST_REGRESSED]
    both = stacked([here, there])

    def difference(j: int) -> float:
        cells = _column(both, j, 8)
        counts = np.bincount(cells(here), minlength=1), np.bincount(cells(there), minlength=1)
        size = max(map(len, counts))
        a, b = (np.pad(count / count.sum(), (0, size - len(count))) for count in counts)
        return float(((a - b) ** 2 / np.maximum(a + b, 1e-300)).sum())

    return sorted(sorted(columns, key=difference, reverse=True)[:most])


def _name(j: int) -> str:
    """Name a column. Whatever has parts has its heading in the first, so a number there is the whole output."""
    return f"part {j}" if j else "output"


def _thresholds(j: int) -> Iterator[Score]:
    name = _name(j)

    def signed(outcomes: Outcomes, sign: float) -> Reals:
        return np.nan_to_num(sign * outcomes.numbers[:, j], nan=-np.inf)

    yield Score(lambda outcomes: signed(outcomes, 1.0), lambda t: f"{name} >= {t:.6g}")
    yield Score(lambda outcomes: signed(outcomes, -1.0), lambda t: f"{name} <= {-t:.6g}")


def _partitions(here: Outcomes, there: Outcomes, busy: list[int]) -> Iterator[tuple[Cells, str, str]]:
    """Return ways to sort outputs into cells: each column alone, coarse to fine, and columns together."""
    both = stacked([here, there])
    most = max(2, len(both) // _FEWEST_A_CELL)
    finest = [bins for bins in (2, 8, 32, 128, 512) if bins <= most] or [2]
    for j in busy:
        few = len(np.unique(_numbers(both, j))) <= finest[0]
        for bins in finest[:1] if few else finest[-3::2]:
            yield _column(both, j, bins), f"{_name(j)} in {bins} bins", ""
    for j in busy:
        seen = _numbers(both, j)
        if (seen != np.round(seen)).any():
            grids = _crossed([_column(both, j, 8), _finest_bit(j)], both)
            if grids is not None:
                yield grids, f"the finest bit of {_name(j)}", _LOWEST_BITS
    if len(busy) > 1:
        fewer = _most_different(here, there, busy, _MOST_CROSSED)
        for bins in (2, 4, 16):
            crossed = _crossed([_column(both, j, bins) for j in fewer], both)
            if crossed is None:
                break
            yield crossed, f"{bins} bins a part", ""


def _varies(both: Outcomes, j: int) -> bool:
    numbers, labels = both.numbers[:, j], both.labels[:, j]
    return bool((labels != labels[0]).any() or (~np.isnan(numbers) & (numbers != numbers[0])).any())


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
    return np.asarray(both.numbers[both.labels[:, j] == 0, j])


def _finest_bit(j: int) -> Cells:
    """Sort by the lowest bit that is set: a sum of doubles keeps the grid of its summands, which reveals one."""

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


def _likelihood_ratio(
    here: Outcomes, there: Outcomes, cells: Cells, words: str, reader: OutcomeReader, *, hint: str
) -> Score:
    score = _log_ratio(here, there, cells)

    def describe(t: float) -> str:
        single = here.columns == 1 and not np.any(here.labels[:, 0] == 0)
        if not single:
            return f"the likelihood ratio of {words} is at least {np.exp(t):.4g}"
        chosen = {reader.meaning(int(code)) for code in np.unique(here.labels[score(here) >= t, 0])}
        return f"the output is one of {', '.join(sorted(chosen)[:5])}"

    return Score(score, describe, hint)


def _log_ratio(here: Outcomes, there: Outcomes, cells: Cells) -> Callable[[Outcomes], Reals]:
    """Return ln of the ratio in the cell of an output, drawn towards 0 where little was seen."""
    mine, theirs = cells(here), cells(there)
    size = int(max(mine.max(), theirs.max())) + 2
    a, b = (np.bincount(codes, minlength=size).astype(np.float64) for codes in (mine, theirs))
    ratios: Reals = np.log((a / len(mine) + 1 / len(mine)) / (b / len(theirs) + 1 / len(theirs)))
    return lambda outcomes: ratios[np.minimum(cells(outcomes), size - 1)]


def _logistic(here: Outcomes, there: Outcomes, columns: list[int]) -> Score:
    """Fit a logistic regression on the likelihood ratio of each column: exact where each has noise of its own."""
    both = stacked([here, there])
    bins = int(np.clip(len(both) // 200, 4, 64))
    ratios = [_log_ratio(here, there, _column(both, j, bins)) for j in columns]

    def features(outcomes: Outcomes) -> Reals:
        return np.column_stack([ratio(outcomes) for ratio in ratios])

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
        return np.asarray((features(outcomes) * weights).sum(axis=1))

    return Score(score, lambda t: f"the logistic score is at least {t:.4g}")
