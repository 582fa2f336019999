"""Asking without a script: what is shown is what is asked, once, and for its own analyst alone."""

import csv
import html
import io
import json
import re
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

import lapwing as lw
from doors.server.brake import Brake
from doors.server.pages.visitors import MEN, P, pages_of, pressed, text_of, title_of
from lapwing.doors.server.pages.cohort_document import CohortDraft, CohortPanel, Criterion, Limit, to_link

pytestmark = pytest.mark.one_budget(
    "how forms are sent and changed; test_every_kind_of_budget asks all kinds of questions under every kind"
)

COHORT = {
    **MEN,
    "p1.include": "in",
    "p1.c0.of": "visit",
    "p1.c0.kind.in": "inpatient",
    "p1.c0.day.low": "2016-01-01",
    "p1.c0.age.low": "18",
    "p1.c0.age.high": "90",
    "p1.c1.of": "patient.smoker",
    "p1.c1.smoker.in": "true",
    "p2.include": "out",
    "p2.c0.of": "patient.age",
    "p2.c0.age.low": "20",
    "p2.c0.age.high": "30",
}
SENTENCE = (
    "People with sex M ; and either an entry in visit (kind inpatient, day since 2016-01-01, aged 18 to 90 then), "
    "or smoker: yes , leaving out those with age 20 to 30 ."
)
EVIL = "<img src=x onerror=alert(1)>"


def spent(pages) -> Fraction:
    left = pages.browser("otto").get(f"{P}/custody")
    assert left.status_code == 200
    entries = pages.browser("otto").get("/custody/ledger/export").text.splitlines()
    return Fraction(sum('"kind":"charge"' in one for one in entries))


def button_of(page) -> str:
    return re.sub(r"\s+", " ", re.search(r'<button id="ask"[^>]*>(.*?)</button>', page.text, re.DOTALL)[1])


def test_a_question_that_takes_long_tells_how_long_and_nothing_of_the_data_and_is_stopped_at_its_price(
    pages, monkeypatch
) -> None:
    ana, before = pages.browser("ana"), spent(pages)
    sent = {**MEN, **pressed(ana.draft(MEN)), "csrf": ana.token()}
    place, brake = f"{P}/answers/{sent['key']}", Brake(monkeypatch)
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(pages.browser("ana").client.post, f"{P}/ask", data=sent)
        try:
            assert brake.reading.wait(30)
            waiting = ana.get(place)
            assert re.search(
                r"Asked \d+ seconds? ago. How much of the tables has been read is not shown", text_of(waiting)
            )
            assert "<progress" not in waiting.text
            assert waiting.headers["refresh"] == "2"
            assert ana.post(f"{place}/stop").status_code == 303
        finally:
            brake.go.set()
        asking.result(60)
    assert spent(pages) == before + 1
    assert ana.get(place).status_code == 410


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("count", "Count · ε 0.0983"),
        ("funnel", "Run the funnel · ε"),
        ("groups", "Count by group · ε"),
        ("grid", "Count the grid · ε"),
    ],
)
def test_the_button_says_the_price_and_the_answer_its_error(pages, kind, says) -> None:
    ana = pages.browser("ana")
    drawn = ana.draft({**COHORT, "kind": kind, "by": "site"})
    assert button_of(drawn).startswith(says)
    assert SENTENCE in text_of(drawn)
    answer = ana.answer({**COHORT, "kind": kind, "by": "site"})
    assert answer.status_code == 200
    assert "± " in text_of(answer)
    again = ana.draft({**COHORT, "kind": kind, "by": "site"})
    assert button_of(again) == "Show the answer · free"


