"""The steps of a training: weights that move against noisy sums of gradients, and what a part of them commits.

All of this is about released numbers: what the noise is added to, only the mechanism sees. The sum is divided by the
number of people that a step has on average, as far as that is public; how many there were is secret.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.mechanisms.private_gradients import Arrays, GradientsOf, PrivateGradients
from lapwing.vocabulary.frozen import frozen

Floats: TypeAlias = NDArray[np.float64]

STATE_BITS: Final = 30
_LARGEST: Final = 2.0**20


class Learner(Protocol):
    """What can be trained: the shapes of its weights, where they begin, and the gradients of people at some weights."""

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """Outputs and inputs of each layer."""

    def start(self) -> list[Floats]:
        """Return the weights at the beginning."""

    def gradients_at(self, weights: Sequence[Floats], on: Arrays) -> GradientsOf:
        """Return what makes factors of rows."""

    def outputs(self, weights: Sequence[Floats], inputs: NDArray[np.int64]) -> Floats:
        """Return what it says about people: probabilities, or numbers from -1 to 1."""


@frozen()
class Descent:
    """How steps are taken: `bits` is the grid of gradients, `expected` how many people a step has on average."""

    mechanism: PrivateGradients
    steps: int
    step_size: Fraction
    momentum: Fraction
    expected: Fraction
    bits: int

    def run(self, learner: Learner, people: Any, state: "Progress", steps: int, on: Arrays) -> "Progress":
        """Take some steps from a state, and return the state after them."""
        weights, velocity, mean = state.weights, state.velocity, state.mean
        unit = 1 / (2.0**self.bits * float(self.expected))
        momentum, size = float(self.momentum), float(self.step_size)
        for number in range(state.taken + 1, state.taken + steps + 1):
            noisy = self.mechanism.release(people, learner.gradients_at(weights, on), learner.shapes, on)
            velocity = [momentum * one + total * unit for one, total in zip(velocity, noisy, strict=True)]
            weights = [
                np.clip(one - size * moved, -_LARGEST, _LARGEST) for one, moved in zip(weights, velocity, strict=True)
            ]
            share = 1 / max(1.0, number - self.steps / 2)
            mean = [one + share * (new - one) for one, new in zip(mean, weights, strict=True)]
        return Progress(weights=weights, velocity=velocity, mean=mean, taken=state.taken + steps)


@frozen(eq=False)
class Progress:
    """Where a training is: weights, velocity, the mean of the weights over the second half, and the steps taken."""

    weights: list[Floats]
    velocity: list[Floats]
    mean: list[Floats]
    taken: int = 0

    @classmethod
    def begin(cls, learner: Learner) -> "Progress":
        """Return the state before the first step."""
        weights = learner.start()
        return cls(weights=weights, velocity=[np.zeros_like(one) for one in weights], mean=weights)

    def to_record(self) -> dict[str, Any]:
        """Return it as whole numbers, on a grid of 2^-30."""
        return {
            "taken": self.taken,
            "weights": [_whole(one) for one in self.weights],
            "velocity": [_whole(one) for one in self.velocity],
            "mean": [_whole(one) for one in self.mean],
        }

    @classmethod
    def from_record(cls, record: dict[str, Any], learner: Learner) -> "Progress":
        """Read what `to_record` wrote."""
        weights, velocity, mean = (
            read_layers(record[part], learner.shapes) for part in ("weights", "velocity", "mean")
        )
        return cls(weights=weights, velocity=velocity, mean=mean, taken=record["taken"])

    def skip(self, steps: int) -> "Progress":
        """Return it after steps that were lost: they were charged, and are never taken again."""
        return Progress(weights=self.weights, velocity=self.velocity, mean=self.mean, taken=self.taken + steps)


def _whole(layer: Floats) -> list[int]:
    limit = 2.0 ** (62 - STATE_BITS)
    return [int(one) for one in np.rint(np.clip(layer, -limit, limit) * 2.0**STATE_BITS).astype(np.int64).ravel()]


def read_layers(written: Sequence[Sequence[int]], shapes: Sequence[tuple[int, int]]) -> list[Floats]:
    """Return layers from whole numbers on a grid of 2^-30."""
    return [
        np.array(layer, np.float64).reshape(shape) / 2.0**STATE_BITS
        for layer, shape in zip(written, shapes, strict=True)
    ]
