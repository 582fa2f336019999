"""What rounds are about, in words, from what was agreed when they were reserved."""

from contextlib import suppress
from typing import Final

from lapwing.ledger.entries import Record
from lapwing.vocabulary.codec import parse

_LONGEST: Final = 300
_NAMED: Final = ("formula", "columns", "target", "name")
"""What the terms of rounds are told by: the first of these that they have."""


def agreed_words(entry: Record) -> str:
    """Return what rounds are about; nothing where their terms name nothing.

    >>> agreed_words({"terms": '{"event":{},"terms":{"columns":["sex","age"],"table":"patients"}}'})
    'patients: sex, age'
    >>> agreed_words({"terms": "of another hand"})
    ''
    """
    with suppress(ValueError, LookupError, TypeError):
        agreed = parse(entry["terms"])["terms"]
        named = next((agreed[name] for name in _NAMED if name in agreed), "")
        parts = (agreed.get("table", ""), ", ".join(named) if isinstance(named, list) else named)
        told = ": ".join(str(part) for part in parts if part)
        return told if len(told) <= _LONGEST else f"{told[: _LONGEST - 3]}..."
    return ""


def reserved_for(entry: Record) -> str:
    """Return what rounds were reserved for, in plain English."""
    about = agreed_words(entry)
    return f"{entry['reserves']} of {about}" if about else str(entry["reserves"])
