"""`lapwing check`: what does not fit in the tables, for the custodian who owns them."""

from collections.abc import Iterable

import click

from lapwing.app.cli.options import Door, for_the_custodian
from lapwing.app.cli.terminal import facts, paragraph, waiting
from lapwing.vocabulary.wording import several
from lapwing.workspace.misfits import Misfit

MISLEADING = frozenset({"empty", "missing_keys", "several_rows", "one_row", "all_missing", "no_value_occurs"})
"""What a custodian is told unasked, when a table is added or declared anew."""

_NOT_PRIVATE = "For the custodian's eyes: these numbers are exact and not private. Do not pass them on to analysts."


@click.command()
@click.option("--table", help="Look at this table alone.")
@for_the_custodian
def check(door: Door, *, table: str | None) -> None:
    """Tell what does not fit in the tables. Not private.

    You own the data, so the numbers are exact: people with several rows in a table of one row a person, values that are
    not declared, missing person keys, numbers and days outside of their bounds, empty tables. It is printed here, and
    written into no log. Do not choose bounds or categories by it that you would not have chosen without looking: what
    you declare is public.

    \b
    lapwing check
    lapwing check --table patients

    It costs nothing, and answers no question of an analyst.
    """
    with door.workspace() as workspace:
        names = list(workspace.settings.populations) if door.population is None else [door.population]
        if table is not None:
            names = [name for name in names if table in workspace.settings.populations[name].sources] or names[:1]
        with waiting("reading the data"):
            found = {name: workspace.misfits(name, table=table) for name in names}
    every = [(name, one) for name, several_ in found.items() for one in several_]
    inner = len(names) > 1
    lines = [(f"{name}.{label}" if inner else label, said) for name, one in every for label, said in one.facts()]
    door.tell(
        {"private": False, "findings": [{"population": name, **one.to_dict()} for name, one in every]},
        paragraph(_NOT_PRIVATE),
        facts(*lines) if lines else "All that is declared fits.",
    )


def hints(found: Iterable[Misfit]) -> list[tuple[str, str]]:
    """Return what a custodian is told unasked of what does not fit, and where the rest is."""
    every = list(found)
    told = [("note", str(one)) for one in every if one.kind in MISLEADING]
    rest = len(every) - len(told)
    return [*told, *([("check", f"{several(rest, 'thing')} more: lapwing check")] if rest else [])]
