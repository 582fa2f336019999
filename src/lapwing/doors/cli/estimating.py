"""The command that estimates any function of the custodian's, by sample and aggregate."""

from typing import TYPE_CHECKING, Any

import click

from lapwing.doors.cli.commands import facts, refusal_record, waiting
from lapwing.doors.cli.options import Door, at_the_door, complete_tables, priced, where_option

if TYPE_CHECKING:
    from lapwing.answers.target import TargetWords


@click.command()
@click.argument("function", metavar="FILE.py:NAME")
@click.argument("table", shell_complete=complete_tables)
@click.argument("columns", nargs=-1, required=True)
@click.option("--low", required=True, metavar="NUMBER", help="What the result is at least, whatever the data are.")
@click.option("--high", required=True, metavar="NUMBER", help="What it is at most.")
@click.option("--chunks", required=True, metavar="N", help="Into how many parts people fall, such as 100.")
@click.option(
    "--aggregate",
    type=click.Choice(["median", "mean", "smooth median"]),
    default="median",
    show_default=True,
    help="What is released of the numbers of the chunks.",
)
@where_option
@click.option("--seconds", default="60", show_default=True, metavar="N", help="How long one chunk may take.")
@click.option("--key", help="An idempotency key: the same key brings back the same answer, free, for ever.")
@click.option(
    "--dry-run", is_flag=True, help="Say the price and the noise, and try the function on made-up rows: free."
)
@priced
@at_the_door
def estimate(
    door: Door, offer: "TargetWords", *, columns: tuple[str, ...], key: str | None, dry_run: bool, **asked: Any
) -> None:
    """Estimate any function of people's numbers, by sample and aggregate.

    The function gets an array, a row a person and a column for each of COLUMNS, and returns one number. It is computed
    on parts of the people, each in a process of its own that sees nothing else; what is released is their median, or
    their mean. It is the custodian's own code, and runs on this machine.

    \b
    lapwing estimate ours.py:trimmed_mean patients age --low 0 \\
        --high 120 --chunks 60 --epsilon 1 --dry-run
    lapwing estimate ours.py:trimmed_mean patients age --low 0 \\
        --high 120 --chunks 60 --epsilon 1

    It costs the epsilon you offer, once. The same estimate of the same data is free.
    """
    with door.session() as session:
        if dry_run:
            preview = session.preview_estimate(columns=list(columns), **asked, **offer)
            door.tell({**preview.to_dict(), "refusal": refusal_record(preview.refusal)}, facts(*preview.facts()))
            return
        with waiting(f"computing it on {asked['chunks']} chunks, one after the other"):
            found = session.estimate(columns=list(columns), key=key, **asked, **offer)
        left = session.budget()
    door.tell({**found.to_dict(), "left": left.to_dict()}, facts(*found.facts(), ("left", left)))
