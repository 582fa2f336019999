"""Questions on Spark beside the Spark SQL that one would write by hand: CPU of the Java, in turns, in one Java.

The data are made up: people with an age, a sex and a site, and their visits, in Parquet. What is written by hand reads
with the settings of Spark (push-down is on) and trusts that people have one row each; for means and medians it takes
the first rows of a person, where lapwing takes evenly spread ones. A ratio is that of the least of some turns each.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

import lapwing as lw
from _report import Goals, table
from lapwing.queries.catalogue.column import Category, Column, Integer, Real
from lapwing.queries.catalogue.population import Population, RowsPerPerson, Table
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.guarantee import PrivacyUnit

sys.path.append(str(Path(__file__).parents[1] / "tests"))
import spark_session
from lapwing.engines.spark import Spark

KINDS = tuple(f"kind {i}" for i in range(6))
SITES = tuple(f"site {i:02}" for i in range(20))
CLINIC = Population(
    name="clinic",
    unit=PrivacyUnit(person_key="pid"),
    tables=(
        Table(
            name="patients",
            columns=(
                Column(name="age", type=Integer(low=0, high=120)),
                Column(name="sex", type=Category(values=("F", "M"))),
                Column(name="site", type=Category(values=SITES)),
            ),
        ),
        Table(
            name="visits",
            columns=(
                Column(name="kind", type=Category(values=KINDS)),
                Column(name="day", type=Integer(low=0, high=4000)),
                Column(name="nights", type=Integer(low=0, high=30)),
                Column(name="cost", type=Real(low=0, high=1000)),
            ),
            rows=RowsPerPerson.MANY_A_PERSON,
        ),
    ),
)
SETTINGS = {
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
    "spark.driver.memory": "2g",
}


def drawn(number: int, column: int, below: int) -> np.ndarray:
    """Return numbers that are as good as drawn, the same each time."""
    mixed = (np.arange(number, dtype=np.uint64) + np.uint64(column << 40)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return ((mixed >> np.uint64(32)) % np.uint64(below)).astype(np.int64)


def made(folder: Path, people: int) -> dict[str, Path]:
    """Write people and four times as many visits."""
    visits = 4 * people
    tables = {
        "patients": {
            "pid": np.arange(people),
            "age": drawn(people, 1, 100),
            "sex": np.array(["F", "M"])[drawn(people, 2, 2)],
            "site": np.array(SITES)[drawn(people, 3, len(SITES))],
        },
        "visits": {
            "pid": drawn(visits, 4, people),
            "kind": np.array(KINDS)[drawn(visits, 5, len(KINDS))],
            "day": drawn(visits, 6, 4000),
            "nights": drawn(visits, 7, 30),
            "cost": drawn(visits, 8, 100_000) / 100,
        },
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    return {name: folder / f"{name}.parquet" for name in tables}


FIRST_ROWS = """SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY pid ORDER BY nights) AS place FROM visits)
    WHERE place <= 5"""
BINNED = """SELECT bin, COUNT(*) FROM
    (SELECT pid, min_by(width_bucket(cost, 0, 1000, {}), day) AS bin FROM visits GROUP BY pid) GROUP BY bin"""
QUESTIONS: dict[str, tuple[Any, str]] = {
    "count": (lw.count("patients", "age >= 65"), "SELECT COUNT(*) FROM patients WHERE age >= 65"),
    "by site": (lw.count("patients", by="site"), "SELECT site, COUNT(*) FROM patients GROUP BY site"),
    "by kind, two of a person": (
        lw.count("visits", by="kind", max_groups=2),
        """SELECT kind, COUNT(*) FROM
        (SELECT pid, kind, row_number() OVER (PARTITION BY pid ORDER BY hash(pid, kind)) AS r
        FROM (SELECT DISTINCT pid, kind FROM visits)) WHERE r <= 2 GROUP BY kind""",
    ),
    "by kind, one of a person": (
        lw.count("visits", by="kind", max_groups=1),
        """SELECT kind, COUNT(*) FROM (SELECT pid, min_by(kind, hash(pid, kind)) AS kind FROM visits GROUP BY pid)
        GROUP BY kind""",
    ),
    "has (a join)": (
        lw.count("patients", "has(visits, kind = 'kind 3' and nights > 20)"),
        """SELECT COUNT(*) FROM patients
        LEFT SEMI JOIN (SELECT pid FROM visits WHERE kind = 'kind 3' AND nights > 20) AS v ON patients.pid = v.pid""",
    ),
    "first row": (
        lw.count("patients", "first_of(visits.day) < 365"),
        """SELECT COUNT(*) FROM patients JOIN (SELECT pid, min(day) AS day FROM visits GROUP BY pid) AS v
        ON patients.pid = v.pid WHERE v.day < 365""",
    ),
    "median age": (lw.median("patients", "age"), "SELECT age, COUNT(*) FROM patients GROUP BY age"),
    "median nights": (
        lw.median("visits", "nights", max_rows=5),
        f"SELECT nights, COUNT(*) FROM ({FIRST_ROWS}) GROUP BY nights",  # noqa: S608
    ),
    "total cost, bounded": (
        lw.total("visits", "cost", max_rows=5),
        """SELECT SUM(LEAST(GREATEST(c, 0), 5000)) FROM (SELECT SUM(LEAST(GREATEST(cost, 0), 1000)) AS c FROM visits
        GROUP BY pid)""",
    ),
    "mean nights": (
        lw.mean("visits", "nights", max_rows=5),
        f"SELECT SUM(nights), COUNT(*) FROM ({FIRST_ROWS})",  # noqa: S608
    ),
    "top kinds": (
        lw.top("visits", "kind", 3),
        "SELECT kind, COUNT(*) FROM (SELECT DISTINCT pid, kind FROM visits) GROUP BY kind ORDER BY 2 DESC LIMIT 3",
    ),
    "20 bins of cost": (lw.count("visits", by=lw.bins("cost", 20), max_groups=1), BINNED.format(20)),
    "1,000 bins of cost": (lw.count("visits", by=lw.bins("cost", 1000), max_groups=1), BINNED.format(1000)),
}


_READ = "SELECT age, try_validate_utf8(sex) AS sex, try_validate_utf8(site) AS site FROM patients"
_THOUSAND = "1,000 conditions, new each time"
ALIKE = {
    "by site": f"SELECT site, COUNT(*) FROM ({_READ}) WHERE site IN {SITES} GROUP BY site",  # noqa: S608 - ours
    "median age": "SELECT LEAST(GREATEST(age, 0), 120) AS a, COUNT(*) FROM patients WHERE age IS NOT NULL GROUP BY a",
    _THOUSAND: f"SELECT age, sex, site, COUNT(*) FROM ({_READ}) GROUP BY age, sex, site",  # noqa: S608 - ours
}
"""What is written by hand with the same care: bytes that are no text are missing, values are declared or clipped."""


def conditions(number: int) -> list[str]:
    lows, highs, sexes = drawn(number, 11, 6) * 7 + 5, drawn(number, 12, 6) * 7 + 48, drawn(number, 13, 2)
    sites = drawn(3 * number, 14, len(SITES)).reshape(-1, 3)
    return [
        f"age between {low} and {high} and sex = '{'FM'[sex]}' and site in {tuple(SITES[i] for i in three)}"
        for low, high, sex, three in zip(lows, highs, sexes, sites, strict=True)
    ]


def thousand(engine: Spark, rows: int) -> tuple[Callable[[], object], str]:
    """Return a thousand conditions beyond the memory of bitmaps, and the one GROUP BY that a person would write.

    How many rows there are is read once for a version of the data; of conditions nothing is kept.
    """
    asked = [plan(lw.count("patients", where), CLINIC).aggregate for where in conditions(1_000)]

    def ask() -> object:
        engine._bitmap_memory = rows  # noqa: SLF001 - too little for bitmaps
        return [one.open_for_release() for one in engine.numbers(asked, versions={"patients": 1})]

    return ask, "SELECT age, sex, site, COUNT(*) FROM patients GROUP BY age, sex, site"


def java(process: psutil.Process) -> float:
    """Return the CPU seconds of the Java that this process has started, finer than the ticks of 10 ms."""
    return sum(time.clock_gettime(~child.pid << 3 | 2) for child in process.children(recursive=True))


def least(turns: int, *ways: Callable[[], object]) -> list[float]:
    """Return the least CPU of each way, taken in turns, after one turn that does not count."""
    this, found = psutil.Process(), [float("inf")] * len(ways)
    for turn in range(turns + 1):
        for number, way in enumerate(ways):
            before = java(this)
            way()
            if turn:
                found[number] = min(found[number], java(this) - before)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=500_000)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--only", help="questions whose names hold this; several apart by commas", default="")
    given = parser.parse_args()
    goals, rows = Goals(), list[list[str]]()
    with TemporaryDirectory() as folder, spark_session.running(SETTINGS) as session:
        files = made(Path(folder), given.people)
        hand = session.newSession()
        for name, file in files.items():
            hand.read.parquet(str(file)).createOrReplaceTempView(name)
        with Spark(CLINIC, files, session) as engine:
            cases: dict[str, tuple[Callable[[], object], str]] = {}
            for name, (question, text) in QUESTIONS.items():
                aggregate = plan(question, CLINIC).aggregate
                way = engine.keyed if aggregate.cells is None else engine.vector
                cases[name] = (lambda way=way, aggregate=aggregate: way(aggregate).open_for_release()), text
            cases[_THOUSAND] = thousand(engine, given.people)
            for name, (ask, text) in cases.items():
                if not any(part in name for part in given.only.split(",")):
                    continue
                texts = [text, *([ALIKE[name]] if name in ALIKE else [])]
                ours, *theirs = least(given.turns, ask, *(lambda text=text: hand.sql(text).collect() for text in texts))
                ratio, *alike = [ours / max(one, 1e-9) for one in theirs]
                told = [f"{theirs[0]:.3f} s", f"{ratio:.2f}x", *(f"{one:.2f}x" for one in alike or [ratio])]
                rows.append([name, f"{ours:.3f} s", *told])
                print(*rows[-1], flush=True)
                goals.at_most(f"{name}: CPU of hand-written Spark SQL", ratio, 1.5)
    table(
        f"{given.people:,} people, {4 * given.people:,} visits",
        ["", "lapwing", "by hand", "ratio", "with the same bounds"],
        rows,
    )
    goals.close()


if __name__ == "__main__":
    main()
