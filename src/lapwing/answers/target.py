"""The price or the accuracy that an analyst wants, and the mechanism that grants it.

A target is given in one way. The mechanism follows from the plan, the target and the kind of budget, never from data.

Prices have few digits: an account adds them up exactly, and must stay short for ever. A price is a multiple of 1e-12,
or such a multiple divided by a number up to 64; one with more digits is rounded up to the next 1e-12, with a warning.
"""

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeAlias, TypedDict, TypeVar

from lapwing.accounting.filters.charge import priced
from lapwing.answers.releases import ChosenOnes, NoisyNumbers, OpenKeys, PricedColumn, ReadColumn, Release, charged_as
from lapwing.mechanisms.exponential import ExponentialMechanism
from lapwing.mechanisms.gaussian import DiscreteGaussianMechanism
from lapwing.mechanisms.histogram_selection import Selector
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.mechanisms.partition_selection import PartitionSelection
from lapwing.mechanisms.permute_and_flip import PermuteAndFlip
from lapwing.queries.algebra.aggregate import PrivateKey
from lapwing.queries.catalogue.population import Population
from lapwing.queries.planning.plan import Choosing, ChosenMeaning, Family, Noise, NoisyMeaning, Number, Plan, Reading
from lapwing.queries.planning.planner import Question
from lapwing.vocabulary.deadline import spend
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.event import Event
from lapwing.vocabulary.exact import (
    Exact,
    as_confidence,
    as_int,
    as_written,
    ceil_to_grid,
    exactly_one_of,
    float_above,
    float_below,
    positive,
    probability,
    require_words,
)
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, Guarantee, PureDP
from lapwing.vocabulary.search import decimals
from lapwing.vocabulary.wording import Call, Message, Setting, format_exact

T = TypeVar("T")
SMALLEST_EPSILON = Fraction(1, 10**9)
LARGEST_EPSILON = Fraction(20)
"""Beyond these a price is a slip of the pen: noise of a billion people, or none in all but one of 2e8 answers."""
FINEST: Final = Fraction(1, 10**12)
_FINEST_DELTA: Final = Fraction(1, 10**24)
_PARTS: Final = math.lcm(*range(1, 65))
_STEPS: Final = 50
"""Steps of work that trying one price counts as."""
_JUDGED_AT: Final = Fraction(95, 100)
"""The confidence at which two kinds of noise are compared."""


@frozen()
class AtEpsilon:
    """Pay `epsilon`; where a `delta` is given with it, noise that needs one may be used."""

    epsilon: Fraction
    delta: Fraction | None = None

    def shared(self, parts: int) -> "AtEpsilon":
        """Return an equal share of the target."""
        delta = None if self.delta is None else share_of("delta", self.delta, parts, _FINEST_DELTA)
        return AtEpsilon(epsilon=share_of("epsilon", self.epsilon, parts), delta=delta)


@frozen()
class AtRho:
    """Pay `rho`, by Gaussian noise."""

    rho: Fraction

    def shared(self, parts: int) -> "AtRho":
        """Return an equal share of the target."""
        return AtRho(rho=share_of("rho", self.rho, parts))


@frozen()
class Within:
    """Pay as little as it takes for all numbers to be off by at most `margin`, with probability `confidence`.

    The error of a mean depends on how many rows there are, which is not public: there it is meant for this number of
    `rows`, as the analyst supposes.
    """

    margin: Fraction
    confidence: Fraction
    rows: int | None = None

    def shared(self, parts: int) -> "Within":
        """Return the target as it is: each part is wanted as accurately as the whole."""
        del parts
        return self


@frozen()
class WithinByEpsilon(Within):
    """The same accuracy, paid in epsilon even where rho would be cheaper."""


class TargetWords(TypedDict, total=False):
    """The words for a target: `epsilon`, `epsilon` with `delta`, `rho`, or `within` at a `confidence`."""

    epsilon: Exact
    delta: Exact
    rho: Exact
    within: Exact
    confidence: Exact


Target: TypeAlias = AtEpsilon | AtRho | Within


