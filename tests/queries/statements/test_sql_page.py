"""The page about SQL is true: what is answered has the numbers of a database, what is refused has its sentence."""

import pytest

from engines.workbenches import DuckDBBench, PostgresBench
from queries.omop import omop, rows
from queries.sql_page import ANSWERED, database, disagreement, outcome, statements

STATEMENTS = statements()
ANSWERED_ONES = [one for one in STATEMENTS if one.outcome == ANSWERED]
FIRST_WORDINGS = "What a researcher writes first"


def name_of(statement) -> str:
    return f"{STATEMENTS.index(statement)} {statement.text[:60]!a}"


@pytest.fixture(scope="module")
def truth():
    with database() as connection:
        yield connection


@pytest.fixture(scope="module")
def in_duckdb():
    with DuckDBBench(omop()) as engine:
        yield engine.load(rows())


@pytest.fixture(scope="module")
def in_postgres(postgres):
    with PostgresBench(omop(), postgres) as engine:
        yield engine.load(rows())


@pytest.mark.parametrize("statement", STATEMENTS, ids=name_of)
def test_each_statement_becomes_what_the_page_says(statement) -> None:
    assert outcome(statement.text) == statement.outcome


@pytest.mark.parametrize("statement", ANSWERED_ONES, ids=name_of)
def test_duckdb_has_the_same_numbers_before_noise(statement, in_duckdb, truth) -> None:
    assert disagreement(statement, in_duckdb, truth) is None


@pytest.mark.parametrize("statement", ANSWERED_ONES, ids=name_of)
def test_postgres_has_the_same_numbers_before_noise(statement, in_postgres, truth) -> None:
    assert disagreement(statement, in_postgres, truth) is None


def test_there_are_enough_statements_and_nine_of_ten_first_wordings_are_answered() -> None:
    first = statements(FIRST_WORDINGS)
    assert len(first) == 78
    assert len({one.text for one in STATEMENTS}) == len(STATEMENTS) >= 120
    assert sum(one.outcome == ANSWERED for one in first) >= 0.9 * len(first)


def test_a_wrong_number_is_noticed(in_duckdb, truth) -> None:
    """The comparison can fail: rows that a statement does not ask about change nothing, others do."""
    person = [one for one in ANSWERED_ONES if one.text == "select count(*) from person"]
    truth.execute("insert into person select * from person limit 1")
    try:
        assert disagreement(person[0], in_duckdb, truth) is not None
    finally:
        truth.execute("drop view omop.person; drop table person")
