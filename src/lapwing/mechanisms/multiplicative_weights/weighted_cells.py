"""The paradigm: weights over all cells of a domain, each multiplied up where the model says too little, down elsewhere.

Nothing here sees data but `open_cells` and `exact_counts`. The two theorems are about any sequence of mistakes, and the
mechanisms next door only have to find mistakes privately.

Proof: proofs/multiplicative_weights.md
"""

import math
from dataclasses import replace
from typing import Any, Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.noise_mechanism import Integers, integers, wrong_size
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import Exact, as_int, exact, float_below, positive
from lapwing.vocabulary.frozen import frozen

Questions: TypeAlias = NDArray[np.bool_]
"""Counts that are asked for: a row for each question, a column for each cell, True where the cell counts."""
MOST_CELLS: Final = 2**20
MOST_PEOPLE: Final = 2**40
_MOST_ENTRIES: Final = 2**28
_AT_ONCE: Final = 2**22
"""Entries of questions that are turned into numbers at a time: 32 MiB of them."""


def mistake_bound(cells: int, alpha: Exact) -> int:
    """Return how often multiplicative weights can be wrong by `alpha` or more, whatever is asked, in whatever order.

    Wrong by alpha means that the shares of the people and of the weights in a question differ by that much. Each time
    the weights in the question are multiplied by e^(alpha/2) if they are too small, or by e^(-alpha/2).

    >>> mistake_bound(cells=1024, alpha="0.1")
    2772

    Theorem: Hardt, Rothblum, *A multiplicative weights mechanism for privacy-preserving data analysis*, FOCS 2010;
    Dwork, Roth, *The algorithmic foundations of differential privacy*, 2014, section 4.2: 4 ln|X| / alpha².
    Proof: proofs/multiplicative_weights.md
    """
    return math.floor(4 * math.log(_as_cells(cells)) / float_below(positive("alpha", alpha)) ** 2)


def regret_bound(experts: int, rounds: int, rate: Exact) -> float:
    """Return by how much, in a round of the mean, the best of the experts earns more than the weights do.

    In each round expert i earns a number between -1 and 1, the weights their mean, and then each weight is multiplied
    by e^(rate * earned).

    >>> round(regret_bound(experts=100, rounds=1000, rate="0.07"), 3)
    0.136

    Theorem: Arora, Hazan, Kale, *The multiplicative weights update method*, Theory of Computing 8, 2012, Theorem 2.4.
    Proof: proofs/multiplicative_weights.md
    """
    step = _as_rate(rate)
    return math.log(as_int("experts", experts)) / (step * as_int("rounds", rounds)) + step


def best_rate(experts: int, rounds: int) -> float:
    """Return the rate at which `regret_bound` is least, √(ln(experts) / rounds), or 1 if that is above 1."""
    return min(1.0, math.sqrt(math.log(as_int("experts", experts, least=2)) / as_int("rounds", rounds)))


