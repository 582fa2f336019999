"""A publication is the same at a distance: planned here, released there, and refused where the two disagree."""

import inspect

import pytest

import lapwing as lw
from doors.client.between import between
from lapwing import errors
from lapwing.doors.client.remote_session import RemoteSession
from lapwing.publishing import explorer_opening, publish, synthesize

COLUMNS = {
    "sex": "sex",
    "age": lw.bins("age", [0, 18, 65, 120]),
    "ER": lw.has("visit", "kind = 'ER'"),
    "old": lw.col("age") >= 90,
    "visits": lw.number_of("visit", most=2),
    "kinds": lw.has("visit", "code in (select code from kinds where of = 1)"),
}


WORDS = {
    **dict.fromkeys(("preview_publish", "publish"), publish),
    **dict.fromkeys(("preview_synthesize", "synthesize"), synthesize),
    **dict.fromkeys(("preview_explorer", "explorer"), explorer_opening),
}


@pytest.fixture(scope="module")
def here(folder):
    with lw.open(folder, analyst="ana") as session:
        yield session


@pytest.fixture(scope="module")
def there(door):
    with lw.connect(door.url, door.tokens["ana"]) as session:
        yield session


def test_the_verbs_take_the_same_words() -> None:
    for name, room in WORDS.items():
        ours = list(inspect.signature(getattr(room, name)).parameters.values())[1:]
        theirs = list(inspect.signature(getattr(RemoteSession, name)).parameters.values())[1:]
        assert [(one.name, one.default, one.kind) for one in theirs] == [(o.name, o.default, o.kind) for o in ours]


def test_rows_by_strata_are_planned_alike_and_published_there(here, there) -> None:
    words = {"columns": ["kind"], "marginals": "all columns", "rows": [1, 2, 5], "within": 200}
    ours, theirs = (session.preview_publish("visit", **words) for session in (here, there))
    assert (theirs.to_dict(), theirs.facts()) == (ours.to_dict(), ours.facts())
    told = there.publish("visit", **words, key="rows of visits")
    assert told.offer.rows == (1, 2, 5)
    assert there.publish("visit", **words, key="rows of visits").released == told.released
    assert here.preview_publish("visit", **{**words, "rows": [1, 2]}).price != ours.price


def test_a_publication_has_the_same_preview_and_the_same_numbers(here, there) -> None:
    ours, theirs = (session.preview_publish("patient", COLUMNS, within=90) for session in (here, there))
    assert (theirs.to_dict(), theirs.facts()) == (ours.to_dict(), ours.facts())
    told = there.publish("patient", COLUMNS, within=90, key="week 3")
    paid = there.budget().to_dict()
    for again in (
        there.publish("patient", COLUMNS, within=90, key="week 3"),
        there.publish("patient", COLUMNS, within=90),
    ):
        assert again.released == told.released
    assert there.budget().to_dict() == paid, "the same publication is free"
    assert list(told) == [told.offer.names(one) for one in ours.offer.wanted]
    assert told["sex", "ER"].sd == ours.sd["sex", "ER"]
    assert told.count("sex = 8507 and age >= 18").interval.high > 0
    whole = there.publish("patient", COLUMNS, within=90, whole=True, non_negative=True)
    assert "biased" in whole["sex"].remark
    assert told["sex"].remark is None


def test_a_synthetic_table_is_the_same_at_a_distance(here, there) -> None:
    columns = {"sex": "sex", "age": lw.bins("age", [0, 18, 65, 120]), "ER": lw.has("visit", "kind = 'ER'")}
    ours, theirs = (session.preview_synthesize("patient", columns, within=90) for session in (here, there))
    assert (theirs.to_dict(), theirs.facts()) == (ours.to_dict(), ours.facts())
    told = there.synthesize("patient", columns, within=90, key="a-model-key", progress=lambda _: None)
    paid = there.budget().to_dict()
    again = there.synthesize("patient", columns, within=90)
    at_home = here.synthesize("patient", columns, within=90, key="a-model-key")
    for one in (again, at_home):
        assert (one.model.digest, one.released) == (told.model.digest, told.released)
    assert there.budget().to_dict() == paid, "the same synthesis is free"
    assert told.rows(20).to_rows() == at_home.rows(20).to_rows()
    assert told.count("age >= 18").people == at_home.count("age >= 18").people
    assert told.quality.to_dict() == at_home.quality.to_dict()


def test_an_explorer_is_the_same_at_a_distance(here, there, budget) -> None:
    columns = {"sex": "sex", "age": lw.bins("age", [0, 40, 120])}
    price = {"epsilon": "3", "delta": "1e-8"} if budget.delta else budget.of("2")
    ours, theirs = (session.preview_explorer("patient", columns, questions=50, **price) for session in (here, there))
    assert (theirs.to_dict(), theirs.facts()) == (ours.to_dict(), ours.facts())
    with there.explorer("patient", columns, questions=50, key="an explorer", **price) as explorer:
        assert explorer.reach() == ours.free_reach
        guessed = explorer.count("sex = 8507", pay=False)
        assert (guessed.checked, guessed.interval, guessed.free) == (False, None, True)
        women, older = explorer.count_many([lw.col("sex") == 8532, "age >= 40"], confidence="0.99999999")
        assert women.interval.low <= 200 <= women.interval.high
        assert older.interval.low <= 240 <= older.interval.high
        left = explorer.paid_answers_left
        bought = explorer.buy("sex = 8507")
        assert (bought.free, explorer.paid_answers_left) == (False, left - 1)
        again = there.explorer("patient", columns, questions=50, key="an explorer", **price)
        assert (again.name, repr(again)) == (explorer.name, repr(explorer))
        with pytest.raises(errors.BadQuestionError, match="part of"):
            explorer.count("age > 50")
        with pytest.raises(errors.BadQuestionError, match="3 guesses for 1"):
            explorer.count_many(["age >= 40"], guesses=[1, 2, 3])
    with pytest.raises(errors.LapwingError):
        explorer.count("age < 40")
    with pytest.raises(errors.BadQuestionError, match="name the table"):
        there.explorer(epsilon=1)


