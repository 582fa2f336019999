"""A population moves to another ledger with all that was spent: it goes on in one place, and receipts stay valid."""

import json
from fractions import Fraction

import pytest

from lapwing.ledger import moving
from lapwing.ledger import store as store_module
from lapwing.ledger.entries import Receipt, genesis, link
from lapwing.ledger.export import export_json
from lapwing.ledger.ledger import accept_rollback, create_ledger, open_ledger
from lapwing.ledger.lost_entries import write_off_losses
from lapwing.ledger.moving import move_away, move_here
from lapwing.ledger.replay import verify
from lapwing.ledger.reservation_states import RoundOutcome
from lapwing.vocabulary.codec import canonical
from lapwing.vocabulary.errors import (
    LedgerDamagedError,
    LedgerError,
    LedgerRolledBackError,
    ParameterError,
    SuspendedError,
)
from lapwing.vocabulary.guarantee import PureDP
from ledger.clinic import PEOPLE, SEED, Place, ask, intend_one, opening, request, spent


@pytest.fixture(params=["sqlite", "postgres"])
def here(request) -> Place:
    """A ledger with two populations; the school was asked, in batches too, and is suspended."""
    place = Place.chosen(request.param, request)
    with place.clinic() as ledger:
        ask(ledger, "of the clinic")
        ledger.administration.create_population("school", unit=PEOPLE, budget=PureDP(epsilon=Fraction(1)))
        ledger.administration.add_table("school", "patients")
        ask(ledger, "k1", "noisy", population="school", epsilon="1/5")
        school = ledger.of("school")
        school.reservations.open(opening(population="school", yeses=2))
        school.streams.intend("s", number=1, key="s1", questions=["q1", "q2"], sealed=SEED)
        school.streams.decide("s", number=1, answers=[(RoundOutcome.NO, "no")] * 2, sealed=b"x" * 77)
        school.reservations.close("s")
        ledger.administration.suspend("school")
    return place


@pytest.fixture
def there(tmp_path):
    """Another ledger, with a population of its own."""
    with create_ledger(tmp_path / "there.db", name="b0b0") as ledger:
        ledger.administration.create_population("other", unit=PEOPLE, budget=PureDP(epsilon=Fraction(1)))
        yield ledger


def end_of(path) -> Receipt:
    """Return what `move_away` has returned, as the file says."""
    head = json.loads(path.read_text().splitlines()[0])
    return Receipt(ledger=head["ledger"], seq=head["last"], hash=head["head"])


@pytest.fixture
def moved(here, there, tmp_path):
    with here.open() as ledger:
        move_away(ledger, "school", there.name, tmp_path / "school.jsonl")
    move_here(there, tmp_path / "school.jsonl", end_of(tmp_path / "school.jsonl"))
    return tmp_path / "school.jsonl"


def test_it_goes_on_there_with_what_was_spent_and_its_receipts(here, there, tmp_path) -> None:
    with here.open() as ledger:
        kept, before = ledger.of("school").head(), ledger.account("school")
        answer = ledger.of("school").questions.stored(request("k1", population="school", epsilon="1/5"))
        head = move_away(ledger, "school", there.name, tmp_path / "school.jsonl")
    assert move_here(there, tmp_path / "school.jsonl", end_of(tmp_path / "school.jsonl")) == (
        "school",
        there.of("school").head(),
    )
    for receipt in (kept, answer.receipt, head):
        there.require(receipt)
    assert there.account("school") == before
    with pytest.raises(SuspendedError):
        ask(there, "k2", population="school")
    there.administration.resume("school")
    again = there.of("school").questions.charge(request("k1", population="school", epsilon="1/5"))
    assert again == answer, "what was paid there is told here"
    new = ask(there, "k2", population="school")
    assert (new.receipt.ledger, new.receipt.seq) == (kept.ledger, head.seq + 4)
    assert spent(there, "school") == before.filters["everyone"].spent + Fraction(1, 10)
    assert there.of("school").reservations.find("s").asked == 2
    verify(there, [kept, head, new.receipt])
    verify(there, [there.seal()], cores=2)


