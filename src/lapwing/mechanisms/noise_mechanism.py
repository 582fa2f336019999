"""The base of mechanisms that add noise: how noise is asked for, how it is added to values, and the margins of answers.

Values are integers, or multiples of a power of two that was fixed before any data was read. Every path from an exact
value to a sum with noise goes through this file. It is total: every number has an answer. Values beyond the lattice's
ends are moved to its ends, NaN counts as zero, and sums never wrap around.

Proof: proofs/noisy_sums.md
"""

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import field
from fractions import Fraction
from functools import cache
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from lapwing.accounting.pricing import PricedLoss, price
from lapwing.mechanisms.margins import ByAccuracy, Spread
from lapwing.noise.laws import DiscreteGaussian, DiscreteLaplace, Law, RoundedGaussian, RoundedLaplace
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Event
from lapwing.vocabulary.exact import Exact, Sensitive, as_int, exact, exactly_one_of, fill, positive, probability
from lapwing.vocabulary.frozen import frozen

Integer: TypeAlias = int | Sensitive[int]
Integers: TypeAlias = Sequence[int] | NDArray[np.integer[Any]] | Sensitive[Sequence[int] | NDArray[np.integer[Any]]]
Real: TypeAlias = float | Fraction | Sensitive[float | Fraction]
_Vector: TypeAlias = Sequence[float | Fraction] | NDArray[np.number[Any]]
Reals: TypeAlias = _Vector | Sensitive[_Vector]

_INT64 = np.iinfo(np.int64)
_END = 1 << 53  # grids end at 2^53 steps on either side, so that every multiple of the step is a float, exactly

Converted = TypeVar("Converted")
Priceable = TypeVar("Priceable", bound=Event)
Whole = TypeVar("Whole", DiscreteLaplace, DiscreteGaussian)
Rounded = TypeVar("Rounded", RoundedLaplace, RoundedGaussian)


class ByEpsilon(NamedTuple):
    """Noise asked for by its pure price."""

    epsilon: Fraction


class ByRho(NamedTuple):
    """Noise asked for by its price in zero-concentrated differential privacy."""

    rho: Fraction


class ByEpsilonDelta(NamedTuple):
    """Noise asked for by its approximate price."""

    epsilon: Fraction
    delta: Fraction


class BySize(NamedTuple):
    """Noise asked for by its own size: a scale, a sigma or the square of one."""

    size: Fraction


def parse_noise(
    *, values: object = 1, **given: Exact | None
) -> ByEpsilon | ByRho | ByEpsilonDelta | BySize | ByAccuracy:
    """Return how noise was asked for; refuse none, several and mixtures of the ways that there are.

    `given` is what a mechanism can be given: epsilon, delta, rho, within and confidence, people, and the names of
    sizes. A delta belongs to the epsilon before it, a confidence and people to what they should be within.

    >>> parse_noise(epsilon="0.1", scale=None)
    ByEpsilon(epsilon=Fraction(1, 10))
    """
    many = 1 if values == 1 else as_int("values", values)
    match way := exactly_one_of("noise", given, *_ways(tuple(given))):
        case ("epsilon",):
            return ByEpsilon(positive("epsilon", given["epsilon"]))
        case ("rho",):
            return ByRho(positive("rho", given["rho"]))
        case ("epsilon", "delta"):
            return ByEpsilonDelta(positive("epsilon", given["epsilon"]), probability("delta", given["delta"]))
        case ("within", "confidence", *_):
            within, chance = exact("within", given["within"]), probability("confidence", given["confidence"])
            if within < 0:
                remedy = "write how far off an answer may be"
                raise ParameterError("within", given["within"], reason="is negative", remedy=remedy)
            crowd = as_int("people", given["people"]) if "people" in given else many
            return ByAccuracy(within=within, confidence=chance, values=crowd)
        case _:
            return BySize(positive(way[0], given[way[0]]))


