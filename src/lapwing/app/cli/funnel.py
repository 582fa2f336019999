"""`lapwing funnel`."""

from typing import TYPE_CHECKING, Any

import click

from lapwing.app.cli.options import Door, answered, at_the_door, complete_tables, priced, where_option
from lapwing.app.cli.statistics import steps_option

if TYPE_CHECKING:
    from lapwing.answers.target import TargetWords


@click.command()
@click.argument("table", shell_complete=complete_tables)
@steps_option
@where_option
@priced
@answered
@at_the_door
def funnel(door: Door, offer: "TargetWords", table: str, steps: tuple[str, ...], where: str | None, **how: Any) -> None:
    """Count who passes one condition after the other, for one price.

    How a cohort shrinks from criterion to criterion is what a study wants to know first. Asked one by one the steps
    would be paid one by one; lapwing asks how far each person gets, which is one number a person, and adds it up. The
    later steps have the smaller error.

    \b
    lapwing funnel patients --step "sex = 'M'" --step "age between 20 and 30" \\
        --step cancer_survivor --epsilon 0.5

    It costs the epsilon you offer, however many steps there are.
    """
    from lapwing.app.cli.asking import put, question_of

    put(door, question_of(["funnel", table], steps=steps, where=where), offer, **how)