@pytest.mark.usefixtures("moved")
def test_where_it_was_nothing_is_charged_or_decided_any_more(here) -> None:
    with here.open() as ledger:
        school, administration = ledger.of("school"), ledger.administration
        for act in (
            lambda: ask(ledger, "k2", population="school"),
            lambda: school.reservations.open(opening("t", population="school")),
            lambda: administration.resume("school"),
            lambda: administration.set_budget("school", PureDP(epsilon=Fraction(9))),
            lambda: administration.write_off("school", request().charge.event, reason="told"),
            lambda: administration.advance_version("school", "patients"),
            lambda: ledger.budget_requests.make("school", "ana", PureDP(epsilon=Fraction(9)), purpose="a study"),
        ):
            with pytest.raises(SuspendedError, match="moved to ledger b0b0: ask in its workspace"):
                act()
        stored = school.questions.stored(request("k1", population="school", epsilon="1/5"))
        assert stored.answer == "noisy", "what was told is told again"
        ask(ledger, "another", epsilon="1/100")
        verify(ledger, [ledger.seal()])


def test_it_arrives_once_and_only_where_it_moved_to(here, there, moved, tmp_path) -> None:
    _, first = move_here(there, moved, end_of(moved))  # again, as after a crash
    assert first == there.of("school").head()
    there.administration.resume("school")
    ask(there, "k2", population="school")
    _, later = move_here(there, moved, end_of(moved))
    assert later == there.of("school").head(), "what came since stays"
    with here.open() as ledger, pytest.raises(ParameterError, match="does not end with a move to ledger 2f1c"):
        move_here(ledger, moved, end_of(moved))
    with create_ledger(tmp_path / "third.db", name="c0c0") as third:
        with pytest.raises(ParameterError, match="does not end with a move to ledger c0c0"):
            move_here(third, moved, end_of(moved))
        assert third.populations() == []


def test_a_population_of_that_name_stays_what_it_is(here, there, tmp_path) -> None:
    there.administration.create_population("school", unit=PEOPLE, budget=PureDP(epsilon=Fraction(1)))
    with here.open() as ledger:
        move_away(ledger, "school", there.name, tmp_path / "school.jsonl")
    with pytest.raises(ParameterError, match="which this ledger has already"):
        move_here(there, tmp_path / "school.jsonl", end_of(tmp_path / "school.jsonl"))


def test_it_moves_only_when_nothing_is_going_on(here, there, tmp_path) -> None:
    path = tmp_path / "school.jsonl"
    with here.open() as ledger:
        ledger.administration.resume("school")
        with pytest.raises(ParameterError, match="stop its spending first"):
            move_away(ledger, "school", there.name, path)
        school = ledger.of("school")
        charged = school.questions.charge(request("k2", population="school"))
        school.reservations.open(opening("t", population="school", yeses=1))
        intend_one(school, "t", number=1, key="t1", question="q", population="school")
        ledger.administration.suspend("school")
        with pytest.raises(ParameterError, match="has open streams: t; close them first"):
            move_away(ledger, "school", there.name, path)
        school.reservations.forfeit("t")
        with pytest.raises(ParameterError, match="questions without an end; settle them first: lapwing recover"):
            move_away(ledger, "school", there.name, path)
        school.questions.lose(charged.seq)
        with pytest.raises(ParameterError, match="is the ledger where it is"):
            move_away(ledger, "school", ledger.name, path)
        assert not path.exists()
        move_away(ledger, "school", there.name, path)
        with pytest.raises(ParameterError, match="is not where it has moved, ledger b0b0"):
            move_away(ledger, "school", "c0c0", tmp_path / "other.jsonl")
        move_away(ledger, "school", there.name, tmp_path / "again.jsonl")
        assert (tmp_path / "again.jsonl").read_text() == path.read_text()


@pytest.mark.parametrize("point", ["found.begun", "found.written", "found.committed", "policy.written"])
def test_an_import_that_was_interrupted_is_done_again(here, there, tmp_path, monkeypatch, point) -> None:
    with here.open() as ledger:
        move_away(ledger, "school", there.name, tmp_path / "school.jsonl")
    monkeypatch.setattr(store_module, "_reached", {})
    monkeypatch.setenv("LAPWING_FAULT", f"{point}:full")
    with pytest.raises(LedgerError):
        move_here(there, tmp_path / "school.jsonl", end_of(tmp_path / "school.jsonl"))
    monkeypatch.delenv("LAPWING_FAULT")
    with open_ledger(there.chains.database) as again:
        if "school" in again.populations():
            with pytest.raises(SuspendedError, match="moved to ledger b0b0"):
                ask(again, "k2", population="school")
        move_here(again, tmp_path / "school.jsonl", end_of(tmp_path / "school.jsonl"))
        again.administration.resume("school")
        ask(again, "k2", population="school")
        verify(again, [again.seal()])


