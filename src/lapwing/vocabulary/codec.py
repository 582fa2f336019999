"""The one codec: how nouns are written as JSON and read again, after a crash or in ten years.

A stored noun has its tag at its definition, `@stored("pure-release")`. It is written as an object with the tag as its
`kind` and its fields by their names, so classes and modules may be renamed and fields reordered. The meaning of a tag
never changes: a noun that gains, loses or renames a field, or gets another meaning, takes a new tag.
`tests/vocabulary/format_1.jsonl` has an example of each.

Reading is led by the types of the fields and takes only what was written: an unknown tag, a missing or a further field
or a number in another form is refused. So one noun has one text, and two nouns never share one: the text of a question
is the key under which its answer is kept.
"""

import copyreg
import json
import math
import re
import types
from abc import ABCMeta
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from enum import Enum
from fractions import Fraction
from functools import cache, partial
from hashlib import sha256
from itertools import pairwise
from operator import itemgetter
from types import MappingProxyType, NoneType
from typing import (
    Any,
    Final,
    NoReturn,
    TypeAlias,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.frozen import frozen

T = TypeVar("T")
Reader: TypeAlias = Callable[[str, Any, int], Any]

FORMAT: Final = 1  # the version of the format; ledgers and their exports record it
STORED: dict[str, type[Any]] = {}  # every noun that is registered with the codec so far, by its tag
_TAGS: dict[type[Any], tuple[str, tuple[str, ...]]] = {}
_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False, check_circular=False)
_RATIO: Final = re.compile(r"-?(0|[1-9][0-9]{0,3999})/[1-9][0-9]{0,3999}")
_DEEPEST: Final = 128  # nouns within nouns: what can be written can be read without exhausting the stack
_DAMAGED: Final = "it is damaged, or a newer lapwing wrote it; restore it from a copy"


def read_only(held: Mapping[Any, Any]) -> MappingProxyType[Any, Any]:
    """Return an immutable copy of a mapping; objects that hold one can still be pickled."""
    return MappingProxyType(dict(held))


copyreg.pickle(MappingProxyType, lambda held: (read_only, (dict(held),)))


@dataclass_transform(kw_only_default=True, frozen_default=True)
def stored(tag: str, *, kw_only: bool = True, init: bool = True) -> Callable[[type[T]], type[T]]:
    """Make a class a frozen dataclass that is written under `tag`.

    >>> @stored("example-of-the-codec")
    ... class Example:
    ...     share: Fraction
    ...     of: tuple[str, ...] | None
    >>> to_text(Example(share=Fraction(1, 2), of=("a", "b")))
    '{"kind":"example-of-the-codec","of":["a","b"],"share":"1/2"}'
    >>> from_text(Example, '{"kind":"example-of-the-codec","of":null,"share":"1/2"}')
    Example(share=Fraction(1, 2), of=None)
    """

    def register(given: type[T]) -> type[T]:
        noun = frozen(kw_only=kw_only, init=init)(given)
        names = tuple(field.name for field in fields(noun))  # type: ignore[arg-type] # it is a dataclass
        taken = STORED.get(tag, noun)
        again = (taken.__module__, taken.__qualname__) == (noun.__module__, noun.__qualname__)  # a module loaded anew
        if not again or "kind" in names:
            raise ValueError(f"{tag!r} is taken, or one of its fields is called kind")
        STORED[tag], _TAGS[noun] = noun, (tag, names)
        return noun

    return register


def to_text(noun: object) -> str:
    """Return the canonical text of a noun, or of a tuple of nouns."""
    return canonical(to_record(noun))


