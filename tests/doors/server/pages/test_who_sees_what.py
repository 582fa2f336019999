"""Every page as every role and as nobody; coming in and going out; forms of other sites; what every page carries."""

import re
from dataclasses import replace

import httpx
import pytest

from doors.server.doors import AUTHORITIES, UNLIMITED
from doors.server.pages.visitors import MEN, PASSWORD, PEOPLE, P, field_of, pages_of, text_of, title_of
from lapwing.doors.server.application import DoorSettings
from lapwing.doors.server.guard import CONTENT_POLICY
from lapwing.doors.server.pages.routes import PAGES
from lapwing.doors.server.rates import Rate
from lapwing.doors.server.roles import Role

pytestmark = pytest.mark.one_budget(
    "who sees what depends on roles; test_every_kind_of_budget crawls all pages under every kind"
)

GUEST, ANALYST, CUSTODIAN, AUDITOR = Role.GUEST, Role.ANALYST, Role.CUSTODIAN, Role.AUDITOR
ASK, OVERSEE, MANAGE = {ANALYST, CUSTODIAN}, {CUSTODIAN, AUDITOR}, {CUSTODIAN}
SEES = {
    "/": set(Role),
    **{path: set(Role) for path in ("/epsilon", "/audit", "/attack", "/receipts", "/programs", "/proofs", "/surveys")},
    P: set(Role),
    f"{P}/dictionary": set(Role),
    f"{P}/account": set(Role),
    f"{P}/dictionary/search": ASK,
    f"{P}/ask": ASK,
    f"{P}/sql": ASK,
    f"{P}/publish": ASK,
    f"{P}/synthetic": ASK,
    f"{P}/explore": ASK,
    f"{P}/compare": ASK,
    f"{P}/model": ASK,
    f"{P}/over-time": ASK,
    f"{P}/study": ASK,
    f"{P}/survival": ASK,
    f"{P}/rows": ASK,
    f"{P}/streams": ASK,
    f"{P}/saved": ASK,
    f"{P}/saved/board": ASK,
    f"{P}/saved/choose": ASK,
    f"{P}/history": ASK,
    "/custody": OVERSEE,
    f"{P}/custody": OVERSEE,
    f"{P}/custody/policy": OVERSEE,
    f"{P}/custody/tables": MANAGE,
    f"{P}/custody/tables/new": MANAGE,
    "/custody/ledger": OVERSEE,
    "/custody/ledger/export": OVERSEE,
    "/custody/new": MANAGE,
    "/custody/people": MANAGE,
    "/custody/health": MANAGE,
}
"""Who sees which page, written down once more: a slip in the table of pages shows here."""


def test_no_page_is_forgotten_here() -> None:
    looks = {one.path.replace("{population}", "clinic") for one in PAGES if one.method == "GET" and not one.open}
    assert {path for path in looks if "{" not in path} == set(SEES)


@pytest.mark.parametrize("path", SEES)
def test_every_page_as_every_role(pages, path) -> None:
    for who, role in PEOPLE.items():
        seen = pages.browser(who).get(path)
        if role in SEES[path]:
            assert seen.status_code in {200, 303}, (who, path, text_of(seen))
        else:
            assert (seen.status_code, title_of(seen)) == (404, "There is no such page"), (who, path)
    nobody = pages.browser().get(path)
    assert nobody.status_code == 303
    assert nobody.headers["location"].startswith("/login")


@pytest.mark.parametrize("page", [one for one in PAGES if one.method == "POST" and not one.open])
def test_a_form_without_its_token_does_nothing(pages, page) -> None:
    path = re.sub(r"\{\w+\}", "absent", page.path.replace("{population}", "clinic"))
    for who, role in PEOPLE.items():
        sent = pages.browser(who).client.post(path, data={"csrf": "0" * 64, **MEN})
        assert sent.status_code in {403, 404}, (who, role, path)
    assert pages.browser().client.post(path, data=MEN).status_code == 303


@pytest.mark.parametrize("page", [one for one in PAGES if one.method == "POST"])
def test_a_form_from_another_site_does_nothing(pages, page) -> None:
    path = re.sub(r"\{\w+\}", "absent", page.path.replace("{population}", "clinic"))
    cleo = pages.browser("cleo")
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
        try:
            assert cleo.post(path, MEN, headers=headers).status_code == 403
        except httpx.ReadError:
            continue  # the guard hangs up before it has read the form


def test_signing_in_and_out(pages) -> None:
    somebody = pages.browser()
    assert "Sign in" in title_of(somebody.get("/login"))
    wrong = somebody.client.post("/login", data={"name": "ana", "password": "not her password"})
    unknown = somebody.client.post("/login", data={"name": "nobody", "password": "not a password"})
    assert wrong.status_code == unknown.status_code == 401
    assert "Name or password is wrong." in text_of(wrong)
    assert text_of(wrong).replace("ana", "") == text_of(unknown).replace("nobody", "")
    somebody.client.cookies.set("lapwing", "chosen-by-somebody-else", domain="127.0.0.1")
    somebody.client.cookies.clear()
    came = somebody.client.post("/login", data={"name": " Ana ", "password": PASSWORD, "next": f"{P}/history"})
    assert (came.status_code, came.headers["location"]) == (303, f"{P}/history")
    cookie = came.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    kept = somebody.client.cookies["lapwing"]
    assert "Ana" in text_of(somebody.get(P))
    assert somebody.post("/logout").headers["location"] == "/login"
    again = pages.browser()
    again.client.cookies.set("lapwing", kept, domain="127.0.0.1")
    assert again.get(P).headers["location"].startswith("/login")


