"""The power is cut at any write: every charge that was acknowledged is there when it comes back."""

import random
import shutil
import threading
from collections import Counter
from contextlib import suppress
from fractions import Fraction
from itertools import count, cycle

import pytest

from crashes.forgetful_disk import CarelessConnection, ForgetfulDisk
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.replay import verify
from lapwing.ledger.reservation_states import RoundOutcome
from lapwing.vocabulary.errors import LedgerError, LedgerInDoubtError, LedgerRolledBackError, LedgerUnwritableError
from lapwing.vocabulary.guarantee import PureDP
from ledger.clinic import PEOPLE, SEED, Place, ask, decide_one, intend_one, opening

CUTS = 150
POPULATIONS = ("clinic", "school", "office")
CHAINS = ("2f1c", "2f1c/1", "2f1c/3", "2f1c/5")
"""The directory, and the chain of each."""


@pytest.fixture
def before(quick_path):
    """A ledger that was closed in good order."""
    folder = quick_path / "before"
    folder.mkdir()
    with Place.in_file(folder / "ledger.db").clinic(epsilon=1000) as ledger:
        for name in POPULATIONS[1:]:
            ledger.administration.create_population(name, unit=PEOPLE, budget=PureDP(epsilon=Fraction(1000)))
            ledger.administration.add_table(name, "patients")
        for name in POPULATIONS:
            ask(ledger, "first", population=name)
    return folder


def work_until_the_lights_go_out(ledger: Ledger) -> list:
    """Ask about all populations by turns, and seal now and then; return every receipt that was handed out."""
    receipts = []
    try:
        for turn, population in enumerate(cycle(POPULATIONS)):
            receipts.append(ask(ledger, f"k{turn}", population=population).receipt)
            name, one = f"s{turn}", ledger.of(population)
            one.reservations.open(opening(name, yeses=1, population=population))
            for number, outcome in ((1, RoundOutcome.NO), (2, RoundOutcome.YES)):
                asked = {"number": number, "question": f"q{number}", "population": population}
                intend_one(ledger, name, key=f"{name} {number}", sealed=SEED, **asked)
                receipts.append(decide_one(one, name, number=number, outcome=outcome, answer=outcome.value).receipt)
            if turn % 2:
                receipts.append(ledger.seal())
    except (LedgerInDoubtError, LedgerUnwritableError):
        return receipts
    raise AssertionError


def work_together_until_the_lights_go_out(ledger: Ledger) -> list:
    """Ask in four threads, so that they go through in groups, and return every receipt that was handed out."""
    receipts = []

    def ask_on(thread: int) -> None:
        with suppress(LedgerInDoubtError, LedgerUnwritableError):
            for turn in count():
                asked = ask(ledger, f"{thread} {turn}", population=POPULATIONS[(thread + turn) % 3])
                receipts.append(asked.receipt)
                if turn % 4 == thread:
                    receipts.append(ledger.seal())

    threads = [threading.Thread(target=ask_on, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return receipts


def one_cut(
    before, folder, seed: int, wrap=lambda connection: connection, work=work_until_the_lights_go_out
) -> tuple[list, ForgetfulDisk, Place]:
    """Work on a copy of `before` until the power is cut, and return what was promised and what is left."""
    running, after = folder / "running", folder / "after"
    for place in (running, after):
        shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(before, running)
    after.mkdir()
    chance = random.Random(seed)
    disk = ForgetfulDisk(running, chance=chance, cut_after=chance.randrange(20, 700))
    try:
        with Place.in_file(running / "ledger.db", driver=lambda path: wrap(disk.connect(path))).open() as ledger:
            receipts = work(ledger)
    except LedgerError:  # while it was opened
        receipts = []
    disk.after_the_cut(after)
    return receipts, disk, Place.in_file(after / "ledger.db")


def go_on(place: Place, receipts: list) -> None:
    """Open what is left with all receipts that were handed out, and go on."""
    with place.open(receipts=receipts) as ledger:
        verify(ledger)
        for name in POPULATIONS:
            ask(ledger, "afterwards", population=name)


@pytest.mark.catalogue("L3")
def test_no_acknowledged_charge_is_lost_when_the_power_is_cut(before, quick_path) -> None:
    promised, lost_writes = Counter(), 0
    for seed in range(CUTS):
        receipts, disk, place = one_cut(before, quick_path, seed)
        assert disk.is_off
        go_on(place, receipts)
        promised.update(receipt.ledger for receipt in receipts)
        lost_writes += disk.writes_lost
    assert promised.total() > 5 * CUTS
    assert min(promised[chain] for chain in CHAINS) > CUTS // 3, "of each chain, and of the directory"
    assert lost_writes > CUTS


@pytest.mark.catalogue("L3")
def test_no_acknowledged_charge_of_a_group_is_lost_when_the_power_is_cut(before, quick_path) -> None:
    promised = Counter()
    for seed in range(CUTS // 3):
        receipts, disk, place = one_cut(before, quick_path, seed, work=work_together_until_the_lights_go_out)
        assert disk.is_off
        go_on(place, receipts)
        promised.update(receipt.ledger for receipt in receipts)
    assert promised.total() > 2 * CUTS
    assert all(promised[chain] for chain in CHAINS), "of each chain, and of the directory"


def test_the_model_notices_a_ledger_that_syncs_too_little(before, quick_path) -> None:
    forgotten = 0
    for seed in range(20):
        receipts, _, place = one_cut(before, quick_path, seed, wrap=CarelessConnection)
        try:
            place.open(receipts=receipts).close()
        except LedgerRolledBackError:
            forgotten += 1
    assert forgotten >= 3
