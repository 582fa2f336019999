"""Regressions at the door: one charge, five rounds, read back for nothing, over all kinds of budget and adjacencies."""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from lapwing.accounting.filters.charge import SingleRelease
from lapwing.analyses.formula import read_formula
from lapwing.analyses.regress import asked_regression
from lapwing.analyses.regression_design import read_design
from lapwing.analyses.simulated_draws import draws_from
from lapwing.ledger.replay import verify
from lapwing.queries.catalogue.column import Category, Column, Date, Integer
from lapwing.queries.catalogue.population import Population, Table
from lapwing.rounds import RoundReader
from lapwing.vocabulary.errors import (
    BadQuestionError,
    BudgetExceededError,
    EngineError,
    ParameterError,
    RequestConflictError,
)
from lapwing.vocabulary.guarantee import Adjacency, ConcentratedDP, PrivacyUnit
from session.clinic import Broken, door, new_ledger, population, same_ledger
from session.real_tables import Tables, visits

PEOPLE = 6000
FORMULA = "bmi ~ age/10 + sex + survivor"
TRUTH = {"age/10": 1.5, "sex[M]": -2.0, "survivor": 3.0}


def patients() -> pa.Table:
    """People whose bmi follows from their age, sex and survival; every tenth has something missing, or not declared."""
    random = draws_from(1)
    age, male = random.integers(20, 80, PEOPLE), random.random(PEOPLE) < 0.5
    survivor = random.random(PEOPLE) < 1 / (1 + np.exp(2 - 0.03 * age))
    bmi = 20 + 0.15 * age - 2.0 * male + 3.0 * survivor + 2 * random.standard_normal(PEOPLE)
    sex = np.where(male, "M", "F").tolist()
    odd = range(0, PEOPLE, 10)
    ages, bmis, survived = age.tolist(), bmi.tolist(), survivor.tolist()
    for i in odd:  # each would pull the fit far away if it counted as anything
        which = i // 10 % 4
        ages[i] = None if which == 0 else ages[i]
        bmis[i] = (None if i % 3 else math.nan) if which == 1 else bmis[i]
        sex[i] = "X" if which == 2 else sex[i]
        survived[i] = None if which == 3 else survived[i]
    return pa.table(
        {
            "id": pa.array(range(PEOPLE), pa.int64()),
            "sex": pa.array(sex, pa.string()),
            "age": pa.array(ages, pa.int64()),
            "bmi": pa.array(bmis, pa.float64()),
            "survivor": pa.array(survived, pa.bool_()),
            "city": pa.array(["here"] * PEOPLE, pa.string()),
        }
    )


TABLE = patients()


def tables(adjacency=Adjacency.ADD_REMOVE):
    return Tables(sources={"patients": TABLE, "visits": visits(100)}, population=population(adjacency=adjacency))


def offer(budget, rho="0.5"):
    """Return a price: in rho, or as an epsilon with a delta that is about as much."""
    return {"rho": rho} if budget.name == "rho" else {"epsilon": 3, "delta": "1e-7"}


@pytest.fixture(params=Adjacency, ids=lambda one: one.value)
def adjacency(request):
    return request.param


@pytest.fixture
def ledger(quick_path, budget, adjacency):
    with new_ledger(quick_path, budget.promise(20), adjacency=adjacency) as ledger:
        yield ledger


@pytest.fixture
def clinic(ledger, adjacency):
    return door(ledger, tables(adjacency), adjacency=adjacency)


