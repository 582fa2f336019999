"""A made-up clinic in the tables and words of OMOP: 400 people, their events, and a small vocabulary.

The vocabulary is a tree of conditions and drugs with ids of our own choosing. The rows are drawn with a fixed seed, so
that whoever asks the files with plain SQL gets the same truth every time.
"""

from datetime import date, timedelta
from pathlib import Path

import duckdb
import numpy as np

PEOPLE = 400
CONCEPTS: dict[int, tuple[str, str, tuple[int, ...]]] = {
    100: ("Disorder", "Condition", ()),
    110: ("Diabetes mellitus", "Condition", (100,)),
    111: ("Type 1 diabetes mellitus", "Condition", (110,)),
    112: ("Type 2 diabetes mellitus", "Condition", (110,)),
    113: ("Type 2 diabetes with nephropathy", "Condition", (112, 130)),
    120: ("Hypertension", "Condition", (100,)),
    130: ("Kidney disease", "Condition", (100,)),
    140: ("Stroke", "Condition", (100,)),
    200: ("Antidiabetic drug", "Drug", ()),
    210: ("Metformin", "Drug", (200,)),
    220: ("Insulin", "Drug", (200,)),
    230: ("Aspirin", "Drug", ()),
    300: ("HbA1c", "Measurement", ()),
    310: ("Systolic blood pressure", "Measurement", ()),
    400: ("Dialysis", "Procedure", ()),
    500: ("Smoker", "Observation", ()),
    8507: ("Male", "Gender", ()),
    8532: ("Female", "Gender", ()),
    9201: ("Inpatient visit", "Visit", ()),
    9202: ("Outpatient visit", "Visit", ()),
    9203: ("Emergency visit", "Visit", ()),
}
"""By its id, a concept's name, its domain, and the concepts that it is a kind of."""

SETTINGS = """\
[vocabularies]
concept = "CONCEPT.csv"
concept_ancestor = { file = "CONCEPT_ANCESTOR.csv" }

[populations.omop]
person_key = "person_id"
budget = { epsilon = "1000000" }
now = 2024-01-01

[populations.omop.tables.person]
source = "PERSON.csv"
columns.gender_concept_id = { type = "category", values = [8507, 8532] }
columns.year_of_birth = { type = "integer", low = 1900, high = 2025 }
columns.birth_datetime = { type = "date", first = 1900-01-01, last = 2025-12-31 }

[populations.omop.tables.observation_period]
source = "OBSERVATION_PERIOD.csv"
columns.observation_period_start_date = { type = "date", first = 2000-01-01, last = 2025-12-31 }
columns.observation_period_end_date = { type = "date", first = 2000-01-01, last = 2025-12-31 }

[populations.omop.tables.condition_occurrence]
source = "CONDITION_OCCURRENCE.csv"
rows = "many"
max_rows = 20
columns.condition_start_date = { type = "date", first = 2000-01-01, last = 2025-12-31 }
columns.condition_end_date = { type = "date", first = 2000-01-01, last = 2025-12-31, nullable = true }
[populations.omop.tables.condition_occurrence.columns.condition_concept_id]
type = "category"
values = { file = "CONCEPT.csv", value = "concept_id", label = "concept_name", where = "domain_id = 'Condition'" }

[populations.omop.tables.drug_exposure]
source = "DRUG_EXPOSURE.csv"
rows = "many"
max_rows = 20
columns.drug_concept_id = { type = "integer" }
columns.drug_exposure_start_date = { type = "date", first = 2000-01-01, last = 2025-12-31 }
columns.days_supply = { type = "integer", low = 0, high = 365 }

[populations.omop.tables.measurement]
source = "MEASUREMENT.csv"
rows = "many"
max_rows = 20
columns.measurement_concept_id = { type = "integer" }
columns.measurement_date = { type = "date", first = 2000-01-01, last = 2025-12-31 }
columns.value_as_number = { type = "real", low = 0, high = 300 }

[populations.omop.tables.procedure_occurrence]
source = "PROCEDURE_OCCURRENCE.csv"
rows = "many"
max_rows = 20
columns.procedure_concept_id = { type = "integer" }
columns.procedure_date = { type = "date", first = 2000-01-01, last = 2025-12-31 }

[populations.omop.tables.observation]
source = "OBSERVATION.csv"
rows = "many"
max_rows = 20
columns.observation_concept_id = { type = "integer" }
columns.observation_date = { type = "date", first = 2000-01-01, last = 2025-12-31 }

[populations.omop.tables.visit_occurrence]
source = "VISIT_OCCURRENCE.csv"
rows = "many"
max_rows = 20
columns.visit_concept_id = { type = "category", values = [9201, 9202, 9203] }
columns.visit_start_date = { type = "date", first = 2000-01-01, last = 2025-12-31 }
columns.visit_end_date = { type = "date", first = 2000-01-01, last = 2025-12-31 }

[populations.omop.tables.death]
source = "DEATH.csv"
columns.death_date = { type = "date", first = 2000-01-01, last = 2025-12-31 }
"""


