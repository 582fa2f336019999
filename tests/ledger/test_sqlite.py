"""What a ledger in a file does beyond the contract: settings, schema, locks, full disks, read-only folders."""

import os
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import pytest

from crashes.forking import waits_for_its_fork
from lapwing.ledger import entries as head
from lapwing.ledger import store
from lapwing.ledger.entries import Lookup
from lapwing.ledger.ledger import create_ledger
from lapwing.ledger.replay import verify
from lapwing.ledger.reservation_states import ReservationStatus, RoundOutcome
from lapwing.ledger.sqlite import SqliteDatabase
from lapwing.ledger.transaction import Transaction
from lapwing.vocabulary.errors import (
    LedgerDurabilityError,
    LedgerError,
    LedgerInDoubtError,
    LedgerRolledBackError,
    LedgerSchemaError,
    LedgerUnwritableError,
    UnansweredError,
)
from ledger.clinic import CHAIN, SECRET, Place, ask, decide_one, intend_one, opening, raw, request, spent


@pytest.fixture
def path(quick_path):
    return quick_path / "ledger.db"


class Wrapped:
    """A connection whose statements a test may change or refuse."""

    def __init__(self, path, change) -> None:
        self._connection, self._change = sqlite3.connect(path, isolation_level=None, check_same_thread=False), change

    def execute(self, statement, values=()):
        return self._connection.execute(self._change(statement) or statement, values)

    def close(self) -> None:
        self._connection.close()


class FailingDisk:
    """A disk on which commits fail when told to, with or without having written."""

    def __init__(self, *, landed: bool) -> None:
        self.landed, self.fails = landed, False

    def connect(self, path) -> Wrapped:
        def fail(statement) -> None:
            if statement == "COMMIT" and self.fails:
                if self.landed:
                    connection._connection.execute("COMMIT")
                raise sqlite3.OperationalError("disk I/O error")

        connection = Wrapped(path, fail)
        return connection


class TestSettings:
    def test_commits_are_synced_and_deleted_bytes_overwritten_in_a_write_ahead_log(self, path) -> None:
        Place.in_file(path).clinic().close()
        connection = SqliteDatabase(path).connect()
        shown = {
            setting: connection.execute(f"pragma {setting}").fetchone()[0]
            for setting in ("journal_mode", "synchronous", "secure_delete", "fullfsync")
        }
        connection.close()
        assert shown == {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "fullfsync": 1}

    @pytest.mark.parametrize("setting", ["journal_mode = wal", "synchronous = full", "secure_delete = on"])
    @pytest.mark.catalogue("L12", "L13")
    def test_a_setting_that_does_not_take_is_refused(self, path, setting) -> None:
        Place.in_file(path).clinic().close()
        with closing(raw(path)) as connection:
            connection.execute("pragma journal_mode = delete")
        weak = {"journal_mode = wal": "pragma journal_mode", "synchronous = full": "pragma synchronous = normal"}
        weak["secure_delete = on"] = "pragma secure_delete = off"

        def deaf(statement):
            return weak[setting] if statement == f"pragma {setting}" else None

        name = setting.split(" ", maxsplit=1)[0]
        with pytest.raises(LedgerDurabilityError, match=f"{name} of .* could lose a charge; it must be") as refused:
            Place.in_file(path, driver=lambda file: Wrapped(file, deaf)).open()
        assert refused.value.found in {"delete", 1, 0}

    def test_only_the_owner_may_read_the_file(self, path) -> None:
        Place.in_file(path).clinic().close()
        assert path.stat().st_mode & 0o777 == 0o600


