"""Patterns of LIKE: which texts fit one, the same on every database, whatever its collation.

``%`` stands for any characters, ``_`` for exactly one, and a backslash before one of the three for the sign itself. A
pattern is a beginning, pieces that follow one another, and an end. Looking for each piece from where the last was found
takes time in proportion to the text: no row can keep a database busy, as it could where a database tries all ways.
"""

from collections.abc import Sequence
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase
from typing import Final, NamedTuple, TypeAlias

from lapwing.vocabulary.errors import BadQuestionError

MOST_PIECES: Final = 3
"""Pieces between the first and the last % of a pattern."""
ESCAPE: Final = "\\"
ANYTHING: Final = "%"

Run: TypeAlias = tuple[int, str]
"""Characters that stand at a place, counted from 0."""

_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)


class End(NamedTuple):
    """One end of a text: `length` characters, of which `runs` are given and the others may be any."""

    length: int
    runs: tuple[Run, ...]

    @property
    def text(self) -> str | None:
        """All characters, where each of them is given."""
        given = "".join(run for _, run in self.runs)
        return given if len(given) == self.length else None

    def fits(self, text: str) -> bool:
        """Say whether the characters stand in `text` at their places."""
        return all(text[place : place + len(run)] == run for place, run in self.runs)


class Pieces(NamedTuple):
    """A pattern taken apart: `end` is missing where there is no %, and the text is `start` alone."""

    start: End
    middle: tuple[str, ...] = ()
    end: End | None = None

    @property
    def exact(self) -> str | None:
        """The one text that fits, if there is only one."""
        return self.start.text if self.end is None else None


def plain(text: str) -> str:
    r"""Return the pattern that only `text` fits.

    >>> plain("100%")
    '100\\%'
    """
    return "".join(ESCAPE + sign if sign in f"%_{ESCAPE}" else sign for sign in text)


def canonical(pattern: str, escape: str | None) -> str:
    r"""Return `pattern` with a backslash as its escape and no % beside another; `escape` is what it was written with.

    >>> canonical("a!%%%", "!")
    'a\\%%'
    """
    written, signs = list[str](), iter(pattern)
    for sign in signs:
        if sign == escape:
            after = next(signs, None)
            if after is None or after not in {"%", "_", escape}:
                raise BadQuestionError(f"{escape} stands before %, _ or itself in a pattern of LIKE; write it twice")
            written.append(plain(after))
        elif sign == ESCAPE:
            if escape is None:
                raise BadQuestionError(
                    "databases differ in what a backslash means in LIKE; say it: like '50\\%' escape '\\', or write "
                    "contains(column, 'text')"
                )
            written.append(plain(sign))
        elif sign != ANYTHING or written[-1:] != [ANYTHING]:
            written.append(sign)
    return "".join(written)


@lru_cache(maxsize=1 << 10)
def pieces(pattern: str) -> Pieces:
    """Take a canonical pattern apart, or refuse one that a database could not look for in one go.

    >>> pieces("New %")
    Pieces(start=End(length=4, runs=((0, 'New '),)), middle=(), end=End(length=0, runs=()))
    """
    first, *others = _between_percents(pattern)
    if not others:
        return Pieces(_end(first))
    *middle, last = others
    if len(middle) > MOST_PIECES or any(None in piece for piece in middle):
        raise BadQuestionError(
            f"the pattern {pattern!r} has more than {MOST_PIECES} pieces between its %, or a _ in one of them; write "
            "contains(column, 'text') for each piece, joined by and"
        )
    return Pieces(_end(first), tuple("".join(sign or "" for sign in piece) for piece in middle), _end(last))


def _between_percents(pattern: str) -> list[list[str | None]]:
    """Return the signs of each piece, None for a _."""
    found: list[list[str | None]] = [[]]
    signs = iter(pattern)
    for sign in signs:
        if sign == ANYTHING:
            found.append([])
        else:
            found[-1].append(next(signs) if sign == ESCAPE else None if sign == "_" else sign)
    return found


def _end(signs: Sequence[str | None]) -> End:
    runs: list[Run] = []
    for place, sign in enumerate(signs):
        if sign is None:
            continue
        if runs and runs[-1][0] + len(runs[-1][1]) == place:
            runs[-1] = (runs[-1][0], runs[-1][1] + sign)
        else:
            runs.append((place, sign))
    return End(len(signs), tuple(runs))


def read_as(text: str, *, any_case: bool, trimmed: bool) -> str:
    """Return a text with the letters A to Z made small if `any_case`, and without blanks around it if `trimmed`.

    >>> read_as(" ÉCOLE ", any_case=True, trimmed=True)
    'École'
    """
    text = text.strip(" ") if trimmed else text
    return text.translate(_LOWER) if any_case else text


def fits(pattern: str, text: str) -> bool:
    """Say whether a text fits a canonical pattern.

    >>> fits("%an%an%", "banana"), fits("%an%an%", "bana"), fits("_a%", "banana")
    (True, False, True)
    """
    start, middle, end = pieces(pattern)
    if end is None:
        return len(text) == start.length and start.fits(text)
    if len(text) < start.length + end.length or not start.fits(text) or not end.fits(text[len(text) - end.length :]):
        return False
    text = text[start.length : len(text) - end.length]
    for piece in middle:
        place = text.find(piece)
        if place < 0:
            return False
        text = text[place + len(piece) :]
    return True
