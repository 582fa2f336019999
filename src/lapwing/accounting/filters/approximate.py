"""The filter of an (epsilon, delta) promise: a charge is admitted if the residue admits it *or* the pure sum does.

One book. Both arms book every admitted charge, whichever admitted it. A residue arm that would have refused an admitted
charge is dead for ever: its state no longer bounds what happened. The pure arm goes on adding while only the residue
admits, and counts again as soon as its sum is back within the budget, when a stream closes and gives back its reserve.
"""

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from lapwing.accounting.dominating_pair import DominatingPair
from lapwing.accounting.filters.charge import (
    Accepted,
    ConcentratedFilter,
    Cost,
    DeltaShares,
    FilterDecision,
    Insufficient,
    PureFilter,
    priced,
    require_carried,
)
from lapwing.accounting.filters.residue import LEAST_SLACK, LossChain, LossFamily, largest_mu_squared, residue_after
from lapwing.accounting.losses.continuous import GaussianLaw
from lapwing.accounting.losses.law import LossLaw
from lapwing.accounting.losses.selections import BoundedRangeLaw, SelectionsLaw
from lapwing.accounting.pricing import PricedLoss
from lapwing.accounting.privacy_loss_distribution import epsilon_at
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Composed, Event, ExponentialSelection, LaplaceNoise, Repeated
from lapwing.vocabulary.exact import float_below
from lapwing.vocabulary.frozen import frozen

# what a certificate may take of the slack that is left, so that it never runs out: little, or more for heavy tails
_SLACKS = (Fraction(1, 2**14), Fraction(1, 2**3))
_ATOMS_OF_LAPLACE = 33  # most of its loss sits at the two ends: more atoms gain less than 0.1 % of its price
_ATOMS = 257
_AS_MANY_AS_THERE_ARE = 10**6
_REACH = 10  # standard deviations
_LONGEST_CHAIN = 512  # more selections, as one law, cost only 0.5 % more


@stored("approximate-filter")
class ApproximateFilter:
    """An (epsilon, delta) budget: OR(pure sum, Gaussian residue), with one book.

    Every adaptive interaction that goes through it is (`epsilon`, delta)-differentially private, where delta is that of
    `ApproximateFilter.fresh`, also if streams are interleaved.

    `pure` is `None` once a charge without a pure price is in the book; `residue`, the mu^2 of a Gaussian release that
    is left, if that arm is dead. `slack` and `failures` are what is left of the two other shares of delta.

    Proof: proofs/two_arms.md (with proofs/residue.md for the residue and proofs/sum_filters.md for the sum)
    """

    pure: PureFilter | None
    residue: float | None
    slack: Fraction
    failures: Fraction

    @staticmethod
    def fresh(epsilon: Fraction, delta: Fraction, shares: DeltaShares) -> "ApproximateFilter":
        """Return the filter of a fresh (epsilon, delta) budget."""
        slack, failures = delta * shares.numerical, delta * shares.failures
        return ApproximateFilter(
            pure=PureFilter(epsilon=epsilon),
            residue=largest_mu_squared(epsilon, delta - slack - failures),
            slack=slack,
            failures=failures,
        )

    def weigh(self, event: Event, cost: Cost) -> FilterDecision:
        """Admit `cost` if the residue arm does; if not, and the pure arm does, the residue arm is dead from then on."""
        return self._residue_step(event, cost) or self._step_of_the_sum(cost) or self._insufficient(event, cost)

    def require_carried(self, cost: Cost) -> None:
        """Refuse a cost whose sums would grow longer with every charge; residues and slacks are floats."""
        if self.pure is not None:
            self.pure.require_carried(cost)
        require_carried("delta", cost.delta)

    def book(self, cost: Cost, step: Accepted) -> "ApproximateFilter":
        """Write an admitted cost into both arms; refuse a step that was weighed against another filter than this."""
        if step.residue is None:
            follows = self._step_of_the_sum(cost) is not None
        else:
            follows = self.residue is not None and step.residue < self.residue
        if not follows or step.slack > self.slack or step.failure > self.failures:
            remedy = "replay the records in their order"
            raise ParameterError("step", step, reason=f"cannot follow on {self}", remedy=remedy)
        return replace(
            self,
            pure=None if self.pure is None or cost.epsilon is None else self.pure.book(cost, step),
            residue=step.residue,
            slack=self.slack - step.slack,
            failures=self.failures - step.failure,
        )

    def spent_since(self, opening: "ApproximateFilter", delta: float) -> float:
        """Return about the least epsilon at `delta` that one of the arms vouches for, of all since the `opening`.

        It compares ways to pay, and promises nothing: what a release takes from a residue depends on what was left.
        """
        by_the_sum = math.inf if self.pure is None else float(self.pure.epsilon - self.pure.left)
        if self.residue is None:
            return by_the_sum
        taken = Fraction(opening.residue or 0) - Fraction(self.residue)
        return min(by_the_sum, epsilon_at(GaussianLaw(taken).delta, delta) if taken > 0 else 0.0)

    def settle(self, **amounts: Fraction) -> "ApproximateFilter":
        """Settle what was reserved in the pure arm; the residue arm paid at the opening."""
        return replace(self, pure=self.pure and self.pure.settle(**amounts))

    def _step_of_the_sum(self, cost: Cost) -> Accepted | None:
        if self.pure is None or cost.whole is None or cost.whole > self.pure.left or cost.delta > self.failures:
            return None
        return Accepted(residue=None, failure=cost.delta)

    def _residue_step(self, event: Event, cost: Cost) -> Accepted | None:
        if not self.residue:
            return None
        loss = loss_of(event)
        if isinstance(loss, GaussianLoss):
            left = Fraction(self.residue) - loss.mu_squared
            return Accepted(residue=float_below(left)) if left >= 0 else None
        unseen = Fraction(loss.infinite_mass)
        for share in _SLACKS:
            slack = share * power_of_two_below(self.slack)
            if slack < LEAST_SLACK:
                continue
            spent, failure = (slack + unseen, cost.delta) if unseen <= slack else (slack, max(cost.delta, unseen))
            if failure <= self.failures and (after := residue_after(self.residue, loss, float(slack))) is not None:
                return Accepted(residue=after, slack=spent, failure=failure)
        return None

    def _insufficient(self, event: Event, cost: Cost) -> Insufficient:
        loss = loss_of(event)
        failure = max(cost.delta, Fraction(loss.infinite_mass))
        if failure > max(self.failures, self.slack):
            return Insufficient(currency="delta", asked=failure, left=self.failures)
        if self.pure is not None and cost.whole is not None:
            return Insufficient(currency="epsilon", asked=cost.whole, left=self.pure.left)
        asked = Fraction(loss.first_order_price)
        return Insufficient(currency="mu squared", asked=asked, left=Fraction(self.residue or 0))


