"""Many processes, one budget: exactly the cap is spent, whoever is fastest."""

from fractions import Fraction
from itertools import count

import pytest

from crashes.workload import FORK, child
from lapwing.ledger.questions import Charged
from lapwing.ledger.stream_records import Outcome
from lapwing.ledger.verify import verify
from lapwing.vocabulary.errors import BudgetExceededError, LapwingError, UnansweredError
from ledger.clinic import SEED, Place, ask, opening, request, reserved, spent

RACERS = 8


@pytest.fixture(params=["sqlite", "postgres"])
def place(request) -> Place:
    return Place.chosen(request.param, request)


def race(act, place: Place, *arguments) -> list:
    """Start `act` in eight processes at once and return what each of them sent."""
    start = FORK.Barrier(RACERS)
    racers = [child(act, place, start, number, *arguments) for number in range(RACERS)]
    pipes = [racer.__enter__()[1] for racer in racers]
    try:
        return [pipe.recv() for pipe in pipes]
    finally:
        for racer in racers:
            racer.__exit__(None, None, None)


def spend_all(pipe, place: Place, start, number: int) -> None:
    admitted = 0
    with place.open() as ledger:
        start.wait(60)
        try:
            for turn in count():
                ask(ledger, f"{number} {turn}", analyst=f"analyst {number % 2}", epsilon="1/20")
                admitted += 1
        except BudgetExceededError:
            pipe.send(admitted)


def take_the_last_unit(pipe, place: Place, start, number: int) -> None:
    with place.open() as ledger:
        start.wait(60)
        try:
            ledger.questions.charge(request(f"{number}", epsilon="1/10"))
        except BudgetExceededError:
            pipe.send("refused")
        else:
            pipe.send("charged")


def ask_the_same(pipe, place: Place, start, number: int) -> None:
    del number
    with place.open() as ledger:
        start.wait(60)
        try:
            charged = ledger.questions.charge(request("the same key"))
        except UnansweredError:
            pipe.send("somebody else is on it")
        else:
            assert isinstance(charged, Charged)
            pipe.send("charged")


def ask_the_stream(pipe, place: Place, start, number: int) -> None:
    """Ask and decide as fast as possible; whoever is too late tries again."""
    told = 0
    with place.open() as ledger:
        start.wait(60)
        for turn in range(200):
            stream = ledger.streams.stream("s")
            try:
                asked = stream.asked + 1
                ledger.streams.intend(
                    "s", number=asked, key=f"{number} {turn}", question=f"{number} {turn}", sealed=SEED
                )
                decided = ledger.streams.decide("s", number=asked, outcome=Outcome.YES, answer="yes")
            except LapwingError as error:
                if "all the" in str(error):
                    break
                continue
            told += decided.outcome is Outcome.YES
    pipe.send(told)


def test_eight_processes_spend_exactly_the_cap(place) -> None:
    """Under two names, so that colluding analysts are among them."""
    place.clinic().close()
    admitted = race(spend_all, place)
    assert sum(admitted) == 20
    with place.open() as ledger:
        assert spent(ledger) == 1
        verify(ledger)


def test_the_last_unit_of_budget_is_given_once(place) -> None:
    with place.clinic() as ledger:
        ask(ledger, "most of it", epsilon="9/10")
    assert sorted(race(take_the_last_unit, place)) == ["charged"] + ["refused"] * 7
    with place.open() as ledger:
        assert spent(ledger) == 1


def test_one_key_is_charged_once(place) -> None:
    place.clinic().close()
    assert sorted(race(ask_the_same, place)) == ["charged"] + ["somebody else is on it"] * 7
    with place.open() as ledger:
        assert spent(ledger) == Fraction(1, 10)


def test_a_stream_gives_no_more_yeses_than_it_was_opened_for(place) -> None:
    with place.clinic() as ledger:
        ledger.streams.open(opening(yeses=6, opening="1/10", price="1/10"))
    assert sum(race(ask_the_stream, place)) == 6
    with place.open() as ledger:
        assert (spent(ledger), reserved(ledger)) == (Fraction(7, 10), 0)
        verify(ledger)
