"""How much noise a budget asks for, and how many uses a noise leaves.

Whatever is returned was checked: the event at that scale, that often, costs no more than the budget.

Proof: proofs/calibration.md
"""

import math
from collections.abc import Callable
from fractions import Fraction

from lapwing.accounting.losses.gaussian import gaussian_delta
from lapwing.accounting.priced_loss import PricedLoss
from lapwing.accounting.pricing import price, product
from lapwing.accounting.rounding import float_above, float_below
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Event, LaplaceNoise, Repeated
from lapwing.vocabulary.exact import positive, whole
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, GaussianDP, Guarantee, PureDP

PRECISION = 1e-6
"""How close to the least noise a search comes, as a share of it."""

_MOST_DOUBLINGS = 60
_MOST_USES = 2**60


def share_of(budget: Guarantee, loss: PricedLoss) -> float:
    """Return which share of `budget` the loss uses up, rounded up: it fits if that is at most 1.

    Examples
    --------
    >>> from lapwing.vocabulary.event import PureRelease
    >>> share_of(PureDP(epsilon=Fraction(1)), price(PureRelease(epsilon=Fraction(1, 4))))
    0.25
    """
    cost: Fraction | float | None
    match budget:
        case PureDP(epsilon=whole_):
            cost = loss.pure_epsilon
        case ApproximateDP(epsilon=whole_, delta=delta):
            cost = loss.epsilon(float_below(delta))
        case ConcentratedDP(rho=whole_):
            cost = loss.rho
        case GaussianDP(mu_squared=whole_):
            cost = loss.gaussian_mu_squared
    if cost is None or not math.isfinite(cost):
        return math.inf
    return float_above(Fraction(cost) / whole_)


def least_scale(
    event_at: Callable[[Fraction], Event], budget: Guarantee, *, uses: int = 1, near: Fraction = Fraction(1)
) -> Fraction:
    """Return the least scale, to six digits, at which `uses` of an event fit into a budget.

    Parameters
    ----------
    event_at : the event at a scale; it must cost less at a larger one
    budget : what all uses together may cost
    uses : how often the event will happen, with the same scale each time
    near : where to start looking

    Examples
    --------
    >>> from lapwing.vocabulary.event import DiscreteLaplaceNoise
    >>> budget = ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 10**6))
    >>> scale = least_scale(lambda b: DiscreteLaplaceNoise(l1_sensitivity=1, scale=b), budget, uses=1000)
    >>> round(float(scale), 2)
    133.42
    """
    times = whole("uses", uses)

    def excess(scale: float) -> float:
        share = share_of(budget, price(Repeated(part=event_at(Fraction(scale)), times=times)))
        return math.log(share) if share > 0 else -math.inf

    low = high = float(positive("near", near))
    below = above = excess(high)
    for _ in range(_MOST_DOUBLINGS):
        if above <= 0 < below:
            return Fraction(_least(excess, low, below, high, above))
        if above > 0:
            low, below, high = high, above, 2 * high
            above = excess(high)
        else:
            high, above, low = low, below, low / 2
            below = excess(low)
    if below <= 0:
        return Fraction(high)
    raise ParameterError(
        "budget", budget, reason="is met by no amount of this noise", remedy="use another kind of budget"
    )


def _least(excess: Callable[[float], float], low: float, below: float, high: float, above: float) -> float:
    """Return the upper end of a bracket that shrinks around the root, by the Illinois rule on logarithms.

    The steps aim a hair above the root: an end that is met by less than `PRECISION` is good enough.
    """
    reached, moved_high = above, None
    while high - low > PRECISION * high and reached < -PRECISION:
        share = (below + PRECISION / 2) / (below - above) if math.isfinite(below - above) else 0.5
        middle = low * (high / low) ** min(max(share, 0.001), 0.999)
        found = excess(middle)
        if found <= 0:
            below = below / 2 if moved_high is True else below
            high, above, reached, moved_high = middle, found, found, True
        else:
            above = above / 2 if moved_high is False else above
            low, below, moved_high = middle, found, False
    return high


