"""`lapwing explain`."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from lapwing.accounting.interpretation import belief_range, best_true_positive_rate
from lapwing.accounting.pricing import price
from lapwing.answers.wishes import in_reason
from lapwing.app.cli.asking import Asked
from lapwing.app.cli.options import Door, at_the_door, plot_option
from lapwing.app.cli.pictures import draw_meaning
from lapwing.app.cli.showing import facts, paragraph
from lapwing.app.cli.statistics import Words, any_question
from lapwing.app.plots.canvas import checked_path
from lapwing.queries.explain import explain as explained
from lapwing.queries.planning import plan
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import PureRelease
from lapwing.vocabulary.exact import probability


@click.command()
@any_question
@click.option(
    "--prior", metavar="NUMBER", default="0.5", show_default=True, help="What an attacker believes beforehand."
)
@plot_option
@at_the_door
def explain(door: Door, *, asked: Words, prior: str, plot: Path | None) -> None:
    """Say why a question costs what it costs, or what an epsilon means.

    Of a question: how lapwing understood it, how often one person counts, and how far one person can move the answer.
    Of an epsilon: how far it lets anyone's belief about one person move, whatever else they know. With --plot it draws
    the beliefs beforehand and afterwards.

    \b
    lapwing explain epsilon 0.5
    lapwing explain epsilon 1 --prior 0.01 --plot belief.svg
    lapwing explain mean patients age --where "sex = 'F'"
    lapwing explain "select sex, count(*) from patients group by sex"

    It costs nothing.
    """
    if plot is not None:
        checked_path(plot)
    match asked.words:
        case ("epsilon", epsilon):
            _explain_epsilon(door, epsilon, prior, plot)
        case _ if plot is not None:
            raise ParameterError("plot", str(plot), reason="draws an epsilon", remedy="write explain epsilon 0.5")
        case _:
            _explain_question(door, asked.question())


def _explain_question(door: Door, question: Asked) -> None:
    with door.session() as session:
        texts = {name: explained(plan(one, session.population)) for name, one in question.items()}
    several = len(texts) > 1
    door.tell(
        {"columns": texts},
        *(paragraph(f"{name}\n{text}" if several else text) for name, text in texts.items()),
    )


def _explain_epsilon(door: Door, given: str, prior: str, plot: Path | None) -> None:
    epsilon, belief = in_reason("epsilon", given), probability("prior", prior)
    low, high = belief_range(belief, epsilon)
    rate = Fraction(1, 20)
    caught = best_true_positive_rate(price(PureRelease(epsilon=epsilon)), rate)
    if plot is not None:
        draw_meaning(plot, epsilon, belief)
    record: dict[str, Any] = {
        "epsilon": given,
        "prior": prior,
        "belief": {"low": low, "high": high},
        "membership_attack": {"false_positive_rate": float(rate), "true_positive_rate": caught},
    }
    door.tell(
        record,
        paragraph(
            f"What is released for epsilon {given} is nearly as likely without any one person as it is with them: no "
            f"answer gets more than {math.exp(float(epsilon)):.4g} times as likely, or as unlikely."
        ),
        facts(
            ("belief", f"who is {_share(belief)} sure that she is in it will be {_share(low)} to {_share(high)} sure"),
            (
                "attack",
                f"who may be wrong about 5 % of outsiders finds at most {_share(caught)} of those who are in it",
            ),
            ("groups", f"a family of three is protected as by epsilon {float(3 * epsilon):.4g}"),
            ("picture", None if plot is None else str(plot)),
        ),
        paragraph(
            "This holds whatever else anyone knows, and for ever. It does not promise that nothing is learned: that "
            "smoking kills is learned with or without her."
        ),
    )


def _share(number: float | Fraction) -> str:
    return f"{float(100 * number):.3g} %"
