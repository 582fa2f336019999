"""The page about operations: systemd checks its unit, its commands exist, its settings are read, its backup runs."""

import configparser
import doctest
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from doors.server.doors import add_people, make_folder
from lapwing.doors.cli import main
from lapwing.doors.server.calls import API
from lapwing.doors.server.door_file import FILE, PORT, read_door
from lapwing.doors.server.operations import OPERATIONS
from lapwing.workspace.workspace import FINGERPRINTS, KEY_FILE

pytestmark = pytest.mark.one_budget("the files of a workspace are the same for all")

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "operations.md"
TEXT = PAGE.read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL)


def test_the_backup_and_what_is_refused_run_as_they_are_printed() -> None:
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failures, attempted = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags)
    assert (failures, attempted > 8) == (0, True)


def lapwing_commands() -> list[list[str]]:
    """Return every command of the page, from its blocks, its unit and its sentences."""
    lines = [line for block in blocks("sh") for line in re.sub(r"\\\n\s*", " ", block).splitlines()]
    lines += re.findall(r"^ExecStart=(.*)$", TEXT, flags=re.MULTILINE)
    lines += re.findall(r"`(lapwing [a-z][^`]*)`", TEXT)
    found = []
    for line in lines:
        words = shlex.split(line)
        places = [place for place, word in enumerate(words) if word.rpartition("/")[2] == "lapwing"]
        if places and "pip" not in line and words[places[-1] + 1 :] and words[0] != "useradd":
            found.append(words[places[-1] + 1 :])
    return [words for words in found if not words[0].startswith(("-", "."))]


def require_known(command: click.Command, words: list[str], parent: click.Context | None = None) -> None:
    """Fail where a command, an option or an argument of a line is not there."""
    if isinstance(command, click.Group):
        inner = command.get_command(click.Context(command, parent=parent), words[0])
        assert inner is not None, words
        require_known(inner, words[1:])
        return
    options = {name: one for one in command.params for name in one.opts if name.startswith("-")}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word.startswith("-"):
            assert word in options, (command.name, word)
            if not getattr(options[word], "is_flag", False):
                rest.pop(0)


def test_every_command_is_there_with_its_options() -> None:
    found = lapwing_commands()
    assert len(found) > 12
    for words in found:
        require_known(main, words)


def test_systemd_takes_the_unit(tmp_path) -> None:
    (unit,) = blocks("ini")
    parsed = configparser.RawConfigParser(strict=True)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]
    parsed.read_string(unit)
    service = dict(parsed["Service"])
    assert service["User"] != "root"
    assert {service[name] for name in ("NoNewPrivileges", "PrivateTmp", "ProtectHome")} == {"yes"}
    assert f"127.0.0.1:{PORT}" in service["ExecStart"]
    if analyse := shutil.which("systemd-analyze"):
        here = Path(sys.executable)
        file = tmp_path / "lapwing.service"
        file.write_text(unit.replace("/opt/lapwing/bin/lapwing", str(here)))
        checked = subprocess.run([analyse, "verify", file], capture_output=True, text=True, check=False)
        ours = [line for line in checked.stderr.splitlines() if file.name in line]
        assert ours == []
        command = [analyse, "security", "--offline=true", "--no-pager", file]
        judged = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", judged)
        assert exposure is not None, judged
        assert float(exposure[1]) <= 2.5


@pytest.mark.parametrize("block", blocks("toml"))
def test_the_settings_are_read(tmp_path, block) -> None:
    (tmp_path / "proxy.secret").write_text("0123456789abcdef" * 4)
    (tmp_path / FILE).write_text(block)
    assert "clinic.example.org" in read_door(tmp_path).door.hosts


def test_the_proxies_write_the_headers_that_the_settings_name(tmp_path) -> None:
    (tmp_path / "proxy.secret").write_text("0123456789abcdef" * 4)
    (tmp_path / FILE).write_text(next(block for block in blocks("toml") if "[proxy]" in block))
    proxy = read_door(tmp_path).door.proxy
    assert proxy is not None
    for block in (*blocks("nginx"), *blocks("caddy")):
        assert block.count("{") == block.count("}")
        assert f"127.0.0.1:{PORT}" in block
        for header in (proxy.identity_header, proxy.secret_header):
            assert header in block.lower(), (header, block)
    (hosts,) = blocks("haproxy")
    for header in (proxy.identity_header, proxy.secret_header):
        assert f"del-header {header}" in hosts.lower()


def test_the_addresses_to_watch_are_there() -> None:
    paths = {re.sub(r"\{\w+\}", "X", API + one.path) for one in OPERATIONS if one.method == "GET"}
    for told in re.findall(r"(?<!path_beg )/api/v1/[a-z/]+", TEXT):
        assert told.replace("/clinic/", "/X/") in paths, told


def test_the_files_of_a_workspace_are_all_named(quick_path, budget) -> None:
    folder = make_folder(quick_path / "clinic", budget)
    add_people(folder)
    left = {KEY_FILE, FINGERPRINTS, *(path.name for path in folder.iterdir())}
    left -= {"patient.csv", "fingerprints.lock", "door.db-wal", "door.db-shm", "ledger.db-shm"}
    assert {name for name in left if f"`{name}`" not in TEXT} == set()


def test_other_pages_lead_here() -> None:
    assert "(operations.md" in (ROOT / "docs" / "server.md").read_text(encoding="utf-8")
    assert "../docs/operations\n" in (ROOT / "site" / "index.md").read_text(encoding="utf-8")
