"""Opening from a checkpoint: quick, and as strict about what is read as the whole chain would be.

The background check sees nothing here: what is refused is refused before it has come to it.
"""

import os
from array import array
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import pytest

from lapwing.ledger import chain as chain_module
from lapwing.ledger import checkpoint as checkpoint_module
from lapwing.ledger.background_check import BackgroundCheck
from lapwing.ledger.checkpoint import CheckpointFile
from lapwing.ledger.entries import Lookup, link
from lapwing.ledger.key_digests import KeyDigests
from lapwing.ledger.ledger import open_ledger
from lapwing.ledger.replay import verify
from lapwing.vocabulary.errors import LedgerDamagedError, LedgerRolledBackError
from lapwing.vocabulary.event import PureRelease
from lapwing.vocabulary.guarantee import PureDP
from ledger.clinic import CHAIN, PEOPLE, Place, ask, intend_one, opening, raw, spent

KEY = bytes(range(32))


@pytest.fixture
def place(quick_path, monkeypatch) -> Place:
    monkeypatch.setattr(BackgroundCheck, "_run", lambda self: self._stopping.wait())
    monkeypatch.setattr(chain_module, "EVERY", 1)
    place = Place.in_file(quick_path / "ledger.db")
    with place.clinic() as ledger:
        for number in range(5):
            ask(ledger, f"k{number}", epsilon="1/100")
        ledger.reservations.open(opening())
    return place


def checkpoints(place: Place, key: bytes = KEY) -> CheckpointFile:
    return CheckpointFile(place.where.with_name("ledger.checked"), key)


def opened(place: Place, key: bytes = KEY):
    return open_ledger(place.where, checkpoints=checkpoints(place, key))


def followed(place: Place, monkeypatch, key: bytes = KEY) -> bool:
    """Open a ledger, and say whether all of it was checked."""
    looked = []
    look = chain_module.Chain._look_around
    monkeypatch.setattr(chain_module.Chain, "_look_around", lambda self: looked.append(look(self)))
    opened(place, key).close()
    return bool(looked)


def test_what_was_checked_is_not_checked_again(place, monkeypatch) -> None:
    assert followed(place, monkeypatch)
    assert not followed(place, monkeypatch)
    with opened(place) as ledger:
        ask(ledger, "later")
        assert spent(ledger) == Fraction(5, 100) + Fraction(1, 10) + Fraction(1, 10)
        verify(ledger)
    kept = checkpoints(place).chain(CHAIN).read()
    assert kept.receipt.seq == 16
    assert kept.latest[Lookup.STREAM, ("s",)] == 14
    assert not followed(place, monkeypatch)


@pytest.mark.parametrize(
    "spoil",
    [
        "missing",
        "another key",
        "altered",
        "other digests",
        "other states",
        "fewer states",
        "empty",
        "not text",
        "too large",
    ],
)
def test_what_cannot_be_believed_costs_time_and_nothing_else(place, monkeypatch, spoil) -> None:
    opened(place).close()
    file = checkpoints(place).chain(CHAIN).path
    match spoil:
        case "missing":
            file.unlink()
        case "altered":
            file.write_bytes(replaced(file.read_bytes(), b'"STREAM":[["s"],[14]]', b'"STREAM":[["s"],[12]]'))
        case "other states":
            states, content = checkpoints(place).chain(CHAIN).read().states, file.read_bytes()
            (packed,) = {states.packed({})[1]}
            assert content.endswith(packed)
            last = states.get((Lookup.ACCOUNT, ("clinic",)))
            older = replaced(
                packed, last.seq.to_bytes(8, "big") + last.hash, (last.seq - 2).to_bytes(8, "big") + last.hash
            )
            file.write_bytes(content.removesuffix(packed) + older)
        case "fewer states":
            file.write_bytes(file.read_bytes()[:-48])
        case "other digests":
            content, size = file.read_bytes(), len(checkpoints(place).chain(CHAIN).read().states.packed({})[1])
            file.write_bytes(content[: -size - 1] + bytes([content[-size - 1] ^ 1]) + content[-size:])
        case "empty":
            file.write_bytes(b"")
        case "not text":
            file.write_bytes(os.urandom(500))
        case "too large":
            os.truncate(file, (1 << 30) + 1)
        case _:
            pass
    assert followed(place, monkeypatch, KEY[::-1] if spoil == "another key" else KEY)
    assert not followed(place, monkeypatch, KEY[::-1] if spoil == "another key" else KEY)


