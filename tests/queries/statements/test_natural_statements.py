"""Most of what analysts write about tables of their own is answered, and no answer is wrong."""

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType

import pytest

from engines.workbenches import DuckDBBench
from lapwing.queries.statements.catalogue_statements import read_catalogue
from queries import foreign_statements, natural_statements, newcomers_statements, visitors_statements
from queries.sql_page import ANSWERED, Statement, disagreement, filled, outcome


@dataclass
class Written:
    """Statements about several houses, and how many of them are answered: a number that only rises."""

    source: ModuleType
    answered: int

    @cached_property
    def outcomes(self) -> dict[tuple[str, str], str]:
        """What becomes of each."""
        return {(house, text): self._outcome(house, text) for house, text in self.source.STATEMENTS}

    def _outcome(self, house: str, text: str) -> str:
        population = self.source.HOUSES[house]
        return ANSWERED if read_catalogue(text, population) else outcome(text, population)


NATURAL = Written(natural_statements, 146)
FOREIGN = Written(foreign_statements, 145)
NEWCOMERS = Written(newcomers_statements, 82)
VISITORS = Written(visitors_statements, 91)
ALL = [NATURAL, FOREIGN, NEWCOMERS, VISITORS]
HOUSES = [(written, house) for written in ALL for house in written.source.HOUSES]


@pytest.mark.parametrize("written", ALL, ids=["natural", "foreign", "newcomers", "visitors"])
def test_as_many_statements_are_answered_as_ever(written: Written) -> None:
    assert len(written.outcomes) >= 95
    refused = [f"{house}: {text}: {found}" for (house, text), found in written.outcomes.items() if found != ANSWERED]
    assert len(written.outcomes) - len(refused) == written.answered, "\n".join(refused)


@pytest.mark.parametrize(("written", "house"), HOUSES, ids=[house for _, house in HOUSES])
def test_the_numbers_before_noise_are_those_of_duckdb(written: Written, house: str) -> None:
    population, rows, wrong = written.source.HOUSES[house], written.source.rows(house), dict[str, str]()
    with DuckDBBench(population) as engine, filled(population, rows) as truth:
        engine.load(rows)
        for (where, text), found in written.outcomes.items():
            if where != house or found != ANSWERED:
                continue
            if (told := read_catalogue(text, population)) is not None:  # databases have other words for types
                assert {row[0] for row in told.rows} == {row[0] for row in truth.execute(text).fetchall()}
                continue
            plain = written.source.PLAIN.get(text, text)
            statement = Statement(text, found, plain, _close(text))
            unlike = disagreement(statement, engine, truth, population)
            wrong |= {} if unlike is None else {text: unlike}
    assert not wrong, "\n".join(f"{text}: {unlike}" for text, unlike in wrong.items())


def _close(text: str) -> float:
    """Return how far numbers may be apart, as a part of them: what may be very large is added up on a coarse grid."""
    if any(part in text for part in ("/ sum(kwh)", "stddev(l.fine)", "regr_slope(sbp")):
        return 1e-3
    return 1e-4 if any(word in text for word in ("var_samp", "covar", "nullif(wait_seconds")) else 1e-6
