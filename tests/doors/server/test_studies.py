"""Analyses in rounds at a distance: planned by the client, charged once, drawn by the server, read back anywhere."""

import inspect
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import lapwing as lw
from doors.cli.at_the_prompt import run
from doors.server.doors import P, code_of, make_folder, serving
from lapwing import errors
from lapwing.doors.client.remote_studies import RemoteNetwork
from lapwing.doors.studies import NAMES
from lapwing.graphs.network import Network
from lapwing.noise.randomness import fresh_name
from postgres_server import where_there_is_room

FRIENDS = """
[populations.clinic.tables.friend]
source = "friend.csv"
[populations.clinic.tables.friend.columns]
one = { type = "integer", low = 1, high = 90 }
other = { type = "integer", low = 1, high = 90 }
"""
AGES = {"age": lw.bins("age", [0, 18, 65, 120]), "old": lw.col("age") >= 90}
STUDIES = {
    "edges": lambda session, **more: session.graph("friend", where="one > 2").edges(**more),
    "degrees": lambda session, **more: session.graph("friend", between=("one", "other")).degrees(5, **more),
    "triangles": lambda session, **more: session.graph("friend").triangles(**more),
    "stars": lambda session, **more: session.graph("friend").stars(3, **more),
    "k_means": lambda session, **more: session.k_means("patient", ["age"], 2, rounds=2, **more),
    "principal_components": lambda session, **more: session.principal_components("friend", ["one", "other"], **more),
    "decision_tree": lambda session, **more: session.decision_tree(
        "patient", lw.col("sex") == "M", AGES, depth=1, **more
    ),
    "sample_count": lambda session, **more: session.sample_count("patient", lw.col("age") > 40, rate="1/2", **more),
    "train": lambda session, **more: session.train(
        "patient", target="sex", features=AGES, people=400, epochs=1, rate="1/2", where="age > 5", **more
    ),
}
BODY = {"study": {"of": "k_means", "table": "patient", "columns": ["age"], "clusters": 2}, "price": {"epsilon": "0.1"}}


@pytest.fixture(scope="module")
def door(budget):
    with TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as folder:
        place = make_folder(Path(folder) / "clinic", budget)
        lines = "".join(f"{i},{1 + i % 90},{1 + i * i % 90}\n" for i in range(200))
        (place / "friend.csv").write_text(f"patient_id,one,other\n{lines}")
        with (place / "lapwing.toml").open("a") as settings:
            settings.write(FRIENDS)
        assert run(place, "update").code == 0
        with serving(place) as running:
            yield running


@pytest.fixture(scope="module")
def here(door):
    with lw.open(door.folder, analyst="ana") as session:
        yield session


@pytest.fixture(scope="module")
def there(door):
    with lw.connect(door.url, door.tokens["ana"]) as session:
        yield session


def test_every_study_is_here() -> None:
    assert set(STUDIES) == set(NAMES)
    for name in ("edges", "degrees", "triangles", "stars", "preview"):
        ours, theirs = (inspect.signature(getattr(one, name)).parameters for one in (Network, RemoteNetwork))
        assert list(ours) == list(theirs)


@pytest.mark.parametrize("name", list(STUDIES))
def test_a_study_is_charged_once_and_is_the_same_at_a_distance(door, here, there, budget, name) -> None:
    price = {"rho": "0.01"} if name == "train" and budget.name == "rho" else {"epsilon": "0.1"}
    price |= {"delta": "1e-9"} if name == "train" and budget.name == "delta" else {}
    before = there.budget().to_dict()
    if name == "train" and budget.name == "epsilon":
        for session in (here, there):
            with pytest.raises(errors.BadQuestionError, match="the Gaussian noise of a training"):
                STUDIES[name](session, **price)
        return
    told = STUDIES[name](there, **price)
    paid = there.budget().to_dict()
    assert paid != before
    for again in (STUDIES[name](there, **price), STUDIES[name](there, key=f"{name} under a key of my own", **price)):
        assert there.budget().to_dict() == paid, "the same study of the same data is free"
        assert again.to_dict() == told.to_dict()
    kept = door.get("ana", f"{P}/studies").json()[0]
    assert kept["of"] == name
    shown = door.get("ana", f"{P}/studies/{kept['key']}").json()
    assert {key: one for key, one in shown["told"].items() if key != "receipt"}.items() <= told.to_dict().items()
    assert door.get("ben", f"{P}/studies/{kept['key']}").status_code == 404


