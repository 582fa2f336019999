"""Survival and Patterns by page, without a script: the price first, one charge, tables and pictures; and what programs
have published, made and asked, which need not look as a form of a page would have sent it."""

import csv
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import lapwing as lw
from doors.server.pages.visitors import P, pages_of, pressed, text_of, title_of
from postgres_server import where_there_is_room

FRIENDS = """
[populations.clinic.tables.friend]
source = "friend.csv"
[populations.clinic.tables.friend.columns]
one = { type = "integer", low = 1, high = 90 }
other = { type = "integer", low = 1, high = 90 }
"""
DRAWN = {"chosen": "1", "time": "age", "event": "diabetes", "grid": "0, 20, 40, 60, 80", "by": "sex"}
PATTERNS = {
    "k_means": ({"col": ["age", "bmi"], "clusters": "2"}, "Clusters", "cluster 2"),
    "principal_components": ({"col": ["age", "bmi"]}, "Components", "Share of the variance"),
    "decision_tree": ({"outcome": "diabetes", "col": ["sex", "age"], "depth": "1"}, "Decision tree", "diabetes: yes"),
    "train": ({"outcome": "diabetes", "col": ["sex"], "model": "logistic", "people": "400"}, "Trained model", "Steps"),
    "sample_count": ({"rate": "1/2"}, "Count of a sample", "sd"),
    "degrees": ({"table": "friend", "up_to": "4"}, "Edges of each person", "4 or more"),
    "edges": ({"table": "friend"}, "Edges", "±"),
    "stars": ({"table": "friend", "points": "2"}, "Stars", "What is hidden"),
}


@pytest.fixture(scope="module")
def pages(budget):
    """A server with a clinic of 400, and a table of friends."""
    with TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as folder:

        def declared(text: str) -> str:
            lines = "".join(f"{i},{1 + i % 90},{1 + i * i % 90}\n" for i in range(200))
            (Path(folder) / "clinic" / "friend.csv").write_text(f"person_id,one,other\n{lines}")
            return text + FRIENDS

        with pages_of(Path(folder), budget, "40", declared=declared) as pages:
            yield pages


def left(pages):
    with lw.open(pages.door.folder, analyst="ana") as session:
        return session.budget()


def press(browser, place, fields):
    drawn = browser.post(f"{P}/{place}/draft", fields)
    return browser.post(f"{P}/{place}", {**fields, **pressed(drawn)})


def paid_by(budget, of):
    """Return what pays for it: a training adds Gaussian noise, and is paid as that."""
    if of == "train" and budget.name != "epsilon":
        return {"pay": "rho", "rho": "0.5"}
    return {"pay": "epsilon", "epsilon": "1"}


def test_survival_is_priced_drawn_once_and_shown_as_it_is_in_python(pages, budget) -> None:
    ana, before = pages.browser("ana"), left(pages)
    fields = {**DRAWN, "pay": budget.currency, budget.currency: "0.5"}
    drawn = text_of(ana.post(f"{P}/survival/draft", fields))
    assert re.search(rf"Draw the curves · {budget.sign} 0\.5", drawn), drawn
    assert "in each cell of time and event" in drawn
    assert left(pages).account == before.account
    sent = press(ana, "survival", fields)
    assert sent.status_code == 303, text_of(sent)
    place, paid = sent.headers["location"], left(pages)
    assert paid.account != before.account
    page = ana.get(place)
    assert title_of(page) == "Without diabetes, by age"
    assert page.text.count('<svg class="chart"') == 2, "one picture an arm"
    with lw.open(pages.door.folder, analyst="ana") as session:
        asked = {"time": "age", "event": "diabetes", "grid": [0, 20, 40, 60, 80], "by": "sex"}
        here = session.survival("patient", **asked, **{budget.currency: "0.5"})
    kept = ana.get(f"{place}/json").json()
    assert (kept["p"], kept["curves"][1]["survived"]) == (here.p, list(here.curves[1].survived))
    assert "Show it · free" in text_of(ana.post(f"{P}/survival/draft", fields))
    assert place in ana.get(f"{P}/survival").text
    assert left(pages).account == paid.account
    key = place.rpartition("/")[2]
    assert ana.get(f"{P}/answers/{key}").headers["location"] == place
    assert pages.browser("ben").get(place).status_code == 404


def test_what_is_unclear_about_survival_says_what_to_write(pages) -> None:
    ana = pages.browser("ana")
    assert "are no ends of periods" in text_of(ana.post(f"{P}/survival/draft", {**DRAWN, "grid": "soon"}))
    assert "Choose the column with the time" in text_of(ana.post(f"{P}/survival/draft", {**DRAWN, "time": "sex_of"}))


