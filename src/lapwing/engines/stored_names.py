"""Which stored column is meant by a declared one: its type is looked up, and it is read, under the very same name."""

from collections.abc import Sequence

from lapwing.queries.catalogue import Table
from lapwing.vocabulary.errors import RegistrationError


def stored_name(table: Table, declared: str, stored: Sequence[str]) -> str:
    """Return the one stored column that has the declared name, or failing that the one that has it but for its case.

    >>> people = Table(name="people", columns=())
    >>> stored_name(people, "straße", ["STRASSE", "straße"]), stored_name(people, "age", ["id", "AGE"])
    ('straße', 'AGE')
    """
    matches = [name for name in stored if name == declared]
    matches = matches or [name for name in stored if name.casefold() == declared.casefold()]
    if len(matches) != 1:
        there = ", ".join(stored)
        raise RegistrationError(table.name, reason=f"has not one column {declared!r}", remedy=f"it has {there}")
    return matches[0]
