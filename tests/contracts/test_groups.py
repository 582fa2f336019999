"""Changes that wait for the writer together: one commit for all, and each with its own end, in every database."""

import math
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from psycopg.errors import DiskFull

from lapwing.ledger.ledger import Ledger
from lapwing.ledger.questions import Charged
from lapwing.ledger.queue import MOST
from lapwing.ledger.replay import verify
from lapwing.ledger.reservation_states import ReservationRecord, RoundOutcome
from lapwing.vocabulary.errors import (
    BudgetExceededError,
    LedgerInDoubtError,
    LedgerUnwritableError,
    ParameterError,
    UnansweredError,
)
from ledger.clinic import SEED, Place, ask, decide_one, intend_one, opening, request, reserved, spent

RIVALS = "postgres beside rivals"
"""Other processes write to the same chain, or did so just now: groups wait for the lock."""
KNOWN = "postgres as it is known"
"""Nobody else is expected to have written: what is appended is made without a look."""


@pytest.fixture(params=["sqlite", "postgres", RIVALS, KNOWN])
def place(request) -> Place:
    return Place.chosen(request.param.split()[0], request)


@pytest.fixture
def ledger(place, request) -> Iterator[Ledger]:
    with place.clinic() as ledger:
        if RIVALS in request.node.name:
            ledger.store._rivals.won()
        if KNOWN in request.node.name:
            ledger.store._is_known_until = math.inf
        yield ledger


def together(ledger: Ledger, *acts: Callable[[], Any]) -> list[Any]:
    """Run acts in threads of their own, which come in this order while the writer is busy; return how each ended."""
    ends: list[Any] = [None] * len(acts)

    def run(number: int) -> None:
        try:
            ends[number] = acts[number]()
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            ends[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(acts))]
    queue = ledger.store._queue
    with ledger.store._writer.lock:
        for number, thread in enumerate(threads):
            thread.start()
            while not (queue._is_led and len(queue._waiting) == number):
                pass
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return ends


def charges(ledger: Ledger, number: int, **changed) -> list[Callable[[], Any]]:
    return [lambda key=f"k{i}": ledger.questions.charge(request(key, **changed)) for i in range(number)]


@contextmanager
def counted(monkeypatch, database, what: str) -> Iterator[list[Any]]:
    """Note how often a method of a database is called."""
    calls: list[Any] = []
    method = getattr(type(database), what)
    with monkeypatch.context() as patched:
        patched.setattr(type(database), what, lambda *given, **named: calls.append(given) or method(*given, **named))
        yield calls


