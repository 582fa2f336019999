"""What a process does before it is killed, and what may be said of a ledger afterwards.

The process tells through a pipe what it has released, at the moment it would tell an analyst. The checker believes the
pipe and not the ledger: every release must be covered by a charge, and every key must lead to what was told under it.
"""

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from multiprocessing.connection import Connection
from typing import Any

from lapwing.ledger.ledger import Ledger
from lapwing.ledger.questions import Charged
from lapwing.ledger.replay import verify
from lapwing.ledger.reservation_states import Decision, Intent, RoundOutcome
from lapwing.ledger.store import VARIABLE
from lapwing.vocabulary.guarantee import PureDP
from ledger.clinic import SEED, Place, decide_one, intend_one, opening, request, spent

PRICE = Fraction(1, 100)
FORK = multiprocessing.get_context("forkserver")
FORK.set_forkserver_preload(
    ["pytest", "lapwing.ledger.replay", "lapwing.ledger.postgres", "lapwing.session", "sqlglot.dialects.duckdb"]
)  # slow


@dataclass(frozen=True)
class Release:
    """Something that an analyst was told: the key it was asked under, what was told, and what that costs at least."""

    key: str
    told: str
    cost: Fraction
    population: str = "clinic"


@contextmanager
def child(act: Callable[..., None], *arguments: Any) -> Iterator[tuple[Any, Connection]]:
    """Run `act` in a process of its own; give the process, and the pipe on which it tells what it releases."""
    mine, other = FORK.Pipe(duplex=False)
    process = FORK.Process(target=act, args=(other, *arguments))
    process.start()
    other.close()
    try:
        yield process, mine
    finally:
        process.kill()
        process.join()
        mine.close()


def told(pipe: Connection) -> Iterator[Release]:
    """Yield what was released until the process at the other end is gone."""
    while True:
        try:
            yield pipe.recv()
        except (EOFError, ConnectionResetError):
            return


def seeded_decision(sealed: bytes, question: str) -> RoundOutcome:
    """A stand-in for a mechanism: the decision is a function of the seed and the question, and of nothing else."""
    return RoundOutcome.YES if (sum(sealed) + sum(question.encode())) % 3 == 0 else RoundOutcome.NO


def do_everything(pipe: Connection, place: Place, fault: str, turn: str) -> None:
    """Do everything that a ledger can do, and die on the way."""
    os.environ[VARIABLE] = fault
    with place.open() as whole:
        ledger = whole.of("clinic")
        for name in whole.populations():
            if ledger.population(name).suspended:  # by a process that died after `accept_rollback`
                ledger.administration.resume(name)
        ledger.administration.create_population(f"p{turn}", unit=_unit(ledger), budget=PureDP(epsilon=Fraction(1)))
        ledger.administration.add_table(f"p{turn}", "patients")
        ledger.administration.advance_version("clinic", "visits")
        if ledger.population(f"p{turn}").suspended:
            ledger.administration.resume(f"p{turn}")
        one_question(pipe, whole, f"{turn} other", f"p{turn}")
        for number in range(2):
            one_question(pipe, ledger, f"{turn} {number}")
        whole.seal()
        lost = ledger.questions.charge(request(f"{turn} lost", epsilon=PRICE))
        ledger.questions.lose(lost.seq)
        name = f"s{turn}"
        ledger.reservations.open(opening(name, opening=PRICE, price=PRICE))
        for number in range(1, 5):
            one_of_a_stream(pipe, ledger, name, number)
        ledger.reservations.close(name)
        ledger.reservations.open(opening(f"f{turn}", opening=PRICE, price=PRICE))
        intend_one(ledger, f"f{turn}", number=1, key=f"f{turn} 1", question="q1", sealed=SEED)
        ledger.reservations.forfeit(f"f{turn}")
        ledger.administration.accept_rollback(f"turn {turn}")


def one_question(pipe: "Connection | OneAtATime", ledger: Ledger, key: str, population: str = "clinic") -> None:
    ledger = ledger.of(population)
    charged = ledger.questions.charge(request(key, epsilon=PRICE, population=population))
    if isinstance(charged, Charged):
        charged = ledger.questions.answer(charged.seq, f"noisy answer of process {os.getpid()}")
    pipe.send(Release(key, charged.answer, PRICE, population))


def one_of_a_stream(pipe: Connection, ledger: Ledger, stream: str, number: int, population: str = "clinic") -> None:
    key, asked = f"{stream} {number}", {"number": number, "question": f"q{number}", "population": population}
    intent = intend_one(ledger, stream, key=key, sealed=SEED, **asked)
    decided = decide(ledger.of(population), intent)
    # the first answer of a stream costs its opening, every yes its price
    cost = PRICE * (number == 1) + PRICE * (decided.outcome is RoundOutcome.YES)
    pipe.send(Release(key, decided.answer, cost, population))