def parse_target(
    *,
    epsilon: Exact | None = None,
    delta: Exact | None = None,
    rho: Exact | None = None,
    within: Exact | None = None,
    confidence: Exact = "0.95",
    **others: object,
) -> Target:
    """Return the one target that is given; refuse none, several, and prices out of range.

    >>> parse_target(epsilon="0.1")
    AtEpsilon(epsilon=Fraction(1, 10), delta=None)
    >>> parse_target(epsilon=0.1) == parse_target(epsilon="0.1")  # a float is read as it is written
    True
    >>> parse_target(within=20)
    Within(margin=Fraction(20, 1), confidence=Fraction(19, 20), rows=None)
    >>> parse_target(epsilon="0.1", within=20)
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: epsilon, within = ('0.1', 20) says the price more than once; ...
    """
    require_words(others, TargetWords.__annotations__)
    given = {"epsilon": epsilon, "delta": delta, "rho": rho, "within": within}
    require_price(given)
    sure = as_confidence(confidence)  # also where only bounds are shown at it: those come after the charge
    match exactly_one_of("price", given, ("epsilon",), ("epsilon", "delta"), ("rho",), ("within",)):
        case ("rho",):
            return AtRho(rho=plausible_price("rho", rho))
        case ("within",):
            return Within(margin=positive("within", as_written(within)), confidence=sure)
        case _:
            chance = None if delta is None else short("delta", probability("delta", as_written(delta)), _FINEST_DELTA)
            return AtEpsilon(epsilon=plausible_price("epsilon", epsilon), delta=chance)


def given_rows(target: Target, rows: object) -> Within:
    """Return an accuracy that is meant for this number of rows; any other target is refused."""
    if not isinstance(target, Within):
        remedy = "leave it out, or say how exact it must be: within"
        raise ParameterError("rows", rows, reason="goes with an accuracy, and not with a price", remedy=remedy)
    return replace(target, rows=as_int("rows", rows, most=2**40))


def require_price(given: Mapping[str, object]) -> None:
    """Refuse a question for which nothing is offered."""
    if all(value is None for value in given.values()):
        raise BadQuestionError(
            "say what to pay, ",
            Setting("epsilon", "0.1"),
            ", or how exact it must be, ",
            Setting("within", 20),
            "; a preview of either is free",
        )


def plausible_price(name: str, given: object) -> Fraction:
    """Return a price, if its size is plausible."""
    number = positive(name, as_written(given))
    if not SMALLEST_EPSILON <= number <= LARGEST_EPSILON:
        raise ParameterError(
            name,
            given,
            reason="is out of range",
            remedy=f"stay between 1e-9 and {LARGEST_EPSILON}; common prices are 0.01 to 1",
        )
    return short(name, number)


def short(name: str, number: Fraction, finest: Fraction = FINEST) -> Fraction:
    """Return a price if it has few digits, or, with a warning, the next larger one that has.

    >>> short("epsilon", Fraction(1, 3)), short("epsilon", Fraction(1, 8))
    (Fraction(1, 3), Fraction(1, 8))
    """
    if _is_short(number, finest):
        return number
    rounded = ceil_to_grid(number, finest)
    warnings.warn(
        f"{name} is rounded up to {float(rounded):.13g}, by less than {float(finest):g}: prices have few digits",
        stacklevel=2,
    )
    return rounded


def share_of(name: str, number: Fraction, parts: int, finest: Fraction = FINEST) -> Fraction:
    """Return an equal part of a price, with few digits; all of them together are no more than the price.

    >>> share_of("epsilon", Fraction(1), 3), share_of("epsilon", Fraction(1), 71)
    (Fraction(1, 3), Fraction(7042253521, 500000000000))
    """
    share = number / parts
    if not _is_short(share, finest):
        share = math.floor(share / finest) * finest
    if not share:
        raise ParameterError(
            name, number, reason=f"is too little for {parts} parts", remedy=f"offer {float(parts * finest):g} or more"
        )
    return share


def _is_short(number: Fraction, finest: Fraction) -> bool:
    return (finest.denominator * _PARTS) % number.denominator == 0


def ways_to_pay(target: Target, budget: Guarantee) -> tuple[Target, ...]:
    """Return the ways in which a target can be paid.

    An accuracy is bought with the noise of the smaller rho, or, under an (epsilon, delta) budget, with noise that is
    paid in epsilon alone. Which of the two leaves more of the budget depends on what was charged before, so an account
    says it (`Account.spent_after`): Gaussian noise has no epsilon, and ends the sum of epsilons for good.
    """
    if not isinstance(target, Within) or not isinstance(budget, ApproximateDP):
        return (target,)
    return target, WithinByEpsilon(margin=target.margin, confidence=target.confidence, rows=target.rows)


