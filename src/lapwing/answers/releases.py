"""From a plan and a wish to a release: which mechanism, what event, how far off, and what the numbers mean.

Nothing here reads data until `read` is called, and `read` is called by the session only, after the charge. What is
computed before (event, price, margin) depends on the plan, the wish and the kind of budget alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

from lapwing.accounting.pricing import price
from lapwing.answers.wishes import AtEpsilon, AtRho, Wish, Within
from lapwing.engines.engine import Engine
from lapwing.mechanisms.discrete_gaussian import DiscreteGaussianMechanism
from lapwing.mechanisms.exponential import ExponentialMechanism
from lapwing.mechanisms.geometric import GeometricMechanism
from lapwing.mechanisms.margins import turning_point
from lapwing.mechanisms.permute_and_flip import PermuteAndFlip
from lapwing.mechanisms.ranked_choice import QuantileChoice, TopChoice
from lapwing.mechanisms.stable_keys import StableKeys
from lapwing.mechanisms.sums_of_noise import margin_of_sum
from lapwing.queries.aggregate import Label, OpenKey, PickedRows
from lapwing.queries.estimates import estimates
from lapwing.queries.plan import Family, Moment, Moments, Plan, Quantiles, Steps, Top, Total
from lapwing.vocabulary.adjacency import Adjacency
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.event import DiscreteLaplaceNoise, Event, PureRelease
from lapwing.vocabulary.exact import Exact, probability
from lapwing.vocabulary.guarantee import ConcentratedDP, Guarantee, PureDP

Number: TypeAlias = int | Fraction | float
Numbers: TypeAlias = list[Any]
"""What was released, as JSON holds it: whole numbers, or for keys that only the data knew, keys with whole numbers."""

_MOST_STEPS = 1 << 12
_JUDGED_AT = Fraction(95, 100)
"""The confidence at which two kinds of noise are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One number of an answer, its key, and between which bounds the exact one lies; None where that is not known."""

    key: tuple[Label, ...]
    value: Number | str
    low: Number | None
    high: Number | None


class Release(Protocol):
    """One plan at one price."""

    @property
    def plan(self) -> Plan:
        """What was asked, bounded."""

    @property
    def event(self) -> Event:
        """What will happen, as it is charged."""

    def read(self, engine: Engine) -> Any:
        """Read the data; what comes back is wrapped."""

    def release(self, exact: Any) -> Numbers:
        """Add noise, or choose. This is the only time that it is done."""

    def margin(self, confidence: Exact) -> Number | None:
        """Return how far off all numbers of the answer are at most; None where that depends on what comes out."""

    def cells(self, numbers: Numbers, confidence: Exact) -> list[Cell]:
        """Return what the released numbers say. It costs nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyNumbers:
    """Noise on every number of the answer."""

    plan: Plan
    mechanism: GeometricMechanism | DiscreteGaussianMechanism

    @property
    def event(self) -> Event:
        """What will happen, as it is charged."""
        return charged_as(self.mechanism.event)

    def read(self, engine: Engine) -> Any:
        """Read all numbers."""
        return engine.vector(self.plan.aggregate)

    def release(self, exact: Any) -> Numbers:
        """Add noise to each."""
        return [int(number) for number in self.mechanism.release(exact)]

    def margin(self, confidence: Exact) -> Number | None:
        """Return how far off all numbers are at most; the error of a moment depends on how many rows there are."""
        match self.plan.meaning:
            case Moments():
                return None
            case Steps(names=names):
                return self._of_step(len(names), len(names), confidence)
            case Total(step=step):
                return self._of_each(confidence) * step
            case _:
                return self._of_each(confidence)

    def cells(self, numbers: Numbers, confidence: Exact) -> list[Cell]:
        """Return the estimate in each public cell."""
        values = estimates(self.plan, numbers)
        match self.plan.meaning:
            case Moments(moment=Moment.MEAN):
                return self._means(numbers, confidence)
            case Moments():
                return [Cell(key=key, value=_plain(value), low=None, high=None) for key, value in values.items()]
            case Steps(names=names):
                steps = len(names)
                margins: Sequence[Number] = [self._of_step(steps - i, steps, confidence) for i in range(steps)]
            case _:
                margins = [self.margin(confidence) or 0] * len(values)
        return [
            _around(key, _plain(value), margin) for (key, value), margin in zip(values.items(), margins, strict=True)
        ]

    def _of_each(self, confidence: Exact) -> int:
        return self.mechanism.margin(confidence, values=self.numbers)

    @property
    def numbers(self) -> int:
        """How many numbers are released."""
        return len(self.plan.aggregate.cells or ()) * self.plan.aggregate.terms

    def _of_step(self, bins: int, steps: int, confidence: Exact) -> int:
        """Bound a step that is the sum of so many bins, such that the bounds of all steps hold at once."""
        each = 1 - (1 - probability("confidence", confidence)) / steps
        return margin_of_sum(self.mechanism.event, bins, each)

    def _means(self, numbers: Numbers, confidence: Exact) -> list[Cell]:
        """Bound each mean from its two sums: it rises with the one and falls with the other."""
        margin, values = self._of_each(confidence), estimates(self.plan, numbers)
        blocks = zip(numbers[::2], numbers[1::2], strict=True)
        cells = []
        for (key, value), (others, part) in zip(values.items(), blocks, strict=True):
            low = estimates(self.plan, _only(numbers, others + margin, part - margin))[key]
            high = estimates(self.plan, _only(numbers, others - margin, part + margin))[key]
            known = others + part > 0
            cells.append(Cell(key=key, value=value, low=low if known else None, high=high if known else None))
        return cells


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


