"""What holds for every mechanism, whatever it does: one shape, exact parameters, no leak."""

import math
import traceback
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, fields
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from lapwing.mechanisms.exponential import ExponentialMechanism, ExponentialOnRange
from lapwing.mechanisms.gaussian import DiscreteGaussianMechanism, GaussianMechanism
from lapwing.mechanisms.histogram import gaussian_histogram, geometric_histogram
from lapwing.mechanisms.laplace import GeometricMechanism, LaplaceMechanism
from lapwing.mechanisms.multiplicative_weights.dual_query import DualQuery
from lapwing.mechanisms.multiplicative_weights.mwem import MWEM
from lapwing.mechanisms.multiplicative_weights.online import OnlineMultiplicativeWeights
from lapwing.mechanisms.permute_and_flip import NoisyMaxWithGap, PermuteAndFlip
from lapwing.mechanisms.randomized_response import RandomizedResponse
from lapwing.mechanisms.residual_basis import ResidualMechanism
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import GaussianNoise, checked_event
from lapwing.vocabulary.exact import Sensitive
from lapwing.vocabulary.guarantee import Adjacency, PrivacyUnit


@dataclass(frozen=True)
class Case:
    """One mechanism: how it is built but for its noise, a value it releases, and the ways to say its noise."""

    build: Callable[..., Any]
    value: Any
    fixed: dict[str, Any]
    ways: tuple[dict[str, Any], ...]
    margin: dict[str, Any]
    wrong_type: Any = "17"


ACCURACY = {"within": 20, "confidence": "0.95"}
PURE = ({"epsilon": "0.5"}, {"scale": 4}, ACCURACY)
GAUSSIAN = ({"rho": "0.01"}, {"epsilon": 1, "delta": "1e-6"}, ACCURACY)
CHOICE = ({"epsilon": "0.5"}, ACCURACY)
ON_RANGE = partial(ExponentialOnRange, low=4, high=6)  # any whole number may begin or end a range
CASES = {
    "geometric": Case(GeometricMechanism, 17, {"l1_sensitivity": 1}, PURE, {}),
    "geometric vector": Case(GeometricMechanism, [3, 1, 2], {"l1_sensitivity": 2}, PURE, {"values": 3}),
    "laplace": Case(LaplaceMechanism, 17.25, {"l1_sensitivity": "0.3"}, PURE, {}),
    "laplace vector": Case(
        LaplaceMechanism, np.array([0.5, 2.0]), {"l1_sensitivity": 2, "dimension": 2}, PURE, {"values": 2}
    ),
    "discrete gaussian": Case(
        DiscreteGaussianMechanism, 17, {"l2_sensitivity": 1}, (*GAUSSIAN, {"sigma_squared": 50}), {}
    ),
    "gaussian": Case(GaussianMechanism, Fraction(1, 3), {"l2_sensitivity": "0.3"}, (*GAUSSIAN, {"sigma": 5}), {}),
    "exponential": Case(ExponentialMechanism, [1, 5, 2], {"sensitivity": 1, "candidates": 3}, CHOICE, {}),
    "exponential on a range": Case(ON_RANGE, [1, 5, 2], {"sensitivity": 1}, CHOICE, {}),
    "permute and flip": Case(PermuteAndFlip, (1, 5, 2), {"sensitivity": 1, "candidates": 3}, CHOICE, {}),
    "noisy max": Case(NoisyMaxWithGap, np.array([1, 5, 2]), {"sensitivity": 1, "candidates": 3}, CHOICE, {}),
    "randomized response": Case(
        RandomizedResponse, 1, {"categories": 3}, ({"epsilon": 1}, ACCURACY | {"people": 100}), {"people": 100}
    ),
    "geometric histogram": Case(
        geometric_histogram,
        [4, 0, 9],
        {"bins": 3, "adjacency": Adjacency.REPLACE},
        ({"epsilon": "0.5"}, ACCURACY),
        {"values": 3},
    ),
    "gaussian histogram": Case(
        gaussian_histogram, [4, 0, 9], {"bins": 3, "adjacency": Adjacency.REPLACE}, GAUSSIAN, {"values": 3}
    ),
}
WAYS = {f"{name} by {' and '.join(way)}": (case, way) for name, case in CASES.items() for way in case.ways}


