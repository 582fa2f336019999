"""What a ledger in PostgreSQL does beyond the contract: server settings, lost connections, crashes of the server."""

from contextlib import nullcontext
from fractions import Fraction

import psycopg
import pytest
from psycopg import sql

from lapwing.ledger import lease
from lapwing.ledger.database import ConflictError
from lapwing.ledger.lease import Lease
from lapwing.ledger.ledger import create_ledger, open_ledger
from lapwing.ledger.postgres import PostgresDatabase
from lapwing.ledger.queue import QUIET
from lapwing.ledger.replay import verify
from lapwing.ledger.reservation_states import RoundOutcome
from lapwing.vocabulary.errors import (
    BudgetExceededError,
    LedgerDamagedError,
    LedgerDurabilityError,
    LedgerInDoubtError,
    LedgerRolledBackError,
    LedgerSchemaError,
    LedgerUnwritableError,
    ParameterError,
    UnansweredError,
)
from lapwing.vocabulary.guarantee import PureDP
from ledger.clinic import SECRET, SEED, Place, ask, decide_one, empty_index, intend_one, opening, request, spent


@pytest.fixture
def place(database) -> Place:
    return Place.in_postgres(database)


class TestSettings:
    @pytest.mark.catalogue("L14")
    def test_a_server_that_forgets_acknowledged_commits_is_refused(self, postgres) -> None:
        with postgres.database() as dsn:
            Place.in_postgres(dsn).clinic().close()
            for weak in ("fsync=off", "full_page_writes=off"):
                postgres.stop()
                postgres.start(weak)
                try:
                    name = weak.split("=", maxsplit=1)[0]
                    with pytest.raises(LedgerDurabilityError, match=f"{name} of .* is off.*set {name} = on") as refused:
                        Place.in_postgres(dsn).open()
                    assert refused.value.found == "off"
                    with pytest.raises(LedgerDurabilityError):
                        Place.in_postgres(dsn, schema="other").create()
                finally:
                    postgres.stop()
                    postgres.start()

    @pytest.mark.catalogue("L14")
    def test_commits_wait_for_the_disk_even_where_the_default_is_not_to(self, place, database) -> None:
        with psycopg.connect(database, autocommit=True) as admin:
            admin.execute(sql.SQL("alter database {} set synchronous_commit = off").format(_name(database)))
        with place.clinic() as ledger:
            writer = ledger.store._writer.open()
            assert writer.execute("show synchronous_commit").fetchone() == ("on",)

    def test_a_standby_cannot_be_charged(self, place, monkeypatch) -> None:
        place.clinic().close()
        found = PostgresDatabase._found
        of_a_standby = staticmethod(lambda connection: found(connection)._replace(is_standby=True))
        monkeypatch.setattr(PostgresDatabase, "_found", of_a_standby)
        with pytest.raises(LedgerUnwritableError, match="is a standby"):
            place.open()

    def test_another_encoding_is_refused(self, postgres) -> None:
        with psycopg.connect(postgres.dsn(), autocommit=True) as admin:
            admin.execute("create database latin encoding 'LATIN1' template template0")
        try:
            with pytest.raises(LedgerSchemaError, match="not UTF8"):
                Place.in_postgres(postgres.dsn("latin")).create()
        finally:
            with psycopg.connect(postgres.dsn(), autocommit=True) as admin:
                admin.execute("drop database latin")


INDEXES = {
    "entries_policy": "is found nowhere",
    "entries_account": "is found nowhere",
    "entries_allowance": "is found nowhere",
    "entries_request": "is found nowhere",
    "entries_recall": "is found nowhere",
    "entries_settles": "is found nowhere",
    "entries_stream": "is found nowhere",
    "entries_founds": "is found nowhere",
    "entries_population": "is in a list of 1, of which 0 are found",
    "entries_question": "is in a list of 1, of which 0 are found",
    "entries_asked": "is in a list of 2, of which 0 are found",
    "entries_budget_request": "is in a list of 1, of which 0 are found",
    "entries_caused": "is in a list of [0-9]+, of which 0 are found|entry 1 of (the directory|chain .*) is missing",
}


