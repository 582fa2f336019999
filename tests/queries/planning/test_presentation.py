"""How the rows of an answer are shown: order, filters, places, roots, samples; from released numbers alone."""

import math
from dataclasses import replace
from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.queries.planning.plan import BoundedValue
from lapwing.queries.planning.presentation import AS_IT_IS, Arrangement, Kept, Quotient, arranged_together
from lapwing.queries.planning.presentation import of_sample as sample_variance
from lapwing.queries.planning.windows import Sorting
from lapwing.vocabulary.errors import ParameterError

NUMBERS = st.lists(st.none() | st.integers(-3, 3), max_size=8)


def table(numbers):
    return {
        (place,): {"n": BoundedValue(key=(place,), value=number, low=None, high=None)}
        for place, number in enumerate(numbers)
    }


def shown(arrangement, numbers):
    cells = table(numbers)
    return [key[0] for key in arrangement.shown(cells, arrangement.kept(cells, list(cells), ()))]


@given(NUMBERS, st.booleans(), st.booleans(), st.none() | st.integers(0, 9), st.integers(0, 4))
def test_rows_are_sorted_then_cut(numbers, falling, missing_first, first, skipped) -> None:
    found = shown(
        Arrangement(order=(Sorting("n", "n", falling, missing_first),), first=first, skipped=skipped), numbers
    )
    gaps = [place for place, number in enumerate(numbers) if number is None]
    rest = sorted(
        (place for place, number in enumerate(numbers) if number is not None),
        key=lambda place: -numbers[place] if falling else numbers[place],
    )
    assert found == (gaps + rest if missing_first else rest + gaps)[skipped:][:first]


@given(NUMBERS, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), st.integers(-3, 3))
def test_having_keeps_what_compares_so_and_never_what_is_missing(numbers, comparison, limit) -> None:
    python = {"=": "==", "<>": "!="}.get(comparison, comparison)
    expected = [p for p, n in enumerate(numbers) if n is not None and eval(f"{n} {python} {limit}")]  # noqa: S307
    assert shown(Arrangement(having=(Kept("n", "n", comparison, limit),)), numbers) == expected


def test_a_day_compares_as_it_is_written_and_never_with_a_number() -> None:
    kept = Kept(0, "day", ">=", "2024-02-01")
    assert kept.keeps(date(2024, 2, 1))
    assert not kept.keeps(date(2024, 1, 31))
    assert not kept.keeps(5)
    assert not Kept(0, "n", ">", 1).keeps("2")


def test_the_first_order_counts_most() -> None:
    cells = {
        key: {"n": BoundedValue(key=key, value=n, low=None, high=None)}
        for key, n in {(1, "b"): 1, (1, "a"): 1, (0, "c"): 2}.items()
    }
    both = Arrangement(order=(Sorting("n", "n"), Sorting(1, "letter")))
    assert both.shown(cells, list(cells)) == [(1, "a"), (1, "b"), (0, "c")]


def test_a_root_has_the_roots_of_its_bounds_and_is_never_of_what_is_below_zero() -> None:
    cell = BoundedValue(key=(), value=4, low=-1, high=9)
    told = Arrangement(roots=frozenset({"sd"})).told("sd", cell)
    assert (told.value, told.low, told.high) == (2, 0, 3)
    assert Arrangement(roots=frozenset({"other"})).told("sd", cell) is cell


@given(st.fractions(0, 100), st.tuples(st.fractions(0, 10), st.fractions(0, 10)), st.integers(2, 50), st.integers(0, 9))
def test_the_variance_of_a_sample_is_within_its_bounds(middle, around, rows, off) -> None:
    low, high = float(middle - around[0]), float(middle + around[1])
    variance = BoundedValue(key=(), value=float(middle), low=low, high=high)
    counted = BoundedValue(key=(), value=rows, low=rows - off, high=rows + off)
    found = sample_variance(variance, counted)
    assert found.value == pytest.approx(float(middle) * rows / (rows - 1))
    for true_rows in range(max(2, rows - off), rows + off + 1):
        times = true_rows / (true_rows - 1)
        assert found.low <= max(low * times, low) + 1e-9
        assert found.low <= float(middle) * times + 1e-9
        assert high * times <= found.high + 1e-9


