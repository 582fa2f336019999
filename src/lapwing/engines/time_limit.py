"""How long a database may take for one statement, however it is told to stop."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Timer
from typing import Final

TIME_LIMIT: Final = 600
"""Seconds, where nothing else is said."""
LONGEST: Final = 86_400


@contextmanager
def stopped_after(seconds: float, stop: Callable[[], object]) -> Iterator[None]:
    """Call `stop` from another thread if the block takes longer. The statement then fails like any other."""

    def quietly() -> None:
        with suppress(Exception):  # what it would stop has ended just now
            stop()

    timer = Timer(seconds, quietly)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
