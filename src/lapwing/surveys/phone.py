"""What a device does: one report from one true answer, with whole numbers and a fair die.

The text of these functions is copied into every client file, so they import nothing and use plain Python. `below(n)`
throws a fair die with the faces 0, ..., n - 1. `law` holds whole numbers, which are public:

- `answers`, `size`, `heads`, `unit`: the report names `size` of `answers` numbers, its own among them with probability
  `heads` / `unit`;
- `prime`, `forms`, `lengths`: where the truths are too many to be named, the number is a hash of the truth's first
  digits, by linear forms that the device draws. `lengths` is empty where nothing is hashed.
"""

from collections.abc import Callable
from typing import Any


def draw_report(law: dict[str, Any], truth: int, below: Callable[[int], int]) -> list[int]:
    """Return a report: named answers, or the group, the seeds of the hash, and one named answer.

    Proof: proofs/local_reports.md
    """
    if not law["lengths"]:
        return name_answers(law, truth, below)
    group = below(len(law["lengths"]))
    length = law["lengths"][group]
    prefix = truth // law["prime"] ** (law["lengths"][-1] - length)
    seeds = [below(law["prime"] ** length) for _ in range(law["forms"])]
    return [group, *seeds, *name_answers(law, hash_prefix(law, seeds, prefix), below)]


def name_answers(law: dict[str, Any], truth: int, below: Callable[[int], int]) -> list[int]:
    """Return `size` different answers in order: the truth and others, or others only. Both take the same steps."""
    tells = below(law["unit"]) < law["heads"]
    others = [answer for answer in range(law["answers"]) if answer != truth]
    for place in range(law["size"]):
        chosen = place + below(len(others) - place)
        others[place], others[chosen] = others[chosen], others[place]
    last = [others[law["size"] - 1], truth][tells]
    return sorted([*others[: law["size"] - 1], last])


def hash_prefix(law: dict[str, Any], seeds: list[int], prefix: int) -> int:
    """Return the values of the linear forms at the digits of a number, as one number below `answers`."""
    value = 0
    for place in range(law["forms"]):
        total, seed, rest = 0, seeds[place], prefix
        while rest:
            total += seed % law["prime"] * (rest % law["prime"])
            seed, rest = seed // law["prime"], rest // law["prime"]
        value += total % law["prime"] * law["prime"] ** place
    return value


def encode_word(letters: str, length: int, word: str) -> int:
    """Return the number of a word, its first letters first. Other characters are left out, and what is too long is cut.

    Every text has a number: a device that refused some words would tell which.
    """
    known = [letters.index(letter) + 1 for letter in word.lower() if letter in letters][:length]
    code = 0
    for place in [*known, *[0] * (length - len(known))]:
        code = code * (len(letters) + 1) + place
    return code
