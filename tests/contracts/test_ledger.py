"""What every ledger promises, wherever it is kept: one suite over SQLite and PostgreSQL."""

import json
import threading
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import duckdb
import pytest

from lapwing.accounting.filters.charge import SingleRelease
from lapwing.ledger.entries import Receipt
from lapwing.ledger.export import check_export, export_json, export_parquet
from lapwing.ledger.questions import Charged
from lapwing.ledger.replay import verify
from lapwing.ledger.reservation_states import Decision, Intent, ReservationStatus, RoundOutcome
from lapwing.vocabulary.errors import (
    BudgetExceededError,
    LedgerRolledBackError,
    ParameterError,
    RequestConflictError,
    StreamBusyError,
    StreamClosedError,
    StreamHaltedError,
    SuspendedError,
    UnansweredError,
)
from lapwing.vocabulary.event import GaussianNoise
from lapwing.vocabulary.guarantee import Adjacency, ConcentratedDP, PrivacyUnit, PureDP
from ledger.clinic import (
    PEOPLE,
    SECRET,
    SEED,
    Place,
    ask,
    decide_one,
    intend_one,
    opening,
    pure,
    request,
    reserved,
    spent,
)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request) -> Place:
    return Place.chosen(request.param, request)


@pytest.fixture
def ledger(place):
    with place.clinic() as ledger:
        yield ledger
        verify(ledger)


