"""A deadline on work that is free of charge: parsing, planning, pricing, previewing.

Threads cannot be ended from outside, so the work checks the clock itself: every loop over the parts of a question, or
over prices to try, calls `spend`. The clock is the CPU time of this thread, so that no question is refused because
others are busy. A deadline within another never extends the outer one.

From the charge on there is none (`no_deadline`): a question that is paid for is finished.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from lapwing.vocabulary.errors import BadQuestionError

MOST_SECONDS: Final = 10
"""Seconds of the processor for one question, from its text to its price: many times what the largest should take."""
SECONDS_EACH: Final = 0.05
"""The same for each of several that are asked together."""
_BETWEEN_LOOKS: Final = 50
"""Steps between two looks at the clock, which takes as long as a few of them."""


class Deadline:
    """The CPU time that one thread has left, checked every few steps. Once passed, it refuses every later step too.

    Some callers try another way where a part of a question is refused: the refusal is then raised again, until it
    reaches the caller that set the deadline.
    """

    __slots__ = ("_left", "_until", "passed", "seconds")

    def __init__(self, seconds: float, until: float) -> None:
        self.seconds, self.passed = seconds, False
        self._until, self._left = until, _BETWEEN_LOOKS

    def spend(self, steps: int) -> None:
        """Count steps, and look at the clock now and then."""
        self._left -= steps
        if self._left <= 0:
            self._left = _BETWEEN_LOOKS
            self.passed = self.passed or time.thread_time() > self._until
        if self.passed:
            self.check()

    def check(self) -> None:
        """Refuse the question if the deadline has passed."""
        if self.passed:
            raise BadQuestionError(
                f"this takes more than {self.seconds:g} seconds of work to price, and nothing was charged; ask less at "
                "once: fewer conditions, joins, groups or statistics"
            )

    def before(self, until: float) -> bool:
        """Return whether this deadline is no later than `until`."""
        return self._until <= until


_DEADLINE: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def deadline(seconds: float = MOST_SECONDS) -> Iterator[None]:
    """Refuse what is done inside once it has taken so many seconds of this thread.

    >>> with deadline(0.01):
    ...     while True:
    ...         spend()
    Traceback (most recent call last):
    ...
    lapwing.errors.BadQuestionError: this takes more than 0.01 seconds of work to price, and nothing was charged; ...
    """
    around, until = _DEADLINE.get(), time.thread_time() + seconds
    running = Deadline(seconds, until) if around is None or not around.before(until) else around
    token = _DEADLINE.set(running)
    try:
        yield
        running.check()
    finally:
        _DEADLINE.reset(token)


@contextmanager
def no_deadline() -> Iterator[None]:
    """Suspend any outer deadline for the work inside: it was charged, or is about to be."""
    token = _DEADLINE.set(None)
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def seconds_for(questions: int) -> float:
    """Return the seconds that there are for questions that are asked together."""
    return MOST_SECONDS + SECONDS_EACH * max(questions - 1, 0)


def spend(steps: int = 1) -> None:
    """Count steps of work; refuse them, and with them the question, once its deadline has passed."""
    running = _DEADLINE.get()
    if running is not None:
        running.spend(steps)