def in_text_order(nouns: Iterable[T]) -> list[T]:
    """Return nouns in the order of their canonical texts, of which most often the first words are enough.

    A text begins with what is plain among the fields, in the order of their names. Where one such beginning goes on
    in another, the whole texts decide.

    >>> @stored("sorted-example", kw_only=False)
    ... class Sorted:
    ...     column: str
    >>> in_text_order([Sorted("b"), Sorted("a")])
    [Sorted(column='a'), Sorted(column='b')]
    """
    begun = sorted([(_beginning(noun), noun) for noun in nouns], key=itemgetter(0))
    for (before, _), (after, _) in pairwise(begun):
        if after.startswith(before):
            return sorted([noun for _, noun in begun], key=to_text)
    return [noun for _, noun in begun]


def _beginning(noun: object) -> str:
    """Return the canonical text of a noun up to the first part that is no plain text, number or truth."""
    tag, names = _TAGS[type(noun)]
    text, between = "", "{"
    for name in sorted([*names, "kind"]):
        value = tag if name == "kind" else getattr(noun, name)
        text, between = f'{text}{between}"{name}":', ","
        if type(value) not in _PLAIN:
            return text
        text += _ENCODER.encode(value)
    return text + "}"


def from_text(expected: type[T], text: str) -> T:
    """Return the `expected` noun that was written as `text`; refuse what cannot have been written."""
    try:
        record = parse(text)
    except (ValueError, RecursionError):
        raise _refused("text", text, "is not a record") from None
    return from_record(expected, record)


def to_record(noun: object) -> Any:
    """Return a noun, or a tuple of nouns, as a JSON value."""
    return _WRITERS.get(type(noun), _write_noun)(noun, _DEEPEST)


@overload
def from_record(expected: type[T], record: object) -> T: ...
@overload
def from_record(expected: object, record: object) -> Any: ...
def from_record(expected: Any, record: object) -> Any:
    """Return the noun that was written as a JSON value, or refuse one that is not a record of `expected`.

    `expected` is a type: a stored noun, a union of them, or any type that a field of one may have.
    """
    return _reader(expected)("record", record, _DEEPEST)


def canonical(record: object) -> str:
    """Return the one JSON text of `record`, in ASCII and with no float in it: the same bytes on every machine.

    >>> canonical({"b": [1, "1/10"], "a": None})
    '{"a":null,"b":[1,"1/10"]}'
    """
    return _ENCODER.encode(record)


def parse(text: str) -> Any:
    """Return the record that a canonical text is; a float in it is refused."""
    return _DECODER.decode(text)


def digest(record: object) -> str:
    """Return the SHA-256 of the canonical text of `record`, in hexadecimal."""
    return sha256(canonical(record).encode("ascii")).hexdigest()


def _refuse_float(literal: str) -> NoReturn:
    raise ValueError(f"a ledger holds no floating-point number, but {literal} was found")


_DECODER: Final = json.JSONDecoder(parse_float=_refuse_float, parse_constant=_refuse_float)
_PLAIN: Final = frozenset((NoneType, bool, int, str))
"""Types that JSON has already. Booking a charge writes some fifty such values, so they are inlined, without a call."""


def _write_noun(value: Any, depth: int) -> Any:
    tagged = _TAGS.get(type(value))
    if tagged is None:
        if isinstance(value, Enum):
            return value.value
        raise _untagged(type(value))
    if not depth:
        reason, remedy = f"is nested more than {_DEEPEST} deep", "say it with fewer parts in parts"
        raise ParameterError("record", "...", reason=reason, remedy=remedy)
    tag, names = tagged
    record = {"kind": tag}
    for name in names:
        part = getattr(value, name)
        record[name] = part if type(part) in _PLAIN else _WRITERS.get(type(part), _write_noun)(part, depth - 1)
    return record


def _write_list(parts: Any, depth: int) -> list[Any]:
    if _PLAIN.issuperset(map(type, parts)):
        return list(parts)
    written = []
    for part in parts:  # a comprehension would be one more call on the stack at each depth
        text = part if type(part) in _PLAIN else _WRITERS.get(type(part), _write_noun)(part, depth)
        written.append(text)
    return written