@pytest.mark.parametrize(
    ("kind", "axes"),
    [
        ("count", {}),
        ("groups", {"by": "age"}),
        ("grid", {"by": "sex", "by2": "age"}),
        ("grid", {"by": "sex", "by2": "smoker", "by3": "site"}),
    ],
)
def test_what_is_shown_as_sql_is_what_is_charged(pages, kind, axes) -> None:
    ana = pages.browser("ana")
    fields = {**COHORT, "kind": kind, "within": "custom", "custom": "77", **axes}
    drawn = ana.draft(fields)
    shown = html.unescape(re.search(r'id="sql">(.*?)</pre>', drawn.text, re.DOTALL)[1])
    ana.answer(fields)
    told = ana.post(f"{P}/sql/draft", {"q": shown, "within": "77"})
    assert button_of(told) == "Show the answer · free"


def test_a_grid_is_drawn_as_maps_and_tables(pages) -> None:
    ana = pages.browser("ana")
    page = ana.answer({**MEN, "kind": "grid", "by": "site", "by2": "smoker", "by3": "diabetes", "within": "100"})
    assert title_of(page) == "Grid"
    maps = re.findall(r"<svg.*?</svg>", page.text, re.DOTALL)
    assert len(maps) == 2
    assert all(one.count("<rect") == 8 * 3 for one in maps)
    assert page.text.count('<th scope="row">') == 16
    is_below = re.search(r'<td class="n">[-−]', page.text) is not None
    assert ("Noise may take a small number below zero" in text_of(page)) is is_below
    assert "kind=grid&amp;by=site&amp;by2=smoker&amp;by3=diabetes" in page.text
    again = ana.get(html.unescape(re.search(rf'href="({P}/ask\?c=[^"]*)"', page.text)[1]))
    assert re.search(r'name="by3">.*?value="diabetes" selected', again.text)


@pytest.mark.parametrize(
    ("axes", "says"),
    [
        ({"by": "sex", "by2": "sex"}, "Each axis of a grid is another column."),
        ({"by": "site", "by2": "age", "by3": "bmi"}, "and the most is 240"),
    ],
)
def test_a_grid_that_says_nothing_is_refused(pages, axes, says) -> None:
    drawn = pages.browser("ana").draft({**MEN, "kind": "grid", **axes})
    assert says in text_of(drawn), text_of(drawn)
    assert 'id="ask"' not in drawn.text


def test_pressing_twice_or_eight_times_at_once_is_one_question(pages) -> None:
    ana = pages.browser("ana")
    fields = {**MEN, "kind": "count", "within": "custom", "custom": "61"}
    sent = {**fields, **pressed(ana.draft(fields)), "csrf": ana.token()}
    before = spent(pages)
    with ThreadPoolExecutor(8) as threads:
        told = list(threads.map(lambda _: pages.browser("ana").client.post(f"{P}/ask", data=sent), range(8)))
    assert {one.headers.get("location") for one in told} == {f"{P}/answers/{sent['key']}"}
    assert spent(pages) == before + 1
    seen = {text_of(ana.get(f"{P}/answers/{sent['key']}")) for _ in range(3)}
    assert len(seen) == 1
    assert spent(pages) == before + 1


def test_a_key_is_not_another_question(pages) -> None:
    ana = pages.browser("ana")
    fields = {**MEN, "kind": "count", "within": "custom", "custom": "62"}
    sent = pressed(ana.draft(fields))
    assert ana.post(f"{P}/ask", {**fields, **sent}).status_code == 303
    other = {**fields, "custom": "63"}
    changed = ana.post(f"{P}/ask", {**other, **pressed(ana.draft(other)), "key": sent["key"]})
    assert (changed.status_code, title_of(changed)) == (409, "This was another question")


@pytest.mark.parametrize("change", [{"custom": "68"}, {"p0.c0.sex.in": "F"}, {"kind": "funnel"}, {"p0.include": "out"}])
def test_what_was_changed_after_its_price_was_shown_is_not_asked(pages, change) -> None:
    ana, before = pages.browser("ana"), spent(pages)
    fields = {**MEN, "kind": "count", "within": "custom", "custom": "67"}
    redrawn = ana.post(f"{P}/ask", {**fields, **pressed(ana.draft(fields)), **change})
    assert redrawn.status_code == 409
    assert "The form was changed after its price was shown." in text_of(redrawn)
    assert spent(pages) == before
    assert ana.post(f"{P}/ask", {**fields, **change, **pressed(redrawn)}).status_code == 303