class TestAccounts:
    @pytest.mark.catalogue("P25")
    def test_what_is_charged_is_spent_exactly(self, ledger) -> None:
        for i in range(10):
            ask(ledger, f"k{i}", epsilon="0.1")
        assert spent(ledger) == 1

    def test_the_cap_is_never_passed_and_a_refusal_changes_nothing(self, ledger) -> None:
        ask(ledger, "k1", epsilon="3/5")
        before = ledger.head()
        with pytest.raises(BudgetExceededError, match=r"epsilon 0.5 is asked and 0.4 is left.*population 'clinic'"):
            ledger.questions.charge(request("k2", epsilon="1/2"))
        assert ledger.head() == before
        ask(ledger, "k2", epsilon="2/5")
        assert spent(ledger) == 1

    def test_two_colluding_analysts_share_one_cap(self, ledger) -> None:
        ask(ledger, "k1", epsilon="3/5", analyst="ana")
        with pytest.raises(BudgetExceededError):
            ledger.questions.charge(request("k2", epsilon="3/5", analyst="bob"))

    def test_two_tables_of_one_population_share_one_cap(self, ledger) -> None:
        ask(ledger, "k1", epsilon="3/5", tables=frozenset({"patients"}))
        with pytest.raises(BudgetExceededError):
            ledger.questions.charge(request("k2", epsilon="3/5", tables=frozenset({"visits"})))

    def test_two_populations_have_two_accounts(self, ledger) -> None:
        ledger.administration.create_population("school", unit=PEOPLE, budget=PureDP(epsilon=Fraction(1)))
        ledger.administration.add_table("school", "pupils")
        ask(ledger, "k1", epsilon=1)
        ask(ledger, "k1", epsilon=1, population="school", tables=frozenset({"pupils"}))
        assert ledger.populations() == ["clinic", "school"]
        assert spent(ledger, "clinic") == spent(ledger, "school") == 1

    def test_an_allowance_limits_one_analyst_below_the_cap(self, ledger) -> None:
        ledger.administration.set_allowance("clinic", "ana", PureDP(epsilon=Fraction(1, 5)))
        ask(ledger, "k1", epsilon="1/5", analyst="ana")
        with pytest.raises(BudgetExceededError, match="analyst 'ana'"):
            ledger.questions.charge(request("k2", epsilon="1/100", analyst="ana"))
        ask(ledger, "k2", epsilon="4/5", analyst="bob")
        assert ledger.snapshot("clinic", "ana").allowance.filters["everyone"].left == 0
        assert ledger.snapshot("clinic", "bob").allowance is None

    def test_an_allowance_counts_what_was_spent_before_it_was_set(self, ledger) -> None:
        ask(ledger, "k1", epsilon="1/5", analyst="ana")
        ask(ledger, "k2", epsilon="1/5", analyst="bob")
        said = r"allowance of ana = 'epsilon 0\.1' is less than what was released to them already, epsilon 0\.2; write"
        with pytest.raises(ParameterError, match=said):
            ledger.administration.set_allowance("clinic", "ana", PureDP(epsilon=Fraction(1, 10)))
        ledger.administration.set_allowance("clinic", "ana", PureDP(epsilon=Fraction(3, 10)))
        assert ledger.snapshot("clinic", "ana").allowance.filters["everyone"].left == Fraction(1, 10)

    def test_taking_an_allowance_away_and_giving_it_again_forgets_nothing(self, ledger) -> None:
        ledger.administration.set_allowance("clinic", "ana", PureDP(epsilon=Fraction(1, 2)))
        ask(ledger, "k1", epsilon="1/5")
        ledger.administration.set_allowance("clinic", "ana", None)
        ask(ledger, "k2", epsilon="1/5")
        ledger.administration.set_allowance("clinic", "ana", PureDP(epsilon=Fraction(1, 2)))
        assert ledger.snapshot("clinic", "ana").allowance.filters["everyone"].left == Fraction(1, 10)

    @pytest.mark.catalogue("L19", "L20")
    def test_a_raised_cap_keeps_the_past_and_a_cap_below_it_is_refused(self, ledger) -> None:
        ask(ledger, "k1", epsilon="4/5")
        ledger.administration.set_budget("clinic", PureDP(epsilon=Fraction(2)), by="the board")
        assert ledger.account("clinic").filters["everyone"].left == Fraction(6, 5)
        with pytest.raises(ParameterError, match=r"is not above .*suspend"):
            ledger.administration.set_budget("clinic", PureDP(epsilon=Fraction(1, 2)))
        raised = [record for record in ledger.history("clinic") if record.get("change") == "budget"]
        assert [record["by"] for record in raised] == ["the board"]
        ask(ledger, "k2", epsilon="6/5")

    def test_suspended_spending_stops_and_stored_answers_are_still_given(self, ledger) -> None:
        ask(ledger, "k1", answer="7")
        ledger.administration.suspend("clinic")
        with pytest.raises(SuspendedError, match="population 'clinic'"):
            ledger.questions.charge(request("k2"))
        assert ask(ledger, "k1").answer == "7"
        ledger.administration.resume("clinic")
        ledger.administration.suspend("clinic", "ana")
        with pytest.raises(SuspendedError, match="analyst 'ana'"):
            ledger.questions.charge(request("k3"))
        ask(ledger, "k3", analyst="bob")

    def test_a_concentrated_budget_adds_up_rhos(self, place) -> None:
        with place.clinic(budget=ConcentratedDP(rho=Fraction(1, 2))) as ledger:
            gaussian = GaussianNoise(l2_sensitivity_squared=Fraction(1), sigma_squared=Fraction(4))
            for i in range(4):
                ledger.questions.charge(request(f"k{i}", charge=SingleRelease(event=gaussian)))
            with pytest.raises(BudgetExceededError, match="rho"):
                ledger.questions.charge(request("k4", charge=SingleRelease(event=gaussian)))
            verify(ledger)

    @pytest.mark.catalogue("L17")
    def test_the_smallest_cost_is_counted_in_full(self, ledger) -> None:
        with pytest.raises(ParameterError, match="at most 12 digits"):
            ask(ledger, "k0", epsilon=Fraction(1, 10**9 + 7))
        ask(ledger, "k1", epsilon="1e-30")
        ask(ledger, "k2", epsilon=1 - Fraction(1, 10**30))
        assert spent(ledger) == 1

    @pytest.mark.parametrize("jump", [-365, 365], ids=["a year back", "a year ahead"])
    @pytest.mark.catalogue("L11")
    def test_a_clock_that_jumps_changes_no_order_and_no_budget(self, ledger, jump) -> None:
        ask(ledger, "k1", epsilon="1/2")
        jumped = datetime.now(UTC) + timedelta(days=jump)
        ledger.store._clock = lambda: jumped
        ask(ledger, "k2", epsilon="1/2")
        with pytest.raises(BudgetExceededError):
            ledger.questions.charge(request("k3", epsilon="1/100"))
        charges = [record for record in ledger.history("clinic") if record["kind"] == "charge"]
        assert [charge["request"] for charge in charges] == ["k1", "k2"]
        assert charges[1]["at"].startswith(f"{jumped:%Y-%m-%d}")

    def test_names_that_are_taken_or_unknown_are_refused_with_what_there_is(self, ledger) -> None:
        with pytest.raises(ParameterError, match="exists already"):
            ledger.administration.create_population("clinic", unit=PEOPLE, budget=PureDP(epsilon=Fraction(9)))
        with pytest.raises(ParameterError, match="these are: clinic"):
            ledger.questions.charge(request(population="hospital"))
        with pytest.raises(ParameterError, match=r"patients.*visits"):
            ledger.questions.charge(request(tables=frozenset({"doctors"})))
        with pytest.raises(ParameterError, match="belongs to population 'clinic' already, at version 1"):
            ledger.administration.add_table("clinic", "patients")


class TestPartitions:
    def test_each_segment_has_a_cap_of_its_own(self, place) -> None:
        with place.clinic(segments=["north", "south"]) as ledger:
            ask(ledger, "k1", epsilon=1, segments=frozenset({"north"}))
            ask(ledger, "k2", epsilon="1/2", segments=frozenset({"south"}))
            with pytest.raises(BudgetExceededError, match="segment 'north'"):
                ledger.questions.charge(request("k3", epsilon="1/100"))
            ask(ledger, "k4", epsilon="1/2", segments=frozenset({"south"}))
            assert spent(ledger, segment="north") == spent(ledger, segment="south") == 1
            verify(ledger)

    def test_under_replacement_any_two_segments_together_keep_the_cap(self, place) -> None:
        unit = PrivacyUnit(person_key="id", adjacency=Adjacency.REPLACE)
        with place.clinic(unit=unit, segments=["north", "south"]) as ledger:
            ask(ledger, "k1", epsilon="1/2", segments=frozenset({"north"}))
            with pytest.raises(BudgetExceededError):
                ledger.questions.charge(request("k2", epsilon="1/100", segments=frozenset({"north"})))

    def test_a_yes_is_charged_to_every_segment_of_the_streams_scope(self, place) -> None:
        with place.clinic(segments=["east", "north", "south"]) as ledger:
            scope = frozenset({"north", "south"})
            ledger.reservations.open(opening(segments=scope))
            _question(ledger, 1, RoundOutcome.YES)
            assert {segment: spent(ledger, segment=segment) for segment in ("east", "north", "south")} == {
                "east": 0,
                "north": Fraction(1, 5),
                "south": Fraction(1, 5),
            }
            verify(ledger)


