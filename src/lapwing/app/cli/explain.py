"""`lapwing explain`."""

from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import click

from lapwing.accounting.advice import advise, factor
from lapwing.accounting.interpretation import belief_drift, belief_range, best_true_positive_rate
from lapwing.accounting.pricing import price
from lapwing.app.cli.asking import Questions
from lapwing.app.cli.options import Door, at_the_door, plot_option
from lapwing.app.cli.pictures import draw_meaning
from lapwing.app.cli.showing import facts, paragraph
from lapwing.app.cli.statistics import Words, any_question
from lapwing.app.plots.canvas import checked_path
from lapwing.queries.explain import explain as explained
from lapwing.queries.planning import plan
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import PureRelease
from lapwing.vocabulary.exact import positive, probability
from lapwing.vocabulary.guarantee import PureDP

_SMALLEST: Final = Fraction(1, 10**9)
_LARGEST: Final = 1000


@click.command()
@any_question
@click.option(
    "--prior", metavar="NUMBER", default="0.5", show_default=True, help="What an attacker believes beforehand."
)
@click.option("--people", metavar="N", type=click.IntRange(1), help="How many people there are, for advice.")
@plot_option
@at_the_door
def explain(door: Door, *, asked: Words, prior: str, people: int | None, plot: Path | None) -> None:
    """Say why a question costs what it costs, or what an epsilon means.

    Of a question: how lapwing understood it, how often one person counts, and how far one person can move the answer.
    Of an epsilon: how far it lets a belief about one person move, of somebody who knows everybody else's data, and of
    anybody else. With --plot it draws the beliefs beforehand and afterwards.

    \b
    lapwing explain epsilon 0.5
    lapwing explain epsilon 0.001 --people 2000
    lapwing explain epsilon 1 --prior 0.01 --plot belief.svg
    lapwing explain mean patients age --where "sex = 'F'"
    lapwing explain "select sex, count(*) from patients group by sex"

    It costs nothing.
    """
    if plot is not None:
        checked_path(plot)
    match asked.words:
        case ("epsilon", epsilon):
            _explain_epsilon(door, epsilon, prior, people=people, plot=plot)
        case _ if plot is not None:
            raise ParameterError("plot", str(plot), reason="draws an epsilon", remedy="write explain epsilon 0.5")
        case _:
            _explain_question(door, asked.question())


def _explain_question(door: Door, question: Questions) -> None:
    with door.session() as session:
        texts = {name: explained(plan(one, session.population)) for name, one in question.items()}
    several = len(texts) > 1
    door.tell(
        {"columns": texts},
        *(paragraph(f"{name}\n{text}" if several else text) for name, text in texts.items()),
    )


def _explain_epsilon(door: Door, given: str, prior: str, *, people: int | None, plot: Path | None) -> None:
    epsilon, belief = _believable(given), probability("prior", prior)
    low, high = belief_range(belief, epsilon)
    least, most = belief_drift(belief, epsilon)
    rate = Fraction(1, 20)
    caught = best_true_positive_rate(price(PureRelease(epsilon=epsilon)), rate)
    advice = advise(PureDP(epsilon=epsilon), people)
    if plot is not None:
        draw_meaning(plot, epsilon, belief)
    record: dict[str, Any] = {
        "epsilon": given,
        "prior": prior,
        "belief": {"low": low, "high": high},
        "belief_with_her_data": {"low": least, "high": most},
        "membership_attack": {"false_positive_rate": float(rate), "true_positive_rate": caught},
        "advice": [str(one) for one in advice],
    }
    door.tell(
        record,
        paragraph(
            f"Whatever is released for epsilon {given} is at most {factor(epsilon)} times as likely, or as unlikely, "
            "with any one person as without them."
        ),
        facts(
            *_bounds(_share(belief), belief=(low, high), drift=(least, most), caught=caught),
            ("groups", f"a family of three is protected as by epsilon {float(3 * epsilon):.4g}"),
            *(("advice", str(one)) for one in advice),
            ("picture", None if plot is None else str(plot)),
        ),
        paragraph(
            "This holds for ever. It does not promise that nothing is learned, not even about her: that smoking kills "
            "is learned with or without her data, and who knows that a whole village comes exactly if she does learns "
            "from their number whether she came. What is bounded is what her own data adds."
        ),
    )


def _bounds(
    sure: str, *, belief: tuple[float, float], drift: tuple[float, float], caught: float
) -> list[tuple[str, str]]:
    """Return the three theorems in words, each with what it takes to be true (docs/interpretation.md)."""
    knows = "who knows everybody else's data, and"
    without, outsiders = f"{sure} sure of anything without her data", "wrong about 5 % of those who are not in it"
    return [
        ("belief", f"{knows} is {sure} sure that she is in it, will be {_between(*belief)} sure"),
        ("anybody", f"who would be {without} will be {_between(*drift)} sure with it, whatever else they know"),
        ("attack", f"{knows} may be {outsiders}, finds at most {_share(caught)} of those who are"),
    ]


def _between(low: float, high: float) -> str:
    return f"{_share(low)} to {_share(high)}"


def _believable(given: str) -> Fraction:
    """Return an epsilon that can be explained: any that is not beyond all numbers, however little it promises."""
    epsilon = positive("epsilon", given)
    if not _SMALLEST <= epsilon <= _LARGEST:
        raise ParameterError("epsilon", given, reason="is out of reason", remedy=f"stay between 1e-9 and {_LARGEST:,}")
    return epsilon


def _share(number: float | Fraction) -> str:
    return f"{float(100 * number):.3g} %"