def test_looking_costs_nothing(pages) -> None:
    ana, before = pages.browser("ana"), spent(pages)
    ana.draft({**COHORT, "kind": "count", "custom": "64", "within": "custom"})
    ana.get(f"{P}/ask?c={to_link(CohortDraft(panels=(CohortPanel(criteria=(Criterion(of='visit'),)),)))}&kind=count")
    rehearsed = ana.post(f"{P}/ask/rehearsal", {**COHORT, "kind": "count"})
    assert "This is a rehearsal" in text_of(rehearsed)
    assert spent(pages) == before


def test_at_least_so_many_in_a_stream_until_it_halts(pages) -> None:
    ana = pages.browser("ana")
    fields = {"kind": "enough", "at_least": "100", "stream": "new", "yeses": "2", "sure": "15"}
    drawn = ana.draft({**MEN, **fields})
    assert re.match(r"Open and ask · ε [\d.]+, yes \+ ε [\d.]+", button_of(drawn))
    first = ana.answer({**MEN, **fields})
    assert title_of(first) == "At least 100?"
    assert "Yes there are at least 100, after noise" in text_of(first)
    opening, yes = re.match(r"Open and ask · ε ([\d.]+), yes \+ ε ([\d.]+)", button_of(drawn)).groups()
    told = text_of(first)
    assert f"This answer ε {yes}, one yes Opening the stream ε {opening}, paid with this question, once" in told
    assert re.search(r"Set aside ε [\d.]+ for the yeses that are left", told)
    assert re.search(r"less than \d+ away from 100, the answer may be wrong", told)
    stream = re.search(r'/ask\?[^"]*stream=(\w+)', first.text)[1]
    nobody = {"p0.include": "in", "p0.c0.of": "patient.age", "p0.c0.age.low": "98"}
    drawn = ana.draft({**nobody, **fields, "stream": stream})
    assert re.match(r"Ask · free if no, ε [\d.]+ if yes", button_of(drawn))
    none = ana.answer({**nobody, **fields, "stream": stream})
    assert "No there are fewer than 100, after noise" in text_of(none)
    assert "This answer nothing: a no is free once the stream is open" in text_of(none)
    assert f"Opening the stream ε {opening}, paid before, with its first question" in text_of(none)
    women = {**MEN, "p0.c0.sex.in": "F"}
    last = ana.answer({**women, **fields, "stream": stream})
    assert "It has given all its yeses" in text_of(last)
    assert "Set aside" not in text_of(last)
    assert "has given all its yeses" in text_of(ana.get(f"{P}/streams"))
    assert ana.get(f"{P}/history").text.count("Clone") >= 3


def test_a_box_is_ticked_for_the_number_with_a_yes(pages) -> None:
    ana = pages.browser("ana")
    fields = {**MEN, "kind": "enough", "at_least": "100", "stream": "new", "yeses": "1", "sure": "30"}
    plain, more = ana.draft(fields), ana.draft({**fields, "number": "yes"})
    prices = [Fraction(re.search(r"yes \+ ε ([\d.]+)", button_of(one))[1]) for one in (plain, more)]
    assert prices[0] < prices[1], "the number is part of the price of a yes"
    assert 'name="number" value="yes"' in plain.text
    assert 'name="number" value="yes" checked' in more.text
    assert "with the number, ±" in text_of(more)
    told = text_of(ana.answer({**fields, "number": "yes"}))
    assert re.search(r"\d+ people, ± \d+ with 95 % confidence, for all yeses of the stream at once", told)


