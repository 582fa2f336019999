"""What every engine promises: the same whole numbers as the oracle, for every question, over data made to hurt.

Each test runs on every engine of `workbenches.ENGINES`. The hand-made cases say what a meaning *is*; the generated ones
say that all engines share it.
"""

import math
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engines.clinic import clinic, rows_of_anyone
from engines.rows_in_memory import RowsInMemory
from engines.workbenches import ENGINES
from lapwing.queries import asking as ask
from lapwing.queries.catalogue import KeyType
from lapwing.queries.planning import plan
from lapwing.vocabulary.sensitive import Sensitive
from queries.asked import QUESTIONS

CLINIC, TEXT_KEYS = clinic(), clinic(KeyType.TEXT, salt=7)
EMPTY = {table.name: [] for table in CLINIC.tables}


@pytest.fixture(scope="module", params=ENGINES)
def bench(request):
    with ENGINES[request.param](CLINIC) as bench:
        yield bench


def patient(pid, **columns):
    return {"pid": pid, **dict.fromkeys(c.name for c in CLINIC.table("patients").columns), **columns}


def visit(pid, **columns):
    return {"pid": pid, **dict.fromkeys(c.name for c in CLINIC.table("visits").columns), **columns}


def code(pid, **columns):
    return {"patient": pid, **dict.fromkeys(c.name for c in CLINIC.table("codes").columns), **columns}


def numbers(bench, question, population=CLINIC):
    aggregate = plan(question, population).aggregate
    answer = bench.keyed(aggregate) if aggregate.cells is None else bench.vector(aggregate)
    assert isinstance(answer, Sensitive)
    return answer.open_for_release()


def people(bench, where, patients=(), visits=(), codes=()):
    bench.load({"patients": list(patients), "visits": list(visits), "codes": list(codes)})
    (number,) = numbers(bench, ask.count("patients", where))
    return number


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "rows"])
@pytest.mark.parametrize("population", [CLINIC, TEXT_KEYS], ids=["integer keys", "text keys"])
def test_engines_agree_with_the_oracle_on_generated_plans(name, population) -> None:
    asked = 0
    with ENGINES[name](population) as bench:

        @settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
        @given(rows_of_anyone(population), st.lists(QUESTIONS, min_size=4, max_size=8))
        def agree(tables, questions) -> None:
            nonlocal asked
            oracle = RowsInMemory(population, tables)
            bench.load(tables)
            for question in questions:
                asked += 1
                assert numbers(bench, question, population) == numbers(oracle, question, population)

        agree()
    assert asked >= 200


def test_a_person_counts_once_however_many_rows_they_have(bench) -> None:
    assert people(bench, None, [patient(1), patient(1), patient(2)]) == 2


def test_rows_without_a_person_never_count(bench) -> None:
    assert people(bench, None, [patient(None), patient(None), patient(1)]) == 1


def test_rows_without_a_person_make_nobody_eligible(bench) -> None:
    assert people(bench, "has(visits)", [patient(None), patient(1)], [visit(None)]) == 0
    assert people(bench, "not has(visits, kind = 'ER', 2)", [patient(1)], [visit(None, kind="ER")] * 2) == 1


def test_empty_tables_answer_zero_in_every_cell(bench) -> None:
    bench.load(EMPTY)
    assert numbers(bench, ask.count("patients", by="sex")) == (0, 0, 0, 0)
    assert numbers(bench, ask.total("visits", "cost")) == (0,)
    assert numbers(bench, ask.mean("visits", "cost")) == (0, 0)
    assert numbers(bench, ask.funnel("patients", ["smoker", "age > 3"])) == (0, 0, 0)
    assert numbers(bench, ask.count("patients", by="city")) == {}


