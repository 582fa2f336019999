"""Every fuzzer, one after the other, each for the same time. One that finds something does not keep the others from it.

\b
    python -m fuzz --seconds 300 --seed 7
    python -m fuzz --seconds 300 --seed 7 neighbours damage

A fuzzer is a module here with `run(seconds, seed)`, which fails with what it has found.
"""

import importlib
import sys
import traceback
from importlib.util import find_spec

import click

FUZZERS = tuple(name for name in ("neighbours", "kills", "damage", "sql") if find_spec(f"fuzz.{name}"))


@click.command(help=__doc__)
@click.option("--seconds", default=60.0, help="how long each of them looks")
@click.option("--seed", default=1, help="where they begin")
@click.argument("chosen", nargs=-1, type=click.Choice(FUZZERS))
def main(seconds, seed, chosen):
    found = []
    for name in chosen or FUZZERS:
        click.echo(f"fuzz.{name}: {seconds:g} s from seed {seed}")
        try:
            importlib.import_module(f"fuzz.{name}").run(seconds, seed)
        except AssertionError as finding:
            found.append(name)
            click.echo(str(finding) or traceback.format_exc())
    click.echo(f"found something: {', '.join(found)}" if found else "nothing found")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
