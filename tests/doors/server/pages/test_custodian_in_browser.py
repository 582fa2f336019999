"""A real browser: the custodian registers the clinic, invites an analyst and sets a budget; then she asks."""

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from playwright.sync_api import Page, expect

from doors.server.pages.visitors import PASSWORD, P, Pages, pages_of
from postgres_server import where_there_is_room

pytestmark = pytest.mark.one_budget(
    "scripts of a page do the same for all; test_every_kind_of_budget has browsers under every kind"
)

BARE = """[populations.ward]
person_key = "person_id"
budget = { epsilon = "1" }
"""


@pytest.fixture(scope="module")
def pages(budget) -> Iterator[Pages]:
    """A server with the files of a clinic, of which nothing is declared."""
    with (
        TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as folder,
        pages_of(Path(folder), budget, declared=lambda _: BARE) as pages,
    ):
        yield pages


def begin(page: Page, table: str) -> None:
    page.get_by_label("What the table is called").fill(table)
    page.get_by_label("Where it is").select_option(f"file:{table}.parquet")
    page.get_by_role("button", name="Show its columns").click()


def declare(page: Page, column: str, kind: str, *, low: str = "", high: str = "", values: str = "") -> None:
    page.get_by_label(f"What {column} is").select_option(kind)
    if low:
        page.get_by_label(f"{column} from").fill(low)
        page.get_by_label(f"{column} to").fill(high)
    if values:
        page.get_by_label(f"Values of {column}").fill(values)


def register(page: Page) -> None:
    """Register the clinic with two tables: one of people, one of their visits."""
    page.get_by_role("link", name="New population").click()
    page.get_by_label("What the people are called").fill("clinic")
    begin(page, "patient")
    expect(page.get_by_label("Person key")).to_have_value("person_id")
    expect(page.locator("#outcome")).to_contain_text("2.7 %")  # 0.01 e / (0.99 + 0.01 e)
    page.get_by_label("Lifetime cap").fill("0.5")
    expect(page.locator("#outcome")).to_contain_text("1.6 %")
    expect(page.get_by_label("Values of sex")).to_be_hidden()
    declare(page, "sex", "category", values="F, M")
    declare(page, "age", "integer", low="0")
    page.get_by_role("button", name="Open the account").click()
    expect(page.get_by_role("alert")).to_have_text("age: write both bounds, or none.")
    expect(page.get_by_label("Lifetime cap")).to_have_value("0.5")
    page.get_by_label("age to").fill("120")
    page.get_by_role("button", name="Open the account").click()
    expect(page.get_by_role("status")).to_contain_text("Table patient is there")
    begin(page, "visit")
    page.get_by_label("Rows").select_option("many")
    page.get_by_label("How many count").fill("3")
    declare(page, "kind", "category", values="inpatient, outpatient")
    page.get_by_role("button", name="Register it").click()
    expect(page.get_by_role("status")).to_contain_text("Table visit is there")


def set_budget(page: Page) -> None:
    """Raise the budget; what it buys is drawn while it is typed."""
    page.get_by_role("link", name="Policy").click()
    expect(page.locator("#outcome")).to_contain_text("What a budget of ε 0.5 means")
    page.get_by_label("Lifetime budget").fill("3")
    expect(page.locator("#outcome")).to_contain_text("What a budget of ε 3 means")
    expect(page.locator("#outcome")).to_contain_text("16.9 %")  # 0.01 e^3 / (0.99 + 0.01 e^3)
    expect(page.get_by_label("Members only")).to_be_checked()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_have_text("It holds from now on.")
    page.get_by_label("Analyst", exact=True).fill("dora")
    page.get_by_label(re.compile("^Lifetime allowance")).fill("2")
    page.get_by_role("button", name="Set an allowance").click()
    expect(page.get_by_label("Analyst", exact=True)).to_be_empty()  # the page before said that it holds, too
    expect(page.get_by_role("status")).to_contain_text("Nobody here is called dora")


def invite(page: Page) -> str:
    page.get_by_role("link", name="People").click()
    page.get_by_label("Short name").fill("dora")
    page.get_by_label("Name", exact=True).fill("Dora Lee")
    page.get_by_role("button", name="Make a link").click()
    return page.locator("#link").inner_text().strip()


def test_a_custodian_opens_a_clinic_and_an_analyst_asks(look) -> None:
    cleo, dora = look("cleo"), look(None)
    page = cleo.visit("/custody")
    register(page)
    cleo.complaints.remove(next(one for one in cleo.complaints if "422" in one))  # the form that was refused
    set_budget(page)
    link = invite(page)
    hers = dora.page
    hers.goto(link)
    hers.get_by_label("Password", exact=True).fill(PASSWORD)
    hers.get_by_label("The password again").fill(PASSWORD)
    hers.get_by_role("button", name="Come in").click()
    expect(hers.get_by_role("button", name="Sign out")).to_be_visible()  # whoever leaves before has not come in
    hers.goto(f"{dora.base}/ask?add=patient.sex%7Csex%7CM&kind=count")
    expect(hers.locator("#ask")).to_contain_text("Count")
    hers.locator("#ask").click()
    hers.wait_for_url("**/answers/**")
    expect(hers.locator(".hero")).to_contain_text("±")
    page = cleo.visit(f"{P}/custody")
    expect(page.locator("tr", has_text="dora").last).to_contain_text(re.compile(r"1\.\d"))  # of her 2
    expect(page.get_by_text("it lasts until")).to_be_visible()


def test_a_printed_page_is_a_report(look) -> None:
    page = look("cleo").visit(f"{P}/custody/policy")
    page.emulate_media(media="print", color_scheme="dark")
    for hidden in (page.locator("header.top"), page.locator(".tabs"), page.get_by_role("button", name="Save")):
        expect(hidden).to_be_hidden()
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(0, 0, 0)"
    page.emulate_media(media="screen", reduced_motion="reduce")
    assert page.evaluate("getComputedStyle(document.querySelector('main')).transitionDuration") == "0s"


def test_epsilon_is_drawn_anew_while_it_is_chosen(look) -> None:
    page = look("gina").visit("/epsilon?e=1&prior=50")
    expect(page.locator("#outcome")).to_contain_text("26.9 % to 73.1 %")
    page.get_by_label("Epsilon", exact=False).first.fill("2")
    expect(page.locator("#outcome")).to_contain_text("11.9 % to 88.1 %")
    page.get_by_role("slider").press("ArrowRight")
    expect(page.locator("#outcome")).to_contain_text("believes with 51 %")
