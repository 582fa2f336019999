"""Each population has a chain of its own, and no part of a ledger goes back unseen: neither a chain nor all."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import islice
from pathlib import Path

import pytest

from lapwing.ledger import chains as chains_module
from lapwing.ledger import export as export_module
from lapwing.ledger import queue as queue_module
from lapwing.ledger import store as store_module
from lapwing.ledger.checkpoint import CheckpointFile
from lapwing.ledger.entries import Receipt, chain_name, genesis
from lapwing.ledger.export import check_export, export_json
from lapwing.ledger.ledger import accept_rollback, create_ledger
from lapwing.ledger.moving import move_away
from lapwing.ledger.replay import verify
from lapwing.ledger.sqlite import SqliteDatabase
from lapwing.ledger.transaction import Transaction
from lapwing.vocabulary.errors import (
    LedgerDamagedError,
    LedgerError,
    LedgerRolledBackError,
    LedgerUnwritableError,
    ParameterError,
    SuspendedError,
)
from lapwing.vocabulary.guarantee import PureDP
from ledger.clinic import PEOPLE, Place, ask, raw, request, spent

NAMES = ("clinic", "school", "office")
NUMBERS = {"clinic": 1, "school": 3, "office": 5}
"""Those of their chains: in the directory, the entry that founds each is followed by the seal of its first end."""


def open_now(ledger) -> int:
    return sum(one.store.is_open for one in ledger.chains._chains.values())


def add(ledger, name: str) -> None:
    ledger.administration.create_population(name, unit=PEOPLE, budget=PureDP(epsilon=Fraction(1)))
    ledger.administration.add_table(name, "patients")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request) -> Place:
    place = Place.chosen(request.param, request)
    with place.clinic() as ledger:
        for name in NAMES[1:]:
            add(ledger, name)
        for name in NAMES:
            ask(ledger, "before", population=name)
    return place


@pytest.fixture
def file(quick_path) -> Path:
    path = quick_path / "ledger.db"
    with Place.in_file(path).clinic() as ledger:
        for name in NAMES[1:]:
            add(ledger, name)
        for name in NAMES:
            ask(ledger, "before", population=name)
    return path


def backed_up(file: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in file.parent.iterdir() if not one.name.endswith("-turns")}


def put_back(file: Path, kept: dict[str, bytes], *, heads: bool) -> None:
    """Bring the file of a backup back, with its heads or with those that there are."""
    for name, content in kept.items():
        if heads or ".head" not in name:
            (file.parent / name).write_bytes(content)


def seals_read(monkeypatch) -> list[int]:
    """Return a list of the seals that are read from now on."""
    read, all_ = [], Transaction.all

    def reading(self, statement, *values):
        rows = all_(self, statement, *values)
        read.extend(row[0] for row in rows if statement == chains_module._SEALS)
        return rows

    monkeypatch.setattr(Transaction, "all", reading)
    return read


def roll_back(file: Path, number: int, to: int) -> None:
    """Take the last entries of one chain away, as somebody does who may write to the file; its head goes back too."""
    with closing(raw(file, chain=number)) as database, database:
        database.execute("drop trigger if exists entries_are_never_deleted")
        database.execute("delete from entries where seq > ?", (to,))
        rows = database.execute("select seq, hash from entries where seq = ?", (to,)).fetchall()
        hash_ = rows[0][1] if rows else bytes(32)
        database.execute("update ledger set seq = ?, hash = ?", (to, hash_))
    if to:
        SqliteDatabase(file).chain(number).head.accept(
            Receipt(ledger=chain_name("2f1c", number), seq=to, hash=hash_.hex())
        )


class TestOneIsNothingToAnother:
    def test_each_numbers_its_entries_and_has_its_own_receipts(self, place) -> None:
        with place.open() as ledger:
            ends = {name: ledger.of(name).head() for name in NAMES}
            assert {name: (end.ledger, end.seq) for name, end in ends.items()} == {
                "clinic": ("2f1c/1", 5),
                "school": ("2f1c/3", 4),
                "office": ("2f1c/5", 4),
            }
            assert [Receipt.parse(str(end)) for end in ends.values()] == list(ends.values())
            assert [one["seq"] for one in ledger.history("office")] == [1, 2, 3, 4]
            assert ledger.last_entry() == 13
            for end in ends.values():
                ledger.require(end)
            verify(ledger, ends.values())

    def test_the_same_keys_and_questions_are_others(self, place) -> None:
        with place.open() as ledger:
            assert spent(ledger, "school") == spent(ledger, "office") == Fraction(1, 10)
            ask(ledger, "k", "one", question="q", population="school")
            assert ask(ledger, "k", "two", question="q", population="office").answer == "two"
            assert ledger.of("clinic").request("clinic", "ana", "k") is None

    def test_where_there_are_several_one_has_to_be_named(self, place) -> None:
        with place.open() as ledger, pytest.raises(ParameterError, match="name one of these: clinic, office, school"):
            ledger.questions.charge(request("k"))

    def test_another_process_that_founds_one_is_noticed(self, quick_path) -> None:
        place = Place.in_file(quick_path / "ledger.db")
        with place.clinic() as ledger, place.open() as other:
            ask(ledger)
            add(other, "school")
            assert ledger.populations() == ["clinic", "school"]
            assert ask(ledger, "k2", population="school").receipt.ledger == "2f1c/3"
            with pytest.raises(ParameterError, match="is not named"):  # it was the only one a moment ago
                ledger.questions.unsettled()

    def test_one_that_is_locked_keeps_no_other_waiting(self, postgres) -> None:
        place = Place.in_postgres(postgres.dsn(), "locked_chain", patience=0.2)
        with place.clinic() as ledger:
            add(ledger, "school")
            with ledger.of("clinic").store.writing("policy"):
                ask(ledger, "meanwhile", population="school")
                with pytest.raises(LedgerUnwritableError, match="lock timeout"), place.open() as other:
                    other.administration.suspend("clinic")

    def test_more_are_open_than_keep_their_connections(self, quick_path, monkeypatch) -> None:
        monkeypatch.setattr(chains_module, "_MOST_OPEN", 2)
        with Place.in_file(quick_path / "ledger.db").clinic() as ledger:
            for number in range(5):
                add(ledger, f"of {number}")
            for turn in range(2):
                for number in range(5):
                    ask(ledger, f"k{turn}", population=f"of {number}")
            assert open_now(ledger) <= 2
            verify(ledger)
            assert open_now(ledger) <= 2
            export_json(ledger, quick_path / "all.jsonl")
            assert open_now(ledger) <= 2
            for number in range(5, 10):
                ledger.administration.create_population(f"of {number}", unit=PEOPLE, budget=PureDP(epsilon=Fraction(1)))
                assert open_now(ledger) <= 2
            early = ledger.of("of 0").here
            for number in range(1, 5):
                ledger.account(f"of {number}")
            early.head()  # as a thread does that was overtaken before it began
            assert early.store.is_open
            for number in range(1, 22):
                ledger.account(f"of {1 + number % 9}")
            assert not early.store.is_open
            assert open_now(ledger) <= 2

    def test_one_that_is_read_for_long_stays_open_and_keeps_nobody_waiting(self, quick_path, monkeypatch) -> None:
        monkeypatch.setattr(chains_module, "_MOST_OPEN", 1)
        with Place.in_file(quick_path / "ledger.db").clinic() as ledger:
            for name in NAMES[1:]:
                add(ledger, name)
            with ledger.chains.store("clinic").reading() as transaction:  # this thread would close its own connection
                last = transaction.last
                with ThreadPoolExecutor(1) as another:
                    for name in NAMES[1:] * 2:
                        assert another.submit(ledger.account, name).result(timeout=60)
                        ledger.account(name)
                assert transaction.all("select count(*) from entries") == [(last,)]
            with ledger.chains.store("clinic").writing("policy"):
                for name in NAMES[1:] * 2:
                    ledger.account(name)
            for name in NAMES[1:] * 2:
                ledger.account(name)
            assert open_now(ledger) == 1

    def test_a_connection_of_the_parent_is_left_to_it(self, file) -> None:
        with Place.in_file(file).open() as ledger:
            reader = ledger.of("clinic").store._reader
            number = id(reader.open())
            reader._process = 0  # as it is after a fork
            assert reader.rest()
            assert not reader.is_open
            (left,) = (one for one in queue_module._left_to_the_parent if id(one) == number)
            assert left.execute("select 1").fetchone() == (1,)
            left.close()

    def test_a_slash_would_make_a_chain_of_another_ledger(self, quick_path) -> None:
        with pytest.raises(ParameterError, match="has a slash in it"):
            create_ledger(quick_path / "ledger.db", name="2f1c/1")


class TestNoneGoesBack:
    """Whatever goes back, its own head shows it; and where heads go back too, one receipt of the directory does."""

    @pytest.mark.catalogue("L7")
    @pytest.mark.parametrize("which", NAMES)
    def test_one_that_lost_its_tail_is_refused_by_its_head_and_the_others_go_on(self, file, which) -> None:
        number = NUMBERS[which]
        head = SqliteDatabase(file).chain(number).head.path
        kept = head.read_bytes()
        roll_back(file, number, 2)
        head.write_bytes(kept)
        with Place.in_file(file).open() as ledger:
            with pytest.raises(LedgerRolledBackError, match="older than what was answered from it"):
                ledger.account(which)
            for other in {*NAMES} - {which}:
                ask(ledger, "after", population=other)
            with pytest.raises(LedgerRolledBackError):
                verify(ledger)

    @pytest.mark.catalogue("L7")
    def test_an_old_file_under_chains_that_went_on_is_refused_by_each_that_did(self, file) -> None:
        kept = backed_up(file)
        with Place.in_file(file).open() as ledger:
            ask(ledger, "after", population="school")
        put_back(file, kept, heads=False)
        with Place.in_file(file).open() as ledger:
            ask(ledger, "after", population="office")
            with pytest.raises(LedgerRolledBackError):
                ledger.account("school")

    @pytest.mark.parametrize("to", [0, 2, 3])
    @pytest.mark.parametrize("which", NAMES)
    def test_one_receipt_of_the_directory_covers_all_of_them(self, file, which, to) -> None:
        assert self.is_noticed(file, which, to)

    def test_this_finds_a_chain_whose_head_is_not_in_the_root(self, file, monkeypatch) -> None:
        """A liar seals all chains but one: the receipt does not cover that one, and its rollback is not noticed."""
        liar = chains_module._ENDS.replace("chain > 0", "chain > 0 and chain <> 3")
        monkeypatch.setattr(chains_module, "_ENDS", liar)
        assert not self.is_noticed(file, "school", 3)
        assert self.is_noticed(file, "office", 3)

    def test_whoever_checks_an_export_misses_a_chain_that_is_not_in_the_root(self, file, tmp_path, monkeypatch) -> None:
        liar = chains_module._ENDS.replace("chain > 0", "chain > 0 and chain <> 3")
        with Place.in_file(file).open() as ledger:
            with monkeypatch.context() as lying:
                lying.setattr(chains_module, "_ENDS", liar)
                export_json(ledger, tmp_path / "all.jsonl")
            end = ledger.chains.directory.head().seq
            with pytest.raises(LedgerDamagedError, match=f"entry {end} .*has another root than that of the ends"):
                check_export(tmp_path / "all.jsonl")

    def test_an_export_has_the_roots_of_chains_that_were_only_founded_and_of_losses(self, place, tmp_path) -> None:
        with place.open() as ledger:
            with suppress(RuntimeError), ledger.chains.found("late"):
                raise RuntimeError
            receipts = [ledger.seal()]
            ask(ledger, "after", population="office")
            receipts.append(ledger.administration.accept_rollback("an older copy was restored"))
            end = export_json(ledger, tmp_path / "all.jsonl")
            assert check_export(tmp_path / "all.jsonl", receipts) == end

    def test_verify_misses_a_chain_that_is_not_in_the_root(self, file, monkeypatch) -> None:
        liar = chains_module._ENDS.replace("chain > 0", "chain > 0 and chain <> 3")
        with Place.in_file(file).open() as ledger:
            monkeypatch.setattr(chains_module, "_ENDS", liar)
            ledger.seal()
            with pytest.raises(LedgerDamagedError, match="has another root than that of the ends it seals"):
                verify(ledger)

    @staticmethod
    def is_noticed(file: Path, which: str, to: int) -> bool:
        """Whether a receipt of the directory, kept elsewhere, shows that a chain and its head went back."""
        with Place.in_file(file).open() as ledger:
            kept = ledger.seal()
            assert kept.ledger == "2f1c"
        roll_back(file, NUMBERS[which], to)
        try:
            with Place.in_file(file).open(receipts=[kept]):
                return False
        except LedgerError:
            return True

    @pytest.mark.catalogue("L7")
    def test_a_whole_folder_that_was_put_back_is_older_than_the_receipt(self, file) -> None:
        kept = backed_up(file)
        with Place.in_file(file).open() as ledger:
            ask(ledger, "after", population="school")
            receipt = ledger.seal()
        put_back(file, kept, heads=True)
        with pytest.raises(LedgerRolledBackError, match="older than a receipt that it issued"):
            Place.in_file(file).open(receipts=[receipt])

    def test_nothing_is_sealed_twice_and_nothing_over_a_chain_that_went_back(self, place) -> None:
        with place.open() as ledger:
            first = ledger.seal()
            assert ledger.seal() == first == ledger.head()
            ask(ledger, "after", population="office")
            assert ledger.seal().seq == first.seq + 1
            record = ledger.chains.directory.store
            with record.reading() as transaction:
                assert list(transaction.entry(first.seq + 1).record["heads"]) == ["5"]
            verify(ledger, [first])

    def test_several_hosts_that_seal_every_minute_do_it_once(self, place) -> None:
        time = datetime(2026, 1, 1, 12, tzinfo=UTC)
        with place.open(clock=lambda: time) as ledger, place.open(clock=lambda: time) as other:
            first = ledger.seal(unless_within=60)
            assert first.seq == ledger.chains.directory.head().seq
            ask(ledger, "after", population="office")
            time += timedelta(seconds=59)
            assert ledger.seal(unless_within=60) == other.seal(unless_within=60) == first
            time += timedelta(seconds=1)
            second = other.seal(unless_within=60)
            assert second.seq == first.seq + 1
            time -= timedelta(hours=1)  # the clock of one of them is behind
            ask(ledger, "later", population="office")
            assert ledger.seal(unless_within=60).seq == second.seq + 1
            verify(ledger, [first, second])

    def test_nobody_who_charges_waits_for_a_seal_that_is_looked_at(self, file, monkeypatch) -> None:
        """While the ends are looked at, another process writes; where nothing has grown, no writing begins."""
        looked, of = [], chains_module.Seal.of
        with Place.in_file(file, patience=0.1).open() as ledger, Place.in_file(file, patience=0.1).open() as other:

            def look(transaction, sealed):
                ask(other, f"meanwhile {len(looked)}", population="office")
                looked.append(transaction.last)
                return of(transaction, sealed)

            monkeypatch.setattr(chains_module.Seal, "of", look)
            receipt = ledger.seal()
            monkeypatch.setattr(chains_module.Seal, "of", of)
            assert len(looked) == 1
            verify(ledger, [receipt])
            end = ledger.seal()
            monkeypatch.setenv("LAPWING_FAULT", "seal.begun:full")
            assert ledger.seal() == end

    def test_what_another_host_seals_meanwhile_is_looked_at_again(self, file, monkeypatch) -> None:
        of = chains_module.Seal.of
        with Place.in_file(file).open() as ledger, Place.in_file(file).open() as other:

            def look(transaction, sealed):
                monkeypatch.setattr(chains_module.Seal, "of", of)
                add(other, "late")
                ask(other, "meanwhile", population="late")
                other.seal()
                return of(transaction, sealed)

            monkeypatch.setattr(chains_module.Seal, "of", look)
            verify(ledger, [ledger.seal()])

    def test_a_seal_takes_as_many_statements_for_many_chains(self, place, monkeypatch) -> None:
        def statements(ledger) -> int:
            asked, all_ = [], Transaction.all
            with monkeypatch.context() as counting:
                counting.setattr(
                    Transaction, "all", lambda self, text, *values: asked.append(text) or all_(self, text, *values)
                )
                ledger.seal()
            return len(asked)

        with place.open() as ledger:
            ledger.seal()
            ask(ledger, "one", population="office")
            few = statements(ledger)
            for name in NAMES:
                ask(ledger, "all", population=name)
            assert statements(ledger) == few <= 6

    def test_a_chain_in_the_place_of_another_is_refused(self, file) -> None:
        with closing(raw(file)) as database, database:
            database.execute("update chains set chain = -chain where chain in (3, 5)")
            database.execute("update chains set chain = 8 + chain where chain < 0")
        with Place.in_file(file).open() as ledger:
            for name in NAMES[1:]:
                with pytest.raises(LedgerDamagedError, match=r"was asked|another's"):
                    ledger.account(name)

    def test_one_that_was_added_by_hand_is_refused(self, file) -> None:
        with closing(raw(file)) as database, database:
            database.execute("insert into chains values (9, '2f1c/9', 1, 0, x'00')")
        with (
            pytest.raises(LedgerDamagedError, match="there are 4 chains, and 3 are found"),
            Place.in_file(file).open() as ledger,
        ):
            ledger.populations()

    @pytest.mark.parametrize("to", [0, 3])
    def test_one_that_went_back_behind_the_last_seal_is_refused_without_a_receipt(self, file, to) -> None:
        """Its own head went back with it; the directory, which did not, knows better."""
        with Place.in_file(file).open() as ledger:
            ledger.seal()
        roll_back(file, 3, to)
        if not to:
            with closing(raw(file, chain=3)) as database, database:
                database.execute("update ledger set hash = ?", (genesis("2f1c/3"),))
            head = SqliteDatabase(file).chain(3).head
            head.path.unlink()
            head.begin("2f1c/3")
        with Place.in_file(file).open() as ledger:
            with pytest.raises(LedgerRolledBackError, match="older than a receipt"):
                ledger.account("school")
            with pytest.raises(LedgerRolledBackError, match="older than a receipt"):
                add(ledger, "school")
            ask(ledger, "after", population="office")
        accept_rollback(file)
        if to:  # else its population begins anew
            with Place.in_file(file).open() as ledger:
                assert ledger.population("school").suspended

    @pytest.mark.catalogue("L7")
    def test_one_that_was_never_sealed_by_hand_is_not_begun_anew_when_it_is_put_back_to_nothing(self, file) -> None:
        """Its chain is empty again and so is its head; its first end was sealed when it was created."""
        roll_back(file, 3, 0)
        with closing(raw(file, chain=3)) as database, database:
            database.execute("update ledger set hash = ?", (genesis("2f1c/3"),))
        head = SqliteDatabase(file).chain(3).head
        head.path.unlink()
        head.begin("2f1c/3")
        with Place.in_file(file).open() as ledger:
            for act in (lambda: verify(ledger), ledger.seal, lambda: add(ledger, "school"), ledger.populations):
                with pytest.raises(LedgerRolledBackError, match="older than"):
                    act()
            ask(ledger, "after", population="office")

    def test_a_population_whose_first_seal_fails_is_there_all_the_same(self, place, monkeypatch) -> None:
        with place.open() as ledger:
            fail_at("seal.written", monkeypatch)
            add(ledger, "late")
            monkeypatch.delenv("LAPWING_FAULT")
            ask(ledger, "k", population="late")
            verify(ledger, [ledger.seal()])

    def test_each_seal_is_read_once(self, file, monkeypatch) -> None:
        with Place.in_file(file).open() as ledger:
            seals = [number + 1 for number in NUMBERS.values()] + [ledger.seal().seq]
        read = seals_read(monkeypatch)
        with Place.in_file(file).open() as ledger:
            for name in NAMES:
                ledger.account(name)
            assert read == seals
            ledger.seal()
            assert read == seals

    def test_an_opening_reads_the_seals_since_its_checkpoint_and_no_others(self, place, monkeypatch, tmp_path) -> None:
        kept = CheckpointFile(tmp_path / "checked", b"a key")
        with place.open() as ledger:
            for i in range(101):
                ask(ledger, f"k{i}", population="office", epsilon="1/1000")
                ledger.seal()
        read = seals_read(monkeypatch)

        def opened(*names: str) -> int:
            read.clear()
            with place.open(checkpoints=kept) as ledger:
                for name in names:
                    ledger.account(name)
            return len(read)

        assert opened("clinic") >= 101
        assert opened("clinic") == 0
        with place.open() as ledger:
            ask(ledger, "new", population="clinic")
            ledger.seal()
        assert opened("clinic") == 1
        assert opened("clinic", "school") >= 102, "what one of them needs from before is read, once"
        assert opened("school", "clinic") == 1
        assert opened("school", "clinic", "office") >= 102

    @pytest.mark.parametrize("since", [0, 1])
    def test_what_a_checkpoint_knows_to_be_sealed_is_not_taken_back(self, file, tmp_path, since) -> None:
        kept = CheckpointFile(tmp_path / "checked", b"a key")
        with Place.in_file(file).open() as ledger:
            for i in range(101):
                ask(ledger, f"k{i}", population="office", epsilon="1/1000")
                ledger.seal()
        with Place.in_file(file).open(checkpoints=kept) as ledger:
            end = ledger.of("school").head().seq
            if since:
                ask(ledger, "since", population="school")
                ledger.seal()
        assert kept.chain(3).read().sealed.end.startswith(f"{end}:")
        roll_back(file, 3, end - 1 + since)
        with Place.in_file(file).open(checkpoints=kept) as ledger:
            with pytest.raises(LedgerRolledBackError, match="older than"):
                ledger.account("school")
            ledger.account("clinic")

    def test_a_checkpoint_of_another_past_of_the_directory_is_not_believed(self, file, tmp_path) -> None:
        """The directory was put back, which was accepted, and went on to the same number: its seals are read anew."""
        kept, before = CheckpointFile(tmp_path / "checked", b"a key"), backed_up(file)
        with Place.in_file(file).open() as ledger:
            for i in range(101):
                ask(ledger, f"k{i}", population="office", epsilon="1/1000")
                ledger.seal()
        with Place.in_file(file).open(checkpoints=kept) as ledger:
            ledger.account("school")
            last = ledger.chains.directory.head().seq
        mark = kept.chain(3).read().sealed
        put_back(file, before, heads=True)
        with Place.in_file(file).open() as ledger:
            for i in range(101):
                ask(ledger, f"new {i}", population="clinic", epsilon="1/1000")
                ask(ledger, f"new {i}", population="school", epsilon="1/1000")
                ledger.seal()
            end = ledger.of("school").head().seq
            assert ledger.chains.directory.head().seq >= last
        (tmp_path / "checked.3").unlink()
        with Place.in_file(file).open(checkpoints=kept) as ledger:
            ledger.account("school")
        known = kept.chain(3)
        known.write(replace(known.read(), sealed=mark))
        roll_back(file, 3, end - 1)
        with Place.in_file(file).open(checkpoints=kept) as ledger, pytest.raises(LedgerRolledBackError):
            ledger.account("school")

    @pytest.mark.parametrize(
        "wrong",
        [
            "delete from chains where chain = 5",
            "update chains set name = '2f1c/9' where chain = 5",
            "update chains set seq = 0 where chain = 5",
            "update chains set seq = 99 where chain = 5",
            "update chains set hash = x'00' where chain = 5",
            "insert into chains values (9, '2f1c/9', 1, 0, x'00')",
        ],
    )
    def test_a_wrong_row_of_one_keeps_nobody_from_another(self, file, tmp_path, wrong) -> None:
        with closing(raw(file)) as database, database:
            database.execute(wrong)
        with Place.in_file(file).open() as ledger:
            clinic = ledger.of("clinic")
            receipt = ask(ledger, "after", population="clinic").receipt
            ledger.require(receipt)
            verify(clinic, [receipt])
            assert export_json(clinic, tmp_path / "clinic.jsonl") == receipt
            assert spent(ledger, "clinic") == Fraction(2, 10)
            assert ledger.in_chain(1).last_entry() == receipt.seq
            with pytest.raises(LedgerError):
                verify(ledger)
            with pytest.raises(LedgerError):
                ledger.seal()
        Place.in_file(file).open(receipts=[receipt]).close()

    @pytest.mark.parametrize(
        "wrong", ["delete from chains where chain = 5", "update chains set seq = 99 where chain = 5"]
    )
    def test_a_row_that_is_wrong_for_a_moment_is_never_sealed(self, file, wrong) -> None:
        with closing(raw(file)) as database, database:
            (row,) = database.execute("select * from chains where chain = 5").fetchall()
            database.execute(wrong)
        with Place.in_file(file).open() as ledger, pytest.raises(LedgerDamagedError, match=r"its row says|is missing"):
            ledger.seal()
        with closing(raw(file)) as database, database:
            database.execute("delete from chains where chain = 5")
            database.execute("insert into chains values (?, ?, ?, ?, ?)", row)
        with Place.in_file(file).open() as ledger:
            verify(ledger, [ledger.seal()])

    @pytest.mark.parametrize("which", NAMES[1:])
    def test_what_is_wrong_is_named_by_its_chain_and_its_population(self, file, which) -> None:
        number = NUMBERS[which]
        called = rf"chain 2f1c/{number} \(population '{which}'\)"
        with Place.in_file(file).open() as ledger:
            ledger.seal()
        kept = backed_up(file)
        roll_back(file, number, 2)
        with Place.in_file(file).open() as ledger:
            for act in (ledger.seal, lambda: ledger.account(which)):
                with pytest.raises(LedgerRolledBackError, match=rf"\(entry 4; {called} ends at entry 2\)"):
                    act()
        put_back(file, kept, heads=True)
        SqliteDatabase(file).chain(number).head.path.unlink()
        with Place.in_file(file).open() as ledger, pytest.raises(LedgerDamagedError, match=f"^{called}: .* is missing"):
            ledger.account(which)
        put_back(file, kept, heads=True)
        with closing(raw(file, chain=number)) as database, database:
            database.execute("drop trigger entries_are_never_changed")
            database.execute("update entries set body = replace(body, '\"kind\":', '\"sort\":') where seq = 2")
        with Place.in_file(file).open() as ledger:
            for cores in (1, 2):
                with pytest.raises(LedgerDamagedError, match=f"^entry 2 of {called} is not what was written") as wrong:
                    verify(ledger, cores=cores)
                assert (wrong.value.seq, wrong.value.chain) == (2, called.replace("\\", ""))
        with pytest.raises(LedgerDamagedError, match=f"^entry 2 of {called} is not what was written"):
            accept_rollback(file)

    def test_a_row_that_says_less_than_was_sealed_is_never_sealed(self, file) -> None:
        with Place.in_file(file).open() as ledger:
            ledger.seal()
        with closing(raw(file, chain=3)) as database, database:
            hash_ = database.execute("select hash from entries where seq = 3").fetchone()
            database.execute("update ledger set seq = 3, hash = ?", hash_)
        with Place.in_file(file).open() as ledger, pytest.raises(LedgerRolledBackError, match="older than a receipt"):
            ledger.seal()

    def test_after_a_loss_every_population_is_stopped_and_those_to_come(self, file) -> None:
        kept = backed_up(file)
        with Place.in_file(file).open() as ledger:
            ask(ledger, "after", population="school")
        put_back(file, kept, heads=False)
        accept_rollback(file)
        with Place.in_file(file).open() as ledger:
            add(ledger, "late")
            for name in (*NAMES, "late"):
                assert ledger.of(name).notes()
                with pytest.raises(SuspendedError):
                    ask(ledger, "new", population=name)
            verify(ledger)

    @pytest.mark.parametrize("to", [2, 0])
    def test_a_loss_of_what_was_sealed_is_accepted_and_the_ledger_goes_on(self, file, tmp_path, to) -> None:
        with Place.in_file(file).open() as ledger:
            before = ledger.seal()
        kept = (file.parent / "ledger.head.3").read_bytes()
        roll_back(file, 3, to)
        with closing(raw(file)) as database, database:
            if not to:
                database.execute("update chains set hash = ? where chain = 3", (genesis("2f1c/3"),))
        (file.parent / "ledger.head.3").write_bytes(kept)
        with Place.in_file(file).open() as ledger, pytest.raises(LedgerRolledBackError):
            ledger.account("school")
        accept_rollback(file)
        with Place.in_file(file).open() as ledger:
            if not to:
                assert ledger.populations() == ["clinic", "office"]
                add(ledger, "school")
            head = ledger.head()
            verify(ledger, [head])
            assert export_json(ledger, tmp_path / "all.jsonl") == check_export(tmp_path / "all.jsonl", [head])
            for name in NAMES:
                assert ledger.of(name).notes()
                with pytest.raises(SuspendedError):
                    ask(ledger, "new", population=name)
            with pytest.raises(LedgerRolledBackError):
                ledger.require(before)
        with Place.in_file(file).open() as ledger:
            end = ledger.of("school").head().seq
            ledger.seal()
        roll_back(file, 3, end - 1)
        with Place.in_file(file).open() as ledger, pytest.raises(LedgerRolledBackError):
            verify(ledger)

    @pytest.mark.catalogue("L7")
    def test_after_an_accepted_loss_of_one_none_of_the_others_goes_back_behind_it(self, file) -> None:
        """What one lost was never sealed; the seals of the others were, and their ends after the loss are."""
        with Place.in_file(file).open() as ledger:
            ask(ledger, "spent", population="school", epsilon="3/10")
            ledger.seal()
            end = ledger.of("school").head().seq
            ask(ledger, "lost", population="clinic")
        kept = SqliteDatabase(file).chain(1).head.path.read_bytes()
        roll_back(file, 1, 5)
        SqliteDatabase(file).chain(1).head.path.write_bytes(kept)
        accept_rollback(file)
        roll_back(file, 3, end - 2)  # the question is gone, and so is the note of the loss
        with Place.in_file(file).open() as ledger, pytest.raises(LedgerRolledBackError, match="older than a receipt"):
            ledger.administration.resume("school")

    def test_a_loss_is_sealed_with_the_ends_of_all_chains(self, place) -> None:
        with place.open() as ledger:
            receipt = ledger.administration.accept_rollback("an older copy was restored")
            with ledger.chains.directory.store.reading() as transaction:
                note, heads = transaction.entries(receipt.seq - 2)
            assert (note.record["kind"], sorted(heads.record["heads"])) == ("note", ["1", "3", "5"])
            verify(ledger, [receipt])


@pytest.fixture
def sealed_often(file, tmp_path) -> CheckpointFile:
    """The checkpoints of a ledger whose directory has so many seals that each population writes one when it is made."""
    kept = CheckpointFile(tmp_path / "checked", b"a key")
    with Place.in_file(file).open(checkpoints=kept) as ledger:
        for number in range(101):
            ask(ledger, f"often {number}", population="office", epsilon="1/1000")
            ledger.seal()
        ask(ledger, "later", population="school", epsilon="1/2")
        ledger.seal()
        add(ledger, "newcomer")
        newcomer = ledger.chains.founded()["newcomer"].number
    blank = kept.chain(newcomer).read()
    assert blank is not None
    assert blank.sealed.end == "", "an authentic checkpoint of a chain of which nothing was sealed"
    kept.chain(NUMBERS["school"]).path.write_bytes(kept.chain(newcomer).path.read_bytes())
    return kept


@pytest.mark.catalogue("L7")
def test_the_checkpoint_of_another_chain_says_nothing_about_one_that_went_back(file, sealed_often) -> None:
    roll_back(file, NUMBERS["school"], 3)
    with (
        Place.in_file(file).open(checkpoints=sealed_often) as ledger,
        pytest.raises(LedgerRolledBackError, match="older than a receipt"),
    ):
        ledger.account("school")


@pytest.mark.catalogue("L7")
def test_one_that_was_put_back_to_nothing_with_its_head_is_not_created_anew(file, sealed_often) -> None:
    """Nothing is written before it is refused: what was created would be there, with its whole budget."""
    number = NUMBERS["school"]
    roll_back(file, number, 0)
    with closing(raw(file, chain=number)) as database, database:
        database.execute("update ledger set hash = ?", (genesis(chain_name("2f1c", number)),))
    head = SqliteDatabase(file).chain(number).head
    head.path.unlink()
    head.begin(chain_name("2f1c", number))
    for _ in range(2):
        with Place.in_file(file).open(checkpoints=sealed_often) as ledger:
            with pytest.raises(LedgerRolledBackError):
                add(ledger, "school")
            assert "school" not in ledger.ends()


def test_a_move_that_is_taken_back_is_noticed_before_anything_is_charged(file, tmp_path) -> None:
    """Its chain loses the entry that closed it, and its head goes back, too: the directory had sealed the end."""
    with Place.in_file(file).open() as ledger:
        ledger.administration.suspend("school")
        end = move_away(ledger, "school", "b0b0", tmp_path / "school.jsonl").seq
    roll_back(file, 3, end - 1)
    with Place.in_file(file).open() as ledger, pytest.raises(LedgerRolledBackError):
        ledger.administration.resume("school")


@pytest.mark.parametrize("wrong", ["a chain behind its seal", "a row that is gone"])
def test_one_moves_away_whatever_has_become_of_another(file, tmp_path, wrong) -> None:
    """What is wrong with the school keeps the clinic from nothing, and the clinic's end is sealed all the same."""
    with Place.in_file(file).open() as ledger:
        ledger.administration.suspend("clinic")
        ledger.seal()
    if wrong == "a chain behind its seal":
        roll_back(file, 3, 3)
    else:
        with closing(raw(file)) as database, database:
            (row,) = database.execute("select * from chains where chain = 3").fetchall()
            database.execute("delete from chains where chain = 3")
    with Place.in_file(file).open() as ledger:
        end = move_away(ledger, "clinic", "b0b0", tmp_path / "clinic.jsonl")
        with pytest.raises(LedgerError):
            ledger.seal()
        assert check_export(tmp_path / "clinic.jsonl", [end]) == end
    if wrong == "a row that is gone":
        with closing(raw(file)) as database, database:
            database.execute("insert into chains values (?, ?, ?, ?, ?)", row)
        with Place.in_file(file).open() as ledger:
            verify(ledger, [ledger.seal()])
    roll_back(file, 1, end.seq - 1)
    with Place.in_file(file).open() as ledger, pytest.raises(LedgerRolledBackError):
        ledger.administration.resume("clinic")


