"""What privacy costs where the data lives: bounded sums and cohorts beside bare SQL and beside the peers.

    make bench-queries                      10 million events of 1 million people
    python benchmarks/queries.py 1000000    a tenth of that

The sum is the same everywhere: value clipped to 0..100, at most five groups for a person and three rows in each, by 100
public groups, noise included. Times beside bare DuckDB are of the processor, best of several turns. Other systems work
in processes of their own and wait for one another, so beside them the time on the wall counts, taken in turns.
"""

import contextlib
import itertools
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import psutil
import psycopg
import pyarrow.parquet as pq

import lapwing as ask
from _queries_data import FLAGS, generator, prepared
from _queries_timing import median, spent_by, spent_by_peer
from _report import Goals, clock, table
from lapwing.engines.duckdb import DuckDB
from lapwing.engines.postgres import PostgreSQL, PostgresTable
from lapwing.mechanisms.laplace import GeometricMechanism
from lapwing.queries.catalogue.column import Boolean, Column, Integer, Real
from lapwing.queries.catalogue.population import Population, RowsPerPerson, Table
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.guarantee import PrivacyUnit

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "tests"))
import postgres_server  # noqa: E402 - the private PostgreSQL of the tests

FULL = 10_000_000

UNIT = PrivacyUnit(person_key="person_id")
COHORT = ("age", "sex", "region", "score")
EVENTS = Population(
    name="events",
    unit=UNIT,
    tables=(
        Table(
            name="events",
            rows=RowsPerPerson.MANY_A_PERSON,
            columns=(
                Column(name="grp", type=Integer(low=0, high=99)),
                Column(name="value", type=Real(low=0, high=100, step="1/64")),
                *(Column(name=name, type=Integer()) for name in COHORT),
            ),
        ),
    ),
)
PEOPLE = Population(
    name="people",
    unit=UNIT,
    tables=(
        Table(
            name="people",
            columns=(
                *(Column(name=name, type=Integer()) for name in ("sex", "age", "region", "race", "decile")),
                *(Column(name=f"c{i}", type=Boolean()) for i in range(FLAGS)),
            ),
        ),
    ),
)
SUM = plan(ask.total("events", "value", by="grp", max_rows=3, max_groups=5), EVENTS)

# The same sum by hand: what someone who knows DuckDB writes for these bounds, with any order of a person's groups.
BY_HAND = """
WITH pairs AS (
    SELECT person_id, grp,
           LEAST(GREATEST(SUM(CAST(FLOOR(LEAST(GREATEST(value, 0), 100) * 64 + 0.5) AS BIGINT)), 0), 19200) AS total
    FROM read_parquet('{path}') WHERE value IS NOT NULL AND grp BETWEEN 0 AND 99 GROUP BY person_id, grp),
kept AS (
    SELECT grp, total, ROW_NUMBER() OVER (
        PARTITION BY person_id
        ORDER BY (((person_id * 1009 + grp) % 2147483647 * 1103515245 + 1234567) % 2147483647) * 48271 % 2147483647, grp
    ) AS place FROM pairs)
SELECT grp, CAST(SUM(total) AS BIGINT) FROM kept WHERE place <= 5 GROUP BY grp
"""

# Of each person any row, or any five, clipped: the mean and the median with the same bounds by hand.
ROWS_BY_HAND = """
SELECT {statistic}(value) FROM (
    SELECT LEAST(GREATEST(value, 0), 100) AS value,
           ROW_NUMBER() OVER (PARTITION BY person_id ORDER BY hash(person_id, value)) AS place
    FROM read_parquet('{path}') WHERE value IS NOT NULL AND person_id IS NOT NULL)
WHERE place <= {most}
"""

BARE = "SELECT count(*) FROM people WHERE {}"


def best(cases: dict[str, Callable[[], object]], rounds: int, timer: Callable[[], float]) -> dict[str, float]:
    """Return the least seconds of each case, all cases in turn."""
    seconds = dict.fromkeys(cases, float("inf"))
    for _ in range(rounds):
        for name, call in cases.items():
            start = timer()
            call()
            seconds[name] = min(seconds[name], timer() - start)
    return seconds


