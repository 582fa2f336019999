"""Screening pairs of features for correlation: a score that one person can move by little, and by how much.

Pearson's coefficient is not a question for a stream: where a feature hardly varies, one person can turn it from 0
into 1. The score here has a sharp bound, and never finds a correlation that is not there.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Exact, Sensitive, as_int, fill, probability
from lapwing.vocabulary.guarantee import Adjacency

_FINEST = 1024
_MOST_PEOPLE = 1 << 30  # sums of products stay below 2^50, exact as floats, and scores below 2^62
_WIDTHS = (np.float64, np.float32, np.float16)


@dataclass(frozen=True, slots=True, init=False)
class CorrelationScreen:
    """Scores every pair of features by 2 |Σ xy| - τ Σ (x² + y²): at least 0 only if they correlate by τ or more.

    Features are numbers between -1 and 1, where 0 stands for a public centre (not the mean of the table) and 1 for a
    public range; what lies outside is clipped, what is missing (NaN) counts as 0. The correlation that is meant is
    Σ xy / √(Σx² Σy²). Its root is at most the mean of Σx² and Σy², and equal to it where the two are alike: so a score
    of at least 0 says that the correlation, of either sign, is at least τ.

    `at_least` is τ; features are rounded to `resolution` steps on either side of 0.

    >>> screen = CorrelationScreen(at_least="0.5")
    >>> screen.sensitivity(Adjacency.ADD_REMOVE).in_steps(Fraction(1))
    (96774, 129032)
    >>> screen.pairs(3)
    [(0, 1), (0, 2), (1, 2)]
    >>> screen.scores(np.array([[0.5, -0.5, 0.0], [1.0, -1.0, 1.0]]))
    <sensitive>

    Proof: proofs/correlation_sensitivity.md
    """

    at_least: Fraction
    resolution: int

    def __init__(self, *, at_least: Exact, resolution: int = 127) -> None:
        tau = probability("at_least", at_least)
        if tau.denominator > _FINEST:
            remedy = 'write it with few digits, such as "0.3"'
            raise ParameterError("at_least", at_least, reason="is needlessly fine", remedy=remedy)
        fill(self, at_least=tau, resolution=as_int("resolution", resolution, most=_FINEST))

    def sensitivity(self, adjacency: Adjacency, *, people: int = 1) -> ValueSensitivity:
        """Return how far one person can move the scores of all pairs.

        An arriving person adds at most 2 (1 - τ) to a score and takes away at most 2 (1 + τ), where features go from
        -1 to 1.
        """
        unit = 2 * self.resolution**2 * self.at_least.denominator
        return ValueSensitivity.of_arrivals(
            adjacency, up=unit * (1 - self.at_least), down=unit * (1 + self.at_least), people=people
        )

    def scores(
        self, features: NDArray[np.floating[Any]] | Sensitive[NDArray[np.floating[Any]]]
    ) -> Sensitive[NDArray[np.int64]]:
        """Return the score of every pair, in the order of `pairs`, as integers: to be asked whether it is at least 0.

        Features are a plain array of floats of at most 64 bits: one row a person (at most 2^30), one column a feature.
        """
        opened = features.open_for_release() if isinstance(features, Sensitive) else features
        if type(opened) is not np.ndarray or opened.ndim != 2 or opened.dtype not in _WIDTHS:  # noqa: PLR2004 - a table
            del opened
            remedy = "give one row a person"
            raise ParameterError("features", Sensitive(None), reason="is not a table of floats", remedy=remedy)
        if len(opened) > _MOST_PEOPLE:
            del opened
            remedy = "give at most 2^30 rows"
            raise ParameterError("features", Sensitive(None), reason="is too long to be summed exactly", remedy=remedy)
        exact = np.nan_to_num(opened.astype(np.float64), nan=0.0)  # narrower floats would round the sums
        steps = np.rint(np.clip(exact, -1.0, 1.0) * self.resolution)
        products = steps.T @ steps  # integers below 2^53: exact in any order
        squares = np.diagonal(products)
        first, second = np.triu_indices(steps.shape[1], 1)
        tau = self.at_least
        shared = np.abs(products[first, second]).astype(np.int64) * (2 * tau.denominator)
        return Sensitive(shared - (squares[first] + squares[second]).astype(np.int64) * tau.numerator)

    def pairs(self, features: int) -> list[tuple[int, int]]:
        """Return which two features each score is about."""
        return [(j, k) for j in range(features) for k in range(j + 1, features)]
