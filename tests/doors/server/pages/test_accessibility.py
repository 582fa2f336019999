"""axe-core looks at every page, at two widths and in both themes, and finds nothing that shuts a reader out."""

import json
import re
from importlib.resources import files
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page

from doors.server.doors import make_folder, serving
from doors.server.pages import test_analysing_by_page as analysed
from doors.server.pages.browsers import Looker
from doors.server.pages.test_exploring_by_page import EXPLORED, open_explorer
from doors.server.pages.test_patterns_by_page import DRAWN, PATTERNS
from doors.server.pages.test_publishing_by_page import CHOSEN, OFFER, publish
from doors.server.pages.test_saved_by_page import ASKED, board_of, press, save
from doors.server.pages.test_synthesizing_by_page import synthesize
from doors.server.pages.visitors import MEN, Browser, P, Pages
from lapwing.doors.server.application import DoorSettings
from lapwing.doors.server.pages.cohort_document import CohortDraft, CohortPanel, Criterion, Limit, Near, to_link
from lapwing.doors.server.pages.routes import PAGES
from lapwing.doors.server.sign_in_provider import Provider
from lapwing.noise.randomness import fresh_name

pytestmark = pytest.mark.one_budget(
    "test_every_kind_of_budget looks at the pages that show budgets, at both widths, under every kind"
)

AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
NO_PAGE = ("/export", "/search", "/csv", "/json")
"""The ends of addresses at which there is a file or a part, and not a page."""
BY_COLOURS = ["color-contrast", "link-in-text-block"]
BY_WIDTH = ["target-size", "scrollable-region-focusable"]
SEEN = """
const seen = () => new Set([...document.body.querySelectorAll('*')].filter((one) => one.checkVisibility()));
const but = (some, others) => [...some].filter((one) => !others.has(one));
"""
"""What is on the page at a width. Colours depend on the theme alone, and widths only on what is seen and where."""


STATEMENTS = ("select sex, avg(bmi), count(*) from patient group by sex", "select max(bmi) from patient")
SAME_VISIT = CohortDraft(
    panels=(
        CohortPanel(criteria=(Criterion(of="visit", near=Near(of="procedure", order="same")),)),
        CohortPanel(include=False, criteria=(Criterion(of="measurement", times=2),)),
    )
)

WOMEN = CohortDraft(
    panels=(CohortPanel(criteria=(Criterion(of="patient.sex", limits=(Limit(column="sex", values=("F",)),)),)),)
)
PUBLISHED = (["sex", "age"], ["sex", "age", "smoker", "diabetes", "hypertension"])
"""Few tables, which are all shown, and many, of which one is chosen."""
FILLED = (
    f"{P}/custody/tables/new?name=ward&source=file:person.parquet",
    "/custody/new?people=ward&name=ward&source=file:person.parquet",
    "/receipts?receipt=none",
    "/epsilon?e=3",
)
"""Pages that show more when something is given."""
AUDIT = {
    "passed": False,
    "findings": [
        {
            "suspect": "geometric",
            "currency": "epsilon",
            "claimed": 1,
            "achieved": a,
            "share": a,
            "refuted": a > 1,
            "where": "0",
        }
        for a in (0.9, 1.2)
    ],
}
ATTACK = {
    "epsilon": "1",
    "surest_belief": 0.88,
    "surest_belief_in_membership": 0.73,
    "outcomes": [
        {
            "family": "averaging",
            "attack": "a",
            "against": "x",
            "answers": one,
            "answered": 9,
            "recovered": 0.9,
            "chance": 0.5,
        }
        for one in ("exact", "ad hoc", "lapwing")
    ],
}
"""Reports as they are kept, with one finding of each kind."""


def plain_pages() -> list[str]:
    """Return the pages of the table whose address needs nothing but the population."""
    found = {one.path.replace("{population}", "clinic") for one in PAGES if one.method == "GET" and not one.open}
    return sorted(path for path in found if "{" not in path and not path.endswith(NO_PAGE))


