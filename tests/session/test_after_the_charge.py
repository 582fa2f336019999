"""After the charge there is the committed answer, or one failure that says nothing: whatever fails, wherever."""

import gc
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from itertools import count as numbers
from typing import Any

import pyarrow as pa
import pytest

from lapwing import count, total
from lapwing.ledger import questions
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.replay import verify
from lapwing.ledger.reservation_states import ReservationStatus
from lapwing.session import Session
from lapwing.vocabulary.errors import (
    BadQuestionError,
    EngineError,
    LedgerDamagedError,
    LedgerUnwritableError,
    ParameterError,
    SecrecyError,
    UnansweredError,
)
from lapwing.vocabulary.guarantee import PureDP
from ledger.three_rounds import first, reserve
from session.clinic import KEY, Broken, FixedNumber, door, new_ledger, spent
from session.every_line import Line, Tracing, run, shown
from session.real_tables import Tables, visits

PEOPLE, AGE, FACTOR = 1237, 71, 1_000_003
EXACT = str(PEOPLE * AGE * FACTOR)
MANY = 987_654_321
SEED = b"the seed of one answer, 32 bytes"
PRICE = Fraction(1, 100)
"""So cheap that what is released is nowhere near the exact number."""


class ForeignError(BaseException):
    """Something of another library that is no Exception."""


FAILURES = [
    *(KeyboardInterrupt, ValueError, SystemExit, MemoryError, GeneratorExit, RecursionError, ForeignError),
    *(EngineError, BadQuestionError, SecrecyError, LedgerDamagedError, AttributeError, OSError),
]
CONSTANT = {KeyboardInterrupt: [""], SystemExit: ["1"], GeneratorExit: [""], EngineError: [str(EngineError())]}
ANY_INTERRUPT = {KeyboardInterrupt: ["", "injected"]}
THIN = {"hide_failures", "opaque.<locals>.hidden", "_constant", "_constant.<locals>.<listcomp>"}
THIN |= {
    "Session.ask",
    "PricedAsking.ask",
    "Session._ask_together",
    "Session._charge_and_answer",
    "Session._charge_and_answer.<locals>.<dictcomp>",
    "Session._charge",
    "Session._answer_charged",
    "Questions.turn",
    "Questions.turns",
    "Questions.charge_many",
    "Gate.leave",
    "Gate.working",
    "FileGate._give_back",
    "Tables.hold",
    "CancelGroup.scope",
    "no_deadline",
}
THIN |= {"Rounds.round", "Rounds._decide", "Rounds._draw", "Rounds._intend"}
THIN |= {
    "QuestionStream.ask",
    "QuestionStream._hold",
    "QuestionStream._decide",
    "QuestionStream._unless_broken",
    "QuestionStream._answer",
    "QuestionStream._ask_together",
    "QuestionStream._ask_together.<locals>.<dictcomp>",
    "QuestionStream._ask_together.<locals>.<listcomp>",
}
"""What stands around the rule, and can fail in a test only: that comes out as it is, and shows no value either."""
LOCKING = "ledger/queue.py", "ledger/sqlite.py"
"""Where gates are locked and let go."""
OF_THE_LEDGER = "ledger", "vocabulary/lifetime"
"""The ledger, and the lock of its file: where nothing is secret, and an interrupt may leave a gate to its traceback."""
WHICH = pytest.mark.parametrize("which", [KeyboardInterrupt, None], ids=["interrupts", "all in turn"])


def made(kind: type[BaseException]) -> BaseException:
    return {EngineError: EngineError(), SystemExit: SystemExit(143)}.get(kind) or kind("injected")


def tables() -> Tables:
    people = {
        "id": pa.array(range(1, PEOPLE + 1), pa.int64()),
        "sex": pa.array(["F"] * PEOPLE),
        "age": pa.array([AGE] * PEOPLE, pa.int64()),
        "bmi": pa.array([20.0] * PEOPLE),
        "survivor": pa.array([True] * PEOPLE),
        "city": pa.array(["here"] * PEOPLE),
    }
    return Tables(sources={"patients": pa.table(people), "visits": visits(3)})


