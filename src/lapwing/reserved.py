"""One reservation for an analysis of a room: the same analysis of the same data is read back, for nothing.

Without a key of its own an analysis has one that follows from what it does, from what it is charged as and from the
versions of the tables. One that was lost keeps its charge, and is charged anew under the next key.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lapwing.rounds import ReservationKind, Rounds
from lapwing.vocabulary.codec import digest, to_record
from lapwing.vocabulary.event import Event

if TYPE_CHECKING:
    from lapwing.session import Session


def reserve_analysis(
    session: "Session",
    kind: ReservationKind,
    *,
    event: Event,
    rounds: int,
    terms: dict[str, Any],
    tables: Sequence[str],
    key: str | None,
) -> Rounds:
    """Charge an analysis, or find it; `key` is the idempotency key."""
    for given in [key] if key is not None else _keys(session, kind, event, terms, tables):
        found = session.reserve(kind, event=event, rounds=rounds, terms=terms, tables=tables, key=given)
        if key is not None or None not in found.committed:
            break  # the first of which no round was lost: a charge that was lost before stays
    return found


def _keys(
    session: "Session", kind: ReservationKind, event: Event, terms: dict[str, Any], tables: Sequence[str]
) -> Iterator[str]:
    """Yield names for the same analysis of the same data: the first, and one more for each time that it was lost."""
    versions = session.ledger.population(session.population.name).tables
    about = {name: versions.get(name) for name in tables}
    whole = digest([terms, to_record(event), about, session.population.segment])
    return (f"{kind.name} {whole[:32]} {number}" for number in itertools.count(1))
