"""Publishing at the command line: price and error before, one charge, the same tables again, files, refusals."""

import csv
import json

import pytest

from doors.cli.at_the_prompt import run, spent

AGES = "bins(age, 0, 18, 65, 120)"
TWO = ("publish", "patients", "--column", "sex", "--column", AGES)
THREE = (*TWO, "--condition", "survivor=cancer_survivor")


def test_the_error_of_every_table_is_told_before_and_costs_nothing(clinic) -> None:
    told = run(clinic, *THREE, "--within", "60", "--dry-run")
    assert told.code == 0, told
    for names in ("sex, age", "sex, survivor", "age, survivor"):
        assert names in told.out
    assert "all 26 cells within 60 with 95 % confidence" in told.out
    record = run(clinic, *THREE, "--within", "60", "--dry-run", "--json").json
    assert [one["columns"] for one in record["sets"]] == [["sex", "age"], ["sex", "survivor"], ["age", "survivor"]]
    assert (record["affordable"], spent(clinic)) == (True, "0")


def test_tables_are_charged_once_and_free_again(clinic) -> None:
    first = run(clinic, *THREE, "--within", "60", "--json").json
    paid = run(clinic, "budget", "--json").json["left"]
    assert first["left"] == paid
    again = run(clinic, *THREE, "--within", "60", "--json").json
    assert again == first
    keyed = [run(clinic, *TWO, "--within", "60", "--key", "monday", "--json").json for _ in range(2)]
    assert keyed[0] == keyed[1]
    told = run(
        clinic, *TWO, "--within", "60", "--key", "monday", "--show", "age", "--whole", "--non-negative", columns=300
    )
    assert "from 18 to 64" in told.out
    assert "the estimates are biased now" in told.out
    shown = [line for line in told.out.splitlines() if line.startswith(("from", "other"))]
    assert len(shown) == 4
    conflict = run(clinic, *TWO, "--within", "50", "--key", "monday")
    assert (conflict.code, "key" in conflict.err) == (2, True)


@pytest.mark.one_budget("files and words are the same under every kind")
def test_files_hold_every_cell(clinic) -> None:
    table, record = clinic / "tables.csv", clinic / "tables.json"
    assert run(clinic, *THREE, "--within", "60", "--out", str(table)).code == 0
    told = run(clinic, *THREE, "--within", "60", "--out", str(record), "--json").json
    assert json.loads(record.read_text())["tables"] == told["tables"]
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert len(rows) == sum(len(one["people"]) for one in told["tables"]) == 26
    assert rows[0] == {
        "table": "sex, age",
        "sex": "F",
        "age": "from 0 to 17",
        "survivor": "",
        **{name: str(round(told["tables"][0][name][0], 2)) for name in ("people", "low", "high")},
    }


@pytest.mark.one_budget("files and words are the same under every kind")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("publish", "patients"), "--column is missing"),
        ((*TWO, "--column", "shoe"), "no column 'shoe'"),
        ((*TWO, "--column", "Sex"), "--column sex is there twice"),
        ((*TWO, "--condition", "age > 3"), "has no name"),
        ((*TWO, "--show", "shoe"), "'shoe' is not a column of this publication; it has sex, age"),
        ((*TWO, "--together", "sex,shoe"), "'shoe'"),
        ((*TWO, "--out", "tables.xls"), "let it end in .csv or .json"),
        ((*TWO, "--out", "nowhere/tables.csv"), "name a file in a folder there is"),
        ((*TWO, "--marginals", "all"), "all pairs"),
        ((*TWO, "--rows", "2,1"), "does not rise"),
        ((*TWO, "--rows", "1,2"), "one row a person, so rows= says nothing"),
        (("publish", "visits", "--column", "sex"), "it has patients"),
    ],
)
def test_what_cannot_be_published_is_refused_before_the_charge(clinic, words, says) -> None:
    told = run(clinic, *words, "--within", "60", columns=300)
    assert (told.code, says in told.err) == (2, True), told
    assert spent(clinic) == "0"


def test_more_than_is_left_is_refused(clinic, budget) -> None:
    told = run(clinic, *TWO, *budget.options(15))
    assert told.code == 0, told
    assert run(clinic, *TWO, *budget.options(16), "--dry-run").code == 0
    told = run(clinic, *TWO, *budget.options(16))
    assert (told.code, told.out) == (3, ""), told
