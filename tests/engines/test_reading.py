"""A statement is stopped while it runs, and neither before nor after; each engine's own tests cancel real ones."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from lapwing.engines.reading import CancelledError, CancelScope, stoppable


def test_a_statement_is_stopped_until_it_ends_and_never_after() -> None:
    told, begun, scope = [], threading.Event(), CancelScope()

    def ask() -> None:
        with scope, stoppable(lambda: told.append(time.monotonic())):
            begun.set()
            time.sleep(0.3)

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask)
        begun.wait()
        scope.cancel()
        with pytest.raises(CancelledError):
            asked.result()
        ended = time.monotonic()
    time.sleep(0.3)
    assert len(told) >= 2
    assert max(told) <= ended


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_of_the_thread_that_waits_stops_the_statement(interrupt) -> None:
    told = []
    with pytest.raises(interrupt), stoppable(lambda: told.append("stop")):
        raise interrupt
    assert told == ["stop"]


def test_a_statement_that_has_ended_is_not_stopped_whoever_was_about_to() -> None:
    told = []
    with CancelScope() as scope:
        with stoppable(lambda: told.append("stop")):
            running = scope._running
        running.stop()
    assert told == []
