"""The container file: what it copies, installs and runs is there, and it asks for nothing it need not have."""

import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

from click.testing import CliRunner

from budgets import PURE
from doors.server.doors import make_folder, serving
from lapwing.doors.cli import main
from lapwing.doors.server.calls import API
from lapwing.doors.server.door_file import parse_address
from lapwing.doors.server.operations import OPERATIONS

ROOT = Path(__file__).parents[1]
SCRIPT = runpy.run_path(str(ROOT / "release" / "container.py"))
BUILD, IMAGE = SCRIPT["stages"]((ROOT / "Containerfile").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_what_is_copied_and_installed_is_there() -> None:
    copied = [name for said in BUILD.all("COPY") for name in said.split()[:-1]]
    assert {name for name in copied if not (ROOT / name).exists()} == set()
    assert {"pyproject.toml", "src", PROJECT["readme"], *PROJECT["license-files"]} <= set(copied)
    forced = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert set(forced["wheel"]["force-include"]) <= set(copied), "without them the wheel is not built"
    extras = re.search(r'"\.\[(.*)\]"', " ".join(BUILD.all("RUN")))
    assert extras is not None
    assert set(extras[1].split(",")) <= set(PROJECT["optional-dependencies"])
    assert {"server", "sign-in"} <= set(extras[1].split(","))


def test_no_registry_is_named_and_both_stages_stand_on_the_same_python() -> None:
    assert BUILD.base == IMAGE.base
    assert "/" not in IMAGE.base
    version = re.match(r"python:3\.(\d+)", IMAGE.base)
    assert version is not None
    assert f"Programming Language :: Python :: 3.{version[1]}" in PROJECT["classifiers"]


def test_it_runs_as_nobody_in_particular_and_writes_to_the_workspace_alone() -> None:
    uid, gid = map(int, IMAGE.last("USER").split(":"))
    assert min(uid, gid) >= 10_000
    assert IMAGE.last("VOLUME") == IMAGE.last("WORKDIR")
    made = [said for said in IMAGE.all("RUN") if IMAGE.last("VOLUME") in said]
    assert f"-o {uid} -g {gid} -m 0700" in made[0]
    words = [word for word, _ in IMAGE.lines]
    assert "USER" not in words[: words.index("RUN")]
    assert not {"ADD", "ONBUILD"} & {*words, *(word for word, _ in BUILD.lines)}
    secrets = [line for _, line in (*BUILD.lines, *IMAGE.lines) if re.search(r"secret|password|token", line.lower())]
    assert not secrets


def test_the_command_is_one_and_listens_where_the_port_is_told(tmp_path) -> None:
    (entry,) = IMAGE.words("ENTRYPOINT")
    assert entry in PROJECT["scripts"]
    command = IMAGE.words("CMD")
    _, port = parse_address(command[command.index("--listen") + 1])
    assert str(port) == IMAGE.last("EXPOSE") == SCRIPT["PORT"]
    told = CliRunner().invoke(main, [*command, "-w", str(tmp_path)])
    assert "lapwing.toml" in told.output  # all options are known: what is missing is the workspace


def test_the_health_check_tells_a_server_that_answers_from_none(quick_path) -> None:
    words = IMAGE.words("HEALTHCHECK")
    assert f"{API}/health" in words[-1]
    assert [one.roles for one in OPERATIONS if one.name == "health"] == [None]
    with serving(make_folder(quick_path / "clinic", PURE)) as door:
        check = [sys.executable, *(word.replace(SCRIPT["PORT"], str(door.port)) for word in words[1:])]
        assert subprocess.run(check, check=False).returncode == 0
    assert subprocess.run(check, check=False, capture_output=True).returncode == 1
