"""Does a sample come from the law it claims? One test for all samplers, with a stated false-alarm rate.

Every statistical test of the suite must accept the truth and reject a plausible lie. The truth is rejected with
probability at most `FALSE_ALARM` per test; a lie that would often be accepted means that the sample is too small.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

FALSE_ALARM = 1e-9
"""Per test; with fewer than 1000 statistical tests in a run, a run raises a false alarm at a rate below 1e-6."""

FEWEST_EXPECTED = 20.0


def p_value(counts: NDArray[np.int64], probabilities: NDArray[np.float64]) -> float:
    """Return Pearson's chi-square p-value; cells that expect fewer than 20 are pooled into one.

    `probabilities` may sum to less than one: the rest is the cell of everything that was not counted, whose count
    is taken to be zero unless `counts` has one entry more.
    """
    counts, probabilities = np.asarray(counts, np.float64), np.asarray(probabilities, np.float64)
    if counts.size == probabilities.size:
        counts = np.append(counts, 0.0)
    total = counts.sum()
    expected = np.append(probabilities, max(0.0, 1.0 - probabilities.sum())) * total
    big = expected >= FEWEST_EXPECTED
    seen, due = np.append(counts[big], counts[~big].sum()), np.append(expected[big], expected[~big].sum())
    if due[-1] < FEWEST_EXPECTED:
        seen[-2] += seen[-1]
        due[-2] += due[-1]
        seen, due = seen[:-1], due[:-1]
    return float(chi2.sf(((seen - due) ** 2 / due).sum(), seen.size - 1))


def integer_p_value(sample: NDArray[np.int64], lowest: int, probabilities: NDArray[np.float64]) -> float:
    """Return the p-value of integers against P(lowest), P(lowest + 1), ...; all others are pooled."""
    inside = sample[(sample >= lowest) & (sample < lowest + len(probabilities))]
    counts = np.bincount(inside - lowest, minlength=len(probabilities))
    return p_value(np.append(counts, sample.size - inside.size), probabilities)


def fits(p: float) -> bool:
    """Say whether the sample may be believed."""
    return p > FALSE_ALARM
