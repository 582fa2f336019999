"""How a question reads: stopped where it must be, and failing in one way only.

A question is cancelled by its `CancelScope`, from any thread. What runs in the scope is stopped in the database, what
has not begun does not begin, and no other question notices. It fails like any other failure; its charge stays.

The reason of a failure may depend on the data, so it is for the custodian's log only (`hide_failures`).
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, Token
from heapq import heapify, heappop, heappush
from itertools import count
from threading import Condition, Event, Lock, Thread
from time import monotonic
from typing import Final, Self, TypeVar

from lapwing.vocabulary.errors import EngineError

T = TypeVar("T")

TIME_LIMIT: Final = 600
"""The default time limit, in seconds."""
LONGEST: Final = 86_400
_AGAIN: Final = 0.1
"""Seconds between two attempts to stop a statement: a database ignores one that comes before the statement begins."""
_MOST_ENDED: Final = 1000
"""So many statements are watched before those that have ended are sorted out."""


def hide_failures(work: Callable[[], T], on_failure: Callable[[Exception], None]) -> T:
    """Return what `work` returns; if it fails, `on_failure` gets the reason, and the caller one constant error.

    All code that reads data runs in here. An interrupt (Ctrl-C, a signal handler that ends the process) comes out as a
    new one of its kind. Neither it nor the constant error has a cause, a context, or a traceback to frames that held a
    value.
    """
    try:
        return _reported(work, on_failure)
    except BaseException as failure:  # noqa: BLE001 - any failure may depend on the data
        kind = failure.__class__  # no call in this block: calls are where the interpreter lets a second interrupt in
    # Outside the except block, so that the reason is not the error's context, not a local here, and in no traceback.
    raise _constant(kind)


def _reported(work: Callable[[], T], on_failure: Callable[[Exception], None]) -> T:
    """Run `work` and report its failure. An error in here, which may carry the reason, is dropped one frame up."""
    try:
        return work()
    except EngineError:  # whose reason was reported already, where it happened
        raise
    except Exception as failure:  # noqa: BLE001 - as above
        with suppress(Exception):
            on_failure(failure)
    raise EngineError


_INTERRUPTS = (KeyboardInterrupt, SystemExit, GeneratorExit)


def _constant(kind: type[BaseException]) -> BaseException:
    """Return the constant error for a failure of this kind: a new interrupt, or the one failure."""
    match [one for one in _INTERRUPTS if issubclass(kind, one)]:
        case [interrupt]:
            return SystemExit(1) if interrupt is SystemExit else interrupt()
        case _:
            return EngineError()


_scope: ContextVar["CancelScope | None"] = ContextVar("scope", default=None)


class CancelledError(Exception):
    """The question was cancelled. Only the custodian hears of it."""


class CancelScope:
    """Scope of one cancellable question: every read by the entering thread belongs to it.

    A cancelled scope stays cancelled. `cancel` returns at once, and may be called from any thread, a signal handler
    included, before the scope is entered, in it and after it.

    >>> with CancelScope() as scope:
    ...     scope.cancel()
    ...     with stoppable(stop=lambda: None):
    ...         print("the statement runs")
    Traceback (most recent call last):
    lapwing.engines.reading.CancelledError: this question was cancelled
    """

    def __init__(self) -> None:
        self.cancelled = False
        self._running: _Statement | None = None
        self._before: Token[CancelScope | None] | None = None

    def cancel(self) -> None:
        """Stop the statement that runs in the scope, and let none begin there any more."""
        self.cancelled = True  # set before `_running` is read; `run` uses the reverse order, so one sees the other
        running = self._running
        if running is not None:
            # In a new thread: it may take a while, and the caller may be the thread that waits for the statement.
            Thread(target=running.stop_until_it_ends, daemon=True).start()

    def __enter__(self) -> Self:
        self._before = _scope.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            _scope.reset(self._before)

    def run(self, statement: "_Statement | None") -> None:
        """Record the statement that runs in the scope, None after the last one; refuse if the scope is cancelled."""
        self._running = statement
        if self.cancelled:
            raise CancelledError("this question was cancelled")


class CancelGroup:
    """The questions of one session that are being read, to be cancelled together."""

    def __init__(self) -> None:
        self._scopes: set[CancelScope] = set()

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Let the block be cancelled with the group."""
        with CancelScope() as scope:
            self._scopes.add(scope)
            try:
                yield
            finally:
                self._scopes.discard(scope)

    def cancel(self) -> None:
        """Stop the questions that are being read now; later ones are not concerned."""
        for scope in tuple(self._scopes):
            scope.cancel()


class _Statement:
    """A statement that runs, and how it is stopped; once it has ended its connection may be another question's."""

    def __init__(self, stop: Callable[[], object]) -> None:
        self._stop, self._lock, self._ended = stop, Lock(), Event()

    def stop(self) -> None:
        with self._lock, suppress(Exception):  # the statement may have ended just now
            if not self._ended.is_set():
                self._stop()

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    def stop_until_it_ends(self) -> None:
        while not self._ended.is_set():
            self.stop()
            self._ended.wait(_AGAIN)

    def end(self) -> None:
        with self._lock:  # no other thread is stopping it just now
            self._ended.set()
            self._stop = _nothing  # which may hold a connection, and is watched until its time is over


def _nothing() -> None: ...


@contextmanager
def stoppable(stop: Callable[[], object], *, seconds: float | None = None) -> Iterator[None]:
    """Let the block be stopped: after `seconds`, by the scope it runs in, or by an interrupt of this thread.

    `stop` makes the database give up the statement of the block, from another thread; the statement then fails. It is
    called during the block only. A block that ends although its question was cancelled fails as well.
    """
    statement, scope = _Statement(stop), _scope.get() or CancelScope()
    if seconds is not None:
        _watchdog().watch(statement, seconds)
    try:
        scope.run(statement)
        yield
    except (KeyboardInterrupt, SystemExit):  # which end our waiting, and not always the statement
        statement.stop()
        raise
    finally:
        statement.end()
    scope.run(None)


class _Watchdog:
    """One thread that stops every statement of this process whose time is over, at the latest a moment after it.

    It sleeps until the first of them is due, and is woken only for one that is due earlier: what ends in time costs it
    nothing. What has ended is forgotten when its time comes.
    """

    def __init__(self) -> None:
        self._due: list[tuple[float, int, _Statement]] = []
        self._number, self._changed = count(), Condition()
        self._thread: Thread | None = None
        self.process = os.getpid()

    def watch(self, statement: _Statement, seconds: float) -> None:
        """Stop a statement after these `seconds`, unless it has ended."""
        with self._changed:
            if len(self._due) > _MOST_ENDED:
                self._due = [one for one in self._due if not one[2].has_ended]
                heapify(self._due)
            heappush(self._due, (monotonic() + seconds, next(self._number), statement))
            if self._due[0][2] is statement:
                self._changed.notify()
            if self._thread is None:
                self._thread = Thread(target=self._run, daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            statement = self._next()
            if not statement.has_ended:  # by a thread of its own: a database may take a while to stop one
                Thread(target=statement.stop, daemon=True).start()

    def _next(self) -> _Statement:
        """Wait until the time of a statement is over, and return it."""
        with self._changed:
            while not self._due or self._due[0][0] > monotonic():
                self._changed.wait(self._due[0][0] - monotonic() if self._due else None)
            return heappop(self._due)[2]


_watching = _Watchdog()


def _watchdog() -> _Watchdog:
    """Return the one of this process; a thread does not survive a fork."""
    global _watching  # noqa: PLW0603 - one a process
    if _watching.process != os.getpid():
        _watching = _Watchdog()
    return _watching
