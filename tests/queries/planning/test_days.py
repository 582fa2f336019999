"""Days and ages in conditions: against the calendar itself, day by day, and the names of whole periods."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.queries.algebra.predicate import InIntervals
from lapwing.queries.catalogue.domains import DAYS, DOUBLES, INTEGERS, TRUTHS, day, day_number, double_rank
from lapwing.queries.language.sql.reader import read_condition
from lapwing.queries.planning.binding import bind
from lapwing.queries.planning.days import Period, ends_of, months_later, period_of, period_words
from lapwing.queries.planning.scope import Scope
from lapwing.vocabulary.errors import BadQuestionError
from queries.asked import PATIENTS, POPULATION

LEAP = date(2020, 2, 29)
NEAR = [LEAP + timedelta(days=n) for n in range(-800, 801)]


def true_for(condition: str, column: str = "born") -> list[date]:
    """Return the days near a 29 February for which a condition about one column of days is true."""
    found = bind(read_condition(condition), Scope(POPULATION, PATIENTS, "p"))
    assert isinstance(found, InIntervals), found
    assert (found.column, found.domain) == (column, DAYS)
    return [one for one in NEAR if any(low <= day_number(one) <= high for low, high in found.intervals)]


def completed_years(born: date, until: date) -> int:
    """Count birthdays: who was born on 29 February has one on 1 March in other years."""
    return until.year - born.year - ((until.month, until.day) < (born.month, born.day))


@pytest.mark.parametrize("at", ["2021-02-28", "2021-03-01", "2024-02-29", "2021-12-31", "2020-02-29"])
@pytest.mark.parametrize("operator", ["=", "<>", "<", "<=", ">", ">="])
def test_an_age_on_a_day_counts_birthdays(operator, at) -> None:
    compare = {"=": int.__eq__, "<>": int.__ne__, "<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__}
    until = date.fromisoformat(at)
    for years in (-1, 0, 1, 4):
        expected = [born for born in NEAR if compare[operator](completed_years(born, until), years)]
        assert true_for(f"age(born, date '{at}') {operator} {years}") == expected


def test_a_year_is_from_its_first_day_to_its_last() -> None:
    assert true_for("year(born) = 2020") == [one for one in NEAR if one.year == 2020]
    assert true_for("year(born) <> 2020") == [one for one in NEAR if one.year != 2020]
    assert true_for("2020 < year(born)") == [one for one in NEAR if one.year > 2020]


def test_days_are_moved_to_one_side() -> None:
    expected = [one for one in NEAR if one + timedelta(days=10) > LEAP]
    for written in (
        "born + interval 10 day > date '2020-02-29'",
        "born > date '2020-02-19'",
        "date '2020-02-29' - born < 10",
        "date '2020-02-29' < born + 10",
    ):
        assert true_for(written) == expected


@given(st.dates(date(1, 1, 1), date(9000, 1, 1)), st.integers(-10_000, 10_000))
def test_months_later_is_the_same_day_of_a_month_or_its_last(start, months) -> None:
    wanted = start.year * 12 + start.month - 1 + months
    if wanted < 12:
        with pytest.raises(BadQuestionError, match="outside the years 1 to 9999"):
            months_later(start, months)
        return
    found = months_later(start, months)
    assert found.year * 12 + found.month - 1 == wanted
    shorter = found != date.max and (found + timedelta(days=1)).day == 1
    assert found.day == start.day or (found.day < start.day and shorter)


def test_the_end_of_the_calendar_is_no_error_of_its_own() -> None:
    with pytest.raises(BadQuestionError, match="outside the years 1 to 9999"):
        months_later(date(9999, 12, 31), 1)
    assert period_of(DAYS, (day_number(date(9999, 1, 1)), day_number(date.max))) is Period.YEAR


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        ("2024-01-01", "2024-12-31", 2024),
        ("2024-04-01", "2024-06-30", "2024-Q2"),
        ("2024-02-01", "2024-02-29", "2024-02"),
        ("2023-02-01", "2023-02-28", "2023-02"),
        ("2024-02-01", "2024-02-28", None),
        ("2024-02-01", "2024-04-30", None),
        ("2024-01-02", "2024-12-31", None),
    ],
)
def test_whole_periods_have_names(first, last, words) -> None:
    interval = tuple(day_number(date.fromisoformat(one)) for one in (first, last))
    assert period_words(DAYS, interval) == words
    assert period_words(INTEGERS, interval) is None


def test_the_ends_of_a_bin_are_of_its_kind() -> None:
    assert ends_of(DAYS, (0, 1)) == (day(0), day(1))
    assert ends_of(TRUTHS, (0, 1)) == (False, True)
    assert ends_of(INTEGERS, (-3, 4)) == (-3, 4)
    assert ends_of(DOUBLES, (double_rank(0.1), double_rank(0.3))) == (0.1, 0.3)
    assert ends_of(DOUBLES, (double_rank(0.1), double_rank(0.3) - 1)) == (0.1, 0.3)
