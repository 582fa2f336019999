"""DualQuery: the same game from the other side. The weights are over questions, and each round adds one made-up person.

Questions that the made-up people answer badly gain weight; a few are drawn by it, and the next made-up person is one
who satisfies most of those. Drawing is the only thing that sees data. The search for the person sees none, and may be
as clever as one likes: here it goes through all cells.

Proof: proofs/multiplicative_weights.md
"""

import math
from dataclasses import field
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.exponential import ExponentialMechanism
from lapwing.mechanisms.multiplicative_weights.weighted_cells import (
    Questions,
    WeightedCells,
    as_population,
    exact_counts,
    open_cells,
    read_questions,
)
from lapwing.mechanisms.noise_mechanism import Integers, Priced
from lapwing.noise.coins_and_dice import uniform_below_many
from lapwing.vocabulary.event import Composed, Event, Repeated
from lapwing.vocabulary.exact import Exact, as_int, fill, positive, probability
from lapwing.vocabulary.frozen import frozen


@frozen(kw_only=False, init=False)
class DualQuery(Priced[Event]):
    """Makes up one person in each round, so that all of them together answer the questions as the population does.

    It is epsilon-differentially private: a draw in round t is an exponential mechanism of price 2 η (t - 1) / n.

    Parameters
    ----------
    questions : a row for each, True in the cells that it counts; they are public, and their negations are asked too
    population : the public number of people, declared or released before; never taken from the table
    rounds : how many people are made up, T
    draws : how many questions are drawn in each round, s
    epsilon : the price of all draws together, η T (T - 1) s / n: it decides on the rate η
    people : how many people are protected together

    >>> halves = np.array([[True, True, False, False], [True, False, True, False]])
    >>> maker = DualQuery(questions=halves, population=10_000, rounds=40, draws=20, epsilon=1)
    >>> float(maker.rate)
    0.32051282051282054
    >>> model = maker.release([4000, 3000, 2000, 1000])
    >>> int(np.rint(model.weights * 40).sum())
    40

    Theorem: Gaboardi, Gallego Arias, Hsu, Roth, Wu, *Dual Query: practical private query release for high dimensional
    data*, ICML 2014.
    Proof: proofs/multiplicative_weights.md
    """

    questions: Questions = field(repr=False, compare=False)
    population: int
    draws: int
    rate: Fraction
    choices: tuple[ExponentialMechanism, ...] = field(repr=False)

    def __init__(
        self,
        *,
        questions: Questions,
        population: int,
        rounds: int,
        draws: int,
        epsilon: Exact,
        people: int = 1,
    ) -> None:
        asked, size = read_questions(questions), as_population(population)
        times, number = as_int("rounds", rounds, least=2, most=10_000), as_int("draws", draws)
        moved = as_int("people", people)
        rate = positive("epsilon", epsilon) * size / (times * (times - 1) * number * moved)
        choices = tuple(
            ExponentialMechanism(
                sensitivity=made * moved, candidates=2 * len(asked), epsilon=2 * rate * made * moved / size
            )
            for made in range(1, times)
        )
        event = Composed(parts=tuple(Repeated(part=one.event, times=number) for one in choices))
        fill(self, event=event, questions=asked, population=size, draws=number, rate=rate, choices=choices)

    @classmethod
    def for_accuracy(
        cls, *, questions: Questions, population: int, alpha: Exact, confidence: Exact = "0.95", people: int = 1
    ) -> Self:
        """Return the mechanism whose shares are all within `alpha` with this confidence; its `loss` has the price.

        T = 16 ln(2|Q|) / alpha² rounds at the rate alpha / 4, and s = 8 ln(2 |X| T / beta) / alpha² draws in each. (The
        paper has 48 for 8: its search may miss the best person.)
        """
        asked, within = read_questions(questions), positive("alpha", alpha)
        times = max(2, math.ceil(16 * math.log(2 * len(asked)) / float(within) ** 2))
        beta = float(1 - probability("confidence", confidence))
        number = math.ceil(8 * math.log(2 * asked.shape[1] * times / beta) / float(within) ** 2)
        price = within / 4 * times * (times - 1) * number * as_int("people", people) / as_population(population)
        return cls(questions=asked, population=population, rounds=times, draws=number, epsilon=price, people=people)

    def release(self, value: Integers) -> WeightedCells:
        """Return the made-up people as weights: each has the weight 1/T in their cell."""
        exact = exact_counts(self.questions, open_cells(value, self.questions.shape[1]), self.population)
        made = [self._satisfying(uniform_below_many(2 * len(exact), self.draws))]
        satisfied = self.questions[:, made[0]].astype(np.int64)  # how many of the made-up people each question counts
        for choice in self.choices:
            behind = len(made) * exact - self.population * satisfied
            scores = np.concatenate((behind, -behind))
            drawn = np.array([choice.release(scores) for _ in range(self.draws)])
            made.append(self._satisfying(drawn))
            satisfied += self.questions[:, made[-1]]
        weights = np.bincount(made, minlength=self.questions.shape[1]) / len(made)
        return WeightedCells(weights=weights, population=self.population)

    def _satisfying(self, drawn: NDArray[np.int64]) -> int:
        """Return the cell that satisfies most of the drawn questions: from the second half on they are negations."""
        votes, number = np.zeros(self.questions.shape[1], np.int64), len(self.questions)
        for question, times in zip(*np.unique(drawn, return_counts=True), strict=True):
            votes += np.where(self.questions[question % number], 1, 0) * (times if question < number else -times)
        return int(votes.argmax())

    def bound(self, confidence: Exact = "0.95") -> float:
        """Return how far off all questions are at most, in people, with this confidence.

        It is n (ln(2|Q|) / η T + η + 2γ), where γ bounds how far s draws are from what they are drawn from. The
        population must be as large as it was said to be. Proof: proofs/multiplicative_weights.md
        """
        times, beta = len(self.choices) + 1, float(1 - probability("confidence", confidence))
        cells, rate = self.questions.shape[1], float(self.rate)
        sampled = math.sqrt(math.log(2 * cells * times / beta) / (2 * self.draws))
        share = math.log(2 * len(self.questions)) / (rate * times) + rate + 2 * sampled
        return self.population * min(1.0, share)
