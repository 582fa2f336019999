"""What people want to see of a ledger: its entries by the page, how a budget was used up, and by whom.

Everything here is found through indexes or remembered from the last look, so that a page costs the same in a ledger of
a million entries as in one of a hundred.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from lapwing.accounting.filters.account import Account, charge_anew, open_account
from lapwing.ledger.entries import Record
from lapwing.ledger.store import Store
from lapwing.ledger.transaction import Transaction
from lapwing.vocabulary.codec import from_record
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import as_int

MOST: Final = 10_000
"""So many entries, or points, come in one go at most."""


_CHANGES: Final = """select seq from entries
    where record ->> 'population' = ? and record ->> 'account' is not null order by seq"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPoint:
    """How the account of a population stood after an entry; `at` is when it was last charged by then."""

    seq: int
    at: str
    account: Account


@dataclass(slots=True)
class _Shares:
    """What each analyst has caused up to entry `seq`, under the terms of the account as it stood then."""

    seq: int
    account: Account
    accounts: dict[str, Account] = field(default_factory=dict)


class Overviews:
    """Entries and accounts, for the eyes of people."""

    def __init__(self, store: Store) -> None:
        self._store, self._lock = store, Lock()
        self._shares: dict[str, _Shares] = {}

    def entries(
        self,
        population: str,
        *,
        after: int | None = None,
        limit: int = 500,
        kinds: Collection[str] = (),
        analyst: str | None = None,
        newest_first: bool = False,
    ) -> list[Record]:
        """Return what entries about a population say: a page of them.

        Parameters
        ----------
        population : whose entries
        after : the number of the last entry of the page before; the first page if it is not said
        limit : how many entries at most
        kinds : of which kinds, such as "charge"; of all, if none is named
        analyst : only those that this analyst caused
        newest_first : begin with the last entry and go back
        """
        as_int("limit", limit, most=MOST)
        conditions, values = ["record ->> 'population' = ?"], list[str | int]([population])
        if analyst is not None:
            conditions.append("record ->> 'analyst' = ? and record ->> 'analyst' is not null")
            values.append(analyst)
        if kinds:
            conditions.append(f"record ->> 'kind' in ({', '.join('?' * len(kinds))})")
            values += kinds
        if after is not None:
            conditions.append("seq < ?" if newest_first else "seq > ?")
            values.append(after)
        order = "desc" if newest_first else "asc"
        with self._store.reading() as transaction:
            transaction.population(population)
            page = f"where {' and '.join(conditions)} order by seq {order} limit {limit}"
            return [entry.record for entry in transaction.some(page, *values)]

    def burn_down(self, population: str, *, points: int = 400) -> list[AccountPoint]:
        """Return how the account of a population stood, at so many entries at most, from the first to the last."""
        as_int("points", points, least=2, most=MOST)
        with self._store.reading() as transaction:
            transaction.population(population)
            numbers = [seq for (seq,) in transaction.all(_CHANGES, population)]
            return _points(transaction, _sample(numbers, points))

    def spent_by(self, population: str) -> dict[str, Account]:
        """Return the account of all that each analyst has caused, as if the whole budget had been theirs."""
        with self._lock, self._store.reading() as transaction:
            transaction.population(population)
            account = transaction.account(population)
            fresh = open_account(
                account.budget, segments=account.filters, adjacency=account.adjacency, shares=account.shares
            )
            known = self._shares.get(population)
            if known is None or known.account != fresh or known.seq > transaction.last:
                known = self._shares[population] = _Shares(0, fresh)
            for analyst, line in transaction.caused(population, known.seq):
                if not analyst:  # a cap that was raised, or what was written off
                    continue
                known.accounts[analyst] = charge_anew(known.accounts.get(analyst, fresh), [line]).account
            known.seq = transaction.last
            return dict(known.accounts)


def _sample(numbers: Sequence[int], points: int) -> list[int]:
    """Return so many of them at most, evenly, with the first and the last."""
    if len(numbers) <= points:
        return list(numbers)
    return [numbers[place * (len(numbers) - 1) // (points - 1)] for place in range(points)]


def _points(transaction: Transaction, numbers: Sequence[int]) -> list[AccountPoint]:
    points, at = [], ""
    for seq in numbers:
        entry = transaction.entry(seq)
        record: Record = entry.record if entry else {}
        if "account" not in record:
            raise ParameterError("seq", seq, reason="is no entry about an account", remedy="check the ledger")
        at = record.get("at", at)  # what settles a question has no time
        points.append(AccountPoint(seq=seq, at=at, account=from_record(Account, record["account"]["after"])))
    return points
