"""What needs PyTorch: the same whole numbers on a device as on NumPy, and modules of a custodian.

It runs by `make test-learning`, in an environment of its own; `make test` does not collect it.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from lapwing.learning.descent import Descent, Progress
from lapwing.learning.devices import arrays_on
from lapwing.learning.features import ONE, CodedInput, NumberInput
from lapwing.learning.model import load_model
from lapwing.learning.modules import GRADIENT_BITS_OF_MODULES, ModuleLearner
from lapwing.learning.networks import GRADIENT_BITS, LayeredNetwork, Output
from lapwing.mechanisms.private_gradients import NumpyArrays, PrivateGradients, clip_errors
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.guarantee import ApproximateDP
from session.clinic import FixedNumber, door, new_ledger

NUMPY = NumpyArrays()
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
TRUTH = CodedInput(name="ill", labels=(False, True), nullable=False)
SITES = CodedInput(name="site", labels=("a", "b", "c"), nullable=True)
AMOUNT = NumberInput(name="bmi", low=Fraction(10), step=Fraction(1), extent=50, nullable=False)
NETWORKS = [
    LayeredNetwork(output=output, widths=(9, *hidden, 3 if output is Output.CLASSES else 1))
    for output in Output
    for hidden in ((), (64,), (33, 17))
]


def some_rows(output: Output, people: int, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    most = {Output.NUMBER: ONE, Output.TRUTH: 1, Output.CLASSES: 2}[output]
    inputs = rng.integers(-ONE, ONE + 1, (people, 8))
    return np.hstack([inputs, np.full((people, 1), ONE), rng.integers(0, most + 1, (people, 1))])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_a_device_computes_the_whole_numbers_of_numpy(network: LayeredNetwork, device: str) -> None:
    rng, on, rows = np.random.default_rng(2), arrays_on(device), some_rows(network.output, 1500)
    weights = [rng.normal(0, 3, shape) for shape in network.shapes]
    here, there = network.gradients_at(weights, NUMPY)(rows), network.gradients_at(weights, on)(on.here(rows))
    for one, other in zip(here, there, strict=True):
        assert (one.errors == on.host(other.errors)).all()
        assert (one.inputs == on.host(other.inputs)).all()
    for clip in (1000, 1 << 27):
        parts = zip(clip_errors(here, clip, NUMPY), clip_errors(there, clip, on), strict=True)
        assert all((one == on.host(other)).all() for one, other in parts)
    mechanism = PrivateGradients(rate=Fraction(1), sigma_squared=Fraction(1, 2**56), clip=1 << 28)
    sums = mechanism.release(rows, network.gradients_at(weights, NUMPY), network.shapes, NUMPY)
    others = mechanism.release(Sensitive(on.here(rows)), network.gradients_at(weights, on), network.shapes, on)
    assert all(np.abs(one - other).max() <= 16 for one, other in zip(sums, others, strict=True)), "noise of sigma 1"


@pytest.mark.parametrize("device", DEVICES)
def test_a_sample_on_a_device_is_learned_from(device: str) -> None:
    on, network = arrays_on(device), LayeredNetwork(output=Output.TRUTH, widths=(9, 16, 1))
    rows = some_rows(Output.TRUTH, 4000)
    rows[:, -1] = rows[:, 0] > rows[:, 1]
    mechanism = PrivateGradients(rate=Fraction(1, 10), sigma_squared=Fraction(1), clip=1 << 27)
    descent = Descent(
        mechanism=mechanism,
        steps=100,
        step_size=Fraction(1),
        momentum=Fraction(9, 10),
        expected=Fraction(400),
        bits=GRADIENT_BITS,
    )
    after = descent.run(network, Sensitive(on.here(rows)), Progress.begin(network), 100, on)
    assert ((network.outputs(after.mean, rows[:, :-1])[:, 0] > 0.5) == rows[:, -1]).mean() > 0.9


def linear(outputs: int = 1) -> nn.Module:
    torch.manual_seed(4)
    return nn.Linear(8, outputs)


@pytest.mark.parametrize(
    ("output", "target"), [(Output.NUMBER, AMOUNT), (Output.TRUTH, TRUTH), (Output.CLASSES, SITES)]
)
def test_a_module_has_the_gradients_of_the_network_that_it_is(output: Output, target: Any) -> None:
    outputs, rows = 3 if output is Output.CLASSES else 1, some_rows(output, 40)
    learner = ModuleLearner.of(linear(outputs), 8, target)
    (weights,) = learner.start()
    network = LayeredNetwork(output=output, widths=(9, outputs))
    own = np.hstack([weights[: 8 * outputs].reshape(outputs, 8), weights[8 * outputs :].reshape(outputs, 1)])
    (found,), (exact,) = learner.gradients_at([weights], NUMPY)(rows), network.gradients_at([own], NUMPY)(rows)
    for i in range(40):
        outer = np.outer(exact.errors[i], exact.inputs[i]) / 2**GRADIENT_BITS
        wanted = np.concatenate([outer[:, :8].ravel(), outer[:, 8]])
        length = max(1.0, np.linalg.norm(wanted) / 4)
        assert np.abs(found.errors[i] / 2**GRADIENT_BITS_OF_MODULES - wanted / length).max() < 0.01
    assert (learner.outputs([weights], rows[:, :-1]) - network.outputs([own], rows[:, :-1]) < 1e-9).all()


def test_a_person_has_the_same_gradient_alone_and_among_others() -> None:
    module = nn.Sequential(nn.Linear(8, 12), nn.LayerNorm(12), nn.ReLU(), nn.Linear(12, 1))
    learner, rows = ModuleLearner.of(module, 8, TRUTH), some_rows(Output.TRUTH, 30)
    factors = learner.gradients_at(learner.start(), NUMPY)
    together = factors(rows)[0].errors
    assert all((factors(rows[i : i + 1])[0].errors[0] == together[i]).all() for i in range(30))
    assert (factors(rows[::-1])[0].errors[::-1] == together).all()


class Bottomless(nn.Module):
    """A module whose slope is no number for some people."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1, 1))

    def forward(self, x: Any) -> Any:
        return torch.sqrt(x[:, :1] * self.weight)


