"""Parts of a question that know how large they are: counted when a part is made, so that no place can forget it.

A part that is used twice is there once and counts twice, for whoever gives it a meaning goes through it twice: a column
that is doubled in each of twenty names is twenty objects and a million parts. What is too large is refused where it is
made, by whatever makes it: text, WITH, Python, a definition, or a change of names.
"""

from dataclasses import fields
from typing import Any

from lapwing.queries.limits import MOST_DEPTH, MOST_NODES
from lapwing.vocabulary.deadline import spend
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import check_most


class Sized:
    """Something that a question is made of: `size` parts, itself among them, and `depth` levels of them below it."""

    __slots__ = ("depth", "size")
    size: int
    depth: int

    def __post_init__(self) -> None:
        size, depth = measured(getattr(self, name) for name in self.__dataclass_fields__)  # type: ignore[attr-defined]
        spend()
        check_most("parts", size + 1, MOST_NODES)
        if depth > MOST_DEPTH:
            raise BadQuestionError(f"the question is nested {depth} levels deep, more than {MOST_DEPTH}; flatten it")
        object.__setattr__(self, "size", size + 1)
        object.__setattr__(self, "depth", depth)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy it by making it, so that a copy knows its size as well."""
        return _made, (type(self), {one.name: getattr(self, one.name) for one in fields(self)})  # type: ignore[arg-type]


def _made(kind: type[Any], held: dict[str, Any]) -> Any:
    return kind(**held)


def measured(parts: Any) -> tuple[int, int]:
    """Return how many parts there are in all of these, and how many levels of them."""
    size = depth = 0
    for part in parts:
        if isinstance(part, Sized):
            size += part.size
            depth = max(depth, part.depth + 1)
        elif isinstance(part, tuple) and part and not isinstance(part[0], int | str):  # a list of values has no parts
            inner, levels = measured(part)
            size, depth = size + inner, max(depth, levels)
    return size, depth
