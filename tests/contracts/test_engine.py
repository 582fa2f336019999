"""What every engine promises: the same whole numbers as the oracle, for every question, over data made to hurt.

Each test runs on every engine of `workbenches.ENGINES`, and on Spark a second time, over Spark Connect. The hand-made
cases say what a meaning *is*; the generated ones say that all engines share it.
"""

import math
from dataclasses import replace
from datetime import date
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lapwing as ask
from draws import drawn_for
from engines.clinic import HOSTILE, clinic, rows_of_anyone
from engines.rows_in_memory import RowsInMemory
from engines.workbenches import CONNECT, ENGINES
from lapwing.queries.algebra.aggregate import Aggregate, ClippedSumPerPerson, mark, text_number
from lapwing.queries.algebra.predicate import ALWAYS
from lapwing.queries.algebra.term import OnGrid, Rounded
from lapwing.queries.catalogue.column import Column, Text
from lapwing.queries.catalogue.domains import double_at
from lapwing.queries.catalogue.population import KeyType, Population, Table
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.guarantee import PrivacyUnit
from queries.asked import QUESTIONS

BENCHES = ENGINES | CONNECT
CLINIC, TEXT_KEYS = clinic(), clinic(KeyType.TEXT, salt=7)
EMPTY = {table.name: [] for table in CLINIC.tables}


@pytest.fixture(scope="module", params=BENCHES)
def bench(request):
    with BENCHES[request.param](CLINIC, request) as bench:
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


def who(bench, where, patients, visits=(), codes=()):
    """The names of the patients who are counted, which stand in their column city."""
    bench.load({"patients": list(patients), "visits": list(visits), "codes": list(codes)})
    return {name for (name,) in numbers(bench, ask.count("patients", where, by="city"))}


def people(bench, where, patients=(), visits=(), codes=()):
    bench.load({"patients": list(patients), "visits": list(visits), "codes": list(codes)})
    (number,) = numbers(bench, ask.count("patients", where))
    return number


@pytest.mark.parametrize("name", [name for name in BENCHES if name != "rows"])
@pytest.mark.parametrize("population", [CLINIC, TEXT_KEYS], ids=["integer keys", "text keys"])
def test_engines_agree_with_the_oracle_on_generated_plans(name, population, request) -> None:
    asked = 0
    with BENCHES[name](population, request) as bench:

        @drawn_for(name, population.tables[0].key_type)
        @settings(max_examples=bench.corpus, deadline=None, suppress_health_check=[HealthCheck.too_slow])
        @given(rows_of_anyone(population), st.lists(QUESTIONS, min_size=5, max_size=8))
        def agree(tables, questions) -> None:
            nonlocal asked
            oracle = RowsInMemory(population, tables)
            bench.load(tables)
            for question in questions:
                asked += 1
                assert numbers(bench, question, population) == numbers(oracle, question, population)

        agree()
    assert asked >= 5 * bench.corpus  # for each of the two populations


@pytest.mark.parametrize(
    ("where", "counted"),
    [
        (ask.col("age").is_in([3 * i for i in range(400)]), {"three", "far"}),
        (~ask.col("age").is_in([3 * i for i in range(400)]), {"one"}),
        (ask.col("age").is_in([*range(0, 5000, 7), *range(10**6, 10**6 + 5000)]), {"far", "million"}),
        (~ask.col("city").is_in([f"{i}" for i in range(100)] + ["one", "'", '"']), {"three", "far", "none", "\\"}),
        (ask.has("codes", ask.col("code").is_in([5 * i for i in range(300)])), {"three"}),
        (~ask.has("codes", ~ask.col("code").is_in([5 * i for i in range(300)])), {"three", "one", "none", "\\"}),
    ],
    ids=range(6),
)
def test_a_long_list_of_values_is_looked_up(bench, where, counted) -> None:
    ages = {"three": 3, "one": 1, "far": 1197, "none": None, "\\": None}
    if "million" in counted:
        ages |= {"million": 10**6 + 4999, "far": 7 * 100}
    patients = [patient(i, city=name, age=age) for i, (name, age) in enumerate(ages.items())]
    assert who(bench, where, patients, codes=[code(0, code=10), code(0, code=10), code(2, code=11)]) == counted


