"""kill -9 at random moments, of one or several processes on one ledger: whatever was told was charged, and stays told.

The named points of `tests/crashes` are where a programmer thinks that it matters; this does not think.
`python tests/fuzz/kills.py --seconds 60 --seed 7` goes on for so long; a seed that found something is kept in `SEEDS`.
"""

import argparse
import random
import time
from collections import Counter
from contextlib import ExitStack
from fractions import Fraction
from itertools import cycle
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryDirectory

from crashes.workload import History, child, one_of_a_stream, one_question, recover, told
from lapwing.ledger.entries import Receipt
from lapwing.vocabulary.guarantee import PureDP
from ledger.clinic import PEOPLE, Place, opening
from postgres_server import where_there_is_room

SEEDS = (1, 2)
POPULATIONS = ("clinic", "school", "office")
_LONGEST = 0.15  # seconds that a process lives after it first told something


def ask_and_stream(pipe: Connection, place: Place, turn: str) -> None:
    """Ask about three populations by turns, with streams, new versions and seals, until somebody kills the process."""
    with place.open() as ledger:
        for number, population in zip(range(10**6), cycle(POPULATIONS)):
            one_question(pipe, ledger, f"{turn} {number}", population)
            name, one = f"s{turn}.{number}", ledger.of(population)
            asking = opening(name, yeses=3, opening="1/100", price="1/100", population=population)
            one.reservations.open(asking)
            for asked in (1, 2):
                one_of_a_stream(pipe, ledger, name, asked, population)
            one.reservations.close(name)
            ledger.administration.advance_version(population, "patients")
            if number % 2:
                ledger.seal()


def run(seconds: float, seed: int, *, most: int | None = None) -> Counter[str]:
    """Kill for so long, or so often; fail if anything that was told is missing, or was told in two ways."""
    chance, end, history, turn = random.Random(seed), time.monotonic() + seconds, History(), 0
    with TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as folder:
        place = Place.in_file(Path(folder) / "ledger.db")
        receipts = _populated(place)
        while turn == 0 or (time.monotonic() < end and turn != most):
            _kill_some(place, history, chance, turn)
            with place.open(receipts=receipts) as ledger:
                recover(ledger, history)
                receipts = [ledger.seal(), *(ledger.of(name).head() for name in POPULATIONS)]
            turn += 1
        with place.open(receipts=receipts) as ledger:
            history.check(ledger)
        assert history.releases, f"seed {seed}: nobody told anything"
    return Counter({"turns of kills": turn, "answers told": len(history.releases)})


def _populated(place: Place) -> list[Receipt]:
    """Make a ledger with all populations, and return the receipts to keep."""
    budget = PureDP(epsilon=Fraction(10**6))
    with place.clinic(epsilon=10**6) as ledger:
        for name in POPULATIONS[1:]:
            ledger.administration.create_population(name, unit=PEOPLE, budget=budget)
            ledger.administration.add_table(name, "patients")
        return [ledger.seal(), *(ledger.of(name).head() for name in POPULATIONS)]


def _kill_some(place: Place, history: History, chance: random.Random, turn: int) -> None:
    with ExitStack() as stack:
        children = [
            stack.enter_context(child(ask_and_stream, place, f"{turn}.{number}"))
            for number in range(chance.choice([1, 1, 3]))
        ]
        wait([pipe for _, pipe in children], timeout=60)
        for process, _ in children:
            time.sleep(chance.random() * _LONGEST)
            process.kill()
        for process, pipe in children:
            process.join()
            history.hear(told(pipe))


if __name__ == "__main__":
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--seconds", type=float, default=60.0)
    words.add_argument("--seed", type=int, default=int(time.time()))
    given = words.parse_args()
    run(given.seconds, given.seed)