def test_a_checkpoint_of_twenty_mebibytes_is_believed(place, monkeypatch) -> None:
    """As large as that of 900,000 questions; what is larger than the largest is not, and costs time."""
    opened(place).close()
    file = checkpoints(place).chain(CHAIN)
    kept = file.read()
    counts, packed = kept.keys.packed()
    many = array("Q", range(20 << 17))
    counts = {**counts, "REQUEST": counts["REQUEST"] + len(many)}
    file.write(replace(kept, keys=KeyDigests(file._secret, counts, many.tobytes() + packed)))
    assert file.path.stat().st_size > 20 << 20
    assert not followed(place, monkeypatch)
    monkeypatch.setattr(checkpoint_module, "_LARGEST", 16 << 20)
    assert followed(place, monkeypatch)


def replaced(content: bytes, old: bytes, new: bytes) -> bytes:
    assert old in content
    return content.replace(old, new)


def test_it_may_be_read_by_its_owner_only(place) -> None:
    opened(place).close()
    assert checkpoints(place).chain(CHAIN).path.stat().st_mode & 0o777 == 0o600


def test_an_older_ledger_is_refused_all_the_same(place) -> None:
    copy = place.where.read_bytes()
    with opened(place) as ledger:
        ask(ledger, "later")
    for beside in place.where.parent.glob("ledger.db-*"):
        beside.unlink()
    place.where.write_bytes(copy)
    with pytest.raises(LedgerRolledBackError):
        opened(place)


def test_a_checkpoint_of_another_ledger_is_not_believed(place, monkeypatch) -> None:
    opened(place).close()
    kept = checkpoints(place).chain(CHAIN).read()
    for receipt in (replace(kept.receipt, ledger="other"), replace(kept.receipt, hash="00" * 32)):
        checkpoints(place).chain(CHAIN).write(replace_receipt(kept, receipt))
        assert followed(place, monkeypatch)


def replace_receipt(kept, receipt):
    return replace(kept, receipt=receipt)


def damaged(place: Place, statement: str, *values) -> None:
    """Change the file behind the back of its triggers."""
    with closing(raw(place.where)) as database, database:
        for trigger in ("changed", "deleted"):
            database.execute(f"drop trigger entries_are_never_{trigger}")
        database.execute(statement, values)
    database.close()


@pytest.mark.parametrize("kind", ["account", "policy"])
def test_a_state_before_the_checkpoint_that_was_changed_is_refused_when_it_is_read(place, kind) -> None:
    opened(place).close()
    last = checkpoints(place).chain(CHAIN).read().states.get((Lookup[kind.upper()], ("clinic",))).seq
    damaged(place, "update entries set body = replace(body, 'clinic', 'klinik') where seq = ?", last)
    with opened(place) as ledger, pytest.raises(LedgerDamagedError):
        ledger.account("clinic")


def test_an_account_before_the_checkpoint_that_gives_budget_back_is_refused(place) -> None:
    opened(place).close()
    last = checkpoints(place).chain(CHAIN).read().states.get((Lookup.ACCOUNT, ("clinic",))).seq
    damaged(
        place, """update entries set body = replace(body, '"spent":"3/20"', '"spent":"0/20"') where seq = ?""", last
    )
    with opened(place) as ledger, pytest.raises(LedgerDamagedError, match="does not hang on the entry before it"):
        ledger.account("clinic")


def test_a_state_that_an_index_has_lost_is_missed(place) -> None:
    """The newest account is there, but nothing finds it: the older one, which has spent less, is not believed."""
    opened(place).close()
    with closing(raw(place.where)) as database, database:
        database.execute("pragma writable_schema = on")
        database.execute(
            "update sqlite_schema set sql = replace(sql, 'is not null', 'is not null and seq < 7')"
            " where name = 'entries_account'"
        )
        database.execute("pragma writable_schema = off")
    database.close()
    with closing(raw(place.where)) as database, database:
        database.execute("reindex entries_account")
        database.execute("pragma writable_schema = on")
        database.execute(
            "update sqlite_schema set sql = replace(sql, ' and seq < 7', '') where name = 'entries_account'"
        )
    database.close()
    with opened(place) as ledger, pytest.raises(LedgerDamagedError, match="an index of the database is damaged"):
        ledger.account("clinic")


def forge(place: Place, seq: int, old: str, new: str) -> None:
    """Change an entry and give it the hash that it then must have: it hangs on the one before it, and none on it."""
    with closing(raw(place.where)) as database, database:
        (body,) = database.execute("select body from entries where seq = ?", (seq,)).fetchone()
        (before,) = database.execute("select hash from entries where seq = ?", (seq - 1,)).fetchone()
    database.close()
    assert old in body
    forged = body.replace(old, new)
    damaged(place, "update entries set body = ?, hash = ? where seq = ?", forged, link(before, forged), seq)


def followed_by_others(place: Place, lookup: Lookup = Lookup.ACCOUNT) -> int:
    """Let an entry that changes no state of the clinic come after its last one, and check up to it."""
    opened(place).close()
    last: int = checkpoints(place).chain(CHAIN).read().states.get((lookup, ("clinic",))).seq
    grow(place)
    return last