def most_uses(event: Event, budget: Guarantee) -> int:
    """Return how often `event` fits into a budget; 0 if not even once.

    Examples
    --------
    >>> from lapwing.vocabulary.event import PureRelease
    >>> hundredth = PureRelease(epsilon=Fraction(1, 100))
    >>> most_uses(hundredth, PureDP(epsilon=Fraction(1)))
    100
    >>> most_uses(hundredth, ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 10**6)))
    562
    """
    loss = price(event)

    def fits(times: int) -> bool:
        return share_of(budget, product([(loss, times)])) <= 1

    if not fits(1):
        return 0
    enough = 1
    while fits(2 * enough):
        enough *= 2
        if enough > _MOST_USES:
            return enough
    too_many = 2 * enough
    while too_many - enough > 1:
        middle = (enough + too_many) // 2
        if fits(middle):
            enough = middle
        else:
            too_many = middle
    return enough


def gaussian_mu_squared(budget: Guarantee) -> Fraction:
    """Return the largest mu^2 that a Gaussian release may have within a budget, rounded down.

    For (epsilon, delta) it solves the exact profile (Balle and Wang 2018), at every epsilon, not only below 1.

    Examples
    --------
    >>> gaussian_mu_squared(ConcentratedDP(rho=Fraction(1, 8)))
    Fraction(1, 4)
    >>> mu = float(gaussian_mu_squared(ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 10**6)))) ** 0.5
    >>> round(1 / mu, 4)  # the sigma for sensitivity 1; the formula of document 001 says 5.2988
    4.2247
    """
    match budget:
        case PureDP():
            raise ParameterError(
                "budget", budget, reason="is pure, and no Gaussian is", remedy="allow a delta, or use Laplace noise"
            )
        case ConcentratedDP(rho=rho):
            return 2 * positive("rho", rho)
        case GaussianDP(mu_squared=mu_squared):
            return positive("mu_squared", mu_squared)
        case ApproximateDP(epsilon=epsilon, delta=delta):
            return _largest_mu(float_below(positive("epsilon", epsilon)), float_below(positive("delta", delta))) ** 2


def _largest_mu(epsilon: float, delta: float) -> Fraction:
    low, high = 0.0, 1.0
    while gaussian_delta(high, epsilon) <= delta:
        low, high = high, 2 * high
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if gaussian_delta(middle, epsilon) <= delta:
            low = middle
        else:
            high = middle
    return Fraction(low)


def gaussian_variance(l2_sensitivity_squared: Fraction, budget: Guarantee, *, uses: int = 1) -> Fraction:
    """Return the least sigma^2 with which `uses` Gaussian releases fit into a budget, rounded up.

    Examples
    --------
    >>> gaussian_variance(Fraction(1), ConcentratedDP(rho=Fraction(1, 8)), uses=10)
    Fraction(40, 1)
    """
    return (
        positive("l2_sensitivity_squared", l2_sensitivity_squared) * whole("uses", uses) / gaussian_mu_squared(budget)
    )


def laplace_scale(l1_sensitivity: Fraction, budget: Guarantee, *, uses: int = 1) -> Fraction:
    """Return the least scale with which `uses` Laplace releases fit into a budget, rounded up; exact if it is pure.

    Examples
    --------
    >>> laplace_scale(Fraction(1), PureDP(epsilon=Fraction(1, 2)), uses=10)
    Fraction(20, 1)
    """
    sensitivity, times = positive("l1_sensitivity", l1_sensitivity), whole("uses", uses)
    if isinstance(budget, PureDP):
        return sensitivity * times / positive("epsilon", budget.epsilon)
    return sensitivity * least_scale(
        lambda scale: LaplaceNoise(l1_sensitivity=Fraction(1), scale=scale),
        budget,
        uses=times,
        near=Fraction(math.isqrt(times) + 1),
    )
