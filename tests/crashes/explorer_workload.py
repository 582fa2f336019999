"""What somebody who explores does before they are killed; whatever is told goes through a pipe."""

import os
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from lapwing.ledger.ledger import Ledger
from lapwing.ledger.store import VARIABLE
from lapwing.publishing.certificate import Modelled
from lapwing.publishing.codes import read_columns
from lapwing.publishing.population_model import UNIT, PopulationModel
from ledger.clinic import Place
from session.clinic import FixedNumber, door, population

WORDS = {"checks": "1/10", "half_width": 400, "yeses": 3}
NEAR, FAR = "survivor", "sex = 'F'"
PEOPLE = 1000


def model() -> Modelled:
    """Return a model of the truth, 1,000 survivors, and of 8,000 women, who are 1,000."""
    columns = read_columns("patients", ["sex", "survivor"], population())
    rows = np.array([[0, 1, 2], [1, 0, 0]], np.uint8)
    weights = np.array([1000, 4000, 1000]) * UNIT
    fitted = PopulationModel([len(one) for one in columns], rows, weights)
    return Modelled(table="patients", columns=tuple(columns), model=fitted, versions={"patients": 1})


def explore(pipe: Connection, place: Place, fault: str, key: str) -> None:
    """Explore, and die on the way."""
    os.environ[VARIABLE] = fault
    with place.open() as ledger:
        for one in explored(ledger, key):
            pipe.send(one)


def explored(ledger: Ledger, key: str) -> Any:
    """Ask two questions, one by one and then at once; yield what is told, and what the model is at the end."""
    explorer = door(ledger, FixedNumber(PEOPLE)).explorer(model=model(), key=key, **WORDS)
    yield "alone", told(explorer.count("sex = 'M'"))
    yield "together", [told(one) for one in explorer.count_many(["sex = 'M' and survivor", "not survivor"])]
    yield "model", explorer.model.digest, explorer.paid_answers_left
    explorer.close()


def told(counted: Any) -> tuple[int, bool]:
    """Return what was told of one cohort."""
    return counted.people, counted.checked