@cache
def _ways(names: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return which of these names are given together."""
    ways: list[tuple[str, ...]] = []
    for name in names:
        if name in {"delta", "confidence", "people"}:
            ways[-1] = (*ways[-1], name)
        else:
            ways.append((name,))
    return tuple(ways)


def above_zero(within: Exact | None) -> Fraction | None:
    """Return the accuracy that is wanted of real numbers, which no noise meets with no error at all."""
    return None if within is None else positive("within", within)


@frozen()
class Priced(Generic[Priceable]):
    """A mechanism with a price: `event` describes a release, as data in exact numbers, for ledgers and accountants."""

    event: Priceable

    @property
    def loss(self) -> PricedLoss:
        """The privacy loss of a release, in every currency."""
        return price(self.event)


@frozen()
class IntegerNoise(Priced[Priceable], Generic[Priceable, Whole]):
    """A mechanism that adds draws of `law` to integers, `dimension` of them, or as many as come."""

    dimension: int | None
    law: Whole = field(repr=False, compare=False)

    @overload
    def release(self, value: Integer) -> int: ...
    @overload
    def release(self, value: Integers) -> NDArray[np.int64]: ...
    def release(self, value: Integer | Integers) -> int | NDArray[np.int64]:
        """Return the integer with noise, or the vector with independent noise on every coordinate."""
        if type(value) is int and (self.dimension is None or self.dimension == 1):
            return value + self.law.draw()
        return add_noise(value, self.law, self.dimension)

    def margin(self, confidence: Exact, *, values: int = 1) -> int:
        """Return the smallest m such that `values` answers are all off by at most m, with this probability or more.

        Of discrete Gaussian noise with a σ above 512 it may, about once in a billion times, be one more than that.
        """
        return int(Spread.of(self.law).margin(confidence, values))

    def confidence(self, margin: Exact, *, values: int = 1) -> float:
        """Return the probability, rounded down, that `values` answers are all off by at most `margin`."""
        return Spread.of(self.law).confidence(margin, values)


@frozen()
class RealNoise(Priced[Priceable], Generic[Priceable, Rounded]):
    """A mechanism that puts `dimension` values on the multiples of `grid.step` and adds draws of `law` in steps."""

    grid: "ValueGrid"
    dimension: int
    law: Rounded = field(repr=False, compare=False)

    @overload
    def release(self, value: Real) -> float: ...
    @overload
    def release(self, value: Reals) -> NDArray[np.float64]: ...
    def release(self, value: Real | Reals) -> float | NDArray[np.float64]:
        """Return the value with noise, or the vector with independent noise on every coordinate."""
        return self.grid.add_noise(value, self.law, self.dimension)

    def margin(self, confidence: Exact, *, values: int = 1) -> float:
        """Return the smallest m such that the noise on `values` answers is at most m, with this probability or more."""
        return float(self.grid.spread(self.law).margin(confidence, values))

    def confidence(self, margin: Exact, *, values: int = 1) -> float:
        """Return the probability, rounded down, that the noise on `values` answers is at most `margin`."""
        return self.grid.spread(self.law).confidence(margin, values)


def add_noise(value: object, law: Law, size: int | None = None) -> int | NDArray[np.int64]:
    """Return the integers in `value`, `size` of them where it is given, each with a draw of its own, in its place."""
    return _add_draws(integers(value, remedy="use LaplaceMechanism or GaussianMechanism for real values"), law, size)


def _add_draws(exact: int | NDArray[np.int64], law: Law, size: int | None) -> int | NDArray[np.int64]:
    if size is not None and (1 if isinstance(exact, int) else exact.size) != size:
        del exact
        raise wrong_size(size)
    if isinstance(exact, int):
        return exact + law.draw()
    return saturating_sum(exact, law.draw_many(exact.size).reshape(exact.shape))


def integers(value: object, *, remedy: str = "hand in an integer or a vector of integers") -> int | NDArray[np.int64]:
    """Open `value` and return its integer, or its integers clamped to 64 bits; `remedy` is for what is neither."""
    return _converted(value, _to_integers, "an integer", remedy)


def saturating_sum(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return left + right; a sum beyond 64 bits becomes the last integer on that side."""
    total = left + right
    wrapped = ((left ^ total) & (right ^ total)) < 0
    if wrapped.any():
        return np.where(wrapped, np.where(left < 0, _INT64.min, _INT64.max), total)
    return total


@frozen(kw_only=False)
class ValueGrid:
    """The multiples of `step`, a power of two, from -2^53 steps to 2^53 steps.

    A value is put on its nearest multiple; halves go up. Between neighbouring tables a coordinate that moves by d then
    moves by at most ceil(d/step) steps, which is why a grid has its own sensitivities.

    >>> ValueGrid("0.25").steps(1.3), ValueGrid("0.25").steps(float("nan")), ValueGrid("0.25").value(5)
    (5, 0, 1.25)
    >>> ValueGrid("0.3")
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: grid = '0.3' is not a power of two; write one, such as 1/4 or 1/1024
    """

    step: Fraction
    _float_step: float = field(init=False, repr=False, compare=False)
    _per_unit: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        step = positive("grid", self.step)
        if step.numerator.bit_count() != 1 or step.denominator.bit_count() != 1:
            remedy = "write one, such as 1/4 or 1/1024"
            raise ParameterError("grid", self.step, reason="is not a power of two", remedy=remedy)
        fill(self, step=step, _float_step=float(step), _per_unit=float(1 / step))

    @classmethod
    def for_noise(cls, given: object, *, noise: Fraction, move: Fraction) -> "ValueGrid":
        """Return the grid of step `given`, or else one whose rounding costs about a millionth.

        Its step is then a power of two of at most 2^-20 times the size of the noise and, as far as samplers reach (the
        noise is at most 2^32 steps), of how far one person moves one coordinate.
        """
        if given is not None:
            return cls(positive("grid", given))
        finest = max(min(noise, move) / 2**20, noise / 2**31)
        step = Fraction(2) ** (finest.numerator.bit_length() - finest.denominator.bit_length())
        return cls(step if step <= finest else step / 2)

    def l1_steps(self, l1_sensitivity: Fraction, dimension: int) -> int:
        """Return by how many steps in L1 norm `dimension` coordinates can move, rounding included."""
        return math.ceil(l1_sensitivity / self.step) + dimension - 1

    def l2_steps_squared(self, l2_sensitivity_squared: Fraction, dimension: int) -> int:
        """Return the square of how many steps in L2 norm `dimension` coordinates can move, rounding included."""
        square = l2_sensitivity_squared / self.step**2
        if dimension == 1:
            return (math.isqrt(math.ceil(square) - 1) + 1) ** 2
        return math.ceil(square) + dimension + math.isqrt(math.ceil(4 * square * dimension)) + 1

    def add_noise(self, value: object, law: Law, size: int) -> float | NDArray[np.float64]:
        """Return the values, put on the grid, each with a draw of its own in steps; a vector keeps its shape."""
        noisy = _add_draws(self.steps(value), law, size)
        if isinstance(noisy, int):
            return self.value(noisy)
        return np.clip(noisy, -_END, _END).astype(np.float64) * self._float_step

    def spread(self, law: RoundedLaplace | RoundedGaussian) -> Spread:
        """Return how far noise of this law reaches, drawn in steps."""
        return Spread.of(law, self.step)

    def value(self, steps: int) -> float:
        """Return the float that is exactly `steps` steps, or the end of the grid."""
        return min(max(steps, -_END), _END) * self._float_step

    def steps(self, value: object) -> int | NDArray[np.int64]:
        """Open `value` and return the nearest number of steps, coordinate by coordinate."""
        if type(value) is float:
            return self._of_float(value)
        return _converted(value, self._to_steps, "a number", "hand in a number or a vector of numbers")

    def _of_float(self, value: float) -> int:
        scaled = value * self._per_unit  # exact: a power of two
        if -_END < scaled < _END:
            below = math.floor(scaled)
            return below + 1 if scaled - below >= 0.5 else below  # noqa: PLR2004 - halves go up
        if math.isnan(scaled):
            return 0
        return _END if scaled > 0 else -_END

    def _of_ratio(self, numerator: int, denominator: int) -> int:
        double, step = 2 * self.step.denominator, self.step.numerator
        nearest = (numerator * double + step * denominator) // (2 * step * denominator)
        return min(max(nearest, -_END), _END)

    def _to_steps(self, opened: object) -> int | NDArray[np.int64]:
        if isinstance(opened, float | np.float32 | np.float16):
            return self._of_float(float(opened))
        if isinstance(opened, int | np.integer | Fraction):
            return self._of_ratio(int(opened.numerator), int(opened.denominator))
        if isinstance(opened, list | tuple):
            steps = [self._to_steps(entry) for entry in opened]
            if not all(isinstance(one, int) for one in steps):
                raise TypeError
            return np.array(steps, np.int64)
        array = _plain_array(opened)
        if array.ndim == 0 and array.dtype.kind in "biuf":
            return self._to_steps(array.item())
        if array.dtype.kind in "biu":
            return self._of_integers(array)
        if array.dtype in (np.float64, np.float32, np.float16):
            return self._of_floats(array.astype(np.float64))
        raise TypeError

    def _of_integers(self, values: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        if self.step <= 1:
            return self._of_floats(np.clip(_to_integers(values), -_END, _END).astype(np.float64))
        wide = values.astype(np.uint64 if values.dtype.kind == "u" else np.int64)
        halves = wide >> min(self.step.numerator.bit_length() - 2, 64)  # of a step, rounded down
        nearest = (halves >> 1) + (halves & 1)  # halves go up
        return np.maximum(np.minimum(nearest, _END).astype(np.int64), -_END)

    def _of_floats(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            scaled = np.clip(np.where(np.isnan(values), 0.0, values) * self._per_unit, -_END, _END)
        below = np.floor(scaled)
        return (below + (scaled - below >= 0.5)).astype(np.int64)  # noqa: PLR2004 - halves go up


def _converted(value: object, convert: Callable[[object], Converted], noun: str, remedy: str) -> Converted:
    """Open `value` and convert it; a refusal names its type, and neither shows nor keeps anything of the value."""
    opened = value.open_for_release() if isinstance(value, Sensitive) else value
    try:
        return convert(opened)
    except TypeError:
        kind = type(opened)
        del opened
    if kind in (list, tuple, np.ndarray):
        raise ParameterError("value", Sensitive(None), reason=f"holds something that is not {noun}", remedy=remedy)
    if issubclass(kind, np.ndarray):
        remedy = "hand in a plain numpy.ndarray"
    raise ParameterError("type(value)", kind, reason="cannot be released here", remedy=remedy)


def _to_integers(opened: object) -> int | NDArray[np.int64]:
    if isinstance(opened, list | tuple):
        return np.array([min(max(operator.index(entry), _INT64.min), _INT64.max) for entry in opened], np.int64)
    if not isinstance(opened, np.ndarray):
        return operator.index(opened)  # type: ignore[arg-type]  # what is not an integer is refused right here
    array = _plain_array(opened)
    if array.dtype.kind not in "biu":
        raise TypeError
    if array.ndim == 0:
        return operator.index(array.item())
    if array.dtype == np.uint64:
        array = np.minimum(array, np.uint64(_INT64.max))
    return array.astype(np.int64)


def _plain_array(opened: object) -> NDArray[Any]:
    """Return `opened` in the byte order of this machine, if it is an array and no subclass of one.

    A subclass decides for itself what a sum is: a masked array adds nothing to what it masks, and would go out as it
    came in.
    """
    if type(opened) is not np.ndarray:
        raise TypeError
    return opened.astype(opened.dtype.newbyteorder("="), copy=False)


def wrong_size(size: int, remedy: str = "build it with another dimension") -> ParameterError:
    """Return the refusal of a vector that has not `size` coordinates.

    The message leaves out how many there were: a wrong number may depend on the data.
    """
    reason = f"does not have the {size} coordinates that this mechanism was built for"
    return ParameterError("value", Sensitive(None), reason=reason, remedy=remedy)