def _write_mapping(held: Any, depth: int) -> dict[str, Any]:
    written = {}
    for key, part in held.items():
        written[key] = part if type(part) in _PLAIN else _WRITERS.get(type(part), _write_noun)(part, depth)
    return written


def _write_fraction(number: Fraction, _: int) -> str:
    try:
        return f"{number.numerator}/{number.denominator}"
    except ValueError:  # Python writes no number of more than 4300 digits; ledgers admit nothing that leads to one
        remedy = "charge prices with few digits"
        raise ParameterError("amount", "<thousands of digits>", reason="cannot be written", remedy=remedy) from None


_WRITERS: dict[type[Any], Callable[[Any, int], Any]] = {
    **dict.fromkeys(_PLAIN, lambda value, _: value),
    **dict.fromkeys((tuple, list), _write_list),
    **dict.fromkeys((dict, MappingProxyType), _write_mapping),
    frozenset: lambda parts, _: sorted(parts),
    Fraction: _write_fraction,
    float: lambda number, _: number.hex(),
}
"""How a value is written, by its very type; what is not here is a noun, or a member of an enumeration."""


@cache  # finding out takes longer than reading, and a stream reads every question back
def _reader(expected: Any) -> Reader:
    if expected in _SCALARS:
        return _SCALARS[expected]
    origin, parts = get_origin(expected), get_args(expected)
    if origin in {Union, types.UnionType}:
        return _union_reader(parts)
    if origin is tuple and parts[-1] is Ellipsis:
        return partial(_read_tuple, _reader(parts[0]))
    if origin is tuple:
        return partial(_read_fixed, tuple(map(_reader, parts)))
    if origin is frozenset:
        return partial(_read_set, _reader(parts[0]))
    if origin is not None and issubclass(origin, Mapping):
        return partial(_read_mapping, _reader(parts[1]))
    if isinstance(expected, type) and issubclass(expected, Enum):
        return partial(_read_enum, {member.value: member for member in expected})
    abstract = isinstance(expected, ABCMeta) and expected not in _TAGS
    return partial(_read_subclass, expected) if abstract else partial(_read_noun, {_tag_of(expected): expected})


def _tag_of(noun: Any) -> str:
    if noun not in _TAGS:
        raise _untagged(noun)
    return _TAGS[noun][0]


def _untagged(noun: Any) -> TypeError:
    return TypeError(f"{noun} cannot be stored; give it a tag with @stored")


def _union_reader(parts: tuple[Any, ...]) -> Reader:
    """Return a reader of one of several types, which must be distinct in JSON: nouns are, by their tags."""
    nouns = {_TAGS[part][0]: part for part in parts if part in _TAGS}
    lists = [part for part in parts if get_origin(part) is tuple]
    by_json: dict[type[Any], Reader] = {dict: partial(_read_noun, nouns)} if nouns else {}
    if len(lists) > 1:  # tuples of texts, or of numbers: of either
        parts_of_lists: Any = Union[tuple(get_args(part)[0] for part in lists)]  # noqa: UP007 - found at run time
        lists = [tuple[parts_of_lists, ...]]
    for part in (*lists, *(part for part in parts if part not in _TAGS and get_origin(part) is not tuple)):
        form = list if get_origin(part) in {tuple, frozenset} else part if part in _AS_THEY_ARE else str
        if form in by_json:
            raise TypeError(f"{part} looks like another part of the union {parts}")
        by_json[form] = _reader(part)
    return partial(_read_one_of, by_json)


def _read_one_of(by_json: Mapping[type[Any], Reader], name: str, value: Any, depth: int) -> Any:
    read = by_json.get(type(value))
    if read is None:
        raise _refused(name, value, "is not what it must be")
    return read(name, value, depth)


