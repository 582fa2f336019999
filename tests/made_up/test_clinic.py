"""The made-up clinic is the same everywhere, plausible, and has the rows on which questions go wrong."""

import hashlib
from datetime import date
from fractions import Fraction

import duckdb
import numpy as np
import pytest

import lapwing as lw
from lapwing.made_up import SEED, TABLES, make_clinic, write_tables
from lapwing.made_up.clinic_files import ParquetFiles
from lapwing.made_up.made_up_people import BLOCK, CONDITIONS, Named, Uniforms, make_block
from lapwing.vocabulary.errors import ParameterError, SettingsError

PEOPLE = 40_000


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """Return the folder of a clinic of three blocks, the last of them not full."""
    return make_clinic(tmp_path_factory.mktemp("clinic"), PEOPLE)


def rows(folder, sql):
    """Return what a SELECT finds; a table is written as {patient}."""
    return (
        duckdb.connect()
        .sql(sql.format_map({name: f"read_parquet('{folder}/{name}.parquet')" for name in TABLES}))
        .fetchall()
    )


def checksum(folder, table, people):
    found = rows(folder, f"SELECT * FROM {{{table}}} WHERE person_id <= {people}")
    return hashlib.sha256(repr(found).encode()).hexdigest()[:16]


GOLDEN = {
    "person": "9334a8474de21cfd",
    "condition": "8e3deeda01db41fb",
    "visit": "b1f1fa6d3a5bf722",
    "procedure": "7663b1feca9041e6",
    "measurement": "d8c63cd5bc5f6d55",
    "patient": "7eb90a35c6098c1b",
}


@pytest.mark.parametrize("table", TABLES)
def test_the_first_two_thousand_people_are_always_the_same(clinic, table) -> None:
    assert checksum(clinic, table, 2000) == GOLDEN[table]


def test_a_small_clinic_is_the_beginning_of_a_large_one(clinic, tmp_path) -> None:
    for people in (1, 700, BLOCK + 3):
        small = write_tables(tmp_path / str(people), people)
        for table in TABLES:
            assert checksum(small, table, people) == checksum(clinic, table, people)
        assert rows(small, "SELECT count(*), max(person_id) FROM {patient}") == [(people, people)]


@pytest.mark.parametrize("threads", [1, 7])
def test_the_number_of_threads_does_not_change_a_row(clinic, tmp_path, threads) -> None:
    with ParquetFiles(tmp_path) as files:
        files._database.execute(f"SET threads = {threads}")
        for block in range(2):
            for table, columns in make_block(SEED, block).items():
                files.add(table, columns)
    for table in TABLES:
        assert checksum(tmp_path, table, 2 * BLOCK) == checksum(clinic, table, 2 * BLOCK)


def test_another_seed_is_another_clinic(clinic, tmp_path) -> None:
    other = write_tables(tmp_path, 500, seed=2)
    assert all(checksum(other, table, 500) != checksum(clinic, table, 500) for table in TABLES)


def test_uniforms_are_the_published_function_and_no_library_s() -> None:
    # SHAKE128 of "lapwing clinic/1/0/age", its first four bytes read as a little-endian number
    first = int.from_bytes(hashlib.shake_128(b"lapwing clinic/1/0/age").digest(4), "little")
    assert Uniforms(seed=1, block=0).take("age", 5)[0] == (first + 0.5) / 2**32


def test_the_ages_form_a_pyramid(clinic) -> None:
    by_decade = dict(rows(clinic, "SELECT age // 10, count(*) FROM {patient} WHERE age IS NOT NULL GROUP BY 1"))
    young = [by_decade[decade] for decade in range(6)]
    assert max(young) < 1.1 * min(young)
    assert by_decade[5] > by_decade[6] > 1.1 * by_decade[8] > 2 * by_decade[9] > 0
    (((low, high), women),) = rows(clinic, "SELECT (min(age), max(age)), avg((sex = 'F')::INT) FROM {patient}")
    assert (low, high) == (0, 99)
    assert 0.49 < women < 0.53


@pytest.mark.parametrize(
    ("concept", "low", "high"),
    [
        ("hypertension", 0.20, 0.27),
        ("type 2 diabetes", 0.10, 0.15),
        ("asthma", 0.03, 0.07),
        ("depression", 0.07, 0.12),
        ("breast cancer", 0.006, 0.013),
        ("prostate cancer", 0.006, 0.013),
        ("testicular cancer", 0.0001, 0.001),
    ],
)
def test_conditions_are_as_frequent_as_in_a_survey(clinic, concept, low, high) -> None:
    ((people,),) = rows(clinic, f"SELECT count(DISTINCT person_id) FROM {{condition}} WHERE concept = '{concept}'")
    assert low < people / PEOPLE < high


