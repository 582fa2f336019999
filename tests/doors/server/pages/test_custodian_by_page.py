"""The custodian's forms, sent as a browser without a script sends them: tables, policy, and what is refused."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from doors.server.pages.visitors import MEN, P, text_of
from lapwing.answers.budget import BudgetStatus
from lapwing.doors.server.pages.ledger_rows import entry_name
from lapwing.doors.server.pages.page_words import words_of

pytestmark = pytest.mark.one_budget(
    "how forms are sent and refused; test_every_kind_of_budget decides all of it under every kind"
)

CSV = "person_id,sex,age,bmi\n1,F,107,22.5\n2,M,64,27.25\n"


@pytest.fixture
def ward(pages):
    """A file that is no table yet, and the form for it."""
    (pages.door.folder / "ward.csv").write_text(CSV)
    return {"name": "ward", "source": "file:ward.csv", "person_key": "person_id", "rows": "one"}


def declared(pages) -> dict:
    return tomllib.loads((pages.door.folder / "lapwing.toml").read_text())["populations"]["clinic"]


def test_a_table_is_declared_from_names_and_from_what_is_typed(pages, ward) -> None:
    cleo = pages.browser("cleo")
    tables = cleo.get(f"{P}/custody/tables")
    assert "ward.csv" in text_of(tables)
    assert "ledger.db" not in tables.text
    form = cleo.get(f"{P}/custody/tables/new", params={"name": "ward", "source": "file:ward.csv"})
    assert "107" not in text_of(form)
    assert "22.5" not in form.text
    before = (pages.door.folder / "lapwing.toml").read_text()
    typed = {"c1.kind": "category", "c1.values": "F, M", "c2.kind": "integer", "c2.low": "0"}
    half = cleo.post(f"{P}/custody/tables", {**ward, **typed})
    assert (half.status_code, "age: write both bounds" in text_of(half)) == (422, True)
    assert 'value="F, M"' in half.text
    typed |= {"c2.high": "120", "c2.nullable": "on", "c2.title": "in years"}
    unbounded = cleo.post(f"{P}/custody/tables", {**ward, **typed, "c3.kind": "real"})
    assert "bmi: numbers need a lowest and a highest" in text_of(unbounded)
    several = cleo.post(f"{P}/custody/tables", {**ward, **typed, "rows": "many", "max_rows": "few"})
    assert (several.status_code, "“few” is no whole number" in text_of(several)) == (422, True)
    crossed = cleo.post(f"{P}/custody/tables", {**ward, **typed, "c2.low": "130"})
    assert crossed.status_code == 422
    assert (pages.door.folder / "lapwing.toml").read_text() == before
    assert cleo.post(f"{P}/custody/tables", {**ward, **typed}).headers["location"].endswith("/tables?added=ward")
    columns = declared(pages)["tables"]["ward"]["columns"]
    assert columns["sex"] == {"type": "category", "values": ["F", "M"]}
    assert columns["age"] == {"type": "integer", "low": 0, "high": 120, "nullable": True, "title": "in years"}
    assert set(columns) == {"sex", "age"}
    assert "ward" in text_of(pages.browser("ana").get(f"{P}/dictionary"))
    again = cleo.post(f"{P}/custody/tables", {**ward, **typed})
    assert "table ward is declared already" in text_of(again).casefold()


@pytest.mark.parametrize("source", ["file:/etc/passwd.csv", "file:../secret.csv", "file:ledger.db", "beside:patient"])
def test_only_what_the_workspace_has_can_become_a_table(pages, source) -> None:
    told = pages.browser("cleo").get(f"{P}/custody/tables/new", params={"name": "x", "source": source})
    assert told.status_code == 422
    assert "Is not there" in text_of(told) or "is not there" in text_of(told) or "in no database" in text_of(told)


def test_a_policy_is_drawn_before_it_is_saved_and_a_budget_only_rises(pages) -> None:
    cleo = pages.browser("cleo")
    small = cleo.post(f"{P}/custody/policy/draft", {"budget": "1"})
    large = cleo.post(f"{P}/custody/policy/draft", {"budget": "4"})
    assert "What a budget of ε 1 means" in text_of(small)
    assert "2.7 %" in text_of(small)  # 0.01 e / (0.99 + 0.01 e)
    assert small.text != large.text
    assert declared(pages)["budget"] == {"epsilon": "10"}
    assert cleo.ask({**MEN, "kind": "count", "within": "30"}).status_code == 303
    lower = cleo.post(f"{P}/custody/policy", {"budget": "9", "noes": "50"})
    assert (lower.status_code, declared(pages)["budget"]) == (422, {"epsilon": "10"})
    odd = cleo.post(f"{P}/custody/policy", {"budget": "10", "noes": "a few"})
    assert (odd.status_code, "“a few” is no whole number" in text_of(odd)) == (422, True)
    before = cleo.get("/custody/ledger").text.count("<tr>")
    assert cleo.post(f"{P}/custody/policy", {"budget": "10"}).status_code == 303
    assert cleo.get("/custody/ledger").text.count("<tr>") == before  # what does not change is no entry
    fields = {"budget": "11", "most": "0.5", "noes": "50", "members": "on"}
    assert cleo.post(f"{P}/custody/policy", fields).status_code == 303
    kept = declared(pages)
    assert kept["budget"] == {"epsilon": "11"}
    assert kept["policy"] == {"most": {"epsilon": "0.5"}, "noes_a_day": 50}
    assert kept["unnamed_analysts"] == "refused"
    assert pages.browser("ana").get(P).status_code == 404
    hers = {"analyst": "Ana", "allowance": "2", "tables": ["patient", "visit"], "most": "0.2"}
    assert cleo.post(f"{P}/custody/policy/analysts", hers).status_code == 303
    assert declared(pages)["analysts"]["ana"]["tables"] == ["patient", "visit"]
    assert pages.browser("ana").get(P).status_code == 200
    cleo.post(f"{P}/custody/policy", {"budget": "11"})
    assert "policy" not in declared(pages) or not declared(pages)["policy"]
    assert "unnamed_analysts" not in declared(pages) or declared(pages)["unnamed_analysts"] == "allowed"


def test_a_link_with_an_absurd_budget_stops_nobody(pages) -> None:
    seen = pages.browser("cleo").get(f"{P}/custody/policy", params={"budget": "1e999999999"})
    assert seen.status_code == 200
    assert "1e999999999" not in text_of(seen)


def test_an_auditor_reads_the_policy_and_changes_nothing(pages) -> None:
    seen = pages.browser("otto").get(f"{P}/custody/policy")
    assert seen.status_code == 200
    assert words_of("en")("policy.save") not in text_of(seen)


def test_the_overview_says_how_long_the_budget_lasts(pages) -> None:
    cleo = pages.browser("cleo")
    assert cleo.ask({**MEN, "kind": "count", "within": "20"}).status_code == 303
    assert "it lasts until 20" in text_of(cleo.get(f"{P}/custody"))


def test_health_counts_failures_by_kind_and_says_how_full_the_disk_is(pages) -> None:
    lines = [
        "2026-01-02T03:04:05+00:00 EngineError: first",
        "  its second line",
        "2026-01-03T03:04:05+00:00 EngineError: x",
    ]
    with (pages.door.folder / "failures.log").open("a") as log:
        log.write("\n".join(lines) + "\n")
    seen = text_of(pages.browser("cleo").get("/custody/health"))
    assert "EngineError 2026-01-03 03:04 2" in seen
    assert re.search(r"[\d.]+ [GT]B of [\d.]+ [GT]B are free", seen)
    assert "ledger.db" in seen


def test_every_kind_of_entry_has_words(pages) -> None:
    golden = Path(__file__).parents[3] / "ledger" / "format_1.jsonl"
    entries = [json.loads(line).get("entry") for line in golden.read_text().splitlines()]
    names = {entry_name(entry) for entry in entries if entry}
    assert names == {name for name in words_of("en").names if name.startswith("entry.")}
    assert "table added (patient) clinic" in text_of(pages.browser("otto").get("/custody/ledger"))


def test_the_ledger_says_whether_there_were_receipts_to_compare(pages) -> None:
    receipt = re.search(
        r'<code class="tiny">([^<]+)</code>', pages.browser("ana").answer({**MEN, "kind": "count"}).text
    )[1]
    cleo = pages.browser("cleo")
    none, one = (cleo.post("/custody/ledger/verification", {"receipts": given}) for given in ("", receipt))
    assert "entries were checked. You gave no receipts to compare." in text_of(none)
    assert "entries were checked. The receipt that you gave agrees." in text_of(one)


def test_new_people_have_an_account_in_two_steps(pages) -> None:
    (pages.door.folder / "guests.csv").write_text(CSV.replace("64", "65"))
    cleo = pages.browser("cleo")
    assert 'href="/custody/new"' in cleo.get(f"{P}/custody").text
    assert "/custody/new" not in pages.browser("otto").get(f"{P}/custody").text
    assert pages.browser("ana").get("/custody/new").status_code == 404
    first = {"people": "Ward 3 & co", "name": "ward", "source": "file:guests.csv"}
    assert "guests.csv" in cleo.get("/custody/new").text
    nowhere = cleo.get("/custody/new", params={**first, "source": "file:../secret.csv"})
    assert (nowhere.status_code, "is not there" in text_of(nowhere)) == (422, True)
    assert 'value="ward"' in nowhere.text
    form = cleo.get("/custody/new", params=first)
    assert "22.5" not in form.text
    assert "2.7 %" in text_of(form)  # what epsilon 1 makes of 1 %
    before = (pages.door.folder / "lapwing.toml").read_text()
    typed = {
        **first,
        "person_key": "person_id",
        "rows": "one",
        "key_type": "integer",
        "c2.kind": "integer",
        "c2.low": "0",
    }
    terms = {"currency": "epsilon", "amount": "2", "adjacency": "replace", "groups_of": "1", "members": "on"}
    half = cleo.post("/custody/new", {**typed, **terms})
    assert (half.status_code, "age: write both bounds" in text_of(half)) == (422, True)
    typed["c2.high"] = "120"
    for wrong, said in (
        ({"amount": "none"}, "is not a number"),
        ({"amount": "-1"}, "is negative"),
        ({"groups_of": "a few"}, "write a whole number from 1"),
        ({"people": "clinic"}, "is there already"),
        ({"source": "file:patient.parquet", "c2.kind": ""}, "this is a table of population 'clinic' too"),
    ):
        refused = cleo.post("/custody/new", {**typed, **terms, **wrong})
        assert (refused.status_code, said in text_of(refused).replace("This", "this")) == (422, True), text_of(refused)
    drawn = cleo.post("/custody/new", {**typed, **terms, "amount": "20", "do": "look"})
    assert "lets an attacker's odds grow" in text_of(drawn)
    assert "What a budget of ε 20 means" in text_of(drawn)
    assert "lets an attacker's odds grow" in text_of(cleo.post("/custody/new/draft", {**terms, "amount": "20"}))
    assert (pages.door.folder / "lapwing.toml").read_text() == before
    made = cleo.post("/custody/new", {**typed, **terms})
    goal = "/populations/Ward%203%20%26%20co/custody"
    assert made.headers["location"] == f"{goal}/tables?added=ward"
    there = text_of(cleo.get(made.headers["location"]))
    assert "Table ward is there" in there
    assert "Nobody may ask yet: only members may, and no analyst has an allowance." in there
    written = tomllib.loads((pages.door.folder / "lapwing.toml").read_text())["populations"]["Ward 3 & co"]
    assert written["budget"] == {"epsilon": "2"}
    assert (written["adjacency"], written["unnamed_analysts"]) == ("replace", "refused")
    assert pages.browser("ana").get(goal.removesuffix("/custody")).status_code == 404
    hers = {"analyst": "ana", "allowance": "1"}
    assert cleo.post(f"{goal}/policy/analysts", hers).status_code == 303
    assert "Ward 3 & co" in text_of(pages.browser("ana").get("/"))


def test_custody_is_shown_without_computing_how_often_a_count_could_be_asked(pages, monkeypatch) -> None:
    def never(*_: object) -> int:  # under an (epsilon, delta) budget it takes seconds
        raise AssertionError

    monkeypatch.setattr(BudgetStatus, "times", never)
    for place, said in (("/custody", "What a budget buys"), ("/custody/policy", "What it buys")):
        seen = pages.browser("cleo").get(P + place)
        assert (seen.status_code, said in text_of(seen)) == (200, True), text_of(seen)


def test_what_takes_a_while_to_count_comes_after_the_page(pages) -> None:
    (pages.door.folder / "late.csv").write_text("person_id,age\n7,40\n8,41\n")
    cleo = pages.browser("cleo")
    typed = {"people": "late", "name": "late", "source": "file:late.csv", "person_key": "person_id", "rows": "one"}
    typed |= {"key_type": "integer", "c1.kind": "integer", "c1.low": "120", "c1.high": "0", "adjacency": "add-remove"}
    typed |= {"currency": "delta", "amount": "3", "delta": "1e-6", "groups_of": "1"}
    turned = cleo.post("/custody/new", typed)
    assert "age: from 120 to 0 is the wrong way round" in text_of(turned)
    assert cleo.post("/custody/new", {**typed, "c1.low": "0", "c1.high": "120"}).status_code == 303
    for place in ("/populations/late", "/populations/late/account"):
        first, later = cleo.get(place), cleo.get(place, params={"left": "1"})
        assert f'data-late="{place}?left=1"' in first.text
        assert "Usual counts" not in text_of(first)
        assert "data-late" not in later.text
        assert "Usual counts" in text_of(later)


def test_an_invitation_says_with_which_name_one_will_sign_in_and_when_it_is_gone(pages) -> None:
    cleo, nobody = pages.browser("cleo"), pages.browser()
    invited = cleo.post("/custody/people", {"id": "vera", "name": "Vera", "role": "analyst"})
    link = re.search(r"/invitations/[\w-]+", invited.text)
    assert link is not None
    assert "they sign in as vera" in text_of(invited)
    assert "You will sign in as vera ." in text_of(nobody.get(link[0]))
    assert cleo.post(f"{P}/custody/policy/analysts", {"analyst": "vera", "allowance": "1"}).status_code == 303
    assert "Nobody here is called" not in text_of(cleo.get(f"{P}/custody/policy?saved=1&analyst=vera"))
    assert "Nobody here is called vero" in text_of(cleo.get(f"{P}/custody/policy?saved=1&analyst=vero"))
    chosen = {"password": "four words are enough", "again": "four words are enough"}
    assert pages.browser().client.post(link[0], data=chosen).status_code == 303
    used = pages.browser().client.post(link[0], data=chosen)
    assert used.status_code == 404
    for gone in (nobody.get("/invitations/absent"), nobody.get(link[0]), used):
        assert "This link was used, or is too old. If you have chosen your password, sign in" in text_of(gone)
        assert 'name="password"' not in gone.text
        assert 'href="/login"' in gone.text


def test_whoever_forgot_their_password_gets_a_new_link(pages) -> None:
    cleo, nobody = pages.browser("cleo"), pages.browser()
    shown = cleo.post("/custody/people/ben", {"do": "link"})
    link = re.search(r"/invitations/[\w-]+", shown.text).group()
    assert "they sign in as ben" in text_of(shown)
    assert "You will sign in as ben ." in text_of(nobody.get(link))
    assert "ben, analyst" in text_of(cleo.get("/custody/people")).lower().partition("links that are under way")[2]


def test_a_button_that_no_form_has_changes_nobody(pages) -> None:
    cleo = pages.browser("cleo")
    before = cleo.get("/custody/people").text
    assert cleo.post("/custody/people/ben", {"do": "promote", "role": "custodian"}).status_code == 404
    assert cleo.get("/custody/people").text == before
