"""Lazy loading: public names of a package, slow libraries, drivers that come with an extra.

Public names stand in the stub of their package, `__init__.pyi`, which a type checker reads, too: there is one list,
importing stays quick, and a misspelt name is an error.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any


def load_lazily(
    package: str, guessed: Mapping[str, str] = MappingProxyType({})
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package, from the lines of its stub.

    Each line is `from module import name as name`; where the module is the package itself, the name is a module of it.
    `guessed` says of names that people try what to write instead.
    """
    spec = sys.modules[package].__spec__
    stub = spec.loader.get_data(f"{spec.origin}i").decode()  # type: ignore[union-attr]
    home = {line[3]: line[1] for line in map(str.split, stub.splitlines()) if line[4:5] == ["as"]}

    def load(name: str) -> object:
        if name not in home:
            instead = f"; write {guessed[name]}" if name in guessed else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{instead}")
        if home[name] == package:
            return import_module(f"{package}.{name}")
        return getattr(import_module(home[name]), name)

    names = sorted(home)
    return load, names.copy, names


def load_when_called(module: str, *names: str) -> tuple[Callable[..., Any], ...]:
    """Return functions of a library that is slow to load, and that most questions do without.

    >>> (exp,) = load_when_called("cmath", "exp")
    >>> exp(0)
    (1+0j)
    """
    return tuple(_LoadedWhenCalled(module, name) for name in names)


class _LoadedWhenCalled:
    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name
        self._function: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._function is None:
            self._function = getattr(import_module(self._module), self._name)
        return self._function(*args, **kwargs)


(_written,) = load_when_called("lapwing.queries.language.speller", "written")


class ShownAsWritten:
    """Shown in a notebook as its source spelling; its `repr` lists the fields, and is injective."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        # In each class: IPython takes the first of its classes that has a way to be shown, and a `repr` is one.
        cls._repr_pretty_ = lambda part, printer, _: printer.text(_written(part))  # type: ignore[attr-defined]


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