def _only(numbers: Numbers, others: int, part: int) -> Numbers:
    """Put one pair of sums, none of them below zero, into every cell."""
    return [max(0, others), max(0, part)] * (len(numbers) // 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenOnes:
    """Quantiles, or the cells with the most people: chosen by private selection from a histogram."""

    plan: Plan
    mechanism: QuantileChoice | TopChoice

    @property
    def event(self) -> Event:
        """What will happen, as it is charged."""
        return self.mechanism.event

    def read(self, engine: Engine) -> Any:
        """Read the histogram."""
        return engine.vector(self.plan.aggregate)

    def release(self, exact: Any) -> Numbers:
        """Choose."""
        return list(self.mechanism.release(exact))

    def margin(self, confidence: Exact) -> Number | None:
        """Return how many rows, or people, the choices may be away from the best ones."""
        return self.mechanism.margin(confidence)

    def cells(self, numbers: Numbers, confidence: Exact) -> list[Cell]:
        """Return what was chosen."""
        del confidence
        match self.plan.meaning:
            case Quantiles(at=at, scale=scale):
                places = [_plain(scale.low + cell * scale.step) for cell in numbers]
                return [
                    Cell(key=(str(q),), value=place, low=None, high=None) for q, place in zip(at, places, strict=True)
                ]
            case _:
                labels = [(self.plan.aggregate.cells or ())[number][0] for number in numbers]
                return [
                    Cell(key=(i,), value=str(label), low=None, high=None) for i, label in enumerate(labels, start=1)
                ]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenKeys:
    """Counts by keys that only the data knows."""

    plan: Plan
    mechanism: StableKeys

    @property
    def event(self) -> Event:
        """What will happen, as it is charged."""
        return self.mechanism.event

    def read(self, engine: Engine) -> Any:
        """Read the counts, by key."""
        return engine.keyed(self.plan.aggregate)

    def release(self, exact: Any) -> Numbers:
        """Add noise to each, and keep what reaches the threshold."""
        return [[list(key), count] for key, count in self.mechanism.release(exact).items()]

    def margin(self, confidence: Exact) -> Number | None:
        """Return how far off one number is at most: how many there are is not public."""
        return self.mechanism.margin(confidence)

    def cells(self, numbers: Numbers, confidence: Exact) -> list[Cell]:
        """Return the counts that were released."""
        margin = self.mechanism.margin(confidence)
        return [_around(tuple(_label(part) for part in key), count, margin) for key, count in numbers]


def release_of(plan: Plan, wish: Wish, budget: Guarantee) -> Release:
    """Return how `plan` is released to grant `wish` under a budget of this kind.

    Under a pure budget noise is discrete Laplace, and selection is permute-and-flip. Under a budget of rho whichever
    noise is smaller at the same rho is taken, which is Gaussian nearly always, and selection is exponential. Under an
    (epsilon, delta) budget it is Laplace, unless a delta is offered with the epsilon and Gaussian noise is smaller.
    """
    pure = isinstance(budget, PureDP)
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
        case Family.THRESHOLD:
            return OpenKeys(plan=plan, mechanism=_keys(plan, wish))
        case Family.SPARSE_VECTOR:
            raise BadQuestionError('"at least" is answered in a stream; open one: stream(at_least=200, ...)')


Noise: TypeAlias = GeometricMechanism | DiscreteGaussianMechanism


def _noise(plan: Plan, wish: Wish, budget: Guarantee) -> Noise:
    laplace, gaussian = _makers(plan)
    if isinstance(wish, AtRho):
        return gaussian(wish)
    if isinstance(wish, Within) and not isinstance(budget, PureDP):
        return min(laplace(wish), gaussian(wish), key=lambda one: _rho(one.event))
    if isinstance(wish, AtEpsilon) and wish.delta is not None:
        return _smaller(plan, laplace(wish), gaussian(wish))
    if isinstance(wish, AtEpsilon) and isinstance(budget, ConcentratedDP):
        at_least = laplace(wish)
        return _smaller(plan, at_least, gaussian(AtRho(rho=_rho(at_least.event))))
    return laplace(wish)


def _makers(plan: Plan) -> tuple[Callable[[Wish], Noise], Callable[[Wish], Noise]]:
    """Return what makes Laplace noise, and what makes Gaussian noise, for a wish."""
    many = len(plan.aggregate.cells or ()) * plan.aggregate.terms
    moved, squared = plan.sensitivity.l1, plan.sensitivity.l2_squared

    def laplace(wish: Wish) -> Noise:
        match wish:
            case AtEpsilon(epsilon=epsilon):
                return GeometricMechanism(l1_sensitivity=moved, epsilon=epsilon)
            case Within():
                return _within(plan, wish, lambda size: GeometricMechanism(l1_sensitivity=moved, scale=size))
            case AtRho():
                raise AssertionError  # pragma: no cover - rho asks for Gaussian noise

    def gaussian(wish: Wish) -> Noise:
        def at(size: Fraction) -> Noise:
            return DiscreteGaussianMechanism(l2_sensitivity_squared=squared, sigma_squared=size**2, dimension=many)

        match wish:
            case AtRho(rho=rho):
                return DiscreteGaussianMechanism(l2_sensitivity_squared=squared, rho=rho, dimension=many)
            case AtEpsilon(epsilon=epsilon, delta=delta):
                return DiscreteGaussianMechanism(
                    l2_sensitivity_squared=squared, epsilon=epsilon, delta=delta, dimension=many
                )
            case Within():
                return _within(plan, wish, at)

    return laplace, gaussian


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
    many = len(plan.aggregate.cells or ()) * plan.aggregate.terms
    return min(ways, key=lambda one: one.margin(_JUDGED_AT, values=many))


def _rho(event: Event) -> Fraction:
    rho = price(charged_as(event)).rho
    if rho is None:  # pragma: no cover - both kinds of noise have one
        raise AssertionError
    return rho


def _selection(
    plan: Plan, wish: Wish, selector: type[PermuteAndFlip] | type[ExponentialMechanism]
) -> QuantileChoice | TopChoice:
    def at(epsilon: Fraction) -> QuantileChoice | TopChoice:
        people = plan.unit.protects_groups_of
        cells = len(plan.aggregate.cells or ())
        match plan.meaning, plan.aggregate.bounding:
            case Quantiles(at=fractions), PickedRows(max_rows=rows):
                return QuantileChoice(
                    at=fractions,
                    cells=cells,
                    rows=rows * people,
                    adjacency=plan.unit.adjacency,
                    epsilon=epsilon,
                    selector=selector,
                )
            case Top(k=k), _:
                one_way = Adjacency.ADD_REMOVE if plan.monotone else None
                moved = plan.sensitivity.linf
                return TopChoice(
                    k=k, cells=cells, sensitivity=moved, epsilon=epsilon, monotone_under=one_way, selector=selector
                )
            case _:  # pragma: no cover - nothing else is chosen
                raise AssertionError

    match wish:
        case AtEpsilon(epsilon=epsilon):
            return at(epsilon)
        case Within(margin=margin, confidence=confidence):
            try:
                return at(turning_point(lambda epsilon: at(epsilon).margin(confidence) <= margin, digits=3)[1])
            except (OverflowError, ParameterError):
                raise ParameterError(
                    "within", margin, reason="is out of reach at this confidence", remedy="change one of the two"
                ) from None
        case AtRho(rho=rho):
            raise ParameterError("rho", rho, reason="buys no choice", remedy="offer an epsilon")


def _keys(plan: Plan, wish: Wish) -> StableKeys:
    names = ", ".join(key.column for key in plan.aggregate.keys if isinstance(key, OpenKey))
    if not isinstance(wish, AtEpsilon) or wish.delta is None:
        raise ParameterError(
            "delta",
            None,
            reason=f"is missing, and the values of {names} are not public: showing them takes one",
            remedy='offer an epsilon with a delta, such as "1e-6", or let the custodian declare the categories',
        )
    return StableKeys(
        l1_sensitivity=plan.sensitivity.l1,
        people=plan.unit.protects_groups_of,
        epsilon=wish.epsilon,
        delta=wish.delta,
    )


def _around(key: tuple[Label, ...], value: Number, margin: Number) -> Cell:
    return Cell(key=key, value=value, low=value - margin, high=value + margin)


def _plain(number: Fraction | float) -> Number:
    return int(number) if isinstance(number, Fraction) and number.denominator == 1 else number


def _label(part: Any) -> Label:
    label: Label = tuple(part) if isinstance(part, list) else part
    return label
