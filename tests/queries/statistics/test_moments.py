"""Without noise, answers read from the released numbers are the statistics themselves; with it, they stay in range."""

import itertools
import statistics
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lapwing as ask
from engines.clinic import clinic
from engines.rows_in_memory import RowsInMemory
from lapwing.queries.planning.plan import Scale
from lapwing.queries.planning.planner import plan
from lapwing.queries.statistics.bernstein import Moment, moment
from lapwing.vocabulary.errors import BadQuestionError

CLINIC = clinic()
AGES = st.lists(st.tuples(st.integers(0, 120), st.integers(640, 3840)), min_size=2, max_size=8)


def answers(question, rows):
    blank = dict.fromkeys(c.name for c in CLINIC.table("patients").columns)
    patients = [{"pid": i, **blank, **row} for i, row in enumerate(rows)]
    asked = plan(question, CLINIC)
    numbers = RowsInMemory(CLINIC, {"patients": patients}).vector(asked.aggregate).open_for_release()
    return asked.meaning.estimates(asked, numbers)


@given(AGES)
def test_moments_are_exact_without_noise(rows) -> None:
    ages, bmis = [Fraction(age) for age, _ in rows], [Fraction(bmi, 64) for _, bmi in rows]
    n = len(rows)
    mean_age, mean_bmi = sum(ages) / n, sum(bmis) / n
    together = sum((a - mean_age) * (b - mean_bmi) for a, b in zip(ages, bmis, strict=True)) / n
    assert answers(ask.mean("patients", "bmi"), people(rows)) == {(): mean_bmi}
    assert answers(ask.variance("patients", "age"), people(rows)) == {(): sum((a - mean_age) ** 2 for a in ages) / n}
    assert answers(ask.covariance("patients", "age", "bmi"), people(rows)) == {(): together}


SPREAD = [(0, 640), (120, 3840)]


@given(AGES)
def test_correlations_of_values_that_differ_are_exact_but_for_the_last_step(rows) -> None:
    """A row's products are rounded, and not its values: years in steps of eight would miss by hundredths."""
    ages, bmis = [age for age, _ in SPREAD + rows], [bmi for _, bmi in SPREAD + rows]
    (found,) = answers(ask.correlation("patients", "age", "bmi"), people(SPREAD + rows)).values()
    assert found == pytest.approx(statistics.correlation(ages, bmis), abs=1e-5)


def test_a_correlation_of_one_value_is_none() -> None:
    assert answers(ask.correlation("patients", "age", "bmi"), people([(30, 640), (30, 1280)])) == {(): 0}


def people(rows):
    return [{"age": age, "bmi": bmi / 64} for age, bmi in rows]


def test_counts_totals_and_funnels() -> None:
    three = [{"sex": "F", "age": 70, "smoker": True}, {"sex": "F", "age": 30, "smoker": True}, {"sex": "M", "age": 10}]
    assert answers(ask.count("patients", by="sex"), three) == {("F",): 2, ("M",): 1, ("é",): 0, (None,): 0}
    assert answers(ask.total("patients", "bmi"), [{"bmi": 20.5}, {"bmi": 60.0}]) == {(): Fraction(161, 2)}
    steps = ["smoker", "age > 65", "sex = 'M'"]
    assert answers(ask.funnel("patients", steps), three) == {("smoker",): 2, ("age > 65",): 1, ("sex = 'M'",): 0}


NOISY = st.integers(-(10**6), 10**6)


@given(st.lists(NOISY, min_size=9, max_size=9))
def test_answers_stay_in_range_whatever_the_noise(noise) -> None:
    for question, size, low, high in [
        (ask.mean("patients", "bmi"), 2, 10, 60),
        (ask.variance("patients", "age"), 3, 0, 3600),
        (ask.covariance("patients", "age", "bmi"), 4, -1500, 1500),
        (ask.correlation("patients", "age", "bmi"), 9, -1, 1),
    ]:
        (found,) = plan(question, CLINIC).meaning.estimates(plan(question, CLINIC), noise[:size]).values()
        assert low <= found <= high


def test_a_mean_over_no_rows_is_the_middle() -> None:
    asked = plan(ask.mean("patients", "bmi"), CLINIC)
    assert asked.meaning.estimates(asked, [-5, -9]) == {(): 35}


def test_numbers_that_do_not_fit_the_plan_are_refused() -> None:
    asked = plan(ask.mean("patients", "bmi"), CLINIC)
    with pytest.raises(BadQuestionError, match="do not fit"):
        asked.meaning.estimates(asked, [5])


def test_products_on_a_coarser_grid_move_a_correlation_by_no_more_than_the_grid() -> None:
    """So a statement's corr may differ from the database's in the sixth digit where a product has too many steps.

    Each of nine sums is rounded down by less than one of `unit` steps a row, which moves every average by at most
    9/unit, every covariance by 4 times twice that, and a correlation by 2/variance of it.
    """
    random = np.random.default_rng(77)
    nights = Scale(low=Fraction(0), step=Fraction(1), extent=365)
    cost = Scale(low=Fraction(-51), step=Fraction(1), extent=2051)
    whole = nights.extent**2 * cost.extent**2
    bits = whole.bit_length() - (2**28 // 20).bit_length()
    unit = whole >> bits
    moved = 0.0
    for _ in range(20):
        rows = list(zip(random.integers(0, 31, 40).tolist(), random.integers(50, 1052, 40).tolist(), strict=True))
        exact, rounded = [0] * 9, [0] * 9
        for x, y in rows:
            ones, others = ([(r - v) ** 2, 2 * v * (r - v), v * v] for v, r in ((x, nights.extent), (y, cost.extent)))
            for place, (a, b) in enumerate(itertools.product(ones, others)):
                exact[place] += a * b
                rounded[place] += a * b >> bits
        told, near = (moment(Moment.CORRELATION, (nights, cost), sums) for sums in (exact, rounded))
        x, y = np.array(rows, dtype=float).T / np.array([[nights.extent], [cost.extent]])
        assert told == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-9)
        assert abs(told - near) <= 9 / unit * 4 * 2 * 2 / min(x.var(), y.var())
        moved = max(moved, abs(told - near))
    assert moved > 1e-6  # more than a comparison to six digits forgives
