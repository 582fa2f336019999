"""What derived columns mean on every engine: missing values, people with no rows or several, rows of nobody."""

import math
from datetime import date

import pytest

import lapwing as ask
from engines.clinic import clinic
from engines.workbenches import ENGINES
from lapwing.queries.planning.planner import plan

CLINIC = clinic()
EMPTY = {table.name: [] for table in CLINIC.tables}


@pytest.fixture(scope="module", params=ENGINES)
def bench(request):
    with ENGINES[request.param](CLINIC, request) as bench:
        yield bench


def patient(pid, **columns):
    return {"pid": pid, **dict.fromkeys(c.name for c in CLINIC.table("patients").columns), **columns}


def visit(pid, **columns):
    return {"pid": pid, **dict.fromkeys(c.name for c in CLINIC.table("visits").columns), **columns}


def groups(bench, table, by, where=None, **bounds):
    """The number of people in each group, zeros left out."""
    aggregate = plan(ask.count(table, where, by=by, **bounds), CLINIC).aggregate
    numbers = bench.vector(aggregate).open_for_release()
    return {cell[0]: number for cell, number in zip(aggregate.cells, numbers, strict=True) if number}


def shown(bench, by):
    """The number of people in each group whose key only the data knows."""
    aggregate = plan(ask.count("patients", by=by), CLINIC).aggregate
    return {key[0]: number for key, (number, *_) in bench.keyed(aggregate).open_for_release().items()}


def mean(bench, table, value, where=None, **bounds):
    """The mean and the number of rows, before any noise."""
    planned = plan(ask.mean(table, value, where, **bounds), CLINIC)
    numbers = bench.vector(planned.aggregate).open_for_release()
    (estimate,) = planned.meaning.estimates(planned, numbers).values()
    (scale,) = planned.meaning.scales
    return float(estimate), sum(numbers) // scale.extent


def test_a_looked_up_value_is_the_persons_own_the_least_of_several_and_missing_without_any(bench) -> None:
    patients = [patient(1, sex="M"), patient(1, sex="F"), patient(1), patient(2, sex="é"), patient(None, sex="F")]
    visits = [visit(1), visit(1), visit(2), visit(3), visit(None)]
    bench.load({**EMPTY, "patients": patients, "visits": visits})
    assert groups(bench, "visits", "patients.sex") == {"F": 1, "é": 1, None: 1}


@pytest.mark.parametrize(
    ("column", "values", "least"),
    [
        ("bmi", [math.nan, 30.0, 20.5], "patients.bmi = 20.5"),
        ("bmi", [math.nan, None], "patients.bmi is null"),
        ("bmi", [math.inf, -math.inf], "patients.bmi < -1000"),
        ("born", ["infinity", date(2020, 2, 29), "-infinity"], "patients.born = date '2020-02-29'"),
        ("born", ["0001-12-31 BC"], "patients.born is null"),
        ("smoker", [True, False, None], "not patients.smoker"),
        ("smoker", [None, True], "patients.smoker"),
        ("city", ["é", "a ", "a", "b"], "patients.city = 'a'"),
        ("city", ["Z", "a"], "patients.city = 'Z'"),
        ("age", [2**63 - 1, -(2**63)], "patients.age <= -9223372036854775808"),
        ("ward", [3, -7, 2], "patients.ward = -7"),
    ],
)
def test_the_least_value_is_found_in_the_order_of_its_type_among_those_that_are_known(
    bench, column, values, least
) -> None:
    patients = [patient(1, **{column: value}) for value in values]
    bench.load({**EMPTY, "patients": patients, "visits": [visit(1), visit(1)]})
    asked = plan(ask.count("visits", least), CLINIC).aggregate
    assert bench.number(asked).open_for_release() == 1


def test_how_many_had_none_one_two_or_more_is_one_release(bench) -> None:
    visits = [visit(1, kind="ER")] * 5 + [visit(2, kind="ER")] * 2 + [visit(3, kind="other"), visit(None, kind="ER")]
    bench.load({**EMPTY, "patients": [patient(pid) for pid in (1, 2, 3, 4, None)], "visits": visits})
    question = ask.count("patients", by=ask.number_of("visits", "kind = 'ER'", most=3))
    assert plan(question, CLINIC).sensitivity.l1 == 1
    assert groups(bench, "patients", question.by[0]) == {0: 2, 2: 1, 3: 1}
    binned = ask.bins("number_of(visits, 20)", [0, 1, 3, 20])
    assert groups(bench, "patients", binned) == {(0, 0): 1, (1, 2): 2, (3, 20): 1}


