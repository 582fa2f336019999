"""Named architectures in exact whole numbers: dense layers with tanh between them, and the errors at their outputs.

Inputs, weights and errors are whole numbers on fixed grids. Products of matrices are taken in float64, where all of
their numbers are whole and below 2^53: so they are exact in whatever order they are added, on every machine, and the
errors of a person are a function of that person and of the weights, whoever else is in the batch. tanh, the logistic
function and e^-x are looked up in tables.

    inputs and activations   steps of 2^-10, from -1 to 1
    weights                  steps of 2^-14, from -32 to 32
    errors                   steps of 2^-18, from -16 to 16
    gradients                steps of 2^-28: an error times an input
"""

import hashlib
import math
import re
from collections.abc import Callable, Sequence
from enum import Enum
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.learning.features import ONE, CodedInput, Input
from lapwing.mechanisms.private_gradients import Arrays, Factors
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.frozen import frozen

Integers: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

INPUT_BITS: Final = 10
WEIGHT_BITS: Final = 14
ERROR_BITS: Final = 18
GRADIENT_BITS: Final = INPUT_BITS + ERROR_BITS
LARGEST_WEIGHT: Final = 1 << 19
"""32, in steps of the grid of weights."""
_MOST_ERROR: Final = 1 << 22
_EXP_BITS: Final = 20
_REACH: Final = 16 << INPUT_BITS
"""Beyond 16 the tables hold what they hold there."""
MOST_WIDTH: Final = 1024
MOST_LAYERS: Final = 8
MOST_WEIGHTS: Final = 100_000
_DENSE: Final = re.compile(r"dense\(\s*(\d{1,9}(?:\s*,\s*\d{1,9})*)\s*,?\s*\)")


class Output(Enum):
    """What the last layer means, and with it the loss: squared, logistic, or cross-entropy of classes."""

    NUMBER = "linear"
    TRUTH = "logistic"
    CLASSES = "softmax"


@frozen()
class LayeredNetwork:
    """Dense layers of these `widths`, from the inputs to the outputs; the last input of each layer is always 1.

    >>> LayeredNetwork(output=Output.TRUTH, widths=(5, 16, 1)).shapes
    ((16, 5), (1, 17))
    """

    output: Output
    widths: tuple[int, ...]

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """Outputs and inputs of each layer."""
        inputs = [width + (place > 0) for place, width in enumerate(self.widths[:-1])]
        return tuple(zip(self.widths[1:], inputs, strict=True))

    @property
    def weights(self) -> int:
        """How many weights there are."""
        return sum(outputs * inputs for outputs, inputs in self.shapes)

    def start(self) -> list[Floats]:
        """Return the weights at the beginning: public, the same every time; 0 in the last layer."""
        begun = [_spread(place, shape) for place, shape in enumerate(self.shapes[:-1])]
        return [*begun, np.zeros(self.shapes[-1])]

    def gradients_at(self, weights: Sequence[Floats], on: Arrays) -> Callable[[Any], list[Factors]]:
        """Return what makes of rows, inputs and then the target, the factors of each layer."""
        layers = whole_weights(weights, on)

        def factors(rows: Any) -> list[Factors]:
            wide = on.whole(rows)
            inputs, target = wide[:, :-1], wide[:, -1]
            activations = [inputs]
            for layer in layers[:-1]:
                activations.append(_with_one(_tanh(_products(activations[-1], layer.T, on), on), on))
            errors = [self._errors(_products(activations[-1], layers[-1].T, on), target, on)]
            for layer, activation in zip(reversed(layers[1:]), reversed(activations[1:]), strict=True):
                back = _products(errors[0], layer[:, :-1], on) >> WEIGHT_BITS
                slope = (1 << 2 * INPUT_BITS) - activation[:, :-1] ** 2
                errors.insert(0, on.xp.clip((back * slope) >> 2 * INPUT_BITS, -_MOST_ERROR, _MOST_ERROR))
            return [Factors(error, activation) for error, activation in zip(errors, activations, strict=True)]

        return factors

    def _errors(self, sums: Any, target: Any, on: Arrays) -> Any:
        """Return the slope of the loss at each output."""
        match self.output:
            case Output.NUMBER:
                fine = (sums >> WEIGHT_BITS + INPUT_BITS - ERROR_BITS) - (target << ERROR_BITS - INPUT_BITS)[:, None]
                return on.xp.clip(fine, -_MOST_ERROR, _MOST_ERROR)
            case Output.TRUTH:
                return _look_up(_logistic_table(), sums >> WEIGHT_BITS, on) - (target << ERROR_BITS)[:, None]
            case Output.CLASSES:
                places = sums >> WEIGHT_BITS
                highest = on.xp.amax(places, 1)[:, None]
                parts = _look_up(_decay_table(), places - highest, on)
                shares = (parts << ERROR_BITS) // parts.sum(1)[:, None]
                classes = on.here(np.arange(self.widths[-1]))
                return shares - (on.xp.where(target[:, None] == classes, 1, 0) << ERROR_BITS)

    def outputs(self, weights: Sequence[Floats], inputs: Integers) -> Floats:
        """Return what the network says about people, in floats: probabilities, or numbers from -1 to 1."""
        activation: Floats = inputs / ONE
        for layer in weights[:-1]:
            hidden = np.tanh(activation @ layer.T)
            activation = np.hstack([hidden, np.ones((len(hidden), 1))])
        sums = activation @ weights[-1].T
        match self.output:
            case Output.NUMBER:
                return sums
            case Output.TRUTH:
                return 1 / (1 + np.exp(-np.clip(sums, -500, 500)))
            case Output.CLASSES:
                parts = np.exp(sums - sums.max(1, keepdims=True))
                shares: Floats = parts / parts.sum(1, keepdims=True)
                return shares