@pytest.fixture(scope="module")
def states(pages) -> list[str]:
    """Pages that are there after something was asked, with an answer of each kind."""
    cleo = pages.browser("cleo")
    assert cleo.post(f"{P}/account/requests", {"wanted": "1", "purpose": "asthma"}).status_code == 303
    folder = pages.door.folder / "reports"
    folder.mkdir(exist_ok=True)
    for name, report in (("audit", AUDIT), ("attack", ATTACK)):
        (folder / f"{name}.json").write_text(json.dumps(report))
    ages = {"p0.include": "in", "p0.c0.of": "patient.age", "p0.c0.age.low": "20"}
    asked = [
        {**MEN, "kind": "count", "within": "30"},
        {**MEN, "kind": "funnel", "within": "30"},
        {**MEN, "kind": "groups", "by": "patient.sex", "within": "30"},
        {**MEN, "kind": "enough", "at_least": "100", "stream": "new", "sure": "30", "yeses": "2"},
        {**MEN, "kind": "enough", "at_least": "9", "stream": "new", "sure": "60", "yeses": "1", "each": "sex"},
        {**ages, "kind": "count", "within": "10"},
        {**MEN, "kind": "grid", "by": "site", "by2": "age", "by3": "smoker", "within": "100"},
    ]
    places = [cleo.ask(one).headers["location"] for one in asked]
    places += [publish(cleo, {**CHOSEN, **OFFER, "col": columns}).headers["location"] for columns in PUBLISHED]
    synthetic = {**CHOSEN, **OFFER, "within": "90", "col": ["sex", "age", "smoker"]}
    places.append(synthesize(cleo, synthetic).headers["location"])
    explorer = open_explorer(cleo, EXPLORED).headers["location"]
    places += [explorer, f"{explorer}?c={to_link(WOMEN)}"]
    places += [f"{P}/comparisons/{analyse(cleo, 'compare', analysed.COMPARED)}"]
    places += [board_published(cleo)]
    places += [f"{P}/survivals/{analyse(cleo, 'survival', DRAWN)}"]
    fields, _, _ = PATTERNS["k_means"]
    places += [f"{P}/studies/{analyse(cleo, 'study', {'chosen': '1', 'of': 'k_means', **fields})}"]
    saved = [(name, one) for name, one in ASKED.items() if name != "mean"]
    assert {save(cleo, one, name).status_code for name, one in saved} == {303}
    places.append(press(cleo, board_of(cleo)).headers["location"])
    assert save(cleo, ASKED["mean"], "mean").status_code == 303
    places.append(f"{P}/saved/board?folder=asthma")
    running = (any("refresh" in cleo.get(place).headers for place in places) for _ in range(600))
    assert not all(running)  # the page of a question that is still running loads itself again
    return places


def analyse(browser: Browser, place: str, fields: dict[str, str]) -> str:
    """Ask for an analysis, and return its key."""
    sent = analysed.press(browser, place, {**fields, "pay": "epsilon", "epsilon": "0.2"})
    assert sent.status_code == 303
    return sent.headers["location"].rpartition("/")[2]


def board_published(browser: Browser) -> str:
    """Open a dashboard, publish it, and return where it is."""
    opened = browser.get(f"{P}/dashboards/{analyse(browser, 'over-time', analysed.BOARD)}").headers["location"]
    assert browser.post(f"{opened}/publish", {"key": fresh_name()}).status_code == 303
    return opened


def findings(page: Page, rules: list[str] | None = None, alone: int | None = None) -> list[str]:
    """Look at the whole page, or at what is seen alone at a width."""
    wanted = {"runOnly": {"type": "rule", "values": rules}} if rules else {}
    there = "document" if alone is None else f"{{include: window.alone[{alone}]}}"
    found = page.evaluate(f"(wanted) => axe.run({there}, wanted)", {**wanted, "resultTypes": ["violations"]})
    return [
        f"{one['id']}: {node['html'][:160]} ({node['failureSummary'][:300]})"
        for one in found["violations"]
        for node in one["nodes"]
    ]


def turn(page: Page, width: int, colours: str) -> None:
    """Give the page a width and colours, and wait until it is drawn so: on a busy machine that takes a while."""
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme=colours, reduced_motion="reduce")
    page.evaluate(
        """([width, dark]) => new Promise((drawn) => {
            const look = () => innerWidth === width && matchMedia('(prefers-color-scheme: dark)').matches === dark
                ? requestAnimationFrame(drawn) : requestAnimationFrame(look);
            look();
        })""",
        [width, colours == "dark"],
    )


def look_at(looker: Looker, place: str) -> list[str]:
    """Look at a page in both themes and at both widths; in the other two corners at what is seen at one width alone."""
    page = looker.page
    answer = page.goto(looker.address + place)
    assert answer is not None
    assert "refresh" not in answer.headers, f"{place} loads itself again"
    turn(page, 1280, "light")
    wrong = [f"{place}: {one}" for one in findings(page)]
    page.evaluate(f"() => {{ {SEEN} window.wide = seen(); }}")
    turn(page, 390, "dark")
    wrong += [f"{place} at 390, dark: {one}" for one in findings(page, BY_COLOURS + BY_WIDTH)]
    if page.evaluate("document.documentElement.scrollWidth") > 390:
        wrong.append(f"{place} is wider than 390")
    alone = page.evaluate(f"""() => {{ {SEEN}
        const narrow = seen(), parts = (one) => `${{one.parentElement.className}} ${{one.tagName}} ${{one.className}}`;
        window.alone = {{390: but(narrow, window.wide), 1280: but(window.wide, narrow)}};
        return [390, 1280].map((width) => window.alone[width].map((one) => `${{width}} ${{parts(one)}}`));
    }}""")
    for width, colours, parts in ((390, "light", alone[0]), (1280, "dark", alone[1])):
        if not looker.looked_at.issuperset(parts):  # the same parts have the same colours on every page
            looker.looked_at.update(parts)
            turn(page, width, colours)
            wrong += [f"{place} at {width}, {colours}: {one}" for one in findings(page, BY_COLOURS, alone=width)]
    return wrong


