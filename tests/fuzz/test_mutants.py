"""The fuzzer is worth something: each mistake that was once made here is put back, and it is found.

From one seed, within a bounded number of cases; and the case that shows a mistake shows nothing without it.
"""

import itertools
import math
from contextlib import contextmanager
from dataclasses import replace

import pytest

from engines.broken import BROKEN
from fuzz import keys, truth
from fuzz.examining import Case, examined
from fuzz.neighbours import seeds_from
from fuzz.places import PLACES, Place
from lapwing.engines import duckdb, emitter, expression_sql, files, stored_columns
from lapwing.engines.files import DUCKDB
from lapwing.queries.algebra.predicate import Unit
from lapwing.queries.algebra.term import ConstantTerm, Rounded, plus, times
from lapwing.queries.catalogue.domains import Domain
from lapwing.queries.language.expressions import Name
from lapwing.queries.planning import measure, planner, semijoins
from lapwing.queries.statistics import counts, moments
from lapwing.queries.statistics.bernstein import coarser

CASES = 400
"""How many cases from its seed on it may take until a mistake is found."""


def nothing(*_):
    """Check nothing."""


def ranges_are_not_checked(patch):
    """The distance of a term from its lower bound leaves 64 bits: an error if and only if a row matches."""
    patch.setattr(planner, "check_total", nothing)
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


def keys_are_numbers_however_they_are_written(patch):
    """A key of CSV is a number with any sign, zeros and blanks: 7, 007 and +7 are one person."""
    form = "regexp_full_match(trim({0}), '[+-]?[0-9]+')"

    def is_misfit(column, kind, *, is_key):
        return f"coalesce(NOT {form.format(column)}, false)" if is_key and kind == DUCKDB.integer else "false"

    patch.setattr(files, "is_misfit", is_misfit)


def a_collation_is_trusted(patch):
    """A column of a DuckDB file says itself which texts are the same."""
    patch.setattr(duckdb, "_read", lambda _, stored, wanted: f"CAST({DUCKDB.name(stored.name)} AS {wanted})")


def uuids_are_compared_with_texts(patch):
    """A UUID in one table is looked for in another as one of the ways to write it."""
    patch.setattr(stored_columns, "_require_one_spelling", nothing)


def objects_are_written_out(patch):
    """What is in a column of objects becomes text, whatever it was."""
    patch.setattr(
        duckdb, "register_frame", lambda connection, *given: connection.register("incoming", given[-1]) and "incoming"
    )


def names_are_those_of_the_reader(patch):
    """Columns are looked for under the names that DuckDB gives them: PID and pid_1, where a file has PID and pid."""
    patch.setattr(duckdb._Registry, "_names", nothing)


OF_KEYS = {
    keys_are_numbers_however_they_are_written: ("csv-integer", "as written|not refused"),
    a_collation_is_trusted: ("duckdb-nocase", "as written|fails"),
    uuids_are_compared_with_texts: ("duckdb-uuid-and-text", "people of t who are in u: .* as written|not refused"),
    objects_are_written_out: ("pandas-objects", "as written|not refused"),
    names_are_those_of_the_reader: ("parquet-case", "people of t: .* as written"),
}
"""Each mistake about who is who, the place where it shows, and in which words."""


@pytest.mark.parametrize("mutant", OF_KEYS, ids=lambda mutant: mutant.__name__)
def test_a_mistake_about_who_is_who_is_found(mutant, monkeypatch) -> None:
    place, words = OF_KEYS[mutant]
    with monkeypatch.context() as patch:
        mutant(patch)
        with pytest.raises(keys.FoundError, match=words):
            keys.searched(keys.cases("mutants", [place] * CASES), None)


def test_a_key_with_zeros_in_front_that_is_read_as_a_number_is_one_person_for_two(monkeypatch) -> None:
    place = keys.KEY_PLACES["csv-integer"]
    assert keys.examined(place, ["7", "007"], None) is None
    keys_are_numbers_however_they_are_written(monkeypatch)
    assert keys.examined(place, ["7", "007"], None).startswith("people of t: 2 as written, (1,) asked alone")


MUTANTS = {
    files_say_what_their_rows_hold: ("parquet-pyarrow", 9, "bound", "exceeds L1"),
    views_are_trusted: ("duckdb-view", 1, "bound", "exceeds L1"),
    ranges_are_not_checked: ("arrow", 20, "failure", "Overflow in subtraction"),
    times_are_clipped_to_anything: ("arrow", 54, "failure", "cannot hold"),
    words_of_sql_are_looked_for_in_names: ("arrow", 2, "failure", "count mismatch"),
}
"""Each mistake, the place where it shows, a seed from which it is found soon, and as what it shows."""


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


def an_on_is_forgotten(patch):
    """Values and groups of a LEFT JOIN are looked up, whatever its ON says."""

    def looked_up(_joins, name, owner, base):
        key = Name(base.key, base.join.alias)
        return key if owner.is_key(name) else Name(name.name, owner.table.name)

    patch.setattr(semijoins.Joins, "value_beside", looked_up)


def every_column_of_a_person_is_their_key(patch):
    """count(n) of one row a person counts people, also where n is missing."""
    planned = counts.CountRows.plan

    def plan(asked, planner):
        return counts.plan_people(planner) if asked.each is not None else planned(asked, planner)

    patch.setattr(counts.CountRows, "plan", plan)


def everybody_is_in_the_table_of_people(patch):
    """A UNION counts those who have a row there."""
    patch.setattr(semijoins, "_everybody", lambda _, population: (population, population.table("patients")))


def products_are_rounded_twice(patch):
    """What a row adds to the sums of a moment is on a grid that is 4,096 times as coarse as it is taken for."""

    def coarse(terms, whole, most):
        rounded, unit = coarser(terms, whole, most)
        if unit == whole:
            return rounded, unit
        down = [Rounded(plus(term, ConstantTerm(-2048)), 12) for term in rounded]
        return tuple(times(ConstantTerm(4096), term) for term in down), unit

    patch.setattr(moments, "coarser", coarse)


@pytest.mark.parametrize(
    "mutant",
    [
        an_on_is_forgotten,
        every_column_of_a_person_is_their_key,
        everybody_is_in_the_table_of_people,
        products_are_rounded_twice,
    ],
    ids=lambda mutant: mutant.__name__,
)
def test_a_wrong_number_that_was_once_told_is_found(mutant, monkeypatch) -> None:
    mutant(monkeypatch)
    with pytest.raises(AssertionError, match=r"is not|groups are missing"):
        truth.run(math.inf, seed=4, most=CASES)


def test_nothing_is_found_without_these_mistakes() -> None:
    assert truth.run(math.inf, seed=4, most=CASES)["compared"] > CASES // 2


SEEDS = {"ClipsACopy": 4, "CountsEveryStep": 4, "CountsRowsForPeople": 1, "ForgetsTheCellLimit": 2}
SEEDS |= {"ForgetsTheRowLimit": 3, "KeepsTheLargestCells": 12, "LooksAtOtherPeople": 2, "LooksUpAnybody": 4}
SEEDS |= {"StartsByTheTable": 9, "TakesTheFirstRows": 7}
"""From where an engine's mistake is found soon; it is found from any other, too, and may take a quarter of a minute."""


@pytest.mark.parametrize("liar", BROKEN, ids=lambda liar: liar.__name__)
def test_an_engine_with_a_mistake_exceeds_its_price(liar) -> None:
    @contextmanager
    def opened(population, tables, *_):
        yield liar(population, tables)

    assert first_shown(Place(liar.__name__, opened), SEEDS.get(liar.__name__, 0), "bound") is not None
