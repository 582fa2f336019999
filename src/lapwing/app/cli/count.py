"""`lapwing count`."""

from typing import TYPE_CHECKING, Any

import click

from lapwing.app.cli.options import Door, answered, at_the_door, complete_tables, priced, where_option
from lapwing.app.cli.statistics import by_option, max_groups_option

if TYPE_CHECKING:
    from lapwing.answers.target import TargetWords


@click.command()
@click.argument("table", shell_complete=complete_tables)
@where_option
@by_option
@max_groups_option
@priced
@answered
@at_the_door
def count(
    door: Door,
    *,
    offer: "TargetWords",
    table: str,
    where: str | None,
    by: tuple[str, ...],
    max_groups: str | None,
    **how: Any,
) -> None:
    """Count people, in all or by groups.

    A count with noise: the answer is the true number plus a random one, drawn so that nobody can tell from it whether
    any one person was counted. The noise does not depend on how many there are, so large counts are nearly exact and
    counts of a few people are not. Each person counts once, however many rows they have.

    \b
    lapwing count patients --where "sex = 'M' and age < 30" --epsilon 0.1
    lapwing count patients --by sex --within 20
    lapwing count patients --by "bins(age, 0, 18, 65)" --epsilon 1 --plot ages.svg

    It costs the epsilon you offer, once: groups that hold different people cost no more than one count. The same
    question at the same price is answered as before, for free.
    """
    from lapwing.app.cli.asking import put, question_of

    put(door, question_of(["count", table], where=where, by=by, max_groups=max_groups), offer, **how)
