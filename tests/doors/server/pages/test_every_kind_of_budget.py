"""Every page as everybody who may see it, in every state of an account that it shows, under every kind of budget.

What a page says was spent, and is left, is held against the ledger, which is asked in Python.
"""

import html
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

import httpx
import pytest

import lapwing as lw
from budgets import KindOfBudget
from doors.server.pages.browsers import Looker
from doors.server.pages.test_who_sees_what import SEES
from doors.server.pages.visitors import MEN, PEOPLE, P, Pages, pages_of, pressed, text_of
from lapwing.answers.budget import BudgetStatus, share_left
from lapwing.doors.server.pages.frame import above, below
from postgres_server import where_there_is_room

WHO = ("ana", "cleo", "otto")
LOOKED_AT = [
    *(path for path in SEES if path.startswith(P) and path != f"{P}/dictionary/search"),
    "/custody/ledger",
]
LEAK = re.compile(r"Fraction\(|DP\(|Traceback|\bnan\b|\binf\b|Undefined|\bNone\b(?! yet| are set|\. A stream)")
"""What nobody should read on a page: how Python writes things down."""
ABOUT_EPSILON = re.compile("For epsilon|a budget of epsilon alone|has an epsilon of a few units")
"""What is said of epsilon where a budget counts in rho: a median is paid by one, and only one bounds every belief."""


def without_services(declared: str) -> str:
    """Return what is declared, with a column whose values are not public."""
    changed, times = re.subn(r"(?m)^service = .*$", 'service = { type = "text" }', declared)
    assert times == 1
    return changed


@pytest.fixture(scope="module")
def clinic(budget: KindOfBudget) -> Iterator[Pages]:
    """A clinic whose account goes through all states, in the order of the tests here."""
    with (
        TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as folder,
        pages_of(Path(folder), budget, people=120, declared=without_services) as pages,
    ):
        yield pages


def account_of(pages: Pages, analyst: str = "ana") -> BudgetStatus:
    with lw.open(pages.door.folder, analyst=analyst) as session:
        return session.budget()


def main_of(page: httpx.Response) -> str:
    """Return what a reader sees of a page, without what all pages have around them."""
    inner = re.search(r"<main.*?</main>", page.text, re.DOTALL)
    told = re.sub(r"<[^>]*>", " ", inner[0] if inner else page.text)
    return re.sub(r"\s+", " ", html.unescape(told))


def crawl(pages: Pages, budget: KindOfBudget, *more: str) -> dict[tuple[str, str], str]:
    """Look at every page as everybody who may see it; return what they read, by who they are and where it is."""
    read = {}
    for who in WHO:
        browser = pages.browser(who)
        for path in [*LOOKED_AT, *more]:
            if PEOPLE[who] not in SEES.get(path.partition("?")[0], {PEOPLE["ana"], PEOPLE["cleo"]}):
                continue
            seen = browser.get(path, follow_redirects=True)
            told = main_of(seen)
            assert seen.status_code == 200, (who, path, told)
            assert not (leak := LEAK.search(told)), (who, path, leak[0], told)
            if budget.currency == "rho":
                assert not re.search(r"(?i)ε|epsilon", ABOUT_EPSILON.sub("", told)), (who, path, told)
            read[who, path] = told
    return read


def fits(pages: Pages, who: str) -> str:
    """Return the largest epsilon that one question may have, as a page shows it."""
    return f"ε {below(account_of(pages, who).remaining.pure)}"


def require_account(pages: Pages, budget: KindOfBudget, read: dict[tuple[str, str], str], amount: str = "10") -> None:
    """Require that pages which show the account agree with the ledger."""
    status = account_of(pages, "cleo")
    for who, path in (("ana", f"{P}/account"), ("cleo", f"{P}/custody"), ("otto", f"{P}/custody")):
        told = read[who, path]
        if budget.adds_up:
            assert status.left is not None
            assert f"{budget.sign} {below(status.left)} of {budget.sign} {amount} " in told, (who, path, told)
        else:
            residue = status.account.filters["everyone"]
            with_fresh = lw.accounting.open_account(budget.promise(amount), shares=status.account.shares)
            fresh = with_fresh.filters["everyone"]
            parts = [Fraction(residue.residue or 0) / Fraction(fresh.residue)]
            parts += [residue.pure.left / fresh.pure.left] if residue.pure else []
            assert f"{below(100 * max(parts))} % of {budget.text(amount)} " in told, (who, path, told)
            assert fits(pages, who) in told, (who, path, told)


