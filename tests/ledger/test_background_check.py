"""After an opening from a checkpoint the whole chain is followed in the background, and what is wrong stops the ledger.

Where the background check is `held`, it has seen nothing yet: what is refused then is refused without it.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
import pytest

from lapwing.ledger import background_check, store
from lapwing.ledger import chain as chain_module
from lapwing.ledger.background_check import BackgroundCheck
from lapwing.ledger.checkpoint import CheckpointFile
from lapwing.ledger.database import Database
from lapwing.ledger.entries import Lookup, link
from lapwing.ledger.ledger import Ledger, open_ledger
from lapwing.ledger.questions import Released
from lapwing.ledger.replay import verify
from lapwing.ledger.reservation_states import RoundOutcome
from lapwing.vocabulary.errors import LedgerDamagedError, LedgerUnwritableError
from ledger.clinic import (
    CHAIN,
    SECRET,
    SEED,
    Place,
    ask,
    decide_one,
    empty_index,
    intend_one,
    opening,
    raw,
    request,
    spent,
)

KEY = bytes(range(32))
QUESTIONS = 15
LAST = 3 + 2 * QUESTIONS + 1 + 2 + 2
pytestmark = pytest.mark.parametrize("kind", ["sqlite", "postgres"])


@dataclass(frozen=True)
class Kept:
    """A ledger with a checkpoint at its end: 15 questions, then a stream with a question and with a batch."""

    place: Place
    checkpoints: CheckpointFile

    def open(self) -> Ledger:
        return open_ledger(self.place.database(), checkpoints=self.checkpoints)

    def do(self, *statements: str, values: tuple = ()) -> None:
        """Write into the database behind its back."""
        if isinstance(self.place.where, Path):
            with closing(raw(self.place.where)) as database, database:
                for trigger in ("changed", "deleted"):
                    database.execute(f"drop trigger if exists entries_are_never_{trigger}")
                for statement in statements:
                    database.execute(statement, values)
        else:
            dsn, schema = self.place.where
            with psycopg.connect(dsn) as database:
                database.execute(f"set search_path = {schema}")
                database.execute("set lapwing.chain = '1'")
                database.execute("alter table all_entries disable trigger all")
                for statement in statements:
                    database.execute(statement.replace("?", "%s"), values)

    def entry(self, seq: int) -> tuple[str, bytes]:
        with self.place.open() as ledger, ledger.store.reading() as transaction:
            found = transaction.entry(seq)
            return found.body, found.hash

    def empty_index(self, name: str) -> None:
        """Let an index lose all entries that there are, and find those that come."""
        if isinstance(self.place.where, Path):
            for before, after in (("is not null", f"is not null and seq > {LAST}"), (f" and seq > {LAST}", "")):
                with closing(raw(self.place.where)) as database, database:
                    database.execute("pragma writable_schema = on")
                    changed = "update sqlite_schema set sql = replace(sql, ?, ?) where name = ?"
                    database.execute(changed, (before, after, name))
                if after:
                    with closing(raw(self.place.where)) as database, database:
                        database.execute(f"reindex {name}")
        else:
            empty_index(*self.place.where, name)


@pytest.fixture
def kept(kind, request, tmp_path, monkeypatch) -> Kept:
    monkeypatch.setattr(chain_module, "EVERY", 3)  # the directory, which has two entries, is followed whole
    place = Place.chosen(kind, request)
    with place.clinic() as ledger:
        for number in range(QUESTIONS):
            ask(ledger, f"k{number}", f"noisy {number}", epsilon="1/100")
        ledger.reservations.open(opening(yeses=2, price="1/100"))
        intend_one(ledger, "s", number=1, key="s1", question="q1", sealed=SEED)
        decide_one(ledger, "s", number=1, outcome=RoundOutcome.NO, answer="no")
        ledger.streams.intend("s", number=2, key="s2", questions=["q2", "q3"], sealed=SEED)
        ledger.streams.decide("s", number=2, answers=[(RoundOutcome.NO, "no")] * 2, sealed=SECRET)
        assert ledger.last_entry() == LAST
    kept = Kept(place, CheckpointFile(tmp_path / "ledger.checked", KEY))
    kept.open().close()
    assert kept.checkpoints.chain(CHAIN).read().receipt.seq == LAST
    return kept


@pytest.fixture
def held(monkeypatch) -> None:
    monkeypatch.setattr(BackgroundCheck, "_run", lambda self: self._stopping.wait())


def require_stopped(kept: Kept, ledger: Ledger, seq: int) -> None:
    """Every way to be told something is shut, and so is the ledger when it is next opened."""
    for tell in (
        lambda: ask(ledger, "new"),
        lambda: ask(ledger, "k2", epsilon="1/100"),
        lambda: ledger.questions.stored(request("k2", epsilon="1/100")),
        lambda: ledger.snapshot("clinic", "ana"),
        lambda: ledger.reservations.open(opening("t")),
        lambda: intend_one(ledger, "s", number=4, key="s4", question="q4", sealed=SEED),
        lambda: ledger.administration.add_table("clinic", "third"),
        ledger.last_entry,
    ):
        with pytest.raises(LedgerDamagedError, match="restore a backup") as refused:
            tell()
        assert refused.value.seq == seq
    ledger.close()
    with pytest.raises(LedgerDamagedError) as refused:
        kept.open()
    assert not seq or refused.value.seq == seq


class TestTheWholeChain:
    @pytest.mark.catalogue("L9")
    @pytest.mark.parametrize("seq", [1, 4, 5, LAST - 20, LAST - 1])
    def test_an_edited_entry_stops_the_ledger(self, kept, seq) -> None:
        kept.do("update entries set body = replace(body, 'clinic', 'klinik') where seq = ?", values=(seq,))
        with kept.open() as ledger:
            with pytest.raises(LedgerDamagedError, match="does not follow from the chain"):
                ledger.store.background.wait()
            require_stopped(kept, ledger, seq)

    @pytest.mark.catalogue("L9")
    def test_an_edit_with_a_hash_of_its_own_stops_it_at_the_next_entry(self, kept) -> None:
        (_, before), (body, _) = kept.entry(4), kept.entry(5)
        forged = body.replace("noisy 0", "noisy 9")
        kept.do("update entries set body = ?, hash = ? where seq = 5", values=(forged, link(before, forged)))
        with kept.open() as ledger:
            with pytest.raises(LedgerDamagedError, match="does not follow from the chain"):
                ledger.store.background.wait()
            require_stopped(kept, ledger, 6)

    @pytest.mark.catalogue("L9")
    def test_entries_that_changed_places_stop_it(self, kept) -> None:
        kept.do(
            "update entries set seq = -4 where seq = 4",
            "update entries set seq = 4 where seq = 6",
            "update entries set seq = 6 where seq = -4",
        )
        with kept.open() as ledger:
            with pytest.raises(LedgerDamagedError):
                ledger.store.background.wait()
            require_stopped(kept, ledger, 4)

    def test_a_sound_ledger_goes_on_as_before(self, kept) -> None:
        with kept.open() as ledger:
            ledger.store.background.wait()
            assert ask(ledger, "k2", epsilon="1/100").answer == "noisy 2"
            assert ask(ledger, "new").answer == ask(ledger, "newer").answer == "42"
            assert not ledger.store.background.has_failed
        assert kept.checkpoints.chain(CHAIN).read().receipt.seq == LAST + 4

    def test_the_answers_of_batches_are_compared_with_their_index(self, kept) -> None:
        kept.do("update recalls set place = 1 - place")
        with kept.open() as ledger:
            with pytest.raises(LedgerDamagedError, match="answers of batches"):
                ledger.store.background.wait()
            require_stopped(kept, ledger, 0)


@pytest.mark.usefixtures("held")
class TestAtOpening:
    @pytest.mark.catalogue("L9")
    @pytest.mark.parametrize(("first", "last"), [(4, 5), (5, 5), (1, 1), (LAST - 1, LAST - 1)])
    def test_deleted_entries_are_missed_at_once(self, kept, first, last) -> None:
        kept.do("delete from entries where seq between ? and ?", values=(first, last))
        with pytest.raises(LedgerDamagedError, match="is missing") as refused:
            kept.open()
        assert refused.value.seq == first

    @pytest.mark.catalogue("L9")
    def test_an_entry_that_was_put_in_is_seen_at_once(self, kept) -> None:
        kept.do(
            "insert into entries (seq, body, hash) values (?, ?, ?)", values=(LAST + 1, '{"kind":"note"}', b"\1" * 32)
        )
        with pytest.raises(LedgerDamagedError, match="was added by hand"):
            kept.open()


class TestAKeyThatIsNotFound:
    """The study's attack: the charge and the answer of a key are gone, and something else is in their place."""

    @pytest.fixture
    def hidden(self, kept, held) -> Kept:  # noqa: ARG002 - nothing was checked yet
        noted = '{"kind":"note","population":"clinic"}'
        kept.do("update entries set body = ? where seq in (8, 9)", values=(noted,))
        return kept

    @pytest.mark.catalogue("L9")
    @pytest.mark.parametrize("key", ["k2", "fresh"])
    def test_it_is_neither_charged_nor_answered_again(self, hidden, key) -> None:
        with hidden.open() as ledger:
            before, last = spent(ledger), ledger.last_entry()
            again = replace(request(key, question="count k2", epsilon="1/100"), fresh=key == "fresh")
            for tell in (ledger.questions.charge, ledger.questions.stored):
                with pytest.raises(LedgerDamagedError) as refused:
                    tell(again)
                assert refused.value.seq == 8
            assert (spent(ledger), ledger.last_entry()) == (before, last)
            assert ask(ledger, "k3", epsilon="1/100").answer == "noisy 3"
            assert isinstance(ask(ledger, "new"), Released)
        with pytest.raises(LedgerDamagedError) as refused:
            hidden.open()
        assert refused.value.seq == 8

    def test_who_asks_for_it_by_its_name_is_told_so(self, hidden) -> None:
        with hidden.open() as ledger, pytest.raises(LedgerDamagedError):
            ledger.request("clinic", "ana", "k2")

    @pytest.mark.usefixtures("held")
    @pytest.mark.parametrize(
        ("index", "key"), [("entries_request", "k2"), ("entries_recall", "fresh"), ("entries_settles", "k2")]
    )
    def test_an_index_that_lost_it_is_found_out(self, kept, index, key) -> None:
        kept.empty_index(index)
        with kept.open() as ledger:
            last = ledger.last_entry()
            with pytest.raises(LedgerDamagedError, match="is not found any more: an index"):
                ledger.questions.charge(request(key, question="count k2", epsilon="1/100"))
            assert ledger.last_entry() == last

    def test_an_index_that_has_fewer_keys_stops_the_ledger(self, kept) -> None:
        kept.empty_index("entries_request")
        with kept.open() as ledger:
            with pytest.raises(LedgerDamagedError, match="an index finds 0 of the 18 entries that used a key"):
                ledger.store.background.wait()
            require_stopped(kept, ledger, 0)

    @pytest.mark.usefixtures("held")
    @pytest.mark.parametrize("lost", ["delete from recalls", "delete from recalls where place = 1"])
    def test_answers_of_batches_are_missed(self, kept, lost) -> None:
        kept.do(lost)
        with kept.open() as ledger, pytest.raises(LedgerDamagedError, match="is not found any more: an index"):
            ledger.streams.intend("s", number=4, key="other", questions=["q3", "q4"], sealed=SEED)

    def test_a_stream_that_the_checkpoint_does_not_name_waits_for_the_check(self, kept, monkeypatch) -> None:
        monkeypatch.setattr(store, "_MOST_STREAMS", 1)
        monkeypatch.setattr(chain_module, "EVERY", 1)
        with kept.open() as ledger:
            ledger.reservations.open(opening("t"))
        assert (Lookup.STREAM, ("s",)) not in kept.checkpoints.chain(CHAIN).read().latest
        with kept.open() as ledger:
            assert ledger.reservations.find("s").asked == 3
            assert ledger.store.background.followed is None
        kept.do("update entries set body = replace(body, 'noisy', 'noise') where seq = 5")
        with kept.open() as ledger, pytest.raises(LedgerDamagedError):
            ledger.reservations.find("s")


