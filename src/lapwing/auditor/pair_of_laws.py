"""The exact laws of a mechanism on two neighbouring inputs, over the same outcomes, and how far they are apart.

Of all events, those that lose most are the sets of outcomes whose loss ln P/P' is above a level (Neyman and Pearson).
So every claim (pure, approximate, Gaussian) is a statement about a chain of events that grows by one outcome at a time,
and the achieved loss is a maximum over that chain: exact for a finite law, with the event that attains it.

Outcomes may be merged before a pair is made: then the loss found is a lower bound. Proof: proofs/white_box.md
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtri_exp

from lapwing.auditor.noise_laws import Reals
from lapwing.vocabulary.errors import ParameterError

_SAME = 1e-9
"""Losses that differ by less are equal up to rounding: of events with equal loss, the likelier one is shown."""
_LOSS_DIGITS = 12
_MOST_FACTORS = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstEvent:
    """A set of outcomes, and its probability on each of the two inputs."""

    outcomes: tuple[object, ...]
    here: float
    there: float

    def __str__(self) -> str:
        shown = self.outcomes[:2]
        more = f" or {len(self.outcomes) - len(shown)} more" if len(self.outcomes) > len(shown) else ""
        return _half_line(self.outcomes) or " or ".join(in_words(outcome) for outcome in shown) + more


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairOfLaws:
    """The log-probability of every outcome, here and on the neighbour.

    Randomized response that tells the truth three times out of four:

    >>> coin = PairOfLaws(
    ...     inputs=("no", "yes"), here=np.log([0.75, 0.25]), there=np.log([0.25, 0.75]), outcomes=["no", "yes"]
    ... )
    >>> epsilon, event = coin.epsilon(0.0)
    >>> round(math.exp(epsilon), 9), str(event), event.here, event.there
    (3.0, 'no', 0.75, 0.25)
    >>> round(coin.delta(0.0), 9)
    0.5
    """

    inputs: tuple[object, object]  # the two neighbouring inputs, to be shown
    here: Reals  # natural logarithms of probabilities that sum to one
    there: Reals
    outcomes: Sequence[object]  # what each is called, in the same order

    def __post_init__(self) -> None:
        for law in (self.here, self.there):
            if law.shape != (len(self.outcomes),) or abs(float(logsumexp(law))) > _SAME:
                given = f"{law.shape} of total {math.exp(float(logsumexp(law))):.12g}"
                remedy = "list every outcome, and give the logarithms of probabilities that sum to one"
                raise ParameterError("here, there", given, reason="is not a law on these outcomes", remedy=remedy)

    @property
    def losses(self) -> Reals:
        """Ln P/P' of every outcome; minus infinity where both are impossible."""
        return np.where(self.here > -math.inf, self.here - np.where(self.here > -math.inf, self.there, 0), -math.inf)

    def swapped(self) -> "PairOfLaws":
        """Return the pair in the other order: a claim must hold in both."""
        return replace(self, inputs=self.inputs[::-1], here=self.there, there=self.here)

    def epsilon(self, delta: float) -> tuple[float, WorstEvent]:
        """Return the smallest epsilon such that P(E) <= e^epsilon P'(E) + delta for every event E, and the worst E.

        It is the maximum of ln((P(E) - delta)/P'(E)) over the chain; with delta = 0 that is the largest loss.
        """
        order, log_here, log_there = self._chain()
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = log_here if delta == 0 else np.log(np.maximum(np.exp(log_here) - delta, 0.0))
            values = np.where(gain > -math.inf, gain - log_there, -math.inf)
        return self._best(values, order, log_here, log_there)

    def mu(self) -> tuple[float, WorstEvent]:
        """Return the smallest mu for which the pair is as hard to distinguish as N(0, 1) and N(mu, 1), and the worst E.

        The trade-off curve of a finite pair is a polygon, and that of two Gaussians is convex: so the polygon lies
        above it if, and only if, its corners do. A corner is an event of the chain: mu >= Φ⁻¹(P(E)) - Φ⁻¹(P'(E)).
        """
        order, log_here, log_there = self._chain()
        rest_here, rest_there = (_rest(law[order]) for law in (self.here, self.there))
        with np.errstate(invalid="ignore"):
            values = _quantile(log_here, rest_here) - _quantile(log_there, rest_there)
        return self._best(np.where(np.isnan(values), -math.inf, values), order, log_here, log_there)

    def delta(self, epsilon: float) -> float:
        """Return the smallest delta such that P(E) <= e^epsilon P'(E) + delta for every event E."""
        more = self.losses > epsilon
        return math.fsum(np.exp(self.here[more]) * -np.expm1(epsilon - self.losses[more]))

    def renyi(self, order: float) -> float:
        """Return the Renyi divergence of `order` > 1 of here from there."""
        possible = self.here > -math.inf
        if (self.there[possible] == -math.inf).any():
            return math.inf
        return float(logsumexp(order * self.here[possible] + (1 - order) * self.there[possible])) / (order - 1)

    def trade_off(self) -> tuple[Reals, Reals]:
        """Return the corners of the trade-off curve: the false alarms P'(E), and the P(not E) that are missed."""
        order, _, log_there = self._chain()
        missed = np.exp(np.append(_rest(self.here[order]), -math.inf))
        return np.concatenate(([0.0], np.exp(log_there))), np.concatenate(([1.0], missed[:-1]))

    def condensed(self) -> "PairOfLaws":
        """Return the pair with outcomes of the same loss merged: it is exactly as hard to distinguish."""
        possible = np.flatnonzero(np.maximum(self.here, self.there) > -math.inf)
        losses = np.round(self.losses[possible], _LOSS_DIGITS)
        _, first, group = np.unique(losses, return_index=True, return_inverse=True)
        merged = [_grouped(law[possible], group, len(first)) for law in (self.here, self.there)]
        names = [self.outcomes[int(possible[i])] for i in first]
        return replace(self, here=merged[0], there=merged[1], outcomes=names)

    def merged(self, at_most: int) -> "PairOfLaws":
        """Return the pair with `at_most` outcomes: those of nearly the same loss are merged.

        What it then loses is lost at least.
        """
        if len(self.outcomes) <= at_most:
            return self
        order = np.argsort(self.losses)
        group = np.arange(len(order)) * at_most // len(order)
        names = [self.outcomes[int(order[i])] for i in np.unique(group, return_index=True)[1]]
        here, there = (_grouped(law[order], group, at_most) for law in (self.here, self.there))
        return replace(self, here=here, there=there, outcomes=names)

    def times(self, other: "PairOfLaws") -> "PairOfLaws":
        """Return the pair of both answers together, each with noise of its own, condensed.

        Where there are thousands of outcomes, neighbouring ones are merged first.
        """
        one, two = self.merged(_MOST_FACTORS), other.merged(_MOST_FACTORS)
        here, there = (np.add.outer(*laws).ravel() for laws in ((one.here, two.here), (one.there, two.there)))
        names = _Pairs(one.outcomes, two.outcomes)
        inputs = (_joined(self.inputs[0], other.inputs[0]), _joined(self.inputs[1], other.inputs[1]))
        return PairOfLaws(inputs=inputs, here=here, there=there, outcomes=names).condensed()

    def _chain(self) -> tuple[NDArray[np.intp], Reals, Reals]:
        """Return the outcomes in the order of falling loss, and the two log-probabilities of each beginning."""
        possible = np.flatnonzero(np.maximum(self.here, self.there) > -math.inf)
        losses = np.round(self.losses[possible], _LOSS_DIGITS)
        order = possible[np.lexsort((-self.here[possible], -losses))]  # of outcomes that lose alike, likely ones first
        with np.errstate(invalid="ignore"):
            cumulated = [np.minimum(np.logaddexp.accumulate(law[order]), 0.0) for law in (self.here, self.there)]
        return order, cumulated[0], cumulated[1]

    def _best(
        self, values: Reals, order: NDArray[np.intp], log_here: Reals, log_there: Reals
    ) -> tuple[float, WorstEvent]:
        top = float(values.max())
        last = int(np.flatnonzero(values >= top - _SAME)[-1])
        outcomes = tuple(self.outcomes[int(i)] for i in order[: last + 1])
        event = WorstEvent(outcomes=outcomes, here=math.exp(log_here[last]), there=math.exp(log_there[last]))
        return top, event


