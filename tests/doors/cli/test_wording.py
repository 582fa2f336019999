"""Refusals at the command line speak of what one types there: options, no keyword arguments, and no inf."""

import re
import shlex

import pytest

from doors.cli.at_the_prompt import run

PYTHON = re.compile(r"\b(max_rows|max_groups|epsilon|delta|within|table|at_least)=|Workspace\.|Fraction\(|None| inf\b")

MISTAKES = {
    "no price": "count patients",
    "too much": "count patients --epsilon 15",
    "two prices": "count patients --epsilon 1 --within 3",
    "a delta without an epsilon": "count patients --delta 1e-6",
    "rho from a pure budget": "count patients --rho 1",
    "within nothing": "count patients --within 0",
    "percent": "count patients --epsilon 1 --confidence 95",
    "rows without a bound": "ask rows visits --epsilon 1",
    "groups without a bound": "count visits --by kind --epsilon 1",
    "half a row": "ask rows visits --max-rows 1.5 --epsilon 1",
    "a word for rows": "ask rows visits --max-rows x --epsilon 1",
    "a SELECT without a bound": "ask 'select count(*) from visits' --epsilon 1",
    "no quantiles": "ask quantiles patients age --epsilon 1",
    "quantiles in percent": "ask quantiles patients age --at 25,50 --epsilon 1",
    "no number of categories": "ask top patients sex --epsilon 1",
    "no steps": "funnel patients --epsilon 1",
    "edges that fall": "count patients --by 'bins(age, 5, 3)' --epsilon 1",
    "edges that are words": "count patients --by 'bins(age, a, b)' --epsilon 1",
    "years without an end": "count patients --by 'year(born)' --epsilon 1",
    "days as groups": "count patients --by born --epsilon 1",
    "keys that only the data knows": "count patients --by city --epsilon 1",
    "keys that only the data knows, with a delta": "count patients --by city --epsilon 1 --delta 1e-7",
    "no text": "count patients --where 'sex = M' --epsilon 1",
    "no condition": "count patients --where age --epsilon 1",
    "a median of days": "ask median patients born --epsilon 1",
    "a stream without a price": "stream open --at-least 20 --yeses 2",
    "a stream about no table": "stream open --at-least 20 --yeses 2 --epsilon 1",
    "a stream of no yeses": "stream open --at-least 20 --yeses 0 --epsilon 1 --table patients",
    "an unknown population": "count patients --epsilon 1 --population nobody",
}


@pytest.fixture(scope="module")
def hospital(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hospital")
    (folder / "patients.csv").write_text("patient_id,sex,age,city,born\n1,F,30,Bern,1990-01-01\n")
    (folder / "staff.csv").write_text("patient_id,sex\n2,F\n")
    (folder / "visits.csv").write_text("patient_id,kind\n1,ER\n")
    declared = """
        [populations.clinic]
        person_key = "patient_id"
        budget = { epsilon = 10.1 }
        [populations.clinic.tables.patients]
        source = "patients.csv"
        columns.sex = { type = "category", values = ["F", "M"] }
        columns.age = { type = "integer", low = 0, high = 120 }
        columns.city = { type = "text" }
        columns.born = { type = "date" }
        [populations.clinic.tables.staff]
        source = "staff.csv"
        columns.sex = { type = "category", values = ["F", "M"] }
        [populations.clinic.tables.visits]
        source = "visits.csv"
        rows = "many"
        columns.kind = { type = "category", values = ["ER", "other"] }
        """
    (folder / "lapwing.toml").write_text(declared)
    assert run(folder, "update").code == 0
    return folder


@pytest.mark.parametrize("words", MISTAKES.values(), ids=MISTAKES.keys())
def test_a_refusal_is_spelt_as_it_is_typed(hospital, words) -> None:
    told = run(hospital, *shlex.split(words), "--json")
    assert told.code in {2, 3}
    error = told.json["error"]
    for said in (told.err, error["message"], error.get("remedy", "")):
        assert not PYTHON.search(said), said


SAID = {
    "too much": "epsilon 15 is asked and 10.1 is left: ask at epsilon 10.1 or less (within 0 with 95 % confidence), ",
    "two prices": "--epsilon, --within says the price more than once",
    "rows without a bound": "say how many count: --max-rows 3",
    "groups without a bound": "say in how many they count: --max-groups 2",
    "a word for rows": "--max-rows x is not a number; write a whole number",
    "no quantiles": "quantiles needs --at 0.25,0.5,0.75",
    "quantiles in percent": 'write "0.25" for 25 %',
    "edges that fall": "write bins(age, 0, 18, 65)",
    "years without an end": "bins(born, '1990-01-01', '2000-01-01', '2010-01-01')",
    "keys that only the data knows": "let the custodian declare the categories, or open a budget with a delta",
    "keys that only the data knows, with a delta": "a delta, which this budget does not have",
    "no text": "to mean the text, write 'M' in single quotes",
    "no condition": 'in quotes: "age > 3"',
    "a median of days": "or about the time between two days, such as age(born, date '2025-01-01')",
    "a stream about no table": "say --table, one of patients, staff, visits",
}


@pytest.mark.parametrize("which", SAID)
def test_a_refusal_says_what_works(hospital, which) -> None:
    assert SAID[which] in run(hospital, *shlex.split(MISTAKES[which])).err


@pytest.mark.parametrize(
    ("which", "settings"),
    [
        ("rows without a bound", {"max_rows": 3}),
        ("no price", {"epsilon": "0.1", "within": 20}),
        ("too much", {"epsilon": "10.1"}),
        ("a stream about no table", {"table": None}),
        ("an unknown population", {}),
    ],
)
def test_a_program_reads_what_to_set_without_reading_english(hospital, which, settings) -> None:
    assert run(hospital, *shlex.split(MISTAKES[which]), "--json").json["error"]["settings"] == settings


@pytest.mark.parametrize("words", ["count patients --where age = 3 --epsilon 1", "ask count patients --where age = 3"])
def test_a_condition_without_quotes_is_told_so(hospital, words) -> None:
    told = run(hospital, *words.split())
    assert told.code == 2
    assert 'in quotes: --where "age > 3"' in told.err


def test_a_name_with_a_blank_is_quoted_in_a_remedy(quick_path) -> None:
    (quick_path / "stays.csv").write_text("id,bed days\n1,3\n")
    (quick_path / "lapwing.toml").write_text(
        '[populations.p]\nperson_key = "id"\nbudget = { epsilon = 1 }\n[populations.p.tables.stays]\n'
        'source = "stays.csv"\ncolumns."bed days" = { type = "integer" }\n'
    )
    assert run(quick_path, "update").code == 0
    refused = run(quick_path, "ask", "total", "stays", '"bed days"', "--epsilon", "1")
    assert 'write clip("bed days", 0, 100)' in refused.err
    assert run(quick_path, "ask", "total", "stays", 'clip("bed days", 0, 100)', "--epsilon", "0.1").code == 0