@pytest.fixture(params=WAYS)
def case_and_mechanism(request):
    case, way = WAYS[request.param]
    return case, case.build(**case.fixed, **way)


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def test_it_has_the_one_shape(case_and_mechanism) -> None:
    _, mechanism = case_and_mechanism
    for part in ("event", "loss", "release", "margin", "confidence"):
        assert hasattr(mechanism, part)


def test_a_plain_and_a_sensitive_value_give_the_same_kind_of_answer(case_and_mechanism) -> None:
    case, mechanism = case_and_mechanism
    plain, sensitive = mechanism.release(case.value), mechanism.release(Sensitive(case.value))
    assert type(plain) is type(sensitive)
    assert np.shape(plain) == np.shape(sensitive)


def test_answers_are_not_all_alike(case) -> None:
    """The noise is there: of sixty answers (fifty thousand to one) not all are the same."""
    mechanism = case.build(**case.fixed, **case.ways[0])
    assert len({repr(mechanism.release(case.value)) for _ in range(60)}) > 1


def test_its_event_is_exact(case_and_mechanism) -> None:
    _, mechanism = case_and_mechanism
    for fact in fields(mechanism.event):
        assert isinstance(getattr(mechanism.event, fact.name), Fraction | int)


def test_its_price_is_what_was_asked_for(case_and_mechanism, request) -> None:
    _, mechanism = case_and_mechanism
    _, way = WAYS[request.node.callspec.params["case_and_mechanism"]]
    loss = mechanism.loss
    if "delta" in way:
        assert loss.delta(float(way["epsilon"])) <= float(way["delta"])
        assert loss.delta(float(way["epsilon"]) * 0.999) > float(way["delta"])
    elif "epsilon" in way:
        assert loss.pure_epsilon == Fraction(way["epsilon"]) == mechanism.epsilon
        assert loss.delta(float(Fraction(way["epsilon"]))) == 0
    elif "rho" in way:
        assert loss.rho == Fraction(way["rho"]) == mechanism.rho
    else:
        assert loss.rho is not None or loss.pure_epsilon is not None
    assert loss.renyi(2.0) > 0
    assert 0 < loss.epsilon(1e-3) < math.inf


def test_a_margin_and_its_confidence_belong_together(case_and_mechanism) -> None:
    case, mechanism = case_and_mechanism
    margins = [mechanism.margin(confidence, **case.margin) for confidence in ("0.7", "0.95", "0.999")]
    assert margins == sorted(margins)
    for confidence, margin in zip((0.7, 0.95, 0.999), margins, strict=True):
        assert mechanism.confidence(margin, **case.margin) >= confidence - 1e-8
        assert mechanism.confidence(margin * 0.98 - 1e-3, **case.margin) < confidence or not margin


def test_a_wanted_accuracy_is_kept(case) -> None:
    way = case.ways[-1] if "within" in case.ways[-1] else case.ways[2]
    values = {"values": case.margin["values"]} if "values" in case.margin and "bins" not in case.fixed else {}
    mechanism = case.build(**case.fixed, **way, **values)
    assert 19 < mechanism.margin("0.95", **case.margin) <= 20


def test_it_cannot_be_changed(case_and_mechanism) -> None:
    _, mechanism = case_and_mechanism
    with pytest.raises(FrozenInstanceError):
        mechanism.event = None


def test_equal_parameters_make_equal_mechanisms(case_and_mechanism, request) -> None:
    case, mechanism = case_and_mechanism
    _, way = WAYS[request.node.callspec.params["case_and_mechanism"]]
    assert mechanism == case.build(**case.fixed, **way)
    assert repr(mechanism) == repr(case.build(**case.fixed, **way))


