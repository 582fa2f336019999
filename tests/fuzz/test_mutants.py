"""The fuzzer is worth something: each mistake that was once made here is put back, and it is found.

From one seed, within a bounded number of cases; and the case that shows a mistake shows nothing without it.
"""

import itertools
from contextlib import contextmanager
from dataclasses import replace

import pytest

from engines.broken import BROKEN
from fuzz.examining import Case, examined
from fuzz.neighbours import seeds_from
from fuzz.places import PLACES, Place
from lapwing.engines import duckdb, emitter, expression_sql, files
from lapwing.queries import measure, planning
from lapwing.queries.predicate import Domain, Unit

CASES = 250
"""How many cases from its seed on it may take until a mistake is found."""


def nothing(*_):
    """Check nothing."""


def ranges_are_not_checked(patch):
    """The distance of a term from its lower bound leaves 64 bits: an error if and only if a row matches."""
    patch.setattr(planning, "check_total", nothing)
    patch.setattr(emitter, "check_total", nothing)


def times_are_clipped_to_anything(patch):
    """The bounds of an age or of days between two leave 64 bits."""
    patch.setattr(measure, "GAPS", dict.fromkeys(Unit, Domain(-(10**40), 10**40)))
    ranges_are_not_checked(patch)


def words_of_sql_are_looked_for_in_names(patch):
    """Whether a type has missing values besides NULL is read off the statement, in which a column's name stands too."""

    def missing(writer, row, name):
        present = expression_sql.present_sql(writer, row, name)
        column = writer.column(row, name)
        return f"({column} IS NULL OR NOT {present})" if " IS NOT NULL" not in present else f"{column} IS NULL"

    patch.setattr(expression_sql, "_missing", missing)


def files_say_what_their_rows_hold(patch):
    """The database believes the least and greatest value that a file notes, in which NaN has no part."""
    patch.delitem(duckdb._PRIVATE, "disabled_optimizers")
    patch.delitem(files._AS_IT_IS, "can_have_nan")
    read = duckdb._read
    patch.setattr(duckdb, "_read", lambda name, stored, wanted: read(name, replace(stored, type=""), wanted))


def views_are_trusted(patch):
    """A view that held one row a person when it was opened is taken to hold one for ever."""
    patch.setattr(duckdb._Registry, "_require_stored", nothing)


MUTANTS = {
    files_say_what_their_rows_hold: ("parquet-pyarrow", 5, "bound", "exceeds L1"),
    views_are_trusted: ("duckdb-view", 1, "bound", "exceeds L1"),
    ranges_are_not_checked: ("arrow", 20, "failure", "Overflow in subtraction"),
    times_are_clipped_to_anything: ("arrow", 8, "failure", "cannot hold"),
    words_of_sql_are_looked_for_in_names: ("arrow", 2, "failure", "count mismatch"),
}
"""Each mistake, the place where it shows, a seed, and as what it shows."""


def first_shown(place, seed, kind, words=""):
    """Return the first case from `seed` on that shows something of this kind, in such words."""
    for case in map(Case.drawn, itertools.islice(seeds_from(seed), CASES)):
        if any(found.kind == kind and words in found.words for found in examined(case, place, None)):
            return case
    return None


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_mistake_that_is_put_back_is_found(mutant, monkeypatch) -> None:
    name, *shown = MUTANTS[mutant]
    with monkeypatch.context() as patch:
        mutant(patch)
        case = first_shown(PLACES[name], *shown)
    assert case is not None
    assert examined(case, PLACES[name], None) == []


SEEDS = {"ClipsACopy": 4, "CountsEveryStep": 7, "CountsRowsForPeople": 1, "ForgetsTheCellLimit": 2}
SEEDS |= {"ForgetsTheRowLimit": 3, "KeepsTheLargestCells": 11, "LooksUpAnybody": 4, "TakesTheFirstRows": 7}
"""From where an engine's mistake is found soon; it is found from any other, too, and may take a quarter of a minute."""


@pytest.mark.parametrize("liar", BROKEN, ids=lambda liar: liar.__name__)
def test_an_engine_with_a_mistake_exceeds_its_price(liar) -> None:
    @contextmanager
    def opened(population, tables, *_):
        yield liar(population, tables)

    assert first_shown(Place(liar.__name__, opened), SEEDS.get(liar.__name__, 0), "bound") is not None
