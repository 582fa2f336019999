"""A ledger whose chains are verified by several processes is found to be as right, and as wrong, as by one."""

import json
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import pytest

from lapwing.ledger.chain import Chain
from lapwing.ledger.entries import Receipt, chain_name, genesis, link
from lapwing.ledger.export import export_json
from lapwing.ledger.ledger import open_ledger
from lapwing.ledger.replay import replay_elsewhere, verify
from lapwing.ledger.reservation_states import RoundOutcome
from lapwing.vocabulary.errors import LedgerDamagedError, ParameterError
from lapwing.vocabulary.guarantee import PureDP
from ledger.clinic import PEOPLE, SEED, Place, ask, intend_one, opening, raw

NAMES = ("clinic", "school", "office")


@pytest.fixture(params=["sqlite", "postgres"])
def ledger(request):
    with Place.chosen(request.param, request).clinic() as made:
        fill(made)
        lose(made)
        yield made


@pytest.fixture
def file(quick_path):
    with Place.in_file(quick_path / "ledger.db").clinic() as made:
        fill(made)
    return quick_path / "ledger.db"


def fill(ledger) -> None:
    """Three populations that take turns, with streams and batches; nothing is sealed but how they began."""
    for name in NAMES[1:]:
        ledger.administration.create_population(name, unit=PEOPLE, budget=PureDP(epsilon=Fraction(1)))
        ledger.administration.add_table(name, "patients")
    for turn in range(2):
        for name in NAMES:
            ask(ledger, f"k{turn}", population=name)
    for name in NAMES:  # the same names and keys in each: they have nothing to do with each other
        one = ledger.of(name)
        one.reservations.open(opening(population=name, yeses=2))
        intend_one(one, "s", number=1, key="q1", question="q1", sealed=SEED, population=name)
        one.streams.decide("s", number=1, answers=[(RoundOutcome.NO, "no")])
        one.streams.intend("s", number=2, key="q2", questions=["q2", "q3"], sealed=SEED)
        one.streams.decide("s", number=2, answers=[(RoundOutcome.NO, "no")] * 2, sealed=b"x" * 77)


def lose(ledger) -> None:
    ledger.administration.accept_rollback("an older copy was put back")
    ledger.administration.resume("school")


def forge(file, number: int, change) -> int:
    """Let the second charge of a chain say something else, and hash the chain right; return its number."""
    name = chain_name("2f1c", number)
    with closing(raw(file, chain=number)) as database, database:
        database.executescript("drop trigger if exists entries_are_never_changed")
        bodies = [json.loads(body) for (body,) in database.execute("select body from entries order by seq")]
        seq = next(one["seq"] for one in bodies if one.get("request") == "k1")
        change(bodies[seq - 1])
        before = genesis(name)
        for one in bodies:
            body = json.dumps(one, sort_keys=True, separators=(",", ":"))
            before = link(before, body)
            database.execute("update entries set body = ?, hash = ? where seq = ?", (body, before, one["seq"]))
        database.execute("update ledger set hash = ?", (before,))
    Place.in_file(file).database().chain(number).head.accept(Receipt(ledger=name, seq=len(bodies), hash=before.hex()))
    return seq


def test_several_processes_find_what_one_finds(ledger) -> None:
    ticks = []
    alone = verify(ledger)
    assert verify(ledger, [ledger.head()], lambda *told: ticks.append(told), cores=2).head == alone.head
    assert alone.entries == ledger.last_entry() == sum(len(one.history(name)) + 1 for name, one in each(ledger))
    assert ticks[-1][1] == alone.entries
    with pytest.raises(ParameterError, match="cores"):
        verify(ledger, cores=0)


def test_none_is_opened_by_the_process_that_divides_them(ledger, tmp_path, monkeypatch) -> None:
    """It would follow each of them before the others begin."""
    export_json(ledger, tmp_path / "1.jsonl")
    alone = verify(ledger)
    opened = []
    monkeypatch.setattr(Chain, "check", lambda self: opened.append(self.name))
    with open_ledger(ledger.chains.database) as again:
        assert verify(again, cores=2).head == alone.head
        export_json(again, tmp_path / "2.jsonl", cores=2)
    assert opened == ["2f1c"]
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "2.jsonl").read_bytes()


def each(ledger):
    return [(name, ledger.of(name)) for name in ledger.populations()]


def test_one_population_is_verified_by_itself(ledger) -> None:
    office = ledger.of("office")
    assert verify(office).head == office.head() != ledger.head()


@pytest.mark.parametrize("wrong", ["office", "everywhere"])
def test_the_first_wrong_entry_is_named_whichever_process_finds_it(file, wrong) -> None:
    def give_back(record) -> None:
        record["account"]["after"]["filters"]["everyone"]["spent"] = "0/1"

    numbers = (5,) if wrong == "office" else (1, 3, 5)
    due = [forge(file, number, give_back) for number in numbers]
    with Place.in_file(file).open() as ledger:
        for cores in (1, 2):
            with pytest.raises(LedgerDamagedError, match="does not add up") as refused:
                verify(ledger, cores=cores)
            assert refused.value.seq in due


def test_a_process_is_not_content_with_another_end(file) -> None:
    with Place.in_file(file).open() as ledger:
        chain: Chain = ledger.of("clinic").here
        end, database = chain.head(), chain.store.database
        ledger.administration.resume("clinic")  # what is written meanwhile is not its matter
        replay_elsewhere([(database, end, "the clinic")], "2f1c")
        with pytest.raises(LedgerDamagedError, match="is not the end"):
            replay_elsewhere([(database, replace(end, hash="00" * 32), "the clinic")], "2f1c")
