"""Commands for sceptics: explain (what a price means) and attack (what happens without lapwing)."""

from fractions import Fraction
from itertools import count
from pathlib import Path
from statistics import NormalDist
from typing import Any, Final

import click

from lapwing.accounting.conversions import guarantee_for_group
from lapwing.accounting.interpretation import (
    INFORMED,
    belief_drift,
    belief_range,
    best_true_positive_rate,
    budget_concerns,
    factor,
    likely_loss,
)
from lapwing.accounting.pricing import price
from lapwing.attacks.campaigns import CampaignOutcome
from lapwing.doors.cli.commands import facts, json_option, paragraph, progress, table, tell
from lapwing.doors.cli.options import Door, Words, any_question, at_the_door, plot_option
from lapwing.doors.cli.questions import Questions, question_of
from lapwing.doors.plots.meaning import draw_meaning
from lapwing.made_up.attack_story import SCENES, AttackReport, AttackStory, door_questions, play
from lapwing.mechanisms.gaussian import GaussianMechanism
from lapwing.queries.planning.planner import plan
from lapwing.show.canvas import checked_folder, checked_path
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.event import PureRelease
from lapwing.vocabulary.exact import positive, probability
from lapwing.vocabulary.guarantee import ApproximateDP, PureDP

_SMALLEST: Final = Fraction(1, 10**9)
_LARGEST: Final = 1000


def _no_price(_: click.Context, __: click.Parameter, given: str | None) -> None:
    """Name what there is in the place of a guess."""
    if given is not None:
        raise click.UsageError(f"explain has no price; write lapwing preview ... --epsilon {given}, which is free too")


@click.command()
@any_question
@click.option(
    "--prior", metavar="NUMBER", default="0.5", show_default=True, help="What an attacker believes beforehand."
)
@click.option("--people", metavar="N", type=click.IntRange(1), help="How many people there are, for advice.")
@click.option("--delta", metavar="NUMBER", help="With an epsilon: what it means together with a delta.")
@click.option("--epsilon", hidden=True, expose_value=False, callback=_no_price)
@plot_option
@at_the_door
def explain(door: Door, *, asked: Words, prior: str, people: int | None, delta: str | None, plot: Path | None) -> None:
    """Say why a question costs what it costs, or what an epsilon means.

    Of a question: how lapwing understood it, how often one person counts, and how far one person can move the answer.
    Of an epsilon: how far it lets a belief about one person move, of somebody who knows everybody else's data, and of
    anybody else. With --plot it draws the beliefs beforehand and afterwards.

    \b
    lapwing explain epsilon 0.5
    lapwing explain epsilon 0.001 --people 2000
    lapwing explain epsilon 1 --prior 0.01 --plot belief.svg
    lapwing explain epsilon 1 --delta 1e-6
    lapwing explain mean patients age --where "sex = 'F'"
    lapwing explain "select sex, count(*) from patients group by sex"

    It costs nothing.
    """
    match asked.words:
        case ("epsilon", epsilon) if delta is not None:
            if plot is not None:
                remedy = "leave --delta out"
                raise ParameterError("plot", str(plot), reason="draws an epsilon without a delta", remedy=remedy)
            _explain_delta(door, epsilon, delta, prior, people=people)
        case _ if delta is not None:
            raise ParameterError("delta", delta, reason="goes with an epsilon", remedy="write explain epsilon 0.5")
        case ("epsilon", epsilon):
            _explain_epsilon(door, epsilon, prior, people=people, plot=plot)
        case _ if plot is not None:
            raise ParameterError("plot", str(plot), reason="draws an epsilon", remedy="write explain epsilon 0.5")
        case _:
            _explain_question(door, question_of(asked.given(), **asked.options))