def release_of(plan: Plan, target: Target, budget: Guarantee, judged: Sequence[Reading] = ()) -> Release:
    """Return how `plan` is released to grant `target` under a budget of this kind.

    An accuracy is that of all readings that are `judged`, where others than its own meaning read it.

    Under a pure budget noise is discrete Laplace, and selection is permute-and-flip. Under a budget of rho whichever
    noise is smaller at the same rho is taken, which is Gaussian nearly always, and selection is exponential. Under an
    (epsilon, delta) budget it is Laplace, unless a delta is offered with the epsilon and Gaussian noise is smaller.
    """
    pure = isinstance(budget, PureDP)
    if plan.family is Family.THRESHOLD:
        return OpenKeys(plan=plan, mechanism=_keys(plan, target, budget))
    if plan.family is Family.SHOWN_KEYS:
        raise BadQuestionError("numbers by keys that only the data knows are released with these keys, by the question")
    if pure and (isinstance(target, AtRho) or (isinstance(target, AtEpsilon) and target.delta is not None)):
        name, given = ("rho", target.rho) if isinstance(target, AtRho) else ("delta", target.delta)
        raise ParameterError(
            name, str(given), reason="cannot be paid from a pure budget", remedy="offer an epsilon alone"
        )
    match plan.meaning:
        case NoisyMeaning() as meaning:
            return NoisyNumbers(plan=plan, meaning=meaning, mechanism=_noise(plan, judged or [meaning], target, budget))
        case ChosenMeaning() as meaning:
            selector = PermuteAndFlip if pure else ExponentialMechanism
            return ChosenOnes(plan=plan, meaning=meaning, mechanism=_selection(plan, meaning, target, selector))
        case _:
            raise BadQuestionError(
                '"at least" is answered in a stream; open one: ', Call("stream", (Setting("at_least", 200), ...))
            )


def release_together(
    questions: Mapping[str, Question],
    plans: Mapping[str, Plan],
    population: Population,
    target: Target,
    budget: Guarantee,
) -> dict[str, PricedColumn]:
    """Return how what is asked together is released: each release gets an equal share of the price.

    Proof: proofs/shared_releases.md
    """
    if any(planned.family is Family.SHOWN_KEYS for planned in plans.values()):
        return _of_shown_groups(questions, plans, population, target, budget)
    if len(plans) <= 1:
        return {name: release_of(planned, target, budget) for name, planned in plans.items()}
    from lapwing.queries.statistics.postprocessing import least_exact  # noqa: PLC0415 - most questions ask for one number
    from lapwing.queries.statistics.shared_releases import share  # noqa: PLC0415

    shared = share(questions, plans, population)
    owner = {name: one for one in shared for name in one.readings}
    part = target.shared(len(shared) + len(plans) - len(owner))
    sources = [release_of(one.plan, part, budget, least_exact(list(one.readings.values()))) for one in shared]
    releases = dict[str, PricedColumn]()
    for name, planned in plans.items():
        if name not in owner:
            releases[name] = release_of(planned, part, budget)
            continue
        source = next(source for source, one in zip(sources, shared, strict=True) if one is owner[name])
        reading = owner[name].readings[name]
        releases[name] = ReadColumn(plan=planned, mechanism=source.mechanism, shared=source, meaning=reading)
    return releases


def _of_shown_groups(
    questions: Mapping[str, Question],
    plans: Mapping[str, Plan],
    population: Population,
    target: Target,
    budget: Guarantee,
) -> dict[str, PricedColumn]:
    """Return how statistics by keys that only the data knows are released: people show the groups, then each is noisy.

    The people and each release have an equal share of the epsilon; the delta is for the people.

    Proof: proofs/numbers_of_keys.md
    """
    from lapwing.answers.shown_groups import ShownGroups, shown_columns  # noqa: PLC0415 - few questions have such groups
    from lapwing.queries.statistics.shared_releases import own_reading, share  # noqa: PLC0415

    people = {one.shown_by.canonical: one.shown_by for one in plans.values() if one.shown_by is not None}
    if len(people) > 1 or any(one.family not in {Family.SHOWN_KEYS, Family.THRESHOLD} for one in plans.values()):
        raise BadQuestionError(
            "what is asked together has other groups, or other people in them; ask for it one after the other"
        )
    ((canonical, counted),) = people.items()
    numbers = {name: one for name, one in plans.items() if one.canonical != canonical}
    shared = share(questions, {n: one for n, one in numbers.items() if one.family is Family.SHOWN_KEYS}, population)
    owned = {name for one in shared for name in one.readings}
    alone = {one.canonical: one for name, one in numbers.items() if name not in owned}
    sources = [*(one.plan for one in shared), *alone.values()]
    places = {one: place for place, one in enumerate(alone, start=len(shared))}
    readings = {n: (place, reading) for place, one in enumerate(shared) for n, reading in one.readings.items()}
    readings |= {n: (places[one.canonical], own_reading(one)) for n, one in numbers.items() if n not in owned}
    keys = _keys(counted, target, budget)  # it refuses what cannot pay for keys
    each = share_of("epsilon", keys.event.epsilon, len(sources) + 1)
    groups = ShownGroups(
        plan=counted,
        mechanism=_keys(counted, AtEpsilon(epsilon=each, delta=keys.event.delta), budget),
        parts=tuple(_pure_noise(one, each) for one in sources),
    )
    return shown_columns(plans, groups, readings)


