"""`lapwing attack`: a table, one JSON object, and pictures."""

import json
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner

from lapwing.attacks.campaigns import CampaignAnswers, CampaignOutcome
from lapwing.attacks.tracing import Traced
from lapwing.doors.cli import main
from lapwing.doors.plots import attacks as pictures
from lapwing.doors.plots.attacks import draw_tracing_curve
from lapwing.made_up.attack_story import SCENES, AttackReport, AttackStory, by_luck, surest, tracing_headline


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
    assert outcomes["lapwing"]["stopped"] == "noise ±195 (95 %), ledger"
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
    assert "record says to more than 98.2 % (a record replaced: twice epsilon)" in " ".join(run.output.split())


def outcome(answers, recovered):
    return CampaignOutcome(
        attack="a",
        against="b",
        answers=answers,
        asked=9,
        answered=9,
        recovered=recovered,
        chance=0.52,
        stopped="ledger",
        people=64,
    )


def test_titles_tell_what_came_of_it() -> None:
    blurred, kept, lost = (
        outcome(kind, share)
        for kind, share in (
            (CampaignAnswers.AD_HOC, 1.0),
            (CampaignAnswers.LAPWING, 0.61),
            (CampaignAnswers.LAPWING, 1.0),
        )
    )

    def story(*outcomes, budget):
        reports = {"tracing": AttackReport(outcomes=[*outcomes], traced={})}
        return AttackStory(budget=Fraction(budget), seed=1, reports=reports)

    assert story(blurred, kept, budget=1).headline == "Blur is undone; a budget of epsilon 1 is not"
    assert story(blurred, lost, budget=1000).headline == "Blur is undone, and so is a budget of epsilon 1000"
    assert (story(blurred, kept, budget=1).is_stopped, story(blurred, lost, budget=1000).is_stopped) == (True, False)
    assert tracing_headline([blurred, kept]).endswith("Blur does not hide it; lapwing does")
    assert tracing_headline([blurred, lost]).endswith("Neither blur nor this budget hides it")


def test_an_attack_that_nothing_stopped_ends_with_1() -> None:
    run = CliRunner().invoke(main, ["attack", "differencing", "--epsilon", "1000"])
    told = " ".join(run.output.split())
    assert run.exit_code == 1, run.output
    assert "THIS IS MORE THAN LUCK" in told
    assert "one deviation is 6 points, for 64 people" in told


def test_luck_grows_with_the_number_of_attacks() -> None:
    one = outcome(CampaignAnswers.LAPWING, 0.6)
    assert one.deviation == pytest.approx(0.06245, abs=1e-4)
    assert by_luck([one], 0.05) == [pytest.approx(1.645 * one.deviation, rel=1e-3)]
    assert by_luck([one] * 8, 0.05)[0] == pytest.approx(2.498 * one.deviation, rel=1e-3)


def test_pictures_are_not_put_into_a_folder_that_is_called_like_a_file(tmp_path) -> None:
    run = CliRunner().invoke(main, ["attack", "differencing", "--plot", str(tmp_path / "x.pdf")])
    assert run.exit_code == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_every_picture_is_drawn(tmp_path, suffix) -> None:
    budget = Fraction(1, 2)
    pictures.draw_hadamard_curve(tmp_path / f"a{suffix}", budget=budget, seed=1, people=2**8)
    pictures.draw_questions(tmp_path / f"b{suffix}", seed=1, people=8)
    pictures.draw_allowance(tmp_path / f"c{suffix}", budget=budget)
    group = np.arange(40) < 4
    traced = {name: Traced(scores=np.arange(40.0), members=group) for name in ("exact", "i2b2 style", "lapwing")}
    draw_tracing_curve(tmp_path / f"d{suffix}", traced, (0.5, 0.1), title="Who?")
    assert all((tmp_path / f"{name}{suffix}").stat().st_size > 5000 for name in "abcd")


def test_every_scene_has_a_word_for_the_command_line() -> None:
    help_text = CliRunner().invoke(main, ["attack", "--help"]).output
    assert all(name in help_text for name in SCENES)
    assert 0.5 < surest(Fraction(1, 100)) < 0.51
