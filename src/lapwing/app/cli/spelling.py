"""Remedies are written for Python, once; here they are turned into what one types at the command line."""

import re
from typing import Final

from lapwing.vocabulary.errors import LapwingError, ParameterError

_OPTIONS: Final = {
    **{name: f"--{name}" for name in ("epsilon", "delta", "rho", "within", "confidence", "where", "by", "at", "table")},
    **{name: f"--{name}" for name in ("yeses", "questions", "population", "plot", "rehearse", "prior", "name")},
    "max_rows": "--max-rows",
    "person_key": "--person-key",
    "max_groups": "--max-groups",
    "at_least": "--at-least",
    "steps": "--step",
    "k": "-k",
}
"""What the words of Python are at the command line."""

_CALLS: Final = (
    (re.compile(r"stream\(at_least=(\d+), \.\.\.\)"), r"lapwing stream open --at-least \1"),
    (re.compile(r"bins\('([^']*)', \[([^\]]*)\]\)"), r"bins(\1, \2)"),
    (re.compile(r"count\(\.\.\.\), mean\(\.\.\.\)"), "count, mean"),
)
_GIVEN: Final = re.compile(rf"\b({'|'.join(_OPTIONS)})=(?:[\"']([^\"']*)[\"']|([\w./-]+))?")


def as_typed(text: str) -> str:
    """Return a text in which calls and keyword arguments are commands and options.

    >>> as_typed("say how many count: max_rows=3"), as_typed("say table=, one of a, b")
    ('say how many count: --max-rows 3', 'say --table, one of a, b')
    >>> as_typed("group by bins('age', [0, 18, 65])")
    'group by bins(age, 0, 18, 65)'
    """
    for call, typed in _CALLS:
        text = call.sub(typed, text)
    return _GIVEN.sub(lambda found: f"{_OPTIONS[found[1]]} {found[2] or found[3] or ''}".rstrip(), text)


def message_of(failure: LapwingError) -> str:
    """Return what is wrong and what to do, as one would type it."""
    if not isinstance(failure, ParameterError):
        return as_typed(str(failure))
    names = failure.name.split(", ")
    if not all(name in _OPTIONS or name.startswith("-") for name in names):
        return as_typed(str(failure))
    given = "" if failure.given is None or len(names) > 1 else f" {str(failure.given).strip() or repr(failure.given)}"
    typed = ", ".join(_OPTIONS.get(name, name) for name in names)
    return f"{typed}{_short(given)} {failure.reason}; {as_typed(failure.remedy)}"


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004 - one line of a terminal
