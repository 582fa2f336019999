"""`lapwing demo`."""

import click

from lapwing.app.demo import run


@click.command()
def demo() -> None:
    """Show what lapwing does, on data it makes up itself."""
    run()
