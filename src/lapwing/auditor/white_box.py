"""The white box: how much a mechanism loses exactly, on the worst neighbouring inputs that a search finds.

A model describes a mechanism by its stated parameters, and knows where to look for bad neighbours and the exact laws on
any two of them. What is found is lost at least: it refutes a false claim, and shows how much of a true one is used.
That nothing loses more is what the proofs are for.

Proof: proofs/white_box.md
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Protocol, TypeAlias

from lapwing.auditor.finding import Finding, allowed, currency_of
from lapwing.auditor.pair_of_laws import PairOfLaws, in_words
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, GaussianDP, Guarantee, PureDP

EXACT, NOTHING = 1e-6, 1e-12
"""Tolerances for floating-point error of an achieved number above its claim: relative, and absolute."""

Inputs: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""Two neighbouring inputs, in whole units of the model: counts, scores, steps of a lattice."""

_ORDERS = tuple(1 + 4.0**n for n in range(-4, 5))
_CLIMBED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Achieved:
    """How much is lost, in the currency of a claim, and where.

    `number` is epsilon (at the delta of the claim), rho, or mu; `delta` is achieved at the epsilon of the claim,
    where it has one. The two inputs and the event are given in words, with the probability of the event `here` and
    `there`: None where it is a density, or an average over all events. `laws` returns two that show it, for pictures.
    """

    claim: Guarantee
    number: float
    delta: float | None
    inputs: str
    event: str
    here: float | None = None
    there: float | None = None
    laws: Callable[[], PairOfLaws] | None = None

    @property
    def claimed(self) -> float:
        """The number of the claim."""
        return allowed(self.claim, currency_of(self.claim))

    @property
    def share(self) -> float:
        """The achieved loss as a share of the claim: 1 where the claim is tight, more where it is false."""
        return self.number / self.claimed

    @property
    def refuted(self) -> bool:
        """Whether the claim is false."""
        return self.number > self.claimed * (1 + EXACT) + NOTHING

    def finding(self, suspect: str) -> Finding:
        """Return the finding about a suspect.

        Where outputs that only one input can have are likelier than the claim's delta, it reports their delta.
        """
        chances = ""
        if self.here is not None:
            chances = f"That has probability {self.here:.4g} on the one, {self.there:.4g} on the other."
        rare = self.delta if isinstance(self.claim, ApproximateDP) and math.isinf(self.number) else None
        return Finding(
            suspect=suspect,
            claim=self.claim,
            method="computed",
            currency=currency_of(self.claim) if rare is None else "delta",
            achieved=self.number if rare is None else rare,
            confidence=Fraction(1),
            where=f"{self.event} on {self.inputs}",
            refuted=self.refuted,
            detail=chances,
        )


class WhiteBox(Protocol):
    """A mechanism that can be computed."""

    def worst(self, claim: Guarantee) -> Achieved:
        """Return the most that was found to be lost."""


def measure(laws: PairOfLaws, claim: Guarantee) -> Achieved:
    """Return the loss of a pair of laws in the unit of a claim, in the worse of its two orders.

    >>> import numpy as np
    >>> coin = PairOfLaws(inputs=(0, 1), here=np.log([0.8, 0.2]), there=np.log([0.2, 0.8]), outcomes=[0, 1])
    >>> found = measure(coin, PureDP(epsilon=1))
    >>> round(found.number, 6), found.refuted
    (1.386294, True)
    """
    return max((_one_way(order, claim) for order in (laws, laws.swapped())), key=_rank)


class FiniteModel(ABC):
    """A mechanism with finitely many outcomes (or made so, by merging them) on inputs that can be searched."""

    __slots__ = ()

    @abstractmethod
    def starts(self) -> Iterable[Inputs]:
        """Yield neighbouring inputs with which the search begins; for some mechanisms these are all there are."""

    def nearby(self, inputs: Inputs) -> Iterable[Inputs]:  # noqa: ARG002 - of those that have starts only
        """Yield neighbouring inputs that are a little different from these."""
        return ()

    @abstractmethod
    def laws(self, inputs: Inputs) -> PairOfLaws:
        """Return the exact laws on both."""

    def worst(self, claim: Guarantee) -> Achieved:
        """Return the worst that is found by trying every start, and climbing from the best of them."""
        known: dict[Inputs, Achieved] = {}

        def at(inputs: Inputs) -> Achieved:
            if inputs not in known:
                known[inputs] = measure(self.laws(inputs), claim)
            return known[inputs]

        ranked = sorted(self.starts(), key=lambda inputs: _rank(at(inputs)), reverse=True)
        return max((at(_climb(self, at, start)) for start in ranked[:_CLIMBED]), key=_rank)


def _rank(found: Achieved) -> tuple[float, float]:
    """Order by what is achieved; where that is unbounded, by how often."""
    return found.number, found.delta or 0.0


def _climb(model: FiniteModel, at: Callable[[Inputs], Achieved], inputs: Inputs) -> Inputs:
    while at(inputs).number < math.inf:
        better = max(model.nearby(inputs), key=lambda near: at(near).number, default=inputs)
        if at(better).number <= at(inputs).number * (1 + EXACT / 1000):
            break
        inputs = better
    return inputs


def _one_way(laws: PairOfLaws, claim: Guarantee) -> Achieved:
    inputs = " | ".join(in_words(side) for side in laws.inputs)
    found = partial(Achieved, claim=claim, inputs=inputs, laws=lambda: laws)
    match claim:
        case ConcentratedDP():
            rho, order = max((laws.renyi(order) / order, order) for order in _ORDERS)
            return found(number=rho, delta=None, event=f"on average, at order {order:.3g}")
        case GaussianDP():
            (number, event), delta = laws.mu(), None
        case PureDP() | ApproximateDP():
            allowed_delta = allowed(claim, "delta")
            (number, event), delta = laws.epsilon(allowed_delta), laws.delta(float(claim.epsilon))
    return found(number=number, delta=delta, event=str(event), here=event.here, there=event.there)
