"""Words of a picture that the fonts of this machine can write: what they cannot is told in another way, and said once.

A sign that no font has would be an empty box. A group that has a value beside its name is told by the value then, and
any other sign stands as a question mark.
"""

import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from matplotlib import font_manager

from lapwing.answers.canvas import STYLE

_OWN: Final = "DejaVu Sans"
_FONTS: Final = (
    *(f"Noto Sans CJK {place}" for place in ("SC", "TC", "JP", "KR")),
    *("Source Han Sans SC", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "Droid Sans Fallback", "Microsoft YaHei"),
    *("SimHei", "PingFang SC", "Hiragino Sans", "Yu Gothic", "MS Gothic", "Malgun Gothic", "Apple SD Gothic Neo"),
    *("Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Sans Thai", "Arial Unicode MS", "Unifont"),
)
NO_FONT: Final = "no font here has some signs of the names: they are told by values, or as ?"


def style() -> dict[Any, Any]:
    """Return the style of pictures, with all fonts of this machine that have signs beyond our own."""
    return {**STYLE, "font.family": [_OWN, *others()]}


@cache
def others() -> tuple[str, ...]:
    """Return the fonts of this machine that have signs beyond our own."""
    known = {font.name for font in font_manager.fontManager.ttflist}
    return tuple(name for name in _FONTS if name in known)


def legible(texts: Sequence[str], instead: Sequence[str] | None = None) -> list[str]:
    r"""Return texts that can be written: a text that cannot be is what stands `instead`, or has question marks.

    >>> legible(["Bern", "a\ue000"], ["1", "2"])
    ['Bern', '2']
    >>> legible(["a\ue000"])
    ['a?']
    """
    told = list(texts)
    for place, text in enumerate(told):
        if _unknown(text):
            other = "" if instead is None else instead[place]
            told[place] = other if other and not _unknown(other) else _with_marks(text)
    return told


def caption_for(caption: str, texts: Sequence[str]) -> str:
    """Return the words below a picture, which say so where some of these texts could not be written."""
    if not any(map(_unknown, texts)):
        return caption
    return f"{caption}; {NO_FONT}" if caption else NO_FONT


def _with_marks(text: str) -> str:
    return "".join("?" if not _has(sign) else sign for sign in text)


def _unknown(text: str) -> bool:
    return not all(map(_has, set(text)))


@cache
def _has(sign: str) -> bool:
    """Say whether one of the fonts has a sign."""
    if unicodedata.category(sign) in {"Cc", "Cf", "Zs", "Zl", "Zp"}:
        return True  # a blank or a line break, which no font draws
    files = (font_manager.findfont(font_manager.FontProperties(family=[name])) for name in (_OWN, *others()))
    return any(font_manager.get_font(file).get_char_index(ord(sign)) for file in files)
