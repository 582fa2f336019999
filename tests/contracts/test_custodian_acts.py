"""What a custodian may put right in a ledger, on every database: never what was released, and to nobody's gain."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import pytest

from lapwing.accounting.filters.account import CapChange, open_account
from lapwing.ledger.ledger import Ledger
from lapwing.ledger.questions import Charged
from lapwing.ledger.replay import verify
from lapwing.ledger.transaction import state
from lapwing.vocabulary.codec import to_record
from lapwing.vocabulary.errors import (
    BudgetExceededError,
    LedgerDamagedError,
    ParameterError,
    SuspendedError,
    UnnamedAnalystError,
)
from lapwing.vocabulary.event import GaussianNoise
from lapwing.vocabulary.guarantee import Adjacency, ConcentratedDP, PrivacyUnit, PureDP
from ledger.clinic import PEOPLE, Place, ask, intend_one, opening, pure, request, spent

ONE, TWO = PureDP(epsilon=Fraction(1)), PureDP(epsilon=Fraction(2))
OTHERS = PrivacyUnit(person_key="person_id")
KEYS = {"patients": ("person_id", "integer"), "visits": ("person_id", "text")}


@pytest.fixture(params=["sqlite", "postgres"])
def ledger(request) -> Iterator[Ledger]:
    with Place.chosen(request.param, request).clinic() as opened:
        yield opened


class TestCorrection:
    def test_an_account_that_never_charged_is_opened_anew_under_other_terms(self, ledger) -> None:
        people = replace(OTHERS, adjacency=Adjacency.REPLACE)
        ledger.administration.set_allowance("clinic", "ana", PureDP(epsilon=Fraction(1, 4)))
        ledger.administration.correct("clinic", unit=people, budget=TWO, segments=["a", "b"], keys=KEYS)
        known, account = ledger.population("clinic"), ledger.account("clinic")
        assert (known.unit, dict(known.keys)) == (people, KEYS)
        assert dict(known.tables) == {"patients": 2, "visits": 2}, "what has the old terms in memory cannot go on"
        assert (account.budget, sorted(account.filters), account.adjacency) == (TWO, ["a", "b"], Adjacency.REPLACE)
        own = ledger.snapshot("clinic", "ana").allowance
        assert (sorted(own.filters), own.adjacency) == (["a", "b"], Adjacency.REPLACE)
        assert own.filters["a"].left == Fraction(1, 8), "of each of two segments, under this adjacency"
        ask(ledger, epsilon="1/16")
        assert ledger.snapshot("clinic", "ana").allowance.filters["a"].left == Fraction(1, 16)
        verify(ledger)

    def test_a_budget_may_be_lowered_or_be_of_another_kind_before_anything_was_asked(self, ledger) -> None:
        lower = ConcentratedDP(rho=Fraction(1, 10))
        ledger.administration.correct("clinic", unit=PEOPLE, budget=lower, keys=KEYS)
        assert ledger.account("clinic").budget == lower
        ledger.administration.set_budget("clinic", ConcentratedDP(rho=Fraction(1, 5)))
        verify(ledger)

    def test_it_can_be_corrected_again_and_raised_afterwards(self, ledger) -> None:
        for budget in (TWO, ONE):
            ledger.administration.correct("clinic", unit=OTHERS, budget=budget, keys=KEYS)
        ledger.administration.set_budget("clinic", TWO)
        ask(ledger, epsilon=2)
        assert spent(ledger) == 2
        verify(ledger)

    @pytest.mark.parametrize("release", ["asked", "lost", "stream", "written off"])
    def test_nothing_is_corrected_once_something_was_released(self, ledger, release) -> None:
        RELEASES[release](ledger)
        before = spent(ledger)
        assert not ledger.administration.is_correctable("clinic")
        with pytest.raises(ParameterError, match="was released from"):
            ledger.administration.correct("clinic", unit=OTHERS, budget=TWO, keys=KEYS)
        assert spent(ledger) == before > 0
        verify(ledger)

    def test_nothing_is_corrected_where_entries_were_lost(self, ledger) -> None:
        ledger.administration.accept_rollback("entries after 3 are lost")
        assert not ledger.administration.is_correctable("clinic")
        assert not ledger.administration.is_correctable("clinic", "visits")
        with pytest.raises(ParameterError, match="nobody knows"):
            ledger.administration.correct("clinic", unit=OTHERS, budget=TWO, keys=KEYS)
        with pytest.raises(ParameterError, match="nobody knows"):
            ledger.administration.correct_key("clinic", "visits", ("person_id", "integer"))

    def test_a_population_of_a_ledger_that_lost_entries_begins_with_its_spending_stopped(self, ledger) -> None:
        ledger.administration.accept_rollback("entries after 3 are lost")
        ledger.administration.create_population("school", unit=PEOPLE, budget=ONE)
        ledger.administration.add_table("school", "pupils")
        asked = request(population="school", tables=frozenset({"pupils"}))
        with pytest.raises(SuspendedError):
            ledger.of("school").questions.charge(asked)
        ledger.administration.resume("school")
        assert isinstance(ledger.of("school").questions.charge(asked), Charged)
        verify(ledger)

    def test_every_table_gets_its_key(self, ledger) -> None:
        with pytest.raises(ParameterError, match="name every table"):
            ledger.administration.correct("clinic", unit=OTHERS, budget=TWO, keys={"patients": ("id", "integer")})

    def test_a_table_that_was_never_read_gets_another_key_and_another_version(self, ledger) -> None:
        ask(ledger, epsilon="1/2")
        assert ledger.administration.is_correctable("clinic", "visits")
        ledger.administration.correct_key("clinic", "visits", ("person_id", "text"))
        known = ledger.population("clinic")
        assert (known.keys["visits"], dict(known.tables)) == (("person_id", "text"), {"patients": 1, "visits": 2})
        assert spent(ledger) == Fraction(1, 2)
        verify(ledger)

    @pytest.mark.parametrize("read", ["question", "stream"])
    def test_a_table_that_was_read_keeps_its_key(self, ledger, read) -> None:
        if read == "question":
            ledger.questions.charge(request(tables=frozenset({"patients", "visits"})))
        else:
            ledger.reservations.open(opening(tables=frozenset({"visits"})))
            intend_one(ledger, "s", number=1, key="q", question="?", sealed=b"\x01" * 60)
        assert not ledger.administration.is_correctable("clinic", "visits")
        with pytest.raises(ParameterError, match="was released from"):
            ledger.administration.correct_key("clinic", "visits", ("person_id", "text"))
        verify(ledger)

    def test_a_ledger_in_which_somebody_corrected_what_was_released_is_found_out(self, ledger) -> None:
        ask(ledger, epsilon=1, tables=frozenset({"patients", "visits"}))
        known, fresh = ledger.population("clinic"), open_account(ONE)
        forged = replace(known.with_table("patients", 2).with_table("visits", 2), unit=OTHERS)
        for table, key in KEYS.items():
            forged = forged.with_key(table, key)
        _forge(ledger, policy=to_record(forged), account=state([CapChange(account=fresh)], fresh))
        assert spent(ledger) == 0, "the budget is there again"
        with pytest.raises(LedgerDamagedError, match=r"entry 6 .*corrects what was released from already"):
            verify(ledger)

    def test_a_ledger_in_which_the_key_of_a_table_that_was_read_changed_is_found_out(self, ledger) -> None:
        ask(ledger)
        forged = ledger.population("clinic").with_table("patients", 2).with_key("patients", ("other", "integer"))
        _forge(ledger, policy=to_record(forged), table="patients")
        with pytest.raises(LedgerDamagedError, match=r"entry 6 .*corrects what was released from already"):
            verify(ledger)

    @pytest.mark.parametrize("lie", ["spent", "suspension", "version", "both"])
    def test_a_correction_that_decides_more_than_it_may_is_found_out(self, ledger, lie) -> None:
        account = open_account(ONE)
        forged = ledger.population("clinic")
        for table, key in KEYS.items():
            forged = forged.with_table(table, 1 if lie == "version" else 2).with_key(table, key)
        forged = replace(forged, suspended=lie == "suspension")
        if lie == "spent":
            account = account.book(account.quote(request().charge))
        more = {"table": "visits"} if lie == "both" else {}
        _forge(ledger, policy=to_record(forged), account=state([CapChange(account=account)], account), **more)
        with pytest.raises(LedgerDamagedError, match="entry 4 "):
            verify(ledger)


def _forge(ledger: Ledger, **fields: object) -> None:
    with ledger.store.writing("policy") as transaction:
        transaction.append("policy", population="clinic", by="mallory", change="correction", **fields)


def _lose(ledger: Ledger) -> None:
    charged = ledger.questions.charge(request())
    assert isinstance(charged, Charged)
    ledger.questions.lose(charged.seq)


RELEASES: dict[str, Callable[[Ledger], object]] = {
    "asked": ask,
    "lost": _lose,
    "stream": lambda ledger: ledger.reservations.open(opening()),
    "written off": lambda ledger: ledger.administration.write_off("clinic", pure("1/10"), reason="lost"),
}


class TestWriteOff:
    def test_what_was_lost_is_charged_while_spending_is_stopped(self, ledger) -> None:
        ledger.administration.suspend("clinic")
        ledger.administration.write_off("clinic", pure("2/5"), reason="three answers of Monday")
        assert spent(ledger) == Fraction(2, 5)
        entry = ledger.history("clinic")[-1]
        assert (entry["kind"], entry["by"], entry["reason"]) == ("write-off", "custodian", "three answers of Monday")
        with pytest.raises(SuspendedError):
            ledger.questions.charge(request())
        ledger.administration.resume("clinic")
        with pytest.raises(BudgetExceededError):
            ledger.questions.charge(request(epsilon="7/10"))
        ask(ledger, epsilon="3/5")
        verify(ledger)

    def test_an_analyst_pays_from_their_allowance_too(self, ledger) -> None:
        ledger.administration.set_allowance("clinic", "ana", PureDP(epsilon=Fraction(1, 2)))
        ledger.administration.write_off("clinic", pure("2/5"), reason="lost", analyst="ana")
        assert ledger.snapshot("clinic", "ana").allowance.filters["everyone"].left == Fraction(1, 10)
        ledger.administration.set_allowance("clinic", "ana", PureDP(epsilon=Fraction(3, 5)))
        assert ledger.snapshot("clinic", "ana").allowance.filters["everyone"].left == Fraction(1, 5)
        verify(ledger)

    def test_more_than_is_left_is_refused_and_writes_nothing(self, ledger) -> None:
        with pytest.raises(BudgetExceededError, match=r"epsilon 1\.1 is asked and 1 is left"):
            ledger.administration.write_off("clinic", pure("11/10"), reason="lost")
        assert (spent(ledger), len(ledger.history("clinic"))) == (0, 3)

    def test_it_counts_when_the_cap_is_raised(self, ledger) -> None:
        ledger.administration.write_off("clinic", pure("2/5"), reason="lost")
        ledger.administration.set_budget("clinic", TWO)
        assert ledger.account("clinic").filters["everyone"].left == Fraction(8, 5)
        verify(ledger)

    def test_a_budget_of_rho_is_written_off_in_rho(self, request) -> None:
        with Place.chosen("sqlite", request).clinic(budget=ConcentratedDP(rho=Fraction(1, 2))) as ledger:
            lost = GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(2))
            ledger.administration.write_off("clinic", lost, reason="lost")
            assert ledger.account("clinic").filters["everyone"].left == Fraction(1, 4)
            verify(ledger)

    def test_one_that_was_booked_for_less_is_found_out(self, ledger) -> None:
        account = ledger.account("clinic")
        line = account.quote(request().charge)
        fields = {"by": "mallory", "reason": "lost", "account": state([line], account)}
        with ledger.store.writing("policy") as transaction:
            transaction.append("write-off", population="clinic", **fields)
        with pytest.raises(LedgerDamagedError, match=r"entry 4 .*does not add up"):
            verify(ledger)


class TestOnlyNamed:
    def test_who_has_no_allowance_is_refused_everything(self, ledger) -> None:
        answer = ask(ledger, "k1", answer="7", analyst="bob").answer
        ledger.administration.set_allowance("clinic", "ana", PureDP(epsilon=Fraction(1, 2)))
        ledger.administration.admit_analysts("clinic", only_named=True)
        with pytest.raises(UnnamedAnalystError, match="'bob' is not among the analysts of population 'clinic'"):
            ledger.questions.charge(request("k2", analyst="bob"))
        with pytest.raises(UnnamedAnalystError):  # stored answers, too, under an old key or a new one
            ledger.questions.charge(request("k1", analyst="bob"))
        with pytest.raises(UnnamedAnalystError):
            ledger.questions.charge(request("k3", question="count k1", analyst="bob"))
        with pytest.raises(UnnamedAnalystError):
            ledger.reservations.open(opening(analyst="bob"))
        assert ask(ledger, "k1", question="count k1", analyst="ana").answer == answer
        ask(ledger, "k4", analyst="ana")
        ledger.administration.admit_analysts("clinic", only_named=False)
        ask(ledger, "k2", analyst="bob")
        verify(ledger)

    def test_an_allowance_that_is_taken_away_takes_the_name_away(self, ledger) -> None:
        ledger.administration.set_allowance("clinic", "ana", ONE)
        ledger.administration.admit_analysts("clinic", only_named=True)
        ledger.administration.set_allowance("clinic", "ana", None)
        with pytest.raises(UnnamedAnalystError):
            ledger.questions.charge(request())

    def test_a_stream_that_was_open_can_be_closed_and_not_asked(self, ledger) -> None:
        ledger.reservations.open(opening(analyst="bob"))
        ledger.administration.admit_analysts("clinic", only_named=True)
        with pytest.raises(UnnamedAnalystError):
            intend_one(ledger, "s", number=1, key="q", question="?", sealed=b"\x01" * 60)
        ledger.reservations.close("s")
        assert spent(ledger) == Fraction(1, 10)
        verify(ledger)


class TestRefusals:
    """Of several accounts that say no, the tightest is told, all are named, and what is proposed is admitted."""

    @pytest.fixture
    def divided(self, ledger) -> Ledger:
        ledger.administration.set_allowance("clinic", "ana", PureDP(epsilon=Fraction(1, 2)))
        ledger.administration.set_allowance("clinic", "bob", PureDP(epsilon=Fraction(4, 5)))
        ask(ledger, "k1", epsilon="1/5", analyst="ana")
        ask(ledger, "k2", epsilon="7/10", analyst="bob")
        return ledger

    @pytest.mark.parametrize(
        ("analyst", "asked", "named"),
        [
            ("ana", "1/5", ["population 'clinic'"]),
            ("ana", "2/5", ["population 'clinic'", "analyst 'ana'"]),
            ("bob", "1/5", ["population 'clinic'", "analyst 'bob'"]),
        ],
    )
    def test_the_tightest_account_is_told(self, divided, analyst, asked, named) -> None:
        with pytest.raises(BudgetExceededError) as refused:
            divided.questions.charge(request("k3", epsilon=asked, analyst=analyst))
        assert refused.value.left == refused.value.fits == Fraction(1, 10)
        assert str(refused.value).endswith(f"raise the cap of {' and of '.join(named)}")
        ask(divided, "k3", epsilon=refused.value.fits, analyst=analyst)

    def test_what_is_proposed_is_admitted_where_the_own_allowance_is_the_tighter_one(self, ledger) -> None:
        ledger.administration.set_allowance("clinic", "bob", PureDP(epsilon=Fraction(1, 4)))
        ask(ledger, "k1", epsilon="1/4", analyst="bob")
        ask(ledger, "k2", epsilon="1/2", analyst="ana")
        with pytest.raises(BudgetExceededError) as refused:
            ledger.questions.charge(request("k3", epsilon="1/2", analyst="bob"))
        assert (refused.value.left, refused.value.fits, refused.value.settings) == (0, 0, {})
        assert str(refused.value) == (
            "epsilon 0.5 is asked and nothing is left: ask the custodian to raise the cap of population 'clinic' "
            "and of analyst 'bob'"
        )
