"""Places that one request at a time may hold: what breaks in them blocks nobody, and is said in plain words."""

import os
import signal
from contextlib import suppress

import psycopg
import pytest

from lapwing.ledger import sqlite
from lapwing.ledger.database import Holder
from lapwing.ledger.postgres import AdvisoryGate
from lapwing.vocabulary.errors import LedgerDamagedError, LedgerUnwritableError
from ledger.clinic import Place, ask, request

PLACE = 7


def hang_up(dsn: str) -> None:
    """End all connections to a database, as a restart of the server would."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where pid <> pg_backend_pid() and datname = current_database()"
        )


def test_a_server_that_hung_up_meanwhile_is_dialled_again(database) -> None:
    with Place.in_postgres(database, "ledger").clinic() as ledger:
        with ledger.questions.turn(request("before")):
            pass
        hang_up(database)
        with ledger.questions.turn(request("after")):
            ask(ledger, "after")


def test_a_server_that_is_gone_is_said_in_plain_words() -> None:
    def refuse() -> None:
        raise psycopg.OperationalError("connection refused")

    gate = AdvisoryGate(refuse)
    for _ in range(2):
        with pytest.raises(LedgerUnwritableError, match=r"connection refused.*nothing was charged"):
            gate.enter(PLACE, Holder())


def test_what_lapwing_says_itself_is_said_as_it_is_and_the_place_stays_free() -> None:
    class Damaged(AdvisoryGate):
        def _take(self, _place) -> bool:
            raise LedgerDamagedError("the locks are gone")

    gate = Damaged(lambda: None)
    for _ in range(2):
        with pytest.raises(LedgerDamagedError, match="the locks are gone"):
            gate.enter(PLACE, Holder())


def test_a_file_that_cannot_be_opened_is_said_in_plain_words(tmp_path) -> None:
    gate = sqlite.FileGate(tmp_path / "nowhere" / "turns")
    for _ in range(2):
        with pytest.raises(LedgerUnwritableError, match=r"No such file.*nothing was charged"):
            gate.enter(PLACE, Holder())


@pytest.mark.parametrize("step", ["before", "after"])
def test_a_turn_whose_taking_was_interrupted_is_free(tmp_path, monkeypatch, step) -> None:
    """A signal is heard after the call during which it came, which may have taken the lock already."""
    with Place.in_file(tmp_path / "ledger.db").clinic() as ledger:

        def interrupted(file, act, *where, lockf=sqlite.fcntl.lockf) -> None:
            if act == sqlite.fcntl.LOCK_UN:
                lockf(file, act, *where)
                return
            if step == "after":
                lockf(file, act, *where)
            signal.raise_signal(signal.SIGINT)

        with monkeypatch.context() as patched:
            patched.setattr(sqlite.fcntl, "lockf", interrupted)
            with pytest.raises(KeyboardInterrupt), ledger.questions.turn(request("k")):
                pass
        assert is_free_for_other_processes(tmp_path / "ledger.db-turns")
        with ledger.questions.turn(request("k"), patience=0):
            pass


def is_free_for_other_processes(path) -> bool:
    child = os.fork()
    if not child:
        with suppress(OSError), path.open("r+b") as file:
            sqlite.fcntl.lockf(file, sqlite.fcntl.LOCK_EX | sqlite.fcntl.LOCK_NB)
            os._exit(0)
        os._exit(1)
    return not os.waitpid(child, 0)[1]


def test_who_is_gone_holds_nothing_also_where_leaving_was_interrupted(tmp_path) -> None:
    gate, first, second = sqlite.FileGate(tmp_path / "turns"), Holder(), Holder()
    assert gate.enter(PLACE, first)
    assert not gate.enter(PLACE, second)
    del first  # as when an interrupt came before it could leave
    assert gate.enter(PLACE, second)
    gate.leave(PLACE, second)
    assert gate.enter(PLACE, Holder())
    gate.close()
