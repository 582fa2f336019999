"""`@frozen()` makes what `@dataclass(frozen=True, slots=True)` makes: the standard library is the independent truth."""

import copy
import inspect
import math
import pickle
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from typing import Any

import pytest

from lapwing.vocabulary.frozen import frozen


def with_much() -> type[Any]:
    class Noun:
        low: int
        high: float = 0.5
        parts: list[int] = field(default_factory=list, compare=False)
        hidden: str = field(default="x", repr=False)
        doubled: int = field(init=False)
        made: tuple[int, ...] = field(init=False, default_factory=tuple)

        def __post_init__(self) -> None:
            object.__setattr__(self, "doubled", 2 * self.low)

    return Noun


def with_one_field() -> type[Any]:
    class Noun:
        low: float

    return Noun


def with_none() -> type[Any]:
    class Noun:
        """Nothing to hold."""

    return Noun


def with_its_own() -> type[Any]:
    class Noun:
        low: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self)) and bool(self.low % 2 == other.low % 2)

        def __hash__(self) -> int:
            return self.low % 2

        def __repr__(self) -> str:
            return "its own"

    return Noun


@pytest.mark.parametrize("kw_only", [True, False])
@pytest.mark.parametrize("eq", [True, False])
@pytest.mark.parametrize("noun", [with_much, with_one_field, with_none, with_its_own])
def test_it_is_what_the_standard_library_makes(noun: Callable[[], type[Any]], *, kw_only: bool, eq: bool) -> None:
    ours: Any = frozen(kw_only=kw_only, eq=eq)(noun())
    theirs: Any = dataclass(frozen=True, slots=True, kw_only=kw_only, eq=eq)(noun())
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert (ours.__match_args__, ours.__slots__) == (theirs.__match_args__, theirs.__slots__)
    tried: list[dict[str, Any]] = [{"low": 1}, {"low": 3}, {"low": 1, "high": 2.5}, {"low": 1, "hidden": "y"}]
    if noun is with_one_field and sys.version_info < (3, 13):  # which compares one by one, and not tuples
        tried.append({"low": math.nan})
    for given in tried:
        known = {name: value for name, value in given.items() if name in ours.__slots__}
        one, other = ours(**known), theirs(**known)
        assert repr(one) == repr(other)
        for name in ours.__slots__:
            assert repr(getattr(one, name)) == repr(getattr(other, name))
        assert (one == ours(**known)) is (other == theirs(**known))
        if "low" in known:
            assert (one == ours(low=1)) is (other == theirs(low=1))
        assert not eq or hash(one) == hash(other)
        assert one != other  # another class, however alike


@frozen()
class Kept:
    low: int
    parts: list[int] = field(default_factory=list)


@frozen(kw_only=False)
class Longer(Kept):
    further: int


@pytest.mark.parametrize("one", [Kept(low=1), Longer(3, low=1, parts=[2])], ids=["kept", "longer"])
def test_it_cannot_be_changed_and_has_copies(one: Any) -> None:
    for name in [*(part.name for part in fields(one)), "another"]:
        with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(one, name, 0)
        with pytest.raises(FrozenInstanceError, match=f"cannot delete field '{name}'"):
            delattr(one, name)
    assert not hasattr(one, "__dict__")
    for other in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one)), replace(one)):
        assert (other, type(other)) == (one, type(one))


def test_a_default_that_is_made_is_made_anew() -> None:
    assert Kept(low=1).parts is not Kept(low=1).parts


def test_what_is_missing_or_unknown_is_refused() -> None:
    with pytest.raises(TypeError, match="low"):
        Kept()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional"):
        Kept(1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unknown"):
        Kept(low=1, unknown=2)  # type: ignore[call-arg]
