"""Requests for more budget: who wants how much and what for, and what the custodian said."""

import time
from collections.abc import Callable
from typing import Any, Final

from lapwing.app.server.door_store import DoorStore
from lapwing.noise.randomness import fresh_name

_COLUMNS: Final = ("id", "population", "person", "wanted", "purpose", "state", "decided_by", "made", "decided")


class BudgetRequests:
    """Everybody's requests, by population."""

    def __init__(self, store: DoorStore, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock = store, clock

    def make(self, population: str, person: str, *, wanted: str, purpose: str) -> dict[str, Any]:
        """Ask for more."""
        id_, now = fresh_name()[:12], int(self._clock())
        self._store.do(
            "insert into requests values (?, ?, ?, ?, ?, 'open', null, ?, null)",
            id_,
            population,
            person,
            wanted,
            purpose,
            now,
        )
        found = self.find(population, id_)
        if found is None:  # pragma: no cover - it was written just now
            raise KeyError(id_)
        return found

    def find(self, population: str, id_: str) -> dict[str, Any] | None:
        """Return a request."""
        row = self._store.one(
            """select id, population, person, wanted, purpose, state, decided_by, made, decided from requests
               where population = ? and id = ?""",
            population,
            id_,
        )
        return None if row is None else dict(zip(_COLUMNS, row, strict=True))

    def listed(self, population: str, person: str | None = None) -> list[dict[str, Any]]:
        """Return the requests of a person, or of everybody, the newest first."""
        rows = self._store.all(
            """select id, population, person, wanted, purpose, state, decided_by, made, decided from requests
               where population = ? and (person = ? or ? = 1) order by made desc, id limit 500""",
            population,
            person or "",
            int(person is None),
        )
        return [dict(zip(_COLUMNS, row, strict=True)) for row in rows]

    def decide(self, population: str, id_: str, *, state: str, by: str) -> bool:
        """Say yes or no to a request that is open, once; say whether it was."""
        return (
            self._store.do(
                """update requests set state = ?, decided_by = ?, decided = ?
                   where population = ? and id = ? and state = 'open'""",
                state,
                by,
                int(self._clock()),
                population,
                id_,
            )
            > 0
        )
