"""Work that charges: one at a time under each key, a few at a time for each person, answered at the ticks of a clock.

The idempotency key is the job. A request with a key that is being worked on waits for the same end. A job that may have
touched data is answered at a multiple of the tick after it was asked, whether it is an answer or a failure, so that
its duration reveals next to nothing.
"""

import asyncio
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple
from weakref import WeakValueDictionary

import msgspec
from anyio import CapacityLimiter, to_thread

from lapwing.doors.server.memory import conflict
from lapwing.doors.server.problems import AFTER_DATA, ProblemError, body_of, headers_of, status_of
from lapwing.doors.server.shared_places import SharedPlaces
from lapwing.session import Session
from lapwing.vocabulary.errors import LapwingError

_KEPT: Final = 2_000
_MOST_BYTES: Final = 64 * 1024 * 1024
STOPPED: Final = "it was stopped between two rounds; ask again under this key: it goes on, and is not charged again"
_GONE: Final = 410
_OK: Final = 200
_TO_THE_END: Final = 3.0
"""Seconds that a job which was stopped may take to end, and to be noted as ended."""


class JobName(NamedTuple):
    """The name of a job: population, person and idempotency key."""

    population: str
    person: str
    key: str


class JobState(StrEnum):
    """The state of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    ANSWERED = "answered"
    LOST = "lost"
    REFUSED = "refused"
    CANCELLED = "cancelled"


class Ending(NamedTuple):
    """The reply of a job: a status, a body, and headers."""

    status: int
    body: bytes
    headers: Mapping[str, str] = {}


@dataclass(slots=True, kw_only=True, eq=False)
class Job:
    """One request that may be charged, from the moment it came to its end."""

    name: JobName
    digest: str
    session: Session
    begun: float
    state: JobState = JobState.QUEUED
    tick: float = 0.0
    progress: "list[tuple[float, int, int]]" = field(default_factory=list)
    after_data: bool = False
    stopping: bool = False
    task: "asyncio.Task[Ending] | None" = None
    watcher: "asyncio.Task[None] | None" = None

    def advance(self, done: int, of: int) -> None:
        """Note how many parts of how many are done."""
        self.progress.append((time.perf_counter(), done, of))

    def step(self, done: int, of: int) -> None:
        """Note it, and stop there if the job is to be stopped: what is charged stays, and the key goes on with it."""
        self.advance(done, of)
        if self.stopping and done < of:
            raise ProblemError(409, "cancelled", STOPPED)

    def to_dict(self) -> dict[str, Any]:
        """Return how far it had come at the last tick, as JSON values: how long a part takes may depend on data."""
        passed = time.perf_counter() - self.begun
        tick = self.begun + (math.floor(passed / self.tick) * self.tick if self.tick else passed)
        shown = [{"done": done, "of": of} for at, done, of in self.progress if at <= tick]
        return {"key": self.name.key, "state": self.state.value, "progress": shown[-1] if shown else None}


Work = Callable[[Job], Any]
"""The work of a job, in a thread: it returns the reply, and notes when data may be touched (`after_data`)."""


@dataclass(slots=True, kw_only=True)
class Jobs:
    """All jobs of this process; finished ones are remembered for a while.

    Of one person `at_once` run at the same time: in this process, and with `places` on all hosts together.
    """

    tick: float
    at_once: int
    most_waiting: int
    on_failure: Callable[[Exception], None]
    most_bytes: int = _MOST_BYTES
    places: SharedPlaces | None = None
    _jobs: OrderedDict[JobName, Job] = field(default_factory=OrderedDict)
    _threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(4))
    _turns: "WeakValueDictionary[str, asyncio.Semaphore]" = field(default_factory=WeakValueDictionary)
    _streams: "WeakValueDictionary[str, asyncio.Lock]" = field(default_factory=WeakValueDictionary)
    _watchers: "set[asyncio.Task[None]]" = field(default_factory=set)
    ended: Counter[JobState] = field(default_factory=Counter)
    _open: int = 0
    _bytes: int = 0

    def find(self, name: JobName) -> Job | None:
        """Return a job of this process."""
        return self._jobs.get(name)

    def under_way(self) -> dict[JobState, int]:
        """Return how many jobs wait, and how many run."""
        running = sum(job.state is JobState.RUNNING for job in self._jobs.values())
        return {JobState.QUEUED: self._open - running, JobState.RUNNING: running}

    def start(
        self, name: JobName, digest: str, session: Session, work: Work, *, begun: float, stream: str | None = None
    ) -> Job:
        """Begin a job, or return the one that has this key: running, or answered already."""
        known = self._jobs.get(name)
        if known is not None and known.state in {JobState.QUEUED, JobState.RUNNING, JobState.ANSWERED}:
            if known.digest != digest:
                raise conflict()
            return known
        if self._open >= self.most_waiting:
            raise ProblemError(
                503, "busy", "too many questions are waiting; ask again soon", headers={"Retry-After": "2"}
            )
        if known is not None:
            self._remove(known)
        job = Job(name=name, digest=digest, session=session, begun=begun, tick=self.tick)
        self._jobs[name] = job
        self._forget()
        self._open += 1
        job.task = asyncio.create_task(self._run(job, work, stream))
        job.task.add_done_callback(lambda task: self._end(job, task))
        return job

    async def wait(self, job: Job, seconds: float) -> Ending | None:
        """Return how a job ended, or None if it takes longer than that."""
        if job.task is None:  # pragma: no cover - every job that can be found was started
            return None
        done, _ = await asyncio.wait({job.task}, timeout=seconds)
        return ending_of(job) if done else None

    def when_done(self, job: Job, act: "Callable[[Job, Ending], None]") -> None:
        """Do something with the end of a job, once, in a thread."""
        if job.watcher is None:
            job.watcher = asyncio.create_task(self._watch(job, act))
            self._watchers.add(job.watcher)
            job.watcher.add_done_callback(self._watchers.discard)

    async def _watch(self, job: Job, act: "Callable[[Job, Ending], None]") -> None:
        if job.task is not None:
            await asyncio.wait({job.task})
        ending = ending_of(job)
        if ending is not None:
            await to_thread.run_sync(act, job, ending)

    def cancel(self, job: Job) -> None:
        """Stop a job: before its charge nothing has happened, and after it the charge stays and the answer is lost."""
        if job.state is JobState.QUEUED and job.task is not None:
            job.task.cancel()
        elif job.state is JobState.RUNNING:
            job.stopping = True
            job.session.cancel()

    async def stop(self, patience: float) -> None:
        """Wait `patience` seconds for what is under way, when the server ends; then stop it, and let it be noted."""
        under_way = [job for job in self._jobs.values() if job.state in {JobState.QUEUED, JobState.RUNNING}]
        tasks: set[asyncio.Task[Any]] = {job.task for job in under_way if job.task is not None}
        if tasks:
            await asyncio.wait(tasks, timeout=patience)
        for job in under_way:
            self.cancel(job)
        tasks |= self._watchers
        if tasks:  # what they write must be written before its store is closed
            await asyncio.wait(tasks, timeout=_TO_THE_END)
        if self.places is not None:
            await self.places.stop()

    def _forget(self) -> None:
        """Forget what ended longest ago, of too many or too long endings: the ledger and the memory have them."""
        for _ in range(len(self._jobs)):
            if len(self._jobs) <= _KEPT and self._bytes <= self.most_bytes:
                return
            oldest = next(iter(self._jobs.values()))
            if oldest.state in {JobState.QUEUED, JobState.RUNNING}:
                self._jobs.move_to_end(oldest.name)
            else:
                self._remove(oldest)

    def _remove(self, job: Job) -> None:
        del self._jobs[job.name]
        self._bytes -= _length_of(job)

    def _end(self, job: Job, task: "asyncio.Task[Ending]") -> None:
        self._open -= 1
        job.state = JobState.CANCELLED if task.cancelled() else state_after(task.result().status)
        self.ended[job.state] += 1
        self._bytes += _length_of(job)
        self._forget()

    async def _run(self, job: Job, work: Work, stream: str | None) -> Ending:
        try:
            return await self._run_in_turn(job, work, stream)
        except LapwingError as failure:  # whether others run cannot be asked: nothing was asked or charged
            return _refused(failure)

    async def _run_in_turn(self, job: Job, work: Work, stream: str | None) -> Ending:
        async with AsyncExitStack() as turns:
            person = self._turns.setdefault(job.name.person, asyncio.Semaphore(self.at_once))
            await turns.enter_async_context(person)
            if self.places is not None:
                await turns.enter_async_context(self.places.of(job.name.person))
            if stream is not None:  # two asks of one stream would do the same work
                await turns.enter_async_context(self._streams.setdefault(stream, asyncio.Lock()))
            await turns.enter_async_context(self._threads)
            job.state = JobState.RUNNING
            ending = await to_thread.run_sync(lambda: self._ending(job, work))
        if job.after_data:  # the next one need not wait for this
            await at_a_tick(job.begun, self.tick)
        return ending

    def _ending(self, job: Job, work: Work) -> Ending:
        try:
            told = work(job)
            return Ending(_OK, told if isinstance(told, bytes) else msgspec.json.encode(told))
        except LapwingError as failure:
            return _refused(failure)
        except ProblemError as problem:
            return Ending(problem.status, msgspec.json.encode(problem.body()), problem.headers)
        except Exception as failure:  # noqa: BLE001 - it may depend on data: one body for all of it
            job.after_data = True
            self.on_failure(failure)
            status, code, message = AFTER_DATA
            return Ending(status, msgspec.json.encode({"error": {"code": code, "message": message}}))


def _refused(failure: LapwingError) -> Ending:
    return Ending(status_of(failure), msgspec.json.encode(body_of(failure)), headers_of(failure))


def state_after(status: int) -> JobState:
    """Return the state of a job that ended with a status."""
    lost = status in {_GONE, AFTER_DATA[0]}
    return JobState.ANSWERED if status == _OK else JobState.LOST if lost else JobState.REFUSED


def ending_of(job: Job) -> Ending | None:
    """Return how a job ended, if it did."""
    if job.task is None or not job.task.done():
        return None
    if job.task.cancelled():
        problem = ProblemError(409, "cancelled", "it was cancelled before it was charged; ask again if it is wanted")
        return Ending(problem.status, msgspec.json.encode(problem.body()))
    return job.task.result()


def _length_of(job: Job) -> int:
    ending = ending_of(job)
    return 0 if ending is None else len(ending.body)


async def at_a_tick(begun: float, tick: float) -> None:
    """Wait until a whole number of ticks has passed since `begun`."""
    due = begun + math.ceil((time.perf_counter() - begun) / tick) * tick
    await asyncio.sleep(max(0.0, due - time.perf_counter()))