class TestIdempotency:
    def test_the_same_key_brings_back_the_same_bytes_for_ever(self, place, ledger) -> None:
        first = ask(ledger, "k1", answer='{"value":17}')
        ledger.administration.advance_version("clinic", "patients")
        with place.open() as again:
            assert again.questions.charge(request("k1")) == first
        assert spent(ledger) == Fraction(1, 10)

    @pytest.mark.catalogue("L24")
    def test_the_same_key_for_another_request_is_refused(self, ledger) -> None:
        ask(ledger, "k1")
        for changed in ({"epsilon": "1/5"}, {"question": "other"}, {"tables": frozenset({"visits"})}):
            with pytest.raises(RequestConflictError, match=r"entry 4 of the ledger"):
                ledger.questions.charge(request("k1", **changed))

    def test_keys_of_different_analysts_do_not_meet(self, ledger) -> None:
        ask(ledger, "k1", question="a", analyst="ana")
        ask(ledger, "k1", question="b", analyst="bob")
        assert spent(ledger) == Fraction(1, 5)

    def test_an_identical_question_is_answered_from_the_store_free_to_anyone(self, ledger) -> None:
        first = ask(ledger, "k1", question="q", answer="7")
        again = ledger.questions.charge(request("k2", question="q", analyst="bob"))
        assert again == first
        assert spent(ledger) == Fraction(1, 10)

    def test_a_key_that_was_served_from_the_store_is_used_up_too(self, ledger) -> None:
        first = ask(ledger, "k1", question="q")
        ledger.questions.charge(request("k2", question="q"))
        ledger.administration.advance_version("clinic", "patients")
        assert ledger.questions.charge(request("k2", question="q")) == first
        with pytest.raises(RequestConflictError):
            ledger.questions.charge(request("k2", question="p"))

    @pytest.mark.catalogue("L21")
    def test_a_new_data_version_is_a_new_question_and_resets_nothing(self, ledger) -> None:
        ask(ledger, "k1", question="q", epsilon="1/2")
        assert ledger.administration.advance_version("clinic", "patients") == 2
        fresh = ledger.questions.charge(request("k2", question="q", epsilon="1/2"))
        assert isinstance(fresh, Charged)
        assert dict(fresh.versions) == {"patients": 2}
        assert spent(ledger) == 1

    def test_the_version_of_a_table_that_is_not_read_does_not_matter(self, ledger) -> None:
        first = ask(ledger, "k1", question="q")
        ledger.administration.advance_version("clinic", "visits")
        assert ledger.questions.charge(request("k2", question="q")) == first

    def test_a_charge_has_one_end(self, ledger) -> None:
        charged = ledger.questions.charge(request("k1"))
        first = ledger.questions.answer(charged.seq, "7")
        assert ledger.questions.answer(charged.seq, "8") == first
        ledger.questions.lose(charged.seq)
        assert ledger.questions.charge(request("k1")) == first

    def test_a_charge_without_an_answer_is_not_tried_again(self, ledger) -> None:
        charged = ledger.questions.charge(request("k1"))
        with pytest.raises(UnansweredError, match=r"entry 4 .* not answered yet") as waiting:
            ledger.questions.charge(request("k1"))
        assert not waiting.value.lost
        ledger.questions.lose(charged.seq)
        with pytest.raises(UnansweredError, match="lost after it was charged; ask again under a new key"):
            ledger.questions.charge(request("k1"))
        with pytest.raises(UnansweredError):
            ledger.questions.answer(charged.seq, "too late")
        assert spent(ledger) == Fraction(1, 10)

    def test_what_is_no_charge_cannot_be_answered(self, ledger) -> None:
        for seq in (1, 99):
            with pytest.raises(ParameterError, match="is not a charge"):
                ledger.questions.answer(seq, "7")


def _question(ledger, number: int, outcome: RoundOutcome, *, stream: str = "s", **ending) -> Decision:
    intent = intend_one(ledger, stream, number=number, key=f"{stream} {number}", question=f"q{number}", sealed=SEED)
    assert isinstance(intent, Intent)
    answer = None if outcome is RoundOutcome.LOST else outcome.value
    return decide_one(ledger, stream, number=number, outcome=outcome, answer=answer, **ending)


