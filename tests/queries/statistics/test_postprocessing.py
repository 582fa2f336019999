"""How each reading takes its column from the numbers of a release that it shares, number by number."""

from dataclasses import replace
from fractions import Fraction

import pytest

import lapwing as lw
from engines.clinic import clinic
from lapwing.mechanisms.gaussian import DiscreteGaussianMechanism
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.mechanisms.margins import confidence_of_each
from lapwing.mechanisms.weighted_sums import margin_of_equal_sum
from lapwing.queries.algebra.aggregate import DeclaredKey
from lapwing.queries.planning.plan import BoundedValue
from lapwing.queries.planning.planner import plan
from lapwing.queries.planning.presentation import Quotient
from lapwing.queries.statistics.bernstein import Moment
from lapwing.queries.statistics.postprocessing import (
    PartAlone,
    PartsTogether,
    RowsOfAll,
    RowsOfSums,
    TotalOfSums,
    least_exact,
    quotient_of_boxes,
    quotient_of_sums,
    sum_margin,
)

CLINIC = clinic()
NOISE = GeometricMechanism(l1_sensitivity=1, epsilon="0.5")
PART = DeclaredKey(column="part", values=(1, 2, 3), missing=False)


def by_part(asked, parts=PART):
    """A plan with a part as its last key, as one release of several columns has it."""
    return replace(asked, aggregate=replace(asked.aggregate, keys=(*asked.aggregate.keys, parts)))


COUNT = plan(lw.count("patients"), CLINIC)
BY_WARD = plan(lw.count("patients", by="ward"), CLINIC)
MEAN = plan(lw.mean("patients", "age"), CLINIC)  # a row adds 120 to its two sums together
SPREAD = plan(lw.variance("patients", "age"), CLINIC)


def sums(ages, degree):
    binomial = {1: (1, 1), 2: (1, 2, 1)}[degree]
    return [sum(binomial[i] * a**i * (120 - a) ** (degree - i) for a in ages) for i in range(degree + 1)]


def test_parts_together_are_added_up_in_each_group() -> None:
    source, reading = by_part(BY_WARD), PartsTogether(frozenset({1, 3}))
    released = [100 * ward + part for ward in range(4) for part in (1, 2, 3)]
    assert reading.estimates(source, released) == {(ward,): 200 * place + 4 for place, ward in enumerate((1, 2, 3, -7))}
    assert reading.forms(source)[(2,)] == {3: 1, 5: 1}
    each = confidence_of_each(Fraction(95, 100), 4)
    assert reading.margin(source, NOISE, "0.95") == margin_of_equal_sum(NOISE.event, 2, each)
    assert (reading.counts_rows, reading.part_of_rows, reading.refusal_of_margin(source)) == (False, None, "")


def test_a_part_alone_is_what_its_own_plan_means_by_its_numbers() -> None:
    reading = PartAlone(2, BY_WARD, BY_WARD.meaning)
    source, released = by_part(BY_WARD), list(range(12))
    assert reading.estimates(source, released) == BY_WARD.meaning.estimates(BY_WARD, [1, 4, 7, 10])
    assert reading.values(source, released, NOISE, "0.9") == BY_WARD.meaning.values(
        BY_WARD, [1, 4, 7, 10], NOISE, "0.9"
    )
    assert reading.margin(source, NOISE, "0.9") == BY_WARD.meaning.margin(BY_WARD, NOISE, "0.9")
    assert reading.forms(source) == {(1,): {1: 1}, (2,): {4: 1}, (3,): {7: 1}, (-7,): {10: 1}}
    assert (reading.part_of_rows, reading.counts_rows) == (2, False)


def test_a_part_of_sums_has_all_numbers_of_its_cell_and_refuses_what_its_meaning_refuses() -> None:
    reading, source = PartAlone(2, MEAN, MEAN.meaning), by_part(MEAN)
    released = [0, 0, *sums([30, 50], 1), 0, 0]
    assert reading.estimates(source, released) == {(): 40}
    assert reading.forms(source) is None
    assert reading.margin(source, NOISE, "0.95") is None
    assert reading.refusal_of_margin(source) == MEAN.meaning.margin_refusal != ""
    assert reading.error_if(source, NOISE, "0.95", 1000) == MEAN.meaning.error_if(MEAN, NOISE, "0.95", 1000) > 0
    assert PartAlone(2, MEAN, RowsOfSums()).counts_rows


@pytest.mark.parametrize(("asked", "degree"), [(MEAN, 1), (SPREAD, 2)])
def test_rows_and_the_total_are_read_from_the_sums_of_a_moment(asked, degree) -> None:
    released = sums([30, 50, 120], degree)
    assert RowsOfSums().estimates(asked, released) == {(): 3}
    assert TotalOfSums().estimates(asked, released) == {(): 200}
    assert RowsOfSums().counts_rows
    assert all(TotalOfSums().weights(asked)), "no weight is 0: a lowest value of 0 has none"
    assert len(TotalOfSums().weights(asked)) == degree


