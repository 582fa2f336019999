"""Publishing by page, without a script: the error of every table first, one charge, maps, tables, files, refusals."""

import csv
import re

import pytest

import lapwing as lw
from doors.server.pages.visitors import P, pressed, text_of, title_of
from lapwing.answers.budget import BudgetStatus

CHOSEN = {"chosen": "1", "col": ["sex", "age", "smoker"], "edges.age": "0, 40, 110", "sets": "all pairs"}
OFFER = {"pay": "within", "within": "60"}


def left(pages, who: str = "ana") -> BudgetStatus:
    with lw.open(pages.door.folder, analyst=who) as session:
        return session.budget()


def look(browser, fields):
    return browser.post(f"{P}/publish/draft", fields)


def publish(browser, fields):
    return browser.post(f"{P}/publish", {**fields, **pressed(look(browser, fields))})


def test_the_error_of_every_table_is_shown_before_and_the_price_is_on_the_button(pages, budget) -> None:
    ana, before = pages.browser("ana"), left(pages)
    first = text_of(ana.get(f"{P}/publish"))
    assert "Standard deviation of a cell" in first, "the first columns are chosen at the beginning"
    drawn = look(ana, {**CHOSEN, **OFFER})
    told = text_of(drawn)
    for names in ("sex × age", "sex × smoker", "age × smoker"):
        assert re.search(rf"{names} +\d+\.\d", told), told
    assert "± 60 people all cells at once" in told
    sign = "ρ" if budget.name != "epsilon" else "ε"
    assert re.search(rf"Publish · {sign} 0\.\d+", told), told
    assert left(pages).account == before.account


def test_tables_are_published_once_and_shown_with_intervals(pages) -> None:
    ana, before = pages.browser("ana"), left(pages)
    sent = publish(ana, {**CHOSEN, **OFFER})
    assert sent.status_code == 303, text_of(sent)
    paid = left(pages)
    assert paid.account != before.account
    place = sent.headers["location"]
    page = ana.get(place)
    told = text_of(page)
    assert "3 tables of patient, in one release" in told
    assert page.text.count("<svg") >= 3
    assert "from (95 %)" in told
    assert "session.publish(&#34;patient&#34;, columns, &#34;all pairs&#34;, within=&#34;60&#34;)" in page.text
    rows = list(csv.DictReader(ana.get(f"{place}/csv").text.splitlines()))
    assert len(rows) == 9 + 9 + 9
    assert {row["table"] for row in rows} == {"sex, age", "sex, smoker", "age, smoker"}
    record = ana.get(f"{place}/json").json()
    assert record["tables"][0]["columns"] == ["sex", "age"]
    again = look(ana, {**CHOSEN, **OFFER})
    assert "Show the tables · free" in text_of(again)
    free = ana.get(publish(ana, {**CHOSEN, **OFFER}).headers["location"])
    assert "free: it was published before" in text_of(free)
    assert left(pages).account == paid.account
    assert place in ana.get(f"{P}/publish").text, "what was published is listed"
    key = place.rpartition("/")[2]
    assert f"/answers/{key}" in ana.get(f"{P}/history").text
    assert ana.get(f"{P}/answers/{key}").headers["location"] == place
    assert "1 round of publication" in text_of(pages.browser("cleo").get("/custody/ledger"))
    for other in ("ben", "otto", "gina"):
        assert pages.browser(other).get(place).status_code == 404


@pytest.mark.one_budget("words and forms are the same under every kind")
def test_rows_of_a_table_are_published_in_strata(pages) -> None:
    ana, before = pages.browser("ana"), left(pages)
    form = ana.get(f"{P}/publish?table=visit")
    assert "The most rows of a person" in text_of(form)
    assert 'name="table" value="visit"' in form.text
    assert "The most rows" not in text_of(ana.get(f"{P}/publish?table=patient")), "people have one row each"
    fields = {
        **CHOSEN,
        "table": "visit",
        "col": ["kind", "service"],
        "rows": "1, 2, 5",
        "pay": "within",
        "within": "400",
    }
    assert "no rising numbers of rows" in text_of(look(ana, {**fields, "rows": "few"}))
    assert "rows" in text_of(look(ana, {**fields, "rows": "5, 1"})), "the sentence of the library"
    assert left(pages).account == before.account
    sent = publish(ana, fields)
    assert sent.status_code == 303, text_of(sent)
    paid = left(pages)
    assert paid.account != before.account
    with lw.open(pages.door.folder, analyst="ana") as session:
        wanted = session.preview_publish("visit", ["kind", "service"], rows=[1, 2, 5], within=400)
    told = ana.get(f"{sent.headers['location']}/json").json()
    assert (told["counted"], told["price"]) == ("rows", wanted.price.to_dict())
    assert publish(ana, fields).status_code == 303
    assert left(pages).account == paid.account, "the same publication is free"


