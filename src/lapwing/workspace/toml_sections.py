"""TOML that knows its lines: sections whose entries are taken one by one, so that what is wrong or left over is named.

`tomllib` forgets where an entry stood, so its line is looked up in the text when there is something to say about it.
"""

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from lapwing.vocabulary.errors import LapwingError, ParameterError, SettingsError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a settings file, and where it is."""

    file: str
    text: str

    @staticmethod
    def read(path: Path) -> "Document":
        """Read a file, or say why not."""
        try:
            return Document(str(path), path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise SettingsError(
                str(path),
                0,
                reason="is not there",
                remedy="make a workspace with lapwing init, or name its folder with -w FOLDER",
            ) from None
        except (OSError, UnicodeDecodeError) as failure:
            raise SettingsError(str(path), 0, reason=f"cannot be read ({failure})", remedy="mend the file") from None

    def section(self) -> "Section":
        """Parse the text."""
        try:
            return Section(self, (), tomllib.loads(self.text))
        except tomllib.TOMLDecodeError as failure:
            line = self.text[: getattr(failure, "pos", 0) or 0].count("\n") + 1
            said = str(failure)
            if " line " in said:
                line = int(said.rpartition(" line ")[2].split(",")[0].strip(")"))
            elif "end of document" in said:
                line = self.text.count("\n") + 1
            raise SettingsError(
                self.file, line, reason=f"is no TOML: {said.partition(' (at')[0]}", remedy="mend this line"
            ) from None
        except RecursionError:
            raise SettingsError(
                self.file, 0, reason="is no TOML that anybody wrote: it is nested too deeply", remedy="mend the file"
            ) from None

    def line(self, path: tuple[str, ...]) -> int:
        """Return the line on which the entry at `path` stands, or the innermost section around it that is found."""
        found, best = 0, 0
        header: tuple[str, ...] = ()
        for number, line in enumerate(self.text.splitlines(), start=1):
            named = _names(line, header)
            if named is None:
                continue
            header = named if line.lstrip().startswith("[") else header
            if len(named) > best and path[: len(named)] == named:
                found, best = number, len(named)
        return found


@dataclass(frozen=True, slots=True)
class Section:
    """One table of the file; entries are taken out of it, and `done` refuses what was not."""

    document: Document
    path: tuple[str, ...]
    entries: Mapping[str, Any]
    taken: set[str] = field(default_factory=set)

    def take(self, name: str, kind: type[T] | tuple[type, ...], default: Any = ...) -> Any:
        """Return an entry of one of these types, or the default; refuse a missing one that has no default."""
        self.taken.add(name)
        if name not in self.entries:
            if default is ...:
                for near in difflib.get_close_matches(name, self.entries.keys() - self.taken, n=1):
                    raise self.error((near,), f"unknown key {near} in {self.title}", f"did you mean {name}?")
                raise self.error((), f"{self.title} has no {name}", f"write {name} = ...")
            return default
        value = self.entries[name]
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            wanted = " or ".join(_SPOKEN.get(one, one.__name__) for one in kinds)
            raise self.error((name,), f"{name} is {_SPOKEN.get(type(value), 'no such thing')}", f"write {wanted}")
        return value

    def section(self, name: str, default: Any = ...) -> "Section":
        """Return a section inside this one."""
        return Section(self.document, (*self.path, name), self.take(name, dict, default))

    def sections(self) -> Iterator[tuple[str, "Section"]]:
        """Go through the sections inside this one, whatever their names."""
        for name in self.entries:
            yield name, self.section(name)

    def one_of(self, name: str, choices: Mapping[str, T], default: Any = ...) -> Any:
        """Return what one of a few words stands for."""
        word = self.take(name, str, default)
        if word is default:
            return default
        if word not in choices:
            raise self.error((name,), f"{name} = {word!r} is unknown", f"write one of {', '.join(map(repr, choices))}")
        return choices[word]

    def done(self) -> None:
        """Refuse entries that nobody asked for: a misspelt bound would otherwise be no bound."""
        for name in self.entries:
            if name not in self.taken:
                near = difflib.get_close_matches(name, self.taken, n=1)
                known = ", ".join(sorted(self.taken))
                remedy = f"did you mean {near[0]}?" if near else f"known here: {known}"
                raise self.error((name,), f"{name} means nothing in {self.title}", remedy)

    def error(self, inner: tuple[str, ...], reason: str, remedy: str) -> SettingsError:
        """Return a refusal that names the line of an entry of this section."""
        path = (*self.path, *inner)
        return SettingsError(self.document.file, self.document.line(path), reason=reason, remedy=remedy)

    @contextmanager
    def blamed(self, *inner: str) -> Iterator[None]:
        """Turn a refusal of what was built from an entry into one that names its line."""
        try:
            yield
        except SettingsError:
            raise
        except ParameterError as refused:
            path = inner if inner and inner[-1] == refused.name else (*inner, refused.name)
            said = str(refused).rpartition(f"; {refused.remedy}")[0] or str(refused)
            raise self.error(path, said, refused.remedy) from None
        except LapwingError as refused:
            raise self.error(inner, str(refused), "mend it") from None

    @property
    def title(self) -> str:
        """The section as it is written."""
        return f"[{'.'.join(self.path)}]" if self.path else "the file"


_SPOKEN = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}


def _names(line: str, header: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the path that a line of TOML opens or sets, if it does."""
    bare = line.strip()
    is_header = bare.startswith("[")
    source = bare if is_header else f"{bare.partition('=')[0]} = 0"
    if not bare or bare.startswith("#") or (not is_header and "=" not in bare):
        return None
    with suppress(tomllib.TOMLDecodeError):
        names: list[str] = []
        inner: Any = tomllib.loads(source)
        while isinstance(inner, dict) and inner:
            ((name, inner),) = inner.items()
            names.append(name)
        return tuple(names) if is_header else (*header, *names)
    return None
