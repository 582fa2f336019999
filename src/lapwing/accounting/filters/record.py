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
from functools import lru_cache, partial
from types import MappingProxyType, NoneType, UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin, get_type_hints

from lapwing.accounting.filters.account import Account, Admission, Booking, CapChange, OpenStream
from lapwing.accounting.filters.approximate import ApproximateFilter, DeltaShares
from lapwing.accounting.filters.charge import Charge, Reservation, SingleRelease, StreamClosing, WholeBudget, YesCharge
from lapwing.accounting.filters.cost import Cost
from lapwing.accounting.filters.decision import Accepted
from lapwing.accounting.filters.opening import Budget
from lapwing.accounting.filters.sums import ConcentratedFilter, PureFilter
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
    "yes": YesCharge,
    "closing": StreamClosing,
    "cap-change": CapChange,
    "one-shot": SingleRelease,
    "whole-budget": WholeBudget,
    "reservation": Reservation,
    "cost": Cost,
    "step": Accepted,
    "open-stream": OpenStream,
    "pure-sum": PureFilter,
    "concentrated-sum": ConcentratedFilter,
    "two-arms": ApproximateFilter,
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
    >>> to_record(YesCharge(stream="s"))
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
    YesCharge(stream='s')
    """
    try:
        kind = record["kind"]
        noun, readers = _KINDS[kind], _readers(kind)
        return noun(**{name: readers[name](value) for name, value in record.items() if name != "kind"})
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as cause:
        raise ParameterError(
            "record", record, reason="is no record of an account", remedy="restore the book from a copy"
        ) from cause


def _written(value: Any) -> Any:
    write = _WRITERS.get(type(value))
    return to_record(value) if write is None else write(value)


def _as_it_is(value: Any) -> Any:
    return value


def _ratio(ratio: Fraction) -> str:
    try:
        return f"{ratio.numerator}/{ratio.denominator}"
    except ValueError:  # Python writes no number of more than 4300 digits; ledgers admit nothing that leads to one
        raise ParameterError(
            "amount", "<thousands of digits>", reason="cannot be written", remedy="charge prices with few digits"
        ) from None


_WRITERS: dict[type[Any], Callable[[Any], Any]] = {
    **dict.fromkeys((NoneType, bool, int, str), _as_it_is),
    Fraction: _ratio,
    float: float.hex,
    Adjacency: lambda adjacency: adjacency.value,
    frozenset: sorted,
    **dict.fromkeys((dict, MappingProxyType), lambda held: {key: _written(part) for key, part in held.items()}),
    **dict.fromkeys(_EVENTS, event_record.to_record),
}
"""How a value is written, by its very type: every charge that is booked writes some thirty of them."""


@lru_cache
def _reader(hint: Any) -> Callable[[Any], Any]:
    """Return what reads the value of a field with the type `hint`."""
    kind, parts = get_origin(hint), get_args(hint)
    if hint == Event:
        return event_record.from_record
    if hint in _SCALARS:
        return partial(_scalar, hint)
    if kind is frozenset:
        return frozenset
    if kind in {Union, UnionType}:
        return partial(_one_of, _reader(next(part for part in parts if part is not NoneType)), NoneType in parts)
    if kind is not None:
        return partial(_mapping, _reader(parts[1]))
    return from_record


def _scalar(hint: type[Any], value: Any) -> Any:
    scalar = _SCALARS[hint](value)
    again = _written(scalar)
    if again != value or type(again) is not type(value):
        raise ValueError(f"{value!r} is not written as {hint.__name__}s are")
    return scalar


def _one_of(read: Callable[[Any], Any], nullable: bool, value: Any) -> Any:  # noqa: FBT001 - bound beforehand
    if nullable and value is None:
        return None
    return from_record(value) if isinstance(value, dict) else read(value)


def _mapping(read: Callable[[Any], Any], value: Any) -> Any:
    return MappingProxyType({key: read(part) for key, part in value.items()})


def _fraction(text: str) -> Fraction:
    numerator, slash, denominator = text.partition("/")
    if not slash:
        raise ValueError(f"{text} is no ratio")
    return Fraction(int(numerator), int(denominator))


def _finite(text: str) -> float:
    number = float.fromhex(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no amount")
    return number


_SCALARS: dict[Any, Callable[[Any], Any]] = {
    Fraction: _fraction,
    float: _finite,
    Adjacency: Adjacency,
    int: int,
    bool: bool,
    str: str,
}


@lru_cache
def _readers(kind: str) -> dict[str, Callable[[Any], Any]]:
    return {name: _reader(hint) for name, hint in get_type_hints(_KINDS[kind]).items()}
