"""`lapwing preview`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lapwing.app.cli.options import Door, at_the_door, plot_option, priced
from lapwing.app.cli.statistics import Words, any_question

if TYPE_CHECKING:
    from lapwing.answers.target import TargetWords


@click.command()
@any_question
@click.option("--at-least", metavar="N", help="Preview a stream about TABLE that asks for N people.")
@click.option("--yeses", metavar="N", default="1", show_default=True, help="After so many yeses the stream halts.")
@click.option("--questions", metavar="N", help="How many questions the stream is meant for.")
@priced
@plot_option
@at_the_door
def preview(
    door: Door, *, offer: "TargetWords", asked: Words, at_least: str | None, plot: Path | None, **rest: Any
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
    from lapwing.app.cli.asking import show_preview
    from lapwing.app.cli.enough import show_stream_preview, stream_offer
    from lapwing.app.plots.canvas import checked_path

    if plot is not None:
        checked_path(plot)
    if at_least is None:
        show_preview(door, asked.question(), offer, plot)
    else:
        terms = stream_offer(offer, table=asked.table(), at_least=at_least, **rest)
        show_stream_preview(door, terms, plot)
