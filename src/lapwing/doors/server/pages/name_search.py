"""Searching tens of thousands of names while somebody types."""

import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

_SAMPLE: Final = 300
_AFTER_ALL: Final = chr(sys.maxunicode)


class NameSearch:
    """Lines of text, found by all words that they hold; those that begin with the first word come first.

    >>> names = NameSearch(["acute asthma", "Asthma", "gout"])
    >>> names.find("asth"), names.find("asth acu"), names.find("")
    ([1, 0], [0], [0, 1, 2])
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = [line.casefold() for line in lines]
        self._order = sorted(range(len(self._lines)), key=self._lines.__getitem__)
        self._sorted = [self._lines[place] for place in self._order]
        self._sample = self._lines[:: max(1, len(self._lines) // _SAMPLE)]

    def find(self, text: str, most: int = 40) -> list[int]:
        """Return the numbers of the first lines that hold every word of a text; for no word, of the first lines."""
        words = text.casefold().split()
        if not words:
            return list(range(len(self._lines)))[:most]
        beginning = list(islice(self._holding(self._beginning(words[0]), words[1:]), most))
        known = set(beginning)
        others = (place for place in self._holding(range(len(self._lines)), words) if place not in known)
        return [*beginning, *islice(others, most - len(beginning))]

    def _beginning(self, word: str) -> list[int]:
        """Return the lines that begin with a word, in their order."""
        first, last = bisect_left(self._sorted, word), bisect_left(self._sorted, word + _AFTER_ALL)
        return sorted(self._order[first:last])

    def _holding(self, places: Iterable[int], words: list[str]) -> Iterable[int]:
        """Return the lines that hold all words; the rarest is looked for first, because it leaves the fewest."""
        for word in sorted(words, key=lambda one: (sum(one in line for line in self._sample), -len(one))):
            places = self._with(places, word)
        return places

    def _with(self, places: Iterable[int], word: str) -> Iterator[int]:
        lines = self._lines
        return (place for place in places if word in lines[place])
