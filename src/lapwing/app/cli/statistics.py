"""The arguments of a question, for the commands that take any."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from lapwing.app.cli.asking import question_of
from lapwing.app.cli.options import where_option

Command = TypeVar("Command", bound=Callable[..., Any])

by_option = click.option(
    "--by",
    multiple=True,
    metavar="COLUMN",
    help="Group by a column, bins(age, 0, 18, 65, 120) or year(born). Repeatable.",
)
max_rows_option = click.option(
    "--max-rows", metavar="N", help="How many rows of one person count, in tables of events."
)
max_groups_option = click.option("--max-groups", metavar="N", help="In how many groups one person counts, there.")
steps_option = click.option(
    "--step", "steps", multiple=True, metavar="CONDITION", help="A condition of the funnel. Repeatable, in order."
)


def any_question(command: Command) -> Command:
    """Give a command the words and the options of a question, as one function `question` that reads them."""

    @click.argument("words", nargs=-1, metavar="STATISTIC TABLE [COLUMN]... | SELECT")
    @where_option
    @by_option
    @max_rows_option
    @max_groups_option
    @steps_option
    @click.option("--at", metavar="LIST", help="Which quantiles, such as 0.25,0.5,0.75.")
    @click.option("-k", metavar="N", help="How many of the top categories.")
    @functools.wraps(command)
    def with_question(**given: Any) -> Any:
        names = ("where", "by", "max_rows", "max_groups", "steps", "k")
        options = {name: given.pop(name) for name in names}
        at = given.pop("at")
        options["at"] = None if at is None else [part.strip() for part in at.split(",")]
        words = given.pop("words")
        return command(words=words, question=lambda: question_of(words, **options), **given)

    return with_question  # type: ignore[return-value]  # it takes other parameters, which click fills in
