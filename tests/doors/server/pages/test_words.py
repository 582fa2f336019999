"""No word of a page stands in a template: each is a message, each that is named is there, and none is unused."""

import re
from pathlib import Path

from doors.server.pages.visitors import P, text_of
from lapwing.doors.server.pages import page_words
from lapwing.doors.server.pages.page_words import LANGUAGES, words_of

FOLDER = Path(page_words.__file__).parent


def named() -> set[str]:
    """Return the beginnings of the names of messages in templates and code."""
    texts = [path.read_text() for path in [*FOLDER.glob("templates/*.html"), *FOLDER.glob("*.py")]]
    return {name for text in texts for name in re.findall(r"""["']([a-z]+\.[A-Za-z_.0-9]*)["'{]""", text)}


def test_every_message_that_is_named_is_there() -> None:
    known = words_of("en").names
    prefixes = {name.split(".")[0] for name in known}
    for name in named():
        if name.split(".")[0] in prefixes and not name.endswith((".html", ".json", ".css", ".js", ".svg")):
            assert any(one == name or one.startswith((f"{name}.", name)) for one in known), name


def test_no_message_is_unused() -> None:
    used = named()
    for name in words_of("en").names:
        found = any(name == one or name.startswith((f"{one}.", one)) for one in used)
        assert found or name.split(".")[0] in {"problem", "cohort", "kind", "role", "page", "streams", "request"}, name


def test_every_language_says_everything() -> None:
    for language in LANGUAGES:
        assert words_of(language).names == words_of("en").names


def test_templates_hold_no_words_of_their_own() -> None:
    for path in FOLDER.glob("templates/*.html"):
        text = re.sub(r"\{[%#].*?[%#]\}|\{\{.*?\}\}|<[^>]*>", "\0", path.read_text(), flags=re.DOTALL)
        left = set(re.findall(r"[A-Za-z]{2,}", text)) - {"lapwing"}
        assert not left, (path.name, left)


def test_a_language_has_the_same_gaps_to_fill() -> None:
    for language in LANGUAGES:
        for name in words_of("en").names:
            gaps = [set(re.findall(r"\{(\w+)\}", words_of(one)._messages[name])) for one in ("en", language)]
            assert gaps[0] == gaps[1], (language, name)


def test_pages_speak_the_language_of_the_browser(pages) -> None:
    for path, says in ((P, "Was Ihnen bleibt"), (f"{P}/ask", "Wen suchen Sie?"), ("/epsilon", "Was Epsilon bedeutet")):
        page = pages.browser("ana").get(path, headers={"Accept-Language": "de-CH,de;q=0.9,en;q=0.5"})
        assert '<html lang="de"' in page.text
        assert says in text_of(page)
