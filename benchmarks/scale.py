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
from array import array
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from _report import Goals, table
from lapwing.accounting.filters.account import open_account
from lapwing.accounting.filters.charge import SingleRelease
from lapwing.ledger.administration import decide_in
from lapwing.ledger.checkpoint import EVERY, CheckpointFile
from lapwing.ledger.entries import Lookup
from lapwing.ledger.key_digests import KeyDigests, fingerprint
from lapwing.ledger.ledger import Ledger, create_ledger, open_ledger
from lapwing.ledger.postgres import PostgresDatabase
from lapwing.ledger.questions import Request, charge_in
from lapwing.ledger.replay import verify
from lapwing.ledger.states import PopulationRecord
from lapwing.ledger.transaction import state
from lapwing.vocabulary.codec import to_record
from lapwing.vocabulary.event import DiscreteLaplaceNoise
from lapwing.vocabulary.guarantee import PrivacyUnit, PureDP

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from postgres_server import installed, running

PROCESSES, SECONDS, ROUNDS = 4, 2.0, 3
POPULATIONS = (10, 100, 1_000, 10_000)
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
    """Make a ledger with so many populations, in one transaction: each alone follows the chain before it is made."""
    ledger = create_ledger(PostgresDatabase(dsn, schema=schema), name="bench")
    unit, budget = PrivacyUnit(person_key="id"), PureDP(epsilon=Fraction(10**6))
    account = open_account(budget, segments=("everyone",), adjacency=unit.adjacency)
    with ledger.store.writing("population") as book:
        for name in range(number):
            made = PopulationRecord(name=f"p{name}", unit=unit)
            states = {"policy": to_record(made), "account": state((), account)}
            book.append("population", population=made.name, by="custodian", **states)
            decide_in(book, made.with_table("patients", 1), "custodian", "table", table="patients")
    return ledger


def charge(dsn: str, schema: str, population: str, start: float) -> tuple[int, float]:
    """Charge one population for a while, in a process of its own; return how often, and the CPU seconds it took."""
    ledger = open_ledger(PostgresDatabase(dsn, schema=schema))
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
    with_populations(dsn, "writers", PROCESSES).close()
    for i in range(PROCESSES):
        with_populations(dsn, f"own{i}", 1).close()
    cases = {
        "one process": [("writers", "p0")],
        "four processes, one population": [("writers", "p0")] * PROCESSES,
        "four processes, four populations": [("writers", f"p{i}") for i in range(PROCESSES)],
        "four processes, a ledger each": [(f"own{i}", "p0") for i in range(PROCESSES)],
    }
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in cases}
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        for _ in range(ROUNDS):
            for name, places in cases.items():
                start = time.time() + 1.5
                told = pool.starmap(charge, [(dsn, *place, start) for place in places], chunksize=1)
                made = sum(number for number, _ in told)
                found[name].append((made / SECONDS, sum(cpu for _, cpu in told) / max(made, 1)))
    rows = [
        [name, f"{statistics.median(r for r, _ in all_):,.0f}", f"{1e3 * statistics.median(c for _, c in all_):.2f} ms"]
        for name, all_ in found.items()
    ]
    table("Charges a second in PostgreSQL", ["", "in all", "CPU of a charge"], rows)
    return {name: statistics.median(rate for rate, _ in all_) for name, all_ in found.items()}


def measure_opening(dsn: str, folder: Path) -> dict[str, float]:
    """Return CPU seconds of opening a ledger with so many populations, and the bytes of its checkpoint."""
    found, rows = {}, []
    for number in POPULATIONS:
        schema, kept = f"opening{number}", folder / f"checked-{number}"
        ledger = with_populations(dsn, schema, number)
        with ledger.store.writing("charge") as book:
            for i in range(EVERY):  # a checkpoint is worth while from here on
                charge_in(book, request(f"p{i % number}", f"key {i}"))
        ledger.close()
        database = PostgresDatabase(dsn, schema=schema)
        open_ledger(database, checkpoints=CheckpointFile(kept, b"bench")).close()
        found[f"opening {number}"] = took = opening(database, kept)
        size = kept.stat().st_size if kept.exists() else 0
        found[f"checkpoint {number}"] = size
        rows.append([f"{number:,} populations", f"{1e3 * took:.1f} ms", f"{size:,}"])
    with_digests(
        CheckpointFile(kept, b"bench"), 1_500_000
    )  # as many as a million entries, half of them questions, have
    found["opening 10000 of a million"] = took = opening(database, kept)
    rows.append(["... and 1,000,000 entries", f"{1e3 * took:.1f} ms", f"{kept.stat().st_size:,}"])
    table("Opening, with a checkpoint", ["", "CPU", "bytes of it"], rows)
    return found


def opening(database: PostgresDatabase, kept: Path) -> float:
    """Return the CPU seconds of the fastest of some openings, with a look at one population."""
    times = []
    for _ in range(5):
        begun = time.thread_time()  # the background check follows the chain beside it
        ledger = open_ledger(database, checkpoints=CheckpointFile(kept, b"bench"))
        ledger.snapshot("p0", "ana")
        times.append(time.thread_time() - begun)
        ledger.store.background.stop()
        ledger.store.close()  # without a checkpoint of what there is
    return min(times)


def with_digests(file: CheckpointFile, number: int) -> None:
    """Let a checkpoint have the digests of so many keys more; their entries are not there."""
    checkpoint = file.read()
    counts, packed = checkpoint.keys.packed()
    counts, more = {**counts, "REQUEST": counts["REQUEST"] + number}, array("Q", range(number)).tobytes()
    file.write(replace(checkpoint, keys=KeyDigests(file._secret, counts, more + packed)))  # noqa: SLF001 - that of its digests


def measure_entries(dsn: str, binaries: Path, folder: Path) -> dict[str, float]:
    """Return the bytes of an entry, and seconds of an entry to follow the chain, to verify it and to dump it."""
    ledger = with_populations(dsn, "entries", 10)
    begun = time.process_time()
    most = 500
    with ledger.store.writing("charge") as book:
        charges = [charge_in(book, request(f"p{i % 10}", f"key {i}")).seq for i in range(ENTRIES // 2)]
    grouped = (time.process_time() - begun) / len(charges)
    for i in range(0, len(charges), most):
        ledger.questions.answer_many(dict.fromkeys(charges[i : i + most], ANSWER))
    ledger.close()
    with psycopg.connect(dsn, autocommit=True) as server:
        server.execute("vacuum analyze entries.entries")
        (size,) = server.execute("select pg_total_relation_size('entries.entries')").fetchone()
        (body,) = server.execute("select avg(length(body)) from entries.entries").fetchone()
    begun = time.process_time()
    ledger = open_ledger(PostgresDatabase(dsn, schema="entries"))
    with ledger.store.reading() as book:
        _ = book.last
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
