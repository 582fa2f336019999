"""Events as records: plain JSON values that can be stored, sent, and read again in ten years.

A record is a dictionary with the `kind` of the event and its fields. A fraction is the text "p/q" in lowest terms, so
one event has one record and can be hashed. Reading is strict: what is not known is refused, never skipped.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from fractions import Fraction
from typing import Any, TypeAlias

from lapwing.vocabulary import event as events
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import Event

Record: TypeAlias = dict[str, Any]
"""Values are texts, whole numbers, truth values, records and lists of records."""

_KINDS: dict[str, type[Event]] = {
    "laplace-noise": events.LaplaceNoise,
    "discrete-laplace-noise": events.DiscreteLaplaceNoise,
    "gaussian-noise": events.GaussianNoise,
    "discrete-gaussian-noise": events.DiscreteGaussianNoise,
    "pure-release": events.PureRelease,
    "approximate-release": events.ApproximateRelease,
    "exponential-selection": events.ExponentialSelection,
    "randomized-response": events.RandomizedResponseRelease,
    "gaussian-sparse-vector": events.GaussianSparseVectorRelease,
    "composed": events.Composed,
    "repeated": events.Repeated,
    "in-parallel": events.InParallel,
    "poisson-sampled": events.PoissonSampled,
    "sampled-without-replacement": events.SampledWithoutReplacement,
}
_NAMES = {event_type: kind for kind, event_type in _KINDS.items()}
_FIELDS = {event_type: {field.name: field for field in fields(event_type)} for event_type in _NAMES}
_RATIO = re.compile(r"-?(0|[1-9][0-9]{0,3999})/[1-9][0-9]{0,3999}")
_DEEPEST = 32


def to_record(event: Event) -> Record:
    """Return `event` as a record.

    Examples
    --------
    >>> to_record(events.PureRelease(epsilon=Fraction(1, 10)))
    {'kind': 'pure-release', 'epsilon': '1/10'}
    """
    event_type = type(event)
    record: Record = {"kind": _NAMES[event_type]}
    for name in _FIELDS[event_type]:
        record[name] = _written(getattr(event, name))
    return record


def from_record(record: object) -> Event:
    """Return the event that `record` describes; refuse what is not exactly a record of one.

    Examples
    --------
    >>> from_record({"kind": "pure-release", "epsilon": "1/10"})
    PureRelease(epsilon=Fraction(1, 10))
    >>> from_record({"kind": "pure-release", "epsilon": "0.1"})
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: epsilon = '0.1' is no fraction in lowest terms; write it as "p/q"
    """
    return _event(record, _DEEPEST)


def _written(value: object) -> Any:
    match value:
        case Fraction():
            return f"{value.numerator}/{value.denominator}"
        case tuple():
            return [to_record(part) for part in value]
        case bool() | int():
            return value
        case _:
            return to_record(value)  # type: ignore[arg-type] # every other field of an event holds an event


def _event(record: object, depth: int) -> Event:
    if not isinstance(record, Mapping):
        raise ParameterError("event", record, reason="is no record", remedy="hand in what to_record returned")
    if depth == 0:
        raise ParameterError(
            "event", "...", reason=f"is nested more than {_DEEPEST} deep", remedy="flatten it into one Composed"
        )
    kind = record.get("kind")
    event_type = _KINDS.get(kind) if isinstance(kind, str) else None
    if event_type is None:
        known = ", ".join(_KINDS)
        raise ParameterError("kind", kind, reason="is no kind of event", remedy=f"use one of: {known}")
    expected = _FIELDS[event_type]
    for name in record:
        if name != "kind" and name not in expected:
            raise ParameterError(str(name), record[name], reason=f"is no field of {kind}", remedy="leave it out")
    values: dict[str, Any] = {}
    for name, field in expected.items():
        if name in record:
            values[name] = _READERS[field.type](name, record[name], depth)
        elif field.default is MISSING:
            raise ParameterError(name, None, reason=f"is missing from {kind}", remedy="every field needs a value")
    return event_type(**values)


def _fraction(name: str, value: object, _: int) -> Fraction:
    if isinstance(value, str) and _RATIO.fullmatch(value):
        numerator, _slash, denominator = value.partition("/")
        number = Fraction(int(numerator), int(denominator))
        if f"{number.numerator}/{number.denominator}" == value:
            return number
    raise ParameterError(name, value, reason="is no fraction in lowest terms", remedy='write it as "p/q"')


def _whole(name: str, value: object, _: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ParameterError(name, value, reason="is no whole number", remedy="write an integer")


def _truth(name: str, value: object, _: int) -> bool:
    if isinstance(value, bool):
        return value
    raise ParameterError(name, value, reason="is no truth value", remedy="write true or false")


def _part(_: str, value: object, depth: int) -> Event:
    return _event(value, depth - 1)


def _parts(name: str, value: object, depth: int) -> tuple[Event, ...]:
    if isinstance(value, list):
        return tuple(_event(part, depth - 1) for part in value)
    raise ParameterError(name, value, reason="is no list of events", remedy="write a list of records")


_READERS: dict[Any, Callable[[str, object, int], Any]] = {
    Fraction: _fraction,
    int: _whole,
    bool: _truth,
    "Event": _part,
    tuple["Event", ...]: _parts,
}
