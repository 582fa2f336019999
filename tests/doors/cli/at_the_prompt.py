"""Running the command line as a person or a script would, and masking what noise decides."""

import json
import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from lapwing.doors.cli import main

PATIENTS = 2000
LEAK = re.compile(r"Fraction\(|DP\(|\w+Error\(|\bNone\b|(?<!=)(?<!epsilon) inf\b|Workspace\.|Traceback|<class ")
"""What a person at the command line should never read: how Python writes things down."""
RECEIPT = re.compile(r"lapwing:[0-9a-f]+(?:/\d+)?:\d+:[0-9a-f]{64}")


def write_patients(folder: Path, people: int = PATIENTS) -> None:
    """Half are men; 20 of every age from 0 to 99; every seventh is a survivor; a third live in Bern."""
    rows = "".join(
        f"{i},{'FM'[i % 2]},{i % 100},{i % 7 == 0},{'Bern' if i % 3 == 0 else 'Oslo'}\n" for i in range(people)
    )
    (folder / "patients.csv").write_text("patient_id,sex,age,cancer_survivor,city\n" + rows)


@dataclass(frozen=True)
class Told:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        lines = self.out.splitlines()
        assert len(lines) == 1, self.out  # one object, on one line
        return json.loads(lines[0])


def run(folder: Path, *words: str, columns: int = 80, stdin: str | None = None) -> Told:
    """Run a command in this process, in a workspace."""
    env = {"LAPWING_WORKSPACE": str(folder), "LAPWING_ANALYST": "ana", "COLUMNS": str(columns)}
    result = CliRunner().invoke(main, list(words), env=env, input=stdin, prog_name="lapwing")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return _readable(Told(result.exit_code, result.stdout, result.stderr))


def start(folder: Path, *words: str, **env: str) -> Told:
    """Run a command in a process of its own."""
    environment = {**os.environ, "LAPWING_WORKSPACE": str(folder), "LAPWING_ANALYST": "ana", **env}
    done = subprocess.run(
        [sys.executable, "-m", "lapwing", *words], env=environment, capture_output=True, text=True, check=False
    )
    return _readable(Told(done.returncode, done.stdout, done.stderr))


def at_a_terminal(folder: Path, *words: str, answers: Sequence[str] = (), **env: str) -> Told:
    """Run a command on a pseudo-terminal of 80 columns, in a folder, and answer each of its questions.

    An answer is typed when the cursor stands after a colon. All that the terminal showed is returned as `out`.
    """
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", **env}
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover - the other process
        os.chdir(folder)
        os.execve(sys.executable, [sys.executable, "-m", "lapwing", *words], environment)  # noqa: S606
    written, left = b"", list(answers)
    answered = 0
    while select.select([terminal], [], [], 60)[0]:
        try:
            read = os.read(terminal, 65536)
        except OSError:
            break
        if not read:
            break
        written += read
        if left and len(written) > answered and written.endswith(b": "):
            answered = len(written)
            os.write(terminal, f"{left.pop(0)}\n".encode())
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert not left, (left, written.decode())
    return _readable(Told(os.waitstatus_to_exitcode(status), written.decode().replace("\r\n", "\n"), ""))


def _readable(told: Told) -> Told:
    """Every message that a test of the command line provokes is for people."""
    assert not LEAK.search(told.out + told.err), told
    return told


def masked(text: str) -> str:
    """Return a text with receipts, noisy numbers and the width of columns taken out.

    Noisy are the numbers before the first blank line, and between which bounds the people of a yes are.
    """
    told, blank, about = RECEIPT.sub("RECEIPT", text).partition("\n\n")
    told = re.sub(r"-?\d+(,\d{3})*(\.\d+)?", "#", told) if blank else told
    about = re.sub(r"(?<=^people)( +from )[-\d,.]+( to )[-\d,.]+", r"\1#\2#", about, flags=re.MULTILINE)
    lines = (re.sub(r"(?<=\S) +", " ", line).rstrip() for line in f"{told}{blank}{about}".splitlines())
    return "\n".join(lines)


def spent(folder: Path) -> str:
    """What the account says was spent; "0" at the beginning."""
    return str(run(folder, "budget", "--json").json["spent"])
