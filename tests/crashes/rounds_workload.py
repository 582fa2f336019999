"""What a guest of three rounds does before it is killed, and what may be said afterwards.

The process tells through a pipe each noise that it draws, at the moment it is drawn, and what comes back in the end.
"""

import os
from multiprocessing.connection import Connection
from typing import Any

from lapwing.ledger.ledger import Ledger
from lapwing.ledger.store import VARIABLE
from lapwing.vocabulary.errors import LapwingError
from ledger.clinic import Place
from ledger.three_rounds import ENDS, all_three, reserve
from session.clinic import FixedNumber, door

PEOPLE = 1000


def draw_three(pipe: Connection, place: Place, fault: str, key: str) -> None:
    """Draw three rounds, and die on the way."""
    os.environ[VARIABLE] = fault
    with place.open() as ledger:
        pipe.send(("told", *outcome(ledger, key, pipe)))


def outcome(ledger: Ledger, key: str, pipe: Connection | None = None, kind: Any = ENDS) -> tuple[list[Any], str]:
    """Run the guest to its end, and return what was committed, and how it ended."""
    clinic = door(ledger, FixedNumber(PEOPLE))
    rounds = reserve(clinic, key, kind)
    try:
        with rounds:
            all_three(clinic, rounds, (lambda one: pipe.send(("drawn", *one))) if pipe else lambda _: None)
    except LapwingError as error:
        return rounds.committed, type(error).__name__
    return rounds.committed, "done"


def race_for_rounds(pipe: Connection, place: Place, start: Any, number: int) -> None:
    """Run the same guest as all others, at the same moment; tell what was drawn here, and what came of it."""
    del number
    drawn: list[Any] = []
    with place.open() as ledger:
        clinic = door(ledger, FixedNumber(PEOPLE))
        start.wait(60)
        rounds = reserve(clinic, "the same")
        told = all_three(clinic, rounds, drawn.append)
    pipe.send((drawn, told))
