"""The words for asking in Python are those of SQL: each builds what the other reads."""

from datetime import date

import pytest

from lapwing.queries.language.builders import (
    age,
    as_condition,
    as_groups,
    as_value,
    bins,
    by_year,
    different_of,
    first_of,
    has,
    last_of,
    mean_of,
    number_of,
    sum_of,
)
from lapwing.queries.language.expressions import EVERYONE, Literal, col
from lapwing.queries.language.parts import shape
from lapwing.queries.language.speller import written
from lapwing.queries.language.sql.reader import read_condition, read_group, read_value
from lapwing.vocabulary.errors import LapwingError

SAME = [
    (has("visits"), "has(visits)"),
    (has("visits", "kind = 'ER'", at_least=2), "has(visits, kind = 'ER', 2)"),
    ((col("age") >= 18) & ~(col("sex") == "F"), "age >= 18 and not sex = 'F'"),
    (col("age").between(1, 2) | col("age").is_null(), "age between 1 and 2 or age is null"),
    (col("city").like("B%"), "city like 'B%'"),
    (col("ward").is_in([1, 2]), "ward in (1, 2)"),
]
VALUES = [
    (age("born"), "age(born)"),
    (age("born", date(2024, 1, 1)), "age(born, date '2024-01-01')"),
    (number_of("visits", "nights > 3", most=5), "number_of(visits, nights > 3, 5)"),
    (different_of("visits.kind"), "different_of(visits.kind)"),
    (first_of("visits.day"), "first_of(visits.day)"),
    (last_of("visits.day", "kind = 'ER'"), "last_of(visits.day, kind = 'ER')"),
    (sum_of("visits.cost", "kind = 'ER'"), "sum_of(visits.cost, kind = 'ER')"),
    (mean_of("visits.cost", "kind = 'ER'"), "mean_of(visits.cost, kind = 'ER')"),
    (2 * col("cost") + 1, "2 * cost + 1"),
]


@pytest.mark.parametrize(("built", "text"), SAME, ids=[text for _, text in SAME])
def test_conditions_are_built_as_they_are_read(built, text) -> None:
    assert written(built) == written(read_condition(text))


@pytest.mark.parametrize(("built", "text"), VALUES, ids=[text for _, text in VALUES])
def test_values_are_built_as_they_are_read(built, text) -> None:
    assert written(built) == written(read_value(text))


def test_groups_are_built_as_they_are_read() -> None:
    for built, text in ((bins("age", [0, 18, 65]), "bins(age, 0, 18, 65)"), (by_year("born"), "year(born)")):
        assert written(built) == written(read_group(text)) == text
    assert [written(one) for one in as_groups(["sex", "year(born)"])] == ["sex", "year(born)"]
    assert as_groups(()) == ()


def test_what_is_left_out_is_everyone_and_texts_are_read() -> None:
    assert as_condition(None) is EVERYONE
    assert shape(as_condition("age > 3")) == shape(col("age") > 3)
    assert written(as_value("age")) == "age"
    assert written(as_value(col("age") > 3)) == written(read_value("age > 3"))


@pytest.mark.parametrize(
    "made",
    [
        lambda: has(3),
        lambda: has("visits", at_least=0),
        lambda: bins("age", [3]),
        lambda: first_of("day"),
        lambda: number_of("visits", most=0),
        lambda: bool(col("age") > 3),
        lambda: as_condition(3),
    ],
    ids=range(7),
)
def test_what_means_nothing_is_refused(made) -> None:
    with pytest.raises((LapwingError, TypeError)):
        made()


def test_a_constant_is_a_literal() -> None:
    assert shape((col("age") > 3).right) == shape(Literal(3))
