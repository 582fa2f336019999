"""The state of a server: one workspace, a session for each request, and the caches.

A reply that reads no data follows from the question and the entries of the ledger: as long as the ledger has no newer
entry, the cached bytes are returned. An answer under its key never changes. Everything else is looked up.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec import UNSET

from lapwing.answers.preview import QuestionLike
from lapwing.doors.server.decision_watch import DecisionWatch
from lapwing.doors.server.lru_cache import LruCache
from lapwing.doors.server.people import Person
from lapwing.doors.server.problems import ProblemError
from lapwing.doors.server.roles import Role
from lapwing.ledger.ledger import Ledger
from lapwing.session import Session
from lapwing.streams import QuestionStream
from lapwing.vocabulary.errors import LapwingError, LedgerError
from lapwing.workspace.recovering import Recovery
from lapwing.workspace.settings import FILE
from lapwing.workspace.workspace import Workspace, failure_log

if TYPE_CHECKING:
    from lapwing.publishing.explorer import Explorer
    from lapwing.publishing.synthetic_table import SyntheticTable

_MOST_READ: Final = 4 * 1024 * 1024
"""Bytes of the bodies whose questions are kept: a question takes thirty times as many."""
_MOST_SYNTHETIC: Final = 16
"""Synthetic tables, and explorers, whose models are kept: one may have millions of rows."""
SEALING: Final = 60
"""Seconds between two seals of the directory, where anything has grown; over all hosts together."""
_PATIENCE: Final = 10.0
"""Seconds until settings that did not agree are compared again, if neither they nor any decision changed meanwhile."""
_ADMITTED: Final = frozenset({Role.GUEST, Role.ANALYST})
"""Roles that see a population only if it admits them: a guest sees no more than the analyst they may become."""


class KeptExplorer(NamedTuple):
    """An explorer, how many paid answers it had left when its model was last taught, and the session that it asks."""

    explorer: "Explorer"
    left: int
    session: Session


class _Standing(NamedTuple):
    """Whether a population admits a person, and whether to some of its tables only, at the last entry about it."""

    last: int
    is_admitted: bool
    is_limited: bool


class ServerState:
    """One workspace and its populations, for everybody who comes in."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.log = failure_log(workspace.folder)
        self.asked: LruCache[bytes, tuple[QuestionLike, dict[str, Any]]] = LruCache(most_bytes=_MOST_READ)
        self.previews: LruCache[tuple[int, str, str, bytes], bytes] = LruCache()
        self.streams: LruCache[tuple[str, str, str], tuple[Session, QuestionStream]] = LruCache()
        self.synthetic: LruCache[tuple[str, str, str], SyntheticTable] = LruCache(most=_MOST_SYNTHETIC)
        self.explorers: LruCache[tuple[str, str, str], KeptExplorer] = LruCache(most=_MOST_SYNTHETIC)
        self.trouble: str | None = None
        self.damaged: dict[str, str] = {}
        """Populations whose chain could not be read, and why; the others are served."""
        self._standings: LruCache[tuple[str, str], _Standing] = LruCache()
        self._doors: dict[tuple[str, str | None], Session] = {}
        self._lock = threading.Lock()
        self._decisions, self._logged = DecisionWatch(workspace.ledger), dict[str, str]()
        self._settings = self._stamp()
        self._refused: tuple[object, float] | None = None  # the stamp that did not agree, and when to try it again

    @property
    def ledger(self) -> Ledger:
        """The account."""
        return self.workspace.ledger

    @property
    def folder(self) -> Path:
        """The folder of the workspace."""
        return self.workspace.folder

    def populations(self) -> list[str]:
        """Return the names of the populations."""
        return sorted(self.workspace.settings.populations)

    def require_population(self, name: str, person: Person) -> int:
        """Refuse a population that is not there, or not for this person: both alike.

        Return the number of the last entry about it; as long as it is the same, so is what was found.
        """
        if name not in self.workspace.settings.populations:
            raise ProblemError.not_there()
        with self._noting(name):
            last = self.ledger.of(name).last_entry()
        if person.role in _ADMITTED and not self._standing(name, person, last).is_admitted:
            raise ProblemError.not_there()
        return last

    def may_know(self, name: str, person: Person) -> bool:
        """Say whether a population is listed for a person; of one that cannot be read only those know who see all."""
        try:
            self.require_population(name, person)
        except ProblemError:
            return False
        except LedgerError:
            return person.role not in _ADMITTED
        return True

    @contextmanager
    def _noting(self, name: str) -> Iterator[None]:
        """Remember whether the chain of a population can be read; what is wrong with it is logged once."""
        try:
            yield
        except LedgerError as failure:
            self._note(name, failure)
            raise
        self.damaged.pop(name, None)

    def _note(self, name: str, failure: LedgerError) -> None:
        if self.damaged.get(name) != str(failure):
            self.damaged[name] = str(failure)
            self.log(failure)

    def is_limited(self, name: str, person: Person, last: int) -> bool:
        """Say whether a person may ask about some tables of a population only; `last` is the last entry about it."""
        return self._standing(name, person, last).is_limited

    def _standing(self, name: str, person: Person, last: int) -> "_Standing":
        """Return what the ledger says of a person, read once for each of its entries."""
        known = self._standings.get((name, person.id))
        if known is None or known.last != last:
            decided = self.ledger.population(name)
            is_limited = decided.analyst(person.id).tables is not None
            known = _Standing(last, is_admitted=decided.admits(person.id), is_limited=is_limited)
            self._standings.put((name, person.id), known)
        return known

    def session(self, population: str, person: Person, body: Any = None) -> Session:
        """Return a session of its own for one request of a person, who is the analyst.

        A `body` may name a segment, whose people alone it is about then, and bring concept sets.
        """
        named, sets = getattr(body, "segment", UNSET), getattr(body, "concept_sets", UNSET)
        segment = None if named is UNSET else named
        with self._lock:
            door = self._doors.get((population, segment))
            if door is None:
                door = self.workspace.session(population, analyst="server", segment=segment)
                self._doors[population, segment] = door
        session = door.for_analyst(person.id)
        for name, ids in {}.items() if sets is UNSET else sets.items():
            session.concept_set(name, ids)
        return session

    def warm(self) -> None:
        """Open the tables before the first question comes; what cannot be opened now is tried again with it."""
        for name in self.populations():
            try:
                with self._noting(name):
                    self.workspace.check(name)
            except LedgerError:  # it is noted
                continue
            except LapwingError as failure:
                self.log(failure)

    def recover(self) -> Recovery:
        """Settle what dead processes left; a population that cannot be read is noted, and keeps nobody waiting."""
        damaged = frozenset(self.damaged)
        found = self.workspace.recover(also=damaged)
        for name, failure in found.unread.items():
            self._note(name, failure)
        for name in damaged - found.unread.keys():
            self.damaged.pop(name, None)
        return found

    def seal(self) -> None:
        """Seal the directory, if any population has grown, and no host has sealed it within the last minute."""
        self.ledger.seal(unless_within=SEALING)

    def attempt(self, work: Callable[[], object]) -> None:
        """Do what has to be done now and then; a failure is logged, but not again while it stays the same."""
        name = getattr(work, "__name__", "")
        try:
            work()
        except Exception as failure:  # noqa: BLE001 - it is logged for the custodian, and tried again
            if self._logged.get(name) != str(failure):
                self._logged[name] = str(failure)
                self.log(failure)
        else:
            self._logged.pop(name, None)

    def look_around(self) -> None:
        """Go on with new settings if lapwing.toml changed and agrees with the ledger; else keep the old ones."""
        stamp, now = self._stamp(), time.monotonic()
        if stamp == self._settings or (self._refused and self._refused[0] == stamp and now < self._refused[1]):
            return
        try:
            self.workspace.finish_change()
            self.workspace.reload()
        except LapwingError as failure:  # an edit that `lapwing update` has not brought to the ledger yet
            self.trouble, self._refused = str(failure), (stamp, now + _PATIENCE)
            return
        self._settings, self.trouble, self._refused = stamp, None, None
        self.renew()

    def renew(self) -> None:
        """Forget what followed from the settings before."""
        with self._lock:
            self._doors.clear()
        self.previews.clear()
        self.streams.clear()
        self.synthetic.clear()
        self.explorers.clear()

    def _stamp(self) -> tuple[object, ...]:
        """Return a change stamp: the stat of the settings, and the ledger's last decision about each population."""
        found = (self.folder / FILE).stat()
        return found.st_mtime_ns, found.st_ino, self._decisions.look()

    def close(self) -> None:
        """Let go of the ledger and the databases."""
        self.workspace.close()