def sums(goals: Goals, path: Path, rounds: int) -> None:
    """Compare the engine with SQL by hand on DuckDB, and with the peers that read files."""
    noise = GeometricMechanism(l1_sensitivity=SUM.sensitivity.l1, epsilon=1)
    bare = duckdb.connect()
    with DuckDB(EVENTS, {"events": path}) as engine:

        def answer() -> None:
            released = noise.release(engine.vector(SUM.aggregate))
            assert len(released) == 100  # noqa: S101

        cases = {
            "lapwing": answer,
            "SQL by hand": lambda: bare.execute(BY_HAND.format(path=path)).fetchall(),
            "no privacy at all": lambda: bare.execute(
                f"SELECT grp, SUM(LEAST(GREATEST(value, 0), 100)) FROM read_parquet('{path}') GROUP BY grp"  # noqa: S608
            ).fetchall(),
        }
        seconds = best(cases, rounds, clock)
        table("Bounded sum on DuckDB, CPU seconds", ["", "s"], [[name, f"{s:.2f}"] for name, s in seconds.items()])
        goals.at_most("bounded sum beside SQL by hand on DuckDB", seconds["lapwing"] / seconds["SQL by hand"], 1.15)
        peers(goals, path, answer)


def means(goals: Goals, path: Path, rounds: int) -> None:
    """Compare the mean and the median of events, of few rows a person, with SQL by hand for the same bounds."""
    bare = duckdb.connect()
    statistics = {"avg": ask.mean, "median": ask.median}
    with DuckDB(EVENTS, {"events": path}) as engine:
        cases: dict[str, Callable[[], object]] = {}
        for most, (name, question) in itertools.product((1, 5), statistics.items()):
            by_hand = ROWS_BY_HAND.format(statistic=name, path=path, most=most)
            planned = plan(question("events", "value", max_rows=most), EVENTS)
            cases[f"{name}, {most}"] = lambda planned=planned: engine.vector(planned.aggregate)
            cases[f"{name}, {most}, by hand"] = lambda by_hand=by_hand: bare.execute(by_hand).fetchall()
        seconds = best(cases, rounds, clock)
    table(
        "One row and five rows of a person on DuckDB, CPU seconds",
        ["", "s"],
        [[name, f"{s:.2f}"] for name, s in seconds.items()],
    )
    for most, (name, question) in itertools.product((1, 5), statistics.items()):
        ratio = seconds[f"{name}, {most}"] / seconds[f"{name}, {most}, by hand"]
        goals.at_most(
            f"{question.__name__} of events, rows of a person that count: {most}, beside SQL by hand", ratio, 3
        )


def peers(goals: Goals, path: Path, answer: Callable[[], None]) -> None:
    """Run each peer once, between runs of lapwing."""
    ours, shown = [spent_by(answer, runs=3)], []
    for name, environment, goal in (("OpenDP", None, 10), ("Tumult", ".venv-tumult", 30)):
        found = spent_by_peer(environment, name.lower(), str(path), "1")
        ours.append(spent_by(answer, runs=3))
        if found:
            shown.append([name, *found[0].cells])
            goals.at_least(f"bounded sum beside {name}", found[0].wall / median(ours[-2:]).wall, goal)
        else:
            goals.not_measured(f"bounded sum beside {name} (goal >= {goal}x)", f"{name} is not installed here")
    table("Bounded sum, seconds", ["", "wall", "CPU"], [["lapwing, DuckDB", *median(ours).cells], *shown])


def on_postgres(goals: Goals, path: Path) -> None:
    noise = GeometricMechanism(l1_sensitivity=SUM.sensitivity.l1, epsilon=1)
    cohort = plan(ask.count("events", "age between 30 and 60 and sex = 1 and score > 500"), EVENTS).aggregate
    ours, cohorts_, theirs = [], [], []
    with loaded(path) as (server, dsn), PostgreSQL(EVENTS, {"events": PostgresTable(table="events")}, dsn) as engine:
        for _ in range(3):  # in turns, so that both have the same company
            ours.append(spent_by(lambda: noise.release(engine.vector(SUM.aggregate)), server))
            cohorts_.append(spent_by(lambda: engine.number(cohort), server))
            theirs += spent_by_peer(".venv-smartnoise", "smartnoise", dsn, "1", servers=[server])
    shown = {"lapwing, sum": median(ours), "lapwing, cohort": median(cohorts_)}
    if theirs:
        shown["SmartNoise, sum"] = median(theirs)
        goals.at_least("bounded sum on PostgreSQL beside SmartNoise", median(theirs).wall / median(ours).wall, 1)
    else:
        goals.not_measured(
            "bounded sum on PostgreSQL beside SmartNoise (goal >= 1x)", "SmartNoise is not installed here"
        )
    table("PostgreSQL, seconds", ["", "wall", "CPU"], [[name, *spent.cells] for name, spent in shown.items()])


