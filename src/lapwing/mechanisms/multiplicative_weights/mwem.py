"""MWEM: multiplicative weights fed by the exponential mechanism. Many known questions, one model that answers them all.

Each round chooses the question that the model answers worst, measures it, and tilts the weights. Two releases a round,
of whole numbers: everything after them is post-processing.

Proof: proofs/multiplicative_weights.md
"""

import math
from dataclasses import field

import numpy as np

from lapwing.mechanisms.exponential import ExponentialMechanism
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.mechanisms.multiplicative_weights.weighted_cells import (
    Questions,
    WeightedCells,
    as_population,
    exact_counts,
    open_cells,
    read_questions,
)
from lapwing.mechanisms.noise_mechanism import Integers, Priced
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Composed, Event, Repeated
from lapwing.vocabulary.exact import Exact, as_int, fill, positive, probability
from lapwing.vocabulary.frozen import frozen


@frozen(kw_only=False, init=False)
class MWEM(Priced[Event]):
    """Answers many questions by weights over all cells, learned in a few rounds of choosing and measuring.

    It is epsilon-differentially private: each round chooses with epsilon / 2T and measures with epsilon / 2T.

    Parameters
    ----------
    questions : a row for each, True in the cells that it counts; they are public
    population : the public number of people, declared or released before; never taken from the table
    rounds : T. More of them learn more, and each has more noise
    epsilon : the price of all rounds together
    sweeps : how often, in each round, all that was measured so far is learned again. With 0 the mean of the models of
        all rounds is returned, as the theorem wants it; with more the last one, which is better, without a theorem
    people : how many people are protected together

    >>> halves = np.array([[True, True, False, False], [True, False, True, False]])
    >>> learner = MWEM(questions=halves, population=1000, rounds=2, epsilon=10, sweeps=20)
    >>> model = learner.release([400, 300, 200, 100])
    >>> len(model.measured), bool(abs(model.counts(halves)[0] - 700) < 50)
    (2, True)

    Theorem: Hardt, Ligett, McSherry, *A simple and practical algorithm for differentially private data release*, NIPS
    2012, Theorems 2.1 and 2.2.
    Proof: proofs/multiplicative_weights.md
    """

    questions: Questions = field(repr=False, compare=False)
    population: int
    rounds: int
    sweeps: int
    choice: ExponentialMechanism
    noise: GeometricMechanism

    def __init__(
        self,
        *,
        questions: Questions,
        population: int,
        rounds: int,
        epsilon: Exact,
        sweeps: int = 0,
        people: int = 1,
    ) -> None:
        asked, times, moved = read_questions(questions), as_int("rounds", rounds, most=10_000), as_int("people", people)
        each = positive("epsilon", epsilon) / (2 * times)
        choice = ExponentialMechanism(sensitivity=moved, candidates=len(asked), epsilon=each)
        noise = GeometricMechanism(l1_sensitivity=moved, epsilon=each)
        parts = (Repeated(part=choice.event, times=times), Repeated(part=noise.event, times=times))
        fill(self, event=Composed(parts=parts), questions=asked, population=as_population(population), rounds=times)
        fill(self, sweeps=as_int("sweeps", sweeps, least=0, most=1000), choice=choice, noise=noise)

    def release(self, value: Integers) -> WeightedCells:
        """Return the model of a population, from the number of people in each cell."""
        cells = open_cells(value, self.questions.shape[1])
        exact = exact_counts(self.questions, cells, self.population)
        model = WeightedCells.uniform(cells=cells.size, population=self.population)
        mean, measured = np.zeros_like(model.weights), list[tuple[int, int]]()
        for _ in range(self.rounds):
            mean += model.weights / self.rounds
            worst = self.choice.release(np.abs(exact - model.guess(self.questions)))
            measured.append((worst, self.noise.release(int(exact[worst]))))
            for _ in range(self.sweeps or 1):
                for question, count in measured if self.sweeps else measured[-1:]:
                    model = self._learn(model, question, count)
        weights = model.weights if self.sweeps else mean
        return WeightedCells(weights=weights, population=self.population, measured=tuple(measured))

    def _learn(self, model: WeightedCells, question: int, count: int) -> WeightedCells:
        """Tilt the weights of one question by half of what they are off, as a share of the people."""
        row = self.questions[question]
        wanted = min(max(count, 0), self.population) / self.population
        return model.tilted(row, (wanted - float(model.weights[row].sum())) / 2)

    def bound(self, confidence: Exact = "0.95") -> float:
        """Return how far off all questions are at most, in people, with this confidence; it needs `sweeps=0`.

        It is 2 n √(ln|X| / T), what T rounds cannot learn, and how far choices and counts may be off for their noise.
        The population must be as large as it was said to be. Proof: proofs/multiplicative_weights.md
        """
        if self.sweeps:
            reason, remedy = "have no theorem: what was measured is learned again", "build it with sweeps=0"
            raise ParameterError("sweeps", self.sweeps, reason=reason, remedy=remedy)
        chance = (1 - probability("confidence", confidence)) / (2 * self.rounds)
        return self._unlearned() + self.choice.margin(1 - chance) + self.noise.margin(1 - chance) + 1

    def printed_bound(self) -> tuple[float, float]:
        """Return Theorem 2.2 of the paper: an error in people, and the probability with which it is kept, or 0.

        2 n √(ln|X| / T) + 10 T ln|Q| / epsilon, and two people for rounding, with probability at least 1 - 2T / |Q|.
        """
        number, scale = len(self.questions), float(self.noise.event.scale)  # 2T / epsilon
        return self._unlearned() + 5 * scale * math.log(number) + 2, max(0.0, 1 - 2 * self.rounds / number)

    def _unlearned(self) -> float:
        return 2 * self.population * math.sqrt(math.log(self.questions.shape[1]) / self.rounds)
