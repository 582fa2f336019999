"""The run without mistakes: every test passes, and it is seen how long each takes and which pieces of code it reaches.

What was seen is kept in `.mutation` for as long as neither the test file changes nor what it imports.
"""

import ast
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from mutation.mistakes import pieces
from mutation.places import ROOT, source_files, sources_of
from mutation.running import REACHED, WITH_A_SERVER, Ended, Rewriting, Run, run_all

KEPT = ROOT / ".mutation"

Tests = Mapping[str, float]
"""Tests, the quickest first, each with the seconds it takes."""


class Control:
    """Which tests reach a piece of code; those that need a database server only where it is `served`."""

    def __init__(self, *, served: bool = False) -> None:
        self._served = served
        self._tests: dict[str, dict[str, float]] = defaultdict(dict)

    def look(self, files: Iterable[Path], processes: int) -> None:
        """Run the tests of `files` without a mistake, or remember how they went."""
        keys = {path: _key(path, served=self._served) for path in files}
        rewriting = Rewriting(frozenset(source_files(("*",))), _saying_what_is_reached)
        left_out = frozenset() if self._served else WITH_A_SERVER
        new = [(path, Run([path], rewriting, left_out=left_out)) for path in keys if not keys[path].exists()]

        def ended(path: Path, how: Ended) -> None:
            if how.code not in {0, 1, 5} or "imported" not in how.told:
                raise click.ClickException(f"{path} cannot be run, without any mistake:\n{how.output[-4000:]}")
            keys[path].parent.mkdir(exist_ok=True)
            keys[path].write_text(json.dumps(how.told), encoding="utf-8")
            click.echo(f"{path.relative_to(ROOT)}: {len(how.told.get('tests', ()))} tests")

        run_all(new, processes, ended)
        for key in keys.values():
            self.add(json.loads(key.read_text(encoding="utf-8")))

    def add(self, told: Mapping) -> None:
        """Take in what one run has told."""
        for name, test in told.get("tests", {}).items():
            if name in told["failed"]:
                click.echo(f"{name} fails without a mistake: it says nothing")
                continue
            for piece in {*told["imported"], *test["reached"]}:
                self._tests[piece][name] = test["seconds"]

    def of(self, path: Path, piece: str, files: Iterable[Path]) -> Tests:
        """Return the tests of `files` that reach a piece of code, the quickest first."""
        names = [str(file.relative_to(ROOT)) for file in files]
        reach = self._tests.get(f"{path}:{piece}") or self._anything(path)
        tests = {name: seconds for name, seconds in reach.items() if name.partition("::")[0] in names}
        return dict(sorted(tests.items(), key=lambda test: (round(test[1], 1), test[0])))

    def _anything(self, path: Path) -> Tests:
        # a constant is never seen to be reached, but the functions beside it are
        beside = [tests for piece, tests in self._tests.items() if piece.startswith(f"{path}:")]
        return {name: seconds for tests in beside for name, seconds in tests.items()}


def _key(test: Path, *, served: bool) -> Path:
    digest = hashlib.sha256(str((test, served)).encode())
    for path in sources_of(test):
        digest.update(path.read_bytes())
    return KEPT / f"{test.stem}-{digest.hexdigest()[:16]}.json"


def _saying_what_is_reached(path: Path, source: str) -> ast.Module:
    tree = ast.parse(source)
    for name, piece in pieces(tree):
        if isinstance(piece, ast.FunctionDef):
            piece.body.insert(0, ast.parse(f"{REACHED}.add('{path}:{name}')").body[0])
    return ast.fix_missing_locations(tree)
