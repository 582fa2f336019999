"""Tests are run on lapwing with a mistake in it, each time in a process of its own.

The process is forked from one that has loaded everything but lapwing and its tests, so that it starts in no time. The
file with the mistake is handed to the import system; no file is written. A process that takes too long over one test
ends itself.
"""

import ast
import builtins
import contextlib
import importlib.util
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import Phase, settings

from mutation.places import ROOT, SOURCE

MOST_MEMORY = 12 * 2**30
PATIENCE = 20
"""Seconds of work that a test may take; one that takes long without a mistake may take five times as long with it."""
LONGEST = 600
"""Seconds that anything may take, at work or waiting."""
OPTIONS = ("-q", "-p", "no:cacheprovider", "--hypothesis-seed=1", "-o", "addopts=--import-mode=importlib")
OPTIONS += ("-W", "ignore::pytest.PytestAssertRewriteWarning")
NOTHING = 5
"""What pytest ends with where there is no test."""
REACHED = "_reached_"
"""The name under which rewritten code finds the set to which it adds what is reached."""
DEAR = frozenset({"spark"})
WITH_A_SERVER = frozenset({"postgres", "database"})
"""Words in what a test needs that make it wait for minutes, or for a database server."""


class _Loader(SourceFileLoader):
    """Loads a file of lapwing as `rewritten` gives it back."""

    def __init__(self, name: str, path: Path, rewritten: Callable[[Path, str], ast.Module]) -> None:
        super().__init__(name, str(path))
        self._rewritten = rewritten

    def get_code(self, _fullname: str) -> Any:
        path = Path(self.path)
        tree = self._rewritten(path.relative_to(SOURCE / "lapwing"), path.read_text(encoding="utf-8"))
        return compile(tree, self.path, "exec", dont_inherit=True)


@dataclass
class Rewriting:
    """Finds the files of lapwing that are rewritten, before the import system finds them as they are."""

    files: frozenset[Path]
    rewritten: Callable[[Path, str], ast.Module]

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Say where a module comes from, if it is one of ours."""
        package, *inner = name.split(".")
        path = Path(*inner).with_suffix(".py") if inner else None
        if package != "lapwing" or path not in self.files:
            return None
        where = SOURCE / "lapwing" / path
        return importlib.util.spec_from_file_location(name, where, loader=_Loader(name, where, self.rewritten))


@dataclass(eq=False)
class Run:
    """A run of tests on rewritten files, in its own process.

    Parameters
    ----------
    tests : the test files, the one that is tried first in front
    only : the tests of them that are run, in order, each with the seconds it takes; all where it is None
    rewriting : the files that are not as they are
    left_out : words in what tests need that are left out, where all are run
    to_the_end : whether it goes on after a test that fails
    """

    tests: Sequence[Path]
    rewriting: Rewriting
    only: Mapping[str, float] | None = None
    left_out: frozenset[str] = WITH_A_SERVER
    to_the_end: bool = False
    reached: set[str] = field(default_factory=set)
    told: dict[str, Any] = field(default_factory=lambda: {"tests": {}, "failed": []})

    def __call__(self, folder: str) -> int:
        """Run the tests, put what is to be told into `folder`, and return how it ended: 0 if no test failed."""
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = folder
        sys.path[:0] = [str(SOURCE), str(ROOT / "tests")]
        sys.meta_path.insert(0, self.rewriting)
        setattr(builtins, REACHED, self.reached)
        signal.alarm(LONGEST)
        self._at = Path(folder) / "at"
        parts = [self.tests] if self.only is None else [[test] for test in self.tests]
        tried = (self._tried(part, folder) for part in parts)
        code = next(filter(None, list(tried) if self.to_the_end else tried), 0) if parts else NOTHING
        (Path(folder) / "told.json").write_text(json.dumps(self.told), encoding="utf-8")
        return code

    def _tried(self, tests: Sequence[Path], folder: str) -> int:
        first = [] if self.only is None or self.to_the_end else ["--exitfirst"]
        return int(pytest.main([*OPTIONS, *first, f"--basetemp={folder}/tests", *map(str, tests)], plugins=[self]))

    def pytest_configure(self) -> None:
        """A failing example is enough; no time is spent to make it small."""
        settings.register_profile("mutation", settings.get_profile("lapwing"), phases=[Phase.explicit, Phase.generate])
        settings.load_profile("mutation")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.only is None:
            items[:] = [item for item in items if not _needs(item, DEAR | self.left_out)]
        else:
            known = {item.nodeid: item for item in items}
            items[:] = [known[name] for name in self.only if name in known]
        self.told["imported"] = sorted(self.reached)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:  # the mistake is seen when the file is loaded
            self.told["failed"].append(report.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        signal.alarm(LONGEST)
        if self.only is not None:
            signal.setitimer(signal.ITIMER_PROF, PATIENCE + 5 * self.only[item.nodeid])
        self._at.write_text(item.nodeid, encoding="utf-8")
        self.reached.clear()
        self.told["tests"][item.nodeid] = test = {"seconds": 0.0}
        done = yield
        test["reached"] = sorted(self.reached)
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.told["tests"][report.nodeid]["seconds"] += report.duration
        if report.failed:
            self.told["failed"].append(report.nodeid)


def _needs(item: pytest.Item, words: Iterable[str]) -> bool:
    case = item.callspec.id if hasattr(item, "callspec") else ""
    needs = [*getattr(item, "fixturenames", ()), case]
    return any(word in name for name in needs for word in words)


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a run ended: the exit code of pytest, or the number of the signal that ended it, below zero."""

    code: int
    told: Mapping[str, Any]
    at: str
    output: str

    @property
    def last_words(self) -> str:
        """What is known of a run that was ended by a signal, or before its first test."""
        why = signal.Signals(-self.code).name if self.code < 0 else f"code {self.code}"
        return f"ended by {why} {f'in {self.at}' if self.at else 'before the first test'}"


def run_all(runs: Iterable[tuple[Any, Run]], processes: int, ended: Callable[[Any, Ended], None]) -> None:
    """Do each run, a number of them at once, and hand over how each has ended."""
    going: dict[int, tuple[Any, TemporaryDirectory[str]]] = {}

    def wait() -> None:
        pid, code = _first_to_end(going)
        name, folder = going.pop(pid)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        with folder:
            ended(name, _read(Path(folder.name), code))

    try:
        for name, run in runs:
            if len(going) >= processes:
                wait()
            folder = TemporaryDirectory(prefix="lapwing-mutation-")
            pid = os.fork()
            if pid == 0:
                _in_child(run, folder.name)
            going[pid] = (name, folder)
        while going:
            wait()
    finally:
        for pid in going:
            os.killpg(pid, signal.SIGKILL)


def _first_to_end(going: Iterable[int]) -> tuple[int, int]:
    while True:
        for pid in going:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return pid, os.waitstatus_to_exitcode(status)
        time.sleep(0.02)


def _in_child(run: Run, folder: str) -> None:
    code = 1
    try:
        os.setpgid(0, 0)
        output = os.open(f"{folder}/output", os.O_WRONLY | os.O_CREAT)
        os.dup2(output, 1)
        os.dup2(output, 2)
        code = run(folder)
    except BaseException:  # noqa: BLE001 - nothing may get out of this process, into the run of its parent
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def _read(folder: Path, code: int) -> Ended:
    told, at, output = (_text(folder / name) for name in ("told.json", "at", "output"))
    return Ended(code=code, told=json.loads(told) if told else {}, at=at, output=output)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