def fail_at(point: str, monkeypatch) -> None:
    monkeypatch.setattr(store_module, "_reached", {})
    monkeypatch.setenv("LAPWING_FAULT", f"{point}:full")


class TestFounding:
    """A population is founded in the directory and then created in its chain; a failure in between costs nothing."""

    POINTS = ("found.begun", "found.written", "found.committed", "population.begun", "population.written")

    @pytest.mark.parametrize("point", POINTS)
    def test_it_is_created_after_all(self, place, monkeypatch, point) -> None:
        with place.open() as ledger:
            fail_at(point, monkeypatch)
            with pytest.raises(LedgerError):
                add(ledger, "late")
        monkeypatch.delenv("LAPWING_FAULT")
        with place.open() as ledger:
            assert "late" not in ledger.populations()
            with pytest.raises(ParameterError, match="is not in this ledger"):
                ledger.account("late")
            verify(ledger, [ledger.seal()])
            add(ledger, "late")
            ask(ledger, "k", population="late")
            assert spent(ledger, "late") == Fraction(1, 10)
            verify(ledger, [ledger.seal()])

    def test_the_first_one_too(self, quick_path, monkeypatch) -> None:
        place = Place.in_file(quick_path / "ledger.db")
        with place.create() as ledger:
            fail_at("population.written", monkeypatch)
            with pytest.raises(LedgerError):
                add(ledger, "clinic")
        monkeypatch.delenv("LAPWING_FAULT")
        with place.open() as ledger:
            assert ledger.populations() == []
            add(ledger, "clinic")
            assert ask(ledger).receipt.ledger == "2f1c/1"

    def test_a_failure_is_forgotten_by_the_process_that_had_it(self, file, monkeypatch) -> None:
        with Place.in_file(file).open() as ledger:
            fail_at("population.written", monkeypatch)
            with pytest.raises(LedgerError):
                add(ledger, "late")
            monkeypatch.delenv("LAPWING_FAULT")
            assert ledger.populations() == sorted(NAMES)
            with pytest.raises(ParameterError, match="is not in this ledger"):
                ledger.account("late")
            verify(ledger, [ledger.seal()])
            add(ledger, "late")
            assert "late" in ledger.populations()

    def test_whoever_looks_while_one_is_created_sees_nothing_missing(self, file) -> None:
        with Place.in_file(file).open() as ledger:
            with ledger.chains.found("late") as chain:
                assert ledger.populations() == sorted(NAMES)
                assert not chain.length
            founded, late = ledger.chains.directory.store.reading, []

            @contextmanager
            def create_meanwhile():
                with founded() as transaction:
                    yield transaction
                if not late:
                    late.append("late")
                    add(ledger, "late")

            ledger.chains.directory.store.reading = create_meanwhile
            assert ledger.populations() == sorted(NAMES)
            assert ledger.populations() == sorted([*NAMES, "late"])

    def test_one_that_was_only_founded_is_not_the_second(self, quick_path, monkeypatch) -> None:
        place = Place.in_file(quick_path / "ledger.db")
        with place.clinic() as ledger, place.open() as other:
            fail_at("population.written", monkeypatch)
            with pytest.raises(LedgerError):
                add(ledger, "late")
            monkeypatch.delenv("LAPWING_FAULT")
            for one in (ledger, other):
                assert one.chains.only() == "clinic"
            add(other, "late")  # no entry of the directory says so
            for one in (ledger, other):
                assert not one.chains.has_one

    def test_one_that_is_founded_during_a_verification_is_no_stranger(self, file) -> None:
        place = Place.in_file(file)
        with place.open() as ledger, place.open() as other:
            verify(ledger, progress=lambda *_: None if "late" in other.populations() else add(other, "late"))
            assert "late" in ledger.populations()

    def test_heads_are_found_whatever_the_name_of_the_file(self, quick_path) -> None:
        file = quick_path / "clinic[1].db"
        with Place.in_file(file).clinic():
            assert list(SqliteDatabase(file).heads_of_chains()) == [1]

    def test_no_population_is_founded_twice(self, place) -> None:
        with place.open() as ledger:
            with pytest.raises(ParameterError, match="exists already"):
                add(ledger, "school")
            assert ledger.numbers() == NUMBERS


