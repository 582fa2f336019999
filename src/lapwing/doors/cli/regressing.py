"""The command that fits a regression: five rounds under one charge, or what it would cost and tell, for nothing."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from lapwing.doors.cli.commands import facts, progress, refusal_record, table
from lapwing.doors.cli.options import Door, at_the_door, complete_tables, plot_option, priced, where_option

if TYPE_CHECKING:
    from lapwing.analyses.regression import Regression
    from lapwing.answers.target import TargetWords

_LEAST_P: Final = 0.001


@click.command()
@click.argument("table", shell_complete=complete_tables)
@click.argument("formula")
@click.option(
    "--model",
    type=click.Choice(["linear", "logistic", "poisson"]),
    default="linear",
    show_default=True,
    help="What the outcome is: a number, true or false, or a count.",
)
@where_option
@click.option("--people", metavar="N", help="How many people you expect; where that is too few, nothing is charged.")
@click.option("--events", metavar="RATE", help="With --people: the share with the outcome, or the mean of the counts.")
@click.option("--key", help="An idempotency key: the same key brings back the same fit, free, for ever.")
@click.option("--dry-run", is_flag=True, help="Say the price and how wide intervals would be, and fit nothing: free.")
@plot_option
@priced
@at_the_door
def regress(
    door: Door,
    offer: "TargetWords",
    *,
    people: str | None,
    events: str | None,
    key: str | None,
    dry_run: bool,
    plot: Path | None,
    **asked: Any,
) -> None:
    """Fit a linear, logistic or Poisson regression.

    A formula names an outcome and columns: + between them, a:b for the product of two, age/10 to tell a coefficient
    for ten years. Intervals are for people like these: sampling and noise are in them. It takes a budget with a delta,
    or one in rho. --plot draws the forest plot.

    \b
    lapwing regress patient "bmi ~ age/10 + sex + smoker" \\
        --epsilon 1 --delta 1e-6
    lapwing regress patient "diabetes ~ age/10 + bmi" --model logistic \\
        --epsilon 1 --delta 1e-6 --people 20000 --events 0.1 --dry-run

    It costs the epsilon you offer, once for all five rounds. The same fit of the same data is free.
    """
    assume = {word: given for word, given in (("people", people), ("events", events)) if given is not None} or None
    with door.session() as session:
        if dry_run:
            preview = session.preview_regress(**asked, assume=assume, **offer)
            door.tell({**preview.to_dict(), "refusal": refusal_record(preview.refusal)}, facts(*preview.facts()))
            return
        with progress("fitting, in five rounds") as tick:
            found = session.regress(**asked, assume=assume, key=key, progress=tick, **offer)
        left = session.budget()
    if plot is not None:
        found.forest(plot)
    terms = {one.term for one in found.coefficients}
    about = [(label, told) for label, told in found.facts() if label not in terms]
    door.tell({**found.to_dict(), "left": left.to_dict()}, _rows(found), facts(*about, ("left", left), ("drawn", plot)))


def _rows(found: "Regression") -> str:
    """Return the coefficients as a table, with ratios where the model has any."""
    lines = []
    for one in found.coefficients:
        ratio = [f"{number:.4g}" for number in one.ratio()] if found.ratio else []
        told = [f"{number:.4g}" for number in (one.estimate, one.low, one.high)]
        lines.append(
            [one.term, *told, *ratio, f"<{_LEAST_P}" if one.p < _LEAST_P else f"{one.p:.2g}", f"{one.noise_share:.0%}"]
        )
    ratios = [found.ratio, "from", "to"] if found.ratio else []
    sure = f"from ({found.confidence:.0%})"
    return table(["term", "estimate", sure, "to", *ratios, "p", "noise"], lines)
