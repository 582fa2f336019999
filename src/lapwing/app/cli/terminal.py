"""How things are shown: facts, tables that align, or one JSON object. Plain where nobody is looking.

Tables are as wide as the terminal where there is one (or as $COLUMNS says), and as wide as they like in a pipe.
"""

import io
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeVar

import click

Thing = TypeVar("Thing")

_NARROWEST: Final = 40
_UNBOUNDED: Final = 100_000

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


def tell(record: dict[str, Any], *blocks: str, as_json: bool) -> None:
    """Print one JSON object, or blocks of text with a blank line between them."""
    if as_json:
        click.echo(json.dumps(record, ensure_ascii=False))
    else:
        click.echo("\n\n".join(block for block in blocks if block))


def facts(*pairs: tuple[str, object]) -> str:
    """Return one line a fact, its label in front; long ones are wrapped, and what has no value is left out.

    >>> print(facts(("cost", "epsilon 0.1"), ("error", None), ("receipt", "lapwing:1")))
    cost     epsilon 0.1
    receipt  lapwing:1
    """
    shown = [(label, str(value)) for label, value in pairs if value is not None]
    indent = 2 + max((len(label) for label, _ in shown), default=0)
    return "\n".join(_wrapped(value, label.ljust(indent), " " * indent) for label, value in shown)


def paragraph(text: str) -> str:
    """Return a text wrapped to the terminal, line by line."""
    return "\n".join(_wrapped(line, "", "") for line in text.splitlines())


def _wrapped(text: str, first: str, others: str) -> str:
    return textwrap.fill(
        text,
        width=max(_width(natural=100), _NARROWEST),
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,  # a receipt is copied in one piece
        break_on_hyphens=False,
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Return a table: the first `left` columns to the left, the others, which are numbers, to the right.

    >>> print(table(["sex", "people"], [["F", "5,012"], ["男", "87"]]))
    sex  people
    F     5,012
    男       87
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    coloured = sys.stdout.isatty()
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for place, name in enumerate(header):
        drawn.add_column(Text(name), justify="left" if place < left else "right", overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(cell) for cell in row))
    paper = io.StringIO()
    console = Console(file=paper, width=_width(natural=_UNBOUNDED), force_terminal=coloured, legacy_windows=False)
    console.print(drawn)
    return "\n".join(line.rstrip() for line in paper.getvalue().splitlines()).strip("\n")


def _width(*, natural: int) -> int:
    if os.environ.get("COLUMNS", "").isdecimal() or sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    return natural


@contextmanager
def waiting(sentence: str) -> Iterator[None]:
    """Say on a terminal that something is being done, for as long as it is."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(sentence):
        yield


class Tick(Protocol):
    """What is told how much is done, and of how much if that was not known before."""

    def __call__(self, done: int, of: int | None = None, /) -> None:
        """Move the bar."""


@contextmanager
def progress(sentence: str, total: int | None = None) -> Iterator[Tick]:
    """Show a bar on a terminal, for what takes a while."""
    if not sys.stderr.isatty():
        yield lambda _, of=None: None  # noqa: ARG005 - nobody is looking
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(sentence, total=total)
        yield lambda done, of=None: bar.update(task, completed=done, total=of or total)


def each(things: Sequence[Thing], sentence: str) -> Iterator[Thing]:
    """Go through things that take a while each, with a bar."""
    with progress(sentence, len(things)) as tick:
        for done, thing in enumerate(things, start=1):
            yield thing
            tick(done)