def make_omop(folder: Path) -> Path:
    """Write the files and the lapwing.toml of the clinic, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in _tables(np.random.default_rng(20_240_101)).items():
        separator = "\t" if name.startswith("CONCEPT") else ","
        text = "\n".join(separator.join("" if cell is None else str(cell) for cell in line) for line in lines)
        (folder / f"{name}.csv").write_text(text + "\n", encoding="utf-8")
    (folder / "lapwing.toml").write_text(SETTINGS, encoding="utf-8")
    return folder


def truth(folder: Path, statement: str) -> list[tuple[object, ...]]:
    """Return what plain SQL says about the files, which are called as tables are."""
    with duckdb.connect() as connection:
        for file in folder.glob("*.csv"):
            connection.execute(f"CREATE VIEW {file.stem} AS FROM read_csv('{file}', header = true)")
        return connection.execute(statement).fetchall()


def _ancestors(concept: int) -> dict[int, int]:
    """Return the concept and all above it, with how many levels they are away at least."""
    found, edge, level = {concept: 0}, [concept], 0
    while edge:
        level += 1
        edge = [parent for one in edge for parent in CONCEPTS[one][2] if parent not in found]
        found |= dict.fromkeys(edge, level)
    return found


def _tables(rng: np.random.Generator) -> dict[str, list[tuple[object, ...]]]:
    def pick(choices: list[int]) -> int:
        return int(rng.choice(choices))

    def day(first: date, last: date) -> date:
        return first + timedelta(days=int(rng.integers(0, max((last - first).days, 0) + 1)))

    tables: dict[str, list[tuple[object, ...]]] = {
        "CONCEPT": [("concept_id", "concept_name", "domain_id", "concept_code", "invalid_reason")],
        "CONCEPT_ANCESTOR": [
            ("ancestor_concept_id", "descendant_concept_id", "min_levels_of_separation", "max_levels_of_separation")
        ],
        "PERSON": [("person_id", "gender_concept_id", "year_of_birth", "birth_datetime")],
        "OBSERVATION_PERIOD": [("person_id", "observation_period_start_date", "observation_period_end_date")],
        "CONDITION_OCCURRENCE": [("person_id", "condition_concept_id", "condition_start_date", "condition_end_date")],
        "DRUG_EXPOSURE": [("person_id", "drug_concept_id", "drug_exposure_start_date", "days_supply")],
        "MEASUREMENT": [("person_id", "measurement_concept_id", "measurement_date", "value_as_number")],
        "PROCEDURE_OCCURRENCE": [("person_id", "procedure_concept_id", "procedure_date")],
        "OBSERVATION": [("person_id", "observation_concept_id", "observation_date")],
        "VISIT_OCCURRENCE": [("person_id", "visit_concept_id", "visit_start_date", "visit_end_date")],
        "DEATH": [("person_id", "death_date")],
    }
    for concept, (name, domain, _) in CONCEPTS.items():
        tables["CONCEPT"].append((concept, name, domain, f"0{concept}", None))
        for ancestor, levels in _ancestors(concept).items():
            tables["CONCEPT_ANCESTOR"].append((ancestor, concept, levels, levels))
    for person in range(1, PEOPLE + 1):
        born = day(date(1930, 1, 1), date(2005, 12, 31))
        tables["PERSON"].append((person, pick([8507, 8532]), born.year, born))
        since = day(date(2008, 1, 1), date(2015, 12, 31))
        until = day(date(2018, 1, 1), date(2023, 12, 31))
        tables["OBSERVATION_PERIOD"].append((person, since, until))

        def events(table: str, most: int, ids: list[int], *values: str) -> None:
            for _ in range(int(rng.integers(0, most + 1))):
                at = day(since, until)  # noqa: B023 - see above
                rest = {
                    "end": at + timedelta(days=int(rng.integers(0, 20))),
                    "perhaps": None if rng.random() < 0.3 else at + timedelta(days=30),
                    "days": int(rng.integers(1, 91)),
                    "number": round(float(rng.uniform(4, 12)), 1),
                }
                tables[table].append((person, pick(ids), at, *(rest[value] for value in values)))  # noqa: B023

        events("CONDITION_OCCURRENCE", 5, [100, 110, 111, 112, 112, 113, 120, 120, 130, 140], "perhaps")
        events("DRUG_EXPOSURE", 5, [210, 210, 220, 230], "days")
        events("MEASUREMENT", 4, [300, 300, 310], "number")
        events("PROCEDURE_OCCURRENCE", 1, [400])
        events("OBSERVATION", 1, [500])
        events("VISIT_OCCURRENCE", 6, [9201, 9202, 9202, 9203], "end")
        if rng.random() < 0.1:
            tables["DEATH"].append((person, until))
    return tables
