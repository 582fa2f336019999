"""The pictures of pages in the docs, made again: a clinic is served, asked, and looked at with a real Chromium.

    python benchmarks/pictures.py           # docs/pictures/page_*.png
    python benchmarks/pictures.py FOLDER    # every page: two widths, light and dark, English and German, and on paper

It needs Chromium, playwright and Pillow. With a folder nothing in the docs changes: it is for looking.
"""

import asyncio
import csv
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

import lapwing as lw
from lapwing.doors.server.door_store import open_store
from lapwing.doors.server.pages.routes import PAGES
from lapwing.doors.server.people import Directory
from lapwing.doors.server.roles import Role
from lapwing.vocabulary.guarantee import PureDP
from server import start

DOCS = Path(__file__).parents[1] / "docs" / "pictures"
P = "/populations/clinic"
COLOURS = 64
WIDE, NARROW = (1280, 900), (390, 844)
CAST = {"ana": Role.ANALYST, "cleo": Role.CUSTODIAN, "otto": Role.AUDITOR}
NEW = "/custody/new?people=staff&name=employee&source=file:staff.csv"
WOMEN = ({"sex": "F"}, {"age": (60, 99)}, {"diabetes": "true"})
COHORT = ({"sex": "M"}, {"age": (20, 30)}, {"cancer_survivor": "true"}, {"admitted_for_surgery": "true"})


def make(folder: Path) -> dict[str, str]:
    """Make a clinic with three people, a request, and a file that nobody declared; return secrets of sign-ins."""
    lw.make_clinic(folder, people=20_000)
    with lw.create(folder) as workspace:
        more = PureDP(epsilon=Fraction(1))
        workspace.ledger.budget_requests.make("clinic", "ana", more, purpose="Asthma by site, for the yearly report")
    with (folder / "staff.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerow(["staff_id", "sex", "age", "profession", "hired", "full_time"])
    store = open_store(folder)
    people = Directory(store)
    secrets = {name: people.sign_in(people.add(name, name.capitalize(), role).id) for name, role in CAST.items()}
    store.close()
    return secrets


class Looker:
    """Somebody who asks and looks."""

    def __init__(self, browser: Browser, address: str, secret: str, **more: object) -> None:
        self.address = address
        self.context = browser.new_context(viewport={"width": WIDE[0], "height": WIDE[1]}, **more)
        self.context.add_cookies([{"name": "lapwing", "value": secret, "url": address}])
        self.page: Page = self.context.new_page()

    def go(self, place: str) -> Page:
        """Go to a page."""
        self.page.goto(self.address + place, wait_until="networkidle")
        return self.page

    def turn(self, size: tuple[int, int], colours: str = "light") -> None:
        """Choose a window and its colours."""
        self.page.set_viewport_size({"width": size[0], "height": size[1]})
        self.page.emulate_media(color_scheme=colours, reduced_motion="reduce")

    def ask(self, place: str) -> str:
        """Press the button with the price, wait for the answer, and return where it is."""
        page = self.go(place)
        page.locator("#ask").click()
        page.wait_for_url("**/answers/*")
        page.locator("[data-told]").wait_for(timeout=60_000)
        return page.url.removeprefix(self.address)

    def built(self, columns: tuple[dict, ...], **terms: object) -> str:
        """Build a cohort, a box for each column, and return where it is."""
        page = self.go(f"{P}/ask?{urlencode(terms)}")
        for place, one in enumerate(columns):
            ((column, wanted),) = one.items()
            if place:
                page.get_by_role("button", name="And another box").click()
            page.locator(f"#panel-{place} button[value^='add:{place}:patient.{column}|']").click()
            field = f"[name='p{place}.c0.{column}.in'][value='{wanted}']"
            if isinstance(wanted, tuple):
                page.locator(f"[name='p{place}.c0.{column}.low']").fill(str(wanted[0]))
                page.locator(f"[name='p{place}.c0.{column}.high']").fill(str(wanted[1]))
            elif not page.locator(field).is_checked():
                page.locator(field).check(force=True)
            page.wait_for_load_state("networkidle")
        return page.url.removeprefix(self.address)


def ask_all(ana: Looker) -> dict[str, str]:
    """Ask what there are pictures of, and return where each is."""
    smokers, sick = ({"smoker": "true"},), ({"diabetes": "true"},)
    found = {"builder": ana.built(COHORT, kind="count", within="30")}
    found["answer"] = ana.ask(ana.built(WOMEN, kind="count", within="30"))
    found["funnel"] = ana.ask(ana.built(WOMEN, kind="funnel", within="30"))
    found["groups"] = ana.ask(ana.built(smokers, kind="groups", by="site", within="30"))
    found["grid"] = ana.ask(ana.built(smokers, kind="grid", by="site", by2="age", within="30"))
    found["no"] = ana.ask(ana.built(COHORT, kind="enough", at_least=30, stream="new", sure=15, yeses=3))
    terms = {"kind": "enough", "each": "age", "each2": "sex", "at_least": 200, "stream": "new", "sure": 30, "yeses": 8}
    found["stream_grid"] = ana.ask(ana.built(sick, **terms))
    found["yes"] = ana.ask(ana.built(sick, kind="enough", at_least=300))
    found["quantile"] = ana.ask(f"{P}/sql?{urlencode({'q': QUANTILE, 'pay': 'epsilon', 'epsilon': '0.1'})}")
    return found


QUANTILE = "select quantile_cont(bmi, 0.99) from patient"
MEANS = "select sex, avg(bmi), median(age)\nfrom patient\nwhere has(condition, concept = 'asthma')\ngroup by sex"
SQL = f"{P}/sql?{urlencode({'q': MEANS, 'pay': 'epsilon', 'epsilon': '0.2'})}"


def declare(page: Page) -> None:
    """Type in what is known of the columns of the file that nobody declared."""
    for place, (kind, first, last) in enumerate(
        [("category", "F, M", ""), ("integer", "18", "80"), ("category", "nurse, doctor, clerk", "")], start=1
    ):
        page.locator(f"[name='c{place}.kind']").select_option(kind)
        names = ("values",) if kind == "category" else ("low", "high")
        for name, value in zip(names, (first, last), strict=False):
            page.locator(f"[name='c{place}.{name}']").fill(value)
    page.locator("h1").click()
    page.wait_for_load_state("networkidle")
    page.wait_for_function("!document.querySelector('.busy')")


def compute(cleo: Looker) -> None:
    """Have attack and audit computed, and wait for them."""
    for place in ("/attack", "/audit"):
        cleo.go(place).get_by_role("button", name="Compute it").click()
        cleo.page.get_by_text(re.compile(r"Computed .*\(UTC\)")).wait_for(timeout=600_000)


def small(png: bytes) -> bytes:
    """Return a picture with as few colours as look the same."""
    drawn, made = Image.open(BytesIO(png)).convert("RGB"), BytesIO()
    few = drawn.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, kmeans=2, dither=Image.Dither.NONE)
    few.save(made, "PNG", optimize=True)
    return made.getvalue()


