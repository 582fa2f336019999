"""The cost of an event: one price list for all kinds of events.

Every price is an upper bound, rounded towards more cost. Events inside another one (a plan, a repetition, a sample) are
priced as parameters that were fixed before the first answer; parameters that are chosen on the way need a filter.

A price is checked once more before it is used. A plan is at least as easy to distinguish as any one of its parts, and
a divergence is at least what Pinsker makes of the total variation. Both are known in closed form wherever a law is that
of a real pair of neighbours. A price below such a floor, or below zero, or no number at all, is a fault of the
arithmetic: it is refused, before any charge.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial

import numpy as np

from lapwing.accounting.conversions import curve, delta_from_renyi, delta_from_rho, epsilon_from_renyi, epsilon_from_rho
from lapwing.accounting.dominating_pair import DominatingPair, Floats
from lapwing.accounting.gaussian_sparse_vector import renyi_bound
from lapwing.accounting.losses import atoms
from lapwing.accounting.losses.atoms import AtomicLaw, discrete_gaussian, renyi_curve
from lapwing.accounting.losses.continuous import GaussianLaw, LaplaceLaw
from lapwing.accounting.losses.law import LossLaw
from lapwing.accounting.losses.sampled import Sampling, flattened, sampled
from lapwing.accounting.losses.selections import BoundedRangeLaw, SelectionsLaw, selections
from lapwing.accounting.privacy_loss_distribution import alone, composed_delta, composed_epsilon, composed_pair
from lapwing.accounting.tilting import Factor
from lapwing.vocabulary.deadline import spend
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import (
    ApproximateRelease,
    Composed,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    ExponentialSelection,
    GaussianNoise,
    GaussianSparseVectorRelease,
    InParallel,
    LaplaceNoise,
    PoissonSampled,
    PureRelease,
    RandomizedResponseRelease,
    Repeated,
    SampledWithoutReplacement,
    checked_event,
    required_adjacency,
)
from lapwing.vocabulary.exact import as_int, float_above, positive, probability
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import Adjacency

# losses of a smaller sample are lost in the digits of a float: it is priced as one of this size
_LEAST_RATE = Fraction(1, 2**80)

_MOST_PARTS = 4096  # composing this many different laws takes seconds; each is transformed on its own
_ATOMS = 512
_KNOTS = 2048  # of an envelope, those of all its pairs together
_STEPS = 50  # of work that one pair of an envelope counts as
_FEWEST_ATOMS = 10
_CLOSEST = 2.0**-26
_COUNTABLE = 10**14  # of more uses than that nothing is claimed but their pure epsilon
_SURE_DELTA = 1e-30  # a composition of real pairs is tight down to here; below, moments may be tighter
_TOLERANCE = 1e-3  # a floor is itself computed, from above: this part of it is given away
_ROUND_OFF = 1e-15  # and so much more, for the atoms of a law are raised by their round-off


def _floor(epsilon: float, orders: Sequence[Sequence[Factor]]) -> float:
    """Return a little less than what the most expensive part alone costs: no plan has a smaller delta."""
    return max(_exact(law, epsilon) for order in orders for law, _ in order)


def _exact(law: LossLaw, epsilon: float) -> float:
    """Return a little less than the true profile of one use, or 0 where only bounds of it are known."""
    if not law.is_attained and not isinstance(law, BoundedRangeLaw):
        return 0.0
    return max(0.0, law.delta(epsilon) * (1 - _TOLERANCE) - law.infinite_mass)


def _checked(price: float, currency: str, *, plausible: bool) -> float:
    if not plausible:
        reason = "is less than this event can cost: the price was computed wrongly"
        remedy = "nothing was charged; ask in other amounts, and report the event as a fault of lapwing"
        raise ParameterError(currency, price, reason=reason, remedy=remedy)
    return price


@frozen(kw_only=False, eq=False)
class PricedLoss:
    """The privacy loss of an event between neighbouring tables. It satisfies `lapwing.vocabulary.event.Loss`.

    Post-processing of a released answer does not change it. It is the sum of independent `factors`, each with the
    number of its uses; P holds the person, Q does not.

    Proof: proofs/dominating_pairs.md
    """

    factors: tuple[Factor, ...]

    @property
    def pure_epsilon(self) -> Fraction | None:
        """The sum of the largest losses, exactly, if all of them are finite."""
        return _total((law.pure_epsilon, times) for law, times in self.factors)

    @property
    def rho(self) -> Fraction | None:
        """The sum of the zCDP bounds, if all of them are known."""
        return _total((law.rho, times) for law, times in self.factors)

    @property
    def gaussian_mu_squared(self) -> Fraction | None:
        """The exact square of mu, if the event is Gaussian and nothing else."""
        law = alone(self.factors)
        return None if law is None else law.mu_squared

    @property
    def is_attained(self) -> bool:
        """Whether one pair of neighbours really has these losses; else its divergences may be smaller."""
        return all(law.is_attained for law, _ in self.factors)

    @property
    def orders(self) -> tuple[tuple[Factor, ...], ...]:
        """The factors in both orders of the neighbours: person removed, person added; one if they are the same."""
        other = tuple((law.other_order, times) for law, times in self.factors)
        same = all(one is two for (one, _), (two, _) in zip(self.factors, other, strict=True))
        return (self.factors,) if same else (self.factors, other)

    @property
    def _is_beyond_counting(self) -> bool:  # the round-off of all uses together is too large to claim anything
        return sum(times for _, times in self.factors) > _COUNTABLE

    def delta(self, epsilon: float) -> float:
        """Return a delta for which the event is (epsilon, delta)-differentially private."""
        if math.isnan(epsilon):
            raise ParameterError("epsilon", epsilon, reason="is not a number", remedy="write for example 1.0")
        if self.pure_epsilon is not None and epsilon >= self.pure_epsilon:
            return 0.0
        if self._is_beyond_counting:
            return 1.0
        found = composed_delta(self.orders, epsilon)
        if self.rho is not None:
            found = min(found, delta_from_rho(self.rho, epsilon))
        if not self.is_attained or not _SURE_DELTA <= found < 1:
            found = min(found, delta_from_renyi(curve(self.renyi), epsilon))
        return _checked(found, "delta", plausible=_floor(epsilon, self.orders) <= found <= 1)

    def epsilon(self, delta: float) -> float:
        """Return an epsilon for which the event is (epsilon, delta)-differentially private."""
        pure = math.inf if self.pure_epsilon is None else float_above(self.pure_epsilon)
        if not 0 <= delta < 1:
            raise ParameterError("delta", delta, reason="is not in [0, 1)", remedy="write for example 1e-6")
        if delta == 0 or self._is_beyond_counting:
            return pure
        found = min(pure, composed_epsilon(self.orders, delta))
        if self.rho is not None:
            found = min(found, epsilon_from_rho(self.rho, delta))
        if not self.is_attained or delta < _SURE_DELTA or found == math.inf:
            found = min(found, epsilon_from_renyi(curve(self.renyi), delta))
        if found >= pure:  # no loss is larger than this; at it a floor is round-off
            return pure
        plausible = found >= 0 and (found == math.inf or _floor(found, self.orders) <= delta + _ROUND_OFF)
        return _checked(found, "epsilon", plausible=plausible)

    def renyi(self, alpha: float) -> float:
        """Return a bound of the Renyi divergence of order `alpha`, in both directions."""
        if not alpha > 1:
            raise ParameterError("alpha", alpha, reason="is not above 1", remedy="write an order such as 2")
        found = max(sum(times * law.renyi(alpha) for law, times in order) for order in self.orders)
        # Pinsker: at least twice the sum of squared total variations
        floor = max(sum(times * 2 * _exact(law, 0.0) ** 2 for law, times in order) for order in self.orders)
        return _checked(found, "divergence", plausible=found >= floor)

    def pairs(self, at_most: int = 256) -> tuple[DominatingPair, ...]:
        """Return finite pairs of at most `at_most` atoms that stand for the event.

        Every ordered pair of neighbouring tables is dominated by at least one of them: what is proved for all of them,
        at levels r >= 0, is proved for the event. A symmetric event has one, an asymmetric one two; an exponential
        selection, whose worst case depends on the tables, has one for each range of worst cases.
        """
        if at_most < _FEWEST_ATOMS:
            raise ParameterError("at_most", at_most, reason="is too few", remedy=f"allow {_FEWEST_ATOMS} atoms")
        return tuple(pair.coarsened(at_most) for order in self.orders for pair in _members(order, at_most))

    def as_one_law(self) -> LossLaw:
        """Return the loss as one law: itself, or the finite pair of the composition."""
        return alone(self.factors) or _envelope_law([self])


def one_of(losses: Sequence[PricedLoss]) -> PricedLoss:
    """Return the loss of a person who meets exactly one of `losses`, unknown which: their pointwise maximum."""
    return losses[0] if len(losses) == 1 else PricedLoss(((_envelope_law(losses), 1),))


def _envelope_law(losses: Sequence[PricedLoss]) -> AtomicLaw:
    def envelope(order: int) -> DominatingPair:
        return _envelope([pair for loss in losses for pair in _members(loss.orders[order])])

    return AtomicLaw(
        pair=envelope(0),
        reverse=envelope(-1) if any(len(loss.orders) > 1 for loss in losses) else None,
        pure_epsilon=_worst(loss.pure_epsilon for loss in losses),
        rho=_worst(loss.rho for loss in losses),
        is_attained=False,
        renyi_bound=lambda alpha: max(loss.renyi(alpha) for loss in losses),
    )


def _envelope(pairs: Sequence[DominatingPair]) -> DominatingPair:
    """Return a pair whose profile is nowhere below any of `pairs`: chords between the highest points."""
    if len(pairs) == 1:
        return pairs[0].coarsened(_ATOMS)
    spend(_STEPS * len(pairs))
    each = max(_KNOTS // len(pairs), _FEWEST_ATOMS)
    turns = np.linspace(0.0, 1.0, len(pairs)).tolist()
    outlines = [pair.outline(each, turn) for pair, turn in zip(pairs, turns, strict=True)]
    knots = _apart(np.unique(np.concatenate(outlines)))
    heights = [pair.deltas(knots) for pair in pairs]
    return DominatingPair.through(knots, np.max(np.array(heights), axis=0))


def _apart(knots: Floats) -> Floats:
    """Return some of the increasing `knots`, both ends among them, none so close to the next that digits are lost."""
    least = _CLOSEST * float(knots[-1] - knots[0])
    kept = [float(knots[0])]
    kept += [x for x, after in zip(knots[1:-1].tolist(), knots[2:].tolist(), strict=True) if after - x > least]
    return np.array([*kept, float(knots[-1])]) if len(knots) > 1 else knots


def _members(order: Sequence[Factor], at_most: int = _ATOMS) -> tuple[DominatingPair, ...]:
    law = alone(order)
    return (composed_pair(order),) if law is None else law.members(at_most)


def _total(amounts: Iterable[tuple[Fraction | None, int]]) -> Fraction | None:
    total = Fraction(0)
    for amount, times in amounts:
        if amount is None:
            return None
        total += amount * times
    return total


def _worst(amounts: Iterable[Fraction | None]) -> Fraction | None:
    worst = Fraction(0)
    for amount in amounts:
        if amount is None:
            return None
        worst = max(worst, amount)
    return worst


def price(event: Event, *, adjacency: Adjacency | None = None) -> PricedLoss:
    """Return what `event` costs.

    An event that needs another adjacency than that of the population is refused, if it is known; one whose parts need
    different ones in any case.

    >>> from lapwing.vocabulary.event import GaussianNoise, PureRelease, Repeated
    >>> price(PureRelease(epsilon=Fraction(1, 10))).pure_epsilon
    Fraction(1, 10)
    >>> loss = price(GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(18)))
    >>> round(loss.epsilon(1e-6), 6), loss.rho
    (0.995438, Fraction(1, 36))
    >>> round(price(Repeated(part=PureRelease(epsilon=Fraction(1, 100)), times=1000)).epsilon(1e-6), 4)
    1.3654

    The exponential mechanism costs half as much as its epsilon says, in the currency of Renyi divergences:

    >>> price(ExponentialSelection(epsilon=Fraction(1))).rho, float(price(PureRelease(epsilon=Fraction(1))).rho)
    (Fraction(1, 8), 0.4621171572...)
    """
    try:
        required_adjacency(checked_event(event), adjacency)
        return _price(event)
    except RecursionError:
        remedy = "write repetitions with their `times`"
        raise ParameterError("event", type(event).__name__, reason="is nested too deeply", remedy=remedy) from None


def _price(event: Event) -> PricedLoss:  # noqa: C901, PLR0911, PLR0912 - the price list: one line for each kind of event
    match event:
        case LaplaceNoise(l1_sensitivity=sensitivity, scale=scale):
            return _once(LaplaceLaw(positive("l1_sensitivity", sensitivity) / positive("scale", scale)))
        case DiscreteLaplaceNoise(l1_sensitivity=moved, scale=scale):
            return _once(atoms.discrete_laplace(as_int("l1_sensitivity", moved), positive("scale", scale)))
        case GaussianNoise(l2_sensitivity_squared=squared, sigma_squared=variance):
            mu_squared = positive("l2_sensitivity_squared", squared) / positive("sigma_squared", variance)
            return _once(GaussianLaw(mu_squared))
        case DiscreteGaussianNoise(l2_sensitivity_squared=moved, sigma_squared=variance, dimension=dimension):
            moved, dimension = as_int("l2_sensitivity_squared", moved), as_int("dimension", dimension)
            moves = discrete_gaussian(moved, positive("sigma_squared", variance), dimension)
            return one_of([PricedLoss(tuple(move)) for move in moves])
        case PureRelease(epsilon=epsilon):
            return _once(atoms.pure(positive("epsilon", epsilon)))
        case ApproximateRelease(epsilon=epsilon, delta=delta):
            return _once(atoms.approximate(positive("epsilon", epsilon), probability("delta", delta)))
        case ExponentialSelection(epsilon=epsilon):
            return _once(BoundedRangeLaw(positive("epsilon", epsilon)))
        case RandomizedResponseRelease(epsilon=epsilon, categories=categories):
            return _once(atoms.k_ary(positive("epsilon", epsilon), as_int("categories", categories, least=2)))
        case GaussianSparseVectorRelease():
            return _once(renyi_curve(partial(renyi_bound, event)))
        case Composed(parts=parts):
            return product((_price(part), 1) for part in _some(parts))
        case Repeated(part=part, times=times):
            return product([(_price(part), as_int("times", times))])
        case InParallel(parts=parts):
            return one_of([_price(part) for part in dict.fromkeys(_some(parts))])
        case PoissonSampled(part=part, rate=rate):
            return _sample(_price(part), positive("rate", rate), Sampling.POISSON_REMOVED)
        case SampledWithoutReplacement(part=part, sample_size=size, population_size=population):
            people = as_int("population_size", population)
            rate = Fraction(as_int("sample_size", size, most=people), people)
            return _sample(_price(part), rate, Sampling.WITHOUT_REPLACEMENT)


def product(losses: Iterable[tuple[PricedLoss, int]]) -> PricedLoss:
    """Return the loss of all of `losses` together, each with its number of uses.

    Gaussians are added up exactly, and selections at one epsilon are taken together.
    """
    mu_squared = Fraction(0)
    selected: dict[Fraction, int] = {}
    met: dict[LossLaw, int] = {}
    for loss, repeated in losses:
        for law, times in loss.factors:
            if law.mu_squared is not None:
                mu_squared += law.mu_squared * times * repeated
            elif isinstance(law, BoundedRangeLaw):
                selected[law.pure_epsilon] = selected.get(law.pure_epsilon, 0) + times * repeated
            elif isinstance(law, SelectionsLaw):
                selected[law.epsilon] = selected.get(law.epsilon, 0) + law.times * times * repeated
            else:
                met[law] = met.get(law, 0) + times * repeated
    chosen = [factor for epsilon, times in selected.items() for factor in selections(epsilon, times)]
    if len(met) + len(chosen) > _MOST_PARTS:
        reason = "different releases in one plan are too many to be composed"
        remedy = f"plan at most {_MOST_PARTS} different ones at a time, or round their parameters to fewer values"
        raise ParameterError("parts", len(met) + len(chosen), reason=reason, remedy=remedy)
    gaussian: tuple[Factor, ...] = ((GaussianLaw(mu_squared), 1),) if mu_squared else ()
    return PricedLoss((*met.items(), *chosen, *gaussian))


def _once(law: LossLaw) -> PricedLoss:
    return PricedLoss(((law, 1),))


def _some(parts: tuple[Event, ...]) -> tuple[Event, ...]:
    if not parts:
        raise ParameterError("parts", parts, reason="is empty", remedy="name at least one event")
    return parts


def _sample(loss: PricedLoss, rate: Fraction, sampling: Sampling) -> PricedLoss:
    if rate > 1:
        raise ParameterError("rate", rate, reason="is above 1", remedy="write the share of people that is sampled")
    if float_above(rate) >= 1:  # too near to 1 for a float
        return loss
    law, rate = flattened(loss.as_one_law(), rate)
    return _once(sampled(law, max(rate, _LEAST_RATE), sampling))  # a larger sample costs no less
