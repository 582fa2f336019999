"""How large a question may be: the limits of the language, each counted before the work that it bounds is done.

Reading, planning and previewing are free, so whoever asks could otherwise keep everybody waiting with a few hundred
characters. The numbers are far above what people write and far below what takes a fifth of a second.
"""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from lapwing.queries.expressions import And, Arithmetic, Condition, Literal, Name, OneOf, Or, ScopedCondition
from lapwing.vocabulary.errors import BadQuestionError

LONGEST_TEXT = 20_000
"""Characters of a text, and of all constants and names of a question that was built in Python."""
MOST_TOKENS = 3_000
"""Words, numbers and signs of a text."""
MOST_BRACKETS = 20
"""Brackets within brackets in a text: the parser needs two dozen calls for each."""
MOST_DEPTH = 100
"""Parts within parts of a syntax tree or of a condition, with what WITH names put in its place."""
MOST_NODES = 5_000
"""Parts of a question, with what WITH names put in its place."""
MOST_CONDITIONS = 200
"""Conditions that are joined by and, or, not in a question."""
MOST_VALUES = 1_000
"""Values of all IN lists of a question."""
MOST_OPERATIONS = 50
"""Sums, differences and products in a question."""
MOST_DIGITS = 100
"""Digits of a number."""
MOST_NAMED = 20
"""What one WITH names."""
MOST_STATISTICS = 20
"""Statistics that are asked together."""
MOST_KEYS = 10
"""What is grouped by at once."""
MOST_FRACTIONS = 100
"""Quantiles of one value, and steps of one funnel."""
MOST_NUMBERS = 100_000
"""Numbers that a question releases in all: terms times cells, of all its statistics."""
MOST_CANONICAL = 4_000_000
"""Characters of the canonical text of a question, which the ledger keeps with the charge."""


def check_most(what: str, number: int, most: int, instead: str = "ask several questions") -> None:
    """Refuse more than there may be, with both numbers."""
    if number > most:
        raise BadQuestionError(f"the question has {number} {what}, more than {most}; {instead}")


def check_size(*asked: object) -> None:
    """Refuse what is too large to be given a meaning: conditions, values, groupings, however they were built.

    Parts that are shared are counted wherever they stand, as they will be read there.
    """
    conditions = values = operations = characters = 0
    for nodes, (node, depth) in enumerate(_walk(asked), start=1):
        check_most("parts", nodes, MOST_NODES)
        if depth > MOST_DEPTH:
            raise BadQuestionError(f"the question is nested {depth} levels deep, more than {MOST_DEPTH}; flatten it")
        match node:
            case OneOf(values=listed):
                values += len(listed)
                conditions += 1
            case Literal(value=constant):
                characters += len(constant) if isinstance(constant, str) else 0
                _check_digits(constant)
            case Arithmetic():
                operations += 1
            case Name(name=name):
                characters += len(name)
            case Condition() if not isinstance(node, And | Or | ScopedCondition):
                conditions += 1
            case _:
                pass
        check_most("values in lists", values, MOST_VALUES)
        check_most("sums and products", operations, MOST_OPERATIONS)
        check_most("conditions joined by and, or, not", conditions, MOST_CONDITIONS)
        check_most("characters in its names and constants", characters, LONGEST_TEXT)


def _walk(asked: tuple[object, ...]) -> Iterator[tuple[object, int]]:
    """Go through all parts with their depths, without recursion; a chain of and, or of or, is one level."""
    stack: list[tuple[Any, int]] = [(part, 0) for part in asked]
    while stack:
        node, depth = stack.pop()
        if isinstance(node, tuple):
            stack += [(part, depth) for part in node]
            continue
        kind: Any = type(node)
        names = _field_names(kind)
        if names is not None:
            yield node, depth
            for name in names:
                part = getattr(node, name)
                chained = isinstance(node, And | Or)
                stack += [
                    (each, depth if chained and type(each) is type(node) else depth + 1)
                    for each in (part if isinstance(part, tuple) else (part,))
                ]


@cache
def _field_names(kind: Any) -> tuple[str, ...] | None:
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None


def _check_digits(constant: object) -> None:
    if isinstance(constant, Fraction):
        _check_digits(constant.numerator)
        _check_digits(constant.denominator)
    elif isinstance(constant, int) and abs(constant) >= 10**MOST_DIGITS:
        raise BadQuestionError(f"a number has more than {MOST_DIGITS} digits; write a shorter one")