@pytest.mark.parametrize(
    ("where", "counted"),
    [
        ("age < 18", 1),
        ("not (age < 18)", 1),
        ("age is null", 1),
        ("age is not null", 2),
        ("not (age < 18) or age is null", 2),
        ("not (age < 18 and age > 20)", 2),
        ("age <> 10", 1),
        ("age not in (10, 11)", 1),
        ("age < 1180591620717411303424", 2),
        ("age > 17.5", 1),
        ("age = 17.5", 0),
        ("age <> 17.5", 2),
    ],
)
def test_a_missing_value_is_neither_true_nor_false(bench, where, counted) -> None:
    assert people(bench, where, [patient(1, age=10), patient(2, age=40), patient(3)]) == counted


@pytest.mark.parametrize(
    ("where", "counted"),
    [
        ("bmi is null", {"nan", "none"}),
        ("bmi is not null", {"inf", "-inf", "zero", "-zero"}),
        ("bmi > 0", {"inf"}),
        ("bmi >= 0", {"inf", "zero", "-zero"}),
        ("bmi = 0", {"zero", "-zero"}),
        ("bmi <> 0", {"inf", "-inf"}),
        ("not (bmi > 0)", {"-inf", "zero", "-zero"}),
        ("bmi < 0", {"-inf"}),
        ("bmi < 1e99", {"-inf", "zero", "-zero"}),
        ("bmi in (0, 1)", {"zero", "-zero"}),
    ],
)
def test_not_a_number_is_missing_and_infinities_are_numbers(bench, where, counted) -> None:
    values = {"nan": math.nan, "none": None, "inf": math.inf, "-inf": -math.inf, "zero": 0.0, "-zero": -0.0}
    for name, bmi in values.items():
        assert people(bench, where, [patient(1, bmi=bmi)]) == (name in counted), name


def test_values_are_clipped_rounded_half_up_and_summed_on_the_grid(bench) -> None:
    bench.load(
        {
            **EMPTY,
            "patients": [patient(i, bmi=b) for i, b in enumerate([-math.inf, 10 + 1 / 128, 60.5, math.nan, None])],
        }
    )
    assert numbers(bench, ask.total("patients", "bmi")) == (640 + 641 + 3840,)


def test_extreme_integers_are_clipped_and_compared(bench) -> None:
    bench.load({**EMPTY, "codes": [code(1, code=2**63 - 1), code(2, code=-(2**63)), code(3, code=5)]})
    assert numbers(bench, ask.total("codes", "clip(code, -7, 10)", max_rows=1)) == (10 - 7 + 5,)
    assert numbers(bench, ask.count("codes", "code = 9223372036854775807")) == (1,)
    assert numbers(bench, ask.count("codes", "code <= -9223372036854775808")) == (1,)


def test_days_outside_the_calendar_are_missing(bench) -> None:
    days = [date.min, date.max, "infinity", "-infinity", None]
    bench.load({**EMPTY, "patients": [patient(i, born=d) for i, d in enumerate(days)]})
    assert numbers(bench, ask.count("patients", "born is null")) == (3,)
    assert numbers(bench, ask.count("patients", "born >= '2000-01-01'")) == (1,)
    assert numbers(bench, ask.count("patients", "born <> '2000-01-01'")) == (2,)


@pytest.mark.parametrize(
    ("born", "at", "years"),
    [
        (date(2000, 2, 29), date(2001, 2, 28), 0),
        (date(2000, 2, 29), date(2001, 3, 1), 1),
        (date(2000, 2, 29), date(2004, 2, 29), 4),
        (date(2000, 6, 1), date(2020, 5, 31), 19),
        (date(2000, 6, 1), date(2020, 6, 1), 20),
        (date(2000, 6, 2), date(2000, 6, 1), -1),
    ],
)
def test_an_age_is_in_completed_years(bench, born, at, years) -> None:
    patients, visits = [patient(1, born=born)], [visit(1, day=at)]
    inside = f"has(visits, age(patients.born, visits.day) = {years})"
    assert people(bench, inside, patients, visits) == 1
    assert people(bench, f"age(born, date '{at}') = {years}", patients) == 1
    assert people(bench, f"age(born, date '{at}') <> {years}", patients) == 0


