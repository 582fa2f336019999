"""What is loaded when it is first needed: the public names of a package, and drivers that come with an extra.

Public names stand in the stub of their package, `__init__.pyi`, which a type checker reads, too: there is one list,
importing stays quick, and a misspelt name is an error.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


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


def load_extra(module: str, *, extra: str) -> Any:
    """Return a module that is, or stands on, a driver of an extra such as `lapwing[postgres]`.

    >>> load_extra("a_driver_that_nobody_has", extra="postgres")
    Traceback (most recent call last):
    ...
    lapwing.errors.MissingExtraError: a_driver_that_nobody_has is not installed; pip install
    'lapwing[postgres]'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] == "lapwing":
            raise  # a mistake of ours, which no installation mends
        from lapwing.vocabulary.errors import MissingExtraError  # noqa: PLC0415 - packages load this module first

        raise MissingExtraError(missing.name, extra=extra) from None
