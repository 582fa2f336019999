"""`lapwing regress`: what it prints, what it costs, and what it refuses."""

import json
import re
import shlex

import pytest
from click.testing import CliRunner

import lapwing as lw
from lapwing.doors.cli import main
from lapwing.doors.cli.regressing import regress as command

pytestmark = pytest.mark.one_budget("all kinds are in tests/analyses/test_regress.py")
OFFER = ("--epsilon", "1", "--delta", "1e-6")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("clinic") / "clinic"
    lw.create(lw.make_clinic(place, people=3000, epsilon=10, delta="1e-5")).close()
    return str(place)


def run(folder, *words):
    return CliRunner().invoke(main, ["regress", "patient", *words, "-w", folder])


def test_a_regression_is_printed_drawn_and_free_the_second_time(folder, tmp_path) -> None:
    words = ["bmi ~ age/10 + sex + smoker", *OFFER]
    done = run(folder, *words, "--plot", str(tmp_path / "forest.svg"))
    assert done.exit_code == 0, done.output
    assert "age/10" in done.output
    assert (tmp_path / "forest.svg").stat().st_size > 1000
    record, again = (json.loads(run(folder, *words, "--json").output) for _ in range(2))
    assert record == again
    assert [one["term"] for one in record["coefficients"]] == ["(intercept)", "age/10", "sex[M]", "smoker"]


def test_the_examples_of_the_help_work(folder) -> None:
    examples = re.findall(r"^ *lapwing ([^\n]+)", re.sub(r" \\\n +", " ", command.help), flags=re.MULTILINE)
    assert len(examples) == 2
    for line in examples:
        done = CliRunner().invoke(main, [*shlex.split(line), "-w", folder])
        assert done.exit_code == 0, done.output


def test_a_dry_run_is_free_and_ratios_are_shown(folder) -> None:
    words = ["hypertension ~ age/10", "--model", "logistic", *OFFER]
    guess = json.loads(run(folder, *words, "--people", "3000", "--events", "0.3", "--dry-run", "--json").output)
    assert 0 < guess["half_width"] < 1
    assert "odds" in run(folder, *words).output


@pytest.mark.parametrize(
    "words",
    [
        ["bmi ~ log(age)", *OFFER],
        ["bmi ~ age", "--epsilon", "1"],
        ["bmi ~ age", *OFFER, "--people", "3"],
        ["bmi ~ age", *OFFER, "--people", "many"],
        ["bmi ~ born", *OFFER],
    ],
)
def test_what_is_no_regression_is_a_sentence(folder, words) -> None:
    done = run(folder, *words)
    assert done.exit_code == 2, done.output
    assert done.output.startswith("lapwing: ")
