"""Bins: which values are in which, at the edges above all."""

from datetime import date
from fractions import Fraction

import pytest

from lapwing import bins, count
from lapwing.queries.catalogue.column import Column, Date, Integer, Real
from lapwing.queries.catalogue.domains import day_number, double_rank
from lapwing.queries.catalogue.population import Population, Table
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.guarantee import PrivacyUnit

CLINIC = Population(
    name="clinic",
    unit=PrivacyUnit(person_key="id"),
    tables=(
        Table(
            name="patients",
            columns=(
                Column(name="age", type=Integer(low=0, high=120)),
                Column(name="bmi", type=Real(low=10, high=60, step="1/4")),
                Column(name="born", type=Date(first=date(1900, 1, 1), last=date(2020, 1, 1))),
            ),
        ),
    ),
)


def bin_of(column, edges, place):
    """The number of the bin that holds a place on the line of the column; None if none does."""
    (key,) = plan(count("patients", by=bins(column, edges)), CLINIC).aggregate.keys
    held = [i for i, (low, high) in enumerate(key.bins) if low <= place <= high]
    assert len(held) <= 1
    return held[0] if held else None


@pytest.mark.parametrize(
    ("age", "expected"), [(-1, None), (0, 0), (17, 0), (18, 1), (64, 1), (65, 2), (120, 2), (121, None)]
)
def test_a_bin_holds_its_lower_edge_and_the_last_one_its_upper_edge_too(age, expected) -> None:
    assert bin_of("age", [0, 18, 65, 120], age) == expected


@pytest.mark.parametrize(("age", "expected"), [(1, None), (2, 0), (3, 0), (4, 1), (6, 1), (7, None)])
def test_an_edge_between_two_whole_numbers_parts_them(age, expected) -> None:
    assert bin_of("age", ["1.5", "3.5", "6.5"], age) == expected


@pytest.mark.parametrize(
    ("bmi", "expected"), [(9.999, None), (10.0, 0), (19.999, 0), (20.0, 1), (60.0, 1), (60.001, None)]
)
def test_so_do_bins_of_real_numbers(bmi, expected) -> None:
    assert bin_of("bmi", [10, 20, 60], Fraction(double_rank(bmi))) == expected


@pytest.mark.parametrize(
    ("day", "expected"), [((1999, 12, 31), 0), ((2000, 1, 1), 1), ((2010, 1, 1), 1), ((2010, 1, 2), None)]
)
def test_so_do_bins_of_days(day, expected) -> None:
    assert bin_of("born", ["1990-01-01", "2000-01-01", "2010-01-01"], day_number(date(*day))) == expected