@dataclass(frozen=True, slots=True)
class _Pairs(Sequence[object]):
    """The names of all pairs of outcomes, made when they are asked for."""

    first: Sequence[object]
    second: Sequence[object]

    def __len__(self) -> int:
        return len(self.first) * len(self.second)

    def __getitem__(self, index: Any) -> Any:
        first, second = divmod(index, len(self.second))
        return _joined(self.first[first], self.second[second])


def _joined(first: object, second: object) -> tuple[object, ...]:
    return (*(first if isinstance(first, tuple) else (first,)), *(second if isinstance(second, tuple) else (second,)))


def _grouped(law: Reals, group: NDArray[np.intp], groups: int) -> Reals:
    """Return ln of the sum of e^law over each group, to full relative precision."""
    top = np.full(groups, -math.inf)
    np.maximum.at(top, group, law)
    base = np.where(top > -math.inf, top, 0.0)
    totals = np.bincount(group, np.exp(law - base[group]), groups)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(totals) + base)


def _rest(ordered: Reals) -> Reals:
    """Return ln of what is left of a law after each outcome."""
    with np.errstate(invalid="ignore"):
        from_the_end = np.logaddexp.accumulate(ordered[::-1])[::-1]
    return np.asarray(np.minimum(np.append(from_the_end[1:], -math.inf), 0.0))