def _pure_noise(plan: Plan, epsilon: Fraction) -> NoisyNumbers:
    """Return a release with noise of which the price does not depend on how many numbers there will be."""
    if not isinstance(plan.meaning, NoisyMeaning):
        raise TypeError(plan.meaning)
    noise = GeometricMechanism(l1_sensitivity=plan.sensitivity.l1, epsilon=epsilon)
    return NoisyNumbers(plan=plan, meaning=plan.meaning, mechanism=noise)


def accuracy_at(releases: Mapping[str, PricedColumn], epsilon: Fraction, budget: Guarantee) -> str:
    """Say how exact a single question would be at another epsilon; nothing where it cannot be known."""
    plans = [release.plan for release in releases.values()]
    if len(plans) > 1 or not epsilon:
        return ""
    try:
        margin = release_of(plans[0], AtEpsilon(epsilon=epsilon), budget).margin(_JUDGED_AT)
    except BadQuestionError:
        return ""
    return "" if margin is None else f"{plans[0].meaning.accuracy(margin)} with 95 % confidence"


def _noise(plan: Plan, judged: Sequence[Reading], target: Target, budget: Guarantee) -> Noise:
    laplace, gaussian = _makers(plan, judged)
    if isinstance(target, AtRho):
        return gaussian(target)
    if isinstance(target, Within) and not isinstance(target, WithinByEpsilon) and not isinstance(budget, PureDP):
        return min(laplace(target), gaussian(target), key=lambda one: _rho(one.event))
    if isinstance(target, AtEpsilon) and target.delta is not None:
        return _smaller(plan, laplace(target), gaussian(target))
    if isinstance(target, AtEpsilon) and isinstance(budget, ConcentratedDP):
        at_least = laplace(target)
        return _smaller(plan, at_least, gaussian(AtRho(rho=Fraction(float_below(_rho(at_least.event))))))
    return laplace(target)


def _makers(plan: Plan, judged: Sequence[Reading]) -> tuple[Callable[[Target], Noise], Callable[[Target], Noise]]:
    """Return functions that make Laplace and Gaussian noise for a target."""
    many = plan.numbers
    moved, squared = plan.sensitivity.l1, plan.sensitivity.l2_squared

    def laplace(target: Target) -> Noise:
        match target:
            case AtEpsilon(epsilon=epsilon):
                return GeometricMechanism(l1_sensitivity=moved, epsilon=epsilon)
            case Within():
                return _within(
                    plan,
                    judged,
                    target,
                    lambda size: GeometricMechanism(l1_sensitivity=moved, epsilon=ceil_to_grid(moved / size, FINEST)),
                )
            case AtRho():
                raise AssertionError  # pragma: no cover - rho asks for Gaussian noise

    def gaussian(target: Target) -> Noise:
        def at(rho: Fraction) -> Noise:
            return DiscreteGaussianMechanism(l2_sensitivity_squared=squared, rho=rho, dimension=many)

        match target:
            case AtRho(rho=rho):
                return at(rho)
            case AtEpsilon(epsilon=epsilon, delta=delta):
                variance = _calibrated(squared, epsilon, delta, many)
                return at(Fraction(float_below(squared / (2 * variance))))
            case Within():
                return _within(plan, judged, target, lambda size: at(Fraction(float_above(squared / (2 * size**2)))))

    return laplace, gaussian


