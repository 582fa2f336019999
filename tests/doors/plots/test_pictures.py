"""Pictures: the same bytes for the same numbers, other bytes for others, and the words a person looks for."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from lapwing.doors.plots.answers import draw_burn_down, draw_chance_of_yes, draw_error_by_price, draw_funnel
from lapwing.doors.plots.meaning import draw_meaning
from lapwing.show.figures import draw_panels
from lapwing.show.panels import Panel

Draw = Callable[[Path, int], None]


def _error(path: Path, n: int) -> None:
    curve = {0.01: 300.0 + n, 0.1: 30.0, 1.0: 3.0}
    draw_error_by_price(path, curve, (0.1, 30), currency="epsilon", confidence="95 %")


def _yes(path: Path, n: int) -> None:
    draw_chance_of_yes(path, people=[0, 200, 400], chances=[0.0, 0.5, 1.0], at_least=200, unsure=(150 - n, 250))


def _left(path: Path, n: int) -> None:
    left, reserved = [3.0, 1.0, 2.0 - n], [0.0, 1.5, 0.0]
    draw_burn_down(path, entries=[1, 2, 3], left=left, reserved=reserved, cap=3.0, currency="epsilon")


def _funnel(path: Path, n: int) -> None:
    draw_funnel(path, steps=["sex = 'M'", "age < 3"], values=[900, 90 - n], lows=[890, 85], highs=[910, 95])


def _bars(path: Path, n: int) -> None:
    title = "A title so long that it has to be wrapped, because nobody could read it on one line of a picture"
    panel = Panel("people", ["F", "男 & <M>"], [1.5, -2.0 - n], [1.0, None], [2.0, None], True, False)  # noqa: FBT003
    draw_panels([panel], title=title, caption="", path=path)


def _belief(path: Path, n: int) -> None:
    draw_meaning(path, epsilon=1 + n, prior="0.5")


PICTURES = {
    "error": (_error, "epsilon 0.1 buys an answer within 30", "epsilon paid", "within 30"),
    "yes": (_yes, '"At least 200?" is right 95 times in 100 below 150 and above 250', "asked for: 200"),
    "burn-down": (_left, "2 of epsilon 3 is left", "the cap", "reserved for streams", "entry of the ledger"),
    "funnel": (_funnel, "About 90 people pass all 2 conditions", "sex = 'M'", "and age < 3", "900"),
    "bars": (
        _bars,
        "A title so long that it has to be wrapped, because nobody could read it on",
        "F",
        "people",
        "1.5",
        "-2",
    ),
    "belief": (_belief, "At epsilon 1 a belief of 50% stays between 27% and 73%,", "nothing learned"),
}


def _words(svg: str) -> list[str]:
    """The texts of a picture: matplotlib draws their outlines, and says in a comment what they are."""
    return [text.strip().replace("&amp;", "&").replace("&lt;", "<") for text in re.findall(r"<!--(.*?)-->", svg)]


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.filterwarnings("ignore:Glyph .* missing from font")
@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_equal_numbers_are_equal_bytes(tmp_path, name, suffix) -> None:
    draw: Draw = PICTURES[name][0]
    files = [tmp_path / f"{i}{suffix}" for i in range(3)]
    for file, number in zip(files, (0, 0, 1), strict=True):
        draw(file, number)
    same, again, other = (file.read_bytes() for file in files)
    assert same == again
    assert same != other


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.filterwarnings("ignore:Glyph .* missing from font")
def test_a_picture_says_what_it_shows(tmp_path, name) -> None:
    draw, *expected = PICTURES[name]
    draw(tmp_path / "it.svg", 0)
    words = _words((tmp_path / "it.svg").read_text())
    for text in expected:
        assert text in words