def read_network(model: str, inputs: int, target: Input) -> LayeredNetwork:
    """Return the architecture of this name; refuse one that does not fit the target, or is too large."""
    named = {one.value: one for one in Output}
    fitting = fitting_output(target)
    dense = _DENSE.fullmatch(model.strip()) if isinstance(model, str) else None
    if dense is None and model not in named:
        known = ", ".join(f'"{name}"' for name in named)
        raise BadQuestionError(
            f'model={model!r} is not known; write {known}, or "dense(64, 32)" for layers of 64 and 32 between'
        )
    output = fitting if dense else named[model]
    if output is not fitting and not (output is Output.CLASSES and fitting is Output.TRUTH):
        kind = {Output.NUMBER: "is a number", Output.TRUTH: "has two values", Output.CLASSES: "has several values"}
        raise BadQuestionError(
            f'the target {target.name!r} {kind[fitting]}, and "{model}" does not fit it; write model="{fitting.value}"'
        )
    hidden = tuple(int(width) for width in dense[1].split(",")) if dense else ()
    if len(hidden) >= MOST_LAYERS or not all(1 <= width <= MOST_WIDTH for width in hidden):
        most = f"at most {MOST_LAYERS - 1} layers, each of 1 to {MOST_WIDTH:,}"
        raise BadQuestionError(f"{model} has {len(hidden)} layers, of {min(hidden)} to {max(hidden):,}; write {most}")
    classes = len(target.labels) if isinstance(target, CodedInput) else 1
    made = LayeredNetwork(output=output, widths=(inputs, *hidden, classes if output is Output.CLASSES else 1))
    if made.weights > MOST_WEIGHTS:
        raise BadQuestionError(
            f"{model} has {made.weights:,} weights here, more than {MOST_WEIGHTS:,}, and each gets noise; write "
            "narrower layers, or name fewer features"
        )
    return made


def fitting_output(target: Input) -> Output:
    """Return what the last layer is for a target."""
    if not isinstance(target, CodedInput):
        return Output.NUMBER
    if len(target.labels) == 1:
        raise BadQuestionError(f"the target {target.name!r} has one value; there is nothing to learn")
    return Output.TRUTH if len(target.labels) == 2 else Output.CLASSES  # noqa: PLR2004 - yes or no


def whole_weights(weights: Sequence[Floats], on: Arrays) -> list[Any]:
    """Return weights on their grid; those beyond 32 are 32."""
    scaled = [np.nan_to_num(layer * (1 << WEIGHT_BITS)) for layer in weights]
    return [on.here(np.clip(np.rint(layer), -LARGEST_WEIGHT, LARGEST_WEIGHT).astype(np.int64)) for layer in scaled]


def _products(rows: Any, columns: Any, on: Arrays) -> Any:
    """Multiply whole numbers: all sums on the way are below 2^53, so that none is rounded."""
    return on.whole(on.real(rows) @ on.real(columns))


def _tanh(sums: Any, on: Arrays) -> Any:
    return _look_up(_tanh_table(), sums >> WEIGHT_BITS, on)


def _with_one(hidden: Any, on: Arrays) -> Any:
    wide = on.xp.zeros_like(hidden[:, :1]) + ONE
    return on.xp.concatenate([hidden, wide], 1)


def _look_up(table: Integers, places: Any, on: Arrays) -> Any:
    return on.here(table)[on.xp.clip(places, -_REACH, _REACH) + _REACH]


def _table(function: Callable[[float], float], bits: int) -> Integers:
    places = range(-_REACH, _REACH + 1)
    return np.array([round(function(place / ONE) * (1 << bits)) for place in places], np.int64)


@cache
def _tanh_table() -> Integers:
    return _table(math.tanh, INPUT_BITS)


@cache
def _logistic_table() -> Integers:
    return _table(lambda x: 1 / (1 + math.exp(-x)), ERROR_BITS)


@cache
def _decay_table() -> Integers:
    """Return e^x for x up to 0, which is all that is looked up."""
    return _table(lambda x: math.exp(min(x, 0.0)), _EXP_BITS)


def _spread(place: int, shape: tuple[int, int]) -> Floats:
    """Return weights spread evenly over ±sqrt(3/inputs), from a hash: no randomness is needed, only variety."""
    size = shape[0] * shape[1]
    stream = hashlib.shake_256(f"lapwing layer {place} of {shape}".encode()).digest(4 * size)
    even = np.frombuffer(stream, "<u4").reshape(shape) / 2.0**31 - 1
    return even * math.sqrt(3 / shape[1])