def _quantile(log_probability: Reals, log_rest: Reals) -> Reals:
    """Return Φ⁻¹ from whichever of the two tails is smaller."""
    lower = log_probability <= log_rest
    tail = np.asarray(ndtri_exp(np.where(lower, log_probability, log_rest)), np.float64)
    return np.where(lower, tail, -tail)


def in_words(values: object) -> str:
    """Return values in a line, with a run of equal values written once.

    >>> in_words((0, 0, 0, 1)), in_words(5.0)
    ('0 x3, 1', '5')
    """
    if isinstance(values, tuple):
        runs = [(in_words(value), len(list(run))) for value, run in itertools.groupby(values)]
        return ", ".join(f"{value} x{times}" if times > 1 else value for value, times in runs)
    return f"{float(values):g}" if isinstance(values, float | Fraction) else str(values)


def _half_line(outcomes: tuple[object, ...]) -> str:
    """Return "at least n" or "at most n" for numbers without a gap that contain an end of their lattice."""
    ends = [outcome for outcome in outcomes if isinstance(outcome, _End)]
    numbers = sorted(number for number in map(_number, outcomes) if number is not None)
    steps = {round(b - a, 12) for a, b in itertools.pairwise(numbers)}
    if len(ends) != 1 or len(numbers) != len(outcomes) or len(steps) > 1:
        return ""
    return str(AuditedAtLeast(numbers[0]) if isinstance(ends[0], AuditedAtLeast) else AtMost(numbers[-1]))


@dataclass(frozen=True, slots=True)
class _End:
    number: float

    relation: ClassVar[str]

    def __str__(self) -> str:
        return f"{self.relation} {self.number:g}"


class AuditedAtLeast(_End):
    """The outcome that a number is at least this one: the upper end of a lattice, merged."""

    relation = ">="


class AtMost(_End):
    """The outcome that a number is at most this one: the lower end of a lattice, merged."""

    relation = "<="


def _number(outcome: object) -> float | None:
    if isinstance(outcome, _End):
        return outcome.number
    return float(outcome) if isinstance(outcome, int | float) else None
