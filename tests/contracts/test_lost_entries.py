"""What was lost with entries is charged, as far as somebody kept something of it: in both databases, of all budgets."""

import json
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from lapwing.accounting.filters.charge import SingleRelease
from lapwing.ledger.entries import Receipt
from lapwing.ledger.export import export_json
from lapwing.ledger.ledger import Ledger, accept_rollback
from lapwing.ledger.lost_entries import find_losses, write_off_losses
from lapwing.ledger.replay import verify
from lapwing.ledger.reservation_states import ReservationStatus, RoundOutcome
from lapwing.vocabulary.errors import (
    BudgetExceededError,
    LedgerDamagedError,
    LedgerRolledBackError,
    ParameterError,
    SuspendedError,
)
from lapwing.vocabulary.event import Event, GaussianNoise
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, Guarantee, PureDP
from ledger.clinic import SEED, Place, ask, decide_one, intend_one, opening, pure, request

BUDGETS: dict[str, Guarantee] = {
    "epsilon": PureDP(epsilon=Fraction(1)),
    "epsilon and delta": ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 10**6)),
    "rho": ConcentratedDP(rho=Fraction(1)),
}


def with_rho(rho: object) -> Event:
    return GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=1 / (2 * Fraction(rho)))


@dataclass
class Clinic:
    """A ledger that is put back to entry 4, after more was asked."""

    place: Place
    folder: Path
    budget: str

    @property
    def tenth(self) -> Event:
        return with_rho("1/10") if self.budget == "rho" else pure("1/10")

    def ask(self, ledger: Ledger, key: str, **changed):
        return ask(ledger, key, charge=SingleRelease(event=self.tenth), **changed)

    def answer(self, receipt: Receipt, name: str, price: str = "0.1") -> Path:
        """Write an answer as somebody keeps it, or invents it."""
        said_price = {"epsilon": None, "rho": price} if self.budget == "rho" else {"epsilon": price, "rho": None}
        said = {"price": {"delta": "0", **said_price}, "receipt": str(receipt), "versions": {"patients": 1}}
        path = self.folder / name
        path.write_text(json.dumps(said, indent=2))
        return path

    def lose(self) -> Ledger:
        """Put the copy back, accept the loss, and open what is left."""
        if isinstance(self.place.where, Path):
            for old in self.place.where.parent.glob("ledger.db*"):
                old.unlink()
            self.place.where.write_bytes((self.folder / "copy").read_bytes())
        else:
            dsn, schema = self.place.where
            with psycopg.connect(dsn) as database:
                database.execute(f"set search_path = {schema}")
                database.execute("set lapwing.chain = '1'")
                database.execute("alter table all_entries disable trigger all")
                (last,) = database.execute("select max(seq) from copied").fetchone()
                database.execute("delete from entries where seq > %s", (last,))
                moved = "update ledger set seq = entries.seq, hash = entries.hash from entries where entries.seq = %s"
                database.execute(moved, (last,))
                database.execute("delete from secrets")
                database.execute("insert into secrets select * from copied_secrets")
                database.execute("alter table all_entries enable trigger all")
        accept_rollback(self.place.database())
        return self.place.open()

    def copy(self) -> None:
        if isinstance(self.place.where, Path):
            (self.folder / "copy").write_bytes(self.place.where.read_bytes())
        else:
            dsn, schema = self.place.where
            with psycopg.connect(dsn) as database:
                database.execute(f"set search_path = {schema}")
                database.execute("set lapwing.chain = '1'")
                database.execute("drop table if exists copied, copied_secrets")
                database.execute("create table copied as select seq from entries")
                database.execute("create table copied_secrets as select * from secrets")


@pytest.fixture(params=["sqlite", "postgres"])
def kind(request) -> str:
    return request.param


@pytest.fixture(params=BUDGETS)
def clinic(kind, request, tmp_path) -> Clinic:
    chosen = Place.chosen(kind, request)
    place = chosen if kind == "sqlite" else Place(chosen.where, {"head": tmp_path / "ledger.head"})
    made = Clinic(place, tmp_path, request.param)
    with place.clinic(budget=BUDGETS[request.param]) as ledger:
        made.ask(ledger, "before")
        ledger.administration.advance_version("clinic", "visits")
    made.copy()
    return made