class TestSchema:
    def test_a_foreign_database_is_refused_and_left_alone(self, path) -> None:
        with closing(raw(path)) as connection:
            connection.execute("create table mine (x)")
        before = path.read_bytes()
        with pytest.raises(LedgerSchemaError, match="not a ledger of lapwing"):
            Place.in_file(path).open()
        assert path.read_bytes() == before

    @pytest.mark.catalogue("L22")
    def test_a_ledger_in_another_format_is_refused(self, path) -> None:
        Place.in_file(path).clinic().close()
        with closing(raw(path)) as connection, connection:
            connection.execute("update ledger set version = version + 1")
        with pytest.raises(LedgerSchemaError, match="format 2, and this lapwing reads format 1"):
            Place.in_file(path).open()

    def test_a_process_that_runs_while_the_format_of_the_ledger_changes_stops(self, path) -> None:
        with Place.in_file(path).clinic() as ledger:
            ask(ledger, "before")
            with closing(raw(path)) as connection, connection:
                connection.execute("update ledger set version = version + 1")
            for act in (lambda: ask(ledger, "after"), lambda: ledger.account("clinic"), ledger.head):
                with pytest.raises(LedgerSchemaError, match="format 2"):
                    act()
        with closing(raw(path)) as connection:
            assert connection.execute(
                "select count(*) from entries where record ->> 'request' = 'after'"
            ).fetchone() == (0,)

    def test_creating_never_overwrites_and_leaves_nothing_half_made(self, path) -> None:
        Place.in_file(path).clinic().close()
        before = path.read_bytes()
        with pytest.raises(LedgerUnwritableError, match=r"there is a ledger at .* already; open it"):
            Place.in_file(path).create()
        assert path.read_bytes() == before
        assert sorted(file.name for file in path.parent.iterdir()) == ["ledger.db", "ledger.head", "ledger.head.1"]


