"""Whatever happens to the file of a ledger, it is noticed before anything is answered, and the bad entry is named."""

import json
import os
import shutil
import sqlite3
from contextlib import closing, nullcontext
from fractions import Fraction
from typing import ClassVar

import pytest

from fuzz.damage import HEAD, LEDGER, LOG, Kept, flipped
from lapwing.ledger.chains import leaf, merkle_root
from lapwing.ledger.entries import Entry, HeadFile, Receipt, chain_name, genesis, link, of_chain, recall_digest
from lapwing.ledger.export import check_export, export_json
from lapwing.ledger.replay import verify
from lapwing.ledger.reservation_states import RoundOutcome
from lapwing.ledger.sqlite import SqliteDatabase
from lapwing.vocabulary.errors import (
    LedgerDamagedError,
    LedgerRolledBackError,
    LedgerUnwritableError,
    ParameterError,
)
from lapwing.vocabulary.guarantee import PureDP
from ledger.clinic import CHAIN, SEED, Place, ask, decide_one, intend_one, opening, raw, request

CLINIC = chain_name("2f1c", CHAIN)


@pytest.fixture
def file(quick_path):
    """A ledger with 20 entries or so, closed."""
    path = quick_path / "ledger.db"
    with Place.in_file(path).clinic() as ledger:
        ledger.administration.set_allowance("clinic", "ana", PureDP(epsilon=Fraction(9, 10)))
        for i in range(3):
            ask(ledger, f"k{i}")
        ledger.reservations.open(opening(yeses=2))
        for number, outcome in ((1, RoundOutcome.NO), (2, RoundOutcome.YES)):
            intend_one(ledger, "s", number=number, key=f"s{number}", question=f"q{number}", sealed=SEED)
            decide_one(ledger, "s", number=number, outcome=outcome, answer=outcome.value)
        ask(ledger, "again", question="count k0")
        ledger.reservations.close("s")
        ledger.administration.advance_version("clinic", "patients")
        ledger.administration.set_budget("clinic", PureDP(epsilon=Fraction(2)))
        lost = ledger.questions.charge(request("lost"))
        ledger.questions.lose(lost.seq)
        verify(ledger)
    return path


def head_of(path) -> HeadFile:
    return HeadFile(of_chain(path.with_name("ledger.head"), CHAIN))


def edit(path, *statements: str) -> None:
    """Change the file behind the ledger's back."""
    with closing(raw(path)) as connection:
        connection.executescript(
            "drop trigger entries_are_never_changed; drop trigger entries_are_never_deleted;"
            "drop index entries_request; drop index entries_settles;" + "".join(statements)
        )


def entries(path) -> list[Entry]:
    with closing(raw(path)) as connection:
        return [Entry(*row) for row in connection.execute("select seq, body, hash from entries order by seq")]


def forge(path, records: list[dict]) -> None:
    """Write another history and hash it right: what someone does who knows how the ledger works.

    The directory, which has sealed the first entry, is written anew, too.
    """
    before, rows = genesis(CLINIC), []
    for record in records:
        body = json.dumps(record, sort_keys=True, separators=(",", ":"))
        before = link(before, body)
        rows.append((record["seq"], body, before))
    edit(path, "delete from entries;")
    with closing(raw(path)) as connection:
        connection.executemany("insert into entries (seq, body, hash) values (?, ?, ?)", rows)
        connection.execute("update ledger set seq = ?, hash = ?", (rows[-1][0], before))
        connection.commit()
    head_of(path).accept(Receipt(ledger=CLINIC, seq=rows[-1][0], hash=before.hex()))
    end = leaf(1, rows[0][2])
    with closing(raw(path, chain=0)) as connection, connection:
        connection.execute("drop trigger if exists entries_are_never_changed")
        founding, seal = connection.execute("select hash, body from entries where seq < 3 order by seq").fetchall()
        anew = json.loads(seal[1]) | {"heads": {"1": end}, "root": merkle_root({1: end}).hex()}
        body = json.dumps(anew, sort_keys=True, separators=(",", ":"))
        hash_ = link(founding[0], body)
        connection.execute("update entries set body = ?, hash = ? where seq = 2", (body, hash_))
        connection.execute("update ledger set hash = ?", (hash_,))
    SqliteDatabase(path).head.accept(Receipt(ledger="2f1c", seq=2, hash=hash_.hex()))


