"""The command line: `lapwing`."""

import click


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lapwing")
def main() -> None:
    """Ask a table of people questions, with differential privacy."""


@main.command()
def demo() -> None:
    """Show what lapwing does, on data it makes up itself."""
    from lapwing.app.demo import run  # noqa: PLC0415 - `lapwing --help` must not load the numerics

    run()