@contextlib.contextmanager
def loaded(path: Path) -> Iterator[tuple[psutil.Process, str]]:
    """Give a PostgreSQL with the events, and the connection string of a role that may read them."""
    with postgres_server.running("fsync=off", "shared_buffers=2GB", "work_mem=256MB", "max_wal_size=8GB") as server:
        with psycopg.connect(server.dsn(), autocommit=True) as admin, tempfile.TemporaryDirectory() as folder:
            admin.execute(
                "create unlogged table events (person_id bigint, grp bigint, value double precision, "
                "age bigint, sex bigint, region bigint, score bigint)"
            )
            text = f"{folder}/events.csv"
            with duckdb.connect() as copying:
                copying.execute(f"COPY (FROM read_parquet('{path}')) TO '{text}' (HEADER false)").fetchall()
            with admin.cursor().copy("copy events from stdin (format csv)") as copy, Path(text).open("rb") as lines:
                while block := lines.read(1 << 20):
                    copy.write(block)
            admin.execute("vacuum analyze events")
            admin.execute("create role reader login")
            admin.execute("grant select on events to reader")
        assert server.process is not None  # noqa: S101
        yield psutil.Process(server.process.pid), server.dsn().replace("user=postgres", "user=reader")


def cohorts(goals: Goals, path: Path) -> None:
    atoms = [f"sex = {v}" for v in range(2)] + [f"age >= {v}" for v in range(1, 90)]
    atoms += [f"region = {v}" for v in range(50)] + [f"race = {v}" for v in range(5)]
    atoms += [f"decile = {v}" for v in range(10)] + [f"c{i}" for i in range(FLAGS)]
    draw = generator(3)
    wheres = [" and ".join(atoms[i] for i in draw.choice(len(atoms), 4, replace=False)) for _ in range(4000)]
    asked = [plan(ask.count("people", where), PEOPLE).aggregate for where in wheres]
    data = pq.read_table(path)
    bare = duckdb.connect()
    bare.register("incoming", data)
    bare.execute("CREATE TABLE people AS FROM incoming").fetchall()
    with DuckDB(PEOPLE, {"people": data}) as engine:
        few = range(100)
        seconds = best(
            {
                "bare DuckDB": lambda: [bare.execute(BARE.format(wheres[i])).fetchall() for i in few],
                "lapwing, one by one": lambda: [engine.number(asked[i]) for i in few],
            },
            7,
            clock,
        )
        start = clock()
        engine.numbers(asked, versions={"people": 1})
        building = clock() - start
        stream = best(
            {
                "lapwing, a batch": lambda: engine.numbers(asked, versions={"people": 1}),
                "lapwing, a stream": lambda: [engine.numbers([a], versions={"people": 1}) for a in asked],
            },
            3,
            clock,
        )
        check(bare, engine, wheres[:50], asked[:50])
    rates = {name: len(few) / s for name, s in seconds.items()} | {name: len(asked) / s for name, s in stream.items()}
    shown = [[name, f"{rate:,.0f}"] for name, rate in rates.items()]
    table(f"Cohorts of {data.num_rows:,} people, questions per CPU second", ["", "1/s"], shown)
    print(f"  bitmaps of {len(atoms)} atoms, built and asked once: {building:.2f} s")
    goals.at_most("cohort count beside bare DuckDB", rates["bare DuckDB"] / rates["lapwing, one by one"], 1.2)
    goals.at_least(
        "stream of cohorts beside one DuckDB query each", rates["lapwing, a stream"] / rates["bare DuckDB"], 30
    )


def check(bare: duckdb.DuckDBPyConnection, engine: DuckDB, wheres: list[str], asked: list) -> None:
    """See that all of them count the same people."""
    for where, many, aggregate in zip(wheres, engine.numbers(asked, versions={"people": 1}), asked, strict=True):
        ((people,),) = bare.execute(BARE.format(where)).fetchall()
        one = engine.number(aggregate)
        assert people == many.open_for_release() == one.open_for_release()  # noqa: S101


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else FULL
    goals = Goals()
    events, people = prepared(rows)
    cohorts(goals, people)
    sums(goals, events, rounds=5)
    means(goals, events, rounds=3)
    on_postgres(goals, events)
    goals.close()


if __name__ == "__main__":
    main()
