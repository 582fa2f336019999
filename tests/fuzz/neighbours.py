"""The neighbour fuzzer: random catalogues, neighbouring tables and questions, on every engine and file format.

From a seed all of it follows, the same every time. A finding is shrunk before it is shown, and names its case.

\b
    python -m fuzz.neighbours --seconds 60 --seed 1 --place csv --place parquet-pyarrow
    python -m fuzz.neighbours --place csv --case 2357892
"""

import itertools
import math
import random
import sys
import time
from collections import Counter
from dataclasses import replace

import click

from fuzz.examining import Case, examined
from fuzz.places import PLACES
from fuzz.servers import Servers
from fuzz.shrinking import shown, shrunk
from fuzz.spelling import in_sql


class FoundError(AssertionError):
    """What a fuzzer has found, in words that let it be found again."""


def run(seconds, seed):
    """Examine cases that follow from `seed` for a number of seconds, each on another place; fail with what is found.

    Return how much was examined: pairs of neighbours, questions asked, and answers that moved just as far as priced.
    """
    with Servers() as servers:
        pairs = zip(seeds_from(seed), itertools.cycle(PLACES), strict=False)
        return searched(pairs, servers, until=time.monotonic() + seconds)


def seeds_from(seed):
    """Yield the seeds of cases, for ever."""
    rng = random.Random(seed)
    while True:
        yield rng.getrandbits(32)


def searched(pairs, servers, *, until=math.inf):
    """Examine each pair of a case and a place, and return what was done; fail with what is found."""
    tally = Counter(pairs=0, asked=0)
    for seed, name in pairs:
        if time.monotonic() > until:
            break
        tally["pairs"] += 1
        case = Case.drawn(seed)
        for found in examined(case, PLACES[name], servers, tally):
            raise FoundError(report(case, name, servers, found))
    return tally


def report(case, name, servers, found):
    """Return a finding in words, on the smallest tables and with the simplest question that show it."""
    asked = case.questions if found.question is None else (found.question,)
    last = [found]

    def still_shows(candidate):
        again = [one for one in examined(candidate, PLACES[name], servers) if one.kind == found.kind]
        last[:] = again or last
        return bool(again)

    small = replace(case, questions=asked)
    if still_shows(small):
        small = shrunk(small, still_shows)
    lines = [
        f"fuzz.neighbours: {found.kind}, on {name}",
        *(f"asked: {shown(each)}" for each in small.questions),
        *(f"in SQL: {text}" for each in small.questions if (text := in_sql(each, small.population))),
        last[0].words,
        f"catalogue: {shown(small.population)}",
        *(f"rows of {part}: {getattr(small.pair, part)}" for part in ("others", "leaving", "coming")),
        f"again: python -m fuzz.neighbours --place {name} --case {case.seed}",
    ]
    return "\n".join(lines)


@click.command(help=__doc__)
@click.option("--seconds", default=60.0, help="how long to look")
@click.option("--seed", default=1, help="where to begin")
@click.option("--place", "places", multiple=True, type=click.Choice(list(PLACES)), help="on these places only")
@click.option("--case", "cases", multiple=True, type=int, help="look at these cases only, on every chosen place")
def main(seconds, seed, places, cases):
    places = places or tuple(PLACES)
    pairs = itertools.product(cases, places) if cases else zip(seeds_from(seed), itertools.cycle(places), strict=False)
    until = math.inf if cases else time.monotonic() + seconds
    with Servers() as servers:
        try:
            tally = searched(pairs, servers, until=until)
        except FoundError as found:
            sys.exit(str(found))
    click.echo(f"nothing found: {dict(tally)}")


if __name__ == "__main__":
    main()
