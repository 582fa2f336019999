"""The command that asks a table of pairs as a graph."""

from typing import TYPE_CHECKING, Any

import click

from lapwing.doors.cli.commands import facts
from lapwing.doors.cli.options import Door, at_the_door, complete_tables, priced, where_option

if TYPE_CHECKING:
    from lapwing.answers.target import TargetWords


@click.command()
@click.argument("table", shell_complete=complete_tables)
@click.argument("what", type=click.Choice(["edges", "degrees", "triangles", "stars"]))
@click.option("--between", metavar="ONE,OTHER", help="The two columns that hold the people, if it is not clear.")
@click.option("--points", metavar="N", help="How many points a star has.")
@click.option("--up-to", metavar="N", help="People with so many edges or more are counted together, for degrees.")
@click.option("--max-degree", metavar="N", help="Let so many edges of a person count, and protect the person with all.")
@where_option
@click.option("--key", help="An idempotency key: the same key brings back the same answer, free, for ever.")
@click.option("--dry-run", is_flag=True, help="Say price and error, and ask nothing: free.")
@priced
@at_the_door
def graph(
    door: Door,
    offer: "TargetWords",
    *,
    table: str,
    what: str,
    between: str | None,
    where: str | None,
    key: str | None,
    dry_run: bool,
    **counted: str | None,
) -> None:
    """Count in a graph: edges, degrees, triangles or stars of a table of pairs.

    The table has one row for each edge, of a population whose keys name edges; the people are the whole numbers that
    are declared for two of its columns. What is protected is one edge, and the answer says what that hides.

    \b
    lapwing graph friend triangles --epsilon 1
    lapwing graph friend stars --points 3 --epsilon 1 --dry-run
    lapwing graph friend degrees --max-degree 20 --epsilon 1

    It costs the epsilon you offer, also where many degrees are counted.
    """
    from lapwing.doors.cli.questions import whole_or_none

    words: dict[str, Any] = {name: whole_or_none(name, given) for name, given in counted.items()}
    words = {name: given for name, given in words.items() if given is not None}
    ends = None if between is None else tuple(name.strip() for name in between.split(","))
    with door.session() as session:
        network = session.graph(table, between=ends, where=where)  # type: ignore[arg-type] # it is looked at there
        preview = network.preview(what, **words, **offer)
        told = preview if dry_run else getattr(network, what)(key=key, **words, **offer)
        door.tell(told.to_dict(), facts(*told.facts()))
