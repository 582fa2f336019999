"""On paper to internet scale: what ledgers of many populations need, from the figures of `scale.py`.

First plain multiplication: bytes, opening, following, verifying and dumping at 1e5 to 1e9 questions. Then a simulation
of a minute of a national network, at the mean and at the peak: questions arrive at random, populations are as unequal
as cities are (Zipf), each belongs to one of several ledgers, and each ledger is one writer that takes all who wait,
64 at most, into one commit.
A ledger has one serving process; with more of them on one ledger the writer is slower, as measured.
`--figures FILE` takes the figures that `scale.py --write FILE` has kept; otherwise those of docs/scale.md are taken.
"""

import argparse
import bisect
import itertools
import json
import math
import random  # noqa: TID251 - arrivals of a simulation, no noise
from pathlib import Path

from _report import table

MEASURED = {
    "one process": 2568.0,
    "four processes, one population": 2094.0,
    "four processes, four populations": 3644.0,
    "bytes an entry": 1193.0,
    "following": 5.2e-6,
    "verifying": 72e-6,
    "dumping": 8.9e-6,
    "charging together": 0.275e-3,
    "digests 1000000": 0.031,
    "bytes of digests 1000000": 24_008_000.0,
    "asking": 10.7e-3,
}
"""Measured by `scale.py` on two quiet cores; CPU of a question by docs/performance.md."""
PRICES = {"core": 0.05, "disk": 0.10, "archive": 0.02}
"""Assumed, in dollars: a core with its memory for an hour, a GB on a quick disk for a month, and in an archive."""
COPIES = 2
"""The ledger and a standby that confirms each commit."""
DATABASE_CORES = 4
"""Assumed of the database and of its standby, each: a charge takes a quarter of a millisecond there."""
ENTRIES = 2
"""Entries of a question: its charge and its answer."""
LARGEST = 1 << 30
"""Bytes of a checkpoint that is read; beyond them the whole chain is followed."""
MOST = 64
POPULATIONS, DAY, PEAK = 10_000, 1e7, 10.0
"""Populations of the network, questions a day, and a peak hour over the mean."""


def sizes(figures: dict[str, float]) -> None:
    rows = []
    for questions in (1e5, 1e6, 1e7, 1e8, 1e9):
        entries = ENTRIES * questions
        checkpoint = figures["bytes of digests 1000000"] * questions / 1e6
        opening = figures["digests 1000000"] * questions / 1e6
        if checkpoint > LARGEST:
            opening = entries * figures["following"]
        rows.append(
            [
                f"{questions:.0e}",
                _bytes(entries * figures["bytes an entry"]),
                _bytes(checkpoint) + (" (not read)" if checkpoint > LARGEST else ""),
                _time(opening),
                _time(entries * figures["following"]),
                _time(entries * figures["verifying"]),
                _time(entries * figures["dumping"]),
                _time(questions * ENTRIES / figures["one process"]),
            ]
        )
    header = ["questions", "PostgreSQL", "checkpoint", "opening", "following", "verify", "dump", "to charge them all"]
    table("One ledger, by multiplication", header, rows)


def costs(figures: dict[str, float]) -> None:
    """Multiply by the assumed prices: what so many questions cost once, each month, and a network of them."""
    rows = []
    for questions in (1e6, 1e7, 1e8, 1e9):
        entries, gigabytes = ENTRIES * questions, ENTRIES * questions * figures["bytes an entry"] / 1e9
        once = questions * figures["asking"] + entries * (figures["charging together"] + figures["verifying"])
        rows.append(
            [
                f"{questions:.0e}",
                _money(once / 3600 * PRICES["core"]),
                _money(COPIES * gigabytes * PRICES["disk"]),
                _money(gigabytes * PRICES["archive"]),
            ]
        )
    table(
        "Cost, by multiplication", ["questions", "asked and verified once", "kept, a month", "archived, a month"], rows
    )
    month, cores = 730.5, math.ceil(PEAK * DAY / 86_400 * figures["asking"])
    year = 365 * DAY * ENTRIES * figures["bytes an entry"] / 1e9
    asking, database = cores * month * PRICES["core"], COPIES * DATABASE_CORES * month * PRICES["core"]
    kept = COPIES * year * PRICES["disk"]
    table(
        f"The network of {DAY:.0e} questions a day, a month",
        ["", "dollars"],
        [
            [f"{cores} cores for questions at the peak", _money(asking)],
            [f"{COPIES} databases of {DATABASE_CORES} cores", _money(database)],
            [f"disks after a year, {COPIES} x {_bytes(year * 1e9)}", _money(kept)],
            ["the same in an archive, once", _money(year * PRICES["archive"])],
            [
                "verifying a day's entries each night",
                _money(DAY * ENTRIES * figures["verifying"] * 30.4 / 3600 * PRICES["core"]),
            ],
        ],
    )


def _money(dollars: float) -> str:
    return f"{dollars:,.2f}" if dollars < 10 else f"{dollars:,.0f}"


def simulate(figures: dict[str, float], ledgers: int, rate: float, *, seconds: float, seed: int) -> list[str]:
    """Return a row about a peak: how busy the busiest ledger is, and how long its writes take."""
    chance = random.Random(seed)
    weights = [1 / place for place in range(1, POPULATIONS + 1)]
    shares = [0.0] * ledgers
    for weight in weights:
        shares[chance.randrange(ledgers)] += weight / sum(weights)
    busiest = max(shares)
    more = figures["charging together"]
    first = 1 / figures["one process"] - more
    arriving = rate * busiest * ENTRIES
    arrivals = list(itertools.accumulate(chance.expovariate(arriving) for _ in range(int(arriving * seconds))))
    waits, now, place, busy = [], 0.0, 0, 0.0
    while place < len(arrivals):
        now = max(now, arrivals[place])
        group = min(MOST, bisect.bisect_right(arrivals, now, lo=place) - place)
        took = first + more * group
        now, busy = now + took, busy + took
        waits += [now - at for at in arrivals[place : place + group]]
        place += group
    waits.sort()
    median, worst = waits[len(waits) // 2], waits[int(len(waits) * 0.99)]
    verdict = "falls behind" if worst > seconds / 20 else "holds"
    return [
        f"{ledgers}",
        f"{busiest:.1%}",
        f"{arriving:,.0f}",
        f"{busy / now:.0%}",
        _time(median),
        _time(worst),
        verdict,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figures", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0)
    chosen = parser.parse_args()
    figures = MEASURED | (json.loads(chosen.figures.read_text()) if chosen.figures else {})
    sizes(figures)
    costs(figures)
    header = ["ledgers", "the busiest has", "entries a second", "busy", "median write", "99 of 100 within", ""]
    for name, rate in (("mean", DAY / 86_400), ("peak", PEAK * DAY / 86_400)):
        rows = [simulate(figures, n, rate, seconds=chosen.seconds, seed=n) for n in (1, 2, 4, 8, 16)]
        table(f"{POPULATIONS:,} populations, {rate:,.0f} questions a second ({name})", header, rows)
    racing = figures["four processes, one population"], figures["four processes, four populations"]
    print(
        f"\nWith four processes on one ledger it writes {racing[0]:,.0f} to {racing[1]:,.0f} entries a second in all."
    )


def _bytes(number: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"


def _time(seconds: float) -> str:
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        if seconds >= length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds * 1000:.3g} ms"


if __name__ == "__main__":
    main()
