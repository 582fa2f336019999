"""`lapwing suspend`."""

import click

from lapwing.app.cli.options import Door, for_the_custodian
from lapwing.app.cli.showing import facts


@click.command()
@click.argument("analyst", required=False)
@click.option("--end", is_flag=True, help="Allow it again.")
@for_the_custodian
def suspend(door: Door, analyst: str | None, *, end: bool) -> None:
    """Stop all spending, or one analyst's; or allow it again.

    Answers that were given before are still given, and everything that costs is refused with exit code 3. It takes
    effect at once, in every process.

    \b
    lapwing suspend
    lapwing suspend ana
    lapwing suspend ana --end

    It costs nothing.
    """
    with door.workspace() as workspace:
        name = workspace.settings.declared(door.population).population.name
        switch = workspace.ledger.custody.resume if end else workspace.ledger.custody.suspend
        switch(name, analyst)
    whose = name if analyst is None else f"{analyst} on {name}"
    door.tell(
        {"population": name, "analyst": analyst, "suspended": not end},
        facts(("spending", f"of {whose} is {'allowed' if end else 'suspended'}")),
    )