class TestCustody:
    def test_history_tells_what_happened_to_one_population(self, ledger) -> None:
        ledger.administration.create_population("school", unit=PEOPLE, budget=PureDP(epsilon=Fraction(1)))
        ask(ledger, "k1")
        assert [record["kind"] for record in ledger.history("clinic")] == [
            *("population", "policy", "policy", "charge", "answer")
        ]
        with pytest.raises(ParameterError, match="these are: clinic, school"):
            ledger.history("hospital")

    def test_what_would_be_free_can_be_asked_for_without_a_trace(self, ledger) -> None:
        first = ask(ledger, "k1", question="q")
        before = ledger.head()
        assert ledger.questions.stored(request("k1", question="q")) == first
        assert ledger.questions.stored(request("k2", question="q")) == first
        assert ledger.questions.stored(request("k3", question="p")) is None
        with pytest.raises(RequestConflictError):
            ledger.questions.stored(request("k1", question="p"))
        assert ledger.head() == before

    def test_what_is_read_at_once_is_read_anew_where_it_needs_a_second_statement(self, place, ledger) -> None:
        """The second one would see another moment: here somebody charges between the two."""
        seen = []

        def read(transaction) -> tuple[int, int]:
            seen.append(transaction.last)
            if len(seen) == 1:
                with place.open() as other:
                    ask(other, "k1")
            entries = transaction.some("order by seq")
            return transaction.last, entries[-1].seq

        before = ledger.head().seq
        assert ledger.store.read(read) == (before + 2, before + 2)
        assert seen == [before, before + 2]

    def test_what_is_read_inside_a_transaction_is_of_its_moment(self, place, ledger) -> None:
        with ledger.store.reading() as outer:
            with place.open() as other:
                ask(other, "k1")
            assert ledger.store.read(lambda transaction: transaction.last) == outer.last
        assert ledger.last_entry() == outer.last + 2

    def test_one_statement_is_enough_to_refuse_a_ledger_that_went_back(self, ledger) -> None:
        ahead = replace(ledger.head(), seq=ledger.head().seq + 1)
        ledger.store._seen = ahead
        with pytest.raises(LedgerRolledBackError, match="older than a receipt"):
            ledger.population("clinic")
        ledger.store._seen = None