def test_verify_looks_into_the_structures_of_the_database(file, monkeypatch) -> None:
    """The chain and the arithmetic are right, and yet an index may be damaged: only the database can tell."""

    def damaged(*_):
        raise LedgerDamagedError("a page is damaged")

    with Place.in_file(file).open() as ledger:
        verify(ledger)
        monkeypatch.setattr(SqliteDatabase, "inspect", damaged)
        with pytest.raises(LedgerDamagedError, match="a page is damaged"):
            verify(ledger)


class TestRows:
    @pytest.mark.catalogue("L9")
    def test_an_edited_entry_is_named(self, file) -> None:
        edit(file, """update entries set body = replace(body, '"answer":"42"', '"answer":"43"') where seq = 6;""")
        with pytest.raises(
            LedgerDamagedError, match=r"entry 6 of chain 2f1c/1 \(population 'clinic'\) is not what was written"
        ) as refused:
            Place.in_file(file).open()
        assert refused.value.seq == 6

    @pytest.mark.catalogue("L9")
    def test_a_deleted_entry_is_named(self, file) -> None:
        edit(file, "delete from entries where seq = 8;")
        with pytest.raises(LedgerDamagedError, match=r"entry 8 of chain 2f1c/1 .* is missing") as refused:
            Place.in_file(file).open()
        assert refused.value.seq == 8

    def test_deleted_last_entries_are_noticed(self, file) -> None:
        last = entries(file)[-1].seq
        edit(file, "delete from entries where seq > (select max(seq) - 3 from entries);")
        with pytest.raises(LedgerDamagedError, match=f"says that it ends at entry {last}") as refused:
            Place.in_file(file).open()
        assert refused.value.seq == last - 2

    @pytest.mark.catalogue("L9")
    def test_an_inserted_entry_is_named(self, file) -> None:
        last = entries(file)[-1].seq
        edit(file, "insert into entries (body, hash) values ('{}', x'00');")
        with pytest.raises(LedgerDamagedError, match="added by hand") as refused:
            Place.in_file(file).open()
        assert refused.value.seq == last + 1

    def test_an_end_that_is_not_the_end_is_noticed(self, file) -> None:
        edit(file, "update ledger set hash = zeroblob(32);")
        with pytest.raises(LedgerDamagedError, match="not the end"):
            Place.in_file(file).open()

    def test_a_ledger_without_its_name_is_refused(self, file) -> None:
        edit(file, "delete from ledger;")
        with pytest.raises(LedgerDamagedError, match="the row of the chain of population 'clinic' is missing"):
            Place.in_file(file).open()

    def test_the_database_itself_refuses_to_change_or_delete_entries(self, file) -> None:
        with closing(raw(file)) as connection:
            for statement in ("update entries set body = '{}'", "delete from entries"):
                with pytest.raises(sqlite3.IntegrityError, match="never"):
                    connection.execute(statement)

    @pytest.mark.parametrize("cost", ["nan", "-1", "0", "abc"])
    @pytest.mark.catalogue("L16")
    def test_a_cost_that_is_no_number_finds_no_place(self, file, cost) -> None:
        """A cost is text inside an entry; an entry that is not in the chain is never read."""
        record = {**entries(file)[4].record, "seq": 22}
        record["account"]["after"]["filters"]["everyone"]["spent"] = cost
        edit(file)
        with closing(raw(file)) as connection, connection:
            connection.execute("insert into entries (body, hash) values (?, x'00')", (json.dumps(record),))
        with pytest.raises(LedgerDamagedError):
            Place.in_file(file).open()


