"""The same question at the same moment: charged once, answered once, by everybody alike."""

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import pytest

from crashes.racers import RACERS, ask_and_hang, ask_at_once, ask_the_stream_and_hang, race
from crashes.workload import child
from lapwing import count
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.replay import verify
from lapwing.session import Session
from lapwing.vocabulary.errors import BudgetExceededError, EngineError, LedgerUnwritableError
from lapwing.vocabulary.guarantee import PureDP
from ledger.clinic import Place
from session.clinic import Broken, FixedNumber, door, population, spent

THREADS = 8
PRICE = Fraction(1, 10)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request) -> Place:
    return Place.chosen(request.param, request)


@pytest.fixture
def ledger(place) -> Iterator[Ledger]:
    with place.clinic(unit=population().unit) as ledger:
        yield ledger
        verify(ledger)


class Slow(FixedNumber):
    """Data that comes when it is told to, and says when it was asked for."""

    def __init__(self, number: int = 100) -> None:
        super().__init__(number)
        self.asked, self.go, self.times = threading.Event(), threading.Event(), 0

    def engine(self, versions: Any) -> Any:
        self.times += 1
        self.asked.set()
        assert self.go.wait(60)
        return super().engine(versions)


class SlowlyFailing(Slow):
    """Data that fails when it is told to."""

    def engine(self, versions: Any) -> Any:
        super().engine(versions)
        return Broken()


def ask(session: Session) -> Any:
    return session.ask(count("patients"), epsilon=PRICE)


class Waiters:
    """Those who wait for their turn: whoever was sent away twice has seen what is in progress, and waits for it."""

    def __init__(self, ledger: Ledger) -> None:
        self._sent_away = Counter[int]()
        gate, enter = ledger.store.gate, ledger.store.gate.enter

        def counted(place: int, holder: Any) -> bool:
            granted = enter(place, holder)
            self._sent_away[threading.get_ident()] += not granted
            return granted

        gate.enter = counted

    def until(self, number: int) -> None:
        """Return when so many wait."""
        assert eventually(lambda: sum(times > 1 for times in self._sent_away.copy().values()) >= number)


def all_at_once(acts: list[Callable[[], Any]], data: Slow, ledger: Ledger) -> list[Any]:
    """Run all in threads of their own; data comes to the one who asked for it when all others wait."""
    start, waiters = threading.Barrier(len(acts)), Waiters(ledger)

    def run(act: Callable[[], Any]) -> Any:
        start.wait(60)
        try:
            return act()
        except (EngineError, BudgetExceededError) as failed:
            return failed

    with ThreadPoolExecutor(len(acts)) as pool:
        running = [pool.submit(run, act) for act in acts]
        assert data.asked.wait(60)
        waiters.until(len(acts) - 1)
        data.go.set()
        return [one.result(60) for one in running]


def test_threads_that_ask_the_same_at_once_pay_once_and_are_told_the_same(ledger) -> None:
    data = Slow()
    sessions = [door(ledger, data, analyst=f"analyst {i}") for i in range(THREADS)]
    told = all_at_once([lambda one=one: ask(one) for one in sessions], data, ledger)
    assert len({str(answer.numbers) for answer in told}) == 1
    assert sorted(answer.free for answer in told) == [False] + [True] * (THREADS - 1)
    assert (spent(ledger), data.times) == (PRICE, 1)


def test_the_same_key_at_once_is_told_the_same(ledger) -> None:
    data = Slow()
    session = door(ledger, data)
    told = all_at_once([lambda: session.ask(count("patients"), epsilon=PRICE, key="k")] * THREADS, data, ledger)
    assert len({str(answer.numbers) for answer in told}) == 1
    assert spent(ledger) == PRICE


