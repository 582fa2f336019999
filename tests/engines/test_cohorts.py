"""Thousands of cohorts: the same numbers as one statement each, with few statements, in bounded memory."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lapwing as ask
from engines.clinic import clinic, rows_of_anyone
from engines.rows_in_memory import RowsInMemory
from engines.workbenches import ENGINES, DuckDBBench
from lapwing.engines.dialect import Writer
from lapwing.engines.emitter import MOST_COUNTS, MOST_FACTS
from lapwing.queries.catalogue import KeyType
from lapwing.queries.planning import plan
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


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "rows"])
@pytest.mark.parametrize("population", [CLINIC, TEXT_KEYS], ids=["integer keys", "text keys"])
def test_many_cohorts_are_the_numbers_of_each(name, population, request) -> None:
    version = asked = 0
    tables = [table.name for table in population.tables]
    wheres = {table.name: st.none() | conditions(table) for table in population.tables}
    question = st.sampled_from(tables).flatmap(lambda table: st.builds(ask.count, st.just(table), wheres[table]))
    with ENGINES[name](population, request) as bench:

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


def test_a_table_with_many_rows_a_person_is_counted_by_the_database_whoever_has_how_many() -> None:
    wheres = [f"nights >= {i}" for i in range(25)]
    for people in ([1, 2, 3], [1, 1, 2]):
        rows = [
            {**dict.fromkeys(c.name for c in CLINIC.table("visits").columns), "pid": p, "nights": 9} for p in people
        ]
        with Watched().load({**EMPTY, "visits": rows}) as engine:
            many = [plan(ask.count("visits", where), CLINIC).aggregate for where in wheres]
            assert numbers(engine, many) == [len(set(people))] * 10 + [0] * 15
            assert len(engine.statements) == -(-len(wheres) // MOST_COUNTS)


def test_two_people_of_one_number_are_left_to_the_database(monkeypatch) -> None:
    rows = [patient("a", age=10), patient("b", age=10), patient("c", age=11)]
    monkeypatch.setattr(Writer, "person_number", lambda _writer, _row: "CAST(7 AS BIGINT)")
    with Watched(TEXT_KEYS).load({**EMPTY, "patients": rows}) as engine:
        assert numbers(engine, cohorts(["age = 10", "age >= 10"], population=TEXT_KEYS)) == [2, 3]


TIGHT = 16 * len(AGES)  # what is read for the people of the table, and room for 125 bitmaps of theirs


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
    long = " or ".join(f"starts_with(city, 'x{i}')" for i in range(130))
    rows = [*AGES, patient(1000, city="x7")]
    with Watched(bitmap_memory=TIGHT + 16).load({**EMPTY, "patients": rows}) as engine:
        assert numbers(engine, cohorts([long, "age = 0"])) == [1, 5]
    with Watched(bitmap_memory=TIGHT).load({**EMPTY, "patients": rows}) as engine:
        assert numbers(engine, cohorts([long, "age = 0"])) == [1, 5]
        assert len(engine.statements) == 2


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
