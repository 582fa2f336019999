"""Every fault of the ledger's catalogue has a test, in every database in which it can happen.

A test says what it checks with `@pytest.mark.catalogue("L7")`. The list is docs/threat_model.md, section "Faults".
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
FAULTS = {f"L{number}" for number in range(1, 26)} | {"P25"}
LEFT_OUT: dict[str, str] = {}
IN_A_FILE_ONLY = {
    "L10": "a host that comes anew to a ledger on a server has none yet",
    "L6": "the pages of PostgreSQL are its own; what is left is an edited entry, L9",
    "L13": "the settings of SQLite",
    "L23": "about the process, whatever keeps the ledger",
}
ON_A_SERVER_ONLY = {"L14": "the settings of PostgreSQL"}
ON_BOTH = {"contracts/test_ledger.py", "crashes/test_races.py", "crashes/test_kills.py"}
ON_A_SERVER = {"ledger/test_postgres.py"}


@cache
def marked() -> tuple[tuple[str, str], ...]:
    """Return the file of each marked test with what it checks."""
    return tuple(_marked())


def _marked() -> Iterator[tuple[str, str]]:
    for path in sorted(TESTS.rglob("test_*.py")):
        name = path.relative_to(TESTS).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for mark in node.decorator_list:
                    if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.catalogue":
                        yield from ((name, ast.literal_eval(item)) for item in mark.args)


def in_a_file() -> set[str]:
    return {item for name, item in marked() if name not in ON_A_SERVER}


def on_a_server() -> set[str]:
    return {item for name, item in marked() if name in ON_A_SERVER | ON_BOTH}


def test_every_fault_is_tested_on_a_ledger_in_a_file() -> None:
    assert FAULTS - in_a_file() == {*LEFT_OUT, *ON_A_SERVER_ONLY}


def test_every_fault_is_tested_on_a_ledger_on_a_server() -> None:
    assert FAULTS - on_a_server() == {*LEFT_OUT, *IN_A_FILE_ONLY}


def test_the_files_that_run_on_both_do() -> None:
    for name in ON_BOTH:
        assert "Place.chosen(request.param, request)" in (TESTS / name).read_text("utf-8"), name


def test_the_page_lists_the_same_faults() -> None:
    page = (TESTS.parent / "docs" / "threat_model.md").read_text("utf-8")
    listed = {row.group(1): row.group(2) for row in re.finditer(r"^\| ([LP]\d+) \| (.+) \|$", page, re.MULTILINE)}
    assert listed.keys() == FAULTS
    assert {item for item, said in listed.items() if "not tested" in said} == LEFT_OUT.keys()


def test_the_page_names_files_that_there_are() -> None:
    page = (TESTS.parent / "docs" / "threat_model.md").read_text("utf-8")
    named = set(re.findall(r"`((?:tests|proofs)/[\w/]+\.(?:py|md))`", page))
    assert len(named) > 20
    assert [name for name in sorted(named) if not (TESTS.parent / name).is_file()] == []