def test_illness_comes_with_age_and_with_other_illness(clinic) -> None:
    ((together, young, old),) = rows(
        clinic,
        """SELECT corr(diabetes::INT, hypertension::INT), avg(diabetes::INT) FILTER (age BETWEEN 20 AND 29),
        avg(diabetes::INT) FILTER (age BETWEEN 70 AND 79) FROM {patient}""",
    )
    assert 0.15 < together < 0.35
    assert young < 0.06
    assert old > 0.2
    # beyond what age explains: among people of one decade, the diabetic are more often hypertensive
    ((with_it, without),) = rows(
        clinic,
        """SELECT avg(hypertension::INT) FILTER (diabetes), avg(hypertension::INT) FILTER (NOT diabetes)
        FROM {patient} WHERE age BETWEEN 50 AND 59""",
    )
    assert with_it > without + 0.05


def test_men_have_no_babies_and_women_no_prostate(clinic) -> None:
    sick = "SELECT count(*) FROM {condition} JOIN {patient} p USING (person_id) WHERE"
    assert rows(clinic, f"{sick} concept IN ('prostate cancer', 'testicular cancer') AND sex = 'F'") == [(0,)]
    treated = "SELECT count(*) FROM {procedure} JOIN {patient} p USING (person_id) WHERE concept = 'caesarean section'"
    assert rows(clinic, f"{treated} AND sex = 'M'") == [(0,)] != rows(clinic, f"{treated} AND sex = 'F'")


def test_a_patient_is_what_the_other_tables_say(clinic) -> None:
    cancers = ", ".join(f"'{one.name}'" for one in CONDITIONS if one.cancer)
    differences = rows(
        clinic,
        f"""
        WITH said AS (
          SELECT p.person_id, p.sex, p.born, date_diff('year', p.born, DATE '2025-01-01')
              - (strftime(p.born, '%m%d') > '0101')::INT AS age,
            bool_or(c.concept = 'type 2 diabetes') IS TRUE AS diabetes,
            bool_or(c.concept IN ({cancers})) IS TRUE AS cancer_survivor
          FROM {{person}} p LEFT JOIN {{condition}} c USING (person_id) GROUP BY ALL),
        came AS (
          SELECT person_id, count(*) AS visits, count(*) FILTER (kind = 'inpatient') AS admissions,
            bool_or(kind = 'inpatient' AND service = 'surgery') IS TRUE AS admitted_for_surgery
          FROM {{visit}} GROUP BY ALL)
        SELECT count(*) FROM {{patient}} p JOIN said USING (person_id) LEFT JOIN came USING (person_id)
        WHERE (p.sex, p.born, p.age, p.diabetes, p.cancer_survivor, p.visits, p.admissions, p.admitted_for_surgery)
          IS DISTINCT FROM (said.sex, said.born, said.age, said.diabetes, said.cancer_survivor,
            coalesce(came.visits, 0), coalesce(came.admissions, 0), coalesce(came.admitted_for_surgery, false))
        """,
    )
    assert differences == [(0,)]


def test_nobody_is_ill_or_seen_before_birth_or_in_the_future(clinic) -> None:
    for table in ("condition", "visit", "procedure", "measurement"):
        joined = f"{{{table}}} e JOIN {{patient}} p USING (person_id)"
        ((wrong, last),) = rows(clinic, f"SELECT count(*) FILTER (e.day < p.born), max(e.day) FROM {joined}")
        assert wrong == 0
        assert last <= date(2025, 1, 1)


@pytest.mark.parametrize(
    "there_is",
    [
        "FROM {patient} WHERE age IS NULL AND born IS NULL",
        "FROM {patient} WHERE age = 0",
        "FROM {patient} WHERE age = 99",
        "FROM {patient} WHERE bmi IS NULL",
        "FROM {patient} WHERE smoker IS NULL",
        "FROM {patient} WHERE visits = 0",
        "FROM {patient} WHERE visits = 30",
        "FROM {visit} WHERE service IS NULL",
        "FROM (SELECT 1 FROM {condition} GROUP BY person_id, concept HAVING count(*) = 2)",
        "FROM (SELECT 1 FROM {visit} GROUP BY person_id HAVING count(*) > 5)",
    ],
    ids=lambda text: text.removeprefix("FROM ").replace("{", "").replace("}", ""),
)
def test_the_rows_on_which_questions_go_wrong_are_there(clinic, there_is) -> None:
    assert rows(clinic, f"SELECT count(*) {there_is}")[0][0] > 0


def test_the_question_of_the_lecture_is_close_to_its_threshold_at_a_million() -> None:
    """A tenth of the blocks, spread over a clinic of a million, has a tenth of about 195 people."""
    blocks = range(0, 60, 6)
    cohort = asked = 0
    for number in blocks:
        patient = make_block(1, number)["patient"]
        young = patient["age"].filled(-1)
        of_age = (patient["sex"].codes == 1) & (young >= 20) & (young <= 30)
        asked += int((of_age & patient["cancer_survivor"]).sum())
        cohort += int((of_age & patient["cancer_survivor"] & patient["admitted_for_surgery"]).sum())
    scale = 1_000_000 / (BLOCK * len(blocks))
    assert 140 < cohort * scale < 260
    assert 400 < asked * scale < 650


