"""Compare, Model and Over time by page, without a script: the price, the power on the button, one charge, refusals."""

import csv
import re

import pytest

import lapwing as lw
from doors.server.pages.visitors import P, field_of, gaussian, pages_of, pressed, text_of, title_of, with_enrolled
from lapwing.noise.randomness import fresh_name

COMPARED = {"chosen": "1", "outcome": "diabetes", "by": "sex"}
GUESSED = {"people.0": "500", "people.1": "500", "shares.0": "10", "shares.1": "16"}
FITTED = {"chosen": "1", "formula": "diabetes ~ age/10 + sex", "model": "logistic"}
BOARD = {
    "chosen": "1",
    "name": "emergencies",
    "period": "visit.day",
    "where": "kind = 'emergency'",
    "first": "2024-01-01",
    "every": "quarter",
    "releases": "4",
}


def left(pages, who="ana"):
    with lw.open(pages.door.folder, analyst=who) as session:
        return session.budget()


def price(budget, amount):
    return {"pay": budget.currency, budget.currency: amount}


def press(browser, place, fields):
    drawn = browser.post(f"{P}/{place}/draft", fields)
    return browser.post(f"{P}/{place}", {**fields, **pressed(drawn)})


def test_a_comparison_has_its_power_on_the_button_and_is_charged_once(pages, budget) -> None:
    ana, before, fields = pages.browser("ana"), left(pages), {**COMPARED, **price(budget, "0.5")}
    drawn = ana.post(f"{P}/compare/draft", {**fields, **GUESSED})
    assert re.search(rf"Compare · {budget.sign} 0\.5\S* · power \d\d %", text_of(drawn)), text_of(drawn)
    assert "say what you suppose" in text_of(ana.post(f"{P}/compare/draft", fields))
    assert left(pages).account == before.account
    sent = press(ana, "compare", fields)
    assert sent.status_code == 303, text_of(sent)
    place, paid = sent.headers["location"], left(pages)
    assert paid.account != before.account
    page = ana.get(place)
    assert title_of(page) == "diabetes by sex"
    assert "They differ by" in text_of(page)
    assert "free: it was asked before" not in text_of(page)
    assert page.text.count("<svg") == 1
    with lw.open(pages.door.folder, analyst="ana") as session:
        here = session.compare("patient", "diabetes", by="sex", **{budget.currency: "0.5"})
    assert ana.get(f"{place}/json").json()["p"] == here.p
    assert "Show it · free" in text_of(ana.post(f"{P}/compare/draft", fields))
    assert "free: it was asked before" in text_of(ana.get(press(ana, "compare", fields).headers["location"]))
    assert left(pages).account == paid.account
    assert place in ana.get(f"{P}/compare").text, "what was compared is listed"
    key = place.rpartition("/")[2]
    assert ana.get(f"{P}/answers/{key}").headers["location"] == place
    assert f"/answers/{key}" in ana.get(f"{P}/history").text
    for other in ("ben", "otto", "gina"):
        assert pages.browser(other).get(place).status_code == 404


def test_a_cut_number_leads_to_how_much_was_cut(pages, budget) -> None:
    ana, before = pages.browser("ana"), left(pages)
    asked = press(ana, "sql", {"q": "select count(*) from visit", **price(budget, "0.1")})
    answer, paid = ana.get(asked.headers["location"]), left(pages)
    assert f"{P}/rows?table=visit" in answer.text
    assert paid.account != before.account
    form = text_of(ana.get(f"{P}/rows?table=visit"))
    assert "How many people have how many rows in visit?" in form
    assert re.search(rf"Count · {budget.sign} 0", form)
    assert "There is no table here" in text_of(ana.get(f"{P}/rows?table=patient"))
    fields = {"chosen": "1", "table": "visit", "up_to": "20", **price(budget, "0.2")}
    place = press(ana, "rows", fields).headers["location"]
    page = ana.get(place)
    assert title_of(page) == "Rows a person in visit"
    assert "cuts no more than about 10 %" in text_of(page)
    assert page.text.count("<svg") == 1
    with lw.open(pages.door.folder, analyst="ana") as session:
        here = session.rows_a_person("visit", up_to=20, **{budget.currency: "0.2"})
    assert here.answer.free
    assert ana.get(f"{place}/json").json()["cuts"] == here.to_dict()["cuts"]
    assert place in ana.get(f"{P}/rows").text, "what was counted is listed"
    for other in ("ben", "otto", "gina"):
        assert pages.browser(other).get(place).status_code == 404