class TestIndexes:
    """Each comparison of an index with the entries is made to fail, at opening and by `verify`."""

    @pytest.fixture
    def ledger(self, place):
        with place.clinic() as ledger:
            ledger.administration.set_allowance("clinic", "ana", PureDP(epsilon=Fraction(9, 10)))
            ledger.budget_requests.make("clinic", "ana", PureDP(epsilon=Fraction(1)), purpose="a study")
            for key in ("a", "b"):
                ask(ledger, key)
            ledger.reservations.open(opening(yeses=2))
            intend_one(ledger, "s", number=1, key="s1", question="q1", sealed=SEED)
            decide_one(ledger, "s", number=1, outcome=RoundOutcome.NO, answer="no")
            ledger.streams.intend("s", number=2, key="s2", questions=["q2", "q3"], sealed=SEED)
            ledger.streams.decide("s", number=2, answers=[(RoundOutcome.NO, "no")] * 2, sealed=SECRET)
            yield ledger

    def refused(self, place, ledger, words: str) -> None:
        with pytest.raises(LedgerDamagedError, match=words):
            verify(ledger)
        with pytest.raises(LedgerDamagedError, match=words):
            place.open()

    def test_all_that_a_ledger_has_are_compared(self, place, ledger, database) -> None:
        verify(ledger)
        place.open().close()
        with psycopg.connect(database) as admin:
            found = admin.execute(
                "select indexname from pg_indexes where schemaname = 'lapwing' and tablename = 'all_entries'"
            )
            assert {name for (name,) in found} == {*INDEXES, "all_entries_pkey"}

    @pytest.mark.parametrize("index", INDEXES)
    def test_one_that_lost_its_entries_is_found_out(self, place, ledger, database, index) -> None:
        if index in {"entries_question", "entries_caused"}:  # of few entries a list is made without them
            with ledger.store.writing("policy") as transaction:
                for _ in range(2000):
                    transaction.append("note", analyst="other", stream="other", remark="of others")
            with psycopg.connect(database) as admin:
                admin.execute("analyze lapwing.all_entries")
        empty_index(database, "lapwing", index)
        self.refused(place, ledger, INDEXES[index])

    def test_one_that_finds_an_older_state_is_found_out(self, place, ledger, database) -> None:
        """The newest account is not found any more: the one before it has spent less."""
        empty_index(database, "lapwing", "entries_account")
        for before, after in ((6, 0), (0, 6)):  # now it finds that one
            behind_its_back(database, "update entries set seq = %s where seq = %s", after, before)
        self.refused(place, ledger, "is found at entry 6: an index")

    def test_a_record_that_says_something_else_than_its_text_is_found_out(self, place, ledger, database) -> None:
        behind_its_back(database, "alter table all_entries alter column record drop expression")
        behind_its_back(
            database, "update entries set record = jsonb_set(record, '{request}', '\"other\"') where seq = 6"
        )
        self.refused(place, ledger, "entry 6 of chain .* is found by other words than it says")

    @pytest.mark.parametrize(
        "change",
        [
            "delete from recalls",
            "delete from recalls where place = 1",
            "insert into recalls values ('ab', 3, 0)",
            "insert into recalls select digest, 3, place from recalls where place = 0",
            "update recalls set seq = 3",
            "update recalls set place = 1 - place",
            "update recalls set digest = digest || 'x'",
        ],
    )
    def test_the_table_that_finds_answers_of_batches_is_compared_row_by_row(
        self, place, ledger, database, change
    ) -> None:
        behind_its_back(database, change)
        self.refused(place, ledger, "the index of the answers of batches")