def test_nothing_was_spent(clinic, budget) -> None:
    read = crawl(clinic, budget)
    require_account(clinic, budget, read)
    assert "Nothing was spent today." in read["cleo", f"{P}/custody"]
    assert "Nobody has asked anything yet." in read["otto", f"{P}/custody"]


QUESTIONS = {
    "count": {**MEN, "kind": "count", "within": "30"},
    "funnel": {**MEN, "kind": "funnel", "within": "30"},
    "groups": {**MEN, "kind": "groups", "by": "sex", "within": "30"},
    "grid": {**MEN, "kind": "grid", "by": "sex", "by2": "site", "within": "100"},
    "stream": {**MEN, "kind": "enough", "at_least": "50", "stream": "new", "sure": "60", "yeses": "3"},
    "stream of groups": {**MEN, "kind": "enough", "at_least": "50", "stream": "new", "each": "sex", "sure": "60"},
}


@pytest.mark.parametrize("kind", QUESTIONS)
def test_what_is_asked_is_paid_in_the_currency_that_the_page_shows(clinic, budget, kind) -> None:
    ana, before = clinic.browser("ana"), account_of(clinic)
    drawn = ana.draft(QUESTIONS[kind])
    assert not LEAK.search(main_of(drawn)), main_of(drawn)
    answer = ana.answer(QUESTIONS[kind])
    told = main_of(answer)
    assert not LEAK.search(told), told
    assert account_of(clinic).account != before.account
    if budget.currency == "rho":
        assert "ε" not in told + main_of(drawn)
    with lw.open_workspace(clinic.door.folder) as workspace:
        charge = workspace.ledger.entries("clinic", kinds=["charge", "opening"], newest_first=True, limit=1)[0]
        kept = workspace.ledger.account("clinic").filters["everyone"]
    cost = charge["account"]["lines"][0]["cost"]
    if budget.currency == "rho" or cost["epsilon"] is None:
        paid = f"ρ {above(cost['rho'])}"
    else:
        by_yes = budget.adds_up or kept.pure is not None
        whole = Fraction(cost["epsilon"]) + (0 if by_yes else Fraction(cost["reserved"]))
        paid = f"ε {above(whole)}"
    assert paid in told, (paid, told)
    assert paid in main_of(drawn), (paid, main_of(drawn))


SELECTS = {
    "two numbers": "select sex, count(*) as n, avg(age) as a from patient group by sex",
    "a median": "select median(age) from patient where sex = 'F'",
}


@pytest.mark.parametrize("name", SELECTS)
def test_a_select_is_paid_in_each_way_that_the_budget_has(clinic, budget, name) -> None:
    ana, offers = clinic.browser("ana"), {"epsilon": "0.3"}
    if budget.currency == "rho" and name != "a median":
        offers["rho"] = "0.01"
    for currency, amount in offers.items():
        fields = {"q": SELECTS[name], "pay": currency, currency: amount}
        drawn = ana.post(f"{P}/sql/draft", fields)
        assert re.search(rf"Ask · {budget.sign} [\d.]+", main_of(drawn)), main_of(drawn)
        asked = ana.post(f"{P}/sql", {**fields, **pressed(drawn)})
        assert asked.status_code == 303, main_of(asked)
        answer = ana.get(asked.headers["location"])
        assert f"Price {budget.sign} " in main_of(answer), main_of(answer)
        assert "F: n" not in answer.text, "a picture is about one column, and says which above it"
        again = ana.get(re.search(r'href="([^"]*/sql\?[^"]*)"', answer.text)[1].replace("&amp;", "&"))
        assert "Show the answer · free" in main_of(again), "the link has the same offer"


