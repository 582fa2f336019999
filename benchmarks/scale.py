"""What the ledger does at several processes and many populations, and what `scale_simulation.py` extrapolates from.

Everything is measured small, on a PostgreSQL of its own: charges of one process and of four, on one population and on
four, always interleaved; opening with more and more populations; bytes of an entry; following a chain; a dump.
`--write FILE` keeps the figures as JSON.
"""

import argparse
import json
import multiprocessing
import statistics
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from _report import Goals, table
from lapwing.accounting.filters.account import open_account
from lapwing.accounting.filters.charge import SingleRelease
from lapwing.ledger.chains import name_of
from lapwing.ledger.checkpoint import EVERY, CheckpointFile
from lapwing.ledger.entries import Lookup, Record, genesis, link
from lapwing.ledger.key_digests import KeyDigests, fingerprint
from lapwing.ledger.ledger import Ledger, create_ledger, open_ledger
from lapwing.ledger.postgres import PostgresDatabase
from lapwing.ledger.questions import Request, charge_in
from lapwing.ledger.replay import verify
from lapwing.ledger.states import PopulationRecord
from lapwing.ledger.transaction import Transaction, state
from lapwing.vocabulary.codec import canonical, to_record
from lapwing.vocabulary.event import DiscreteLaplaceNoise
from lapwing.vocabulary.guarantee import PrivacyUnit, PureDP

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from postgres_server import installed, running

PROCESSES, SECONDS, ROUNDS = 4, 2.0, 5
POPULATIONS = (10, 100, 1_000, 10_000)
SEALED, SEALS = 100, (1_440, 5_760)
"""Populations of a ledger that is sealed every minute, and how often that is in a day and in four."""
ENTRIES = 20_000
ANSWER = '{"kind":"answer","value":1742,"margin":"30","confidence":"0.95","unit":"people"}'


def request(population: str, key: str) -> Request:
    return Request(
        population=population,
        analyst="ana",
        key=key,
        question=f"count patients where age >= 18 and site in ('north', 'south') and key = {key}".ljust(290, "."),
        tables=frozenset({"patients"}),
        charge=SingleRelease(event=DiscreteLaplaceNoise(l1_sensitivity=1, scale=Fraction(10))),
    )


def with_populations(dsn: str, schema: str, number: int) -> Ledger:
    """Make a ledger with so many populations, in one transaction: each with its chain, and a table."""
    ledger = create_ledger(PostgresDatabase(dsn, schema=schema), name="bench")
    unit, budget = PrivacyUnit(person_key="id"), PureDP(epsilon=Fraction(10**6))
    account = open_account(budget, segments=("everyone",), adjacency=unit.adjacency)
    with ledger.chains.directory.store.writing("found") as book:
        for place in range(number):
            founding = book.append("founding", founds=f"p{place}").record
            ledger.chains.make(book, founding)
            made = PopulationRecord(name=f"p{place}", unit=unit)
            states = {"policy": to_record(made), "account": state((), account)}
            decided = {"policy": to_record(made.with_table("patients", 1)), "change": "table", "table": "patients"}
            records = [("population", states), ("policy", decided)]
            _write(book, founding, [{"kind": kind, **fields} for kind, fields in records])
    return ledger


def _write(book: Transaction, founding: Record, records: list[Record]) -> None:
    """Write the first entries of a chain that was just founded."""
    number, population, before = founding["seq"], founding["founds"], genesis(name_of(book.ledger, founding))
    for seq, record in enumerate(records, start=1):
        said = {**record, "seq": seq, "by": "custodian", "at": founding["at"], "population": population}
        body = canonical(said)
        before = link(before, body)
        book.do("insert into all_entries (chain, seq, body, hash) values (?, ?, ?, ?)", number, seq, body, before)
    book.do("update chains set seq = ?, hash = ? where chain = ?", len(records), before, number)


def among(dsn: str, schema: str, entries: int) -> None:
    """Let the chains of all populations but the first and the last be longer: nobody follows them here."""
    with psycopg.connect(dsn, autocommit=True) as server:
        server.execute(f"""insert into {schema}.all_entries (chain, seq, body, hash)
            select 2 + i % (select count(*) - 3 from {schema}.chains), 10 + i,
                '{{"at":"2026-01-01T00:00:00+00:00","kind":"note","remark":"' || repeat('x', 300) || '"}}', 'x'
            from generate_series(1, {entries}) as i""")  # noqa: S608 - our own words
        server.execute(f"analyze {schema}.all_entries")


