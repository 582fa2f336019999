"""Run the tests of what has changed, the nearest first, and end in time. It says what it ran, and what it left out.

\b
    python -m quick
    python -m quick --since HEAD~3 --seconds 60

What has changed is whatever is not as it was where this branch left main; on main itself, since the last commit.
"""

import os
import sys
import time
from collections import Counter
from pathlib import Path

import click
import pytest

from mutation.places import ROOT, TESTS
from quick import limit
from quick.choosing import begun_at, changed, chosen

MOST_FILES = 60
"""More test files than these are not even loaded: there would be no time for them."""
SHOWN = 12


def told(heading: str, lines: list[str]) -> None:
    """Show a heading with as many lines as are easily read."""
    click.echo(heading)
    for line in lines[:SHOWN]:
        click.echo(f"  {line}")
    if len(lines) > SHOWN:
        click.echo(f"  and {len(lines) - SHOWN} more")


def by_file(tests: list[str]) -> list[str]:
    """Return a line for each file, with how many of its tests these are."""
    return [f"{many:5,} of {file}" for file, many in Counter(test.partition("::")[0] for test in tests).items()]


def workers(files: list[Path]) -> list[str]:
    """Return the options with which files are shared by processes, in their order: one more than there are cores."""
    many = min(len(files), len(os.sched_getaffinity(0)) + 1)
    return ["-n0"] if many < 2 else ["-n", str(many), "--dist=loadfile", "--no-loadscope-reorder"]


@click.command(help=__doc__)
@click.option("--since", default=None, help="the commit with which files are compared")
@click.option("--seconds", default=100.0, help="how long tests may run, from now")
@click.option("--list", "only_listed", is_flag=True, help="say what would be run, in order, and run nothing")
def main(since: str | None, seconds: float, only_listed: bool) -> None:  # noqa: FBT001 - an option
    until = time.monotonic() + seconds
    since = since or begun_at()
    files = changed(since)
    tests = chosen(files)
    near, far = tests[:MOST_FILES], [str(test.relative_to(ROOT)) for test in tests[MOST_FILES:]]
    told(f"{len(files)} files have changed since {since[:10]}", [str(file.relative_to(ROOT)) for file in files])
    if only_listed or not near:
        for test in tests:
            click.echo(test.relative_to(ROOT))
        click.echo(f"{len(tests)} test files examine them; nothing was run")
        return
    os.environ[limit.UNTIL] = str(until)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    options = ["-q", "-p", "quick.limit", "--durations=0", "--durations-min=5", *workers(near)]
    code = int(pytest.main([*options, *(str(test.relative_to(ROOT)) for test in near)]))
    told(f"ran {len(limit.ran):,} tests", by_file(list(limit.ran)))
    not_run = [test for test in limit.there if test not in limit.ran]
    if not_run:
        told(f"LEFT OUT {len(not_run):,} tests of these files, for {seconds:g} seconds were over", by_file(not_run))
    if far:
        told(f"LEFT OUT {len(far)} test files that are farther away", far)
    click.echo("make test runs all that there is")
    sys.exit(code)


if __name__ == "__main__":
    main()
