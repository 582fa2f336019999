"""Means, medians, sums and time lines without SQL, under every kind of budget: what is shown is what is asked."""

import html
import re

import pytest

from doors.server.pages.visitors import MEN, P, pressed, text_of, title_of

VALUES = {
    "mean": {**MEN, "kind": "value", "stat": "mean", "of": "patient.bmi"},
    "mean by groups": {**MEN, "kind": "value", "stat": "mean", "of": "patient.bmi", "split": "smoker"},
    "median": {**MEN, "kind": "value", "stat": "median", "of": "visit.nights", "epsilon": "1"},
    "sum": {"kind": "value", "stat": "sum", "of": "visit.nights"},
    "time": {**MEN, "kind": "time", "day": "visit.day", "step": "year", "within": "100"},
    "time of everybody": {"kind": "time", "day": "patient.born", "step": "year", "within": "custom", "custom": "60"},
}


@pytest.mark.parametrize("name", VALUES)
def test_a_statistic_is_priced_asked_and_found_again(pages, budget, name) -> None:
    ana, fields = pages.browser("ana"), VALUES[name]
    drawn = ana.draft(fields)
    button = re.search(r'<button id="ask"[^>]*>(.*?)</button>', drawn.text, re.DOTALL)
    assert button is not None, text_of(drawn)
    assert budget.sign in button[1] or "ρ" in button[1]
    answer = ana.answer(fields)
    assert title_of(answer) == ("Over time" if fields["kind"] == "time" else "Statistic")
    assert ("incomplete" in text_of(answer)) == (fields["kind"] == "time"), "the last day is in the middle of a year"
    again = ana.get(html.unescape(re.search(rf'href="({P}/ask\?[^"]*)"', answer.text)[1]))
    assert "Show the answer · free" in text_of(again), "the link has the same question at the same price"
    assert text_of(again).count("sex M") == text_of(drawn).count("sex M")
    statement = html.unescape(re.search(r'id="sql">(.*?)</pre>', drawn.text, re.DOTALL)[1])
    assert statement in html.unescape(answer.text)


@pytest.mark.one_budget("which words a form holds does not depend on the budget")
def test_how_many_stands_first_and_what_is_not_there_is_replaced(pages) -> None:
    ana = pages.browser("ana")
    first = re.findall(r'name="kind" value="(\w+)"( checked)?', ana.get(f"{P}/ask").text)
    assert first[0] == ("count", " checked")
    assert first[-1][0] == "enough"
    odd = ana.draft({"kind": "value", "stat": "drop table", "of": "patient.secret", "split": "born", "epsilon": "0.1"})
    assert "select avg(" in odd.text
    assert "secret" not in odd.text
    wrong = ana.draft({"kind": "value", "stat": "sum", "of": "patient.bmi", "epsilon": "much"})
    assert "“much” is no epsilon" in text_of(wrong)
    assert 'id="ask"' not in wrong.text


@pytest.mark.one_budget("a form that was changed is shown again under every budget alike")
def test_what_was_changed_after_its_price_is_not_asked(pages) -> None:
    ana = pages.browser("ana")
    sent = pressed(ana.draft(VALUES["sum"]))
    for change in ({"epsilon": "3"}, {"stat": "mean"}, {"of": "patient.bmi"}):
        told = ana.post(f"{P}/ask", {**VALUES["sum"], **sent, **change})
        assert told.status_code == 409, change


def test_a_delta_is_offered_where_the_budget_has_one(pages, budget) -> None:
    ana = pages.browser("ana")
    fields = {"kind": "value", "stat": "sum", "of": "patient.bmi", "epsilon": "0.5", "delta": "1e-8"}
    drawn = ana.draft(fields)
    assert ('name="delta"' in drawn.text) is (budget.delta is not None)
    if budget.delta is not None:
        assert "Ask · ε 0.5" in text_of(drawn), text_of(drawn)
        assert "“few” is no delta" in text_of(ana.draft({**fields, "delta": "few"}))
        assert ana.answer(fields).status_code == 200
