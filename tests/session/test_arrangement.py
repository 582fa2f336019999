"""ORDER BY, LIMIT and HAVING: computed from what was released, so they are free, said so, and move no number."""

import math

import pytest

from lapwing.session import Session
from lapwing.vocabulary.errors import BadQuestionError

COUNTS = "select sex as s, count(*) as n, avg(age) from patients group by 1"


def rows(clinic: Session, text: str) -> list[dict]:
    return clinic.sql(text, epsilon=1).to_rows()


def test_the_same_question_in_another_order_is_free_and_has_the_same_numbers(clinic) -> None:
    first = clinic.sql(COUNTS, epsilon=1)
    again = clinic.sql(f"{COUNTS} order by n desc", epsilon=1)
    assert (first.free, again.free) == (False, True)
    assert again.to_rows() == sorted(first.to_rows(), key=lambda row: -row["n"])
    assert again.receipt == first.receipt


def test_rows_are_sorted_cut_and_kept_by_released_numbers(clinic) -> None:
    everything = rows(clinic, COUNTS)
    by_number = sorted(everything, key=lambda row: row["n"])
    assert rows(clinic, f"{COUNTS} order by 2 limit 1") == by_number[:1]
    assert rows(clinic, f"{COUNTS} order by count(*) limit 1 offset 1") == by_number[1:2]
    assert rows(clinic, f"{COUNTS} order by sex desc") == sorted(
        everything, key=lambda row: (row["s"] is not None, row["s"] or ""), reverse=True
    )
    assert rows(clinic, f"{COUNTS} order by s nulls first")[0] == everything[-1 if everything[-1]["s"] is None else 0]
    least = by_number[1]["n"]
    assert rows(clinic, f"{COUNTS} having n >= {least}") == [row for row in everything if row["n"] >= least]
    assert rows(clinic, f"{COUNTS} having {least} > n and avg(age) <= 10000") == [
        row for row in everything if row["n"] < least
    ]
    assert rows(clinic, f"{COUNTS} limit 0") == []


def test_the_preview_says_what_is_done_with_the_numbers(clinic) -> None:
    asked = clinic.preview(f"{COUNTS} having n >= 20 order by n desc, s limit 5 offset 2", epsilon=1).asked
    assert asked.words.endswith(
        "; of the released numbers, with their noise, which costs nothing: kept where n >= 20, sorted by n from the "
        "largest, s, the first 5 after 2"
    )
    assert clinic.preview(COUNTS, epsilon=1).asked.text == asked.text


@pytest.mark.parametrize(
    ("text", "why"),
    {
        f"{COUNTS} order by 4": "write a number from 1 to 3",
        f"{COUNTS} having n > age": "HAVING compares with a constant",
        f"{COUNTS} having n > 3 or n < 2": "joined by and",
        "select count(*) from patients having count(*) > 3": "HAVING is about groups",
        "select sex, count(*) from patients group by 2": "names a statistic",
        "select x.sex, count(*) from patients p group by sex": "there is no table 'x' here; there is p",
    }.items(),
)
def test_what_is_not_told_sorts_nothing(clinic, text, why) -> None:
    with pytest.raises(BadQuestionError, match=why):
        clinic.preview(text, epsilon=1)


def test_a_standard_deviation_is_the_root_of_a_variance(clinic) -> None:
    variance = clinic.sql("select var_pop(age) from patients", epsilon=1)
    deviation = clinic.sql("select stddev_pop(age) as s from patients", epsilon=1)
    assert deviation.free
    assert deviation.value == math.sqrt(variance.value)
    assert deviation.interval() == tuple(map(math.sqrt, variance.interval()))
    assert "the square root of the variance is told as s" in deviation.asked.words


def test_statistics_of_different_kinds_stand_in_one_row(clinic) -> None:
    answer = clinic.sql("select count(*) as n, avg(age), median(age), count(distinct sex) from patients", epsilon=8)
    (row,) = answer.to_rows()
    assert (answer.keys, answer.columns) == ((), ("n", "avg", "median", "count"))
    assert row["n_low"] <= row["n"] <= row["n_high"]
    assert 0 <= row["median"] <= 120
    again = clinic.sql("select count(*) as n from patients", epsilon=2)
    assert not again.free, "it is a part of another question, and not asked by itself"