class TestFiles:
    def test_a_missing_file_is_not_made_by_opening_it(self, quick_path) -> None:
        with pytest.raises(LedgerUnwritableError, match="there is no ledger at"):
            Place.in_file(quick_path / "ledger.db").open()
        assert list(quick_path.iterdir()) == []

    @pytest.mark.catalogue("L6")
    def test_an_empty_file_is_no_ledger(self, quick_path) -> None:
        (quick_path / "ledger.db").touch()
        with pytest.raises(LedgerDamagedError, match="is empty"):
            Place.in_file(quick_path / "ledger.db").open()

    def test_a_file_that_is_something_else_is_refused(self, quick_path) -> None:
        (quick_path / "ledger.db").write_bytes(b"not a database, but long enough to be one " * 100)
        with pytest.raises(LedgerDamagedError, match="file is not a database"):
            Place.in_file(quick_path / "ledger.db").open()

    @pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
    @pytest.mark.catalogue("L6")
    def test_a_truncated_file_is_refused(self, file, share) -> None:
        os.truncate(file, int(file.stat().st_size * share))
        with pytest.raises(LedgerDamagedError):
            Place.in_file(file).open()

    def test_a_name_that_is_no_text_is_refused_in_a_sentence(self, file) -> None:
        """A byte of the schema that is not even UTF-8."""
        good = file.read_bytes()
        for word in (b"entries_account", b"generated always"):
            file.write_bytes(good.replace(word, word[:-2] + b"\xff" + word[-1:], 1))
            with pytest.raises(LedgerDamagedError):
                Place.in_file(file).open()


PARTS = 6


class TestEveryByte:
    """Whatever byte is flipped, wherever a log is cut: all that was told is there, or the ledger is refused."""

    @pytest.mark.parametrize("part", range(PARTS))
    @pytest.mark.catalogue("L6")
    def test_a_flipped_bit_anywhere_gives_nothing_back(self, quick_path, part) -> None:
        """Every byte, but of long runs of zeros, which is unused space, every sixteenth."""
        kept = Kept.of(quick_path / "kept", questions=1, closed=True)
        content, refused = kept.files[LEDGER], 0
        places = [at for at in range(len(content)) if any(content[max(0, at - 8) : at + 9]) or at % 16 == 0]
        for at in places[part::PARTS]:
            files = kept.damaged(LEDGER, flipped(content, at, 1 << at % 8))
            refused += not kept.tried(files, quick_path / "damaged")
        assert len(places) / PARTS * 0.5 < refused < len(places) / PARTS

    @pytest.mark.catalogue("L6")
    def test_a_flipped_bit_in_a_chain_that_is_a_small_part_of_the_file_gives_nothing_back(self, quick_path) -> None:
        """SQLite does not check all pages then: what is looked up in the chain is compared with its entries."""
        kept = Kept.of(quick_path / "kept", questions=1, closed=True, beside=12)
        content = kept.files[LEDGER]
        for at in range(0, len(content), 61):
            kept.tried(kept.damaged(LEDGER, flipped(content, at, 1 << at % 8)), quick_path / "damaged")

    def test_a_flipped_bit_in_the_log_gives_nothing_back(self, quick_path) -> None:
        kept = Kept.of(quick_path / "kept", questions=1)
        content, refused = kept.files[LOG], 0
        for at in range(0, len(content), 61):
            files = kept.damaged(LOG, flipped(content, at, 1 << at % 8))
            refused += not kept.tried(files, quick_path / "damaged")
        assert refused > len(content) / 61 * 0.8

    def test_a_log_that_is_cut_anywhere_or_lost_gives_nothing_back(self, quick_path) -> None:
        """Once whole it is opened; shorter by a byte, it lacks what was told last."""
        kept = Kept.of(quick_path / "kept", questions=1)
        content, frame = kept.files[LOG], 512 + 24
        ends = {end + near for end in range(32, len(content), frame) for near in (-1, 0, 1)}
        for end in sorted(ends | set(range(0, len(content), 211))):
            assert not kept.tried(kept.damaged(LOG, content[:end]), quick_path / "damaged"), end
        assert not kept.tried(kept.damaged(LOG, None), quick_path / "damaged")
        assert kept.tried(kept.files, quick_path / "damaged")

    def test_a_damaged_head_gives_nothing_back(self, quick_path) -> None:
        """With one slot damaged the other still vouches; the ledger itself is whole, and opened. With both, refused."""
        kept = Kept.of(quick_path / "kept", questions=1, closed=True)
        content = kept.files[HEAD]
        for at in (*range(160), *range(4096, 4096 + 160), *range(0, len(content), 509)):
            assert kept.tried(kept.damaged(HEAD, flipped(content, at, 1 << at % 8)), quick_path / "damaged"), at
        for worse in (flipped(flipped(content, 9, 1), 4096 + 9, 1), b"", content[:20], bytes(len(content)), None):
            assert not kept.tried(kept.damaged(HEAD, worse), quick_path / "damaged")

    def test_this_finds_an_index_that_was_believed(self, quick_path, monkeypatch) -> None:
        """If nobody compared indexes with the chain, some flipped bit would give budget or answers back."""
        kept = Kept.of(quick_path / "kept", questions=1, closed=True)
        content = kept.files[LEDGER]
        monkeypatch.setattr(SqliteDatabase, "inspect", lambda *_: None)
        damages = (flipped(content, at, 1 << at % 8) for at in (*range(11 * 512, 14 * 512), *range(len(content))))
        with pytest.raises(AssertionError, match=r"forgotten|given something back|went back"):
            [kept.tried(kept.damaged(LEDGER, damage), quick_path / "damaged") for damage in damages]

    def test_this_finds_a_log_that_was_not_missed(self, quick_path, monkeypatch) -> None:
        """If nobody looked at the head, a cut log would give budget back."""
        kept = Kept.of(quick_path / "kept", questions=1)
        monkeypatch.setattr("lapwing.ledger.store.require_promised", lambda *_, **__: None)
        with pytest.raises(AssertionError, match="given something back"):
            kept.tried(kept.damaged(LOG, kept.files[LOG][: -20 * 536]), quick_path / "damaged")


