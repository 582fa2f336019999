"""Thousands of cohorts: the same numbers as one statement each, with few statements, in bounded memory."""

import random
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lapwing as ask
from draws import drawn_for
from engines.clinic import clinic, rows_of_anyone
from engines.rows_in_memory import RowsInMemory
from engines.workbenches import ENGINES, DuckDBBench
from lapwing.engines.cohorts import BitmapCache
from lapwing.engines.dialect import Writer
from lapwing.engines.emitter import MOST_FACTS, Fact
from lapwing.engines.engine import BITMAP_MEMORY
from lapwing.queries.algebra.predicate import ALWAYS, NEVER
from lapwing.queries.catalogue.population import KeyType
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.errors import EngineError, ParameterError
from lapwing.vocabulary.exact import Sensitive
from queries.asked import conditions

CLINIC, TEXT_KEYS = clinic(), clinic(KeyType.TEXT)
EMPTY = {table.name: [] for table in CLINIC.tables}


def patient(pid, **columns):
    return {"pid": pid, **dict.fromkeys(c.name for c in CLINIC.table("patients").columns), **columns}


def cohorts(wheres, table="patients", population=CLINIC):
    return [plan(ask.count(table, where), population).aggregate for where in wheres]


def numbers(engine, aggregates, version=1):
    answers = engine.numbers(aggregates, versions={"patients": version})
    assert all(isinstance(answer, Sensitive) for answer in answers)
    return [answer.open_for_release() for answer in answers]


class Watched(DuckDBBench):
    """An engine that counts its statements."""

    def __init__(self, population=CLINIC, **options):
        self.statements = []
        super().__init__(population, **options)

    def _fetched(self, statement, fetch):
        self.statements.append(statement.text)
        return super()._fetched(statement, fetch)


