"""What analysts of six houses write: 150 statements, written down before any of them was tried, and never left out.

A shop, an insurer, a payroll office, a school, a hospital and a bike-share, each with tables and rows of its own. A
statement is answered where lapwing plans and prices it; its numbers, before noise, must be those of DuckDB.
"""

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


def _column(name: str, kind: Any, *, nullable: bool = False) -> Column:
    return Column(name=name, type=kind, nullable=nullable)


def _population(name: str, key: str, *tables: Table) -> Population:
    return Population(name=name, unit=PrivacyUnit(person_key=key), now=NOW, tables=tables)


SHOP = _population(
    "shop",
    "customer_id",
    Table(
        name="customers",
        columns=(
            _column("signed_up", DAYS),
            _column("country", Category(values=("AT", "CH", "DE", "FR"))),
            _column("city", Text(), nullable=True),
            _column("birth_year", Integer(low=1930, high=2010), nullable=True),
            _column("newsletter", Boolean()),
            _column("segment", Category(values=("business", "private"))),
        ),
    ),
    Table(
        name="orders",
        row_key="order_id",
        columns=(
            _column("order_id", Integer()),
            _column("ordered", DAYS),
            _column("amount", Real(low=0, high=2048, step="1/4")),
            _column("items", Integer(low=1, high=20)),
            _column("channel", Category(values=("phone", "shop", "web"))),
            _column("status", Category(values=("open", "paid", "returned"))),
            _column("coupon", Text(), nullable=True),
        ),
        **MANY,
    ),
)
INSURER = _population(
    "insurer",
    "holder_id",
    Table(
        name="holders",
        columns=(
            _column("born", BORN),
            _column("sex", Category(values=("f", "m")), nullable=True),
            _column("canton", Text()),
            _column("bonus_class", Integer(low=0, high=14)),
        ),
    ),
    Table(
        name="policies",
        row_key="policy_id",
        columns=(
            _column("policy_id", Integer()),
            _column("product", Category(values=("car", "home", "life"))),
            _column("premium", Integer(low=0, high=4000)),
            _column("starts", DAYS),
            _column("ends", DAYS, nullable=True),
        ),
        **MANY,
    ),
    Table(
        name="claims",
        row_key="claim_id",
        columns=(
            _column("claim_id", Integer()),
            _column("policy_id", Integer()),
            _column("reported", DAYS),
            _column("paid", Integer(low=0, high=50_000), nullable=True),
            _column("cause", Category(values=("fire", "hail", "theft", "water"))),
            _column("settled", Boolean()),
        ),
        **MANY,
    ),
)
PAYROLL = _population(
    "payroll",
    "employee_id",
    Table(
        name="employees",
        columns=(
            _column("hired", Date(first=date(1990, 1, 1), last=date(2024, 12, 31))),
            _column("department", Category(values=("finance", "it", "sales", "support"))),
            _column("grade", Integer(low=1, high=12)),
            _column("salary", Integer(low=20_000, high=200_000)),
            _column("full_time", Boolean()),
            _column("gender", Category(values=("female", "male", "other"))),
            _column("office", Text()),
        ),
    ),
    Table(
        name="payslips",
        columns=(
            _column("month", DAYS),
            _column("gross", Integer(low=0, high=20_000)),
            _column("bonus", Integer(low=0, high=10_000), nullable=True),
            _column("overtime", Integer(low=0, high=80)),
        ),
        **MANY,
    ),
)
SCHOOL = _population(
    "school",
    "student_id",
    Table(
        name="students",
        columns=(
            _column("form", Integer(low=1, high=12)),
            _column("born", BORN),
            _column("house", Category(values=("blue", "green", "red"))),
            _column("sex", Category(values=("f", "m"))),
            _column("takes_bus", Boolean(), nullable=True),
        ),
    ),
    Table(
        name="marks",
        columns=(
            _column("subject", Category(values=("art", "maths", "music", "physics"))),
            _column("mark", Real(low=1, high=6, step="1/4")),
            _column("day", DAYS),
            _column("teacher", Text()),
        ),
        **MANY,
    ),
    Table(
        name="absences",
        columns=(
            _column("day", DAYS),
            _column("lessons", Integer(low=1, high=8)),
            _column("excused", Boolean()),
        ),
        **MANY,
    ),
)
HOSPITAL = _population(
    "hospital",
    "patient_id",
    Table(
        name="patients",
        columns=(
            _column("born", BORN),
            _column("sex", Category(values=("F", "M"))),
            _column("blood_group", Category(values=("0", "A", "AB", "B")), nullable=True),
            _column("smoker", Boolean(), nullable=True),
            _column("weight", Integer(low=2, high=200), nullable=True),
            _column("height", Integer(low=40, high=220), nullable=True),
        ),
    ),
    Table(
        name="stays",
        row_key="stay_id",
        columns=(
            _column("stay_id", Integer()),
            _column("admitted", DAYS),
            _column("discharged", DAYS, nullable=True),
            _column("ward", Category(values=("icu", "medicine", "surgery"))),
            _column("diagnosis", Text()),
        ),
        **MANY,
    ),
    Table(
        name="labs",
        columns=(
            _column("stay_id", Integer(), nullable=True),
            _column("test", Category(values=("crp", "glucose", "sodium"))),
            _column("result", Real(low=0, high=512, step="1/2"), nullable=True),
            _column("taken", DAYS),
        ),
        **MANY,
    ),
)
BIKES = _population(
    "bikes",
    "rider_id",
    Table(
        name="riders",
        columns=(
            _column("member_since", DAYS),
            _column("plan", Category(values=("day", "month", "year"))),
            _column("age", Integer(low=14, high=99), nullable=True),
            _column("home_station", Category(values=("Harbour", "Old Town", "Park", "University"))),
        ),
    ),
    Table(
        name="rides",
        row_key="ride_id",
        columns=(
            _column("ride_id", Integer()),
            _column("day", DAYS),
            _column("minutes", Integer(low=0, high=240)),
            _column("km", Real(low=0, high=64, step="1/8")),
            _column("start_station", Category(values=("Harbour", "Old Town", "Park", "University"))),
            _column("end_station", Category(values=("Harbour", "Old Town", "Park", "University"))),
            _column("electric", Boolean()),
            _column("weather", Text(), nullable=True),
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
    """Return rows of a house: everything is within what is declared, some people have none in some tables."""
    random, numbers = Random(house), {"order_id": 0, "policy_id": 0, "claim_id": 0, "stay_id": 0, "ride_id": 0}
    population = HOUSES[house]
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
                        row[column.name] = _cell(random, column)
                _mend_days(row)
                made[table.name].append(row)
    return made


def _cell(random: Random, column: Column) -> Any:
    if isinstance(column.type, Text):
        return random.choice(_TEXTS[column.name])
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
    for first, last in (("starts", "ends"), ("admitted", "discharged")):
        if row.get(last) is not None and row[last] < row[first]:
            row[first], row[last] = row[last], row[first]


TEXT = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
STATEMENTS = [
    (house, text)
    for house in HOUSES
    for text in TEXT.partition(f"-- {house}\n")[2].partition("-- ")[0].strip().splitlines()
]
"""House and text of each."""
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
