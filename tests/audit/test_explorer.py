"""A whole explorer watched from outside, on a small table: what is true stands, and plausible mistakes do not."""

from fractions import Fraction

import numpy as np
import pytest

from lapwing.auditor.black_box import audit
from lapwing.mechanisms.sparse_vector.corridor import Corridor
from lapwing.mechanisms.sparse_vector.value_sensitivity import ValueSensitivity
from lapwing.publishing.explorer_learning import taught
from lapwing.publishing.population_model import UNIT, PopulationModel
from lapwing.vocabulary.guarantee import Adjacency, PureDP

ROWS = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], np.uint8)
FEW, MORE = [3, 0, 6, 1], [3, 0, 7, 1]
"""People in each of four cells, and one person more."""
BOXES = [{0: [True, False]}, {0: [False, True]}, {1: [True, False]}, {0: [False, True], 1: [True, False]}]
SENSITIVITY = ValueSensitivity.of_counts(Adjacency.ADD_REMOVE)
DRAWS = 1_500


def corridor(**more):
    words = {"half_width": 2, "yeses": 2, "opening": "1/2", "yes": "1/2", "number": "1/4", **more}
    return Corridor(sensitivity=SENSITIVITY, **words)


def explore(cells, mechanism, answer=lambda told, _: told.number):
    """Ask four cohorts one after the other, guessed by a model that learns; return all that is told."""
    model = PopulationModel((2, 2), ROWS, np.full(4, 2 * UNIT))
    told = np.full(len(BOXES), -100)
    with mechanism.open() as stream:
        for place, box in enumerate(BOXES):
            if stream.yeses == mechanism.yeses:
                break
            inside = np.logical_and.reduce([np.array(meant)[ROWS[column]] for column, meant in box.items()])
            count = int(np.array(cells)[inside].sum())
            one = stream.ask(count, model.count(box) + mechanism.half_width)
            told[place] = -50
            if one:
                told[place] = int(answer(one, count))
                model = taught(model, box, max(0, int(told[place])))
    return told


def found(claim, **how):
    mechanism = how.pop("mechanism", corridor())
    return audit(
        lambda cells: explore(cells, mechanism, **how),
        claim=PureDP(epsilon=claim),
        neighbours=(FEW, MORE),
        samples=DRAWS,
    )


def test_an_explorer_keeps_its_promise() -> None:
    assert corridor().epsilon == 2
    assert not found(2).refuted


@pytest.mark.parametrize(
    ("claim", "lie"),
    [
        (Fraction(2), {"answer": lambda _, count: count}),
        (Fraction(1, 2), {"mechanism": corridor(yes="3", number="3")}),
    ],
    ids=["a yes is answered with the exact count", "noes are paid, and yeses are said to be free"],
)
def test_plausible_mistakes_are_seen(claim, lie) -> None:
    assert found(claim, **lie).refuted
