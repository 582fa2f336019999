"""`lapwing sql`."""

import sys
from typing import TYPE_CHECKING, Any

import click

from lapwing.app.cli.options import Door, answered, at_the_door, priced
from lapwing.app.cli.statistics import max_groups_option, max_rows_option

if TYPE_CHECKING:
    from lapwing.answers.target import TargetWords


@click.command()
@click.argument("select")
@max_rows_option
@max_groups_option
@priced
@answered
@at_the_door
def sql(
    door: Door, offer: "TargetWords", select: str, max_rows: str | None, max_groups: str | None, **how: Any
) -> None:
    """Ask a SELECT of statistics; "-" reads it from standard input.

    Your SQL is read, understood and thrown away: what reaches the database is written by lapwing, and it adds noise to
    every number before you see it. Rows of people cannot be selected. What cannot be asked is refused by name, for
    nothing.

    \b
    lapwing sql "select sex, avg(age) from patients group by sex" --epsilon 0.5
    lapwing sql "select count(*) from patients" --within 20 --dry-run

    It costs the epsilon you offer; each statistic of the SELECT gets an equal share of it.
    """
    from lapwing.app.cli.asking import put, whole_or_none
    from lapwing.queries.sql import read_sql

    text = sys.stdin.read() if select == "-" else select
    put(
        door,
        read_sql(
            text, max_rows=whole_or_none("max_rows", max_rows), max_groups=whole_or_none("max_groups", max_groups)
        ).questions,
        offer,
        **how,
    )
