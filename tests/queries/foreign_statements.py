"""What analysts of six more houses write: 150 statements, written down before any was tried, and never left out.

A library, a company of heat and power, a university, a bank, an emergency department and a hotel. Nothing of the
language was made for these: they tell how it fares with tables that it has not seen.
"""

from datetime import date
from functools import cache
from pathlib import Path

from lapwing.queries.catalogue.column import Boolean, Category, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import Table
from queries.natural_statements import BORN, DAYS, MANY, column, made_up, population, statements_of

LIBRARY = population(
    "library",
    "member_id",
    Table(
        name="members",
        columns=(
            column("born", BORN),
            column("joined", DAYS),
            column("branch", Category(values=("Central", "East", "West"))),
            column("kind", Category(values=("adult", "child", "senior"))),
            column("postcode", Text()),
        ),
    ),
    Table(
        name="loans",
        row_key="loan_id",
        columns=(
            column("loan_id", Integer()),
            column("lent", DAYS),
            column("returned", DAYS, nullable=True),
            column("genre", Category(values=("comics", "novel", "science", "travel"))),
            column("fine", Real(low=0, high=32, step="1/4")),
            column("renewals", Integer(low=0, high=5)),
        ),
        **MANY,
    ),
)
HOMES = population(
    "homes",
    "household_id",
    Table(
        name="households",
        columns=(
            column("region", Text()),
            column("heating", Category(values=("gas", "heat pump", "oil", "wood"))),
            column("rooms", Integer(low=1, high=10)),
            column("area", Integer(low=20, high=300)),
            column("solar", Boolean()),
        ),
    ),
    Table(
        name="readings",
        columns=(
            column("day", DAYS),
            column("meter", Category(values=("electric", "gas", "water"))),
            column("kwh", Real(low=0, high=64, step="1/16"), nullable=True),
            column("indoor", Real(low=5, high=35, step="1/2"), nullable=True),
        ),
        **MANY,
    ),
)
UNIVERSITY = population(
    "university",
    "student_id",
    Table(
        name="students",
        columns=(
            column("field", Category(values=("arts", "engineering", "law", "medicine"))),
            column("started", Date(first=date(2018, 1, 1), last=date(2024, 12, 31))),
            column("birth_year", Integer(low=1960, high=2008)),
            column("gender", Category(values=("f", "m", "x")), nullable=True),
            column("country", Text()),
        ),
    ),
    Table(
        name="enrolments",
        row_key="enrolment_id",
        columns=(
            column("enrolment_id", Integer()),
            column("course", Text()),
            column("semester", Category(values=("autumn", "spring"))),
            column("credits", Integer(low=1, high=12)),
            column("grade", Real(low=1, high=6, step="1/4"), nullable=True),
            column("passed", Boolean()),
        ),
        **MANY,
    ),
)
BANK = population(
    "bank",
    "client_id",
    Table(
        name="clients",
        columns=(
            column("opened", DAYS),
            column("segment", Category(values=("private", "retail", "youth"))),
            column("income", Integer(low=0, high=250_000), nullable=True),
            column("online", Boolean()),
        ),
    ),
    Table(
        name="bookings",
        columns=(
            column("booked", DAYS),
            column("amount", Real(low=-4096, high=4096, step="1/4")),
            column("kind", Category(values=("card", "cash", "fee", "transfer"))),
            column("merchant", Text(), nullable=True),
        ),
        **MANY,
    ),
)
EMERGENCY = population(
    "emergency",
    "patient_id",
    Table(
        name="patients",
        columns=(
            column("sex", Category(values=("F", "M"))),
            column("age", Integer(low=0, high=110)),
        ),
    ),
    Table(
        name="visits",
        row_key="visit_id",
        columns=(
            column("visit_id", Integer()),
            column("arrived", DAYS),
            column("triage", Integer(low=1, high=5)),
            column("waited", Integer(low=0, high=720), nullable=True),
            column("disposition", Category(values=("admitted", "died", "home", "left"))),
            column("insurer", Text(), nullable=True),
        ),
        **MANY,
    ),
    Table(
        name="prescriptions",
        columns=(
            column("visit_id", Integer(), nullable=True),
            column("drug", Text()),
            column("dose", Integer(low=0, high=1000)),
            column("days", Integer(low=1, high=30)),
        ),
        **MANY,
    ),
)
HOTEL = population(
    "hotel",
    "guest_id",
    Table(
        name="guests",
        columns=(
            column("country", Text()),
            column("vip", Boolean()),
            column("birth_year", Integer(low=1930, high=2010)),
        ),
    ),
    Table(
        name="stays",
        row_key="stay_id",
        columns=(
            column("stay_id", Integer()),
            column("booked", DAYS),
            column("checkin", DAYS),
            column("checkout", DAYS),
            column("nights", Integer(low=1, high=30)),
            column("room", Category(values=("double", "single", "suite"))),
            column("price", Integer(low=0, high=2000)),
            column("channel", Category(values=("agency", "phone", "web"))),
            column("cancelled", Boolean()),
        ),
        **MANY,
    ),
    Table(
        name="reviews",
        columns=(
            column("stay_id", Integer()),
            column("stars", Integer(low=1, high=5)),
            column("day", DAYS),
        ),
        **MANY,
    ),
)
HOUSES = {one.name: one for one in (LIBRARY, HOMES, UNIVERSITY, BANK, EMERGENCY, HOTEL)}
_TEXTS = {
    "postcode": ("3000", "3006", "3011", "4051"),
    "region": ("coast", "hills", "north"),
    "country": ("IT", "JP", "US", "CH"),
    "course": ("algebra", "ethics", "anatomy"),
    "merchant": ("Acme", "Bakery", None),
    "insurer": ("Aqua", "Visa", None),
    "drug": ("ibuprofen", "morphine", "insulin"),
}


@cache
def rows(house: str) -> dict[str, list[dict]]:
    """Return rows of a house."""
    return made_up(HOUSES[house], _TEXTS)


STATEMENTS = statements_of(Path(__file__).with_suffix(".sql"), HOUSES)
PLAIN = {
    "select width_bucket(area, 0, 300, 6) as bucket, count(*) from households group by bucket order by bucket": (
        "select 1 + area // 50 as bucket, count(*) from households group by bucket order by bucket"
    ),
    "select avg(waited > 240) as breach from visits": "select avg((waited > 240)::int) as breach from visits",
    (
        "select avg(fine) as mean_fine, stddev(fine) as sd, count(*) as n from loans "
        "where fine > 0 group by genre, year(lent)"
    ): (
        "select genre, year(lent), avg(fine) as mean_fine, stddev(fine) as sd, count(*) as n from loans "
        "where fine > 0 group by genre, year(lent)"
    ),
    (
        "select strftime(arrived, '%Y-%m') as month, count(*) from visits "
        "where arrived >= date '2024-01-01' group by 1 order by 1"
    ): (
        "select date_trunc('month', arrived) as month, count(*) from visits "
        "where arrived >= date '2024-01-01' group by 1 order by 1"
    ),
    "select to_char(checkin, 'YYYY-MM') as month, count(*) from stays group by 1": (
        "select date_trunc('month', checkin) as month, count(*) from stays group by 1"
    ),
}
"""The same in plain SQL of DuckDB, where a word means something else there; and groups that are shown unasked."""
