"""`lapwing preview`."""

from collections.abc import Callable
from pathlib import Path

import click

from lapwing.answers.wishes import Offer
from lapwing.app.cli.asking import Asked, show_preview
from lapwing.app.cli.enough import show_stream_preview
from lapwing.app.cli.options import Door, at_the_door, plot_option, priced
from lapwing.app.cli.statistics import any_question
from lapwing.app.plots.canvas import checked_path
from lapwing.vocabulary.errors import ParameterError


@click.command()
@any_question
@click.option("--at-least", metavar="N", help="Preview a stream about TABLE that asks for N people.")
@click.option("--yeses", metavar="N", default="1", show_default=True, help="After so many yeses the stream halts.")
@priced
@plot_option
@at_the_door
def preview(
    door: Door,
    *,
    offer: Offer,
    words: tuple[str, ...],
    question: Callable[[], Asked],
    at_least: str | None,
    yeses: str,
    plot: Path | None,
) -> None:
    """Say what a question would cost and how far off it would be.

    Price and error follow from the question and from what you offer, never from the data: so they can be known before,
    and looking is free. The error is random, but how large it can be is not. --plot draws the error against the price.

    \b
    lapwing preview count patients --where "age >= 65" --epsilon 0.1
    lapwing preview count patients --by sex --within 20 --plot error.svg
    lapwing preview "select avg(age) from patients" --epsilon 0.2
    lapwing preview patients --at-least 200 --yeses 5 --epsilon 1

    It costs nothing.
    """
    if not words:
        raise click.UsageError("nothing is asked; name a statistic and a table, or write a SELECT in quotes.")
    if plot is not None:
        checked_path(plot)
    if at_least is None:
        show_preview(door, question(), offer, plot)
        return
    if len(words) != 1:
        raise ParameterError("question", " ".join(words), reason="is not one table", remedy="TABLE --at-least N")
    show_stream_preview(door, offer, table=words[0], at_least=at_least, yeses=yeses, plot=plot)
