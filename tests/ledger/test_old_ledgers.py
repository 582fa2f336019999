"""A ledger that an older lapwing wrote is opened, brought forward and believed, entry by entry.

`schema_1.jsonl` is the export of a ledger of schema 1 with every kind of entry and of budget. It is never written anew:
what was released under it was released, and must be readable for as long as anyone has a receipt.
"""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from lapwing.ledger import schema
from lapwing.ledger.chain import Receipt
from lapwing.ledger.export import check_export, export_json
from lapwing.ledger.replay import Replay
from lapwing.ledger.store import Store
from lapwing.ledger.verify import verify
from ledger.clinic import Place, ask, spent

OLD = Path(__file__).with_name("schema_1.jsonl")
HEAD = Receipt.parse("lapwing:2f1c:38:00b4031ed2054fde6f09e6b77fa8318293cebd272a230d26456cacd6d2d88fba")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request) -> Place:
    """A ledger of schema 1, with the old entries."""
    place = Place.chosen(request.param, request)
    head, *lines = map(json.loads, OLD.read_text("ascii").splitlines())
    store = Store(place.database())
    store.create(schema.MIGRATIONS[:1], head["ledger"], bytes.fromhex(head["head"]))
    with store.writing("note") as rows:
        for line in lines:
            body = json.dumps(line["entry"], sort_keys=True, separators=(",", ":"))
            rows.do(
                "insert into entries (seq, body, hash) values (?, ?, ?)", line["seq"], body, bytes.fromhex(line["hash"])
            )
        rows.do("update ledger set seq = ?", head["last"])
    store.close()
    return place


def test_an_old_ledger_is_opened_believed_and_written_on(place) -> None:
    with place.open(receipts=[HEAD]) as ledger:
        assert verify(ledger, [HEAD]).entries == HEAD.seq
        assert ledger.populations() == ["clinic", "delta", "rho"]
        before = spent(ledger)
        ask(ledger, "new", epsilon="1/10")
        assert spent(ledger) == before + Fraction(1, 10)
        assert ask(ledger, "k0").answer == "42"
        verify(ledger, [HEAD])


def test_an_old_ledger_is_brought_forward_by_every_step(place, monkeypatch, tmp_path) -> None:
    step = "create table added (x integer)"
    steps = (*schema.MIGRATIONS, schema.Migration(sqlite=(step,), postgres=(step,)))
    monkeypatch.setattr(schema, "MIGRATIONS", steps)
    with place.open(receipts=[HEAD]) as ledger:
        with ledger.store.reading() as rows:
            assert rows.one("select version from ledger") == (len(steps),)
            assert rows.all("select * from added") == []
        assert verify(ledger).head == HEAD
        export_json(ledger, tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == OLD.read_bytes()


def test_the_old_export_is_what_it_was() -> None:
    assert check_export(OLD, [HEAD]) == HEAD


def test_every_kind_of_entry_is_in_it() -> None:
    kinds = {json.loads(line)["entry"]["kind"] for line in OLD.read_text("ascii").splitlines()[1:]}
    rules = {name.removeprefix("_") for name in vars(Replay) if name.startswith("_") and name[1:] in kinds}
    assert kinds == rules
    assert kinds == {
        *("population", "policy", "charge", "answer", "lost", "recall"),
        *("opening", "intent", "outcome", "closing", "note"),
    }
