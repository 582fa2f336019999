"""What somebody who trains does before they are killed; every part that reads people is told through a pipe."""

import os
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from lapwing.ledger.ledger import Ledger
from lapwing.ledger.store import VARIABLE
from lapwing.vocabulary.errors import LapwingError
from lapwing.vocabulary.exact import Sensitive
from ledger.clinic import Place
from session.clinic import FixedNumber, door

RHO = "0.01"


class ToldOfPeople(FixedNumber):
    """An engine of ten people that tells of every time that they are read."""

    def __init__(self, pipe: Connection | None) -> None:
        super().__init__(10)
        self._pipe = pipe

    def people(self, aggregate: Any) -> Sensitive[Any]:
        if self._pipe is not None:
            self._pipe.send(("read", len(aggregate.bounding.terms)))
        return Sensitive(np.array([[age, age % 2] for age in range(10)], np.int64))


def train(pipe: Connection, place: Place, fault: str, key: str) -> None:
    """Train, and die on the way."""
    os.environ[VARIABLE] = fault
    with place.open() as ledger:
        pipe.send(("told", trained(ledger, key, pipe)))


def trained(ledger: Ledger, key: str | None, pipe: Connection | None = None) -> Any:
    """Train in three parts of one step under a key; return the weights and what was lost, or the name of the error."""
    clinic = door(ledger, ToldOfPeople(pipe))
    words: Any = {"target": "survivor", "features": ["age"], "people": 10, "rho": RHO, "epochs": 3}
    try:
        model = clinic.train("patients", key=key, **words)
    except LapwingError as error:
        return type(error).__name__
    return [one.tolist() for one in model.weights], model.lost
