from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from playwright.sync_api import Browser

from budgets import KindOfBudget
from doors.server.pages.browsers import Looker, a_chromium
from doors.server.pages.visitors import Pages, pages_of
from postgres_server import where_there_is_room


@pytest.fixture(scope="module")
def pages(budget: KindOfBudget) -> Iterator[Pages]:
    """A server with a clinic of 400, for the tests of one file."""
    with (
        TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as folder,
        pages_of(Path(folder), budget) as pages,
    ):
        yield pages


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser, for the tests of one file."""
    with a_chromium() as browser:
        yield browser


@pytest.fixture
def look(chromium, pages):
    """Return a way to make somebody who looks at pages; at the end of the test no browser may have complained."""
    made: list[Looker] = []

    def make(who: str | None = "ana", **more) -> Looker:
        made.append(Looker(chromium, pages, who, **more))
        return made[-1]

    yield make
    for one in made:
        one.close()
