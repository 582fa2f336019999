"""The words that docs/glossary.md explains, and where they are used on a page. The words are those of its tables."""

import re
from collections.abc import Iterable, Iterator

HOMONYMS = {
    "left", "total", "lost", "right", "role", "book", "weigh", "cell", "tag", "of the person", "noise on numbers",
    "selection", "person", "door", "group", "event", "settle", "grid", "target", "attack", "tick", "cost",
}  # fmt: skip
"""Words that mostly mean on a page what they mean everywhere: a link would say more than is meant."""
BRACKETS = re.compile(r"\s*\(.*?\)")


def words_of(cell: str) -> list[str]:
    """Return the words that a row of the glossary explains.

    >>> words_of("auditor (a role)"), words_of("white box, black box"), words_of("left")
    (['auditor'], ['white box', 'black box'], [])
    """
    return [word for word in (one.strip() for one in BRACKETS.sub("", cell).split(",")) if word not in HOMONYMS]


def place_of(word: str) -> str:
    """Return where on the page of the glossary a word stands."""
    return "term-" + re.sub(r"[^a-z]+", "-", word.lower())


def forms_of(word: str) -> list[str]:
    """Return a word and its plural.

    >>> forms_of("entry"), forms_of("yes")
    (['entry', 'entries'], ['yes', 'yeses'])
    """
    if word.endswith("y") and word[-2] not in "aeou":
        return [word, f"{word[:-1]}ies"]
    return [word, f"{word}es" if word.endswith("s") else f"{word}s"]


class Words:
    """The words of the glossary, each found at its first use."""

    def __init__(self, words: Iterable[str]) -> None:
        self.forms = {form: word for word in words for form in forms_of(word)}
        longest_first = sorted(self.forms, key=len, reverse=True)
        self.pattern = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, longest_first))})(?![\w-])", re.IGNORECASE)
        self.used: set[str] = set()

    def first_uses(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Go through the words that were not used before: where they begin and end, and which they are.

        >>> list(Words(["ledger", "entry"]).first_uses("Entries of a ledger: an entry"))
        [(0, 7, 'entry'), (13, 19, 'ledger')]
        """
        for found in self.pattern.finditer(text):
            word = self.forms[found[0].lower()]
            if word not in self.used:
                self.used.add(word)
                yield found.start(), found.end(), word
