"""Requests by idempotency key, as they were sent: to show one, to clone it, and to recognise a key.

The ledger has all that counts. Here is what it does not keep: free answers under keys of their own, which must not
make the ledger grow, and the words in which something was asked.

A key has one outcome. The first request with it decides where that is kept, in one statement, for all processes: it
is an answer that was there already, whose entry is kept here, durably; or it is what the ledger has, or will have,
under the key itself. So a key that was answered for nothing is not charged when the data has changed since.

What was charged stays for ever. What was free must not make a disk grow without end: of each person the newest
`MOST_FREE` keys are kept, of `MOST_FREE_BYTES` in all, for `FREE_DAYS` days; and of what was refused there is nothing.
"""

import time
from collections.abc import Callable
from itertools import accumulate
from typing import Any, Final

import msgspec

from lapwing.doors.server.door_store import DoorStore
from lapwing.doors.server.problems import ProblemError
from lapwing.streams import name_of_key

_COLUMNS: Final = ("key", "kind", "body", "at", "number")
MOST_FREE: Final = 2_000
"""Free keys of one person at one population that are kept."""
MOST_FREE_BYTES: Final = 32 * 1024 * 1024
"""Characters of all of them, with what they were answered where the ledger does not have it: one answer has 20 MB."""
FREE_DAYS: Final = 90
_DAY: Final = 24 * 3600
_REMEMBER: Final = """insert into asked select ?, ?, ?, ?, ?, ?, ?, coalesce(max(number), 0) + 1, ?, null, null
    from asked where population = ? and person = ? on conflict do nothing"""
_LISTED: Final = """from asked where population = ? and person = ? and number < ? and entry >= ?
    order by number desc"""
_TOO_OLD: Final = """select max(number) from (
        select number, at, row_number() over (order by number desc) as place,
            sum(length(body) + coalesce(length(outcome), 0)) over (order by number desc) as size
        from asked where population = ? and person = ? and entry <> 0
    ) as free where place > ? or size > ? or at < ?"""
_DROP: Final = "delete from asked where population = ? and person = ? and entry <> 0 and number <= ?"
_DROP_COHORTS: Final = """delete from cohorts where population = ? and person = ? and not exists (
        select 1 from asked where asked.population = cohorts.population and asked.person = cohorts.person
        and asked.key in (cohorts.key, replace(cohorts.key, '-axes', '')))"""
