"""`lapwing compare` and `lapwing survival`: what they print, what they cost, and what they refuse."""

import json

import pytest
from click.testing import CliRunner

import lapwing as lw
from lapwing.doors.cli import main
from lapwing.doors.cli.analysing import read_grid
from lapwing.vocabulary.errors import ParameterError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("clinic") / "clinic"
    lw.create(lw.make_clinic(place, people=1000)).close()
    return str(place)


def run(*words):
    return CliRunner().invoke(main, list(words))


def test_two_groups_are_compared_and_a_guess_is_free(folder) -> None:
    guess = ["compare", "patient", "diabetes", "--by", "sex", "--epsilon", "1", "-w", folder, "--json", "--dry-run"]
    told = json.loads(run(*guess, "--people", "500,500", "--shares", "0.10,0.16").output)
    assert 0.6 < told["power"] < 0.95
    done = run("compare", "patient", "diabetes", "--by", "sex", "--epsilon", "1", "-w", folder, "--json")
    record = json.loads(done.output)
    assert [one["group"] for one in record["groups"]] == ["F", "M"]
    assert record["left"]["left"]["epsilon"] == "9" if "left" in record["left"] else "9" in json.dumps(record["left"])
    again = run("compare", "patient", "diabetes", "--by", "sex", "--epsilon", "1", "-w", folder)
    assert "free" in again.output
    ranked = run("compare", "patient", "bmi", "--by", "smoker", "--method", "rank", "--epsilon", "1", "-w", folder)
    assert ranked.exit_code == 0, ranked.output


def test_how_many_rows_people_have_is_told_and_what_a_bound_cuts(folder) -> None:
    words = ["rows-a-person", "visit", "--epsilon", "0.2", "-w", folder]
    foreseen = json.loads(run(*words, "--dry-run", "--json").output)
    assert (foreseen["price"]["epsilon"], foreseen["refusal"]) == ("0.2", None)
    told = json.loads(run(*words, "--max-rows", "9", "--json").output)
    assert 9 in [one["max_rows"] for one in told["cuts"]]
    assert [one["share"] for one in told["enough"]] == ["0.2", "0.1", "0.05", "0.01"]
    again = run(*words)
    assert "cuts about" in again.output
    assert "nothing: it was asked before" in again.output
    assert run("rows-a-person", "patient", "--epsilon", "0.2", "-w", folder).exit_code == 2, "nothing is cut there"
    cut = run("sql", "select count(*) from visit", "--epsilon", "0.2", "-w", folder)
    assert "lapwing rows-a-person visit" in cut.output


def test_curves_are_printed_and_drawn(folder, tmp_path) -> None:
    words = ["survival", "patient", "--time", "age", "--event", "hypertension", "--by", "sex", "--grid", "0..90/30"]
    told = json.loads(run(*words, "--epsilon", "1", "-w", folder, "--json", "--dry-run").output)
    assert (told["price"]["epsilon"], told["refusal"]) == ("1", None)
    assert "paid" in run(*words, "--epsilon", "1", "-w", folder, "--dry-run").output
    done = run(*words, "--epsilon", "1", "-w", folder, "--plot", str(tmp_path / "curves.svg"))
    assert done.exit_code == 0, done.output
    assert "log-rank" in done.output
    assert (tmp_path / "curves.svg").stat().st_size > 1000


@pytest.mark.parametrize(
    "words",
    [
        ["--people", "5,5"],
        ["--dry-run", "--people", "5"],
        ["--dry-run", "--people", "5,5", "--shares", "0.1,x"],
        ["--method", "nothing"],
    ],
)
def test_what_makes_no_comparison_is_a_sentence(folder, words) -> None:
    done = run("compare", "patient", "diabetes", "--by", "sex", "--epsilon", "0.1", "-w", folder, *words)
    assert done.exit_code == 2
    assert done.output.startswith("lapwing: ")


def test_a_grid_is_a_range_or_a_list() -> None:
    assert read_grid("0..90/30") == [0, 30, 60, 90]
    assert read_grid("5..7") == [5, 6, 7]
    for text in ("x", "0..", "1,y", "0..9/0"):
        with pytest.raises(ParameterError, match="--grid"):
            read_grid(text)
