"""How fast a charge is made durable, beside a bare loop of durable inserts on the same disk in the same run.

Wall time, because a commit waits for the disk. Slices are interleaved, each is compared with the bare slice of its own
round, and medians count: what else the machine does falls on both sides alike. `--entries 1000000` makes the large one
larger. Then many threads at once against one, and whether they can spend more than there is.
"""

import argparse
import gc
import multiprocessing
import os
import sqlite3
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from _report import Goals, clock, table
from lapwing.accounting.filters.charge import SingleRelease
from lapwing.ledger.ledger import Ledger, create_ledger, open_ledger
from lapwing.ledger.postgres import PostgresDatabase
from lapwing.ledger.questions import Request, charge_in
from lapwing.ledger.replay import verify
from lapwing.ledger.sqlite import SqliteDatabase
from lapwing.vocabulary.codec import FORMAT
from lapwing.vocabulary.errors import BudgetExceededError
from lapwing.vocabulary.event import DiscreteLaplaceNoise
from lapwing.vocabulary.guarantee import ApproximateDP, PrivacyUnit, PureDP

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from postgres_server import running

FEW, MANY = 100, 100_000
ROUNDS, SLICE = 120, 10
THREADS, EACH, ROUNDS_TOGETHER, CAP = 32, 50, 6, 100  # enough for each that to start them counts for little
MILLION = 10**6
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
        charge=SingleRelease(event=DiscreteLaplaceNoise(l1_sensitivity=1, scale=Fraction(10))),
    )


def ledger_of(database, entries: int) -> Ledger:
    """Make a ledger with this number of entries, in one transaction."""
    ledger = create_ledger(database, name="bench")
    budgets = {
        "pure": PureDP(epsilon=Fraction(10**6)),
        "approximate": ApproximateDP(epsilon=Fraction(30), delta=Fraction(1, 10**6)),
    }
    for name, budget in budgets.items():
        ledger.administration.create_population(name, unit=PrivacyUnit(person_key="id"), budget=budget)
        ledger.administration.add_table(name, "patients")
    with ledger.of("pure").store.writing("charge") as book:
        while book.last < entries:
            charge_in(book, request())
    return ledger


def copy_of(ledger: Ledger, dsn: str, schema: str) -> Ledger:
    """Return the same ledger, entry by entry, in a schema of PostgreSQL: its directory and all chains."""
    database = PostgresDatabase(dsn, schema=schema)
    create_ledger(database, name="bench").close()
    chains = [ledger.chains.directory.store, *(ledger.of(name).store for name in ledger.populations())]
    with psycopg.connect(f"{dsn} options='-c search_path={schema}'") as server:
        server.execute("delete from chains")
        for chain in chains:
            number = chain.database.number
            with chain.reading() as book:
                with server.cursor().copy("copy all_entries (chain, seq, body, hash) from stdin") as rows:
                    for entry in book.entries():
                        rows.write_row((number, *entry))
                end = (number, book.ledger, FORMAT, book.last, book.head)
            server.execute("insert into chains (chain, name, version, seq, hash) values (%s, %s, %s, %s, %s)", end)
    return open_ledger(database)


def settle(dsn: str) -> None:
    """Let everything that was made to measure with be written out, and looked through for garbage, before it is."""
    with psycopg.connect(dsn, autocommit=True) as server:
        server.execute("checkpoint")
    os.sync()
    gc.collect()
    gc.freeze()


def charging(ledger: Ledger, population: str = "pure"):
    asked = prepared(population)
    one = ledger.of(population)
    return lambda: one.questions.charge(next(asked))


def answering(ledger: Ledger):
    asked, one = prepared("pure"), ledger.of("pure")

    def act() -> None:
        charged = one.questions.charge(next(asked))
        one.questions.answer(charged.seq, '{"value":17}')

    return act


def prepared(population: str) -> Iterator[Request]:
    """Return as many requests as will be made: what is measured is the ledger, not whoever asks."""
    return iter([request(population) for _ in range(ROUNDS * SLICE + 1)])


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


def slices(cases) -> dict[str, list[float]]:
    """Return the seconds that one act of each case took, round by round."""
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for act in cases.values():
        act()
    for number in range(ROUNDS):
        names = list(cases)
        for name in names[number % len(names) :] + names[: number % len(names)]:
            start = time.perf_counter()
            for _ in range(SLICE):
                cases[name]()
            seconds[name].append((time.perf_counter() - start) / SLICE)
    return seconds


def ratio(one: list[float], other: list[float]) -> float:
    """Return how many times as long the other takes, by the median of the rounds."""
    return statistics.median(theirs / ours for ours, theirs in zip(one, other, strict=True))


def compare(goals: Goals, name: str, bare, few: Ledger, many: Ledger, *, entries: int) -> None:
    found = slices(
        {
            "bare insert and commit": bare,
            f"charge, ledger of {FEW:,}": charging(few),
            f"charge, ledger of {entries:,}": charging(many),
            "charge and answer (two commits)": answering(few),
            "charge, (30, 1e-6) budget": charging(few, "approximate"),
        }
    )
    first, small, large, *_ = found.values()
    rows = [[case, f"{1 / statistics.median(each):,.0f}", f"{ratio(each, first):.2f}"] for case, each in found.items()]
    table(f"{name}: durable acts per second", ["case", "per second", "of bare"], rows)
    goals.at_least(f"{name}: charges against bare inserts", ratio(small, first), 0.5)
    goals.at_most(f"{name}: {entries:,} entries against {FEW}", ratio(small, large), 1.5)


