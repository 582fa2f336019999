"""No sentence takes delta for how often epsilon is exceeded: noise exceeds it many times as often (errata E26)."""

import re

import pytest

from test_beliefs import PAGES, ROOT, SPEAKING, prose

MISREADING = re.compile(
    r"probability (?:with which|that) (?:the )?epsilon (?:may be|is) exceeded"
    r"|(?:fails?|failure|exceeded|breaks?|broken) (?:only )?with (?:a )?probability (?:of )?(?:delta|δ)"
    r"|with (?:a )?probability (?:of )?1 ?[-\u2212] ?(?:delta|δ)"
    r"|(?:pure|ε|epsilon)[- ]?(?:dp|private)? (?:but for|except) (?:with )?(?:a )?probability (?:of )?(?:delta|δ)"
    r"|Wahrscheinlichkeit,? (?:mit der|dass) Epsilon überschritten",
    re.IGNORECASE,
)
QUOTING = {"errata.md", "documents.md", "usability.md"}  # what somebody said, and why it is wrong
WORDS = sorted((ROOT / "src" / "lapwing" / "doors" / "server" / "pages" / "messages").glob("*.json"))
SOURCES = sorted({*SPEAKING, *WORDS, *(ROOT / "src" / "lapwing" / "accounting").rglob("*.py")})


def misread(texts):
    """Return where delta is misread, and how."""
    found = {file.relative_to(ROOT).as_posix(): MISREADING.findall(" ".join(text.split())) for file, text in texts}
    return {name: sentences for name, sentences in found.items() if sentences}


def test_no_page_takes_delta_for_how_often_epsilon_is_exceeded() -> None:
    pages = [page for page in PAGES if page.name not in QUOTING]
    assert ROOT / "docs" / "glossary.md" in pages
    assert misread((page, prose(page)) for page in pages) == {}


def test_no_word_of_the_code_takes_delta_for_it_either() -> None:
    assert len(SOURCES) > 30
    assert misread((file, file.read_text(encoding="utf-8")) for file in SOURCES) == {}


@pytest.mark.parametrize(
    "wrong",
    [
        "delta: the probability with which epsilon may be exceeded",
        "a budget with a delta allows for a failure with probability delta",
        "with probability 1 - δ we obtain the privacy guarantee afforded by pure DP",
        "it fails only with a probability of delta",
        "die Wahrscheinlichkeit, mit der Epsilon überschritten wird",
    ],
)
def test_the_misreading_is_found(wrong) -> None:
    assert MISREADING.search(wrong)
