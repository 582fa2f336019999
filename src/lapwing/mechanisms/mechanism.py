"""The one shape of every mechanism. Who knows one knows them all.

A mechanism is built from exact, keyword-only parameters: how far one person can move the value (its *sensitivity*), and
one way of saying how much noise there is: a price (`epsilon`, or `rho`, or `epsilon` and `delta`), the noise itself
(`scale`, `sigma`), or an accuracy (`within=20, confidence="0.95"`). It then has

- `event`: what it does, as data in exact numbers, for ledgers and accountants;
- `loss`: what that costs, in every currency;
- `release(value)`: the one place where a value without noise is opened. The value may be plain or `Sensitive`;
- `margin(confidence)` and `confidence(margin)`: how far the answer may be off. Where many values are released together,
  that is each of them by itself; `values=20` makes it one that 20 of them keep all at once. Proof: proofs/margins.md

Refusals happen at construction. `release` refuses only what a program got wrong whatever the data (a string for a
number, a vector of the wrong length); every value of the right type is released, since a refusal that depends on the
data would tell about the data.
"""

from typing import Protocol, TypeVar, runtime_checkable

from lapwing.vocabulary.event import Event, Loss
from lapwing.vocabulary.exact import Exact

Value_contra = TypeVar("Value_contra", contravariant=True)
Answer_co = TypeVar("Answer_co", covariant=True)


@runtime_checkable
class Mechanism(Protocol[Value_contra, Answer_co]):
    """Something that turns an exact value into an answer that may be shown."""

    @property
    def event(self) -> Event:
        """What a release is, as data."""

    @property
    def loss(self) -> Loss:
        """What a release costs."""

    def release(self, value: Value_contra) -> Answer_co:
        """Return the answer that may be shown."""


@runtime_checkable
class WithMargin(Protocol):
    """A mechanism that can say, before any data is read, how far its answer may be off."""

    def margin(self, confidence: Exact) -> float:
        """Return the smallest m such that the answer is off by at most m with probability at least `confidence`."""

    def confidence(self, margin: Exact) -> float:
        """Return the probability, rounded down, that the answer is off by at most `margin`."""
