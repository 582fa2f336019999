"""What racers do: each in a process of its own, all started at once, on one ledger."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction
from itertools import count
from threading import Thread
from typing import Any

import lapwing as asking
from crashes.workload import FORK, child
from lapwing.ledger.questions import Charged
from lapwing.ledger.reservation_states import RoundOutcome
from lapwing.vocabulary.errors import BudgetExceededError, LapwingError, StreamError, UnansweredError
from ledger.clinic import SEED, Place, ask, decide_one, intend_one, request
from session.clinic import FixedNumber, door

RACERS = 8


def race(act: Callable[..., None], place: Place, *arguments: Any) -> list[Any]:
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


def spend_all_in_threads(pipe, place: Place, start, number: int) -> None:
    """Ask in four threads until nothing is left; tell how many questions were admitted."""
    admitted: list[str] = []
    with place.open() as ledger:

        def spend(thread: int) -> None:
            with suppress(BudgetExceededError):
                for turn in count():
                    key = f"{number} {thread} {turn}"
                    ask(ledger, key, analyst=f"analyst {number % 2}", epsilon="1/60")
                    admitted.append(key)

        threads = [Thread(target=spend, args=(thread,)) for thread in range(4)]
        start.wait(60)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    pipe.send(len(admitted))


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
            stream = ledger.reservations.find("s")
            try:
                asked = stream.asked + 1
                intend_one(ledger, "s", number=asked, key=f"{number} {turn}", question=f"{number} {turn}", sealed=SEED)
                decided = decide_one(ledger, "s", number=asked, outcome=RoundOutcome.YES, answer="yes")
            except LapwingError as error:
                if "all the" in str(error):
                    break
                continue
            told += decided.outcome is RoundOutcome.YES
    pipe.send(told)


def spend_all_at_the_door(pipe, place: Place, start, number: int) -> None:
    """Ask through a session until nothing is left, under one of two names; tell what every answer cost."""
    with place.open() as ledger:
        clinic = door(ledger, FixedNumber(100), analyst=f"analyst {number % 2}")
        start.wait(60)
        told = Fraction(0)
        try:
            for turn in count():
                question = asking.count("patients", f"age = {turn} and bmi > {10 + number}")
                told += clinic.ask(question, epsilon="1/20").price.epsilon or 0
        except BudgetExceededError:
            pipe.send(told)


def share_a_stream(pipe, place: Place, start, number: int) -> None:
    """Go on with one stream in many processes; tell how many yeses this one was told."""
    with place.open() as ledger:
        start.wait(60)
        told, turn = 0, 0
        while turn < 60:
            try:
                told += bool(door(ledger, FixedNumber(10_000)).resume("s").ask(f"age = {turn} and bmi > {10 + number}"))
                turn += 1
            except StreamError as refused:
                if "all the" in str(refused):
                    break
    pipe.send(told)


class Slow(FixedNumber):
    """Data that takes its time, and says that it was asked for."""

    def __init__(self, seconds: float, pipe: Any = None) -> None:
        super().__init__(100)
        self._seconds, self._pipe = seconds, pipe

    def engine(self, versions: Mapping[str, int]) -> FixedNumber:
        if self._pipe:
            self._pipe.send("charged")
        time.sleep(self._seconds)
        return super().engine(versions)


def ask_at_once(pipe, place: Place, start, number: int) -> None:
    """Ask what all others are asking just now."""
    with place.open() as ledger:
        session = door(ledger, Slow(0.2), analyst=f"analyst {number}")
        start.wait(60)
        answer = session.ask(asking.count("patients"), epsilon="1/10")
        pipe.send((str(answer.numbers), answer.free))


def ask_and_hang(pipe, place: Place) -> None:
    """Ask, and get no answer from the database."""
    with place.open() as ledger:
        door(ledger, Slow(600, pipe)).ask(asking.count("patients"), epsilon="1/10")


def ask_the_stream_and_hang(pipe, place: Place) -> None:
    """Ask a stream, and get no answer from the database."""
    with place.open() as ledger:
        door(ledger, Slow(600, pipe)).resume("s").ask("age = 1", key="hangs")
