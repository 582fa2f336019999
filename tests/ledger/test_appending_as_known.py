"""Appends in one round trip: made by what this process knows, and written only where the database says the same."""

import math
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import psycopg
import pytest

from lapwing.ledger.entries import HeadFile, Lookup
from lapwing.ledger.key_digests import KeyDigests
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.postgres import PostgresDatabase, _append, _of_each_kind
from lapwing.ledger.questions import Charged, Released
from lapwing.ledger.replay import verify
from lapwing.ledger.states import MovedOnError
from lapwing.ledger.store import Store
from lapwing.vocabulary.errors import (
    BudgetExceededError,
    LapwingError,
    LedgerDamagedError,
    LedgerRolledBackError,
    RequestConflictError,
    SuspendedError,
    UnansweredError,
)
from lapwing.vocabulary.guarantee import PureDP
from ledger.clinic import Place, ask, request, spent


@pytest.fixture
def place(database) -> Place:
    return Place.in_postgres(database)


@pytest.fixture
def known(monkeypatch) -> list[bool]:
    """Note of each append by what is known whether it was right."""
    right, append = list[bool](), Store._append_as_known

    def noted(self, *given):
        transaction = append(self, *given)
        right.append(transaction is not None)
        return transaction

    monkeypatch.setattr(Store, "_append_as_known", noted)
    return right


def trusting(ledger: Ledger) -> Ledger:
    """Let the next append be made by what is known, whatever has happened since the last one."""
    ledger.store._is_known_until = math.inf
    return ledger


class Counting:
    """A connection that counts what is sent to the server."""

    def __init__(self, connection) -> None:
        self._connection, self.sent = connection, list[str]()

    def __getattr__(self, name: str):
        return getattr(self._connection, name)

    def execute(self, statement, values=()):
        self.sent.append(statement)
        return self._connection.execute(statement, values)


def test_a_charge_and_an_answer_are_one_statement_each(place, known) -> None:
    with place.clinic() as ledger:
        ask(ledger, "k1")
        writer, reader = ledger.store._writer, ledger.store._reader
        writer._connection, reader._connection = Counting(writer.open()), Counting(reader.open())
        trusting(ledger)
        ask(ledger, "k2")
        assert len(writer._connection.sent) == 2
        assert not reader._connection.sent
        assert known[-2:] == [True, True]
        assert verify(ledger).entries == 3 + 4
        assert spent(ledger) == Fraction(2, 10)


def test_after_a_while_the_chain_is_looked_at_again(place, known) -> None:
    """The connection may have gone, and then an append would be in doubt where a look is only made again."""
    with place.clinic() as ledger:
        ask(ledger, "k1")
        ledger.store._is_known_until -= 1.0
        known.clear()
        ask(ledger, "k2")
        assert known == [True], "the charge looked, and the answer came right after it"


def use_the_key(other: Ledger) -> None:
    ask(other, "k", question="another question")


def answer_the_question(other: Ledger) -> None:
    ask(other, "their own", question="count k", answer="41")


def spend_nearly_all(other: Ledger) -> None:
    ask(other, "dear", epsilon="17/20")


def suspend(other: Ledger) -> None:
    other.administration.suspend("clinic")


def advance(other: Ledger) -> None:
    other.administration.advance_version("clinic", "patients")


def allow_little(other: Ledger) -> None:
    other.administration.set_allowance("clinic", "ana", PureDP(epsilon=Fraction(3, 20)))


@pytest.mark.parametrize(
    ("act", "due"),
    [
        (use_the_key, RequestConflictError),
        (answer_the_question, Released),
        (spend_nearly_all, BudgetExceededError),
        (suspend, SuspendedError),
        (advance, MovedOnError),
        (allow_little, BudgetExceededError),
    ],
)
def test_what_somebody_else_did_meanwhile_decides(place, known, act: Callable[[Ledger], None], due: type) -> None:
    with place.clinic() as ledger, place.open() as other:
        ask(ledger, "first")
        act(other)
        end = other.of("clinic").store.look()
        try:
            outcome = trusting(ledger).questions.charge(request("k", held={"patients": 1}))
        except (LapwingError, MovedOnError) as error:
            outcome = error
        assert isinstance(outcome, due)
        assert known[-1] is False
        if not isinstance(outcome, Released):
            assert ledger.of("clinic").store.look() == end, "nothing was written"