@pytest.mark.parametrize("of", list(PATTERNS))
def test_a_pattern_is_priced_paid_once_and_shown(pages, budget, of) -> None:
    ana, before = pages.browser("ana"), left(pages)
    fields, title, told = PATTERNS[of]
    fields = {"chosen": "1", "of": of, **fields, **paid_by(budget, of)}
    drawn = ana.post(f"{P}/study/draft", fields)
    assert left(pages).account == before.account
    if of == "train" and budget.name == "epsilon":
        assert "Gaussian" in text_of(drawn)
        assert 'name="shown"' not in drawn.text, "there is nothing to press"
        return
    sign = "ρ" if budget.name == "rho" or of == "train" else "ε"
    assert re.search(rf"Find · {sign} \d", text_of(drawn)), text_of(drawn)
    sent = press(ana, "study", fields)
    assert sent.status_code == 303, text_of(sent)
    place, paid = sent.headers["location"], left(pages)
    assert paid.account != before.account
    page = ana.get(place)
    assert title_of(page) == title
    assert told in text_of(page)
    assert ana.get(f"{place}/json").json()["of"] == of
    if of == "k_means":
        rows = list(csv.reader(ana.get(f"{place}/csv").text.splitlines()))
        assert rows[0] == ["Clusters", "People", "age", "bmi"]
        assert len(rows) == 3
    assert "Show it · free" in text_of(ana.post(f"{P}/study/draft", fields))
    again = ana.get(press(ana, "study", fields).headers["location"])
    assert "free: it was asked before" in text_of(again)
    assert left(pages).account == paid.account
    key = place.rpartition("/")[2]
    assert ana.get(f"{P}/answers/{key}").headers["location"] == place
    assert f"/answers/{key}" in ana.get(f"{P}/history").text
    for other in ("ben", "otto", "gina"):
        assert pages.browser(other).get(place).status_code == 404


def test_the_forms_of_patterns_say_what_they_need(pages) -> None:
    ana = pages.browser("ana")

    def told(**fields):
        return text_of(ana.post(f"{P}/study/draft", {"chosen": "1", **fields}))

    assert "no column is chosen yet" in told(of="k_means", clusters="3").casefold()
    assert "“many” is no number of clusters" in told(of="k_means", col=["age"], clusters="many")
    assert "at least one other column" in told(of="decision_tree", outcome="sex", col=["sex"], depth="1")
    assert "never from the data" in told(of="train", outcome="sex", col=["age"], people="")
    assert "Clusters" in told(of="another hand's"), "what is not known is the first"
    german = pages.browser("ana").get(f"{P}/study", headers={"Accept-Language": "de"})
    assert title_of(german) == "Muster"


def test_what_programs_published_and_asked_has_its_pages_too(pages, budget) -> None:
    ana = pages.browser("ana")
    token = re.search(r"lw_[\w-]+", ana.post(f"{P}/account/tokens", {"name": "a test"}).text)[0]
    with lw.connect(pages.address, token) as session:
        offer = {budget.currency: "0.2"}
        session.publish("patient", ["sex", "smoker"], **offer)
        session.synthesize("patient", ["sex", "smoker"], **offer)
        session.explorer("patient", ["sex", "smoker"], questions=10, **{budget.currency: "1"})
        for _ in range(2):  # the second time it is free, and stands in no entry of the ledger
            session.ask(lw.mean("patient", "bmi", where="smoker"), epsilon="0.1")
            session.choose(
                {"asthma": lw.count("patient", "smoker"), "old": lw.count("patient", "age > 80")}, epsilon="0.1"
            )
            session.ask({"men": lw.count("patient", "sex = 'M'"), "all": lw.count("patient")}, epsilon="0.1")
        board = {"name": "visits", "period": "day", "first": "2020-01-01", "releases": 2}
        session.dashboard(lw.count("visit"), **board, **{budget.currency: "0.3"})
    history = ana.get(f"{P}/history")
    places = re.findall(rf'href="({P}/(?:answers|dashboards)/[^"]+)"', history.text)
    for place in places:
        shown = ana.client.get(place, follow_redirects=True)
        assert shown.status_code == 200, (place, text_of(shown))
    assert any("/dashboards/" in place for place in places)
    for told in ("Mean of bmi, in patient where smoker.", "Best of: asthma, old."):
        assert told in text_of(history)
    for form in ("publish", "synthetic", "explore"):
        assert "sex, smoker" in text_of(ana.get(f"{P}/{form}"))
    assert "columns = [&#34;sex&#34;, &#34;smoker&#34;]" in "".join(
        ana.client.get(place, follow_redirects=True).text for place in places
    )
