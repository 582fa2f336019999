"""How often a question looks into the ledger: once to plan and price it, once to charge it, once to answer it."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from lapwing import count
from lapwing.ledger.reservation_states import ReservationRecord
from lapwing.ledger.store import Store
from lapwing.queries.planning.plan import CanonicalQuestion
from lapwing.session import Session
from session.clinic import FixedNumber, door
from session.real_tables import Tables

MEN = count("patients", "sex = 'M'")
TERMS = {"at_least": 100, "yeses": 3, "epsilon": 1}


@pytest.fixture
def begun(ledger, monkeypatch) -> Counter[str]:
    """Counts the transactions of a ledger as they begin, by what they may do."""
    found: Counter[str] = Counter()
    for kind, connection in (("read", ledger.store._reader), ("write", ledger.store._writer)):

        def begin(statements, *, begin=connection.begin, kind=kind) -> Any:
            found[kind] += 1
            return begin(statements)

        monkeypatch.setattr(connection, "begin", begin)
    return found


def transactions(begun: Counter[str], act: Callable[[], Any]) -> Counter[str]:
    begun.clear()
    act()
    return Counter(begun)


def test_a_question_is_three_transactions(ledger, begun) -> None:
    clinic = door(ledger, Tables())
    assert transactions(begun, lambda: clinic.ask(MEN, epsilon="0.1")) == {"read": 1, "write": 2}
    several = "select sex, count(*) from patients group by sex"
    assert transactions(begun, lambda: clinic.sql(several, epsilon="0.1")) == {"read": 1, "write": 2}


def test_the_same_question_again_is_two(ledger, begun) -> None:
    clinic = door(ledger, Tables())
    clinic.ask(MEN, epsilon="0.1")
    assert transactions(begun, lambda: clinic.ask(MEN, epsilon="0.1")) == {"read": 1, "write": 1}


@pytest.mark.parametrize(
    "act",
    [
        lambda clinic: clinic.preview(MEN, epsilon="0.1"),
        lambda clinic: clinic.rehearse(MEN, epsilon="0.1"),
        lambda clinic: clinic.preview_stream(**TERMS),
        Session.budget,
    ],
    ids=["preview", "rehearsal", "preview of a stream", "budget"],
)
def test_what_is_free_reads_one_moment(ledger, begun, act) -> None:
    clinic = door(ledger, Tables())
    assert transactions(begun, lambda: act(clinic)) == {"read": 1}


@pytest.mark.parametrize("people", [10**6, 0], ids=["yes", "no"])
def test_a_question_of_a_stream_is_two_transactions_and_one_when_it_was_asked_before(ledger, begun, people) -> None:
    stream = door(ledger, FixedNumber(people)).stream(**TERMS)
    for age in (1, 2):
        assert transactions(begun, lambda age=age: stream.ask(f"age = {age}")) == {"write": 2}
    assert transactions(begun, lambda: stream.ask("age = 1")) == {"write": 1}


def test_a_question_of_a_stream_is_at_most_sixteen_statements(ledger) -> None:
    """Begin, look, write and commit, twice: the disk is what it waits for."""
    stream = door(ledger, FixedNumber(0)).stream(**TERMS)
    stream.ask("age = 1")
    statements: list[str] = []
    for connection in (ledger.store._reader, ledger.store._writer):
        connection.open().set_trace_callback(statements.append)
    stream.ask("age = 2")
    said = [text for text in statements if not text.startswith("--")]  # what triggers and indexes do is told as remarks
    assert len(said) <= 16, said


def test_a_stream_is_decoded_once_whatever_it_is_asked(ledger, monkeypatch) -> None:
    """By a process that did not open it; and the question that was just planned is not read back from its own text."""
    name = door(ledger, FixedNumber(0)).stream(**TERMS).name
    decoded = []
    read = ReservationRecord.read
    monkeypatch.setattr(ReservationRecord, "read", staticmethod(lambda *said: decoded.append("record") or read(*said)))
    monkeypatch.setattr(CanonicalQuestion, "read", lambda _: pytest.fail("it is known what was asked"))
    other = Store(ledger.store.database)
    for part in (ledger.streams, ledger.reservations):
        monkeypatch.setattr(part, "_store", other)
    stream = door(ledger, FixedNumber(0)).resume(name)
    for age in range(4):
        assert not stream.ask(f"age = {age}")
    stream.close()
    other.close()
    assert decoded == ["record"]