def test_what_was_refused_before_is_admitted_where_somebody_raised_the_budget(place, known) -> None:
    """A refusal is told by what the ledger says, and not by what was known."""
    with place.clinic() as ledger, place.open() as other:
        ask(ledger, "first", epsilon="19/20")
        other.administration.set_budget("clinic", PureDP(epsilon=Fraction(2)))
        assert isinstance(trusting(ledger).questions.charge(request("k")), Charged)
        assert known[-1] is False


def its_own_key(ledger: Ledger) -> object:
    return ledger.questions.charge(request("k1"))


def its_own_question(ledger: Ledger) -> object:
    return ledger.questions.charge(request("new", question="count k1", fresh=True))


def its_own_answer(ledger: Ledger) -> object:
    return ledger.questions.answer(4, "43")


OWN = (its_own_key, its_own_question, its_own_answer)


@pytest.mark.parametrize("again", OWN)
def test_what_this_process_wrote_itself_is_not_taken_for_new(place, known, again: Callable[[Ledger], object]) -> None:
    """The chain ends where it was left, so only the lookups can tell."""
    with place.clinic() as ledger:
        ask(ledger, "k1")
        ask(ledger, "k2")
        outcome = again(trusting(ledger))
        assert isinstance(outcome, Released)
        assert outcome.answer == "42"
        assert known[-1] is False
        assert verify(ledger).entries == 3 + 4


@pytest.mark.parametrize("again", OWN)
def test_an_append_that_does_not_check_its_lookups_is_caught(place, monkeypatch, again) -> None:
    append = PostgresDatabase.append

    def unchecked(self, connection, entries, before, **given):
        given.pop("expected")
        return append(self, connection, entries, before, **given)

    monkeypatch.setattr(PostgresDatabase, "append", unchecked)
    with place.clinic() as ledger:
        ask(ledger, "k1")
        ask(ledger, "k2")
        outcome = None
        with suppress(LapwingError):  # of an index that has a key once
            outcome = again(trusting(ledger))
        assert not isinstance(outcome, Released)


def test_a_refusal_is_told_by_the_ledger(place, known) -> None:
    with place.clinic() as ledger:
        ask(ledger, "k1")
        with pytest.raises(BudgetExceededError, match=r"0\.9 is left"):
            trusting(ledger).questions.charge(request("dear", epsilon=2))
        assert known[-1] is False
        charged = ledger.questions.charge(request("lost"))
        ledger.questions.lose(charged.seq)
        with pytest.raises(UnansweredError):
            trusting(ledger).questions.answer(charged.seq, "7")


def test_a_key_that_the_checkpoint_has_is_not_new_though_no_index_finds_it(place, known) -> None:
    with place.clinic() as ledger:
        ask(ledger, "k1")
        keys = KeyDigests(bytes(32))
        keys.add([(Lookup.REQUEST, ("clinic", "ana", "gone"))])
        ledger.store._cache.keys = KeyDigests(bytes(32), *keys.packed())
        with pytest.raises(LedgerDamagedError, match="not found any more"):
            trusting(ledger).questions.charge(request("gone"))
        assert known[-1] is False


def test_a_connection_that_was_closed_a_moment_ago_is_replaced_and_nothing_is_in_doubt(place, database) -> None:
    with place.clinic() as ledger:
        ask(ledger, "k1")
        with psycopg.connect(database, autocommit=True) as admin:
            admin.execute("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()")
        ledger.store._writer.current.fileno()  # still open here
        while not ledger.store.database.is_lost(ledger.store._writer.current):
            pass
        assert isinstance(trusting(ledger).questions.charge(request("k2")), Charged)


def test_a_promise_that_is_still_being_written_is_not_waited_for(place, tmp_path, monkeypatch, known) -> None:
    """The head may be behind what this process knows, and is held against that; one of another past is refused."""
    with replace(place, settings={"head": tmp_path / "ledger.head"}).clinic() as ledger:
        ask(ledger, "k1")
        with monkeypatch.context() as slow:
            slow.setattr(HeadFile, "advance", lambda *_: None)
            ask(trusting(ledger), "k2")
        head = ledger.store.database.head
        assert head.promised().seq < ledger.store.seen.seq
        ask(ledger, "k3")
        assert known[-2:] == [True, True]
        head.accept(replace(head.promised(), seq=head.promised().seq - 1, hash="ab" * 32))
        with pytest.raises(LedgerRolledBackError):
            trusting(ledger).questions.charge(request("k4"))
        assert known[-1] is False