def test_a_clinic_opens_as_a_workspace_whose_every_column_can_be_asked_about(clinic) -> None:
    with lw.create(clinic) as workspace:
        session = workspace.session(analyst="ana")
        assert str(session.budget()) == "epsilon 10"
        answer = session.ask(lw.count("patient"), epsilon="1")
        assert abs(answer.value - PEOPLE) < 50  # P < 1e-21
        for table in session.population.tables:
            for column in table.columns:
                session.preview(lw.count("patient", f"has({table.name}, {column.name} is null)"), epsilon="0.1")
        women = session.ask(
            lw.count(
                "patient", "sex = 'F' and has(visit, service = 'obstetrics') and has(condition, concept = 'asthma')"
            ),
            epsilon="1",
        )
        ((exact,),) = rows(
            clinic,
            """SELECT count(*) FROM {patient} p WHERE sex = 'F'
            AND EXISTS (FROM {visit} v WHERE v.person_id = p.person_id AND service = 'obstetrics')
            AND EXISTS (FROM {condition} c WHERE c.person_id = p.person_id AND concept = 'asthma')""",
        )
        assert abs(women.value - exact) < 50


def test_declared_bounds_and_categories_hold_all_rows(clinic) -> None:
    with lw.open_workspace(clinic) as workspace:
        settings = workspace.settings.populations["clinic"]
    for table in settings.population.tables:
        for column in table.columns:
            name, kind = column.name, column.type
            values = getattr(kind, "values", None)
            low, high = (getattr(kind, word, None) for word in ("low", "high"))
            first, last = (getattr(kind, word, None) for word in ("first", "last"))
            outside = [f"{name} IS NULL"] if not column.nullable else []
            outside += [f"{name} NOT IN {values}"] if values else []
            outside += [f"{name} NOT BETWEEN {float(low)} AND {float(high)}"] if low is not None else []
            outside += [f"{name} NOT BETWEEN DATE '{first}' AND DATE '{last}'"] if first else []
            if outside:
                found = rows(clinic, f"SELECT count(*) FROM {{{table.name}}} WHERE {' OR '.join(outside)}")
                assert found == [(0,)], (table.name, name)


def test_a_folder_with_settings_is_left_alone(clinic) -> None:
    with pytest.raises(SettingsError, match="is there already"):
        make_clinic(clinic, 100)


@pytest.mark.parametrize("people", [0, -1, 2.5, "many", 10**10], ids=str)
def test_a_number_of_people_that_is_none_is_refused(people, tmp_path) -> None:
    with pytest.raises(ParameterError, match="people"):
        make_clinic(tmp_path, people)
    assert not list(tmp_path.iterdir())


def test_the_settings_say_budget_and_allowances_as_people_write_them(tmp_path) -> None:
    folder = make_clinic(tmp_path / "clinic", 10, epsilon="2.5", allowances={"ana": "1/3"})
    text = (folder / "lapwing.toml").read_text()
    assert 'budget = { epsilon = "2.5" }' in text
    assert 'ana = { epsilon = "1/3" }' in text
    with lw.create(folder) as workspace:
        assert workspace.session(analyst="ana").budget().left == Fraction(1, 3)
        assert workspace.session(analyst="ben").budget().left == Fraction(5, 2)


@pytest.mark.parametrize("seed", [-1, 0.5, "one"], ids=str)
def test_a_seed_that_is_no_number_is_refused(seed, tmp_path) -> None:
    with pytest.raises(ParameterError, match="seed"):
        make_clinic(tmp_path, 10, seed=seed)


def test_a_writer_that_fails_leaves_no_file(tmp_path) -> None:
    def write_and_fail() -> None:
        with ParquetFiles(tmp_path) as files:
            files.add("visit", {"person_id": np.arange(3)})
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_and_fail()
    assert not list(tmp_path.iterdir())


def test_missing_texts_days_and_numbers_are_written_as_missing(tmp_path) -> None:
    hidden = np.array([False, True])
    with ParquetFiles(tmp_path) as files:
        files.add(
            "patient",
            {
                "text": Named(np.ma.masked_array([1, 0], hidden), ("it's", "b")),
                "day": np.ma.masked_array(np.array(["2020-02-29", "2020-03-01"], dtype="datetime64[D]"), hidden),
                "number": np.ma.masked_array([1.5, 2.5], hidden),
            },
        )
    found = duckdb.connect().sql(f"FROM '{tmp_path}/patient.parquet'").fetchall()
    assert found == [("b", date(2020, 2, 29), 1.5), (None, None, None)]


def test_a_name_that_is_no_plain_name_is_refused(tmp_path) -> None:
    with pytest.raises(ParameterError, match="plain name"), ParquetFiles(tmp_path) as files:
        files.add("visit; DROP TABLE", {"person_id": np.arange(3)})
