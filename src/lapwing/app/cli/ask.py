"""`lapwing ask`."""

from typing import TYPE_CHECKING, Any

import click

from lapwing.app.cli.options import Door, answered, at_the_door, priced
from lapwing.app.cli.statistics import Words, any_question

if TYPE_CHECKING:
    from lapwing.answers.target import TargetWords


@click.command()
@any_question
@click.option("--at-least", metavar="N", help="Ask whether there are at least N people in TABLE, once.")
@priced
@answered
@at_the_door
def ask(door: Door, *, offer: "TargetWords", asked: Words, at_least: str | None, **how: Any) -> None:
    """Ask for any statistic, or whether there are at least so many.

    Every statistic is computed from numbers with noise on them. lapwing bounds what one person can add to it (by the
    declared bounds of the column and --max-rows), and draws noise that hides a person who adds that much. So narrow
    bounds and few rows a person mean a more exact answer.

    \b
    count TABLE              total TABLE COLUMN     median TABLE COLUMN
    rows TABLE               mean TABLE COLUMN      quantiles TABLE COLUMN --at L
    distinct TABLE COLUMN    variance TABLE COLUMN  top TABLE COLUMN -k N
    funnel TABLE --step ...  covariance TABLE X Y   correlation TABLE X Y

    \b
    lapwing ask mean patients age --where "sex = 'F'" --epsilon 0.5
    lapwing ask quantiles patients age --at 0.25,0.5,0.75 --epsilon 0.5
    lapwing ask "select sex, count(*) from patients group by sex" --epsilon 0.5
    lapwing ask --at-least 200 patients --where "age >= 65" --epsilon 0.5

    It costs the epsilon you offer. "At least so many?" costs a part of it if the answer is no; with a yes comes an
    interval for the number of people. For many such questions open a stream, where a no costs nothing.
    """
    from lapwing.app.cli.asking import put
    from lapwing.app.cli.enough import ask_once

    if at_least is None:
        put(door, asked.question(), offer, **how)
    else:
        ask_once(door, asked.table(), offer, at_least=at_least, where=asked.options["where"], **how)
