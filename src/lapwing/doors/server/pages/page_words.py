"""Messages of pages, from the files of each language: no word of a page stands in code or in a template.

`en.json` has the messages of most pages, `en.custody.json` those of one part; a message stands in one file.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

_FOLDER: Final = Path(__file__).parent / "messages"
LANGUAGES: Final = tuple(sorted({path.name.partition(".")[0] for path in _FOLDER.glob("*.json")}))
ENGLISH: Final = "en"


class Messages:
    """The messages of one language, by their names; values are put in as text, and escaped.

    >>> say = words_of("en")
    >>> say("count.times", n=1), say("count.times", n=1200)
    (Markup('1 time'), Markup('1,200 times'))
    >>> say("page.title", title="<b>")
    Markup('&lt;b&gt; · lapwing')
    """

    def __init__(self, language: str, messages: Mapping[str, Any]) -> None:
        self.language = language
        self._messages = dict(_flat(messages))

    def __call__(self, name: str, /, **values: Any) -> Markup:
        """Return a message; one that counts has two forms, of which `n` chooses."""
        said = self._messages.get(name)
        if said is None:
            said = self._messages[f"{name}.{'one' if values.get('n') == 1 else 'other'}"]
        shown = {key: f"{value:,}" if type(value) is int else value for key, value in values.items()}
        return Markup(said).format(**shown)  # noqa: S704 - messages are our own, and values are escaped by format

    def has(self, name: str) -> bool:
        """Say whether there is such a message."""
        return name in self._messages

    @property
    def names(self) -> frozenset[str]:
        """The names of all messages."""
        return frozenset(self._messages)


@cache
def words_of(language: str) -> Messages:
    """Return the messages of a language."""
    found: dict[str, Any] = {}
    for path in sorted(_FOLDER.glob(f"{language}.*json")):
        for name, said in json.loads(path.read_text(encoding="utf-8")).items():
            found[name] = {**found.get(name, {}), **said}
    return Messages(language, found)


def language_for(accepted: str) -> str:
    """Return the first language that a browser accepts and there are messages for.

    >>> language_for("fr-CH, en;q=0.9")
    'en'
    """
    for wanted in accepted.split(","):
        code = wanted.partition(";")[0].strip().lower().partition("-")[0]
        if code in LANGUAGES:
            return code
    return ENGLISH


def _flat(messages: Mapping[str, Any], above: str = "") -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, said in messages.items():
        found += _flat(said, f"{above}{name}.") if isinstance(said, dict) else [(f"{above}{name}", said)]
    return found
