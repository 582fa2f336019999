"""A small set of tables as OMOP has them, with rows that are made up: what the page about SQL is asked of.

Everything is within what is declared, so that any database counts as lapwing does before noise.
"""

from datetime import date, timedelta
from random import Random

from lapwing.queries.catalogue.column import TIME_OF_DAY, Boolean, Category, Column, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import Population, RowsPerPerson, Table
from lapwing.vocabulary.guarantee import PrivacyUnit

NOW = date(2024, 1, 1)
CONDITIONS = (316866, 201826, 255573, 4329847, 192671)
CONDITION_NAMES = ("Hypertension", "Type 2 diabetes", "Chronic lung disease", "Heart attack", "Bleeding")
DRUGS = (1127433, 40213227, 1503297)
VISITS = (9201, 9202, 9203)
DAYS = Date(first=date(2010, 1, 1), last=date(2023, 12, 31))


def omop() -> Population:
    """The catalogue."""
    many = RowsPerPerson.MANY_A_PERSON
    visit = Column(name="visit_occurrence_id", type=Integer(), nullable=True)
    return Population(
        name="omop",
        unit=PrivacyUnit(person_key="person_id"),
        now=NOW,
        tables=(
            Table(
                name="person",
                columns=(
                    Column(name="gender_concept_id", type=Category(values=(8507, 8532))),
                    Column(name="gender_source_value", type=Category(values=("F", "M")), nullable=True),
                    Column(name="year_of_birth", type=Integer(low=1920, high=2019)),
                    Column(name="birth_datetime", type=Date(first=date(1920, 1, 1), last=date(2019, 12, 31))),
                    Column(name="city", type=Text(), nullable=True),
                    Column(name="height", type=Integer(low=100, high=220), nullable=True),
                ),
            ),
            Table(
                name="condition_occurrence",
                rows=many,
                max_rows=12,
                columns=(
                    Column(
                        name="condition_concept_id",
                        type=Category(values=CONDITIONS, labels=CONDITION_NAMES, label_name="concept_name"),
                    ),
                    Column(name="condition_start_date", type=DAYS),
                    visit,
                ),
            ),
            Table(
                name="drug_exposure",
                rows=many,
                max_rows=12,
                columns=(
                    Column(name="drug_concept_id", type=Category(values=DRUGS)),
                    Column(name="drug_exposure_start_date", type=DAYS),
                    Column(name="days_supply", type=Integer(low=0, high=90), nullable=True),
                ),
            ),
            Table(
                name="visit_occurrence",
                rows=many,
                max_rows=12,
                row_key="visit_occurrence_id",
                columns=(
                    Column(name="visit_occurrence_id", type=Integer()),
                    Column(name="visit_concept_id", type=Category(values=VISITS)),
                    Column(name="visit_start_date", type=DAYS),
                    Column(name="visit_end_date", type=DAYS, nullable=True),
                    Column(name="cost", type=Real(low=0, high=20_000, step=1), nullable=True),
                    Column(name="urgent", type=Boolean(), nullable=True),
                ),
            ),
            Table(
                name="measurement",
                rows=many,
                max_rows=12,
                columns=(
                    Column(name="measurement_concept_id", type=Category(values=(3004249, 3012888))),
                    Column(name="measurement_date", type=DAYS),
                    Column(name="measurement_datetime", type=DAYS),
                    Column(name="measurement_time", type=TIME_OF_DAY, time_of="measurement_datetime"),
                    Column(name="value_as_number", type=Real(low=0, high=256, step=1), nullable=True),
                ),
            ),
        ),
    )


def rows(seed: int = 3) -> dict[str, list[dict]]:
    """Rows of 150 people, some of whom have none in some tables, and of a few who are in no table of people."""
    random = Random(seed)
    tables: dict[str, list[dict]] = {table.name: [] for table in omop().tables}
    number = iter(range(1, 10_000))
    for person in range(1, 151):
        born = date(1920, 1, 1) + timedelta(days=random.randrange(36_000))
        if person <= 145:
            tables["person"].append(
                {
                    "person_id": person,
                    "gender_concept_id": random.choice([8507, 8532]),
                    "gender_source_value": random.choice(["F", "M", "M", "F", None]),
                    "year_of_birth": born.year,
                    "birth_datetime": born,
                    "city": random.choice(["Bern", "bern ", "Basel", "Chur", None]),
                    "height": random.choice([None, *range(150, 201, 5)]),
                }
            )
        visits = [next(number) for _ in range(random.choice([0, 0, 1, 1, 2, 3, 5]))]
        tables["visit_occurrence"] += [_visit(random, person, visit) for visit in visits]
        for _ in range(random.choice([0, 0, 1, 2, 3, 6])):
            tables["condition_occurrence"].append(
                {
                    "person_id": person,
                    "condition_concept_id": random.choice(CONDITIONS),
                    "condition_start_date": _day(random),
                    "visit_occurrence_id": random.choice([*visits, None]),
                }
            )
        for _ in range(random.choice([0, 1, 2, 4])):
            tables["drug_exposure"].append(
                {
                    "person_id": person,
                    "drug_concept_id": random.choice(DRUGS),
                    "drug_exposure_start_date": _day(random),
                    "days_supply": random.choice([None, 0, 7, 30, 90]),
                }
            )
        for _ in range(random.choice([0, 1, 2, 4])):
            measured = {
                "person_id": person,
                "measurement_concept_id": random.choice([3004249, 3012888]),
                "measurement_date": _day(random),
                "value_as_number": random.choice([None, *map(float, range(80, 181, 5))]),
            }
            measured["measurement_datetime"] = measured["measurement_date"]
            measured["measurement_time"] = measured["measurement_date"].toordinal() * 7919 % 86_400
            tables["measurement"].append(measured)
    return tables


def _visit(random: Random, person: int, number: int) -> dict:
    start = _day(random, 2022)
    return {
        "person_id": person,
        "visit_occurrence_id": number,
        "visit_concept_id": random.choice(VISITS),
        "visit_start_date": start,
        "visit_end_date": random.choice([None, start, start + timedelta(days=random.randrange(1, 30))]),
        "cost": random.choice([None, *map(float, range(0, 20_001, 500))]),
        "urgent": random.choice([True, False, None]),
    }


def _day(random: Random, last: int = 2023) -> date:
    return date(random.randint(2012, last), random.randint(1, 12), random.randint(1, 28))
