"""A guest of the session that needs three rounds, each of which depends on those before it: what a reservation is for.

It finds how many people there are, how many of them are older than an age that follows from that, and how many of
these are in a range that follows from both. It imports what a guest may, and nothing of the ledger or the engines.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import lapwing as lw
from lapwing.mechanisms import GeometricMechanism
from lapwing.queries.planning.planner import plan
from lapwing.rounds import IfLost, ReservationKind, RoundReader, Rounds
from lapwing.session import Session
from lapwing.vocabulary.event import Event, Repeated

PRICE = Fraction(1, 100)
"""The epsilon of each round."""
COUNT = GeometricMechanism(l1_sensitivity=1, epsilon=PRICE)
EVENT: Event = Repeated(part=COUNT.event, times=3)
ENDS = ReservationKind(name="three rounds", if_lost=IfLost.ENDS)
COUNTS = ReservationKind(name="three rounds that go on", if_lost=IfLost.COUNTS)


def reserve(session: Session, key: str, kind: ReservationKind = ENDS) -> Rounds:
    """Charge all three."""
    return session.reserve(kind, event=EVENT, rounds=3, terms={"of": "patients"}, tables=["patients"], key=key)


def first(session: Session, rounds: Rounds, told: Callable[[Any], None] = lambda _: None) -> int:
    """Count everybody."""
    return _counted(session, rounds, "age >= 0", told)


def second(session: Session, rounds: Rounds, people: int, told: Callable[[Any], None] = lambda _: None) -> int:
    """Count those above an age that the number of people decides."""
    return _counted(session, rounds, f"age > {people % 50}", told)


def third(session: Session, rounds: Rounds, people: int, old: int, told: Callable[[Any], None] = lambda _: None) -> int:
    """Count those in a range that both decide."""
    return _counted(session, rounds, f"age between {people % 50} and {50 + old % 40}", told)


def all_three(session: Session, rounds: Rounds, told: Callable[[Any], None] = lambda _: None) -> list[int]:
    """Draw one round after the other, or read back what was drawn; `told` hears of each draw, as it happens."""
    people = first(session, rounds, told)
    old = second(session, rounds, people, told)
    return [people, old, third(session, rounds, people, old, told)]


def _counted(session: Session, rounds: Rounds, where: str, told: Callable[[Any], None]) -> int:
    aggregate = plan(lw.count("patients", where), session.population).aggregate

    def draw(reader: RoundReader) -> int:
        drawn = int(COUNT.release(reader.number(aggregate)))
        told((where, drawn))
        return drawn

    released: int = rounds.round({"where": where}, draw)
    return released
