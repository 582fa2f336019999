"""The cohorts that were asked, as they were built: to clone them, and to show them again in words.

Like everything in the store of the server it changes nothing of what was spent; if it is lost, the ledger's own words
are shown instead.
"""

import json
from typing import Any

from lapwing.doors.server.door_store import DoorStore


class AskedCohorts:
    """The documents of the cohorts that were asked, by population, person and key."""

    def __init__(self, store: DoorStore) -> None:
        self._store = store

    def put(self, population: str, person: str, key: str, document: dict[str, Any]) -> None:
        """Keep a document; the first one under a key stays."""
        text = json.dumps(document, ensure_ascii=False)
        values = (population, person, key, text)
        self._store.do("insert into cohorts values (?, ?, ?, ?) on conflict do nothing", *values)

    def find(self, population: str, person: str, key: str) -> dict[str, Any] | None:
        """Return the cohort that was kept under a key."""
        row = self._store.one(
            "select document from cohorts where population = ? and person = ? and key = ?", population, person, key
        )
        return None if row is None else json.loads(row[0])
