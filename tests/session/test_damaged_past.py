"""A paid question is not answered a second time because its entries, from before the checkpoint, are gone."""

import threading
from contextlib import closing

import pytest

import lapwing as lw
from lapwing.ledger.background_check import BackgroundCheck
from lapwing.vocabulary.errors import LedgerDamagedError
from ledger.clinic import raw

ENTRIES = 1044


@pytest.fixture
def asked(quick_path):
    """A clinic in which a question was answered long ago, in two of 1,044 entries, with a checkpoint at the end."""
    folder = lw.make_clinic(quick_path / "clinic", people=200, epsilon=1)
    with lw.create(folder) as workspace:
        session = workspace.session(analyst="ana")
        answer = session.ask(lw.count("patient"), epsilon="0.1", key="monday")
        first = answer.receipt.seq - 1
        session.ask(lw.count("patient", "age > 40"), epsilon="0.1", key="tuesday")
        with workspace.ledger.store.writing("policy") as transaction:
            while transaction.last < ENTRIES:
                transaction.append("note", remark="much else happened")
    with lw.open(folder, analyst="ana") as clinic:
        assert clinic.ask(lw.count("patient"), epsilon="0.1", key="monday").value == answer.value
    return folder, first


def change(folder, statement: str, *values: object) -> None:
    with closing(raw(folder / "ledger.db")) as database, database:
        for trigger in ("changed", "deleted"):
            database.execute(f"drop trigger entries_are_never_{trigger}")
        database.execute(statement, values)


@pytest.mark.catalogue("L9")
def test_entries_that_were_deleted_are_missed_at_the_next_opening(asked) -> None:
    folder, first = asked
    assert (folder / "ledger.checked.1").exists()
    change(folder, "delete from entries where seq in (?, ?)", first, first + 1)
    with pytest.raises(LedgerDamagedError, match=f"entry {first} of chain .* is missing"):
        lw.open(folder, analyst="ana")


@pytest.mark.catalogue("L9")
@pytest.mark.parametrize("key", ["monday", None])
def test_a_question_whose_entries_were_overwritten_is_neither_charged_nor_answered(asked, monkeypatch, key) -> None:
    folder, first = asked
    monkeypatch.setattr(BackgroundCheck, "_run", lambda self: self._stopping.wait())
    change(folder, "update entries set body = ? where seq in (?, ?)", '{"kind":"note"}', first, first + 1)
    with lw.open(folder, analyst="ana") as clinic:
        left = str(clinic.budget())
        with pytest.raises(LedgerDamagedError) as refused:
            clinic.ask(lw.count("patient"), epsilon="0.1", key=key)
        assert refused.value.seq == first
        assert str(clinic.budget()) == left
        assert clinic.ask(lw.count("patient", "age > 50"), epsilon="0.1").value is not None
    with pytest.raises(LedgerDamagedError):
        lw.open(folder, analyst="ana")


@pytest.mark.catalogue("L9")
def test_an_entry_that_nobody_asks_for_stops_the_door_when_the_check_has_come_to_it(asked, monkeypatch) -> None:
    folder, _ = asked
    run, is_open = BackgroundCheck._run, threading.Event()
    monkeypatch.setattr(BackgroundCheck, "_run", lambda self: (is_open.wait(), run(self)))
    change(folder, "update entries set body = replace(body, 'much', 'more') where seq = 700")
    with lw.open(folder, analyst="ana") as clinic:
        is_open.set()
        with pytest.raises(LedgerDamagedError):
            clinic.ledger.store.background.wait()
        question = lw.count("patient", "age > 50")
        for tell in (clinic.ask, clinic.preview):
            with pytest.raises(LedgerDamagedError) as refused:
                tell(question, epsilon="0.1")
            assert refused.value.seq == 700
        with pytest.raises(LedgerDamagedError):
            clinic.stream(at_least=20, yeses=1, epsilon="0.1")