def test_streams_of_other_values_are_shown_in_their_own_words(pages) -> None:
    """Pages ask streams of people only; those that were opened elsewhere are listed, and can be closed."""
    ana = pages.browser("ana")
    with lw.open(pages.door.folder, analyst="ana") as session:
        opened = session.stream(proportion="smoker", at_least="0.01", yeses=1, epsilon="0.5", table="patient")
        opened.ask("age > 3")
    told = "share of at least 0.01 with smoker?"
    assert all(told in text_of(ana.get(f"{P}/{page}")) for page in ("streams", "history"))
    assert opened.name not in ana.get(f"{P}/ask?kind=enough").text, "which no page could ask"
    assert ana.post(f"{P}/streams/{opened.name}/close").status_code == 303


def test_a_stream_is_closed_by_its_owner_alone(pages) -> None:
    ana, ben = pages.browser("ana"), pages.browser("ben")
    fields = {**MEN, "kind": "enough", "at_least": "10", "stream": "new", "yeses": "3", "sure": "60"}
    told = ana.answer(fields)
    stream = re.search(r'/ask\?[^"]*stream=(\w+)', told.text)[1]
    goes_on = ana.get(f"{P}/ask?kind=enough&stream={stream}")
    assert re.search(r'name="at_least" min="1" value="10"', goes_on.text), "what its stream was opened for"
    assert ben.post(f"{P}/streams/{stream}/close").status_code == 404
    assert stream not in ben.get(f"{P}/streams").text
    for no_key in ("k" * 200, "a key of mine", "<key>"):
        assert ana.post(f"{P}/streams/{stream}/close", {"key": no_key}).status_code == 400, "no program may send it"
    assert ana.post(f"{P}/streams/{stream}/close").status_code == 303
    assert "closed" in text_of(ana.get(f"{P}/streams"))


def test_two_analysts_never_see_what_the_other_asked(pages) -> None:
    ana, ben = pages.browser("ana"), pages.browser("ben")
    asked = ana.ask({**MEN, "kind": "count", "within": "custom", "custom": "65"}).headers["location"]
    theirs, absent = ben.get(asked), ben.get(f"{P}/answers/{'0' * 32}")
    assert theirs.status_code == absent.status_code == 404
    assert text_of(theirs) == text_of(absent)
    for more in ("/csv", "/json"):
        assert ben.get(asked + more).status_code == 404
    assert "Nothing asked yet" in text_of(ben.get(f"{P}/history"))
    assert "Nothing asked yet" in text_of(ben.get(P))


def test_an_answer_is_taken_along(pages) -> None:
    ana = pages.browser("ana")
    place = ana.ask({**MEN, "kind": "groups", "by": "site"}).headers["location"]
    saved, told = ana.get(f"{place}/csv"), ana.get(f"{place}/json").json()
    rows = list(csv.reader(io.StringIO(saved.text)))
    assert rows[0] == ["site", "answer", "answer_low", "answer_high"]
    assert [row[0] for row in rows[1:]] == [row["key"][0] for row in told["rows"]]
    assert "attachment" in saved.headers["content-disposition"]
    shown = text_of(ana.get(place))
    assert told["receipt"] in shown
    assert "lw.count" in shown


