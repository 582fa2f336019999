"""Synthetic tables at the command line: price before, one charge, files of every kind, refusals."""

import csv
import json

import pyarrow.parquet
import pytest

import lapwing as lw
from doors.cli.at_the_prompt import run, spent

MADE = ("synthesize", "patients", "--column", "sex", "--column", "bins(age, 0, 18, 65, 120)", "--within", "80")


def test_the_price_is_told_before_and_the_table_is_charged_once(clinic) -> None:
    told = run(clinic, *MADE, "--dry-run")
    assert (told.code, "all cells of measured pairs within 80" in told.out.replace("\n", " ").replace("  ", " ")) == (
        0,
        True,
    ), told
    assert spent(clinic) == "0"
    first = run(clinic, *MADE, "--key", "monday", "--json").json
    paid = run(clinic, "budget", "--json").json["left"]
    assert first["left"] == paid
    assert run(clinic, *MADE, "--key", "monday", "--json").json == first
    words = run(clinic, *MADE, "--key", "monday", columns=300).out
    assert "a synthetic row is nobody" in words
    assert "1 of 1 are off by less than" in words or "do not ask this table about" in words


@pytest.mark.one_budget("files are made of what was released, whatever it was paid with")
def test_files_of_every_kind(clinic) -> None:
    for name, more in (
        ("people.csv", ("--rows", "30")),
        ("weighted.csv", ("--weights",)),
        ("people.parquet", ()),
        ("people.json", ()),
        ("quality.html", ()),
    ):
        told = run(clinic, *MADE, "--key", "monday", "--out", str(clinic / name), *more)
        assert told.code == 0, told
    made = run(clinic, *MADE, "--key", "monday", "--json").json
    rows = list(csv.DictReader((clinic / "people.csv").read_text().splitlines()))
    assert (len(rows), rows[0].keys()) == (30, {"sex", "age"})
    weights = list(csv.DictReader((clinic / "weighted.csv").read_text().splitlines()))
    assert sum(float(one["weight"]) for one in weights) == pytest.approx(made["people"], abs=1)
    assert pyarrow.parquet.read_table(clinic / "people.parquet").num_rows == made["people"]
    assert json.loads((clinic / "people.json").read_text())["model"] == made["model"]
    assert "<h1>" in (clinic / "quality.html").read_text()
    with lw.open(clinic, analyst="ana") as session:
        assert session.load_synthetic(clinic / "people.json").model.digest == made["model"]


@pytest.mark.one_budget("what is wrong with the words is wrong under every kind")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--column", "shoe"), "no column 'shoe'"),
        (("--up-to", "4"), "--up-to"),
        (("--rows", "many"), "--rows"),
        (("--out", "people.xls"), "let it end in .csv, .parquet, .json or .html"),
        (("--rho", "0.1"), "rho"),
    ],
)
def test_what_cannot_be_made_is_refused_before_the_charge(clinic, words, says) -> None:
    told = run(clinic, *MADE, *words, columns=300)
    assert (told.code, says in told.err) == (2, True), told
    assert spent(clinic) == "0"
