"""What analysts of three more houses write: 95 statements, written down before any was tried, and never left out.

Bikes for hire, a clinical trial and a survey of the labour force, as statisticians ask about them. The first time that
they were tried, 58 of the 95 in SQL were answered. The times of day of trips were declared when the language had
learned to read them.
"""

from datetime import date
from functools import cache
from pathlib import Path

from lapwing.queries.catalogue.column import TIME_OF_DAY, Category, Column, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import Table
from queries.natural_statements import MANY, column, made_up, population, statements_of

_STATIONS = Category(values=("Bahnhof", "Hauptplatz", "Uni", "Spital", "See"))
_TRIAL_DAYS = Date(first=date(2021, 1, 1), last=date(2023, 12, 31))
_JOB_DAYS = Date(first=date(2000, 1, 1), last=date(2024, 12, 31))

BIKES = population(
    "citybikes",
    "rider_id",
    Table(
        name="riders",
        columns=(
            column("Birth Year", Integer(low=1920, high=2010), nullable=True),
            column("gender", Category(values=("f", "m", "x"))),
            column("plan", Category(values=("annual", "monthly", "day pass"))),
            column("city", Text()),
            column("joined", Date(first=date(2019, 1, 1), last=date(2023, 12, 31))),
        ),
    ),
    Table(
        name="trips",
        row_key="trip_id",
        columns=(
            column("trip_id", Integer()),
            column("started", Date(first=date(2023, 1, 1), last=date(2023, 12, 31))),
            Column(name="started_time", type=TIME_OF_DAY, time_of="started"),
            column("minutes", Integer(low=1, high=180)),
            column("km", Real(low=0, high=50, step="1/1024"), nullable=True),
            column("from_station", _STATIONS),
            column("to_station", _STATIONS),
            column("bike", Category(values=("city", "cargo", "e-bike"))),
        ),
        **MANY,
    ),
)
TRIAL = population(
    "trial",
    "subject_id",
    Table(
        name="subjects",
        columns=(
            column("arm", Category(values=("placebo", "10 mg", "20 mg"))),
            column("site", Text()),
            column("sex", Category(values=("M", "F"))),
            column("age", Integer(low=18, high=85)),
            column("randomised", Date(first=date(2021, 1, 1), last=date(2022, 12, 31))),
            column("withdrawn", _TRIAL_DAYS, nullable=True),
            column("smoker", Category(values=("never", "former", "current")), nullable=True),
        ),
    ),
    Table(
        name="visits",
        columns=(
            column("visit", Integer(low=0, high=5)),
            column("visit_date", Date(first=date(2020, 12, 1), last=date(2023, 12, 31))),
            column("sbp", Integer(low=70, high=230)),
            column("dbp", Integer(low=40, high=140)),
            column("weight", Real(low=30, high=200, step="1/1024")),
            column("qol", Integer(low=0, high=100), nullable=True),
        ),
        **MANY,
    ),
    Table(
        name="ae",
        row_key="ae_id",
        columns=(
            column("ae_id", Integer()),
            column("term", Text()),
            column("severity", Category(values=("mild", "moderate", "severe"))),
            column("serious", Category(values=("yes", "no"))),
            column("onset", _TRIAL_DAYS),
            column("resolved", Date(first=date(2021, 1, 1), last=date(2024, 12, 31)), nullable=True),
        ),
        **MANY,
    ),
)
LABOUR = population(
    "labour",
    "pid",
    Table(
        name="persons",
        columns=(
            column("canton", Category(values=("BE", "ZH", "VD", "GE", "TI"))),
            column("nationality", Category(values=("CH", "EU", "other"))),
            column("born", Date(first=date(1920, 1, 1), last=date(2010, 12, 31))),
            column("education", Category(values=("compulsory", "secondary", "tertiary")), nullable=True),
            column("status", Category(values=("employed", "unemployed", "inactive"))),
            column("household_size", Integer(low=1, high=12)),
            column("weight", Real(low=0, high=1000, step="1/1024")),
        ),
    ),
    Table(
        name="jobs",
        row_key="job_id",
        columns=(
            column("job_id", Integer()),
            column("sector", Category(values=("agriculture", "industry", "services", "public"))),
            column("gross", Real(low=0, high=30000, step="1/64")),
            column("hours", Integer(low=0, high=80), nullable=True),
            column("since", _JOB_DAYS),
            column("until", _JOB_DAYS, nullable=True),
            column("occupation", Text()),
        ),
        **MANY,
    ),
)
HOUSES = {one.name: one for one in (BIKES, TRIAL, LABOUR)}
_TEXTS = {
    "city": ("Bern", "Zürich", "Biel, Nidau", "Łódź"),
    "site": ("Basel", "Bern", "Geneva"),
    "term": ("headache", "nausea", "rash"),
    "occupation": ("nurse", "teacher", "cook"),
}


@cache
def rows(house: str) -> dict[str, list[dict]]:
    """Return rows of a house; nobody has two visits on a day, of which a database would take any for the last."""
    made = made_up(HOUSES[house], _TEXTS)
    if "visits" in made:
        made["visits"] = list({(row["subject_id"], row["visit_date"]): row for row in made["visits"]}.values())
    return made


STATEMENTS = statements_of(Path(__file__).with_suffix(".sql"), HOUSES)
PLAIN = {
    (
        'select width_bucket(2023 - "Birth Year", 15, 75, 6) as band, gender, count(*) from riders '
        'where "Birth Year" is not null group by band, gender'
    ): (
        'select case when 2023 - "Birth Year" < 15 then 0 when 2023 - "Birth Year" >= 75 then 7 '
        'else 1 + (2008 - "Birth Year") // 10 end as band, gender, count(*) from riders '
        'where "Birth Year" is not null group by band, gender'
    ),
    "select width_bucket(age, 20, 80, 6), count(*) from subjects group by 1": (
        "select case when age < 20 then 0 when age >= 80 then 7 else 1 + (age - 20) // 10 end, count(*) "
        "from subjects group by 1"
    ),
    (
        "select count(*) from jobs where (since, coalesce(until, date '2024-06-30')) overlaps (date '2020-03-01', date "
        "'2020-06-01')"
    ): (
        "select count(*) from jobs where least(since, coalesce(until, date '2024-06-30')) < date '2020-06-01' and "
        "greatest(since, coalesce(until, date '2024-06-30')) > date '2020-03-01'"
    ),
}
"""The same in plain SQL of DuckDB, where a word means something else there."""