def test_whoever_waited_for_a_failure_fails_free_of_charge_and_may_ask_anew(ledger) -> None:
    data = SlowlyFailing()
    session = door(ledger, data)
    told = all_at_once([lambda: ask(session)] * THREADS, data, ledger)
    kinds = sorted(type(one).__name__ for one in told)
    assert kinds == ["EngineError"] + ["UnavailableError"] * (THREADS - 1), "who was charged, and who was not"
    assert (spent(ledger), data.times) == (PRICE, 1)
    assert ask(door(ledger, FixedNumber(100))).value
    assert spent(ledger) == 2 * PRICE


def test_whoever_waited_for_one_that_was_refused_asks_in_its_place(ledger, monkeypatch) -> None:
    """The first has no allowance any more; that is not a reason for the others to fail."""
    ledger.administration.set_allowance("clinic", "poor", PureDP(epsilon=Fraction(1, 1000)))
    poor, rich, data = door(ledger, Slow(), analyst="poor"), door(ledger, FixedNumber(7), analyst="rich"), Slow()
    charge = ledger.questions.charge

    def slow_charge(request: Any) -> Any:
        if request.analyst == "poor":
            data.asked.set()
            assert data.go.wait(60)
        return charge(request)

    monkeypatch.setattr(ledger.questions, "charge", slow_charge)

    def after_the_poor() -> Any:
        assert data.asked.wait(60)
        return ask(rich)

    refused, answer = all_at_once([lambda: ask(poor), after_the_poor], data, ledger)
    assert isinstance(refused, BudgetExceededError)
    assert (answer.free, spent(ledger)) == (False, PRICE)


def test_a_version_that_is_new_is_another_question(ledger) -> None:
    data = Slow()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(ask, door(ledger, data))
        assert data.asked.wait(60)
        ledger.administration.advance_version("clinic", "patients")
        waiters, second = Waiters(ledger), pool.submit(ask, door(ledger, FixedNumber(7)))
        waiters.until(1)
        data.go.set()
        assert [one.result(60).versions["patients"] for one in (first, second)] == [1, 2]
    assert spent(ledger) == 2 * PRICE


def test_nobody_waits_for_ever(ledger) -> None:
    data = Slow()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(ask, door(ledger, data))
        assert data.asked.wait(60)
        request = next(iter(ledger.questions.unsettled()))
        waiting = door(ledger, FixedNumber(7))
        taken = ledger.questions.turn
        ledger.questions.turn = lambda asked: taken(asked, patience=0.1)
        with pytest.raises(LedgerUnwritableError, match="nothing was charged: ask again later"):
            ask(waiting)
        assert request.seq
        data.go.set()
        first.result(60)
    assert spent(ledger) == PRICE


def test_processes_that_ask_the_same_at_once_pay_once_and_are_told_the_same(place) -> None:
    place.clinic(unit=population().unit).close()
    told = race(ask_at_once, place)
    assert len({numbers for numbers, _ in told}) == 1
    assert sorted(free for _, free in told) == [False] + [True] * (RACERS - 1)
    with place.open() as ledger:
        assert spent(ledger) == PRICE
        verify(ledger)


def test_a_process_that_died_keeps_nobody_waiting(place) -> None:
    """Its charge has no end and never will; the next one who asks pays for an answer of their own."""
    place.clinic(unit=population().unit).close()
    with child(ask_and_hang, place) as (process, pipe):
        assert pipe.recv() == "charged"
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    with place.open() as ledger:
        assert not ask(door(ledger, FixedNumber(100))).free
        assert spent(ledger) == 2 * PRICE


def test_whoever_waits_for_a_process_that_dies_fails_free_of_charge(place) -> None:
    place.clinic(unit=population().unit).close()
    with child(ask_and_hang, place) as (process, pipe), place.open() as ledger, ThreadPoolExecutor(1) as pool:
        assert pipe.recv() == "charged"
        waiters, waiting = Waiters(ledger), pool.submit(ask, door(ledger, FixedNumber(100)))
        waiters.until(1)
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(EngineError):
            waiting.result(60)
        assert spent(ledger) == PRICE