@pytest.fixture(autouse=True)
def old_objects_rest():
    """What was there before a test holds no lock of it: `gc.collect` need not go through all of it each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def rich(quick_path):
    with new_ledger(quick_path, PureDP(epsilon=Fraction(10**6))) as ledger:
        yield ledger


class Failing:
    """Goes through the lines of a question after a fault point, and fails at each of them once."""

    def __init__(self, which: type[BaseException] | None, constant: dict[Any, list[str]] = CONSTANT) -> None:
        self.known, self._which, self._constant, self.turn = set[Line](), which, constant, 0
        self._tracing: Tracing | None = None

    def begin(self) -> None:
        """Let it fail from here on."""
        if self._tracing:
            self._tracing.begin()

    def after(self, monkeypatch, module: str, point: str) -> "Failing":
        """Let it fail after a fault point."""
        monkeypatch.setattr(f"{module}.fault_point", lambda reached: self.begin() if reached == point else None)
        return self

    def once(self, act: Callable[[], Any], secrets: tuple[str, ...]) -> tuple[Line | None, Any]:
        """Fail at the next line; return it, or None if there is no other, and the answer, if there was one."""
        self.turn += 1
        tracing = self._tracing = Tracing(self.known, made(self._which or FAILURES[self.turn % len(FAILURES)]))
        answer, raised = run(act, tracing)
        self._tracing = None  # what is asked later is not looked at
        tracing.failure = None  # and with it the frames that it went through
        if raised is not None:
            self._check(raised, tracing.at, secrets)
        del raised
        if tracing.at and tracing.at[0] in LOCKING:
            gc.collect()  # a lock that was being let go is held until the frames are gone
        return tracing.at, answer

    def _check(self, raised: BaseException, at: Line | None, secrets: tuple[str, ...]) -> None:
        told = shown(raised)
        assert not [secret for secret in secrets if secret in told], f"{at}: {told}"
        assert (at and at[1]) in THIN or str(raised) in self._constant.get(type(raised), ()), f"{at}: {raised!r}"

    @property
    def functions(self) -> set[str]:
        return {name for _, name, _ in self.known}


def fail_at_every_line(ledger: Ledger, data: Any, failing: Failing, secret: str) -> None:
    clinic = door(ledger, data)
    while True:
        question = total("patients", f"{FACTOR} * age", f"bmi < {21 + failing.turn / 64}")
        before, key = spent(ledger), f"{failing.turn}"
        at, answer = failing.once(lambda: clinic.ask(question, epsilon=PRICE, key=key), (secret,))  # noqa: B023 - it is called at once
        assert spent(ledger) == before + PRICE, f"{at}: the charge stays, and is one"
        if answer is not None:
            assert secret not in str(answer.numbers)
            assert clinic.ask(question, epsilon=PRICE, key=key).numbers == answer.numbers, "only what is committed"
        if at is None:
            break
    verify(ledger)


@WHICH
def test_a_question_that_fails_at_any_line_after_its_charge_tells_nothing(rich, monkeypatch, which) -> None:
    failing = Failing(which).after(monkeypatch, "lapwing.session", "ask.charged")
    data = tables()
    data.engine({})  # is opened before anything is charged
    fail_at_every_line(rich, data, failing, EXACT)
    assert {"Session._read_and_release", "all_numbers", "add_noise", "_answer_in", "_answer"} <= failing.functions
    assert door(rich, tables()).ask(count("patients"), epsilon=1).value, "the next question is answered"


def test_a_question_that_fails_on_data_and_then_at_any_line_tells_nothing(rich, monkeypatch) -> None:
    failing = Failing(None).after(monkeypatch, "lapwing.session", "ask.charged")
    fail_at_every_line(rich, Broken(), failing, "123456789")
    assert {"hide_failures", "_reported", "Questions.lose"} <= failing.functions


class EverythingIn(set[Line]):
    """All lines of some folders, and others."""

    def __init__(self, *folders: str) -> None:
        super().__init__()
        self._folders = folders

    def __contains__(self, line: object) -> bool:
        return super().__contains__(line) or str(line[0]).startswith(self._folders)


class AsksStreams:
    """Asks a question in a stream that is open; in a new one, if the last was lost."""

    def __init__(self, ledger: Ledger, data: Any) -> None:
        self.clinic: Session = door(ledger, data)
        self.stream, self._ages = None, numbers()

    def ready(self) -> Callable[[], Any]:
        if self.stream is not None:
            self.stream.recover()  # whoever asks next would, and find that it has halted
        if self.stream is None or self.stream.record.status is not ReservationStatus.OPEN:
            self.stream = self.clinic.stream(at_least=2 * MANY, yeses=100, epsilon=1)
        stream, age = self.stream, next(self._ages)
        return lambda: stream.ask(f"age = {age % 100} and bmi > {10 + age // 100}")


@pytest.mark.parametrize(
    ("data", "which"),
    [(FixedNumber(MANY), KeyboardInterrupt), (FixedNumber(MANY), None), (Broken(), None)],
    ids=["interrupts", "all in turn", "data fails first"],
)
def test_a_question_of_a_stream_that_fails_at_any_line_tells_nothing(rich, monkeypatch, data, which) -> None:
    """From the first look at the data on; what is in flight after an interrupt is decided again, and not anew."""
    monkeypatch.setattr("lapwing.streams.fresh_seed", lambda: SEED)
    failing, engine = Failing(which), data.engine
    monkeypatch.setattr(data, "engine", lambda versions: (failing.begin(), engine(versions))[1])
    if which is KeyboardInterrupt:
        failing.known = EverythingIn(*OF_THE_LEDGER)  # where others fail in turn
    asks = AsksStreams(rich, data)
    at = ("", "", 0)
    while at is not None:
        at, answer = failing.once(asks.ready(), (str(MANY), "123456789", repr(SEED), SEED.hex(), repr(KEY), KEY.hex()))
        assert answer is None or not answer
    verify(rich)
    assert {"hide_failures", "QuestionStream._read_and_decide"} <= failing.functions


@WHICH
def test_a_round_that_fails_at_any_line_tells_nothing_and_is_never_drawn_again(rich, monkeypatch, which) -> None:
    """From the first look at the data on; after it the round has the outcome that was drawn, or is lost."""
    data = FixedNumber(MANY)
    failing, engine, clinic, drawn = Failing(which), data.engine, door(rich, data), list[Any]()
    monkeypatch.setattr(data, "engine", lambda versions: (failing.begin(), engine(versions))[1])
    if which is KeyboardInterrupt:
        failing.known = EverythingIn(*OF_THE_LEDGER)  # where others fail in turn
    at = ("", "", 0)
    while at is not None:
        key, before = f"{failing.turn}", len(drawn)
        rounds = reserve(clinic, key)
        try:
            at, answer = failing.once(lambda: first(clinic, rounds, drawn.append), (str(MANY),))  # noqa: B023 - called at once
        except AssertionError:
            if [value for _, value in drawn[before:]] == [MANY]:
                return  # noise of 0: what was told is what was released
            raise
        assert len(drawn) <= before + 1
        rounds.recover()
        assert rounds.committed in ([None], [value for _, value in drawn[before:]]), at
        assert answer is None or rounds.committed == [answer]
        with suppress(UnansweredError):
            assert [first(clinic, reserve(clinic, key), drawn.append)] == rounds.committed
        assert len(drawn) <= before + 1, f"{at}: it was drawn again"
    verify(rich)
    assert {"Rounds._read_and_release", "RoundReader.number", "Rounds.round"} <= failing.functions


def test_an_interrupt_at_any_line_of_a_stream_shows_no_key_and_no_seed(rich, monkeypatch) -> None:
    """From the drawing of the seed on: whoever has the key can open every seal, and whoever has the seed the noise."""
    failing = Failing(KeyboardInterrupt, ANY_INTERRUPT)
    failing.known = EverythingIn(*OF_THE_LEDGER)  # where nothing is secret
    monkeypatch.setattr("lapwing.streams.fresh_seed", lambda: (failing.begin(), SEED)[1])
    clinic = door(rich, FixedNumber(MANY))
    secrets = (str(MANY), repr(SEED), SEED.hex(), repr(KEY), KEY.hex())
    at = ("", "", 0)
    while at is not None:
        stream = clinic.stream(at_least=2 * MANY, yeses=1, epsilon=1)
        at, _ = failing.once(lambda: stream.ask("age = 1"), secrets)  # noqa: B023 - it is called at once
    assert {"seal", "unseal", "SparseVectorStream.suspend", "SparseVectorStream._decide"} <= failing.functions


def test_an_answer_that_the_ledger_does_not_take_is_the_one_failure(rich, monkeypatch) -> None:
    """Numbers that are in no ledger are told to nobody, and the class does not say that nothing was charged."""
    real = questions.text

    def short(what: str, given: str) -> str:
        if what == "answer":
            raise ParameterError(what, given, reason="is not text", remedy="give at most 10 characters")
        return real(what, given)

    monkeypatch.setattr(questions, "text", short)
    wide = total("patients", f"{FACTOR} * age", by="age")
    with pytest.raises(EngineError) as failed:
        door(rich, FixedNumber(MANY)).ask(wide, epsilon=PRICE, key="k")
    assert shown(failed.value).count(str(MANY)) == 0
    assert (spent(rich), rich.questions.unsettled()) == (PRICE, [])
    with pytest.raises(UnansweredError, match="lost after it was charged"):
        door(rich, FixedNumber(MANY)).ask(wide, epsilon=PRICE, key="k")


def test_a_ledger_that_fails_after_the_charge_is_the_one_failure_too(rich, monkeypatch) -> None:
    """Its message would say that nothing was charged."""

    def fails(*_: object, **__: object) -> None:
        raise LedgerUnwritableError("the disk is full; nothing was charged")

    with monkeypatch.context() as patched:
        patched.setattr(rich.questions, "answer_many", fails)
        patched.setattr(rich.questions, "lose", fails)
        with pytest.raises(EngineError):
            door(rich, FixedNumber(MANY)).ask(count("patients"), epsilon=PRICE)
    assert (spent(rich), len(rich.questions.unsettled())) == (PRICE, 1)


def test_a_rehearsal_that_fails_is_the_one_failure(rich) -> None:
    with pytest.raises(EngineError) as failed:
        door(rich, Broken()).rehearse(count("patients"), epsilon=1)
    assert "123456789" not in shown(failed.value)
