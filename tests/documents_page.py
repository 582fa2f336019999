"""The page of all that the five documents name, made from docs/documents.toml, and what of it is not there.

`PYTHONPATH=src:tests python tests/documents_page.py` writes docs/documents.md anew, and says what rows wait for.
"""

import importlib
import inspect
import re
import sys
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, get_args

import click

import lapwing
from lapwing.doors.cli import main
from lapwing.guests import VERBS

ROOT = Path(__file__).parents[1]
TOML, PAGE = ROOT / "docs" / "documents.toml", ROOT / "docs" / "documents.md"
STATES = ("works", "partly", "not yet")
KINDS = ("names", "commands", "examples", "pages", "proofs", "tests")
NAME = re.compile(r"(?P<path>[\w.]+)(?:\((?P<parameter>\w+)=\))?")
BEGINNING = """# Everything that the five documents name

lapwing grew out of five lecture documents: 000 and 001 (notes), 002 and 003 (slides), 004 (notes). This is all that
they name, {rows} things, each with the lines of the document, and where it is here: **{works} work**, {partly} in part,
{not_yet} not yet. What they get wrong stands in the [errata](errata.md), and [a page](tutorials/lectures.md) walks
through their theorems in code.

A row that says *works* names what does it and what shows it; names of Python are public ones, below `lapwing`. The page
is made from `docs/documents.toml`, and a test fails where a row names a function, a command, a page, a proof or a test
that is not there, or that is not public.
"""
TITLES = {
    "000": "Properties of differential privacy, and the sparse vector (notes)",
    "001": "Gaussian and exponential mechanisms, subsampling (notes)",
    "002": "The sparse vector technique (slides)",
    "003": "Many queries, reconstruction, above threshold (slides)",
    "004": "Properties of differential privacy, and what it means (notes)",
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One thing that a document names, and where lapwing has it."""

    document: str
    lines: str
    what: str
    state: str
    has: str
    names: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    proofs: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    says: str = ""

    def missing(self) -> list[str]:
        """Return what the row names and is not there."""
        things = [f"{kind}: {one}" for kind in KINDS for one in getattr(self, kind) if not is_there(kind, one)]
        texts = [(ROOT / "docs" / one).read_text(encoding="utf-8") for one in self.pages if is_there("pages", one)]
        said = any(self.says in " ".join(text.split()) for text in texts)
        shown = self.state != "works" or self.proofs or self.tests or self.pages
        unsaid = [] if said or not self.says else [f"says: {self.says}"]
        return things + unsaid + ([] if shown else ["a proof, a test or a page that shows it"])


def rows() -> list[Row]:
    """Return the rows of the file, in order, as they are now."""
    return [settled(one) for one in tomllib.loads(TOML.read_text(encoding="utf-8"))["row"]]


def settled(written: dict[str, Any]) -> Row:
    """Return a row: as it says it will be then, if all that it names then is there, and otherwise as it is written."""
    now, then = now_and_then(written)
    return now if then.missing() else then


def now_and_then(written: dict[str, Any]) -> tuple[Row, Row]:
    """Return a row as it is written, and as it says it will be."""
    now = {name: value for name, value in written.items() if name != "then"}
    return Row(**now), Row(**now | written.get("then", {}))


def is_there(kind: str, one: str) -> bool:
    """Say whether a public name, a command, an example, a page, a proof or a test exists."""
    match kind:
        case "names":
            return _is_public(one)
        case "commands":
            return _is_command(one)
        case "examples":
            return (ROOT / "examples" / one).is_file()
        case "pages":
            return (ROOT / "docs" / one).is_file()
        case "proofs":
            return (ROOT / "proofs" / f"{one}.md").is_file()
        case "tests":
            return one in _tests()
        case _:
            raise ValueError(f"{kind} is none of {', '.join(KINDS)}")


def _is_public(name: str) -> bool:
    """Follow a name from `lw.`, a public package or a public class; every step is listed, or at least not private."""
    found = NAME.fullmatch(name)
    if found is None:
        return False
    first, *steps = found["path"].removeprefix("lw.").split(".")
    at = getattr(lapwing, first, None) if first in lapwing.__all__ else None
    for step in steps:
        listed = getattr(at, "__all__", None)
        if at is None or step.startswith("_") or (listed is not None and step not in listed):
            return False
        if at is lapwing.Session and step in VERBS:
            at = getattr(importlib.import_module(VERBS[step]), step)
        elif not hasattr(at, step) and step in getattr(at, "__annotations__", {}):
            at = at.__annotations__[step]
        else:
            at = getattr(at, step, None)
    return at is not None and (found["parameter"] is None or _takes(at, found["parameter"]))


def _takes(function: object, parameter: str) -> bool:
    """Say whether a function has a parameter of this name, also among words that are unpacked from a typed dict."""
    taken = inspect.signature(function).parameters
    words = [one.annotation for one in taken.values() if one.kind is inspect.Parameter.VAR_KEYWORD]
    typed = [inner for word in words for inner in get_args(word)]
    return parameter in taken or any(parameter in one.__required_keys__ | one.__optional_keys__ for one in typed)


def _is_command(line: str) -> bool:
    program, *words = line.split()
    at: click.Command | None = main
    for word in words:
        if not isinstance(at, click.Group):
            return any(word in getattr(one.type, "choices", ()) for one in at.params) if at else False
        at = at.get_command(click.Context(at), word)
    return program == "lapwing" and at is not None


@cache
def _tests() -> frozenset[str]:
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    return frozenset(name for text in texts for name in re.findall(r"^ *def (test_\w+)", text, re.MULTILINE))


def awaited() -> list[str]:
    """Return what rows wait for, a line each."""
    written = tomllib.loads(TOML.read_text(encoding="utf-8"))["row"]
    waits = {number: now_and_then(one)[1].missing() for number, one in enumerate(written, 1)}
    return [f"row {number} waits for {'; '.join(missing)}" for number, missing in waits.items() if missing]


def page(of: list[Row]) -> str:
    """Return the page of these rows."""
    states = [row.state for row in of]
    works, partly, not_yet = (states.count(state) for state in STATES)
    parts = [BEGINNING.format(rows=len(of), works=works, partly=partly, not_yet=not_yet)]
    for document, title in TITLES.items():
        parts.append(f"## Document {document}: {title}\n")
        parts.append("| # | lines | what | state | here | proofs and tests |\n|---:|---|---|---|---|---|")
        parts += [_line(number, row) for number, row in enumerate(of, 1) if row.document == document]
        parts.append("")
    return "\n".join(parts).rstrip("\n") + "\n"


def _line(number: int, row: Row) -> str:
    named = [*(f"`{one}`" for one in row.names), *(f"`{one}`" for one in row.commands)]
    named += [f"[examples/{one}](../examples/{one})" for one in row.examples]
    named += [f"[{one.removesuffix('.md')}]({one})" for one in row.pages]
    shown = [*(f"[{one}](../proofs/{one}.md)" for one in row.proofs), *(f"`{one}`" for one in row.tests)]
    here = " ".join([row.has, ", ".join(named)]).strip()
    cells = (str(number), row.lines, row.what, row.state, here, ", ".join(shown))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(rows()), encoding="utf-8")
    sys.stdout.writelines(f"{line}\n" for line in awaited())
