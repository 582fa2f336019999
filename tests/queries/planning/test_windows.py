"""Windows over released numbers: the same as a database computes from them, and bounds that hold."""

import math
from fractions import Fraction

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from engines.clinic import clinic
from lapwing.answers.computed_columns import computed_columns
from lapwing.answers.releases import PricedQuestion
from lapwing.answers.target import parse_target, release_together
from lapwing.queries.planning.plan import BoundedValue
from lapwing.queries.planning.planner import plan_together
from lapwing.queries.planning.windows import AnswerWindow, PlaceInOrder, Ranking, Sorting
from lapwing.queries.statements.select import read_sql
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.guarantee import PureDP

CLINIC = clinic()
CONFIDENCE = Fraction(95, 100)
FRAMES = {
    "": {"first": None, "last": 0, "peers": True},
    "rows between unbounded preceding and current row": {"first": None, "last": 0},
    "rows between 2 preceding and 1 following": {"first": -2, "last": 1},
    "rows between 1 following and unbounded following": {"first": 1, "last": None},
    "rows between 3 preceding and 2 preceding": {"first": -3, "last": -2},
}
ROWS = st.dictionaries(st.tuples(st.sampled_from("ab"), st.integers(0, 5)), st.integers(-3, 3), min_size=1, max_size=9)


def cells_of(rows):
    return {key: {"n": BoundedValue(key=key, value=n, low=n - 1, high=n + 1)} for key, n in rows.items()}


def in_duckdb(rows, expression):
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("create table t (a text, b int, n int)")
        connection.executemany("insert into t values (?, ?, ?)", [(*key, n) for key, n in rows.items()])
        return {(a, b): value for a, b, value in connection.execute(f"select a, b, {expression} from t").fetchall()}  # noqa: S608


@given(ROWS, st.sampled_from(list(FRAMES)), st.booleans(), st.booleans(), st.booleans())
def test_a_sum_over_rows_is_what_a_database_computes(rows, frame, parted, falling, mean) -> None:
    over = f"{'partition by a' if parted else ''} order by b {'desc' * falling}, a {'desc' * falling} {frame}"
    theirs = in_duckdb(rows, f"{'avg' if mean else 'sum'}(n) over ({over})")
    order = (Sorting(1, "b", falling=falling), Sorting(0, "a", falling=falling))
    window = AnswerWindow(column="n", partition=(0,) if parted else (), order=order, mean=mean, **FRAMES[frame])
    cells = cells_of(rows)
    held = window.groups(cells, list(cells))
    ours = window.sums({key: cell["n"] for key, cell in cells.items()}, held)
    forms = window.forms({key: {place: Fraction(1)} for place, key in enumerate(cells)}, held)
    released = list(rows.values())
    for key, value in theirs.items():
        assert (ours[key].value is None) == (value is None) == (key not in forms)
        if value is not None:
            assert math.isclose(float(ours[key].value), float(value), abs_tol=1e-9)
            assert sum(weight * released[place] for place, weight in forms[key].items()) == ours[key].value
            wide = 1 if mean else len(held[key])
            assert (ours[key].value - ours[key].low, ours[key].high - ours[key].value) == (wide, wide)


@given(ROWS)
def test_peers_of_the_last_row_are_in_its_frame(rows) -> None:
    theirs = in_duckdb(rows, "sum(n) over (order by b)")
    window = AnswerWindow(column="n", order=(Sorting(1, "b"),), first=None, last=0, peers=True)
    cells = cells_of(rows)
    ours = window.sums({key: cell["n"] for key, cell in cells.items()}, window.groups(cells, list(cells)))
    assert {key: cell.value for key, cell in ours.items()} == theirs


@given(ROWS, st.sampled_from(["rank", "dense_rank"]), st.booleans(), st.booleans())
def test_a_place_is_what_a_database_computes(rows, function, parted, falling) -> None:
    over = f"{'partition by a' if parted else ''} order by n {'desc' * falling}"
    theirs = in_duckdb(rows, f"{function}() over ({over})")
    ranked = PlaceInOrder(
        ranking=Ranking(function), order=(Sorting("n", "n", falling=falling),), partition=(0,) if parted else ()
    )
    found = ranked.places(cells_of(rows), list(rows))
    assert {cell.key: cell.value for cell in found} == theirs


@given(ROWS, st.lists(st.fractions(-1, 1), min_size=9, max_size=9), st.sampled_from(list(Ranking)), st.booleans())
def test_the_bounds_of_a_place_hold_wherever_those_of_the_numbers_do(rows, moved, ranking, falling) -> None:
    ranked = PlaceInOrder(ranking=ranking, order=(Sorting("n", "n", falling=falling),))
    told = {cell.key: cell for cell in ranked.places(cells_of(rows), list(rows))}
    exact = dict(zip(rows, (n + off for n, off in zip(rows.values(), moved, strict=False)), strict=True))
    for cell in ranked.places(cells_of(exact), list(exact)):
        assert told[cell.key].low <= cell.value <= told[cell.key].high