def test_a_regression_is_one_charge_and_finds_the_truth_or_is_refused(clinic, ledger, budget, quick_path) -> None:
    if budget.name == "epsilon":
        for verb in (clinic.regress, clinic.preview_regress):
            with pytest.raises(BadQuestionError, match="no pure budget pays for"):
                verb("patients", FORMULA, epsilon=1)
        assert not ledger.bookings("clinic", at_most=9)
        return
    preview = clinic.preview_regress("patients", FORMULA, assume={"people": PEOPLE}, **offer(budget))
    found = clinic.regress("patients", FORMULA, **offer(budget))
    assert found.settled
    assert found.price == preview.price
    (line,) = ledger.bookings("clinic", at_most=9)
    assert line.cost.rho == pytest.approx(float(found.price.rho)) if budget.name == "rho" else True
    for term, truth in TRUTH.items():
        one, far = found[term], 4 * (found[term].high - found[term].low) / 3.92
        assert abs(one.estimate - truth) < far < 1.5, term
        assert one.low < one.estimate < one.high
        assert one.p < 0.001
    assert found["(INTERCEPT)"].estimate == pytest.approx(20, abs=1)
    assert found.people == pytest.approx(0.9 * PEOPLE, rel=0.05), "rows with a value missing add nothing"
    head = ledger.head()
    again = clinic.regress("patients", FORMULA, **offer(budget))
    with same_ledger(quick_path) as later:
        other = door(later, Broken(), adjacency=clinic.population.unit.adjacency)
        assert other.regress("patients", FORMULA, **offer(budget)).table == found.table, "and no data is read"
    assert (again.table, ledger.head()) == (found.table, head)
    ledger.administration.advance_version("clinic", "patients")
    assert clinic.regress("patients", FORMULA, **offer(budget)).name != found.name, "new data is fitted anew"
    verify(ledger)


@pytest.fixture
def rich(quick_path):
    """A clinic with a budget in rho, for what does not depend on the kind of budget."""
    with new_ledger(quick_path, ConcentratedDP(rho=Fraction(10))) as ledger:
        yield door(ledger, tables())


def test_a_logistic_and_a_poisson_model_find_what_they_are_made_of(rich) -> None:
    logistic = rich.regress("patients", "survivor ~ age/10 + sex", model="logistic", rho="0.5")
    assert logistic.settled
    assert logistic["age/10"].low < 0.3 < logistic["age/10"].high
    assert logistic["sex[M]"].p > 0.001
    row = logistic.table[1]
    assert row["odds_ratio"] == pytest.approx(math.exp(row["estimate"]))
    counted = rich.regress("patients", "age ~ survivor", model="poisson", rho="0.5")
    assert counted["survivor"].estimate == pytest.approx(math.log(55 / 47), abs=0.06)
    of_men = rich.regress("patients", "sex ~ age", model="logistic", rho="0.5")
    assert dict(of_men.facts())["outcome"] == "that sex is M"
    assert {"rate_ratio", "rate_ratio_low", "noise_share", "p"} <= set(counted.table[0])


def test_predictions_contrasts_and_pictures_are_free(rich, tmp_path) -> None:
    found = rich.regress("patients", FORMULA, rho="0.5")
    head = rich.ledger.head()
    expected = found.predict({"age": 40, "sex": "M", "survivor": True})
    assert expected.interval.low < expected.value < expected.interval.high
    assert expected.value == pytest.approx(20 + 6 - 2 + 3, abs=0.5)
    contrast = found.contrast("sex[M] - sex[F]")
    assert (contrast.estimate, contrast.p) == (found["sex[M]"].estimate, pytest.approx(found["sex[M]"].p))
    both = found.contrast("sex[M] + survivor")
    assert both.estimate == pytest.approx(found["sex[M]"].estimate + found["survivor"].estimate)
    for wrong in (
        {"age": 40},
        {"age": 40, "sex": "X", "survivor": True},
        {"age": 40, "sex": "M", "survivor": 1},
        BLANK,
    ):
        with pytest.raises(BadQuestionError):
            found.predict(wrong)
    with pytest.raises(BadQuestionError, match="no column of this regression"):
        found.predict({"age": 40, "sex": "M", "survivor": True, "bmi": 3})
    for wrong in ("", "sex[M] -", "age*2", "nothing", 3):
        with pytest.raises(BadQuestionError):
            found.contrast(wrong)
    found.forest(tmp_path / "forest.svg")
    assert (tmp_path / "forest.svg").stat().st_size > 1000
    assert "svg" in found._repr_html_()
    assert "sex[M]" in str(found)
    assert found.to_dict()["coefficients"][2]["term"] == "sex[M]"
    assert rich.ledger.head() == head


