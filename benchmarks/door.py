"""What the door costs beside its bare parts: a question, a stream, thousands at once, opening, and the command line.

    make bench-door                   a clinic of 100,000 people, a ledger of a million entries
    python benchmarks/door.py 0.1     a tenth of both

Everything is measured in the same run beside the parts that it cannot do without: the same SQL in a bare DuckDB, bare
durable commits to SQLite, a bare count on bitmaps. CPU time is that of the process, all its threads and the system
included; the time on the wall is shown beside it and has no goal.
"""

import hashlib
import itertools
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import date
from fractions import Fraction
from pathlib import Path

import lapwing as lw
from _report import Goals, clock, table
from lapwing.engines.emitter import emit
from lapwing.ledger.checkpoint import CheckpointFile
from lapwing.ledger.ledger import create_ledger, open_ledger
from lapwing.made_up.clinic_files import make_clinic
from lapwing.made_up.made_up_people import VISITS
from lapwing.queries.language.expressions import Condition, condition
from lapwing.queries.planning.planner import plan
from lapwing.session import Session
from lapwing.vocabulary.guarantee import PrivacyUnit, PureDP
from lapwing.workspace.creating import create

PEOPLE, ENTRIES = 100_000, 1_000_000
ONE_SHOT, STREAMED, SLICE, TOGETHER, TOGETHER_AT_ONCE = 100, 300, 20, 20_000, 1000


class Measured(dict[str, tuple[float, float]]):
    """CPU and wall seconds for one of something, by its name."""

    @contextmanager
    def measure(self, name: str, times: int) -> Iterator[None]:
        """Take the time of what is done inside, for one of so many times in all; parts of it are added up."""
        cpu, wall = clock(), time.perf_counter()
        yield
        before = self.get(name, (0.0, 0.0))
        self[name] = before[0] + (clock() - cpu) / times, before[1] + (time.perf_counter() - wall) / times

    def cpu(self, *names: str) -> float:
        """Return the CPU seconds of some together."""
        return sum(self[name][0] for name in names)

    def show(self, title: str) -> None:
        """Print all of them."""
        rows = [[name, f"{1e3 * cpu:.3f}", f"{1e3 * wall:.3f}"] for name, (cpu, wall) in self.items()]
        table(title, ["one of", "CPU ms", "wall ms"], rows)


def conditions() -> list[Condition]:
    """Return many different conditions that are made of few atoms."""
    sexes = [lw.col("sex") == sex for sex in ("F", "M")]
    ages = [lw.col("age").between(low, low + width) for low in range(0, 90, 3) for width in (5, 10, 20, 40)]
    flags = [condition(lw.col(name)) for name in ("smoker", "hypertension", "diabetes", "cancer_survivor")]
    visits = [lw.col("visits") >= number for number in range(10)]
    made = itertools.product(sexes, ages, [*flags, *(~flag for flag in flags)], visits)
    return [sex & age & flag & visit for sex, age, flag, visit in made][:TOGETHER]