def _explain_question(door: Door, question: Questions) -> None:
    with door.session() as session:
        texts = {name: plan(one, session.population).explain() for name, one in question.items()}
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
    advice = budget_concerns(PureDP(epsilon=epsilon), people)
    if plot is not None:
        draw_meaning(plot, epsilon, belief)
    record: dict[str, Any] = {
        "epsilon": given,
        "prior": prior,
        "belief": {"low": low, "high": high},
        "belief_with_her_data": {"low": least, "high": most},
        "membership_attack": {"false_positive_rate": float(rate), "true_positive_rate": caught},
        "advice": list(advice),
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
            *(("advice", one) for one in advice),
            ("picture", plot),
        ),
        paragraph(
            "This holds for ever. It does not promise that nothing is learned, not even about one person: that smoking "
            "kills is learned with or without a smoker's data, and somebody who knows that a whole village comes "
            "exactly if its mayor does learns from their number whether the mayor came. What is bounded is what a "
            "person's own data adds."
        ),
    )


def _explain_delta(door: Door, given: str, delta: str, prior: str, *, people: int | None) -> None:
    budget = ApproximateDP(epsilon=_believable(given), delta=probability("delta", delta))
    belief = probability("prior", prior)
    loss, chance = likely_loss(budget)
    low, high = belief_range(belief, loss)
    exceeded = _gaussian_exceeds(budget)
    advice, three = budget_concerns(budget, people), guarantee_for_group(budget, 3)
    shared = f" and delta {float(three.delta):.3g}" if isinstance(three, ApproximateDP) else ""
    family = f"epsilon {float(3 * budget.epsilon):.4g}{shared}"
    knows = f"{INFORMED}, and is {_share(belief)} sure that one person is in it"
    often = f"exceeds it in one case of {round(1 / exceeded):,}, {exceeded / float(budget.delta):.3g} times delta"
    record: dict[str, Any] = {
        "epsilon": given,
        "delta": delta,
        "prior": prior,
        "belief": {"low": low, "high": high, "but_for": float(chance)},
        "gaussian_exceeds_epsilon": exceeded,
        "advice": list(advice),
    }
    door.tell(
        record,
        paragraph(
            f"Whatever is released for epsilon {given} and delta {delta}: no event is more than "
            f"{factor(budget.epsilon)} times as likely with any one person as without them, and {delta} more."
        ),
        facts(
            ("belief", f"{knows}, will be {_between(low, high)} sure, but for one case in {int(1 / chance):,}"),
            ("delta", f"is not how often epsilon is exceeded: Gaussian noise of this price {often}"),
            ("groups", f"a family of three is protected as by {family}"),
            *(("advice", one) for one in advice),
        ),
    )


def _gaussian_exceeds(budget: ApproximateDP) -> float:
    """Return how often the loss of the Gaussian mechanism of this price is above epsilon: it is normal."""
    mechanism = GaussianMechanism(l2_sensitivity=1, epsilon=budget.epsilon, delta=budget.delta)
    mu = 1 / float(mechanism.sigma)
    return NormalDist(mu**2 / 2, mu).cdf(mu**2 - float(budget.epsilon))


def _bounds(
    sure: str, *, belief: tuple[float, float], drift: tuple[float, float], caught: float
) -> list[tuple[str, str]]:
    """Return the three theorems in words, each with its assumptions, and which to tell a patient."""
    knows = f"{INFORMED}, and"
    without, outsiders = (
        f"{sure} sure of anything without a person's data",
        "wrong about 5 % of those who are not in it",
    )
    return [
        ("belief", f"{knows} is {sure} sure that one person is in it, will be {_between(*belief)} sure"),
        (
            "anybody",
            f"somebody who would be {without} will be {_between(*drift)} sure with it, whatever else they know",
        ),
        ("tell", "a patient the second: it is wider, because it takes nothing for granted about who looks"),
        ("attack", f"{knows} may be {outsiders}, finds at most {_share(caught)} of those who are"),
    ]


def _between(low: float, high: float) -> str:
    return f"{_share(low)} to {_share(high)}"


