"""The filter of an (epsilon, delta) promise: a charge is admitted if the residue admits it *or* the pure sum does.

One book. Both arms book every admitted charge, whichever admitted it. A residue arm that would have refused an admitted
charge is dead for ever: its state no longer bounds what happened. The pure arm goes on adding while only the residue
admits, and counts again as soon as its sum is back within the budget, when a stream closes and gives back its reserve.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

from lapwing.accounting.filters.cost import Cost, GaussianLoss, loss_of
from lapwing.accounting.filters.decision import Accepted, FilterDecision, Insufficient
from lapwing.accounting.filters.gaussian_curve import largest_mu_squared
from lapwing.accounting.filters.residue import residue_after
from lapwing.accounting.filters.sums import PureFilter, require_carried
from lapwing.accounting.rounding import float_below
from lapwing.vocabulary.codec import stored
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Event
from lapwing.vocabulary.exact import exact, probability

_SLACKS = (Fraction(1, 2**14), Fraction(1, 2**3))
"""What a certificate may take of the slack that is left, so that it never runs out: little, or more for heavy tails."""

_LEAST_SLACK = Fraction(1, 2**365)
"""What a certificate needs (proofs/residue_certificate.md): with less, the arm gives up."""


@stored("delta-shares")
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


@stored("approximate-filter")
@dataclass(frozen=True, slots=True, kw_only=True)
class ApproximateFilter:
    """An (epsilon, delta) budget: OR(pure sum, Gaussian residue), with one book.

    Every interaction that goes through it is (`epsilon`, delta)-differentially private, where delta is what
    `ApproximateFilter.opened` was given, whatever is asked after whatever answer and however streams are interleaved.

    Proof: proofs/two_arms.md (with proofs/residue.md for the residue and proofs/sum_filters.md for the sum)

    Parameters
    ----------
    pure : the pure arm; `None` once a charge without a pure price is in the book
    residue : what is left in the residue arm, as the mu^2 of a Gaussian release; `None` if the arm is dead
    slack, failures : what is left of the two other shares of delta
    """

    pure: PureFilter | None
    residue: float | None
    slack: Fraction
    failures: Fraction

    @staticmethod
    def opened(epsilon: Fraction, delta: Fraction, shares: DeltaShares) -> "ApproximateFilter":
        """Return the filter of a fresh (epsilon, delta) budget.

        Examples
        --------
        >>> fresh = ApproximateFilter.opened(Fraction(1), Fraction(1, 10**6), DeltaShares())
        >>> round(fresh.residue, 6)  # a Gaussian release with sigma = 4.2 sensitivities fits
        0.056024
        """
        slack, failures = delta * shares.numerical, delta * shares.failures
        return ApproximateFilter(
            pure=PureFilter(epsilon=epsilon),
            residue=largest_mu_squared(epsilon, delta - slack - failures),
            slack=slack,
            failures=failures,
        )

    def weigh(self, event: Event, cost: Cost) -> FilterDecision:
        """Admit `cost` if the residue arm does; if not, and the pure arm does, the residue arm is dead from then on."""
        return self._residue_step(event, cost) or self._step_of_the_sum(cost) or self._shortage(event, cost)

    def require_carried(self, cost: Cost) -> None:
        """Refuse a cost whose sums would grow longer with every charge; residues and slacks are floats."""
        if self.pure is not None:
            self.pure.require_carried(cost)
        require_carried("delta", cost.delta)

    def book(self, cost: Cost, step: Accepted) -> "ApproximateFilter":
        """Write an admitted cost into both arms; refuse a step that was weighed against another filter than this."""
        if not self._can_follow(cost, step) or step.slack > self.slack or step.failure > self.failures:
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

    def settle(self, amount: Fraction) -> "ApproximateFilter":
        """Turn a reserved amount into a spent one, in the pure arm; the residue arm paid at the opening."""
        return replace(self, pure=self.pure and self.pure.settle(amount))

    def release(self, amount: Fraction) -> "ApproximateFilter":
        """Give a reserved amount back, in the pure arm; the residue arm paid at the opening."""
        return replace(self, pure=self.pure and self.pure.release(amount))

    def _can_follow(self, cost: Cost, step: Accepted) -> bool:
        if step.residue is not None:
            return self.residue is not None and step.residue < self.residue
        return self._step_of_the_sum(cost) is not None

    def _step_of_the_sum(self, cost: Cost) -> Accepted | None:
        if self.pure is None or cost.held is None or cost.held > self.pure.left or cost.delta > self.failures:
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
            if slack < _LEAST_SLACK:
                continue
            spent, failure = (slack + unseen, cost.delta) if unseen <= slack else (slack, max(cost.delta, unseen))
            if failure <= self.failures and (after := residue_after(self.residue, loss, float(slack))) is not None:
                return Accepted(residue=after, slack=spent, failure=failure)
        return None

    def _shortage(self, event: Event, cost: Cost) -> Insufficient:
        loss = loss_of(event)
        failure = max(cost.delta, Fraction(loss.infinite_mass))
        if failure > max(self.failures, self.slack):
            return Insufficient(currency="delta", asked=failure, left=self.failures)
        if self.pure is not None and cost.held is not None:
            return Insufficient(currency="epsilon", asked=cost.held, left=self.pure.left)
        asked = Fraction(loss.first_order_price)
        return Insufficient(currency="mu squared", asked=asked, left=Fraction(self.residue or 0))


def power_of_two_below(number: Fraction) -> Fraction:
    """Return a power of two that is at most `number` > 0, and more than a quarter of it.

    >>> power_of_two_below(Fraction(5)), power_of_two_below(Fraction(1, 1000))
    (Fraction(2, 1), Fraction(1, 1024))
    """
    return Fraction(2) ** (number.numerator.bit_length() - number.denominator.bit_length() - 1)