class TestTrouble:
    @pytest.mark.catalogue("L12")
    def test_a_lock_that_is_held_too_long_is_reported_and_nothing_is_charged(self, path) -> None:
        with Place.in_file(path, patience=0.05).clinic() as ledger:
            with closing(raw(path, isolation_level=None)) as other:
                other.execute("begin immediate")
                with pytest.raises(LedgerUnwritableError, match=r"held its lock for too long.*nothing was charged"):
                    ledger.questions.charge(request())
            ask(ledger)

    @pytest.mark.catalogue("L4")
    def test_a_file_that_may_not_grow_charges_nothing_that_is_not_kept(self, path) -> None:
        """The limit is the operating system's: it is the log of the database that hits it, at any write."""
        with Place.in_file(path).clinic(epsilon=100) as ledger:
            ask(ledger, "before")
        code = """
            import resource, signal, sys
            from pathlib import Path
            from ledger.clinic import Place, ask
            from lapwing.vocabulary.errors import LedgerInDoubtError, LedgerUnwritableError
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            with Place.in_file(Path(sys.argv[1])).open() as ledger:
                resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
                for number in range(100):
                    try:
                        ask(ledger, f"{sys.argv[2]} {number}")
                    except (LedgerUnwritableError, LedgerInDoubtError) as refused:
                        print(number, type(refused).__name__)
                        break
                resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
                ask(ledger, f"{sys.argv[2]} afterwards")
        """
        for room in (110_000, 151_234):
            run = [sys.executable, "-c", textwrap.dedent(code), str(path), str(room)]
            found_by = {"PYTHONPATH": os.pathsep.join(sys.path)}
            shown = subprocess.run(run, check=True, capture_output=True, text=True, env=found_by)
            told, refused = shown.stdout.split()
            assert 0 < int(told) < 100, shown.stdout
            assert refused in {"LedgerUnwritableError", "LedgerInDoubtError"}
            with Place.in_file(path).open() as ledger:
                verify(ledger)
                answered = [record for record in ledger.history("clinic") if record["kind"] == "answer"]
                assert len(answered) > int(told)

    @pytest.mark.catalogue("L4")
    def test_a_full_disk_refuses_the_charge_and_recovers_when_there_is_space(self, path) -> None:
        with Place.in_file(path).clinic() as ledger:
            writer = ledger.store._writer.open()
            (pages,) = writer.execute("pragma page_count").fetchone()
            writer.execute(f"pragma max_page_count = {pages}")
            with pytest.raises(LedgerUnwritableError, match="the disk is full"):
                ledger.questions.charge(request("large", question="x" * 100_000))
            assert spent(ledger) == 0
            writer = ledger.store._writer.open()
            writer.execute("pragma max_page_count = 1000000")
            ask(ledger, "more", epsilon="1/1000")
            verify(ledger)

    @pytest.mark.parametrize("landed", [True, False], ids=["it landed", "it did not"])
    @pytest.mark.catalogue("L15")
    def test_a_commit_that_fails_is_in_doubt_and_the_key_finds_out(self, path, landed) -> None:
        Place.in_file(path).clinic().close()
        disk = FailingDisk(landed=landed)
        with Place.in_file(path, driver=disk.connect).open() as ledger:
            disk.fails = True
            with pytest.raises(LedgerInDoubtError, match="counts as charged"):
                ledger.questions.charge(request("k1"))
            disk.fails = False
            if landed:
                with pytest.raises(UnansweredError, match="charged and not answered yet"):
                    ledger.questions.charge(request("k1"))
            else:
                ask(ledger, "k1")
            assert spent(ledger) == Fraction(1, 10)
            verify(ledger)

    def test_an_interrupted_commit_leaves_a_ledger_that_goes_on(self, path) -> None:
        def interrupt(statement) -> None:
            if statement == "COMMIT" and armed:
                armed.clear()
                raise KeyboardInterrupt

        armed = []
        Place.in_file(path).clinic().close()
        with Place.in_file(path, driver=lambda file: Wrapped(file, interrupt)).open() as ledger:
            armed.append(True)
            with pytest.raises(KeyboardInterrupt):
                ledger.questions.charge(request("k1"))
            ask(ledger, "k1")

    def test_tidying_up_may_fail(self, path) -> None:
        def full(statement) -> None:
            if "wal_checkpoint" in statement:
                raise sqlite3.OperationalError("disk I/O error")

        Place.in_file(path).clinic().close()
        with Place.in_file(path, driver=lambda file: Wrapped(file, full)).open() as ledger:
            ledger.reservations.open(opening())
            assert ledger.reservations.close("s").status is ReservationStatus.CLOSED

    def test_a_ledger_that_cannot_be_written_leaves_neither_a_file_nor_a_connection(self, path) -> None:
        def full(statement) -> None:
            if statement.startswith("insert into chains"):
                raise sqlite3.OperationalError("disk I/O error")

        def connect(file) -> Wrapped:
            made.append(Wrapped(file, full))
            return made[-1]

        made = []
        with pytest.raises(LedgerError, match="disk I/O error"):
            Place.in_file(path, driver=connect).create()
        assert [file.name for file in path.parent.iterdir()] == ["ledger.head"]
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            made[0].execute("select 1")

    def test_a_ledger_cannot_be_made_in_a_folder_that_is_not_there(self, path) -> None:
        with pytest.raises(LedgerUnwritableError, match="No such file or directory"):
            Place.in_file(path.parent / "nowhere" / "ledger.db").create()

    @pytest.mark.catalogue("L5")
    def test_a_read_only_file_or_folder_is_refused_at_the_door(self, path) -> None:
        """Run as an ordinary user: root may write anything."""
        Place.in_file(path).clinic().close()
        code = """
            import os, sys
            from pathlib import Path
            from lapwing.ledger.ledger import open_ledger
            from lapwing.vocabulary.errors import LedgerUnwritableError
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            try:
                open_ledger(Path(sys.argv[1]))
            except LedgerUnwritableError as error:
                print(error)
        """
        path.parent.chmod(0o755)
        for mode, folder in ((0o444, 0o777), (0o666, 0o555)):
            path.chmod(mode)
            path.parent.chmod(folder)
            run = [sys.executable, "-c", textwrap.dedent(code), str(path)]
            shown = subprocess.run(run, check=True, capture_output=True, text=True, cwd="/")
            path.parent.chmod(0o755)
            assert "read-only" in shown.stdout, shown

    def test_a_forked_process_opens_connections_of_its_own(self, path) -> None:
        with Place.in_file(path).clinic() as ledger:
            ask(ledger, "parent")
            mine = ledger.store._writer.open()
            ledger.store._writer._process = -1  # as if this were the child
            ask(ledger, "child")
            assert ledger.store._writer.open() is not mine
            mine.close()

    def test_a_fork_while_the_head_is_written_keeps_nobody_waiting(self, path, monkeypatch) -> None:
        with Place.in_file(path).clinic() as ledger:
            assert not waits_for_its_fork(lambda: ask(ledger, "the parent forks"), head, "sync", monkeypatch)
            assert spent(ledger) == Fraction(1, 10)

    def test_a_head_of_which_only_a_part_is_written_is_not_taken_for_written(self, path, monkeypatch) -> None:
        with Place.in_file(path).clinic() as ledger:
            with monkeypatch.context() as nearly_full:
                nearly_full.setattr(head.os, "write", lambda file, content, write=os.write: write(file, content[:50]))
                with pytest.raises(LedgerInDoubtError, match="50 of"):
                    ask(ledger, "k")
            assert spent(ledger)


