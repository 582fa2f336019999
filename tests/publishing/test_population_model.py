"""A model: exact sums, one function for every count, and rows that follow from the seed."""

import numpy as np
import pytest

from lapwing.publishing.population_model import MOST_ROWS, UNIT, PopulationModel, in_people, whole_weights
from lapwing.vocabulary.errors import BadQuestionError

CODES = (3, 4, 2, 5)


@pytest.fixture(scope="module")
def model():
    drawn = np.random.default_rng(5)
    rows = np.stack([drawn.integers(0, codes, 4000) for codes in CODES]).astype(np.uint8)
    return PopulationModel(CODES, rows, drawn.integers(0, 3 * UNIT, 4000))


def boxes(many, seed=6):
    drawn = np.random.default_rng(seed)
    for _ in range(many):
        axes = sorted(drawn.choice(len(CODES), drawn.integers(0, 5), replace=False).tolist())
        yield {a: (drawn.random(CODES[a]) < 0.6).tolist() for a in axes}


def by_hand(model, box):
    inside = np.ones(model.rows.shape[1], bool)
    for a, meant in box.items():
        inside &= np.array(meant)[model.rows[a]]
    return (int(model.weights[inside].sum()) + UNIT // 2) // UNIT


def test_counts_of_boxes_are_those_of_the_rows_in_them(model) -> None:
    asked = list(boxes(200))
    found = model.counts(asked).tolist()
    assert found == [by_hand(model, box) for box in asked]
    assert found == [model.count(box) for box in asked], "one function, one by one or together"
    fresh = PopulationModel(model.codes, model.rows, model.weights)
    assert found[7] == fresh.count(asked[7]), "what was asked before changes nothing"


def test_a_table_is_the_sum_of_any_wider_one(model) -> None:
    pair, whole = model.units((1, 3)), model.units((0, 1, 2, 3))
    assert (pair == whole.sum(axis=(0, 2))).all()
    assert model.marginal(()).item() * UNIT == model.weights.sum()


def test_a_box_of_cells_is_rounded_once_and_not_cell_by_cell() -> None:
    """A thousand cells of 0.4 people are 400 people."""
    rows = np.indices((10, 100), np.uint8).reshape(2, -1)
    model = PopulationModel((10, 100), rows, np.full(1000, int(0.4 * UNIT)))
    assert model.count({0: [True] * 10}) == 399
    assert model.people == 399
    assert int(in_people(model.units((0, 1))).sum()) == 0, "what a sum of rounded cells would say"


def test_equal_rows_have_each_row_as_often_as_its_weight_says(model) -> None:
    count = 1500
    drawn = model.equal_rows(count)
    assert drawn.shape == (4, count)
    wanted = model.units((0, 1, 2, 3)) * count / model.weights.sum()
    found = PopulationModel(CODES, drawn, np.full(count, UNIT)).marginal((0, 1, 2, 3))
    assert np.abs(found - wanted).max() < 1, "equal rows stand together in a lexicographic order"
    assert (model.equal_rows(count) == drawn).all()
    assert not (model.equal_rows(count, "another") == drawn).all()
    assert model.equal_rows(0).shape == (4, 0)


def test_very_many_units_do_not_wrap_around() -> None:
    rows = np.array([[0, 1]], np.uint8)
    model = PopulationModel((2,), rows, np.array([1 << 51, 1 << 51]))
    assert np.bincount(model.equal_rows(5000)[0]).tolist() == [2500, 2500]


def test_weights_add_up_and_follow_the_shares() -> None:
    weights = whole_weights(np.array([1.0, 1.0, 1.0]), 100)
    assert weights.sum() == 100 * UNIT
    assert weights.max() - weights.min() == 1
    assert whole_weights(np.array([0.5, 0.25, 0.25]), 4).tolist() == [2 * UNIT, UNIT, UNIT]


def test_models_that_say_the_same_have_one_digest(model) -> None:
    assert model.digest == PopulationModel(CODES, model.rows.copy(), model.weights.copy()).digest
    heavier = model.weights.copy()
    heavier[17] += 1
    assert model.digest != PopulationModel(CODES, model.rows, heavier).digest


def test_what_is_no_box_and_what_is_too_much_is_refused(model) -> None:
    with pytest.raises(BadQuestionError, match="which of its 3 codes"):
        model.count({0: [True]})
    with pytest.raises(BadQuestionError, match="column 9"):
        model.count({9: [True]})
    with pytest.raises(BadQuestionError, match="weights=True"):
        model.equal_rows(MOST_ROWS + 1)
