"""A statement is stopped while it runs, and neither before nor after; each engine's own tests cancel real ones."""

import os
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
            end = time.monotonic() + 60
            while len(told) < 2 and time.monotonic() < end:
                time.sleep(0.01)

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


def test_what_takes_too_long_is_stopped_and_what_ends_in_time_is_not() -> None:
    """By one thread for all of them, whichever is due first, and whatever began before it with a longer time."""
    stopped = {name: threading.Event() for name in ("later", "now", "soon", "ended")}
    with stoppable(stopped["ended"].set, seconds=0.05):
        pass
    before = threading.active_count()
    with (
        stoppable(stopped["later"].set, seconds=60),
        stoppable(stopped["soon"].set, seconds=0.4),
        stoppable(stopped["now"].set, seconds=0.1),
    ):
        assert threading.active_count() == before
        assert stopped["now"].wait(20)
        assert stopped["soon"].wait(20)
    assert not stopped["later"].is_set()
    assert not stopped["ended"].is_set()


def test_a_process_that_was_forked_off_has_a_watch_of_its_own() -> None:
    with stoppable(lambda: None, seconds=60):
        child = os.fork()
        if not child:
            stopped = threading.Event()
            with stoppable(stopped.set, seconds=0.05):
                os._exit(0 if stopped.wait(20) else 1)
    assert os.waitpid(child, 0)[1] == 0


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
