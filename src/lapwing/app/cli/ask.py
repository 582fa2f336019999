"""`lapwing ask`."""

from collections.abc import Callable
from typing import Any

import click

from lapwing.answers.wishes import Offer
from lapwing.app.cli.asking import Asked, put
from lapwing.app.cli.enough import ask_once
from lapwing.app.cli.options import Door, answered, at_the_door, priced
from lapwing.app.cli.statistics import any_question
from lapwing.vocabulary.errors import ParameterError


@click.command()
@any_question
@click.option("--at-least", metavar="N", help="Ask whether there are at least N people in TABLE, once.")
@priced
@answered
@at_the_door
def ask(
    door: Door,
    offer: Offer,
    words: tuple[str, ...],
    question: Callable[[], Asked],
    at_least: str | None,
    **how: Any,
) -> None:
    """Ask for any statistic, or whether there are at least so many.

    Every statistic is computed from numbers with noise on them. lapwing bounds what one person can add to it (by the
    declared bounds of the column and --max-rows), and draws noise that hides a person who adds that much. So narrow
    bounds and few rows a person mean a more exact answer.

    \b
    count TABLE             total TABLE COLUMN        median TABLE COLUMN
    rows TABLE              mean TABLE COLUMN         quantiles TABLE COLUMN --at LIST
    distinct TABLE COLUMN   variance TABLE COLUMN     top TABLE COLUMN -k N
    funnel TABLE --step ... covariance TABLE X Y      correlation TABLE X Y

    \b
    lapwing ask mean patients age --where "sex = 'F'" --epsilon 0.5
    lapwing ask quantiles patients age --at 0.25,0.5,0.75 --epsilon 0.5
    lapwing ask "select sex, count(*) from patients group by sex" --epsilon 0.5
    lapwing ask --at-least 200 patients --where "age >= 65" --epsilon 0.5

    It costs the epsilon you offer. "At least so many?" costs a part of it if the answer is no, and tells a yes or a no
    only; for many such questions open a stream, where a no costs nothing.
    """
    if not words:
        raise click.UsageError("nothing is asked; name a statistic and a table, or write a SELECT in quotes.")
    if at_least is None:
        put(door, question(), offer, **how)
        return
    if len(words) != 1:
        raise ParameterError(
            "question", " ".join(words), reason="is not one table", remedy="--at-least N TABLE --where ..."
        )
    ask_once(door, words[0], at_least, offer, **how)
