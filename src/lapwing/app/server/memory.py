"""What was put under which idempotency key, as it was put: to show it, to clone it, and to know a key again.

The ledger has all that counts. Here stands what it does not keep: free answers under keys of their own, which must not
make the ledger grow, and the words in which something was asked.

A key has one outcome, for ever. Whoever comes first with it decides where that stands, in one statement, for all
processes: it is an answer that was there already, whose entry is kept here, durably; or it is what the ledger has, or
will have, under the key itself. So a key that was answered for nothing is not charged when the data has changed since.
"""

import time
from collections.abc import Callable
from itertools import accumulate
from typing import Any, Final

import msgspec

from lapwing.app.server.door_store import DoorStore
from lapwing.app.server.problems import ProblemError
from lapwing.stream_opening import name_of_key

_COLUMNS: Final = ("key", "kind", "body", "at", "number")
_REMEMBER: Final = """insert into asked select ?, ?, ?, ?, ?, ?, ?, coalesce(max(number), 0) + 1, ?, null, null
    from asked where population = ? and person = ? on conflict do nothing"""
_LISTED: Final = """from asked where population = ? and person = ? and number < ? and entry >= ?
    order by number desc"""
_MOST_LISTED: Final = 4_000_000
"""Characters that are listed at once, or one request that has more."""
LEDGER: Final = 0
"""Stands for the entry of what the ledger has, or will have, under the key itself."""


def conflict() -> ProblemError:
    """Return the refusal of a key that was used for another request."""
    return ProblemError(409, "request_conflict", "this key belongs to another request of yours; choose a new key")


class Memory:
    """The requests of each person, by population and key."""

    def __init__(self, store: DoorStore, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock = store, clock

    def remember(
        self, population: str, person: str, key: str, *, kind: str, digest: str, body: bytes, entry: int = LEDGER
    ) -> int:
        """Remember a request with the entry that answers it; refuse a key that stands for another one.

        Return the entry that the key stands for, which is that of whoever came first.
        """
        values = (population, person, key, kind, digest, body.decode(), int(self._clock()), entry, population, person)
        keep = self._store.keep if entry != LEDGER else self._store.do  # what the ledger has is durable there
        if keep(_REMEMBER, *values):
            return entry
        known = self._found("digest, entry", population, person, key)
        if known is None or known[0] != digest:
            raise conflict()
        return int(known[1])

    def end(self, population: str, person: str, key: str, *, status: int, outcome: bytes) -> None:
        """Remember what came of a request that nobody waited for, so that every process can tell.

        An answer stays: a refusal before it may be noted after it, and is not the outcome of the key.
        """
        self._store.do(
            """update asked set status = ?, outcome = ?
               where population = ? and person = ? and key = ? and coalesce(status, 0) <> 200""",
            status,
            outcome.decode(),
            population,
            person,
            key,
        )

    def ending(self, population: str, person: str, key: str) -> tuple[int, bytes] | None:
        """Return what came of such a request, if it has ended."""
        row = self._found("status, outcome", population, person, key)
        return None if row is None or row[0] is None else (int(row[0]), str(row[1]).encode())

    def entry(self, population: str, person: str, key: str) -> int:
        """Return the entry of the answer that a key stands for, or `LEDGER`."""
        row = self._found("entry", population, person, key)
        return LEDGER if row is None else int(row[0])

    def recall(self, population: str, person: str, key: str) -> dict[str, Any] | None:
        """Return what a person put under a key."""
        row = self._found(", ".join(_COLUMNS), population, person, key)
        return None if row is None else _record(row)

    def _found(self, columns: str, population: str, person: str, key: str) -> tuple[Any, ...] | None:
        statement = f"select {columns} from asked where population = ? and person = ? and key = ?"  # noqa: S608 - ours
        return self._store.one(statement, population, person, key)

    def titles(self, population: str, person: str) -> dict[str, str]:
        """Return what a person called streams, by their names, which follow from keys."""
        rows = self._store.all(
            "select key, body from asked where population = ? and person = ? and kind = 'open_stream'",
            population,
            person,
        )
        bodies = {name_of_key(population, person, key): msgspec.json.decode(body) for key, body in rows}
        return {name: body["title"] for name, body in bodies.items() if "title" in body}

    def listed(
        self, population: str, person: str, *, before: int | None, limit: int, free: bool = False
    ) -> list[dict[str, Any]]:
        """Return what a person put, the newest first: those `before` a number, at most `limit`.

        With `free`, those alone that stand for an answer which was there already. There are fewer where they are long.
        """
        asked = (population, person, 2**62 if before is None else before, LEDGER + free)
        known = self._store.all(f"select number, length(body) {_LISTED} limit ?", *asked, limit)
        sizes = accumulate(size for _, size in known)
        wanted = sum(size <= _MOST_LISTED for size in sizes) or 1
        rows = self._store.all(f"select key, kind, body, at, number {_LISTED} limit ?", *asked, min(wanted, limit))
        return [_record(row) for row in rows]


def _record(row: tuple[Any, ...]) -> dict[str, Any]:
    record = dict(zip(_COLUMNS, row, strict=True))
    return {**record, "body": msgspec.json.decode(record["body"])}