class TestSchema:
    def test_a_database_without_a_ledger_is_refused(self, place) -> None:
        with pytest.raises(LedgerSchemaError, match="there is no ledger in schema lapwing"):
            place.open()

    def test_creating_never_overwrites(self, place) -> None:
        place.clinic().close()
        with pytest.raises(LedgerUnwritableError, match="exists already"):
            place.create()

    def test_two_ledgers_share_a_database_in_two_schemas(self, database) -> None:
        with Place.in_postgres(database).clinic() as one, Place.in_postgres(database, schema="b").clinic() as two:
            ask(one, epsilon="1/2")
            assert (spent(one), spent(two)) == (Fraction(1, 2), 0)

    @pytest.mark.catalogue("L22")
    def test_a_newer_ledger_is_refused(self, place, database) -> None:
        place.clinic().close()
        with psycopg.connect(database) as admin:
            admin.execute("update lapwing.chains set version = version + 1")
        with pytest.raises(LedgerSchemaError, match="format 2"):
            place.open()

    def test_entries_are_never_changed_deleted_or_truncated(self, place, database) -> None:
        place.clinic().close()
        with psycopg.connect(database, autocommit=True) as admin:
            for statement in ("update entries set body = '{}'", "delete from entries", "truncate all_entries"):
                with pytest.raises(psycopg.errors.RaiseException, match="never changed"):
                    admin.execute("set search_path = lapwing; set lapwing.chain = '1';" + statement)

    @pytest.mark.catalogue("L9")
    def test_an_edited_entry_is_named(self, place, database) -> None:
        with place.clinic() as ledger:
            ask(ledger)
        with psycopg.connect(database) as admin:
            admin.execute("set search_path = lapwing; set lapwing.chain = '1'")
            admin.execute("alter table all_entries disable trigger all")
            admin.execute("update entries set body = replace(body, '42', '43') where seq = 5")
        with pytest.raises(LedgerDamagedError) as found:
            place.open()
        assert found.value.seq == 5

    @pytest.mark.catalogue("L9")
    def test_a_deleted_and_an_inserted_entry_are_named(self, place, database) -> None:
        with place.clinic() as ledger:
            ask(ledger)
        behind_its_back(database, "insert into entries (seq, body, hash) values (6, '{}', '\\x00')")
        with pytest.raises(LedgerDamagedError, match="added by hand") as found:
            place.open()
        assert found.value.seq == 6
        behind_its_back(database, "delete from entries where seq in (4, 6)")
        with pytest.raises(LedgerDamagedError, match=r"entry 4 of chain .* is missing") as found:
            place.open()
        assert found.value.seq == 4

    @pytest.mark.catalogue("L16")
    @pytest.mark.parametrize("cost", ["NaN", '"nan"', '"-1/1"', '"0/1"', '"abc"', "1.5"])
    def test_a_cost_that_is_no_number_finds_no_place(self, place, database, cost) -> None:
        """What is no JSON the server refuses by itself; the rest is not in the chain."""
        with place.clinic() as ledger:
            ask(ledger)
        body = f'{{"kind":"charge","population":"clinic","account":{{"after":{cost}}}}}'
        try:
            behind_its_back(database, "insert into entries (seq, body, hash) values (6, %s, '\\x00')", body)
        except psycopg.errors.InvalidTextRepresentation:
            assert cost == "NaN"
        else:
            with pytest.raises(LedgerDamagedError, match="added by hand"):
                place.open()

    @pytest.mark.catalogue("L7", "L8")
    def test_a_restored_backup_is_refused_and_so_is_one_that_was_written_on(self, place, database) -> None:
        with place.clinic() as ledger:
            old = ask(ledger, "before the backup").receipt
            receipt = ask(ledger, "after the backup").receipt
        behind_its_back(database, "delete from entries where seq > %s", old.seq)
        behind_its_back(database, "update ledger set seq = %s, hash = decode(%s, 'hex')", old.seq, old.hash)
        with pytest.raises(LedgerRolledBackError, match="older than a receipt"):
            place.open(receipts=[receipt])
        with place.open(receipts=[old]) as ledger:
            for number in range(3):
                ask(ledger, f"other {number}", epsilon="1/100")
        with pytest.raises(LedgerRolledBackError, match="another past"):
            place.open(receipts=[receipt])

    def test_a_dropped_table_is_damage(self, place, database) -> None:
        with place.clinic() as ledger:
            with psycopg.connect(database) as admin:
                admin.execute("drop table lapwing.all_secrets cascade")
            with pytest.raises(LedgerDamagedError, match="secrets"):
                ledger.reservations.open(opening())

    def test_a_name_that_is_no_schema_is_refused(self, database) -> None:
        with pytest.raises(ParameterError, match="not a plain name"):
            PostgresDatabase(database, schema='x"; drop schema lapwing; --')

    def test_an_address_is_enough_and_no_message_holds_the_password(self, postgres, database) -> None:
        name = psycopg.conninfo.conninfo_to_dict(database)["dbname"]
        address = f"postgresql://postgres:hunter2@/{name}?host={postgres.folder}"
        create_ledger(address, name="2f1c").close()
        with open_ledger(address) as ledger:
            assert ledger.populations() == []
            assert "hunter2" not in ledger.chains.database.place


