"""Nouns that cannot be changed: `@frozen()` is `@dataclass(frozen=True, slots=True, kw_only=True)`, made sooner.

The standard library compiles six methods for each such class, half a millisecond, and a command loads three hundred of
them. Here only `__init__` is compiled, and the others close over the names of the fields. All else is the standard
library's: what a field is, slots, `fields`, `replace` and `match`. What stands below such a class is `@frozen()`, too.
"""

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import Any, Final, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def frozen(
    *,
    kw_only: bool = True,
    init: bool = True,
    repr: bool = True,  # noqa: A002 - the standard library's word
    eq: bool = True,
) -> Callable[[type[T]], type[T]]:
    """Make a class a dataclass with slots whose fields never change; what the class defines itself stays.

    >>> @frozen(kw_only=False)
    ... class Interval:
    ...     low: int
    ...     high: int = 10
    >>> Interval(3)
    Interval(low=3, high=10)
    >>> Interval(3) == Interval(3, 10), len({Interval(3), Interval(3, 10)})
    (True, 1)
    >>> Interval(3).low = 4
    Traceback (most recent call last):
    ...
    dataclasses.FrozenInstanceError: cannot assign to field 'low'
    """

    def make(given: type[T]) -> type[T]:
        own = frozenset(name for name, value in vars(given).items() if value is not None)
        noun: Any = dataclass(slots=True, kw_only=kw_only, init=False, repr=False, eq=False)(given)
        held = fields(noun)
        methods = [*_frozen(noun, held)]
        methods += [_initializer(noun, held)] if init else []
        methods += [_shown(tuple(one.name for one in held if one.repr))] if repr else []
        methods += _compared(tuple(one.name for one in held if one.compare)) if eq else []
        for method in methods:
            if method.__name__ not in own:
                method.__qualname__ = f"{noun.__qualname__}.{method.__name__}"
                setattr(noun, method.__name__, method)
        return noun  # type: ignore[no-any-return] # the class that was given, with slots

    return make


def _frozen(noun: type[Any], held: tuple[Field[Any], ...]) -> list[Callable[..., Any]]:
    names = tuple(one.name for one in held)

    def __setattr__(self: object, name: str, value: object) -> None:  # noqa: N807
        if type(self) is noun or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(noun, self).__setattr__(name, value)

    def __delattr__(self: object, name: str) -> None:  # noqa: N807
        if type(self) is noun or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(noun, self).__delattr__(name)

    def __getstate__(self: object) -> list[object]:  # noqa: N807 - copies and pickles cannot assign either
        return [getattr(self, name) for name in names]

    def __setstate__(self: object, state: list[object]) -> None:  # noqa: N807
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return [__setattr__, __delattr__, __getstate__, __setstate__]


class _Made:
    def __repr__(self) -> str:
        return "<factory>"


_MADE: Final = _Made()  # stands for a default that is made anew each time


def _initializer(noun: type[Any], held: tuple[Field[Any], ...]) -> Callable[..., Any]:
    """Return `__init__`: what the standard library writes for a frozen class."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_MADE": _MADE}
    places: dict[bool, list[str]] = {False: [], True: []}  # by whether it is given by its name only
    lines = []
    for one in held:
        default, made, value = f"_default_{one.name}", f"_make_{one.name}", one.name
        if one.default_factory is not MISSING:
            known[made] = one.default_factory
            known[default], value = (
                _MADE,
                f"{made}() if {one.name} is _MADE else {one.name}" if one.init else f"{made}()",
            )
        elif one.default is not MISSING:
            known[default], value = one.default, one.name if one.init else default
        elif not one.init:
            continue
        if one.init:
            places[one.kw_only is True].append(f"{one.name}={default}" if default in known else one.name)
        lines.append(f" _set(_self, {one.name!r}, {value})")
    parameters = ["_self", *places[False], *(["*", *places[True]] if places[True] else [])]
    lines += [" _self.__post_init__()"] if hasattr(noun, "__post_init__") else []
    text = f"def __init__({', '.join(parameters)}):\n" + "\n".join(lines or [" pass"])
    exec(text, known)  # noqa: S102 - made of the names of fields, which are names of Python
    method: Callable[..., Any] = known["__init__"]
    method.__annotations__ = {one.name: one.type for one in held if one.init} | {"return": None}
    return method


def _shown(names: tuple[str, ...]) -> Callable[..., Any]:
    def __repr__(self: object) -> str:  # noqa: N807
        return f"{type(self).__qualname__}({', '.join([f'{name}={getattr(self, name)!r}' for name in names])})"

    return __repr__


def _compared(names: tuple[str, ...]) -> list[Callable[..., Any]]:
    only = attrgetter(*names) if names else None
    values: Any = only if len(names) > 1 else lambda self: (only(self),) if only else ()  # of one it gives no tuple

    def __eq__(self: object, other: object) -> Any:  # noqa: N807
        return values(self) == values(other) if type(other) is type(self) else NotImplemented

    def __hash__(self: object) -> int:  # noqa: N807
        return hash(values(self))

    return [__eq__, __hash__]
