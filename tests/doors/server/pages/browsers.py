"""A real Chromium, and somebody who looks at pages with it and notes whatever the browser complains of.

It needs Chromium (Debian: `apt install chromium`) and playwright. Where there is none the tests fail and say so; who
cannot have one sets LAPWING_NO_BROWSER=1, and they say that they did not look.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from doors.server.pages.visitors import P, Pages

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
PATIENCE = 30_000
"""Milliseconds until somebody gives up; a state is waited for, so that only a failure takes as long."""
REASON = "there is no Chromium on the PATH: install it (apt install chromium), or set LAPWING_NO_BROWSER=1"


@contextmanager
def a_chromium() -> Iterator[Browser]:
    if CHROMIUM is None and os.environ.get("LAPWING_NO_BROWSER") == "1":
        pytest.skip(f"NOT LOOKED AT: {REASON}")
    assert CHROMIUM is not None, REASON
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Looker:
    """Somebody who looks at pages, and notes whatever the browser complains of."""

    def __init__(self, browser: Browser, pages: Pages, who: str | None, **more) -> None:
        self.complaints: list[str] = []
        self.looked_at: set[str] = set()
        self.context = browser.new_context(**more)
        if who is not None:
            self.context.add_cookies([{"name": "lapwing", "value": pages.cookies[who], "url": pages.address}])
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        self.address, self.base = pages.address, pages.address + P

    def go(self, place: str) -> Page:
        """Go to a page of the population."""
        self.page.goto(self.base + place)
        return self.page

    def visit(self, place: str) -> Page:
        """Go to a page of the server."""
        self.page.goto(self.address + place)
        return self.page

    def close(self) -> None:
        self.context.close()
        assert not self.complaints, "\n".join(self.complaints)