def test_names_stay_text_everywhere(pages) -> None:
    ana = pages.browser("ana")
    wrong = CohortDraft(
        panels=(CohortPanel(criteria=(Criterion(of=EVIL, limits=(Limit(column=EVIL, values=(EVIL,)),)),)),)
    )
    odd = CohortDraft(
        panels=(CohortPanel(criteria=(Criterion(of="patient.site", limits=(Limit(column="site", values=(EVIL,)),)),)),)
    )
    for page in (
        ana.get(f"{P}/ask?c={to_link(wrong)}"),
        ana.get(f"{P}/ask?c={to_link(odd)}"),
        ana.get(f"{P}/dictionary", params={"q": EVIL}),
        ana.get(f"{P}/history", params={"q": EVIL}),
        ana.get("/epsilon", params={"e": EVIL, "prior": EVIL}),
        ana.post(f"{P}/account/tokens", {"name": EVIL}),
        ana.get(f"{P}/ask", params={"kind": EVIL, "by": EVIL, "at_least": EVIL, "stream": EVIL, "within": EVIL}),
    ):
        assert page.status_code == 200
        assert "<img src=x" not in page.text
    assert ana.post(f"{P}/account/requests", {"wanted": EVIL, "purpose": EVIL}).status_code == 422
    assert ana.post(f"{P}/account/requests", {"wanted": "2", "purpose": EVIL}).status_code == 303
    for who, place in (("ana", f"{P}/account"), ("cleo", f"{P}/custody")):
        page = pages.browser(who).get(place)
        assert EVIL in text_of(page)
        assert "<img src=x" not in page.text


@pytest.mark.parametrize("link", ["x", "e30", "W10", "a" * 20_000, "%00", "eyJwYW5lbHMiOlt7ImFueSI6W3t9XX1dfQ"])
def test_a_link_that_holds_no_cohort_is_said_to(pages, link) -> None:
    page = pages.browser("ana").get(f"{P}/ask", params={"c": link})
    assert page.status_code in {200, 431}
    assert page.status_code == 431 or "This link holds no cohort" in text_of(page)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"p0.c0.of": "patient.age"}, "Say what age must be."),
        ({"p0.c0.of": "patient.age", "p0.c0.age.low": "x"}, "“x” is no number"),
        ({"p0.c0.of": "patient.age", "p0.c0.age.low": "9", "p0.c0.age.high": "3"}, "holds nobody"),
        ({**MEN, "kind": "count", "within": "custom", "custom": "-3"}, "is no whole number of people above 0"),
        ({**MEN, "kind": "enough", "at_least": "many"}, "is no whole number of people above 0"),
    ],
)
def test_what_is_not_ready_is_said_and_cannot_be_pressed(pages, fields, says) -> None:
    drawn = pages.browser("ana").draft({"p0.include": "in", "kind": "count", **fields})
    assert says in text_of(drawn)
    assert 'id="ask"' not in drawn.text


def test_parts_of_the_page_are_redrawn_alone(pages) -> None:
    part = pages.browser("ana").draft(MEN, headers={"X-Part": "outcome nonsense"})
    assert part.text.startswith('<div id="outcome" data-part>')
    assert "<html" not in part.text
    assert part.headers["x-link"].startswith(f"{P}/ask?kind=")
    signed_out = pages.browser().client.post(f"{P}/ask/draft", data=MEN, headers={"X-Part": "outcome"})
    assert signed_out.status_code == 401


def test_the_budget_runs_out_with_a_clear_sentence(tmp_path_factory, budget) -> None:
    with pages_of(tmp_path_factory.mktemp("poor"), budget, "0.15", people=200) as pages:
        ana = pages.browser("ana")
        assert ana.ask({**MEN, "kind": "count"}).status_code == 303
        women = {**MEN, "p0.c0.sex.in": "F", "kind": "count"}
        drawn = ana.draft(women)
        assert "Not enough is left" in text_of(drawn)
        assert re.search(r'<button id="ask"[^>]* disabled', drawn.text)
        refused = ana.post(f"{P}/ask", {**women, **pressed(drawn)})
        assert (refused.status_code, title_of(refused)) == (402, "The account says no")
        assert ana.ask({**MEN, "kind": "count"}).status_code == 303  # what was asked before stays free
        cleo = pages.browser("cleo")
        assert cleo.post(f"{P}/custody/suspension", {"suspended": "yes"}).status_code == 303
        assert "The custodian has stopped spending" in text_of(ana.get(P))
        stopped = ana.ask({**women, "within": "custom", "custom": "500"})
        assert (stopped.status_code, title_of(stopped)) == (403, "Spending is stopped")