NOT_POSITIVE = [0, -1, "nan", float("inf"), "no number", None, True]


@pytest.mark.parametrize("bad", NOT_POSITIVE, ids=repr)
def test_a_bad_number_is_refused_with_reason_and_remedy(case, bad) -> None:
    for way in case.ways:
        for name in way:
            if name == "within" and bad == 0 and bad is not False:
                continue  # no error at all is a wish that integers can grant
            with pytest.raises(ParameterError) as refusal:
                case.build(**case.fixed, **(way | {name: bad}))
            assert refusal.value.reason
            assert refusal.value.remedy
    for name, value in case.fixed.items():
        if not isinstance(value, Adjacency) and (bad is not None or "l2_sensitivity" not in name):
            with pytest.raises(ParameterError):
                case.build(**(case.fixed | {name: bad}), **case.ways[0])


def test_noise_is_said_once(case) -> None:
    with pytest.raises(ParameterError, match="does not say the noise"):
        case.build(**case.fixed)
    with pytest.raises(ParameterError, match="says the noise more than once"):
        case.build(**case.fixed, **case.ways[0], **case.ways[1])
    with pytest.raises(ParameterError, match="does not say the noise"):
        case.build(**case.fixed, within=20)


def test_parameters_are_named() -> None:
    for case in CASES.values():
        with pytest.raises(TypeError):
            case.build(1, **case.fixed, **case.ways[0])


def test_a_refusal_of_a_value_leaks_nothing(case_and_mechanism) -> None:
    _, mechanism = case_and_mechanism
    secret = f"{8675309}"
    with pytest.raises(ParameterError) as refusal:
        mechanism.release(Sensitive(secret))
    report = traceback.TracebackException.from_exception(refusal.value, capture_locals=True)
    assert secret not in "".join(line for line in report.format() if "test_mechanism" not in line)
    assert secret not in repr(vars(refusal.value))


class OwnArray(np.ndarray):
    """What a data frame might hand over."""


SUBCLASSES = {
    "masked": lambda values: np.ma.masked_array(values, mask=[True] * len(values)),
    "masked nowhere": np.ma.masked_array,
    "matrix": lambda values: np.array(values).view(np.matrix),
    "records": lambda values: np.array(values).view(np.recarray),
    "own": lambda values: np.array(values).view(OwnArray),
    "no dimension": lambda values: np.array(values[0]).view(OwnArray),
}


@pytest.mark.parametrize("subclass", SUBCLASSES)
def test_an_array_that_does_its_own_arithmetic_is_refused_by_its_type(case, subclass) -> None:
    """A masked array adds no noise to what it masks: the values below would go out as they are."""
    mechanism = case.build(**case.fixed, **case.ways[0])
    vector = SUBCLASSES[subclass](np.atleast_1d(np.array(case.value, np.float64)).astype(np.int64))
    for value in (vector, Sensitive(vector)):
        with pytest.raises(ParameterError, match=r"type\(value\) = .* hand in a plain numpy\.ndarray"):
            mechanism.release(value)


def test_a_count_of_values_is_checked_however_the_noise_is_said(case) -> None:
    if "values" in case.margin and "bins" not in case.fixed:
        for way in case.ways:
            with pytest.raises(ParameterError, match="values = 'abc' is not a number"):
                case.build(**case.fixed, **way, values="abc")


