"""The command for an ethics board: a statement of what one workspace promises, to print and sign."""

from pathlib import Path

import click

from lapwing.doors.board.sheet import sheet
from lapwing.doors.board.statement import LANGUAGES, figures_of, statement
from lapwing.doors.cli.commands import facts, say
from lapwing.doors.cli.options import Door, for_the_custodian
from lapwing.vocabulary.errors import ParameterError

_FORMATS = (".md", ".html")


@click.command()
@click.option(
    "--people", metavar="N", type=click.IntRange(1), help="How many people there are, for advice about delta."
)
@click.option("--language", type=click.Choice(LANGUAGES), default="en", show_default=True, help="English or German.")
@click.option(
    "--write",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write it into a file: .html to print, .md to edit.",
)
@for_the_custodian
def board(door: Door, *, people: int | None, language: str, write: Path | None) -> None:
    """State for an ethics board what is promised here and what is not, in plain words, to print and sign.

    Its figures are those of this workspace: whose data is protected, the budget and what it means for one person, what
    it buys, who may ask. It describes, and is no legal opinion.

    \b
    lapwing board
    lapwing board --people 100000 --write statement.html
    lapwing board --language de --write erklaerung.md

    It reads no data, and costs nothing.
    """
    if write is not None and write.suffix.lower() not in _FORMATS:
        raise ParameterError(
            "write", str(write), reason="is neither .html nor .md", remedy="name it statement.html, say"
        )
    if write is not None and not write.parent.is_dir():
        remedy = f"mkdir -p {write.parent} first"
        raise ParameterError("write", str(write), reason="is in a folder that is not there", remedy=remedy)
    spoken = LANGUAGES[LANGUAGES.index(language)]
    with door.workspace() as workspace:
        name = workspace.settings.declared(door.population).population.name
        figures = figures_of(workspace, name, people, spoken)
    page = statement(figures, spoken)
    if write is not None:
        write.write_text(sheet(page, spoken) if write.suffix.lower() == ".html" else page, encoding="utf-8")
    if door.as_json:
        door.tell({**figures, "file": None if write is None else str(write)})
    elif write is None:
        say(page.removesuffix("\n"))
    else:
        door.tell({}, facts(("wrote", write), ("next", "print it, and have it signed")))
