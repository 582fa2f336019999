"""Analyses are the same at a distance: planned and computed here, drawn there, refused where the two disagree."""

import inspect

import pytest

import lapwing as lw
from doors.client.between import between
from doors.server.pages.visitors import clinic_door, gaussian
from lapwing import errors
from lapwing.analyses import dashboard, regress
from lapwing.doors.client.remote_session import RemoteSession

MODEL = ("patient", "bmi ~ age/10 + sex + smoker")
YEAR = {"period": "day", "first": "2024-01-01", "every": "quarter", "releases": 4}
WORDS = {
    **dict.fromkeys(("preview_regress", "regress"), regress),
    **dict.fromkeys(("preview_dashboard", "dashboard"), dashboard),
}


@pytest.fixture(scope="module")
def door(budget):
    with clinic_door(budget) as door:
        yield door


@pytest.fixture(scope="module")
def here(door):
    with lw.open(door.folder, analyst="ana") as session:
        yield session


@pytest.fixture(scope="module")
def there(door):
    with lw.connect(door.url, door.tokens["ana"]) as session:
        yield session


def amount(budget, much):
    return {budget.currency: much}


def visits():
    return lw.count("visit", "kind = 'emergency'")


def test_the_verbs_take_the_same_words() -> None:
    for name, room in WORDS.items():
        ours = list(inspect.signature(getattr(room, name)).parameters.values())[1:]
        theirs = list(inspect.signature(getattr(RemoteSession, name)).parameters.values())[1:]
        assert [(one.name, one.default, one.kind) for one in theirs] == [(o.name, o.default, o.kind) for o in ours]


def test_a_regression_is_the_same_at_a_distance(here, there, budget) -> None:
    if budget.name == "epsilon":
        for session in (here, there):
            for verb in (session.preview_regress, session.regress):
                with pytest.raises(errors.BadQuestionError, match="no pure budget pays for"):
                    verb(*MODEL, epsilon=1)
        return
    price, assumed = gaussian(budget), {"people": 3000}
    ours, theirs = (one.preview_regress(*MODEL, assume=assumed, **price) for one in (here, there))
    assert (theirs.to_dict(), theirs.facts()) == (ours.to_dict(), ours.facts())
    steps = list[tuple[int, int]]()
    told = there.regress(*MODEL, key="a model", progress=lambda done, of: steps.append((done, of)), **price)
    paid = there.budget().to_dict()
    assert there.regress(*MODEL, key="a model", **price).to_dict() == told.to_dict()
    assert there.regress(*MODEL, **price).to_dict() == told.to_dict(), "the same regression is free"
    assert there.budget().to_dict() == paid
    at_home = here.regress(*MODEL, key=there_key("a model"), **price)
    assert (at_home.to_dict(), at_home.facts()) == (told.to_dict(), told.facts())
    somebody = {"age": 50, "sex": "F", "smoker": True}
    assert told.predict(somebody) == at_home.predict(somebody)
    assert told.contrast("sex[M] - sex[F]").to_dict()["estimate"] == at_home["sex[M]"].estimate
    older = there.regress(*MODEL, where=lw.col("age") >= 40, **price)
    assert older.people < told.people


def there_key(name):
    from lapwing.doors.client.connection import key_of  # noqa: PLC0415 - how a name becomes a key of HTTP

    return key_of(name)


def test_counts_over_time_are_the_same_at_a_distance(here, there, budget) -> None:
    price = amount(budget, "1")
    ours, theirs = (one.preview_dashboard(visits(), **YEAR, **price) for one in (here, there))
    assert (theirs.to_dict(), theirs.facts()) == (ours.to_dict(), ours.facts())
    board = there.dashboard(visits(), name="emergencies", **YEAR, **price)
    paid = there.budget().to_dict()
    with pytest.raises(errors.BadQuestionError, match="has published nothing yet"):
        board.cumulative()
    shown = board.publish("2024-07-02")
    at_home = here.dashboard(name="emergencies")
    assert (board.published, at_home.published, board.lost) == (2, 2, ())
    assert shown.to_dict() == at_home.cumulative().to_dict()
    assert board.window(2).to_dict() == at_home.window(2).to_dict()
    again, same = there.dashboard(name="emergencies"), there.dashboard(visits(), name="emergencies", **YEAR, **price)
    assert again.periods().to_dict() == same.periods().to_dict() == at_home.periods().to_dict()
    assert there.budget().to_dict() == paid, "publishing costs nothing more"
    groups = there.dashboard(
        lw.count("patient", by="sex"), name="by sex", **{**YEAR, "period": lw.first_of("visit.day")}, **price
    )
    assert list(groups.publish("2024-04-02").groups) == [("F",), ("M",)]
    stock = {**YEAR, "period": "joined", "until": "quit"}
    ours, theirs = (one.preview_dashboard(lw.count("enrolled"), **stock, **price) for one in (here, there))
    assert (theirs.to_dict(), theirs.facts()) == (ours.to_dict(), ours.facts())
    now = there.dashboard(lw.count("enrolled"), name="who is in", **stock, **price).publish("2024-10-02")
    assert now.what == "people who are in"
    assert now.to_dict() == here.dashboard(name="who is in").cumulative().to_dict()
    assert all(
        abs(one.estimate - true) <= 4 * one.margin for one, true in zip(now.counts, (150, 300, 150), strict=True)
    )


