"""Training at the door: one charge before data is read, parts that are never drawn again, and a model that is free."""

import json
from fractions import Fraction

import pandas as pd
import pyarrow as pa
import pytest

import lapwing as lw
from budgets import PURE, RHO, WITH_DELTA
from lapwing.accounting.filters.charge import SingleRelease
from lapwing.accounting.pricing import price
from lapwing.learning.model import load_model
from lapwing.ledger.replay import verify
from lapwing.vocabulary.errors import (
    BadQuestionError,
    BudgetExceededError,
    EngineError,
    MissingExtraError,
    ParameterError,
    UnansweredError,
)
from lapwing.vocabulary.guarantee import Adjacency
from session.clinic import Broken, door, new_ledger, population, same_ledger
from session.real_tables import Tables, visits

PEOPLE = 2000
LEARNED = {"target": "survivor", "features": ["age", "sex", "bmi"], "people": PEOPLE}
PAID = {"delta": {"epsilon": 2}, "rho": {"rho": 1}}


def patients():
    """Return people of whom those above 50 are survivors, but for a few."""
    ids = list(range(PEOPLE))
    ages = [(i * 37) % 100 for i in ids]
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "sex": pa.array(["FM"[i % 2] for i in ids], pa.string()),
            "age": pa.array(ages, pa.int64()),
            "bmi": pa.array([20 + i % 40 / 4 for i in ids], pa.float64()),
            "survivor": pa.array([(age > 50) != (i % 20 == 0) for i, age in zip(ids, ages, strict=True)], pa.bool_()),
            "city": pa.array(["here"] * PEOPLE, pa.string()),
        }
    )


def tables(**more):
    return Tables(sources={"patients": patients(), "visits": visits(PEOPLE)}, **more)


@pytest.fixture(params=[WITH_DELTA, RHO], ids=str)
def kind(request):
    return request.param


@pytest.fixture
def ledger(tmp_path, kind):
    with new_ledger(tmp_path, kind.promise(5)) as ledger:
        yield ledger


@pytest.fixture
def clinic(ledger):
    return door(ledger, tables())


def test_a_training_is_one_charge_and_learns_what_there_is_to_learn(clinic, ledger, kind) -> None:
    paid = PAID[kind.name]
    preview = clinic.preview_train("patients", **LEARNED, **paid)
    assert preview.affordable
    due = ledger.account("clinic").quote(SingleRelease(event=preview.offer.event))
    model = clinic.train("patients", **LEARNED, **paid)
    assert [line.cost for line in ledger.bookings("clinic", at_most=99) if line.cost is not None][:1] == [due.cost]
    assert model.predict({"age": [5, 95], "sex": ["F", "M"], "bmi": [25.0, 25.0]}) == [False, True]
    low, high = model.probabilities([{"age": age, "sex": "F", "bmi": 25} for age in (20, 80)])[:, 1]
    assert low < 0.3
    assert high > 0.7
    assert model.lost == 0
    assert model.card["receipt"].startswith("lapwing:5e55/1:")
    assert Fraction(model.card["rate"]) == preview.rate == (Fraction(1) if kind is RHO else Fraction(1, 20))
    assert model.card["sigma"] == preview.sigma
    verify(ledger)


def test_the_noise_is_that_of_the_price(clinic, kind) -> None:
    preview = clinic.preview_train("patients", **LEARNED, **PAID[kind.name])
    loss = price(preview.offer.event)
    if kind is RHO:
        assert loss.rho == 1
    else:
        assert loss.delta(2.0) <= 1e-6 < loss.delta(1.999)
    sharper = clinic.preview_train("patients", **LEARNED, **dict.fromkeys(PAID[kind.name], 4))
    assert sharper.sigma < preview.sigma
    facts = dict(preview.facts())
    assert "everybody with chance" in facts["steps"]
    assert "sigma" in facts["noise"]
    assert json.loads(preview.to_json())["steps"] == preview.steps


def test_the_same_training_is_read_back_and_reads_no_data(clinic, ledger, kind, tmp_path) -> None:
    first = clinic.train("patients", **LEARNED, **PAID[kind.name])
    left, head = ledger.account("clinic"), ledger.head()
    with same_ledger(tmp_path) as later:
        again = door(later, Broken()).train("patients", **LEARNED, **PAID[kind.name])
    assert all((a == b).all() for a, b in zip(first.weights, again.weights, strict=True))
    assert again.card == first.card
    assert (ledger.account("clinic"), ledger.head()) == (left, head)
    other = clinic.train("patients", **LEARNED, **PAID[kind.name], key="once more")
    assert ledger.account("clinic") != left
    assert (other.weights[0] != first.weights[0]).any(), "another sample, and other noise"


