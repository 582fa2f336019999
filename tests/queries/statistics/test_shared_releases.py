"""What is asked together and shares a release is paid for once, and means what it would mean alone."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lapwing as ask
from draws import drawn_for
from engines.clinic import clinic, rows_of_anyone
from engines.neighbours import cells, excess, moves, neighbours, replacements
from engines.workbenches import ENGINES
from lapwing.answers.releases import ReadColumn
from lapwing.answers.target import parse_target, release_together
from lapwing.queries.algebra.predicate import every
from lapwing.queries.catalogue.column import Integer
from lapwing.queries.planning import planner
from lapwing.queries.planning.planner import Planner, plan_together
from lapwing.queries.statements.select import read_sql
from lapwing.queries.statistics import shared_releases as sharing
from lapwing.queries.statistics.counts import People
from lapwing.queries.statistics.moments import Moments
from lapwing.queries.statistics.postprocessing import (
    PartAlone,
    PartsTogether,
    RowsOfAll,
    RowsOfSums,
    TotalOfSums,
    WeightedSums,
)
from lapwing.queries.statistics.shared_releases import apart, share, within
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.guarantee import Adjacency, PureDP
from queries.asked import POPULATION, conditions

CLINIC, REPLACED = clinic(), clinic(adjacency=Adjacency.REPLACE)
SLOW = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
PATIENTS, VISITS, _ = POPULATION.tables
MANY = 20
"""More rows than anybody has: then it does not matter in how many parts these are."""


def shared(asked, population=CLINIC):
    """Return the plans of what is asked, and what of it is released together."""
    asked = read_sql(asked, max_rows=MANY).questions if isinstance(asked, str) else asked
    plans = plan_together(asked, population)
    return plans, share(asked, plans, population)


def releases(text, population=CLINIC, **offer):
    asked = read_sql(text, max_rows=MANY).questions
    plans = plan_together(asked, population)
    offer = offer or {"epsilon": 1}
    return release_together(asked, plans, population, parse_target(**offer), PureDP(epsilon=10))


@pytest.mark.parametrize(
    ("numbers", "columns", "moved", "alone", "better"),
    [
        (2, 2, (1, 1), (1, 1), True),
        (3, 2, (1, 1), (1, 1), False),  # the root of 3 is more than that of 2, by which Gaussian noise grows
        (4, 4, (1, 1), (1, 1), True),
        (1, 2, (2, 2), (1, 1), True),
        (1, 2, (3, 2), (1, 1), False),
        (1, 2, (1, 3), (1, 1), False),
        (2, 2, (2, 1), (1, 1), False),
        (1, 2, (3, 4), (2, 2), True),
    ],
)
def test_a_release_is_shared_where_no_column_has_more_noise_than_for_its_share(
    numbers, columns, moved, alone, better
) -> None:
    """Noise is that of `numbers` numbers; sensitivities are (l1, l2 squared), of the release and of a column alone."""

    def moving(l1, l2_squared):
        return SimpleNamespace(sensitivity=SimpleNamespace(l1=l1, l2_squared=l2_squared))

    plans = {str(column): moving(*alone) for column in range(columns)}
    readings = {**dict.fromkeys(plans, People()), "0": PartsTogether(frozenset(range(numbers)))}
    assert sharing._is_better(moving(*moved), plans, readings) is better


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("select count(*) filter (where sex = 'F') f, count(*) filter (where sex = 'M') m from patients", [1, 1]),
        ("select sum(case when age < 18 then 1 else 0 end) a, count_if(age >= 18) b from patients", [1, 1]),
        ("select count(*) filter (where smoker) a, count(*) filter (where not smoker) b from patients", [1, 1]),
        ("select count(*) filter (where age is null) a, count(*) filter (where age > 3) b from patients", [1, 1]),
        ("select count(*) filter (where sex = 'F') a, count(*) n from patients", [1, 2]),
        (
            "select count(*) filter (where age > 60) a, count(*) filter (where age > 40) b, count(*) n from patients",
            [1, 2, 3],
        ),
        ("select count(*) filter (where age > 60) a, count(*) filter (where sex = 'F') b from patients", [2, 2]),
        (
            "select count(*) filter (where has(visits)) a, count(*) filter (where not has(visits)) b from patients",
            [1, 1],
        ),
        (
            (
                "select count(*) filter (where sex = 'F' and age > 9) a, "
                "count(*) filter (where not (sex = 'F' and age > 9)) b from patients"
            ),
            [1, 1],
        ),
        ("select count(*) filter (where kind = 'ER') a, count(*) filter (where kind <> 'ER') b from visits", [1, 1]),
        (
            "select avg(nights) filter (where kind = 'ER') a, avg(nights) filter (where kind = 'other') b from visits",
            [1, 1],
        ),
        ("select sum(age) filter (where sex = 'F') a, sum(age) filter (where sex = 'M') b from patients", [1, 1]),
        (
            (
                "select count(distinct pid) filter (where patients.sex = 'F') a, "
                "count(distinct pid) filter (where patients.sex = 'M') b from visits"
            ),
            [1, 1],
        ),
    ],
)
def test_counts_of_parts_are_one_release(text, parts) -> None:
    plans, (one,) = shared(text)
    assert list(one.readings) == list(plans)
    told = [len(one.parts) if isinstance(one, PartsTogether) else 1 for one in one.readings.values()]
    assert told == parts
    alone = max(planned.sensitivity.l1 for planned in plans.values())
    assert one.plan.sensitivity.l1 == alone
    assert len({id(column.source) for column in releases(text).values()}) == 1


@pytest.mark.parametrize(
    "text",
    [
        "select count(distinct pid) filter (where nights=1), count(distinct pid) filter (where nights=2) from visits",
        "select avg(nights) filter (where kind = 'ER') a, avg(nights) filter (where nights > 2) b from visits",
        "select avg(nights) filter (where kind = 'ER') a, avg(cost) filter (where kind = 'other') b from visits",
        "select sum(nights) filter (where kind = 'ER') a, sum(nights) filter (where kind = 'other') b from visits",
        "select count(*) a, median(age) b from patients",
        "select count(*) n, avg(clip(age, 0, 9)) from patients",  # people without an age count only for one of the two
    ],
)
def test_what_cannot_be_one_release_is_paid_for_one_by_one(text) -> None:
    plans, found = shared(text)
    assert not found
    columns = releases(text)
    assert len({id(column.source) for column in columns.values()}) == len(plans)
    assert not any(isinstance(column, ReadColumn) for column in columns.values())


def test_one_of_two_overlapping_counts_has_less_noise_than_at_half_of_the_price() -> None:
    text = "select count(*) filter (where age > 60) a, count(*) filter (where sex = 'F') b from patients"
    columns = releases(text, epsilon="0.1")
    half = release_together(
        {}, plan_together(read_sql(text).questions, CLINIC), CLINIC, parse_target(epsilon="0.1"), PureDP(epsilon=10)
    )["a"]
    for name in ("a", "b"):
        assert columns[name].margin("0.95") < half.margin("0.95") * 2


@pytest.mark.parametrize(
    "text",
    [
        "select count(age) n, avg(age), var_pop(age), sum(age) from patients",
        "select sum(age), count(age) from patients",
        "select avg(age), count(*) from patients where age is not null",
        "select ward, sum(age), count(age) from patients group by ward",
        "select count(nights), avg(nights) from visits",
        "select kind, count(nights), stddev(nights) from visits group by kind",
        "select avg(number_of(visits, 5)), count(*) from patients",
        "select count(*) n, avg(age) from patients",  # rows without an age are a part of their own
        "select count(*) n, count(age), avg(age), stddev(age), sum(age) from patients where smoker",
        "select sex, count(*), var_pop(bmi) from patients group by sex",
        "select kind, avg(nights), count(*) from visits group by kind",
    ],
)
def test_a_mean_tells_the_number_of_its_rows_and_their_total(text) -> None:
    plans, (one,) = shared(text)
    assert set(one.readings) == set(plans)


def test_rows_without_the_value_are_counted_by_one_number() -> None:
    """The mean has the noise that it has alone at the whole price, and the count that of three numbers, not of four."""
    columns = releases("select count(*) n, avg(age) a from patients", epsilon="0.1")
    alone = releases("select count(age) n, avg(age) a from patients", epsilon="0.1")
    assert columns["a"].error_if(100, "0.95") == alone["a"].error_if(100, "0.95")
    assert [len(form) for form in columns["n"].meaning.forms(columns["n"].shared.plan).values()] == [3]
    assert alone["n"].margin("0.95") < columns["n"].margin("0.95") < 1.5 * alone["n"].margin("0.95")


def test_two_that_ask_the_same_are_one_release() -> None:
    _, (one,) = shared("select count(*) a, count(1) b from patients")
    assert list(one.readings.values()) == [People(), People()]


def test_a_margin_is_granted_for_each_column() -> None:
    columns = releases("select count(*) n, count(*) filter (where smoker) a from patients", within=20)
    assert max(one.margin("0.95") for one in columns.values()) == 20
    assert columns["a"].margin("0.95") < 20


def tidy(tables):
    """The rows as the catalogue declares them: one a patient, and nothing missing where nothing may be."""
    patients = {row["pid"]: {**row, "ward": row["ward"] or 1} for row in tables["patients"]}
    return {
        **tables,
        "patients": [row for pid, row in patients.items() if pid is not None],
        "visits": [{**row, "kind": row["kind"] or "ER"} for row in tables["visits"]],
    }


def together(table):
    """Several statistics of one kind, of different rows; and of different kinds, of the same rows."""
    by = st.sampled_from([(), ("sex",) if table is PATIENTS else ("kind",), ("ward",) if table is PATIENTS else ()])
    value = "age" if table is PATIENTS else "nights"
    where = conditions(table, depth=1, with_derived=True) | st.sampled_from([None, f"{value} > 9", f"{value} is null"])
    rows = {} if table is PATIENTS else {"max_rows": MANY}
    counts = [ask.count] if table is PATIENTS else [ask.count_rows]

    def of_parts(builder, wheres, by):
        given = (table.name, value) if builder is ask.mean else (table.name,)
        return {f"c{i}": builder(*given, where, by=by, **rows) for i, where in enumerate(wheres)}

    def of_sums(where, by, known):
        known = f"{value} is not null" if known and where is None else None
        statistics = {"mean": ask.mean, "variance": ask.variance, "total": ask.total}
        limits = {**rows, **({} if table is PATIENTS else {"max_groups": 3})}
        asked = {n: one(table.name, value, where, by=by, **limits) for n, one in statistics.items()}
        return {**asked, "n": ask.count_rows(table.name, known or where, by=by, **limits)}

    parts = st.builds(of_parts, st.sampled_from([*counts, ask.mean]), st.lists(where, min_size=2, max_size=3), by)
    return parts | st.builds(of_sums, where, by, st.booleans())


TOGETHER = together(PATIENTS) | together(VISITS)


@pytest.fixture(scope="module", params=ENGINES)
def bench(request):
    with ENGINES[request.param](CLINIC, request) as bench:
        yield bench


FILLED = {
    "patients": [
        {"pid": 1, "sex": "F", "ward": 1, "age": 70, "bmi": 20.5, "smoker": True, "city": "a", "born": None},
        {"pid": 2, "sex": "M", "ward": 2, "age": 30, "bmi": None, "smoker": None, "city": None, "born": None},
        {"pid": -5, "sex": None, "ward": 2, "age": None, "bmi": 60.0, "smoker": False, "city": "A", "born": None},
    ],
    "visits": [
        {"pid": 1, "kind": "ER", "day": None, "left": None, "nights": 30, "cost": 7.0, "note": None},
        {"pid": 1, "kind": "other", "day": None, "left": None, "nights": None, "cost": None, "note": ""},
        {"pid": 2, "kind": "surgery", "day": None, "left": None, "nights": 4, "cost": -50.0, "note": "a"},
    ],
    "codes": [],
}
EVERY_READING = {
    "select count(*) a, count(1) b from patients": {People},
    "select count(*) filter (where age > 60) a, count(*) n from patients": {PartAlone, PartsTogether},
    "select count(age) n, avg(age) a, var_pop(age) v, sum(age) t from patients": {
        Moments,
        RowsOfSums,
        TotalOfSums,
    },
    "select kind, avg(nights) a, count(*) n from visits group by kind": {PartAlone, RowsOfAll},
}


def agree(bench, tables, asked):
    """Compare each column of what is released together with what it is alone; return how the columns are read."""
    try:
        plans, found = shared(asked)
    except BadQuestionError:
        return set()
    engine, read = bench.load(tidy(tables)), set()
    for one in found:
        released = engine.vector(one.plan.aggregate).open_for_release()
        for name, reading in one.readings.items():
            read.add(type(reading))
            alone = engine.vector(plans[name].aggregate).open_for_release()
            assert reading.estimates(one.plan, released) == plans[name].meaning.estimates(plans[name], alone)
    return read


@pytest.mark.parametrize(("text", "readings"), EVERY_READING.items())
def test_every_way_to_read_a_shared_release_has_the_numbers_that_columns_have_alone(bench, text, readings) -> None:
    assert agree(bench, FILLED, text) == readings


GROUPED = [
    *EVERY_READING,
    "select sex, ward, count(*) filter (where age > 60) a, count(*) n from patients group by 1, 2",
]


@pytest.mark.parametrize("text", GROUPED)
def test_the_weights_of_a_sum_are_the_same_in_every_group(text) -> None:
    for one in shared(text)[1]:
        for reading in one.readings.values():
            if isinstance(reading, WeightedSums):
                forms = reading.forms(one.plan)
                assert reading.groups(one.plan) == len(forms)
                assert all([*form.values()] == [*reading.weights(one.plan)] for form in forms.values())


def test_of_sums_of_parts_the_longest_is_the_least_exact() -> None:
    wards = " , ".join(f"count(*) filter (where age > {10 * i}) a{i}" for i in range(1, 9))
    for offer in ({"within": 20}, {"within": 3}, {"within": 5000}):
        columns = releases(f"select {wards} from patients", **offer)  # noqa: S608 - no text of anybody else
        margins = [one.margin("0.95") for one in columns.values()]
        assert max(margins) == margins[0] <= offer["within"] * (1 + 1e-9)
        assert margins == sorted(margins, reverse=True)


def test_columns_of_a_shared_release_have_the_numbers_that_they_have_alone(bench) -> None:
    @drawn_for(type(bench))
    @settings(max_examples=5 * bench.examples, **SLOW)
    @given(rows_of_anyone(CLINIC), TOGETHER)
    def hold(tables, asked) -> None:
        agree(bench, tables, asked)

    hold()


@pytest.mark.parametrize("population", [CLINIC, REPLACED], ids=["added", "replaced"])
def test_one_person_moves_a_shared_release_by_at_most_its_sensitivity(bench, population) -> None:
    pairs = neighbours(CLINIC) if population is CLINIC else replacements(CLINIC)

    @drawn_for(type(bench))
    @settings(max_examples=5 * bench.examples, **SLOW)
    @given(pairs, TOGETHER)
    def holds(pair, asked) -> None:
        try:
            _, found = shared(asked, population)
        except BadQuestionError:
            return
        for one in found:
            before, after = (cells(bench.load(tables), one.plan.aggregate) for tables in pair)
            assert not excess(one.plan.sensitivity, moves(before, after)), one.plan.asked

    holds()


@settings(max_examples=120, **SLOW)
@given(st.data())
def test_what_is_said_of_two_conditions_is_true_of_every_row(data) -> None:
    table = data.draw(st.sampled_from([PATIENTS, VISITS]))
    wheres = [data.draw(conditions(table, depth=1, with_derived=True)) for _ in range(2)]
    one, other = (plan_together({"n": ask.count_rows(table.name, where)}, CLINIC)["n"].aggregate for where in wheres)
    if one.derived and other.derived and one.derived != other.derived:
        return
    both = replace(one, where=every([one.where, other.where]), derived=one.derived or other.derived)
    engine = ENGINES["rows"](CLINIC, None).load(data.draw(rows_of_anyone(CLINIC)))
    met, meeting = (sum(cells(engine, each).values()) for each in (one, both))
    assert not apart(one.where, other.where) or meeting == 0
    assert not within(one.where, other.where) or meeting == met


@pytest.mark.parametrize(
    "text",
    [
        "select sex, count(*), avg(bmi) from patients group by sex",
        "select count(*), avg(bmi), sum(bmi), var_pop(bmi) from patients",
        "select count(*), avg(bmi), avg(bmi) filter (where age > 40), count(*) filter (where age > 40) from patients",
    ],
)
def test_nothing_is_planned_again_to_find_what_it_shares(text, monkeypatch) -> None:
    asked, built = read_sql(text).questions, []
    build = Planner.build
    monkeypatch.setattr(Planner, "build", lambda *given: built.append(1) or build(*given))
    plans = plan_together(asked, CLINIC)
    assert share(asked, plans, CLINIC)
    assert len(built) == len(asked)


def test_of_totals_alone_the_sums_that_they_share_are_planned_once(monkeypatch) -> None:
    asked, built = read_sql("select sum(age), sum(age), count(*) from patients").questions, []
    plans, build = plan_together(asked, CLINIC), Planner.build
    monkeypatch.setattr(Planner, "build", lambda *given: built.append(1) or build(*given))
    assert share(asked, plans, CLINIC)
    assert len(built) == 1


def test_a_value_that_only_its_clip_bounds_is_asked_beside_a_count() -> None:
    """Whether it is the column as it is declared is looked up there, and a column without bounds is none."""
    columns = [replace(one, type=Integer()) if one.name == "age" else one for one in PATIENTS.columns]
    tables = [replace(PATIENTS, columns=tuple(columns)), *POPULATION.tables[1:]]
    population = replace(POPULATION, tables=tuple(tables))
    plans, found = shared("select avg(clip(age, 0, 9)) a, count(*) n from patients", population)
    assert (set(plans), found) == ({"a", "n"}, [])


@pytest.mark.parametrize(
    ("text", "plans", "shared_plans"),
    [
        ("select count(*), avg(bmi), sum(bmi), stddev(bmi) from patients", 4, 1),
        ("select stddev(bmi), stddev_pop(bmi), var_pop(bmi), var_samp(bmi) from patients", 1, 0),
        ("select count(*) filter (where smoker), count(*) filter (where not smoker) from patients", 2, 1),
        ("select count(*), count(1) from patients", 1, 0),
    ],
)
def test_each_statistic_is_planned_once_and_each_plan_is_checked_once(monkeypatch, text, plans, shared_plans) -> None:
    """What is emitted is checked again, by the emitter alone."""
    built, checked, shares, build = [], [], [], Planner.build
    monkeypatch.setattr(Planner, "build", lambda *given: built.append(given) or build(*given))
    monkeypatch.setattr(planner, "check_total", lambda *given: checked.append(given))
    monkeypatch.setattr(sharing, "check_total", lambda *given: shares.append(given))
    found, _ = shared(text)
    assert (len(built), len(checked), len(shares)) == (plans, plans, shared_plans)
    assert plans <= 2 * len({one.aggregate for one in found.values()})


def test_a_release_that_an_engine_could_fail_on_is_not_shared(monkeypatch) -> None:
    """Its statement holds the conditions of all columns: it is checked for itself, and before anything is charged."""

    def fail(*_):
        raise BadQuestionError("the question has too many constants")

    monkeypatch.setattr(sharing, "check_total", fail)
    _, found = shared("select count(*) filter (where sex = 'F'), count(*) filter (where sex = 'M') from patients")
    assert found == []
