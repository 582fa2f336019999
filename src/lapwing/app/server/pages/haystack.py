"""Searching tens of thousands of names while somebody types: one long text, in which lines are found by words."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate, islice


class Haystack:
    """Lines of text, found by all words that they hold; those that begin with the first word come first.

    Looking through one text is what a computer does fastest, and it stops when enough was found.

    >>> names = Haystack(["acute asthma", "Asthma", "gout"])
    >>> names.find("asth"), names.find("asth acu"), names.find("")
    ([1, 0], [0], [0, 1, 2])
    """

    def __init__(self, lines: Iterable[str]) -> None:
        told = [line.casefold().replace("\n", " ") for line in lines]
        self._starts = [0, *accumulate(len(line) + 1 for line in told)]
        self._text = "\n" + "\n".join(told) + "\n"

    def find(self, text: str, most: int = 40) -> list[int]:
        """Return the numbers of the first lines that hold every word of a text; for no word, of the first lines."""
        words = text.casefold().split()
        if not words:
            return list(range(len(self._starts) - 1))[:most]
        beginning = list(islice(self._lines(f"\n{words[0]}", words[1:]), most))
        known = set(beginning)
        longest = max(words, key=len)
        rest = (line for line in self._lines(longest, words) if line not in known)
        return [*beginning, *islice(rest, most - len(beginning))]

    def _lines(self, wanted: str, words: list[str]) -> Iterator[int]:
        """Yield the lines with a text in them, or at their beginning, that hold all words too."""
        text, starts = self._text, self._starts
        at = text.find(wanted)
        while at >= 0:
            # A line begins with the sign before it: a text that begins so is found where the line begins.
            line = bisect_right(starts, at) - 1
            end = starts[line + 1]
            if all(text.find(word, starts[line], end) >= 0 for word in words):
                yield line
            at = text.find(wanted, end)
