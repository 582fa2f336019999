from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from budgets import KindOfBudget
from doors.server.doors import Door, make_folder, serving
from lapwing.doors.server import passwords, people
from postgres_server import where_there_is_room


@pytest.fixture(scope="module", autouse=True)
def _passwords_are_quick() -> Iterator[None]:
    """A guess at a password takes a fifth of a second (test_passwords); here nobody guesses, and thousands sign in."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(people, "hash_password", partial(passwords.hash_password, log_n=4))
        yield


@pytest.fixture(scope="module")
def door(budget: KindOfBudget) -> Iterator[Door]:
    """A server with a small clinic, for the tests of one file."""
    with TemporaryDirectory(prefix="lapwing-", dir=where_there_is_room()) as folder:
        place = make_folder(Path(folder) / "clinic", budget)
        with serving(place) as door:
            yield door
