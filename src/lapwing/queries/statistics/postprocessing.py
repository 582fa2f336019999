"""What a column of an answer reads from a release that others are read from too, and what is divided by what.

All of it is arithmetic on released numbers and the law of their noise, so it costs nothing.

Proof: proofs/shared_releases.md
"""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from lapwing.mechanisms.margins import confidence_of_each
from lapwing.mechanisms.weighted_sums import Reach, WholeNoise, margin_of_equal_sum
from lapwing.queries.algebra.aggregate import BoundedRowsPerPerson, ClippedSumPerPerson, cell_count
from lapwing.queries.planning.plan import (
    BoundedValue,
    CellKey,
    Estimate,
    Form,
    Noise,
    NoisyReading,
    Number,
    Plan,
    plain_number,
)
from lapwing.queries.planning.presentation import Quotient
from lapwing.queries.statistics.bernstein import degree_of, length
from lapwing.queries.statistics.moments import Moments
from lapwing.vocabulary.deadline import spend
from lapwing.vocabulary.exact import Exact, float_below, probability
from lapwing.vocabulary.frozen import frozen

_STEPS = 50  # of work that finding how far a sum reaches counts as
_Box: TypeAlias = tuple[float | None, float | None, float | None]
_KNOWN_AT = "0.95"
"""The confidence at which a quotient is told, or missing: noise may have left nothing to divide by."""


class WeightedSums(NoisyReading):
    """A weighted sum of released numbers in each group."""

    __slots__ = ()

    @abstractmethod
    def forms(self, plan: Plan) -> Mapping[CellKey, Form]:
        """Return the linear form of released numbers in each group."""

    @abstractmethod
    def weights(self, plan: Plan) -> Sequence[Fraction]:
        """Return the weights of the sum, none of them 0, which are the same in each group."""

    def groups(self, plan: Plan) -> int:
        """Return in how many groups there is such a sum."""
        return cell_count(plan.aggregate.keys) or 0

    def estimates(self, plan: Plan, released: Sequence[int]) -> dict[CellKey, Estimate]:
        """Return the sum in each group."""
        return {
            key: sum((weight * released[place] for place, weight in form.items()), Fraction(0))
            for key, form in self.forms(plan).items()
        }

    def margin(self, plan: Plan, noise: Noise, confidence: Exact) -> Number:
        """Return how far off all sums are at most: their noise is that of different numbers, so it is independent."""
        each = confidence_of_each(probability("confidence", confidence), self.groups(plan))
        return sum_margin(noise.event, tuple(sorted(map(abs, self.weights(plan)))), each)


@lru_cache(maxsize=256)
def sum_margin(noise: WholeNoise, sizes: tuple[Fraction, ...], confidence: Fraction) -> Number:
    """Return how far off a sum of numbers with these weights is at most, with this confidence.

    Proof: proofs/shared_releases.md
    """
    spend(_STEPS)
    least, most = sizes[0], sizes[-1]
    if least == most:
        return plain_number(most * margin_of_equal_sum(noise, len(sizes), confidence))
    return Reach(noise, float_below(1 - confidence)).of([float(size / most) for size in sizes]) * float(most)


@frozen(kw_only=False)
class PartsTogether(WeightedSums):
    """The numbers of some `parts` added up; the part is the last key of the release, which has one number a cell."""

    parts: frozenset[int]

    def weights(self, plan: Plan) -> Sequence[Fraction]:
        """Return 1 for each part."""
        del plan
        return [Fraction(1)] * len(self.parts)

    def groups(self, plan: Plan) -> int:
        """Return the groups without their parts."""
        return cell_count(plan.aggregate.keys[:-1]) or 0

    def forms(self, plan: Plan) -> Mapping[CellKey, Form]:
        """Return the sum over the parts, in each group."""
        found: dict[CellKey, dict[int, Fraction]] = {}
        for place, (*group, part) in enumerate(plan.aggregate.cells or ()):
            if part in self.parts:
                found.setdefault(tuple(group), {})[place] = Fraction(1)
        return found


