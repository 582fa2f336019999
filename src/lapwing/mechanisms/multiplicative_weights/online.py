"""Online multiplicative weights: questions come one after the other, and most are answered by the model, for nothing.

A sparse vector watches whether the model is wrong. A no is free, and the answer is the model's; a yes is paid for,
answered with noise of its own, and teaches the model. What is watched is a distance, which may rise or fall when
somebody joins: it is priced for both.

Proof: proofs/multiplicative_weights.md
"""

import math
from dataclasses import field
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.mechanisms.multiplicative_weights.weighted_cells import (
    WeightedCells,
    as_population,
    exact_counts,
    mistake_bound,
    open_cells,
    read_questions,
)
from lapwing.mechanisms.noise_mechanism import Integers, Priced
from lapwing.mechanisms.sparse_vector.pure import SparseVector, YesReveals
from lapwing.mechanisms.sparse_vector.stream import SparseVectorStream
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Composed, Event, Repeated
from lapwing.vocabulary.exact import Exact, Sensitive, as_int, fill, positive, probability
from lapwing.vocabulary.frozen import frozen


@frozen()
class OnlineAnswer:
    """A count, and whether it was paid for: if not, it is the model's."""

    people: int
    paid: bool


class OnlineModel:
    """A model that is asked one question after the other, and learns. It halts after the last update paid for."""

    def __init__(self, plan: "OnlineMultiplicativeWeights", value: Integers, stream: SparseVectorStream) -> None:
        self._plan, self._stream, self._cells = plan, stream, Sensitive(open_cells(value, plan.cells))
        self.model = WeightedCells.uniform(cells=plan.cells, population=plan.population)

    @property
    def updates(self) -> int:
        """How often it was wrong, paid, and learned."""
        return self._stream.yeses

    def ask(self, question: NDArray[np.bool_]) -> OnlineAnswer:
        """Return how many people are in the cells where `question` is True; after the last update it refuses."""
        row = read_questions(np.atleast_2d(question), cells=self._plan.cells)
        guess = int(self.model.guess(row)[0])
        (exact,) = exact_counts(row, self._cells.open_for_release(), self._plan.population).tolist()
        if not self._stream.ask(abs(exact - guess)):
            return OnlineAnswer(people=guess, paid=False)
        people = self._plan.noise.release(exact)
        self.model = self.model.tilted(row[0], math.copysign(self._plan.rate, people - guess))
        return OnlineAnswer(people=people, paid=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()


@frozen(kw_only=False, init=False)
class OnlineMultiplicativeWeights(Priced[Event]):
    """Answers any number of questions, chosen after earlier answers, until the model was wrong `updates` times.

    It is epsilon-differentially private, half of it for finding out where the model is wrong by `threshold` people, and
    half for the answers there.

    Parameters
    ----------
    cells : how many the domain has
    population : the public number of people, declared or released before; never taken from the table
    threshold : how many people the model may be off without being told
    updates : how often it may be told; `updates_needed` says when that is enough for ever
    epsilon : the price of all of it
    people : how many people are protected together

    >>> plan = OnlineMultiplicativeWeights(cells=4, population=10_000, threshold=2000, updates=50, epsilon=2)
    >>> with plan.open([7000, 1000, 1000, 1000]) as asked:
    ...     answer = asked.ask(np.array([True, False, False, False]))
    >>> answer.paid, abs(answer.people - 7000) < 1000
    (True, True)

    Theorem: Hardt, Rothblum, FOCS 2010; Dwork, Roth, *The algorithmic foundations of differential privacy*, 2014,
    section 4.2.
    Proof: proofs/multiplicative_weights.md
    """

    cells: int
    population: int
    threshold: int
    stream: SparseVector = field(repr=False)
    noise: GeometricMechanism = field(repr=False)

    def __init__(
        self, *, cells: int, population: int, threshold: int, updates: int, epsilon: Exact, people: int = 1
    ) -> None:
        number, size, times = as_int("updates", updates), as_population(population), as_int("people", people)
        half = positive("epsilon", epsilon) / 2
        wrong = as_int("threshold", threshold, most=size)
        stream = SparseVector(
            epsilon=half,
            yeses=number,
            threshold=wrong,
            sensitivity=ValueSensitivity.of_anything(sensitivity=1, people=times),
            reveals=YesReveals.NOTHING_MORE,
        )
        noise = GeometricMechanism(l1_sensitivity=times, epsilon=half / number)
        event = Composed(parts=(stream.event, Repeated(part=noise.event, times=number)))
        domain = WeightedCells.uniform(cells=cells, population=size).weights.size
        fill(self, event=event, cells=domain, population=size, threshold=wrong, stream=stream, noise=noise)

    @property
    def rate(self) -> float:
        """The exponent of one update: a quarter of the threshold, as a share of the people."""
        return self.threshold / (4 * self.population)

    def open(self, value: Integers) -> OnlineModel:
        """Begin, with the number of people in each cell."""
        return OnlineModel(self, value, self.stream.open())

    def release(self, value: Integers, questions: NDArray[np.bool_]) -> list[OnlineAnswer]:
        """Answer questions in their order, until the last update; those after it are not answered."""
        with self.open(value) as model:
            answers = list[OnlineAnswer]()
            for row in read_questions(questions, cells=self.cells):
                if model.updates == self.stream.yeses:
                    break
                answers.append(model.ask(row))
            return answers

    @property
    def updates_needed(self) -> int:
        """How many updates are enough for every question that can be asked, while noise stays in its `bound`."""
        return mistake_bound(self.cells, Fraction(self.threshold, 2 * self.population)) + 1

    def bound(self, questions: int, confidence: Exact = "0.95") -> float:
        """Return how far off all answers to so many questions are at most, in people, with this confidence.

        Free answers are off by the threshold and the margin of the sparse vector. If there are `updates_needed` it does
        not halt before the last of them. A threshold that noise alone would reach is refused, with one that is not.
        """
        half = (1 - probability("confidence", confidence)) / 2
        asked = as_int("questions", questions) + self.stream.yeses
        margin = self.stream.guaranteed_margin(1 - half, questions=asked)
        paid = self.noise.margin(1 - half, values=self.stream.yeses)
        least = max(math.ceil(2 * (margin + 1)), math.ceil(margin) + paid + 2)
        if self.threshold < least:
            reason, remedy = "is within the noise, which would teach the model what is wrong", f"take {least} or more"
            raise ParameterError("threshold", self.threshold, reason=reason, remedy=remedy)
        return max(float(self.threshold + margin) + 1, float(paid))
