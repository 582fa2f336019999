"""kill -9 at every fault point of every act: what was released was charged, and the next process goes on."""

import time
from contextlib import ExitStack
from fractions import Fraction

import pytest

from crashes.plan import BACK_ENDS, LEDGER_ACTS, PHASES
from crashes.workload import (
    FORK,
    History,
    answer_first_and_charge_later,
    ask_among_rivals,
    ask_for_ever,
    ask_together,
    child,
    create,
    do_everything,
    recover,
    told,
)
from lapwing.vocabulary.errors import LedgerSchemaError, LedgerUnwritableError
from lapwing.vocabulary.guarantee import PureDP
from ledger.clinic import PEOPLE, Place

KILLED = -9


@pytest.fixture(params=BACK_ENDS)
def place(request) -> Place:
    return Place.chosen(request.param, request)


@pytest.mark.catalogue("L2")
@pytest.mark.parametrize("point", PHASES)
def test_whatever_was_released_before_a_kill_was_charged(place, point) -> None:
    """Every act, killed one after the other on one ledger, with the history of all of them."""
    history = History()
    place.clinic(epsilon=100).close()
    faults = [f"{act}.{point}:kill" for act in LEDGER_ACTS]
    faults.append(f"seal.{point}:kill:2")  # the first seal is that of a population which was just created
    for turn, fault in enumerate(faults):
        with child(do_everything, place, fault, f"{turn}") as (process, pipe):
            history.hear(told(pipe))
            process.join()
            assert process.exitcode == KILLED, fault
        with place.open() as ledger:
            recover(ledger, history)
            history.check(ledger)
    assert len(history.releases) == 8 * 3 + 3 * 4  # of the acts that come after the first answer


@pytest.mark.catalogue("L2")
@pytest.mark.parametrize("point", PHASES)
def test_a_kill_in_a_group_of_charges_and_answers_loses_nothing_that_was_told(place, point) -> None:
    """Whoever is killed takes down all who went through together; none of them was told anything."""
    history = History()
    with place.clinic(epsilon=100) as ledger:
        ledger.administration.create_population("school", unit=PEOPLE, budget=PureDP(epsilon=Fraction(100)))
        ledger.administration.add_table("school", "patients")
    faults = [f"{act}.{point}:kill:{time}" for act in ("charge", "answer") for time in (1, 9, 24)]
    for turn, fault in enumerate(faults):
        with child(ask_together, place, fault, f"{turn}") as (process, pipe):
            history.hear(told(pipe))
            process.join()
            assert process.exitcode == KILLED, fault
        with place.open() as ledger:
            recover(ledger, history)
            history.check(ledger)
    assert history.releases


@pytest.mark.catalogue("L2")
@pytest.mark.parametrize("point", PHASES)
def test_each_of_four_writers_is_killed_in_a_group_that_lost_a_race(request, point) -> None:
    """The others go on with the lock that the dead one held or waited for; what each of them told was charged."""
    history, all_ = History(), FORK.Barrier(4)
    place = Place.chosen("postgres", request)
    place.clinic(epsilon=1000).close()
    faults = [
        f"{act}.{point}:kill:{turn}" for act, turn in (("charge", 1), ("answer", 2), ("charge", 8), ("answer", 9))
    ]
    with ExitStack() as open_:
        writers = [
            open_.enter_context(child(ask_among_rivals, place, fault, all_, f"{i}")) for i, fault in enumerate(faults)
        ]
        for process, pipe in writers:
            history.hear(told(pipe))
            process.join()
            assert process.exitcode == KILLED
    with place.open() as ledger:
        recover(ledger, history)
        history.check(ledger)
    assert len({key.split()[0] for key in history.releases}) > 1


@pytest.mark.catalogue("L2")
def test_kills_at_any_moment(place) -> None:
    history = History()
    place.clinic(epsilon=1000).close()
    for turn in range(8):
        with child(ask_for_ever, place, f"{turn}") as (process, pipe):
            first = pipe.recv()
            time.sleep(0.003 * turn)
            process.kill()
            process.join()
            history.hear(iter([first]))
            history.hear(told(pipe))
        with place.open() as ledger:
            recover(ledger, history)
    with place.open() as ledger:
        history.check(ledger)


def test_the_checker_catches_a_process_that_answers_before_it_charges(place) -> None:
    history = History()
    place.clinic().close()
    with child(answer_first_and_charge_later, place, "charge.begun:kill") as (process, pipe):
        history.hear(told(pipe))
        process.join()
        assert process.exitcode == KILLED
    with place.open() as ledger, pytest.raises(AssertionError, match="1/100 was released and 0 charged"):
        history.check(ledger)


def test_the_checker_catches_a_second_draw(place) -> None:
    """Two answers under one key: what fresh noise after a crash would look like from outside."""
    history = History()
    place.clinic(epsilon=100).close()
    for turn in range(2):
        with child(do_everything, place, "lose.committed:kill", f"{turn}") as (process, pipe):
            releases = [type(release)(release.key[2:], release.told, release.cost) for release in told(pipe)]
            process.join()
        if turn:
            with pytest.raises(AssertionError, match="noisy answer of process"):
                history.hear(iter(releases))
        else:
            history.hear(iter(releases))


@pytest.mark.parametrize("point", ["written", "committed"])
def test_a_kill_while_a_ledger_is_made_leaves_none_or_a_whole_one(place, point) -> None:
    with child(create, place, f"create.{point}:kill") as (process, _):
        process.join()
        assert process.exitcode == KILLED
    if point == "written":
        with pytest.raises((LedgerUnwritableError, LedgerSchemaError), match="there is no ledger"):
            place.open()
        place.create().close()
    with place.open() as ledger:
        assert ledger.head().seq == 0
