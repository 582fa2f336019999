"""What ends a question carries no time: how long it took may depend on the data, and hashes go to analysts."""

import json

import pytest

from lapwing import count
from lapwing.ledger.export import export_json
from lapwing.ledger.replay import verify
from lapwing.vocabulary.errors import EngineError
from session.clinic import Broken, FixedNumber, door, new_ledger

TERMS = {"at_least": 200, "yeses": 3, "epsilon": 1}


class Undecidable(FixedNumber):
    """An engine whose number cannot be decided on, which closes a stream."""

    def numbers(self, aggregates, *, versions):
        del aggregates, versions
        return ["no number"]


def entries(ledger, path):
    export_json(ledger, path)
    return [json.loads(line)["entry"] for line in path.read_text().splitlines()[1:]]


def test_an_entry_that_ends_a_question_carries_no_time_however_it_ended(quick_path) -> None:
    with new_ledger(quick_path) as ledger:
        door(ledger, FixedNumber(500)).ask(count("patients"), epsilon=1)
        with pytest.raises(EngineError):
            door(ledger, Broken()).ask(count("patients", "age > 3"), epsilon=1)
        stream = door(ledger, FixedNumber(500)).stream(**TERMS)
        stream.ask("age = 1")
        stream.close()
        lossy = door(ledger, FixedNumber(500)).stream(**TERMS)
        lossy._tables = Broken()
        with pytest.raises(EngineError):
            lossy.ask("age = 2")
        failing = door(ledger, Undecidable(0)).stream(**TERMS)
        with pytest.raises(EngineError):
            failing.ask("age = 3")
        written = entries(ledger, quick_path / "export.jsonl")
        verify(ledger)
    ends = [entry for entry in written if "settles" in entry]
    assert sorted((entry["kind"], entry.get("outcome")) for entry in ends) == [
        ("answer", None),
        ("closing", "lost"),
        ("lost", None),
        ("outcome", "lost"),
        ("outcome", "yes"),
    ]
    assert not [entry["kind"] for entry in ends if "at" in entry]
    assert {"at" in entry for entry in written if "settles" not in entry} == {True}