def test_widths_change_no_colours() -> None:
    """So that what is seen at both widths needs to be looked at in each theme once."""
    style = (files("lapwing.doors.server.pages") / "static" / "lapwing.css").read_text()
    rules = re.findall(r"^@media \((?:min|max)-width: .*?^}", style, re.MULTILINE | re.DOTALL)
    assert len(rules) > 2
    others = re.sub(r"\.bar \{[^}]*\}", "", "".join(rules))  # it is seen at one width alone, so it is looked at in both
    assert re.findall(r"(?:color|background|opacity|fill|stroke|--[\w-]+):", others) == []


def test_axe_finds_nothing_on_any_page(look, states) -> None:
    looker = look("cleo", bypass_csp=True)  # the policy forbids scripts from elsewhere, and axe is one
    looker.context.add_init_script(AXE)
    places = [
        *plain_pages(),
        *states,
        f"{P}/publish?table=visit",
        f"{P}/rows?table=visit",
        f"{P}/study?of=sample_count",
        f"{P}/ask?kind=count",
        f"{P}/ask?kind=value",
        f"{P}/ask?kind=time",
        f"{P}/ask?kind=enough&each=site&each2=sex&add=patient.sex%7Csex%7CM",
        f"{P}/ask?kind=grid&c={to_link(SAME_VISIT)}",
        *(f"{P}/sql?{urlencode({'q': one, 'pay': 'epsilon'})}" for one in STATEMENTS),
        f"{P}/dictionary?q=asthma",
        "/proofs/geometric",
        *FILLED,
        "/no/such/page",
    ]
    wrong = [said for place in places for said in look_at(looker, place)]
    looker.complaints.remove(next(one for one in looker.complaints if "404" in one))  # the page that is not there
    assert wrong == []


def test_axe_finds_nothing_on_what_others_see(look) -> None:
    nobody = look(None, bypass_csp=True)
    nobody.context.add_init_script(AXE)
    wrong = [said for place in ("/login?ended=1", "/invitations/absent") for said in look_at(nobody, place)]
    for who in ("otto", "gina"):
        somebody = look(who, bypass_csp=True)
        somebody.context.add_init_script(AXE)
        wrong += [said for place in ("/", f"{P}/account") for said in look_at(somebody, place)]
    assert wrong == []


def test_axe_finds_nothing_where_one_may_sign_in_elsewhere(chromium, quick_path, budget) -> None:
    folder = make_folder(quick_path / "clinic", budget)
    callback = "http://127.0.0.1:0/sign-in/return"
    provider = Provider(name="the Hospital", issuer="http://127.0.0.1:1", client="lapwing", callback=callback)
    with serving(folder, DoorSettings(provider=provider)) as door:
        nobody = Looker(chromium, Pages(door, {}), None, bypass_csp=True)
        nobody.context.add_init_script(AXE)
        assert look_at(nobody, "/login?left=1") == []
        nobody.close()


def test_axe_would_say_something(look) -> None:
    looker = look("cleo", bypass_csp=True)
    looker.context.add_init_script(AXE)
    page = looker.visit("/epsilon")
    wrong = "<input><img src=/static/mark.svg>"
    page.evaluate("(wrong) => document.querySelector('main').insertAdjacentHTML('beforeend', wrong)", wrong)
    assert {one.partition(":")[0] for one in findings(page)} >= {"label", "image-alt"}


def test_what_is_seen_at_one_width_alone_is_looked_at_in_both_themes(look) -> None:
    looker = look("cleo", bypass_csp=True)
    looker.context.add_init_script(AXE)
    looker.context.add_init_script("""addEventListener('DOMContentLoaded', () => document.querySelector('main')
        .insertAdjacentHTML('beforeend', '<style>@media (min-width: 641px) { .thin { display: none } }' +
            '@media (prefers-color-scheme: light) { .thin { color: #ddd } }</style><p class=thin>pale</p>' +
            '<style>@media (max-width: 640px) { .broad { display: none } }' +
            '@media (prefers-color-scheme: dark) { .broad { color: #222 } }</style><p class=broad>dull</p>'))""")
    wrong = look_at(looker, "/epsilon")
    assert [one.partition(": color-contrast")[0] for one in wrong] == [
        "/epsilon at 390, light",
        "/epsilon at 1280, dark",
    ]
