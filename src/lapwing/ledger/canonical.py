"""One text for one record: what is hashed and stored is canonical JSON, in ASCII, with no float in it.

Exact numbers are written as text ("1/10") and machine floats as hexadecimal text, by whoever makes the record. So the
same record has the same bytes on every machine, for as long as the ledger lives.
"""

import json
import unicodedata
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final, NoReturn, TypeAlias

from lapwing.vocabulary.errors import ParameterError

Record: TypeAlias = Mapping[str, Any]

_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)
_LONGEST_NAME = 200
_LONGEST_TEXT = 1 << 24


def canonical(record: object) -> str:
    """Return the canonical JSON text of `record`.

    Examples
    --------
    >>> canonical({"b": [1, "1/10"], "a": None})
    '{"a":null,"b":[1,"1/10"]}'
    """
    return _ENCODER.encode(record)


def parse(text: str) -> dict[str, Any]:
    """Return the record that a canonical text is; a float in it is refused."""
    record: dict[str, Any] = json.loads(text, parse_float=_refuse, parse_constant=_refuse)
    return record


def digest(record: object) -> str:
    """Return the SHA-256 of the canonical text of `record`, in hexadecimal."""
    return sha256(canonical(record).encode("ascii")).hexdigest()


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


def _refuse(literal: str) -> NoReturn:
    raise ValueError(f"a ledger holds no floating-point number, but {literal} was found")
