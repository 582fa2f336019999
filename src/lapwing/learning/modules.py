"""A custodian's own module of PyTorch, trained person by person.

A module is code, so it is for whoever holds the data: no door takes one from elsewhere. The gradient of each person is
computed by itself, from a buffer of its own, in float64: floating point rounds differently in batches of different
shapes, and a gradient must not depend on who else is in the batch. That is slow; the named architectures are exact in
batches. Layers that mix people, such as BatchNorm, are refused. Dropout is off: modules are evaluated.
"""

import math
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lapwing.learning.features import ONE, CodedInput, Input
from lapwing.learning.networks import Output, fitting_output
from lapwing.mechanisms.private_gradients import Arrays, Factors, GradientsOf
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.loading import load_extra

Floats: TypeAlias = NDArray[np.float64]

GRADIENT_BITS_OF_MODULES: Final = 20
MOST_WEIGHTS_OF_MODULES: Final = 100_000
LONGEST_GRADIENT: Final = 4.0
"""Longer gradients of a person are shortened to this before they are made whole, so that none of them saturates."""


class ModuleLearner:
    """A module and its loss: its weights are one layer, whose one input is 1."""

    def __init__(self, module: Any, target: Input, torch: Any) -> None:
        self._torch, self._module = torch, module
        self._output = fitting_output(target)
        self._classes = len(target.labels) if isinstance(target, CodedInput) else 1
        self._names = [name for name, _ in module.named_parameters()]
        self._sizes = [tuple(one.shape) for one in module.parameters()]
        self._count = sum(int(one.numel()) for one in module.parameters())
        self._begun = self._flat([one.detach() for one in module.parameters()])
        self.name = f"module {type(module).__name__}"

    @classmethod
    def of(cls, module: Any, inputs: int, target: Input) -> "ModuleLearner":
        """Return what trains a module; refuse what is none, mixes people, or does not fit inputs and target."""
        torch = load_extra("torch", extra="learning")
        if not isinstance(module, torch.nn.Module):
            raise BadQuestionError(
                f'model is a {type(module).__name__}; write the name of an architecture, such as "dense(64, 32)", or '
                "give a module of PyTorch"
            )
        for place, part in module.named_modules():
            if any("BatchNorm" in kind.__name__ for kind in type(part).__mro__):
                raise BadQuestionError(
                    f"layer {place or 'itself'} is a {type(part).__name__}, which mixes the people of a batch, so that "
                    "no gradient is one person's; write LayerNorm or GroupNorm in its place"
                )
        count = sum(int(one.numel()) for one in module.parameters())
        if not 1 <= count <= MOST_WEIGHTS_OF_MODULES:
            most = f"give one with 1 to {MOST_WEIGHTS_OF_MODULES:,}"
            raise BadQuestionError(f"the module has {count:,} weights, and each gets noise; {most}")
        made = cls(deepcopy(module).double().cpu().eval(), target, torch)
        made._check_shape(inputs)
        return made

    def _check_shape(self, inputs: int) -> None:
        wanted = self._classes if self._output is Output.CLASSES else 1
        try:
            shape = tuple(self._module(self._torch.zeros(1, inputs, dtype=self._torch.float64)).shape)
        except (RuntimeError, ValueError, TypeError) as wrong:
            raise BadQuestionError(f"the module does not take {inputs} inputs: {str(wrong).splitlines()[0]}") from None
        if shape != (1, wanted):
            raise BadQuestionError(f"the module gives {shape[1:]} outputs for a person, and the target has {wanted}")

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """All weights as one column."""
        return ((self._count, 1),)

    def start(self) -> list[Floats]:
        """Return the weights of the module as it was given."""
        return [self._begun]

    def gradients_at(self, weights: Sequence[Floats], on: Arrays) -> GradientsOf:
        """Return what makes factors of rows: one person's gradient after the other, in steps of 2^-20."""
        torch, held = self._torch, self._held(weights[0])
        slope = torch.func.grad(self._loss)

        def factors(rows: Any) -> list[Factors]:
            table = on.host(rows)
            whole = np.zeros((len(table), self._count), np.int64)
            for place, row in enumerate(table):
                x = torch.tensor(row[None, :-2] / ONE, dtype=torch.float64)  # without the constant input
                found = self._flat(list(slope(held, x, torch.tensor(row[-1:])).values()))[:, 0]
                length = float(np.linalg.norm(found))
                if math.isfinite(length):  # what is not a number adds nothing
                    shortened = found * min(1.0, LONGEST_GRADIENT / max(length, LONGEST_GRADIENT))
                    whole[place] = np.trunc(shortened * 2.0**GRADIENT_BITS_OF_MODULES).astype(np.int64)
            return [Factors(on.here(whole), on.here(np.ones((len(table), 1), np.int64)))]

        return factors

    def outputs(self, weights: Sequence[Floats], inputs: NDArray[np.int64]) -> Floats:
        """Return what the module says about people: probabilities, or numbers from -1 to 1."""
        torch, x = self._torch, self._torch.tensor(inputs[:, :-1] / ONE, dtype=self._torch.float64)
        with torch.no_grad():
            sums = torch.func.functional_call(self._module, self._held(weights[0]), (x,))
            said = {Output.NUMBER: lambda: sums, Output.TRUTH: sums.sigmoid, Output.CLASSES: lambda: sums.softmax(1)}
            return np.asarray(said[self._output]().numpy(), np.float64)

    def _loss(self, held: dict[str, Any], x: Any, target: Any) -> Any:
        said, functional = self._torch.func.functional_call(self._module, held, (x,)), self._torch.nn.functional
        match self._output:
            case Output.NUMBER:
                return ((said[:, 0] - target.to(said.dtype) / ONE) ** 2).sum() / 2
            case Output.TRUTH:
                return functional.binary_cross_entropy_with_logits(said[:, 0], target.to(said.dtype))
            case Output.CLASSES:
                return functional.cross_entropy(said, target)

    def _held(self, column: Floats) -> dict[str, Any]:
        """Return weights as the module has them."""
        ends = np.cumsum([int(np.prod(size)) for size in self._sizes])[:-1]
        parts = np.split(column[:, 0], ends)
        return {
            name: self._torch.tensor(part.reshape(size), dtype=self._torch.float64)
            for name, part, size in zip(self._names, parts, self._sizes, strict=True)
        }

    def _flat(self, parts: Sequence[Any]) -> Floats:
        return np.concatenate([np.asarray(one.detach().numpy(), np.float64).ravel() for one in parts])[:, None]
