"""States of a ledger that a process has read before, and by which entries it knows them again."""

from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from lapwing.accounting.filters.account import Account
from lapwing.ledger.database import Asked, Lookup
from lapwing.ledger.entries import Entry, Record
from lapwing.ledger.population import PopulationRecord
from lapwing.ledger.stream_records import StreamRecord

K = TypeVar("K")
S = TypeVar("S")

_MOST_STREAMS: Final = 1000
_MOST_CHARGES: Final = 1000
_SPARE: Final = 2000
"""So many hashes that nobody needs any more are kept before they are sorted out."""
STATES: Final = frozenset({Lookup.POLICY, Lookup.ACCOUNT, Lookup.ALLOWANCE, Lookup.STREAM})
"""The lookups that find how something stands."""


def found_by(record: Record) -> list[Asked]:
    """Return the lookups that find an entry: the last word on something, or the first that used a key."""
    population, analyst = record.get("population"), record.get("analyst")
    named: dict[Lookup, tuple[str, tuple[Any, ...]]] = {
        Lookup.POLICY: ("policy", (population,)),
        Lookup.ACCOUNT: ("account", (population,)),
        Lookup.ALLOWANCE: ("allowance", (population, analyst)),
        Lookup.REQUEST: ("request", (population, analyst, record.get("request"))),
        Lookup.RECALL: ("recall", (record.get("recall"),)),
        Lookup.SETTLES: ("settles", (record.get("settles"),)),
        Lookup.STREAM: ("stream", (record.get("stream"),)),
    }
    return [(lookup, values) for lookup, (field, values) in named.items() if record.get(field) is not None]


@dataclass(slots=True)
class StateCache:
    """States that were read before, each with the number of its entry, so that they need not be decoded again.

    `charges` are the newest ones of questions, which are soon answered; `latest` has, for each lookup of a state, the number of the last entry that is known to change it, `openings` that
    of the first entry of a stream, and `hashes` what these entries had for a hash when they were seen first.
    """

    accounts: dict[tuple[str, str | None], tuple[int, Account]] = field(default_factory=dict)
    populations: dict[str, tuple[int, PopulationRecord]] = field(default_factory=dict)
    streams: dict[str, tuple[int, StreamRecord]] = field(default_factory=dict)
    charges: dict[int, Record] = field(default_factory=dict)
    latest: dict[Asked, int] = field(default_factory=dict)
    openings: dict[str, int] = field(default_factory=dict)
    hashes: dict[int, bytes] = field(default_factory=dict)

    def learn(self, news: "StateCache") -> None:
        """Take over what is newer; a slower thread may bring older news."""
        _take_newer(self.accounts, news.accounts)
        _take_newer(self.populations, news.populations)
        _take_newer(self.streams, news.streams)
        while len(self.streams) > _MOST_STREAMS:
            del self.streams[next(iter(self.streams))]
        self.charges.update(news.charges)
        for seq in list(self.charges)[:-_MOST_CHARGES]:
            self.charges.pop(seq, None)
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
        self.latest |= {asked: seq for asked in found_by(record) if asked[0] in STATES}
        if record["kind"] == "charge":
            self.charges[seq] = record
        elif record["kind"] == "opening":
            self.openings[record["stream"]] = seq


def _take_newer(kept: dict[K, tuple[int, S]], news: dict[K, tuple[int, S]]) -> None:
    for name, (seq, state) in news.items():
        if name not in kept or kept[name][0] < seq:
            kept[name] = (seq, state)
