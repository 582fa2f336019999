"""Explorers by page, without a script: opened once, guesses under every change, a check that is asked for, the end."""

import pytest

from doors.server.pages.test_publishing_by_page import CHOSEN, left
from doors.server.pages.visitors import P, field_of, pressed, text_of, title_of
from lapwing.answers.budget import amounts

EXPLORED = {**CHOSEN, "col": ["sex", "age"], "pay": "epsilon", "epsilon": "2", "questions": "100", "yeses": "2"}
WOMEN = {"p0.include": "in", "p0.c0.of": "patient.sex", "p0.c0.sex.in": "F"}
PART = {"p0.include": "in", "p0.c0.of": "patient.age", "p0.c0.age.low": "37"}


def open_explorer(browser, fields):
    drawn = browser.post(f"{P}/explore/draft", fields)
    return browser.post(f"{P}/explore", {**fields, **pressed(drawn)})


@pytest.fixture(scope="module")
def fields(budget):
    if budget.currency == "rho":
        return {**EXPLORED, "pay": "rho", "rho": "0.9"}
    return {**EXPLORED, **({"delta": "1e-7"} if budget.delta else {})}


@pytest.fixture(scope="module")
def place(pages, fields):
    sent = open_explorer(pages.browser("ana"), fields)
    assert sent.status_code == 303, text_of(sent)
    return sent.headers["location"]


def test_the_price_is_divided_before_and_paid_once(pages, budget, fields) -> None:
    ana, before = pages.browser("ana"), left(pages)
    drawn = ana.post(f"{P}/explore/draft", fields)
    told = text_of(drawn)
    assert "The model" in told
    assert ("comes back when it is closed" in told) == (budget.name == "epsilon")
    assert left(pages).account == before.account
    sent = ana.post(f"{P}/explore", {**fields, "epsilon": "3", "rho": "0.5", **pressed(drawn)})
    assert (sent.status_code, "changed after its price was shown" in text_of(sent)) == (409, True)
    assert left(pages).account == before.account
    assert "“none”" in text_of(ana.post(f"{P}/explore/draft", {**fields, "yeses": "none"}))


def test_a_guess_is_free_and_a_check_is_asked_for(pages, place) -> None:
    ana, paid = pages.browser("ana"), left(pages)
    assert "2 of 2 paid answers left" in text_of(ana.get(place))
    guessed = ana.post(f"{place}/draft", WOMEN)
    told = text_of(guessed)
    assert "guessed by the model" in told
    assert "Free if the guess is near enough; else it uses 1 of 2 paid answers." in told
    checked = text_of(ana.post(f"{place}/check", {**WOMEN, "key": field_of(guessed, "key")}))
    assert "from " in checked
    assert "All checked answers of this explorer are in their intervals at once" in checked
    again = text_of(ana.post(f"{place}/draft", WOMEN))
    assert "Check it" not in again or "1 of 2" in again, "what was checked has its interval"
    every = text_of(ana.post(f"{place}/draft", {**WOMEN, "check": "on"}))
    assert "guessed by the model" not in every
    parts = ana.post(f"{place}/draft", WOMEN, headers={"X-Part": "outcome"})
    assert 'id="outcome" data-part' in parts.text
    assert "<html" not in parts.text
    assert amounts(left(pages).account)[2] == amounts(paid.account)[2], "all of it was set aside when it was opened"
    odd = text_of(ana.post(f"{place}/draft", {**PART, "check": "on"}))
    assert "The model does not know this cohort" in odd


def test_a_cohort_is_built_of_what_it_knows(pages, place) -> None:
    ana = pages.browser("ana")
    shown = ana.get(place).text
    assert 'value="add:0:patient.age|age|"' in shown
    assert "smoker" not in shown
    assert "Ranges that it knows, each as a whole age " in text_of(ana.get(place))
    assert "sex" in ana.get(f"{place}/search?q=sex").text
    assert "asthma" not in ana.get(f"{place}/search?q=asthma").text
    assert "asthma" in ana.get(f"{P}/dictionary/search?q=asthma").text


def test_history_and_ledger_tell_of_it_and_not_of_its_rounds(pages, place) -> None:
    ana, cleo = pages.browser("ana"), pages.browser("cleo")
    history, key = ana.get(f"{P}/history"), place.rpartition("/")[2]
    told = text_of(history)
    assert f'{P}/answers/{key}">Explorer of patient: sex, age.</a>' in history.text
    assert ana.get(f"{P}/answers/{key}").headers["location"] == place
    assert "The checks of an explorer of patient were opened." in told
    assert "People in patient where sex is 'F'." in told
    assert "at least" not in told, "a check is no such question"
    assert "round" not in told.casefold()
    ledger = text_of(cleo.get("/custody/ledger?who=ana"))
    assert "rounds of synthesis of patient: sex, age" in ledger
    assert "The checks of an explorer of patient were opened." in ledger


def test_it_is_nobody_elses_and_ends(pages, place, budget) -> None:
    ana = pages.browser("ana")
    for other in ("ben", "otto", "gina"):
        assert pages.browser(other).get(place).status_code == 404
        assert pages.browser(other).post(f"{place}/check", WOMEN).status_code == 404
    assert place in ana.get(f"{P}/explore").text
    assert "Explorer" in title_of(ana.get(f"{P}/explore", headers={"Accept-Language": "de"}))
    assert "explorers" not in ana.get(f"{P}/streams").text, "its checks are no stream"
    before = left(pages)
    assert ana.post(f"{place}/close").status_code == 303
    assert (str(left(pages)) == str(before)) == (budget.name != "epsilon")
    over = text_of(ana.get(place))
    assert "This explorer is closed" in over
    assert "Check it" not in text_of(ana.post(f"{place}/draft", WOMEN))