def test_different_values_are_counted_once_each_and_missing_ones_not_at_all(bench) -> None:
    kinds = ["ER", "ER", "other", None, "x"]
    visits = [*(visit(1, kind=kind) for kind in kinds), visit(2, kind=None)]
    bench.load({**EMPTY, "patients": [patient(1), patient(2), patient(3)], "visits": visits})
    assert groups(bench, "patients", "different_of(visits.kind, 9)") == {0: 2, 3: 1}
    assert groups(bench, "patients", "different_of(visits.kind, 2)") == {0: 2, 2: 1}


def test_the_mean_of_a_number_of_rows_is_taken_over_people(bench) -> None:
    visits = [visit(1)] * 4 + [visit(2)] * 2
    bench.load({**EMPTY, "patients": [patient(pid) for pid in (1, 2, 3)], "visits": visits})
    assert mean(bench, "visits", "number_of(visits, 20)") == (3.0, 2)
    assert mean(bench, "patients", "number_of(visits, 20)") == (2.0, 3)


def test_the_sum_of_a_person_is_that_of_all_rows_each_clipped_as_declared(bench) -> None:
    nights = {1: [3, None, 40, -2], 2: [None], 3: [10] * 9}  # declared from 0 to 30, and two rows a person count
    visits = [visit(pid, nights=number, cost=number) for pid, several in nights.items() for number in several]
    bench.load({**EMPTY, "patients": [patient(pid) for pid in (1, 2, 3, 4)], "visits": visits})
    assert groups(bench, "patients", ask.bins("sum_of(visits.nights)", [0, 33, 34, 90, 91])) == {
        (33, 33): 1,
        (90, 91): 1,
        None: 2,
    }
    assert mean(bench, "patients", "sum_of(visits.nights)") == ((33 + 60) / 2, 2)
    assert mean(bench, "patients", "clip(sum_of(visits.nights), 0, 80)") == ((33 + 80) / 2, 2)
    assert mean(bench, "patients", "clip(sum_of(visits.cost, cost < 20), -5, 500)") == ((1 + 90) / 2, 2)


def test_the_mean_of_a_person_is_that_of_all_rows_each_clipped_as_declared(bench) -> None:
    nights = {1: [3, None, 40, -2], 2: [None], 3: [10] * 9, 4: [1, 1, 2]}  # declared from 0 to 30
    visits = [visit(pid, nights=number, cost=number) for pid, several in nights.items() for number in several]
    bench.load({**EMPTY, "patients": [patient(pid) for pid in (1, 2, 3, 4, 5)], "visits": visits})
    found, people = mean(bench, "patients", "mean_of(visits.nights)")
    assert (found, people) == (pytest.approx((11 + 10 + 4 / 3) / 3, abs=1e-5), 3)
    bins = groups(bench, "patients", ask.bins("mean_of(visits.nights)", [0, 10, 11, 30]))
    assert (list(bins.values()), bins[None]) == ([1, 1, 1, 2], 2)
    assert mean(bench, "patients", "mean_of(visits.cost, cost < 3)") == (pytest.approx((-2 + 4 / 3) / 2, abs=1e-5), 2)


def test_first_and_last_are_those_of_days_of_the_calendar(bench) -> None:
    days = [date(2020, 6, 1), "infinity", None, date(2019, 6, 1), "-infinity"]
    visits = [*(visit(1, day=day) for day in days), visit(2, day=None)]
    bench.load({**EMPTY, "patients": [patient(1, born=date(2000, 6, 2)), patient(2), patient(3)], "visits": visits})
    assert groups(bench, "patients", ask.by_year(ask.first_of("visits.day"))) == {(17897, 18261): 1, None: 2}
    assert mean(bench, "patients", "age(born, first_of(visits.day))") == (18.0, 1)
    assert mean(bench, "patients", "clip(last_of(visits.day) - first_of(visits.day), 0, 1000)") == (366.0, 1)


