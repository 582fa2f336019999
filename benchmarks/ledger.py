"""How fast a charge is made durable, beside a bare loop of durable inserts on the same disk in the same run.

Wall time, because a commit waits for the disk; slices are interleaved and the best one counts.
"""

import sqlite3
import sys
import time
from fractions import Fraction
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from _report import Goals, table
from lapwing.accounting.filters.charge import OneShot
from lapwing.ledger.ledger import Ledger, create_ledger, open_ledger
from lapwing.ledger.postgres import PostgresDatabase
from lapwing.ledger.questions import Request, charge_in
from lapwing.ledger.sqlite import SqliteDatabase
from lapwing.ledger.verify import verify
from lapwing.vocabulary.event import DiscreteLaplaceNoise
from lapwing.vocabulary.guarantee import ApproximateDP, PureDP
from lapwing.vocabulary.privacy_unit import PrivacyUnit

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from postgres_server import running

FEW, MANY = 100, 100_000
ROUNDS, SLICE = 80, 10
BODY = "x" * 1000  # about the size of an entry

keys = count()


def request(population: str = "pure") -> Request:
    number = next(keys)
    return Request(
        population=population,
        analyst="ana",
        key=f"key {number}",
        question=f"count patients where age >= {number}",
        tables=frozenset({"patients"}),
        charge=OneShot(event=DiscreteLaplaceNoise(l1_sensitivity=1, scale=Fraction(10))),
    )


def ledger_of(database, entries: int) -> Ledger:
    """Make a ledger with so many entries, in one transaction."""
    ledger = create_ledger(database, name="bench")
    budgets = {
        "pure": PureDP(epsilon=Fraction(10**6)),
        "approximate": ApproximateDP(epsilon=Fraction(30), delta=Fraction(1, 10**6)),
    }
    for name, budget in budgets.items():
        ledger.custody.create_population(name, unit=PrivacyUnit(person_key="id"), budget=budget)
        ledger.custody.add_table(name, "patients")
    with ledger.chronicle.writing("charge") as book:
        while book.last < entries:
            charge_in(book, request())
    return ledger


def charging(ledger: Ledger, population: str = "pure"):
    return lambda: ledger.questions.charge(request(population))


def answering(ledger: Ledger):
    def act() -> None:
        charged = ledger.questions.charge(request())
        ledger.questions.answer(charged.seq, '{"value":17}')

    return act


def bare_sqlite(path: Path):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = full")
    connection.execute("create table entries (seq integer primary key, body text not null)")

    def act() -> None:
        connection.execute("begin immediate")
        connection.execute("insert into entries (body) values (?)", (BODY,))
        connection.execute("commit")

    return act


def bare_postgres(dsn: str):
    connection = psycopg.connect(dsn)
    connection.execute("create table bare (seq bigserial primary key, body text not null)")
    connection.commit()

    def act() -> None:
        connection.execute("insert into bare (body) values (%s)", (BODY,))
        connection.commit()

    return act


def rates(cases) -> dict[str, float]:
    """Return acts per second of each case: the best of interleaved slices."""
    best = dict.fromkeys(cases, 0.0)
    for act in cases.values():
        act()
    for _ in range(ROUNDS):
        for name, act in cases.items():
            start = time.perf_counter()
            for _ in range(SLICE):
                act()
            best[name] = max(best[name], SLICE / (time.perf_counter() - start))
    return best


def compare(goals: Goals, name: str, bare, few: Ledger, many: Ledger) -> None:
    found = rates(
        {
            "bare insert and commit": bare,
            f"charge, ledger of {FEW:,}": charging(few),
            f"charge, ledger of {MANY:,}": charging(many),
            "charge and answer (two commits)": answering(few),
            "charge, (30, 1e-6) budget": charging(few, "approximate"),
        }
    )
    first, *others = found.values()
    rows = [[case, f"{rate:,.0f}", f"{rate / first:.2f}"] for case, rate in found.items()]
    table(f"{name}: durable acts per second", ["case", "per second", "of bare"], rows)
    goals.at_least(f"{name}: charges against bare inserts", others[0] / first, 0.5)
    goals.at_most(f"{name}: {FEW} entries against {MANY:,}", others[0] / others[1], 1.5)


def show_checks(database) -> None:
    start = time.perf_counter()
    with open_ledger(database) as ledger:
        opened = time.perf_counter()
        found = verify(ledger)
        verified = time.perf_counter()
    rows = [["open (chain checked)", f"{opened - start:.2f}"], ["verify (every sum again)", f"{verified - opened:.2f}"]]
    table(f"SQLite: checking {found.entries:,} entries", ["act", "seconds"], rows)


def main() -> None:
    goals = Goals()
    here = Path(__file__).parent  # on a disk: a folder for temporary files may be in memory
    with TemporaryDirectory(dir=here) as folder:
        at = Path(folder)
        few, many = ledger_of(SqliteDatabase(at / "few.db"), FEW), ledger_of(SqliteDatabase(at / "many.db"), MANY)
        compare(goals, "SQLite", bare_sqlite(at / "bare.db"), few, many)
        show_checks(SqliteDatabase(at / "many.db"))
    with running(within=Path("/var/tmp")) as server:  # noqa: S108 - a short path on a disk, for the socket
        few = ledger_of(PostgresDatabase(server.dsn(), schema="few"), FEW)
        many = ledger_of(PostgresDatabase(server.dsn(), schema="many"), MANY)
        compare(goals, "PostgreSQL", bare_postgres(server.dsn()), few, many)
    goals.close()


if __name__ == "__main__":
    main()