@pytest.mark.parametrize("name", ["k_means", "triangles"])
def test_a_preview_is_free_and_the_same_as_here(here, there, name) -> None:
    def looked(session):
        if name == "triangles":
            return session.graph("friend").preview("triangles", epsilon="0.2")
        return session.preview_k_means("patient", ["age"], 3, epsilon="0.2")

    before = there.budget().to_dict()
    assert (looked(there).to_dict(), looked(there).facts()) == (looked(here).to_dict(), looked(here).facts())
    assert there.budget().to_dict() == before


@pytest.mark.one_budget("it does not depend on what is paid with")
def test_a_study_under_a_key_is_the_same_for_python_beside_the_data(here, there) -> None:
    told = there.k_means("patient", ["age"], 3, rounds=2, epsilon="0.3", key="python-reads-it")
    assert here.k_means("patient", ["age"], 3, rounds=2, epsilon="0.3", key="python-reads-it").centres == told.centres


def test_what_does_not_fit_the_account_is_refused_for_nothing(door) -> None:
    before = door.left()
    made = door.call("ana", "POST", f"{P}/studies", {**BODY, "price": {"epsilon": "20"}}, key=fresh_name())
    assert (made.status_code, code_of(made)) == (402, "budget_exceeded"), made.text
    looked = door.call("ana", "POST", f"{P}/study-previews", {**BODY, "price": {"epsilon": "20"}}).json()
    assert (looked["affordable"], looked["stored"]) == (False, False)
    assert door.left() == before


@pytest.mark.one_budget("it is refused before anything is charged")
@pytest.mark.parametrize(
    ("change", "status", "says"),
    [
        ({"study": {**BODY["study"], "clusters": 1}}, 422, "clusters"),
        ({"study": {**BODY["study"], "columns": ["shoe"]}}, 422, "shoe"),
        ({"study": {**BODY["study"], "of": "k_meens"}}, 422, "k_meens"),
        ({"study": {"of": "stars", "table": "friend"}}, 422, "points"),
        ({"study": {"of": "edges", "table": "patient"}}, 422, "whole numbers"),
        ({"study": {"of": "edges", "table": "friend", "between": ["one"]}}, 422, "between"),
        ({"study": {"of": "triangles", "table": "friend", "where": "one ; 2"}}, 422, ";"),
        ({"price": {"rho": "0.1"}}, 422, "epsilon"),
        ({"price": {"epsilon": "-1"}}, 422, "epsilon"),
        ({"means": ["0" * 64]}, 409, "another question, or another price"),
    ],
)
def test_what_cannot_be_studied_is_refused_in_a_sentence_for_nothing(door, change, status, says) -> None:
    before = door.left()
    for path in ("studies", "study-previews"):
        made = door.call("ana", "POST", f"{P}/{path}", {**BODY, **change}, key=fresh_name())
        assert (made.status_code, says in made.json()["error"]["message"]) == (status, True), made.text
    assert door.left() == before


@pytest.mark.one_budget("it is refused before anything is charged")
def test_code_and_devices_are_not_sent(there) -> None:
    words = {"target": "sex", "features": AGES, "people": 400, "epsilon": 1}
    with pytest.raises(errors.BadQuestionError, match="leave device= out"):
        there.train("patient", device="cpu", **words)

    class Module:
        def named_parameters(self):
            return []

    for verb in (there.train, there.preview_train):
        with pytest.raises(errors.BadQuestionError, match="a module cannot be sent"):
            verb("patient", model=Module(), **words)


@pytest.mark.one_budget("it does not depend on what is paid with")
@pytest.mark.parametrize(
    "lie",
    [
        lambda told: {**told, "means": "0" * 64},
        lambda told: {**told, "outcomes": told["outcomes"][:1]},
        lambda told: {**told, "outcomes": [None, {"released": "many"}]},
        lambda told: {**told, "outcomes": [{"released": [["1e999", None]]}] * 2},
        lambda told: {**told, "receipts": ["lapwing:1"] * 2},
        lambda _: [],
    ],
    ids=["meaning", "fewer rounds", "lost", "no numbers", "no receipts", "nothing"],
)
def test_a_server_that_tells_another_study_is_not_believed(there, lie, monkeypatch) -> None:
    door = there._door
    honest = door.charge
    monkeypatch.setattr(door, "charge", lambda *words, **more: lie(honest(*words, **more)))
    with pytest.raises((errors.ServerError, errors.DisagreementError, errors.UnansweredError)):
        there.k_means("patient", ["age"], 2, rounds=2, epsilon="0.1")
