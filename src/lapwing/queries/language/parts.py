"""The parts of what is asked: how many there may be, and what has the same `shape` is equal. Nothing here recurs."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache
from itertools import islice, repeat
from typing import Any

from lapwing.queries.language.expressions import Among, And, Arithmetic, Condition, Days, Literal, Name, OneOf, Or
from lapwing.queries.language.joined import ScopedCondition
from lapwing.queries.limits import (
    LONGEST_TEXT,
    MOST_AMONG,
    MOST_CONDITIONS,
    MOST_DEPTH,
    MOST_DIGITS,
    MOST_NODES,
    MOST_OPERATIONS,
    MOST_STATISTICS,
    MOST_VALUES,
)
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import check_most


def check_size(asked: tuple[object, ...]) -> None:
    """Refuse what is too large to be given a meaning: conditions, values, groupings, however they were built.

    Parts that are shared are counted wherever they stand, as they will be read there. The walk ends at the part that is
    one too many; what is counted on the way is compared at its end.
    """
    nodes = conditions = values = operations = characters = among = 0
    for nodes, (node, depth) in enumerate(islice(walk(asked), MOST_NODES + 1), start=1):  # noqa: B007 - counted
        if depth > MOST_DEPTH:
            raise BadQuestionError(f"the question is nested {depth} levels deep, more than {MOST_DEPTH}; flatten it")
        match node:
            case OneOf(values=listed):
                values += len(listed)
                conditions += 1
            case Among(values=listed):
                among = max(among, len(listed))
                conditions += 1
            case Literal(value=constant):
                characters += len(constant) if isinstance(constant, str) else 0
                _check_digits(constant)
            case Arithmetic(right=right) if not isinstance(right, Days):  # days later is a bound of an interval
                operations += 1
            case Name(name=name):
                characters += len(name)
            case Condition() if not isinstance(node, And | Or | ScopedCondition):
                conditions += 1
            case _:
                pass
    check_most("statistics", len(asked), MOST_STATISTICS)
    check_most("parts", nodes, MOST_NODES)
    check_most("values in a concept set", among, MOST_AMONG)
    check_most("values in lists", values, MOST_VALUES)
    check_most("sums and products", operations, MOST_OPERATIONS)
    check_most("conditions joined by and, or, not", conditions, MOST_CONDITIONS)
    check_most("characters in its names and constants", characters, LONGEST_TEXT)


def _check_digits(constant: object) -> None:
    if isinstance(constant, Fraction):
        _check_digits(constant.numerator)
        _check_digits(constant.denominator)
    elif isinstance(constant, int) and abs(constant) >= 10**MOST_DIGITS:
        raise BadQuestionError(f"a number has more than {MOST_DIGITS} digits; write a shorter one")


def walk(asked: tuple[object, ...]) -> Iterator[tuple[object, int]]:
    """Go through all parts with their depths, without recursion; a chain of and, or of or, is one level."""
    stack: list[tuple[Any, int]] = list(zip(asked, repeat(0)))
    while stack:
        node, depth = stack.pop()
        if isinstance(node, tuple):
            stack += zip(node, repeat(depth))
            continue
        kind: Any = type(node)
        names = _field_names(kind)
        if names is not None:
            yield node, depth
            chained = isinstance(node, And | Or)
            for name in names:
                part = getattr(node, name)
                if isinstance(part, tuple) and part and isinstance(part[0], int | str):
                    continue  # a long list of values, which has no parts
                for each in part if isinstance(part, tuple) else (part,):
                    stack.append((each, depth if chained and type(each) is kind else depth + 1))


def shape(node: Any) -> tuple[object, ...]:
    """Return what makes two questions equal, where parts would make a condition of `==`: the same parts in place.

    Among its items are the kinds of all parts.
    """
    found, stack = list[object](), [node]
    while stack:
        part = stack.pop()
        kind: Any = type(part)
        if isinstance(part, tuple | list):  # how many follow, as a kind says it of its fields: so it reads in one way
            found.append(len(part))
            stack += part
        elif (names := _field_names(kind)) is None:
            found += (kind, part)
        else:
            found.append(kind)
            stack += map(getattr, repeat(part), names)
    return tuple(found)


@cache
def _field_names(kind: Any) -> tuple[str, ...] | None:
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None
