"""The statement for an ethics board: the figures of one workspace, in two languages, with every kind of budget."""

import math
import re
from pathlib import Path
from string import Template

import pytest

import lapwing as lw
from budgets import KindOfBudget
from doors.cli.at_the_prompt import run
from lapwing.accounting import likely_loss
from lapwing.doors.board import statement as module
from lapwing.doors.board.sheet import sheet
from lapwing.doors.board.statement import LANGUAGES

SETTINGS = """
[populations.clinic]
person_key = "patient_id"
budget = {budget}
{more}
[populations.clinic.tables.patient]
source = "patient.csv"
[populations.clinic.tables.patient.columns]
sex = {{ type = "category", values = ["F", "M"] }}
age = {{ type = "integer", low = 0, high = 120 }}
{analysts}
"""


@pytest.fixture
def make(quick_path, budget: KindOfBudget):
    def made(amount: str = "2", more: str = "", analysts: str = "") -> Path:
        rows = "".join(f"{i},{'FM'[i % 2]},{i % 100}\n" for i in range(1, 101))
        (quick_path / "patient.csv").write_text(f"patient_id,sex,age\n{rows}")
        text = SETTINGS.format(budget=budget.toml(amount), more=more, analysts=analysts)
        lw.create(quick_path, text).close()
        return quick_path

    return made


def test_it_states_the_budget_and_what_it_means_for_one_person(make, budget: KindOfBudget) -> None:
    folder = make()
    page = run(folder, "board").out
    assert f"**{budget.sign} = 2" in page
    epsilon, but_for = likely_loss(budget.promise(2))
    for prior, after in re.findall(r"^\| (\d+) % \| (.*) % \|$", page, re.MULTILINE):
        odds = int(prior) / (100 - int(prior)) * math.exp(epsilon)
        bound = 100 * odds / (1 + odds)
        assert (after == "almost 100" and bound > 99.8) or bound <= float(after) <= bound + 0.11
    assert ("rare answers" in page) == bool(but_for)
    assert "patient_id" in page
    assert "**patient**: sex, age" in page
    assert "Nobody has a share" in page
    assert "twice the budget" in page


def test_what_was_spent_is_said_and_nothing_is_charged_by_saying_it(make, budget: KindOfBudget) -> None:
    folder = make("4")
    assert ", 0 % of it was used or set aside" in run(folder, "board").out
    with lw.open(folder) as session:
        session.ask(lw.count("patient"), epsilon="1")
        before = session.budget().account
    spent = run(folder, "board", "--json").json["spent"]
    assert 0 < float(spent.removesuffix(" %")) < 60
    if budget.currency == "epsilon" and budget.adds_up:
        assert spent == "25 %"
    with lw.open(folder) as session:
        assert session.budget().account == before


def test_who_may_ask_and_who_is_hidden_is_said_as_it_is_declared(make, budget: KindOfBudget) -> None:
    more = 'adjacency = "replace"\nprotects_groups_of = 4\nunnamed_analysts = "refused"'
    analysts = f"[populations.clinic.analysts]\nana = {budget.toml('0.5')}"
    page = run(make(more=more, analysts=analysts), "board").out
    assert "Groups of 4 people" in page
    assert "is not hidden" in page
    assert "twice the budget" not in page
    assert "three times the budget" not in page
    assert f"**ana**: {budget.sign} = 0.5" in page
    assert "Nobody else may ask." in page


@pytest.mark.one_budget("what a count costs is read off for a plain epsilon")
def test_counts_that_the_budget_buys_are_as_many_as_can_be_asked(make) -> None:
    folder = make("2")
    page = run(folder, "board").out
    (times,) = re.findall(r"^- (\d+) counts within 30 people$", page, re.MULTILINE)
    with lw.open(folder) as session:
        assert session.preview(lw.count("patient"), within=30).times == int(times)


@pytest.mark.one_budget("words are the same for every kind of budget")
def test_it_is_written_as_a_page_to_print_and_as_a_text(make, quick_path) -> None:
    folder = make("20")
    for language in LANGUAGES:
        file = quick_path / f"{language}.html"
        told = run(folder, "board", "--people", "1000", "--language", language, "--write", str(file))
        assert told.code == 0
        html = file.read_text(encoding="utf-8")
        assert html.startswith(f'<!doctype html>\n<html lang="{language}">')
        assert not re.search(r"(?:src|href|url\()", html)  # nothing is fetched
        assert html.count("<h2>") == 9 + 1
        assert "$" not in html
        assert "**" not in html
    assert run(folder, "board", "--write", str(quick_path / "x.pdf")).code == 2
    assert run(folder, "board", "--write", str(quick_path / "nowhere" / "x.md")).code == 2


@pytest.mark.one_budget("words are the same for every kind of budget")
def test_both_languages_say_the_same_things_under_the_same_conditions() -> None:
    folder = Path(module.__file__).parent
    pages = [(folder / f"statement.{language}.md").read_text(encoding="utf-8") for language in LANGUAGES]

    def shape(page: str) -> list[tuple[str, str, list[str]]]:
        found = [re.match(r"(\?\w+ ?)?(#+ |- |\| ?|)", line) for line in page.splitlines()]
        parts = [(one[1] or "", one[2] if one else "") for one in found if one]
        names = [sorted(Template(line).get_identifiers()) for line in page.splitlines()]
        return [(*part, name) for part, name in zip(parts, names, strict=True)]

    assert shape(pages[0]) == shape(pages[1])


@pytest.mark.one_budget("a delta is at issue")
def test_a_delta_that_would_allow_records_in_the_clear_is_named(quick_path) -> None:
    (quick_path / "patient.csv").write_text("patient_id,sex,age\n1,F,3\n")
    lw.create(quick_path, SETTINGS.format(budget='{ epsilon = "1", delta = "1e-3" }', more="", analysts="")).close()
    assert "publishes 10 of their records" in run(quick_path, "board", "--people", "10000").out
    assert "in the clear" not in run(quick_path, "board").out


@pytest.mark.one_budget("no budget is there")
def test_names_of_a_workspace_are_text_in_the_page_to_print() -> None:
    html = sheet("# <script>alert(1)</script>\n\n- **a&b**: <img src=x>\n\n| | |\n|---|---|\n| <b> | |\n", "en")
    assert "<script>" not in html
    assert "<img" not in html
    assert "<strong>a&amp;b</strong>" in html
