"""What a ledger once wrote is read, followed and believed for ever."""

import json

import pytest

from lapwing.ledger.claims import FIELDS
from lapwing.ledger.entries import Entry
from lapwing.ledger.export import check_export
from lapwing.ledger.replay import Replay
from lapwing.vocabulary.codec import FORMAT, canonical
from lapwing.vocabulary.errors import LedgerDamagedError
from ledger.golden_ledger import BUDGETS, GOLDEN, write
from ledger.three_rounds import COUNTS, ENDS

HEAD, *LINES = [json.loads(line) for line in GOLDEN.read_text(encoding="ascii").splitlines()]
RECORDS = [line["entry"] for line in LINES]


def test_the_export_of_a_ledger_of_this_format_is_accepted() -> None:
    receipt = check_export(GOLDEN)
    assert (receipt.ledger, receipt.seq) == (HEAD["ledger"], len(LINES))
    assert str(FORMAT) in HEAD["format"]


def test_every_entry_is_found_to_be_right() -> None:
    replay = Replay()
    for line in LINES:
        replay.read(Entry(line["seq"], canonical(line["entry"]), bytes.fromhex(line["hash"])))
    assert replay.accounts.keys() >= {(name, None) for name in BUDGETS}


def test_the_fields_of_each_kind_are_those_that_are_written() -> None:
    written: dict[str, set[str]] = {kind: set() for kind in FIELDS}
    for record in RECORDS:
        written[record["kind"]] |= record.keys()
    for kind in ("write-off", "opening", "outcome", "closing"):
        written[kind].add("allowance")  # of an analyst who has one
    written["note"] |= {"lost_until", "lost_head"}
    written["write-off"] |= {"lost", "rest_of"}  # of entries that were lost
    assert written == FIELDS


def test_a_field_of_another_kind_is_refused_in_every_entry() -> None:
    """Entries are found by their fields: a note with an account would be found as the newest state of that account."""
    replay, values = Replay(), {name: value for record in RECORDS for name, value in record.items()}
    tried = 0
    for line in LINES:
        record = line["entry"]
        for name in values.keys() - FIELDS[record["kind"]]:
            with pytest.raises(LedgerDamagedError, match=f"has what no entry of the kind .* has: {name};") as refused:
                replay.read(Entry(line["seq"], canonical({**record, name: values[name]}), b""))
            assert refused.value.seq == line["seq"]
            tried += 1
        replay.read(Entry(line["seq"], canonical(record), bytes.fromhex(line["hash"])))
    assert tried > 1000


def test_an_entry_that_is_no_longer_understood_is_noticed() -> None:
    replay = Replay()
    first = canonical(RECORDS[0]).replace('"kind":"account"', '"kind":"Account"')
    with pytest.raises(LedgerDamagedError, match="kind"):
        replay.read(Entry(1, first, b""))


def test_it_has_every_kind_of_entry_and_every_tag_that_a_ledger_can_hold() -> None:
    kinds = {record["kind"] for record in RECORDS}
    assert kinds >= {"population", "policy", "charge", "answer", "lost", "recall", "write-off"}
    assert kinds >= {"opening", "intent", "outcome", "closing", "request", "refusal", "note"}
    assert {record["reserves"] for record in RECORDS if "reserves" in record} == {ENDS.name, COUNTS.name}
    assert {record["change"] for record in RECORDS if record["kind"] == "policy" and "budget_request" in record} == {
        "allowance",
        "budget",
    }
    outcomes = {record.get("outcome", "many") for record in RECORDS if record["kind"] == "outcome"}
    assert outcomes == {"yes", "no", "released", "lost", "many"}
    assert {len(record.get("questions", [0])) for record in RECORDS if record["kind"] == "intent"} == {1, 2, 3}
    assert {record["forfeit"] for record in RECORDS if record["kind"] == "closing"} == {True, False}
    changes = {record["change"] for record in RECORDS if record["kind"] == "policy"}
    assert changes == {"table", "version", "suspension", "allowance", "budget", "correction", "admission", "limits"}


def test_ledgers_are_still_written_like_that(tmp_path) -> None:
    write(tmp_path / "again.jsonl")
    again = [json.loads(line)["entry"] for line in (tmp_path / "again.jsonl").read_text().splitlines()[1:]]
    assert [shape(record) for record in again[: len(RECORDS)]] == [shape(record) for record in RECORDS]


def shape(record: dict) -> tuple:
    """Return what of an entry follows from what was asked, and not from noise: its kind, and what was charged."""
    return (
        record["kind"],
        sorted(record.keys() - {"answer"}),
        record.get("question", record.get("questions")),
        record.get("terms"),
    )
