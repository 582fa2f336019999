"""What the rows of an answer are called, and in which order they stand."""

from functools import lru_cache
from typing import Any, TypeAlias

from lapwing.queries.aggregate import BinnedKey, GridKey, Key, Label
from lapwing.queries.explain import words
from lapwing.queries.intervals import Domain, Interval
from lapwing.queries.plan import Distinct, Plan, Quantiles, Steps, Top
from lapwing.queries.predicate import InIntervals

Shown: TypeAlias = str | int | bool | None


def key_names(plan: Plan) -> tuple[str, ...]:
    """Return the names of what rows are told apart by."""
    match plan.meaning:
        case Steps():
            return ("step",)
        case Quantiles():
            return ("quantile",)
        case Top():
            return ("rank",)
        case Distinct():
            return ()
        case _:
            return tuple(key.column for key in plan.aggregate.keys if not isinstance(key, GridKey))


def in_order(plan: Plan, keys: list[tuple[Label, ...]]) -> list[tuple[Label, ...]]:
    """Return the keys as they are shown: sorted, with what is missing last, unless they have an order of their own."""
    return keys if _has_own_order(plan) else sorted(keys, key=lambda key: tuple(map(_place, key)))


def shown(plan: Plan, key: tuple[Label, ...]) -> tuple[Shown, ...]:
    """Return a key for people to read."""
    if _has_own_order(plan):
        return tuple(part for part in key if not isinstance(part, tuple))
    return tuple(_named(kind, part) for kind, part in zip(plan.aggregate.keys, key, strict=False))


def _has_own_order(plan: Plan) -> bool:
    return isinstance(plan.meaning, Steps | Quantiles | Top)


def _place(label: Label) -> tuple[bool, Any]:
    return label is None, 0 if label is None else label


def _named(kind: Key, label: Label) -> Shown:
    if isinstance(kind, BinnedKey) and isinstance(label, tuple):
        return _bin_named(kind.line, label)
    return None if isinstance(label, tuple) else label


@lru_cache(maxsize=1 << 12)
def _bin_named(line: Domain, label: Interval) -> str:
    """Remember the names of bins: each is in many rows."""
    return words(InIntervals(column="", line=line, spans=(label,))).removeprefix(" is ")