_MOST_LISTED: Final = 4_000_000
"""Characters that are listed at once, or one request that has more."""
LEDGER: Final = 0
"""Stands for the entry of what the ledger has, or will have, under the key itself."""
FREE: Final = -1
"""No entry: nothing was charged under the key, and its outcome is kept here alone."""
_OK: Final = 200


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

        Return the entry that the key stands for, which is that of the first request.
        """
        values = (population, person, key, kind, digest, body.decode(), int(self._clock()), entry, population, person)
        keep = self._store.keep if entry != LEDGER else self._store.do  # what the ledger has is durable there
        if not keep(_REMEMBER, *values):
            known = self._found("digest, entry, status", population, person, key)
            if known is None or known[0] != digest:
                raise conflict()
            if known[1] != FREE or known[2] in {None, _OK}:
                return int(known[1])
            self._drop(population, person, key)  # it was refused, which is no outcome: it is asked anew
            return self.remember(population, person, key, kind=kind, digest=digest, body=body, entry=entry)
        if entry != LEDGER:
            self._trim(population, person)
        return entry

    def free(self, population: str, person: str, key: str, entry: int = FREE) -> None:
        """Note that nothing was charged under a key that the ledger was to have, and what entry its outcome is of."""
        where = "population = ? and person = ? and key = ? and entry = ?"
        self._store.do(f"update asked set entry = ? where {where}", entry, population, person, key, LEDGER)  # noqa: S608
        self._trim(population, person)

    def forget(self, population: str, person: str, key: str, *, digest: str) -> None:
        """Forget a request that was refused before anything was charged."""
        where = "population = ? and person = ? and key = ? and digest = ? and entry = ?"
        self._store.do(f"delete from asked where {where}", population, person, key, digest, LEDGER)  # noqa: S608

    def _drop(self, population: str, person: str, key: str) -> None:
        where = "population = ? and person = ? and key = ? and entry = ? and status <> ?"
        self._store.do(f"delete from asked where {where}", population, person, key, FREE, _OK)  # noqa: S608 - ours

    def _trim(self, population: str, person: str) -> None:
        """Forget the oldest of what was free, where it is too much or too old, and the cohorts that belong to it."""
        oldest = int(self._clock()) - FREE_DAYS * _DAY
        row = self._store.one(_TOO_OLD, population, person, MOST_FREE, MOST_FREE_BYTES, oldest)
        if row is not None and row[0] is not None:
            self._store.do(_DROP, population, person, row[0])
            self._store.do(_DROP_COHORTS, population, person)

    def end(self, population: str, person: str, key: str, *, status: int, outcome: bytes) -> None:
        """Store the outcome of a request whose client did not wait, for every process to find.

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
        """Return status and body of the reply to such a request, if it has ended."""
        row = self._found("status, outcome", population, person, key)
        return None if row is None or row[0] is None else (int(row[0]), str(row[1]).encode())

    def entry(self, population: str, person: str, key: str) -> int:
        """Return the entry of the answer that a key stands for, or `LEDGER`, or `FREE`."""
        row = self._found("entry", population, person, key)
        return LEDGER if row is None else int(row[0])

    def recall(self, population: str, person: str, key: str) -> dict[str, Any] | None:
        """Return the request of a person under a key."""
        row = self._found(", ".join(_COLUMNS), population, person, key)
        return None if row is None else _record(row)

    def _found(self, columns: str, population: str, person: str, key: str) -> tuple[Any, ...] | None:
        statement = f"select {columns} from asked where population = ? and person = ? and key = ?"  # noqa: S608 - ours
        return self._store.one(statement, population, person, key)

    def titles(self, population: str, person: str) -> dict[str, str]:
        """Return the titles that a person gave to streams, by the names of the streams, which follow from keys."""
        rows = self._store.all(
            "select key, body from asked where population = ? and person = ? and kind = 'open_stream'",
            population,
            person,
        )
        bodies = {name_of_key(population, person, key): msgspec.json.decode(body) for key, body in rows}
        return {name: body["title"] for name, body in bodies.items() if "title" in body}

    def of_kind(self, population: str, person: str, kind: str, limit: int = 100) -> list[dict[str, Any]]:
        """Return the last requests of a kind of a person, the newest first."""
        rows = self._store.all(
            f"select {', '.join(_COLUMNS)} from asked where population = ? and person = ? and kind = ?"  # noqa: S608
            " order by number desc limit ?",
            population,
            person,
            kind,
            limit,
        )
        return [_record(row) for row in rows]

    def listed(
        self, population: str, person: str, *, before: int | None, limit: int, free: bool = False
    ) -> list[dict[str, Any]]:
        """Return the requests of a person, the newest first: those `before` a number, at most `limit`.

        With `free`, only those whose answer existed already. Fewer are returned where they are long.
        """
        asked = (population, person, 2**62 if before is None else before, LEDGER + 1 if free else FREE)
        known = self._store.all(f"select number, length(body) {_LISTED} limit ?", *asked, limit)
        sizes = accumulate(size for _, size in known)
        wanted = sum(size <= _MOST_LISTED for size in sizes) or 1
        rows = self._store.all(f"select key, kind, body, at, number {_LISTED} limit ?", *asked, min(wanted, limit))
        return [_record(row) for row in rows]


def _record(row: tuple[Any, ...]) -> dict[str, Any]:
    record = dict(zip(_COLUMNS, row, strict=True))
    return {**record, "body": msgspec.json.decode(record["body"])}
