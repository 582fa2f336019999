"""Help that teaches: what a command does, an example that works, what it costs; and help that is there at once."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

import lapwing
import lapwing as lw
from doors.cli.at_the_prompt import run, start, write_patients
from lapwing.doors.cli import main
from lapwing.doors.cli.commands import COMMANDS, USERS

pytestmark = pytest.mark.one_budget(
    "what is said under an epsilon, to the letter; test_every_kind_of_budget has every command under every kind"
)
THEIRS = {"demo", "audit", "attack", "serve", "train"}  # commands that are not part of this folder's tests
OPEN = "lapwing stream open --at-least 200 --yeses 5 --epsilon 1 --name cohorts"
REQUEST = 'lapwing requests make --epsilon 2 --for "asthma in the north"'
SURVEY = "lapwing survey new smoking.json --answer never --answer daily --epsilon 2"
PREPARED = {
    "stream ask": [OPEN],
    "stream close": [OPEN],
    "stream show": [OPEN],
    "ledger verify": ["lapwing ledger export ledger.jsonl"],
    "people disable": ["lapwing people add ana"],
    "people link": ["lapwing people add ana"],
    "suspend": ["lapwing count patients --epsilon 0.1"],
    "graph": ["lapwing add friend --source friend.csv --integer one=1..90 --integer other=1..90"],
    "procedure components": ["lapwing add friend --source friend.csv --integer one=1..90 --integer other=1..90"],
    **{f"survey {name}": [SURVEY] for name in ("plan", "client", "collect")},
    "survey show": [SURVEY, "lapwing survey collect smoking.json reports.txt"],
    "requests grant": [REQUEST],
    "requests refuse": [REQUEST],
    "history": ["lapwing count patients --epsilon 0.1"],
    "write-off": ["lapwing ledger export nightly.jsonl", "lapwing recover --accept-rollback --yes"],
}
"""What has to be done before the examples of a command work; those of the others work on their own."""
PROVIDER = """
[sign_in]
name = "the Hospital"
issuer = "https://login.example.org"
client = "lapwing"
callback = "https://localhost/sign-in/return"
"""


def _commands() -> dict[str, click.Command]:
    context = click.Context(main)
    found: dict[str, click.Command] = {}
    for name in COMMANDS:
        if name in THEIRS:
            continue
        command = main.get_command(context, name)
        assert command is not None
        found[name] = command
        if isinstance(command, click.Group):
            found |= {f"{name} {inner}": one for inner, one in command.commands.items()}
    return found


ALL = _commands()


def _examples(command: click.Command) -> list[str]:
    """The lines to type; a backslash continues one, and what comes after a pipe or an arrow is the shell's."""
    words = re.sub(r" \\\n +", " ", command.help or "")
    return re.findall(r"^ *(lapwing (?:[^|\n]*?(?= > )|[^|\n]+))", words, flags=re.MULTILINE)


@pytest.mark.parametrize("name", ALL)
def test_help_teaches(name) -> None:
    words = ALL[name].help or ""
    assert ALL[name].get_short_help_str(limit=200)
    assert re.search(r"\bcosts?\b|reserves", words.rstrip().split("\n\n")[-1])  # the last word is about money
    assert _examples(ALL[name])


ON_A_SERVER = {"join"}  # its example needs PostgreSQL: test_join.py has it
OF_TWO = {"ledger import"}  # its example needs two workspaces: test_moving.py has it
ON_A_SERVER |= {name for name in ALL if name.startswith("dashboard")}  # these need days: test_dashboards.py has them
WITH_A_DELTA = {"regress"}  # its examples need a budget that pays for Gaussian noise: test_regressing.py has them
MANY_ROWS = {"rows-a-person"}  # its examples need a table with many rows a person: test_analysing.py has them
ELSEWHERE = ON_A_SERVER | OF_TWO | WITH_A_DELTA | MANY_ROWS
EXAMPLES = [(name, i) for name, one in ALL.items() if name not in ELSEWHERE for i in range(len(_examples(one)))]