class TestThreads:
    @pytest.mark.usefixtures("held")
    def test_there_is_one_for_all_who_open_a_ledger_and_it_ends_with_the_last(self, kept) -> None:
        before = threading.active_count()
        opened = [kept.open() for _ in range(100 if isinstance(kept.place.where, Path) else 10)]
        assert threading.active_count() == before + 1
        for ledger in opened[1:]:
            ledger.close()
        assert threading.active_count() == before + 1
        opened[0].close()
        assert threading.active_count() == before

    def test_what_one_finds_stops_all_of_them(self, kept, monkeypatch) -> None:
        kept.do("update entries set body = replace(body, 'noisy', 'noise') where seq = 5")
        run, are_open = BackgroundCheck._run, threading.Event()
        monkeypatch.setattr(BackgroundCheck, "_run", lambda self: (are_open.wait(), run(self)))
        with kept.open() as one, kept.open() as other:
            are_open.set()
            with pytest.raises(LedgerDamagedError):
                one.store.background.wait()
            with pytest.raises(LedgerDamagedError):
                other.account("clinic")

    def test_closing_ends_the_comparison_of_indexes(self, kept, monkeypatch) -> None:
        begun = threading.Event()

        def forever(database, connection) -> None:
            if not database.number:  # the directory, which is compared before anything else
                return
            begun.set()
            endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"
            connection.execute(endless)

        monkeypatch.setattr(type(kept.place.database()), "inspect", forever)
        ledger = kept.open()
        assert begun.wait(60)
        store_of_it = ledger.store
        ledger.close()
        assert not store_of_it.has_found_damage
        assert kept.checkpoints.chain(CHAIN).read() is not None

    def test_a_database_that_is_away_is_asked_again(self, kept, monkeypatch) -> None:
        monkeypatch.setattr(background_check, "_SHORTEST", 0.001)
        tries, connect = [], Database.connect

        def away(self):
            if threading.current_thread().name.startswith("lapwing"):
                tries.append(1)
                if len(tries) < 3:
                    raise LedgerUnwritableError("it is away")
            return connect(self)

        monkeypatch.setattr(Database, "connect", away)
        with kept.open() as ledger:
            ledger.store.background.wait()
        assert len(tries) == 3

    def test_a_fork_checks_for_itself(self, kept) -> None:
        with kept.open() as ledger:
            ledger.store.background.wait()
        monkey = kept.open()
        monkey.store.background._is_over, monkey.store.background._process = False, 0
        monkey.account("clinic")
        assert monkey.store.background._process == os.getpid()
        monkey.store.background.wait()
        monkey.close()


