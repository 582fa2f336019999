"""How often a question looks into the ledger: a statement to price it, a transaction to charge, one to answer."""

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


@pytest.fixture
def statements(ledger) -> list[str]:
    """The statements that the database of a ledger is given."""
    found: list[str] = []
    for connection in (ledger.store._reader, ledger.store._writer):
        connection.open().set_trace_callback(lambda text: _note(found, text))
    return found


def _note(found: list[str], text: str) -> None:
    """Take a statement down; what triggers do are remarks, after which SQLite names their statement again."""
    if not text.startswith("--") and found[-1:] != [text]:
        found.append(text)


def test_a_question_is_a_look_and_two_transactions(ledger, begun, statements) -> None:
    clinic = door(ledger, Tables())
    clinic.ask(MEN, epsilon="0.2")
    statements.clear()
    assert transactions(begun, lambda: clinic.ask(MEN, epsilon="0.1")) == {"write": 2}
    assert [one.split()[0] for one in statements] == ["select", *2 * ["BEGIN", "select", "insert", "update", "COMMIT"]]
    several = "select sex, count(*) from patients group by sex"
    assert transactions(begun, lambda: clinic.sql(several, epsilon="0.1")) == {"write": 2}


def test_the_same_question_again_is_one(ledger, begun) -> None:
    clinic = door(ledger, Tables())
    clinic.ask(MEN, epsilon="0.1")
    assert transactions(begun, lambda: clinic.ask(MEN, epsilon="0.1")) == {"write": 1}


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
def test_what_is_free_is_one_statement(ledger, begun, statements, act) -> None:
    clinic = door(ledger, Tables())
    assert transactions(begun, lambda: act(clinic)) == {"read": 1}, "what was not decoded before is read"
    statements.clear()
    assert transactions(begun, lambda: act(clinic)) == {}
    assert len(statements) == 1, statements


def test_whether_there_is_an_answer_is_one_statement_in_all_ways_to_pay(ledger, statements) -> None:
    clinic = door(ledger, Tables())
    clinic.budget()
    priced = clinic.price([MEN], epsilon="0.1")
    statements.clear()
    assert priced.stored("a key of mine") is None
    assert len(statements) == 1, statements
    answer = priced.ask("a key of mine")
    assert priced.stored("a key of mine").rows == answer.rows


@pytest.mark.parametrize("people", [10**6, 0], ids=["yes", "no"])
def test_a_question_of_a_stream_is_two_transactions_and_one_when_it_was_asked_before(ledger, begun, people) -> None:
    stream = door(ledger, FixedNumber(people)).stream(**TERMS)
    for age in (1, 2):
        assert transactions(begun, lambda age=age: stream.ask(f"age = {age}")) == {"write": 2}
    assert transactions(begun, lambda: stream.ask("age = 1")) == {"write": 1}


def test_a_question_of_a_stream_is_at_most_sixteen_statements(ledger, statements) -> None:
    """Begin, look, write and commit, twice: the disk is what it waits for."""
    stream = door(ledger, FixedNumber(0)).stream(**TERMS)
    stream.ask("age = 1")
    statements.clear()
    stream.ask("age = 2")
    assert len(statements) <= 16, statements


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
