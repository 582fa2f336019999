"""How an explorer's model learns an answer that was paid for: its weights are tilted until it gives that answer.

Weights inside the cohort are multiplied by one number and those outside by another, so that the people of the model
stay as many: of all models that give the answer, it is the one that is least different in relative entropy. It reads
released numbers only, and is the same on every machine: each weight is one multiplication, rounded down.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from lapwing.publishing.population_model import UNIT, PopulationModel

_FEWEST: Final = 1
"""Units that a cohort keeps, and that are kept outside: what was nobody once could never be anybody again."""


def taught(model: PopulationModel, box: Mapping[int, Sequence[bool]], people: int) -> PopulationModel:
    """Return the model after it has learned how many people are in a box; unchanged, if no row of it is there.

    >>> rows = np.array([[0, 0, 1], [0, 1, 1]], np.uint8)
    >>> model = PopulationModel((2, 2), rows, np.array([2048, 1024, 1024]))
    >>> taught(model, {0: [True, False]}, 2).weights.tolist()
    [1365, 682, 2048]
    """
    inside = np.ones(model.rows.shape[1], dtype=bool)
    for column, meant in box.items():
        inside &= np.array(meant, dtype=bool)[model.rows[column]]
    whole = int(model.weights.sum())
    now = int(model.weights[inside].sum())
    wanted = min(max(people * UNIT, _FEWEST), whole - _FEWEST)
    if not 0 < now < whole:
        return model
    factors = np.where(inside, wanted / now, (whole - wanted) / (whole - now))
    return PopulationModel(model.codes, model.rows, np.floor(model.weights * factors).astype(np.int64))


def taught_all(model: PopulationModel, answers: Iterable[tuple[Mapping[int, Sequence[bool]], int]]) -> PopulationModel:
    """Return the model after all answers, in the order in which they were committed."""
    for box, people in answers:
        model = taught(model, box, people)
    return model