def taken(ledger: Ledger) -> Fraction:
    """What can no longer be asked, in tenths of epsilon or of rho."""
    found = ledger.account("clinic").filters["everyone"]
    return getattr(found, "spent", None) or found.pure.spent


def test_an_export_shows_all_that_was_charged(clinic) -> None:
    with clinic.place.open() as ledger:
        for key in ("a", "b"):
            clinic.ask(ledger, key)
        export_json(ledger, clinic.folder / "kept.jsonl")
    with clinic.lose() as ledger:
        losses = find_losses(ledger, "clinic", [clinic.folder / "kept.jsonl"])
        assert (losses.after, losses.until, losses.unexplained) == (6, 10, 0)
        assert [(one.seq, one.analyst, one.is_shown) for one in losses.releases] == [(7, "ana", True), (9, "ana", True)]
        assert str(losses) == "entries 7 to 10 are lost, and what all of them charged is known"
        for again in (0, 2):
            done = write_off_losses(ledger, "clinic", [clinic.folder / "kept.jsonl"], reason="the disk")
            assert done.known == again
            assert taken(ledger) == Fraction(3, 10)
        with pytest.raises(SuspendedError):
            clinic.ask(ledger, "c")
        written = [one for one in ledger.history("clinic") if one["kind"] == "write-off"]
        assert [(Receipt.parse(one["lost"]).seq, one["reason"], one["analyst"]) for one in written] == [
            (7, "the disk", "ana"),
            (9, "the disk", "ana"),
        ]
        ledger.administration.resume("clinic")
        clinic.ask(ledger, "c")
        assert taken(ledger) == Fraction(4, 10)
        verify(ledger)


def test_answers_say_their_price_and_the_rest_is_named(clinic) -> None:
    with clinic.place.open() as ledger:
        old = clinic.answer(clinic.ask(ledger, "before").receipt, "old.json")
        kept = clinic.answer(clinic.ask(ledger, "a").receipt, "a.json")
        newest = clinic.ask(ledger, "b").receipt
    with clinic.lose() as ledger:
        given = [old, kept, kept, str(newest)]
        losses = find_losses(ledger, "clinic", given)
        assert [one.seq for one in losses.releases] == [8]
        assert (losses.until, losses.unexplained) == (10, 4)
        words = (
            "entries 7 to 10 are lost, and what 4 of them charged is shown by no export .1 release of them is said by"
        )
        with pytest.raises(ParameterError, match=words):
            write_off_losses(ledger, "clinic", given, reason="the disk")
        assert taken(ledger) == Fraction(1, 10)
        write_off_losses(ledger, "clinic", given, reason="the disk", rest=clinic.tenth)
        assert taken(ledger) == Fraction(3, 10)
        write_off_losses(ledger, "clinic", given, reason="the disk", nothing_more=True)
        assert taken(ledger) == Fraction(3, 10)
        verify(ledger)


def test_a_rest_that_is_named_twice_is_charged_once(clinic) -> None:
    with clinic.place.open() as ledger:
        clinic.ask(ledger, "a")
    double = with_rho("1/5") if clinic.budget == "rho" else pure("1/5")
    with clinic.lose() as ledger:
        write_off_losses(ledger, "clinic", reason="the disk", rest=clinic.tenth)
        for again in ({"rest": clinic.tenth}, {"nothing_more": True}, {}):
            told = write_off_losses(ledger, "clinic", reason="the disk", **again)
            assert [one.event for one in told.rest] == [clinic.tenth]
        assert taken(ledger) == Fraction(2, 10)
        with pytest.raises(ParameterError, match="is more than was named and charged before; charge what is missing"):
            write_off_losses(ledger, "clinic", reason="the disk", rest=double)
        ledger.administration.write_off("clinic", clinic.tenth, reason="by hand")
        assert taken(ledger) == Fraction(3, 10)
        verify(ledger)
    clinic.copy()
    with clinic.place.open() as ledger:
        ledger.administration.resume("clinic")
        clinic.ask(ledger, "b")
    with clinic.lose() as ledger:  # another loss has a rest of its own
        assert find_losses(ledger, "clinic").rest == ()
        write_off_losses(ledger, "clinic", reason="the disk again", rest=clinic.tenth)
        assert taken(ledger) == Fraction(4, 10)
        write_off_losses(ledger, "clinic", reason="the disk again", rest=clinic.tenth)
        assert taken(ledger) == Fraction(4, 10)
        verify(ledger)


