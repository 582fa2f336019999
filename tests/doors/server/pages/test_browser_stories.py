"""What an analyst does with a real browser, from a cohort to a yes: by mouse, by keyboard alone, without a script.

The cohort is that of young men who survived cancer and came for surgery: four conditions, one of them a range.
"""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from playwright.sync_api import Page, expect

from doors.server.pages.browsers import Looker
from doors.server.pages.visitors import Pages, pages_of
from postgres_server import where_there_is_room

pytestmark = pytest.mark.one_budget(
    "scripts of a page do the same for all; test_every_kind_of_budget has browsers under every kind"
)

SENTENCE = "People with sex M, age 20 to 30, cancer survivor: yes and admitted for surgery: yes."
SQL = "sex = 'M' and age >= 20 and age <= 30 and cancer_survivor and admitted_for_surgery"
EVIL = "<img src=x onerror=alert(1)>"
MOST_TABS = 25


@pytest.fixture(scope="module")
def odd(budget) -> Iterator[Pages]:
    """A clinic with little to spend, whose custodian has given things the names of an attack."""

    def declared(text: str) -> str:
        return text.replace('"airport"', f'"{EVIL}"').replace('"body mass index"', f'"{EVIL}"')

    with (
        TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as folder,
        pages_of(Path(folder), budget, "1", people=50, declared=declared) as pages,
    ):
        yield pages


def add(page: Page, panel: int, text: str) -> None:
    page.locator(f"#panel-{panel}").get_by_label("Find a criterion").fill(text)
    button = page.locator(f"#panel-{panel} .picker li button").first
    expect(button).to_contain_text(text)
    button.click()
    expect(page.locator(f"#panel-{panel} .crit")).to_contain_text(text)


def build(page: Page) -> None:
    """Build the cohort by mouse."""
    add(page, 0, "sex")
    page.locator("#panel-0 .chip", has_text="M").click()
    for panel, text in enumerate(("age", "cancer survivor", "admitted for surgery"), start=1):
        page.get_by_role("button", name="And another box").click()
        expect(page.locator(f"#panel-{panel}").get_by_label("Find a criterion")).to_be_focused()
        add(page, panel, text)
        if text == "age":
            page.get_by_label("age from").fill("20")
            page.get_by_label("age to").fill("30")
    expect(page.locator("#sentence")).to_have_text(SENTENCE)


def test_by_mouse_through_a_stream_until_a_yes_while_every_open_page_moves(look) -> None:
    looker = look()
    page = looker.go("/ask?kind=enough")
    account, home = looker.context.new_page(), looker.context.new_page()
    account.goto(looker.base + "/account")
    home.goto(looker.base)
    page.bring_to_front()
    build(page)
    expect(page.locator("#sql")).to_contain_text(SQL)
    page.get_by_label("Are there at least").fill("100")
    page.get_by_text("Fine", exact=True).click()
    expect(page.locator("#outcome")).to_contain_text("± 15")
    page.locator("#ask").dblclick()
    page.wait_for_url("**/answers/**")
    expect(page.locator(".hero")).to_have_text("No")
    expect(page.locator("main")).to_contain_text("nothing: a no is free")
    expect(home.locator("#streams")).to_contain_text("Asked once.")
    expect(account.locator("#account")).to_contain_text("is set aside for open streams")
    page.get_by_role("link", name="Change and ask again").click()
    for text in ("admitted for surgery", "cancer survivor", "age"):
        page.get_by_role("button", name=f"Remove {text}").click()
        expect(page.locator("#sentence")).not_to_contain_text(text)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#sentence")).to_contain_text("age 20 to 30")
    page.get_by_role("button", name="Remove age").click()
    expect(page.locator("#sentence")).to_have_text("People with sex M.")
    expect(page.locator("#ask")).to_contain_text("Ask · free if no, ε")
    page.locator("#ask").click()
    page.wait_for_url("**/answers/**")
    expect(page.locator(".hero")).to_have_text("Yes")
    expect(account.locator(".kpi", has_text="paid")).to_contain_text("1")
    expect(home.locator("#streams")).to_contain_text("4 of 5 yeses left")
    paid = account.locator("#account").inner_text()
    page.go_back()
    page.go_forward()
    page.reload()
    expect(page.locator(".hero")).to_have_text("Yes")
    account.reload()
    assert account.locator("#account").inner_text() == paid


