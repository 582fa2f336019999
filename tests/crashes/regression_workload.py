"""What somebody who fits a regression does before they are killed; every round that reads is told through a pipe."""

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
FORMULA = "bmi ~ age + sex"


class ToldOfRows(FixedNumber):
    """An engine that tells of every time that rows are read."""

    def __init__(self, pipe: Connection | None) -> None:
        super().__init__(200)
        self._pipe = pipe

    def people(self, aggregate: Any) -> Sensitive[Any]:
        if self._pipe is not None:
            self._pipe.send(("read", aggregate.terms))
        return super().people(aggregate)


def regress(pipe: Connection, place: Place, fault: str, key: str) -> None:
    """Fit a regression, and die on the way."""
    os.environ[VARIABLE] = fault
    with place.open() as ledger:
        pipe.send(("told", fitted(ledger, key, pipe)))


def fitted(ledger: Ledger, key: str | None, pipe: Connection | None = None) -> Any:
    """Fit under a key, and return the table, or the name of the error."""
    clinic = door(ledger, ToldOfRows(pipe))
    try:
        return clinic.regress("patients", FORMULA, rho=PRICE, key=key).table
    except LapwingError as error:
        return type(error).__name__
