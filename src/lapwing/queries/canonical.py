"""One spelling for equal things: the nouns of this folder as JSON text.

The text is the key under which answers are kept, so it must mean the same in ten years: never rename a noun or a field
of the algebra, and never change their order.
"""

import json
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cache
from typing import Any

_PLAIN = {str, int, bool, type(None)}


def spelling(noun: object) -> str:
    r"""Return the JSON text of a frozen dataclass, a number, a text, or a tuple of those.

    >>> spelling((Fraction(1, 2), None, ("a", 3)))
    '["1/2",null,["a",3]]'
    """
    return json.dumps(_lists(noun), ensure_ascii=True, separators=(",", ":"))


def field_names(noun: object) -> tuple[str, ...] | None:
    """Return the names of the fields of a noun in their order, or None where it is no dataclass."""
    kind: Any = type(noun)
    return _field_names(kind)


@cache
def _field_names(kind: type) -> tuple[str, ...] | None:
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None


def _lists(noun: object) -> Any:
    if type(noun) in _PLAIN:
        return noun
    names = field_names(noun)
    if names is not None:
        return [type(noun).__name__, *[_lists(getattr(noun, name)) for name in names]]
    match noun:
        case tuple():
            return [_lists(part) for part in noun]
        case Enum():
            return noun.value
        case Fraction():
            return str(noun)
        case _:
            raise TypeError(type(noun).__name__)
