"""The page about the command line runs as it is printed; only what noise decides may differ."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from click.testing import CliRunner

from doors.cli.at_the_prompt import masked, write_patients
from lapwing.doors.cli import main
from lapwing.doors.cli.commands import COMMANDS

PAGE = Path(__file__).parents[3] / "docs" / "command_line.md"
ENVIRONMENT = {"LAPWING_ANALYST": "ana", "COLUMNS": "80", "LAPWING_WORKSPACE": None}
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")


def commands(page: str) -> Iterator[tuple[str, str]]:
    """Go through the commands of a page, each with what is printed after it."""
    for block in _BLOCK.findall(page):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, told = re.sub(r" \\\n +", " ", part).partition("\n")
            yield command, told.rstrip()


def told_by(command: str) -> str:
    """Return what a command prints, on both of its outputs."""
    result = CliRunner().invoke(main, shlex.split(command)[1:], env=ENVIRONMENT, prog_name="lapwing")
    assert isinstance(result.exception, SystemExit | None), result.exception
    return str(result.output).rstrip()


def compared(text: str) -> str:
    """Return a text without what noise and the clock decide."""
    return _TIME.sub("TIME", masked(text))


def test_the_page_is_true(quick_path, monkeypatch) -> None:
    write_patients(quick_path, 10_000)
    monkeypatch.chdir(quick_path)
    ran = 0
    for command, expected in commands(PAGE.read_text(encoding="utf-8")):
        if command.startswith("cd "):
            monkeypatch.chdir(command.removeprefix("cd "))
            continue
        assert compared(told_by(command)) == compared(expected), command
        ran += 1
    assert ran > 25


def test_every_command_is_on_the_page() -> None:
    words = PAGE.read_text(encoding="utf-8")
    ours = set(COMMANDS) - {"demo", "audit", "attack", "serve"}
    assert {name for name in ours if f"lapwing {name}" not in words and f"`{name}`" not in words} == set()
