"""Procedures at the prompt, over every kind of budget."""

import json

import pytest

import lapwing as lw
from doors.cli.at_the_prompt import run

COMMANDS = {
    "k-means": ("--column", "age", "--clusters", "2", "--rounds", "2"),
    "components": ("--column", "age", "--column", "weight"),
    "tree": ("--outcome", "cancer_survivor", "--column", "sex", "--depth", "1"),
    "sample": ("--rate", "1/2", "--where", "age > 40"),
}


@pytest.fixture
def weighed(clinic):
    lines = "".join(f"{i},{i % 90},{i * 7 % 90}\n" for i in range(300))
    (clinic / "weighed.csv").write_text(f"patient_id,age,weight\n{lines}", encoding="utf-8")
    declared = ["--integer", "age=0..90", "--integer", "weight=0..90"]
    assert run(clinic, "add", "weighed", "--source", str(clinic / "weighed.csv"), *declared).code == 0
    return clinic


def test_each_is_previewed_for_nothing_asked_once_and_charged(weighed) -> None:
    for name, words in COMMANDS.items():
        table = "weighed" if name in {"components", "k-means"} else "patients"
        before = lw.open(weighed, analyst="ana").budget().account
        command = ("procedure", name, table, *words, "--epsilon", "0.1")
        assert json.loads(run(weighed, *command, "--dry-run", "--json").out)["affordable"] is True, name
        assert lw.open(weighed, analyst="ana").budget().account == before
        told = run(weighed, *command, "--key", name, "--json").json
        paid = lw.open(weighed, analyst="ana").budget().account
        assert paid != before
        assert run(weighed, *command, "--key", name, "--json").json == told
        assert lw.open(weighed, analyst="ana").budget().account == paid
        assert "cost" in run(weighed, *command).out


@pytest.mark.one_budget("it is refused before anything is charged")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("k-means", "weighed", "--column", "age", "--clusters", "x", "--epsilon", "1"), "clusters"),
        (("k-means", "weighed", "--column", "shoe", "--clusters", "2", "--epsilon", "1"), "shoe"),
        (("tree", "patients", "--outcome", "sex", "--column", "sex", "--epsilon", "1"), "is the outcome"),
        (("sample", "patients", "--rate", "2", "--epsilon", "1"), "rate"),
        (("components", "weighed", "--column", "age", "--epsilon", "1"), "two columns"),
        (("components", "weighed", "--column", "age", "--column", "weight"), "say what to pay"),
    ],
)
def test_what_is_wrong_gets_its_sentence(weighed, words, said) -> None:
    told = run(weighed, "procedure", *words)
    assert told.code == 2, told
    assert said in told.err.replace("\n", " ")