class TestStreams:
    def test_noes_are_free_and_each_yes_has_its_price(self, ledger) -> None:
        ledger.reservations.open(opening())
        assert (spent(ledger), reserved(ledger)) == (Fraction(1, 10), Fraction(3, 10))
        for number in range(1, 4):
            assert _question(ledger, number, RoundOutcome.NO).answer == "no"
        assert (spent(ledger), reserved(ledger)) == (Fraction(1, 10), Fraction(3, 10))
        _question(ledger, 4, RoundOutcome.YES)
        assert (spent(ledger), reserved(ledger)) == (Fraction(1, 5), Fraction(1, 5))

    def test_a_yes_can_always_be_paid(self, ledger) -> None:
        ledger.reservations.open(opening())
        ask(ledger, "k1", epsilon="6/10")
        with pytest.raises(BudgetExceededError):
            ledger.questions.charge(request("k2", epsilon="1/100"))
        for number in range(1, 4):
            _question(ledger, number, RoundOutcome.YES)
        assert spent(ledger) == 1

    def test_a_stream_that_does_not_fit_is_not_opened_and_leaves_no_secret(self, ledger) -> None:
        with pytest.raises(BudgetExceededError):
            ledger.reservations.open(opening(opening=1))
        with pytest.raises(ParameterError, match="is not in this ledger"):
            ledger.reservations.find("s")
        assert _secrets(ledger) == []

    def test_the_last_yes_halts_it_and_destroys_its_secrets(self, ledger) -> None:
        ledger.reservations.open(opening(yeses=2))
        _question(ledger, 1, RoundOutcome.YES)
        assert _question(ledger, 2, RoundOutcome.YES).status is ReservationStatus.HALTED
        with pytest.raises(StreamHaltedError):
            intend_one(ledger, "s", number=3, key="x", question="q3", sealed=SEED)
        assert _secrets(ledger) == []
        assert ledger.account("clinic").streams == {}

    def test_closing_gives_back_what_no_yes_has_used_and_never_the_opening(self, ledger) -> None:
        ledger.reservations.open(opening())
        _question(ledger, 1, RoundOutcome.YES)
        assert ledger.reservations.close("s").status is ReservationStatus.CLOSED
        assert (spent(ledger), reserved(ledger)) == (Fraction(1, 5), 0)
        assert _secrets(ledger) == []
        assert ledger.reservations.close("s").status is ReservationStatus.CLOSED
        with pytest.raises(StreamClosedError):
            intend_one(ledger, "s", number=2, key="x", question="q2", sealed=SEED)

    def test_one_question_is_in_flight_at_a_time_and_none_at_closing(self, ledger) -> None:
        ledger.reservations.open(opening())
        intend_one(ledger, "s", number=1, key="a", question="q1", sealed=SEED)
        for act in (
            lambda: intend_one(ledger, "s", number=2, key="b", question="q2", sealed=SEED),
            lambda: intend_one(ledger, "s", number=1, key="a", question="q1", sealed=SEED),
            lambda: ledger.reservations.close("s"),
        ):
            with pytest.raises(StreamBusyError, match="question 1 of stream 's' has no outcome yet"):
                act()

    def test_questions_are_numbered_without_a_gap(self, ledger) -> None:
        ledger.reservations.open(opening())
        with pytest.raises(ParameterError, match="ask as 1"):
            intend_one(ledger, "s", number=2, key="a", question="q", sealed=SEED)
        with pytest.raises(ParameterError, match="was never asked"):
            decide_one(ledger, "s", number=1, outcome=RoundOutcome.NO, answer="no")

    def test_an_answer_goes_with_an_outcome_that_was_not_lost(self, ledger) -> None:
        ledger.reservations.open(opening())
        intend_one(ledger, "s", number=1, key="a", question="q", sealed=SEED)
        for outcome, answer in ((RoundOutcome.LOST, "yes"), (RoundOutcome.YES, None), (RoundOutcome.NO, None)):
            with pytest.raises(ParameterError, match="answer = "):
                ledger.streams.decide("s", number=1, answers=[(outcome, answer)])

    def test_a_lost_answer_costs_as_much_as_a_yes(self, ledger) -> None:
        ledger.reservations.open(opening(yeses=2))
        _question(ledger, 1, RoundOutcome.LOST)
        assert spent(ledger) == Fraction(1, 5)
        _question(ledger, 2, RoundOutcome.LOST)
        assert ledger.reservations.find("s").status is ReservationStatus.HALTED
        assert spent(ledger) == Fraction(3, 10)

    def test_the_first_outcome_of_a_question_stands(self, ledger) -> None:
        ledger.reservations.open(opening())
        first = _question(ledger, 1, RoundOutcome.NO)
        assert decide_one(ledger, "s", number=1, outcome=RoundOutcome.YES, answer="yes") == first
        assert decide_one(ledger, "s", number=1, outcome=RoundOutcome.LOST) == first
        assert spent(ledger) == Fraction(1, 10)

    def test_the_same_key_or_question_brings_back_the_outcome_even_after_the_end(self, ledger) -> None:
        ledger.reservations.open(opening(yeses=1))
        first = _question(ledger, 1, RoundOutcome.YES)
        for key, question in (("s 1", "q1"), ("another", "q1"), ("another", "q1")):
            assert intend_one(ledger, "s", number=9, key=key, question=question, sealed=SEED) == first
        with pytest.raises(RequestConflictError):
            intend_one(ledger, "s", number=9, key="s 1", question="q2", sealed=SEED)

    def test_a_lost_question_is_not_answered_from_the_store(self, ledger) -> None:
        ledger.reservations.open(opening())
        assert _question(ledger, 1, RoundOutcome.LOST) is None
        with pytest.raises(UnansweredError, match=r"'s 1'.*was lost after it was charged"):
            intend_one(ledger, "s", number=2, key="s 1", question="q1", sealed=SEED)
        assert isinstance(intend_one(ledger, "s", number=2, key="new", question="q1", sealed=SEED), Intent)

    def test_no_repr_shows_a_sealed_secret(self, ledger) -> None:
        wanted = opening()
        stream = ledger.reservations.open(wanted)
        intent = intend_one(ledger, "s", number=1, key="a", question="q", sealed=SEED)
        shown = f"{wanted!r} {stream!r} {intent!r} {ledger.reservations.find('s')!r}"
        assert repr(SECRET) not in shown
        assert repr(SEED) not in shown

    def test_it_goes_on_in_another_process_with_all_it_needs(self, place, ledger) -> None:
        ledger.reservations.open(opening())
        _question(ledger, 1, RoundOutcome.YES, sealed=b"\x18" * len(SECRET))
        intend_one(ledger, "s", number=2, key="k2", question="q2", sealed=SEED)
        with place.open() as again:
            stream = again.reservations.find("s")
            assert (stream.status, stream.asked, stream.used, stream.seals) == (ReservationStatus.OPEN, 2, 1, 2)
            assert stream.sealed == b"\x18" * len(SECRET)
            assert (stream.terms, stream.tables) == ('{"at_least":200}', frozenset({"patients"}))
            assert again.reservations.unsettled() == [stream.in_flight]
            assert (stream.in_flight.number, stream.in_flight.questions, stream.in_flight.sealed) == (2, ("q2",), SEED)
            decide_one(again, "s", number=2, outcome=RoundOutcome.NO, answer="no")
            assert again.reservations.unsettled() == []

    def test_opening_again_under_the_same_key_returns_the_stream_with_its_first_secret(self, ledger) -> None:
        ledger.reservations.open(opening())
        again = ledger.reservations.open(opening(sealed=b"\x99" * 77))
        assert again.sealed == SECRET
        assert spent(ledger) == Fraction(1, 10)
        with pytest.raises(ParameterError, match="is a stream of this ledger already"):
            ledger.reservations.open(opening(key="other"))
        with pytest.raises(RequestConflictError):
            ledger.reservations.open(opening(terms="{}"))

    def test_a_sealed_state_must_keep_its_width(self, ledger) -> None:
        ledger.reservations.open(opening())
        intend_one(ledger, "s", number=1, key="a", question="q", sealed=SEED)
        with pytest.raises(ParameterError, match="fixed width") as refused:
            decide_one(ledger, "s", number=1, outcome=RoundOutcome.NO, answer="no", sealed=b"short")
        assert "short" not in str(refused.value)

    def test_a_yes_of_several_units_and_a_halt_before_the_dearest_yes_would_not_fit(self, ledger) -> None:
        ledger.reservations.open(opening(yeses=3, dearest=2))
        assert _question(ledger, 1, RoundOutcome.YES, units=2).status is ReservationStatus.HALTED
        assert (spent(ledger), reserved(ledger)) == (Fraction(3, 10), 0)
        ledger.reservations.open(opening("t", yeses=3, dearest=2))
        with pytest.raises(ParameterError, match="more than the dearest yes"):
            _question(ledger, 1, RoundOutcome.YES, stream="t", units=3)

    def test_a_population_that_is_not_there_is_said_to_be_missing(self, ledger) -> None:
        for look in (ledger.account, ledger.administration.is_correctable):
            with pytest.raises(ParameterError, match="'ward' is not in this ledger; these are: clinic"):
                look("ward")

    def test_a_stream_that_has_ended_has_no_units_left(self, ledger) -> None:
        ledger.reservations.open(opening(yeses=3))
        assert ledger.reservations.find("s").units_left == 3
        _question(ledger, 1, RoundOutcome.YES)
        assert ledger.reservations.find("s").units_left == 2
        assert ledger.reservations.close("s").units_left == 0

    def test_all_streams_of_a_population_are_listed(self, ledger) -> None:
        ledger.reservations.open(opening("s", yeses=1))
        _question(ledger, 1, RoundOutcome.YES)
        ledger.reservations.open(opening("t", yeses=1))
        listed = [(stream.name, stream.status) for stream in ledger.reservations.all("clinic")]
        assert listed == [("s", ReservationStatus.HALTED), ("t", ReservationStatus.OPEN)]

    def test_forfeiting_spends_the_whole_reserve_and_loses_the_question_in_flight(self, ledger) -> None:
        ledger.reservations.open(opening())
        intend_one(ledger, "s", number=1, key="a", question="q", sealed=SEED)
        assert ledger.reservations.forfeit("s").status is ReservationStatus.CLOSED
        assert (spent(ledger), reserved(ledger)) == (Fraction(2, 5), 0)
        with pytest.raises(UnansweredError, match="was lost after it was charged"):
            intend_one(ledger, "s", number=1, key="a", question="q", sealed=SEED)
        assert _secrets(ledger) == []

    def test_a_stream_paid_whole_gives_nothing_back_and_takes_no_more_questions_than_it_was_priced_for(
        self, ledger
    ) -> None:
        ledger.reservations.open(opening(charge=SingleRelease(event=pure("1/2")), rounds=2))
        _question(ledger, 1, RoundOutcome.YES)
        assert _question(ledger, 2, RoundOutcome.NO).status is ReservationStatus.HALTED
        assert spent(ledger) == Fraction(1, 2)
        with pytest.raises(Exception, match="was opened for 2 questions"):
            intend_one(ledger, "s", number=3, key="x", question="q3", sealed=SEED)

    def test_a_concentrated_budget_pays_the_whole_stream_at_its_opening(self, place) -> None:
        with place.clinic(budget=ConcentratedDP(rho=Fraction(1))) as ledger:
            ledger.reservations.open(opening())
            paid = ledger.account("clinic").filters["everyone"].spent
            _question(ledger, 1, RoundOutcome.YES)
            ledger.reservations.close("s")
            assert ledger.account("clinic").filters["everyone"].spent == paid > 0
            verify(ledger)

    def test_an_analysts_allowance_pays_for_their_streams(self, ledger) -> None:
        ledger.administration.set_allowance("clinic", "ana", PureDP(epsilon=Fraction(1, 2)))
        ledger.reservations.open(opening())
        _question(ledger, 1, RoundOutcome.YES)
        own = ledger.snapshot("clinic", "ana").allowance.filters["everyone"]
        assert (own.spent, own.reserved) == (Fraction(1, 5), Fraction(1, 5))
        with pytest.raises(BudgetExceededError, match="analyst 'ana'"):
            ledger.questions.charge(request("k1", epsilon="1/5"))
        ledger.reservations.close("s")
        ask(ledger, "k1", epsilon="3/10")

    def test_a_suspended_analyst_asks_no_stream(self, ledger) -> None:
        ledger.reservations.open(opening())
        ledger.administration.suspend("clinic", "ana")
        with pytest.raises(SuspendedError):
            intend_one(ledger, "s", number=1, key="a", question="q", sealed=SEED)


