"""One spelling for equal things: the nouns of this folder as JSON text.

The text is the key under which answers are kept, so it must mean the same in ten years: never rename a noun or a field
of the algebra, and never change their order.
"""

import json
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from typing import Any


def spelling(noun: object) -> str:
    r"""Return the JSON text of a frozen dataclass, a number, a text, or a tuple of those.

    >>> spelling((Fraction(1, 2), None, ("a", 3)))
    '["1/2",null,["a",3]]'
    """
    return json.dumps(_lists(noun), ensure_ascii=True, separators=(",", ":"))


def _lists(noun: object) -> Any:
    if is_dataclass(noun):
        return [type(noun).__name__, *(_lists(getattr(noun, field.name)) for field in fields(noun))]
    match noun:
        case tuple():
            return [_lists(part) for part in noun]
        case Enum():
            return noun.value
        case Fraction():
            return str(noun)
        case str() | int() | None:
            return noun
        case _:
            raise TypeError(type(noun).__name__)