@pytest.mark.parametrize("goal", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_signing_in_leads_to_own_pages_only(pages, goal) -> None:
    came = pages.browser().client.post("/login", data={"name": "ana", "password": PASSWORD, "next": goal})
    assert came.headers["location"] == "/"


def test_an_invitation_makes_a_person_once(pages) -> None:
    cleo = pages.browser("cleo")
    invited = cleo.post("/custody/people", {"id": "dora", "name": "Dora <b>Lee</b>", "role": "analyst"})
    link = re.search(r"http://[^<\s]*/invitations/[\w-]+", invited.text)
    assert link is not None
    place = link[0].removeprefix(pages.address)
    dora = pages.browser()
    assert "Welcome" in title_of(dora.get(place))
    short = dora.client.post(place, data={"password": "short", "again": "short"})
    assert (short.status_code, "12 to 200 characters" in text_of(short)) == (422, True)
    differs = dora.client.post(place, data={"password": PASSWORD, "again": PASSWORD + "!"})
    assert differs.status_code == 422
    assert dora.client.post(place, data={"password": PASSWORD, "again": PASSWORD}).status_code == 303
    home = dora.get(P)
    assert "Good to see you, Dora <b>Lee</b>" in text_of(home)
    assert "<b>Lee</b>" not in home.text
    assert pages.browser().client.post(place, data={"password": PASSWORD, "again": PASSWORD}).status_code == 404


def test_the_colours_are_remembered(pages) -> None:
    ana = pages.browser("ana")
    assert 'data-theme="dark"' not in ana.get("/epsilon").text
    assert ana.post("/theme", {"theme": "dark", "back": "/epsilon"}).headers["location"] == "/epsilon"
    assert 'data-theme="dark"' in ana.get("/epsilon").text
    ana.post("/theme", {"theme": "", "back": "/epsilon"})
    assert "data-theme" not in ana.get("/epsilon").text


def test_every_page_carries_the_policy_and_nothing_that_it_forbids(pages) -> None:
    cleo = pages.browser("cleo")
    for path in [*SEES, "/login", "/nothing/here"]:
        seen = cleo.get(path, follow_redirects=True)
        assert seen.headers["content-security-policy"] == CONTENT_POLICY
        assert "no-store" in seen.headers["cache-control"]
        if "html" in seen.headers["content-type"]:
            assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?! src=)|javascript:", seen.text), path
            assert not re.search(r'(?:src|href|action)="(?:https?:)?//', seen.text), path


def test_static_files_are_those_there_are(pages) -> None:
    somebody = pages.browser()
    page = somebody.get("/login").text
    for place in re.findall(r'(?:src|href)="(/static/[^"]+)"', page):
        assert somebody.get(place).status_code == 200
    for odd in ("/static/../words.py", "/static/%2e%2e/words.py", "/static/..%2fwords.py", "/static/", "/static/x"):
        assert somebody.get(odd).status_code == 404


def test_a_form_of_another_sign_in_is_too_old(pages) -> None:
    ana, ben = pages.browser("ana"), pages.browser("ben")
    sent = ana.client.post(f"{P}/ask/draft", data={**MEN, "csrf": ben.token()})
    assert (sent.status_code, title_of(sent)) == (403, "This form is too old")
    assert field_of(ana.get("/epsilon"), "csrf") != ben.token()


def test_passwords_are_tried_so_often_and_no_more_often_by_address_and_by_name(quick_path, budget) -> None:
    few = DoorSettings(limits=replace(UNLIMITED, sign_ins=Rate(burst=3, a_second=0.01)), tick=0.02)
    with pages_of(quick_path, budget, people=50, settings=few) as pages:

        def tried(name: str, address: str = "127.0.0.1") -> int:
            way = httpx.HTTPTransport(local_address=address, verify=AUTHORITIES)
            with httpx.Client(base_url=pages.address, transport=way, trust_env=False, timeout=60) as browser:
                return browser.post("/login", data={"name": name, "password": "wrong"}).status_code

        assert [tried("ana") for _ in range(4)] == [401, 401, 401, 429]
        assert tried("ben") == 429  # from the same address
        near = [tried("ana", f"127.0.0.{place}") for place in (2, 2, 2, 3, 3, 3, 4, 4, 4, 5)]
        assert near == [401] * 9 + [429]  # the same name, from its network
        assert tried("ben", "127.0.0.5") == 401
        assert tried("ana", "127.0.1.1") == 401  # from another network
