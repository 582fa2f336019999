"""Graphs at the prompt, over every kind of budget."""

import json
from pathlib import Path

import pytest

import lapwing as lw
from doors.cli.at_the_prompt import run


@pytest.fixture
def friends(clinic) -> Path:
    lines = "".join(f"{i},{1 + i % 90},{1 + i * i % 90}\n" for i in range(200))
    (clinic / "friend.csv").write_text(f"patient_id,one,other\n{lines}", encoding="utf-8")
    declared = ["--integer", "one=1..90", "--integer", "other=1..90"]
    assert run(clinic, "add", "friend", "--source", str(clinic / "friend.csv"), *declared).code == 0
    return clinic


def test_a_graph_is_previewed_asked_and_charged(friends) -> None:
    before = lw.open(friends, analyst="ana").budget().account
    looked = run(friends, "graph", "friend", "triangles", "--epsilon", "1", "--dry-run", "--json")
    assert json.loads(looked.out)["affordable"] is True
    assert lw.open(friends, analyst="ana").budget().account == before
    told = run(friends, "graph", "friend", "triangles", "--epsilon", "1", "--json")
    assert isinstance(json.loads(told.out)["value"], int)
    assert lw.open(friends, analyst="ana").budget().account != before
    assert "hides" in run(friends, "graph", "friend", "degrees", "--up-to", "5", "--epsilon", "1").out


@pytest.mark.one_budget("it is refused before anything is charged")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["friend", "squares", "--epsilon", "1"], "'squares' is not one of"),
        (["friend", "stars", "--epsilon", "1"], "how many points"),
        (["friend", "edges", "--points", "x", "--epsilon", "1"], "points"),
        (["friend", "edges", "--between", "one", "--epsilon", "1"], "does not name two columns"),
        (["patients", "edges", "--epsilon", "1"], "1 columns of whole numbers"),
        (["friend", "edges"], "say what to pay"),
    ],
)
def test_what_is_wrong_gets_its_sentence(friends, words, said) -> None:
    told = run(friends, "graph", *words)
    assert told.code == 2
    assert said in told.err