@frozen(eq=False, repr=False)
class WeightedCells:
    """A model of a population: a weight for each cell of the domain, which add up to 1, and the `population`'s size.

    >>> model = WeightedCells.uniform(cells=4, population=100)
    >>> model.tilted(np.array([True, False, False, False]), math.log(3)).counts(np.eye(4, dtype=bool)).round(1)
    array([50. , 16.7, 16.7, 16.7])
    """

    weights: NDArray[np.float64]
    population: int
    measured: tuple[tuple[int, int], ...] = ()
    """What it was learned from, where that was released: questions, by their rows, and their noisy counts."""

    @classmethod
    def uniform(cls, *, cells: int, population: int) -> Self:
        """Return the model that knows nothing: as many people in each cell."""
        number = _as_cells(cells)
        return cls(weights=np.full(number, 1 / number), population=as_population(population))

    def shares(self, questions: Questions) -> NDArray[np.float64]:
        """Return which share of the people each question counts, by the model."""
        step = max(1, _AT_ONCE // self.weights.size)
        parts = [questions[at : at + step].astype(np.float64) @ self.weights for at in range(0, len(questions), step)]
        return np.concatenate(parts)

    def counts(self, questions: Questions) -> NDArray[np.float64]:
        """Return how many people each question counts, by the model."""
        return self.population * self.shares(read_questions(questions, cells=self.weights.size))

    def guess(self, questions: Questions) -> NDArray[np.int64]:
        """Return what an exact count is compared with: `counts`, rounded to whole people."""
        return np.rint(self.population * self.shares(questions)).astype(np.int64)

    def tilted(self, question: NDArray[np.bool_], exponent: float) -> Self:
        """Return the model with the weights in one question multiplied by e^exponent: one step of the paradigm."""
        weights = np.where(question, self.weights * math.exp(exponent), self.weights)
        return replace(self, weights=weights / weights.sum())

    def __repr__(self) -> str:
        return f"<weights over {self.weights.size:,} cells, of {self.population:,} people>"


def read_questions(questions: Any, *, cells: int | None = None) -> Questions:
    """Return questions if they are a table of truth values that is not too large, one row each; refuse others.

    >>> read_questions([[1, 0]])
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: questions = 'list' is not a table of truth values; give a numpy array
    of bool, a row for each question and a column for each cell
    """
    if type(questions) is not np.ndarray or questions.dtype != np.bool_ or questions.ndim != 2:  # noqa: PLR2004 - a table
        remedy = "give a numpy array of bool, a row for each question and a column for each cell"
        reason = "is not a table of truth values"
        raise ParameterError("questions", type(questions).__name__, reason=reason, remedy=remedy)
    number, wide = questions.shape
    if not number or (cells is not None and wide != cells):
        remedy = f"give a row for each question, of {cells if cells is not None else 'as many'} cells"
        raise ParameterError("questions", questions.shape, reason="do not fit the domain", remedy=remedy)
    _as_cells(wide)
    if questions.size > _MOST_ENTRIES:
        reason = f"are {questions.size:,} truth values, more than {_MOST_ENTRIES:,}"
        raise ParameterError("questions", questions.shape, reason=reason, remedy="ask fewer, or `publish` marginals")
    return questions


def open_cells(value: Integers, cells: int) -> NDArray[np.int64]:
    """Open the number of people in each cell, of which none is negative; refuse another number of cells."""
    opened = integers(value, remedy="hand in the number of people in each cell")
    if isinstance(opened, int) or opened.shape != (cells,):
        del opened
        raise wrong_size(cells, "hand in the number of people in each cell of the domain")
    return np.clip(opened, 0, MOST_PEOPLE)  # so that sums of 2^20 of them stay whole numbers of 64 bits


def exact_counts(questions: Questions, cells: NDArray[np.int64], population: int) -> NDArray[np.int64]:
    """Return how many people each question counts, or `population` if it counts more.

    If one person is in one cell, or moves from one to another, each of the counts moves by at most 1.

    Proof: proofs/multiplicative_weights.md
    """
    return np.array([min(int(cells[one].sum()), population) for one in questions], np.int64)


def as_population(population: object) -> int:
    """Return the public number of people: declared, or released before at a price of its own."""
    return as_int("population", population, most=MOST_PEOPLE)


def _as_cells(cells: object) -> int:
    number = as_int("cells", cells, least=2)
    if number > MOST_CELLS:
        reason = f"is more than {MOST_CELLS:,}, and every one has a weight here"
        remedy = "take fewer columns or wider bins, or `synthesize`, which needs no weight for each cell"
        raise ParameterError("cells", number, reason=reason, remedy=remedy)
    return number


def _as_rate(rate: Exact) -> float:
    step = exact("rate", rate)
    if not 0 < step <= 1:
        raise ParameterError("rate", rate, reason="is not above 0 and at most 1", remedy='write for example "0.1"')
    return float(step)
