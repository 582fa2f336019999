"""Reads the canonical spelling of a plan back: what a question of a stream was, after the process that asked it died.

It is the inverse of `canonical.spelling`, led by the types of the fields, and builds only the nouns of the algebra.
"""

import json
import types
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from lapwing.queries.aggregate import Aggregate
from lapwing.queries.plan import Meaning, Plan
from lapwing.vocabulary.errors import LedgerDamagedError


def read_back(canonical: str) -> tuple[Meaning, Aggregate]:
    """Return the meaning and the aggregate of the plan whose `canonical` text this is.

    >>> from lapwing.queries.aggregate import CountPerPerson
    >>> read_back('["clinic",["PrivacyUnit","id","add-remove",1],["AtLeast",200],'
    ...           '["Aggregate","patients",["Every",[]],[],["Once",1],0]]')[0]
    AtLeast(people=200)
    """
    try:
        _, _, meaning, aggregate = json.loads(canonical)
        hints = _types_of(Plan)
        return _read(hints["meaning"], meaning), _read(Aggregate, aggregate)
    except (ValueError, TypeError, KeyError, IndexError, StopIteration):
        raise LedgerDamagedError("holds a question that cannot be read back") from None


def _read(kind: Any, spelled: Any) -> Any:
    if get_origin(kind) in {Union, types.UnionType}:
        return _read(_chosen(get_args(kind), spelled), spelled)
    if get_origin(kind) is tuple:
        return _read_tuple(get_args(kind), spelled)
    if kind is types.NoneType or kind in {str, int, bool}:
        return spelled
    if kind is Fraction:
        return Fraction(spelled)
    if issubclass(kind, Enum):
        return kind(spelled)
    if kind is Meaning:
        kind = [one for one in _subclasses(Meaning) if one.__name__ == spelled[0]][-1]
    hints = _types_of(kind)
    _, *parts = spelled
    return kind(**{field.name: _read(hints[field.name], part) for field, part in zip(fields(kind), parts, strict=True)})


@cache  # looking them up takes longer than reading all the rest, and a stream reads every question back
def _types_of(noun: type) -> dict[str, Any]:
    return get_type_hints(noun)


def _subclasses(kind: Any) -> list[Any]:
    return [found for one in kind.__subclasses__() for found in (one, *_subclasses(one))]


def _read_tuple(kinds: Sequence[Any], spelled: Sequence[Any]) -> tuple[Any, ...]:
    each = [kinds[0]] * len(spelled) if kinds[-1] is Ellipsis else kinds
    return tuple(_read(kind, part) for kind, part in zip(each, spelled, strict=True))


def _chosen(kinds: Sequence[Any], spelled: Any) -> Any:
    """Return the member of a union that was spelled: a noun says its name, the others are told by their JSON type."""
    nouns = {kind.__name__: kind for kind in kinds if isinstance(kind, type) and is_dataclass(kind)}
    if isinstance(spelled, list) and spelled and isinstance(spelled[0], str) and spelled[0] in nouns:
        return nouns[spelled[0]]
    wanted = tuple if isinstance(spelled, list) else type(spelled)
    return next(kind for kind in kinds if (get_origin(kind) or kind) is wanted)