def priced(text):
    asked = read_sql(text)
    plans = plan_together(asked, CLINIC)
    releases = release_together(asked, plans, CLINIC, parse_target(epsilon="0.5"), PureDP(epsilon=10))
    return PricedQuestion(releases=releases, arrangement=asked.arrangement)


def by_ward(column):
    return priced(f"select ward, {column} as r from patients group by ward")  # noqa: S608 - no text of anybody else


def columns_of(asked, numbers):
    by_column = asked.by_column([numbers])
    table = {}
    for name in asked.releases:
        for cell in asked.values(name, by_column[name], CONFIDENCE):
            table.setdefault(cell.key, {})[name] = cell
    plan = next(asked.several()).plan
    found = {}
    for name, cells in computed_columns(asked, by_column, table, plan.in_order(list(table)), CONFIDENCE):
        found[name] = {cell.key: cell for cell in cells}
    return found


WINDOWS = {
    "share": "count(*) / sum(count(*)) over ()",
    "running": "sum(count(*)) over (order by ward)",
    "more": "count(*) - lag(count(*)) over (order by ward)",
    "largest": "sum(count(*)) over (order by count(*) desc)",
}


@pytest.mark.parametrize("name", WINDOWS)
def test_bounds_hold_in_all_rows_at_once(name) -> None:
    asked = by_ward(WINDOWS[name])
    exact = np.array([400, 90, 30, 7][: asked.numbers] + [50] * (asked.numbers - 4))
    (source,) = asked.sources
    rounds, inside = 150, 0
    for _ in range(rounds):
        released = source.release(exact)
        told = columns_of(asked, released)["r"]
        if name == "largest":  # the true sum over the groups that noise put up to this one
            order = sorted(range(len(exact)), key=lambda place: -released[place])
            keys = list(source.plan.aggregate.cells)
            truth = {keys[place]: sum(exact[each] for each in order[: order.index(place) + 1]) for place in order}
            ties = len(set(released)) < len(released)
        else:
            truth, ties = {key: cell.value for key, cell in columns_of(asked, list(exact))["r"].items()}, False
        bounded = [(cell, truth[key]) for key, cell in told.items() if cell.low is not None]
        assert len(bounded) >= len(told) - 1  # nothing is before the first
        inside += ties or all(cell.low <= true <= cell.high for cell, true in bounded)
    assert binom.cdf(inside, rounds, 0.95) > 1e-6


def test_bounds_that_are_too_narrow_by_a_half_would_be_noticed() -> None:
    asked = by_ward(WINDOWS["running"])
    exact = np.array([400] * asked.numbers)
    truth = {key: cell.value for key, cell in columns_of(asked, list(exact))["r"].items()}
    rounds, inside = 150, 0
    for _ in range(rounds):
        told = columns_of(asked, asked.sources[0].release(exact))["r"]
        inside += all(2 * abs(cell.value - truth[key]) <= cell.high - cell.value for key, cell in told.items())
    assert binom.cdf(inside, rounds, 0.95) < 1e-6


def test_a_window_costs_nothing_and_asks_for_nothing_more() -> None:
    plain = by_ward("count(*)")
    for column in (*WINDOWS.values(), "rank() over (order by count(*))"):
        assert by_ward(column).text == plain.text
        assert by_ward(column).price == plain.price


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("select ward, sum(count(*)) over (partition by count(*)) from patients group by 1", "PARTITION BY"),
        ("select ward, lag(count(*)) over () from patients group by 1", "needs an order"),
        ("select ward, rank() over () from patients group by 1", "needs an order"),
        (
            "select ward, sum(count(*)) over (rows between 1 preceding and current row) from patients group by 1",
            "frame",
        ),
        ("select ward, sum(count(*)) over (order by age) from patients group by 1", "a window names groups"),
        ("select ward, max(count(*)) over () from patients group by 1", "window"),
        ("select ward, sum(age) over (order by ward) from patients group by 1", "never shown"),
        ("select sum(count(*)) over () from patients", "window"),
    ],
)
def test_what_no_window_of_answers_is_is_refused(text, words) -> None:
    with pytest.raises(BadQuestionError, match=words):
        read_sql(text)


def test_a_margin_cannot_be_promised_for_what_is_computed() -> None:
    for column in ("rank() over (order by count(*))", "sum(count(*)) over ()"):
        arrangement = by_ward(column).arrangement
        with pytest.raises(ParameterError, match="within"):
            arrangement.check_within(Fraction(5))
