"""Bounds at every confidence: they come, they widen with the confidence, and what cannot be computed is refused.

Whatever is refused is refused before the charge.
"""

import math
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import lapwing as lw
from lapwing.vocabulary.errors import ParameterError
from postgres_server import where_there_is_room

SETTINGS = """
[populations.clinic]
person_key = "patient_id"
budget = {budget}
[populations.clinic.tables.patient]
source = "patient.csv"
[populations.clinic.tables.patient.columns]
age = {{ type = "integer", low = 0, high = 120 }}
weight = {{ type = "real", low = 0, high = 200, step = "0.5" }}
sex = {{ type = "category", values = ["F", "M"] }}
city = {{ type = "text" }}
"""
BUDGETS = {
    "pure": ('{ epsilon = "10000000" }', {"epsilon": "0.5"}),
    "approximate": ('{ epsilon = "10000000", delta = "1e-6" }', {"epsilon": "0.5"}),
    "concentrated": ('{ rho = "10000000" }', {"rho": "0.05"}),
}
CONFIDENCES = ["1e-9", "0.001", "0.01", "0.05", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "0.95"]
CONFIDENCES += ["0.99", "0.999", "0.999999", "0.999999999"]
STEP = 0.002
"""How far bounds of proportions may turn back: how far little noise on two numbers goes is known in steps."""
QUESTIONS = {
    "count": lw.count("patient", "age > 30"),
    "counts by": lw.count("patient", by="sex"),
    "mean": lw.mean("patient", "age"),
    "means by": lw.mean("patient", "weight", by="sex"),
    "variance": lw.variance("patient", "age"),
    "covariance": lw.covariance("patient", "age", "weight"),
    "correlation": lw.correlation("patient", "age", "weight"),
    "total": lw.total("patient", "age"),
    "median": lw.median("patient", "age"),
    "quantiles": lw.quantiles("patient", "weight", ["0.1", "0.9"]),
    "top": lw.top("patient", "sex", 1),
    "proportion": lw.proportion("patient", "age > 50", by="sex"),
    "together": "select count(*) as n, avg(age) as a, sum(age) as s, var_pop(age) as v from patient",
    "quotient of sums": "select avg(age) / count(*) as q, sum(age) / count(*) as p from patient",
    "quotient of others": "select var_pop(age) / median(age) as q from patient",
    "slope": "select regr_slope(weight, age) as b from patient",
}


@pytest.fixture(scope="module", params=BUDGETS)
def clinic(request):
    budget, price = BUDGETS[request.param]
    with TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as place:
        rows = "".join(f"{i},{i * 7 % 100},{50 + i * 7 % 60},{'FM'[i % 3 == 0]},Bern\n" for i in range(1, 1501))
        (Path(place) / "patient.csv").write_text(f"patient_id,age,weight,sex,city\n{rows}")
        with lw.create(place, SETTINGS.format(budget=budget)):
            pass
        with lw.open(place, analyst="ana") as session:
            yield session, price


def paid(price, name):
    """What is chosen is paid for by epsilon under every budget."""
    return {"epsilon": "0.5"} if name in {"median", "quantiles", "top", "quotient of others"} else price


def widths(rows):
    return {
        (row.key, name): (cell.low, cell.high)
        for row in rows
        for name, cell in row.cells.items()
        if cell.low is not None and not isinstance(cell.value, str)
    }


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_confidence_has_bounds_and_a_higher_one_has_wider_ones(clinic, name) -> None:
    session, price = clinic[0], paid(clinic[1], name)
    answer = session.ask(QUESTIONS[name], **price)
    before = {}
    for confidence in CONFIDENCES:
        found = widths(answer.bounded(confidence))
        for key, (low, high) in found.items():
            assert -math.inf < low <= high < math.inf
            if key in before:
                slack = STEP if name == "proportion" else 1e-9 * (abs(low) + abs(high))
                assert low <= before[key][0] + slack
                assert high >= before[key][1] - slack
        before |= found
        assert answer.to_dict(confidence)["confidence"]
        if len(answer.rows) == len(answer.columns) == 1:
            answer.interval(confidence)


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_confidence_has_a_preview_and_its_errors_rise(clinic, name) -> None:
    session, price = clinic[0], paid(clinic[1], name)
    errors = []
    for confidence in CONFIDENCES[::3]:
        preview = session.preview(QUESTIONS[name], confidence=confidence, **price)
        by_rows = preview.error_by_rows
        errors.append([error for one in by_rows.values() for error in one.values() if error is not None])
        assert str(preview)
    for lower, higher in pairwise(errors):
        assert all(
            one <= other * (1 + 1e-9) + STEP * (name == "proportion") for one, other in zip(lower, higher, strict=True)
        )


UNREADABLE = ["0", "1", "1.5", "-0.5", "nan", "inf", "95", "1e-400", "0.9999999999", "0." + 400 * "9"]


@pytest.mark.parametrize("confidence", UNREADABLE)
@pytest.mark.parametrize("name", ["count", "correlation", "median", "together"])
def test_a_confidence_that_is_none_or_too_fine_is_refused_before_the_charge(clinic, name, confidence) -> None:
    session, price = clinic[0], paid(clinic[1], name)
    before, question = session.budget().to_dict(), QUESTIONS[name]
    for door in (session.preview, session.ask):
        with pytest.raises(ParameterError, match="confidence"):
            door(question, confidence=confidence, **price)
    assert session.budget().to_dict() == before
    answer = session.ask(question, **price)
    for shown in (answer.bounded, answer.to_dict, answer.to_json, answer.to_rows):
        with pytest.raises(ParameterError, match="confidence"):
            shown(confidence)
