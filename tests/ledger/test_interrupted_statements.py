"""Ctrl-C while PostgreSQL is asked: a connection on which something was interrupted is never used again."""

import math
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import psycopg
import pytest
from psycopg import Pipeline

from lapwing.ledger.ledger import Ledger
from lapwing.ledger.questions import Charged
from lapwing.ledger.queue import LazyConnection
from lapwing.ledger.replay import verify
from lapwing.vocabulary.errors import LedgerError, LedgerInDoubtError, LedgerUnwritableError
from ledger.clinic import CHAIN, Place, ask, request
from session.every_line import only_a_trace_fails_at

SOURCES = tuple(f"{folder}{os.sep}" for folder in (Path(psycopg.__file__).parent, Path(__file__).parents[2] / "src"))
APART = 7
"""Lines between two at which a charge is interrupted: fewer take longer and have found nothing else."""


@pytest.fixture
def place(database) -> Place:
    return Place.in_postgres(database, patience=2.0)


def is_written(place: Place, told: Charged) -> bool:
    """Say whether another connection sees an entry that was told."""
    dsn, schema = place.where
    with psycopg.connect(dsn) as other:
        other.execute("select set_config('search_path', %s, false)", (schema,))
        found = "select encode(hash, 'hex') from all_entries where chain = %s and seq = %s"
        row = other.execute(found, (CHAIN, told.seq)).fetchone()
    return row is not None and row[0] == told.receipt.hash


_begun: list[object] = []
"""Pipelines that are never left: one that is collected would be."""


def in_a_pipeline(connection: Any) -> None:
    _begun.append(pipeline := connection.pipeline())
    pipeline.__enter__()


def before_its_answer(connection: Any) -> None:
    connection.pgconn.send_query(b"select 1")


@pytest.mark.parametrize("leave", [in_a_pipeline, before_its_answer])
def test_what_is_left_of_a_statement_ends_with_its_connection(place, leave: Callable[[Any], None]) -> None:
    with place.clinic() as ledger:
        ask(ledger, "k1")
        for line in (ledger.store._writer, ledger.store._reader):
            leave(line.open())
        assert ledger.store.said_length() == 5
        told = ledger.questions.charge(request("k2"))
        assert is_written(place, told)
        leave(ledger.store._writer.open())
        ledger.questions.answer(told.seq, "7")
        leave(ledger.store._writer.open())
        ledger.administration.suspend("clinic")
        assert verify(ledger).entries == 3 + 4 + 1


def test_an_interrupt_while_the_end_of_the_chain_is_awaited_leaves_nothing_that_is_not_committed(
    place, monkeypatch
) -> None:
    """The pipeline in which the look was sent is never left: what is sent on it would be told and not committed."""
    with place.clinic() as ledger:
        ask(ledger, "k1")
        ledger.store._rivals.won()
        leave, left = Pipeline.__exit__, list[object]()

        def interrupted(self, *given):
            left.append(self)
            if len(left) == 2:  # the first was left by whoever stood in line for the lease
                raise KeyboardInterrupt
            return leave(self, *given)

        with monkeypatch.context() as patched:
            patched.setattr(Pipeline, "__exit__", interrupted)
            with pytest.raises(KeyboardInterrupt):
                ledger.questions.charge(request("interrupted"))
        for key in ("k2", "k3"):
            assert is_written(place, ledger.questions.charge(request(key)))
        with place.open() as other:
            ask(other, "theirs")  # no row is left locked


def test_an_append_that_the_server_was_not_asked_to_commit_is_not_told(place, monkeypatch) -> None:
    """Should such a connection be used all the same, what was appended is in doubt."""
    with place.clinic() as ledger:
        ask(ledger, "k1")
        in_a_pipeline(ledger.store._writer.open())
        ledger.store._is_known_until = math.inf
        with monkeypatch.context() as patched:
            patched.setattr(LazyConnection, "idle", LazyConnection.open)
            with pytest.raises(LedgerInDoubtError):
                ledger.questions.charge(request("k2"))
        assert is_written(place, ledger.questions.charge(request("k3")))


class Interrupting:
    """Raises a KeyboardInterrupt at one line of lapwing or psycopg, counted from where it begins."""

    def __init__(self, number: int) -> None:
        self._left, self.is_done = number, False

    def __call__(self, frame: FrameType, event: str, _: Any) -> "Interrupting | None":
        if not frame.f_code.co_filename.startswith(SOURCES):
            return None
        if event == "line" and not self.is_done and not only_a_trace_fails_at(frame):
            self._left -= 1
            if self._left <= 0:
                self.is_done = True
                raise KeyboardInterrupt
        return self


def traced(tracing: Interrupting, act: Callable[[], Charged]) -> Iterator[Charged]:
    """Act while it is traced. A trace that fails in a handler leaves its exception there, and here with a generator."""
    try:
        sys.settrace(tracing)
        yield act()
    finally:
        sys.settrace(None)


def as_known(ledger: Ledger) -> None:
    ledger.store._is_known_until = math.inf


def with_a_look(ledger: Ledger) -> None:
    ledger.store._is_known_until = 0.0


def with_a_new_lease(ledger: Ledger) -> None:
    ledger.store._lease.end()
    ledger.store._rivals.won()


def as_the_lease_ends(ledger: Ledger) -> None:
    with_a_new_lease(ledger)
    ledger.questions.charge(request(f"before {ledger.store.seen.seq}"))
    ledger.store._lease._over_at = 0.0


def with_the_lock(ledger: Ledger) -> None:
    """Two charges at once are made in a transaction."""


@pytest.mark.parametrize("way", [as_known, with_a_look, with_a_new_lease, as_the_lease_ends, with_the_lock])
def test_a_charge_that_is_interrupted_at_any_line_spoils_nothing_after_it(place, way: Callable[[Ledger], None]) -> None:
    told, interrupted, number = dict[str, Charged](), 0, 0
    with place.clinic(epsilon=1000) as ledger:
        ask(ledger, "k1")
        while interrupted == number // APART:
            number += APART
            way(ledger)
            tracing, key = Interrupting(number), f"interrupted {number}"
            asked = [request(key), request(f"beside {key}")] if way is with_the_lock else [request(key)]
            with suppress(KeyboardInterrupt, LedgerError):  # psycopg may tell it as an error of its own
                told[key] = next(traced(tracing, lambda asked=asked: ledger.questions.charge_many(asked)[0]))
            assert sys.exc_info() == (None, None, None)
            interrupted += tracing.is_done
            told[f"after {number}"] = ledger.questions.charge(request(f"after {number}"))
        assert interrupted > 10
        with ledger.store.reading() as transaction:
            for key, one in told.items():
                entry = transaction.entry(one.seq)
                assert (entry.hash.hex(), entry.record["request"]) == (one.receipt.hash, key)
        with place.open() as other:
            assert verify(other).entries == verify(ledger).entries


def test_a_child_of_a_fork_asks_nothing_about_the_connection_of_its_parent(place, monkeypatch) -> None:
    """To ask whether it is lost takes what the server has sent, and the parent waits for that."""
    with place.clinic() as ledger:
        asked, database = [], ledger.store.database
        line = LazyConnection(database)
        parents = line.open()
        monkeypatch.setattr(type(database), "is_lost", lambda _, connection: asked.append(connection))
        monkeypatch.setattr(line, "_process", -1)  # as after a fork

        def fail(_: object) -> None:
            raise LedgerUnwritableError("there is no connection left")

        with pytest.raises(LedgerUnwritableError):
            line.begin(fail)
        assert parents not in asked
        line.drop()
        parents.close()
