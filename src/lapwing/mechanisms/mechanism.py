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

from collections.abc import Mapping
from typing import Protocol, TypeVar, runtime_checkable

from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Event
from lapwing.vocabulary.exact import Exact
from lapwing.vocabulary.loss import Loss

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


def exactly_one_of(what: str, given: Mapping[str, object], *ways: tuple[str, ...]) -> tuple[str, ...]:
    """Return the one of `ways` to say `what` whose names are exactly those given; refuse none, several and mixtures.

    Examples
    --------
    >>> exactly_one_of("noise", {"epsilon": "0.1", "scale": None}, ("epsilon",), ("scale",))
    ('epsilon',)
    >>> exactly_one_of("noise", {"epsilon": "0.1", "scale": 10}, ("epsilon",), ("scale",))
    Traceback (most recent call last):
    ...
    lapwing.vocabulary.errors.ParameterError: epsilon, scale = ('0.1', 10) says the noise more than once;
    give epsilon alone, or scale alone
    """
    there = {name: value for name, value in given.items() if value is not None}
    for way in ways:
        if set(way) == set(there):
            return way
    too_little = any(set(there) < set(way) for way in ways)
    values = tuple(there.values())
    raise ParameterError(
        ", ".join(there) or what,
        values[0] if len(values) == 1 else values or None,
        reason=f"does not say the {what}" if too_little else f"says the {what} more than once",
        remedy="give " + ", or ".join(" with ".join(way) if len(way) > 1 else f"{way[0]} alone" for way in ways),
    )