# In the order of their bytes, which is that of no language; of UTF-16 it would be another one.
TEXTS = [
    "",
    " ",
    "A",
    "Z",
    "a",
    "a ",
    "ab",
    "b",
    "e\u0301",
    "z",
    "\x7f",
    "\xdf",
    "\xe9",
    "\ue000",
    "\uffff",
    "\U00010000",
]


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "rows"])
def test_texts_are_told_apart_by_their_bytes_where_they_are_halved(name, request) -> None:
    rows = [patient(100 * i + n, city=text) for i, text in enumerate(TEXTS) for n in range(i + 1)]
    with ENGINES[name](CLINIC, request) as bench:
        bench._bitmap_memory = 1
        bench.load({**EMPTY, "patients": [*rows, patient(9999), patient(9998, city="az"), patient(9997, city="\xff")]})
        asked = [plan(ask.count("patients", ask.col("city") == text), CLINIC).aggregate for text in TEXTS]
        asked.append(plan(ask.count("patients", ~ask.col("city").is_in(TEXTS)), CLINIC).aggregate)
        assert numbers(bench, asked) == [*range(1, len(TEXTS) + 1), 2]


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "rows"])
@pytest.mark.parametrize("population", [CLINIC, TEXT_KEYS], ids=["integer keys", "text keys"])
@pytest.mark.parametrize("memory", [BITMAP_MEMORY, 1], ids=["bitmaps", "by cells"])
def test_many_cohorts_are_the_numbers_of_each(name, population, memory, request) -> None:
    version = asked = 0
    tables = [table.name for table in population.tables]
    wheres = {table.name: st.none() | conditions(table) for table in population.tables}
    question = st.sampled_from(tables).flatmap(lambda table: st.builds(ask.count, st.just(table), wheres[table]))
    with ENGINES[name](population, request) as bench:
        bench._bitmap_memory = memory

        @drawn_for(name, population.tables[0].key_type)
        @settings(max_examples=1 + 2 * bench.examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
        @given(rows_of_anyone(population), st.booleans(), st.lists(question, min_size=10, max_size=20))
        def agree(rows, apart, questions) -> None:
            nonlocal version, asked
            version, asked = version + 1, asked + len(questions)
            if apart:  # every row of a table of another person, as is declared
                key = population.person_key(population.table("patients"))
                rows["patients"] = list({row[key]: row for row in rows["patients"]}.values())
            aggregates = [plan(q, population).aggregate for q in questions]
            oracle = RowsInMemory(population, rows)
            assert numbers(bench.load(rows), aggregates, version) == numbers(oracle, aggregates)

        agree()
    assert asked >= 20


AGES = [patient(i, age=i % 120, smoker=i % 3 == 0) for i in range(500)]


def test_a_stream_of_cohorts_reads_the_table_once_for_62_atoms() -> None:
    wheres = [f"age < {i} and (smoker or age > {j})" for i in range(1, 30) for j in range(30, 59)]
    with Watched().load({**EMPTY, "patients": AGES}) as engine:
        answers = numbers(engine, cohorts(wheres))
        assert len(engine.statements) == 2  # how many people there are, and the facts about them
        assert [numbers(engine, [aggregate]) for aggregate in cohorts(wheres)] == [[n] for n in answers]
        assert len(engine.statements) == 2
        numbers(engine, cohorts(["bmi > 20"]))
        assert len(engine.statements) == 3
        each = [engine.number(aggregate).open_for_release() for aggregate in cohorts(wheres[::50])]
        assert each == answers[::50]


@pytest.mark.parametrize("apart", [True, False], ids=["one row a person", "several"])
def test_a_thousand_cohorts_of_a_table_of_any_size_are_one_statement(apart) -> None:
    cities = [None, "a", "b", "c", "B"]
    rows = [patient(i if apart else i % 400, age=i % 120, city=cities[i % 5], bmi=i % 50 + 0.5) for i in range(500)]
    rows += [] if apart else [patient(None, age=3)]
    wheres = [
        f"age >= {i % 17 * 5} and city in ({places}) {joined} bmi < {i % 9 + 20}"
        for i in range(170)
        for places in ("'a'", "'a', 'B'", "'zzz', 'b'")
        for joined in ("and", "or")
    ]
    wheres += [
        "not (age between 20 and 29)",
        "city not in ('a', 'c')",
        "not (city <> 'b')",
        None,
        "age < 3 and age > 5",
    ]
    with Watched(bitmap_memory=1).load({**EMPTY, "patients": rows}) as engine, Watched() as bitmaps:
        answers = numbers(engine, cohorts(wheres))
        assert len(engine.statements) == 2  # how many rows there are, and this one
        assert ("BIT_OR" in engine.statements[1]) != apart
        assert answers == numbers(bitmaps.load({**EMPTY, "patients": rows}), cohorts(wheres))
    assert len(set(answers)) > 20


def test_how_cohorts_are_counted_does_not_depend_on_the_rows() -> None:
    wheres = [f"age < {i} and city = '{i % 7}'" for i in range(60)]
    told = []
    for people in (1, 2, 300):
        rows = [patient(i % 7, age=i % 120, city=str(i % 5)) for i in range(people)] + [patient(1000, age=1)]
        with Watched(bitmap_memory=1) as engine:
            engine.load({**EMPTY, "patients": rows})
            engine._one_row = set()
            numbers(engine, cohorts(wheres))
            told.append(engine.statements)
    assert told[0] == told[1] == told[2]


def test_more_atoms_than_bits_take_more_statements() -> None:
    wheres = [f"age = {i}" for i in range(MOST_FACTS + 1)]
    with Watched().load({**EMPTY, "patients": AGES}) as engine:
        assert numbers(engine, cohorts(wheres)) == [5 if i < 20 else 4 for i in range(MOST_FACTS + 1)]
        assert len(engine.statements) == 3


def test_a_new_data_version_forgets_the_bitmaps() -> None:
    with Watched().load({**EMPTY, "patients": AGES}) as engine:
        assert numbers(engine, cohorts(["age = 0"]), version=1) == [5]
        engine.load({**EMPTY, "patients": AGES[1:]})
        assert numbers(engine, cohorts(["age = 0"]), version=1) == [5]
        assert numbers(engine, cohorts(["age = 0"]), version=2) == [4]


def test_people_who_come_and_go_are_never_mixed_up() -> None:
    with Watched().load({**EMPTY, "patients": AGES}) as engine:
        assert numbers(engine, cohorts(["age = 0"])) == [5]
        engine.load({**EMPTY, "patients": [*AGES[1:], patient(1000, age=119)]})
        assert numbers(engine, cohorts(["age = 0 or age = 119", "age = 0", "age = 119"])) == [9, 4, 5]


SOME_TWICE = [*AGES, *(patient(i, age=(7 * i) % 120, ward=i % 3 + 1, city="x" * (i % 5)) for i in range(0, 500, 7))]
SOME_TWICE += [patient(i, smoker=False, age=i % 11) for i in range(0, 500, 21)] * 2


def test_somebody_with_several_rows_is_counted_once_and_no_other_way() -> None:
    """How many statements there are shows in the time: it must not depend on one person's rows."""
    wheres = ["age = 10 and smoker", "age = 10 or smoker", None, *(f"age >= {i}" for i in range(23))]
    rows = [patient(1, age=10), patient(1, smoker=True), patient(2, age=10, smoker=True), patient(3, age=10)]
    counts = []
    for several in (rows, rows[1:]):
        with Watched().load({**EMPTY, "patients": several}) as engine:
            counts.append(numbers(engine, cohorts(wheres)))
            assert len(engine.statements) == 2
    assert counts == [[1, 3, 3] + [3] * 11 + [0] * 12, [1, 3, 3] + [2] * 11 + [0] * 12]


def test_rows_of_one_person_stay_apart_however_the_database_sends_them() -> None:
    """Atoms that are read in different statements, from rows in another order each time, are joined row by row."""
    atoms = (
        [f"age = {i}" for i in range(60)] + [f"ward = {i}" for i in (1, 2, 3)] + ["city = ''", "smoker", "not smoker"]
    )
    pairs = [f"{a} {by} {b}" for a in atoms[:60] for b in atoms[60:] for by in ("and", "or")]
    shuffled = SOME_TWICE.copy()
    with Watched().load({**EMPTY, "patients": shuffled}) as engine:
        for atom in atoms:  # one statement each
            random.Random(atom).shuffle(shuffled)
            engine.load({**EMPTY, "patients": shuffled})
            numbers(engine, cohorts([atom]))
        answers = numbers(engine, cohorts(pairs))
        assert answers == [engine.number(aggregate).open_for_release() for aggregate in cohorts(pairs)]
    assert len(set(answers)) > 5


def visit(pid, **columns):
    return {"pid": pid, **dict.fromkeys(c.name for c in CLINIC.table("visits").columns), **columns}


def test_a_table_with_many_rows_a_person_is_read_once_whoever_has_how_many() -> None:
    wheres = [f"nights >= {i}" for i in range(25)]
    for people in ([1, 2, 3], [1, 1, 2]):
        rows = [visit(p, nights=9) for p in people]
        with Watched().load({**EMPTY, "visits": rows}) as engine:
            assert numbers(engine, cohorts(wheres, "visits")) == [len(set(people))] * 10 + [0] * 15
            assert len(engine.statements) == 2


KINDS = CLINIC.table("visits").column("kind").type.values
VISITS = [visit(i % 137, kind=KINDS[i % len(KINDS)], nights=i * i % 23, cost=float(i)) for i in range(900)]
VISITS += [visit(200 + i % 3, kind=KINDS[i % 2], nights=i % 29) for i in range(600)]  # some have more than 64 rows
OF_VISITS = [f"kind = '{kind}' and nights {sign} {n}" for kind in KINDS[:2] for sign in (">=", "=") for n in range(12)]


def test_people_with_a_row_for_which_are_counted_on_the_bitmaps_of_that_table() -> None:
    some = [*(f"has(visits, {where})" for where in OF_VISITS), *(f"not has(visits, {where})" for where in OF_VISITS)]
    some += [f"age > 20 and has(visits, {where}, {n})" for where in OF_VISITS for n in (2, 5, 70)]
    some += [f"number_of(visits, {where}, 9) between 2 and 8 or smoker" for where in OF_VISITS]
    with Watched().load({**EMPTY, "patients": AGES, "visits": VISITS}) as engine:
        found = numbers(engine, cohorts(some))
        assert len(engine.statements) == 5  # two sizes, the facts of each table, and how many people are in both
        numbers(
            engine, cohorts(["has(visits, nights = 3 and kind is not null and nights = 11 or nights between 2 and 4)"])
        )
        assert len(engine.statements) == 6  # the atoms that are new
        assert found == [engine.number(aggregate).open_for_release() for aggregate in cohorts(some)]
    assert len(set(found)) > 30


def test_rows_about_which_nothing_is_asked_are_there_or_not() -> None:
    with Watched().load({**EMPTY, "patients": AGES, "visits": VISITS}) as engine:
        asked = ["has(visits)", "not has(visits)", "not has(visits, nights >= 0, 70)", "number_of(visits, 3) = 0"]
        assert numbers(engine, cohorts(asked)) == [140, 360, 497, 360]
        assert numbers(engine, cohorts(["has(visits, cost > 500)", "has(visits)"], "visits")) == [137, 140]


def test_rows_that_are_compared_with_the_row_around_are_read_once_by_the_database() -> None:
    within = [f"has(codes, day between visits.day and visits.day + {days})" for days in (7, 30, 90)]
    asked = [f"{where} and {look}" for where in OF_VISITS for look in within]
    days = [date(2020, 1, 1) + timedelta(days=i * i % 365) for i in range(600)]
    rows = {**EMPTY, "visits": [{**one, "day": days[i % 600]} for i, one in enumerate(VISITS)]}
    rows["codes"] = [{"patient": i % 300, "code": None, "day": day} for i, day in enumerate(reversed(days))]
    with Watched().load(rows) as engine:
        found = numbers(engine, cohorts(asked, "visits"))
        assert len(engine.statements) == 2
        assert found == [engine.number(aggregate).open_for_release() for aggregate in cohorts(asked, "visits")]
    assert len(set(found)) > 10


def test_derived_columns_of_one_name_are_told_apart() -> None:
    """A name is cut where it is too long, so that columns of two questions may have the same."""
    wards = [f"different_of(visits.kind, cost >= 0 and note in ('{'x' * 60}', '{i}'), 3) >= 1" for i in range(3)]
    asked = [*wards, "month(born) = 2", "quarter(born) = 2 and different_of(visits.nights, 9) = 2"]
    people = [patient(i, born=date(1990 + i % 30, 1 + i % 12, 1)) for i in range(500)]
    visits = [{**one, "note": str(i % 9 % 4)} for i, one in enumerate(VISITS)]
    aggregates = cohorts(asked)
    assert len({aggregate.derived[0].name for aggregate in aggregates[:3]}) == 1
    with Watched().load({**EMPTY, "patients": people, "visits": visits}) as engine:
        found = numbers(engine, aggregates)
        assert found == [engine.number(one).open_for_release() for one in aggregates]
        assert [numbers(engine, [one]) for one in aggregates] == [[n] for n in found]
    assert len(set(found)) > 3


@given(st.lists(st.sampled_from([1, 1, 2, 3, 7, 31, 33, 63, 64, 65, 128, 129, 300]), max_size=40), st.randoms())
def test_a_person_counts_once_however_many_bits_are_set(sizes, random) -> None:
    rows = np.repeat(np.arange(len(sizes)) * 3, sizes)
    truths = np.array([random.random() < random.choice([0, 0.01, 0.5]) for _ in rows], np.bool_)
    cache = BitmapCache(rows, 2**20)
    cache.add(Fact(ALWAYS), truths)
    bitmaps, missing = cache.take({0: Fact(ALWAYS)})
    of_each = [int(truths[rows == 3 * person].sum()) for person in range(len(sizes))]
    assert not missing
    assert cache.count(0, bitmaps) == sum(n > 0 for n in of_each)
    assert cache.rows_of_each(0, bitmaps).tolist() == of_each
    for least in (1, 2, 3, 5, 16, 17, 64):
        assert cache.reaching(least, 0, bitmaps).tolist() == [n >= least for n in of_each]
    people = np.array([n > 0 for n in of_each], np.bool_)
    cache.add_of_people(Fact(NEVER), people)
    assert cache.rows_of_each(0, cache.take({0: Fact(NEVER)})[0]).tolist() == [
        n * one for n, one in zip(sizes, people.tolist(), strict=True)
    ]


def test_two_people_of_one_number_in_two_tables_are_left_to_the_database(monkeypatch) -> None:
    """One in each table, so that neither table shows it."""
    rows = {**EMPTY, "patients": [patient("a", age=10), patient("c", age=11)]}
    rows["visits"] = [visit("b", nights=1), visit("c", nights=2)]
    number = "CASE WHEN {} = 'c' THEN CAST(1 AS BIGINT) ELSE CAST(7 AS BIGINT) END"
    monkeypatch.setattr(Writer, "person_number", lambda writer, row: number.format(writer.person(row)))
    with Watched(TEXT_KEYS).load(rows) as engine:
        asked = ["has(visits)", "has(visits, nights = 1)", "not has(visits, nights = 2)", "number_of(visits, 3) = 1"]
        assert numbers(engine, cohorts(asked, population=TEXT_KEYS)) == [1, 0, 1, 1]


def test_two_people_of_one_number_are_left_to_the_database(monkeypatch) -> None:
    rows = [patient("a", age=10), patient("b", age=10), patient("c", age=11)]
    monkeypatch.setattr(Writer, "person_number", lambda _writer, _row: "CAST(7 AS BIGINT)")
    with Watched(TEXT_KEYS).load({**EMPTY, "patients": rows}) as engine:
        assert numbers(engine, cohorts(["age = 10", "age >= 10"], population=TEXT_KEYS)) == [2, 3]


TIGHT = 24 * len(AGES)  # what is needed for the rows of the table, and room for 187 bitmaps of theirs


def test_bitmaps_that_were_not_used_for_longest_make_room() -> None:
    wheres = [f"age {sign} {i}" for sign in ("<", ">") for i in range(1, 119)]
    with Watched().load({**EMPTY, "patients": AGES}) as roomy, Watched(bitmap_memory=TIGHT) as engine:
        engine.load({**EMPTY, "patients": AGES})
        assert numbers(engine, cohorts(wheres)) == numbers(roomy, cohorts(wheres))
        assert len(engine._cohorts._caches["patients"]._bitmaps) == TIGHT // 64
        before = len(engine.statements)
        numbers(engine, cohorts(wheres[-100:]))
        assert len(engine.statements) == before
        numbers(engine, cohorts(wheres[:1]))
        assert len(engine.statements) == before + 1


def test_what_does_not_fit_is_counted_by_the_database() -> None:
    long = " or ".join(f"starts_with(city, 'x{i}')" for i in range(190))
    rows = [*AGES, patient(1000, city="x7")]
    with Watched(bitmap_memory=TIGHT + 24).load({**EMPTY, "patients": rows}) as engine:
        assert numbers(engine, cohorts([long, "age = 0"])) == [1, 5]
    with Watched(bitmap_memory=TIGHT).load({**EMPTY, "patients": rows}) as engine:
        assert numbers(engine, cohorts([long, "age = 0"])) == [1, 5]
        assert len(engine.statements) == 2


def test_rows_that_do_not_fit_are_looked_at_by_the_database() -> None:
    few, asked = AGES[:100], [f"has(visits, {where})" for where in OF_VISITS]
    with Watched(bitmap_memory=24 * 100).load({**EMPTY, "patients": few, "visits": VISITS}) as engine:
        found = numbers(engine, cohorts(asked))
        assert found == [engine.number(aggregate).open_for_release() for aggregate in cohorts(asked)]
        assert engine._cohorts._caches["visits"] is None
        assert engine._cohorts._caches["patients"] is not None


def test_other_aggregates_may_stand_among_the_cohorts() -> None:
    with Watched().load({**EMPTY, "patients": AGES}) as engine:
        total = plan(ask.total("patients", "age"), CLINIC).aggregate
        asked = [*cohorts(["age = 0"]), total, *cohorts([None, "age is null and age = 3"])]
        assert numbers(engine, asked) == [5, sum(row["age"] for row in AGES), 500, 0]
        with pytest.raises(ValueError, match="one number"):
            engine.numbers([plan(ask.count("patients", by="sex"), CLINIC).aggregate], versions={})


def test_a_failure_is_opaque_here_too() -> None:
    reasons = []
    engine = Watched(on_failure=reasons.append)
    engine.close()
    with pytest.raises(EngineError) as failed:
        engine.numbers(cohorts([None]), versions={})
    assert failed.value.__context__ is None
    assert len(reasons) == 1


def test_memory_must_be_a_number_of_bytes() -> None:
    with pytest.raises(ParameterError, match="bitmap_memory"):
        DuckDBBench(CLINIC, bitmap_memory=0)


@pytest.mark.parametrize("most", [3, 64, 255, 256, 700])
def test_the_rows_of_each_are_counted_however_many_somebody_has(most) -> None:
    sizes = [most, 1, 5, 2, min(most, 64), most, 1, 65 if most > 64 else 3]
    rows = np.repeat(np.arange(len(sizes)), sizes)
    cache, drawn = BitmapCache(rows, 2**20), random.Random(most)
    for truths in (np.ones(len(rows), np.bool_), np.array([drawn.random() < 0.7 for _ in rows])):
        cache.add(Fact(ALWAYS, ()), truths)
        (bitmap,), _ = cache.take({0: Fact(ALWAYS, ())})
        assert cache.rows_of_each(0, [bitmap]).tolist() == np.bincount(rows, truths).astype(int).tolist()