def show_threads(goals: Goals, name: str, ledger: Ledger) -> None:
    """Charge in one thread and in many, in turns: those who wait for the writer at once share a commit."""
    found: dict[str, dict[int, list[float]]] = {
        act: {1: [], THREADS: []} for act in ("charge", "charge and answer (two commits)")
    }
    for number in range(ROUNDS_TOGETHER):
        for threads in (1, THREADS)[:: 1 if number % 2 else -1]:
            for act, seconds in found.items():
                seconds[threads].append(in_threads(ledger, threads, answers=act != "charge"))
    rows, gains = [], {}
    for act, seconds in found.items():
        gains[act] = ratio(seconds[THREADS], seconds[1])
        one, many = (f"{1 / statistics.median(seconds[threads]):,.0f}" for threads in (1, THREADS))
        rows.append([act, one, many, f"{gains[act]:.1f}"])
    table(f"{name}: durable acts per second", ["act", "one thread", f"{THREADS} threads", "times"], rows)
    goals.at_least(f"{name}: charges of {THREADS} threads against one", gains["charge"], 5)


def in_threads(ledger: Ledger, threads: int, *, answers: bool) -> float:
    """Return the seconds that one act took, of many in this number of threads."""
    ledger = ledger.of("pure")
    asked = [[request() for _ in range(EACH * THREADS // threads)] for _ in range(threads)]

    def act(requests: list[Request]) -> None:
        for one in requests:
            charged = ledger.questions.charge(one)
            if answers:
                ledger.questions.answer(charged.seq, '{"value":17}')

    workers = [threading.Thread(target=act, args=(requests,)) for requests in asked]
    start = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return (time.perf_counter() - start) / (EACH * THREADS)


def require_the_cap(goals: Goals, name: str, ledger: Ledger) -> None:
    """Let many threads ask for more than there is: exactly the cap is spent."""
    ledger.administration.create_population(
        "capped", unit=PrivacyUnit(person_key="id"), budget=PureDP(epsilon=Fraction(CAP, 10))
    )
    ledger.administration.add_table("capped", "patients")
    admitted: list[int] = []

    def act() -> None:
        for _ in range(CAP):
            try:
                admitted.append(ledger.of("capped").questions.charge(request("capped")).seq)
            except BudgetExceededError:
                return

    workers = [threading.Thread(target=act) for _ in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    spent = ledger.account("capped").filters["everyone"].spent
    over = max(spent - Fraction(CAP, 10), Fraction(len(admitted) - CAP))
    goals.at_most(f"{name}: charges of {THREADS} threads beyond a cap of {CAP}", float(over), 0)


def show_checks(goals: Goals, path: Path) -> None:
    """Open and verify a ledger in a process of its own, as whoever opens one does: nothing else lies in its memory."""
    with multiprocessing.get_context("spawn").Pool(1) as fresh:
        entries, opened, waited, verified = fresh.apply(checks, (path,))
    per_million = MILLION / entries
    rows = [
        ["open (chain checked)", f"{opened:.2f}", f"{opened * per_million:.1f}", f"{waited * per_million:.1f}"],
        ["verify (every charge again)", f"{verified:.2f}", f"{verified * per_million:.0f}", ""],
    ]
    table(f"SQLite: checking {entries:,} entries", ["act", "CPU seconds", "a million", "on the wall"], rows)
    goals.at_most("SQLite: chain of a million entries", opened * per_million, 10, " s")


def checks(path: Path) -> tuple[int, float, float, float]:
    """Return how many entries a ledger has, CPU and wall seconds of opening it, and CPU seconds of verifying it."""
    start, begun = clock(), time.perf_counter()
    with open_ledger(SqliteDatabase(path)) as ledger:
        for name in ledger.populations():  # each is followed when it is asked about
            ledger.account(name)
        opened, waited = clock() - start, time.perf_counter() - begun
        found = verify(ledger)
    return found.entries, opened, waited, clock() - start - opened


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=MANY)
    entries = parser.parse_args().entries
    goals = Goals()
    here = Path(__file__).parent  # on a disk: a folder for temporary files may be in memory
    with TemporaryDirectory(dir=here) as folder, running(within=Path("/var/tmp")) as server:  # noqa: S108 - on a disk
        at, dsn = Path(folder), server.dsn()
        few, many = ledger_of(SqliteDatabase(at / "few.db"), FEW), ledger_of(SqliteDatabase(at / "many.db"), entries)
        copies = [copy_of(ledger, dsn, schema) for ledger, schema in ((few, "few"), (many, "many"))]
        settle(dsn)
        compare(goals, "SQLite", bare_sqlite(at / "bare.db"), few, many, entries=entries)
        compare(goals, "PostgreSQL", bare_postgres(dsn), *copies, entries=entries)
        for name, ledger in (("SQLite", few), ("PostgreSQL", copies[0])):
            show_threads(goals, name, ledger)
            require_the_cap(goals, name, ledger)
        show_checks(goals, at / "many.db")
    goals.close()


if __name__ == "__main__":
    main()
