from collections.abc import Iterator

import pytest

from lapwing.ledger.ledger import Ledger
from lapwing.session import Session
from session.clinic import OPENED, door, new_ledger


@pytest.fixture
def ledger(quick_path) -> Iterator[Ledger]:
    with new_ledger(quick_path) as opened:
        yield opened


@pytest.fixture
def clinic(ledger) -> Session:
    return door(ledger)


@pytest.fixture(autouse=True)
def _close_what_was_opened() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()
