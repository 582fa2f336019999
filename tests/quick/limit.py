"""A plugin of pytest: tests are run in the order in which their files were named, until the time is over.

It is loaded by every worker (`-p quick.limit`). The one who gives out the work counts what was there and what was run.
"""

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

UNTIL = "LAPWING_QUICK_UNTIL"
"""The variable with the moment, of the monotonic clock, after which no test begins and none goes on."""
DEAR = ("spark",)
"""Words in what a test needs that make it wait for long, before its first line: such tests come last in their file."""
there: dict[str, None] = {}
"""The tests of the files that were named."""
ran: Counter[str] = Counter()
"""The tests that came to an end."""
NO_TIME = "no time left"


def _left() -> float:
    return float(os.environ[UNTIL]) - time.monotonic()


def _stop(_number: int, _frame: FrameType | None) -> None:
    pytest.skip(NO_TIME)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    named = [Path(config.invocation_params.dir, name) for name in config.args]
    place = {path: i for i, path in enumerate(named)}
    items.sort(key=lambda item: (place.get(item.path, len(place)), _is_dear(item)))


def _is_dear(item: pytest.Item) -> bool:
    return any(word in name.lower() for name in (*getattr(item, "fixturenames", ()), item.name) for word in DEAR)


def pytest_collection_finish(session: pytest.Session) -> None:
    there.update(dict.fromkeys(item.nodeid for item in session.items))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(ids: list[str]) -> None:
    there.update(dict.fromkeys(ids))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol() -> bool | None:
    """Let no test begin when the time is over."""
    return True if _left() <= 0 else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[None]:
    yield from _in_time()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    yield from _in_time()


def _in_time() -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, max(_left(), 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    out_of_time = report.skipped and NO_TIME in str(report.longrepr)
    if report.failed or (report.when == "call" and not out_of_time):
        ran[report.nodeid] += 1
