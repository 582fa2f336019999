"""Comparisons, survival, regressions and dashboards over HTTP: what Python gives, charged once under a key."""

from collections.abc import Iterator

import pytest

import lapwing as lw
from budgets import KindOfBudget
from doors.server.doors import Door, P, code_of
from doors.server.pages.visitors import clinic_door, gaussian
from lapwing.doors.server.jobs import Job, JobName
from lapwing.doors.server.problems import ProblemError
from lapwing.noise.randomness import fresh_name
from lapwing.vocabulary.codec import digest


@pytest.fixture(scope="module")
def door(budget: KindOfBudget) -> Iterator[Door]:
    with clinic_door(budget) as door:
        yield door


COMPARISON = {"table": "patient", "outcome": "diabetes", "by": "sex"}
SURVIVAL = {"table": "patient", "time": "age", "event": "hypertension", "grid": list(range(0, 100, 20)), "by": "sex"}
FORMULA = {"table": "patient", "formula": "bmi ~ age/10 + sex + smoker"}
BOARD = {
    "name": "emergencies / ER",
    "table": "visit",
    "where": "kind = 'emergency'",
    "period": "day",
    "first": "2024-01-01",
    "releases": 3,
}


def post(door, place, body, *, who="ana", key=None, **more):
    return door.call(who, "POST", f"{P}/{place}", body, key=key or fresh_name(), **more)


def test_a_comparison_is_that_of_python_and_is_charged_once(door, budget) -> None:
    body, before = {**COMPARISON, "price": {budget.currency: "0.5"}}, door.left()
    assumed = {"assume": {"people": ["500", 500], "shares": ["0.10", "0.16"]}}
    told = post(door, "comparison-previews", {**body, **assumed}).json()
    assert (told["method"], told["stored"], told["affordable"], told["stopped"]) == ("proportions", False, True, None)
    assert 0 < told["power"] < 1
    assert door.left() == before, "looking is free"
    made = post(door, "comparisons", body, key="first-key").json()
    paid = door.left()
    assert paid != before
    with lw.open(door.folder, analyst="ana") as session:
        here = session.compare("patient", "diabetes", by="sex", key="first-key", **{budget.currency: "0.5"})
    told_here = {**here.to_dict(), "free": False}
    assert {name: made[name] for name in told_here} == {**told_here, "interval": list(here.interval())}
    assert post(door, "comparisons", body, key="first-key").json() == made
    again = post(door, "comparisons", body, key="second-key").json()
    assert (again["p"], again["free"], again["released"]) == (made["p"], True, made["released"])
    assert post(door, "comparison-previews", body).json()["stored"]
    assert door.get("ana", f"{P}/comparisons/first-key").json()["p"] == made["p"]
    assert door.get("ana", f"{P}/jobs/first-key").json()["state"] == "answered"
    assert [one["key"] for one in door.get("ana", f"{P}/comparisons").json()] == ["second-key", "first-key"]
    assert door.get("ben", f"{P}/comparisons").json() == []
    assert door.get("ben", f"{P}/comparisons/first-key").status_code == 404
    assert door.left() == paid
    conflict = post(door, "comparisons", {**body, "outcome": "smoker"}, key="first-key")
    assert (conflict.status_code, code_of(conflict)) == (409, "request_conflict")


def test_curves_are_those_of_python_and_are_charged_once(door, budget) -> None:
    body, before = {**SURVIVAL, "price": {budget.currency: "0.4"}}, door.left()
    assert post(door, "survival-previews", body).json()["affordable"]
    assert door.left() == before
    made = post(door, "survivals", body, key="curves-key").json()
    with lw.open(door.folder, analyst="ana") as session:
        words = {name: given for name, given in SURVIVAL.items() if name != "table"}
        here = session.survival("patient", **words, key="curves-key", **{budget.currency: "0.4"})
    assert (made["p"], made["curves"]) == (here.p, [one.to_dict() for one in here.curves])
    assert door.get("ana", f"{P}/survivals/curves-key").json()["curves"] == made["curves"]
    assert door.get("ana", f"{P}/comparisons/curves-key").status_code == 404