def pictures(ana: Looker, cleo: Looker, found: dict[str, str]) -> None:
    """Make the pictures of the docs."""
    wanted = {
        "ask": (ana, found["builder"], 960),
        "answer": (ana, found["answer"], 760),
        "grid": (ana, found["grid"], 720),
        "stream_grid": (ana, found["stream_grid"], 720),
        "sql": (ana, SQL, 760),
        "custody": (cleo, f"{P}/custody", 980),
        "table": (cleo, f"{P}/custody/tables/new?name=person&source=file:person.parquet", 760),
        "policy": (cleo, f"{P}/custody/policy", 820),
        "new_population": (cleo, NEW, 1240),
        "epsilon": (ana, "/epsilon", 700),
        "attack": (ana, "/attack", 820),
    }
    for name, (looker, place, height) in wanted.items():
        looker.turn((WIDE[0], height))
        page = looker.go(place)
        if name == "new_population":
            declare(page)
        made = small(page.screenshot())
        (DOCS / f"page_{name}.png").write_bytes(made)
        print(f"page_{name}.png {len(made) / 1000:.0f} kB")


def every_page(lookers: dict[str, Looker], found: dict[str, str], folder: Path, language: str) -> None:
    """Look at every page in all looks; what is wider than the window is said."""
    plain = {one.path.replace("{population}", "clinic") for one in PAGES if one.method == "GET" and not one.open}
    places = {one.strip("/").replace("populations/clinic", "clinic").replace("/", "_") or "home": one for one in plain}
    places = {name: one for name, one in places.items() if "{" not in one and not one.endswith(("/export", "/search"))}
    places |= found | {"sql_filled": SQL, "new_declared": NEW, "proof": "/proofs/geometric", "no_page": "/none"}
    places |= {
        "receipt": "/receipts?receipt=none",
        "found": f"{P}/dictionary?q=asthma",
        "ask_empty": f"{P}/ask?kind=grid",
    }
    for name, place in sorted(places.items()):
        looker = lookers["cleo" if "custody" in place else "ana"]
        for size, colours in ((WIDE, "light"), (WIDE, "dark"), (NARROW, "light"), (NARROW, "dark")):
            looker.turn(size, colours)
            page = looker.go(place)
            page.screenshot(path=folder / f"{name}-{size[0]}-{colours}-{language}.png", full_page=True)
            if page.evaluate("document.documentElement.scrollWidth") > size[0]:
                print(f"{place} is wider than {size[0]}, {colours}, {language}")
        if name in found:
            page.pdf(path=folder / f"{name}-{language}.pdf", format="A4")


@contextmanager
def served() -> Iterator[tuple[Browser, str, dict[str, str]]]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("there is no Chromium on the PATH: apt install chromium")
    with tempfile.TemporaryDirectory(prefix="lapwing-pictures-") as place:
        folder = Path(place) / "clinic"
        secrets, server = make(folder), start(folder)
        try:
            asyncio.run(server.up("/api/v1/health"))
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                yield browser, f"http://127.0.0.1:{server.port}", secrets
                browser.close()
        finally:
            server.end()


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with served() as (browser, address, secrets):
        lookers = {name: Looker(browser, address, secret, locale="en-GB") for name, secret in secrets.items()}
        found = ask_all(lookers["ana"])
        if folder is None:
            compute(lookers["cleo"])
            pictures(lookers["ana"], lookers["cleo"], found)
            return
        folder.mkdir(parents=True, exist_ok=True)
        every_page(lookers, found, folder, "en")
        lookers = {name: Looker(browser, address, secret, locale="de-DE") for name, secret in secrets.items()}
        every_page(lookers, found, folder, "de")


if __name__ == "__main__":
    main()
