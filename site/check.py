"""Reads the site that was built, as a browser would: `python site/check.py site/_build/html`, and so does `make docs`.

Every link inside the site leads to a page and to a place on it that are there, every formula is one, and nothing is
fetched from elsewhere.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

FETCHED = {"img", "script", "link", "iframe", "source", "audio", "video", "object", "embed"}
ELSEWHERE = re.compile(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//")


class Page(HTMLParser):
    """One page: the places on it, where it leads, and what a browser would fetch for it."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        address = given.get("src") or given.get("href") or given.get("data")
        if address:
            (self.fetched if tag in FETCHED and given.get("rel") != "canonical" else self.links).append(address)


def faults(folder: Path) -> list[str]:
    """Return what is wrong with a site, in sentences."""
    pages = {file: Page(file) for file in sorted(folder.rglob("*.html"))}
    told = []
    for file, page in pages.items():
        name = file.relative_to(folder)
        if "&lt;math" in file.read_text(encoding="utf-8"):
            told.append(f"{name} shows the markup of a formula")
        told += [f"{name} fetches {one}" for one in page.fetched if urlsplit(one).netloc]
        for address in [*page.links, *page.fetched]:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file.resolve()
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                told.append(f"{name} leads to {address}, which is not there")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
                told.append(f"{name} leads to {address}, and that page has no such place")
    styles = [file for file in sorted(folder.rglob("*.css")) if ELSEWHERE.search(file.read_text(encoding="utf-8"))]
    return told + [f"{file.relative_to(folder)} fetches something from elsewhere" for file in styles]


def main() -> None:
    """Tell what is wrong, and fail if anything is."""
    folder = Path(sys.argv[1]).resolve()
    found = faults(folder)
    number = len(list(folder.rglob("*.html")))
    sys.stdout.write("\n".join(found) or f"{number} pages: every link leads somewhere, and nothing is fetched.")
    sys.stdout.write("\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
