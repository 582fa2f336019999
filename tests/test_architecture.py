"""Rules about the source that no linter knows."""

import ast
from pathlib import Path

import pytest

import lapwing

SOURCE = Path(lapwing.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
RANDOM = {"random", "secrets", "numpy.random", "os.urandom", "ssl.RAND_bytes", "np.random", "uuid.uuid4"}


def names(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
            yield str(node.module)
        elif isinstance(node, ast.Attribute):
            yield ast.unparse(node)


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.relative_to(SOURCE).as_posix())
def test_randomness_is_imported_by_noise_only(file) -> None:
    if file.relative_to(SOURCE).parts[0] != "noise":
        assert not RANDOM & set(names(ast.parse(file.read_text(encoding="utf-8"))))


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.relative_to(SOURCE).as_posix())
def test_only_mechanisms_open_an_exact_value(file) -> None:
    calls = {
        node.attr for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.Attribute)
    }
    if file.relative_to(SOURCE).parts[0] != "mechanisms":
        assert "open_for_release" not in calls
