"""The parts of what is asked: `walk` goes through them without recursion, and what has the same `shape` is equal."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from lapwing.queries.language.expressions import And, Or


def walk(asked: tuple[object, ...]) -> Iterator[tuple[object, int]]:
    """Go through all parts with their depths, without recursion; a chain of and, or of or, is one level."""
    stack: list[tuple[Any, int]] = [(part, 0) for part in asked]
    while stack:
        node, depth = stack.pop()
        if isinstance(node, tuple):
            stack += [(part, depth) for part in node]
            continue
        kind: Any = type(node)
        names = _field_names(kind)
        if names is not None:
            yield node, depth
            for name in names:
                part = getattr(node, name)
                if isinstance(part, tuple) and part and isinstance(part[0], int | str):
                    continue  # a long list of values, which has no parts
                chained = isinstance(node, And | Or)
                stack += [
                    (each, depth if chained and type(each) is type(node) else depth + 1)
                    for each in (part if isinstance(part, tuple) else (part,))
                ]


def shape(node: Any) -> tuple[object, ...]:
    """Return what makes two questions equal, where parts would make a condition of `==`: the same parts in place."""
    if isinstance(node, tuple | list):
        return tuple(map(shape, node))
    kind: Any = type(node)
    names = _field_names(kind)
    parts: tuple[object, ...] = (node,) if names is None else tuple(shape(getattr(node, name)) for name in names)
    return (kind, *parts)


@cache
def _field_names(kind: Any) -> tuple[str, ...] | None:
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None