def test_all_that_is_left_can_be_charged(clinic) -> None:
    with clinic.place.open() as ledger:
        clinic.ask(ledger, "a")
    with clinic.lose() as ledger:
        write_off_losses(ledger, "clinic", reason="nobody knows", everything=True)
        ledger.administration.resume("clinic")
        with pytest.raises(BudgetExceededError):
            clinic.ask(ledger, "c")
        verify(ledger)


def test_what_an_export_shows_and_an_answer_says_is_charged_once(clinic) -> None:
    with clinic.place.open() as ledger:
        kept = clinic.answer(clinic.ask(ledger, "a").receipt, "a.json")
        export_json(ledger, clinic.folder / "kept.jsonl")
        clinic.ask(ledger, "b")
    with clinic.lose() as ledger:
        write_off_losses(ledger, "clinic", [kept], reason="the disk", nothing_more=True)
        losses = write_off_losses(
            ledger, "clinic", [kept, clinic.folder / "kept.jsonl"], reason="the disk", nothing_more=True
        )
        assert (losses.known, losses.unexplained, losses.releases) == (1, 2, ())
        assert taken(ledger) == Fraction(2, 10)


class TestAnswersExplainNothing:
    """True, wrong or invented: an answer that was kept makes more be charged, and never less."""

    def test_where_their_charges_are_still_in_the_ledger(self, clinic) -> None:
        """An answer is one lost entry, and not two, if the copy was taken while its question was under way."""
        cheap = SingleRelease(event=with_rho("1/1000") if clinic.budget == "rho" else pure("1/1000"))
        with clinic.place.open() as ledger:
            asked = [ledger.questions.charge(request(key, charge=cheap)).seq for key in ("a", "b")]
        clinic.copy()
        with clinic.place.open() as ledger:
            kept = [
                clinic.answer(ledger.questions.answer(seq, "42").receipt, f"{seq}.json", price="0.001") for seq in asked
            ]
            clinic.ask(ledger, "dear")
        with clinic.lose() as ledger:
            assert find_losses(ledger, "clinic").unexplained == 4
            assert find_losses(ledger, "clinic", kept).unexplained == 4
            with pytest.raises(ParameterError, match="entries 9 to 12 are lost, and what 4 of them charged"):
                write_off_losses(ledger, "clinic", kept, reason="the disk")
            assert taken(ledger) == Fraction(102, 1000)

    def test_invented_ones_are_charged_beside_the_true_one(self, clinic) -> None:
        """The hash of a lost entry cannot be checked; nor can what it charged, where the hash is the true one."""
        with clinic.place.open() as ledger:
            true = clinic.ask(ledger, "a").receipt
            export_json(ledger, clinic.folder / "kept.jsonl")
        forged = clinic.answer(replace(true, hash="ab" * 32), "forged.json", price="0.001")
        lower = clinic.answer(true, "lower.json", price="0.001")
        with clinic.lose() as ledger:
            for one in (forged, lower):
                assert find_losses(ledger, "clinic", [one]).unexplained == 2
                with pytest.raises(ParameterError, match="name what they may have charged"):
                    write_off_losses(ledger, "clinic", [one], reason="the disk")
                write_off_losses(ledger, "clinic", [one], reason="the disk", nothing_more=True)
            assert taken(ledger) == Fraction(102, 1000)
            if clinic.budget == "rho":  # by an answer, or by an export: what is due is charged all the same
                write_off_losses(ledger, "clinic", [clinic.folder / "kept.jsonl"], reason="the disk")
            else:
                both = [clinic.answer(true, "true.json"), lower]
                write_off_losses(ledger, "clinic", both, reason="the disk", nothing_more=True)
            assert taken(ledger) == Fraction(202, 1000)
            done = write_off_losses(ledger, "clinic", [clinic.folder / "kept.jsonl"], reason="the disk")
            assert (done.unexplained, done.known, taken(ledger)) == (0, 1, Fraction(202, 1000))
            verify(ledger)

    def test_one_that_says_less_does_not_take_the_place_of_another(self, clinic) -> None:
        with clinic.place.open() as ledger:
            true = clinic.ask(ledger, "a").receipt
        kept = [clinic.answer(true, "true.json"), clinic.answer(true, "lower.json", price="0.001")]
        with clinic.lose() as ledger:
            write_off_losses(ledger, "clinic", kept, reason="the disk", nothing_more=True)
            assert taken(ledger) == Fraction(201, 1000)