def _secrets(ledger) -> list:
    with ledger.store.reading() as rows:
        return rows.all("select stream, number, sealed from secrets")


class TestRecovery:
    @pytest.mark.catalogue("L25")
    def test_what_has_no_end_is_listed(self, place, ledger) -> None:
        charged = ledger.questions.charge(request("k1"))
        ask(ledger, "k2")
        with place.open() as again:
            (left,) = again.questions.unsettled()
            assert (left.seq, left.population, left.analyst, left.key) == (charged.seq, "clinic", "ana", "k1")
            again.questions.lose(left.seq)
            assert again.questions.unsettled() == []

    def test_a_ledger_is_the_same_after_reopening(self, place, ledger) -> None:
        ask(ledger, "k1")
        ledger.reservations.open(opening())
        with place.open() as again:
            assert again.head() == ledger.head()
            assert again.account("clinic") == ledger.account("clinic")
            assert again.population("clinic") == ledger.population("clinic")


class TestReceipts:
    def test_a_receipt_is_found_again(self, place, ledger) -> None:
        receipts = [ask(ledger, f"k{i}").receipt for i in range(3)]
        with place.open(receipts=receipts) as again:
            assert verify(again, receipts).receipts == 3

    def test_a_receipt_from_the_future_shows_that_the_ledger_is_old(self, place, ledger) -> None:
        last = ledger.head()
        future = replace(last, seq=last.seq + 7)
        with pytest.raises(LedgerRolledBackError, match=f"older than a receipt.*ends at entry {last.seq}") as refused:
            place.open(receipts=[future])
        assert (refused.value.seq, refused.value.last) == (last.seq + 7, last.seq)

    def test_a_receipt_with_another_hash_shows_another_past(self, place, ledger) -> None:
        forged = replace(ledger.head(), hash="00" * 32)
        with pytest.raises(LedgerRolledBackError, match="another past"):
            place.open(receipts=[forged])

    def test_a_receipt_of_another_ledger_is_recognised(self, ledger) -> None:
        with pytest.raises(LedgerRolledBackError, match="issued by ledger 9999, and this is ledger 2f1c"):
            ledger.require(replace(ledger.head(), ledger="9999"))

    def test_it_depends_on_what_was_released_and_on_nothing_secret(self, place, tmp_path) -> None:
        """Two ledgers with the same public history have the same hashes, whatever their secrets."""
        other = Place.in_file(tmp_path / "other.db")
        heads = []
        for where, secret in ((place, SECRET), (other, b"\x99" * 77)):
            with where.clinic() as ledger:
                clock = ledger.store._clock().replace(microsecond=0)
                ledger.store._clock = lambda clock=clock: clock.replace(year=2020, month=1, day=1, hour=0)
                ledger.reservations.open(opening(sealed=secret))
                intend_one(ledger, "s", number=1, key="a", question="q", sealed=secret)
                decide_one(ledger, "s", number=1, outcome=RoundOutcome.YES, answer="yes")
                with ledger.store.reading() as book:
                    heads.append([entry.body for entry in book.entries()][3:])
        assert [_timeless(body) for body in heads[0]] == [_timeless(body) for body in heads[1]]
        assert SECRET.hex() not in str(heads)

    def test_an_answer_does_not_say_how_long_it_took(self, ledger) -> None:
        ask(ledger, "k1")
        ledger.reservations.open(opening())
        _question(ledger, 1, RoundOutcome.NO)
        with ledger.store.reading() as book:
            timed = {entry.record["kind"]: "at" in entry.record for entry in book.entries()}
        assert timed == {
            **dict.fromkeys(["population", "policy", "charge", "opening", "intent"], True),
            **dict.fromkeys(["answer", "outcome"], False),
        }