class TestExports:
    def test_one_file_has_them_all_and_is_checked_as_a_whole(self, place, tmp_path) -> None:
        with place.open() as ledger:
            receipts = [ledger.of(name).head() for name in NAMES]
            head = export_json(ledger, tmp_path / "all.jsonl")
            assert check_export(tmp_path / "all.jsonl", [*receipts, head]) == head == ledger.head()
            ask(ledger, "after", population="office")
            with pytest.raises(LedgerRolledBackError):
                check_export(tmp_path / "all.jsonl", [ledger.of("office").head()])

    def test_one_that_is_founded_and_sealed_meanwhile_is_whole_or_left_out(self, file, tmp_path, monkeypatch) -> None:
        written, late = export_module._write, iter(("late", "later"))
        with Place.in_file(file).open() as ledger, Place.in_file(file).open() as other:

            def write(*part):
                for name in islice(late, 1):
                    add(other, name)
                    other.seal()
                end = written(*part)
                for name in islice(late, 1):
                    add(other, name)
                    other.seal()
                return end

            monkeypatch.setattr(export_module, "_write", write)
            export_json(ledger, tmp_path / "all.jsonl")
            check_export(tmp_path / "all.jsonl")
            assert '"population":"late"' in (tmp_path / "all.jsonl").read_text()
            assert '"population":"later"' not in (tmp_path / "all.jsonl").read_text()

    def test_several_processes_write_the_same(self, place, tmp_path) -> None:
        with place.open() as ledger:
            assert export_json(ledger, tmp_path / "2.jsonl", cores=2) == export_json(ledger, tmp_path / "1.jsonl")
        assert (tmp_path / "2.jsonl").read_bytes() == (tmp_path / "1.jsonl").read_bytes()
        assert sorted(one.name for one in tmp_path.iterdir() if one.suffix == ".jsonl") == ["1.jsonl", "2.jsonl"]

    def test_one_population_is_exported_by_itself(self, place, tmp_path) -> None:
        with place.open() as ledger:
            head = export_json(ledger.of("office"), tmp_path / "office.jsonl")
            assert check_export(tmp_path / "office.jsonl") == head == ledger.of("office").head()
            assert len((tmp_path / "office.jsonl").read_text().splitlines()) == 1 + head.seq

    @pytest.mark.parametrize("spoil", ["a chain left out", "a chain cut short"])
    def test_what_was_sealed_has_to_be_there(self, place, tmp_path, spoil) -> None:
        with place.open() as ledger:
            export_json(ledger, tmp_path / "all.jsonl")
        lines = (tmp_path / "all.jsonl").read_text().splitlines(keepends=True)
        if spoil == "a chain left out":
            begin = next(i for i, line in enumerate(lines) if '"ledger":"2f1c/3"' in line)  # the last in the file
            lines = lines[:begin]
        else:
            before = lines[-2].partition('"hash":"')[2][:64]
            begin = next(i for i, line in enumerate(lines) if '"ledger":"2f1c/3"' in line)
            last = lines[-1].partition('"hash":"')[2][:64]
            lines[begin] = lines[begin].replace(last, before).replace('"last":4', '"last":3')
            lines = lines[:-1]
        (tmp_path / "less.jsonl").write_text("".join(lines))
        with pytest.raises(LedgerRolledBackError):
            check_export(tmp_path / "less.jsonl")
