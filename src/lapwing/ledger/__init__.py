"""The account: a durable, append-only, hash-chained record of every charge and every answer.

Start with `ledger.py`, which opens one. `administration.py`, `questions.py` and `reservations.py`, whose first user is
`streams.py`, are the operations on it. A `transaction.py` finds and appends entries, `entries.py` links them into a
hash chain, and `store.py` keeps them, in SQLite or PostgreSQL. `replay.py` and `export.py` are for independent audits.

The ledger never sees data, noise or an exact value, and it imports nothing that does. All that it stores is public,
except secrets, which the caller sealed before they reached it.
"""

from lapwing.vocabulary.loading import load_lazily

__getattr__, __dir__, __all__ = load_lazily(__name__)