@frozen(kw_only=False)
class PartAlone(NoisyReading):
    """What `reading` reads from the numbers of one `part`, of which `own` is the plan: the part is the last key."""

    part: int
    own: Plan
    reading: NoisyReading

    @property
    def counts_rows(self) -> bool:
        """Whether it tells over how many rows others are computed."""
        return self.reading.counts_rows

    @property
    def part_of_rows(self) -> int:
        """Its part."""
        return self.part

    def refusal_of_margin(self, plan: Plan) -> str:
        """Refuse what is refused of the part by itself."""
        del plan
        return self.reading.refusal_of_margin(self.own)

    def _places(self, plan: Plan) -> list[int]:
        terms, cells = plan.aggregate.terms, plan.aggregate.cells or ()
        return [i * terms + j for i, cell in enumerate(cells) if cell[-1] == self.part for j in range(terms)]

    def estimates(self, plan: Plan, released: Sequence[int]) -> dict[CellKey, Estimate]:
        """Return what is told of the part."""
        return self.reading.estimates(self.own, [released[place] for place in self._places(plan)])

    def values(self, plan: Plan, released: Sequence[int], noise: Noise, confidence: Exact) -> list[BoundedValue]:
        """Return what is told of the part, with its bounds."""
        return self.reading.values(self.own, [released[place] for place in self._places(plan)], noise, confidence)

    def margin(self, plan: Plan, noise: Noise, confidence: Exact) -> Number | None:
        """Return how far off it is at most."""
        del plan
        return self.reading.margin(self.own, noise, confidence)

    def error_if(self, plan: Plan, noise: Noise, confidence: Exact, rows: int) -> Number | None:
        """Return about how far off it is if this number of rows counts."""
        del plan
        return self.reading.error_if(self.own, noise, confidence, rows)

    def forms(self, plan: Plan) -> Mapping[CellKey, Form] | None:
        """Return the weighted sum that it is in each group, where it is one."""
        forms, places = self.reading.forms(self.own), self._places(plan)
        if forms is None:
            return None
        return {key: {places[place]: weight for place, weight in form.items()} for key, form in forms.items()}


@frozen(kw_only=False)
class RowsOfSums(WeightedSums):
    """The number of rows, from Bernstein sums: a row adds the same to all of them together."""

    @property
    def counts_rows(self) -> bool:
        """It is the number of rows that a moment of the same sums is computed over."""
        return True

    def weights(self, plan: Plan) -> Sequence[Fraction]:
        """Return the part of a row that each number counts in, for all numbers of a group."""
        return [Fraction(1, plan.bounded_by(BoundedRowsPerPerson).most)] * plan.aggregate.terms

    def forms(self, plan: Plan) -> Mapping[CellKey, Form]:
        """Return the sum of all numbers of a group, in rows."""
        return _in_each_cell(plan, self.weights(plan))

    def margin(self, plan: Plan, noise: Noise, confidence: Exact) -> Number:
        """Return how far off all numbers are at most, with half a row for what is rounded."""
        return math.floor(WeightedSums.margin(self, plan, noise, confidence) + Fraction(1, 2))

    def values(self, plan: Plan, released: Sequence[int], noise: Noise, confidence: Exact) -> list[BoundedValue]:
        """Return the number of rows, which is a whole one, and not below 0."""
        margin = math.floor(self.margin(plan, noise, confidence))
        told = {key: max(0, round(rows)) for key, rows in self.estimates(plan, released).items()}
        return [
            BoundedValue(key=key, value=rows, low=max(0, rows - margin), high=rows + margin)
            for key, rows in told.items()
        ]


@frozen(kw_only=False)
class RowsOfAll(RowsOfSums):
    """The number of rows of two parts, of which the second has the lowest value in all rows: the first sum counts them.

    The part is the last key of the release.
    """

    @property
    def counts_rows(self) -> bool:
        """Others are computed over the rows of the first part only."""
        return False

    def weights(self, plan: Plan) -> Sequence[Fraction]:
        """Return the same for all numbers of the first part and the first of the second."""
        return [Fraction(1, plan.bounded_by(BoundedRowsPerPerson).most)] * (plan.aggregate.terms + 1)

    def groups(self, plan: Plan) -> int:
        """Return the groups without their parts."""
        return cell_count(plan.aggregate.keys[:-1]) or 0

    def forms(self, plan: Plan) -> Mapping[CellKey, Form]:
        """Return the sum of all numbers of the first part and of the first number of the second, in rows."""
        weight, terms = Fraction(1, plan.bounded_by(BoundedRowsPerPerson).most), plan.aggregate.terms
        found: dict[CellKey, dict[int, Fraction]] = {}
        for place, (*group, part) in enumerate(plan.aggregate.cells or ()):
            known = found.setdefault(tuple(group), {})
            known |= {place * terms + i: weight for i in range(terms if part == 1 else 1)}
        return found


