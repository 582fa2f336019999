"""The commands that publish: many tables of people in one release."""

import itertools
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

import click

from lapwing.doors.cli.commands import facts, refusal_record, table, waiting
from lapwing.doors.cli.options import Command, Door, at_the_door, complete_tables, priced, with_concept_sets
from lapwing.vocabulary.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lapwing.answers.target import TargetWords
    from lapwing.publishing.publication import Publication, PublishedTable
    from lapwing.publishing.publication_preview import PublicationPreview

_BINS: Final = re.compile(r"\s*bins\(\s*(?P<column>[^,()]+?)\s*,", re.IGNORECASE)
_NAMED: Final = re.compile(r"\s*(?P<name>[^\W\d]\w*)\s*=(?!=)\s*(?P<condition>.+)", re.DOTALL)
_MOST_LISTED: Final = 40


class ShapeWords(TypedDict):
    """How tables are shown."""

    non_negative: bool
    whole: bool


def of_columns(command: Command) -> Command:
    """Give a command the columns of what is published, as one mapping `columns`."""
    options = (
        click.option(
            "--column",
            "given",
            multiple=True,
            metavar="COLUMN",
            help="A column with declared values, or bins(age, 0, 18, 65, 120). Repeatable.",
        ),
        click.option(
            "--condition",
            "conditions",
            multiple=True,
            metavar="NAME=CONDITION",
            help="A column that says whether a condition is true: old=age >= 65. Repeatable.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def columns_of(given: tuple[str, ...], conditions: tuple[str, ...]) -> dict[str, str]:
    """Return the columns that were typed, under the names by which they are shown; none where none was typed.

    >>> list(columns_of(("sex", "bins(age, 0, 18, 65)"), ("old=age >= 65",)))
    ['sex', 'age', 'old']
    """
    named = list[tuple[str, str]]()
    for one in given:
        binned = _BINS.match(one)
        named.append((binned["column"] if binned else one.strip(), one))
    for one in conditions:
        found = _NAMED.fullmatch(one)
        if found is None:
            remedy = 'write --condition "old=age >= 65"'
            raise ParameterError("--condition", one, reason="has no name", remedy=remedy)
        named.append((found["name"], found["condition"]))
    names = [name.casefold() for name, _ in named]
    twice = next((name for name, _ in named if names.count(name.casefold()) > 1), None)
    if twice is not None:
        raise ParameterError("--column", twice, reason="is there twice", remedy="name each column once")
    return dict(named)


def out_option(*kinds: str) -> "Callable[[Command], Command]":
    """Return the option that writes a file of one of some kinds, by how its name ends."""
    words = f"{', '.join(kinds[:-1])} or {kinds[-1]}"

    def checked(_: click.Context, __: click.Parameter, given: Path | None) -> Path | None:
        return None if given is None else _writable(given, kinds, words)

    path = click.Path(path_type=Path)
    return click.option("--out", metavar="FILE", type=path, callback=checked, help=f"Write a file: {words}.")


def _writable(given: Path, kinds: tuple[str, ...], words: str) -> Path:
    """Refuse a file that could not be written before anything is charged."""
    if given.suffix.casefold() not in kinds:
        remedy = f"let it end in {words}"
        raise ParameterError("--out", str(given), reason="is no kind of file that is written", remedy=remedy)
    if given.is_dir() or not given.parent.is_dir():
        raise ParameterError("--out", str(given), reason="cannot be written", remedy="name a file in a folder there is")
    return given


@click.command()
@click.argument("table", shell_complete=complete_tables)
@of_columns
@click.option(
    "--marginals",
    type=click.Choice(["all columns", "all pairs", "all triples"]),
    default="all pairs",
    show_default=True,
    help="Which columns are published together.",
)
@click.option("--together", multiple=True, metavar="A,B", help="Publish these columns together, instead. Repeatable.")
@click.option("--rows", metavar="1,2,5", help="Publish rows, of a table with many a person: the most of each stratum.")
@click.option("--show", metavar="A,B", help="Which table to print.  [default: the first]")
@click.option("--non-negative", is_flag=True, help="Show no negative numbers; the estimates are biased then.")
@click.option("--whole", is_flag=True, help="Show whole numbers; the estimates are biased then.")
@out_option(".csv", ".json")
@click.option("--key", help="An idempotency key: the same key brings back the same tables, free, for ever.")
@click.option("--dry-run", is_flag=True, help="Say price and error of every table, and publish nothing: free.")
@priced
@at_the_door
@with_concept_sets
def publish(
    door: Door,
    offer: "TargetWords",
    *,
    table: str,
    given: tuple[str, ...],
    conditions: tuple[str, ...],
    marginals: str,
    together: tuple[str, ...],
    rows: str | None,
    show: str | None,
    out: Path | None,
    key: str | None,
    dry_run: bool,
    **shape: Unpack[ShapeWords],
) -> None:
    """Publish many tables of people in one release.

    Asked one after the other, a hundred tables share one budget, and each is a tenth as exact. Published together, what
    they have in common is measured once, every count has its own interval, and any two tables agree. --dry-run tells
    the standard deviation of a cell of every table before.

    \b
    lapwing publish patients --column sex --column "bins(age, 0, 18, 65, 120)" \\
        --condition "survivor=cancer_survivor" --epsilon 0.5 --dry-run
    lapwing publish patients --column sex --column "bins(age, 0, 18, 65, 120)" \\
        --within 100 --out tables.csv

    It costs the epsilon you offer, once for all tables. The same publication of the same data is free.
    """
    wanted = _sets(together) or marginals
    columns = columns_of(given, conditions)
    if not columns:
        remedy = 'write --column sex --column "bins(age, 0, 18, 65, 120)"'
        raise ParameterError("--column", None, reason="is missing: nothing would be published", remedy=remedy)
    strata = None if rows is None else _strata(rows)
    with door.session() as session:
        preview = session.preview_publish(table, columns, wanted, rows=strata, **offer)
        shown = preview.offer.places(_names(show)) if show is not None else preview.offer.wanted[0]
        if dry_run:
            _tell_preview(door, preview)
            return
        with waiting("counting"):
            published = session.publish(table, columns, wanted, rows=strata, key=key, **offer, **shape)
        left = session.budget()
    one = published.table(*preview.offer.names(shown))
    _tell(door, published, one, out=out, left=left, confidence=offer.get("confidence", "0.95"))


def _names(given: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in given.split(",") if part.strip())


def _strata(given: str) -> list[int]:
    """Read how many rows a person in each stratum has at most."""
    parts = _names(given)
    if not parts or not all(part.isdecimal() and part.isascii() and len(part) < 12 for part in parts):  # noqa: PLR2004 - no table has so many rows a person
        reason = "is no list of numbers of rows"
        raise ParameterError("--rows", given, reason=reason, remedy="write --rows 1,2,5")
    return [int(part) for part in parts]


def _sets(together: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [_names(one) for one in together]


def _tell_preview(door: Door, preview: "PublicationPreview") -> None:
    from lapwing.vocabulary.wording import format_short, several

    sizes = {names: [format_short(round(sd, 1))] for names, sd in preview.sd.items()}
    rows = [[", ".join(names), *told] for names, told in sizes.items()]
    beyond = len(rows) - _MOST_LISTED
    listed = table(["table", "sd of a cell"], rows[:_MOST_LISTED])
    more = f"and {several(beyond, 'table')} more" if beyond > 0 else ""
    record = {**preview.to_dict(), "refusal": refusal_record(preview.refusal)}
    door.tell(record, "\n".join(one for one in (listed, more) if one), facts(*preview.facts()))


def _tell(
    door: Door, published: "Publication", shown: "PublishedTable", *, out: Path | None, left: Any, confidence: Any
) -> None:
    from lapwing.publishing.written_out import csv_of_publication, publication_record

    record = publication_record(published, confidence)
    if out is not None:
        text = csv_of_publication(record) if out.suffix.casefold() == ".csv" else json.dumps(record, ensure_ascii=False)
        out.write_text(text, encoding="utf-8")
    told = facts(*published.facts(), *shown.facts()[1:], ("left", left), ("written", out))
    door.tell({**record, "left": left.to_dict()}, _cells(shown, confidence), told)


def _cells(shown: "PublishedTable", confidence: Any) -> str:
    from lapwing.answers.answer import MOST_SHOWN
    from lapwing.vocabulary.exact import as_confidence
    from lapwing.vocabulary.wording import format_bounded, percent, several

    labels = itertools.product(*(shown.offer.columns[a].called for a in shown.axes))
    numbers = zip(*shown.bounded(confidence), strict=True)
    lines = [
        [*cell, *format_bounded(*one)[:3]]
        for cell, one in itertools.islice(zip(labels, numbers, strict=True), MOST_SHOWN)
    ]
    header = [*shown.names, shown.offer.counted, f"from ({percent(as_confidence(confidence))})", "to"]
    beyond = shown.values.size - len(lines)
    more = [f"and {several(beyond, 'cell')} more"] if beyond else []
    return "\n".join([table(header, lines, left=len(shown.names)), *more])