class TestConnections:
    def test_a_server_that_is_not_there_is_reported(self, quick_path) -> None:
        nowhere = Place.in_postgres(f"host={quick_path} dbname=x")
        for act in (nowhere.create, nowhere.open):
            with pytest.raises(LedgerUnwritableError, match="cannot be used"):
                act()

    @pytest.mark.catalogue("L5")
    def test_a_user_who_may_only_read_charges_nothing(self, place, database, postgres) -> None:
        place.clinic().close()
        with psycopg.connect(database, autocommit=True) as admin:
            admin.execute("create role ledger_reader login")
            admin.execute("grant usage on schema lapwing to ledger_reader")
            admin.execute("grant select on all tables in schema lapwing to ledger_reader")
        name = psycopg.conninfo.conninfo_to_dict(database)["dbname"]
        reader = Place.in_postgres(f"host={postgres.folder} user=ledger_reader dbname={name}")
        try:
            with reader.open() as ledger:
                assert verify(ledger).entries == 3
                with pytest.raises(LedgerUnwritableError, match="permission denied"):
                    ledger.questions.charge(request("k1"))
        finally:
            with psycopg.connect(database, autocommit=True) as admin:
                admin.execute("drop owned by ledger_reader")
                admin.execute("drop role ledger_reader")

    @pytest.mark.catalogue("L5")
    def test_a_database_that_was_made_read_only_charges_nothing(self, place, database) -> None:
        place.clinic().close()
        with psycopg.connect(database, autocommit=True) as admin:
            admin.execute(sql.SQL("alter database {} set default_transaction_read_only = on").format(_name(database)))
        with place.open() as ledger, pytest.raises(LedgerUnwritableError, match=r"read-only.*nothing was charged"):
            ledger.questions.charge(request("k1"))

    @pytest.mark.catalogue("L4")
    def test_a_full_disk_of_the_server_charges_nothing(self, place, monkeypatch) -> None:
        with place.clinic() as ledger:
            with monkeypatch.context() as full:

                def fail(*_, **__):
                    raise psycopg.errors.DiskFull("could not extend file")

                full.setattr(PostgresDatabase, "append", fail)
                with pytest.raises(LedgerUnwritableError, match=r"could not extend file.*nothing was charged"):
                    ledger.questions.charge(request("k1"))
            ask(ledger, "k1")

    def test_a_server_that_restarts_between_two_questions_is_found_again(self, place, postgres) -> None:
        with place.clinic() as ledger:
            ask(ledger, "k1")
            postgres.stop()
            with pytest.raises(LedgerUnwritableError, match="nothing was charged"):
                ledger.questions.charge(request("k2"))
            postgres.start()
            ask(ledger, "k2")
            assert spent(ledger) == Fraction(1, 5)

    def test_a_server_that_comes_back_weaker_is_refused(self, place, postgres) -> None:
        with place.clinic() as ledger:
            ask(ledger, "k1")
            postgres.stop()
            postgres.start("fsync=off")
            try:
                with pytest.raises(LedgerDurabilityError):
                    ledger.questions.charge(request("k2"))
            finally:
                postgres.stop()
                postgres.start()

    def test_a_connection_lost_before_a_look_is_made_anew(self, place) -> None:
        with place.clinic() as ledger:
            before = ledger.population("clinic")
            _terminate(place, ledger.store._reader)
            assert ledger.population("clinic") == before
            assert ledger.questions.stored(request("k1")) is None

    def test_a_connection_lost_before_the_commit_charges_nothing(self, place) -> None:
        def hang_up_in_the_middle(ledger) -> None:
            with ledger.store.writing("charge") as book:
                book.append("note", by="me", remark="never written")
                _terminate(place, ledger.store._writer)
                book.append("note", by="me", remark="never written")

        with place.clinic() as ledger:
            with pytest.raises(LedgerUnwritableError, match="nothing was charged"):
                hang_up_in_the_middle(ledger)
            assert verify(ledger).entries == 3

    @pytest.mark.parametrize("landed", [True, False], ids=["it landed", "it did not"])
    @pytest.mark.parametrize("way", ["with the lock", "with a lease", "with neither"])
    @pytest.mark.catalogue("L15")
    def test_a_connection_lost_at_the_commit_is_in_doubt_and_the_key_finds_out(
        self, place, landed, way, monkeypatch
    ) -> None:
        with place.clinic() as ledger:
            if way != "with neither":
                ledger.store._rivals.won()
            if way == "with the lock":
                monkeypatch.setattr(Lease, "take", _nobody_gives_it_back)
            _breaks_at_the_next_commit(ledger, landed=landed)
            with pytest.raises(LedgerInDoubtError, match="counts as charged"):
                ledger.questions.charge(request("k1"))
            if landed:
                with pytest.raises(UnansweredError):
                    ledger.questions.charge(request("k1"))
            else:
                ask(ledger, "k1")
            assert spent(ledger) == Fraction(1, 10)

    @pytest.mark.parametrize("landed", [True, False], ids=["it landed", "it did not"])
    def test_an_answer_whose_commit_was_lost_is_told_only_if_it_stands(self, place, landed) -> None:
        with place.clinic() as ledger:
            charged = ledger.questions.charge(request("k1"))
            _breaks_at_the_next_commit(ledger, landed=landed)
            with pytest.raises(LedgerInDoubtError):
                ledger.questions.answer(charged.seq, "7")
            assert ledger.questions.answer(charged.seq, "8").answer == ("7" if landed else "8")

    def test_a_charge_that_is_overtaken_is_made_again_on_the_new_state(self, place, monkeypatch) -> None:
        """Somebody else writes between the look at the chain and the append."""
        with place.clinic() as ledger, place.open() as faster:
            append = PostgresDatabase.append
            overtaken = []

            def append_late(self, connection, entries, before, **commit):
                if not overtaken and '"request":"slow"' in entries[0].body:
                    overtaken.append(entries[0].seq)
                    ask(faster, "fast", epsilon="19/20")
                return append(self, connection, entries, before, **commit)

            monkeypatch.setattr(PostgresDatabase, "append", append_late)
            with pytest.raises(BudgetExceededError, match=r"0\.05 is left"):
                ledger.questions.charge(request("slow"))
            assert overtaken == [4]
            assert spent(ledger) == Fraction(19, 20)

    def test_who_was_overtaken_waits_for_the_lock_until_the_others_are_quiet(self, place, monkeypatch) -> None:
        """With the lock, and then with a lease, an append needs no second try; without rivals it soon needs neither."""
        monkeypatch.setattr(lease, "SECONDS", 0.0)  # each append gives its lease back
        with place.clinic(epsilon=100) as ledger, place.open() as faster:
            append, take, tried, locked, leased = PostgresDatabase.append, Lease.take, [], [], []

            def append_late(self, connection, entries, before, **commit):
                if '"request":"overtaken"' in entries[0].body and not tried:
                    ask(faster, "fast")
                tried.append(entries[0].seq)
                locked.append(commit["commit"])
                return append(self, connection, entries, before, **commit)

            monkeypatch.setattr(PostgresDatabase, "append", append_late)
            ledger.questions.charge(request("overtaken"))
            assert tried == [4, 5, 4, 6], "the faster one's charge and answer came between the first try and the second"
            assert locked == [False, False, False, True], "what was overtaken was written with the lock"
            monkeypatch.setattr(Lease, "take", lambda self, follow: leased.append(take(self, follow)) or leased[-1])
            for number in range(QUIET + 1):
                ledger.questions.charge(request(f"quiet {number}"))
            assert leased == [True] * QUIET, "the last one needed none"
            assert not any(locked[4:])
            assert verify(ledger).entries == 3 + 2 + 1 + QUIET + 1

    @pytest.mark.catalogue("L12")
    def test_a_lock_that_is_held_too_long_is_reported(self, database) -> None:
        with Place.in_postgres(database, patience=0.1).clinic() as ledger:
            with psycopg.connect(database) as other:
                other.execute("select 1 from lapwing.chains for update")
                with pytest.raises(LedgerUnwritableError, match="lock timeout"):
                    ledger.questions.charge(request())
                other.rollback()
            ask(ledger)

    @pytest.mark.catalogue("L3")
    def test_no_acknowledged_charge_is_lost_in_a_crash_of_the_server(self, place, postgres) -> None:
        with place.clinic(epsilon=100) as ledger:
            told = [ask(ledger, f"k{i}").receipt for i in range(30)]
            ledger.reservations.open(opening())
            intend_one(ledger, "s", number=1, key="a", question="q", sealed=SEED)
            postgres.crash()
            postgres.start()
        with place.open(receipts=told) as ledger:
            assert verify(ledger, told).receipts == 30
            assert ledger.reservations.find("s").in_flight.sealed == SEED


