"""lapwing.toml: what is wrong is refused with its line and a remedy."""

from datetime import date
from fractions import Fraction

import pytest

from lapwing.queries.catalogue.column import Boolean, Category, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import KeyType, RowsPerPerson
from lapwing.sources import DuckDBSource, FileSource, PostgresSource, SparkSource
from lapwing.vocabulary.errors import SettingsError
from lapwing.vocabulary.guarantee import Adjacency, ApproximateDP, ConcentratedDP, PureDP
from lapwing.workspace.settings import read_settings

GOOD = """\
# the clinic
[populations.clinic]
person_key = "patient_id"
adjacency = "replace"
protects_groups_of = 2
budget = { epsilon = "3" }
now = 2025-01-01

[populations.clinic.analysts]
ana = { epsilon = 1 }

[populations.clinic.tables.patients]
source = "patients.parquet"
key_type = "text"
[populations.clinic.tables.patients.columns]
sex = { type = "category", values = ["F", "M"] }
age = { type = "integer", low = 0, high = 120, nullable = true }
bmi = { type = "real", low = 10, high = 60, step = "1/64" }
born = { type = "date", first = 1900-01-01, last = 2025-12-31 }
smoker = { type = "boolean" }
city = { type = "text" }

[populations.clinic.tables.visits]
source = { duckdb = "clinic.duckdb", table = "visits" }
rows = "many"
key_type = "text"
max_rows = 3
"""


def settings(folder, text):
    (folder / "lapwing.toml").write_text(text, encoding="utf-8")
    return read_settings(folder)


def test_all_that_can_be_declared_is_read(tmp_path) -> None:
    clinic = settings(tmp_path, GOOD).populations["clinic"]
    assert clinic.budget == PureDP(epsilon=Fraction(3))
    assert clinic.analysts == {"ana": PureDP(epsilon=Fraction(1))}
    unit = clinic.population.unit
    assert (unit.person_key, unit.adjacency, unit.protects_groups_of) == ("patient_id", Adjacency.REPLACE, 2)
    assert clinic.population.now == date(2025, 1, 1)
    patients, visits = clinic.population.tables
    assert [type(column.type) for column in patients.columns] == [Category, Integer, Real, Date, Boolean, Text]
    assert patients.column("age").nullable
    assert (visits.rows, visits.key_type, visits.max_rows) == (RowsPerPerson.MANY_A_PERSON, KeyType.TEXT, 3)
    assert clinic.sources == {
        "patients": FileSource(path=tmp_path / "patients.parquet"),
        "visits": DuckDBSource(path=tmp_path / "clinic.duckdb", table="visits"),
    }


@pytest.mark.parametrize(
    ("written", "budget"),
    [
        ('{ rho = "1/2" }', ConcentratedDP(rho=Fraction(1, 2))),
        ('{ epsilon = "1", delta = "1e-6" }', ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 10**6))),
    ],
    ids=["rho", "delta"],
)
def test_budgets_have_three_kinds(tmp_path, written, budget) -> None:
    assert settings(tmp_path, GOOD.replace('{ epsilon = "3" }', written)).populations["clinic"].budget == budget