def test_a_mean_is_read_from_the_sums_of_a_variance() -> None:
    reading = replace(SPREAD.meaning, moment=Moment.MEAN)
    assert reading.estimates(SPREAD, sums([30, 50], 2)) == {(): 40}


def test_a_number_of_rows_is_whole_not_negative_and_off_by_half_a_row_more() -> None:
    base = margin_of_equal_sum(NOISE.event, 2, Fraction(95, 100)) * Fraction(1, 120)
    margin = RowsOfSums().margin(MEAN, NOISE, "0.95")
    assert margin == int(base + Fraction(1, 2))
    (few,) = RowsOfSums().values(MEAN, [-500, 100], NOISE, "0.95")
    assert (few.value, few.low, few.high) == (0, 0, margin)
    (some,) = RowsOfSums().values(MEAN, [600, 659], NOISE, "0.95")
    assert some.value == 10


def test_all_rows_are_the_sums_of_the_first_part_and_the_first_sum_of_the_second() -> None:
    source = by_part(MEAN, DeclaredKey(column="part", values=(1, 2), missing=False))
    assert RowsOfAll().estimates(source, [*sums([30, 50], 1), 3 * 120, 777]) == {(): 5}
    assert len(RowsOfAll().weights(source)) == 3
    assert RowsOfAll().groups(source) == 1
    assert not RowsOfAll().counts_rows


@pytest.mark.parametrize("noise", [NOISE, DiscreteGaussianMechanism(l2_sensitivity_squared=1, rho="0.1")])
def test_the_margin_of_a_sum_grows_with_its_weights_and_is_in_their_unit(noise) -> None:
    equal = sum_margin(noise.event, (Fraction(1, 3),) * 4, Fraction(95, 100))
    assert equal == Fraction(margin_of_equal_sum(noise.event, 4, Fraction(95, 100)), 3)
    unlike = sum_margin(
        noise.event, (Fraction(1, 6), Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)), Fraction(95, 100)
    )
    assert 0.5 * equal < unlike < 1.5 * equal


def test_of_sums_of_parts_only_the_longest_is_judged() -> None:
    two, three = PartsTogether(frozenset({1, 2})), PartsTogether(frozenset({1, 2, 3}))
    alone = PartAlone(1, COUNT, COUNT.meaning)
    assert least_exact([two, alone, three]) == [alone, three]
    assert least_exact([alone]) == [alone]


def test_a_quotient_of_two_forms_is_that_of_their_sums_and_lies_in_its_bounds() -> None:
    source = by_part(COUNT, DeclaredKey(column="part", values=(1, 2), missing=False))
    forms = {"a": PartsTogether(frozenset({1})).forms(source), "n": PartsTogether(frozenset({1, 2})).forms(source)}
    half = Quotient((("a", Fraction(1)),), (("n", Fraction(1)),))
    (many,) = quotient_of_sums(half, forms, source, numbers=[5000, 5000], noise=NOISE, confidence="0.95")
    assert many.value == 0.5
    assert 0.49 < many.low < 0.5 < many.high < 0.51
    (none,) = quotient_of_sums(half, forms, source, numbers=[1, -1], noise=NOISE, confidence="0.95")
    assert (none.value, none.low, none.high) == (None, 0, 1), "a part of the whole, and nothing else is known"


def box(value, low, high):
    return {(): BoundedValue(key=(), value=value, low=low, high=high)}


@pytest.mark.parametrize(
    ("a", "n", "expected"),
    [
        (box(10, 8, 12), box(4, 2, 5), (2.5, 1.6, 6)),
        (box(10, 8, 12), box(4, 0, 5), (2.5, None, None)),  # it may be divided by 0
        (box(10, None, None), box(4, 2, 5), (2.5, None, None)),
        (box(10, 8, 12), box(4, None, 5), (2.5, None, None)),  # one end is enough
        (box(None, 8, 12), box(4, 2, 5), (None, 1.6, 6)),
    ],
)
def test_a_quotient_of_columns_has_the_bounds_of_both_or_none(a, n, expected) -> None:
    (found,) = quotient_of_boxes(Quotient((("a", Fraction(1)),), (("n", Fraction(1)),)), {"a": a, "n": n})
    assert (found.value, found.low, found.high) == expected


def test_a_sum_of_columns_of_which_one_has_no_bounds_has_none() -> None:
    both = Quotient((("a", Fraction(1)), ("b", Fraction(-2))), (("n", Fraction(1)),))
    columns = {"a": box(10, 8, 12), "b": box(1, None, None), "n": box(4, 2, 5)}
    (found,) = quotient_of_boxes(both, columns)
    assert (found.value, found.low, found.high) == (2, None, None)
    (known,) = quotient_of_boxes(both, {**columns, "b": box(1, 0, 3)})
    assert (known.value, known.low, known.high) == (2, (8 - 6) / 5, 12 / 2), "a negative weight takes the other end"