def test_a_file_that_was_changed_is_refused_and_nothing_is_written(here, there, tmp_path) -> None:
    path = tmp_path / "school.jsonl"
    with here.open() as ledger:
        move_away(ledger, "school", there.name, path)
    whole = path.read_text()
    path.write_text(whole.replace('"noisy"', '"other"'))
    with pytest.raises(LedgerDamagedError, match="does not follow from the chain"):
        move_here(there, path, end_of(path))
    lines = whole.splitlines(keepends=True)
    head = json.loads(lines[0])
    last = json.loads(lines[-2])
    head.update(last=head["last"] - 1, head=last["hash"])
    path.write_text("".join([json.dumps(head, sort_keys=True, separators=(",", ":")) + "\n", *lines[1:-1]]))
    with pytest.raises(ParameterError, match="does not end with a move"):
        move_here(there, path, end_of(path))
    assert there.populations() == ["other"]


def test_a_chain_that_arrived_in_another_ledger_than_it_moved_to_is_found_out(here, tmp_path, monkeypatch) -> None:
    with here.open() as ledger:
        move_away(ledger, "school", "b0b0", tmp_path / "school.jsonl")
    with create_ledger(tmp_path / "third.db", name="c0c0") as third:
        with monkeypatch.context() as liar:
            liar.setattr(type(third), "name", "b0b0")
            move_here(third, tmp_path / "school.jsonl", end_of(tmp_path / "school.jsonl"))
        with pytest.raises(LedgerDamagedError, match="chain 2f1c/3 goes on in ledger b0b0, and this is ledger c0c0"):
            verify(third)


@pytest.mark.usefixtures("moved")
def test_a_chain_with_another_past_than_the_one_that_came_is_found_out(there) -> None:
    """Somebody writes it anew, without its charges, with hashes that are right, and no head knows better."""
    chain = there.of("school")
    name, number = chain.here.name, there.numbers()["school"]
    with there.chains.directory.store.writing("policy") as transaction:
        rows = transaction.all("select body from all_entries where chain = ? order by seq", number)
        kept = [body for (body,) in rows if json.loads(body)["kind"] in {"population", "policy"}]
        transaction.do("drop trigger entries_are_never_deleted")
        transaction.do("delete from all_entries where chain = ?", number)
        transaction.do("delete from all_recalls where chain = ?", number)
        end = genesis(name)
        for seq, body in enumerate(kept, 1):
            written = canonical(json.loads(body) | {"seq": seq})
            end = link(end, written)
            values = (number, seq, written, end)
            transaction.do("insert into all_entries (chain, seq, body, hash) values (?, ?, ?, ?)", *values)
        transaction.do("update chains set seq = ?, hash = ? where chain = ?", len(kept), end, number)
    chain.store.database.head.accept(Receipt(ledger=name, seq=len(kept), hash=end.hex()))
    with open_ledger(there.chains.database) as again:
        with pytest.raises(LedgerRolledBackError, match=r"older than a receipt|another past"):
            again.account("school")
        with pytest.raises(LedgerRolledBackError, match=r"older than a receipt|another past"):
            again.chains.require_arrived()
        with pytest.raises(LedgerRolledBackError):
            verify(again)


def test_what_was_charged_after_an_arrival_that_was_rolled_back_is_owed(here, there, tmp_path) -> None:
    file, path = tmp_path / "there.db", tmp_path / "school.jsonl"
    there.close()
    kept = {one: one.read_bytes() for one in tmp_path.glob("there.db*") if not one.name.endswith("-turns")}
    with here.open() as ledger:
        end = move_away(ledger, "school", "b0b0", path)
    with open_ledger(file) as ledger:
        move_here(ledger, path, end_of(path))
        ledger.administration.resume("school")
        ask(ledger, "k2", population="school", epsilon="1/4")
        export_json(ledger.of("school"), tmp_path / "lost.jsonl")
    for one in tmp_path.glob("there.db*"):
        if not one.name.endswith("-turns"):
            one.unlink()
    for one, content in kept.items():
        one.write_bytes(content)
    accept_rollback(file)
    with open_ledger(file) as ledger:
        move_here(ledger, path, end_of(path))
        (note,) = ledger.of("school").notes()
        assert note["seq"] == end.seq + 1
        before = spent(ledger, "school")
        with pytest.raises(SuspendedError):
            ask(ledger, "k3", population="school")
        with pytest.raises(ParameterError, match=r"is not said: entries from \d+ on are lost"):
            write_off_losses(ledger, "school", reason="owed")
        write_off_losses(ledger, "school", [tmp_path / "lost.jsonl"], reason="owed", nothing_more=True)
        assert spent(ledger, "school") == before + Fraction(1, 4)
        verify(ledger, [ledger.seal()])