class TestSecrets:
    def test_nothing_of_a_closed_stream_is_left_in_any_file(self, path) -> None:
        state, seed = bytes(range(64, 141)), bytes(range(180, 240))
        with Place.in_file(path).clinic() as ledger:
            ledger.reservations.open(opening(sealed=state))
            intend_one(ledger, "s", number=1, key="a", question="q", sealed=seed)
            assert any(state in file.read_bytes() for file in path.parent.iterdir())
            decide_one(ledger, "s", number=1, outcome=RoundOutcome.NO, answer="no", sealed=SECRET)
            ledger.reservations.close("s")
            files = {file.name: file.read_bytes() for file in path.parent.iterdir()}
        assert {"ledger.db", "ledger.db-wal"} <= files.keys()
        for content in files.values():
            for secret in (state, seed, SECRET):
                assert secret[:32] not in content


def test_a_moment_that_another_thread_moved_past_is_no_rollback(path, monkeypatch) -> None:
    """A reader has its moment; before it compares, a writer of the same process commits one entry more."""
    with Place.in_file(path).clinic() as ledger:
        ask(ledger, "k1")
        looked = []

        def look_then_write(*arguments, **named):
            book = Transaction(*arguments, **named)
            if not looked:
                looked.append(book.last)
                ask(ledger, "k2")
            return book

        monkeypatch.setattr(store, "Transaction", look_then_write)
        before = spent(ledger)
        assert looked
        assert spent(ledger) > before


def test_every_lookup_is_one_step_through_an_index_of_its_own(quick_path) -> None:
    """An index that has more entries than it wants would be walked through, entry after entry."""
    place = quick_path / "ledger.db"
    create_ledger(place, name="1nd3").close()
    own = {"POLICY": "policy", "ACCOUNT": "account", "ALLOWANCE": "allowance", "REQUEST": "request"}
    own |= {"RECALL": "recall", "SETTLES": "settles", "STREAM": "stream", "CHAIN": "founds"}
    with closing(raw(place)) as database:
        for lookup in Lookup:
            values = ["x"] * lookup.count("?")
            ((*_, step),) = database.execute(f"explain query plan {lookup}", values)
            assert f"USING INDEX entries_{own[lookup.name]} (" in step.replace("COVERING ", ""), lookup


class TestLooking:
    def test_the_end_is_known_until_somebody_writes(self, path) -> None:
        place = Place.in_file(path)
        with closing(place.clinic()) as mine, closing(place.open()) as other:
            assert mine.last_entry() == mine.last_entry() == mine.head().seq
            ask(mine, "k1")
            assert mine.last_entry() == mine.head().seq
            ask(other, "k2")
            assert mine.last_entry() == mine.last_entry() == other.head().seq
            with mine.store.reading():
                before = mine.last_entry()
                ask(other, "k3")
                assert mine.last_entry() == before
            assert mine.last_entry() == other.head().seq > before

    def test_nothing_is_asked_of_the_database_but_whether_it_changed(self, path) -> None:
        asked = []
        place = Place.in_file(path, driver=lambda file: Wrapped(file, asked.append))
        with closing(Place.in_file(path).clinic()), closing(place.open()) as whole:
            mine = whole.of("clinic")
            ends = {mine.last_entry(), mine.last_entry()}
            asked.clear()
            assert ends == {mine.last_entry()}
            assert asked == ["pragma data_version"]

    def test_an_end_that_was_promised_elsewhere_is_looked_for(self, path) -> None:
        place = Place.in_file(path)
        with closing(place.clinic()) as mine:
            end = mine.head()
            assert mine.last_entry() == end.seq
            place.database().chain(CHAIN).head.advance(replace(end, seq=end.seq + 1))
            with pytest.raises(LedgerRolledBackError):
                mine.last_entry()
