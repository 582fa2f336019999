"""The corpus on PostgreSQL, with the vocabularies in files: the same people as on files of DuckDB."""

import csv
import re
from pathlib import Path

import psycopg
import pytest

import lapwing as lw
from engines.workbenches import as_reader
from omop_clinic import make_omop, truth

DEFINITIONS = sorted((Path(__file__).parent / "definitions").glob("*.json"))
_LARGEST = (
    "select condition_concept_id, count(distinct person_id) as n from condition_occurrence where {} "
    "group by condition_concept_id order by n desc limit 1"
)
_TYPES = {"date": "date", "datetime": "date", "number": "double precision"}


@pytest.fixture(scope="module")
def folder(postgres, tmp_path_factory):
    place = make_omop(tmp_path_factory.mktemp("omop") / "omop")
    with postgres.database() as dsn:
        with psycopg.connect(dsn, autocommit=True) as admin:
            for file in place.glob("*.csv"):
                if not file.stem.startswith("CONCEPT"):
                    _load(admin, file)
            reader = as_reader(admin, dsn)
            admin.execute("grant select on all tables in schema public to reader")
        path = place / "lapwing.toml"
        text = re.sub(
            r'source = "(\w+)\.csv"',
            lambda found: f'source = {{ postgres = "{reader}", table = "{found[1].lower()}" }}',
            path.read_text(encoding="utf-8"),
        )
        path.write_text(text, encoding="utf-8")
        lw.create(place).close()
        yield place


def _load(admin, file: Path) -> None:
    with file.open(encoding="utf-8") as opened:
        header, *rows = csv.reader(opened)
    columns = ", ".join(f"{name} {_TYPES.get(name.rpartition('_')[2], 'bigint')}" for name in header)
    admin.execute(f"create table {file.stem.lower()} ({columns})")
    with admin.cursor() as cursor, cursor.copy(f"copy {file.stem.lower()} from stdin") as copy:
        for row in rows:
            copy.write_row([cell or None for cell in row])


@pytest.mark.parametrize("file", DEFINITIONS, ids=lambda file: file.stem)
def test_a_definition_counts_whom_sql_counts(clinic, folder, file) -> None:
    (expected,) = truth(folder, file.with_suffix(".sql").read_text(encoding="utf-8"))
    answer = clinic.ask(lw.cohort_definition(file).funnel(), epsilon=20)
    assert tuple(row["answer"] for row in answer.rows) == expected


def test_groups_have_their_names_and_lists_their_values(clinic, folder) -> None:
    listed = (
        "condition_concept_id in (select descendant_concept_id from concept_ancestor where ancestor_concept_id = 112)"
    )
    statement = _LARGEST.format(listed)
    ((concept, count),) = truth(folder, statement)
    (row,) = clinic.ask(statement, epsilon=20).rows
    assert (row.key, row["n"]) == ((concept, "Type 2 diabetes mellitus"), count)


def test_a_concept_set_of_fifty_thousand_is_answered(clinic, folder) -> None:
    clinic.concept_set("even", [2 * i for i in range(50_000)])
    question = lw.count("condition_occurrence", "condition_concept_id in concept_set('even')")
    statement = "select count(distinct person_id) from condition_occurrence where condition_concept_id % 2 = 0"
    assert clinic.ask(question, epsilon=20).value == truth(folder, statement)[0][0]