class TestStreams:
    @pytest.fixture
    def streaming(self, clinic) -> Clinic:
        with clinic.place.open() as ledger:
            charge = {"charge": SingleRelease(event=pure("1/5"))} if clinic.budget == "rho" else {}
            ledger.reservations.open(opening("s", yeses=1, price="1/10", **charge))
        clinic.copy()
        return clinic

    def test_one_that_may_have_been_asked_is_ended_with_all_it_had_set_aside(self, streaming) -> None:
        with streaming.place.open() as ledger:
            intend_one(ledger, "s", number=1, key="q", question="q", sealed=SEED)
            decide_one(ledger, "s", number=1, outcome=RoundOutcome.YES, answer="yes")
        with streaming.lose() as ledger:
            before = taken(ledger)
            losses = write_off_losses(ledger, "clinic", reason="the disk", nothing_more=True)
            assert losses.streams == ("s",)
            assert ledger.reservations.find("s").status is ReservationStatus.CLOSED
            paid_at_once = streaming.budget == "rho"
            assert taken(ledger) == before + (0 if paid_at_once else Fraction(1, 10))
            verify(ledger)

    def test_one_that_an_export_shows_to_have_rested_goes_on(self, streaming) -> None:
        with streaming.place.open() as ledger:
            streaming.ask(ledger, "a")
            export_json(ledger, streaming.folder / "kept.jsonl")
        with streaming.lose() as ledger:
            losses = write_off_losses(ledger, "clinic", [streaming.folder / "kept.jsonl"], reason="the disk")
            assert (losses.streams, losses.unexplained) == ((), 0)
            assert ledger.reservations.find("s").status is ReservationStatus.OPEN

    def test_one_whose_opening_is_lost_is_charged_whole(self, clinic) -> None:
        with clinic.place.open() as ledger:
            charge = {"charge": SingleRelease(event=with_rho("1/5"))} if clinic.budget == "rho" else {}
            ledger.reservations.open(opening("t", yeses=1, price="1/10", **charge))
            export_json(ledger, clinic.folder / "kept.jsonl")
        with clinic.lose() as ledger:
            write_off_losses(ledger, "clinic", [clinic.folder / "kept.jsonl"], reason="the disk")
            assert taken(ledger) == Fraction(3, 10)
            verify(ledger)


def test_a_second_loss_is_charged_beside_the_first(clinic) -> None:
    """A number that was lost twice is two entries: the second is not taken for the first."""
    with clinic.place.open() as ledger:
        clinic.ask(ledger, "a")
        clinic.ask(ledger, "b")
        export_json(ledger, clinic.folder / "first.jsonl")
    with clinic.lose() as ledger:
        write_off_losses(ledger, "clinic", [clinic.folder / "first.jsonl"], reason="the disk")
        ledger.administration.resume("clinic")
        last = ledger.last_entry()
        clinic.ask(ledger, "c")
        export_json(ledger, clinic.folder / "second.jsonl")
    with clinic.lose() as ledger:
        assert ledger.last_entry() < last
        losses = write_off_losses(ledger, "clinic", [clinic.folder / "second.jsonl"], reason="again", nothing_more=True)
        assert {one.seq for one in losses.releases} >= {last + 1}
        assert taken(ledger) == Fraction(4, 10)
        verify(ledger)


def test_an_export_of_another_loss_explains_nothing(clinic) -> None:
    """What was lost first is as long as what was lost then: its export has the same numbers, and not the same end."""
    with clinic.place.open() as ledger:
        for key in ("a", "b", "c"):
            clinic.ask(ledger, key)
        export_json(ledger, clinic.folder / "first.jsonl")
    with clinic.lose() as ledger:
        ledger.administration.resume("clinic")
        clinic.ask(ledger, "d")
        export_json(ledger, clinic.folder / "second.jsonl")
    with clinic.lose() as ledger:
        losses = find_losses(ledger, "clinic", [clinic.folder / "first.jsonl"])
        assert (losses.until, losses.unexplained) == (12, 5)
        losses = find_losses(ledger, "clinic", [clinic.folder / "second.jsonl"])
        assert losses.unexplained == 6  # it shows that six entries were lost before
        with pytest.raises(ParameterError, match="what 6 of them charged is shown by no export"):
            write_off_losses(ledger, "clinic", [clinic.folder / "second.jsonl"], reason="again")