def _breaks_at_the_next_commit(ledger, *, landed: bool) -> None:
    line = ledger.store._writer
    line._connection = DeafConnection(line.open(), landed=landed)


class DeafConnection:
    """A connection that breaks when it commits, before or after the server has done so."""

    @property
    def pgconn(self):
        return self._connection.pgconn

    def __init__(self, connection, *, landed: bool) -> None:
        self._connection, self._landed, self._begun, self._wrote = connection, landed, False, False
        self.pipeline = nullcontext

    @property
    def closed(self) -> bool:
        return self._connection.closed

    def execute(self, statement, values=()):
        self._begun = statement == "BEGIN" or (self._begun and statement != "COMMIT")
        self._wrote |= "insert into entries" in statement
        if self._wrote and not self._begun:
            if self._landed:
                self._connection.execute(statement, values)
            self._connection.close()
        return self._connection.execute(statement, values)

    def close(self) -> None:
        self._connection.close()


def _nobody_gives_it_back(*_: object) -> bool:
    raise ConflictError


def behind_its_back(database: str, statement: str, *values) -> None:
    """Change the database as someone who owns it can."""
    with psycopg.connect(database) as admin:
        admin.execute("set search_path = lapwing; set lapwing.chain = '1'")
        admin.execute("alter table all_entries disable trigger all")
        admin.execute(statement, values)
        admin.execute("alter table all_entries enable trigger all")


