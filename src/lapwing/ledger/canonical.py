"""What a ledger can hold: names of things, and texts that every database keeps as they are."""

import unicodedata
from collections.abc import Mapping
from typing import Any, TypeAlias

from lapwing.vocabulary.errors import ParameterError

Record: TypeAlias = Mapping[str, Any]

_LONGEST_NAME = 200
_LONGEST_TEXT = 1 << 24


def name(what: str, given: object) -> str:
    """Return `given` if it can name a thing in a ledger: one to 200 printable characters, in Unicode's normal form C.

    Examples
    --------
    >>> name("population", "clinic")
    'clinic'
    >>> name("population", "")
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: population = '' is no name; write 1 to 200 printable characters, with no
    blanks around them
    """
    if not isinstance(given, str) or not _is_name(given):
        raise ParameterError(
            what,
            given,
            reason="is no name",
            remedy=f"write 1 to {_LONGEST_NAME} printable characters, with no blanks around them",
        )
    return given


def _is_name(given: str) -> bool:
    well_formed = given.isprintable() and unicodedata.is_normalized("NFC", given)
    return well_formed and 0 < len(given) <= _LONGEST_NAME and given == given.strip()


def text(what: str, given: object) -> str:
    """Return `given` if every database can store it: text without NUL and without half a surrogate pair."""
    if not isinstance(given, str) or len(given) > _LONGEST_TEXT:
        raise ParameterError(what, given, reason="is no text", remedy=f"give at most {_LONGEST_TEXT} characters")
    try:
        given.encode("utf-8")
    except UnicodeEncodeError:
        raise ParameterError(what, given, reason="is broken Unicode", remedy="give well-formed text") from None
    if "\0" in given:
        raise ParameterError(what, given, reason="holds a NUL character", remedy="leave it out")
    return given