def test_what_is_no_number_adds_nothing() -> None:
    rows = np.array([[ONE, *[0] * 7, ONE, 1], [-ONE, *[0] * 7, ONE, 1], [0, *[0] * 7, ONE, 1]])
    learner = ModuleLearner.of(Bottomless(), 8, TRUTH)
    found = learner.gradients_at(learner.start(), NUMPY)(rows)[0].errors[:, 0]
    assert found[0] != 0
    assert found[1:].tolist() == [0, 0]


def test_layers_that_mix_people_are_refused() -> None:
    for mixing in (nn.BatchNorm1d(4), nn.SyncBatchNorm(4)):
        with pytest.raises(BadQuestionError, match="mixes the people"):
            ModuleLearner.of(nn.Sequential(nn.Linear(8, 4), mixing, nn.Linear(4, 1)), 8, TRUTH)


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (nn.Linear(5, 1), "does not take 8 inputs"),
        (nn.Linear(8, 2), "gives \\(2,\\) outputs"),
        (nn.Linear(8, 20_000), "weights, and each gets noise"),
        (nn.Identity(), "weights, and each gets noise"),
        (object(), "give a module of PyTorch"),
        (nn.Linear, "give a module of PyTorch"),
    ],
)
def test_modules_that_do_not_fit_are_refused(module: Any, said: str) -> None:
    with pytest.raises(BadQuestionError, match=said):
        ModuleLearner.of(module, 8, TRUTH)


def test_devices_that_are_not_there_are_refused() -> None:
    for device in ("abacus", *([] if torch.cuda.is_available() else ["cuda"])):
        with pytest.raises(BadQuestionError, match="none on which PyTorch has float64"):
            arrays_on(device)


class NoWayBack(torch.autograd.Function):
    """A function that has no slope."""

    @staticmethod
    def forward(x: Any) -> Any:
        return x.clone()

    @staticmethod
    def setup_context(*_: Any) -> None:
        pass

    @staticmethod
    def backward(*_: Any) -> Any:
        raise NotImplementedError("there is no way back")


class OneWay(nn.Linear):
    """A module that says something, and cannot be trained."""

    def forward(self, x: Any) -> Any:
        return NoWayBack.apply(super().forward(x))


def test_a_module_that_cannot_be_trained_is_refused_before_the_charge(tmp_path: Any) -> None:
    with new_ledger(tmp_path, ApproximateDP(epsilon=5, delta="1e-6")) as ledger:
        before = ledger.head()
        words: Any = {"target": "survivor", "features": ["age"], "people": 1000, "epsilon": 4}
        with pytest.raises(BadQuestionError, match="there is no way back; nothing was charged"):
            door(ledger, People(1000)).train("patients", model=OneWay(1, 1), **words)
        assert ledger.head() == before


class People(FixedNumber):
    """An engine of a thousand people: those above 50 are survivors."""

    def people(self, aggregate: Any) -> Sensitive[Any]:
        del aggregate
        return Sensitive(np.array([[i % 100, int(i % 100 > 50)] for i in range(self._number)], np.int64))


@pytest.mark.parametrize(
    "model", ["dense(8)", nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1))], ids=["named", "module"]
)
def test_training_at_the_door_with_a_device_or_a_module(model: Any, tmp_path: Any) -> None:
    before = None if isinstance(model, str) else [one.clone() for one in model.parameters()]
    with new_ledger(tmp_path, ApproximateDP(epsilon=5, delta="1e-6")) as ledger:
        clinic = door(ledger, People(1000))
        device = {"device": "cpu"} if isinstance(model, str) else {}
        words: Any = {"target": "survivor", "features": ["age"], "model": model, "people": 1000, "epsilon": 4}
        trained = clinic.train("patients", epochs=4, rate="1/10", step_size=1, **words, **device)
    assert trained.predict({"age": [1, 99]}) == [False, True]
    place = trained.save(tmp_path / "model.json")
    loaded = load_model(place, None if isinstance(model, str) else model)
    assert (loaded.probabilities({"age": [30, 60]}) == trained.probabilities({"age": [30, 60]})).all()
    if before is not None:
        assert all((a == b).all() for a, b in zip(before, model.parameters(), strict=True)), "it is left as it was"
        with pytest.raises(BadQuestionError, match="module"):
            load_model(place)