def test_a_long_list_of_texts_is_taken_letter_for_letter(bench) -> None:
    odd = ["", " ", "'", '"', "\\", "\\n", "a,b", "é", "e\u0301", "\U0001f426", "null", "{}", "]"]
    cities = [*odd, "A,b", "\n", "É", None]
    listed = ask.col("city").is_in([*odd, *(f"{i}" for i in range(100))])
    patients = [patient(i, city=city) for i, city in enumerate(cities)]
    assert people(bench, listed, patients) == len(odd)
    assert people(bench, ~listed, patients) == len(cities) - 1 - len(odd)


def test_a_person_counts_once_however_many_rows_they_have(bench) -> None:
    assert people(bench, None, [patient(1), patient(1), patient(2)]) == 2


def test_rows_without_a_person_never_count(bench) -> None:
    assert people(bench, None, [patient(None), patient(None), patient(1)]) == 1


def test_rows_without_a_person_make_nobody_eligible(bench) -> None:
    assert people(bench, "has(visits)", [patient(None), patient(1)], [visit(None)]) == 0
    assert people(bench, "not has(visits, kind = 'ER', 2)", [patient(1)], [visit(None, kind="ER")] * 2) == 1


def test_a_missing_value_is_no_distinct_value(bench) -> None:
    sexes, cities = ["F", "F", None], ["Bern", None, "Bern"]
    bench.load(
        {**EMPTY, "patients": [patient(i, sex=s, city=c) for i, (s, c) in enumerate(zip(sexes, cities, strict=True))]}
    )
    assert numbers(bench, ask.count_distinct("patients", "sex")) == (1,)
    assert numbers(bench, ask.count_distinct("patients", "city")) == (1,)
    bench.load({**EMPTY, "patients": [patient(1), patient(2)]})
    assert numbers(bench, ask.count_distinct("patients", "city")) == (0,)
    assert numbers(bench, ask.count_distinct("patients", "city", sketch=64)) == (0,)


@pytest.mark.parametrize(("column", "values"), [("city", [f"place {i}" for i in range(90)]), ("age", range(120))])
def test_values_mark_the_same_places_of_a_sketch_everywhere(bench, column, values) -> None:
    bench.load({**EMPTY, "patients": [patient(i, **{column: one}) for i, one in enumerate([*values, *values, None])]})
    planned = plan(ask.count_distinct("patients", column, sketch=64), CLINIC).aggregate
    marks = {mark(planned.salt, 64, text_number(one) if column == "city" else one) for one in values}
    assert bench.number(planned).open_for_release() == len(marks)


def test_numbers_by_keys_that_only_the_data_knows_are_those_of_the_rows_that_count(bench) -> None:
    notes = [("a", 3), ("a", 5), ("b", 7), (None, 2), ("a", None)]
    bench.load({**EMPTY, "visits": [visit(n, note=note, nights=nights) for n, (note, nights) in enumerate(notes)]})
    totals = numbers(bench, ask.total("visits", "nights", by="note", max_rows=2))
    assert totals == {("a",): (8,), ("b",): (7,), (None,): (2,)}
    assert numbers(bench, ask.mean("visits", "nights", by="note", max_rows=2)).keys() == totals.keys()


def test_empty_tables_answer_zero_in_every_cell(bench) -> None:
    bench.load(EMPTY)
    assert numbers(bench, ask.count("patients", by="sex")) == (0, 0, 0, 0)
    assert numbers(bench, ask.total("visits", "cost")) == (0,)
    assert numbers(bench, ask.mean("visits", "cost")) == (0, 0)
    assert numbers(bench, ask.funnel("patients", ["smoker", "age > 3"])) == (0, 0, 0)
    assert numbers(bench, ask.count("patients", by="city")) == {}
    assert numbers(bench, ask.mean("patients", "age", by="city")) == {}


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
    rows = [patient(i, city=name, bmi=bmi) for i, (name, bmi) in enumerate(values.items())]
    assert who(bench, where, rows) == counted


