"""A real browser: a cohort by mouse, by keyboard alone, without a script; prices while one types; names stay text."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.one_budget(
    "scripts of a page do the same for all; test_every_kind_of_budget has browsers under every kind"
)


def add(page: Page, panel: int, text: str) -> None:
    picker = page.locator(f"#panel-{panel} .picker")
    if picker.get_attribute("open") is None:
        picker.locator("summary").click()
    picker.get_by_label("Find a criterion").fill(text)
    button = picker.locator("li button").first
    expect(button).to_contain_text(text)
    button.click()
    expect(page.locator("#sentence")).to_contain_text(text)


def test_a_cohort_by_mouse_is_priced_while_it_is_built_and_asked_once(look) -> None:
    page = look().go("/ask?kind=count")
    expect(page.locator("#outcome")).to_contain_text("Nothing chosen yet")
    add(page, 0, "sex")
    expect(page.locator("#outcome")).to_contain_text("Say what sex must be.")
    page.locator("#panel-0 .chip", has_text="M").click()
    expect(page.locator("#ask")).to_have_text(re.compile(r"Count · ε 0\.0983"))
    page.get_by_role("button", name="And another box").click()
    add(page, 1, "inpatient")
    page.locator("#panel-1 .chip", has_text="Leave out").click()
    expect(page.locator("#sentence")).to_contain_text("leaving out those with an entry in visit (kind inpatient)")
    expect(page.locator("#sql")).to_contain_text("not (has(visit, kind = 'inpatient'))")
    page.get_by_text("Fine: within 10").click()
    expect(page.locator("#ask")).to_have_text(re.compile(r"Count · ε 0\.2"))
    page.reload()  # the address holds the cohort
    expect(page.locator("#sentence")).to_contain_text("People with sex M")
    page.locator("#ask").dblclick()
    page.wait_for_url("**/answers/**")
    shown = page.locator(".hero").inner_text()
    page.go_back()
    page.go_forward()
    page.reload()
    assert page.locator(".hero").inner_text() == shown
    page.goto(page.url.partition("/answers")[0] + "/account")
    expect(page.locator(".kpi", has_text="paid")).to_contain_text("1")


def test_who_presses_while_the_price_is_under_way_sees_the_new_one_first(look) -> None:
    page = look().go("/ask?add=patient.sex%7Csex%7CM&kind=count&within=custom&custom=71")
    expect(page.locator("#ask")).to_contain_text("Count · ε")
    before, held = page.locator("#ask").inner_text(), []
    page.route("**/ask/draft", lambda route: held.append(route))  # noqa: PLW0108 - playwright marks the function
    page.get_by_label("Within so many people").fill("42")
    page.locator("#ask").click()
    held.pop().continue_()
    expect(page.locator("#outcome")).to_contain_text("This is the price now: press again to ask.")
    expect(page.locator("#ask")).not_to_have_text(before)
    page.locator("form[data-live]").dispatch_event("stale")  # what was seen still stands after this one
    page.locator("#ask").click()
    held.pop().continue_()
    page.wait_for_url("**/answers/**")
    expect(page.locator(".hero")).to_contain_text("± 42")


def test_what_does_not_come_any_more_leaves_the_page_as_it_is(look) -> None:
    """Whoever goes on to another page ends what this one still waits for: its script must not fail at that."""
    looker = look()
    page = looker.page
    page.add_init_script("window.gone = 0; window.fetch = async () => { window.gone++; throw new TypeError('gone'); }")
    for place in ("", "/account", "/ask?kind=count"):
        looker.go(place)
        shown = page.locator("main").inner_text()
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        if place.startswith("/ask"):
            page.get_by_label("Find a criterion").fill("sex")  # where criteria to choose from are shown already
            page.keyboard.press("Enter")
            expect(page.locator("#outcome")).to_contain_text("Nothing chosen yet")
        else:
            assert page.locator("main").inner_text() == shown
        page.wait_for_function("window.gone > 0")


@pytest.mark.parametrize("who", ["ana", "cleo"])
def test_the_ticket_never_scrolls_inside_itself_nor_under_the_header(look, who) -> None:
    page = look(who, viewport={"width": 1230, "height": 700}).go("/ask?add=visit%7C%7C&kind=count")
    for box in range(1, 5):
        page.get_by_role("button", name="And another box").click()
        expect(page.locator(f"#panel-{box}")).to_be_visible()
    ticket, header = page.locator("#side"), page.locator(".top")
    assert ticket.evaluate("one => one.scrollHeight <= one.clientHeight")
    page.mouse.wheel(0, 600)
    page.wait_for_function("() => window.scrollY > 500")
    box = ticket.bounding_box()
    assert box["y"] + box["height"] <= 700, "a ticket that is higher than the window shows its end"
    page.set_viewport_size({"width": 1230, "height": 1200})
    below = header.bounding_box()["height"]
    page.wait_for_function("y => document.getElementById('side').getBoundingClientRect().y >= y", arg=below)


def test_enter_in_a_field_never_asks(look) -> None:
    page = look().go("/ask?add=patient.age%7Cage%7C&kind=count")
    page.get_by_label("age from").fill("50")
    expect(page.locator("#ask")).to_contain_text("Count")
    page.get_by_label("age from").press("Enter")
    page.get_by_label("Within so many people").press("Enter")
    assert "/ask" in page.url


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_no_page_is_wider_than_the_window(look, width, colours) -> None:
    looker = look("cleo", viewport={"width": width, "height": 900}, color_scheme=colours)
    for place in ("", "/ask", "/ask?kind=grid", "/sql", "/dictionary", "/streams", "/history", "/account", "/custody"):
        page = looker.go(place)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, place


def test_a_page_weighs_little(look, pages) -> None:
    looker = look()
    sizes: list[int] = []
    looker.page.on("response", lambda answer: sizes.append(len(answer.body())))
    looker.go("/ask?kind=count")
    looker.page.wait_for_load_state("networkidle")
    assert sum(sizes) < 100_000
    assert Path(pages.door.folder).exists()


def test_names_are_completed_while_sql_is_written(look) -> None:
    page = look().go("/sql")
    area = page.get_by_label("One SELECT of statistics")
    area.press_sequentially("select count(*) from pat")
    expect(page.locator("#completions li").first).to_have_text("patient")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    area.press_sequentially(" p where p.hy")
    expect(page.locator("#completions li")).to_have_text(["hypertension"])
    page.keyboard.press("Control+Space")
    page.keyboard.press("Tab")
    expect(area).to_have_value("select count(*) from patient p where p.hypertension")
    expect(page.locator("#sentence")).to_contain_text("hypertension")
    expect(page.locator("#ask")).to_have_text(re.compile(r"Ask · ε 0\.0983"))
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/answers/**")
    expect(page.locator(".hero")).to_contain_text("±")