def _timeless(body: str) -> dict:
    return {key: value for key, value in json.loads(body).items() if key != "at"}


class TestExport:
    @pytest.fixture
    def busy(self, ledger):
        ask(ledger, "k1", answer='{"value": "naïve 17"}')
        ledger.reservations.open(opening())
        _question(ledger, 1, RoundOutcome.YES)
        intend_one(ledger, "s", number=2, key="k2", question="q2", sealed=SEED)
        return ledger

    def test_json_can_be_checked_without_the_ledger(self, busy, tmp_path) -> None:
        receipt = export_json(busy, tmp_path / "out.jsonl")
        assert check_export(tmp_path / "out.jsonl", [receipt]) == receipt == busy.head()
        lines = (tmp_path / "out.jsonl").read_text("ascii").splitlines()
        assert len(lines) == receipt.seq + 1
        assert json.loads(lines[5])["entry"]["answer"] == '{"value": "naïve 17"}'

    def test_parquet_has_a_row_for_every_entry(self, busy, tmp_path) -> None:
        receipt = export_parquet(busy, tmp_path / "out.parquet")
        with duckdb.connect() as bare:
            table = bare.read_parquet(str(tmp_path / "out.parquet"))
            rows = table.project("seq, kind, population, hash").fetchall()
        assert [row[0] for row in rows] == list(range(1, receipt.seq + 1))
        assert rows[-1] == (receipt.seq, "intent", "clinic", receipt.hash)

    def test_no_export_holds_a_secret_or_overwrites_a_file(self, busy, tmp_path) -> None:
        export_json(busy, tmp_path / "out.jsonl")
        export_parquet(busy, tmp_path / "out.parquet")
        for file in tmp_path.glob("out.*"):
            content = file.read_bytes()
            for secret in (SECRET, SEED):
                assert secret not in content
                assert secret.hex().encode() not in content
        for export, name in ((export_json, "out.jsonl"), (export_parquet, "out.parquet")):
            with pytest.raises(FileExistsError):
                export(busy, tmp_path / name)


