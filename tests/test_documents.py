"""The page of all that the five documents name: what a row names is there and public, and the page is as made."""

import dataclasses
import re

import pytest

from documents_page import KINDS, PAGE, STATES, TITLES, Row, awaited, is_there, page, rows, settled

ROWS = rows()
GOOD = Row(
    document="000", lines="1", what="counts", state="works", has="As it is.", names=["lw.count"], proofs=["laplace"]
)


@pytest.mark.parametrize("row", ROWS, ids=[str(number) for number in range(1, len(ROWS) + 1)])
def test_what_a_row_names_is_there_and_a_row_that_works_names_it(row) -> None:
    assert row.missing() == []
    assert row.state in STATES
    assert "`" not in row.has + row.what  # what is code is named where it is looked up
    if row.state == "works":
        assert row.names or row.commands or row.examples or row.pages
        assert row.proofs or row.tests or row.names or row.commands or row.says  # a page that only talks has to say it
        assert "issing" not in row.has
    else:
        assert "Missing" in row.has


def test_the_page_is_the_one_that_the_rows_make() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(ROWS), "run tests/documents_page.py"


def test_all_112_things_are_listed_in_the_order_of_the_documents() -> None:
    assert len(ROWS) == 112
    assert [row.document for row in ROWS] == sorted(row.document for row in ROWS)
    assert {row.document for row in ROWS} == set(TITLES)


@pytest.mark.parametrize(
    ("kind", "one"),
    [
        ("names", "lw.counts"),
        ("names", "mechanisms.GaussianSparseVectorRelease"),
        ("names", "accounting.composition"),
        ("names", "accounting.window.optimal_epsilon"),
        ("names", "Answer._value"),
        ("names", "Session.nothing"),
        ("names", "Session.stream(nothing=)"),
        ("names", "lw.count(nothing=)"),
        ("commands", "lapwing attack nothing"),
        ("commands", "lapwing nothing"),
        ("examples", "nothing.py"),
        ("pages", "nothing.md"),
        ("proofs", "nothing"),
        ("tests", "test_nothing"),
    ],
)
def test_what_is_not_there_is_seen(kind, one) -> None:
    assert not is_there(kind, one)
    lying = dataclasses.replace(GOOD, **{kind: [one]})
    assert GOOD.missing() == []
    assert lying.missing() == [f"{kind}: {one}"]


@pytest.mark.parametrize(
    ("kind", "one"),
    [
        ("names", "lw.count"),
        ("names", "Session.stream(at_least=)"),
        ("names", "Session.publish"),
        ("names", "mechanisms.SparseVector.margin(above=)"),
        ("names", "Preview.margin"),
        ("commands", "lapwing attack hadamard"),
        ("commands", "lapwing stream open"),
        ("tests", "test_what_is_not_there_is_seen"),
    ],
)
def test_what_is_there_is_found(kind, one) -> None:
    assert is_there(kind, one)


def test_a_row_works_when_all_that_it_waits_for_is_there_and_not_before() -> None:
    waiting = {"document": "000", "lines": "1", "what": "counts", "state": "not yet", "has": "Missing."}
    coming = {"state": "works", "has": "As it is.", "names": ["lw.count"], "proofs": ["laplace"]}
    assert settled(waiting | {"then": coming}) == GOOD
    for missing in ({"names": ["lw.count", "lw.nothing"]}, {"proofs": ["nothing"]}, {"proofs": []}):
        assert settled(waiting | {"then": coming | missing}) == Row(**waiting)


def test_what_rows_wait_for_is_told_and_no_row_that_works_waits() -> None:
    told = awaited()
    assert all(re.fullmatch(r"row \d+ waits for .+", line) for line in told)
    waiting = {int(line.split()[1]) for line in told}
    assert {number for number, row in enumerate(ROWS, 1) if row.state == "works"} & waiting == set()


def test_words_that_no_page_says_are_missing() -> None:
    said = dataclasses.replace(GOOD, pages=["glossary.md"], says="One word for one thing")
    assert said.missing() == []
    assert dataclasses.replace(said, says="two words for one thing").missing() == ["says: two words for one thing"]


def test_a_kind_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="none of names"):
        is_there("name", "lw.count")
    assert len(set(KINDS)) == 6