class TestBackups:
    @pytest.mark.catalogue("L7")
    def test_an_older_copy_in_the_place_of_the_ledger_is_refused(self, file, quick_path) -> None:
        backup = quick_path / "backup.db"
        shutil.copy(file, backup)
        with Place.in_file(file).open() as ledger:
            ask(ledger, "after the backup")
            newest = ledger.head().seq
        shutil.copy(backup, file)
        with pytest.raises(LedgerRolledBackError, match="older than what was answered from it") as refused:
            Place.in_file(file).open()
        assert (refused.value.seq, refused.value.last) == (newest, newest - 2)
        assert "counts as spent" in str(refused.value)

    @pytest.mark.catalogue("L10")
    def test_a_copy_without_its_head_is_refused(self, file, quick_path) -> None:
        (quick_path / "elsewhere").mkdir()
        shutil.copy(file, quick_path / "elsewhere" / "ledger.db")
        with pytest.raises(LedgerDamagedError, match=r"ledger\.head is missing, and without it nobody knows how far"):
            Place.in_file(quick_path / "elsewhere" / "ledger.db").open()

    def test_another_ledger_in_the_place_of_this_one_is_refused(self, file, quick_path) -> None:
        (quick_path / "elsewhere").mkdir()
        Place.in_file(quick_path / "elsewhere" / "ledger.db").create("other").close()
        shutil.copy(quick_path / "elsewhere" / "ledger.db", file)
        with pytest.raises(LedgerRolledBackError, match="this is ledger other, and its place belongs to ledger 2f1c"):
            Place.in_file(file).open()

    def test_no_new_ledger_is_made_where_one_was_lost(self, file) -> None:
        file.unlink()
        with pytest.raises(LedgerUnwritableError, match="names ledger 2f1c, which had come to entry 2"):
            Place.in_file(file).create("new")
        assert not file.exists()

    @pytest.mark.catalogue("L7")
    def test_a_restored_folder_is_refused_by_anyone_who_holds_a_newer_receipt(self, file, quick_path) -> None:
        backup, head = quick_path / "backup.db", quick_path / "backup.head"
        shutil.copy(file, backup)
        shutil.copy(head_of(file).path, head)
        with Place.in_file(file).open() as ledger:
            receipt = ask(ledger, "after the backup").receipt
        shutil.copy(backup, file)
        shutil.copy(head, head_of(file).path)
        with pytest.raises(LedgerRolledBackError, match="older than a receipt"):
            Place.in_file(file).open(receipts=[receipt])

    @pytest.mark.catalogue("L8")
    def test_a_restored_backup_that_was_written_on_is_refused_too(self, file, quick_path) -> None:
        backup = quick_path / "backup.db"
        shutil.copy(file, backup)
        with Place.in_file(file).open() as ledger:
            receipt, before = ask(ledger, "after the backup").receipt, head_of(file).path.read_bytes()
        shutil.copy(backup, file)
        with closing(raw(backup)) as old, old:
            (seq, hash_) = old.execute("select seq, hash from ledger").fetchone()
        head_of(file).accept(Receipt(ledger=CLINIC, seq=seq, hash=hash_.hex()))
        with Place.in_file(file).open() as ledger:
            for i in range(3):
                ask(ledger, f"other {i}", epsilon="1/100")
            with pytest.raises(LedgerRolledBackError, match="another past"):
                ledger.require(receipt)
        head_of(file).path.write_bytes(before)
        with pytest.raises(LedgerRolledBackError, match="another past than the one that was answered from"):
            Place.in_file(file).open()

    def test_a_running_process_notices_that_the_ledger_went_backwards(self, file, quick_path) -> None:
        backup = quick_path / "backup.db"
        shutil.copy(file, backup)
        with Place.in_file(file).open() as ledger:
            ask(ledger, "after the backup")
            ledger.close()
            shutil.copy(backup, file)
            with pytest.raises(LedgerRolledBackError, match="older than"):
                ledger.questions.charge(request("next"))