def test_what_was_asked_elsewhere_is_in_the_history(pages) -> None:
    ben = pages.browser("ben")
    token = re.search(r"lw_[\w-]+", ben.post(f"{P}/account/tokens", {"name": "a test"}).text)[0]
    with pages.door.client(None) as client:
        body = {"question": {"ask": "mean", "table": "patient", "of": "bmi"}, "price": {"epsilon": "0.05"}}
        headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": "from-a-program"}
        asked = client.post("/api/v1/populations/clinic/questions", json=body, headers=headers)
        assert asked.status_code == 200, json.dumps(asked.json())
    pages.door.clients.clear()
    history = ben.get(f"{P}/history")
    assert "the mean of bmi" in text_of(history).lower()
    assert ben.get(f"{P}/answers/from-a-program").status_code == 200


def test_the_custodian_sets_an_allowance_and_takes_it_away(tmp_path_factory, budget) -> None:
    with pages_of(tmp_path_factory.mktemp("allowed"), budget, people=50) as pages:
        cleo = pages.browser("cleo")
        set_ = cleo.post(f"{P}/custody/allowances", {"analyst": "ana", "allowance": "0.5"})
        assert set_.status_code == 303, text_of(set_)
        assert "ana ε 0.5 ε 0.5" in text_of(cleo.get(f"{P}/custody"))
        assert "Of your own allowance ε 0.5 is left." in text_of(pages.browser("ana").get(f"{P}/account"))
        odd = cleo.post(f"{P}/custody/allowances", {"analyst": "ana", "allowance": "much"})
        assert odd.status_code == 422
        assert pages.browser("ana").post(f"{P}/custody/allowances", {"analyst": "ana"}).status_code == 404
        assert cleo.post(f"{P}/custody/allowances", {"analyst": "ana", "do": "forget"}).status_code == 303
        assert "ana – – Stop" in text_of(cleo.get(f"{P}/custody"))


def test_steps_back_need_no_script(pages) -> None:
    ana = pages.browser("ana")
    drawn = ana.draft({"do": "add:0:patient.smoker|smoker|", "kind": "count"})
    drawn = ana.draft({**inputs_of(drawn), "do": "add-panel"})
    drawn = ana.draft({**inputs_of(drawn), "do": "add:1:condition|concept|asthma"})
    assert sentence_in(drawn) == "People with smoker: yes and an entry in condition (concept asthma)."
    typed = ana.draft({**inputs_of(drawn), "p1.c0.times": "3", "p1.include": "out"})
    assert "leaving out those with at least 3 entries" in text_of(typed)
    said = []
    for _ in range(4):
        typed = ana.draft({**inputs_of(typed), "do": "undo"})
        said.append(sentence_in(typed))
    both = "People with smoker: yes and an entry in condition (concept asthma)."
    assert said == [both, "People with smoker: yes.", "People with smoker: yes.", ""]
    assert 'id="undo"' not in typed.text


def inputs_of(page) -> dict[str, list[str]]:
    """Return what the form of the builder would send, as a browser reads it."""
    found: dict[str, list[str]] = {}
    form = re.search(r'<form class="builder".*?</form>', page.text, re.DOTALL)[0]
    for tag in re.findall(r"<input[^>]*>", form):
        said = {name: html.unescape(value) for name, value in re.findall(r'(\w+)="([^"]*)"', tag)}
        if "name" in said and (said.get("type") not in {"radio", "checkbox"} or " checked" in tag):
            found.setdefault(said["name"], []).append(said.get("value", ""))
    found.pop("csrf")
    return found


def sentence_in(page) -> str:
    found = re.search(r'id="sentence">(.*?)</p>', page.text, re.DOTALL)
    return "" if found is None else re.sub(r"<[^>]*>", "", found[1])