def test_a_regression_is_shown_as_a_forest(pages, budget) -> None:
    ana = pages.browser("ana")
    if budget.name == "epsilon":
        told = text_of(ana.get(f"{P}/model"))
        assert "A budget of epsilon alone pays for none" in told
        assert "no pure budget pays for" in told
        return
    words = gaussian(budget)
    fields, before = {**FITTED, "pay": budget.currency, **words}, left(pages)
    told = text_of(ana.post(f"{P}/model/draft", {**fields, "people": "400", "events": "10"}))
    assert "2 columns: age/10, sex[M]" in told
    assert re.search(r"Half of an interval ± \d", told)
    assert left(pages).account == before.account
    place = press(ana, "model", fields).headers["location"]
    page = ana.get(place)
    assert title_of(page) == FITTED["formula"]
    assert "Odds ratio" in text_of(page)
    assert page.text.count("<svg") == 1
    record = ana.get(f"{place}/json").json()
    assert [one["term"] for one in record["coefficients"]] == ["(intercept)", "age/10", "sex[M]"]
    assert ("did not settle" in text_of(page)) is not record["settled"]
    paid = left(pages)
    assert "Show it · free" in text_of(ana.post(f"{P}/model/draft", fields))
    assert ana.get(f"{P}/answers/{place.rpartition('/')[2]}").headers["location"] == place
    assert "5 rounds of regression" in text_of(pages.browser("cleo").get("/custody/ledger"))
    assert left(pages).account == paid.account
    for other in ("ben", "otto", "gina"):
        assert pages.browser(other).get(place).status_code == 404


def test_a_dashboard_is_opened_published_and_drawn_as_a_line(pages, budget) -> None:
    ana, before, fields = pages.browser("ana"), left(pages), {**BOARD, **price(budget, "1")}
    told = text_of(ana.post(f"{P}/over-time/draft", fields))
    assert "4 releases, from 2024-01-01 to 2024-12-31." in told
    assert re.search(r"2024-Q4 ± [\d.]+ ± [\d.]+", told), told
    assert left(pages).account == before.account
    sent = press(ana, "over-time", fields)
    assert sent.status_code == 303, text_of(sent)
    place = ana.get(sent.headers["location"]).headers["location"]
    empty, paid = ana.get(place), left(pages)
    assert "Nothing was published yet" in text_of(empty)
    assert paid.account != before.account
    done = ana.post(f"{place}/publish", {"key": field_of(empty, "key")})
    assert done.headers["location"] == place
    page = ana.get(place)
    assert "4 of 4 published" in text_of(page)
    assert page.text.count("<svg") == 1
    assert "2024-Q3" in text_of(ana.get(f"{place}?show=single"))
    again = ana.post(f"{place}/publish", {"key": fresh_name()})
    assert (again.status_code, "no more were paid for" in text_of(again)) == (422, True)
    rows = list(csv.DictReader(ana.get(f"{place}/csv").text.splitlines()))
    assert [row["until"] for row in rows if row["sort"] == "single"] == [f"2024-Q{n}" for n in (1, 2, 3, 4)]
    assert place in ana.get(f"{P}/over-time").text, "it is listed by its name"
    assert "Show it · free" in text_of(ana.post(f"{P}/over-time/draft", fields))
    assert left(pages).account == paid.account
    for other in ("ben", "otto", "gina"):
        assert pages.browser(other).get(place).status_code == 404
        assert pages.browser(other).post(f"{place}/publish", {"key": fresh_name()}).status_code == 404


