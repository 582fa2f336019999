"""No statement fails once its question was accepted, whatever the rows hold, and all engines agree.

The rows are the edges of every type, and so are the constants of the questions. The names of the columns are parts of
SQL. Rows are loaded once for each engine, so that many questions can be asked.
"""

from contextlib import suppress
from dataclasses import fields, is_dataclass

import pytest

import lapwing as ask
from engines.edges import Asker, edges, rows
from engines.rows_in_memory import RowsInMemory
from engines.workbenches import ENGINES
from lapwing.queries.catalogue import KeyType
from lapwing.queries.expressions import Missing, Name, Not
from lapwing.queries.planning import plan
from lapwing.vocabulary.errors import BadQuestionError, EngineError

TRIES = {"duckdb": 400, "postgres": 300, "spark": 12}
POPULATIONS = {"whole keys": edges(), "text keys": edges(KeyType.TEXT)}
TRIED = [(engine, keys) for engine in TRIES for keys in POPULATIONS]


class Bench:
    """An engine and the oracle on the same rows; the reason of a failure is kept, to be shown."""

    def __init__(self, engine, population, tries):
        self.population, self.tables, self.tries, self.reasons = population, rows(population), tries, []
        self.oracle = RowsInMemory(population, self.tables)
        self.engine = engine.load(self.tables)
        self.engine._on_failure = self.reasons.append

    def answer(self, aggregate):
        try:
            sent = self.engine.keyed(aggregate) if aggregate.cells is None else self.engine.vector(aggregate)
        except EngineError:
            return self.reasons.pop()
        return sent.open_for_release()

    def expected(self, aggregate):
        return self.oracle.cells(aggregate) if aggregate.cells is None else self.oracle.in_order(aggregate)


@pytest.fixture(scope="module", params=TRIED, ids=" ".join)
def bench(request):
    engine, keys = request.param
    with ENGINES[engine](POPULATIONS[keys], request) as workbench:
        yield Bench(workbench, POPULATIONS[keys], TRIES[engine])


def accepted(population, *, seed, tries):
    """The aggregates of the questions that are not refused, each with the seed that asks it again."""
    plans = {}
    for place in range(tries):
        asked = Asker(population, f"{seed} {place}").question()
        with suppress(BadQuestionError):
            plans[place] = plan(asked, population).aggregate
    return plans


@pytest.mark.parametrize("seed", range(4))
def test_what_is_accepted_is_answered_and_alike(bench, seed) -> None:
    for place, aggregate in accepted(bench.population, seed=seed, tries=bench.tries).items():
        assert bench.answer(aggregate) == bench.expected(aggregate), f"seed {seed} {place}: {aggregate}"


def test_a_cohort_on_bitmaps_is_that_of_a_statement(bench) -> None:
    table, asker = bench.population.tables[0], Asker(bench.population, "cohorts")
    wheres = [Missing(Name(column.name)) for column in table.columns]
    wheres += [Not(where) for where in wheres] + [asker.atom(table) for _ in range(40)]
    aggregates = [plan(ask.count(table.name, where), bench.population).aggregate for where in wheres]
    found = bench.engine.numbers(aggregates, versions={})
    assert [(number.open_for_release(),) for number in found] == [bench.expected(a) for a in aggregates]


ALL_NOUNS = {
    *{"InIntervals", "InTexts", "NotInTexts", "StartsWith", "StartsNotWith", "IsMissing", "IsPresent", "Gap"},
    *{"HasRows", "LacksRows", "AllOf", "AnyOf", "OnGrid", "Elapsed", "ConstantTerm", "Plus", "Times", "Rounded"},
    *{"DeclaredKey", "BinnedKey", "GridKey", "PrivateKey"},
    *{"CountPerPerson", "LastStepPerPerson", "ClippedSumPerPerson", "BoundedRowsPerPerson", "DistinctKeys"},
}


def test_the_questions_reach_all_of_the_algebra() -> None:
    tries = 4 * TRIES["duckdb"]
    plans = accepted(POPULATIONS["whole keys"], seed=0, tries=tries)
    assert {name for aggregate in plans.values() for name in nouns(aggregate)} >= ALL_NOUNS
    assert len(plans) > tries / 4


def nouns(noun):
    """The names of all classes in an aggregate."""
    if is_dataclass(noun):
        yield type(noun).__name__
        for field in fields(noun):
            yield from nouns(getattr(noun, field.name))
    elif isinstance(noun, tuple):
        for part in noun:
            yield from nouns(part)