@lru_cache(maxsize=256)
def _calibrated(squared: int, epsilon: Fraction, delta: Fraction | None, many: int) -> Fraction:
    """Remember the variance for a price, which takes long to find: it is wanted at a preview and when it is asked."""
    found = DiscreteGaussianMechanism(l2_sensitivity_squared=squared, epsilon=epsilon, delta=delta, dimension=many)
    return found.event.sigma_squared


def _within(plan: Plan, judged: Sequence[Reading], target: Within, at: Callable[[Fraction], Noise]) -> Noise:
    """Return the largest noise, of four digits, that grants an accuracy."""
    _require_margin(judged, plan, target)
    search = decimals(digits=4)
    with _within_reach(target.margin):
        while search.open:
            spend(_STEPS)
            noise = at(search.guess)
            search.tell(max(_error(one, plan, noise, target) for one in judged) > target.margin)
        return at(search.below)


def _error(reading: Reading, plan: Plan, noise: Noise, target: Within) -> Number:
    """Return how far off all numbers are at most; of a mean, about how far if so many rows count."""
    margin = reading.margin(plan, noise, target.confidence)
    if margin is None and target.rows is not None:
        margin = reading.error_if(plan, noise, target.confidence, target.rows)
    return margin or 0


def _require_margin(judged: Sequence[Reading], plan: Plan, target: Within) -> None:
    """Refuse an accuracy that cannot be promised beforehand, and a number of rows where nothing depends on it."""
    refusal = next(filter(None, (one.refusal_of_margin(plan) for one in judged)), None)
    if refusal and (target.rows is None or isinstance(plan.meaning, ChosenMeaning)):
        remedy = "offer an epsilon; the answer comes with its interval"
        if not isinstance(plan.meaning, ChosenMeaning):
            remedy = "say about how many rows there are, rows=10_000, or offer an epsilon; the answer has its interval"
        raise ParameterError("within", target.margin, reason=refusal, remedy=remedy)
    if target.rows is not None and not refusal:
        reason = "has nothing to do with how exact this is"
        raise ParameterError("rows", target.rows, reason=reason, remedy="leave it out: the margin holds for any number")


@contextmanager
def _within_reach(margin: Fraction) -> Iterator[None]:
    try:
        yield
    except (OverflowError, ParameterError):
        raise ParameterError(
            "within", margin, reason="is out of reach at this confidence", remedy="change one of the two"
        ) from None


def _smaller(plan: Plan, *ways: Noise) -> Noise:
    """Return the noise whose sums reach less far, where all numbers of the answer are meant."""
    return min(ways, key=lambda one: one.margin(_JUDGED_AT, values=plan.numbers))


def _rho(event: Event) -> Fraction:
    rho = priced(charged_as(event)).rho
    if rho is None:  # pragma: no cover - both kinds of noise have one
        raise AssertionError
    return rho


def _selection(plan: Plan, meaning: ChosenMeaning, target: Target, selector: Selector) -> Choosing:
    def at(epsilon: Fraction) -> Choosing:
        choices = max(1, meaning.choices)
        return meaning.selection(plan, choices * share_of("epsilon", epsilon, choices), selector)

    match target:
        case AtEpsilon(epsilon=epsilon):
            return at(epsilon)
        case Within(margin=margin, confidence=confidence):
            _require_margin([meaning], plan, target)
            search = decimals(digits=3)
            with _within_reach(margin):
                while search.open:
                    spend(_STEPS)
                    search.tell(at(ceil_to_grid(search.guess, FINEST)).margin(confidence) <= margin)
                return at(ceil_to_grid(search.above, FINEST))
        case AtRho(rho=rho):
            raise ParameterError(
                "rho", format_exact(rho), reason="cannot pay for a selection", remedy="offer an epsilon"
            )


def _keys(plan: Plan, target: Target, budget: Guarantee) -> PartitionSelection:
    names = ", ".join(key.column for key in plan.aggregate.keys if isinstance(key, PrivateKey))
    if not isinstance(budget, ApproximateDP):
        raise BadQuestionError(
            f"the values of {names} are not public, and showing them takes a delta, which this budget does not have; "
            "let the custodian declare the categories, or open a budget with a delta"
        )
    if not isinstance(target, AtEpsilon) or target.delta is None:
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
        epsilon=target.epsilon,
        delta=target.delta,
    )


def in_each_way(ways: Sequence[Sequence[T]]) -> list[list[T]]:
    """Return questions asked together in each way to pay: the first way of all, then the next that each one has."""
    return [[one[min(way, len(one) - 1)] for one in ways] for way in range(max(map(len, ways), default=0))]
