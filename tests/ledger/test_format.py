"""What a ledger once wrote is read, followed and believed for ever."""

import json
from collections.abc import Iterator
from itertools import groupby

import pytest

from lapwing.ledger.claims import FIELDS
from lapwing.ledger.entries import Entry
from lapwing.ledger.export import check_export
from lapwing.ledger.replay import Replay
from lapwing.vocabulary.codec import FORMAT, canonical
from lapwing.vocabulary.errors import LedgerDamagedError
from ledger.golden_ledger import BUDGETS, GOLDEN, write
from ledger.three_rounds import COUNTS, ENDS

EVERY = [json.loads(line) for line in GOLDEN.read_text(encoding="ascii").splitlines()]
LINES = [line for line in EVERY if "entry" in line]
RECORDS = [line["entry"] for line in LINES]
DIRECTORY, *CHAINS = [list(part) for is_head, part in groupby(EVERY, key=lambda line: "format" in line) if not is_head]
"""The parts of the export, without the line that begins each."""


def replays() -> Iterator[tuple[Replay, list[dict]]]:
    """The parts with what is to replay each."""
    return ((Replay(is_directory=part is DIRECTORY), part) for part in (DIRECTORY, *CHAINS))


def test_the_export_of_a_ledger_of_this_format_is_accepted() -> None:
    receipt = check_export(GOLDEN)
    assert (receipt.ledger, receipt.seq) == (EVERY[0]["ledger"], len(DIRECTORY))
    assert str(FORMAT) in EVERY[0]["format"]
    kinds = [line["entry"]["kind"] for line in DIRECTORY]
    assert len(CHAINS) == kinds.count("founding") == len(BUDGETS) + 4
    sealed = "a seal of each chain that began here, when it was created, of a move, and of the loss that is noted"
    assert (kinds.count("heads"), kinds.count("note")) == (len(CHAINS) - 1 + 2, 1), sealed


def test_every_entry_is_found_to_be_right() -> None:
    accounts = {}
    for replay, part in replays():
        for line in part:
            replay.read(Entry(line["seq"], canonical(line["entry"]), bytes.fromhex(line["hash"])))
        accounts |= replay.accounts
    assert accounts.keys() >= {(name, None) for name in BUDGETS}


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
    values = {name: value for record in RECORDS for name, value in record.items()}
    tried = 0
    for replay, line in ((replay, line) for replay, part in replays() for line in part):
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
    first = canonical(CHAINS[0][0]["entry"]).replace('"kind":"account"', '"kind":"Account"')
    with pytest.raises(LedgerDamagedError, match="kind"):
        replay.read(Entry(1, first, b""))


def test_it_has_every_kind_of_entry_and_every_tag_that_a_ledger_can_hold() -> None:
    kinds = {record["kind"] for record in RECORDS}
    assert kinds >= {"population", "policy", "charge", "answer", "lost", "recall", "write-off"}
    assert kinds >= {"opening", "intent", "outcome", "closing", "request", "refusal", "note", "founding", "heads"}
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
    decided = {"table", "version", "suspension", "allowance", "budget", "correction", "admission", "limits"}
    assert changes == decided | {"moved", "arrival"}


def test_ledgers_are_still_written_like_that(tmp_path) -> None:
    write(tmp_path / "again.jsonl")
    again = [json.loads(line) for line in (tmp_path / "again.jsonl").read_text().splitlines()]
    assert [shape(line["entry"]) for line in again if "entry" in line] == [shape(record) for record in RECORDS]


def shape(record: dict) -> tuple:
    """Return what of an entry follows from what was asked, and not from noise: its kind, and what was charged."""
    return (
        record["kind"],
        sorted(record.keys() - {"answer"}),
        record.get("question", record.get("questions")),
        record.get("terms"),
    )