def test_rows_are_read_once_for_all_rounds_and_anew_for_a_version_that_is_new(rich, monkeypatch) -> None:
    """The reader is the real one; what it reads is counted, and a version is announced after the second round."""
    read, versions = [], []
    plain = RoundReader.people

    def counted(reader, aggregate):
        read.append(dict(reader.versions))
        return plain(reader, aggregate)

    def announce(done, _):
        versions.append(done)
        if done == 2:
            rich.ledger.administration.advance_version("clinic", "patients")

    monkeypatch.setattr(RoundReader, "people", counted)
    rich.regress("patients", FORMULA, rho="0.5")
    assert len(read) == 1
    found = rich.regress("patients", FORMULA, rho="0.4", progress=announce)
    assert versions == [1, 2, 3, 4, 5]
    assert [one["patients"] for one in read] == [1, 1, 2]
    assert found.settled


BLANK = {"age": None, "sex": "M", "survivor": True}
REFUSED = {
    "city is text": ("bmi ~ city", {}, "'city' holds text"),
    "no formula": ("bmi", {}, "one ~"),
    "two tildes": ("bmi ~ age ~ sex", {}, "one ~"),
    "an empty term": ("bmi ~ age + ", {}, "is empty"),
    "a function": ("bmi ~ log(age)", {}, "no term of a formula"),
    "code": ("bmi ~ __import__('os')", {}, "no term of a formula"),
    "a product of three": ("bmi ~ age:sex:survivor", {}, "product of two"),
    "a square": ("bmi ~ age:age", {}, "product of two"),
    "twice": ("bmi ~ age + age/10", {}, "there twice"),
    "itself": ("bmi ~ age + bmi", {}, "explain itself"),
    "nothing": ("bmi ~ 1", {}, "nothing explains"),
    "an unknown column": ("bmi ~ weight", {}, "has no column 'weight'"),
    "divided by nothing": ("bmi ~ age/0", {}, "divides by nothing"),
    "a category with units": ("bmi ~ sex/2", {}, "has no units"),
    "an outcome with units": ("bmi/2 ~ age", {}, "by its name"),
    "a logistic model of numbers": ("bmi ~ age", {"model": "logistic"}, "more than two values"),
    "a linear model of two values": ("survivor ~ age", {}, "two values"),
    "a poisson model of reals": ("bmi ~ age", {"model": "poisson"}, "counts"),
    "an outcome that is a category": ("sex ~ age", {}, "is a category of 2.*write model='logistic'"),
    "one sex": ("bmi ~ age + sex", {"where": "sex = 'F'"}, "leaves one value of 'sex'"),
    "one truth": ("bmi ~ age:survivor", {"where": "survivor and age > 3"}, "leaves one value of 'survivor'"),
    "one age": ("bmi ~ age", {"where": "age = 50 and sex = 'M'"}, "leaves one value of 'age'"),
    "too few people": ("bmi ~ age", {"assume": {"people": 5}}, "say nothing"),
    "a condition that is none": ("bmi ~ age", {"where": "weight > 3"}, "has no column 'weight'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_fitted_is_refused_before_the_charge(rich, case) -> None:
    formula, words, match = REFUSED[case]
    with pytest.raises(BadQuestionError, match=match):
        rich.regress("patients", formula, rho="0.001", **words)
    assert not rich.ledger.bookings("clinic", at_most=9)


@pytest.mark.one_budget("the catalogue alone refuses")
@pytest.mark.parametrize(
    ("formula", "match"),
    [
        ("y ~ free", "'free' has no declared bounds, so that one person could move the fit"),
        ("free ~ x", "'free' has no declared bounds"),
        ("y ~ x + only", "'only' has one declared value"),
        ("y ~ x:born", "'born' holds days, and a formula has numbers"),
        ("y ~ x:many + many", "62 columns in a regression.*more than 50; name fewer"),
    ],
)
def test_columns_that_no_fit_can_have_are_refused_by_name(formula, match) -> None:
    columns = (
        Column(name="x", type=Integer(low=0, high=9)),
        Column(name="y", type=Integer(low=0, high=9)),
        Column(name="free", type=Integer()),
        Column(name="only", type=Category(values=("a",))),
        Column(name="born", type=Date()),
        Column(name="many", type=Category(values=tuple(f"v{i}" for i in range(32)))),
    )
    people = Population(name="all", unit=PrivacyUnit(person_key="id"), tables=(Table(name="people", columns=columns),))
    with pytest.raises(BadQuestionError, match=match):
        read_design("people", read_formula(formula), "linear", None, people)


def test_words_that_are_wrong_are_refused_before_the_charge(rich) -> None:
    for words in (
        {"rho": 1, "model": "cox"},
        {"epsilon": 1},
        {"rho": 1, "assume": {"folk": 3}},
        {"rho": 1, "assume": {"people": "many"}},
        {"rho": 1, "model": "logistic", "assume": {"people": 100, "events": 5}},
    ):
        with pytest.raises((ParameterError, BadQuestionError)):
            rich.regress("patients", "survivor ~ age" if "assume" in words else FORMULA, **words)
    with pytest.raises(BadQuestionError, match="how exact a regression is"):
        rich.regress("patients", FORMULA, within=1)
    with pytest.raises(BudgetExceededError):
        rich.regress("patients", FORMULA, rho=11)
    assert not rich.ledger.bookings("clinic", at_most=9)


def test_a_price_for_which_no_noise_can_be_drawn_is_refused_before_the_charge(quick_path) -> None:
    with new_ledger(quick_path, ConcentratedDP(rho=Fraction(10)), protects_groups_of=1000) as ledger:
        clinic = door(ledger, tables(), protects_groups_of=1000)
        for verb in (clinic.regress, clinic.preview_regress):
            with pytest.raises(BadQuestionError, match="more or less noise than can be drawn"):
                verb("patients", FORMULA, rho="0.000000001")
        assert not ledger.bookings("clinic", at_most=9)


def test_a_fit_that_did_not_settle_says_so(rich) -> None:
    found = rich.regress("patients", FORMULA, rho="0.0000001")
    assert not found.settled
    assert "did not settle" in str(found)


def test_a_failure_keeps_the_charge_and_the_next_one_is_charged_anew(rich) -> None:
    broken = door(rich.ledger, Broken())
    with pytest.raises(EngineError) as failure:
        broken.regress("patients", FORMULA, rho=1)
    assert "123" not in str(failure.value)
    found = rich.regress("patients", FORMULA, rho=1)
    assert found.settled
    assert len(rich.ledger.bookings("clinic", at_most=9)) == 2


def test_a_key_stands_for_one_regression(rich) -> None:
    first = rich.regress("patients", FORMULA, rho=1, key="k")
    assert rich.regress("patients", FORMULA, rho=1, key="k").table == first.table
    with pytest.raises(RequestConflictError):
        rich.regress("patients", "bmi ~ age", rho=1, key="k")


def test_a_preview_says_what_it_would_cost_and_tell(rich) -> None:
    many = rich.preview_regress("patients", FORMULA, rho="0.1", assume={"people": 100_000})
    few = rich.preview_regress("patients", FORMULA, rho="0.1", assume={"people": 300})
    assert many.half_width < 0.02 < few.half_width
    assert many.affordable
    assert many.after == rich.budget().after(SingleRelease(event=_event_of(many, rich)))
    assert "residual spreads" in dict(many.facts())["expected"]
    assert many.to_dict()["hopeless"] is False
    assert (many.to_dict()["doubtful"], few.to_dict()["doubtful"]) == (False, True)
    assert "may well not settle" in dict(few.facts())["expected"]
    rare, common = (
        rich.preview_regress(
            "patients", "survivor ~ age + sex", model="logistic", rho="0.02", assume={"people": 10_000, "events": share}
        )
        for share in ("0.02", "0.5")
    )
    assert (rare.assumed.doubtful, rare.assumed.hopeless, common.assumed.doubtful) == (True, False, False)
    events = {"people": 1000, "events": "0.3"}
    cheap = rich.preview_regress("patients", "survivor ~ age", model="logistic", rho="5", assume=events)
    assert "few events, so name no rare group" in dict(cheap.facts())["expected"], "no price buys it"
    spread, sd = 2.0, {"age/10": 1.73, "sex[M]": 0.5, "survivor": 0.48}
    told = rich.preview_regress("patients", FORMULA, rho="0.1", assume={"people": 0.9 * PEOPLE}).half_width
    found = rich.regress("patients", FORMULA, rho="0.1")
    for term, deviation in sd.items():
        measured = (found[term].high - found[term].low) / 2 * deviation / spread
        assert measured == pytest.approx(told, rel=0.5), "the preview promises what comes"


def _event_of(preview, clinic):
    return asked_regression(
        clinic, "patients", str(preview.design.formula), preview.model, None, rho="0.1"
    ).course.event