def _read_noun(nouns: Mapping[str, type[Any]], name: str, record: Any, depth: int) -> Any:
    if type(record) is not dict:
        raise _refused(name, record, "is not a record")
    if not depth:
        raise _refused(name, "...", f"is nested more than {_DEEPEST} deep")
    tag = record.get("kind")
    noun: Any = nouns.get(tag) if isinstance(tag, str) else None
    if noun is None:
        raise _refused("kind", tag, f"is not one of {', '.join(nouns)}")
    readers = _field_readers(noun)
    for unknown in record:
        if unknown not in readers and unknown != "kind":
            raise _refused(unknown, record[unknown], f"is not a field of {tag}")
    values = {}
    for field, read in readers.items():
        if field not in record:
            raise _refused(field, None, f"is missing from {tag}")
        values[field] = read(field, record[field], depth - 1)
    return noun(**values)


def _read_subclass(expected: type[Any], name: str, record: Any, depth: int) -> Any:
    """Read whichever noun of an abstract kind was written: those that are stored by now, wherever they are defined."""
    nouns = {tag: noun for tag, noun in STORED.items() if issubclass(noun, expected)}
    return _read_noun(nouns, name, record, depth)


@cache
def _field_readers(noun: Any) -> dict[str, Reader]:
    hints = get_type_hints(noun)
    return {name: _reader(hints[name]) for name in _TAGS[noun][1]}


def _read_list(name: str, value: Any) -> list[Any]:
    if type(value) is not list:
        raise _refused(name, value, "is not a list")
    return value


def _read_tuple(read: Reader, name: str, value: Any, depth: int) -> tuple[Any, ...]:
    parts = []
    for part in _read_list(name, value):
        parts.append(read(name, part, depth))  # noqa: PERF401 - as in `_write_list`
    return tuple(parts)


def _read_fixed(readers: tuple[Reader, ...], name: str, value: Any, depth: int) -> tuple[Any, ...]:
    if len(_read_list(name, value)) != len(readers):
        raise _refused(name, value, f"has not {len(readers)} parts")
    return tuple(read(name, part, depth) for read, part in zip(readers, value, strict=True))


def _read_set(read: Reader, name: str, value: Any, depth: int) -> frozenset[Any]:
    parts = _read_tuple(read, name, value, depth)
    if sorted(set(parts)) != list(parts):
        raise _refused(name, value, "is not in order")
    return frozenset(parts)


def _read_mapping(read: Reader, name: str, value: Any, depth: int) -> Mapping[str, Any]:
    if type(value) is not dict:
        raise _refused(name, value, "is not an object")
    return MappingProxyType({key: read(name, part, depth) for key, part in value.items()})


def _read_enum(members: Mapping[Any, Enum], name: str, value: Any, _: int) -> Enum:
    if type(value) is not str or value not in members:
        raise _refused(name, value, f"is not one of {', '.join(members)}")
    return members[value]


def _read_as_it_is(kind: type[Any], name: str, value: Any, _: int) -> Any:
    if type(value) is not kind:
        raise _refused(name, value, f"is not {_AS_THEY_ARE[kind]}")
    return value


def _read_fraction(name: str, value: Any, _: int) -> Fraction:
    if type(value) is str and _RATIO.fullmatch(value):
        numerator, _slash, denominator = value.partition("/")
        number = Fraction(int(numerator), int(denominator))
        if f"{number.numerator}/{number.denominator}" == value:
            return number
    raise _refused(name, value, "is not a fraction in lowest terms")


def _read_float(name: str, value: Any, _: int) -> float:
    try:
        number = float.fromhex(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or number.hex() != value:
        raise _refused(name, value, "is not a finite number in hexadecimal")
    return number


def _refused(name: str, value: object, reason: str) -> ParameterError:
    return ParameterError(name, value, reason=reason, remedy=_DAMAGED)


_AS_THEY_ARE: Final = {str: "a text", int: "a whole number", bool: "true or false", NoneType: "null"}
_SCALARS: Final[dict[Any, Reader]] = {
    **{kind: partial(_read_as_it_is, kind) for kind in _AS_THEY_ARE},
    Fraction: _read_fraction,
    float: _read_float,
}
