"""`lapwing survey`: from what is asked to the estimates, with its client, and in sentences where it fails."""

import json
import subprocess
import sys

import pytest

import lapwing as lw
from doors.cli.at_the_prompt import run

pytestmark = pytest.mark.one_budget("no population's budget is charged: each person spends their own")
NEW = ("--answer", "never", "--answer", "sometimes", "--answer", "daily", "--epsilon", "2", "--question", "Smoke?")


@pytest.fixture
def asked(tmp_path):
    place = tmp_path / "smoking.json"
    assert run(tmp_path, "survey", "new", str(place), *NEW).code == 0
    return place


def test_a_survey_goes_from_the_plan_to_the_table(tmp_path, asked) -> None:
    assert "137 people" in run(tmp_path, "survey", "plan", str(asked), "--people", "10000").out.replace("\n", " ")
    assert run(tmp_path, "survey", "client", str(asked), str(tmp_path / "client.py")).code == 0
    command = [sys.executable, tmp_path / "client.py", "--memory", tmp_path / "memory", "daily"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    smoking = lw.survey(["never", "sometimes", "daily"], epsilon=2, question="Smoke?")
    assert json.loads(said)["survey"] == smoking.asked.key, "the same is asked in Python"
    lines = [
        json.dumps({"survey": smoking.asked.key, "device": f"{number:032x}", "report": smoking.report("never")})
        for number in range(300)
    ]
    (tmp_path / "reports.txt").write_text("\n".join([said.strip(), *lines, ""]))
    kept = run(tmp_path, "survey", "collect", str(asked), str(tmp_path / "reports.txt"), "--json")
    assert kept.json == {"people": 301, "new": 301, "refused": []}
    again = run(tmp_path, "survey", "collect", str(asked), "--json", stdin=said)
    assert again.json == {"people": 301, "new": 0, "refused": []}, "the same report again changes nothing"
    forged = {**json.loads(lines[0]), "report": [(json.loads(lines[0])["report"][0] + 1) % 3]}
    other = run(tmp_path, "survey", "collect", str(asked), stdin=json.dumps(forged))
    assert (other.code, "another report" in other.err) == (2, True)
    picture = tmp_path / "smoking.svg"
    shown = run(tmp_path, "survey", "show", str(asked), "--plot", str(picture), "--confidence", "0.999999", "--json")
    (never,) = (row for row in shown.json["rows"] if row["answer"] == "never")
    assert (shown.json["people"], never["low"] <= 300 <= never["high"]) == (301, True)
    assert picture.read_text().startswith("<svg")
    assert "never" in run(tmp_path, "survey", "show", str(asked)).out


def test_words_and_numbers_are_asked(tmp_path) -> None:
    for words in (("--words", "10"), ("--numbers", "100")):
        place = str(tmp_path / f"{words[0]}.json")
        assert run(tmp_path, "survey", "new", place, *words, "--epsilon", "4").code == 0
        assert run(tmp_path, "survey", "plan", place, "--people", "1000000", "--json").json["smallest"] > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("new", "smoking.json", "--answer", "yes", "--answer", "no", "--epsilon", "1"), "asks something else"),
        (("new", "reports.txt", "--answer", "yes", "--answer", "no", "--epsilon", "1"), "asks something else"),
        (("new", "other.json", "--epsilon", "1"), "no answers cannot be asked; give --answer"),
        (("new", "other.json", "--answer", "yes", "--epsilon", "1"), "number of answers"),
        (
            ("new", "other.json", "--answer", "yes", "--numbers", "3", "--epsilon", "1"),
            "answers and numbers cannot be asked",
        ),
        (("new", "other.json", "--numbers", "many", "--epsilon", "1"), "many"),
        (("new", "other.json", "--numbers", "9", "--epsilon", "1e9"), "promises nothing"),
        (("new", "nowhere/other.json", "--numbers", "9", "--epsilon", "1"), "cannot be written"),
        (("plan", "missing.json", "--people", "10"), "survey new"),
        (("plan", "smoking.json", "--people", "0"), "people"),
        (("client", "smoking.json", "client.exe"), "exe"),
        (("collect", "smoking.json", "reports.txt", "--most-per-person", "1"), "no report would be kept"),
        (("show", "smoking.json"), "is not there"),
        (("show", "smoking.json", "--plot", "picture.png"), "ends in .svg"),
    ],
)
def test_what_is_wrong_gets_its_sentence(tmp_path, asked, words, said, monkeypatch) -> None:
    monkeypatch.chdir(asked.parent)
    (tmp_path / "reports.txt").write_text("")
    told = run(tmp_path, "survey", *words)
    assert told.code == 2, told
    assert said in told.err.replace("\n", " "), told.err


def test_a_file_that_is_no_survey_is_refused(tmp_path) -> None:
    for text in ("", "[]", '{"epsilon": "1", "shoe": 3}', '{"answers": ["a", "b"]}'):
        (tmp_path / "odd.json").write_text(text)
        told = run(tmp_path, "survey", "plan", str(tmp_path / "odd.json"), "--people", "10")
        assert (told.code, "is not the file of a survey" in told.err.replace("\n", " ")) == (2, True), told
