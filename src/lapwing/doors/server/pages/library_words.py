"""Sentences of the library in the language of a page: the most frequent refusals and prices, each by its template.

The library speaks English. A template has holes, which stay as they are told: names, numbers, what to write. What is a
sentence of the library itself, such as one of several remedies, is told in the language as well. A sentence without a
template stays English: nothing is guessed.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import pass_context
from jinja2.runtime import Context

_FOLDER: Final = Path(__file__).parent / "messages" / "library"
_HOLE: Final = re.compile(r"\\\{(\w+)\\\}")
_TOLD: Final = frozenset({"wanted", "left", "remedy", "remedies", "accuracy", "whose"})
"""The holes that hold words of the library."""
_LONGEST: Final = 600


def in_language(language: str, said: str) -> str:
    """Return a sentence of the library in a language; as it is, where there is no template for it.

    >>> in_language("de", "epsilon 2 is asked and nothing is left: ask the custodian to raise the cap")
    'Gefragt wird epsilon 2, und übrig ist nichts: bitten Sie den Verwahrer, die Grenze zu erhöhen'
    >>> in_language("en", "nothing"), in_language("de", "it rains, or not")
    ('nothing', 'it rains, or not')
    """
    return said if len(said) > _LONGEST else _told(language, said, "sentences")


def _told(language: str, said: str, kind: str) -> str:
    for pattern, template in _templates(language, kind):
        if (found := pattern.fullmatch(said)) is not None:
            holes = found.groupdict().items()
            told = {name: _told(language, one, "parts") if name in _TOLD else one for name, one in holes}
            return template.format(**told)
    return said


@cache
def _templates(language: str, kind: str) -> tuple[tuple[re.Pattern[str], str], ...]:
    path = _FOLDER / f"{language}.json"
    if not path.exists():
        return ()
    pairs: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))[kind]
    return tuple(
        (re.compile(_HOLE.sub(r"(?P<\1>.+?)", re.escape(said)), re.DOTALL), told) for said, told in pairs.items()
    )


def capital(words: str) -> str:
    """Return words with a capital letter in front; names in them stay as they are written, as `capitalize` leaves none.

    >>> capital("ask the custodian of 'Spital Nord' to raise it")
    "Ask the custodian of 'Spital Nord' to raise it"
    """
    return words[:1].upper() + words[1:]


@pass_context
def bounds(context: Context, words: Any) -> str:
    """Return contribution bounds in the language of the page, each for itself."""
    return ", ".join(_told(context["t"].language, one, "parts") for one in str(words).split(", "))


@pass_context
def sentence(context: Context, words: Any) -> str:
    """Return words of the library in the language of the page, with a capital letter in front."""
    return capital(in_language(context["t"].language, str(words)))
