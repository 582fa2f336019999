"""Asking in SQL by page: the price before the button, refusals with what to write instead, and one answer a key."""

import csv
import html
import io
import re

import pytest

from doors.server.pages.visitors import MEN, P, field_of, pressed, text_of, title_of

pytestmark = pytest.mark.one_budget(
    "how SELECTs are read and shown; test_every_kind_of_budget pays for them under every kind"
)

SQL = f"{P}/sql"
TWO = "select sex, count(*), avg(bmi)\nfrom patient\ngroup by sex"


def ask(ana, **fields):
    drawn = ana.post(f"{SQL}/draft", fields)
    return ana.post(SQL, {**fields, **pressed(drawn)})


def test_a_statement_is_priced_before_it_is_asked(pages) -> None:
    ana = pages.browser("ana")
    drawn = ana.post(f"{SQL}/draft", {"q": "select count(*) from patient where age > 70", "within": "40"})
    assert "It asks: the number of people, in patient where age" in text_of(drawn)
    assert re.search(r'<button id="ask"[^>]*>Ask · ε 0\.07', drawn.text)
    assert "± 40" in text_of(drawn)
    assert "select count(*) from patient" not in text_of(ana.get(f"{P}/history"))


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("select max(bmi) from patient", "ask for a high quantile: quantile_cont(column, 0.99)"),
        ("select * from patient", "select a statistic such as count(*)"),
        ("select count(*) from visit where kimd = 'x'", "it has visit_id, kind"),
        ("select avg(bmi) from patient", "Choose “For epsilon” above."),
        ("delete from patient", "select"),
        ("select count(*) from patient" + " " * 3 + "-" * 8001, "at most 8,000 characters"),
    ],
)
def test_a_refusal_says_what_to_write_instead(pages, statement, says) -> None:
    drawn = pages.browser("ana").post(f"{SQL}/draft", {"q": statement})
    assert drawn.status_code == 200
    assert says in text_of(drawn)
    assert 'id="ask"' not in drawn.text


def test_the_catalogue_is_told_for_nothing(pages) -> None:
    ana = pages.browser("ana")
    drawn = ana.post(f"{SQL}/draft", {"q": "describe patient"})
    assert "<td>bmi</td>" in drawn.text
    assert 'id="ask"' not in drawn.text
    refused = ana.post(f"{SQL}/draft", {"q": "select x from information_schema.columns"})
    assert "the catalogue has table_catalog" in text_of(refused)
    assert "describe" not in text_of(ana.get(f"{P}/history"))


def test_the_mean_of_nobody_is_a_dash_with_its_bounds_on_every_page(pages) -> None:
    ana = pages.browser("ana")
    for statement, shown in (
        ("select avg(bmi) from patient where age > 119", '<p class="hero">–'),
        ("select sex, avg(bmi) from patient where age > 119 group by sex", '<td class="n strong">–</td>'),
    ):
        asked = ask(ana, q=statement, pay="epsilon", epsilon="0.2")
        place = asked.headers["location"]
        page = ana.get(place)
        assert shown in page.text
        assert "60" in text_of(page)
        assert list(csv.reader(io.StringIO(ana.get(f"{place}/csv").text)))[1][-3] == ""
        assert ana.get(f"{P}/history").status_code == 200
    assert "–" in text_of(ana.get(f"{P}/history"))


def test_a_step_is_its_lower_end_on_the_page_and_in_its_file(pages) -> None:
    ana = pages.browser("ana")
    statement = "select floor(age / 50) * 50 as part, count(*) as n from patient where age < 100 group by 1"
    place = ask(ana, q=statement, pay="epsilon", epsilon="0.2").headers["location"]
    assert ">50<" in re.sub(r"\s*([<>])\s*", r"\1", ana.get(place).text)
    lines = list(csv.reader(io.StringIO(ana.get(f"{place}/csv").text)))
    assert [line[0] for line in lines] == ["part", "0", "50"]