class TestTogether:
    def test_those_who_wait_are_one_transaction_in_the_order_of_their_coming(self, ledger, monkeypatch) -> None:
        with counted(monkeypatch, ledger.store.database, "append") as appends:
            ends = together(ledger, *charges(ledger, 8))
        assert [one.seq for one in ends] == list(range(4, 12))
        assert len(appends) == 1
        assert spent(ledger) == Fraction(8, 10)
        verify(ledger)

    def test_a_group_has_an_end(self, place, monkeypatch) -> None:
        with place.clinic(epsilon=100) as ledger, counted(monkeypatch, ledger.store.database, "append") as appends:
            ends = together(ledger, *charges(ledger, MOST + 6))
            assert sorted(one.seq for one in ends) == list(range(4, MOST + 10))
            assert len(appends) == 2

    def test_each_receipt_is_of_its_own_entry(self, ledger) -> None:
        for charged in together(ledger, *charges(ledger, 5)):
            assert charged.receipt.seq == charged.seq
            ledger.require(charged.receipt)

    @pytest.mark.catalogue("L1")
    def test_the_cap_is_exact_and_who_comes_too_late_is_refused_alone(self, ledger) -> None:
        ends = together(ledger, *charges(ledger, 15))
        assert all(isinstance(end, Charged) for end in ends[:10])
        assert all(isinstance(end, BudgetExceededError) for end in ends[10:])
        assert spent(ledger) == 1
        verify(ledger)
        with pytest.raises(BudgetExceededError) as alone:
            ledger.questions.charge(request("too late"))
        assert {str(end) for end in ends[10:]} == {str(alone.value)}

    def test_a_large_one_in_the_middle_is_refused_and_smaller_ones_behind_it_are_not(self, ledger) -> None:
        small = charges(ledger, 9)
        ends = together(ledger, *small[:5], lambda: ledger.questions.charge(request("large", epsilon=1)), *small[5:])
        assert isinstance(ends.pop(5), BudgetExceededError)
        assert all(isinstance(end, Charged) for end in ends)
        assert spent(ledger) == Fraction(9, 10)

    def test_charges_and_answers_go_through_together(self, ledger, monkeypatch) -> None:
        first = [act() for act in charges(ledger, 4)]
        answers = [lambda seq=one.seq: ledger.questions.answer(seq, f"answer {seq}") for one in first]
        more = [lambda i=i: ledger.questions.charge(request(f"more {i}")) for i in range(4)]
        with counted(monkeypatch, ledger.store.database, "append") as appends:
            ends = together(ledger, *(act for pair in zip(answers, more, strict=True) for act in pair))
        assert [end.answer for end in ends[::2]] == [f"answer {one.seq}" for one in first]
        assert len(appends) == 1
        verify(ledger)

    def test_an_answer_in_the_group_serves_whoever_asks_the_same_behind_it(self, ledger) -> None:
        charged = ledger.questions.charge(request("k", question="the same"))
        ends = together(
            ledger,
            lambda: ledger.questions.answer(charged.seq, "17"),
            lambda: ledger.questions.charge(request("other key", question="the same")),
        )
        assert [end.answer for end in ends] == ["17", "17"]
        assert spent(ledger) == Fraction(1, 10)

    def test_one_key_twice_in_a_group_is_charged_once(self, ledger) -> None:
        twice = [lambda: ledger.questions.charge(request("the same"))] * 2
        one, other = together(ledger, *twice)
        assert isinstance(one, Charged)
        assert isinstance(other, UnansweredError)
        assert spent(ledger) == Fraction(1, 10)

    def test_one_answer_of_two_stands(self, ledger) -> None:
        charged = ledger.questions.charge(request())
        ends = together(ledger, *(lambda a=a: ledger.questions.answer(charged.seq, a) for a in ("1", "2")))
        assert [end.answer for end in ends] == ["1", "1"]
        verify(ledger)

    def test_streams_and_charges_go_through_together(self, ledger) -> None:
        ends = together(ledger, *charges(ledger, 2), lambda: ledger.reservations.open(opening()), *charges(ledger, 2))
        assert isinstance(ends[2], ReservationRecord)
        assert (spent(ledger), reserved(ledger)) == (Fraction(3, 10), Fraction(3, 10))
        verify(ledger)


