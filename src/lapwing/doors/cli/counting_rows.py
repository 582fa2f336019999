"""The command that says how many rows people have: how much a bound of rows cuts, and which one is enough."""

from typing import TYPE_CHECKING

import click

from lapwing.doors.cli.commands import facts, refusal_record, table, waiting
from lapwing.doors.cli.options import Door, at_the_door, complete_tables, priced, where_option
from lapwing.vocabulary.exact import as_int

if TYPE_CHECKING:
    from lapwing.answers.target import TargetWords


@click.command("rows-a-person")
@click.argument("of", metavar="TABLE", shell_complete=complete_tables)
@where_option
@click.option("--up-to", metavar="N", help="How many rows of a person are counted; 4 times the table's own max_rows.")
@click.option("--max-rows", "limits", multiple=True, metavar="N", help="Say what this bound would cut, too: free.")
@click.option("--key", help="An idempotency key: the same key brings back the same answer, free, for ever.")
@click.option("--dry-run", is_flag=True, help="Say the price and the error: free.")
@priced
@at_the_door
def rows_a_person(
    door: Door,
    offer: "TargetWords",
    *,
    of: str,
    where: str | None,
    up_to: str | None,
    limits: tuple[str, ...],
    key: str | None,
    dry_run: bool,
) -> None:
    """Say how many rows people have in a table: how much a bound of rows cuts, and which one is enough.

    Where a person may have many rows, only max_rows of each count, and what is beyond is cut: in no number, and in no
    error. This counts people by how many rows they have, and says how much any max_rows leaves out.

    \b
    lapwing rows-a-person visit --epsilon 0.1 --dry-run
    lapwing rows-a-person visit --epsilon 0.1 --max-rows 8

    It costs what one count of people costs: the epsilon you offer, once. The same again is free.
    """
    most = None if up_to is None else as_int("--up-to", up_to, least=2)
    also = [as_int("--max-rows", one, least=1) for one in limits]
    with door.session() as session:
        if dry_run:
            preview = session.preview_rows_a_person(of, where, up_to=most, **offer)
            door.tell({**preview.to_dict(), "refusal": refusal_record(preview.refusal)}, facts(*preview.facts()))
            return
        with waiting("counting"):
            found = session.rows_a_person(of, where, up_to=most, key=key, **offer)
        left = session.budget()
    record = found.to_dict(also=also)
    lines = [
        [str(one["max_rows"]), *(f"{100 * one[word]:.0f} %" for word in ("share", "low", "high"))]
        for one in record["cuts"]
    ]
    shown = table(["max_rows", "cuts about", "from (95 %)", "to"], lines, left=0)
    door.tell({**record, "left": left.to_dict()}, shown, facts(*found.facts(), ("left", left)))
