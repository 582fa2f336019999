"""TOML as text: sections that know their lines, names and values as they are written, and entries that are changed.

`tomllib` forgets where an entry stood, so its line is looked up in the text when there is something to say about it.
"""

import difflib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import field
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from lapwing.vocabulary.errors import LapwingError, ParameterError, SettingsError
from lapwing.vocabulary.frozen import frozen
from lapwing.vocabulary.wording import Call, Message

T = TypeVar("T")


@frozen(kw_only=False)
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
            made, named = Call("lw.create", ("clinic", ...)), Call("lw.open", ("clinic",))
            remedy = Message("make a workspace with ", made, ", or name the folder of one: ", named)
            if Path(path.name).exists():  # a folder is named from where one is, and many are inside of it already
                remedy = Message("you are in the folder of a workspace already: from here it is named '.'")
            raise SettingsError(str(path), 0, reason="is not there", remedy=remedy) from None
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
            reason = f"is not TOML: {said.partition(' (at')[0]}"
            raise SettingsError(self.file, line, reason=reason, remedy="mend this line") from None
        except RecursionError:
            reason = "is nested too deeply to be read"
            raise SettingsError(self.file, 0, reason=reason, remedy="mend the file") from None

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


@frozen(kw_only=False)
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
        if isinstance(value, str) and "\0" in value:
            raise self.error((name,), f"{name} holds a NUL, which no file and no name has", "leave it out")
        return value

    def section(self, name: str, default: Any = ...) -> "Section":
        """Return a section inside this one."""
        return Section(self.document, (*self.path, name), self.take(name, dict, default))

    def sections(self) -> Iterator[tuple[str, "Section"]]:
        """Go through the sections inside this one, whatever their names."""
        for name in self.entries:
            yield name, self.section(name)

    def one_of(self, name: str, choices: Mapping[str, T], default: Any = ...) -> Any:
        """Return the value of an entry that must be one of a few words."""
        word = self.take(name, str, default)
        if word is default:
            return default
        if word not in choices:
            raise self.error((name,), f"{name} = {word!r} is unknown", f"write one of {', '.join(map(repr, choices))}")
        return choices[word]

    def done(self) -> None:
        """Refuse unknown entries: a misspelt bound would otherwise be no bound."""
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


def with_entry(file: str, text: str, path: tuple[str, ...], given: Any) -> str:
    """Return the text of a file with one entry in it, or without it where None is given; all else stays as it is.

    Where the entry is written in a way that a program cannot change for sure, it is refused.

    >>> with_entry("lapwing.toml", "[populations.clinic]", ("populations", "clinic", "salt"), 2).splitlines()
    ['[populations.clinic]', 'salt = 2']
    >>> with_entry("lapwing.toml", "salt = 1", ("salt",), None)
    ''
    """
    lines, header, section, place = text.splitlines(), tuple[str, ...](), None, None
    for number, line in enumerate(lines):
        named = _names(line, header)
        if named is not None and line.lstrip().startswith("["):
            header, section = named, number if named == path[:-1] else section
        elif named == path:
            place = number
    written = f"{key(path[-1])} = {value(given)}"
    if place is not None:
        lines[place : place + 1] = (
            [] if given is None else [f"{lines[place].partition('=')[0].rstrip()} = {value(given)}"]
        )
    elif given is not None and section is not None:
        lines.insert(section + 1, written)
    elif given is not None:
        lines += ["", f"[{'.'.join(map(key, path[:-1]))}]", written]
    after = "\n".join(lines) + ("\n" if text.endswith("\n") else "")
    if _loaded(after) != _without_empty(_changed(tomllib.loads(text), path, given)):
        reason, remedy = f"{'.'.join(path)} cannot be changed by a program", "edit the file, then lapwing update"
        raise SettingsError(file, Document(file, text).line(path), reason=reason, remedy=remedy)
    return after


def without_section(file: str, text: str, path: tuple[str, ...]) -> str:
    r"""Return the text of a file without one section, the sections in it and their comments; all else stays as it is.

    Comments directly above a section are its own. What a program cannot take out for sure is refused.

    >>> text = "# of a\n[a]\nx = 1\n[a.b]\n# y = 2\n# of c\n\n# of d\n[d]\nz = 3\n"
    >>> without_section("lapwing.toml", text, ("a",)).splitlines()
    ['# of d', '[d]', 'z = 3']
    """
    kept, above, is_inside = list[str](), list[str](), False
    for line in text.splitlines():
        header = _names(line, ()) if line.lstrip().startswith("[") else None
        was_inside, is_inside = is_inside, is_inside if header is None else header[: len(path)] == path
        if is_inside and not was_inside:
            del kept[len(kept) - len(above) :]
        elif was_inside and not is_inside:
            kept += above
        if not is_inside:
            kept.append(line)
        above = [*above, line] if line.lstrip().startswith("#") else []
    after = "\n".join(kept).rstrip("\n") + "\n"
    if _loaded(after) != _without_empty(_changed(tomllib.loads(text), path, None)):
        reason, remedy = f"{'.'.join(path)} cannot be taken out by a program", "edit the file, then lapwing update"
        raise SettingsError(file, Document(file, text).line(path), reason=reason, remedy=remedy)
    return after


def _loaded(text: str) -> dict[str, Any] | None:
    with suppress(tomllib.TOMLDecodeError):
        return _without_empty(tomllib.loads(text))
    return None


def _without_empty(record: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a file without its empty sections."""
    inner = {name: _without_empty(one) if isinstance(one, dict) else one for name, one in record.items()}
    return {name: one for name, one in inner.items() if one != {}}


def _changed(record: dict[str, Any], path: tuple[str, ...], given: Any) -> dict[str, Any]:
    """Return the content of a file after a change."""
    name, *rest = path
    if rest and (given is not None or name in record):
        inner = _changed(record.get(name, {}), tuple(rest), given)
        return {**record, name: inner}
    if given is None:
        return {one: kept for one, kept in record.items() if one != name}
    return {**record, name: tomllib.loads(f"x = {value(given)}")["x"]}


def key(name: str) -> str:
    """Return a name as TOML writes it.

    >>> key("age"), key("größe in cm")
    ('age', '"größe in cm"')
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def value(given: Any) -> str:
    """Return a value as TOML writes it.

    >>> value({"type": "category", "values": ["F", "M"]})
    '{ type = "category", values = ["F", "M"] }'
    """
    match given:
        case dict():
            return "{ " + ", ".join(f"{key(name)} = {value(one)}" for name, one in given.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(value(one) for one in given) + "]"
        case bool():
            return str(given).lower()
        case int() | date():
            return str(given)
        case Fraction():
            return value(str(given))
        case _:
            return _quoted(given)


def _quoted(given: Any) -> str:
    """Return a text in quotes: as JSON, but for DEL, which TOML takes for a control character."""
    return json.dumps(given, ensure_ascii=False).replace("\x7f", "\\u007f")