def test_groups_that_are_not_declared_are_paid_with_a_delta_where_there_is_one(clinic, budget) -> None:
    ana = clinic.browser("ana")
    fields = {"q": "select service, count(distinct person_id) as n from visit group by service", "max_groups": "2"}
    asked = [{"pay": "within", "within": "30"}, {"pay": "epsilon", "epsilon": "0.5"}]
    refused = [main_of(ana.post(f"{P}/sql/draft", {**fields, **one})) for one in asked]
    for told in refused:
        assert not LEAK.search(told), told
        assert '="' not in told, "a page has fields, and no keywords of Python"
        assert ("takes a delta, which this budget does not have" in told) is (budget.delta is None), told
    if budget.delta is None:
        assert 'name="delta"' not in ana.get(f"{P}/sql").text
        return
    assert "offer both, epsilon 0.1 and delta 1e-8" in refused[1]
    assert "Choose “For epsilon” above." in refused[0]
    wrong = main_of(ana.post(f"{P}/sql/draft", {**fields, "pay": "epsilon", "epsilon": "0.5", "delta": "few"}))
    assert "“few” is no delta; write 1e-8, say, or nothing." in wrong
    paid = {**fields, "pay": "epsilon", "epsilon": "0.5", "delta": "1e-8"}
    drawn = ana.post(f"{P}/sql/draft", paid)
    assert "Ask · ε 0.5, δ 1e-8" in main_of(drawn), main_of(drawn)
    told = ana.post(f"{P}/sql", {**paid, **pressed(drawn)})
    assert told.status_code == 303, main_of(told)
    assert "ε 0.5, δ 1e-8" in main_of(ana.get(told.headers["location"]))


def test_something_was_spent(clinic, budget) -> None:
    words = urlencode({"q": "select avg(age), count(*) from patient", "pay": budget.currency, budget.currency: "0.05"})
    sql = f"{P}/sql?{words}"
    read = crawl(clinic, budget, sql)
    require_account(clinic, budget, read)
    assert "Ask · " in read["ana", sql]
    for who in ("cleo", "otto"):
        told = read[who, f"{P}/custody"]
        assert "Nothing was spent today" not in told
        assert re.search(r"At today's pace, (ε|ρ) ?[\d.e-]+ a day|At today's pace, [\d.e-]+ % a day", told), told
        assert re.search(r"ana (ε|ρ) [\d.]+" if budget.adds_up else r"ana [\d.]+ %", told), told
    with lw.open_workspace(clinic.door.folder) as workspace:
        own = BudgetStatus(account=workspace.ledger.spent_by("clinic")["ana"])
    if own.left is not None:
        (one,) = own.account.filters.values()
        assert f"ana {budget.sign} {above(one.spent)} " in read["cleo", f"{P}/custody"]


def test_a_repeated_question_costs_nothing_and_nothing_else_is_said(clinic) -> None:
    told = main_of(clinic.browser("ana").draft(QUESTIONS["count"]))
    assert "it was asked before" in told
    assert "afterwards" not in told
    assert "Show the answer · free" in told


def test_a_request_waits(clinic, budget) -> None:
    ana = clinic.browser("ana")
    assert ana.post(f"{P}/account/requests", {"wanted": "1", "purpose": "asthma"}).status_code == 303
    read = crawl(clinic, budget)
    require_account(clinic, budget, read)
    for who in ("cleo", "otto"):
        assert f"ana asks for {budget.sign} 1 more" in read[who, f"{P}/custody"]
    assert "Waiting for you" in read["cleo", f"{P}/custody"]
    assert "Waiting for you" not in read["otto", f"{P}/custody"]


def test_allowances_of_each_kind_say_what_is_left(clinic, budget) -> None:
    cleo = clinic.browser("cleo")
    given = {"ana": {"allowance": "6"}, "ben": {"allowance": "2"}}
    if budget.delta:  # of epsilon alone for Ben, who has not asked yet
        given["ana"]["delta"] = "5e-7"
    for who, fields in given.items():
        assert cleo.post(f"{P}/custody/allowances", {"analyst": who, **fields}).status_code == 303
    assert clinic.browser("ben").ask({**MEN, "kind": "count", "within": "40"}).status_code == 303
    read = crawl(clinic, budget)
    require_account(clinic, budget, read)
    for who in ("ana", "ben"):
        own = account_of(clinic, who).allowance
        assert own is not None
        left = BudgetStatus(account=own).left
        shown = f"{budget.sign} {below(left)}" if left is not None else f"{below(100 * share_left(own))} %"
        allowed = f"{who} {budget.sign} {given[who]['allowance']}{', δ 5e-7' if 'delta' in given[who] else ''} {shown} "
        assert allowed in read["cleo", f"{P}/custody"], (allowed, read["cleo", f"{P}/custody"])
        told = main_of(clinic.browser(who).get(f"{P}/account"))
        assert f"Of your own allowance {shown} is left" in told, told
    wrong = cleo.post(f"{P}/custody/allowances", {"analyst": "ana", "allowance": "a lot"})
    assert (wrong.status_code, "a lot" in text_of(wrong)) == (422, True)