def test_rows_a_person_are_those_of_python_and_are_charged_once(door, budget) -> None:
    body, before = {"table": "visit", "up_to": 20, "price": budget.of("0.2")}, door.left()
    foreseen = post(door, "rows-a-person-previews", body).json()
    assert (foreseen["stored"], foreseen["affordable"], door.left()) == (False, True, before)
    for path in ("rows-a-person-previews", "rows-a-person"):
        other = post(door, path, {**body, "means": ["0" * 64]})
        assert (other.status_code, code_of(other)) == (409, "disagreement"), other.text
    assert door.left() == before
    body["means"] = [digest([foreseen["question"]])]
    made = post(door, "rows-a-person", body, key="rows-key").json()
    with lw.open(door.folder, analyst="ana") as session:
        here = session.rows_a_person("visit", up_to=20, key="rows-key", **budget.of("0.2"))
    assert made["cuts"] == here.to_dict()["cuts"]
    assert (made["sentence"], made["receipt"]) == (str(here), str(here.answer.receipt))
    paid = door.left()
    assert paid != before
    assert door.get("ana", f"{P}/rows-a-person/rows-key").json()["spans"] == made["spans"]
    assert door.get("ana", f"{P}/jobs/rows-key").json()["outcome"]["cuts"] == made["cuts"]
    assert [one["key"] for one in door.get("ana", f"{P}/rows-a-person").json()] == ["rows-key"]
    assert post(door, "rows-a-person", {**body, "table": "patient"}).status_code == 422, "nothing is cut there"
    assert door.left() == paid


def test_a_regression_is_a_job_with_rounds_and_that_of_python(door, budget) -> None:
    if budget.name == "epsilon":
        before = door.left()
        for place in ("regression-previews", "regressions"):
            refused = post(door, place, {**FORMULA, "price": {"epsilon": 1}})
            assert (refused.status_code, "no pure budget pays" in refused.json()["error"]["message"]) == (422, True)
        assert door.left() == before
        return
    body, before = {**FORMULA, "price": gaussian(budget)}, door.left()
    told = post(door, "regression-previews", {**body, "assume": {"people": 3000}}).json()
    assert (told["stored"], told["affordable"], told["columns"]) == (False, True, ["age/10", "sex[M]", "smoker"])
    assert door.left() == before
    begun = post(door, "regressions", body, key="a-model-key", headers={"Prefer": "wait=0"})
    assert (begun.status_code, begun.headers["Location"]) == (202, f"{P}/jobs/a-model-key")
    made = post(door, "regressions", body, key="a-model-key").json()
    paid, job = door.left(), door.get("ana", f"{P}/jobs/a-model-key").json()
    assert (job["state"], job["outcome"], job["progress"]) == ("answered", made, {"done": 5, "of": 5})
    assert paid != before
    with lw.open(door.folder, analyst="ana") as session:
        here = session.regress(*FORMULA.values(), key="a-model-key", **gaussian(budget))
    assert {name: made[name] for name in here.to_dict()} == here.to_dict()
    assert (made["means"], made["price"], len(made["rounds"])) == (told["means"], told["price"], 5)
    again = post(door, "regressions", body, key="another-key").json()
    assert (again["coefficients"], again["free"], made["free"]) == (made["coefficients"], True, False)
    assert door.get("ana", f"{P}/regressions/a-model-key").json() == made
    assert door.get("ben", f"{P}/regressions/a-model-key").status_code == 404
    assert door.left() == paid


def test_a_fit_that_is_stopped_keeps_its_charge_and_is_never_charged_again(door, budget) -> None:
    if budget.name == "epsilon":
        return  # no pure budget pays for one
    body = {**FORMULA, "formula": "bmi ~ age + smoker + sex", "price": gaussian(budget)}
    post(door, "regressions", body, key="to-be-stopped", headers={"Prefer": "wait=0"})
    stopped = door.call("ana", "DELETE", f"{P}/jobs/to-be-stopped").json()
    assert stopped["state"] in {"answered", "lost", "refused", "cancelled"}
    once = post(door, "regressions", body, key="to-be-stopped")
    paid = door.left()
    assert once.status_code in {200, 410}, once.text  # it was stopped while it read: that round is lost, for ever
    again = post(door, "regressions", body, key="to-be-stopped")
    assert (again.status_code, again.json()) == (once.status_code, once.json())
    told = door.get("ana", f"{P}/jobs/to-be-stopped").json()
    assert told["state"] == ("answered" if once.status_code == 200 else "lost")
    assert door.left() == paid


@pytest.mark.one_budget("a job knows no budget")
def test_a_job_that_is_to_stop_stops_between_two_rounds_and_not_after_the_last() -> None:
    job = Job(name=JobName("clinic", "ana", "a-key-1234"), digest="", session=None, begun=0.0)
    job.step(1, 5)
    job.stopping = True
    with pytest.raises(ProblemError, match="between two rounds"):
        job.step(2, 5)
    job.step(5, 5)
    assert [done for _, done, _ in job.progress] == [1, 2, 5]


