"""`lapwing dashboard`: open, publish, show; counts over time that are paid once, at the opening."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lapwing.doors.cli.commands import facts, refusal_record, table, waiting
from lapwing.doors.cli.options import Door, at_the_door, complete_tables, plot_option, priced, where_option
from lapwing.queries.statistics.counts import count
from lapwing.vocabulary.errors import ParameterError
from lapwing.vocabulary.exact import as_int

if TYPE_CHECKING:
    from lapwing.analyses.dashboard_board import CountsOverTime, Dashboard
    from lapwing.answers.target import TargetWords


@click.group(no_args_is_help=True)
def dashboard() -> None:
    """Count people over time, and pay once.

    A dashboard publishes the counts of each period when it is over: cumulative counts, windows and single periods, each
    with a band that is known before anything is paid. It lives in the ledger: go on with it by its name, for years.

    \b
    lapwing dashboard open visits visit --period recorded_on \\
        --first 2024-01-01 --releases 60 --epsilon 1
    lapwing dashboard publish visits
    lapwing dashboard show visits --window 12

    Opening costs what all of its releases cost; publishing and showing cost nothing more.
    """


@dashboard.command("open")
@click.argument("name")
@click.argument("table", shell_complete=complete_tables)
@where_option
@click.option("--by", multiple=True, metavar="COLUMN", help="A declared column that makes the groups.")
@click.option("--period", required=True, metavar="COLUMN", help="The day on which a row counts.")
@click.option("--until", metavar="COLUMN", help="The day on which a person leaves: then people who are in are told.")
@click.option("--first", required=True, metavar="DAY", help="The first day of the first period.")
@click.option("--every", default="month", show_default=True, metavar="PERIOD", help="day, week, month, quarter, year.")
@click.option("--releases", metavar="N", help="How many periods there will be.")
@click.option("--last", metavar="DAY", help="Instead: the last day of the last period.")
@click.option("--dry-run", is_flag=True, help="Say price and bands, and open nothing: free.")
@priced
@at_the_door
def open_dashboard(
    door: Door,
    offer: "TargetWords",
    *,
    name: str,
    table: str,
    where: str | None,
    by: tuple[str, ...],
    period: str,
    until: str | None,
    first: str,
    every: str,
    releases: str | None,
    last: str | None,
    dry_run: bool,
) -> None:
    """Open a dashboard, and pay for all of its releases.

    A person counts once: in the period of their row, or of the first of their rows; with --until, until they leave.
    What a period is never changes.

    \b
    lapwing dashboard open er visit --where "kind = 'er'" --period recorded_on \\
        --first 2024-01-01 --releases 60 --epsilon 1 --dry-run

    It costs the epsilon, or the rho, once; --dry-run costs nothing.
    """
    question = count(table, where, by=list(by))
    many = None if releases is None else _whole("--releases", releases)
    periods: dict[str, Any] = {
        "period": period,
        "until": until,
        "first": first,
        "every": every,
        "releases": many,
        "last": last,
    }
    with door.session() as session:
        found = session.preview_dashboard(question, name=name, **periods, **offer)
        if dry_run:
            door.tell({**found.to_dict(), "refusal": refusal_record(found.refusal)}, facts(*found.facts()))
            return
        board = session.dashboard(question, name=name, **periods, **offer)
        left = session.budget()
    door.tell(
        {"dashboard": board.name, "price": found.price.to_dict(), "left": left.to_dict()},
        facts(
            ("dashboard", board.name),
            *(fact for fact in found.facts() if fact[0] not in {"left then", "paid"}),
            ("left", left),
            ("next", f"lapwing dashboard publish {board.name}, when a {every} is over"),
        ),
    )


@dashboard.command("publish")
@click.argument("name")
@click.option("--today", metavar="DAY", help="The day it is, where it is not the clock's.")
@plot_option
@at_the_door
def publish_dashboard(door: Door, *, name: str, today: str | None, plot: Path | None) -> None:
    """Publish the periods that are over, once for each version of the data.

    \b
    lapwing advance visit
    lapwing dashboard publish visits

    It costs nothing more.
    """
    with door.session() as session:
        board = session.dashboard(name=name)
        with waiting("counting"):
            shown = board.publish(today)
        _show(door, board, shown, plot)


@dashboard.command("show")
@click.argument("name")
@click.option("--window", metavar="N", help="Counts of N periods in a row, in place of cumulative ones.")
@plot_option
@at_the_door
def show_dashboard(door: Door, *, name: str, window: str | None, plot: Path | None) -> None:
    """Show what was published: cumulative counts, or those of a window; --window 1 is period by period.

    \b
    lapwing dashboard show visits --window 12 --plot year.svg

    It costs nothing.
    """
    with door.session() as session:
        board = session.dashboard(name=name)
        shown = board.cumulative() if window is None else board.window(_whole("--window", window))
        _show(door, board, shown, plot)


def _show(door: Door, board: "Dashboard", shown: "CountsOverTime", plot: Path | None) -> None:
    if plot is not None:
        shown.plot(plot)
    lines = [
        [
            *group,
            label,
            *(["lost"] * 3 if not one.known else [f"{part:,.1f}" for part in (one.estimate, one.low, one.high)]),
        ]
        for group, counts in shown.groups.items()
        for label, one in zip(shown.labels, counts, strict=True)
    ]
    header = [*shown.by, "until", "people", "from (95 %)", "to"]
    door.tell(
        shown.to_dict(),
        table(header, lines, left=len(shown.by) + 1),
        facts(("shown", shown.what), ("lost", ", ".join(board.lost) or None), ("drawn", plot)),
    )


def _whole(word: str, given: str) -> int:
    """Return a whole number that was typed."""
    if not given.strip().isdecimal():
        raise ParameterError(word, given, reason="is no whole number", remedy=f"write {word} 12")
    return as_int(word, int(given))