def charge(dsn: str, schema: str, population: str, start: float) -> tuple[int, float]:
    """Charge one population for a while, in a process of its own; return how often, and the CPU seconds it took."""
    whole = open_ledger(PostgresDatabase(dsn, schema=schema))
    ledger = whole.of(population)
    ledger.questions.charge(request(population, f"warm {population} {time.time_ns()}"))
    time.sleep(max(0.0, start - time.time()))
    begun, made = time.process_time(), 0
    while time.time() < start + SECONDS:
        ledger.questions.charge(request(population, f"{population} {time.time_ns()}"))
        made += 1
    ledger.close()
    return made, time.process_time() - begun


def measure_processes(dsn: str) -> dict[str, float]:
    """Return charges a second, in all, of one process and of several."""
    cases = {
        "one process": [("writers", "p0")],
        "four processes, one population": [("writers", "p0")] * PROCESSES,
        "four processes, four populations": [("writers", f"p{i}") for i in range(PROCESSES)],
        "four processes, a ledger each": [(f"own{i}_", "p0") for i in range(PROCESSES)],
    }
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in cases}
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        for turn in range(ROUNDS):
            for case, (name, places) in enumerate(cases.items()):
                again = f"{case}_{turn}"  # chains that are new are followed in no time: that is not measured here
                for schema in dict(places):
                    with_populations(dsn, schema + again, PROCESSES).close()
                start = time.time() + 1.5
                given = [(dsn, schema + again, population, start) for schema, population in places]
                told = pool.starmap(charge, given, chunksize=1)
                made = sum(number for number, _ in told)
                found[name].append((made / SECONDS, sum(cpu for _, cpu in told) / max(made, 1)))
    rows = [
        [name, f"{statistics.median(r for r, _ in all_):,.0f}", f"{1e3 * statistics.median(c for _, c in all_):.2f} ms"]
        for name, all_ in found.items()
    ]
    table("Charges a second in PostgreSQL", ["", "in all", "CPU of a charge"], rows)
    return {name: statistics.median(rate for rate, _ in all_) for name, all_ in found.items()}


def measure_opening(dsn: str, folder: Path) -> dict[str, float]:
    """Return seconds of opening one population of so many, sealed as often as in a day and in four, and the bytes."""
    found, rows = {}, []

    def measure(name: str, text: str, database: PostgresDatabase, kept: Path, population: str = "p0") -> None:
        cpu, wall, first = opening(database, kept, population)
        found.update({f"opening {name}": cpu, f"opening {name}, wall": wall, f"opening {name}, first": first})
        size = sum(file.stat().st_size for file in folder.glob(f"{kept.name}*"))
        rows.append([text, f"{1e3 * cpu:.1f} ms", f"{1e3 * wall:.1f} ms", f"{1e3 * first:.1f} ms", f"{size:,}"])

    for number in POPULATIONS:
        schema, kept = f"opening{number}", folder / f"checked-{number}"
        ledger = with_populations(dsn, schema, number)
        with ledger.of("p0").store.writing("charge") as book:
            for i in range(EVERY):  # a checkpoint is worth while from here on
                charge_in(book, request("p0", f"key {i}"))
        ledger.seal()
        database = PostgresDatabase(dsn, schema=schema)
        measure(str(number), f"{number:,} populations, sealed", database, kept)
        if number == SEALED:
            before = 0
            for seals in SEALS:
                seal_often(ledger, seals - before)
                before = seals
                measure(f"{number} after {seals} seals", f"... and {seals:,} times more", database, kept)
        ledger.close()
    among(dsn, schema, 1_000_000)
    measure("10000 of a million", "... and 1,000,000 entries", database, kept)
    measure("a small one", "... one with two entries", database, kept, f"p{number - 1}")
    headings = ["", "CPU", "on the wall", "the first one", "bytes of checkpoints"]
    table("Opening one population, with a checkpoint", headings, rows)
    return found


def seal_often(ledger: Ledger, times: int) -> None:
    """Seal after each charge, of one population after the other but the first."""
    names = sorted(set(ledger.populations()) - {"p0"})
    for i in range(times):
        name = names[i % len(names)]
        ledger.of(name).questions.charge(request(name, f"sealed {time.time_ns()}"))
        ledger.seal()


def opening(database: PostgresDatabase, kept: Path, population: str = "p0") -> tuple[float, float, float]:
    """Return CPU and wall seconds of the fastest of some openings, with a look at one population, and the first CPU."""
    times, walls = [], []
    for _ in range(6):  # the first writes the checkpoint
        begun, clock = time.thread_time(), time.perf_counter()  # the background check follows the chain beside it
        ledger = open_ledger(database, checkpoints=CheckpointFile(kept, b"bench"))
        ledger.snapshot(population, "ana")
        times.append(time.thread_time() - begun)
        walls.append(time.perf_counter() - clock)
        ledger.close()
    return min(times), min(walls), times[0]