def decide(ledger: Ledger, intent: Intent | Decision) -> Decision:
    if isinstance(intent, Decision):
        return intent
    outcome = seeded_decision(intent.sealed, intent.questions[0])
    return decide_one(ledger, intent.reservation, number=intent.number, outcome=outcome, answer=outcome.value)


def answer_first_and_charge_later(pipe: Connection, place: Place, fault: str) -> None:
    """The mistake that the checker is there for."""
    os.environ[VARIABLE] = fault
    with place.open() as ledger:
        pipe.send(Release("hasty", "told too early", PRICE))
        ledger.questions.charge(request("hasty", epsilon=PRICE))


def ask_for_ever(pipe: Connection, place: Place, turn: str) -> None:
    """Ask until somebody kills the process."""
    with place.open() as ledger:
        _ask(pipe, ledger, turn)


def _ask(pipe: "Connection | OneAtATime", ledger: Ledger, turn: str) -> None:
    for number in count():
        one_question(pipe, ledger, f"{turn} {number}")


def ask_together(pipe: Connection, place: Place, fault: str, turn: str) -> None:
    """Ask about two populations in eight threads at once, so that charges and answers go through in groups, and die."""
    os.environ[VARIABLE] = fault
    telling = OneAtATime(pipe)
    with place.open() as ledger:

        def ask(thread: int) -> None:
            for number in range(4):
                one_question(telling, ledger, f"{turn} {thread} {number}", ("clinic", "school")[thread % 4 == 0])

        threads = [threading.Thread(target=ask, args=(thread,)) for thread in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def ask_among_rivals(pipe: Connection, place: Place, fault: str, all_: Any, turn: str) -> None:
    """Ask in four threads for ever, among other processes; die in a group with the lock, once all have lost a race."""
    telling = OneAtATime(pipe)
    with place.open() as ledger:
        asking = [threading.Thread(target=_ask, args=(telling, ledger, f"{turn} {i}")) for i in range(4)]
        for thread in asking:
            thread.start()
        while not ledger.of("clinic").store._rivals.are_busy:
            time.sleep(0.001)
        all_.wait(60)
        os.environ[VARIABLE] = fault
        for thread in asking:
            thread.join()


class OneAtATime:
    """A pipe that threads share."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe, self._lock = pipe, threading.Lock()

    def send(self, release: Release) -> None:
        with self._lock:
            self._pipe.send(release)


def create(pipe: Connection, place: Place, fault: str) -> None:
    """Make a new ledger."""
    del pipe
    os.environ[VARIABLE] = fault
    place.create().close()


@dataclass
class History:
    """All that was ever told about a ledger, by whoever told it."""

    releases: dict[str, Release] = field(default_factory=dict)

    def hear(self, releases: Iterator[Release]) -> int:
        """Take down what a process released; the same key may be told again, but only the same."""
        heard = 0
        for release in releases:
            assert self.releases.setdefault(release.key, release).told == release.told, release
            heard += 1
        return heard

    def check(self, ledger: Ledger) -> None:
        """Charged is at least released, each key leads to what was told, and the ledger is sound."""
        verify(ledger)
        for population in {release.population for release in self.releases.values()}:
            self._check(ledger.of(population), population)
        verify(ledger, [ledger.seal()])

    def _check(self, ledger: Ledger, population: str) -> None:
        releases = {key: release for key, release in self.releases.items() if release.population == population}
        released, charged = sum((one.cost for one in releases.values()), Fraction(0)), spent(ledger, population)
        assert charged >= released, f"{released} was released and {charged} charged"
        before = ledger.account(population)
        account = before.filters["everyone"]
        assert account.spent + account.reserved <= account.epsilon
        for key, release in releases.items():
            assert self._again(ledger, key, population) == release.told
        assert ledger.account(population) == before

    @staticmethod
    def _again(ledger: Ledger, key: str, population: str) -> str | None:
        stream, _, number = key.partition(" ")
        if stream[0] in "sf":
            asked = {"number": 99, "question": f"q{number}", "population": population}
            decided = intend_one(ledger, stream, key=key, sealed=SEED, **asked)
            assert isinstance(decided, Decision), key
            return decided.answer
        stored = ledger.questions.charge(request(key, epsilon=PRICE, population=population))
        assert not isinstance(stored, Charged), key
        return stored.answer


def recover(ledger: Ledger, history: History) -> None:
    """What the next process does: questions without an answer are lost, streams go on with the same seed."""
    for one in map(ledger.of, ledger.populations()):
        for left in one.questions.unsettled():
            assert left.key not in history.releases
            one.questions.lose(left.seq)
        for intent in one.reservations.unsettled():
            assert intent.key not in history.releases
            decide(one, intent)


def _unit(ledger: Ledger) -> Any:
    return ledger.population("clinic").unit