def _terminate(place: Place, connection) -> None:
    (pid,) = connection.open().execute("select pg_backend_pid()").fetchone()
    with psycopg.connect(place.database()._dsn, autocommit=True) as admin:
        admin.execute("select pg_terminate_backend(%s)", (pid,))


def _name(dsn: str) -> sql.Identifier:
    return sql.Identifier(psycopg.conninfo.conninfo_to_dict(dsn)["dbname"])


class TestHeads:
    """Each host keeps the newest entry that it was told of in a file of its own."""

    @staticmethod
    def roll_back(database: str, to: int) -> None:
        """What restoring last night's dump amounts to."""
        with psycopg.connect(database, options="-c search_path=lapwing -c lapwing.chain=1") as admin:
            admin.execute("drop trigger entries_are_for_ever on all_entries")
            admin.execute("delete from entries where seq > %s", (to,))
            admin.execute("update ledger set (seq, hash) = (select seq, hash from entries where seq = %s)", (to,))

    def test_a_restored_database_is_refused_by_every_host_that_was_told_more(self, database, tmp_path) -> None:
        here, there = (Place.in_postgres(database, head=tmp_path / name) for name in ("here", "there"))
        with here.clinic() as ledger:
            ask(ledger, "before")
            before = ledger.head().seq
            there.open().close()
            ask(ledger, "after")
        self.roll_back(database, before)
        with pytest.raises(LedgerRolledBackError, match="older than what was answered from it"):
            here.open()
        with there.open() as ledger:
            assert ledger.head().seq == before
            ask(ledger, "other")
        with pytest.raises(LedgerRolledBackError, match="another past than the one that was answered from"):
            here.open()

    def test_a_running_host_notices(self, database, tmp_path) -> None:
        place = Place.in_postgres(database, head=tmp_path / "head")
        with place.clinic() as ledger, place.open() as other:
            before = ledger.head().seq
            ask(other, "by another process, which this one has not seen")
            self.roll_back(database, before)
            with pytest.raises(LedgerRolledBackError, match="older than what was answered from it"):
                ledger.questions.charge(request("next"))

    def test_a_process_that_runs_while_the_ledger_is_brought_forward_stops(self, place, database) -> None:
        with place.clinic() as ledger:
            ask(ledger, "before")
            with psycopg.connect(database, options="-c search_path=lapwing -c lapwing.chain=1") as admin:
                admin.execute("update ledger set version = version + 1")
            with pytest.raises(LedgerSchemaError, match="format 2"):
                ask(ledger, "after")
