"""How a stream behaves: when it halts, what it refuses, what it has cost, and who may look inside."""

import copy
import logging
import math
import pickle
import sys
import threading
import traceback
from fractions import Fraction

import numpy as np
import pytest

from lapwing.mechanisms.sparse_vector import rule as rule_module
from lapwing.mechanisms.sparse_vector import stream as stream_module
from lapwing.mechanisms.sparse_vector.gaussian_stream import GaussianSparseVector
from lapwing.mechanisms.sparse_vector.pure import AdaptiveSparseVector, SparseVector, YesReveals
from lapwing.mechanisms.sparse_vector.stream import SparseVectorStatus
from lapwing.vocabulary.errors import (
    ParameterError,
    RandomnessError,
    SecrecyError,
    StreamError,
    StreamHaltedError,
)
from lapwing.vocabulary.exact import Sensitive
from mechanisms.sparse_vector.suspects import COUNTS, REALS
from noise.sources import Stream as Seeded

FAR = 10**9


def cohorts(**changes):
    return SparseVector(**{"epsilon": 1, "yeses": 3, "threshold": 200, "sensitivity": COUNTS} | changes)


def gaussian(**changes):
    given = {"threshold_sigma": 3, "query_sigma": 5, "yeses": 2, "questions": 4, "threshold": 0, "sensitivity": COUNTS}
    return GaussianSparseVector(**given | changes)


def test_a_stream_halts_with_its_last_yes_and_answers_nothing_after_it() -> None:
    stream = cohorts().open()
    assert [bool(stream.ask(value)) for value in (-FAR, FAR, -FAR, FAR, FAR)] == [False, True, False, True, True]
    assert (stream.status, stream.asked, stream.yeses) == (SparseVectorStatus.HALTED, 5, 3)
    for ask in (lambda: stream.ask(FAR), lambda: stream.ask(-FAR), lambda: stream.ask_many([-FAR]), stream.lose):
        with pytest.raises(StreamHaltedError, match="all the 3 yeses") as refusal:
            ask()
        assert refusal.value.yeses == 3
    assert stream.asked == 5


def test_many_values_are_answered_up_to_the_last_yes() -> None:
    stream = cohorts().open()
    values = np.array([-FAR, FAR] * 2000)
    answers = stream.ask_many(values[:2])
    answers_on = stream.ask_many(values)
    assert (len(answers), answers.positions) == (2, (1,))
    assert (len(answers_on), answers_on.positions, stream.asked) == (4, (1, 3), 6)
    assert [answer.question for answer in answers_on] == [3, 4, 5, 6]
    assert [bool(answer) for answer in answers_on[1:3]] == [True, False]
    assert answers_on[-1] == answers_on.yeses[-1]
    assert repr(answers_on) == "<4 answers, 2 of them yes>"
    with pytest.raises(IndexError):
        answers_on[4]


def test_a_yes_that_comes_after_many_noes_is_found_in_its_place() -> None:
    values = np.full(200_000, -FAR)
    values[[77_777, 123_456]] = FAR
    stream = cohorts().open()
    answers = stream.ask_many(values)
    assert (answers.positions, len(answers), stream.asked) == ((77_777, 123_456), 200_000, 200_000)
    assert stream.status is SparseVectorStatus.OPEN
    assert len(stream.ask_many(np.array([], np.int64))) == 0


def test_what_a_stream_has_cost_is_exact_and_what_it_may_still_cost_is_held_back() -> None:
    mechanism = cohorts(yeses=8)
    opening, price = Fraction(1, 5), Fraction(1, 10)
    stream = mechanism.open()
    assert (stream.spent, stream.reserved) == (0, 1)  # no answer, no cost
    stream.ask(-FAR)
    assert (stream.spent, stream.reserved) == (opening, 1 - opening)
    assert stream.ask(-FAR).price == 0
    assert stream.ask(FAR).price == price
    assert (stream.spent, stream.reserved) == (opening + price, 7 * price)
    stream.close()
    assert (stream.spent, stream.reserved) == (opening + price, 0)
    halted = cohorts().open()
    halted.ask_many([FAR] * 3)
    assert (halted.spent, halted.reserved) == (1, 0)