def test_by_keyboard_alone_in_few_tabs(look) -> None:
    page = look().go("/ask?kind=count")
    pressed: list[str] = []

    def press(*keys: str) -> None:
        for key in keys:
            pressed.append(key)
            page.keyboard.press(key)

    def tab_to(what: str) -> None:
        for _ in range(MOST_TABS):
            if what in page.evaluate(
                "() => { const at = document.activeElement; return `${at.name} ${at.value} ${at.textContent.trim()}`; }"
            ):
                return
            press("Tab")
        raise AssertionError(what)

    def pick(panel: int, text: str) -> None:
        expect(page.locator(f"#panel-{panel}").get_by_label("Find a criterion")).to_be_focused()
        page.keyboard.type(text)
        expect(page.locator(f"#found-{panel} li button").first).to_contain_text(text)
        press("Enter")
        expect(page.locator(f"#panel-{panel} .crit")).to_contain_text(text)

    pick(0, "sex")
    tab_to("sex.in M")
    press("Space")
    for panel, text in enumerate(("age", "cancer survivor", "admitted for surgery"), start=1):
        tab_to("And another box")
        press("Enter")
        pick(panel, text)
        if text == "age":
            page.keyboard.type("20")
            press("Tab")
            page.keyboard.type("30")
    expect(page.locator("#sentence")).to_have_text(SENTENCE)
    expect(page.locator("#ask")).to_contain_text("Count · ε")
    press("Control+Enter")
    page.wait_for_url("**/answers/**")
    expect(page.locator(".hero")).to_contain_text("±")
    assert pressed.count("Tab") <= MOST_TABS, pressed


def test_without_a_script(look) -> None:
    page = look(java_script_enabled=False).go("/ask?kind=enough")
    for panel, text in enumerate(("sex", "age", "cancer survivor", "admitted for surgery")):
        if panel:
            page.get_by_role("button", name="And another box").click()
            page.locator(f"#panel-{panel} summary").click()
        page.locator(f"#found-{panel} button", has_text=re.compile(rf"^{text}\s*patient$")).click()
        expect(page.locator(f"#panel-{panel} .crit")).to_contain_text(text)
    page.locator("#panel-0 .chip", has_text="M").click()
    page.get_by_label("age from").fill("20")
    page.get_by_label("age to").fill("30")
    page.get_by_role("button", name="Show what it would cost").last.click()
    expect(page.locator("#sentence")).to_have_text(SENTENCE)
    page.locator("#ask").click()
    page.wait_for_url("**/answers/**")
    expect(page.locator(".hero")).to_have_text("No")


def test_two_analysts_never_see_each_other(look) -> None:
    ana, ben = look("ana"), look("ben")
    ana.go("/sql?q=select count(*) from patient where diabetes&within=51").locator("#ask").click()
    ana.page.wait_for_url("**/answers/**")
    place = ana.page.url.removeprefix(ana.base)
    assert ben.go(place).title().startswith("There is no such page")
    ben.complaints.clear()  # the browser notes that the page was not there
    expect(ben.go("/history").locator("main")).to_contain_text("Nothing asked yet")
    expect(ana.go("/history").locator("main")).to_contain_text("diabetes")


def test_names_stay_text_and_the_budget_runs_out_with_a_clear_sentence(chromium, odd) -> None:
    ana = Looker(chromium, odd, "ana")
    ana.page.on("dialog", lambda dialog: ana.complaints.append(f"a script of a name has run: {dialog.message}"))
    page = ana.go("/ask?kind=grid&by=site&by2=sex&within=custom&custom=6&add=patient.smoker%7Csmoker%7Ctrue")
    page.locator("#ask").click()
    page.wait_for_url("**/answers/**")
    expect(page.locator("main")).to_contain_text(EVIL)
    files = {}
    for name in ("CSV", "JSON"):
        with page.expect_download() as saved:
            page.get_by_role("link", name=f"Save as {name}").click()
        files[name] = Path(saved.value.path()).read_text()
    assert EVIL in [row[0] for row in csv.reader(io.StringIO(files["CSV"]))]
    assert EVIL in [row["key"][0] for row in json.loads(files["JSON"])["rows"]]
    places = ("/history", "/dictionary", "/dictionary?q=img", "/sql", "/ask?add=patient.bmi%7Cbmi%7C", "")
    for place in places:
        page = ana.go(place)
        assert page.locator("img[src=x]").count() == 0, place
    expect(ana.go("/dictionary").locator("main")).to_contain_text(EVIL)
    page = ana.go("/ask?kind=count&within=custom&custom=4&add=patient.smoker%7Csmoker%7Ctrue")
    expect(page.locator("#outcome")).to_contain_text("Not enough is left")
    expect(page.locator("#ask")).to_be_disabled()
    expect(page.get_by_role("link", name="Ask for more")).to_be_visible()
    ana.close()
