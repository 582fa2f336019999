"""Most of what analysts write about tables of their own is answered, and no answer is wrong."""

import pytest

from engines.workbenches import DuckDBBench
from lapwing.queries.statements.catalogue_statements import read_catalogue
from queries.natural_statements import HOUSES, PLAIN, STATEMENTS, rows
from queries.sql_page import ANSWERED, Statement, disagreement, filled, outcome

ANSWERED_TODAY = 139
"""Of 150; it only rises."""
CATALOGUE = {(house, text): told for house, text in STATEMENTS if (told := read_catalogue(text, HOUSES[house]))}
OUTCOMES = {
    (house, text): ANSWERED if (house, text) in CATALOGUE else outcome(text, HOUSES[house])
    for house, text in STATEMENTS
}


def test_as_many_statements_are_answered_as_ever() -> None:
    assert len(OUTCOMES) == 150
    refused = [f"{house}: {text}: {found}" for (house, text), found in OUTCOMES.items() if found != ANSWERED]
    assert len(OUTCOMES) - len(refused) == ANSWERED_TODAY, "\n".join(refused)


@pytest.mark.parametrize("house", HOUSES)
def test_the_numbers_before_noise_are_those_of_duckdb(house: str) -> None:
    population, wrong = HOUSES[house], dict[str, str]()
    with DuckDBBench(population) as engine, filled(population, rows(house)) as truth:
        engine.load(rows(house))
        for (where, text), found in OUTCOMES.items():
            if where != house or found != ANSWERED:
                continue
            if (told := CATALOGUE.get((where, text))) is not None:  # databases have other words for types
                assert {row[0] for row in told.rows} == {row[0] for row in truth.execute(text).fetchall()}
                continue
            statement = Statement(text, found, PLAIN.get(text, text), 1e-4 if "var_samp" in text else 1e-6)
            unlike = disagreement(statement, engine, truth, population)
            wrong |= {} if unlike is None else {text: unlike}
    assert wrong == {}