class TestRefusals:
    @pytest.fixture
    def lost(self, quick_path, tmp_path) -> Clinic:
        made = Clinic(Place.in_file(quick_path / "ledger.db"), tmp_path, "epsilon")
        with made.place.clinic() as ledger:
            made.ask(ledger, "before")
            ledger.administration.advance_version("clinic", "visits")
        made.copy()
        with made.place.open() as ledger:
            self.receipt = made.ask(ledger, "a").receipt
        return made

    def test_a_ledger_that_lost_nothing_has_nothing_to_charge(self, lost) -> None:
        with lost.place.open() as ledger, pytest.raises(ParameterError, match="has lost no entries"):
            find_losses(ledger, "clinic")

    def test_a_loss_that_was_accepted_where_there_was_none_charges_nothing(self, lost) -> None:
        accept_rollback(lost.place.database())
        with lost.place.open() as ledger:
            losses = write_off_losses(ledger, "clinic", [self.receipt], reason="a mistake")
            assert (str(losses), losses.releases) == ("no entry is known to be lost", ())

    def test_where_nobody_knows_how_far_it_had_come_the_rest_is_named(self, lost) -> None:
        (lost.place.where.parent / "ledger.head.1").write_bytes(b"damaged")
        with lost.lose() as ledger:
            losses = find_losses(ledger, "clinic", [self.receipt])
            assert str(losses) == (
                "entries 7 to 8 are lost, and what nobody knows how many of them charged is shown by no export"
            )
            with pytest.raises(ParameterError, match="name what they may have charged"):
                write_off_losses(ledger, "clinic", reason="the disk")

    @pytest.mark.parametrize(
        ("receipt", "refused"),
        [
            ("lapwing:other:8:" + "ab" * 32, LedgerRolledBackError),
            ("lapwing:2f1c:5:" + "ab" * 32, LedgerRolledBackError),
            ("lapwing:2f1c:8:short", ParameterError),
        ],
    )
    def test_what_is_not_of_this_ledger_is_refused(self, lost, receipt, refused) -> None:
        with lost.lose() as ledger, pytest.raises(refused):
            find_losses(ledger, "clinic", [receipt])

    def test_receipts_that_contradict_each_other_are_refused(self, lost) -> None:
        with lost.lose() as ledger, pytest.raises(LedgerRolledBackError, match="is not of what this ledger has lost"):
            find_losses(ledger, "clinic", [self.receipt, f"lapwing:2f1c:8:{'ab' * 32}"])

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"price": {"epsilon": "much", "delta": "0", "rho": None}}, "a price that cannot be read"),
            ({"price": {"epsilon": None, "delta": "0", "rho": None}}, "a price that cannot be read"),
            ({"versions": {"pupils": 1}}, "is about pupils, which 'clinic' does not have"),
            ({"receipt": "none"}, "holds no receipt"),
        ],
    )
    def test_an_answer_that_makes_no_sense_is_refused(self, lost, change, words) -> None:
        said = {"price": {"epsilon": "0.1", "delta": "0", "rho": None}, "receipt": str(self.receipt), "versions": {}}
        path = lost.folder / "answer.json"
        path.write_text(json.dumps({**said, **change}))
        with lost.lose() as ledger, pytest.raises(ParameterError, match=words):
            find_losses(ledger, "clinic", [path])

    def test_an_export_that_was_altered_is_refused(self, lost) -> None:
        with lost.place.open() as ledger:
            export_json(ledger, lost.folder / "kept.jsonl")
        path = lost.folder / "kept.jsonl"
        path.write_text(path.read_text().replace('"request":"a"', '"request":"b"'))
        with lost.lose() as ledger, pytest.raises(LedgerDamagedError, match="does not follow from the chain"):
            find_losses(ledger, "clinic", [path])

    def test_an_allowance_that_is_too_small_by_now_does_not_keep_the_budget_from_being_charged(self, lost) -> None:
        with lost.place.open() as ledger:
            export_json(ledger, lost.folder / "kept.jsonl")
        with lost.lose() as ledger:
            ledger.administration.set_allowance("clinic", "ana", PureDP(epsilon=Fraction(3, 20)))
            write_off_losses(ledger, "clinic", [lost.folder / "kept.jsonl"], reason="the disk")
            assert taken(ledger) == Fraction(2, 10)
            verify(ledger)
