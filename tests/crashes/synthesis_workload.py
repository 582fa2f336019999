"""What somebody who synthesizes does before they are killed; every table that is read is told through a pipe."""

import os
from multiprocessing.connection import Connection
from typing import Any

from crashes.publication_workload import PRICE, ToldOf
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.store import VARIABLE
from lapwing.vocabulary.errors import LapwingError
from ledger.clinic import Place
from session.clinic import door


def synthesize(pipe: Connection, place: Place, fault: str, key: str) -> None:
    """Synthesize, and die on the way."""
    os.environ[VARIABLE] = fault
    with place.open() as ledger:
        pipe.send(("told", synthesized(ledger, key, pipe)))


def synthesized(ledger: Ledger, key: str | None, pipe: Connection | None = None) -> Any:
    """Synthesize under a key, and return the released numbers and the model, or the name of the error."""
    clinic = door(ledger, ToldOf(pipe))
    try:
        made = clinic.synthesize("patients", ["sex", "survivor"], epsilon=PRICE, key=key)
    except LapwingError as error:
        return type(error).__name__
    return [made.released, made.model.digest]