@pytest.mark.parametrize(("ends", "told"), [((-4, 8), (-8, 16)), ((-8, -4), (-16, -4.5))])
def test_a_covariance_below_zero_of_a_sample_is_within_its_bounds(ends, told) -> None:
    rows = BoundedValue(key=(), value=5, low=2, high=9)
    found = sample_variance(BoundedValue(key=(), value=None, low=ends[0], high=ends[1]), rows)
    assert (found.low, found.high) == told


@pytest.mark.parametrize(("ends", "told"), [((-0.5, 0.25), (0, 0.25)), ((-0.5, -0.25), (0.0625, 0.25))])
def test_a_square_is_told_of_what_may_be_below_zero(ends, told) -> None:
    cell = BoundedValue(key=(), value=-0.25, low=ends[0], high=ends[1])
    found = Arrangement(squares=frozenset({"r2"})).told("r2", cell)
    assert (found.value, found.low, found.high) == (0.0625, *told)
    assert Arrangement(squares=frozenset({"other"})).told("r2", cell) is cell


def test_the_chance_to_err_of_a_sample_is_shared_with_its_rows() -> None:
    arrangement = Arrangement(samples=frozenset({"v"}))
    confidence = Fraction(95, 100)
    parts = arrangement.confidences("v", confidence)
    assert sum(1 - part for part in parts) == 1 - confidence
    assert arrangement.confidences("other", confidence) == (confidence,)


def test_what_is_rounded_keeps_its_bounds_outside() -> None:
    told = Quotient((("a", Fraction(1)),), digits=1).told(BoundedValue(key=(), value=0.26, low=0.21, high=0.29))
    assert (told.value, told.low, told.high) == (0.3, 0.2, 0.3)
    assert math.isclose(told.high, 0.3)


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ((9, 4, 16), (3, 2, 4)),
        ((1, -3, 4), (1, 0, 2)),
        ((-1, -3, 4), (0, 0, 2)),  # noise: the exact number may have a root
        ((-2, -3, -1), (None, None, None)),  # it has none
        ((None, 0, 4), (None, 0, 2)),
        ((4, None, None), (2, None, None)),
    ],
)
def test_a_root_lies_between_the_roots_of_the_bounds(cell, told) -> None:
    of_root = Quotient((("a", Fraction(1)),), root=True)
    found = of_root.told(BoundedValue(key=(), value=cell[0], low=cell[1], high=cell[2]))
    assert (found.value, found.low, found.high) == told
    rounded = replace(of_root, digits=1).told(BoundedValue(key=(), value=2, low=2, high=2))
    assert (rounded.value, rounded.low, rounded.high) == (1.4, 1.4, 1.5)
    assert of_root.words_with({"a": "avg"}) == "the square root of avg"


def test_words_say_what_is_done_and_nothing_where_nothing_is() -> None:
    assert AS_IT_IS.words == ""
    said = Arrangement(
        order=(Sorting("n", "n", falling=True),),
        having=(Kept("n", "n", ">=", 20),),
        first=3,
        skipped=1,
        made={"share": Quotient((("a", Fraction(1)), ("b", Fraction(-2))), (("n", Fraction(1)),))},
    ).words
    for part in ("sorted by n from the largest", "n >= 20", "the first 3 after 1", "share is (a - 2 * b) over n"):
        assert part in said


def test_a_margin_is_not_promised_for_what_is_computed() -> None:
    with pytest.raises(ParameterError):
        Arrangement(made={"x": Quotient((("a", Fraction(1)),))}).check_within(Fraction(3))
    AS_IT_IS.check_within(Fraction(3))


def test_of_several_the_first_says_the_order() -> None:
    both = arranged_together(
        [Arrangement(first=2, roots=frozenset({"a"})), Arrangement(first=9, samples=frozenset({"b"}))]
    )
    assert (both.first, both.roots, both.samples) == (2, {"a"}, {"b"})
    assert Arrangement(names=(None, "year")).named(("sex", "y")) == ("sex", "year")