class TestFailures:
    def test_one_that_fails_after_it_wrote_is_undone_alone(self, ledger) -> None:
        """The new state of a stream is found to be too short after its outcome was appended."""
        ledger.reservations.open(opening())
        intend_one(ledger, "s", number=1, key="q1", question="q1", sealed=SEED)
        wrong = {"number": 1, "outcome": RoundOutcome.YES, "answer": "yes", "sealed": b"short"}
        ends = together(ledger, *charges(ledger, 2), lambda: decide_one(ledger, "s", **wrong), *charges(ledger, 2))
        assert isinstance(ends[2], ParameterError)
        assert ledger.reservations.find("s").in_flight is not None
        assert spent(ledger) == Fraction(3, 10)
        verify(ledger)

    def test_one_that_breaks_leaves_the_others_whole(self, ledger) -> None:
        def broken(_) -> None:
            raise ZeroDivisionError

        ends = together(ledger, *charges(ledger, 2), lambda: ledger.store.change("charge", broken))
        assert [type(end) for end in ends] == [Charged, Charged, ZeroDivisionError]
        assert spent(ledger) == Fraction(2, 10)

    @pytest.mark.catalogue("L15")
    @pytest.mark.parametrize("landed", [True, False], ids=["it landed", "it did not"])
    def test_a_commit_in_doubt_is_in_doubt_for_all_and_each_key_finds_out(self, ledger, monkeypatch, landed) -> None:
        commit, append = ledger.store._writer.commit, type(ledger.store.database).append

        def fail(act: Callable[..., Any], *given: Any, **named: Any) -> None:
            if landed:
                act(*given, **named)
            raise OSError("the line is dead")

        with monkeypatch.context() as broken:
            broken.setattr(ledger.store._writer, "commit", lambda: fail(commit))
            if ledger.store.database.appends_atomically:
                broken.setattr(
                    type(ledger.store.database), "append", lambda *given, **named: fail(append, *given, **named)
                )
            ends = together(ledger, *charges(ledger, 12))
        assert all(isinstance(end, LedgerInDoubtError) for end in ends), "the refused ones, too"
        assert len(set(map(id, ends))) == len(ends)
        for number in range(10):
            if landed:
                with pytest.raises(UnansweredError):
                    ledger.questions.charge(request(f"k{number}"))
            else:
                ask(ledger, f"k{number}")
        assert spent(ledger) == 1
        verify(ledger)

    @pytest.mark.catalogue("L4")
    def test_a_full_disk_charges_nobody(self, ledger, monkeypatch) -> None:
        in_a_server, reason = ledger.store.database.appends_atomically, "no space left on device"

        def full(*_, **__) -> None:
            raise DiskFull(reason) if in_a_server else OSError(reason)

        with monkeypatch.context() as broken:
            broken.setattr(type(ledger.store.database), "append", full)
            ends = together(ledger, *charges(ledger, 4))
        assert all(isinstance(end, LedgerUnwritableError) for end in ends)
        assert spent(ledger) == 0
        ask(ledger, "k0")

    def test_whoever_leads_and_is_interrupted_leaves_the_others_in_doubt_and_the_queue_free(self, ledger) -> None:
        def interrupted(_) -> None:
            raise KeyboardInterrupt

        ends = together(ledger, lambda: ledger.store.change("charge", interrupted), *charges(ledger, 3))
        assert [type(end) for end in ends] == [KeyboardInterrupt, *[LedgerInDoubtError] * 3]
        for number in range(3):
            ask(ledger, f"k{number}")
        assert spent(ledger) == Fraction(3, 10)

    def test_whoever_is_interrupted_while_it_waits_is_not_waited_for(self, ledger, monkeypatch) -> None:
        queue = ledger.store._queue
        wait = queue.wait

        def interrupted(one) -> None:
            if one.act == "lose":
                queue._waiting.append(one)
                raise KeyboardInterrupt
            wait(one)

        charged = ledger.questions.charge(request())
        with monkeypatch.context() as patched:
            patched.setattr(queue, "wait", interrupted)
            with pytest.raises(KeyboardInterrupt):
                ledger.questions.lose(charged.seq)
        assert not queue._waiting
        ledger.questions.answer(charged.seq, "1")


class TestTheHead:
    @pytest.fixture
    def place(self, quick_path) -> Place:
        return Place.in_file(quick_path / "ledger.db", patience=0.1)

    def test_it_is_synced_once_for_all(self, ledger, monkeypatch) -> None:
        with counted(monkeypatch, ledger.store.database.head, "advance") as synced:
            together(ledger, *charges(ledger, 8))
        assert len(synced) == 1
        assert ledger.store.database.head.promised().seq == 11

    @pytest.mark.catalogue("L10")
    def test_nobody_is_answered_where_it_cannot_be_written(self, ledger, monkeypatch) -> None:
        def full(*_) -> None:
            raise OSError("no space left on device")

        with monkeypatch.context() as broken:
            broken.setattr(type(ledger.store.database.head), "advance", full)
            ends = together(ledger, *charges(ledger, 4))
        assert all(isinstance(end, LedgerInDoubtError) for end in ends)
        assert spent(ledger) == Fraction(4, 10)

    @pytest.mark.catalogue("L12")
    def test_a_lock_that_is_held_too_long_is_waited_for_once(self, ledger, quick_path: Path) -> None:
        other = sqlite3.connect(quick_path / "ledger.db", isolation_level=None)
        other.execute("begin immediate")
        ends = together(ledger, *charges(ledger, 4))
        other.close()
        assert all(isinstance(end, LedgerUnwritableError) for end in ends)
        assert spent(ledger) == 0