class TestSpeed:
    @pytest.mark.catalogue("L18")
    def test_every_lookup_on_the_way_of_a_question_uses_an_index_on_what_it_looks_for(self, place) -> None:
        """No entry is read only to be passed over, so a charge takes as long in a large ledger as in a small one."""
        with place.clinic(epsilon=10) as ledger:
            with ledger.store.writing("note") as book:
                for number in range(2000):
                    book.append("note", by="custodian", remark=f"{number}")
            asked = set()
            for line in (ledger.store._writer, ledger.store._reader):
                line._connection = Listening(line.open(), asked)
            ask(ledger, "k1")
            ask(ledger, "k2", question="count k1")
            ledger.reservations.open(opening())
            _question(ledger, 1, RoundOutcome.YES)
            ledger.administration.set_allowance("clinic", "ana", PureDP(epsilon=Fraction(9)))
            ask(ledger, "k3")
            lookups = [
                statement for statement in asked if "from entries" in statement and "limit 2000" not in statement
            ]
            assert len(lookups) >= 8
            for statement in lookups:
                assert _passes_over_nothing(ledger, statement), statement


class Listening:
    """A connection that remembers what was asked of it."""

    closed, pipeline = False, staticmethod(nullcontext)

    def __init__(self, connection, asked: set[str]) -> None:
        self._connection, self._asked = connection, asked

    @property
    def pgconn(self):
        return self._connection.pgconn

    def execute(self, statement, values=()):
        self._asked.add(statement)
        return self._connection.execute(statement, values)

    def close(self) -> None:
        self._connection.close()


def _passes_over_nothing(ledger, statement: str) -> bool:
    connection = ledger.store._reader.open()._connection
    if "?" in statement or "%s" not in statement:
        plan = connection.execute(f"explain query plan {statement}", [1] * statement.count("?")).fetchall()
        return not any("SCAN entries" in row[3] or "SCAN open" in row[3] for row in plan)
    names = [f"${number}" for number in range(1, statement.count("%s") + 1)]
    connection.execute(f"prepare lookup as {statement.replace('%s', '{}').format(*names)}")
    ones = ", ".join("'1'" for _ in names)
    plan = connection.execute(f"explain execute lookup({ones})").fetchall()
    connection.execute("deallocate lookup")
    steps = [row[0] for row in plan]
    filtered = [steps[at - 2] for at, step in enumerate(steps) if " Filter:" in step and "One-Time" not in step]
    return any("Index" in step for step in steps) and not any(
        "Seq Scan" in step or (step in filtered and "chains_pkey" not in step) for step in steps
    )


class TestSharing:
    def test_two_openings_of_one_ledger_see_each_others_charges(self, place, ledger) -> None:
        with place.open() as other:
            ask(ledger, "k1", epsilon="3/5")
            with pytest.raises(BudgetExceededError):
                other.questions.charge(request("k2", epsilon="3/5"))
            ask(other, "k2", epsilon="2/5")
        assert spent(ledger) == 1

    def test_a_look_inside_another_one_sees_the_same_moment(self, ledger) -> None:
        with ledger.store.reading() as outer:
            thread = threading.Thread(target=ask, args=(ledger, "k1"))
            thread.start()
            thread.join()
            assert ledger.head().seq == outer.last, "and is not a sign of damage"
            ask(ledger, "k2")
            assert ledger.head() == outer.receipt
        assert ledger.head().seq == outer.last + 4

    @pytest.mark.parametrize("block", ["reading", "writing", "changing"])
    def test_a_block_whose_end_was_interrupted_stands_in_nobodys_way(self, ledger, monkeypatch, block) -> None:
        acts = {
            "reading": ledger.head,
            "writing": lambda: ledger.administration.resume("clinic"),
            "changing": lambda: ledger.reservations.open(opening()),
        }
        line, where = ledger.store._reader, "undo"
        if block != "reading":
            line, where = ledger.store._writer, "commit"

        def interrupted() -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(line, where, interrupted)
            patched.setattr(line, "drop", lambda: None)
            with pytest.raises(KeyboardInterrupt):
                acts[block]()
        assert ask(ledger, "k2").answer
        assert ledger.head().seq

    def test_threads_share_one_ledger(self, ledger) -> None:
        admitted = []

        def spend(worker: int) -> None:
            for turn in range(4):
                try:
                    ask(ledger, f"{worker} {turn}")
                except BudgetExceededError:
                    return
                admitted.append(turn)

        threads = [threading.Thread(target=spend, args=(worker,)) for worker in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(admitted) == 10
        assert spent(ledger) == 1

    def test_receipts_can_be_printed_and_read_back(self, ledger) -> None:
        receipt = ask(ledger).receipt
        assert Receipt.parse(f" {receipt}\n") == receipt
        for wrong in ("", "lapwing:2f1c:7", f"lapwing:2f1c:-1:{'ab' * 32}", f"lapwing:2f1c:7:{'zz' * 32}"):
            with pytest.raises(ParameterError, match="is not a receipt"):
                Receipt.parse(wrong)