@pytest.mark.one_budget("the other dashboards are opened under every kind")
def test_a_dashboard_of_who_is_in_says_so(tmp_path, budget) -> None:
    with pages_of(tmp_path, budget, declared=lambda text: with_enrolled(tmp_path / "clinic", text)) as pages:
        ana = pages.browser("ana")
        fields = {**BOARD, **price(budget, "1"), "name": "in", "period": "enrolled.joined", "where": ""}
        wrong = text_of(ana.post(f"{P}/over-time/draft", {**fields, "until": "visit.day"}))
        assert "both days in the same table" in wrong
        fields["until"] = "enrolled.quit"
        told = text_of(ana.post(f"{P}/over-time/draft", fields))
        assert "Who is in" in told
        assert "Net change" in told
        place = ana.get(press(ana, "over-time", fields).headers["location"]).headers["location"]
        ana.post(f"{place}/publish", {"key": field_of(ana.get(place), "key")})
        page = text_of(ana.get(place))
        assert "Who is in" in page
        assert "until the day on which they left" in page


@pytest.mark.one_budget("words and forms are the same under every kind")
def test_the_pages_speak_german(pages) -> None:
    for place, says in (("compare", "Was wird verglichen?"), ("model", "Formel"), ("over-time", "Nach welchem Tag?")):
        assert says in text_of(pages.browser("ana").get(f"{P}/{place}", headers={"Accept-Language": "de"}))


@pytest.mark.one_budget("words and forms are the same under every kind")
def test_what_was_changed_after_its_price_was_shown_is_not_asked(pages) -> None:
    ana, before = pages.browser("ana"), left(pages)
    fields = {**COMPARED, "pay": "epsilon", "epsilon": "0.25"}
    shown = pressed(ana.post(f"{P}/compare/draft", fields))
    sent = ana.post(f"{P}/compare", {**fields, "by": "smoker", **shown})
    assert (sent.status_code, "changed after its price was shown" in text_of(sent)) == (409, True)
    assert left(pages).account == before.account


@pytest.mark.one_budget("words and forms are the same under every kind")
def test_a_form_that_is_not_clear_says_why_and_costs_nothing(pages) -> None:
    ana, before = pages.browser("ana"), left(pages)
    for place, fields, says in (
        ("compare", {**COMPARED, "by": "site"}, "two groups are compared"),
        ("compare", {**COMPARED, "by": "site", "groups": "north, moon"}, "no group of site"),
        ("compare", {**COMPARED, "people.0": "500"}, "Say both numbers of “people”"),
        ("compare", {**COMPARED, **GUESSED, "shares.1": "many"}, "“many” is no number"),
        ("compare", {**COMPARED, "condition": "concept = <b>x</b>"}, "Not ready yet"),
        ("compare", {**COMPARED, "outcome": "shoe"}, "Choose what is compared"),
        ("model", {"chosen": "1"}, "There is no formula yet"),
        ("model", {**FITTED, "people": "400"}, "Say how many have the outcome"),
        ("over-time", {**BOARD, "name": ""}, "Give it a name first"),
        ("over-time", {**BOARD, "releases": "0"}, "“0” is no number of releases"),
        ("over-time", {**BOARD, "first": "2024-01-15"}, "is in the middle of a quarter"),
        ("over-time", {**BOARD, "period": "visit.shoe"}, "Choose the day"),
    ):
        drawn = ana.post(f"{P}/{place}/draft", {**fields, "pay": "epsilon", "epsilon": "0.5"})
        assert says.casefold() in text_of(drawn).casefold(), (says, text_of(drawn))
        assert "<b>x</b>" not in drawn.text
    for place in ("comparisons", "regressions", "dashboards"):
        assert ana.get(f"{P}/{place}/absent-1234").status_code == 404
    assert left(pages).account == before.account
