"""A small town of friends: pairs in both orders, twice, with themselves, with strangers and with nobody."""

from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from lapwing.accounting.filters.charge import DeltaShares
from lapwing.ledger.ledger import create_ledger
from lapwing.queries.catalogue.column import Column, Integer
from lapwing.queries.catalogue.population import Population, RowsPerPerson, Table
from lapwing.session import Session
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit
from session.clinic import KEY
from session.real_tables import Tables

PEOPLE = 60
EDGES = sorted({(i, j) for i in range(1, PEOPLE + 1) for j in range(i + 1, PEOPLE + 1) if (i * j + i + j) % 7 == 0})
"""A graph with many triangles."""
ROWS = [
    *((i, j) if (i + j) % 2 else (j, i) for i, j in EDGES),
    *((j, i) for i, j in EDGES[::5]),  # the same pairs again, under keys of their own
    *((i, i) for i in range(1, 20)),
    (0, 5),
    (5, 61),
    (None, 7),
]


def population(adjacency=Adjacency.ADD_REMOVE, protects_groups_of=1) -> Population:
    ends = Integer(low=1, high=PEOPLE)
    return Population(
        name="town",
        unit=PrivacyUnit(person_key="edge", adjacency=adjacency, protects_groups_of=protects_groups_of),
        tables=(
            Table(
                name="friend",
                columns=(
                    Column(name="one", type=ends, nullable=True),
                    Column(name="other", type=ends),
                    Column(name="year", type=Integer(low=1990, high=2030)),
                ),
            ),
            Table(
                name="call",
                rows=RowsPerPerson.MANY_A_PERSON,
                max_rows=2,
                columns=(Column(name="one", type=ends), Column(name="other", type=ends)),
            ),
            Table(
                name="odd",
                columns=(
                    Column(name="one", type=Integer(low=1, high=5)),
                    Column(name="other", type=Integer(low=1, high=6)),
                    Column(name="third", type=Integer()),
                ),
            ),
        ),
    )


def rows_of_friends(rows) -> pa.Table:
    return pa.table(
        {
            "edge": pa.array(range(len(rows)), pa.int64()),
            "one": pa.array([one for one, _ in rows], pa.int64()),
            "other": pa.array([other for _, other in rows], pa.int64()),
            "year": pa.array([2000 + place % 20 for place in range(len(rows))], pa.int64()),
        }
    )


def town_tables(rows=tuple(ROWS), **unit) -> Tables:
    empty = pa.table({name: pa.array([], pa.int64()) for name in ("edge", "one", "other", "third")})
    sources = {"friend": rows_of_friends(rows), "call": empty.drop(["third"]), "odd": empty}
    return Tables(sources=sources, population=population(**unit))


@contextmanager
def town_ledger(path: Path, budget, **unit):
    with create_ledger(path / "ledger.db", name="f00d") as ledger:
        ledger.administration.create_population(
            "town", unit=population(**unit).unit, budget=budget, shares=DeltaShares(failures=1 / 2)
        )
        for table in ("friend", "call", "odd"):
            ledger.administration.add_table("town", table)
        yield ledger


def town(ledger, data, analyst="ana", **unit) -> Session:
    return Session(population(**unit), ledger, data, analyst=analyst, key=KEY)
