"""What a dashboard does before it is killed; every release that is drawn is told through a pipe."""

import os
from contextlib import suppress
from dataclasses import replace
from datetime import date
from multiprocessing.connection import Connection
from typing import Any

import lapwing as lw
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.store import VARIABLE
from lapwing.queries.catalogue.column import Column, Date
from lapwing.session import Session
from lapwing.vocabulary.errors import BadQuestionError
from lapwing.vocabulary.exact import Sensitive
from ledger.clinic import Place
from session.clinic import KEY, FixedNumber, population

PRICE, RELEASES = "1/10", 3


class Watched(FixedNumber):
    """An engine that tells of every release that is read."""

    def __init__(self, pipe: Connection | None) -> None:
        super().__init__(1000)
        self._pipe = pipe

    def vector(self, aggregate: Any) -> Sensitive[tuple[int, ...]]:
        if self._pipe is not None:
            self._pipe.send(("read", len(aggregate.cells)))
        return super().vector(aggregate)


def people() -> Any:
    """Return a population with a day on which people joined, which never changes."""
    known = population()
    joined = Column(name="joined", type=Date(first=date(2020, 1, 1), last=date(2030, 12, 31)), fixed=True)
    patients, *others = known.tables
    return replace(known, tables=(replace(patients, columns=(*patients.columns, joined)), *others))


def publish_board(pipe: Connection, place: Place, fault: str, name: str) -> None:
    """Open a dashboard, publish all of it, and die on the way."""
    os.environ[VARIABLE] = fault
    with place.open() as ledger:
        pipe.send(("told", board_of(ledger, name, pipe)))


def board_of(ledger: Ledger, name: str, pipe: Connection | None = None) -> Any:
    """Open a dashboard or go on with it, publish what is due, and return all that is committed."""
    clinic = Session(people(), ledger, Watched(pipe), analyst="ana", key=KEY)  # type: ignore[arg-type]
    words: dict[str, Any] = {"period": "joined", "first": "2024-01-01", "releases": RELEASES, "epsilon": PRICE}
    board = clinic.dashboard(lw.count("patients"), name=name, **words)
    with suppress(BadQuestionError):  # nothing is due where all was published
        board.publish(today="2025-01-01")
    return board.lost, board.periods().to_dict(), board.published
