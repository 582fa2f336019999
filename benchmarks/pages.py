"""Pages in a real browser, beside a bare fetch in the same page: from a key to the painted price, and to names found.

It needs Chromium and playwright. Times are those of the wall: what others do on the machine is in them, and in the bare
fetch beside them.
"""

import asyncio
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Response, sync_playwright

from _report import Goals, table
from lapwing.doors.server.door_store import open_store
from lapwing.doors.server.people import Directory
from server import Server, make_workspace, start

P, TIMES, CONCEPTS = "/populations/clinic", 60, 50_000
TO_PAINT = """([selector, place, times]) => new Promise((done) => {
  const found = { painted: [], bare: [] }, input = document.querySelector(selector);
  let turn = 0;
  async function one() {
    let begun = performance.now();
    await (await fetch("/static/mark.svg", { cache: "no-store" })).text();
    found.bare.push(performance.now() - begun);
    begun = performance.now();
    const seen = new MutationObserver(() => {
      seen.disconnect();
      requestAnimationFrame(() => {
        const painted = new MessageChannel();
        painted.port1.onmessage = () => {
          found.painted.push(performance.now() - begun);
          turn += 1;
          if (turn < times) setTimeout(one, 30); else done(found);
        };
        painted.port2.postMessage(0);
      });
    });
    seen.observe(document.getElementById(place), { childList: true });
    input.value = input.type === "number" ? String(20 + turn / 2) : `kind ${4000 + turn}`;
    input.dispatchEvent(new InputEvent("input", { bubbles: true }));
  }
  one();
})"""


def declare_concepts(folder: Path) -> None:
    """Let the diagnoses of the clinic be of a vocabulary of 50,000."""
    names = [f"C{n},{('chronic', 'acute')[n % 2]} illness of organ {n % 977}, kind {n}" for n in range(CONCEPTS)]
    text = "\n".join(["code,name", *(f'{one.partition(",")[0]},"{one.partition(",")[2]}"' for one in names)])
    (folder / "CONCEPT.csv").write_text(text + "\n", encoding="utf-8")
    settings = folder / "lapwing.toml"
    head, _, rest = settings.read_text(encoding="utf-8").partition("[populations.clinic.tables.condition.columns]\n")
    _, _, rest = rest.partition("\n")
    concept = 'concept = { type = "category", values = { file = "CONCEPT.csv", value = "code", label = "name" } }'
    told = f"{head}[populations.clinic.tables.condition.columns]\n{concept}\n{rest}"
    settings.write_text(told, encoding="utf-8")


def sign_in(folder: Path) -> str:
    store = open_store(folder)
    secret = Directory(store).sign_in("ana")
    store.close()
    return secret


def half(times: list[float]) -> float:
    return sorted(times)[len(times) // 2]


def most(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


def measure(browser: Browser, server: Server, secret: str, goals: Goals) -> None:
    address = f"http://127.0.0.1:{server.port}"
    cases = {
        "How many?": (f"{P}/ask?kind=count&add=patient.age%7Cage%7C", 'input[name="p0.c0.age.low"]', "outcome"),
        "At least N?": (f"{P}/ask?kind=enough&add=patient.age%7Cage%7C", 'input[name="p0.c0.age.low"]', "outcome"),
        "Funnel": (f"{P}/ask?kind=funnel&add=patient.age%7Cage%7C", 'input[name="p0.c0.age.low"]', "outcome"),
        "Grid": (f"{P}/ask?kind=grid&add=patient.age%7Cage%7C", 'input[name="p0.c0.age.low"]', "outcome"),
        "search 50,000 concepts": (f"{P}/ask", "[data-search]", "found-0"),
    }
    rows = []
    for name, (path, selector, place) in cases.items():
        context = browser.new_context(viewport={"width": 1280, "height": 900}, bypass_csp=True)
        context.add_cookies([{"name": "lapwing", "value": secret, "url": address}])
        page = context.new_page()
        sizes: list[int] = []

        def note(answer: Response, sizes: list[int] = sizes) -> None:
            sizes.append(len(answer.body()))

        page.on("response", note)
        page.goto(address + path)
        page.wait_for_load_state("networkidle")
        page.remove_listener("response", note)
        weight = sum(sizes) / 1000
        found = page.evaluate(TO_PAINT, [selector, place, TIMES])
        context.close()
        bare, painted = found["bare"], found["painted"]
        figures = [half(painted), most(painted), half(bare), most(bare)]
        rows.append([name, *(f"{one:.0f}" for one in figures), f"{weight:.0f}"])
        goals.at_most(f"{name}: key to paint, p50", half(painted), 50 if "search" in name else 60, " ms")
        goals.at_most(f"{name}: weight", weight, 100, " kB")
    table("from a key to paint, ms", ["", "p50", "p95", "bare p50", "bare p95", "kB"], rows)


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("there is no Chromium on the PATH: apt install chromium")
    goals, place = Goals(), Path(tempfile.mkdtemp(prefix="lapwing-bench-"))
    try:
        folder = place / "clinic"
        make_workspace(folder, declare_concepts)
        secret, server = sign_in(folder), start(folder)
        try:
            asyncio.run(server.up("/api/v1/health"))
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                measure(browser, server, secret, goals)
                browser.close()
        finally:
            server.end()
    finally:
        shutil.rmtree(place)
    goals.close()


if __name__ == "__main__":
    main()
