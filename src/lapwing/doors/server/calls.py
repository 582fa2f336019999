"""One call of an operation: who calls, with what; and what every operation is made of."""

import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, field
from hashlib import sha256
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
from anyio import CapacityLimiter, to_thread
from msgspec import UNSET

from lapwing.doors.server.jobs import Ending, Job, JobName, Jobs, JobState, Work, state_after
from lapwing.doors.server.lru_cache import LruCache
from lapwing.doors.server.memory import FREE, LEDGER, Memory
from lapwing.doors.server.metrics import Metrics
from lapwing.doors.server.passwords import digest_of
from lapwing.doors.server.people import Directory, Person
from lapwing.doors.server.problems import ProblemError
from lapwing.doors.server.rates import AtOnce, Limits, TooManyError
from lapwing.doors.server.roles import Right, Role
from lapwing.doors.server.saved_questions import SavedQuestions
from lapwing.doors.server.server_state import ServerState
from lapwing.doors.server.shared_rates import RateLimits
from lapwing.ledger.ledger import Ledger
from lapwing.session import Session
from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.deadline import deadline
from lapwing.vocabulary.errors import DisagreementError, LapwingError
from lapwing.vocabulary.frozen import frozen

T = TypeVar("T")

API: Final = "/api/v1"
LONGEST_WAIT: Final = 60
_PATIENCE: Final = 0.05
"""Seconds to wait for the lease of a key: another thread may hold it for a moment, only to look."""


@frozen()
class Server:
    """Everything that handlers need, one for a process."""

    state: ServerState
    people: Directory
    memory: Memory
    saved: SavedQuestions
    jobs: Jobs
    limits: Limits
    rates: RateLimits
    metrics: Metrics
    address: str
    tick: float
    threads: CapacityLimiter
    looks: AtOnce
    answers: LruCache[tuple[JobName, bytes], bytes]
    is_remote: bool

    async def look(self, person: Person, work: Callable[[], T]) -> T:
        """Run work that costs nothing in a thread: few at once for one person, and each with a deadline.

        Work goes on after its client hangs up, so without a deadline endless work would hold every thread.
        """

        def to_its_end() -> T:
            with deadline():
                return work()

        if not person.id:
            return await to_thread.run_sync(to_its_end, limiter=self.threads)
        try:
            async with self.looks.of(person.id):
                return await to_thread.run_sync(to_its_end, limiter=self.threads)
        except TooManyError:
            raise ProblemError.too_many("too many looks at once; nothing was asked or charged", 1) from None


