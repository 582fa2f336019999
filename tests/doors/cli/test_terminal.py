"""Tables that align: in a narrow terminal, with wide characters, in colour and without."""

import re
import subprocess
import sys

import pytest
from rich.cells import cell_len

from doors.cli.at_the_prompt import at_a_terminal, run
from lapwing.doors.cli.commands import facts, paragraph, table

pytestmark = pytest.mark.one_budget(
    "what is said under an epsilon, to the letter; test_every_kind_of_budget has every command under every kind"
)

CITIES = [["Zürich", "1,234", "from 1 to 9"], ["東京都", "5", "from 10 to 20"], ["e\u0301cole", "77", "x"]]


def test_columns_align_whatever_is_in_them() -> None:
    lines = table(["city", "people", "bounds"], CITIES).splitlines()
    assert {cell_len(line) for line in lines} == {cell_len(lines[0])}
    assert all(line == line.rstrip() for line in lines)


@pytest.mark.parametrize("columns", [60, 40])
def test_a_narrow_terminal_wraps_cells_and_keeps_columns(monkeypatch, columns) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    long = "a condition that is much longer than its column, because people write such conditions"
    lines = table(["step", "people"], [[long, "5,000"], ["東京" * 30, "3"]]).splitlines()
    assert max(map(cell_len, lines)) <= columns
    told = "".join(line[: columns - 8].strip() for line in lines)
    assert "東京" * 3 in told
    assert "5,000" in "\n".join(lines)


def test_in_a_pipe_nothing_is_wrapped(monkeypatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert len(table(["step", "people"], [["x" * 300, "5"]]).splitlines()) == 2


def test_cells_are_no_markup() -> None:
    assert "[red]x[/red] [nothing" in table(["a"], [["[red]x[/red] [nothing"]])


def test_facts_are_wrapped_under_themselves_and_receipts_never(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    receipt = "lapwing:" + "0" * 80
    lines = facts(("asked", "one two three four five six seven eight nine"), ("receipt", receipt)).splitlines()
    assert lines == ["asked    one two three four five six", "         seven eight nine", f"receipt  {receipt}"]
    assert paragraph("a b\nc") == "a b\nc"


def test_an_answer_fits_sixty_columns(clinic) -> None:
    long = "age between 20 and 30 and (sex = 'M' or sex = 'F') and not cancer_survivor"
    told = run(clinic, "funnel", "patients", "--step", "sex = 'M'", "--step", long, "--epsilon", "1", columns=60)
    assert told.code == 0
    told_lines = [line for line in told.out.splitlines() if "lapwing:" not in line]
    assert max(map(len, told_lines)) <= 60


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_colour_on_a_terminal_unless_it_is_not_wanted(clinic) -> None:
    assert "\x1b[1m" in at_a_terminal(clinic, "budget").out
    plain = at_a_terminal(clinic, "budget", NO_COLOR="1").out
    assert re.findall(r"\x1b\[3\d", plain) == []
    assert "\x1b" not in run(clinic, "budget").out


def test_what_is_asked_for_at_the_exit_is_done_and_memory_is_left_to_the_system() -> None:
    class_ = "type('Held', (), {'__del__': lambda self: print('taken apart')})"
    lines = [
        "import atexit, sys, threading",
        "sys.argv = ['lapwing', '--version']",
        "atexit.register(print, 'done at the exit')",
        "threading.Thread(target=threading.Event().wait, daemon=True).start()",
        f"sys.held = {class_}()",
        "from lapwing.__main__ import run",
        "run()",
    ]
    ended = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[1:] == ["done at the exit"]
    assert ended.stdout.startswith("lapwing")


def test_a_command_whose_output_was_closed_does_its_work_all_the_same(clinic) -> None:
    before = run(clinic, "budget").out
    command = f"exec '{sys.executable}' -m lapwing count patients --epsilon 1 -w '{clinic}' <&- >&- 2>&-"
    assert subprocess.run(["/bin/sh", "-c", command], check=False).returncode == 0
    assert run(clinic, "budget").out != before
