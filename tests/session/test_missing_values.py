"""The mean of nobody is missing, at every door: no number stands where nothing is known, and its bounds stay.

It follows from what was released: the noisy sums say that there may be nobody.
"""

import json
import math
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import lapwing as lw
from lapwing.vocabulary.errors import BadQuestionError
from postgres_server import where_there_is_room

SETTINGS = """
[populations.clinic]
person_key = "patient_id"
budget = {budget}
[populations.clinic.tables.patient]
source = "patient.csv"
[populations.clinic.tables.patient.columns]
income = {{ type = "integer", low = 0, high = 500000 }}
age = {{ type = "integer", low = 0, high = 120 }}
sex = {{ type = "category", values = ["F", "M", "nobody"] }}
"""
BUDGETS = {
    "pure": ('{ epsilon = "1000" }', {"epsilon": "1"}),
    "approximate": ('{ epsilon = "1000", delta = "1e-6" }', {"epsilon": "1"}),
    "concentrated": ('{ rho = "1000" }', {"rho": "0.5"}),
}
NOBODY = {
    "mean": (lw.mean("patient", "income", "age > 119"), (0, 500_000)),
    "variance": (lw.variance("patient", "age", "age > 119"), (0, 3600)),
    "deviation": (lw.stddev("patient", "age", "age > 119"), (0, math.sqrt(7200))),
    "covariance": (lw.covariance("patient", "age", "age", "age > 119"), (-3600, 3600)),
    "correlation": (lw.correlation("patient", "age", "income", "age > 119"), (-1, 1)),
    "share": (lw.proportion("patient", "income > 5", "age > 119"), (0, 1)),
}


@pytest.fixture(scope="module", params=BUDGETS)
def clinic(request):
    budget, price = BUDGETS[request.param]
    with TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as place:
        rows = "".join(f"{i},{i * 911 % 90000},{i % 100},{'FM'[i % 2]}\n" for i in range(1, 901))
        (Path(place) / "patient.csv").write_text(f"patient_id,income,age,sex\n{rows}")
        lw.create(place, SETTINGS.format(budget=budget)).close()
        with lw.open(place, analyst="ana") as session:
            yield session, price


def asked_until(session, question, price, holds):
    """Ask at prices that differ a little until it holds: once in twenty, noise looks like somebody."""
    ((currency, amount),) = price.items()
    answers = (session.ask(question, **{currency: f"{float(amount) + more / 100:.2f}"}) for more in range(12))
    return next(answer for answer in answers if holds(answer))


@pytest.mark.parametrize("name", NOBODY)
def test_a_moment_of_nobody_is_missing_and_its_bounds_stay(clinic, name) -> None:
    (session, price), (question, (low, high)) = clinic, NOBODY[name]
    answer = asked_until(session, question, price, lambda one: one.value is None)
    assert tuple(answer.interval()) == (low, high)
    assert answer.interval("0.5").low >= low
    with pytest.raises(BadQuestionError, match="missing"):
        float(answer)
    record = json.loads(answer.to_json())["rows"][0]["values"][answer.columns[0]]
    assert (record["value"], record["rounded"]["value"]) == (None, None)
    assert record["rounded"]["high"] == high
    assert "(missing)" in str(answer)
    assert f"{math.ceil(high):,}" in str(answer)
    assert "(missing)" in answer._repr_html_()
    (row,) = answer.to_rows()
    assert row[answer.columns[0]] is None
    assert answer.to_arrow().column(answer.columns[0]).null_count == 1
    assert answer.to_polars()[answer.columns[0]].null_count() == 1
    frame = answer.to_pandas()
    assert frame[answer.columns[0]].dtype == "float64"
    assert math.isnan(frame[answer.columns[0]][0])
    assert answer.map_monotone(lambda number: number / 2).value is None
    assert answer.plot() is not None


def test_it_is_missing_among_groups_that_are_there_and_compares_with_nothing(clinic) -> None:
    session, price = clinic
    text = "select sex, avg(income) as m, stddev(age) as d from patient group by sex"
    answer = asked_until(session, text, price, lambda one: (one.rows[2]["m"], one.rows[2]["d"]) == (None, None))
    told = {row["sex"]: row["m"] for row in answer}
    assert told["nobody"] is None
    assert 0 < told["F"] < 90_000
    assert {row["sex"]: row["d"] for row in answer}["nobody"] is None
    frame = answer.to_pandas().set_index("sex")
    assert math.isnan(frame.loc["nobody", "m"])
    assert frame.loc["nobody", "m_high"] == 500_000
    kept = "select sex, avg(income) as m from patient group by sex having avg(income) >= 0 order by m desc"
    answer = asked_until(session, kept, price, lambda one: len(one.rows) == 2)
    assert {row["sex"] for row in answer} == {"F", "M"}


def test_a_quotient_over_nobody_is_missing(clinic) -> None:
    session, price = clinic
    text = "select sex, sum(income) / count(*) as q, var_pop(age) / avg(age) as v from patient group by sex"
    answer = asked_until(session, text, price, lambda one: (one.rows[2]["q"], one.rows[2]["v"]) == (None, None))
    told = {row["sex"]: (row["q"], row["v"]) for row in answer}
    assert told["nobody"] == (None, None)
    assert None not in told["F"]


def test_the_same_answer_is_missing_or_told_at_every_confidence(clinic) -> None:
    session, price = clinic
    answer = session.ask(lw.mean("patient", "income", by="sex"), **price)
    usual = [row["answer"] for row in answer]
    for confidence in ("0.01", "0.5", "0.999999"):
        assert [row["answer"] for row in answer.bounded(confidence)] == usual