class TestWhatDeadProcessesLeft:
    """What anybody who lives is working on is theirs; what nobody works on is settled, by whoever comes."""

    def test_a_question_is_given_up_when_its_process_is_dead_and_not_before(self, place) -> None:
        place.clinic(unit=population().unit).close()
        with child(ask_and_hang, place) as (process, pipe), place.open() as ledger:
            assert pipe.recv() == "charged"
            assert ledger.questions.lose_abandoned() == 0, "it lives"
            assert len(ledger.questions.unsettled()) == 1
            os.kill(process.pid, signal.SIGKILL)
            process.join()
            assert eventually(ledger.questions.lose_abandoned) == 1
            assert ledger.questions.unsettled() == []
            assert ledger.questions.lose_abandoned() == 0, "never twice"
            assert spent(ledger) == PRICE
            verify(ledger)

    def test_a_question_of_a_stream_is_decided_with_its_own_noise_when_its_process_is_dead(self, place) -> None:
        with place.clinic(unit=population().unit) as ledger:
            door(ledger, FixedNumber(100)).stream(at_least=200, yeses=2, epsilon=1, name="s")
        with child(ask_the_stream_and_hang, place) as (process, pipe), place.open() as ledger:
            assert pipe.recv() == "charged"
            session, before = door(ledger, FixedNumber(10_000)), ledger.reservations.find("s")
            session.resume("s")
            assert ledger.reservations.find("s") == before, "it lives, and will decide"
            os.kill(process.pid, signal.SIGKILL)
            process.join()
            assert eventually(lambda: session.resume("s").record.in_flight is None)
            (outcome,) = [entry for entry in ledger.history("clinic") if entry["kind"] == "outcome"]
            assert outcome["outcome"] == "yes"
            again = session.resume("s").ask("age = 1", key="hangs")
            assert again.verdict
            assert len([entry for entry in ledger.history("clinic") if entry["kind"] == "outcome"]) == 1
            verify(ledger)

    def test_threads_of_one_process_are_left_to_themselves(self, ledger) -> None:
        data = Slow()
        with ThreadPoolExecutor() as pool:
            asked = pool.submit(ask, door(ledger, data))
            assert data.asked.wait(60)
            assert ledger.questions.lose_abandoned() == 0
            data.go.set()
            assert not asked.result(60).free
        assert ledger.questions.unsettled() == []

    def test_whoever_asks_a_busy_stream_waits_for_its_outcome(self, ledger) -> None:
        data = Slow(10_000)
        door(ledger, data).stream(at_least=200, yeses=3, epsilon=1, name="s")
        with ThreadPoolExecutor() as pool:
            first = pool.submit(lambda: door(ledger, data).resume("s").ask("age = 1"))
            assert data.asked.wait(60)
            waiters = Waiters(ledger)
            second = pool.submit(lambda: door(ledger, data).resume("s").ask("age = 2"))
            waiters.until(1)
            assert data.times == 1, "one question of a stream is decided at a time"
            data.go.set()
            assert first.result(60).verdict
            assert second.result(60).verdict
        assert data.times == 2

    def test_an_answer_of_a_question_that_was_given_up_is_forgotten(self, ledger) -> None:
        """A worker that was taken for dead comes too late: what it has drawn is told to nobody."""
        data = Slow()
        with ThreadPoolExecutor() as pool:
            asked = pool.submit(ask, door(ledger, data))
            assert data.asked.wait(60)
            for one in ledger.questions.unsettled():
                ledger.questions.lose(one.seq)
            data.go.set()
            with pytest.raises(EngineError):
                asked.result(60)
        assert "answer" not in {entry["kind"] for entry in ledger.history("clinic")}


def eventually(found: Callable[[], Any]) -> Any:
    """Return what is found once it is something: a server takes a moment to see that a client is gone."""
    end = time.monotonic() + 30
    while not (result := found()) and time.monotonic() < end:
        time.sleep(0.02)
    return result
