"""No statement fails once its question was accepted, whatever the rows hold, and all engines agree.

The rows are the edges of every type, and so are the constants of the questions. The names of the columns are parts of
SQL. Rows are loaded once for each engine, so that many questions can be asked.
"""

from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from itertools import product

import pytest

import lapwing as ask
from engines.edges import Asker, edges, rows
from engines.rows_in_memory import RowsInMemory
from engines.workbenches import ENGINES
from lapwing.queries.catalogue.population import KeyType
from lapwing.queries.language.expressions import Missing, Name, Not
from lapwing.queries.planning.planner import plan
from lapwing.vocabulary.errors import BadQuestionError, EngineError

TRIES = {"duckdb": 400, "postgres": 300, "spark": 400}
SEEDS = 4
POPULATIONS = {"whole keys": edges(), "text keys": edges(KeyType.TEXT)}
TRIED = [(engine, keys) for engine in TRIES for keys in POPULATIONS]


class Bench:
    """An engine and the oracle on the same rows; the reason of a failure is kept, to be shown."""

    def __init__(self, engine, population, plans):
        self.population, self.tables, self.plans, self.reasons = population, rows(population), plans, []
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
        yield Bench(workbench, POPULATIONS[keys], accepted(keys, engine))


@cache
def all_accepted(keys):
    plans = {}
    for seed, place in product(range(SEEDS), range(max(TRIES.values()))):
        asked = Asker(POPULATIONS[keys], f"{seed} {place}").question()
        with suppress(BadQuestionError):
            plans[seed, place] = plan(asked, POPULATIONS[keys]).aggregate
    return plans


def accepted(keys, engine):
    """The aggregates of the questions that are not refused, each with the seed and the place that ask it again."""
    plans = {(seed, place): one for (seed, place), one in all_accepted(keys).items() if place < TRIES[engine]}
    # Spark takes a fifth of a second for each question: it is asked no two that are alike.
    return telling(plans) if engine == "spark" else plans


def telling(plans):
    """Those of the aggregates that have a noun of the algebra which none before them had."""
    told, seen = {}, set()
    for place, aggregate in plans.items():
        if set(nouns(aggregate)) - seen:
            told[place] = aggregate
            seen |= set(nouns(aggregate))
    return told


@pytest.mark.parametrize("seed", range(SEEDS))
def test_what_is_accepted_is_answered_and_alike(bench, seed) -> None:
    for (of_seed, place), aggregate in bench.plans.items():
        if of_seed == seed:
            assert bench.answer(aggregate) == bench.expected(aggregate), f"seed {seed} {place}: {aggregate}"


def test_a_cohort_on_bitmaps_is_that_of_a_statement(bench) -> None:
    table, asker = bench.population.tables[0], Asker(bench.population, "cohorts")
    wheres = [Missing(Name(column.name)) for column in table.columns]
    wheres += [Not(where) for where in wheres] + [asker.atom(table) for _ in range(40)]
    aggregates = [plan(ask.count(table.name, where), bench.population).aggregate for where in wheres]
    found = bench.engine.numbers(aggregates, versions={})
    assert [(number.open_for_release(),) for number in found] == [bench.expected(a) for a in aggregates]


ALL_NOUNS = {
    *{"InIntervals", "InTexts", "NotInTexts", "Like", "NotLike", "IsMissing", "IsPresent", "Gap", "Compared"},
    *{"HasRows", "LacksRows", "AllOf", "AnyOf", "OnGrid", "Elapsed", "ConstantTerm", "Plus", "Times", "Rounded"},
    *{"DeclaredKey", "BinnedKey", "GridKey", "PrivateKey"},
    *{"CountPerPerson", "LastStepPerPerson", "ClippedSumPerPerson", "BoundedRowsPerPerson", "DistinctKeys"},
    *{"DAYS", "YEARS"},
}


@pytest.mark.parametrize("keys", POPULATIONS)
def test_the_questions_reach_all_of_the_algebra(keys) -> None:
    for engine in TRIES:
        asked = accepted(keys, engine)
        assert {name for aggregate in asked.values() for name in nouns(aggregate)} >= ALL_NOUNS
    assert len(all_accepted(keys)) > SEEDS * max(TRIES.values()) / 4


def nouns(noun):
    """The names of all classes in an aggregate, and of units."""
    if is_dataclass(noun):
        yield type(noun).__name__
        for field in fields(noun):
            yield from nouns(getattr(noun, field.name))
    elif isinstance(noun, Enum):
        yield noun.name
    elif isinstance(noun, tuple):
        for part in noun:
            yield from nouns(part)