def test_parts_of_a_day(bench) -> None:
    days = [date(2020, 2, 29), date(2021, 12, 31), date.min, date.max, "infinity", None]
    bench.load({**EMPTY, "patients": [patient(i, born=day) for i, day in enumerate(days)]})
    assert groups(bench, "patients", "month(born)") == {1: 1, 2: 1, 12: 2, None: 2}
    assert groups(bench, "patients", "quarter(born)") == {1: 2, 4: 2, None: 2}
    assert groups(bench, "patients", "extract(isodow from born)") == {1: 1, 5: 2, 6: 1, None: 2}
    assert groups(bench, "patients", "extract(day from born)") == {1: 1, 29: 1, 31: 2, None: 2}
    begun = {(18262, 18352): 1, (18901, 18992): 1}
    found = groups(bench, "patients", "date_trunc('quarter', born)", "born between '2019-01-01' and '2022-01-01'")
    assert found == begun
    for text, count in [("date '2020-01-01'", 1), ("date '9999-10-01'", 1), ("date '0001-01-01'", 1)]:
        asked = plan(ask.count("patients", f"date_trunc('quarter', born) = {text}"), CLINIC).aggregate
        assert bench.number(asked).open_for_release() == count


def test_a_text_is_grouped_in_another_spelling_and_a_gap_under_a_name(bench) -> None:
    cities = ["Bern", " bern", "BERN ", "é", "É", "", None]
    bench.load({**EMPTY, "patients": [patient(i, city=city) for i, city in enumerate(cities)]})
    assert shown(bench, "lower(city)") == {"bern": 1, " bern": 1, "bern ": 1, "é": 1, "É": 1, "": 1, None: 1}
    assert shown(bench, "upper(trim(city))") == {"BERN": 3, "é": 1, "É": 1, "": 1, None: 1}
    assert shown(bench, "left(city, 1)") == {"B": 2, " ": 1, "é": 1, "É": 1, "": 1, None: 1}
    assert shown(bench, "coalesce(trim(city), 'unknown')") == {
        "Bern": 1,
        "bern": 1,
        "BERN": 1,
        "é": 1,
        "É": 1,
        "": 1,
        "unknown": 1,
    }


def test_a_condition_is_a_group_of_its_own_and_missing_where_it_is_unknown(bench) -> None:
    ages = [70, 30, None, 10]
    bench.load({**EMPTY, "patients": [patient(i, age=age, smoker=age == 70) for i, age in enumerate(ages)]})
    assert groups(bench, "patients", "age >= 65") == {True: 1, False: 2, None: 1}
    assert groups(bench, "patients", ask.col("age") >= 65) == {True: 1, False: 2, None: 1}
    assert groups(bench, "patients", "age >= 65 or not smoker") == {True: 4}
    assert groups(bench, "patients", "age is null") == {True: 1, False: 3}
    assert mean(bench, "patients", "age >= 65") == (1 / 3, 3)
    assert mean(bench, "patients", "smoker") == (0.25, 4)
    assert mean(bench, "patients", "smoker::int") == (0.25, 4)


def test_a_constant_stands_for_what_is_missing_in_a_mean(bench) -> None:
    bmis = [20.0, None, math.nan, 30.5]
    bench.load({**EMPTY, "patients": [patient(i, bmi=bmi, age=None) for i, bmi in enumerate(bmis)]})
    assert mean(bench, "patients", "coalesce(bmi, 5.5)") == (15.375, 4)
    assert mean(bench, "patients", "coalesce(age, 7) + 1") == (8.0, 4)


def test_a_case_takes_the_first_branch_that_is_true_and_unknown_is_not(bench) -> None:
    bench.load({**EMPTY, "patients": [patient(i, age=age) for i, age in enumerate([70, 30, None, 10])]})
    case = "case when age >= 65 then 'old' when age >= 18 then 'adult' when age is null then null else 'young' end"
    assert groups(bench, "patients", case) == {"old": 1, "adult": 1, "young": 1, None: 1}
    assert groups(bench, "patients", "case when not age >= 65 then 7 else 0 end") == {0: 2, 7: 2}


