"""What somebody who publishes does before they are killed; every table that is read is told through a pipe."""

import os
from multiprocessing.connection import Connection
from typing import Any

from lapwing.ledger.ledger import Ledger
from lapwing.ledger.store import VARIABLE
from lapwing.vocabulary.errors import LapwingError
from lapwing.vocabulary.exact import Sensitive
from ledger.clinic import Place
from session.clinic import FixedNumber, door

PRICE = "0.01"


class ToldOf(FixedNumber):
    """An engine that tells of every table that is read."""

    def __init__(self, pipe: Connection | None) -> None:
        super().__init__(1000)
        self._pipe = pipe

    def in_sets(self, aggregate: Any) -> list[Sensitive[tuple[int, ...]]]:
        if self._pipe is not None:
            self._pipe.send(("read", len(aggregate.keys)))
        return super().in_sets(aggregate)

    def vector(self, aggregate: Any) -> Sensitive[tuple[int, ...]]:
        if self._pipe is not None:
            self._pipe.send(("read", len(aggregate.keys)))
        return super().vector(aggregate)


def publish(pipe: Connection, place: Place, fault: str, key: str) -> None:
    """Publish, and die on the way."""
    os.environ[VARIABLE] = fault
    with place.open() as ledger:
        pipe.send(("told", published(ledger, key, pipe)))


def published(ledger: Ledger, key: str | None, pipe: Connection | None = None) -> Any:
    """Publish under a key, and return the released numbers, or the name of the error."""
    clinic = door(ledger, ToldOf(pipe))
    try:
        return clinic.publish("patients", ["sex", "survivor"], epsilon=PRICE, key=key).released
    except LapwingError as error:
        return type(error).__name__
