"""What is public: one list in each public package, and nothing else is taught."""

import ast
import importlib
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lapwing
from lapwing import errors
from typing_tests.pages import PAGES, ROOT, python_of

PACKAGES = ["accounting", "attacks", "auditor", "errors", "ledger", "mechanisms"]
TAUGHT = {page.relative_to(ROOT).as_posix(): python_of(page) for page in PAGES} | {
    script.relative_to(ROOT).as_posix(): script.read_text(encoding="utf-8") for script in ROOT.glob("examples/*.py")
}


FOR_CONTRIBUTORS = "docs/extending.md"
"""What is added to lapwing itself may import what lies inside."""


def public(name):
    """Return a public package."""
    return importlib.import_module(f"lapwing.{name}".rstrip("."))


def imports(source):
    """Return what of lapwing a page imports: modules, and names with their modules."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((str(node.module), alias.name) for alias in node.names)


@pytest.mark.parametrize("page", sorted(TAUGHT.keys() - {FOR_CONTRIBUTORS}))
def test_pages_and_examples_import_what_is_public(page) -> None:
    for module, name in imports(TAUGHT[page]):
        if module.partition(".")[0] == "lapwing":
            assert module == "lapwing" or module.removeprefix("lapwing.") in PACKAGES
            assert name is None or name in importlib.import_module(module).__all__


def test_pages_that_import_lapwing_were_found() -> None:
    assert sum("lapwing" in source for source in TAUGHT.values()) >= 14


@pytest.mark.parametrize("name", ["", *PACKAGES])
def test_what_is_public_is_listed_sorted_and_there(name) -> None:
    package = public(name)
    assert sorted(package.__all__) == package.__all__
    assert all(getattr(package, one) is not None for one in package.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = package.nonsense


@pytest.mark.parametrize("name", ["", *sorted(set(PACKAGES) - {"errors"})])
def test_the_stub_says_what_is_there_and_no_name_is_a_module_of_the_package_too(name) -> None:
    package = public(name)
    folder = Path(package.__file__).parent
    stub = ast.parse((folder / "__init__.pyi").read_text(encoding="utf-8"))
    listed = {
        alias.asname: node.module for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert sorted(listed) == package.__all__ == dir(package)
    modules = {path.stem for path in folder.iterdir()}
    assert {one for one in listed if one in modules} == {one for one in listed if listed[one] == package.__name__}


def test_the_front_stays_small() -> None:
    assert len(set(lapwing.__all__) - set(PACKAGES)) <= 56


def test_every_error_is_public_and_says_so() -> None:
    assert {getattr(errors, name).__module__ for name in errors.__all__} == {"lapwing.errors"}
    assert isinstance(pickle.loads(pickle.dumps(errors.EngineError)), type)
    assert set(errors.__all__) == {name for name in vars(errors) if name.endswith("Error")}


@pytest.mark.parametrize("name", ["", *PACKAGES])
def test_importing_what_is_public_loads_no_numerics(name) -> None:
    code = (
        f"import sys, {public(name).__name__}; print(*{{'numpy', 'scipy', 'click', 'cryptography'}} & set(sys.modules))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert loaded.stdout.strip() == ""


@pytest.mark.parametrize(("guess", "instead"), [("sum", "lw.total"), ("avg", "lw.mean"), ("histogram", "lw.bins")])
def test_a_name_that_people_guess_is_answered_with_the_right_one(guess, instead) -> None:
    with pytest.raises(AttributeError, match=re.escape(instead)):
        getattr(lapwing, guess)
