"""What a process does at the door before it is killed, and what may be said afterwards.

As in `workload`, the process tells through a pipe what it has released, and the checker believes the pipe.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from multiprocessing.connection import Connection
from typing import Any

from crashes.workload import Release
from lapwing import count, mean, streams
from lapwing.answers.answer import Answer
from lapwing.answers.stream_answers import StreamAnswers
from lapwing.answers.stream_terms import StreamAnswer, StreamTerms
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.replay import verify
from lapwing.ledger.store import VARIABLE
from lapwing.mechanisms.sparse_vector.stream import SparseVectorStream as Deciding
from lapwing.noise.randomness import SYSTEM
from lapwing.vocabulary.errors import StreamError
from ledger.clinic import Place
from session.clinic import FixedNumber, door, population, spent

PRICE = Fraction(1, 100)
TERMS = {"at_least": 200, "yeses": 2, "epsilon": "1/10", "number": True}
BATCHES = {"at_least": 200, "yeses": 20, "epsilon": "1/10"}


BATCH = tuple(f"age = {age}" for age in range(6))


def clinic(place: Place) -> None:
    """Make the ledger of a clinic that can pay for all of it."""
    place.clinic(epsilon=100, unit=population().unit).close()


def ask_everything(pipe: Connection, place: Place, fault: str, turn: str) -> None:
    """Ask two questions and a whole stream, and die on the way."""
    os.environ[VARIABLE] = fault
    with place.open() as ledger:
        clinic = door(ledger, FixedNumber(200))
        for number, question in enumerate((count("patients"), mean("patients", "age"))):
            key = f"{turn} {number}"
            answer = clinic.ask(question, epsilon=PRICE + Fraction(int(turn), 10**6), key=key)
            pipe.send(Release(key, str(answer.numbers), answer.price.epsilon * (not answer.free)))
        with clinic.stream(**TERMS, name=f"s{turn}") as stream:
            opening = stream.terms.mechanism.threshold_epsilon
            for number in range(4):
                answer = ask_in(stream, number)
                if answer is None:
                    break
                pipe.send(Release(f"s{turn} {number}", told(answer), answer.price + opening * (number == 0)))


def ask_in(stream: streams.QuestionStream, number: int) -> StreamAnswer | None:
    """Ask one question of a stream; None once it has halted or closed."""
    try:
        return stream.ask(f"age = {number}", key=f"{stream.name} {number}")
    except StreamError:
        return None


def ask_many_at_once(pipe: Connection, place: Place, fault: str, turn: str) -> None:
    """Ask four questions at once, twice, and die on the way."""
    os.environ[VARIABLE] = fault
    with place.open() as ledger:
        for number in range(2):
            answers = many(ledger, turn, number)
            cost = sum((answer.price.epsilon for answer in answers if not answer.free), Fraction(0))
            pipe.send(Release(f"{turn} {number}", str([answer.numbers for answer in answers]), cost))


def many(ledger: Ledger, turn: str, number: int) -> list[Answer]:
    """Ask four questions at once, one of which is in every batch of a turn."""
    questions = [mean("patients", "age"), *(count("patients", f"age = {3 * number + i}") for i in range(3))]
    clinic = door(ledger, FixedNumber(200))
    return clinic.ask_many(questions, epsilon=PRICE + Fraction(int(turn), 10**6), key=f"m{turn} {number}")


def check_many(ledger: Ledger, releases: dict[str, Release]) -> None:
    """The ledger is sound, and each key leads to what was told under it, for nothing."""
    verify(ledger)
    check_charges(ledger, releases)
    before = ledger.account("clinic")
    for key, release in releases.items():
        turn, _, number = key.partition(" ")
        assert str([answer.numbers for answer in many(ledger, turn, int(number))]) == release.told, key
    assert ledger.account("clinic") == before, "asking again was charged"


def ask_batches(pipe: Connection, place: Place, fault: str, turn: str) -> None:
    """Ask a stream three batches of five conditions, and die on the way."""
    os.environ[VARIABLE] = fault
    with place.open() as ledger, door(ledger, FixedNumber(200)).stream(**BATCHES, name=f"b{turn}") as stream:
        opening = stream.terms.mechanism.threshold_epsilon
        for number in range(3):
            answers = ask_batch(stream, number)
            if answers is None:
                break
            pipe.send(Release(f"b{turn} {number}", told_all(answers), answers.price + opening * (number == 0)))


def ask_batch(stream: streams.QuestionStream, number: int) -> StreamAnswers | None:
    """Ask one batch of a stream, which shares a condition with the one before; None once it has halted or closed."""
    conditions = [f"age = {4 * number + i}" for i in range(5)]
    try:
        return stream.ask_many(conditions, key=f"{stream.name} {number}")
    except StreamError:
        return None


def told_all(answers: StreamAnswers) -> str:
    return "; ".join("-" if answer is None else told(answer) for answer in answers)


def check_batches(ledger: Ledger, releases: dict[str, Release]) -> None:
    """The ledger is sound, and each key leads to what was told under it, for nothing."""
    verify(ledger)
    check_charges(ledger, releases)
    clinic, before = door(ledger, FixedNumber(200)), ledger.account("clinic")
    for key, release in releases.items():
        name, _, number = key.partition(" ")
        terms = StreamTerms.read(ledger.reservations.find(name).terms)
        again = ask_batch(clinic._stream(name, terms), int(number))
        assert again is not None
        assert told_all(again) == release.told, key
    assert ledger.account("clinic") == before, "asking again was charged"


def told(answer: StreamAnswer) -> str:
    return f"{answer.verdict} {answer.gap} {answer.number}"


def recover(ledger: Ledger) -> None:
    """What the next process does: it gives lost questions up, and settles each stream with its own seed."""
    for left in ledger.questions.unsettled():
        ledger.questions.lose(left.seq)
    for intent in ledger.reservations.unsettled():
        door(ledger, FixedNumber(200)).resume(intent.reservation)


def check_charges(ledger: Ledger, releases: dict[str, Release]) -> None:
    """Charged is at least released."""
    released = sum((release.cost for release in releases.values()), Fraction(0))
    assert spent(ledger) >= released, f"{released} was released and {spent(ledger)} charged"


def check(ledger: Ledger, releases: dict[str, Release]) -> None:
    """The ledger is sound, and each key leads to what was told under it, for nothing."""
    verify(ledger)
    check_charges(ledger, releases)
    clinic = door(ledger, FixedNumber(200))
    before = ledger.account("clinic")
    for key, release in releases.items():
        turn, _, number = key.partition(" ")
        if turn.startswith("s"):
            terms = StreamTerms.read(ledger.reservations.find(turn).terms)
            again = ask_in(clinic._stream(turn, terms), int(number))
            assert again is not None
            assert told(again) == release.told, key
        else:
            question = (count("patients"), mean("patients", "age"))[int(number)]
            answer = clinic.ask(question, epsilon=PRICE + Fraction(int(turn), 10**6), key=key)
            assert str(answer.numbers) == release.told, key
    assert ledger.account("clinic") == before, "asking again was charged"


def die_after_deciding(pipe: Connection, place: Place, people: int, stream: str, deadly: str) -> None:
    """Ask one question at the threshold; tell the adversary what was decided, and die if it likes the decision."""
    ask, ask_many = Deciding.ask, Deciding.ask_many

    def ask_and_die(self: Deciding, *given: Any, **named: Any) -> Any:
        answer = ask(self, *given, **named)
        pipe.send(decision(answer.above, answer.gap))
        if deadly in {"always", "yes" if answer.above else "no"}:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    def ask_many_and_die(self: Deciding, *given: Any, **named: Any) -> Any:
        answers = ask_many(self, *given, **named)
        pipe.send("; ".join(decision(answer.above, answer.gap) for answer in answers))
        os.kill(os.getpid(), signal.SIGKILL)
        return answers

    Deciding.ask, Deciding.ask_many = ask_and_die, ask_many_and_die  # type: ignore[method-assign]
    with place.open() as ledger:
        if deadly == "batch":
            door(ledger, FixedNumber(people)).resume(stream).ask_many(BATCH, key=f"{stream} 1")
        door(ledger, FixedNumber(people)).resume(stream).ask("age = 1", key=f"{stream} 1")


def decision(above: bool, gap: Any) -> str:  # noqa: FBT001 - what is told
    return f"{'ABOVE' if above else 'BELOW'} {None if gap is None else int(gap)}"


@contextmanager
def fresh_noise_on_recovery() -> Iterator[None]:
    """The mistake: a recovery that draws again, instead of deciding with the sealed seed."""
    sealed = streams.SealedSource
    streams.SealedSource = lambda _: SYSTEM  # type: ignore[assignment, misc]
    try:
        yield
    finally:
        streams.SealedSource = sealed  # type: ignore[misc]