def test_values_are_clipped_rounded_half_up_and_summed_on_the_grid(bench) -> None:
    bench.load(
        {
            **EMPTY,
            "patients": [patient(i, bmi=b) for i, b in enumerate([-math.inf, 10 + 1 / 128, 60.5, math.nan, None])],
        }
    )
    assert numbers(bench, ask.total("patients", "bmi")) == (640 + 641 + 3840,)


@pytest.mark.parametrize("rows", [1, 1000], ids="{} rows a person".format)
def test_products_of_four_are_rounded_down_alike(bench, rows) -> None:
    question = ask.correlation("visits", "cost", "patients.bmi", max_rows=rows)
    assert any(isinstance(term, Rounded) for term in plan(question, CLINIC).aggregate.bounding.terms)
    ends, far = (-50.0, 1000.0, 0.0, 999.0, 333.0), (1e300, -math.inf, 9.99)
    visits = [visit(i % 3, cost=cost) for i, cost in enumerate([*ends, *far, *ends])]
    tables = {"patients": [patient(i, bmi=bmi) for i, bmi in enumerate([10.0, 59.984375, 31.4])], "visits": visits}
    tables["codes"] = []
    bench.load(tables)
    assert numbers(bench, question) == numbers(RowsInMemory(CLINIC, tables), question)


def test_extreme_integers_are_clipped_and_compared(bench) -> None:
    bench.load({**EMPTY, "codes": [code(1, code=2**63 - 1), code(2, code=-(2**63)), code(3, code=5)]})
    assert numbers(bench, ask.total("codes", "clip(code, -7, 10)", max_rows=1)) == (10 - 7 + 5,)
    assert numbers(bench, ask.count("codes", "code = 9223372036854775807")) == (1,)
    assert numbers(bench, ask.count("codes", "code <= -9223372036854775808")) == (1,)


def test_sums_are_wider_than_64_bits(bench) -> None:
    bench.load({**EMPTY, "codes": [code(i, code=2**62) for i in range(2049)]})
    most = 2**52
    bounding = ClippedSumPerPerson(term=OnGrid(column="code", bits=0, low=0, high=most), low=0, high=most, max_cells=1)
    aggregate = Aggregate(table="codes", where=ALWAYS, keys=(), bounding=bounding, salt=0)
    assert bench.number(aggregate).open_for_release() == 2049 * most