def test_charged_before_anything_is_read(ledger, kind) -> None:
    whole = ledger.account("clinic")
    seen = []
    clinic = door(ledger, tables(on_read=lambda: seen.append(ledger.account("clinic"))))
    clinic.train("patients", **LEARNED, **PAID[kind.name])
    assert len(seen) == 10, "once for each part"
    assert whole not in seen
    assert len({str(one) for one in seen}) == 1, "all of it, at once"


def test_a_part_that_fails_is_lost_and_never_drawn_again(ledger, kind) -> None:
    reads = []

    def fail_in_the_third() -> None:
        reads.append(1)
        if len(reads) == 3:
            raise OSError("the disk is gone")

    clinic = door(ledger, tables(on_read=fail_in_the_third))
    with pytest.raises(EngineError):
        clinic.train("patients", **LEARNED, **PAID[kind.name])
    left = ledger.account("clinic")
    model = clinic.train("patients", **LEARNED, **PAID[kind.name])
    steps = model.card["steps"]
    assert len(reads) == 10, "two parts were read back, and the third was not drawn again"
    assert model.lost == steps // 10
    assert f"{model.lost} steps" in dict(model.facts())["lost"]
    assert str(ledger.account("clinic").filters) == str(left.filters), "nothing is charged for going on"
    assert model.predict([{"age": 95, "sex": "F", "bmi": 25}]) == [True]
    verify(ledger)


def test_a_training_of_which_all_is_lost_is_none(ledger, kind) -> None:
    clinic = door(ledger, Broken())
    few = {**LEARNED, "rate": 1, "epochs": 2, **PAID[kind.name]}
    for _ in range(2):
        with pytest.raises(EngineError):
            clinic.train("patients", **few, key="mine")
    left = ledger.account("clinic")
    with pytest.raises(UnansweredError):
        clinic.train("patients", **few, key="mine")
    assert ledger.account("clinic") == left
    assert door(ledger, tables()).train("patients", **few).lost == 0, "without the key it is another one"


def test_targets_of_all_kinds(clinic, kind) -> None:
    paid, base = PAID[kind.name], {"people": PEOPLE, "epochs": 3}
    number = clinic.train("patients", target="bmi", features=["age"], **base, **paid)
    assert all(10 <= one <= 60 for one in number.predict({"age": [0, 99]}))
    with pytest.raises(BadQuestionError, match="has no classes"):
        number.probabilities({"age": [3]})
    classes = clinic.train("patients", target=lw.bins("age", [0, 30, 60, 100]), features=["sex"], **base, **paid)
    assert classes.card["model"] == "softmax"
    assert classes.probabilities({"sex": ["F", "M", None]}).shape == (3, 3)
    dense = clinic.train("patients", target="survivor", features=["age"], model="dense(8, 4)", **base, **paid)
    assert [one.shape for one in dense.weights] == [(8, 2), (4, 9), (1, 5)]
    assert dense.predict({"age": [3]})[0] in {True, False}


def test_a_model_is_saved_and_loaded(clinic, kind, tmp_path) -> None:
    words = {**LEARNED, "features": ["age", "sex", lw.bins("bmi", [10, 25, 60])], "epochs": 2, "model": "dense(3)"}
    model = clinic.train("patients", **words, **PAID[kind.name])
    people = [
        {"age": 30, "sex": "F", "bins(bmi, 10, 25, 60)": 24.0},
        {"age": 90, "sex": "X", "bins(bmi, 10, 25, 60)": 60},
    ]
    loaded = load_model(model.save(tmp_path / "model.json"))
    assert (loaded.probabilities(people) == model.probabilities(people)).all()
    assert loaded.card == json.loads(json.dumps(model.card))
    assert loaded.inputs == model.inputs
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(BadQuestionError, match="not a model of lapwing"):
        load_model(tmp_path / "other.json")
    with pytest.raises(BadQuestionError, match="there is no file"):
        load_model(tmp_path / "nothing.json")