def elsewhere(kept: Kept, code: str, **environment: str):
    """Open the ledger in another process, and do something there."""
    where = kept.place.where
    in_file = isinstance(where, Path)
    place = f"Place.in_file(Path({str(where)!r}))" if in_file else f"Place.in_postgres({where[0]!r}, {where[1]!r})"
    whole = f"""
from pathlib import Path
from lapwing.ledger import chain as chain_module
from lapwing.ledger.checkpoint import CheckpointFile
from ledger.clinic import Place
chain_module.EVERY = 1
checkpoints = CheckpointFile(Path({str(kept.checkpoints.path)!r}), bytes(range(32)))
ledger = {place}.open(checkpoints=checkpoints)
assert ledger.store.background is not None
{code}
"""
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    command = [sys.executable, "-c", whole]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=here)


def follows_only_what_it_must(monkeypatch) -> None:
    """Let a thread begin when it is to end already."""
    run = BackgroundCheck._run
    monkeypatch.setattr(BackgroundCheck, "_run", lambda self: (self._stopping.wait(), run(self)))


class TestShortOpenings:
    def test_a_process_that_ends_before_the_check_breaks_nothing(self, kept) -> None:
        """Neither where it closes its ledger nor where it does not, and whatever the thread does just then."""
        for end in ("", "ledger.close()"):
            ended = elsewhere(kept, end)
            assert (ended.returncode, ended.stderr) == (0, "")
        kept.open().close()

    @pytest.mark.parametrize("point", ["charge.written", "charge.committed", "answer.written", "answer.committed"])
    def test_a_process_that_is_killed_beside_the_check_breaks_nothing(self, kept, point) -> None:
        asked = "from ledger.clinic import ask\nfor key in 'abc':\n    print(ask(ledger, key).answer, flush=True)"
        killed = elsewhere(kept, asked, LAPWING_FAULT=f"{point}:kill:2")
        assert (killed.returncode, killed.stdout, killed.stderr) == (-9, "42\n", "")
        with kept.open() as ledger:
            ledger.store.background.wait()
            assert isinstance(ledger.questions.stored(request("a")), Released)
            verify(ledger)

    def test_each_goes_on_where_the_one_before_ended(self, kept, monkeypatch) -> None:
        """However short they are, an entry that is wrong is found after as many openings as there are parts."""
        monkeypatch.setattr(background_check, "SLICE", 5)
        monkeypatch.setattr(background_check, "LEAST", 10)
        follows_only_what_it_must(monkeypatch)
        kept.do("update entries set body = replace(body, 'noisy', 'noise') where seq = 27")
        for is_still_believed in (True, True, False):
            kept.open().close()
            assert (kept.checkpoints.chain(CHAIN).read() is not None) is is_still_believed
        with pytest.raises(LedgerDamagedError) as refused:
            kept.open()
        assert refused.value.seq == 27

    def test_those_that_come_round_to_less_far_leave_no_entries_out(self, kept, monkeypatch) -> None:
        """The second goes from 20 to the end and on to 6: not as far from 20 as it has gone."""
        monkeypatch.setattr(background_check, "SLICE", 5)
        for module, name in ((background_check, "LEAST"), (chain_module, "EVERY")):
            monkeypatch.setattr(module, name, 20)
        follows_only_what_it_must(monkeypatch)
        kept.open().close()
        assert kept.checkpoints.chain(CHAIN).read().followed.seq == 20
        kept.do("update entries set body = replace(body, 'noisy', 'noise') where seq in (13, 14)")
        for is_still_believed in (True, False):
            kept.open().close()
            assert (kept.checkpoints.chain(CHAIN).read() is not None) is is_still_believed

    def test_what_was_followed_is_in_the_checkpoint(self, kept, monkeypatch) -> None:
        monkeypatch.setattr(background_check, "SLICE", 5)
        monkeypatch.setattr(background_check, "LEAST", 10)
        follows_only_what_it_must(monkeypatch)
        came_to = []
        for _ in range(5):
            kept.open().close()
            followed = kept.checkpoints.chain(CHAIN).read().followed
            came_to.append(followed and followed.seq)
        assert came_to == [10, 20, 30, 5, 15]