def test_a_request_about_an_allowance_is_granted(clinic, budget) -> None:
    ana, cleo = clinic.browser("ana"), clinic.browser("cleo")
    assert ana.post(f"{P}/account/requests", {"wanted": "1", "purpose": "more asthma"}).status_code == 303
    told = main_of(cleo.get(f"{P}/custody"))
    beside = ", δ 5e-7" if budget.delta else ""
    assert f"Yes raises the allowance from {budget.sign} 6{beside} to {budget.sign} 7{beside}." in told
    assert clinic.browser("ben").post(f"{P}/account/requests", {"wanted": "1", "purpose": "of his own"}).is_redirect
    told = main_of(cleo.get(f"{P}/custody"))
    assert f"Yes raises the allowance from {budget.sign} 2 to {budget.sign} 3." in told
    if budget.currency == "epsilon":  # from what Ben is told alone, whose allowance has no delta
        assert "from what ben alone is told" in told
    for number in ("1", "2", "3"):
        assert cleo.post(f"{P}/custody/requests/{number}", {"granted": "yes"}).status_code == 303
    read = crawl(clinic, budget)
    require_account(clinic, budget, read)
    assert "No request is open" in read["cleo", f"{P}/custody"]


def test_spending_is_stopped(clinic, budget) -> None:
    cleo = clinic.browser("cleo")
    assert cleo.post(f"{P}/custody/suspension", {"suspended": "yes"}).status_code == 303
    read = crawl(clinic, budget)
    require_account(clinic, budget, read)
    assert "The custodian has stopped spending" in read["ana", P]
    assert cleo.post(f"{P}/custody/suspension", {"suspended": "no"}).status_code == 303
    for who in ("cleo", "otto"):
        told = main_of(clinic.browser(who).get("/custody/ledger"))
        assert re.search(r"cleo spending allowed again clinic .* cleo spending stopped clinic", told), told


def test_the_ledger_says_who_asked_what(clinic) -> None:
    for who in ("cleo", "otto"):
        browser = clinic.browser(who)
        told = main_of(browser.get("/custody/ledger?who=ana"))
        assert re.search(r"ana charged clinic the number of people, in patient where sex is 'M'", told), told
        assert "ben" not in told.partition("Verify")[0]
        linked = re.findall(r'href="(/populations/clinic/answers/[^"]+)"', browser.get("/custody/ledger").text)
        assert linked == []  # the answers of others are theirs
    asked = clinic.browser("cleo").ask({**MEN, "kind": "count", "within": "70"})
    assert asked.status_code == 303, main_of(asked)
    own = re.findall(r'href="(/populations/clinic/answers/[^"]+)"', clinic.browser("cleo").get("/custody/ledger").text)
    assert own
    assert clinic.browser("cleo").get(own[0]).status_code == 200


def test_every_link_leads_somewhere(clinic) -> None:
    for who in WHO:
        browser, waiting, seen = clinic.browser(who), ["/"], {"/"}
        while waiting and len(seen) < 150:
            page = browser.get(waiting.pop(), follow_redirects=True)
            assert page.status_code == 200, (who, page.url)
            if "html" not in page.headers["content-type"]:
                continue
            told = main_of(page)
            assert not LEAK.search(told) or page.url.path in {"/proofs", "/audit"}, (who, page.url, told)
            found = {html.unescape(one).partition("#")[0] for one in re.findall(r'href="(/[^"]*)"', page.text)}
            fresh = {one for one in found if one and not one.startswith(("/static", "/proofs/")) and one not in seen}
            seen |= fresh
            waiting += sorted(fresh)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_pages_that_show_budgets_fit_on_a_screen_and_on_a_phone(clinic, chromium, width, scheme) -> None:
    for who, places in (("cleo", ("/custody", "/custody/policy")), ("ana", ("/account", "/sql", "/streams", ""))):
        looker = Looker(chromium, clinic, who, viewport={"width": width, "height": 900}, color_scheme=scheme)
        for place in places:
            page = looker.go(place)
            over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert over <= 0, (who, place, over)
            labels = "[...document.querySelectorAll('svg.chart text')]"
            cut = page.evaluate(f"{labels}.filter(one => one.getBBox().x < 0).map(one => one.textContent)")
            assert cut == [], (who, place, "labels of a picture that are cut off")
        looker.close()
