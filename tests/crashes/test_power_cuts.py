"""The power is cut at any write: every charge that was acknowledged is there when it comes back."""

import random
import shutil
import threading
from contextlib import suppress
from itertools import count

import pytest

from crashes.forgetful_disk import CarelessConnection, ForgetfulDisk
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.replay import verify
from lapwing.ledger.reservation_states import RoundOutcome
from lapwing.vocabulary.errors import LedgerError, LedgerInDoubtError, LedgerRolledBackError, LedgerUnwritableError
from ledger.clinic import SEED, Place, ask, decide_one, intend_one, opening

CUTS = 150


@pytest.fixture
def before(quick_path):
    """A ledger that was closed in good order."""
    folder = quick_path / "before"
    folder.mkdir()
    with Place.in_file(folder / "ledger.db").clinic(epsilon=1000) as ledger:
        ask(ledger, "first")
    return folder


def work_until_the_lights_go_out(ledger: Ledger) -> list:
    """Ask questions and a stream, and return every receipt that was handed out."""
    receipts = []
    try:
        for turn in count():
            receipts.append(ask(ledger, f"k{turn}").receipt)
            name = f"s{turn}"
            ledger.reservations.open(opening(name, yeses=1))
            for number, outcome in ((1, RoundOutcome.NO), (2, RoundOutcome.YES)):
                intend_one(ledger, name, number=number, key=f"{name} {number}", question=f"q{number}", sealed=SEED)
                receipts.append(decide_one(ledger, name, number=number, outcome=outcome, answer=outcome.value).receipt)
    except (LedgerInDoubtError, LedgerUnwritableError):
        return receipts
    raise AssertionError


def work_together_until_the_lights_go_out(ledger: Ledger) -> list:
    """Ask in four threads, so that they go through in groups, and return every receipt that was handed out."""
    receipts = []

    def ask_on(thread: int) -> None:
        with suppress(LedgerInDoubtError, LedgerUnwritableError):
            for turn in count():
                receipts.append(ask(ledger, f"{thread} {turn}").receipt)  # noqa: PERF401 - those before the cut count

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


@pytest.mark.catalogue("L3")
def test_no_acknowledged_charge_is_lost_when_the_power_is_cut(before, quick_path) -> None:
    promised = lost_writes = 0
    for seed in range(CUTS):
        receipts, disk, place = one_cut(before, quick_path, seed)
        assert disk.is_off
        with place.open(receipts=receipts) as ledger:
            verify(ledger)
            ask(ledger, "afterwards")
        promised += len(receipts)
        lost_writes += disk.writes_lost
    assert promised > 5 * CUTS
    assert lost_writes > CUTS


@pytest.mark.catalogue("L3")
def test_no_acknowledged_charge_of_a_group_is_lost_when_the_power_is_cut(before, quick_path) -> None:
    promised = 0
    for seed in range(CUTS // 3):
        receipts, disk, place = one_cut(before, quick_path, seed, work=work_together_until_the_lights_go_out)
        assert disk.is_off
        with place.open(receipts=receipts) as ledger:
            verify(ledger)
            ask(ledger, "afterwards")
        promised += len(receipts)
    assert promised > 2 * CUTS


def test_the_model_notices_a_ledger_that_syncs_too_little(before, quick_path) -> None:
    forgotten = 0
    for seed in range(20):
        receipts, _, place = one_cut(before, quick_path, seed, wrap=CarelessConnection)
        try:
            place.open(receipts=receipts).close()
        except LedgerRolledBackError:
            forgotten += 1
    assert forgotten >= 3
