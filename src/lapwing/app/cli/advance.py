"""`lapwing advance`."""

import click

from lapwing.app.cli.options import Door, complete_tables, for_the_custodian
from lapwing.app.cli.showing import facts, waiting
from lapwing.vocabulary.errors import EngineError


@click.command()
@click.argument("table", shell_complete=complete_tables)
@for_the_custodian
def advance(door: Door, table: str) -> None:
    """Say publicly that the data of a table changed.

    Answers that were given stay with the version they were given about, and new questions are about the new data. Data
    that changed while its version did not is refused: two answers under one version are about the same people. The
    budget goes on as it stands, because the people are the same.

    \b
    lapwing advance patients

    It costs nothing, and gives nothing back.
    """
    readable = True
    with door.workspace() as workspace:
        version = workspace.advance(table, door.population)
        try:
            with waiting("opening the data"):
                workspace.check(door.population)
        except EngineError:
            readable = False
    door.tell(
        {"table": table, "version": version, "readable": readable},
        facts(
            (table, f"data version {version}"),
            ("but", None if readable else "the data cannot be read as declared; why is in failures.log"),
        ),
    )