@pytest.mark.parametrize(("name", "number"), EXAMPLES, ids=[f"{name} {i}" for name, i in EXAMPLES])
def test_the_examples_of_the_help_work(made_once, quick_path, monkeypatch, name, number) -> None:
    folder = quick_path / "clinic"
    if name == "add":
        run(folder, "init", str(folder), "--person-key", "patient_id", "--epsilon", "3")
        write_patients(folder)
    elif name != "init":
        shutil.copytree(made_once, folder)
    monkeypatch.chdir(quick_path if name == "init" else folder)
    Path("conditions.txt").write_text("age >= 65\nsex = 'M'\n", encoding="utf-8")
    Path("answers.toml").write_text('folder = "clinic"\nperson_key = "id"\nbudget = "1"\n', encoding="utf-8")
    edges = "".join(f"{i},{1 + i % 90},{1 + i * i % 90}\n" for i in range(200))
    Path("friend.csv").write_text(f"patient_id,one,other\n{edges}", encoding="utf-8")
    smoking = lw.survey(["never", "daily"], epsilon=2)
    report = {"survey": smoking.asked.key, "device": "0" * 32, "report": smoking.report("daily")}
    Path("reports.txt").write_text(json.dumps(report) + "\n", encoding="utf-8")
    trimmed = "import numpy as np\ndef trimmed_mean(rows):\n    return np.sort(rows[:, 0])[1:-1].mean()\n"
    Path("ours.py").write_text(trimmed, encoding="utf-8")
    Path("selects.sql").write_text("select count(*) from patients\n", encoding="utf-8")
    if name == "people link":
        Path("door.toml").write_text(PROVIDER, encoding="utf-8")
    examples = _examples(ALL[name])
    before = examples[:number] if isinstance(ALL[name], click.Group) or name == "stream open" else []
    for line in (*PREPARED.get(name, []), *before, examples[number]):
        if name == "init" and line != examples[number]:
            continue
        told = run(folder, *shlex.split(line)[1:])
        assert told.code == 0, line
        assert not told.err or "--file" in line  # where the answers are for a program, and their sum for people
        assert told.out


def test_the_first_page_says_who_uses_what(clinic) -> None:
    told = run(clinic, "--help")
    assert told.code == 0
    for user, names in USERS.items():
        assert f"{user}:" in told.out
        assert all(f"  {name} " in told.out for name in names if name in COMMANDS)
    assert max(map(len, told.out.splitlines())) <= 80
    assert {name for names in USERS.values() for name in names} >= set(COMMANDS)


def test_help_of_every_command_fits_a_terminal(clinic) -> None:
    for name in ALL:
        told = run(clinic, *name.split(), "--help").out
        assert max(map(len, told.splitlines())) <= 80, name


def test_without_a_command_the_help_is_shown(clinic) -> None:
    told = run(clinic)
    assert told.code == 2
    assert "The analyst asks:" in told.err
    assert "lapwing stream open" in run(clinic, "stream").err


@pytest.mark.parametrize("words", [["--help"], ["--version"], []], ids=["help", "version", "nothing"])
def test_help_loads_nothing_slow(words) -> None:
    slow = "{'numpy', 'scipy', 'rich', 'duckdb', 'sqlglot', 'matplotlib', 'cryptography', 'sqlite3'}"
    code = f"""
import sys
from lapwing.doors.cli import main
try:
    main({words})
except SystemExit:
    print(sorted({slow} & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


def test_the_version_is_known_and_read_when_it_is_asked_for(clinic) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", lapwing.__version__)
    assert start(clinic, "--version").out == f"lapwing, version {lapwing.__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_what_the_shell_evaluates(clinic, shell) -> None:
    told = run(clinic, "completion", shell)
    assert told.code == 0
    assert "_LAPWING_COMPLETE" in told.out
    assert run(clinic, "completion", shell, "--json").json["shell"] == shell


def _completed(folder, *words: str) -> set[str]:
    """What a shell is told when the last of `words` is being typed."""
    context = {"_LAPWING_COMPLETE": "bash_complete", "COMP_WORDS": shlex.join(words), "COMP_CWORD": str(len(words) - 1)}
    done = start(folder, **context)
    assert done.err == ""
    return {line.partition(",")[2] for line in done.out.split()}


def test_commands_tables_and_streams_are_completed(clinic) -> None:
    run(clinic, "stream", "open", "--at-least", "9", "--yeses", "1", "--epsilon", "1", "--name", "cohorts")
    assert _completed(clinic, "lapwing", "fun") == {"funnel"}
    assert _completed(clinic, "lapwing", "count", "p") == {"patients"}
    assert _completed(clinic, "lapwing", "stream", "ask", "co") == {"cohorts"}


def test_where_there_is_no_workspace_nothing_is_completed(quick_path) -> None:
    assert _completed(quick_path, "lapwing", "count", "p") == set()
