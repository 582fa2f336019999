"""`lapwing demo`."""

from pathlib import Path

import click

from lapwing.app.demo import PEOPLE, run


@click.command()
@click.option("--people", default=PEOPLE, show_default=True, metavar="N", help="How many people to make up.")
@click.option("--folder", type=click.Path(path_type=Path), help="Keep the clinic in this new folder, to go on with it.")
def demo(people: int, folder: Path | None) -> None:
    """Show what lapwing does, on a clinic that it makes up.

    A story of half a minute: Ana asks, Mallory attacks, the sceptic checks. Everything in it is done for real, by the
    same code that answers your questions, and every number is computed while it is told.
    """
    run(people, folder=folder)
