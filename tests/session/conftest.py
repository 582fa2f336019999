from collections.abc import Iterator

import pytest

from lapwing.ledger.ledger import Ledger
from lapwing.session import Session
from session.clinic import door, new_ledger
from session.real_tables import OPENED, Tables


@pytest.fixture
def ledger(quick_path) -> Iterator[Ledger]:
    with new_ledger(quick_path) as opened:
        yield opened


@pytest.fixture
def clinic(ledger) -> Session:
    return door(ledger, Tables())


@pytest.fixture(autouse=True)
def _close_what_was_opened() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()
