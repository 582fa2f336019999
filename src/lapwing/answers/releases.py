"""How a plan is released: which mechanism grants what was asked for, what is charged, and what comes out.

Everything but `read` and `release` depends on the plan, the target and the kind of budget alone, never on data. The
session calls these two, after the charge.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

from lapwing.accounting.pricing import price
from lapwing.accounting.rounding import float_above, float_below
from lapwing.answers.target import FINEST, AtEpsilon, AtRho, Target, Within, share_of
from lapwing.engines.engine import Engine
from lapwing.mechanisms.counted_top import CountedTop
from lapwing.mechanisms.discrete_gaussian import DiscreteGaussianMechanism
from lapwing.mechanisms.exponential import ExponentialMechanism
from lapwing.mechanisms.geometric import GeometricMechanism
from lapwing.mechanisms.histogram_selection import Selector
from lapwing.mechanisms.partition_selection import PartitionSelection
from lapwing.mechanisms.permute_and_flip import PermuteAndFlip
from lapwing.queries.aggregate import Label, PrivateKey
from lapwing.queries.plan import BoundedValue, Choosing, ChosenMeaning, Family, Noise, NoisyMeaning, Number, Plan
from lapwing.vocabulary.codec import canonical, stored
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.event import DiscreteLaplaceNoise, Event, PureRelease
from lapwing.vocabulary.exact import Exact, ceil_to_grid, probability
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, Guarantee, PureDP
from lapwing.vocabulary.search import decimals
from lapwing.vocabulary.wording import Call, Message, Setting

KeyedCount: TypeAlias = tuple[tuple[Label, ...] | None, int]
Numbers: TypeAlias = Sequence[Any]
"""What was released, as JSON holds it: whole numbers, or for keys that only the data knew, keys with whole numbers."""

_JUDGED_AT = Fraction(95, 100)
"""The confidence at which two kinds of noise are compared."""
_MOST_STEPS = 1 << 12
_MOST_KEYS = 10_000
_MOST_KEY_TEXT = 700_000
"""How many keys that only the data knew an answer shows, and their characters: 20 such answers fit the ledger."""


@stored("answer")
class StoredAnswer:
    """What was released for each question of those asked together, and from which versions of the tables."""

    released: tuple[tuple[int | KeyedCount, ...], ...]
    versions: Mapping[str, int]


class Judge(Protocol):
    """What says how exact a release is: what its numbers mean, or all that is read from it."""

    def refusal_of_margin(self, plan: Plan) -> str:
        """Say why no margin can be promised beforehand, where none can."""

    def margin(self, plan: Plan, noise: Noise, confidence: Exact) -> Number | None:
        """Return how far off all numbers are at most; None where that depends on what comes out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(ABC):
    """One plan at one price."""

    plan: Plan
    mechanism: Any

    @property
    def source(self) -> "Release":
        """What is released: itself, unless it is read from what others are read from too."""
        return self

    @property
    def over(self) -> object:
        """What tells the rows that it is computed over from those of others."""
        return id(self)

    @property
    def counts_rows(self) -> bool:
        """Whether it tells over how many rows others of the same release are computed."""
        return False

    @property
    def event(self) -> Event:
        """What will happen, as it is charged."""
        event: Event = self.mechanism.event
        return event

    def read(self, engine: Engine) -> Any:
        """Read the data; what comes back is wrapped."""
        return engine.vector(self.plan.aggregate)

    @abstractmethod
    def release(self, exact: Any) -> Numbers:
        """Add noise, or choose. This is the only time that it is done."""

    @abstractmethod
    def margin(self, confidence: Exact) -> Number | None:
        """Return how far off all numbers of the answer are at most; None where that depends on what comes out."""

    def error_if(self, rows: int, confidence: Exact) -> Number | None:
        """Return about how far off it would be if this number of rows counted, where that decides; otherwise None."""
        del rows, confidence
        return None

    @abstractmethod
    def values(self, numbers: Numbers, confidence: Exact) -> list[BoundedValue]:
        """Return what the released numbers say. It costs nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyNumbers(Release):
    """Noise on every number of the answer."""

    meaning: NoisyMeaning
    mechanism: Noise

    @property
    def event(self) -> Event:
        """What will happen, as it is charged."""
        return charged_as(self.mechanism.event)

    def release(self, exact: Any) -> Numbers:
        """Add noise to each."""
        return [int(number) for number in self.mechanism.release(exact)]

    def margin(self, confidence: Exact) -> Number | None:
        """Return how far off all numbers are at most, all at once."""
        return self.meaning.margin(self.plan, self.mechanism, confidence)

    def error_if(self, rows: int, confidence: Exact) -> Number | None:
        """Return about how far off it would be if this number of rows counted, where that decides; otherwise None."""
        return self.meaning.error_if(self.plan, self.mechanism, confidence, rows)

    def values(self, numbers: Numbers, confidence: Exact) -> list[BoundedValue]:
        """Return the estimate in each public cell."""
        return self.meaning.values(self.plan, numbers, self.mechanism, confidence)


def charged_as(event: Event) -> Event:
    """Return the event that is put before the accounts.

    The loss of discrete Laplace noise is found step by step of the sensitivity. Where there are very many steps, as in
    sums on a fine grid, it is charged as what it also is: a release of which only the pure epsilon is known.
    """
    match event:
        case DiscreteLaplaceNoise(l1_sensitivity=moved, scale=scale) if moved > _MOST_STEPS:
            return PureRelease(epsilon=moved / scale)
        case _:
            return event


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenOnes(Release):
    """Chosen by private selection from a histogram."""

    meaning: ChosenMeaning
    mechanism: Choosing

    def release(self, exact: Any) -> Numbers:
        """Choose."""
        return list(self.mechanism.release(exact))

    def margin(self, confidence: Exact) -> Number | None:
        """Return how many rows, or people, the choices may be away from the best ones."""
        return self.mechanism.margin(confidence)

    def values(self, numbers: Numbers, confidence: Exact) -> list[BoundedValue]:
        """Return what was chosen, and between which bounds it lies where it was counted."""
        values = self.meaning.values(self.plan, numbers)
        if not isinstance(self.mechanism, CountedTop):
            return values
        margin = self.mechanism.margin_of_counts(confidence)
        return [BoundedValue.around(one.key, Fraction(one.value), margin) for one in values]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenKeys(Release):
    """Counts by keys that only the data knows."""

    mechanism: PartitionSelection

    def read(self, engine: Engine) -> Any:
        """Read the counts, by key."""
        return engine.keyed(self.plan.aggregate)

    def release(self, exact: Any) -> Numbers:
        """Add noise to each, and keep what reaches the threshold: the largest of them, if there are too many to tell.

        Which are told, and how many are not, follows from what the mechanism released: leaving keys out costs nothing.
        """
        return _tellable([[list(key), count] for key, count in self.mechanism.release(exact).items()])

    def margin(self, confidence: Exact) -> None:
        """Return None: what is shown near the threshold was lifted there by its noise, and may be far off."""
        del confidence

    def values(self, numbers: Numbers, confidence: Exact) -> list[BoundedValue]:
        """Return the counts that were released, each with bounds for itself: how many there are is not public."""
        values, wanted = [], probability("confidence", confidence)
        for key, count in numbers:
            if key is None:  # how many were not told
                continue
            low, high = _bounds(self.mechanism, count, wanted)
            labels: tuple[Label, ...] = tuple(tuple(part) if isinstance(part, list) else part for part in key)
            values.append(BoundedValue(key=labels, value=count, low=low, high=high))
        return values


def _tellable(released: Numbers) -> Numbers:
    """Return what an answer has room for, whatever the keys are: those with the most people, in the order they had.

    What is left out is counted at the end, with no key. So an answer always fits the ledger, also where keys are long.
    """
    told, room = set[int](), _MOST_KEY_TEXT
    for place in sorted(range(len(released)), key=lambda place: -released[place][1]):
        room -= len(canonical(released[place]))
        if room < 0 or len(told) == _MOST_KEYS:
            break
        told.add(place)
    kept = [one for place, one in enumerate(released) if place in told]
    return kept if len(kept) == len(released) else [*kept, [None, len(released) - len(kept)]]


@lru_cache(maxsize=1 << 12)
def _bounds(mechanism: PartitionSelection, shown: int, confidence: Fraction) -> tuple[int, int]:
    """Remember bounds: many keys are shown with the same count."""
    return mechanism.bounds(shown, confidence)


def release_of(plan: Plan, target: Target, budget: Guarantee, judged: Judge | None = None) -> Release:
    """Return how `plan` is released to grant `target` under a budget of this kind; `judged` says how exact it is.

    Under a pure budget noise is discrete Laplace, and selection is permute-and-flip. Under a budget of rho whichever
    noise is smaller at the same rho is taken, which is Gaussian nearly always, and selection is exponential. Under an
    (epsilon, delta) budget it is Laplace, unless a delta is offered with the epsilon and Gaussian noise is smaller.
    """
    pure = isinstance(budget, PureDP)
    if plan.family is Family.THRESHOLD:
        return OpenKeys(plan=plan, mechanism=_keys(plan, target, budget))
    if pure and (isinstance(target, AtRho) or (isinstance(target, AtEpsilon) and target.delta is not None)):
        name, given = ("rho", target.rho) if isinstance(target, AtRho) else ("delta", target.delta)
        raise ParameterError(
            name, str(given), reason="cannot be paid from a pure budget", remedy="offer an epsilon alone"
        )
    match plan.meaning:
        case NoisyMeaning() as meaning:
            return NoisyNumbers(plan=plan, meaning=meaning, mechanism=_noise(plan, judged or meaning, target, budget))
        case ChosenMeaning() as meaning:
            selector = PermuteAndFlip if pure else ExponentialMechanism
            return ChosenOnes(plan=plan, meaning=meaning, mechanism=_selection(plan, meaning, target, selector))
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
    return "" if margin is None else f"{plans[0].meaning.accuracy(margin)} with 95 % confidence"


def _noise(plan: Plan, meaning: Judge, target: Target, budget: Guarantee) -> Noise:
    laplace, gaussian = _makers(plan, meaning)
    if isinstance(target, AtRho):
        return gaussian(target)
    if isinstance(target, Within) and not isinstance(budget, PureDP):
        return min(laplace(target), gaussian(target), key=lambda one: _rho(one.event))
    if isinstance(target, AtEpsilon) and target.delta is not None:
        return _smaller(plan, laplace(target), gaussian(target))
    if isinstance(target, AtEpsilon) and isinstance(budget, ConcentratedDP):
        at_least = laplace(target)
        return _smaller(plan, at_least, gaussian(AtRho(rho=Fraction(float_below(_rho(at_least.event))))))
    return laplace(target)


def _makers(plan: Plan, meaning: Judge) -> tuple[Callable[[Target], Noise], Callable[[Target], Noise]]:
    """Return what makes Laplace noise, and what makes Gaussian noise, for a target."""
    many = plan.numbers
    moved, squared = plan.sensitivity.l1, plan.sensitivity.l2_squared

    def laplace(target: Target) -> Noise:
        match target:
            case AtEpsilon(epsilon=epsilon):
                return GeometricMechanism(l1_sensitivity=moved, epsilon=epsilon)
            case Within():
                return _within(
                    plan,
                    meaning,
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
                return _within(plan, meaning, target, lambda size: at(Fraction(float_above(squared / (2 * size**2)))))

    return laplace, gaussian


@lru_cache(maxsize=256)
def _calibrated(squared: int, epsilon: Fraction, delta: Fraction | None, many: int) -> Fraction:
    """Remember the variance for a price, which takes long to find: it is wanted at a preview and when it is asked."""
    found = DiscreteGaussianMechanism(l2_sensitivity_squared=squared, epsilon=epsilon, delta=delta, dimension=many)
    return found.event.sigma_squared


def _within(plan: Plan, meaning: Judge, target: Within, at: Callable[[Fraction], Noise]) -> Noise:
    """Return the largest noise, of four digits, that grants an accuracy."""
    refusal = meaning.refusal_of_margin(plan)
    if refusal:
        raise ParameterError(
            "within",
            target.margin,
            reason=refusal,
            remedy="offer an epsilon; the answer comes with its interval",
        )
    search = decimals(digits=4)
    with _within_reach(target.margin):
        while search.open:
            search.tell((meaning.margin(plan, at(search.guess), target.confidence) or 0) > target.margin)
        return at(search.below)


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
    rho = price(charged_as(event)).rho
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
            search = decimals(digits=3)
            with _within_reach(margin):
                while search.open:
                    search.tell(at(ceil_to_grid(search.guess, FINEST)).margin(confidence) <= margin)
                return at(ceil_to_grid(search.above, FINEST))
        case AtRho(rho=rho):
            raise ParameterError("rho", rho, reason="cannot pay for a selection", remedy="offer an epsilon")


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
