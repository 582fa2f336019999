"""What each of k releases may cost, so that all of them together keep a promise: the way back of `compose`.

For releases of one price each that is fixed in advance; what is asked may depend on earlier answers. It is for planning
and for comparing what the textbooks advise. An account admits by filters, and needs no plan (`open_account`).

Proof: proofs/classical_composition.md
"""

import math
from collections.abc import Callable
from enum import Enum
from fractions import Fraction

from lapwing.accounting.composition import advanced_epsilon
from lapwing.accounting.window import MOST_USES, optimal_epsilon
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import ROUND_OFF, as_int, float_above, float_below
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import ApproximateDP, Guarantee, PureDP
from lapwing.vocabulary.search import decimals

_DIGITS = 6
_LARGEST_DELTA = 0.88  # beyond e^(-1/8) Corollary 5 is not proved, and near 1 it is false


class SharingRule(Enum):
    """The rules by which a promise is shared among equal releases."""

    OPTIMAL = "optimal composition"
    ADVANCED = "advanced composition"
    COROLLARY = "Corollary 5 of document 000"
    DIVIDED = "dividing epsilon"


@frozen()
class Share:
    """The epsilon that each release may cost by one rule."""

    rule: SharingRule
    epsilon: Fraction


@frozen()
class Shares:
    """The shares of all rules that apply, the largest first: `times` releases of any of them keep `total`."""

    total: PureDP | ApproximateDP
    times: int
    shares: tuple[Share, ...]

    @property
    def best(self) -> Share:
        """The largest share."""
        return self.shares[0]

    def by(self, rule: SharingRule) -> Share | None:
        """Return the share by `rule`, or None where it does not apply."""
        return next((share for share in self.shares if share.rule is rule), None)

    def __str__(self) -> str:
        width = max(len(share.rule.value) for share in self.shares)
        return "\n".join(f"{share.rule.value:<{width}}  epsilon {float(share.epsilon):.6g}" for share in self.shares)


def share(total: Guarantee, *, times: int) -> Shares:
    """Return what each of `times` pure releases may cost, so that all of them together keep `total`.

    Every line is safe by itself: as many releases of its epsilon, each fixed in advance, on the same people, are
    `total`-private together. Without a delta, epsilon is divided, and no rule gives more. With one there are the
    advanced theorem, solved for the epsilon of each release; Corollary 5 of document 000, a simpler and smaller
    number, for an epsilon below 1; and the optimum over all that is known about releases of a pure epsilon.

    For a hundred questions Corollary 5 allows less than dividing, and the optimum is 2.5 times the corollary:

    >>> print(share(ApproximateDP(epsilon=Fraction(99, 100), delta=Fraction(1, 10**6)), times=100))
    optimal composition          epsilon 0.023784
    advanced composition         epsilon 0.0181979
    dividing epsilon             epsilon 0.0099
    Corollary 5 of document 000  epsilon 0.00941687

    Theorem: Dwork, Rothblum, Vadhan, FOCS 2010, for the advanced rule; Kairouz, Oh, Viswanath, ICML 2015, Theorem 3.3,
    for the optimum.
    Proof: proofs/classical_composition.md
    """
    uses = as_int("times", times, least=1, most=MOST_USES)
    match total:
        case PureDP(epsilon=epsilon):
            found = {SharingRule.DIVIDED: epsilon / uses}
        case ApproximateDP(epsilon=epsilon, delta=delta):
            found = {SharingRule.DIVIDED: epsilon / uses} | _with_delta(epsilon, float_below(delta), uses)
        case _:
            remedy = "write PureDP(epsilon=...) or ApproximateDP(...); divide rho, or the square of mu: they add up"
            raise ParameterError("total", total, reason="has no epsilon that could be shared", remedy=remedy)
    shares = [Share(rule=rule, epsilon=each) for rule, each in found.items()]
    return Shares(total=total, times=uses, shares=tuple(sorted(shares, key=lambda one: -one.epsilon)))


def _with_delta(epsilon: Fraction, delta: float, times: int) -> dict[SharingRule, Fraction]:
    def optimal(each: Fraction) -> bool:
        return optimal_epsilon(epsilon=each, times=times, delta=delta) <= epsilon

    def advanced(each: Fraction) -> bool:
        return advanced_epsilon(epsilon=float_above(each), times=times, delta=delta) <= epsilon

    found = {SharingRule.OPTIMAL: _largest(optimal), SharingRule.ADVANCED: _largest(advanced)}
    if epsilon < 1 and delta <= _LARGEST_DELTA:
        printed = float_below(epsilon) / math.sqrt(-8 * times * math.log(delta)) * (1 - ROUND_OFF)
        found[SharingRule.COROLLARY] = _largest(lambda each: each <= printed)
    return found


def _largest(is_safe: Callable[[Fraction], bool]) -> Fraction:
    """Return the largest number of so many digits of which this is true: it was asked about that very number."""
    search = decimals(digits=_DIGITS)
    while search.open:
        search.tell(not is_safe(search.guess))
    return search.below
