"""Addresses of databases: they stand in lapwing.toml and in lists of processes, so a password must not be in them."""

import re
from typing import Final
from urllib.parse import unquote

from lapwing.vocabulary.errors import ParameterError

_IN_A_URL: Final = re.compile(r"[a-z]+://[^?]*:[^?]*@")
_AS_A_WORD: Final = re.compile(r"(password|secret)\s*=")


def require_no_password(name: str, address: str) -> None:
    """Refuse an address of PostgreSQL that holds a password, without repeating it.

    >>> require_no_password("postgres", "postgresql://reader@db.example.org:5432/ehr?passfile=/etc/lapwing/pgpass")
    >>> require_no_password("postgres", "postgresql://reader:hunter2@db.example.org/ehr")
    Traceback (most recent call last):
    ...
    lapwing.errors.ParameterError: postgres = 'an address' holds a password, ...
    """
    if _IN_A_URL.match(address) or _AS_A_WORD.search(unquote(address)):
        raise ParameterError(
            name,
            "an address",
            reason="holds a password, for all to see who read the file or the list of processes",
            remedy="take it out, and keep it in ~/.pgpass, in the file that PGPASSFILE or passfile=... names, or in a "
            "service file",
        )