def test_comparisons_and_curves_are_the_same_at_a_distance(here, there, budget) -> None:
    words, price = {"by": "sex"}, amount(budget, "0.4")
    told = there.compare("patient", "diabetes", **words, key="is there one", **price)
    at_home = here.compare("patient", "diabetes", **words, **price)
    assert ({**told.to_dict(), "free": True}, told.p) == (at_home.to_dict(), at_home.p)
    curve = {"time": "age", "event": "hypertension", "grid": range(0, 100, 20), "by": "sex"}
    assert there.survival("patient", **curve, **price).p == here.survival("patient", **curve, **price).p


REFUSED = {
    "no formula": lambda one: one.regress("patient", "bmi ~", rho="0.1"),
    "no model": lambda one: one.preview_regress(*MODEL, model="cubic", rho="0.1"),
    "many columns of one": lambda one: one.regress("patient", "bmi ~ age + age", rho="0.1"),
    "no bounds": lambda one: one.regress("patient", "bmi ~ born", rho="0.1"),
    "hopeless": lambda one: one.regress(*MODEL, assume={"people": 5}, rho="1e-6"),
    "no such dashboard": lambda one: one.dashboard(name="absent"),
    "half of its terms": lambda one: one.dashboard(visits(), name="half", period="day", rho="0.1"),
    "its terms again": lambda one: one.dashboard(name="emergencies", first="2024-01-01"),
    "other terms": lambda one: one.dashboard(visits(), name="emergencies", **{**YEAR, "releases": 3}, rho="0.1"),
    "too early": lambda one: one.dashboard(name="emergencies").publish("2024-07-02"),
    "no day": lambda one: one.dashboard(name="emergencies").publish("July"),
    "a grid that ends": lambda one: one.preview_dashboard(
        visits(), period="day", first="2024-01-01", last="2023-12-31", rho="0.1"
    ),
    "too dear": lambda one: one.dashboard(visits(), name="dear", **YEAR, epsilon=20),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_the_same_error(here, there, name, budget) -> None:
    if budget.name != "rho" and name != "too dear":
        return  # words are wrong in the same way under every kind, and the others were offered in rho
    raised, before = [], there.budget().to_dict()
    for session in (here, there):
        with pytest.raises(errors.LapwingError) as refused:
            REFUSED[name](session)
        raised.append(refused.value)
    assert (type(raised[1]), str(raised[1])) == (type(raised[0]), str(raised[0]))
    assert there.budget().to_dict() == before


LIES = {
    "another meaning": lambda told: {**told, "means": "0" * 64},
    "fewer rounds": lambda told: {**told, "rounds": told["rounds"][:-1]},
    "no whole numbers": lambda told: {**told, "rounds": [{**one, "released": [[0.5]]} for one in told["rounds"]]},
    "other sizes": lambda told: {
        **told,
        "rounds": [{**one, "released": one["released"][:-1]} for one in told["rounds"]],
    },
    "no round": lambda told: {**told, "rounds": [7 for _ in told["rounds"]]},
}


@pytest.mark.parametrize("name", LIES)
def test_a_server_that_tells_something_else_is_not_believed(door, budget, name) -> None:
    if budget.name != "rho":
        return  # lies are found by comparing, whatever was paid with
    asked = {
        "regressions": lambda one: one.regress(*MODEL, rho="0.05"),
        "releases": lambda one: one.dashboard(visits(), name=f"lied: {name}", **YEAR, rho="0.05").publish("2024-07-02"),
    }
    for place, verb in asked.items():
        if (place, name) == ("releases", "fewer rounds"):
            continue  # it would be a dashboard that has published less

        def lie(path, told, place=place):
            return LIES[name](told) if path.endswith(f"/{place}") else told

        with between(door.port) as way, lw.connect(way.url, door.tokens["ana"]) as session:
            way.change = lie
            with pytest.raises((errors.DisagreementError, errors.ServerError)):
                verb(session)