class TestManyAtOnce:
    @pytest.fixture
    def checks(self, kept, monkeypatch) -> Iterator["Checks"]:
        checks = Checks(kept, monkeypatch)
        yield checks
        checks.end()

    def test_as_many_work_as_have_places_and_all_come_to_their_end(self, checks) -> None:
        begun = checks.begin(7)
        checks.wait_until(background_check.MOST)
        checks.may_go_on.set()
        for one in begun:
            one._thread.join(30)
            assert one._is_over
        assert checks.most == background_check.MOST

    @pytest.mark.parametrize("end", [BackgroundCheck.wait, BackgroundCheck.stop])
    def test_one_that_somebody_waits_for_needs_no_place(self, checks, end) -> None:
        *_, last = checks.begin(background_check.MOST + 1)
        checks.wait_until(background_check.MOST)
        waiting = threading.Thread(target=end, args=(last,))
        waiting.start()
        checks.wait_until(background_check.MOST + 1)
        checks.may_go_on.set()
        waiting.join(30)
        assert not last._thread.is_alive()
        assert last.has_failed is False

    def test_a_fork_begins_with_all_places_free(self, checks) -> None:
        checks.begin(background_check.MOST)
        checks.wait_until(background_check.MOST)
        child = os.fork()
        if not child:
            os._exit(len(background_check._places._taken))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class Checks:
    """Checks of one chain that begin at once, as if it were several, and wait in the middle."""

    def __init__(self, kept: Kept, monkeypatch) -> None:
        self.may_go_on, self.most, self._at_work = threading.Event(), 0, 0
        self._changed, check = threading.Condition(), BackgroundCheck._check

        def watched(one: BackgroundCheck) -> None:
            with self._changed:
                self._at_work += 1
                self.most = max(self.most, self._at_work)
                self._changed.notify_all()
            self.may_go_on.wait(30)
            try:
                check(one)
            finally:
                with self._changed:
                    self._at_work -= 1

        with kept.open() as ledger:
            ledger.store.background.wait()
            self._of = ledger.store.database, ledger.store.checked
        monkeypatch.setattr(BackgroundCheck, "_check", watched)

    def begin(self, number: int) -> list[BackgroundCheck]:
        self._begun = [BackgroundCheck(*self._of) for _ in range(number)]
        return self._begun

    def end(self) -> None:
        self.may_go_on.set()
        for one in self._begun:
            one._thread.join(30)
            assert not one._thread.is_alive()

    def wait_until(self, number: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self._at_work == number, 30)
