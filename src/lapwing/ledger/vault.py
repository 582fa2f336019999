"""What is stored beside the chain, because no hash may depend on it: sealed secrets, and fingerprints of data.

The ledger cannot open what is sealed. Deleting it here makes it hard to find; destroying its key makes it unreadable.
"""

from typing import Final

from lapwing.ledger.store import Rows
from lapwing.vocabulary.errors import ParameterError

STATE: Final = 0
"""The number of the sealed state of a stream; the seeds of its questions have the numbers of the questions, from 1."""

_WIDEST: Final = 1024


def require_sealed(given: object) -> bytes:
    """Return `given` if it can be stored as a sealed secret; its content never appears in a message."""
    if not isinstance(given, bytes) or not 0 < len(given) <= _WIDEST:
        found = f"<{len(given)} bytes>" if isinstance(given, bytes) else f"<{type(given).__name__}>"
        raise ParameterError("sealed", found, reason="is no sealed secret", remedy=f"give 1 to {_WIDEST} bytes")
    return given


def keep(rows: Rows, stream: str, number: int, sealed: bytes) -> None:
    """Store a secret."""
    rows.do("insert into secrets (stream, number, sealed) values (?, ?, ?)", stream, number, sealed)


def kept(rows: Rows, stream: str, number: int) -> bytes | None:
    """Return a secret that is still stored."""
    row = rows.one("select sealed from secrets where stream = ? and number = ?", stream, number)
    return None if row is None else bytes(row[0])


def replace(rows: Rows, stream: str, sealed: bytes) -> None:
    """Store the new state of a stream in place of the old one, which must have been as long."""
    old = kept(rows, stream, STATE)
    if old is not None and len(old) != len(sealed):
        raise ParameterError(
            "sealed",
            f"<{len(sealed)} bytes>",
            reason=f"is not as long as the state it replaces, {len(old)} bytes",
            remedy="seal at a fixed width: a length that varies tells how large the noise is",
        )
    rows.do("update secrets set sealed = ? where stream = ? and number = ?", sealed, stream, STATE)


def drop(rows: Rows, stream: str, number: int) -> None:
    """Destroy one secret."""
    rows.do("delete from secrets where stream = ? and number = ?", stream, number)


def drop_all(rows: Rows, stream: str) -> None:
    """Destroy every secret of a stream."""
    rows.do("delete from secrets where stream = ?", stream)


def keep_fingerprint(rows: Rows, population: str, table: str, version: int, fingerprint: bytes) -> None:
    """Remember what a table looks like at a version, in place of what was remembered before."""
    rows.do("delete from fingerprints where population = ? and source = ?", population, table)
    rows.do(
        "insert into fingerprints (population, source, version, fingerprint) values (?, ?, ?, ?)",
        population,
        table,
        version,
        fingerprint,
    )


def fingerprint(rows: Rows, population: str, table: str, version: int) -> bytes | None:
    """Return what was remembered of a table at a version."""
    row = rows.one(
        "select fingerprint from fingerprints where population = ? and source = ? and version = ?",
        population,
        table,
        version,
    )
    return None if row is None else bytes(row[0])
