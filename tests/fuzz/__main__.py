"""Every fuzzer, one after the other, each for the same time. One that finds something does not keep the others from it.

\b
    python -m fuzz --seconds 300 --seed 7
    python -m fuzz --seconds 300 --seed 7 neighbours damage

A fuzzer is a module here with `run(seconds, seed)`, which fails with what it has found, and else returns a tally: how
much it looked at, in its own words, as in `Counter(drawn=9000, compared=7321)`. A number that it names and that is 0 is
a failure as well: a fuzzer that looks at nothing finds nothing.
"""

import importlib
import sys
import traceback
from collections import Counter
from importlib.util import find_spec

import click

NAMES = (
    "neighbours",
    "kills",
    "damage",
    "sql",
    "truth",
    "keys",
    "cost",
    "losses",
)
FUZZERS = tuple(name for name in NAMES if find_spec(f"fuzz.{name}"))


def looked(name, seconds, seed):
    """Let a fuzzer look for so long, and return in a line what it has looked at.

    Raises
    ------
    AssertionError : it has found something, or has looked at nothing
    """
    tally = importlib.import_module(f"fuzz.{name}").run(seconds, seed)
    assert tally, "it looked at nothing"
    nothing = [what for what, times in tally.items() if not times]
    assert not nothing, f"it looked at nothing: 0 {', 0 '.join(nothing)}"
    return ", ".join(f"{times:,} {what}" for what, times in Counter(tally).items())


@click.command(help=__doc__)
@click.option("--seconds", default=60.0, help="how long each of them looks")
@click.option("--seed", default=1, help="where they begin")
@click.argument("chosen", nargs=-1, type=click.Choice(FUZZERS))
def main(seconds, seed, chosen):
    found = []
    for name in chosen or FUZZERS:
        click.echo(f"fuzz.{name}: {seconds:g} s from seed {seed}")
        try:
            click.echo(f"fuzz.{name}: {looked(name, seconds, seed)}; nothing found")
        except AssertionError as finding:
            found.append(name)
            click.echo(f"fuzz.{name}: {str(finding) or traceback.format_exc()}")
    click.echo(f"found something: {', '.join(found)}" if found else "nothing found")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
