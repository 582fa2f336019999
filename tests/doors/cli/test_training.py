"""`lapwing train`: its examples work where the budget can pay, and refusals are sentences that cost nothing."""

import json
import re
import shlex

import pytest

import lapwing as lw
from budgets import RHO, WITH_DELTA
from doors.cli.at_the_prompt import run, write_patients
from lapwing.doors.cli.training import train

WHOLE = re.sub(r" \\\n +", " ", train.help or "")
EXAMPLES = [line.strip() for line in WHOLE.splitlines() if line.strip().startswith("lapwing ")]
WORDS = ("train", "patients", "--target", "cancer_survivor", "--feature", "age", "--people", "2000")


@pytest.fixture(params=[WITH_DELTA, RHO], ids=str)
def paying(quick_path, request):
    """A workspace whose budget can pay for a training, and the option that does."""
    folder = quick_path / "clinic"
    budget = request.param.options(5)
    assert run(folder, "init", str(folder), "--person-key", "patient_id", *budget).code == 0
    write_patients(folder)
    columns = ("--integer", "age=0..99", "--boolean", "cancer_survivor", "--category", "sex=F,M")
    assert run(folder, "add", "patients", "--source", str(folder / "patients.csv"), *columns).code == 0
    return folder, request.param.currency


def test_the_examples_of_the_help_work(paying, monkeypatch) -> None:
    folder, currency = paying
    monkeypatch.chdir(folder)
    assert len(EXAMPLES) == 2
    for line in EXAMPLES:
        told = run(folder, *shlex.split(line.replace("--epsilon", f"--{currency}"))[1:])
        assert told.code == 0, told
        assert "sigma" in told.out
    assert lw.load_model(folder / "m.json").predict({"age": [3], "sex": ["F"]})[0] in {True, False}


def test_what_is_told_is_the_card_and_the_preview_costs_nothing(paying) -> None:
    folder, currency = paying
    before = run(folder, "budget", "--json").json["left"]
    looked = run(folder, *WORDS, f"--{currency}", "1", "--epochs", "2", "--dry-run", "--json").json
    assert looked["affordable"]
    assert run(folder, "budget", "--json").json["left"] == before
    asked = (*WORDS, f"--{currency}", "1", "--epochs", "2", "--save", str(folder / "m.json"), "--json")
    told = run(folder, *asked).json
    assert (told["steps"], told["sigma"]) == (looked["steps"], looked["sigma"])
    assert told["left"] != before
    assert json.loads((folder / "m.json").read_text())["card"]["receipt"] == told["receipt"]
    assert run(folder, *asked).json == told, "the same training is read back"


def test_refusals_are_sentences(paying) -> None:
    folder, currency = paying
    before = run(folder, "budget", "--json").json["left"]
    for words, said in [
        ((), "--save model.json"),
        (("--save", str(folder / "nowhere" / "m.json")), "folder that is not there"),
        (("--save", "m.json", "--model", "forest"), "is not known"),
        (("--save", "m.json", "--rate", "7"), "above 1"),
    ]:
        told = run(folder, *WORDS, f"--{currency}", "1", *words)
        assert told.code == 2
        assert said in " ".join(told.err.split())
    assert run(folder, *WORDS, f"--{currency}", "19", "--dry-run").code == 0
    assert run(folder, *WORDS, f"--{currency}", "19", "--save", "m.json").code == 3
    assert run(folder, "budget", "--json").json["left"] == before
