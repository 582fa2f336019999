"""How a package makes its public names known: they stand in its stub, `__init__.pyi`, and are loaded on first use.

A type checker reads the same stub, so that there is one list, importing stays quick, and a misspelt name is an error.
"""

import sys
from collections.abc import Callable
from importlib import import_module


def load_lazily(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package, from the lines of its stub.

    Each line is `from module import name as name`; where the module is the package itself, the name is a module of it.
    """
    spec = sys.modules[package].__spec__
    stub = spec.loader.get_data(f"{spec.origin}i").decode()  # type: ignore[union-attr]
    home = {line[3]: line[1] for line in map(str.split, stub.splitlines()) if line[4:5] == ["as"]}

    def load(name: str) -> object:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if home[name] == package:
            return import_module(f"{package}.{name}")
        return getattr(import_module(home[name]), name)

    names = sorted(home)
    return load, names.copy, names
