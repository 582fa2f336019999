from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from app.server.doors import Door, make_folder, serving
from postgres_server import where_there_is_room


@pytest.fixture(scope="module")
def door() -> Iterator[Door]:
    """A server with a small clinic, for the tests of one file."""
    with TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as folder:
        place = make_folder(Path(folder) / "clinic")
        with serving(place) as door:
            yield door
