"""The key fuzzer: whoever is written in two ways is two people, and whoever is written in one way is one, everywhere.

A few spellings are put into two tables, at every place where keys may stand. Either the tables are refused when they
are opened, or people are counted, in each table and across both, as a set of what is written counts them, and one more
spelling moves no number further than its price.

\b
    python -m fuzz.keys --seconds 60 --seed 1 --place csv-integer --place spark-lcase
"""

import itertools
import math
import random
import sys
import time
from collections import Counter
from contextlib import ExitStack

import click

import lapwing as ask
from fuzz.bounds import exceeded
from fuzz.key_places import KEY_PLACES
from fuzz.key_spellings import drawn
from fuzz.servers import Servers
from lapwing.queries.catalogue.column import Column, Integer
from lapwing.queries.catalogue.population import Population, RowsPerPerson, Table
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.errors import EngineError, RegistrationError
from lapwing.vocabulary.guarantee import PrivacyUnit

_MOST = 1000
_COLUMNS = (Column(name="x", type=Integer(low=0, high=_MOST)),)
_QUESTIONS = {
    "people of t": ask.count("t"),
    "people of u": ask.count("u"),
    "people of t who are in u": ask.count("t", ask.has("u")),
    "mean of t": ask.mean("t", "x"),
    "total of u": ask.total("u", "x", max_rows=1),
}


class FoundError(AssertionError):
    """What a fuzzer has found, in words that let it be found again."""


def run(seconds, seed):
    """Try spellings that follow from `seed` for so many seconds, each at another place, and return what was done."""
    with Servers() as servers:
        return searched(cases(seed, itertools.cycle(KEY_PLACES)), servers, until=time.monotonic() + seconds)


def cases(seed, places):
    """Yield a place and spellings that can stand there, for each of the places."""
    rng = random.Random(f"keys {seed}")
    for name in places:
        yield name, fitting(rng, KEY_PLACES[name])


def fitting(rng, place):
    """Draw until there are two spellings or more that can stand at a place, and return them."""
    while True:
        found = [spelling for spelling in drawn(rng) if _fits(place, spelling)]
        if len(found) > 1:
            return found


def _fits(place, spelling):
    try:
        place.held(spelling)
    except (ValueError, OverflowError):
        return False
    return True


def searched(pairs, servers, *, until=math.inf):
    """Try each place with its spellings, and return what was done; fail with what is found."""
    tally = Counter()
    for name, spellings in pairs:
        if time.monotonic() > until:
            break
        found = examined(KEY_PLACES[name], spellings, servers, tally)
        if found:
            pairs_of = itertools.combinations(spellings, 2)
            smaller = ((pair, examined(KEY_PLACES[name], pair, servers)) for pair in pairs_of)
            least, words = next(((pair, words) for pair, words in smaller if words), (spellings, found))
            raise FoundError(f"fuzz.keys: on {name}, {least!a}: {words}")
    return tally


def examined(place, spellings, servers, tally=None):
    """Return what is wrong with how a place keeps people apart who are spelt so, in words; nothing if nothing is."""
    tally = Counter() if tally is None else tally
    tally["cases"] += 1
    keys, failures = [place.held(spelling) for spelling in spellings], []
    population = _population(place.key_type)
    plans = {name: plan(question, population) for name, question in _QUESTIONS.items()}
    told = []
    with ExitStack() as stack:
        for held in (keys[:-1], keys):
            tables = _tables(held)
            try:
                engine = stack.enter_context(place.opened(population, tables, servers, failures.append))
            except RegistrationError as refused:
                tally["refused"] += 1
                must = place.refused(held)
                return f"refused, though they can be told apart: {refused}" if must is False else None
            try:
                told.append({name: engine.vector(one.aggregate).open_for_release() for name, one in plans.items()})
                streamed = _streamed(engine, plans)
            except EngineError:
                return f"a question fails: {failures}"
            right = _counted(tables)
            for name, number in right.items():
                tally["counts"] += 1
                if (told[-1][name], streamed[name]) != ((number,), number):
                    return f"{name}: {number} as written, {told[-1][name]} asked alone, {streamed[name]} in a stream"
    tally["people"] += len(set(keys) - {None})
    if place.refused(keys):
        return "not refused"
    if keys[-1] is None or keys[-1] in keys[:-1]:
        return None  # nobody came
    for name, planned in plans.items():
        tally["moves"] += 1
        before, after = (numbers[name] for numbers in told)
        wrong = exceeded(planned, before, after)
        if wrong:
            return f"{name} moves from {before} to {after}, and exceeds {', '.join(wrong)} of {planned.sensitivity}"
    return None


def _population(key_type):
    tables = (
        Table(name="t", columns=_COLUMNS, key_type=key_type),
        Table(name="u", columns=_COLUMNS, key_type=key_type, rows=RowsPerPerson.MANY_A_PERSON),
    )
    return Population(name="people", unit=PrivacyUnit(person_key="pid"), tables=tables)


def _tables(keys):
    """Return the rows of both tables: everybody in one, every other person twice in the other, in the other order."""
    rows = [(key, _MOST * (i % 2 == 0)) for i, key in enumerate(keys)]
    return {"t": rows, "u": [*rows[::2], *rows[::2]][::-1]}


def _counted(tables):
    """Return how many people there are, as a set counts them."""
    people = {name: {key for key, _ in rows} - {None} for name, rows in tables.items()}
    both = people["t"] & people["u"]
    return {"people of t": len(people["t"]), "people of u": len(people["u"]), "people of t who are in u": len(both)}


def _streamed(engine, plans):
    """Return the counts as a stream counts them."""
    counts = {name: one.aggregate for name, one in plans.items() if name.startswith("people")}
    numbers = engine.numbers(list(counts.values()), versions={"t": 1, "u": 1})
    return {name: number.open_for_release() for name, number in zip(counts, numbers, strict=True)}


@click.command(help=__doc__)
@click.option("--seconds", default=60.0, help="how long to look")
@click.option("--seed", default=1, help="where to begin")
@click.option("--place", "places", multiple=True, type=click.Choice(list(KEY_PLACES)), help="at these places only")
def main(seconds, seed, places):
    with Servers() as servers:
        try:
            pairs = cases(seed, itertools.cycle(places or KEY_PLACES))
            tally = searched(pairs, servers, until=time.monotonic() + seconds)
        except FoundError as found:
            sys.exit(str(found))
    click.echo(f"nothing found: {dict(tally)}")


if __name__ == "__main__":
    main()