COUNTS = (4, 0, 9, 7)
HALVES = np.array([[True, True, False, False], [True, False, True, False]])
RESIDUALS = ResidualMechanism(
    codes=(4,),
    sigmas={(): Fraction(3), (0,): Fraction(9)},
    unit=PrivacyUnit(person_key="id"),
    event=GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(3)),
)
LEARNING = {"questions": HALVES, "population": 20, "rounds": 2, "epsilon": 1}
MANY_TABLES = {
    "residual basis": (RESIDUALS, lambda counts: RESIDUALS.release({(0,): counts})),
    "mwem": (MWEM(**LEARNING), lambda counts: MWEM(**LEARNING).release(counts).measured),
    "dual query": (
        DualQuery(**LEARNING, draws=2),
        lambda counts: DualQuery(**LEARNING, draws=2).release(counts).weights.tolist(),
    ),
    "online multiplicative weights": (
        ONLINE := OnlineMultiplicativeWeights(cells=4, population=20, threshold=4, updates=1, epsilon=1),
        lambda counts: ONLINE.release(counts, HALVES),
    ),
}
"""What releases more than one number or choice, and is built from more than a sensitivity and a price."""


@pytest.fixture(params=MANY_TABLES)
def mechanism_and_release(request):
    return MANY_TABLES[request.param]


def test_one_of_many_tables_is_priced_exactly_and_cannot_be_changed(mechanism_and_release) -> None:
    mechanism, _ = mechanism_and_release
    assert checked_event(mechanism.event) == mechanism.event
    assert mechanism.loss.renyi(2.0) > 0
    assert 0 < mechanism.loss.epsilon(1e-3) < math.inf
    with pytest.raises(FrozenInstanceError):
        mechanism.event = None


def test_one_of_many_tables_takes_plain_and_sensitive_counts_and_adds_noise(mechanism_and_release) -> None:
    _, release = mechanism_and_release
    drawn = [release(counts) for counts in (COUNTS, Sensitive(COUNTS), np.array(COUNTS), list(COUNTS)) * 15]
    assert len({type(one) for one in drawn}) == 1
    assert len({repr(one) for one in drawn}) > 1


def test_one_of_many_tables_refuses_without_a_word_about_the_value(mechanism_and_release) -> None:
    _, release = mechanism_and_release
    secret = 8675309
    for wrong in (Sensitive(str(secret)), Sensitive((secret,) * 3), Sensitive([secret, "x", 1, 2])):
        with pytest.raises(ParameterError) as refusal:
            release(wrong)
        report = traceback.TracebackException.from_exception(refusal.value, capture_locals=True)
        assert str(secret) not in "".join(line for line in report.format() if "test_mechanism" not in line)


@pytest.mark.parametrize("subclass", SUBCLASSES)
def test_one_of_many_tables_refuses_an_array_that_does_its_own_arithmetic(mechanism_and_release, subclass) -> None:
    _, release = mechanism_and_release
    with pytest.raises(ParameterError, match=r"type\(value\) = .* hand in a plain numpy\.ndarray"):
        release(SUBCLASSES[subclass](np.array(COUNTS)))


def test_every_mechanism_is_here() -> None:
    """A new mechanism file is held to the contract, or says here that it is none."""
    from pathlib import Path  # noqa: PLC0415

    import lapwing.mechanisms  # noqa: PLC0415 - only to find its files

    support = {"calibration", "margins", "noise_mechanism", "score_selection", "tails", "weighted_sums"}
    support |= {"weighted_cells", "printed_margins", "strata"}
    # these have contracts of their own: keys that only the data knows, choices among cells or numbers, many tables
    others = {
        "partition_selection",
        "histogram_selection",
        "enclosed_quantiles",
        "counted_top",
        "screening",
        "worst_error",
        "named_choice",
        "tempered_likelihood",
        "sampled_counts",
        "private_gradients",
        "row_sums",
        "running_counts",
        "smooth_sensitivity",
        "propose_test_release",
        "sample_and_aggregate",
    }
    folder = Path(lapwing.mechanisms.__file__).parent
    files = {path.stem for place in (folder, folder / "multiplicative_weights") for path in place.glob("[!_]*.py")}
    covered = {case.build.__module__.rpartition(".")[2] for case in CASES.values()}
    covered |= {type(mechanism).__module__.rpartition(".")[2] for mechanism, _ in MANY_TABLES.values()}
    assert files - support - others - covered == set()
