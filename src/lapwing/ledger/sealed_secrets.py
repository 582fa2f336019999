"""The secrets of streams, sealed, beside the chain: their state, and the seed of what is in flight.

No hash depends on them, and no export has them. They were sealed before they came here, under a key that the ledger
never sees.
"""

from lapwing.ledger.transaction import Transaction
from lapwing.vocabulary.errors import ParameterError


def secret(transaction: Transaction, stream: str, number: int) -> bytes | None:
    """Return a secret of a stream that is still stored; it lies beside the chain, and no hash depends on it."""
    if stream not in transaction.secrets:  # two at most: its state, and the seed of what is in flight
        rows = transaction.all("select number, sealed from secrets where stream = ?", stream)
        transaction.secrets[stream] = {number: bytes(sealed) for number, sealed in rows}
    return transaction.secrets[stream].get(number)


def keep_secret(transaction: Transaction, stream: str, number: int, sealed: bytes) -> None:
    """Store a secret."""
    transaction.do("insert into secrets (stream, number, sealed) values (?, ?, ?)", stream, number, sealed)
    if stream in transaction.secrets:
        transaction.secrets[stream][number] = sealed


def replace_secret(transaction: Transaction, stream: str, number: int, sealed: bytes) -> None:
    """Store a secret in place of an old one, which must have been as long."""
    old = secret(transaction, stream, number)
    if old is not None and len(old) != len(sealed):
        reason = f"is not as long as the state it replaces, {len(old)} bytes"
        remedy = "seal at a fixed width: a length that varies tells how large the noise is"
        raise ParameterError("sealed", f"<{len(sealed)} bytes>", reason=reason, remedy=remedy)
    transaction.do("update secrets set sealed = ? where stream = ? and number = ?", sealed, stream, number)
    transaction.secrets[stream][number] = sealed


def drop_secrets(transaction: Transaction, stream: str, number: int | None = None) -> None:
    """Destroy one secret of a stream, or all. What makes them unreadable is to destroy their key."""
    if number is None:
        transaction.do("delete from secrets where stream = ?", stream)
        transaction.secrets.pop(stream, None)
    else:
        transaction.secrets.get(stream, {}).pop(number, None)
        transaction.do("delete from secrets where stream = ? and number = ?", stream, number)
