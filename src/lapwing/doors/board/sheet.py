"""A statement as one HTML file to print: it holds its own style, and fetches nothing."""

import re
from html import escape
from itertools import groupby
from typing import Final

_STYLE: Final = """
@page { size: A4; margin: 20mm }
body { font: 11pt/1.45 system-ui, sans-serif; color: #111; background: #fff; max-width: 46rem }
body { margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6em } h2 { font-size: 1.15em; margin-top: 1.6em; break-after: avoid }
table { border-collapse: collapse; width: 100%; break-inside: avoid }
td, th { border: 1px solid #888; padding: .45em .6em; text-align: left; vertical-align: top }
td:empty { width: 55% } li { margin: .25em 0 } @media print { body { margin: 0; max-width: none } }
"""


def sheet(markdown: str, language: str) -> str:
    """Return a statement as HTML: headings, lists, tables and paragraphs are all that it has.

    >>> "<h1>A &amp; B</h1>" in sheet("# A & B", "en")
    True
    """
    title = markdown.partition("\n")[0].removeprefix("# ")
    body = "\n".join(_block(kind, list(lines)) for kind, lines in groupby(markdown.splitlines(), _kind) if kind)
    return (
        f'<!doctype html>\n<html lang="{language}">\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width">\n<title>{escape(title)}</title>\n'
        f"<style>{_STYLE}</style>\n<main>\n{body}\n</main>\n</html>\n"
    )


def _kind(line: str) -> str:
    """Say what a line is part of; nothing is an empty line."""
    if not line.strip():
        return ""
    marks = {"# ": "h1", "## ": "h2", "- ": "ul", "|": "table"}
    return next((kind for mark, kind in marks.items() if line.startswith(mark)), "p")


def _block(kind: str, lines: list[str]) -> str:
    match kind:
        case "h1" | "h2":
            return "\n".join(f"<{kind}>{_words(line.lstrip('# '))}</{kind}>" for line in lines)
        case "ul":
            return "<ul>\n" + "\n".join(f"<li>{_words(line[2:])}</li>" for line in lines) + "\n</ul>"
        case "table":
            return _table([[cell.strip() for cell in line.strip("|").split("|")] for line in lines])
        case _:
            return "\n".join(f"<p>{_words(line)}</p>" for line in lines)


def _table(rows: list[list[str]]) -> str:
    head, body = rows[0], rows[2:]
    named = "".join(f"<th>{_words(cell)}</th>" for cell in head) if any(head) else ""
    told = "\n".join("<tr>" + "".join(f"<td>{_words(cell)}</td>" for cell in row) + "</tr>" for row in body)
    return f"<table>\n{f'<tr>{named}</tr>' if named else ''}\n{told}\n</table>"


def _words(text: str) -> str:
    return re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escape(text))