WHOLE = "clip(code, -60, 60)"
FUNCTIONS = {
    f"abs({WHOLE} - 7)": lambda x: abs(x - 7),
    f"sign({WHOLE})": lambda x: (x > 0) - (x < 0),
    f"({WHOLE}) // 7": lambda x: math.trunc(Fraction(x, 7)),
    f"({WHOLE}) % 7": lambda x: x - 7 * math.trunc(Fraction(x, 7)),
    f"floor({WHOLE} / 4)": lambda x: x // 4,
    f"ceil({WHOLE} / 4)": lambda x: -(-x // 4),
    f"round({WHOLE} / 4)": lambda x: (x + 2) // 4 if x >= 0 else -((2 - x) // 4),
    f"round({WHOLE}, -1)": lambda x: 10 * ((x + 5) // 10 if x >= 0 else -((5 - x) // 10)),
    f"greatest({WHOLE}, 7)": lambda x: max(x, 7),
    f"least({WHOLE}, -2 * {WHOLE}, 5)": lambda x: min(x, -2 * x, 5),
}


@pytest.mark.parametrize("value", FUNCTIONS)
def test_functions_of_whole_numbers_are_the_same_below_zero(bench, value) -> None:
    given = [*range(-23, 24), -60, 60]
    bench.load({**EMPTY, "codes": [code(i, code=x) for i, x in enumerate(given)]})
    sums = numbers(bench, ask.total("codes", f"200 + {value}", max_rows=1))
    assert sums == (sum(200 + FUNCTIONS[value](x) for x in given),)


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


FAR = "has(codes, codes.day >= visits.day and age(patients.born, codes.day) {})"


@pytest.mark.parametrize(
    ("where", "counted"),
    [
        (f"has(visits, {FAR.format('>= 18')})", {"1", "3"}),
        (f"has(visits, not {FAR.format('>= 18')})", {"2", "3", "4"}),
        (f"has(visits, {FAR.format('>= 18')}, 2)", {"3"}),
        (f"not has(visits, not {FAR.format('>= 18')})", {"1", "5"}),
    ],
    ids=["some", "not some", "two", "no other"],
)
def test_a_row_may_be_compared_with_rows_two_tables_out(bench, where, counted) -> None:
    born, adult, child = date(2000, 6, 1), date(2018, 6, 1), date(2018, 5, 31)
    days = {1: [adult], 2: [child], 3: [adult, adult, date.max], 4: [adult], 5: []}
    patients = [patient(pid, city=str(pid), born=None if pid == 4 else born) for pid in days]
    visits = [visit(pid, day=day) for pid, seen in days.items() for day in seen]
    codes = [code(pid, day=day) for pid, seen in days.items() for day in seen[:1]]
    assert who(bench, where, patients, visits, codes) == counted


def test_a_funnel_puts_each_person_where_their_best_row_stops(bench) -> None:
    rows = [patient(1, smoker=True), patient(1, smoker=True, age=70), patient(2, smoker=False, age=70), patient(3)]
    bench.load({**EMPTY, "patients": rows})
    assert numbers(bench, ask.funnel("patients", ["smoker", "age > 65"])) == (2, 0, 1)


def test_a_total_clips_what_one_person_adds(bench) -> None:
    bench.load({**EMPTY, "visits": [visit(1, nights=30)] * 5 + [visit(2, nights=4)]})
    assert numbers(bench, ask.total("visits", "nights", max_rows=2)) == (60 + 4,)
    assert numbers(bench, ask.count_rows("visits", max_rows=2)) == (2 + 1,)


def test_rows_are_bounded_in_all_groups_together_unless_a_number_of_groups_is_said(bench) -> None:
    seen = [visit(1, kind=kind, nights=nights) for kind in ("ER", "surgery", "other") for nights in range(1, 5)]
    bench.load({**EMPTY, "visits": [*seen, visit(2, kind="ER", nights=9), visit(3, kind="other", nights=1)]})
    assert sum(numbers(bench, ask.count_rows("visits", by="kind", max_rows=3))) == 3 + 1 + 1
    assert sum(numbers(bench, ask.count_rows("visits", by="kind", max_rows=12))) == 12 + 1 + 1
    assert sum(numbers(bench, ask.count_rows("visits", by="kind", max_rows=3, max_groups=2))) == 3 * 2 + 1 + 1
    assert sum(numbers(bench, ask.mean("visits", "nights", by="kind", max_rows=3))) == (3 + 1 + 1) * 30
    assert sum(numbers(bench, ask.total("visits", "nights", by="kind", max_rows=12))) == 3 * (1 + 2 + 3 + 4) + 9 + 1
    assert 3 <= sum(numbers(bench, ask.total("visits", "nights", by="kind", max_rows=3))) - 9 - 1 <= 12


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
        ask.count_distinct("visits", "kind", max_groups=1, sketch=64),
    ]
    answers = set()
    for turn in (0, 5, 7):
        bench.load({**EMPTY, "visits": visits[turn:] + visits[:turn]})
        answers.add(tuple(numbers(bench, question) for question in asked))
    assert len(answers) == 1


def test_hundreds_of_bins_are_exact_at_their_edges(bench) -> None:
    question = ask.count("visits", by=ask.bins("cost", 150), max_groups=1)
    bins = plan(question, CLINIC).aggregate.keys[0].bins
    costs = [double_at(edge + off) for edge, _ in bins for off in (-1, 0, 1)] + [math.inf, -math.inf, math.nan, None]
    tables = {**EMPTY, "visits": [visit(i, cost=cost) for i, cost in enumerate(costs)]}
    bench.load(tables)
    found = numbers(bench, question)
    assert found == numbers(RowsInMemory(CLINIC, tables), question)
    assert sum(number for number in found) > 2 * len(bins)


def test_one_number_is_asked_for_where_there_is_one(bench) -> None:
    bench.load({**EMPTY, "patients": [patient(1), patient(2)]})
    assert bench.number(plan(ask.count("patients"), CLINIC).aggregate).open_for_release() == 2
    with pytest.raises(ValueError, match="one number"):
        bench.number(plan(ask.count("patients", by="sex"), CLINIC).aggregate)
    with pytest.raises(ValueError, match="public cells"):
        bench.vector(plan(ask.count("patients", by="city"), CLINIC).aggregate)
    with pytest.raises(ValueError, match="only the data knows"):
        bench.keyed(plan(ask.count("patients"), CLINIC).aggregate)


def test_the_smallest_numbers_land_on_a_coarse_grid(bench) -> None:
    # PostgreSQL raises where the product of two doubles is too small for one.
    tiny = [5e-324, -5e-324, 0.5, -0.5, 1.0, -1.0, 999.5]
    bench.load({**EMPTY, "patients": [patient(i, bmi=bmi) for i, bmi in enumerate(tiny)]})
    halves = OnGrid(column="bmi", bits=-1, low=-500, high=500)
    bounding = ClippedSumPerPerson(term=halves, low=-500, high=500, max_cells=1)
    aggregate = Aggregate(table="patients", where=ALWAYS, keys=(), bounding=bounding, salt=0)
    assert bench.number(aggregate).open_for_release() == 1 + 0 + 500


INJECTIONS = [
    "'; drop table patients; --",
    "' or 1 = 1 --",
    "\\' or 1=1 --",
    "$1",
    "?",
    "%s",
    ":p0",
    "{x}",
    '"',
    "`",
    "/*",
    "\n;--",
    "\u2019 or 1=1",
    "0x27",
    *HOSTILE,
]


def test_hostile_texts_are_only_texts(bench) -> None:
    bench.load({**EMPTY, "patients": [patient(i, city=text) for i, text in enumerate(INJECTIONS)]})
    city = ask.col("city")
    wheres = [city == text for text in INJECTIONS] + [city.starts_with(text) for text in INJECTIONS]
    cohorts = [plan(ask.count("patients", where), CLINIC).aggregate for where in wheres]
    found = [number.open_for_release() for number in bench.numbers(cohorts, versions={"patients": 1})]
    assert found == [1 for _ in INJECTIONS] + [sum(t.startswith(text) for t in INJECTIONS) for text in INJECTIONS]
    assert [bench.number(cohort).open_for_release() for cohort in cohorts[:4]] == found[:4]
    grouped = plan(ask.count("patients", by=ask.bins("age", [0, 50, 100])), CLINIC).aggregate
    together = bench.vectors([*cohorts[:4], grouped], versions={"patients": 1})
    assert [numbers.open_for_release() for numbers in together] == [
        *((number,) for number in found[:4]),
        bench.vector(grouped).open_for_release(),
    ]
    assert numbers(bench, ask.count("patients", by="city")) == {(text,): (1,) for text in INJECTIONS}


ODD_NAMES = ['we"ird', "a`b", "x; drop table y --", "select", "a b", "a'b", "é", "$1", "%s", "${x}", "r0", "p"]
ODD = Population(
    name="odd",
    unit=PrivacyUnit(person_key="pid"),
    tables=tuple(
        Table(name=name, columns=(Column(name=f"{name} x", type=Text()),), person_key=f"{name} key")
        for name in ODD_NAMES
    ),
)


@pytest.mark.parametrize("name", BENCHES)
def test_odd_names_are_only_names(name, request) -> None:
    with BENCHES[name](ODD, request) as bench:
        bench.load({odd: [{f"{odd} key": i, f"{odd} x": "ab"[i]} for i in range(2)] for odd in ODD_NAMES})
        for odd, other in pairwise(ODD_NAMES):
            where = (ask.col(f"{odd} x") == "a") & ask.has(other, ask.col(f"{other} x") == "a")
            assert numbers(bench, ask.count(odd, where), ODD) == (1,), odd