def test_a_dashboard_is_paid_at_its_opening_and_published_by_its_name(door, budget) -> None:
    body, before = {**BOARD, "price": {budget.currency: "1"}}, door.left()
    told = post(door, "dashboard-previews", body).json()
    assert (told["stored"], told["affordable"], len(told["cumulative"])) == (False, True, 3)
    assert door.left() == before
    made = post(door, "dashboards", body, key="open-a-board").json()
    paid = door.left()
    assert (paid != before, made["published"], made["next"]["period"]) == (True, 0, "2024-01")
    assert post(door, "dashboards", body, key="open-a-board").json() == made
    assert post(door, "dashboards", body, key="open-it-again").json()["free"]
    assert post(door, "dashboard-previews", body).json()["stored"]
    other = post(door, "dashboards", {**body, "every": "week"}, key="other-terms")
    assert (other.status_code, "which never change" in other.json()["error"]["message"]) == (422, True), other.text
    place = f"dashboards/{made['id']}"
    early = post(door, f"{place}/releases", {"today": "2024-01-31"})
    assert (early.status_code, "is not over before 2024-01-31" in early.json()["error"]["message"]) == (422, True)
    shown = post(door, f"{place}/releases", {"today": "2024-02-01"}, key="january-key").json()
    assert (shown["published"], len(shown["counts"]["cumulative"])) == (1, 1)
    assert post(door, f"{place}/releases", {"today": "2024-02-01"}, key="january-key").json() == shown
    again = post(door, f"{place}/releases", {"today": "2024-03-01"})
    assert (again.status_code, "was published already" in again.json()["error"]["message"]) == (422, True)
    with lw.open(door.folder, analyst="ana") as session:
        here = session.dashboard(name=BOARD["name"]).cumulative()
    assert door.get("ana", f"{P}/{place}").json()["counts"]["cumulative"] == here.to_dict()["counts"]
    assert [one["published"] for one in door.get("ana", f"{P}/dashboards").json()] == [1]
    assert door.get("ben", f"{P}/dashboards").json() == []
    for who, path in (("ben", place), ("ana", "dashboards/absent-1234")):
        assert door.get(who, f"{P}/{path}").status_code == 404
        assert post(door, f"{path}/releases", {}, who=who).status_code == 404
    assert door.left() == paid


@pytest.mark.one_budget("what is wrong with the words is wrong under every kind")
@pytest.mark.parametrize(
    ("place", "body", "says"),
    [
        ("comparison", {**COMPARISON, "outcome": "shoe"}, "shoe"),
        ("comparison", {**COMPARISON, "by": "site"}, "two groups are compared"),
        ("comparison", {**COMPARISON, "table": "visit", "outcome": "kind"}, "many rows"),
        ("comparison", {**COMPARISON, "method": "anova"}, "anova"),
        ("comparison", {**COMPARISON, "groups": ["F", "X"]}, "no group of sex"),
        ("survival", {**SURVIVAL, "grid": [5, 5]}, "grid"),
        ("survival", {**SURVIVAL, "time": "shoe"}, "shoe"),
        ("regression", {**FORMULA, "formula": "bmi ~"}, "formula"),
        ("regression", {**FORMULA, "formula": "bmi ~ __import__('os')"}, "formula"),
        ("regression", {**FORMULA, "model": "cubic"}, "cubic"),
        ("dashboard", {**BOARD, "first": "2024-01-15"}, "middle of a month"),
        ("dashboard", {**BOARD, "last": "2024-03-31"}, "both are given"),
        ("dashboard", {**BOARD, "period": "kind"}, "day"),
        ("dashboard", {**BOARD, "name": " "}, "name"),
    ],
)
def test_what_cannot_be_analysed_is_refused_in_a_sentence_for_nothing(door, place, body, says) -> None:
    before, body = door.left(), {**body, "price": {"epsilon": "0.5"}}
    plural = {"comparison": "comparisons", "survival": "survivals", "regression": "regressions"}.get(
        place, "dashboards"
    )
    for path in (f"{place}-previews", plural):
        told = post(door, path, body)
        assert (told.status_code, says in told.json()["error"]["message"]) == (422, True), told.text
    assert door.left() == before


def test_what_does_not_fit_the_account_is_refused(door, budget) -> None:
    before, price = door.left(), budget.of(20)
    for place, body in (
        ("comparisons", COMPARISON),
        ("survivals", SURVIVAL),
        ("dashboards", {**BOARD, "name": "dear"}),
    ):
        made = post(door, place, {**body, "price": price}, key=f"too-dear-{place}")
        assert (made.status_code, code_of(made)) == (402, "budget_exceeded"), made.text
    assert door.left() == before