def test_a_case_may_compare_the_rows_of_a_person_with_the_row(bench) -> None:
    born, day = date(1980, 5, 6), date(2001, 2, 3)
    people = [patient(i, born=born, age=40) for i in range(3)]
    bench.load({**EMPTY, "patients": people, "visits": [visit(0, day=day), visit(0, day=day), visit(1)]})
    case = "case when has(visits, visits.day > patients.born) then 'seen' else 'new' end"
    assert groups(bench, "patients", case) == {"seen": 1, "new": 2}
    assert groups(bench, "patients", "case when has(visits, visits.nights <= patients.age) then 1 else 0 end") == {0: 3}


def test_steps_and_arithmetic_are_computed_on_clipped_values(bench) -> None:
    ages = [0, 9, 10, 119, 2**63 - 1, -(2**63), None]
    bench.load({**EMPTY, "patients": [patient(i, age=age) for i, age in enumerate(ages)]})
    steps = groups(bench, "patients", "floor(age / 10) * 10")
    assert steps == {(0, 9): 2, (10, 19): 1, (110, 119): 1, None: 1}
    asked = plan(ask.count("patients", "2 * age - 1 >= 239"), CLINIC).aggregate
    assert bench.number(asked).open_for_release() == 1, "an age is at most 120"
    assert mean(bench, "patients", "floor(age / 50) * 50", "age between 0 and 119") == (25.0, 4)


def test_an_age_at_an_event_is_that_of_the_persons_own_birthday(bench) -> None:
    patients = [patient(1, born=date(2000, 6, 1)), patient(2, born=None)]
    visits = [visit(1, day=date(2018, 5, 31)), visit(1, day=date(2018, 6, 1)), visit(2, day=date(2018, 6, 1)), visit(3)]
    bench.load({**EMPTY, "patients": patients, "visits": visits})
    by = ask.bins("age(patients.born, day)", [0, 18, 120])
    assert groups(bench, "visits", by, max_groups=2) == {(0, 17): 1, (18, 120): 1, None: 2}
    assert mean(bench, "visits", "age(patients.born, day)", max_rows=2) == (17.5, 2)


def test_conditions_on_other_rows_see_derived_columns_too(bench) -> None:
    patients = [patient(1, sex="F"), patient(2, sex="M")]
    visits = [visit(pid, day=date(2020, month, 1)) for pid, month in ((1, 3), (1, 4), (2, 3))]
    bench.load({**EMPTY, "patients": patients, "visits": visits})
    for where, count in [
        ("has(visits, month(day) = 3)", 2),
        ("has(visits, month(day) = 4 and patients.sex = 'F')", 1),
        ("has(visits, day > first_of(visits.day))", 1),
        ("number_of(visits, month(day) = 3 and patients.sex = 'M', 5) = 1", 1),
    ]:
        asked = plan(ask.count("patients", where), CLINIC).aggregate
        assert bench.number(asked).open_for_release() == count, where


def test_declared_values_are_filled_in_and_spelt_in_another_way(bench) -> None:
    visits = [visit(1, kind="ER"), visit(2, kind="surgery"), visit(3, kind=None), visit(4, kind="x")]
    bench.load({**EMPTY, "patients": [patient(i, smoker=s) for i, s in enumerate([True, None])], "visits": visits})
    assert groups(bench, "visits", "lower(kind)", max_groups=1) == {"er": 1, "surgery": 1, None: 2}
    assert groups(bench, "patients", "coalesce(smoker, false)") == {False: 1, True: 1}
    assert groups(bench, "patients", "coalesce(sex, 'unknown')") == {"unknown": 2}


def test_a_fixed_day_stands_for_one_that_is_missing(bench) -> None:
    visits = [visit(1, day=date(2020, 3, 1)), visit(2, day=None), visit(3, day=date(2023, 5, 31))]
    bench.load({**EMPTY, "visits": visits})
    filled = "coalesce(day, date '2021-12-31')"
    assert groups(bench, "visits", f"month({filled})", max_groups=1) == {3: 1, 5: 1, 12: 1}
    assert mean(bench, "visits", f"date '2024-01-01' - {filled}", max_rows=1) == (2347 / 3, 3)
    for where, count in [(f"{filled} = date '2021-12-31'", 1), (f"date '2024-01-01' - {filled} > 700", 2)]:
        asked = plan(ask.count("visits", where), CLINIC).aggregate
        assert bench.number(asked).open_for_release() == count, where
