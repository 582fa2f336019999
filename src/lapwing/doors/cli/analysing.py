"""The commands that analyse: two groups compared, survival curves; each of them pays for one release."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lapwing.doors.cli.commands import facts, refusal_record, table, waiting
from lapwing.doors.cli.options import Door, at_the_door, complete_tables, plot_option, priced, where_option
from lapwing.vocabulary.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lapwing.analyses.survival_curves import SurvivalCurve
    from lapwing.answers.target import TargetWords


@click.command()
@click.argument("table", shell_complete=complete_tables)
@click.argument("outcome")
@click.option("--by", required=True, metavar="COLUMN", help="The column, or the condition, that makes the groups.")
@where_option
@click.option("--group", "groups", multiple=True, metavar="VALUE", help="One of the two groups, where there are more.")
@click.option("--method", metavar="NAME", help="proportions, t, rank or chi-square, where another one is meant.")
@click.option("--people", metavar="N,N", help="With --dry-run: how many people the groups have, as you suppose.")
@click.option(
    "--shares", metavar="P,P", help="With --dry-run: the shares that are to be told apart, such as 0.10,0.16."
)
@click.option("--means", metavar="X,X", help="With --dry-run: the means that are to be told apart.")
@click.option("--deviations", metavar="X,X", help="With --means: the standard deviations of both groups.")
@click.option("--power", metavar="P", help="With --dry-run, in place of a price: what it costs to see it so likely.")
@click.option("--key", help="An idempotency key: the same key brings back the same answer, free, for ever.")
@click.option("--dry-run", is_flag=True, help="Say the price, and how likely such a difference is seen: free.")
@plot_option
@priced
@at_the_door
def compare(
    door: Door,
    offer: "TargetWords",
    *,
    where: str | None,
    groups: tuple[str, ...],
    key: str | None,
    dry_run: bool,
    plot: Path | None,
    people: str | None,
    shares: str | None,
    means: str | None,
    deviations: str | None,
    power: str | None,
    **asked: str,
) -> None:
    """Compare two groups, with a p-value that knows the noise.

    Yes or no is compared by proportions, a number by its mean (or --method rank), a category in a table (chi-square).
    The p-value simulates what noise and chance do to groups that do not differ.

    \b
    lapwing compare patients cancer_survivor --by sex --epsilon 1
    lapwing compare patients cancer_survivor --by sex --epsilon 0.3 \\
        --dry-run --people 500,500 --shares 0.10,0.16
    lapwing compare patients cancer_survivor --by sex --power 0.75 \\
        --dry-run --people 500,500 --shares 0.10,0.16
    lapwing compare patients age --by sex --method rank --epsilon 0.5

    It costs what one count costs: the epsilon you offer, once. The same comparison of the same data is free.
    """
    given = {"people": people, "shares": shares, "means": means, "deviations": deviations}
    assumed = {name: _two(name, text) for name, text in given.items() if text is not None}
    with door.session() as session:
        if dry_run:
            words = {name: said for name, said in asked.items() if said is not None}
            found = session.preview_compare(
                **words, where=where, groups=list(groups) or None, assume=assumed or None, power=power, **offer
            )
            record = {**found.to_dict(), "refusal": refusal_record(found.preview.refusal)}
            door.tell(record, facts(*found.facts()))
            return
        guessed = {**given, "power": power}
        first = next((name for name, text in guessed.items() if text is not None), None)
        if first is not None:
            remedy = "add --dry-run, which is free, or leave it out"
            reason = "is supposed, and a comparison needs no guess"
            raise ParameterError(f"--{first}", guessed[first], reason=reason, remedy=remedy)
        with waiting("comparing"):
            compared = session.compare(**asked, where=where, groups=list(groups) or None, key=key, **offer)
        left = session.budget()
    if plot is not None:
        compared.plot(plot)
    door.tell(
        {**compared.to_dict(), "left": left.to_dict()},
        compared.sentence,
        facts(*compared.facts(), ("left", left), ("drawn", plot)),
    )


def _two(name: str, text: str) -> tuple[float, float]:
    """Return two numbers that were typed with a comma between them."""
    try:
        first, second = map(float, text.split(","))
    except ValueError:
        reason, remedy = "is not two numbers", f"write --{name} 500,500"
        raise ParameterError(f"--{name}", text, reason=reason, remedy=remedy) from None
    return first, second


@click.command()
@click.argument("table", shell_complete=complete_tables)
@click.option("--time", required=True, metavar="COLUMN", help="The time until the event, or until last seen.")
@click.option("--event", required=True, metavar="COLUMN", help="The column, or condition: whether the event was seen.")
@click.option("--grid", required=True, metavar="FIRST..LAST/STEP", help="The periods: 0..720/30, or ends 0,30,90,360.")
@click.option("--by", metavar="COLUMN", help="The column, or the condition, that makes the arms.")
@where_option
@click.option("--key", help="An idempotency key: the same key brings back the same curves, free, for ever.")
@click.option("--dry-run", is_flag=True, help="Say what it would cost. It is free.")
@plot_option
@priced
@at_the_door
def survival(
    door: Door,
    offer: "TargetWords",
    *,
    table: str,
    time: str,
    event: str,
    grid: str,
    by: str | None,
    where: str | None,
    key: str | None,
    dry_run: bool,
    plot: Path | None,
) -> None:
    """Draw survival curves, by arm if there are two, with the log-rank test.

    Everybody is in one cell of one histogram: the period in which they were last seen, with or without the event.
    Choose the grid without looking at the data: the largest time in it is somebody's.

    \b
    lapwing survival patients --time age --event cancer_survivor --by sex \\
        --grid 0..90/30 --epsilon 1

    All curves and the test cost what one count costs. The same curves of the same data are free.
    """
    ends = read_grid(grid)
    with door.session() as session:
        if dry_run:
            preview = session.preview_survival(table, time=time, event=event, grid=ends, by=by, where=where, **offer)
            door.tell({**preview.to_dict(), "refusal": refusal_record(preview.refusal)}, facts(*preview.facts()))
            return
        with waiting("counting"):
            found = session.survival(table, time=time, event=event, grid=ends, by=by, where=where, key=key, **offer)
        left = session.budget()
    if plot is not None:
        found.plot(plot)
    door.tell(
        {**found.to_dict(), "left": left.to_dict()},
        _rows(found.curves, by),
        facts(*found.facts(), ("left", left), ("drawn", plot)),
    )


def read_grid(text: str) -> list[int]:
    """Return the ends of periods, from FIRST..LAST/STEP or a list.

    >>> read_grid("0..90/30"), read_grid("0,30,90")
    ([0, 30, 60, 90], [0, 30, 90])
    """
    try:
        if ".." not in text:
            return [int(part) for part in text.split(",")]
        ends, _, step = text.partition("/")
        first, _, last = ends.partition("..")
        found = list(range(int(first), int(last) + 1, int(step or 1)))
    except ValueError:
        remedy = "write --grid 0..720/30, or --grid 0,30,90,360"
        raise ParameterError("--grid", text, reason="is no list of periods", remedy=remedy) from None
    if len(found) < 2:  # noqa: PLR2004 - the ends of a period
        remedy = "write the earlier end first, and steps that fit between: --grid 0..720/30"
        raise ParameterError("--grid", text, reason="ends before a period is over", remedy=remedy)
    return found


def _rows(curves: "Sequence[SurvivalCurve]", by: str | None) -> str:
    arm = [] if by is None else [by]
    lines = [
        [*(str(one.arm) for _ in arm), str(time), f"{part:.1%}", f"{low:.1%}", f"{high:.1%}", f"{risk:,.0f}"]
        for one in curves
        for time, part, low, high, risk in zip(one.times, one.survived, one.low, one.high, one.at_risk, strict=True)
    ]
    header = [*arm, "until", "without it", "from (95 %)", "to", "at risk"]
    return table(header, lines, left=len(arm))
