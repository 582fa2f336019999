"""The first page that a newcomer follows runs as it is printed, in one folder, from its first line to its last."""

import doctest
import re
from pathlib import Path

from doors.cli.test_command_line_page import commands, compared, told_by

PAGE = Path(__file__).parents[3] / "docs" / "first_minutes.md"


def test_the_first_minutes_go_as_the_page_says(tmp_path, monkeypatch) -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = re.search(r"^```text\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert rows
    (tmp_path / "patients.csv").write_text(rows[1])
    answers = re.search(r"^```toml\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert answers
    (tmp_path / "answers.toml").write_text(answers[1])
    monkeypatch.chdir(tmp_path)
    before, python, after = text.partition("```pycon")
    assert run_in_order(before, monkeypatch) == 3
    failures, attempted = doctest.testfile(str(PAGE), module_relative=False)  # where the page has gone by then
    assert (failures, attempted) == (0, 2)
    assert run_in_order(python + after, monkeypatch) == 4


def run_in_order(text: str, monkeypatch) -> int:
    """Run the commands of a part of the page, and return how many there were."""
    ran = 0
    for command, expected in commands(text):
        if command.startswith("cd "):
            monkeypatch.chdir(command.removeprefix("cd "))
            continue
        assert compared(told_by(command)) == compared(expected), command
        ran += 1
    return ran
