"""Accounts and the lines of their books as JSON values, to the last bit.

Like the records of events (`vocabulary/event_record.py`): a dictionary with the `kind` of the noun and its fields,
fractions as "p/q", and floats in hexadecimal. Kinds and fields are never renamed. What a record says is what is booked
on replay: prices and residues are not computed again, and an old book means the same under a new version and on another
machine.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType, UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin, get_type_hints

from lapwing.accounting.filters.account import Account, Admission, Booking, CapChange, OpenStream
from lapwing.accounting.filters.charge import Charge, Closing, OneShot, Reservation, WholeBudget, Yes
from lapwing.accounting.filters.cost import Cost
from lapwing.accounting.filters.opening import Budget
from lapwing.accounting.filters.sums import ConcentratedSum, PureSum
from lapwing.accounting.filters.two_arms import DeltaShares, TwoArms
from lapwing.accounting.filters.verdict import Step
from lapwing.vocabulary import event_record
from lapwing.vocabulary.adjacency import Adjacency
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Event
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, PureDP

Record: TypeAlias = dict[str, Any]
"""What the standard library's json writes and reads."""

_KINDS: dict[str, type[Any]] = {
    "account": Account,
    "admission": Admission,
    "yes": Yes,
    "closing": Closing,
    "cap-change": CapChange,
    "one-shot": OneShot,
    "whole-budget": WholeBudget,
    "reservation": Reservation,
    "cost": Cost,
    "step": Step,
    "open-stream": OpenStream,
    "pure-sum": PureSum,
    "concentrated-sum": ConcentratedSum,
    "two-arms": TwoArms,
    "delta-shares": DeltaShares,
    "pure-dp": PureDP,
    "approximate-dp": ApproximateDP,
    "concentrated-dp": ConcentratedDP,
}
_NAMES = {noun: kind for kind, noun in _KINDS.items()}
_FIELDS = {noun: tuple(field.name for field in fields(noun)) for noun in _NAMES}
_EVENTS = get_args(Event)


def to_record(noun: Account | Booking | Charge | Budget) -> Record:
    """Return an account, a line of its book, or what these are made of as a JSON value.

    Examples
    --------
    >>> to_record(Yes(stream="s"))
    {'kind': 'yes', 'stream': 's'}
    """
    return {
        "kind": _NAMES[type(noun)],
        **{name: _written(getattr(noun, name)) for name in _FIELDS[type(noun)]},
    }


def from_record(record: Mapping[str, Any]) -> Any:
    """Return what `to_record` wrote, equal to the last bit; refuse what it cannot have written.

    Examples
    --------
    >>> from_record({"kind": "yes", "stream": "s"})
    Yes(stream='s')
    """
    try:
        kind = record["kind"]
        noun, hints = _KINDS[kind], _hints(kind)
        return noun(**{name: _read(hints[name], value) for name, value in record.items() if name != "kind"})
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as cause:
        raise ParameterError(
            "record", record, reason=f"is no record of an account ({cause!r})", remedy="restore the book from a copy"
        ) from cause


def _written(value: Any) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case Fraction():
            return f"{value.numerator}/{value.denominator}"
        case float():
            return value.hex()
        case Adjacency():
            return value.value
        case frozenset():
            return sorted(value)
        case Mapping():
            return {key: _written(part) for key, part in value.items()}
        case _:
            return event_record.to_record(value) if isinstance(value, _EVENTS) else to_record(value)


def _read(hint: Any, value: Any) -> Any:
    """Return the value of a field with the type `hint`."""
    kind, parts = get_origin(hint), get_args(hint)
    if value is None and type(None) in parts:
        return None
    if hint == Event:
        return event_record.from_record(value)
    if hint in _SCALARS:
        scalar = _SCALARS[hint](value)
        if _written(scalar) != value or type(_written(scalar)) is not type(value):
            raise ValueError(f"{value!r} is not written as {hint.__name__}s are")
        return scalar
    if kind is frozenset:
        return frozenset(value)
    if kind in {Union, UnionType} and not isinstance(value, Mapping):
        return _read(next(part for part in parts if part is not type(None)), value)
    if kind not in {None, Union, UnionType}:
        return MappingProxyType({key: _read(parts[1], part) for key, part in value.items()})
    return from_record(value)


def _finite(text: str) -> float:
    number = float.fromhex(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no amount")
    return number


_SCALARS: dict[Any, Callable[[Any], Any]] = {
    Fraction: Fraction,
    float: _finite,
    Adjacency: Adjacency,
    int: int,
    bool: bool,
    str: str,
}


@lru_cache
def _hints(kind: str) -> dict[str, Any]:
    return get_type_hints(_KINDS[kind])