def test_values_of_a_long_vocabulary_are_found_and_not_listed(tmp_path_factory, budget) -> None:
    names = ", ".join(f'"{kind} illness {n}"' for n in range(60) for kind in ("acute", "chronic"))

    def declared(text: str) -> str:
        head, _, rest = text.partition("[populations.clinic.tables.condition.columns]\n")
        concept = f'concept = {{ type = "category", values = [{names}] }}'
        return f"{head}[populations.clinic.tables.condition.columns]\n{concept}\n{rest.partition(chr(10))[2]}"

    with pages_of(tmp_path_factory.mktemp("long"), budget, people=50, declared=declared) as pages:
        ana = pages.browser("ana")
        drawn = ana.draft({"do": "add:0:condition|concept|acute illness 7", "kind": "count"})
        assert "<option" not in drawn.text.partition("p0.c0.concept")[2].partition("p0.c0.times")[0]
        found = ana.draft({**inputs_of(drawn), "p0.c0.concept.find": "chronic 5"})
        assert "Add all 15" in text_of(found)
        all_of_them = ana.draft({**inputs_of(found), "do": "values:0:0:concept|chronic 5"})
        assert sentence_in(all_of_them).count("illness") == 16
        one = ana.draft({**inputs_of(drawn), "do": "value:0:0:concept|chronic illness 3"})
        assert "(concept acute illness 7 or chronic illness 3)" in sentence_in(one)
        part = ana.get(f"{P}/dictionary/search?q=acute+11&place=0:0:concept&of=condition.concept")
        assert 'value="value:0:0:concept|acute illness 11"' in part.text
        for odd in (
            "place=x&of=condition.concept",
            "place=0:0:concept&of=nothing",
            f"place={EVIL}&of=condition.concept",
        ):
            assert ana.get(f"{P}/dictionary/search?q=a&{odd}").status_code == 200


def test_a_stream_is_asked_about_every_cell_of_a_grid(pages) -> None:
    ben = pages.browser("ben")
    fields = {**MEN, "kind": "enough", "at_least": "60", "stream": "new", "sure": "15", "yeses": "6"}
    one, many = ben.draft(fields), ben.draft({**fields, "each": "smoker", "each2": "sex"})
    assert "Open and ask · " in text_of(one)
    assert "Open and ask 6 times" in text_of(many)  # smokers or not or unknown, women and men
    assert "in all 6 answers at once" in text_of(many)
    twice = ben.draft({**fields, "each": "sex", "each2": "sex"})
    assert "Not ready yet" in text_of(twice)
    form = {**fields, "each": "smoker", "each2": "sex"}
    sent = {**form, **pressed(ben.draft(form))}
    changed = ben.post(f"{P}/ask", {**sent, "each2": "site"})
    assert changed.status_code == 409  # whoever changes the grid sees its price first
    places = {ben.post(f"{P}/ask", sent).headers["location"] for _ in range(2)}
    assert len(places) == 1
    seen = ben.get(places.pop())
    told = text_of(seen)
    found = re.search(r"(\d) yes and (\d) no, in 6 cells", told)
    assert found, told
    assert int(found[1]) + int(found[2]) == 6  # it has a yes for each cell, and does not halt
    assert (seen.text.count('class="c-cell'), seen.text.count('scope="row"')) == (6, 3)
    assert "For each smoker and sex." in told
    again = html.unescape(re.search(r'href="([^"]*each2=sex[^"]*)"', seen.text)[1])
    assert "Ask 6 times" in text_of(ben.get(again))
    row = re.search(r"<tr>(?:(?!</tr>).)*\d yes, \d no(?:(?!</tr>).)*</tr>", ben.get(f"{P}/history").text, re.DOTALL)[0]
    assert seen.url.path in row
    assert ("ε" in row) == (int(found[1]) > 0)  # a yes is not free
    assert pages.browser("ana").get(seen.url.path).status_code == 404
