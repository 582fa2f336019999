"""What the custodian allows, whatever is left: checked before the charge, and told again by verify."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from budgets import PURE, RHO, WITH_DELTA
from lapwing.accounting.filters.charge import DeltaShares, SingleRelease
from lapwing.answers.budget import amounts
from lapwing.ledger.ledger import Ledger, open_ledger
from lapwing.ledger.questions import Released
from lapwing.ledger.replay import verify
from lapwing.ledger.reservation_states import Decision, Intent, RoundOutcome
from lapwing.vocabulary.codec import to_record
from lapwing.vocabulary.errors import LedgerDamagedError, ParameterError, PolicyError
from lapwing.vocabulary.event import ApproximateRelease, GaussianNoise
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, GaussianDP, PureDP
from ledger.clinic import SEED, Place, ask, decide_one, intend_one, opening, request

TENTH = PureDP(epsilon=Fraction(1, 10))


@pytest.fixture(params=["sqlite", "postgres"])
def place(request) -> Place:
    return Place.chosen(request.param, request)


@pytest.fixture
def ledger(place, budget) -> Iterator[Ledger]:
    with place.clinic(budget=budget.promise(1)) as opened:
        yield opened


def taken(ledger: Ledger) -> tuple[Fraction | None, Fraction | None]:
    """Return what is spent and what is reserved, in the currency of the budget."""
    return amounts(ledger.account("clinic"))[:2]


def limit(ledger: Ledger, most: PureDP | None = None, noes_a_day: int | None = None) -> None:
    ledger.administration.set_limits("clinic", most=most, noes_a_day=noes_a_day)


def limit_ana(ledger: Ledger, tables: list[str] | None = None, most: PureDP | None = None) -> None:
    ledger.administration.limit_analyst("clinic", "ana", tables=tables, most=most)


class TestTheMostOfOneQuestion:
    def test_a_dearer_one_is_refused_with_both_numbers_and_nothing_is_charged(self, ledger, budget) -> None:
        limit(ledger, TENTH)
        asked, most = {
            PURE: (r"epsilon 0\.2", r"epsilon 0\.1"),
            WITH_DELTA: (r"epsilon 0\.2 at delta 1e-6", r"epsilon 0\.1, delta 1e-6"),
            RHO: (r"rho 0\.01994", r"rho 0\.004995 \(what epsilon 0\.1 costs\)"),
        }[budget]
        told = f"{asked} is asked at once, and of population 'clinic' at most {most} may be"
        with pytest.raises(PolicyError, match=told):
            ledger.questions.charge(request(epsilon="1/5"))
        assert taken(ledger)[0] == 0
        ask(ledger, epsilon="1/10")
        verify(ledger)

    def test_an_analyst_has_a_limit_of_their_own(self, ledger) -> None:
        limit_ana(ledger, most=TENTH)
        with pytest.raises(PolicyError, match="analyst 'ana' at most") as refused:
            ledger.questions.charge(request(epsilon="1/5"))
        assert refused.value.rule == "most"
        ask(ledger, "k2", epsilon="1/5", analyst="bob")
        verify(ledger)

    def test_a_stream_counts_with_all_that_it_sets_aside(self, ledger, budget) -> None:
        limit(ledger, PureDP(epsilon=Fraction(3, 10)))
        with pytest.raises(PolicyError, match=r"epsilon 0\.4 |rho 0\.07896 is asked"):
            ledger.reservations.open(opening(yeses=3, opening="1/10", price="1/10"))
        ledger.reservations.open(opening(yeses=2, opening="1/10", price="1/10"))
        if budget.currency == "epsilon":
            assert taken(ledger) == (Fraction(1, 10), Fraction(2, 10))
        else:  # which pays for all of it at once, nearly epsilon^2 / 2
            assert taken(ledger) == (pytest.approx(0.3**2 / 2, rel=0.05), 0)
        verify(ledger)

    def test_many_small_questions_are_not_one_large(self, ledger, budget) -> None:
        limit(ledger, TENTH)
        for number in range(10):
            ask(ledger, f"k{number}")
        whole = 1 if budget.currency == "epsilon" else pytest.approx(10 * 0.1**2 / 2, rel=0.05)
        assert taken(ledger)[0] == whole

    def test_stored_answers_and_what_is_written_off_have_no_limit(self, ledger) -> None:
        told = ask(ledger, epsilon="1/5")
        limit(ledger, TENTH)
        assert ledger.questions.charge(request("k", epsilon="1/5")) == told
        ledger.administration.write_off("clinic", request(epsilon="1/2").charge.event, reason="told on paper")
        verify(ledger)

    def test_it_can_be_in_rho(self, place) -> None:
        with place.clinic(budget=ConcentratedDP(rho=Fraction(1))) as ledger:
            limit(ledger, ConcentratedDP(rho=Fraction(1, 100)))
            dear, cheap = (GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=s) for s in (2, 100))
            with pytest.raises(PolicyError, match=r"rho 0\.25 is asked at once.*rho 0\.01"):
                ledger.questions.charge(request(charge=replace(request().charge, event=dear)))
            ledger.questions.charge(request(charge=replace(request().charge, event=cheap)))
            verify(ledger)

    def test_an_epsilon_alone_is_meant_as_the_budget_is(self, ledger, budget) -> None:
        """At the delta of an (epsilon, delta) budget; as the rho of an epsilon where the budget is in rho."""
        limit(ledger, PureDP(epsilon=Fraction(1, 2)))
        open_groups = ApproximateRelease(epsilon=Fraction(1, 2), delta=Fraction(1, 10**6))
        gauss, dear = (GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=s) for s in (100, 4))
        known, account = ledger.population("clinic"), ledger.account("clinic")
        admitted = {
            event: known.forbids("ana", ["patients"], SingleRelease(event=event), account) is None
            for event in (open_groups, gauss, dear)
        }
        with_a_delta = budget is WITH_DELTA
        assert admitted == {open_groups: with_a_delta, gauss: budget is not PURE, dear: False}

    def test_a_question_at_its_very_numbers_is_allowed(self, place) -> None:
        """All of its delta counts: no share of it is kept for what an account would need it for."""
        shares = DeltaShares(failures=Fraction(1, 10))
        with place.clinic(budget=WITH_DELTA.promise(5), shares=shares) as ledger:
            limit(ledger, ApproximateDP(epsilon=Fraction(1), delta=Fraction(1, 10**8)))
            known, account = ledger.population("clinic"), ledger.account("clinic")
            for delta, is_allowed in (("1e-8", True), ("1.001e-8", False)):
                charge = SingleRelease(event=ApproximateRelease(epsilon=Fraction(1), delta=Fraction(delta)))
                refused = known.forbids("ana", ["patients"], charge, account)
                assert (refused is None) is is_allowed
            assert "delta 1.001e-8 is asked at once, and of population 'clinic' at most" in str(refused)
            assert "epsilon 1, delta 1e-8 may be" in str(refused)

    def test_what_is_refused_is_said_in_the_words_of_the_limit(self, ledger, budget) -> None:
        limit(ledger, budget.promise("1/10"))
        dear = SingleRelease(event=GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(4)))
        refused = ledger.population("clinic").forbids("ana", ["patients"], dear, ledger.account("clinic"))
        asked = {
            PURE: "more is asked at once",
            WITH_DELTA: r"epsilon 2\.\d+ at delta 1e-6 is asked at once, .* at most epsilon 0\.1, delta 1e-6 may be",
            RHO: r"rho 0\.125 is asked at once, .* at most rho 0\.1 may be",
        }
        assert re.search(asked[budget], str(refused))

    def test_it_can_be_taken_back(self, ledger) -> None:
        limit(ledger, TENTH)
        limit(ledger)
        ask(ledger, epsilon="1/2")
        verify(ledger)

    def test_a_limit_that_no_account_could_have_is_refused(self, ledger) -> None:
        for set_it in (limit, limit_ana):
            with pytest.raises(ParameterError, match="not a budget that a filter keeps"):
                set_it(ledger, most=GaussianDP(mu_squared=Fraction(1)))
        known = ledger.population("clinic")
        assert (known.most, known.analyst("ana").most) == (None, None)


def test_what_is_forbidden_is_known_before_the_charge(ledger) -> None:
    limit_ana(ledger, ["patients"], TENTH)
    known, account = ledger.population("clinic"), ledger.account("clinic")
    cheap, dear = (request(epsilon=epsilon).charge for epsilon in ("1/10", "1/5"))
    assert known.forbids("ana", ["patients"], cheap, account) is None
    assert known.forbids("bob", ["visits"], dear, account) is None
    told = [known.forbids("ana", ["visits"], cheap, account), known.forbids("ana", ["patients"], dear, account)]
    assert [refused and refused.rule for refused in told] == ["tables", "most"]


class TestTables:
    def test_others_are_refused_and_named(self, ledger) -> None:
        limit_ana(ledger, ["patients"])
        with pytest.raises(PolicyError, match="'ana' may ask about patients, and this is about visits") as refused:
            ledger.questions.charge(request(tables=frozenset({"patients", "visits"})))
        assert (refused.value.rule, taken(ledger)[0]) == ("tables", 0)
        ask(ledger)
        ask(ledger, "k2", tables=frozenset({"visits"}), analyst="bob")
        verify(ledger)

    def test_an_answer_that_somebody_else_paid_for_is_refused_as_well(self, ledger) -> None:
        visits = {"question": "visits", "tables": frozenset({"visits"})}
        ask(ledger, "theirs", analyst="bob", **visits)
        assert isinstance(ledger.questions.charge(request("before", **visits)), Released)
        limit_ana(ledger, ["patients"])
        for key in ("before", "after"):
            with pytest.raises(PolicyError):
                ledger.questions.charge(request(key, **visits))
            with pytest.raises(PolicyError):
                ledger.questions.stored(request(key, **visits))

    def test_a_stream_is_neither_opened_nor_asked_on(self, ledger) -> None:
        ledger.reservations.open(opening())
        limit_ana(ledger, ["visits"])
        with pytest.raises(PolicyError):
            intend_one(ledger, "s", number=1, key="k1", question="q1", sealed=SEED)
        with pytest.raises(PolicyError):
            ledger.streams.intend("s", number=1, key="k1", questions=["q1"], sealed=SEED)
        with pytest.raises(PolicyError):
            ledger.reservations.open(opening("t"))
        ledger.reservations.close("s")
        verify(ledger)

    def test_only_tables_that_there_are_can_be_named(self, ledger) -> None:
        with pytest.raises(ParameterError, match="notes"):
            limit_ana(ledger, ["patients", "notes"])


class TestNoesADay:
    @pytest.fixture
    def now(self) -> list[datetime]:
        return [datetime(2026, 3, 1, 12, tzinfo=UTC)]

    @pytest.fixture
    def ledger(self, place, now, budget) -> Iterator[Ledger]:
        place.clinic(budget=budget.promise(1)).close()
        with open_ledger(place.database(), clock=lambda: now[0]) as opened:
            limit(opened, noes_a_day=3)
            for stream, analyst in (("s", "ana"), ("t", "ana"), ("u", "bob")):
                opened.reservations.open(opening(stream, analyst=analyst, opening="1/20", price="1/20"))
            yield opened

    def no(self, ledger: Ledger, stream: str) -> Decision:
        number = ledger.reservations.find(stream).asked + 1
        key = f"{stream} {number}"
        assert isinstance(intend_one(ledger, stream, number=number, key=key, question=key, sealed=SEED), Intent)
        return decide_one(ledger, stream, number=number, outcome=RoundOutcome.NO, answer="no")

    def test_more_are_refused_until_the_next_day_in_all_streams_of_an_analyst(self, ledger, now) -> None:
        for stream in ("s", "t", "s"):
            self.no(ledger, stream)
        for stream in ("s", "t"):
            with pytest.raises(
                PolicyError, match=r"on 2026-03-01 this would be question 4 of 'ana'.*3 a day"
            ) as refused:
                self.no(ledger, stream)
            assert refused.value.rule == "noes_a_day"
        self.no(ledger, "u")
        now[0] += timedelta(days=1)
        self.no(ledger, "s")
        verify(ledger)

    def test_a_batch_counts_with_all_its_questions_and_is_refused_whole(self, ledger) -> None:
        self.no(ledger, "s")
        with pytest.raises(PolicyError, match="question 4"):
            ledger.streams.intend("s", number=2, key="b", questions=["x", "y", "z"], sealed=SEED)
        intent, _ = ledger.streams.intend("s", number=2, key="b", questions=["x", "y"], sealed=SEED)
        assert intent is not None
        verify(ledger)

    def test_asking_again_is_free_and_counts_nothing(self, ledger) -> None:
        for _ in range(3):
            self.no(ledger, "s")
        assert isinstance(intend_one(ledger, "s", number=4, key="s 1", question="s 1", sealed=SEED), Decision)

    def test_a_limit_that_is_taken_back_and_set_again_begins_anew(self, ledger) -> None:
        for _ in range(3):
            self.no(ledger, "s")
        limit(ledger)
        self.no(ledger, "s")
        limit(ledger, noes_a_day=1)
        self.no(ledger, "s")
        with pytest.raises(PolicyError):
            self.no(ledger, "s")
        verify(ledger)


class TestVerify:
    """A ledger that was written by somebody who does not keep to the policy."""

    @pytest.mark.parametrize("forbidden", [{"epsilon": "1/5"}, {"tables": frozenset({"visits"})}])
    def test_a_charge_that_was_forbidden_is_found(self, ledger, monkeypatch, forbidden) -> None:
        limit_ana(ledger, ["patients"], TENTH)
        with monkeypatch.context() as careless:
            record = type(ledger.population("clinic"))
            careless.setattr(record, "require_price", lambda *_: None)
            careless.setattr(record, "require_tables", lambda *_: None)
            charged = ask(ledger, **forbidden)
        with pytest.raises(LedgerDamagedError, match="makes no sense") as found:
            verify(ledger)
        assert found.value.seq == charged.receipt.seq - 1

    def test_a_question_that_was_not_counted_is_found(self, ledger, monkeypatch) -> None:
        limit(ledger, noes_a_day=1)
        ledger.reservations.open(opening())
        monkeypatch.setattr("lapwing.ledger.streams._asked_today", lambda *_: {"today": ["2026-03-01", 0]})
        intend_one(ledger, "s", number=1, key="k1", question="q1", sealed=SEED)
        with pytest.raises(LedgerDamagedError, match="does not count"):
            verify(ledger)

    def test_limits_decide_nothing_else(self, ledger) -> None:
        known = replace(ledger.population("clinic"), most=TENTH, suspended=True)
        with ledger.store.writing("policy") as transaction:
            said = {"by": "me", "change": "limits", "policy": to_record(known)}
            transaction.append("policy", population="clinic", **said)
        with pytest.raises(LedgerDamagedError, match="decides more than the limits"):
            verify(ledger)
