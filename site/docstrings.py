"""Reads docstrings for Sphinx: a section is a heading and lines `name : meaning`, up to an empty line."""

import re

HEADING = re.compile(r"-{3,}")
SIGNS = re.compile(r"\||(?<=\w)_(?!\w)")
"""What would be a substitution or a link: an absolute value, the lw_... of a token."""
ENTRY = re.compile(r"(\S.*?) : (.*)")


def process(_app, _what, _name, _object, _options, lines: list[str]) -> None:
    """Turn sections into lists, and keep `|x|` an absolute value and `lw_...` a text."""
    found: list[str] = []
    rest = iter(lines)
    for line in rest:
        if HEADING.fullmatch(line.strip()) and found:
            found[-1] = f"**{found[-1].strip()}**"
            found += ["", *_entries(rest), ""]
        else:
            found.append(line)
    lines[:] = [line if line.lstrip().startswith((">>>", "...")) else _escape(line) for line in found]


def _entries(rest) -> list[str]:
    entries: list[str] = []
    for line in rest:
        if not line.strip():
            break
        entry = ENTRY.match(line)
        entries.append(
            f"- `{entry[1]}`: {entry[2]}" if entry else f"  {line.strip()}" if line[0] == " " else f"- {line}"
        )
    return entries


def _escape(line: str) -> str:
    parts = line.split("`")  # every other part is code, where a bar is a bar
    return "`".join(part if place % 2 else SIGNS.sub(r"\\\g<0>", part) for place, part in enumerate(parts))
