"""No sentence bounds a belief without saying whose: that of somebody who knows everybody else's data.

Of anybody else no belief is bounded (document 004, the "first attempt"): a whole village that comes exactly if its
mayor does tells on the mayor, at any epsilon. What is bounded then is what her own data adds, with against without.
"""

import ast
import json
import math
import re
from pathlib import Path

import pytest

from lapwing.accounting import belief_range
from lapwing.accounting.interpretation import INFORMED
from lapwing.doors.server.pages.page_words import LANGUAGES, words_of
from lapwing.mechanisms import GeometricMechanism, Sensitive

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "notebooks").glob("*.ipynb")]
    if page.name != "usability.md"  # what people said about earlier versions stays as it was said
)
APP = ROOT / "src" / "lapwing" / "doors"
SPEAKING = sorted(
    [
        *APP.glob("*.py"),
        *(APP / "cli").rglob("*.py"),
        *(APP / "plots").rglob("*.py"),
        ROOT / "src/lapwing/accounting/interpretation.py",
        ROOT / "src/lapwing/attacks/beliefs.py",
    ]
)
BELIEF = re.compile(
    r"(?<!\{)\bbelie(?:fs?|ves?|ved)\b|% sure that|\bat most [\d{][^.]*\bsure\b|\bodds\b|\blearns?\b|\bfinds at most\b"
    r"|\bglaub|\bÜberzeugung|% sicher\b",
    re.IGNORECASE,
)
BOUND = re.compile(
    r"[\d}] ?%|\{(?:belief|before|after|low|high|member|record|caught)\}"
    r"|\b(?:at most|factor of|never|nobody learns|höchstens|whatever (?:else )?(?:is|they|anybody)|was auch)\b"
)
CONDITION = re.compile(
    r"everybody else's data|Daten aller anderen|\{INFORMED\}|\{knows\}|e\^\(2ε\)|2 epsilon|Theorem 2\.1"
    r"|(?:with|without|of) (?:her|your|a person's|one person's) data|[Hh]er data moves|data (?:was|were|is) left out"
    r"|own data adds|ohne ihre Daten|eigenen Daten"
)
"""What makes a bound true: whose belief it is, or that it compares with and without her data."""


def unfounded(text):
    """Return the paragraphs that bound a belief and do not say whose."""
    plain = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    parts = [" ".join(part.split()) for part in re.split(r"\n\s*\n|\n(?=- )", plain)]
    return [part for part in parts if BELIEF.search(part) and BOUND.search(part) and not CONDITION.search(part)]


def prose(page):
    """Return what a page or a notebook says, without its code."""
    text = page.read_text(encoding="utf-8")
    if page.suffix != ".ipynb":
        return text
    return "\n\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")


def texts(source):
    """Return the texts that stand in code, with names in braces for what is put in."""
    tree = ast.parse(source)
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}{_format(part)}"
                for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield " ".join(node.value.split())


def _format(part):
    return "%" if part.format_spec is not None and "%" in ast.unparse(part.format_spec) else ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_page_bounds_a_belief_without_saying_whose(page) -> None:
    assert unfounded(prose(page)) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_message_bounds_a_belief_without_saying_whose(language) -> None:
    said = words_of(language)._messages
    assert {name: text for name, text in said.items() if unfounded(text)} == {}
    assert sum(bool(CONDITION.search(text)) for text in said.values()) >= 10


@pytest.mark.parametrize("file", SPEAKING, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_no_text_of_the_command_line_bounds_a_belief_without_saying_whose(file) -> None:
    assert [text for text in texts(file.read_text(encoding="utf-8")) if unfounded(text)] == []


@pytest.mark.parametrize(
    "promise",
    [
        "a belief of 1 % that somebody is in the table becomes {belief} at most",
        "wer mit 1 % glaubt, dass jemand in der Tabelle ist, glaubt es danach mit höchstens {belief}",
        "no belief that somebody is a patient here moves from 50 % to more than 73.1 %",
        "a belief of 50 % about a patient's record never becomes more than 88 %",
        "What can be said: below 1, nobody learns much about anyone,\nwhatever they know.",
        "That is the worst case for every belief, whatever else is known.",
        "The odds of whoever suspects something grow by a factor of 2.7 at most",
        "epsilon = 30 lets an attacker's odds grow by a factor of {factor(epsilon)}; choose a few units",
    ],
)
def test_a_promise_that_nobody_can_keep_is_found(promise) -> None:
    assert unfounded(f"Before.\n\n{promise}\n\nOf {INFORMED}.") == [" ".join(promise.split())]
    assert unfounded(f"Of {INFORMED}: {promise}") == []


def test_a_promise_in_code_is_found() -> None:
    planted = 'title = f"At epsilon {paid:.3g} a belief of {before:.0%} stays between {low:.0%} and {high:.0%}"'
    assert len([text for text in texts(planted) if unfounded(text)]) == 1
    assert [text for text in texts(planted[:-1] + ', of {INFORMED}"') if unfounded(text)] == []


def test_the_village_tells_on_its_mayor_whatever_the_epsilon_says_of_beliefs() -> None:
    """She comes exactly if the 1,000 others of her village come: a belief of 1 % becomes certainty for epsilon 0.1."""
    mechanism = GeometricMechanism(l1_sensitivity=1, epsilon="0.1")
    answer = mechanism.release(Sensitive(1001))
    odds = 0.01 / 0.99 * math.exp((abs(answer) - abs(answer - 1001)) / float(mechanism.event.scale))
    assert odds / (1 + odds) > 0.999
    assert belief_range("0.01", "0.1")[1] < 0.012
