"""Certificates at the door: one number for a class of boxes, about exactly what the model says, paid once."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from lapwing.ledger.replay import verify
from lapwing.publishing.certificate import Modelled
from lapwing.publishing.certificate_class import BoxClass
from lapwing.publishing.codes import count_in_codes, read_columns
from lapwing.publishing.explorer_learning import taught
from lapwing.publishing.population_model import UNIT, PopulationModel
from lapwing.vocabulary.errors import BadQuestionError, BudgetExceededError, ParameterError
from lapwing.vocabulary.guarantee import Adjacency
from publishing.odd_people import COLUMNS, odd_tables
from session.clinic import door, new_ledger, population

PATIENTS = "patients"
PEOPLE = 1000
PRICE = "0.5"


@pytest.fixture
def adjacency():
    return Adjacency.ADD_REMOVE


@pytest.fixture
def ledger(tmp_path, budget, adjacency):
    with new_ledger(tmp_path, budget.promise(5), adjacency=adjacency) as ledger:
        yield ledger


@pytest.fixture
def clinic(ledger, adjacency):
    return door(ledger, odd_tables(PEOPLE, adjacency=adjacency), adjacency=adjacency)


def rough_model(seed=1):
    """Return a model that is off about everything, as one of nobody would be."""
    columns = read_columns(PATIENTS, COLUMNS, population())
    codes, drawn = [len(one) for one in columns], np.random.default_rng(seed)
    rows = np.stack([drawn.integers(0, many, 500) for many in codes]).astype(np.uint8)
    model = PopulationModel(codes, rows, drawn.integers(0, 4 * UNIT, 500))
    return Modelled(table=PATIENTS, columns=tuple(columns), model=model, versions={PATIENTS: 1})


PEOPLE_MODEL = rough_model()
BOXES = BoxClass.over(PEOPLE_MODEL.columns, 2)


def true_errors(clinic, boxes):
    """Return |true count - what the model says| of every box of a class, from the tables themselves."""
    found, people = [], odd_tables(PEOPLE)
    with people.lease({PATIENTS: 1}) as engine:
        for axes in boxes.sets:
            plan = count_in_codes(PATIENTS, [boxes.columns[a] for a in axes], clinic.population) if axes else None
            shape = [len(boxes.columns[a]) for a in axes]
            exact = np.array(engine.vector(plan.aggregate).open_for_release() if plan else [PEOPLE]).reshape(shape)
            for ranges in itertools.product(*(boxes.choices[a] for a in axes)):
                inside = tuple(slice(first, last + 1) for first, last in ranges)
                box = {
                    a: [first <= code <= last for code in range(len(boxes.columns[a]))]
                    for a, (first, last) in zip(axes, ranges, strict=True)
                }
                found.append(abs(int(exact[inside].sum()) - PEOPLE_MODEL.model.count(box)))
    return found


@pytest.mark.parametrize("adjacency", Adjacency, ids=lambda one: one.value)
def test_a_certificate_is_about_exactly_what_the_model_says(clinic, ledger) -> None:
    """The worst error is that of `count`, rounded as it rounds, over all boxes of the class."""
    errors = true_errors(clinic, BOXES)
    assert len(errors) == BOXES.boxes
    certificate = clinic.certify(PEOPLE_MODEL, up_to=2, epsilon=PRICE)
    assert abs(certificate.released[0] - max(errors)) < 60  # noise of scale 2
    assert certificate.bound("0.999999") >= max(errors)
    verify(ledger)


def test_it_is_one_charge_and_free_from_then_on(clinic, ledger) -> None:
    preview = clinic.preview_certify(PEOPLE_MODEL, up_to=2, epsilon=PRICE)
    assert preview.affordable
    assert preview.boxes.boxes == BOXES.boxes
    assert preview.margin == 5  # what 0.95 adds to noise of scale 2
    before = ledger.account("clinic")
    first = clinic.certify(PEOPLE_MODEL, up_to=2, epsilon=PRICE)
    paid = ledger.account("clinic")
    assert paid != before
    assert clinic.certify(PEOPLE_MODEL, up_to=2, epsilon=PRICE).released == first.released
    assert ledger.account("clinic") == paid
    assert str(preview.price) == str(first.price)
    assert f"{BOXES.boxes:,} boxes" in str(first)


@pytest.mark.one_budget("what is released does not depend on the kind")
def test_every_box_of_the_class_gets_the_interval_and_no_other_does(clinic) -> None:
    certificate = clinic.certify(PEOPLE_MODEL, up_to=2, epsilon=PRICE)
    model, off = PEOPLE_MODEL.model, certificate.bound()
    box = {1: [False, True, True, False], 0: [True, False, False]}
    said = model.count(box)
    assert certificate.interval(model, box) == (max(0, said - off), said + off)
    assert certificate.interval(model, {**box, 2: [True] * 3}) is not None, "all codes are no condition"
    for outside, why in (
        ({0: [True, False, False], 1: [True, False, False, False], 3: [True, False, False]}, "up to 2 columns"),
        ({1: [True, False, True, False]}, "codes that follow each other of 'age'"),
        ({1: [False, False, True, True]}, "codes that follow each other of 'age'"),
        ({0: [True, True, False]}, "one code of 'sex'"),
        ({0: [False, False, False]}, "takes none"),
    ):
        with pytest.raises(BadQuestionError, match=why):
            certificate.interval(model, outside)
        assert certificate.covering(model, outside) is None


@pytest.mark.one_budget("what is released does not depend on the kind")
def test_it_ends_with_its_model(clinic) -> None:
    certificate = clinic.certify(PEOPLE_MODEL, up_to=1, epsilon=PRICE)
    box = {0: [True, False, False]}
    changed = taught(PEOPLE_MODEL.model, box, 700)
    with pytest.raises(BadQuestionError, match="another model"):
        certificate.interval(changed, box)
    assert certificate.covering(changed, box) is None
    again = clinic.certify(replace(PEOPLE_MODEL, model=changed), up_to=1, epsilon=PRICE)
    assert again.name != certificate.name


@pytest.mark.one_budget("what is released does not depend on the kind")
def test_order_statistics_share_the_price(clinic) -> None:
    errors = sorted(true_errors(clinic, BOXES))
    certificate = clinic.certify(PEOPLE_MODEL, up_to=2, epsilon=1, ranks=[1, "0.5"])
    half = errors[-(-len(errors) // 2) - 1]
    assert abs(certificate.released[1] - half) < 60
    assert certificate.bound("0.999999", rank="0.5") >= half
    assert certificate.mechanism.loss.pure_epsilon == 1
    with pytest.raises(BadQuestionError, match=r"no rank 0\.9; it has 1, 0\.5"):
        certificate.bound(rank="0.9")


@pytest.mark.one_budget("what is refused is refused before anything is charged")
def test_refusals_cost_nothing(clinic, ledger) -> None:
    before = ledger.account("clinic")
    for words, error, why in (
        ({"up_to": 0, "epsilon": 1}, ParameterError, "up_to"),
        ({"up_to": 7, "epsilon": 1}, ParameterError, "up_to"),
        ({"epsilon": 0}, ParameterError, "epsilon"),
        ({"epsilon": 1, "ranks": []}, BadQuestionError, "0 ranks"),
        ({"epsilon": 1, "ranks": ["1.5"]}, ParameterError, "ranks"),
        ({"epsilon": 1, "ranks": "1"}, BadQuestionError, "ranks are a list"),
        ({"epsilon": 6}, BudgetExceededError, "6"),
    ):
        with pytest.raises(error, match=why):
            clinic.certify(PEOPLE_MODEL, **words)
    old = replace(PEOPLE_MODEL, versions={PATIENTS: 7})
    with pytest.raises(BadQuestionError, match="version 7 of patients, which has version 1 now"):
        clinic.certify(old, epsilon=1)
    assert ledger.account("clinic") == before


@pytest.mark.one_budget("nothing is charged")
def test_a_class_that_is_too_large_is_refused_with_its_size() -> None:
    wide = [replace(PEOPLE_MODEL.columns[1], name=f"c{i}") for i in range(40)]
    with pytest.raises(BadQuestionError, match="boxes of a certificate"):
        BoxClass.over(wide, 6)


@pytest.mark.one_budget("how wide intervals are does not depend on the kind")
def test_the_bound_holds_as_often_as_it_says(tmp_path) -> None:
    worst, held = 30, 0
    with new_ledger(tmp_path) as ledger:
        certificate = door(ledger, odd_tables(200)).certify(PEOPLE_MODEL, up_to=1, epsilon=PRICE)
    for _ in range(2_000):
        released = certificate.mechanism.mechanism.release(worst)
        held += replace(certificate, released=(released,)).bound("0.9") >= worst
    assert 0.89 < held / 2_000 < 0.96
    assert Fraction(1) in certificate.ranks


def test_a_synthetic_table_certifies_itself_and_its_counts_say_so(clinic, budget) -> None:
    price = budget.of("1") if budget.delta is None else {"rho": "0.02"}
    people = clinic.synthesize(PATIENTS, COLUMNS, up_to=2, **price)
    assert people.count("sex = 'F'").certified is None
    certificate = people.certify(up_to=2, epsilon=PRICE)
    counted = people.count("sex = 'F' and age < 65")
    assert counted.certified == certificate.interval(people.model, people.box("sex = 'F' and age < 65"))
    assert "certified" in dict(counted.facts())
    assert f"boxes of up to 2 columns are off by {certificate.bound():,} at most" in dict(people.facts())["certified"]
    assert people.count("sex = 'F' and age < 65 and survivor").certified is None


@pytest.mark.one_budget("what is refused is refused before anything is charged")
def test_a_table_from_a_file_is_refused_before_the_charge(clinic, ledger, tmp_path) -> None:
    clinic.synthesize(PATIENTS, COLUMNS, up_to=2, epsilon=1).save(tmp_path / "people.json")
    loaded, before = clinic.load_synthetic(tmp_path / "people.json"), ledger.account("clinic")
    for verb in (loaded.certify, lambda **words: clinic.preview_certify(loaded, **words)):
        with pytest.raises(BadQuestionError, match=r"read from a file.*call synthesize"):
            verb(up_to=2, epsilon=PRICE)
    assert ledger.account("clinic") == before
    same = clinic.synthesize(PATIENTS, COLUMNS, up_to=2, epsilon=1)
    assert same.certify(up_to=2, epsilon=PRICE).of == loaded.model.digest
