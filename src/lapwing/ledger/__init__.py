"""The account: a durable, append-only, hash-chained record of every charge and every answer.

Start with `ledger.py`, which opens one. `administration.py`, `questions.py` and `reservations.py`, whose first user is
`streams.py`, are what is done with it, on the entries that a `transaction.py` finds and adds; `entries.py` links them,
and `store.py` keeps them, in SQLite or PostgreSQL. `replay.py` and `export.py` are for those who do not want to take
its word.

The ledger never sees data, noise or an exact value, and it imports nothing that does. What it is told it stores, and
what it stores it can show: the one thing it keeps to itself are secrets that were sealed before they reached it.
"""

from lapwing.vocabulary.loading import load_lazily

__getattr__, __dir__, __all__ = load_lazily(__name__)
