"""Bins that are guessed on Spark: exact at every edge, and guessed only where a guess is off by one at most."""

import math
from datetime import date
from itertools import pairwise

import pyarrow as pa
import pytest

from engines.clinic import clinic
from lapwing.engines.bins import MOST_HALVED, bin_sql, guess_scale
from lapwing.engines.derived_sql import widened_relation
from lapwing.engines.dialect import Writer
from lapwing.engines.emitter import Statement
from lapwing.engines.files import DUCKDB
from lapwing.engines.spark import _PINNED, SPARK, bound
from lapwing.queries.catalogue.domains import DAYS, DOUBLES, INTEGERS, day, day_number, double_at, double_rank

NUMBER = 200
FIRST = day_number(date(1, 1, 1))
EDGES = {
    "of tenths, whose doubles are rounded": (DOUBLES, [double_rank(i * 0.1) for i in range(NUMBER + 1)]),
    "of reals around zero": (DOUBLES, [double_rank((i - 77) * 0.37) for i in range(NUMBER + 1)]),
    "of whole numbers, not all as wide": (INTEGERS, [i * 365 // 100 - 40 for i in range(NUMBER + 1)]),
    "of large numbers, which doubles round": (INTEGERS, [2**62 + 3 * i for i in range(NUMBER + 1)]),
    "of weeks": (DAYS, [day_number(date(2000, 1, 3)) + 7 * i for i in range(NUMBER + 1)]),
    "of the first days": (DAYS, [FIRST + i for i in range(NUMBER + 1)]),
}
STORED = {DOUBLES: pa.float64(), INTEGERS: pa.int64(), DAYS: pa.date32()}
MORE = {
    DOUBLES: [math.inf, -math.inf, math.nan, -0.0, 5e-324, -1.7e308, 1.7e308, None],
    INTEGERS: [INTEGERS.lowest, INTEGERS.highest, None],
    DAYS: [date.min, date.max, None],
}


def bins_of(edges):
    return [(low, after - 1) for low, after in pairwise(edges)]


def value_at(domain, place):
    if domain is DOUBLES:
        return double_at(place)
    return day(place) if domain is DAYS else place


def place_of(domain, value):
    if value is None or (domain is DOUBLES and math.isnan(value)):
        return None
    if domain is DOUBLES:
        return double_rank(value)
    return day_number(value) if domain is DAYS else value


@pytest.mark.parametrize("case", EDGES)
def test_on_spark_a_guessed_bin_is_the_one_that_holds_the_value_at_every_edge(spark, case) -> None:
    domain, edges = EDGES[case]
    bins = bins_of(edges)
    guessed = len(bins) > MOST_HALVED and guess_scale(domain, bins) is not None
    assert guessed == (case != "of large numbers, which doubles round")
    writer = Writer(SPARK, clinic(), {}, widened_relation)
    text = bin_sql(writer, "x", domain, bins)
    assert ("from_json" in text) == guessed
    places = [edge + off for edge in edges for off in (-1, 0, 1) if domain.lowest <= edge + off <= domain.highest]
    values = [*(value_at(domain, place) for place in places), *MORE[domain]]
    session = spark.newSession()
    for setting, value in _PINNED.items():
        session.conf.set(setting, value)
    session.createDataFrame(
        pa.table({"x": pa.array(values, STORED[domain], from_pandas=False)})
    ).createOrReplaceTempView("given")
    asked = Statement(f"SELECT x, {text} AS bin FROM given", tuple(writer.parameters))  # noqa: S608
    found = session.sql(bound(asked)).toArrow().to_pydict()
    assert len(found["bin"]) == len(values)
    for value, told in zip(found["x"], found["bin"], strict=True):
        place = place_of(domain, value)
        held = next((i for i, (low, high) in enumerate(bins) if place is not None and low <= place <= high), None)
        assert told == held, value


@pytest.mark.parametrize(
    "bins",
    [
        bins_of([double_rank(i**2 / 100) for i in range(NUMBER)]),
        bins_of([double_rank(-math.inf), *(double_rank(float(i)) for i in range(NUMBER))]),
        [*bins_of([double_rank(float(i)) for i in range(NUMBER)]), (double_rank(500.0), double_rank(501.0))],
        list(reversed(bins_of([double_rank(float(i)) for i in range(NUMBER)]))),
        bins_of([double_rank(-1.7e308 + i * 1.7e306) for i in range(NUMBER + 1)]),
    ],
    ids=["of growing width", "from minus infinity", "with a gap", "from the last", "as far apart as doubles go"],
)
def test_bins_of_which_a_guess_may_be_further_off_are_found_by_comparing(bins) -> None:
    assert guess_scale(DOUBLES, bins) is None
    assert "from_json" not in bin_sql(Writer(SPARK, clinic(), {}, widened_relation), "x", DOUBLES, bins)


def test_a_guess_may_be_off_by_one_and_not_by_two() -> None:
    edges = [10 * i for i in range(NUMBER)]
    for moved, near in (((1000, 1001, 1020), True), ((1000, 1001, 1002), False), ((1000, 1018, 1019), True)):
        bins = bins_of([*edges[:100], *moved, *edges[103:]])
        assert (guess_scale(INTEGERS, bins) is not None) == near, moved


def test_other_dialects_and_few_bins_compare() -> None:
    bins = bins_of([double_rank(float(i)) for i in range(NUMBER)])
    assert "CASE WHEN x <= " in bin_sql(Writer(DUCKDB, clinic(), {}, widened_relation), "x", DOUBLES, bins)
    few = bin_sql(Writer(SPARK, clinic(), {}, widened_relation), "x", DOUBLES, bins[:MOST_HALVED])
    assert "from_json" not in few