class TestForgers:
    """Someone who recomputes all hashes is caught by whoever holds a receipt, and by arithmetic."""

    def test_the_forgers_tool_is_faithful(self, file) -> None:
        forge(file, [entry.record for entry in entries(file)])
        with Place.in_file(file).open() as ledger:
            verify(ledger)

    def test_a_receipt_shows_a_rewritten_past(self, file) -> None:
        with Place.in_file(file).open() as ledger:
            receipt = ledger.head()
        records = [entry.record for entry in entries(file)]
        records[5]["answer"] = "43"
        forge(file, records)
        with pytest.raises(LedgerRolledBackError, match="another past"):
            Place.in_file(file).open(receipts=[receipt])

    FORGERIES: ClassVar = {
        "a charge is made cheaper": (5, lambda r: r["account"]["lines"][0]["cost"].update(epsilon="1/100")),
        "a balance is improved": (5, lambda r: r["account"]["after"]["filters"]["everyone"].update(spent="0")),
        "an allowance is improved": (5, lambda r: r["allowance"]["after"]["filters"]["everyone"].update(spent="0")),
        "an allowance is forgotten": (5, lambda r: r.pop("allowance")),
        "an account starts below zero": (
            1,
            lambda r: r["account"]["after"]["filters"]["everyone"].update(spent="-1"),
        ),
        "a key is used twice": (7, lambda r: r.update(request="k0")),
        "a yes is free": (15, lambda r: [r.pop("account"), r.pop("allowance")]),
        "a yes takes no units": (15, lambda r: r.update(units=0, used=0)),
        "a yes is called a no": (15, lambda r: r.update(outcome="no")),
        "a stream is said to have used less": (15, lambda r: r.update(used=0)),
        "a question has another number": (14, lambda r: r.update(number=3, asked=3)),
        "an answer settles something else": (6, lambda r: r.update(settles=4)),
        "an answer is found under another question": (
            6,
            lambda r: r.update(recall=recall_digest("population clinic", "q")),
        ),
        "an answer is about other data": (6, lambda r: r.update(versions={"patients": 2})),
        "an answer of a stream is found under another question": (
            15,
            lambda r: r.update(recall=recall_digest("stream s", "q1")),
        ),
        "an answer of a stream is about other data": (15, lambda r: r.update(versions={"patients": 2})),
        "a recall of what was never told": (16, lambda r: r.update(recalls=5)),
        "closing gives back too much": (
            17,
            lambda r: r["account"]["after"]["filters"]["everyone"].update(spent="3/10"),
        ),
        "a version skips one": (18, lambda r: [r.update(version=3), r["policy"]["tables"].update(patients=3)]),
        "a policy changes on the side": (18, lambda r: r["policy"].update(suspended=True)),
        "a new cap forgets the past": (
            19,
            lambda r: [
                part["filters"]["everyone"].update(spent="0")
                for part in (r["account"]["after"], r["account"]["lines"][0]["account"])
            ],
        ),
        "a time is a number": (5, lambda r: r.update(at=1.5)),
        "an unknown kind": (5, lambda r: r.update(kind="gift")),
        "something is lost twice": (21, lambda r: r.update(settles=5)),
        "something is lost elsewhere": (21, lambda r: r.update(population="other")),
        "what is lost has an answer": (21, lambda r: r.update(answer="42")),
        "a charge reads no table": (5, lambda r: r.update(versions={})),
        "a charge has the digest of another request": (5, lambda r: r.update(digest="00")),
        "a recall has the digest of another request": (16, lambda r: r.update(digest="00")),
        "an opening has the digest of another request": (11, lambda r: r.update(digest="00")),
        "a recall of another population": (16, lambda r: r.update(population="other")),
        "an outcome of another population": (15, lambda r: r.update(population="other")),
        "an outcome has the number of another": (15, lambda r: r.update(number=1)),
    }

    @pytest.mark.parametrize("forgery", FORGERIES)
    def test_arithmetic_shows_that(self, file, forgery) -> None:
        seq, change = self.FORGERIES[forgery]
        records = [entry.record for entry in entries(file)]
        change(records[seq - 1])
        forge(file, records)
        with pytest.raises(LedgerDamagedError) as found, Place.in_file(file).open() as ledger:
            verify(ledger)  # a key that stands twice is seen at the door, by its index
        assert found.value.seq == seq

    def test_no_note_brings_back_an_old_account(self, file) -> None:
        records = [entry.record for entry in entries(file)]
        last, fresh = len(records) + 1, {"population": "clinic", "account": records[0]["account"]}
        note = {"kind": "note", "seq": last, "at": records[0]["at"], "by": "me", "remark": "nothing", **fresh}
        forge(file, [*records, note])
        with Place.in_file(file).open() as ledger:
            with pytest.raises(LedgerDamagedError, match="'note' has: account, population") as found:
                verify(ledger)
            assert found.value.seq == last

    @pytest.mark.parametrize("whose", [None, "ana"], ids=["everyone", "analyst"])
    def test_arithmetic_shows_that_a_suspension_was_passed_over(self, quick_path, whose) -> None:
        path = quick_path / "ledger.db"
        for act in ("charge", "opening", "intent"):
            with Place.in_file(path).clinic() as ledger:
                if act == "intent":
                    ledger.reservations.open(opening())
                with ledger.store.writing("policy") as book:
                    last = book.append("note", by="me", remark="the suspension goes here").seq
                if act == "charge":
                    ask(ledger, "k")
                if act == "opening":
                    ledger.reservations.open(opening())
                if act == "intent":
                    intend_one(ledger, "s", number=1, key="k", question="q", sealed=SEED)
                ledger.administration.suspend("clinic", whose)
            records = [entry.record for entry in entries(path)]
            suspension = records[-1]
            records[last - 1] = {**suspension, "seq": last}
            forge(path, records)
            with Place.in_file(path).open() as ledger, pytest.raises(LedgerDamagedError, match="suspended") as found:
                verify(ledger)
            assert found.value.seq == last + 1, act
            for file in quick_path.glob("ledger.*"):
                file.unlink()

    def test_arithmetic_shows_that_the_most_that_a_question_may_cost_was_passed_over(self, quick_path) -> None:
        path = quick_path / "ledger.db"
        with Place.in_file(path).clinic() as ledger:
            with ledger.store.writing("policy") as book:
                last = book.append("note", by="me", remark="the limit goes here").seq
            ask(ledger, "k")
            ledger.administration.set_limits("clinic", most=PureDP(epsilon=Fraction(1, 20)), noes_a_day=None)
        records = [entry.record for entry in entries(path)]
        records[last - 1] = {**records[-1], "seq": last}
        forge(path, records)
        with Place.in_file(path).open() as ledger, pytest.raises(LedgerDamagedError, match="at most") as found:
            verify(ledger)
        assert found.value.seq == last + 1

    def test_arithmetic_shows_that_a_stream_was_closed_twice(self, file) -> None:
        records = [entry.record for entry in entries(file)]
        records[17] = {name: records[16][name] for name in records[16] if name not in {"account", "allowance"}}
        records[17]["seq"] = 18
        forge(file, records)
        with (
            Place.in_file(file).open() as ledger,
            pytest.raises(LedgerDamagedError, match="closes a stream that is closed") as found,
        ):
            verify(ledger)
        assert found.value.seq == 18

    @pytest.mark.parametrize(
        ("changed", "words"),
        [
            ({}, None),
            ({"forfeit": False}, "closes a stream with a question in flight"),
            ({"settles": None}, "forgets the question in flight"),
        ],
        ids=["right", "given back", "forgotten"],
    )
    def test_arithmetic_shows_what_became_of_a_question_in_flight(self, quick_path, changed, words) -> None:
        path = quick_path / "ledger.db"
        with Place.in_file(path).clinic() as ledger:
            ledger.reservations.open(opening())
            intend_one(ledger, "s", number=1, key="k", question="q", sealed=SEED)
            ledger.reservations.forfeit("s")
        records = [entry.record for entry in entries(path)]
        records[-1] |= changed
        forge(path, records)
        with (
            Place.in_file(path).open() as ledger,
            pytest.raises(LedgerDamagedError, match=words) if words else nullcontext(),
        ):
            verify(ledger)

    def test_the_charges_that_the_forgeries_are_about_are_where_they_are_thought_to_be(self, file) -> None:
        kinds = {entry.seq: entry.record["kind"] for entry in entries(file)}
        expected = {1: "population", 5: "charge", 6: "answer", 7: "charge", 14: "intent", 15: "outcome", 16: "recall"}
        expected |= {17: "closing", 18: "policy", 19: "policy", 20: "charge", 21: "lost"}
        assert {seq: kinds[seq] for seq in expected} == expected


