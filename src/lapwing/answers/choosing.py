"""From a plan and a wish to a release: which mechanism grants it, under which kind of budget.

All of it is decided from the plan, the wish and the kind of budget, never from data.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from lapwing.accounting.pricing import price
from lapwing.accounting.rounding import float_above, float_below
from lapwing.answers.accuracy import accuracy
from lapwing.answers.releases import ChosenOnes, NoisyNumbers, OpenKeys, Release, charged_as
from lapwing.answers.target import FINEST, AtEpsilon, AtRho, Target, Within, share_of
from lapwing.mechanisms.discrete_gaussian import DiscreteGaussianMechanism
from lapwing.mechanisms.exponential import ExponentialMechanism
from lapwing.mechanisms.geometric import GeometricMechanism
from lapwing.mechanisms.histogram_selection import PrivateQuantiles, TopK
from lapwing.mechanisms.margins import turning_point
from lapwing.mechanisms.partition_selection import PartitionSelection
from lapwing.mechanisms.permute_and_flip import PermuteAndFlip
from lapwing.queries.aggregate import BoundedRowsPerPerson, PrivateKey
from lapwing.queries.plan import Family, Moments, Plan, Quantiles, Top
from lapwing.vocabulary.adjacency import Adjacency
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.event import Event
from lapwing.vocabulary.exact import ceil_to_grid
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, Guarantee, PureDP
from lapwing.vocabulary.wording import Call, Message, Setting

_JUDGED_AT = Fraction(95, 100)
"""The confidence at which two kinds of noise are compared."""


def release_of(plan: Plan, wish: Target, budget: Guarantee) -> Release:
    """Return how `plan` is released to grant `wish` under a budget of this kind.

    Under a pure budget noise is discrete Laplace, and selection is permute-and-flip. Under a budget of rho whichever
    noise is smaller at the same rho is taken, which is Gaussian nearly always, and selection is exponential. Under an
    (epsilon, delta) budget it is Laplace, unless a delta is offered with the epsilon and Gaussian noise is smaller.
    """
    pure = isinstance(budget, PureDP)
    if plan.family is Family.THRESHOLD:
        return OpenKeys(plan=plan, mechanism=_keys(plan, wish, budget))
    if pure and (isinstance(wish, AtRho) or (isinstance(wish, AtEpsilon) and wish.delta is not None)):
        name, given = ("rho", wish.rho) if isinstance(wish, AtRho) else ("delta", wish.delta)
        raise ParameterError(
            name, str(given), reason="cannot be paid from a pure budget", remedy="offer an epsilon alone"
        )
    match plan.family:
        case Family.NOISE:
            return NoisyNumbers(plan=plan, mechanism=_noise(plan, wish, budget))
        case Family.SELECTION:
            selector = PermuteAndFlip if pure else ExponentialMechanism
            return ChosenOnes(plan=plan, mechanism=_selection(plan, wish, selector))
        case _:
            raise BadQuestionError(
                '"at least" is answered in a stream; open one: ', Call("stream", (Setting("at_least", 200), ...))
            )


def accuracy_at(releases: Mapping[str, Release], epsilon: Fraction, budget: Guarantee) -> str:
    """Say how exact a single question would be at another epsilon; nothing where it cannot be known."""
    plans = [release.plan for release in releases.values()]
    if len(plans) > 1 or not epsilon:
        return ""
    try:
        margin = release_of(plans[0], AtEpsilon(epsilon=epsilon), budget).margin(_JUDGED_AT)
    except BadQuestionError:
        return ""
    return "" if margin is None else f"{accuracy(plans[0], margin)} with 95 % confidence"


Noise: TypeAlias = GeometricMechanism | DiscreteGaussianMechanism


def _noise(plan: Plan, wish: Target, budget: Guarantee) -> Noise:
    laplace, gaussian = _makers(plan)
    if isinstance(wish, AtRho):
        return gaussian(wish)
    if isinstance(wish, Within) and not isinstance(budget, PureDP):
        return min(laplace(wish), gaussian(wish), key=lambda one: _rho(one.event))
    if isinstance(wish, AtEpsilon) and wish.delta is not None:
        return _smaller(plan, laplace(wish), gaussian(wish))
    if isinstance(wish, AtEpsilon) and isinstance(budget, ConcentratedDP):
        at_least = laplace(wish)
        return _smaller(plan, at_least, gaussian(AtRho(rho=Fraction(float_below(_rho(at_least.event))))))
    return laplace(wish)


def _makers(plan: Plan) -> tuple[Callable[[Target], Noise], Callable[[Target], Noise]]:
    """Return what makes Laplace noise, and what makes Gaussian noise, for a wish."""
    many = plan.numbers
    moved, squared = plan.sensitivity.l1, plan.sensitivity.l2_squared

    def laplace(wish: Target) -> Noise:
        match wish:
            case AtEpsilon(epsilon=epsilon):
                return GeometricMechanism(l1_sensitivity=moved, epsilon=epsilon)
            case Within():
                return _within(
                    plan,
                    wish,
                    lambda size: GeometricMechanism(l1_sensitivity=moved, epsilon=ceil_to_grid(moved / size, FINEST)),
                )
            case AtRho():
                raise AssertionError  # pragma: no cover - rho asks for Gaussian noise

    def gaussian(wish: Target) -> Noise:
        def at(rho: Fraction) -> Noise:
            return DiscreteGaussianMechanism(l2_sensitivity_squared=squared, rho=rho, dimension=many)

        match wish:
            case AtRho(rho=rho):
                return at(rho)
            case AtEpsilon(epsilon=epsilon, delta=delta):
                variance = _calibrated(squared, epsilon, delta, many)
                return at(Fraction(float_below(squared / (2 * variance))))
            case Within():
                return _within(plan, wish, lambda size: at(Fraction(float_above(squared / (2 * size**2)))))

    return laplace, gaussian


@lru_cache(maxsize=256)
def _calibrated(squared: int, epsilon: Fraction, delta: Fraction | None, many: int) -> Fraction:
    """Remember the variance for a price, which takes long to find: it is wanted at a preview and when it is asked."""
    found = DiscreteGaussianMechanism(l2_sensitivity_squared=squared, epsilon=epsilon, delta=delta, dimension=many)
    return found.event.sigma_squared


def _within(plan: Plan, wish: Within, at: Callable[[Fraction], Noise]) -> Noise:
    """Return the largest noise, of four digits, that grants an accuracy."""
    if isinstance(plan.meaning, Moments):
        raise ParameterError(
            "within",
            wish.margin,
            reason="cannot be promised: the error of a mean or a moment depends on how many rows there are",
            remedy="offer an epsilon; the answer comes with its interval",
        )

    def too_much(size: Fraction) -> bool:
        return (NoisyNumbers(plan=plan, mechanism=at(size)).margin(wish.confidence) or 0) > wish.margin

    try:
        return at(turning_point(too_much, digits=4)[0])
    except (OverflowError, ParameterError):
        raise ParameterError(
            "within", wish.margin, reason="is out of reach at this confidence", remedy="change one of the two"
        ) from None


def _smaller(plan: Plan, *ways: Noise) -> Noise:
    """Return the noise whose sums reach less far, where all numbers of the answer are meant."""
    return min(ways, key=lambda one: one.margin(_JUDGED_AT, values=plan.numbers))


def _rho(event: Event) -> Fraction:
    rho = price(charged_as(event)).rho
    if rho is None:  # pragma: no cover - both kinds of noise have one
        raise AssertionError
    return rho


def _selection(
    plan: Plan, wish: Target, selector: type[PermuteAndFlip] | type[ExponentialMechanism]
) -> PrivateQuantiles | TopK:
    def at(epsilon: Fraction) -> PrivateQuantiles | TopK:
        people = plan.unit.protects_groups_of
        cells = plan.aggregate.cell_count or 0
        match plan.meaning, plan.aggregate.bounding:
            case Quantiles(at=fractions), BoundedRowsPerPerson(max_rows=rows):
                many = len(fractions) or 1
                epsilon = many * share_of("epsilon", epsilon, many)
                return PrivateQuantiles(
                    at=fractions,
                    cells=cells,
                    rows=rows * people,
                    adjacency=plan.unit.adjacency,
                    epsilon=epsilon,
                    selector=selector,
                )
            case Top(k=k), _:
                epsilon = max(1, k) * share_of("epsilon", epsilon, max(1, k))
                one_way = Adjacency.ADD_REMOVE if plan.monotone else None
                moved = plan.sensitivity.linf
                return TopK(
                    k=k, cells=cells, sensitivity=moved, epsilon=epsilon, monotone_under=one_way, selector=selector
                )
            case _:  # pragma: no cover - nothing else is chosen
                raise AssertionError

    def granted(epsilon: Fraction) -> bool:
        return at(ceil_to_grid(epsilon, FINEST)).margin(confidence) <= margin

    match wish:
        case AtEpsilon(epsilon=epsilon):
            return at(epsilon)
        case Within(margin=margin, confidence=confidence):
            try:
                return at(ceil_to_grid(turning_point(granted, digits=3)[1], FINEST))
            except (OverflowError, ParameterError):
                raise ParameterError(
                    "within", margin, reason="is out of reach at this confidence", remedy="change one of the two"
                ) from None
        case AtRho(rho=rho):
            raise ParameterError("rho", rho, reason="buys no choice", remedy="offer an epsilon")


def _keys(plan: Plan, wish: Target, budget: Guarantee) -> PartitionSelection:
    names = ", ".join(key.column for key in plan.aggregate.keys if isinstance(key, PrivateKey))
    if not isinstance(budget, ApproximateDP):
        raise BadQuestionError(
            f"the values of {names} are not public, and showing them takes a delta, which this budget does not have; "
            "let the custodian declare the categories, or open a budget with a delta"
        )
    if not isinstance(wish, AtEpsilon) or wish.delta is None:
        raise ParameterError(
            "delta",
            None,
            reason=f"is missing, and the values of {names} are not public: showing them takes one",
            remedy=Message(
                "offer both, ",
                Setting("epsilon", "0.1"),
                " and ",
                Setting("delta", "1e-8"),
                ", or let the custodian declare the categories",
            ),
        )
    return PartitionSelection(
        l1_sensitivity=plan.sensitivity.l1,
        people=plan.unit.protects_groups_of,
        epsilon=wish.epsilon,
        delta=wish.delta,
    )