Filter: TypeAlias = PureFilter | ConcentratedFilter | ApproximateFilter


def power_of_two_below(number: Fraction) -> Fraction:
    """Return a power of two that is at most `number` > 0, and more than a quarter of it.

    >>> power_of_two_below(Fraction(5)), power_of_two_below(Fraction(1, 1000))
    (Fraction(2, 1), Fraction(1, 1024))
    """
    return Fraction(2) ** (number.numerator.bit_length() - number.denominator.bit_length() - 1)


@frozen(eq=False)
class GaussianLoss:
    """A Gaussian release, which a residue pays for exactly."""

    mu_squared: Fraction
    infinite_mass: float = 0.0

    @property
    def first_order_price(self) -> float:
        """First-order cost: the mu^2 that it takes from a residue."""
        return float(self.mu_squared)


@lru_cache(maxsize=1024)
def loss_of(event: Event) -> GaussianLoss | LossFamily | LossChain:
    """Return the privacy loss of `event` in the form that the residue filter needs."""
    if isinstance(event, ExponentialSelection):
        return LossFamily.bounded_range(event.epsilon)
    loss = priced(event)
    if loss.gaussian_mu_squared is not None:
        return GaussianLoss(mu_squared=loss.gaussian_mu_squared)
    match event:
        case LaplaceNoise():
            return LossFamily.of(loss.pairs(_ATOMS_OF_LAPLACE))
        case Composed() | Repeated():
            return _plan(loss)
        case _:
            return LossFamily.of(loss.pairs(_ATOMS))


def _plan(loss: PricedLoss) -> LossFamily | LossChain:
    """Return a plan as one family; and, if it has selections, as everything else and then one selection after another.

    The selections of the chain have one epsilon, so that it does not matter in which order they are carried out.
    """
    selected: dict[Fraction, int] = {}
    for law, times in loss.factors:
        if (found := _selections(law)) is not None:
            selected[found[0]] = selected.get(found[0], 0) + found[1] * times
    together = _together(loss)
    epsilon = max(selected, key=selected.__getitem__, default=Fraction(0))
    if not 0 < selected.get(epsilon, 0) <= _LONGEST_CHAIN:
        return together
    others = tuple((law, times) for law, times in loss.factors if (_selections(law) or (None, 0))[0] != epsilon)
    first = [(_together(PricedLoss(others)), 1)] if others else []
    return LossChain(together=together, parts=(*first, (LossFamily.bounded_range(epsilon), selected[epsilon])))


def _selections(law: LossLaw) -> tuple[Fraction, int] | None:
    """Return the epsilon of the selections that `law` stands for, and how many they are."""
    match law:
        case BoundedRangeLaw(pure_epsilon=epsilon):
            return epsilon, 1
        case SelectionsLaw(epsilon=epsilon, times=times):
            return epsilon, times
        case _:
            return None


def _together(loss: PricedLoss) -> LossFamily:
    return LossFamily.of([_thinned(pair) for pair in loss.pairs(_AS_MANY_AS_THERE_ARE)])


def _thinned(pair: DominatingPair) -> DominatingPair:
    """Return a pair of few atoms that dominates `pair`, evenly spaced as far as a Gaussian residue looks.

    A residue compares tails down to its slack, so what is rare counts as much as what is frequent.
    """
    if pair.losses.size <= _ATOMS:
        return pair
    lowest, highest = float(pair.losses[0]), float(pair.losses[-1])
    mean = float(pair.masses @ pair.losses)
    reach = _REACH * math.sqrt(float(pair.masses @ (pair.losses - mean) ** 2))
    inner = np.linspace(max(lowest, mean - reach), min(highest, mean + reach), _ATOMS - 2)
    return pair.onto(np.unique(np.concatenate([[lowest], inner, [highest]])))