def test_people_to_predict_about_may_be_given_in_many_ways(clinic, kind) -> None:
    model = clinic.train(
        "patients", target="survivor", features=["age", "sex"], people=PEOPLE, epochs=2, **PAID[kind.name]
    )
    columns = {"age": [3, 90], "sex": ["F", "M"]}
    told = model.predict(columns)
    assert (
        model.predict(pd.DataFrame(columns)) == model.predict([{"age": 3, "sex": "F"}, {"age": 90, "sex": "M"}]) == told
    )
    assert model.predict([]) == []
    for wrong, said in [
        ({"age": [1, 2], "sex": ["F"]}, "different lengths"),
        ([3], "list of mappings"),
        (7, "list of mappings"),
        ({"agee": [1], "sex": ["F"]}, "'age' is a feature, and is not given"),
        ({"age": [None], "sex": ["F"]}, "missing somewhere"),
    ]:
        with pytest.raises(BadQuestionError, match=said):
            model.predict(wrong)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"people": None}, "people"),
        ({"rate": 2}, "above 1"),
        ({"rate": "1/1000000"}, "more than 100,000"),
        ({"clip": 0}, "clip"),
        ({"clip": 99}, "out of range"),
        ({"momentum": 1}, "momentum"),
        ({"step_size": -1}, "step_size"),
        ({"model": "forest"}, "not known"),
        ({"epoch": 3}, "epochs="),
        ({"target": "agee"}, "agee"),
        ({"epsilon": 50}, "out of range"),
        ({"device": "abacus"}, "torch is not installed|PyTorch has float64"),
        ({"model": object()}, "is not known"),
        ({"features": None}, "no feature is named"),
    ],
)
def test_bad_words_are_refused_before_anything_is_charged(tmp_path, words, said) -> None:
    with new_ledger(tmp_path, WITH_DELTA.promise(5)) as ledger:
        clinic, before = door(ledger, Broken()), ledger.head()
        given = {**LEARNED, "epsilon": 1} | words
        given = {word: value for word, value in given.items() if word != "people" or value is not None}
        with pytest.raises((BadQuestionError, ParameterError, MissingExtraError), match=said):
            clinic.train("patients", **given)
        assert ledger.head() == before


def test_what_is_paid_in_rho_has_everybody_in_every_step(clinic) -> None:
    preview = clinic.preview_train("patients", **LEARNED, rho="0.1")
    sampled = clinic.preview_train("patients", **LEARNED, rate="1/20", rho="0.1")
    assert (preview.rate, preview.noise < sampled.noise) == (1, True)


def test_a_pure_budget_cannot_pay_and_neither_can_one_that_is_too_small(tmp_path) -> None:
    with new_ledger(tmp_path, PURE.promise(5)) as ledger:
        clinic, before = door(ledger, Broken()), ledger.head()
        with pytest.raises(BadQuestionError, match="budget of rho, or of epsilon with a delta"):
            clinic.train("patients", **LEARNED, epsilon=1)
        with pytest.raises(BadQuestionError, match="budget of rho"):
            clinic.preview_train("patients", **LEARNED, rho=1)
        assert ledger.head() == before


def test_what_does_not_fit_is_refused_and_costs_nothing(clinic, ledger, kind) -> None:
    before = ledger.head()
    dear = dict.fromkeys(PAID[kind.name], 20)
    assert not clinic.preview_train("patients", **LEARNED, **dear).affordable
    with pytest.raises(BudgetExceededError):
        clinic.train("patients", **LEARNED, **dear)
    if kind is RHO:
        with pytest.raises(BadQuestionError, match="counted in rho"):
            clinic.train("patients", **LEARNED, epsilon=1)
    with pytest.raises(BadQuestionError, match="say what to pay"):
        clinic.train("patients", **LEARNED)
    assert ledger.head() == before


@pytest.mark.parametrize(
    "unit", [{"adjacency": Adjacency.REPLACE}, {"protects_groups_of": 3}], ids=["replaced", "groups"]
)
def test_who_has_several_coins_is_not_sampled(tmp_path, unit) -> None:
    with new_ledger(tmp_path, WITH_DELTA.promise(5), **unit) as ledger:
        clinic = door(ledger, tables(population=population(**unit)), **unit)
        with pytest.raises(BadQuestionError, match="rate=1"):
            clinic.train("patients", **LEARNED, rate="1/20", epsilon=2)
        preview = clinic.preview_train("patients", **LEARNED, epsilon=2)
        moved = 2 if "adjacency" in unit else 3
        assert preview.rate == 1
        assert preview.offer.event.part.l2_sensitivity_squared == moved**2
        alone = door(ledger, tables(), **unit)
        assert alone.train("patients", **LEARNED, epsilon=2, epochs=3).lost == 0