@frozen(kw_only=False)
class TotalOfSums(WeightedSums):
    """The total of a value, from its Bernstein sums."""

    def weights(self, plan: Plan) -> Sequence[Fraction]:
        """Return those that are not 0."""
        return [weight for weight in self._of_each(plan) if weight]

    def forms(self, plan: Plan) -> Mapping[CellKey, Form]:
        """Return the weighted sum of the numbers of each group."""
        return _in_each_cell(plan, self._of_each(plan))

    @staticmethod
    def _of_each(plan: Plan) -> Sequence[Fraction]:
        """Return low and the part of the width that is in each number, in units of one row."""
        if not isinstance(plan.meaning, Moments):
            raise TypeError(plan.meaning)
        (scale,) = plan.meaning.scales
        unit, degree = plan.bounded_by(BoundedRowsPerPerson).most, degree_of(1, range(plan.aggregate.terms))
        return [(scale.low + scale.width * Fraction(i, degree)) / unit for i in range(degree + 1)]


def _in_each_cell(plan: Plan, weights: Sequence[Fraction]) -> Mapping[CellKey, Form]:
    many = len(weights)
    return {
        key: {i * many + place: weight for place, weight in enumerate(weights) if weight}
        for i, key in enumerate(plan.aggregate.cells or ())
    }


def least_exact(readings: Sequence[NoisyReading]) -> list[NoisyReading]:
    """Return those of which one is the least exact: of sums of parts, only the one of most parts.

    Proof: proofs/shared_releases.md
    """
    sums = [one for one in readings if isinstance(one, PartsTogether)]
    longest = max(sums, key=lambda one: len(one.parts), default=None)
    return [one for one in readings if one is longest or not isinstance(one, PartsTogether)]


def quotient_of_sums(
    quotient: Quotient,
    forms: Mapping[str, Mapping[CellKey, Form]],
    plan: Plan,
    *,
    numbers: Sequence[int],
    noise: Noise,
    confidence: Exact,
    overlap: bool = False,
) -> list[BoundedValue]:
    """Return a quotient of weighted sums of one release in each group, with bounds that hold all at once.

    Sums of several groups may have released numbers in common: they `overlap`.

    Proof: proofs/quotients.md
    """
    groups = [key for key in next(iter(forms.values())) if all(key in of_name for of_name in forms.values())]
    chance, usually = (_chance_of_each(each, len(groups), overlap=overlap) for each in (confidence, _KNOWN_AT))
    reach, usual = Reach(noise.event, chance), Reach(noise.event, usually)
    found = []
    for key in groups:
        above, below = (_combined(parts, forms, key) for parts in (quotient.above, quotient.below))
        if quotient.below:
            known = bool(below) and _in_all(below, numbers) > usual.of([float(weight) for weight in below.values()])
            divided = _divided(key, above, below, numbers, reach, is_positive=_is_positive(plan))
            found.append(divided if known else replace(divided, value=None))
        else:
            value = sum(weight * numbers[place] for place, weight in above.items())
            far_off = (
                sum_margin(noise.event, tuple(sorted(map(abs, above.values()))), 1 - Fraction(chance)) if above else 0
            )
            found.append(BoundedValue.around(key, Fraction(value), far_off))
    return [quotient.told(cell) for cell in found]


def _chance_of_each(confidence: Exact, groups: int, *, overlap: bool) -> float:
    """Return with what chance the bounds of a group may fail: groups without common numbers are independent."""
    wanted = probability("confidence", confidence)
    each = 1 - (1 - wanted) / max(1, groups) if overlap else confidence_of_each(wanted, groups)
    return float_below(1 - each)


