"""Functions that custodians might bring, and some that misbehave; a process of its own imports nothing but this."""

import builtins
import os
import time
from contextlib import suppress

OFFSET = 3


def ratio(rows):
    """Return something for which there is no bound: the mean age of men over that of women."""
    men = rows[:, 1] == 1
    return 50 * rows[men, 0].mean() / rows[~men, 0].mean()


def fails(rows):
    raise ValueError(rows)


def two_numbers(rows):
    return rows.mean(axis=0)


def stuck(rows):
    while len(rows):
        pass


def uses_what_is_around(rows):
    return rows.mean() + OFFSET


def what_it_sees(rows):
    """Return a code of what a process of a chunk can see: files that are open, words around it, its own rows."""
    others = pipes = 0
    for one in range(200):
        with suppress(OSError):
            name = os.readlink(f"/proc/self/fd/{one}")  # noqa: PTH115 - it is no path
            pipes += "pipe" in name
            others += "pipe" not in name and name != os.devnull
    return 100 * others + 10 * (pipes - 1) + len(os.environ.keys() - {"LC_CTYPE"}) + len(rows) / 1000


def counts_calls(rows):
    """Return how often this has been called where it is: a global that earlier chunks would have left behind."""
    builtins.seen = getattr(builtins, "seen", 0) + len(rows)
    return builtins.seen


def leaves_somebody_behind(rows):  # noqa: ARG001 - it looks at nothing
    child = os.fork()
    if child == 0:
        time.sleep(60)
    return child


def odd(rows):
    if len(rows) == 1:
        raise SystemExit
    if len(rows) == 2:
        os.kill(os.getpid(), 9)
    if len(rows) == 3:
        while True:
            pass
    return float("inf") if len(rows) == 4 else "no number" if len(rows) == 5 else 42