def measure_entries(dsn: str, binaries: Path, folder: Path) -> dict[str, float]:
    """Return the bytes of an entry, and seconds of an entry to follow the chain, to verify it and to dump it."""
    ledger, most, each = with_populations(dsn, "entries", 10), 500, ENTRIES // 20
    begun, made = time.process_time(), dict[str, list[int]]()
    for name in ledger.populations():
        with ledger.of(name).store.writing("charge") as book:
            made[name] = [charge_in(book, request(name, f"key {i}")).seq for i in range(each)]
    grouped = (time.process_time() - begun) / (10 * each)
    for name, charges in made.items():
        for i in range(0, each, most):
            ledger.of(name).questions.answer_many(dict.fromkeys(charges[i : i + most], ANSWER))
    ledger.close()
    with psycopg.connect(dsn, autocommit=True) as server:
        server.execute("vacuum analyze entries.all_entries")
        (size,) = server.execute("select pg_total_relation_size('entries.all_entries')").fetchone()
        (body,) = server.execute("select avg(length(body)) from entries.all_entries").fetchone()
    begun = time.process_time()
    ledger = open_ledger(PostgresDatabase(dsn, schema="entries"))
    for name in ledger.populations():
        ledger.of(name).head()
    followed = (time.process_time() - begun) / ENTRIES
    begun = time.process_time()
    verify(ledger)
    verified = (time.process_time() - begun) / ENTRIES
    ledger.close()
    begun = time.perf_counter()
    dump = folder / "dump"
    program = binaries / "pg_dump"
    command = [program, "--format=custom", "--schema=entries", f"--file={dump}", dsn]
    dumped = subprocess.run(command, check=False, capture_output=True).returncode if program.exists() else 1  # noqa: S603
    took = time.perf_counter() - begun
    found = {
        "bytes an entry": size / ENTRIES,
        "bytes of its text": float(body),
        "charging together": grouped,
        "following": followed,
        "verifying": verified,
    }
    if dumped == 0:
        found |= {"dumping": took / ENTRIES, "bytes dumped": dump.stat().st_size / ENTRIES}
    rows = [[name, f"{value:,.0f}" if "bytes" in name else f"{1e6 * value:.1f} us"] for name, value in found.items()]
    table(f"An entry, of {ENTRIES:,}", ["", "each"], rows)
    return found


def measure_checkpoint() -> dict[str, float]:
    """Return CPU seconds of what a checkpoint does with the digests of all keys, of which each question has three."""
    found, rows = {}, []
    for questions in (10_000, 100_000, 1_000_000):
        digests = KeyDigests(bytes(32))
        digests.add((Lookup.REQUEST, (str(i),)) for i in range(3 * questions))
        known = KeyDigests(bytes(32), *digests.packed())
        known.add((Lookup.REQUEST, (f"new {i}",)) for i in range(EVERY))
        begun = time.process_time()
        _, packed = known.packed()
        fingerprint(packed)
        took = time.process_time() - begun
        found |= {f"digests {questions}": took, f"bytes of digests {questions}": len(packed)}
        rows.append([f"{questions:,} questions", f"{1e3 * took:.1f} ms", f"{len(packed):,}"])
    table("The digests of all keys, once a checkpoint is written", ["", "CPU", "bytes"], rows)
    return found


def judge(goals: Goals, found: dict[str, float]) -> None:
    """Say which goals are met, of those that were measured."""
    if "one process" in found:
        one = found["one process"]
        goals.at_least("four processes on one population", found["four processes, one population"] / one, 0.9)
        goals.at_least("four processes on four populations", found["four processes, four populations"] / one, 1.6)
    if "opening 10000" in found:
        goals.at_most("opening one population of 10,000", 1e3 * found["opening 10000"], 10, " ms")
        goals.at_most("... among a million entries", 1e3 * found["opening 10000 of a million"], 10, " ms")
    if "bytes an entry" in found:
        goals.at_most("an entry in PostgreSQL", found["bytes an entry"], 1300, " bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--only", choices=["processes", "opening", "entries", "checkpoint"])
    chosen, goals = parser.parse_args(), Goals()
    found: dict[str, float] = {}
    with TemporaryDirectory() as folder, running("max_connections=100") as server, server.database() as dsn:
        if chosen.only in {None, "processes"}:
            found |= measure_processes(dsn)
        if chosen.only in {None, "opening"}:
            found |= measure_opening(dsn, Path(folder))
        if chosen.only in {None, "entries"}:
            found |= measure_entries(dsn, installed()[0], Path(folder))
    if chosen.only in {None, "checkpoint"}:
        found |= measure_checkpoint()
    if chosen.write:
        chosen.write.write_text(json.dumps(found, indent=1) + "\n")
    judge(goals, found)
    goals.close()


if __name__ == "__main__":
    main()
