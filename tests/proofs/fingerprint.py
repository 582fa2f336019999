"""The fingerprint of a piece of code: what it does, without comments, docstrings and layout."""

import ast
import hashlib
import importlib
import inspect
from functools import lru_cache
from pathlib import Path


def fingerprint(target: str) -> str:
    """Return the fingerprint of `package.module:Qualified.name`, or of a whole module where no name is given."""
    module_name, _, path = target.partition(":")
    source = Path(inspect.getfile(importlib.import_module(module_name))).read_text(encoding="utf-8")
    return fingerprint_of_source(source, path, target)


def fingerprint_of_source(source: str, path: str = "", target: str = "") -> str:
    node: ast.AST = _parsed(source)
    for name in filter(None, path.split(".")):
        node = _child(node, name, target)
    return hashlib.sha256(repr(_shape(node)).encode()).hexdigest()[:16]


@lru_cache(maxsize=16)  # a proof has most of its stamps from a few files
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


def _child(node: ast.AST, name: str, target: str) -> ast.AST:
    definitions = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)
    for candidate in getattr(node, "body", []):
        if isinstance(candidate, definitions) and candidate.name == name:
            return candidate
        if isinstance(candidate, ast.Assign) and any(ast.unparse(t) == name for t in candidate.targets):
            return candidate
        if isinstance(candidate, ast.AnnAssign) and ast.unparse(candidate.target) == name:
            return candidate
    raise LookupError(f"{target}: there is no {name!r}")


def _shape(value: object) -> object:
    """Return nested tuples that are the same under every Python: `ast.dump` is not, so it is not used."""
    if isinstance(value, ast.AST):
        fields = ((key, _shape(child)) for key, child in ast.iter_fields(value) if key not in {"kind", "type_comment"})
        return type(value).__name__, tuple((k, c) for k, c in fields if c not in (None, ()))
    if isinstance(value, list):
        return tuple(_shape(child) for child in value if not _is_docstring(child))
    return value


def _is_docstring(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
