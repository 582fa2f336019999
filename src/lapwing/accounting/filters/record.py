"""Accounts and the lines of their books as JSON values, to the last bit.

Exact numbers are written as ratios and floats in hexadecimal; the names of classes and fields are the format, so they
are never changed. What a record says is what is booked on replay: prices and residues are not computed again, and an
old book means the same under a new version and on another machine.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType, UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin, get_type_hints

from lapwing.accounting.filters.account import Account, Admission, Booking, CapChange, OpenStream
from lapwing.accounting.filters.charge import Charge, Closing, OneShot, Reservation, Yes
from lapwing.accounting.filters.cost import Cost
from lapwing.accounting.filters.sums import ConcentratedSum, PureSum
from lapwing.accounting.filters.two_arms import DeltaShares, TwoArms
from lapwing.accounting.filters.verdict import Step
from lapwing.vocabulary.adjacency import Adjacency
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Event
from lapwing.vocabulary.guarantee import Guarantee

Json: TypeAlias = Any
"""What the standard library's json writes and reads."""

_NOUNS: dict[str, type[Any]] = {
    noun.__name__: noun
    for noun in (
        *get_args(Event),
        *get_args(Guarantee),
        *(OneShot, Reservation, Yes, Closing, Cost, Step),
        *(Account, Admission, CapChange, OpenStream, PureSum, ConcentratedSum, TwoArms, DeltaShares),
    )
}
_READ_SCALAR: dict[Any, Callable[[Any], Any]] = {
    Fraction: Fraction,
    float: float.fromhex,
    Adjacency: Adjacency,
    int: int,
    bool: bool,
    str: str,
}


def to_record(noun: Account | Booking | Charge | Event | Guarantee) -> dict[str, Json]:
    """Return an account, a line of its book or an event as a JSON value.

    Examples
    --------
    >>> from lapwing.vocabulary.event import PureRelease
    >>> to_record(PureRelease(epsilon=Fraction(1, 10)))
    {'is': 'PureRelease', 'epsilon': '1/10'}
    """
    return {"is": type(noun).__name__, **{field.name: _written(getattr(noun, field.name)) for field in fields(noun)}}


def from_record(record: Mapping[str, Json]) -> Any:
    """Return what `to_record` wrote, equal to the last bit; refuse what it cannot have written.

    Examples
    --------
    >>> from lapwing.vocabulary.event import PureRelease
    >>> from_record({"is": "PureRelease", "epsilon": "1/10"}) == PureRelease(epsilon=Fraction(1, 10))
    True
    """
    try:
        noun = _NOUNS[record["is"]]
        hints = _hints(record["is"])
        return noun(**{name: _read(hints[name], value) for name, value in record.items() if name != "is"})
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as cause:
        raise ParameterError(
            "record", record, reason=f"is no record of an account ({cause!r})", remedy="restore the book from a copy"
        ) from cause


def _written(value: object) -> Json:
    match value:
        case Fraction():
            return str(value)
        case float():
            return value.hex()
        case Adjacency():
            return value.value
        case frozenset():
            return sorted(value)
        case tuple():
            return [_written(part) for part in value]
        case Mapping():
            return {key: _written(part) for key, part in value.items()}
        case _:
            return to_record(value) if is_dataclass(value) else value  # type: ignore[arg-type]


def _read(hint: Any, value: Json) -> Any:
    if hint in _READ_SCALAR:
        return _READ_SCALAR[hint](value)
    if value is None:
        return None
    kind, parts = get_origin(hint), get_args(hint)
    if kind is frozenset:
        return frozenset(value)
    if kind is tuple:
        return tuple(_read(parts[0], part) for part in value)
    if isinstance(value, Mapping):
        if "is" in value and kind in {None, Union, UnionType}:
            return from_record(value)
        return MappingProxyType({key: _read(parts[1], part) for key, part in value.items()})
    return _read(next(part for part in parts if part is not type(None)), value)


@lru_cache
def _hints(noun: str) -> dict[str, Any]:
    return get_type_hints(_NOUNS[noun])