def test_an_answer_has_all_its_columns_and_is_asked_once(pages) -> None:
    ana = pages.browser("ana")
    fields = {"q": TWO, "pay": "epsilon", "epsilon": "0.2"}
    asked = ask(ana, **fields)
    assert asked.status_code == 303, text_of(asked)
    place = asked.headers["location"]
    page = ana.get(place)
    assert title_of(page) == "SQL"
    assert page.text.count('<td class="n strong">') == 4
    rows = list(csv.reader(io.StringIO(ana.get(f"{place}/csv").text)))
    assert rows[0] == ["sex", "count", "count_low", "count_high", "avg", "avg_low", "avg_high"]
    assert 10 <= float(rows[1][4]) <= 60
    again = ana.post(f"{SQL}/draft", fields)
    assert "Show the answer · free" in text_of(again)
    assert ana.get(field_of_link(page)).status_code == 200
    assert f'href="{SQL}?q=select+sex' in ana.get(f"{P}/history").text


def field_of_link(page) -> str:
    return re.search(rf'href="({SQL}\?[^"]*)"', page.text)[1].replace("&amp;", "&")


def test_what_was_changed_after_its_price_was_shown_is_not_asked(pages) -> None:
    ana = pages.browser("ana")
    fields = {"q": "select count(*) from patient where age > 71", "within": "41"}
    drawn = ana.post(f"{SQL}/draft", fields)
    changed = ana.post(SQL, {**fields, "within": "5", **pressed(drawn)})
    assert (changed.status_code, title_of(changed)) == (409, "Ask in SQL")
    assert "It was asked before" not in text_of(changed)


def test_a_rehearsal_is_said_to_be_one(pages) -> None:
    told = pages.browser("ana").post(f"{SQL}/rehearsal", {"q": "select sex, count(*) from patient group by sex"})
    assert "This is a rehearsal" in text_of(told)


def test_names_and_examples_are_there_without_a_script(pages) -> None:
    ana = pages.browser("ana")
    page = ana.get(SQL)
    assert 'data-word="bmi" data-of="patient"' in page.text
    examples = [one.replace("&amp;", "&") for one in re.findall(rf'class="code" href="({SQL}[^"]*)"', page.text)]
    assert len(examples) == 4
    for example in examples:
        assert 'id="ask"' in ana.get(example).text, example


def test_evil_text_stays_text(pages) -> None:
    evil = "<img src=x onerror=alert(1)>"
    page = pages.browser("ana").get(SQL, params={"q": evil, "within": evil})
    assert page.status_code == 200
    assert "<img src=x" not in page.text
    assert field_of(page, "within") == evil


@pytest.mark.parametrize("statement", ["select count(*) from patient where age > 33", TWO])
def test_the_python_that_is_taken_along_says_the_same(pages, statement) -> None:
    ana = pages.browser("ana")
    page = ana.get(ask(ana, q=statement, pay="epsilon", epsilon="0.25").headers["location"])
    assert runs_for_free(pages, page)


@pytest.mark.parametrize("kind", ["count", "groups", "grid", "funnel"])
def test_the_python_of_a_cohort_says_the_same(pages, kind) -> None:
    page = pages.browser("ana").answer({**MEN, "kind": kind, "by": "age", "by2": "site", "within": "100"})
    assert runs_for_free(pages, page)
    theirs = pages.browser("ben").get(shared_link(pages, page))
    assert re.search(r'name="within" value="100" checked', theirs.text), "as exactly as it was asked"
    assert "Asking the same again, as exactly as now, shows this answer and is free." in text_of(page)
    assert "People with sex M." in text_of(theirs).replace(" .", ".")
    assert title_of(theirs) == "Who are you looking for?", "it shows no answer before the button is pressed"
    assert "Show the answer · free" in text_of(theirs), "the same question as exactly as it was asked"


def runs_for_free(pages, page) -> bool:
    """Run the Python of an answer with a token of its analyst, and say whether it was the same question."""
    code = html.unescape(re.search(r'id="python">(.*?)</pre>', page.text, re.DOTALL)[1])
    assert f'lw.connect("{pages.address}", "YOUR_TOKEN", "clinic")' in code
    made = pages.browser("ana").post(f"{P}/account/tokens", {"name": "taken along"})
    told = {}
    exec(code.replace("YOUR_TOKEN", re.search(r"lw_[\w.-]+", made.text)[0]), told)  # noqa: S102 - our own page wrote it
    told["session"].close()
    return told["answer"].free


