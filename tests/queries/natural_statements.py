"""What analysts of six houses write: 150 statements, written down before any of them was tried, and never left out.

A shop, an insurer, a payroll office, a school, a hospital and a bike-share, each with tables and rows of its own. A
statement is answered where lapwing plans and prices it; its numbers, before noise, must be those of DuckDB.
"""

from collections.abc import Iterable
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from lapwing.queries.catalogue.column import Boolean, Category, Column, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import Population, RowsPerPerson, Table
from lapwing.vocabulary.guarantee import PrivacyUnit

NOW = date(2025, 1, 1)
DAYS = Date(first=date(2020, 1, 1), last=date(2024, 12, 31))
BORN = Date(first=date(1930, 1, 1), last=date(2018, 12, 31))
MANY: dict[str, Any] = {"rows": RowsPerPerson.MANY_A_PERSON, "max_rows": 12}
PEOPLE = 120


def column(name: str, kind: Any, *, nullable: bool = False) -> Column:
    return Column(name=name, type=kind, nullable=nullable)


def population(name: str, key: str, *tables: Table) -> Population:
    return Population(name=name, unit=PrivacyUnit(person_key=key), now=NOW, tables=tables)


SHOP = population(
    "shop",
    "customer_id",
    Table(
        name="customers",
        columns=(
            column("signed_up", DAYS),
            column("country", Category(values=("AT", "CH", "DE", "FR"))),
            column("city", Text(), nullable=True),
            column("birth_year", Integer(low=1930, high=2010), nullable=True),
            column("newsletter", Boolean()),
            column("segment", Category(values=("business", "private"))),
        ),
    ),
    Table(
        name="orders",
        row_key="order_id",
        columns=(
            column("order_id", Integer()),
            column("ordered", DAYS),
            column("amount", Real(low=0, high=2048, step="1/4")),
            column("items", Integer(low=1, high=20)),
            column("channel", Category(values=("phone", "shop", "web"))),
            column("status", Category(values=("open", "paid", "returned"))),
            column("coupon", Text(), nullable=True),
        ),
        **MANY,
    ),
)
INSURER = population(
    "insurer",
    "holder_id",
    Table(
        name="holders",
        columns=(
            column("born", BORN),
            column("sex", Category(values=("f", "m")), nullable=True),
            column("canton", Text()),
            column("bonus_class", Integer(low=0, high=14)),
        ),
    ),
    Table(
        name="policies",
        row_key="policy_id",
        columns=(
            column("policy_id", Integer()),
            column("product", Category(values=("car", "home", "life"))),
            column("premium", Integer(low=0, high=4000)),
            column("starts", DAYS),
            column("ends", DAYS, nullable=True),
        ),
        **MANY,
    ),
    Table(
        name="claims",
        row_key="claim_id",
        columns=(
            column("claim_id", Integer()),
            column("policy_id", Integer()),
            column("reported", DAYS),
            column("paid", Integer(low=0, high=50_000), nullable=True),
            column("cause", Category(values=("fire", "hail", "theft", "water"))),
            column("settled", Boolean()),
        ),
        **MANY,
    ),
)
PAYROLL = population(
    "payroll",
    "employee_id",
    Table(
        name="employees",
        columns=(
            column("hired", Date(first=date(1990, 1, 1), last=date(2024, 12, 31))),
            column("department", Category(values=("finance", "it", "sales", "support"))),
            column("grade", Integer(low=1, high=12)),
            column("salary", Integer(low=20_000, high=200_000)),
            column("full_time", Boolean()),
            column("gender", Category(values=("female", "male", "other"))),
            column("office", Text()),
        ),
    ),
    Table(
        name="payslips",
        columns=(
            column("month", DAYS),
            column("gross", Integer(low=0, high=20_000)),
            column("bonus", Integer(low=0, high=10_000), nullable=True),
            column("overtime", Integer(low=0, high=80)),
        ),
        **MANY,
    ),
)
SCHOOL = population(
    "school",
    "student_id",
    Table(
        name="students",
        columns=(
            column("form", Integer(low=1, high=12)),
            column("born", BORN),
            column("house", Category(values=("blue", "green", "red"))),
            column("sex", Category(values=("f", "m"))),
            column("takes_bus", Boolean(), nullable=True),
        ),
    ),
    Table(
        name="marks",
        columns=(
            column("subject", Category(values=("art", "maths", "music", "physics"))),
            column("mark", Real(low=1, high=6, step="1/4")),
            column("day", DAYS),
            column("teacher", Text()),
        ),
        **MANY,
    ),
    Table(
        name="absences",
        columns=(
            column("day", DAYS),
            column("lessons", Integer(low=1, high=8)),
            column("excused", Boolean()),
        ),
        **MANY,
    ),
)
HOSPITAL = population(
    "hospital",
    "patient_id",
    Table(
        name="patients",
        columns=(
            column("born", BORN),
            column("sex", Category(values=("F", "M"))),
            column("blood_group", Category(values=("0", "A", "AB", "B")), nullable=True),
            column("smoker", Boolean(), nullable=True),
            column("weight", Integer(low=2, high=200), nullable=True),
            column("height", Integer(low=40, high=220), nullable=True),
        ),
    ),
    Table(
        name="stays",
        row_key="stay_id",
        columns=(
            column("stay_id", Integer()),
            column("admitted", DAYS),
            column("discharged", DAYS, nullable=True),
            column("ward", Category(values=("icu", "medicine", "surgery"))),
            column("diagnosis", Text()),
        ),
        **MANY,
    ),
    Table(
        name="labs",
        columns=(
            column("stay_id", Integer(), nullable=True),
            column("test", Category(values=("crp", "glucose", "sodium"))),
            column("result", Real(low=0, high=512, step="1/2"), nullable=True),
            column("taken", DAYS),
        ),
        **MANY,
    ),
)
BIKES = population(
    "bikes",
    "rider_id",
    Table(
        name="riders",
        columns=(
            column("member_since", DAYS),
            column("plan", Category(values=("day", "month", "year"))),
            column("age", Integer(low=14, high=99), nullable=True),
            column("home_station", Category(values=("Harbour", "Old Town", "Park", "University"))),
        ),
    ),
    Table(
        name="rides",
        row_key="ride_id",
        columns=(
            column("ride_id", Integer()),
            column("day", DAYS),
            column("minutes", Integer(low=0, high=240)),
            column("km", Real(low=0, high=64, step="1/8")),
            column("start_station", Category(values=("Harbour", "Old Town", "Park", "University"))),
            column("end_station", Category(values=("Harbour", "Old Town", "Park", "University"))),
            column("electric", Boolean()),
            column("weather", Text(), nullable=True),
        ),
        **MANY,
    ),
)
HOUSES = {one.name: one for one in (SHOP, INSURER, PAYROLL, SCHOOL, HOSPITAL, BIKES)}