LIES_OF_EXPLORERS = {
    "a narrow interval": lambda one: {**one, "low": one["people"], "high": one["people"]},
    "another price": lambda one: {**one, "price": "1/7"},
    "no number": lambda one: {**one, "people": "many"},
}


@pytest.mark.one_budget("lies are found by comparing, whatever was paid with")
def test_an_explorer_that_tells_something_else_is_not_believed(door) -> None:
    with between(door.port) as way, lw.connect(way.url, door.tokens["ana"]) as session:
        explorer = session.explorer("patient", ["sex"], questions=20, epsilon=1, key="lied about")
        for lie in LIES_OF_EXPLORERS.values():
            way.change = lambda path, told, lie=lie: (
                {**told, "answers": [lie(one) for one in told["answers"]]} if path.endswith("/counts") else told
            )
            with pytest.raises((errors.DisagreementError, errors.ServerError)):
                explorer.count("sex = 8507")
        way.change = lambda path, told: {**told, "means": "0" * 64} if "explorer" in path else told
        with pytest.raises(errors.DisagreementError):
            session.preview_explorer("patient", ["sex"], epsilon=1)


@pytest.mark.one_budget("lies are found by comparing, whatever was paid with")
@pytest.mark.parametrize("field", ["model", "released"])
def test_a_synthetic_table_that_is_another_one_is_not_believed(door, field) -> None:
    def lie(path, told):
        return {**told, field: [] if field == "released" else "0" * 64} if path.endswith("/syntheses") else told

    with between(door.port) as way, lw.connect(way.url, door.tokens["ana"]) as session:
        way.change = lie
        with pytest.raises((errors.DisagreementError, errors.ServerError)):
            session.synthesize("patient", ["sex", lw.bins("age", [0, 50, 120])], within=90)


@pytest.mark.one_budget("what is sent does not depend on what it is paid with")
def test_values_under_a_name_come_along(here, there) -> None:
    for session in (here, there):
        session.concept_set("working", range(20, 60))
    columns = {"works": lw.col("age").is_in(lw.concept_set("working", range(20, 60))), "sex": "sex"}
    told = there.publish("patient", columns, [("works", "sex"), "sex"], within=80)
    assert told["works"].values.shape == (2,)


REFUSED = {
    "no column": lambda door: door.publish("patient", ["shoe"], within=60),
    "many rows": lambda door: door.publish("visit", ["kind"], within=60),
    "no price": lambda door: door.publish("patient", ["sex"]),
    "no codes": lambda door: door.preview_publish("patient", ["born"], within=60),
    "no such sets": lambda door: door.publish("patient", ["sex"], "all quadruples", within=60),
    "out of reach": lambda door: door.preview_publish("patient", ["sex"], within="1e-9"),
}


@pytest.mark.one_budget("what is wrong with the words is wrong under every kind")
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_the_same_error(here, there, name) -> None:
    raised = []
    for session in (here, there):
        with pytest.raises(errors.LapwingError) as refused:
            REFUSED[name](session)
        raised.append(refused.value)
    assert (type(raised[1]), str(raised[1])) == (type(raised[0]), str(raised[0]))


LIES = {
    "another price": lambda told: {**told, "price": {**told["price"], "epsilon": "0.001", "rho": "0.001"}},
    "another meaning": lambda told: {**told, "means": "0" * 64},
    "fewer numbers": lambda told: {**told, "released": told["released"][:-1]},
    "numbers of another size": lambda told: {**told, "released": [one[:-1] for one in told["released"]]},
    "no whole numbers": lambda told: {**told, "released": [[0.5 for _ in one] for one in told["released"]]},
}


@pytest.mark.one_budget("lies are found by comparing, whatever was paid with")
@pytest.mark.parametrize("name", LIES)
def test_a_server_that_tells_something_else_is_not_believed(door, name) -> None:
    def lie(path, told):
        return LIES[name](told) if path.endswith("/publications") else told

    with between(door.port) as way, lw.connect(way.url, door.tokens["ana"]) as session:
        way.change = lie
        with pytest.raises((errors.DisagreementError, errors.ServerError)):
            session.publish("patient", ["sex", lw.bins("age", [0, 50, 120])], within=70)


@pytest.mark.one_budget("lies are found by comparing, whatever was paid with")
def test_a_preview_at_another_price_is_not_believed(door) -> None:
    def lie(path, told):
        return {**told, "price": {**told["price"], "rho": "9"}} if path.endswith("previews") else told

    with between(door.port) as way, lw.connect(way.url, door.tokens["ana"]) as session:
        way.change = lie
        with pytest.raises(errors.DisagreementError, match="asks another price"):
            session.preview_publish("patient", ["sex"], "all columns", within=70)


def test_more_than_is_left_is_refused_with_the_same_numbers(here, there, budget) -> None:
    raised, dear = [], {"rho": 19} if budget.delta else budget.of(20)
    if budget.delta:
        there.publish("patient", ["sex"], "all columns", rho=20)
    for session in (here, there):
        with pytest.raises(errors.BudgetExceededError) as refused:
            session.publish("patient", ["sex"], "all columns", **dear)
        raised.append(str(refused.value))
    assert raised[0] == raised[1]