def _combined(parts: Sequence[tuple[str, Fraction]], forms: Mapping[str, Mapping[CellKey, Form]], key: CellKey) -> Form:
    found: dict[int, Fraction] = {}
    for name, times in parts:
        for place, weight in forms[name][key].items():
            found[place] = found.get(place, Fraction(0)) + times * weight
    return {place: weight for place, weight in found.items() if weight}


def _in_all(form: Form, numbers: Sequence[int]) -> float:
    return float(sum(weight * numbers[place] for place, weight in form.items()))


def _is_positive(plan: Plan) -> bool:
    """Say whether none of its exact numbers can be below 0."""
    return not isinstance(plan.aggregate.bounding, ClippedSumPerPerson) or plan.aggregate.bounding.low >= 0


def _divided(
    key: CellKey, above: Form, below: Form, numbers: Sequence[int], reach: Reach, *, is_positive: bool
) -> BoundedValue:
    """Keep r where noise explains the sum of above - r * below: of the exact numbers it is 0."""
    if not below:  # answers that cancel one another
        return BoundedValue(key=key, value=0.0, low=None, high=None)
    places = sorted({*above, *below})
    one, other = (np.array([float(form.get(place, 0)) for place in places]) for form in (above, below))
    least, most = _range(above, below) if is_positive else (-math.inf, math.inf)
    top, bottom = (_in_all(form, numbers) for form in (above, below))
    whole = reach.of(other)
    low, high, value = least, most, math.nan
    if bottom > 0:
        value = top / bottom
    if bottom > whole:
        form = one - value * other
        low = max(least, value - length(bottom, whole, lambda u: reach.of(form + u * other)))
        high = min(most, value + length(bottom, whole, lambda u: reach.of(form - u * other)))
    if math.isnan(value):  # noise left nothing to divide by
        value = (least + most) / 2 if math.isfinite(least + most) else 0.0
    value = min(max(value, least), most)
    low, high = min(low, value), max(high, value)
    known = math.isfinite(low) and math.isfinite(high)
    return BoundedValue(key=key, value=value, low=low if known else None, high=high if known else None)


def _range(above: Form, below: Form) -> tuple[float, float]:
    """Return between which numbers a quotient of sums of numbers lies that are none of them below 0."""
    if min(below.values(), default=Fraction(0)) < 0:
        return -math.inf, math.inf
    shares = [float(above.get(place, 0) / weight) for place, weight in below.items()]
    rest = [weight for place, weight in above.items() if place not in below]
    least = -math.inf if any(weight < 0 for weight in rest) else min(shares)
    return least, math.inf if any(weight > 0 for weight in rest) else max(shares)


def quotient_of_boxes(quotient: Quotient, columns: Mapping[str, Mapping[CellKey, BoundedValue]]) -> list[BoundedValue]:
    """Return a quotient of columns in each group, with all that it can be where each column is within its bounds."""
    found = []
    for key in next(iter(columns.values())):
        cells = {name: column.get(key) for name, column in columns.items()}
        if any(cell is None or isinstance(cell.value, str) for cell in cells.values()):
            continue
        (low, value, high), below = (_box(parts, cells) for parts in (quotient.above, quotient.below))
        least, under, most = below if quotient.below else (1.0, 1.0, 1.0)
        told = value / under if under and value is not None else None
        if low is None or high is None or least is None or most is None or not least > 0:
            found.append(BoundedValue(key=key, value=told, low=None, high=None))
            continue
        ends = [one / other for one in (low, high) for other in (least, most)]
        reached = ends if told is None else [*ends, told]
        found.append(BoundedValue(key=key, value=told, low=min(reached), high=max(reached)))
    return [quotient.told(cell) for cell in found]


def _box(parts: Sequence[tuple[str, Fraction]], cells: Mapping[str, Any]) -> _Box:
    """Return the least, the told and the largest weighted sum of columns within their bounds; None where not known."""
    missing = any(cells[name].value is None for name, _ in parts)
    value = None if missing else sum(float(times) * float(cells[name].value) for name, times in parts)
    if any(cells[name].low is None or cells[name].high is None for name, _ in parts):
        return None, value, None
    ends = [sorted(float(times) * float(end) for end in (cells[name].low, cells[name].high)) for name, times in parts]
    return sum(low for low, _ in ends), value, sum(high for _, high in ends)
