"""A question that takes too long for whoever asked is stopped in the database: charged, and lost like any failure."""

import _thread
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

from lapwing import count
from lapwing.engines.emitter import Statement
from lapwing.ledger.replay import verify
from lapwing.vocabulary.errors import EngineError, UnansweredError
from session.clinic import door, spent
from session.real_tables import Tables

PRICE = Fraction(1, 10)
SLOW = Statement(text="select count(*) from range(10000000) a, range(100000) b where a.range < b.range", parameters=())


@pytest.fixture
def slow(ledger, monkeypatch):
    """A door whose database does not come to an end with anything."""
    tables = Tables()
    tables.engine({})
    clinic = door(ledger, tables)
    with monkeypatch.context() as patched:
        for emitter in ("emit", "emit_facts", "emit_counts"):
            patched.setattr(f"lapwing.engines.engine.{emitter}", lambda *_: SLOW)
        yield clinic
    assert not clinic.ask(count("patients", "age > 3"), epsilon=PRICE).free, "the database has time for others"
    verify(ledger)


def wait_until(true) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_question_is_cancelled_from_another_thread_charged_and_lost(ledger, slow) -> None:
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(slow.ask, count("patients"), epsilon=PRICE, key="k")
        wait_until(lambda: slow._running._scopes)
        assert spent(ledger) == PRICE, "it was charged before it was read"
        slow.cancel()
        with pytest.raises(EngineError) as failed:
            asked.result(30)
    assert str(failed.value) == str(EngineError())
    assert (spent(ledger), ledger.questions.unsettled()) == (PRICE, [])
    with pytest.raises(UnansweredError, match="lost after it was charged"):
        slow.ask(count("patients"), epsilon=PRICE, key="k")


def test_a_question_of_a_stream_is_cancelled_and_costs_what_a_yes_costs(slow) -> None:
    stream = slow.stream(at_least=100, yeses=3, epsilon=1)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(stream.ask, "age > 7", key="k")
        wait_until(lambda: slow._running._scopes)
        slow.cancel()
        with pytest.raises(EngineError):
            asked.result(30)
    assert (stream.record.used, stream.record.in_flight) == (1, None)


def test_an_interrupt_stops_what_the_database_is_doing(ledger, slow) -> None:
    def interrupt() -> None:
        wait_until(lambda: any(scope._running for scope in tuple(slow._running._scopes)))
        _thread.interrupt_main()

    waiting = threading.Thread(target=interrupt)
    waiting.start()
    with pytest.raises((KeyboardInterrupt, EngineError)):  # DuckDB hears the signal first, and makes it a failure
        slow.ask(count("patients"), epsilon=PRICE)
    waiting.join()
    assert (spent(ledger), ledger.questions.unsettled()) == (PRICE, [])


def test_nothing_to_cancel_is_no_failure_and_concerns_nothing_later(ledger) -> None:
    clinic = door(ledger, Tables())
    clinic.cancel()
    assert clinic.ask(count("patients"), epsilon=PRICE).value
    assert not clinic._running._scopes