@pytest.mark.parametrize(
    ("written", "source"),
    [
        (
            '{ postgres = "postgresql://x/y", table = "t", schema = "s" }',
            PostgresSource(address="postgresql://x/y", table="t", schema="s"),
        ),
        ('{ spark = "warehouse.patients" }', SparkSource(table="warehouse.patients")),
        ('{ spark = "s3://bucket/patients" }', SparkSource(table="s3://bucket/patients")),
    ],
    ids=["postgres", "spark", "files of spark"],
)
def test_tables_may_be_in_other_databases(tmp_path, written, source) -> None:
    read = settings(tmp_path, GOOD.replace('"patients.parquet"', written))
    assert read.populations["clinic"].sources["patients"] == source


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('person_key = "patient_id"\n', "", 2, "has no person_key"),
        ('person_key = "patient_id"', "person_key = 7", 3, "person_key is a whole number; write text"),
        ('person_key = "patient_id"', 'person_key = " "', 3, "names no column"),
        ('"replace"', '"swap"', 4, "adjacency = 'swap' is unknown; write one of 'add-remove', 'replace'"),
        ("protects_groups_of = 2", "protects_groups_of = 0", 5, "out of range"),
        ('{ epsilon = "3" }', '{ epsilon = "0" }', 6, "epsilon = '0' is zero"),
        ('{ epsilon = "3" }', "{ epsilon = nan }", 6, "is not a number"),
        ('{ epsilon = "3" }', '{ epsilon = "3", rho = "1" }', 6, "this is not a budget"),
        ('{ epsilon = "3" }', '{ epsilon = "3", delta = 2 }', 6, "not strictly between 0 and 1"),
        ('{ epsilon = "3" }', '{ epsilom = "3" }', 6, "did you mean epsilon"),
        ("now = 2025-01-01", "now = 2025-13-01", 7, "is not TOML"),
        ("ana = { epsilon = 1 }", "ana = { epsilon = -1 }", 10, "is negative"),
        ('"patients.parquet"', '"patients.xlsx"', 13, "not a file that can be read"),
        ('"patients.parquet"', '{ duckdb = "a", postgres = "b", table = "c" }', 13, "no single place"),
        ('"patients.parquet"', '{ spark = "" }', 13, "spark = '' is empty"),
        ('["F", "M"]', '["F", "F"]', 16, "name a category twice"),
        ('["F", "M"]', "[]", 16, "are not categories"),
        ('["F", "M"]', '["F", "M"], labels = ["women"]', 16, "are not as many as the 2 values"),
        ('["F", "M"]', '["F", "M"], labels = ["women", 2]', 16, "labels are texts"),
        ("low = 0, high = 120", "low = 120, high = 0", 17, "the wrong way round"),
        ("low = 0, high = 120", "low = 0", 17, "are incomplete"),
        ("low = 0, high = 120", "lower = 0, high = 120", 17, "lower means nothing"),
        ('step = "1/64"', 'step = "0.1"', 18, "not a power of two"),
        ('step = "1/64"', "step = 0", 18, "not a power of two"),
        ("low = 10, high = 60", "low = nan, high = 60", 18, "is not a number"),
        ("low = 10, ", "", 18, "has no low"),
        ('type = "boolean"', 'type = "boolean", title = 7', 20, "title is a whole number; write text"),
        ('type = "boolean"', 'type = "boolean", title = " smoker"', 20, "is not a title"),
        ('type = "boolean"', 'type = "bool"', 20, "type = 'bool' is unknown; write one of integer"),
        ('rows = "many"', 'rows = "lots"', 25, "rows = 'lots' is unknown"),
        ("max_rows = 3", "max_rows = 0", 27, "out of range"),
        ("max_rows = 3", "max_row = 3", 27, "did you mean max_rows"),
        ("# the clinic", "[server]\nport = 8", 1, "server means nothing in the file"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_wrong_is_refused_with_its_line(tmp_path, old, new, line, said) -> None:
    assert old in GOOD
    with pytest.raises(SettingsError) as refused:
        settings(tmp_path, GOOD.replace(old, new, 1))
    assert said in str(refused.value)
    assert refused.value.line == line
    assert f"lapwing.toml, line {line}: " in str(refused.value)
    assert refused.value.remedy


def test_values_of_a_list_may_have_names(tmp_path) -> None:
    text = GOOD.replace('["F", "M"]', '[8507, 8532], labels = ["Male", "Female"]')
    sex = settings(tmp_path, text).populations["clinic"].population.table("patients").column("sex").type
    assert sex == Category(values=(8507, 8532), labels=("Male", "Female"), label_name="sex_name")


def test_a_folder_without_settings_says_so(tmp_path) -> None:
    with pytest.raises(SettingsError, match=r"is not there; make a workspace with lw\.create"):
        read_settings(tmp_path)


def test_a_population_may_be_declared_before_its_tables(tmp_path) -> None:
    declared = settings(tmp_path, '[populations.c]\nperson_key = "p"\nbudget = { epsilon = 1 }\n')
    assert declared.declared().population.tables == ()


def test_a_float_budget_is_the_decimal_it_is_written_as(tmp_path) -> None:
    text = GOOD.replace('budget = { epsilon = "3" }', "budget = { epsilon = 0.1, delta = 1e-7 }")
    budget = settings(tmp_path, text.replace("ana = { epsilon = 1 }", "ana = { rho = 0.3 }")).populations["clinic"]
    assert budget.budget == ApproximateDP(epsilon=Fraction(1, 10), delta=Fraction(1, 10**7))
    assert budget.analysts == {"ana": ConcentratedDP(rho=Fraction(3, 10))}
