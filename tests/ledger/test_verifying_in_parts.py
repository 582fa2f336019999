"""A ledger that is verified by several processes is found to be as right, and as wrong, as by one."""

from dataclasses import replace
from fractions import Fraction

import pytest

from lapwing.ledger.replay import replay_elsewhere, require_whole, verify
from lapwing.ledger.reservation_states import RoundOutcome
from lapwing.vocabulary.errors import LedgerDamagedError, ParameterError
from lapwing.vocabulary.guarantee import PureDP
from ledger.clinic import PEOPLE, SEED, Place, ask, intend_one, opening
from ledger.test_damage import entries, forge

NAMES = ("clinic", "school", "office")


@pytest.fixture(params=["sqlite", "postgres"])
def ledger(request):
    with Place.chosen(request.param, request).clinic() as made:
        fill(made)
        yield made


@pytest.fixture
def file(quick_path):
    with Place.in_file(quick_path / "ledger.db").clinic() as made:
        fill(made)
    return quick_path / "ledger.db"


def fill(ledger) -> None:
    """Three populations that take turns, with streams, batches and a note that concerns all of them."""
    for name in NAMES[1:]:
        ledger.administration.create_population(name, unit=PEOPLE, budget=PureDP(epsilon=Fraction(1)))
        ledger.administration.add_table(name, "patients")
    for turn in range(2):
        for name in NAMES:
            ask(ledger, f"k{turn}", population=name)
    for name in NAMES:
        ledger.reservations.open(opening(f"of {name}", population=name, yeses=2))
        intend_one(ledger, f"of {name}", number=1, key="q1", question="q1", sealed=SEED)
        ledger.streams.decide(f"of {name}", number=1, answers=[(RoundOutcome.NO, "no")])
        questions = [f"q{i}" for i in (2, 3)]
        ledger.streams.intend(f"of {name}", number=2, key="q2", questions=questions, sealed=SEED)
        ledger.streams.decide(f"of {name}", number=2, answers=[(RoundOutcome.NO, "no")] * 2, sealed=b"x" * 77)
    ledger.administration.accept_rollback("an older copy was put back")
    ledger.administration.resume("school")


def test_several_processes_find_what_one_finds(ledger) -> None:
    ticks = []
    alone = verify(ledger)
    assert verify(ledger, [ledger.head()], lambda *told: ticks.append(told), cores=2).head == alone.head
    assert ticks[-1] == (alone.entries, alone.entries)
    with pytest.raises(ParameterError, match="cores"):
        verify(ledger, cores=0)


@pytest.mark.parametrize("wrong", ["office", "everywhere"])
def test_the_first_wrong_entry_is_named_whichever_process_finds_it(file, wrong) -> None:
    records = [entry.record for entry in entries(file)]
    names = NAMES if wrong == "everywhere" else (wrong,)
    due = [
        next(one for one in records if one["kind"] == "charge" and one["population"] == name and one["request"] == "k1")
        for name in names
    ]
    for record in due:
        record["account"]["after"]["filters"]["everyone"]["spent"] = "0/1"
    forge(file, records)
    with Place.in_file(file).open() as ledger:
        for cores in (1, 2):
            with pytest.raises(LedgerDamagedError, match="does not add up") as refused:
                verify(ledger, cores=cores)
            assert refused.value.seq == min(record["seq"] for record in due)


def test_parts_that_are_right_by_themselves_are_held_against_each_other(ledger) -> None:
    end, database = ledger.head(), ledger.store.database
    parts = [replay_elsewhere(database, end, frozenset({name})) for name in NAMES]
    with ledger.store.reading() as transaction:
        require_whole(transaction, parts)
        again = replace(parts[0], recalls=frozenset())
        with pytest.raises(LedgerDamagedError, match="'of clinic' was opened in two populations"):
            require_whole(transaction, [*parts, again])
        with pytest.raises(LedgerDamagedError, match="index of the answers of batches"):
            require_whole(transaction, parts[1:])


def test_a_process_is_not_content_with_another_end(file) -> None:
    with Place.in_file(file).open() as ledger:
        end, database = ledger.head(), ledger.store.database
        ask(ledger, "later", epsilon="1/1000", population="school")  # what is written meanwhile is not its matter
        assert replay_elsewhere(database, end, frozenset({"clinic"})).reservations == {"of clinic"}
        with pytest.raises(LedgerDamagedError, match="is not the end"):
            replay_elsewhere(database, replace(end, hash="00" * 32), frozenset({"clinic"}))
