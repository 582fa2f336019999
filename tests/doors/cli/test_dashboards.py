"""`lapwing dashboard`: opened once, published from, and shown by its name."""

import json
import shlex

import pytest
from click.testing import CliRunner

import lapwing as lw
from lapwing.doors.cli import main
from lapwing.doors.cli.dashboards import dashboard

pytestmark = pytest.mark.one_budget("all kinds are in tests/analyses/test_dashboard.py")


SETTINGS = """
[populations.clinic]
person_key = "id"
budget = { epsilon = "5" }
[populations.clinic.tables.visit]
source = "visit.csv"
rows = "many"
max_rows = 5
columns.kind = { type = "category", values = ["er", "home"], fixed = true }
columns.recorded_on = { type = "date", first = 2020-01-01, last = 2030-12-31, fixed = true }
"""


def test_the_examples_of_the_help_work(tmp_path, monkeypatch) -> None:
    rows = [f"{one},{'er' if one % 2 else 'home'},2024-{one % 12 + 1:02}-03" for one in range(200)]
    (tmp_path / "visit.csv").write_text("\n".join(["id,kind,recorded_on", *rows]), encoding="utf-8")
    (tmp_path / "lapwing.toml").write_text(SETTINGS, encoding="utf-8")
    lw.create(tmp_path).close()
    monkeypatch.chdir(tmp_path)
    commands = (dashboard, *(dashboard.commands[name] for name in ("open", "publish", "show")))
    for command in commands:
        lines = (command.help or "").replace("\\\n", " ").splitlines()
        for line in (one.strip() for one in lines if one.strip().startswith("lapwing ")):
            done = run(*shlex.split(line)[1:])
            again = "published already" in done.output or "is not over" in done.output
            assert done.exit_code == 0 or (command.name == "publish" and again), (line, done.output)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("clinic") / "clinic"
    lw.create(lw.make_clinic(place, people=1000)).close()
    return str(place)


def run(*words):
    return CliRunner().invoke(main, list(words))


def test_a_dashboard_is_opened_published_and_shown(folder, tmp_path) -> None:
    words = ["dashboard", "open", "visits", "visit", "--period", "day", "--first", "2024-01-01", "-w", folder]
    free = run(*words, "--releases", "6", "--epsilon", "1", "--dry-run", "--json")
    assert json.loads(free.output)["fixed"] is False, "the demo promises nothing about its days"
    opened = run(*words, "--last", "2024-06-30", "--epsilon", "1")
    assert opened.exit_code == 0, opened.output
    assert "paid as a count of its own" in " ".join(opened.output.split())
    published = run("dashboard", "publish", "visits", "-w", folder, "--plot", str(tmp_path / "line.svg"))
    assert published.exit_code == 0, published.output
    assert "2024-06" in published.output
    assert (tmp_path / "line.svg").stat().st_size > 1000
    single = json.loads(run("dashboard", "show", "visits", "--window", "1", "-w", folder, "--json").output)
    assert [one["until"] for one in single["counts"]] == [f"2024-0{month}" for month in range(1, 7)]


def test_who_is_in_is_told_at_the_prompt(tmp_path) -> None:
    rows = [f"{one},2024-0{one % 3 + 1}-10,{'2024-03-05' if one % 4 == 0 else ''}" for one in range(400)]
    (tmp_path / "trial.csv").write_text("\n".join(["id,joined,left", *rows]), encoding="utf-8")
    day = 'type = "date", first = 2020-01-01, last = 2030-12-31, fixed = true'
    (tmp_path / "lapwing.toml").write_text(
        '[populations.trial]\nperson_key = "id"\nbudget = { epsilon = "50" }\n[populations.trial.tables.trial]\n'
        f'source = "trial.csv"\nrows = "one"\ncolumns.joined = {{ {day} }}\n'
        f"columns.left = {{ {day}, nullable = true }}\n",
        encoding="utf-8",
    )
    lw.create(tmp_path).close()
    words = ["open", "in", "trial", "--period", "joined", "--until", "left", "--first", "2024-01-01", "--releases", "3"]
    opened = run("dashboard", *words, "--epsilon", "20", "-w", str(tmp_path))
    assert opened.exit_code == 0, opened.output
    assert "people who are in" in opened.output
    told = json.loads(run("dashboard", "publish", "in", "-w", str(tmp_path), "--json").output)
    assert told["what"] == "people who are in"
    here = sum(one % 4 != 0 or one % 3 == 2 for one in range(400))
    assert abs(told["counts"][-1]["estimate"] - here) <= 4 * told["counts"][-1]["margin"], "33 left before they came"


OPEN = ["open", "x", "visit", "--period", "day", "--first", "2024-01-01", "--epsilon", "1"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["publish", "nothing"], "there are"),
        (["show", "nothing"], "there are"),
        ([*OPEN, "--releases", "few"], "whole"),
        ([*OPEN, "--last", "2023-01-31"], "before"),
    ],
    ids=["unknown", "shown", "releases", "days"],
)
def test_what_is_no_dashboard_is_a_sentence(folder, words, problem) -> None:
    done = run("dashboard", *words, "-w", folder)
    assert done.exit_code == 2
    assert problem in done.output
