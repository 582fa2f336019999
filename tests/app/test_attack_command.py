"""`lapwing attack`: a table, one JSON object, and pictures."""

import json
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner

from lapwing.app import attack_pictures
from lapwing.app.attack_story import SCENES, surest
from lapwing.app.cli import main
from lapwing.app.plots.tracing_curve import draw_tracing_curve
from lapwing.attacks.tracing import Traced


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """One run for all tests: it asks the door of a clinic 65 times."""
    folder = tmp_path_factory.mktemp("attack") / "pictures"
    return CliRunner().invoke(main, ["attack", "differencing", "--json", "--seed", "4", "--plot", str(folder)]), folder


def test_one_object_says_what_came_of_each_attack(told) -> None:
    run, _ = told
    assert run.exit_code == 0, run.output
    record = json.loads(run.stdout)
    outcomes = {outcome["against"]: outcome for outcome in record["outcomes"]}
    assert list(outcomes) == ["exact", "Leaf style", "Samply style", "lapwing"]
    assert outcomes["exact"]["recovered"] == outcomes["Leaf style"]["recovered"] == 1
    assert outcomes["Samply style"]["recovered"] > 0.95
    assert outcomes["lapwing"]["answered"] == 65
    assert outcomes["lapwing"]["stopped"] == "noise ±195, ledger"
    assert outcomes["lapwing"]["answers"] == "lapwing"
    assert (record["epsilon"], record["seed"]) == ("1", 4)
    assert record["surest_belief"] == pytest.approx(1 / (1 + np.exp(-2)))


def test_pictures_are_where_they_are_said_to_be(told) -> None:
    run, folder = told
    written = sorted(path.name for path in folder.iterdir())
    assert written == ["name_and_shame.svg", "recovered.svg", "with_and_without_her.svg"]
    assert [str(folder / name) for name in written] == sorted(json.loads(run.stdout)["pictures"])


def test_a_budget_that_is_none_is_refused_before_anything_is_attacked() -> None:
    run = CliRunner().invoke(main, ["attack", "--epsilon", "0"])
    assert run.exit_code == 2
    assert "epsilon" in run.output


def test_the_story_is_told_in_words_and_a_table() -> None:
    run = CliRunner().invoke(main, ["attack", "differencing", "--epsilon", "2"])
    assert run.exit_code == 0
    assert run.output.startswith("DIFFERENCING\nAsk about everybody, and about everybody but her.")
    assert "attack         answers       stopped by" in run.output
    assert "record says to more than 98.2 % (one record for another: twice epsilon)" in " ".join(run.output.split())


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_every_picture_is_drawn(tmp_path, suffix) -> None:
    budget = Fraction(1, 2)
    attack_pictures.draw_hadamard_curve(tmp_path / f"a{suffix}", budget=budget, seed=1, people=2**8)
    attack_pictures.draw_questions(tmp_path / f"b{suffix}", seed=1, people=8)
    attack_pictures.draw_allowance(tmp_path / f"c{suffix}", budget=budget)
    group = np.arange(40) < 4
    traced = {name: Traced(scores=np.arange(40.0), members=group) for name in ("exact", "i2b2 style", "lapwing")}
    draw_tracing_curve(tmp_path / f"d{suffix}", traced, (0.5, 0.1))
    assert all((tmp_path / f"{name}{suffix}").stat().st_size > 5000 for name in "abcd")


def test_every_scene_has_a_word_for_the_command_line() -> None:
    help_text = CliRunner().invoke(main, ["attack", "--help"]).output
    assert all(name in help_text for name in SCENES)
    assert 0.5 < surest(Fraction(1, 100)) < 0.51