def test_text_is_compared_byte_by_byte(bench) -> None:
    texts = ["a", "A", "a ", "é", "e\u0301", ""]
    bench.load({**EMPTY, "patients": [patient(i, city=t) for i, t in enumerate(texts)]})
    for text in texts:
        assert numbers(bench, ask.count("patients", ask.col("city") == text)) == (1,), text
    assert numbers(bench, ask.count("patients", "starts_with(city, 'a')")) == (2,)
    assert numbers(bench, ask.count("patients", by="city")) == {(t,): (1,) for t in texts}


def test_events_of_a_person_are_theirs_and_nobody_elses(bench) -> None:
    patients = [patient(1), patient(2), patient(3)]
    visits = [visit(1, kind="ER"), visit(1, kind="ER"), visit(2, kind="ER"), visit(2, kind="other")]
    assert people(bench, "has(visits, kind = 'ER')", patients, visits) == 2
    assert people(bench, "has(visits, kind = 'ER', 2)", patients, visits) == 1
    assert people(bench, "not has(visits)", patients, visits) == 1
    exists = "exists (select 1 from visits v where v.pid = patients.pid and v.kind = 'ER')"
    assert people(bench, exists, patients, visits) == 2


def test_events_within_days_of_one_another(bench) -> None:
    patients, visits = [patient(1), patient(2)], [visit(1, day=date(2020, 1, 1)), visit(2, day=date(2020, 1, 1))]
    codes = [code(1, day=date(2020, 1, 31)), code(2, day=date(2020, 2, 1))]
    within = "has(visits, has(codes, codes.day between visits.day and visits.day + 30))"
    assert people(bench, within, patients, visits, codes) == 1


def test_a_funnel_puts_each_person_where_their_best_row_stops(bench) -> None:
    rows = [patient(1, smoker=True), patient(1, smoker=True, age=70), patient(2, smoker=False, age=70), patient(3)]
    bench.load({**EMPTY, "patients": rows})
    assert numbers(bench, ask.funnel("patients", ["smoker", "age > 65"])) == (2, 0, 1)


def test_a_total_clips_what_one_person_adds(bench) -> None:
    bench.load({**EMPTY, "visits": [visit(1, nights=30)] * 5 + [visit(2, nights=4)]})
    assert numbers(bench, ask.total("visits", "nights", max_rows=2)) == (60 + 4,)
    assert numbers(bench, ask.count_rows("visits", max_rows=2)) == (2 + 1,)


def test_a_clip_that_is_tighter_than_one_row_clips_the_one_row_of_a_person(bench) -> None:
    bench.load({**EMPTY, "patients": [patient(1, age=100), patient(2, age=7)]})
    aggregate = plan(ask.total("patients", "age"), CLINIC).aggregate
    tight = replace(aggregate, bounding=replace(aggregate.bounding, high=20))
    assert bench.number(tight).open_for_release() == 20 + 7


def test_the_order_of_rows_does_not_matter(bench) -> None:
    visits = [visit(i % 3, kind=kind, nights=i) for i, kind in enumerate(["ER", "surgery", "other"] * 4)]
    asked = [
        ask.count("visits", by="kind", max_groups=1),
        ask.mean("visits", "nights", max_rows=2),
        ask.median("visits", "nights", max_rows=1),
        ask.count_distinct("visits", "kind", max_groups=1),
    ]
    answers = set()
    for turn in (0, 1, 5, 7):
        bench.load({**EMPTY, "visits": visits[turn:] + visits[:turn]})
        answers.add(tuple(numbers(bench, question) for question in asked))
    assert len(answers) == 1


def test_one_number_is_asked_for_where_there_is_one(bench) -> None:
    bench.load({**EMPTY, "patients": [patient(1), patient(2)]})
    assert bench.number(plan(ask.count("patients"), CLINIC).aggregate).open_for_release() == 2
    with pytest.raises(ValueError, match="one number"):
        bench.number(plan(ask.count("patients", by="sex"), CLINIC).aggregate)
    with pytest.raises(ValueError, match="public cells"):
        bench.vector(plan(ask.count("patients", by="city"), CLINIC).aggregate)
    with pytest.raises(ValueError, match="only the data knows"):
        bench.keyed(plan(ask.count("patients"), CLINIC).aggregate)
