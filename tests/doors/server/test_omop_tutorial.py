"""The tutorial for custodians runs as it is printed, with a real PostgreSQL and a real server."""

import doctest
import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg

from doors.cli.at_the_prompt import RECEIPT
from doors.cli.test_command_line_page import told_by

PAGE = Path(__file__).parents[3] / "docs" / "tutorials" / "omop.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PORT = "8431"


@contextmanager
def addresses(database: str) -> Iterator[dict[str, str]]:
    """Return the addresses of a database as the page calls them; the role that it makes is taken away at the end."""
    place = psycopg.conninfo.conninfo_to_dict(database)
    role = "lapwing_reader"
    address = f"postgresql:///{place['dbname']}?host={place['host']}&user="
    yield {"OMOP_OWNER": address + "postgres", "OMOP": address + role}
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute(f"drop owned by {role}")
        admin.execute(f"drop role {role}")


def free_port() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


class Reader:
    """Somebody who follows the page, block by block."""

    def __init__(self, folder: Path, port: str, ends: ExitStack) -> None:
        self.folder, self.port, self.ends = folder, port, ends
        self.names: dict[str, object] = {}
        self.commands = 0

    def follow(self, kind: str, block: str) -> None:
        match kind:
            case "sql":
                with psycopg.connect(os.environ["OMOP_OWNER"], autocommit=True) as owner:
                    owner.execute(block)
            case "toml":
                with (self.folder / "omop" / "lapwing.toml").open("a") as file:
                    file.write(f"\n{block}")
            case "python":
                self._run_python(block)
            case "console":
                for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                    command, _, expected = part.partition("\n")
                    self._type(command, expected.strip())

    def _run_python(self, block: str) -> None:
        flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
        test = doctest.DocTestParser().get_doctest(block, self.names, "omop.md", "omop.md", 0)
        runner = doctest.DocTestRunner(optionflags=flags)
        runner.run(test, clear_globs=False)
        self.names.update(test.globs)
        assert runner.failures == 0

    def _type(self, command: str, expected: str) -> None:
        self.commands += 1
        if command.startswith("lapwing serve"):
            words = [sys.executable, "-m", *shlex.split(command)]
            server = self.ends.enter_context(
                subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=self.folder)
            )
            self.ends.callback(server.terminate)
            assert server.stdout is not None
            assert server.stdout.readline().strip() == expected
            return
        if not command.startswith("lapwing "):
            subprocess.run(["/bin/bash", "-c", command], cwd=self.folder, check=True)
            return
        command, _, file = os.path.expandvars(command).partition(" > ")
        told = told_by(command)
        if file:
            Path(file).write_text(told, encoding="utf-8")
        assert _compared("" if file else told) == _compared(expected), command


def _compared(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "TIME", RECEIPT.sub("RECEIPT", text)).strip()


def test_the_tutorial_opens_a_database_to_researchers(quick_path, database, monkeypatch) -> None:
    monkeypatch.chdir(quick_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("LAPWING_WORKSPACE", raising=False)
    port = free_port()
    with addresses(database) as places, ExitStack() as ends:
        for name, address in places.items():
            monkeypatch.setenv(name, address)
        reader = Reader(quick_path, port, ends)
        for kind, block in BLOCK.findall(PAGE.read_text(encoding="utf-8").replace(PORT, port)):
            reader.follow(kind, block)
    assert reader.commands == 12