def test_the_page_speaks_german(pages) -> None:
    seen = pages.browser("ana").get(f"{P}/publish", headers={"Accept-Language": "de"})
    assert "Tabellen veröffentlichen" in title_of(seen)
    assert "Standardabweichung einer Zelle" in text_of(seen)


@pytest.mark.one_budget("words and forms are the same under every kind")
def test_what_was_changed_after_its_price_was_shown_is_not_published(pages) -> None:
    ana, before = pages.browser("ana"), left(pages)
    shown = pressed(look(ana, {**CHOSEN, **OFFER}))
    sent = ana.post(f"{P}/publish", {**CHOSEN, **OFFER, "within": "5", **shown})
    assert (sent.status_code, "changed after its price was shown" in text_of(sent)) == (409, True)
    assert left(pages).account == before.account


@pytest.mark.one_budget("words and forms are the same under every kind")
def test_many_tables_are_chosen_from(pages) -> None:
    ana = pages.browser("ana")
    fields = {**CHOSEN, "col": ["sex", "age", "smoker", "diabetes", "hypertension"], **OFFER, "within": "90"}
    place = publish(ana, fields).headers["location"]
    first, other = ana.get(place), ana.get(f"{place}?t=9")
    assert first.text.count("<option") == 10
    assert "hypertension × diabetes" in text_of(other) or "diabetes × hypertension" in text_of(other)
    assert ana.get(f"{place}?t=99999999").status_code == 200


@pytest.mark.one_budget("words and forms are the same under every kind")
def test_names_of_conditions_are_text_wherever_they_are_shown(pages) -> None:
    ana = pages.browser("ana")
    fields = {**CHOSEN, **OFFER, "within": "95", "col": ["sex"], "name.0": "<b>=1+1</b>", "where.0": "age > 39"}
    place = publish(ana, fields).headers["location"]
    assert "<b>=1" not in ana.get(place).text
    assert "<b>=1" not in ana.get(f"{P}/publish").text
    sent = ana.post(f"{P}/synthetic", {**fields, **pressed(ana.post(f"{P}/synthetic/draft", fields))})
    assert "<b>=1" not in ana.get(sent.headers["location"]).text
    fields |= {"name.0": "=1+1"}
    table = ana.get(f"{publish(ana, fields).headers['location']}/csv").text
    assert table.splitlines()[0] == "table,sex,'=1+1,people,low,high"


@pytest.mark.one_budget("words and forms are the same under every kind")
def test_a_form_that_is_not_clear_says_why_and_costs_nothing(pages) -> None:
    ana, before = pages.browser("ana"), left(pages)
    for change, says in (
        ({"col": []}, "No column is chosen yet"),
        ({"edges.age": "young, old"}, "“young, old” are no edges of age"),
        ({"edges.age": "40, 20"}, "edges"),
        ({"name.0": "asthma"}, "half of a condition"),
        ({"name.0": "asthma", "where.0": "concept = "}, "cannot be read"),
        ({"within": "-3"}, "“-3”"),
        ({"pay": "rho", "rho": "much"}, "“much”"),
    ):
        told = text_of(look(ana, {**CHOSEN, **OFFER, **change}))
        assert says in told, (says, told)
    for name in ("<b>x</b>", "' or 1=1"):
        drawn = look(ana, {**CHOSEN, **OFFER, "name.0": name, "where.0": "age > 3"})
        assert "<b>x</b>" not in drawn.text
    assert ana.get(f"{P}/publications/absent-1234").status_code == 404
    assert left(pages).account == before.account