def grow(place: Place) -> None:
    """Let an entry come that changes no state, and check up to it."""
    with opened(place) as ledger, ledger.store.writing("policy") as transaction:
        transaction.append("note", remark="the ledger grows")
    opened(place).close()


def test_an_account_with_a_new_hash_of_its_own_gives_nothing_back(place) -> None:
    with opened(place) as ledger:
        ask(ledger, "later", epsilon="1/100")
    last = followed_by_others(place)
    for use in (
        lambda ledger: ledger.account("clinic"),
        lambda ledger: ledger.snapshot("clinic", "ana"),
        lambda ledger: ask(ledger, "another", epsilon="1/100"),
        lambda ledger: ledger.administration.write_off("clinic", PureRelease(epsilon=Fraction(1, 100)), reason="told"),
    ):
        kept = {file: file.read_bytes() for file in place.where.parent.iterdir()}
        forge(place, last, '"spent":"4/25"', '"spent":"0/1"')
        with opened(place) as ledger, pytest.raises(LedgerDamagedError, match="another hash before") as refused:
            use(ledger)
        assert refused.value.seq == last
        with pytest.raises(LedgerDamagedError, match="does not follow from the chain") as refused:
            opened(place)
        assert refused.value.seq == last + 1
        for file in place.where.parent.iterdir():
            file.unlink()
        for file, content in kept.items():
            file.write_bytes(content)


def test_an_opening_of_a_stream_with_a_new_hash_of_its_own_is_refused_at_once(place) -> None:
    last = followed_by_others(place)
    forge(place, last, '"spent":"3/20"', '"spent":"0/1"')
    with pytest.raises(LedgerDamagedError, match="does not follow from the chain") as refused:
        opened(place)
    assert refused.value.seq == last + 1


def test_a_policy_with_a_new_hash_of_its_own_allows_nothing(place) -> None:
    with opened(place) as ledger:
        ledger.administration.suspend("clinic")
    last = followed_by_others(place, Lookup.POLICY)
    forge(place, last, '"suspended":true', '"suspended":false')
    with opened(place) as ledger:
        for use in (lambda: ledger.population("clinic"), lambda: ask(ledger, "another")):
            with pytest.raises(LedgerDamagedError, match="another hash before"):
                use()


def test_a_population_that_an_index_has_lost_is_missed(place) -> None:
    opened(place).close()
    with closing(raw(place.where)) as database, database:
        database.execute("pragma writable_schema = on")
        changed = "update sqlite_schema set sql = replace(sql, ?, ?) where name = 'entries_founds'"
        database.execute(changed, ("'founds'", "'nobody'"))
    database.close()
    with closing(raw(place.where)) as database, database:
        database.execute("reindex entries_founds")
        database.execute("pragma writable_schema = on")
        database.execute(changed, ("'nobody'", "'founds'"))
    database.close()
    with opened(place) as ledger:
        for act in (
            ledger.populations,
            lambda: ledger.administration.create_population("clinic", unit=PEOPLE, budget=PureDP(epsilon=1)),
        ):
            with pytest.raises(LedgerDamagedError, match="an index of the database is damaged"):
                act()


def test_a_stream_with_other_terms_and_a_new_hash_of_its_own_is_not_gone_on_with(place) -> None:
    first = followed_by_others(place)
    with opened(place) as ledger:
        intend_one(ledger, "s", number=1, key="q", question="?", sealed=b"seed")
    grow(place)  # nobody looks at the stream here, and the next checkpoint knows its opening
    forge(place, first, '"units":', '"units":1')
    with pytest.raises(LedgerDamagedError, match="does not follow from the chain"):
        opened(place)


def test_a_past_with_a_new_hash_is_not_charged_anew_under_a_larger_budget(place) -> None:
    followed_by_others(place)
    forge(place, 4, '"1/100"', '"1/900"')
    with opened(place) as ledger:
        for decide in (
            lambda: ledger.administration.set_budget("clinic", PureDP(epsilon=2)),
            lambda: ledger.administration.set_allowance("clinic", "ada", PureDP(epsilon=2)),
            lambda: ledger.administration.is_correctable("clinic"),
        ):
            with pytest.raises(LedgerDamagedError, match="does not follow from the chain"):
                decide()


def test_what_is_changed_while_the_ledger_is_open_is_not_taken_into_the_checkpoint(place) -> None:
    last = followed_by_others(place)
    with opened(place) as ledger:
        forge(place, last, '"spent":"3/20"', '"spent":"0/1"')
        with pytest.raises(LedgerDamagedError, match="another hash before"):
            ledger.account("clinic")
        with ledger.store.writing("policy") as transaction:
            transaction.append("note", remark="the ledger grows")
    with pytest.raises(LedgerDamagedError, match="does not follow from the chain"):
        opened(place)