_TEXTS = {
    "city": ("Bern", "Basel", "Lyon", "Wien", None),
    "coupon": ("SPRING", "VIP10", None, None),
    "canton": ("BE", "BS", "ZH"),
    "office": ("Zurich", "Geneva", "Chur"),
    "teacher": ("Frei", "Keller", "Moser"),
    "diagnosis": ("I10", "E11", "J45", "S72"),
    "weather": ("dry", "rain", None),
}


@cache
def rows(house: str) -> dict[str, list[dict]]:
    """Return rows of a house."""
    return made_up(HOUSES[house], _TEXTS)


def made_up(population: Population, texts: dict[str, tuple]) -> dict[str, list[dict]]:
    """Return rows of a population: everything is within what is declared, some people have none in some tables."""
    random, numbers = Random(population.name), {table.row_key: 0 for table in population.tables if table.row_key}
    made: dict[str, list[dict]] = {table.name: [] for table in population.tables}
    for person in range(1, PEOPLE + 1):
        owned: dict[str, list[int]] = {}
        for table in population.tables:
            many = table.rows is RowsPerPerson.MANY_A_PERSON
            for _ in range(random.choice([0, 1, 1, 2, 3, 5, 9]) if many else 1):
                row = {population.unit.person_key: person}
                for column in table.columns:
                    if column.name == table.row_key:
                        numbers[column.name] += 1
                        row[column.name] = numbers[column.name]
                        owned.setdefault(column.name, []).append(numbers[column.name])
                    elif column.name in numbers:
                        known = [*owned.get(column.name, []), *([None] * column.nullable)]
                        row[column.name] = random.choice(known or [0])
                    else:
                        row[column.name] = _cell(random, column, texts)
                _mend_days(row)
                made[table.name].append(row)
    return made


def _cell(random: Random, column: Column, texts: dict[str, tuple]) -> Any:
    if isinstance(column.type, Text):
        return random.choice(texts[column.name])
    if column.nullable and random.random() < 0.15:
        return None
    match column.type:
        case Integer(low=low, high=high):
            return random.randint(low, high)  # type: ignore[arg-type]
        case Real(low=low, high=high, step=step):
            return float(low + random.randint(0, int((high - low) / step)) * step)  # type: ignore[operator, call-overload]
        case Category(values=values):
            return random.choice(values)
        case Date(first=first, last=last):
            return first + timedelta(days=random.randint(0, (last - first).days))  # type: ignore[operator]
        case _:
            return random.random() < 0.5


def _mend_days(row: dict) -> None:
    """Let what ends do so after it began."""
    for first, last in (
        ("starts", "ends"),
        ("admitted", "discharged"),
        ("lent", "returned"),
        ("booked", "checkin"),
        ("checkin", "checkout"),
    ):
        if row.get(first) is not None and row.get(last) is not None and row[last] < row[first]:
            row[first], row[last] = row[last], row[first]


def statements_of(file: Path, houses: Iterable[str]) -> list[tuple[str, str]]:
    """Return house and text of each statement of a file."""
    text = file.read_text(encoding="utf-8")
    return [
        (house, line)
        for house in houses
        for line in text.partition(f"-- {house}\n")[2].partition("-- ")[0].strip().splitlines()
    ]


STATEMENTS = statements_of(Path(__file__).with_suffix(".sql"), HOUSES)
PLAIN = {
    "select avg(mark >= 4) as pass_rate from marks where subject = 'maths'": (
        "select avg((mark >= 4)::int) as pass_rate from marks where subject = 'maths'"
    ),
    "select avg(start_station = end_station) as round_trips from rides": (
        "select avg((start_station = end_station)::int) as round_trips from rides"
    ),
    "select start_station, approx_count_distinct(rider_id) from rides group by start_station": (
        "select start_station, count(distinct rider_id) from rides group by start_station"
    ),
}
"""The same in plain SQL of DuckDB, where a word means something else there."""
