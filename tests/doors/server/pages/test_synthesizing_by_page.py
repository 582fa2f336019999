"""Synthetic tables by page, without a script: the price first, one charge, its quality, its rows, refusals."""

import csv

import pytest

from doors.server.pages.test_publishing_by_page import CHOSEN, left
from doors.server.pages.visitors import P, field_of, pressed, text_of, title_of

FIELDS = {**CHOSEN, "col": ["sex", "age"], "pay": "within", "within": "80"}


def look(browser, fields):
    return browser.post(f"{P}/synthetic/draft", fields)


def synthesize(browser, fields):
    return browser.post(f"{P}/synthetic", {**fields, **pressed(look(browser, fields))})


def test_a_table_is_made_once_with_its_quality_and_its_rows(pages, budget) -> None:
    ana, before = pages.browser("ana"), left(pages)
    told = text_of(look(ana, FIELDS))
    sign = "ε" if budget.name == "epsilon" else "ρ"
    assert f"Make it · {sign} 0." in told, told
    assert ("twice the error" in told) == (budget.name == "epsilon")
    assert left(pages).account == before.account
    sent = synthesize(ana, FIELDS)
    assert sent.status_code == 303, text_of(sent)
    paid, place = left(pages), sent.headers["location"]
    assert paid.account != before.account
    page = ana.get(place)
    told = text_of(page)
    for words in ("A synthetic row is nobody", "Which tables to trust", "Column by column", "Do not link it"):
        assert words in told, words
    assert "session.synthesize(&#34;patient&#34;, columns, within=&#34;80&#34;" in page.text
    rows = list(csv.DictReader(ana.get(f"{place}/csv?rows=25").text.splitlines()))
    assert (len(rows), rows[0].keys()) == (25, {"sex", "age"})
    assert "weight" in ana.get(f"{place}/csv?weights=1").text.splitlines()[0]
    assert ana.get(f"{place}/json").json()["columns"] == ["sex", "age"]
    quality = ana.get(f"{place}/quality")
    assert quality.headers["content-disposition"].startswith('attachment; filename="quality-')
    for words in ("What it is not", "<svg", "All on this page is computed from released numbers"):
        assert words in text_of(quality) + quality.text, words
    for odd in ("0", "x", "99999999999", "-3"):
        refused = ana.get(f"{place}/csv?rows={odd}")
        assert (refused.status_code, "is no number of rows" in text_of(refused)) == (422, True)
    assert "Show it · free" in text_of(look(ana, FIELDS))
    free = ana.get(synthesize(ana, FIELDS).headers["location"])
    assert "free: it was made before" in text_of(free)
    assert left(pages).account == paid.account
    assert "One number, released once" in told
    sent = ana.post(f"{place}/certify", {"key": field_of(page, "key"), "epsilon": "0.3", "up_to": "2"})
    assert (sent.status_code, sent.headers["location"]) == (303, place), text_of(sent)
    assert "cohorts of up to 2 columns are within" in text_of(ana.get(place))
    assert ana.post(f"{place}/certify", {"key": "0" * 32, "epsilon": "0", "up_to": "2"}).status_code == 422
    assert ana.post(f"{place}/certify", {"key": "1" * 32, "epsilon": "1", "up_to": "x"}).status_code == 422
    key = place.rpartition("/")[2]
    assert ana.get(f"{P}/answers/{key}").headers["location"] == place
    assert place in ana.get(f"{P}/synthetic").text
    for other in ("ben", "otto", "gina"):
        for end in ("", "/csv", "/json", "/quality"):
            assert pages.browser(other).get(f"{place}{end}").status_code == 404


@pytest.mark.one_budget("words and forms are the same under every kind")
def test_the_page_speaks_german(pages) -> None:
    seen = pages.browser("ana").get(f"{P}/synthetic", headers={"Accept-Language": "de"})
    assert "Synthetische Tabelle" in title_of(seen)
    assert "Eine synthetische Zeile ist niemand" in text_of(seen)


@pytest.mark.one_budget("words and forms are the same under every kind")
def test_what_is_not_clear_or_was_changed_is_not_made(pages) -> None:
    ana, before = pages.browser("ana"), left(pages)
    assert "No column is chosen yet" in text_of(look(ana, {**FIELDS, "col": []}))
    sent = ana.post(f"{P}/synthetic", {**FIELDS, "within": "9", **pressed(look(ana, FIELDS))})
    assert (sent.status_code, "changed after its price was shown" in text_of(sent)) == (409, True)
    assert ana.get(f"{P}/syntheses/absent-1234").status_code == 404
    assert left(pages).account == before.account