def _believable(given: str) -> Fraction:
    """Return an epsilon that can be explained: any that is not beyond all numbers, however little it promises."""
    epsilon = positive("epsilon", given)
    if not _SMALLEST <= epsilon <= _LARGEST:
        raise ParameterError("epsilon", given, reason="is out of range", remedy=f"stay between 1e-9 and {_LARGEST:,}")
    return epsilon


def _share(number: float | Fraction) -> str:
    return f"{float(100 * number):.3g} %"


_EVERYTHING = "all"
_LOST = 1
"""The exit code of an attack that lapwing did not stop; 2 to 5 are other failures."""


@click.command()
@click.argument("which", metavar="[WHICH]", type=click.Choice([*SCENES, _EVERYTHING]), default=_EVERYTHING)
@click.option("--epsilon", metavar="NUMBER", default="1", show_default=True, help="The budget of lapwing's account.")
@click.option(
    "--seed", type=int, default=1, show_default=True, help="Of the attacker's coins; never of lapwing's noise."
)
@click.option("--plot", metavar="FOLDER", type=click.Path(path_type=Path), help="Draw pictures, too, into a folder.")
@click.option(
    "--plot-format", type=click.Choice(["svg", "png"]), default="svg", show_default=True, help="How to draw them."
)
@json_option
@click.pass_context
def attack(
    ctx: click.Context, *, which: str, epsilon: str, seed: int, plot: Path | None, plot_format: str, as_json: bool
) -> None:
    """Attack exact answers, blurred answers and lapwing, and compare.

    The patients are made up. The attacker knows when each of them was born, as neighbours do, so he can ask about any
    group of them. He wants to know who has a trait. He asks the same of a clinic that answers exactly, of clinics that
    blur answers as tools in use do, and of lapwing, through its door and on its account.

    \b
    lapwing attack
    lapwing attack hadamard --epsilon 0.5
    lapwing attack --plot pictures

    WHICH is reconstruction, hadamard, averaging, differencing, tracing, or all of them.

    It costs nothing: the clinic and its accounts are made up, and gone afterwards. It ends with 0 if lapwing stopped
    the attacker, and with 1 if nothing did or if he got more than luck explains.
    """
    budget = positive("epsilon", epsilon)
    if plot is not None:
        checked_path(checked_folder(plot) / f"recovered.{plot_format}")
    names = [*SCENES] if which == _EVERYTHING else [which]
    asked = count(1)
    with progress("Asking lapwing", sum(door_questions(name, budget) for name in names)) as tick:
        story = play(names, budget=budget, seed=seed, progress=lambda: tick(next(asked)))
    pictures = [] if plot is None else _draw(plot, f".{plot_format}", story)
    blocks = [block for name in names for block in _blocks(name, story.reports[name])]
    listed = "\n".join(f"picture  {picture}" for picture in pictures)
    record = story.record() | {"pictures": [str(picture) for picture in pictures]}
    tell(record, *blocks, paragraph(story.conclusion), listed, as_json=as_json)
    ctx.exit(0 if story.is_stopped else _LOST)


def _blocks(name: str, told: AttackReport) -> tuple[str, str]:
    header = ["attack", "answers", "stopped by", "questions", "recovered", "guessing"]
    rows = [_row(outcome) for outcome in told.outcomes]
    return paragraph(f"{name.upper()}\n{SCENES[name].told}"), table(header, rows, left=3)


def _row(outcome: CampaignOutcome) -> list[str]:
    asked = f"{outcome.asked:,}" if outcome.answered == outcome.asked else f"{outcome.answered:,} of {outcome.asked:,}"
    shares = [f"{100 * share:.1f} %" for share in (outcome.recovered, outcome.chance)]
    return [outcome.attack, outcome.against, outcome.stopped, asked, *shares]


def _draw(folder: Path, suffix: str, story: AttackStory) -> list[Path]:
    from lapwing.doors.plots.attacks import draw_all

    return draw_all(folder, suffix, story)
