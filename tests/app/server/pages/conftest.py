from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from app.server.pages.visitors import Pages, pages_of
from postgres_server import where_there_is_room


@pytest.fixture(scope="module")
def pages() -> Iterator[Pages]:
    """A server with a clinic of 400, for the tests of one file."""
    with TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as folder, pages_of(Path(folder)) as pages:
        yield pages
