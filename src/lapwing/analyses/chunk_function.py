"""A function of the custodian's own, as it is sent to the processes of chunks: by its name, or by its source.

A function of a module goes by its name. One that was written in a notebook, at a prompt or in a script goes by its
source, with the modules that it names; it may use nothing else from around it, because the process of a chunk has
nothing else.
"""

import builtins
import inspect
import json
import sys
import textwrap
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from lapwing.vocabulary.codec import digest
from lapwing.vocabulary.errors import BadQuestionError, ParameterError
from lapwing.vocabulary.frozen import frozen


@frozen()
class ChunkFunction:
    """A function by the name of its module, or by its source and the modules that this names."""

    name: str
    module: str | None
    source: str | None
    imports: Mapping[str, str]

    @staticmethod
    def of(given: "Callable[..., Any] | str") -> "ChunkFunction":
        """Return what is sent of a function, or of "file.py:name"; refuse what a new process could not know.

        >>> import numpy
        >>> ChunkFunction.of(numpy.median).called
        'numpy.median'
        """
        if isinstance(given, str):
            return _of_file(given)
        name, module = getattr(given, "__qualname__", ""), getattr(given, "__module__", None)
        if module is not None and module != "__main__" and _found(module, name) is given:
            return ChunkFunction(name=name, module=module, source=None, imports={})
        if not inspect.isfunction(given) or given.__name__ == "<lambda>":
            remedy = 'write it as "def name(rows): ...", or as "file.py:name"'
            raise ParameterError("function", repr(given)[:60], reason="cannot be sent", remedy=remedy)
        return _of_source(given)

    @property
    def called(self) -> str:
        """What it is called in words."""
        return f"{self.module}.{self.name}" if self.source is None else self.name

    @property
    def identity(self) -> str:
        """What makes it this function and no other: its source, where there is one."""
        text = self.source
        if text is None:
            with suppress(OSError, TypeError):
                text = inspect.getsource(_found(str(self.module), self.name))
        return digest([self.called, text, dict(self.imports)])

    def header(self, seconds: float) -> bytes:
        """Return the line that a process of chunks reads first."""
        told = {"name": self.name, "module": self.module, "source": self.source, "imports": dict(self.imports)}
        return json.dumps({**told, "paths": sys.path, "seconds": seconds}).encode() + b"\n"


def _found(module: str, name: str) -> Any:
    with suppress(Exception):
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        return found
    return None


def _of_file(place: str) -> ChunkFunction:
    path, _, name = place.rpartition(":")
    try:
        source = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError):
        remedy = 'write "ours.py:trimmed_mean", or give the function itself'
        raise ParameterError("function", place[:80], reason="is no file that can be read", remedy=remedy) from None
    return ChunkFunction(name=name, module=None, source=source, imports={})


def _of_source(given: Callable[..., Any]) -> ChunkFunction:
    code: Any = inspect.unwrap(given)
    around = set(code.__code__.co_freevars)
    imports = {}
    for name in sorted(_names(code.__code__)):
        value = code.__globals__.get(name)
        if isinstance(value, ModuleType):
            imports[name] = value.__name__
        elif name in code.__globals__ and not hasattr(builtins, name) and value is not given:
            around.add(name)
    if around:
        raise BadQuestionError(
            f"{given.__name__} uses {', '.join(sorted(around))} from around it, and a process of its own knows only "
            f'its text and modules such as np; put all of it in a file, and give "file.py:{given.__name__}"'
        )
    try:
        source = textwrap.dedent(inspect.getsource(given))
    except (OSError, TypeError):
        remedy = 'write it in a file, and give "file.py:name"'
        raise ParameterError("function", given.__name__, reason="has no source here", remedy=remedy) from None
    return ChunkFunction(name=given.__name__, module=None, source=source, imports=imports)


def _names(code: CodeType) -> set[str]:
    """Return the names that a function looks up, those of functions inside it too."""
    inside = [one for one in code.co_consts if isinstance(one, CodeType)]
    return set(code.co_names).union(*map(_names, inside))
