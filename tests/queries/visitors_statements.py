"""What analysts of three more houses write: 102 statements, written down before any was tried, and never left out.

A lending library, a call centre and a supplier of energy, of which the last two note the time of day.
"""

from datetime import date, timedelta
from functools import cache
from pathlib import Path

from lapwing.queries.catalogue.column import TIME_OF_DAY, Boolean, Category, Column, Date, Integer, Real, Text
from lapwing.queries.catalogue.population import Table
from queries.natural_statements import MANY, column, made_up, population, statements_of

_DAYS = Date(first=date(2023, 1, 1), last=date(2024, 12, 31))
_SINCE = Date(first=date(2010, 1, 1), last=date(2024, 12, 31))
_BRANCHES = Category(values=("Centre", "East", "Harbour"))
_QUEUES = Category(values=("billing", "moving", "technical"))

LENDING = population(
    "lending",
    "reader_id",
    Table(
        name="readers",
        columns=(
            column("born_year", Integer(low=1930, high=2018), nullable=True),
            column("district", Category(values=("North", "Old Town", "South"))),
            column("member_type", Category(values=("adult", "child", "student"))),
            column("joined", Date(first=date(2015, 1, 1), last=date(2022, 12, 31))),
        ),
    ),
    Table(
        name="loans",
        row_key="loan_id",
        columns=(
            column("loan_id", Integer()),
            column("kind", Category(values=("book", "dvd", "game", "magazine"))),
            column("genre", Text()),
            column("branch", _BRANCHES),
            column("lent", _DAYS),
            column("due", _DAYS),
            column("returned", Date(first=date(2023, 1, 1), last=date(2025, 6, 30)), nullable=True),
            column("renewals", Integer(low=0, high=5)),
            column("fine", Real(low=0, high=64, step="1/64"), nullable=True),
        ),
        **MANY,
    ),
    Table(
        name="reservations",
        columns=(column("branch", _BRANCHES), column("reserved", _DAYS), column("picked_up", Boolean())),
        **MANY,
    ),
)
CALLS = population(
    "calls",
    "customer_id",
    Table(
        name="customers",
        columns=(
            column("tariff", Category(values=("basic", "family", "pro"))),
            column("region", Category(values=("east", "west"))),
            column("since", _SINCE),
            column("vip", Boolean()),
            column("age", Integer(low=18, high=99), nullable=True),
        ),
    ),
    Table(
        name="calls",
        row_key="call_id",
        columns=(
            column("call_id", Integer()),
            column("started", _DAYS),
            Column(name="started_time", type=TIME_OF_DAY, time_of="started"),
            column("ended", Date(first=date(2023, 1, 1), last=date(2025, 1, 1))),
            Column(name="ended_time", type=TIME_OF_DAY, time_of="ended"),
            column("queue", _QUEUES),
            column("agent", Text()),
            column("outcome", Category(values=("callback", "hung up", "solved", "transferred")), nullable=True),
            column("wait_seconds", Integer(low=0, high=3600)),
            column("talk_seconds", Integer(low=0, high=7200)),
            column("score", Integer(low=1, high=10), nullable=True),
        ),
        **MANY,
    ),
    Table(
        name="complaints",
        columns=(
            column("call_id", Integer()),
            column("topic", Category(values=("bill", "line", "person"))),
            column("opened", _DAYS),
            column("closed", Date(first=date(2023, 1, 1), last=date(2025, 6, 30)), nullable=True),
        ),
        **MANY,
    ),
)
ENERGY = population(
    "energy",
    "household_id",
    Table(
        name="households",
        columns=(
            column("heating", Category(values=("gas", "heat pump", "oil"))),
            column("area", Integer(low=20, high=400)),
            column("residents", Integer(low=1, high=10)),
            column("postcode", Text()),
            column("solar", Boolean(), nullable=True),
            column("contract_from", _SINCE),
        ),
    ),
    Table(
        name="readings",
        columns=(
            column("read_at", _DAYS),
            Column(name="read_at_time", type=TIME_OF_DAY, time_of="read_at"),
            column("kwh", Real(low=0, high=512, step="1/64")),
            column("meter", Category(values=("day", "night"))),
            column("estimated", Boolean()),
        ),
        **MANY,
    ),
    Table(
        name="bills",
        row_key="bill_id",
        columns=(
            column("bill_id", Integer()),
            column("month", _DAYS),
            column("amount", Real(low=0, high=2048, step="1/4")),
            column("paid_on", Date(first=date(2023, 1, 1), last=date(2025, 6, 30)), nullable=True),
            column("kwh_total", Integer(low=0, high=10_000)),
        ),
        **MANY,
    ),
)
HOUSES = {one.name: one for one in (LENDING, CALLS, ENERGY)}
_TEXTS = {
    "genre": ("crime", "history", "poetry"),
    "agent": ("Ana", "Ben", "Cy"),
    "postcode": ("3000", "3001", "8000"),
}


@cache
def rows(house: str) -> dict[str, list[dict]]:
    """Return rows of a house: a call ends after it began, and a loan does not come back before it went out."""
    made = made_up(HOUSES[house], _TEXTS)
    for call in made.get("calls", ()):
        days, call["ended_time"] = divmod(call["started_time"] + call["wait_seconds"] + call["talk_seconds"], 86_400)
        call["ended"] = call["started"] + timedelta(days=days)
    for loan in made.get("loans", ()):
        loan["due"] = min(loan["lent"] + timedelta(days=28), date(2024, 12, 31))
    return made


STATEMENTS = statements_of(Path(__file__).with_suffix(".sql"), HOUSES)
PLAIN = {
    (
        "select width_bucket(2024 - born_year, 0, 100, 5) as band, count(*) from readers where born_year is not null "
        "group by band order by band"
    ): (
        "select 1 + (2024 - born_year) // 20 as band, count(*) from readers where born_year is not null group by band "
        "order by band"
    ),
    "select count(*) from loans where (lent, returned) overlaps (date '2023-12-24', date '2024-01-02')": (
        "select count(*) from loans where lent < date '2024-01-02' and (returned > date '2023-12-24' or lent = returned"
        " and lent = date '2023-12-24')"
    ),
    ("select strftime(started, '%Y-%m') as month, avg(wait_seconds) from calls group by month order by month"): (
        "select date_trunc('month', started) as month, avg(wait_seconds) from calls group by 1 order by 1"
    ),
}
"""The same in plain SQL of DuckDB, where a word means something else there, or is told in another form."""