def conditions_of_visits() -> list[Condition]:
    """Return as many conditions about events, made of few atoms."""
    kinds = [lw.col("kind") == kind for kind in VISITS]
    nights = [lw.col("nights").between(low, low + width) for low in range(12) for width in range(12)]
    days = [lw.col("day") >= date(2010 + half // 2, 1 + half % 2 * 6, 1) for half in range(30)]
    made = itertools.product(kinds, nights, days)
    return [kind & few & day for kind, few, day in made][:TOGETHER]


def conditions_of_rows() -> list[Condition]:
    """Return as many conditions about people who have an event, and several of them."""
    some = conditions_of_visits()
    return [lw.has("visit", where, at_least=1 + number % 3) for number, where in enumerate(some)]


def texts() -> list[str]:
    """Return as many conditions as text."""
    ages = [(low, low + width) for low in range(0, 90, 3) for width in (5, 10, 20, 40)]
    flags = ("smoker", "hypertension", "diabetes", "cancer_survivor")
    made = itertools.product(("F", "M"), ages, [*flags, *(f"not {flag}" for flag in flags)], range(10))
    return [
        f"sex = '{sex}' and age between {low} and {high} and {flag} and visits >= {visits}"
        for sex, (low, high), flag, visits in made
    ][:TOGETHER]


def bare_parts(measured: Measured, clinic: Session) -> None:
    """Measure what a question cannot do without."""
    asked = [plan(lw.count("patient", where), clinic.population).aggregate for where in conditions()[:ONE_SHOT]]
    with clinic._tables.lease(clinic.ledger.population(clinic.population.name).tables) as engine:  # noqa: SLF001
        statements = [
            emit(one, clinic.population, engine._dialect, engine._relations, engine._one_row)  # noqa: SLF001
            for one in asked
        ]
        cursor = engine._connection.cursor()  # type: ignore[attr-defined]  # noqa: SLF001 - the bare DuckDB inside
        for statement in statements[:3]:
            cursor.execute(statement.text, list(statement.parameters)).fetchall()
        with measured.measure("bare DuckDB query", ONE_SHOT):
            for statement in statements:
                cursor.execute(statement.text, list(statement.parameters)).fetchall()
        versions = clinic.ledger.population(clinic.population.name).tables
        engine.numbers(asked, versions=versions)
        with measured.measure("bare count on bitmaps", STREAMED):
            for i in range(STREAMED):
                engine.numbers([asked[i % ONE_SHOT]], versions=versions)


def bare_database(folder: Path) -> sqlite3.Connection:
    """Return a database whose commits are as durable as those of a ledger."""
    database = sqlite3.connect(folder / "bare.db", isolation_level=None)
    for pragma in ("journal_mode = wal", "synchronous = full"):
        database.execute(f"pragma {pragma}")
    database.execute("create table entries (seq integer primary key, body text)")
    return database


def commit(database: sqlite3.Connection) -> None:
    """Write what an entry takes, and nothing else."""
    database.execute("begin immediate")
    database.execute("insert into entries (body) values (?)", ("x" * 1500,))
    database.execute("commit")


def one_shot(measured: Measured, clinic: Session) -> None:
    asked = [lw.count("patient", where) for where in conditions()[:ONE_SHOT]]
    for i in range(3):
        clinic.ask(lw.count("patient", f"bmi >= {20 + i}"), epsilon="0.001")
    for name in ("one-shot count", "the same again"):
        with measured.measure(name, ONE_SHOT):
            for question in asked:
                clinic.ask(question, epsilon="0.001")


def many_at_once(measured: Measured, clinic: Session) -> None:
    asked = [lw.count("patient", where) for where in conditions()[ONE_SHOT : ONE_SHOT + TOGETHER_AT_ONCE]]
    with measured.measure("one-shot count of ask_many", len(asked)):
        clinic.ask_many(asked, epsilon="0.001")


def one_by_one(measured: Measured, clinic: Session, folder: Path) -> None:
    """Measure questions of streams about people and about visits, and bare commits, in turns: the machine is shared."""
    of_people, of_visits = conditions()[:STREAMED], conditions_of_visits()[:STREAMED]
    with (
        closing(bare_database(folder)) as database,
        clinic.stream(at_least=90_000, yeses=3, epsilon=1) as people,
        clinic.stream(table="visit", at_least=90_000, yeses=3, epsilon=1) as visits,
    ):
        people.ask_many(of_people, at_least=80_000)  # other questions, made of the same atoms
        visits.ask_many(of_visits, at_least=80_000)
        for start in range(0, STREAMED, SLICE):
            with measured.measure("bare durable commit", STREAMED):
                for _ in range(SLICE):
                    commit(database)
            with measured.measure("stream question", STREAMED):
                for where in of_people[start : start + SLICE]:
                    people.ask(where)
            with measured.measure("stream question about visits", STREAMED):
                for where in of_visits[start : start + SLICE]:
                    visits.ask(where)


def streams(measured: Measured, clinic: Session) -> dict[str, float]:
    """Measure streams that are asked many together; return how many are answered a CPU second."""
    built, written = conditions(), texts()
    with clinic.stream(at_least=90_000, yeses=3, epsilon=1) as stream:
        stream.ask_many(built[:10])
        with measured.measure("stream question of ask_many", len(built)):
            stream.ask_many(built)
    with (
        clinic.stream(at_least=90_000, yeses=3, epsilon=1) as stream,
        measured.measure("stream question of ask_many, from text", len(written)),
    ):
        stream.ask_many(written)
    return {name: 1 / cpu for name, (cpu, _) in measured.items() if name.startswith("stream question")}


def streams_of_events(measured: Measured, clinic: Session) -> None:
    """Measure the same for events, and for people who have some."""
    of_visits, of_people = conditions_of_visits(), conditions_of_rows()
    with clinic.stream(table="visit", at_least=90_000, yeses=3, epsilon=1) as stream:
        stream.ask_many(of_visits)
    with (
        clinic.stream(table="visit", at_least=90_000, yeses=3, epsilon=1) as stream,
        measured.measure("stream question of ask_many, about visits", len(of_visits)),
    ):
        stream.ask_many(of_visits)
    with (
        clinic.stream(at_least=90_000, yeses=3, epsilon=1) as stream,
        measured.measure("stream question of ask_many, who has visits", len(of_people)),
    ):
        stream.ask_many(of_people)


def opening(measured: Measured, folder: Path, entries: int) -> None:
    """Open a ledger with many questions and answers for the second time, from its checkpoint."""
    ledger = create_ledger(folder / "big.db", name="b16")
    unit, budget = PrivacyUnit(person_key="id"), PureDP(epsilon=Fraction(1))
    ledger.administration.create_population("clinic", unit=unit, budget=budget)
    for begin in range(0, entries // 2, 5000):
        with ledger.store.writing("policy") as transaction:
            for number in range(begin, min(begin + 5000, entries // 2)):
                asked = transaction.append("charge", population="clinic", analyst="ana", request=f"question {number}")
                recall = hashlib.sha256(str(number).encode()).hexdigest()
                transaction.append("answer", population="clinic", settles=asked.seq, recall=recall, answer=str(number))
    ledger.close()
    checkpoints = CheckpointFile(folder / "big.checked", bytes(32))
    open_ledger(folder / "big.db", checkpoints=checkpoints).close()
    with measured.measure(f"opening a ledger of {entries:,} entries", 5):
        opened = [open_ledger(folder / "big.db", checkpoints=checkpoints) for _ in range(5)]
    for one in opened:
        one.close()


def cpu_of(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, env=dict(os.environ))  # noqa: S603 - our own
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def command_line(clinic: Path) -> tuple[float, float]:
    """Return the CPU seconds of `lapwing count` and of the imports it cannot do without: the best of several."""
    bare = [sys.executable, "-c", "import click, duckdb, numpy"]
    prices = itertools.count(1)

    def count() -> list[str]:
        words = ["count", "patient", "--where", "age > 30", "--epsilon", f"0.00{next(prices)}", "-w", str(clinic)]
        return [sys.executable, "-m", "lapwing", *words]

    rounds: list[Callable[[], float]] = [lambda: cpu_of(count()), lambda: cpu_of(bare)]
    ours, theirs = zip(*[[one() for one in rounds] for _ in range(7)], strict=True)
    return min(ours), min(theirs)


def main(size: float = 1.0) -> None:
    goals, measured = Goals(), Measured()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        place = make_clinic(folder / "clinic", int(PEOPLE * size), epsilon=1000)
        create(place).close()
        with lw.open(place, analyst="ana") as clinic:
            one_shot(measured, clinic)
            many_at_once(measured, clinic)
            bare_parts(measured, clinic)
            one_by_one(measured, clinic, folder)
            streams_of_events(measured, clinic)
            rates = streams(measured, clinic)
        opening(measured, folder, int(ENTRIES * size))
        measured.show("The door beside its parts")
        ours, theirs = command_line(place)
    commits = 2 * measured.cpu("bare durable commit")
    asked, counted = measured.cpu("bare DuckDB query") + commits, measured.cpu("bare count on bitmaps") + commits
    together = rates["stream question of ask_many"]
    goals.at_most("one-shot count beside DuckDB and two commits", measured.cpu("one-shot count") / asked, 2.5)
    goals.at_most("the same again, free", 1e3 * measured.cpu("the same again"), 1, " ms")
    goals.at_most("stream question beside bitmaps and two commits", measured.cpu("stream question") / counted, 4)
    goals.at_least("ask_many from built conditions, a CPU second", together, 5000, "")
    goals.at_least("ask_many about visits", rates["stream question of ask_many, about visits"], 5000, "")
    goals.at_least("ask_many of who has visits", rates["stream question of ask_many, who has visits"], 1000, "")
    beside = measured.cpu("stream question about visits") / measured.cpu("stream question")
    goals.at_most("stream question about visits beside one about people", beside, 1.25)
    goals.at_least("ask_many from text", rates["stream question of ask_many, from text"], 2000, "")
    goals.at_least("ask_many beside one by one", together * measured.cpu("stream question"), 100)
    name = next(name for name in measured if name.startswith("opening"))
    goals.at_most(name, 1e3 * measured[name][1], 50, " ms")
    goals.at_most("lapwing count beside import click, duckdb, numpy", ours / theirs, 2.5)
    goals.close()


if __name__ == "__main__":
    main(*(float(given) for given in sys.argv[1:]))
