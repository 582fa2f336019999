"""States of a ledger that a process has read before, and by which entries it knows them again."""

from dataclasses import dataclass, field
from typing import Final, TypeVar

from lapwing.accounting.filters.account import Account
from lapwing.ledger.database import Lookup
from lapwing.ledger.entries import Entry, Record
from lapwing.ledger.population import PopulationRecord
from lapwing.ledger.stream_records import StreamRecord

K = TypeVar("K")
S = TypeVar("S")

_MOST_STREAMS: Final = 1000
_SPARE: Final = 2000
"""So many hashes that nobody needs any more are kept before they are sorted out."""


@dataclass(slots=True)
class StateCache:
    """States that were read before, each with the number of its entry, so that they need not be decoded again.

    `latest` has, for each lookup of a state, the number of the last entry that is known to change it, `openings` that
    of the first entry of a stream, and `hashes` what these entries had for a hash when they were seen first.
    """

    accounts: dict[tuple[str, str | None], tuple[int, Account]] = field(default_factory=dict)
    populations: dict[str, tuple[int, PopulationRecord]] = field(default_factory=dict)
    streams: dict[str, tuple[int, StreamRecord]] = field(default_factory=dict)
    latest: dict[tuple[Lookup, tuple[str, ...]], int] = field(default_factory=dict)
    openings: dict[str, int] = field(default_factory=dict)
    hashes: dict[int, bytes] = field(default_factory=dict)

    def learn(self, news: "StateCache") -> None:
        """Take over what is newer; a slower thread may bring older news."""
        _take_newer(self.accounts, news.accounts)
        _take_newer(self.populations, news.populations)
        _take_newer(self.streams, news.streams)
        while len(self.streams) > _MOST_STREAMS:
            del self.streams[next(iter(self.streams))]
        for lookup, seq in news.latest.items():
            self.latest[lookup] = max(seq, self.latest.get(lookup, 0))
        self.openings.update(news.openings)
        for seq, hash_ in news.hashes.items():
            self.hashes.setdefault(seq, hash_)
        if len(self.hashes) > 2 * (len(self.latest) + len(self.openings)) + _SPARE:
            wanted = {*self.latest.values(), *self.openings.values()}
            self.hashes = {seq: hash_ for seq, hash_ in self.hashes.items() if seq in wanted}

    def heed(self, entry: Entry, record: Record) -> None:
        """Note which states an entry changes."""
        seq, self.hashes[entry.seq] = entry.seq, entry.hash
        population, analyst = record.get("population", ""), record.get("analyst", "")
        if "policy" in record:
            self.latest[Lookup.POLICY, (population,)] = seq
        if "account" in record:
            self.latest[Lookup.ACCOUNT, (population,)] = seq
        if "allowance" in record:
            self.latest[Lookup.ALLOWANCE, (population, analyst)] = seq
        if "stream" in record:
            self.latest[Lookup.STREAM, (record["stream"],)] = seq
            if record["kind"] == "opening":
                self.openings[record["stream"]] = seq


def _take_newer(kept: dict[K, tuple[int, S]], news: dict[K, tuple[int, S]]) -> None:
    for name, (seq, state) in news.items():
        if name not in kept or kept[name][0] < seq:
            kept[name] = (seq, state)
