"""The filter of an (epsilon, delta) promise: a charge is admitted if the pure sum admits it *or* the residue does.

One book. Both arms book every admitted charge, whichever admitted it. A residue arm that would have refused an admitted
charge is dead for ever: its state no longer bounds what happened. The pure arm goes on adding while only the residue
admits, and counts again as soon as its sum is back within the budget, when a stream closes and gives back its reserve.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

from lapwing.accounting.filters.cost import Cost, GaussianLoss, loss_of
from lapwing.accounting.filters.gaussian_curve import largest_mu_squared, round_down
from lapwing.accounting.filters.residue import residue_after
from lapwing.accounting.filters.sums import PureSum
from lapwing.accounting.filters.verdict import Shortage, Step, Verdict
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Event
from lapwing.vocabulary.exact import exact, probability

_CHARGES_PER_HALVING = 2**14  # the slack for one certificate is this part of what is left: it never runs out


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaShares:
    """How a delta is divided: to the certificates' slack, to mechanisms that may fail, and the rest to the residue.

    Parameters
    ----------
    numerical : the share that pays for computing in floating point
    failures : the share that pays for releases with a delta of their own
    """

    numerical: Fraction = Fraction(1, 1000)
    failures: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numerical", probability("numerical", self.numerical))
        object.__setattr__(self, "failures", exact("failures", self.failures))
        if not 0 <= self.failures < 1 - self.numerical:
            raise ParameterError(
                "failures",
                self.failures,
                reason=f"leaves no delta to the residue beside a numerical share of {self.numerical}",
                remedy='write a share from 0 up to less than 1, such as "0.1"',
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoArms:
    """An (epsilon, delta) budget: OR(pure sum, Gaussian residue), with one book.

    Every interaction that goes through it is (`epsilon`, delta)-differentially private, where delta is what
    `TwoArms.opened` was given, whatever is asked after whatever answer and however streams are interleaved.

    Proof: proofs/two_arms.md (with proofs/residue.md for the residue and proofs/sum_filters.md for the sum)

    Parameters
    ----------
    pure : the pure arm; `None` once a charge without a pure price is in the book
    residue : what is left in the residue arm, as the mu^2 of a Gaussian release; `None` if the arm is dead
    slack, failures : what is left of the two other shares of delta
    """

    pure: PureSum | None
    residue: float | None
    slack: Fraction
    failures: Fraction

    @staticmethod
    def opened(epsilon: Fraction, delta: Fraction, shares: DeltaShares) -> "TwoArms":
        """Return the filter of a fresh (epsilon, delta) budget.

        Examples
        --------
        >>> fresh = TwoArms.opened(Fraction(1), Fraction(1, 10**6), DeltaShares())
        >>> round(fresh.residue, 6)  # a Gaussian release with sigma = 4.2 sensitivities fits
        0.056025
        """
        slack, failures = delta * shares.numerical, delta * shares.failures
        return TwoArms(
            pure=PureSum(epsilon=epsilon),
            residue=largest_mu_squared(epsilon, delta - slack - failures),
            slack=slack,
            failures=failures,
        )

    def weigh(self, event: Event, cost: Cost) -> Verdict:
        """Admit `cost` if the residue arm does; if not, and the pure arm does, the residue arm is dead from then on."""
        step = self._residue_step(event, cost)
        if step is None and self._fits_the_sum(cost):
            step = Step(residue=None, failure=cost.delta)
        return step or self._shortage(event, cost)

    def book(self, cost: Cost, step: Step) -> "TwoArms":
        """Write an admitted cost into both arms."""
        grown = step.residue is not None and (self.residue is None or step.residue > self.residue)
        if grown or step.slack > self.slack or step.failure > self.failures:
            raise ParameterError(
                "step", step, reason=f"cannot follow on {self}", remedy="replay the records in their order"
            )
        return replace(
            self,
            pure=None if self.pure is None or cost.epsilon is None else self.pure.book(cost, step),
            residue=step.residue,
            slack=self.slack - step.slack,
            failures=self.failures - step.failure,
        )

    def settle(self, amount: Fraction) -> "TwoArms":
        """Turn a reserved amount into a spent one, in the pure arm; the residue arm paid at the opening."""
        return replace(self, pure=self.pure and self.pure.settle(amount))

    def release(self, amount: Fraction) -> "TwoArms":
        """Give a reserved amount back, in the pure arm; the residue arm paid at the opening."""
        return replace(self, pure=self.pure and self.pure.release(amount))

    def _fits_the_sum(self, cost: Cost) -> bool:
        if self.pure is None or cost.held is None:
            return False
        return cost.held <= self.pure.left and cost.delta <= self.failures

    def _residue_step(self, event: Event, cost: Cost) -> Step | None:
        if not self.residue:
            return None
        loss = loss_of(event)
        if isinstance(loss, GaussianLoss):
            after = Fraction(self.residue) - loss.mu_squared
            return Step(residue=round_down(after)) if after >= 0 else None
        slack = power_of_two_below(self.slack) / _CHARGES_PER_HALVING
        unseen = Fraction(loss.infinite_mass)
        spent, failure = (slack + unseen, cost.delta) if unseen <= slack else (slack, max(cost.delta, unseen))
        if failure > self.failures:
            return None
        residue = residue_after(self.residue, loss, float(slack))
        return None if residue is None else Step(residue=residue, slack=spent, failure=failure)

    def _shortage(self, event: Event, cost: Cost) -> Shortage:
        loss = loss_of(event)
        failure = max(cost.delta, Fraction(loss.infinite_mass))
        if failure > max(self.failures, self.slack):
            return Shortage(currency="delta", asked=failure, left=self.failures)
        if self.pure is not None and cost.held is not None:
            return Shortage(currency="epsilon", asked=cost.held, left=self.pure.left)
        asked = Fraction(loss.first_order_price)
        return Shortage(currency="mu squared", asked=asked, left=Fraction(self.residue or 0))


def power_of_two_below(number: Fraction) -> Fraction:
    """Return a power of two that is at most `number` > 0, and more than a quarter of it.

    >>> power_of_two_below(Fraction(5)), power_of_two_below(Fraction(1, 1000))
    (Fraction(2, 1), Fraction(1, 1024))
    """
    return Fraction(2) ** (number.numerator.bit_length() - number.denominator.bit_length() - 1)
