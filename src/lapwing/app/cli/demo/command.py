"""The command `lapwing demo`."""

from pathlib import Path

import click


@click.command()
@click.option("--people", type=int, default=100_000, show_default=True, metavar="N", help="How many people to make up.")
@click.option("--folder", type=click.Path(path_type=Path), help="Keep the clinic in a folder, to go on with it.")
@click.option("--plots", type=click.Path(path_type=Path), metavar="FOLDER", help="Draw pictures, too, into a folder.")
@click.option(
    "--make", is_flag=True, help="Only make the clinic in --folder, with an account of its own: to play with."
)
def demo(people: int, folder: Path | None, plots: Path | None, *, make: bool) -> None:
    """Show what lapwing does, on a clinic that it makes up.

    A story of half a minute: Ana asks, Mallory attacks, the sceptic checks. All of it is done for real, by the code
    that answers your questions, and every number is computed while it is told.

    \b
    lapwing demo
    lapwing demo --people 1000000 --plots pictures
    lapwing demo --make --folder clinic
    """
    from lapwing.app.cli.demo.story import make_workspace, run

    if make:
        make_workspace(people, folder)
    else:
        run(people, folder=folder, plots=plots)
