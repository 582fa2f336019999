"""Networks in whole numbers: true gradients up to their grid, and the same for a person whoever else is there."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.learning.features import ONE, CodedInput, NumberInput
from lapwing.learning.networks import (
    ERROR_BITS,
    GRADIENT_BITS,
    LARGEST_WEIGHT,
    MOST_WEIGHTS,
    WEIGHT_BITS,
    LayeredNetwork,
    Output,
    read_network,
    whole_weights,
)
from lapwing.mechanisms.private_gradients import NumpyArrays
from lapwing.vocabulary.errors import BadQuestionError

NUMPY = NumpyArrays()
TRUTH = CodedInput(name="ill", labels=(False, True), nullable=False)
SITES = CodedInput(name="site", labels=("a", "b", "c"), nullable=True)
AMOUNT = NumberInput(name="bmi", low=10, step=1, extent=50, nullable=False)
NETWORKS = [
    LayeredNetwork(output=output, widths=(4, *hidden, 3 if output is Output.CLASSES else 1))
    for output in Output
    for hidden in ((), (5,), (6, 3))
]


def loss(network, weights, row):
    """Return the loss of one person, in floats."""
    said, target = network.outputs(weights, row[None, :-1])[0], row[-1]
    match network.output:
        case Output.NUMBER:
            return (said[0] - target / ONE) ** 2 / 2
        case Output.TRUTH:
            return -math.log(said[0] if target else 1 - said[0])
        case Output.CLASSES:
            return -math.log(said[target])


def some_rows(network, people, rng):
    inputs = np.hstack([rng.integers(-ONE, ONE + 1, (people, 3)), np.full((people, 1), ONE)])
    most = {Output.NUMBER: ONE, Output.TRUTH: 1, Output.CLASSES: 2}[network.output]
    return np.hstack([inputs, rng.integers(0, most + 1, (people, 1))])


def some_weights(network, rng):
    return [np.rint(rng.normal(0, 0.7, shape) * 2**WEIGHT_BITS) / 2**WEIGHT_BITS for shape in network.shapes]


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_gradients_are_the_slopes_of_the_loss(network) -> None:
    rng = np.random.default_rng(3)
    weights, rows, tiny = some_weights(network, rng), some_rows(network, 6, rng), 1e-5
    factors = network.gradients_at(weights, NUMPY)(rows)
    for i, row in enumerate(rows):
        for layer, one in enumerate(factors):
            found = np.outer(one.errors[i], one.inputs[i]) / 2**GRADIENT_BITS
            for place in [(0, 0), (found.shape[0] - 1, found.shape[1] - 1), (0, found.shape[1] // 2)]:
                moved = [[one.copy() for one in weights] for _ in range(2)]
                for side, sign in enumerate((1, -1)):
                    moved[side][layer][place] += sign * tiny
                slope = (loss(network, moved[0], row) - loss(network, moved[1], row)) / (2 * tiny)
                assert abs(found[place] - slope) < 0.01


@given(st.integers(0, 10**6), st.sampled_from(NETWORKS), st.floats(0.1, 1e4))
def test_a_person_has_the_same_factors_in_every_batch(seed, network, size) -> None:
    rng = np.random.default_rng(seed)
    weights, rows = [size * one for one in some_weights(network, rng)], some_rows(network, 37, rng)
    factors = network.gradients_at(weights, NUMPY)
    together, order = factors(rows), rng.permutation(37)
    alone, shuffled = [factors(rows[i : i + 1]) for i in range(37)], factors(rows[order])
    for layer, one in enumerate(together):
        for part in (0, 1):
            assert (one[part] == np.vstack([each[layer][part] for each in alone])).all()
            assert (one[part][order] == shuffled[layer][part]).all()


@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_the_largest_weights_and_inputs_are_still_whole(network) -> None:
    weights = [np.full(shape, 1e9) for shape in network.shapes]
    assert all((one == LARGEST_WEIGHT).all() for one in whole_weights(weights, NUMPY))
    rows = np.full((3, 5), ONE)
    rows[:, -1] = 0
    for one in network.gradients_at(weights, NUMPY)(rows):
        assert np.abs(one.errors).max() <= 16 * 2**ERROR_BITS
        assert np.abs(one.inputs).max() <= ONE


def test_weights_that_are_no_numbers_are_zero() -> None:
    (layer,) = whole_weights([np.array([[np.nan, 1.0]])], NUMPY)
    assert layer.tolist() == [[0, 2**WEIGHT_BITS]]


def test_the_widest_layers_stay_below_two_to_the_53() -> None:
    wide = LayeredNetwork(output=Output.CLASSES, widths=(4096, 1024, 500))
    assert wide.widths[0] * LARGEST_WEIGHT * ONE < 2**53
    assert wide.widths[1] * LARGEST_WEIGHT * 2**22 < 2**53


@pytest.mark.parametrize(
    ("model", "target", "widths"),
    [
        ("logistic", TRUTH, (7, 1)),
        ("softmax", TRUTH, (7, 2)),
        ("softmax", SITES, (7, 3)),
        ("linear", AMOUNT, (7, 1)),
        ("dense(64, 32)", SITES, (7, 64, 32, 3)),
        ("dense(8)", AMOUNT, (7, 8, 1)),
    ],
)
def test_architectures_have_names(model, target, widths) -> None:
    network = read_network(model, 7, target)
    assert network.widths == widths
    assert network.weights == sum(one.size for one in network.start()) <= MOST_WEIGHTS


@pytest.mark.parametrize(
    ("model", "target", "said"),
    [
        ("linear", TRUTH, 'model="logistic"'),
        ("logistic", SITES, 'model="softmax"'),
        ("softmax", AMOUNT, 'model="linear"'),
        ("forest", TRUTH, "is not known"),
        (7, TRUTH, "is not known"),
        ("dense()", TRUTH, "is not known"),
        ("dense(0)", TRUTH, "each of 1 to 1,024"),
        ("dense(9999)", TRUTH, "each of 1 to 1,024"),
        ("dense(1,1,1,1,1,1,1,1)", TRUTH, "at most 7 layers"),
        ("dense(1000, 1000)", TRUTH, "more than 100,000"),
        ("logistic", CodedInput(name="x", labels=("a",), nullable=False), "nothing to learn"),
    ],
)
def test_models_that_do_not_fit_are_refused(model, target, said) -> None:
    with pytest.raises(BadQuestionError) as refused:
        read_network(model, 7, target)
    assert said in str(refused.value)


def test_hidden_layers_do_not_begin_alike() -> None:
    first, last = LayeredNetwork(output=Output.TRUTH, widths=(5, 16, 1)).start()
    assert len(np.unique(first)) == first.size
    assert not last.any()