def test_what_is_checked_is_found_by_indexes_also_for_many(place, database) -> None:
    """No entry is read only to be passed over, for one question and for a whole group."""
    with place.clinic():
        pass
    for many in (1, 3):
        expected = {
            (lookup, tuple(f"{name} {number}" for name in range(lookup.count("?")))): 7
            for lookup in (Lookup.POLICY, Lookup.ACCOUNT, Lookup.ALLOWANCE, Lookup.REQUEST, Lookup.RECALL)
            for number in range(many)
        } | {(Lookup.SETTLES, (number,)): 0 for number in range(many)}
        kinds, values = _of_each_kind(expected)
        statement = _append(kinds, is_one=many == 1)
        rest = [8, b"h"] if many == 1 else [[8, 9], ["{}", "{}"], [b"h", b"i"]]
        row = [8, "{}", b"h"] if many == 1 else rest
        connection = Place.in_postgres(database).database().chain(1).connect()
        with connection:
            plan = connection.execute(f"explain {statement}", [8, b"h", 7, b"g", 1, *values, *row]).fetchall()
        steps = [step for (step,) in plan]
        assert sum("Index" in step and " on all_entries" in step for step in steps) == 6
        assert not any("Seq Scan" in step for step in steps)


@pytest.mark.parametrize("seed", range(4))
def test_it_comes_to_the_same_as_one_who_looks_each_time(place, quick_path, known, seed: int) -> None:
    """Two processes that always begin with what they know, against a file that is looked at under its lock."""
    chosen = random.Random(seed)
    twin = Place.in_file(quick_path / "ledger.db")
    with place.clinic(epsilon=5) as one, place.open() as other, twin.clinic(epsilon=5) as sure:
        for _ in range(200):
            who = chosen.choice([one] * 9 + [other])
            act = chosen.choice(_ACTS)(chosen)
            assert outcome_of(act, trusting(who)) == outcome_of(act, sure)
        assert written(one) == written(sure)
        assert verify(one).entries == verify(sure).entries
    assert known.count(True) > 20
    assert known.count(False) > 20


def written(ledger: Ledger) -> list[dict[str, object]]:
    with ledger.of("clinic").store.reading() as transaction:
        return [{**entry.record, "at": None} for entry in transaction.entries()]


def _charge(chosen: random.Random):
    asked = request(
        f"k{chosen.randrange(120)}",
        question=f"q{chosen.randrange(60)}",
        epsilon=chosen.choice(["1/100", "1/100", "1/10", "1/2"]),
        analyst=chosen.choice(["ana", "bob"]),
        held=chosen.choice([None, None, None, {"patients": 1}, {"patients": 2}]),
        fresh=chosen.random() < 0.5,
    )
    return lambda ledger: ledger.questions.charge(asked)


def _end(chosen: random.Random):
    seq = chosen.randrange(4, 120)
    if chosen.random() < 0.3:
        return lambda ledger: ledger.questions.lose(seq)
    return lambda ledger: ledger.questions.answer(seq, "42")


def _decide(chosen: random.Random):
    epsilon = Fraction(chosen.randrange(1, 30), 10)
    acts = [
        lambda ledger: ledger.administration.set_allowance("clinic", "bob", PureDP(epsilon=epsilon)),
        lambda ledger: ledger.administration.set_budget("clinic", PureDP(epsilon=5 + epsilon)),
        lambda ledger: ledger.administration.suspend("clinic"),
        lambda ledger: ledger.administration.resume("clinic"),
        lambda ledger: ledger.administration.resume("clinic"),
        lambda ledger: ledger.administration.advance_version("clinic", "patients"),
    ]
    return chosen.choice(acts)


_ACTS = (*[_charge] * 8, *[_end] * 6, _decide)


def outcome_of(act: Callable[[Ledger], object], ledger: Ledger) -> object:
    """Return what an act came to, without the hashes, which have the time in them."""
    try:
        found = act(ledger)
    except (LapwingError, MovedOnError) as error:
        return type(error), str(error)
    match found:
        case Charged(seq=seq, versions=versions):
            return seq, dict(versions)
        case Released(answer=answer, receipt=receipt):
            return answer, receipt.seq
        case _:
            return None
