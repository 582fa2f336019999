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
import random  # noqa: TID251 - arrivals of a simulation, no noise
from pathlib import Path

from _report import table

MEASURED = {
    "one process": 864.0,
    "four processes, one population": 0.43 * 864.0,
    "four processes, four populations": 0.62 * 864.0,
    "opening 10": 0.0040,
    "opening 1000": 0.0101,
    "bytes an entry": 1212.0,
    "following": 5.8e-6,
    "verifying": 165e-6,
    "dumping": 28e-6,
    "charging together": 0.244e-3,
    "digests 1000000": 0.017,
    "bytes of digests 1000000": 24_008_000.0,
}
"""Measured by `scale.py` on two shared cores; the rate of one process in a quieter run than the ratios to it."""
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
    each = (figures["opening 1000"] - figures["opening 10"]) / 990
    table(
        "Opening, by its populations",
        ["populations", "CPU"],
        [[f"{n:,}", _time(each * n)] for n in (100, 1_000, 10_000, 100_000)],
    )


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