class TestExports:
    @pytest.fixture
    def export(self, file, quick_path):
        with Place.in_file(file).open() as ledger:
            receipt = export_json(ledger, quick_path / "out.jsonl")
        return quick_path / "out.jsonl", receipt

    def test_an_edited_line_is_named(self, export) -> None:
        path, receipt = export
        path.write_text(path.read_text("ascii").replace('"answer":"42"', '"answer":"43"', 1), "ascii")
        with pytest.raises(LedgerDamagedError) as found:
            check_export(path, [receipt])
        assert found.value.seq == 6

    def test_a_shortened_export_is_noticed(self, export) -> None:
        path, _ = export
        lines = path.read_text("ascii").splitlines(keepends=True)
        path.write_text("".join(lines[:-2]), "ascii")
        with pytest.raises(LedgerDamagedError, match="is missing"):
            check_export(path)

    def test_an_old_export_is_recognised_by_a_newer_receipt(self, export, file) -> None:
        path, _ = export
        with Place.in_file(file).open() as ledger:
            newer = ask(ledger, "newer").receipt
        with pytest.raises(LedgerRolledBackError, match="older than"):
            check_export(path, [newer])

    def test_a_broken_line_is_named(self, export) -> None:
        path, _ = export
        lines = path.read_text("ascii").splitlines(keepends=True)
        path.write_text("".join([*lines[:4], "{\n", *lines[5:]]), "ascii")
        with pytest.raises(LedgerDamagedError, match="cannot be read") as found:
            check_export(path)
        assert found.value.seq == 4

    def test_another_file_is_no_export(self, quick_path) -> None:
        (quick_path / "x").write_text("hello\n", "ascii")
        with pytest.raises(ParameterError, match="is not an export"):
            check_export(quick_path / "x")


@pytest.mark.parametrize("analyst", ["ana", "bo", "cy"])
def test_an_allowance_that_is_not_found_any_more_is_not_taken_for_none(quick_path, analyst) -> None:
    path = quick_path / "ledger.db"
    with Place.in_file(path).clinic() as ledger:
        written = {}
        for one in ("ana", "bo", "cy"):
            ledger.administration.set_allowance("clinic", one, PureDP(epsilon=Fraction(1, 10)))
            written[one] = ledger.head().seq
        ask(ledger, "last", analyst="dan")
    with Place.in_file(path).open() as ledger:
        edit(path, f"delete from entries where seq = {written[analyst]};")  # noqa: S608 - a number
        with pytest.raises(LedgerDamagedError, match="is not found any more"):
            ledger.questions.charge(request("more", analyst=analyst, epsilon="2/10"))