def test_an_adaptive_stream_gives_more_yeses_for_the_same_epsilon_and_never_overspends() -> None:
    mechanism = AdaptiveSparseVector(epsilon=1, yeses=8, threshold=0, sensitivity=COUNTS)
    clear = mechanism.open()
    assert len(clear.ask_many([FAR] * 100)) == 15  # at half price each, until a whole one is not left
    assert clear.spent == 1 - mechanism.yes_price / 2
    assert clear.reserved == 0
    with pytest.raises(StreamHaltedError):
        clear.ask(FAR)
    mixed, near = mechanism.open(), int(mechanism.clear_by // 2)
    while mixed.status is SparseVectorStatus.OPEN:
        mixed.ask(near)
    assert 1 - mechanism.yes_price < mixed.spent <= 1


def test_a_lost_answer_costs_what_a_yes_costs_and_uses_one_up() -> None:
    stream = cohorts(yeses=2).open()
    stream.lose()
    assert (stream.asked, stream.yeses) == (1, 1)
    assert stream.spent == cohorts(yeses=2).threshold_epsilon + cohorts(yeses=2).yes_price
    stream.ask(FAR)
    assert stream.status is SparseVectorStatus.HALTED


@pytest.mark.parametrize(
    "mechanism",
    [AdaptiveSparseVector(epsilon=1, yeses=8, threshold=0, sensitivity=COUNTS), gaussian()],
    ids=["two comparisons", "gaussian"],
)
def test_noise_that_is_not_priced_for_it_cannot_lose_an_answer(mechanism) -> None:
    stream = mechanism.open()
    with pytest.raises(StreamError, match="derive the answer again"):
        stream.lose()
    assert (stream.asked, stream.status) == (0, SparseVectorStatus.OPEN)


def test_a_gaussian_stream_halts_after_its_questions_too_and_has_no_pure_price() -> None:
    stream = gaussian().open()
    assert (stream.spent, stream.reserved) == (None, None)
    answers = stream.ask_many([-FAR] * 10)
    assert len(answers) == 4
    with pytest.raises(StreamError, match="opened for 4 questions"):
        stream.ask(-FAR)
    one = gaussian().open()
    assert one.ask(FAR).gap is None
    one.ask(-FAR)
    one.ask(-FAR)
    assert one.ask(-FAR).question == 4
    assert one.status is SparseVectorStatus.HALTED


@pytest.mark.parametrize(
    "value",
    [0.5, 3.0, "3", None, [3], 3j, Sensitive(3.0), Sensitive("3")],
    ids=["half", "float", "text", "none", "list", "complex", "wrapped float", "wrapped text"],
)
def test_a_count_that_is_no_integer_is_refused_by_its_type_and_nothing_happens(value) -> None:
    stream = cohorts().open()
    with pytest.raises(ParameterError) as refusal:
        stream.ask(value)
    assert "3" not in str(refusal.value)
    with pytest.raises(ParameterError):
        stream.ask_many([1, value])
    assert (stream.asked, stream.spent) == (0, 0)
    assert stream.ask(FAR)


@pytest.mark.parametrize(
    "values", [np.array([0.5]), np.array(["3"]), np.array([[1, 2]]), 3, np.array([3j])], ids=["f", "s", "2d", "1", "c"]
)
def test_many_counts_that_are_no_list_of_integers_are_refused(values) -> None:
    stream = cohorts().open()
    with pytest.raises(ParameterError):
        stream.ask_many(values)
    assert stream.asked == 0


def test_every_number_is_answered_on_a_grid() -> None:
    """A refusal that depends on the number would tell about the table: NaN is 0, and what is too large saturates."""
    mechanism = SparseVector(epsilon=1, yeses=9, threshold=-1000, sensitivity=REALS, grid="1/4", reveals=YesReveals.GAP)
    numbers = [math.nan, math.inf, 1e300, 2**70, Fraction(2**70), np.float32(5.5), 7]
    one_by_one, at_once = mechanism.open(), mechanism.open()
    assert all(one_by_one.ask(number) for number in numbers)
    assert abs(float(mechanism.open().ask(math.nan).gap) - 1000) < 500
    assert len(at_once.ask_many(np.array([math.nan, math.inf, 1e300])).yeses) == 3
    assert not mechanism.open().ask(-math.inf)
    assert not any(mechanism.open().ask_many(np.array([-math.inf, -1e300])))


def test_values_and_thresholds_that_leave_64_bits_saturate() -> None:
    stream = cohorts().open()
    assert stream.ask(2**100)
    assert not stream.ask(-(2**100))
    assert [bool(a) for a in stream.ask_many(np.array([2**63 - 1, -(2**63)]))] == [True, False]
    assert not stream.ask_many(np.array([2**64 - 1], np.uint64), 2**80).yeses
    assert stream.ask_many(np.array([2**64 - 1], np.uint64)).yeses


def test_values_may_be_wrapped_and_thresholds_may_not() -> None:
    stream = cohorts(yeses=9).open()
    assert stream.ask(Sensitive(FAR))
    assert not stream.ask(Sensitive(np.int64(-FAR)))
    assert stream.ask_many([Sensitive(FAR), Sensitive(-FAR)]).positions == (0,)
    assert stream.ask_many(Sensitive(np.array([-FAR, FAR]))).positions == (1,)
    for ask in (
        lambda: stream.ask(5, Sensitive(3)),
        lambda: stream.ask_many([5], Sensitive(3)),
        lambda: stream.ask_many([5], [Sensitive(3)]),
    ):
        with pytest.raises(ParameterError, match="not released"):
            ask()


@pytest.mark.parametrize("threshold", ["many", math.nan, math.inf, None, True, [3]], ids=repr)
def test_a_threshold_that_is_no_number_is_refused(threshold) -> None:
    if threshold is not None:  # which means the stream's own
        with pytest.raises(ParameterError):
            cohorts().open().ask(5, threshold)
    with pytest.raises(ParameterError):
        cohorts(threshold=threshold)


def test_thresholds_are_rounded_up_to_the_lattice_and_told_with_the_answer() -> None:
    stream = cohorts(yeses=9).open()
    assert stream.ask(5, "10.2").threshold == 11
    assert stream.ask(5).threshold == 200
    assert [a.threshold for a in stream.ask_many([1, 2], ["0.5", 7])] == [1, 7]
    assert [a.threshold for a in stream.ask_many([1, 2], np.array([5, 6]))] == [5, 6]
    assert [a.threshold for a in stream.ask_many([1, 2], "0.5")] == [1, 1]
    assert SparseVector(epsilon=1, yeses=1, threshold="0.3", sensitivity=REALS, grid="1/4").threshold == Fraction(1, 2)
    with pytest.raises(ParameterError, match="thresholds = 1 is not the number of values, 2"):
        stream.ask_many([1, 2], [3])


def test_a_yes_tells_what_was_asked_for_and_a_no_nothing() -> None:
    for reveals, gap, number in (
        (YesReveals.NOTHING_MORE, False, False),
        (YesReveals.GAP, True, False),
        (YesReveals.NUMBER, True, True),
    ):
        stream = cohorts(reveals=reveals).open()
        no, yes = stream.ask(-FAR), stream.ask(FAR)
        assert (no.gap, no.number) == (None, None)
        assert (yes.gap is not None, yes.number is not None) == (gap, number)
        if gap:
            assert abs(yes.gap - (FAR - 200)) < 500
        if number:
            assert abs(yes.number - FAR) < 500


def test_two_threads_at_the_boundary_never_get_a_yes_too_many() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            stream, seen, start = cohorts(yeses=5).open(), [], threading.Barrier(6)

            def ask(stream=stream, seen=seen, start=start) -> None:
                start.wait()
                for _ in range(4):
                    try:
                        seen.append(bool(stream.ask(FAR)))
                    except StreamHaltedError:
                        seen.append(None)

            threads = [threading.Thread(target=ask) for _ in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert (seen.count(True), seen.count(False), seen.count(None)) == (5, 0, 19)
            assert (stream.asked, stream.spent) == (5, 1)
    finally:
        sys.setswitchinterval(interval)


def test_a_stream_answers_only_in_the_process_that_opened_it(monkeypatch) -> None:
    stream = cohorts().open()
    monkeypatch.setattr(stream_module.os, "getpid", lambda: -1)
    with pytest.raises(StreamError, match="process"):
        stream.ask(FAR)


def test_a_closed_stream_has_forgotten_its_noise() -> None:
    with cohorts().open() as stream:
        stream.ask(-FAR)
    assert stream.status is SparseVectorStatus.CLOSED
    assert stream._SparseVectorStream__noise is None
    stream.close()
    for ask in (lambda: stream.ask(1), lambda: stream.ask_many([1]), stream.lose, lambda: stream.suspend(bytes(32))):
        with pytest.raises(StreamError, match="closed"):
            ask()
    halted = cohorts(yeses=1).open()
    halted.ask(FAR)
    assert halted._SparseVectorStream__noise is None


@pytest.fixture
def secret_stream():
    """A stream whose noise is so large that its digits cannot turn up by chance."""
    moves = type(COUNTS).of_anything(sensitivity=10**9)
    stream = SparseVector(epsilon=1, yeses=2, threshold=0, sensitivity=moves).open(name="secret")
    while len(str(abs(stream._SparseVectorStream__noise.open_for_release()))) < 8:
        stream = SparseVector(epsilon=1, yeses=2, threshold=0, sensitivity=moves).open(name="secret")
    return stream, str(abs(stream._SparseVectorStream__noise.open_for_release()))


def test_the_secret_is_in_no_text_of_the_stream(secret_stream, caplog) -> None:
    stream, secret = secret_stream
    assert repr(stream) == "<stream 'secret', open: 0 yeses in 0 questions>"
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("test").warning("%s %r %s", stream, stream, [stream])
    assert secret not in caplog.text
    assert not hasattr(stream, "__dict__")
    assert secret not in " ".join(repr(getattr(stream, name, None)) for name in dir(stream))


def test_a_stream_is_neither_copied_nor_pickled(secret_stream) -> None:
    stream, secret = secret_stream
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(SecrecyError) as refusal:
            attempt(stream)
        assert secret not in str(refusal.value)


class Broken:
    """A source that fails when noise is wanted."""

    def take(self, count):
        raise RandomnessError(f"no {count} bytes")


@pytest.mark.parametrize("ask", ["ask", "ask_many"])
def test_a_failure_while_noise_is_drawn_shows_neither_the_value_nor_the_secret(secret_stream, ask) -> None:
    stream, secret = secret_stream
    value = Sensitive(987654321) if ask == "ask" else Sensitive(np.array([987654321, 987654321]))
    with pytest.raises(RandomnessError) as failure:
        getattr(stream, ask)(value, source=Broken())
    error, inside = failure.value, failure.value.__traceback__.tb_next  # this function knows the secret, of course
    told = "".join(traceback.TracebackException(type(error), error, inside, capture_locals=True).format())
    assert "Broken" in told
    assert "987654321" not in told
    assert secret not in told
    assert (stream.asked, stream.yeses) == (0, 0)


def test_an_answer_can_be_derived_again_from_the_same_source() -> None:
    mechanism = cohorts(reveals=YesReveals.NUMBER, yeses=50)
    key = bytes(range(32))
    sealed = mechanism.open().suspend(key)
    answers = [
        [mechanism.resume(sealed, key=key, sequence=1).ask(value, source=Seeded(seed)) for value in (-FAR, FAR)]
        for seed in (1, 1, 2)
    ]
    assert answers[0] == answers[1]
    assert answers[0] != answers[2]


HOSTILE = {
    "masked": np.ma.masked_array([FAR, FAR], mask=[True, False]),
    "unmasked": np.ma.masked_array([FAR, FAR]),
    "record": np.array([FAR, FAR]).view(np.recarray),
    "matrix": np.array([[FAR, FAR], [FAR, FAR]]),
    "column": np.array([[FAR], [FAR]]),
    "point": np.array(FAR),
}


@pytest.mark.parametrize("wrapped", [False, True], ids=["bare", "wrapped"])
@pytest.mark.parametrize("name", HOSTILE)
def test_arrays_that_are_no_plain_vector_are_refused_as_values_and_nothing_happens(name, wrapped) -> None:
    for grid, moves in ((1, COUNTS), ("1/4", REALS)):
        stream = cohorts(grid=grid, sensitivity=moves).open()
        value = Sensitive(HOSTILE[name]) if wrapped else HOSTILE[name]
        for ask in (lambda s=stream, v=value: s.ask_many(v), lambda s=stream, v=value: s.ask(v)):
            with pytest.raises(ParameterError) as refusal:
                ask()
            inside = refusal.value.__traceback__.tb_next.tb_next
            told = traceback.TracebackException(type(refusal.value), refusal.value, inside, capture_locals=True)
            assert not wrapped or str(FAR) not in "".join(told.format())
        assert (stream.asked, stream.spent, stream.status) == (0, 0, SparseVectorStatus.OPEN)


@pytest.mark.parametrize("name", HOSTILE)
def test_arrays_that_are_no_plain_vector_are_refused_as_thresholds_and_nothing_happens(name) -> None:
    for grid, moves in ((1, COUNTS), ("1/4", REALS)):
        stream = cohorts(grid=grid, sensitivity=moves).open()
        with pytest.raises(ParameterError, match="thresholds"):
            stream.ask_many(Sensitive(np.array([FAR, FAR])), HOSTILE[name])
        assert (stream.asked, stream.spent, stream.status) == (0, 0, SparseVectorStatus.OPEN)


FAILURES = [ZeroDivisionError, MemoryError, ParameterError]


def fail(kind):
    def failing(*_):
        exact = 987654321  # a failing frame may hold anything
        raise kind("x", exact, reason="", remedy="") if kind is ParameterError else kind(str(exact))

    return failing


@pytest.mark.parametrize("kind", FAILURES)
@pytest.mark.parametrize("ask", ["ask", "ask_many"])
def test_a_failure_with_an_open_value_is_charged_as_lost_and_tells_nothing(monkeypatch, kind, ask) -> None:
    mechanism = cohorts(yeses=2)
    stream, value = mechanism.open(), Sensitive(987654321) if ask == "ask" else Sensitive(np.array([987654321]))
    with monkeypatch.context() as patch:
        patch.setattr(rule_module.AnswerRule, "decide", fail(kind))
        patch.setattr(rule_module.AnswerRule, "decide_many", fail(kind))
        with pytest.raises(StreamError, match="charged as lost") as failure:
            getattr(stream, ask)(value)
    error = failure.value
    assert (error.__cause__, error.__context__) == (None, None)
    told = traceback.TracebackException(type(error), error, error.__traceback__.tb_next, capture_locals=True)
    assert "987654321" not in "".join(told.format())
    assert (stream.asked, stream.yeses, stream.status) == (1, 1, SparseVectorStatus.OPEN)
    assert stream.spent == mechanism.threshold_epsilon + mechanism.yes_price
    assert stream.ask(FAR)
    assert stream.status is SparseVectorStatus.HALTED


@pytest.mark.parametrize(
    ("mechanism", "spent"),
    [
        (cohorts(yeses=2), 1),
        (AdaptiveSparseVector(epsilon=1, yeses=8, threshold=0, sensitivity=COUNTS), 1),
        (gaussian(), None),
    ],
    ids=["more lost than yeses", "two comparisons", "gaussian"],
)
def test_a_failure_that_is_not_priced_closes_the_stream_at_its_full_price(monkeypatch, mechanism, spent) -> None:
    stream = mechanism.open()
    with monkeypatch.context() as patch:
        patch.setattr(rule_module.AnswerRule, "decide_many", fail(ZeroDivisionError))
        with pytest.raises(StreamError, match="charged as lost"):
            stream.ask_many([1, 2, 3])
    assert (stream.status, stream.spent) == (SparseVectorStatus.CLOSED, spent)
    assert not stream.reserved
    assert stream._SparseVectorStream__noise is None


def test_a_yes_that_was_counted_and_then_failed_is_charged_once(monkeypatch) -> None:
    stream = cohorts(yeses=1).open()
    with monkeypatch.context() as patch:
        patch.setattr(stream_module, "SparseVectorAnswer", fail(ZeroDivisionError))
        with pytest.raises(StreamError, match="charged as lost"):
            stream.ask(FAR)
    assert (stream.status, stream.yeses, stream.spent) == (SparseVectorStatus.HALTED, 1, 1)


def test_a_value_that_fails_to_open_is_charged_and_an_interrupt_stays_one(monkeypatch) -> None:
    for kind, seen in ((ZeroDivisionError, StreamError), (KeyboardInterrupt, KeyboardInterrupt)):
        one, many = cohorts().open(), cohorts().open()
        with monkeypatch.context() as patch:
            patch.setattr(rule_module.ValueLattice, "value", fail(kind))
            with pytest.raises(seen, match="charged as lost"):
                one.ask(5)
            with pytest.raises(seen, match="charged as lost"):
                many.ask_many([5])
        assert (one.yeses, many.status, many.spent) == (1, SparseVectorStatus.CLOSED, 1)


@pytest.mark.parametrize(
    "noise",
    [np.zeros((2, 2), np.int64), np.zeros(1, np.int64), np.zeros(2), np.ma.zeros(2, np.int64)],
    ids=["2d", "short", "floats", "masked"],
)
def test_noise_that_is_no_plain_vector_decides_nothing(monkeypatch, noise) -> None:
    stream = cohorts().open()
    monkeypatch.setattr(rule_module.AnswerRule, "draw_many", lambda *_: [noise])
    with pytest.raises(StreamError, match="charged as lost"):
        stream.ask_many([FAR, FAR])
    assert stream.yeses == 2


class Held:
    """A lock that was held at the moment of the fork: a child that waits for it waits for ever."""

    def __enter__(self):
        raise AssertionError("waits for ever")

    def __exit__(self, *_):
        pass


def test_a_forked_child_can_only_forget(monkeypatch) -> None:
    stream = cohorts().open()
    monkeypatch.setattr(stream_module.os, "getpid", lambda: -1)
    stream._lock = Held()
    for act in (
        lambda: stream.suspend(bytes(32)),
        lambda: stream.ask(FAR),
        lambda: stream.ask_many([FAR]),
        stream.lose,
    ):
        with pytest.raises(StreamError, match="process"):
            act()
    stream.close()
    assert stream._SparseVectorStream__noise is None
