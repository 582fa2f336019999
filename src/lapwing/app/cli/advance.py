"""`lapwing advance`."""

import click

from lapwing.app.cli.options import Door, complete_tables, for_the_custodian
from lapwing.app.cli.showing import facts, waiting


@click.command()
@click.argument("tables", nargs=-1, metavar="[TABLE]...", shell_complete=complete_tables)
@click.option("--all", "every", is_flag=True, help="All tables of the population.")
@click.option("--changed", is_flag=True, help="All files whose content is not what it was at their version.")
@for_the_custodian
def advance(door: Door, *, tables: tuple[str, ...], every: bool, changed: bool) -> None:
    """Say publicly that the data of a table changed.

    Answers that were given stay with the version they were given about, and new questions are about the new data. Data
    that changed while its version did not is refused: two answers under one version are about the same people. The
    budget goes on as it stands, because the people are the same.

    \b
    lapwing advance patients
    lapwing advance --all
    lapwing advance --changed

    It costs nothing, and gives nothing back.
    """
    if (bool(tables), every, changed).count(True) != 1:
        raise click.UsageError("Name the tables, or write --all or --changed.")
    with door.workspace() as workspace:
        population = workspace.settings.declared(door.population).population
        if not tables:
            tables = tuple(workspace.changed(door.population) if changed else [one.name for one in population.tables])
        named = [population.table(table).name for table in dict.fromkeys(tables)]  # all are known before one advances
        versions = {table: workspace.advance(table, door.population) for table in named}
        with waiting("opening the data"):
            unreadable = workspace.unreadable(door.population)
            still = [] if unreadable else workspace.changed(door.population)
            if not unreadable and not still:
                workspace.check(door.population)
    too = f"{' and '.join(still)} {'has' if len(still) == 1 else 'have'} changed too: lapwing advance {' '.join(still)}"
    table, version = next(iter(versions.items())) if len(versions) == 1 else (None, None)
    door.tell(
        {
            "table": table,
            "version": version,
            "readable": not unreadable,
            "versions": versions,
            "changed": still,
            "unreadable": {table: str(failure) for table, failure in unreadable.items()},
        },
        facts(
            *((table, f"data version {version}") for table, version in versions.items()),
            ("advanced", None if versions else "nothing: no file has changed since its version was seen"),
            ("but", too if still else None),
            *(("but", f"no question is answered: {failure}") for failure in unreadable.values()),
        ),
    )