@pytest.mark.parametrize("offer", [{"pay": "epsilon", "epsilon": "0.3"}, {"pay": "within", "within": "41"}])
def test_the_link_to_a_statement_offers_the_same_price_to_others(pages, offer) -> None:
    ana = pages.browser("ana")
    asked = ask(ana, q="select count(*) from patient where age > 34", **offer)
    theirs = pages.browser("ben").get(shared_link(pages, ana.get(asked.headers["location"])))
    assert f'value="{offer["pay"]}" checked' in theirs.text
    assert field_of(theirs, offer["pay"]) == offer[offer["pay"]]


def shared_link(pages, page) -> str:
    """Return the path of the link that an answer offers to others."""
    link = html.unescape(re.search(r'id="share">(.*?)</pre>', page.text, re.DOTALL)[1])
    assert link.startswith(pages.address)
    return link.removeprefix(pages.address)


def test_a_group_whose_name_looks_like_a_number_keeps_its_name_and_is_not_computed(pages) -> None:
    """One of 1e99999999 would stop the server for everybody, and 01 is another code than 1."""
    ana = pages.browser("ana")
    text = "select case when sex = 'M' then '1e99999999' else '01' end as g, count(*) from patient group by 1"
    asked = ask(ana, q=text, pay="epsilon", epsilon="0.1")
    page = ana.get(asked.headers["location"])
    assert "<td>1e99999999</td>" in page.text
    assert "<td>01</td>" in page.text


def test_the_error_of_a_median_is_a_place_in_the_order_and_no_distance_of_values(pages) -> None:
    ana = pages.browser("ana")
    fields = {"q": "select median(age) from patient", "pay": "epsilon", "epsilon": "0.3"}
    drawn = text_of(ana.post(f"{SQL}/draft", fields))
    assert re.search(
        r"comes with the answer an interval of values; and its place in the order within [\d.]+ rows", drawn
    )
    assert "±" not in drawn.partition("How far off")[2].partition("Ask ·")[0]
    page = ana.get(ask(ana, **fields).headers["location"])
    told = text_of(page)
    assert re.search(
        r"The exact value lies between its two bounds, 95 times in 100\. And in the order of all rows", told
    )
    assert "The exact number" not in told
    assert re.search(r'class="hero">[\d.]+ <small>from [\d.]+ to [\d.]+ \(95 %\)</small>', page.text)
    row = next(one for one in ana.get(f"{P}/history").text.split("<tr") if "median" in one)
    assert re.search(r"\d+, from [\d.]+ to [\d.]+ \(95 %\)", row), row


def test_a_median_beside_a_mean_is_told_apart(pages) -> None:
    fields = {"q": "select avg(age), median(bmi) from patient", "pay": "epsilon", "epsilon": "0.3"}
    drawn = text_of(pages.browser("ana").post(f"{SQL}/draft", fields))
    assert re.search(
        r"± [\d.]+ for 1,000 rows.*median: an interval of values; and its place in the order within", drawn, re.DOTALL
    )


def test_a_number_that_a_bound_cut_is_marked_and_nothing_is_promised_of_the_whole(pages) -> None:
    ana = pages.browser("ana")
    answer = ask(ana, q="select count(*) from visit", pay="epsilon", epsilon="1", max_rows="2")
    place = answer.headers["location"]
    answer = ana.get(place)
    assert 'class="hero"' in answer.text
    rows = list(csv.reader(io.StringIO(ana.get(f"{place}/csv").text)))
    assert (rows[0][-1], rows[1][-1]) == (f"{rows[0][0]}_cut", "cut")
    assert ana.get(f"{place}/json").json()["cut"] == [rows[0][0]]
    shown = text_of(answer)
    assert "cut" in shown
    assert "It was cut: " in shown
    assert "What is left within the bound is within" in shown
    assert "The exact number is within" not in shown


def test_the_history_and_the_ledger_tell_what_a_select_asks(pages) -> None:
    ana, cleo = pages.browser("ana"), pages.browser("cleo")
    ask(ana, q="select sex, count(*), avg(bmi) from patient where age > 33 group by sex", pay="epsilon", epsilon="0.5")
    for told in (text_of(ana.get(f"{P}/history")), text_of(cleo.get("/custody/ledger"))):
        assert "he number of people, in patient where age" in told
        assert "part is 1" not in told