def written_anew(path, name: str) -> None:
    """Let somebody cut charges out of an export, name its chain anew, and do the hashes again."""
    head, *entries = map(json.loads, path.read_text().splitlines())
    kept = [line["entry"] for line in entries if line["entry"]["kind"] in {"population", "policy"}]
    end, lines = genesis(name), []
    for seq, entry in enumerate(kept, 1):
        body = canonical(entry | {"seq": seq})
        end = link(end, body)
        lines.append(f'{{"entry":{body},"hash":"{end.hex()}","seq":{seq}}}\n')
    path.write_text("".join([canonical(head | {"ledger": name, "last": len(kept), "head": end.hex()}) + "\n", *lines]))


def test_a_file_from_which_charges_were_cut_is_refused(here, there, tmp_path) -> None:
    path = tmp_path / "school.jsonl"
    with here.open() as ledger:
        end = move_away(ledger, "school", there.name, path)
    written_anew(path, end.ledger)
    with pytest.raises(ParameterError, match="is not of the end of"):
        move_here(there, path, end)
    assert there.populations() == ["other"]


@pytest.mark.parametrize("name", ["b0b0", "b0b0/1", "b0b0/9"])
def test_a_chain_with_a_name_of_this_ledger_is_refused(here, there, tmp_path, name) -> None:
    path = tmp_path / "school.jsonl"
    with here.open() as ledger:
        move_away(ledger, "school", there.name, path)
    written_anew(path, name)
    with pytest.raises(LedgerError, match=f"has chain {name}|is not where it has moved|moves nowhere"):
        move_here(there, path, end_of(path))
    assert there.populations() == ["other"]
    verify(there)


def test_a_second_chain_of_one_name_is_refused(there, moved) -> None:
    name = end_of(moved).ledger
    written_anew(moved, name)
    moved.write_text(moved.read_text().replace('"school"', '"pupils"'))
    head, *entries = map(json.loads, moved.read_text().splitlines())
    end = genesis(name)
    for line in entries:
        end = link(end, canonical(line["entry"]))
        line["hash"] = end.hex()
    moved.write_text("".join(canonical(line) + "\n" for line in [head | {"head": end.hex()}, *entries]))
    with pytest.raises(ParameterError, match=f"has chain {name}, which this ledger has already"):
        move_here(there, moved, end_of(moved))
    assert there.populations() == ["other", "school"]


def test_a_file_that_changes_between_its_check_and_its_import_is_refused(here, there, tmp_path, monkeypatch) -> None:
    path = tmp_path / "school.jsonl"
    with here.open() as ledger:
        end = move_away(ledger, "school", there.name, path)
    take = moving._take

    def later(*given) -> None:
        written_anew(path, end.ledger)
        take(*given)

    monkeypatch.setattr(moving, "_take", later)
    with pytest.raises(ParameterError, match="was changed while it was read"):
        move_here(there, path, end)
    assert there.populations() == ["other"]


@pytest.mark.usefixtures("moved")
def test_it_does_not_move_back_where_it_would_be_closed(there, tmp_path) -> None:
    with pytest.raises(ParameterError, match="has been before, and no ledger takes it a second time"):
        move_away(there, "school", "2f1c", tmp_path / "back.jsonl")
    with pytest.raises(ParameterError, match="is no name of a ledger"):
        move_away(there, "school", "c0c0/2", tmp_path / "back.jsonl")
    there.administration.resume("school")
    ask(there, "k2", population="school")
    there.administration.suspend("school")
    with create_ledger(tmp_path / "third.db", name="c0c0") as third:
        end = move_away(there, "school", "c0c0", tmp_path / "on.jsonl")
        move_here(third, tmp_path / "on.jsonl", end)
        for before in ("b0b0", "2f1c"):
            with pytest.raises(ParameterError, match="has been before"):
                move_away(third, "school", before, tmp_path / "back.jsonl")
        third.administration.resume("school")
        ask(third, "k3", population="school")
        verify(third)


@pytest.mark.usefixtures("moved")
def test_its_rollback_is_noticed_as_any_other(there) -> None:
    there.administration.resume("school")
    receipt = ask(there, "k2", population="school").receipt
    number = there.numbers()["school"]
    with there.chains.directory.store.writing("policy") as transaction:
        transaction.do("drop trigger entries_are_never_deleted")
        transaction.do("delete from all_entries where chain = ? and seq >= ?", number, receipt.seq - 1)
        rows = transaction.all("select seq, hash from all_entries where chain = ? order by seq desc limit 1", number)
        transaction.do("update chains set seq = ?, hash = ? where chain = ?", *rows[0], number)
    with pytest.raises(LedgerRolledBackError), open_ledger(there.chains.database) as ledger:
        ledger.account("school")
