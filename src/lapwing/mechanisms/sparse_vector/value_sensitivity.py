"""How far one person can move the values of a stream, and which way.

The price of a yes hangs on this. If a person can only push values one way (a newcomer never lowers a count), a yes
costs half of what it costs otherwise. So the cheap case cannot be switched on: it follows from facts that are typed.

Pairs of features can be screened for correlation with a score that one person can move by little. Pearson's
coefficient is not a question for a stream: where a feature hardly varies, one person can turn it from 0 into 1. The
score here has a sharp bound, and never finds a correlation that is not there.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Exact, Sensitive, as_int, exact, fill, positive, probability
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency, checked_adjacency


@frozen(kw_only=False, init=False)
class ValueSensitivity:
    """For one of two neighbouring tables, every value of the stream lies within [-down, +up] of the other's.

    It speaks of all questions of a stream together: of two neighbours, one and the same is the one whose values are at
    most `up` higher and at most `down` lower. It is made by the constructor that names what is asked, and by no other:
    the cheap case must follow from an adjacency. The bounds are for one of the `people` who are protected together.

    >>> ValueSensitivity.of_counts(Adjacency.ADD_REMOVE).in_steps(Fraction(1))
    (1, 1)
    >>> ValueSensitivity.of_counts(Adjacency.REPLACE).in_steps(Fraction(1))  # one may rise while another one falls
    (1, 2)
    >>> ValueSensitivity.of_anything(sensitivity=3).in_steps(Fraction(1, 2))
    (6, 12)
    >>> ValueSensitivity(up=1, down=0)
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: sensitivity = 'ValueSensitivity(...)' does not say what is asked of which
    neighbours; write ValueSensitivity.of_counts, of_sums, of_arrivals or of_anything
    """

    up: Fraction
    down: Fraction
    people: int

    def __init__(self, *_: object, **__: object) -> None:
        reason = "does not say what is asked of which neighbours"
        remedy = "write ValueSensitivity.of_counts, of_sums, of_arrivals or of_anything"
        raise ParameterError("sensitivity", "ValueSensitivity(...)", reason=reason, remedy=remedy)

    @classmethod
    def of_counts(cls, adjacency: Adjacency, *, people: int = 1) -> "ValueSensitivity":
        """Describe counts of people who fulfil a condition on their own data, asked as "at least".

        "At most 5" is not such a question; ask "at least 6" and turn the answer round. Neither is a difference of
        counts, a share of the population, or a condition on several people at once: `of_anything` serves those.
        """
        return cls.of_sums(adjacency, most=1, people=people)

    @classmethod
    def of_sums(cls, adjacency: Adjacency, *, most: Exact, people: int = 1) -> "ValueSensitivity":
        """Describe sums of one term a person, each between 0 and `most` and computed from that person's data alone."""
        return cls.of_arrivals(adjacency, up=most, down=0, people=people)

    @classmethod
    def of_arrivals(cls, adjacency: Adjacency, *, up: Exact, down: Exact, people: int = 1) -> "ValueSensitivity":
        """Describe values that an arriving person raises by at most `up` and lowers by at most `down`.

        The bounds hold for every table that the person joins. Replacing a person is a departure and an arrival, so
        under `REPLACE` a value moves by up to up + down, either way.
        """
        raised, lowered = exact("up", up), exact("down", down)
        if checked_adjacency(adjacency) is Adjacency.REPLACE:
            raised = lowered = raised + lowered
        return _validate(up=raised, down=lowered, people=people)

    @classmethod
    def of_anything(cls, *, sensitivity: Exact, people: int = 1) -> "ValueSensitivity":
        """Describe values of which it is only known that one person moves them by at most `sensitivity`, either way."""
        bound = positive("sensitivity", sensitivity)
        return _validate(up=bound, down=bound, people=people)

    def in_steps(self, grid: Fraction) -> tuple[int, int]:
        """Return (rise, span) for values put on the multiples of `grid`, in such multiples.

        Between neighbours, in either order, no value rises by more than `rise`, and rises and falls of two values
        together make at most `span`. Where all of them move the same way the two are equal, and a yes costs half.

        Proof: proofs/sparse_vector.md
        """
        up, down = math.ceil(self.up / grid), math.ceil(self.down / grid)
        return self.people * max(up, down), self.people * (up + down)


def _validate(*, up: Fraction, down: Fraction, people: int) -> ValueSensitivity:
    for name, bound in (("up", up), ("down", down)):
        if bound < 0:
            raise ParameterError(name, bound, reason="is negative", remedy="write how far, without a sign")
    if not up + down:
        raise ParameterError("up", 0, reason="and down are both zero", remedy="such a value needs no noise: show it")
    made = object.__new__(ValueSensitivity)
    fill(made, up=up, down=down, people=as_int("people", people))
    return made


_FINEST = 1024
_MOST_PEOPLE = 1 << 30  # sums of products stay below 2^50, exact as floats, and scores below 2^62
_WIDTHS = (np.float64, np.float32, np.float16)


@frozen(kw_only=False, init=False)
class CorrelationScreen:
    """Scores every pair of features by 2 |Σ xy| - τ Σ (x² + y²): at least 0 only if they correlate by τ or more.

    Features are numbers between -1 and 1, where 0 stands for a public centre (not the mean of the table) and 1 for a
    public range; what lies outside is clipped, what is missing (NaN) counts as 0. The correlation that is meant is
    Σ xy / √(Σx² Σy²). Its root is at most the mean of Σx² and Σy², and equal to it where the two are alike: so a score
    of at least 0 implies that the correlation, of either sign, is at least τ.

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
