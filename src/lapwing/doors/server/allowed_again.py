"""What was told under a key is told again to those who may ask about its tables now.

The ledger sees to it wherever it is asked. What a server keeps, replies of jobs and of what was free, asks it nothing:
so before an operation is begun that is about a key, its tables are looked up, of analysts whose tables are limited.
"""

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from lapwing.doors.server.memory import FREE, LEDGER, Memory
from lapwing.ledger.ledger import Ledger

_RECEIPT: Final = re.compile(rb'"lapwing:[^"]*:([0-9]{1,19}):[0-9a-f]{64}"')
_BOARD: Final = re.compile(rb'"id":"([0-9a-f]{32})"')
_OF_BOARDS: Final = frozenset({"open_dashboard", "publish_release"})
"""What the ledger knows by the name of a dashboard, and not by the key: what was told has it."""


def require_told(ledger: Ledger, memory: Memory, population: str, analyst: str, key: str) -> None:
    """Refuse an analyst who may not ask any more about the tables of what stands under a key, if anything does."""
    ledger = ledger.of(population)
    decided = ledger.population(population)
    if decided.analyst(analyst).tables is None:
        return
    for record in _entries_under(ledger, memory, population, analyst, key):
        decided.require_tables(analyst, _tables_of(ledger, record))


def _entries_under(
    ledger: Ledger, memory: Memory, population: str, analyst: str, key: str
) -> Iterator[Mapping[str, Any]]:
    """Yield the entries that a key used or is answered by, or those that are shown by the receipts of its answers."""
    for name in (key, f"{key} model"):
        if (used := ledger.request(population, analyst, name)) is not None:
            yield used
    for number in itertools.count(1):  # what was asked together
        if (used := ledger.request(population, analyst, f"{key} {number}")) is None:
            break
        yield used
    known, ended = memory.recall(population, analyst, key), memory.ending(population, analyst, key)
    if known is None:
        return
    entry, told = memory.entry(population, analyst, key), b"" if ended is None else ended[1]
    if known["kind"] in _OF_BOARDS:
        yield from ({"stream": name.decode()} for name in set(_BOARD.findall(told)))
    shown = map(int, _RECEIPT.findall(told)) if entry == FREE else ()
    for number in {entry, *shown} - {FREE, LEDGER}:
        yield from ledger.entries(population, after=number - 1, limit=1)


def _tables_of(ledger: Ledger, record: Mapping[str, Any]) -> set[str]:
    """Return the tables that an entry was charged for, or that the entry was which it recalls."""
    if "stream" in record:
        return set(ledger.reservations.find(record["stream"]).tables)
    if "versions" in record:
        return set(record["versions"])
    return {table for recalled in ledger.became([record]) for table in _tables_of(ledger, recalled)}