@frozen()
class Reply:
    """An answer that is no plain 200 with JSON values: its bytes, its status, its headers, its type."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    media_type: str = "application/json"


@frozen()
class ServerCall:
    """One request, after it was found to be allowed.

    `raw` is its body as it came, and `body` the same as its type; `key` is its idempotency key, for operations that
    charge; `headers` are in small letters; `last_entry` is that of the last entry about its population when it came.
    """

    server: Server
    operation: "Operation"
    person: Person
    path: Mapping[str, str]
    query: Mapping[str, int]
    body: Any
    raw: bytes
    key: str
    headers: Mapping[str, str]
    begun: float
    last_entry: int
    audit: dict[str, Any]

    @property
    def population(self) -> str:
        """The population in the path."""
        return self.path["population"]

    @property
    def ledger(self) -> Ledger:
        """The ledger, open at the population in the path."""
        return self.server.state.ledger.of(self.population)

    def session(self, body: Any = None) -> Session:
        """Return a session of the caller for the body of this call, or for the `body` of an earlier one."""
        return self.server.state.session(self.population, self.person, self.body if body is None else body)

    def require_meaning(self, find: Callable[[], Collection[str]]) -> None:
        """Refuse a question that means something else here than at the client; nothing has been charged yet."""
        means = getattr(self.body, "means", UNSET)
        if means is not UNSET and set(means).isdisjoint(find()):
            reason = "here these words mean another question, or another price, than they do to you; nothing was asked"
            raise DisagreementError(reason, remedy="connect again, with the version of lapwing that the server has")

    @property
    def fingerprint(self) -> bytes:
        """A hash of the body: the memory of requests must not grow with their bodies."""
        return sha256(self.raw).digest()

    @property
    def job_name(self) -> JobName:
        """The name of the job of this call: population, person and idempotency key."""
        return JobName(self.population, self.person.id, self.key)

    @property
    def digest(self) -> str:
        """A digest of operation, path and body: it tells requests with the same idempotency key apart."""
        return digest_of(f"{self.operation.name} {sorted(self.path.items())} {self._text.decode()}")

    @property
    def _text(self) -> bytes:
        """The body in our own spelling, without padding: what is kept must not grow with white space."""
        return b"" if self.body is None else msgspec.json.encode(self.body, order="deterministic")

    def remember(self, entry: int = LEDGER) -> int:
        """Remember the request under its idempotency key with the entry that answers it; refuse a key of another one.

        Return the entry that the key stands for: that of the first request with it.
        """
        told: dict[str, Any] = {"kind": self.operation.name, "digest": self.digest, "body": self._text or b"null"}
        return self.server.memory.remember(*self.job_name, **told, entry=entry)

    def reserved_entry(self, name: str) -> int:
        """Return the number of the last entry of a reservation, for what is told from it for nothing."""
        return int(self.ledger.reservations.find(name).last["seq"])

    def told_before(self) -> bytes | None:
        """Return the answer under the key, where it is kept here: it was free, or the ledger does not have the key."""
        ended = self.server.memory.ending(*self.job_name)
        return ended[1] if ended is not None and state_after(ended[0]) is JobState.ANSWERED else None

    def end(self, told: dict[str, Any]) -> bytes:
        """Store the answer under the key, so that the key brings it back, and return its bytes."""
        body = msgspec.json.encode(told)
        self.server.memory.end(*self.job_name, status=200, outcome=body)
        return body

    def is_worked_on(self, key: str) -> bool:
        """Say whether a living process works on a key of the caller."""
        name = JobName(self.population, self.person.id, key)
        with self.server.state.ledger.gate.working(_lease(name)) as is_free:
            return not is_free

    async def in_thread(self, work: "Callable[[ServerCall], T]") -> T:
        """Run work that computes or reads a disk in a thread, outside the event loop."""
        return await self.server.look(self.person, lambda: work(self))

    async def run(self, work: Work, *, stream: str | None = None) -> Reply:
        """Run work that may charge as a job: return its reply, or where to poll for it when it takes longer.

        Meanwhile all processes see that a live process works on its key.
        """

        def seen(job: Job) -> Any:
            with self.server.state.ledger.gate.working(_lease(job.name), _PATIENCE):
                try:
                    return work(job)
                except (LapwingError, ProblemError):
                    self._forget()
                    raise

        jobs = self.server.jobs
        job = jobs.start(self.job_name, self.digest, self.session(), seen, begun=self.begun, stream=stream)
        ending = await jobs.wait(job, self._patience())
        if ending is not None:
            return reply_of(ending)
        jobs.when_done(job, self._keep)
        return self.accepted(job)

    def _forget(self) -> None:
        """Forget a request that was refused, unless something was charged under its key, now or before."""
        with suppress(LapwingError):  # where the ledger cannot be read, it may have been
            ledger, keys = self.server.state.ledger, (self.key, f"{self.key} 1")  # and the first of several together
            if not any(ledger.request(self.population, self.person.id, key) for key in keys):
                self.server.memory.forget(*self.job_name, digest=self.digest)

    def _keep(self, job: Job, ending: Ending) -> None:
        """Store the ending of a job whose client did not wait: it may be looked for at another process."""
        if state_after(ending.status) is JobState.REFUSED:
            with suppress(ProblemError):  # the key is another request's
                self.remember(FREE)
        self.server.memory.end(*job.name, status=ending.status, outcome=ending.body)

    def accepted(self, job: Job) -> Reply:
        """Return the reply that a job is still running, with the address to poll."""
        place = f"{API}/populations/{job.name.population}/jobs/{job.name.key}"
        headers = {"Location": place, "Retry-After": "1"}
        return Reply(body=msgspec.json.encode(job.to_dict()), status=202, headers=headers)

    def _patience(self) -> float:
        """Return how long the caller wants to wait: `Prefer: wait=5`, 20 seconds by default, 60 at most."""
        for preference in self.headers.get("prefer", "").split(","):
            word, _, value = preference.strip().partition("=")
            if word.strip().lower() == "wait" and value.strip().isdecimal() and len(value) < 6:  # noqa: PLR2004
                return float(min(int(value), LONGEST_WAIT))
        return 20.0


def _lease(job: JobName) -> str:
    """Return the name of the lease that is held while a job is worked on."""
    return digest(["job", *job])


def reply_of(ending: Ending) -> Reply:
    """Return how a job ended, as an answer."""
    return Reply(body=ending.body, status=ending.status, headers=ending.headers)


Handler: TypeAlias = Callable[[ServerCall], Any] | Callable[[ServerCall], Awaitable[Any]]


@frozen(kw_only=False)
class Operation:
    """One thing that a program may do here.

    Parameters
    ----------
    method, path, name : how it is called
    handler : what does it: a coroutine, or a function that is run in a thread; its first paragraph says what that is
    answer : the type of what it returns
    right : the right that the caller must have
    roles : who may call; for all others it is not there. None: everybody, also without a token
    body : the type of the body, if it takes one
    query : the whole numbers that it takes in its address, each with the least and the most
    charges : whether it may spend; then it needs an idempotency key
    refusals : the statuses, besides those that every operation has, with which it may refuse
    status : what it answers with, if not 200
    """

    method: str
    path: str
    name: str
    handler: Handler
    _: KW_ONLY
    answer: Any = dict[str, Any]
    right: Right = Right.READ
    roles: frozenset[Role] | None = frozenset(Role)
    body: Any = None
    query: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    charges: bool = False
    refusals: tuple[int, ...] = ()
    status: int = 200

    @property
    def summary(self) -> str:
        """The first paragraph of the handler's docstring."""
        return (inspect.getdoc(self.handler) or "").partition("\n\n")[0].replace("\n", " ")

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts of its path."""
        return tuple(piece[1:-1] for piece in self.path.split("/") if piece.startswith("{"))
