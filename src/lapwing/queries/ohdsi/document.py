"""A cohort definition as JSON: parts that know where they stand, and that tell what nobody read of them.

Nothing of a definition is dropped in silence: a part is opened, its entries are taken out of it, and what is left when
it is closed is listed.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lapwing.vocabulary.errors import BadQuestionError

MOST_CHARACTERS = 5_000_000


@dataclass(slots=True)
class Remarks:
    """What there is to say about how a definition is read."""

    unsupported: dict[str, None] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)

    def refuse(self, what: str) -> None:
        """List something that the definition uses and that is left out."""
        self.unsupported[what] = None

    def note(self, what: str) -> None:
        """List something that is read a little differently."""
        self.notes[what] = None


class JsonPart:
    """One object of the JSON, with its place."""

    def __init__(self, place: str, entries: object, remarks: Remarks) -> None:
        if not isinstance(entries, Mapping):
            raise BadQuestionError(f"{place} of the cohort definition is not an object of JSON; write {{...}} there")
        self.place, self.remarks = place, remarks
        self._entries: Mapping[str, Any] = entries
        self._taken: set[str] = set()

    def take(self, name: str, default: Any = None) -> Any:
        """Return an entry; null is as good as none."""
        self._taken.add(name)
        found = self._entries.get(name)
        return default if found is None else found

    def whole(self, name: str, default: int | None = None) -> int | None:
        """Return an entry that is a whole number."""
        found = self.take(name, default)
        if found is not None and (isinstance(found, bool) or not isinstance(found, int)):
            raise BadQuestionError(f"{self.place}.{name} is {found!r}; write a whole number")
        return found

    def part(self, name: str) -> "JsonPart | None":
        """Return an entry that is an object, if it is there and not empty."""
        found = self.take(name)
        return JsonPart(f"{self.place}.{name}", found, self.remarks) if found not in (None, {}) else None

    def parts(self, name: str) -> "list[JsonPart]":
        """Return the objects of an entry that is a list."""
        found = self.take(name, [])
        if not isinstance(found, list):
            raise BadQuestionError(f"{self.place}.{name} is not a list; write [...] there")
        return [JsonPart(f"{self.place}.{name}[{i}]", one, self.remarks) for i, one in enumerate(found)]

    def only_entry(self) -> tuple[str, "JsonPart"]:
        """Return the one entry of an object that says by its name what it is."""
        present = [name for name, entry in self._entries.items() if entry is not None]
        if len(present) != 1:
            raise BadQuestionError(f"{self.place} has {len(present)} kinds of events; write one, such as Measurement")
        self._taken.add(present[0])
        return present[0], JsonPart(f"{self.place}.{present[0]}", self._entries[present[0]], self.remarks)

    @contextmanager
    def read(self) -> "Iterator[JsonPart]":
        """Give the part to be read, and list what of it nobody took."""
        yield self
        for name, entry in self._entries.items():
            if name not in self._taken and entry not in (None, [], {}, False, ""):
                self.remarks.refuse(f"{self.place}.{name}")


def load(definition: "str | Path | Mapping[str, Any]") -> Mapping[str, Any]:
    """Return the JSON of a definition, from a file or as it is."""
    if isinstance(definition, Mapping):
        return definition
    path = Path(definition)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise BadQuestionError(f"{path.name} cannot be read; name a file with a cohort definition in JSON") from None
    if len(text) > MOST_CHARACTERS:
        raise BadQuestionError(f"{path.name} has more than {MOST_CHARACTERS:,} characters; is it a cohort definition?")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise BadQuestionError(f"{path.name} is not JSON; export the definition from ATLAS as JSON") from None
    # ATLAS keeps a definition with its name around it, and the definition itself as text.
    if isinstance(found, Mapping) and "expression" in found:
        inner = found["expression"]
        inner = json.loads(inner) if isinstance(inner, str) else inner
        found = {"Title": found.get("name"), **inner} if isinstance(inner, Mapping) else inner
    if not isinstance(found, Mapping) or "PrimaryCriteria" not in found:
        raise BadQuestionError(f"{path.name} has no PrimaryCriteria; export the definition from ATLAS as JSON")
    return found
