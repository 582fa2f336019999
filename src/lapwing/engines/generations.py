"""One engine for all who ask about the same versions of the tables, and the next one for the next versions.

A question holds the engine it reads from by a lease. When the tables have a new version a new engine is opened;
questions that run end on the old one, which is closed with its last lease. No engine is closed under a question.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TypeAlias

from lapwing.engines.engine import Engine

Open: TypeAlias = Callable[[], tuple[Engine, Mapping[str, int]]]


@dataclass(eq=False, slots=True)
class _Generation:
    engine: Engine
    versions: Mapping[str, int]
    leases: int = 0

    def serves(self, versions: Mapping[str, int]) -> bool:
        return all(self.versions.get(table) == version for table, version in versions.items())


class Generations:
    """The engines of one population that are in use.

    Parameters
    ----------
    on_failure : told why an engine could not be closed, which is nothing for those who ask
    """

    def __init__(self, on_failure: Callable[[Exception], None]) -> None:
        self._on_failure = on_failure
        self._lock, self._opening = Lock(), Lock()
        self._all: list[_Generation] = []  # the newest last
        self._closed = False

    @contextmanager
    def leased(self, versions: Mapping[str, int], open_: Open) -> Iterator[Engine]:
        """Hold the engine on these versions open; one that is not there is opened by `open_`, once for all who wait.

        Parameters
        ----------
        versions : those of the tables that will be read
        open_ : returns an engine and the versions of all its tables, which must be these
        """
        generation = self._taken(versions) or self._opened(versions, open_)
        try:
            yield generation.engine
        finally:
            self._give_back(generation)

    def serves(self, versions: Mapping[str, int]) -> bool:
        """Say whether an engine on these versions is open."""
        with self._lock:
            return any(one.serves(versions) for one in self._all)

    def close(self) -> None:
        """Close what nobody uses; the rest is closed with its last lease."""
        self._closed = True
        self._retire()

    def _taken(self, versions: Mapping[str, int]) -> _Generation | None:
        with self._lock:
            found = next((one for one in reversed(self._all) if one.serves(versions)), None)
            if found is not None:
                found.leases += 1
            return found

    def _opened(self, versions: Mapping[str, int], open_: Open) -> _Generation:
        with self._opening:
            found = self._taken(versions)
            if found is not None:
                return found
            made = _Generation(*open_(), leases=1)
            with self._lock:
                self._all.append(made)
        self._retire()
        return made

    def _give_back(self, generation: _Generation) -> None:
        with self._lock:
            generation.leases -= 1
        self._retire()

    def _retire(self) -> None:
        """Close every engine that nobody uses, but for the newest, which the next question will want."""
        with self._lock:
            older = self._all if self._closed else self._all[:-1]
            idle = [one for one in older if not one.leases]
            self._all = [one for one in self._all if one not in idle]
        for one in idle:
            try:
                one.engine.close()
            except Exception as failure:  # noqa: BLE001 - it is gone for us, and a matter of the custodian
                self._on_failure(failure)
