"""Three adaptive rounds under one charge, at the door: what a guest of the session sees."""

from fractions import Fraction
from typing import Any

import pytest

from lapwing.accounting.filters.charge import SingleRelease
from lapwing.ledger.replay import verify
from lapwing.ledger.reservation_states import ReservationStatus
from lapwing.queries.planning.planner import plan
from lapwing.queries.statistics.counts import count
from lapwing.rounds import IfLost, ReservationKind, Rounds
from lapwing.session import Session
from lapwing.vocabulary.errors import (
    BadQuestionError,
    BudgetExceededError,
    EngineError,
    ParameterError,
    PolicyError,
    RequestConflictError,
    StreamError,
    UnansweredError,
)
from lapwing.vocabulary.exact import Sensitive
from ledger.three_rounds import COUNT, COUNTS, ENDS, EVENT, PRICE, all_three, first, reserve, second
from session.clinic import Broken, FixedNumber, door, new_ledger, same_ledger, spent
from session.real_tables import Tables


@pytest.fixture
def clinic(ledger) -> Session:
    return door(ledger, FixedNumber(1000))


@pytest.fixture
def rounds(clinic) -> Rounds:
    return reserve(clinic, "k")


def entries(ledger) -> int:
    return ledger.head().seq


def test_three_rounds_are_charged_once_under_every_kind_of_budget(tmp_path, budget) -> None:
    with new_ledger(tmp_path, budget.promise(2)) as ledger:
        clinic, drawn = door(ledger, FixedNumber(1000)), list[Any]()
        due = ledger.account("clinic").quote(SingleRelease(event=EVENT))
        with reserve(clinic, "k") as rounds:
            charged = ledger.account("clinic")
            assert charged == ledger.snapshot("clinic", "ana").account
            told = all_three(clinic, rounds, drawn.append)
        assert [value for _, value in drawn] == told
        assert drawn[1][0] == f"age > {told[0] % 50}", "the second depends on the first"
        assert drawn[2][0] == f"age between {told[0] % 50} and {50 + told[1] % 40}", "and the third on both"
        assert ledger.account("clinic") == charged, "no round costs anything more, and nothing is given back"
        assert [line.cost for line in ledger.bookings("clinic", at_most=9)] == [due.cost]
        verify(ledger)
    with same_ledger(tmp_path) as ledger:  # as another process would
        again, before = door(ledger, FixedNumber(0)), entries(ledger)
        assert all_three(again, reserve(again, "k"), drawn.append) == told
        assert (len(drawn), entries(ledger)) == (3, before), "what was committed is read back"


def test_what_does_not_fit_is_refused_with_its_price_before_anything_is_read(tmp_path, budget) -> None:
    with new_ledger(tmp_path, budget.promise("0.0001")) as ledger:
        before = entries(ledger)
        with pytest.raises(BudgetExceededError, match="is left"):
            reserve(door(ledger, Broken()), "k")
        assert entries(ledger) == before


def test_a_guest_whose_process_died_goes_on_where_it_was(tmp_path) -> None:
    with new_ledger(tmp_path) as ledger:
        clinic = door(ledger, FixedNumber(1000))
        rounds = reserve(clinic, "k")
        people = first(clinic, rounds)
        assert rounds.committed == [people]
    with same_ledger(tmp_path) as ledger:
        clinic, drawn = door(ledger, FixedNumber(1000)), list[Any]()
        told = all_three(clinic, reserve(clinic, "k"), drawn.append)
        assert told[0] == people
        assert len(drawn) == 2


def test_a_round_may_be_drawn_by_its_number(clinic, rounds) -> None:
    people = first(clinic, rounds)
    later = reserve(clinic, "k")
    assert later.round({"n": 2}, lambda reader: len(reader.versions), number=len(later.committed) + 1) == 1
    assert later.committed == [people, 1]
    with pytest.raises(ParameterError, match="ask as 3"):
        later.round({"n": 5}, lambda _: 1, number=5)


def test_a_round_has_the_parameters_with_which_it_began(clinic, rounds) -> None:
    rounds.round({"a": 1}, lambda _: 7)
    assert reserve(clinic, "k").round({"a": 1}, lambda _: 8) == 7
    with pytest.raises(ParameterError, match="are not those of round 1"):
        reserve(clinic, "k").round({"a": 2}, lambda _: 8)


@pytest.mark.parametrize("odd", [1.5, {"a": [0.1]}, {1, 2}, float("nan"), Sensitive(3), b"bytes"], ids=repr)
def test_parameters_that_no_ledger_shows_again_are_refused_before_anything_is_written(ledger, rounds, odd) -> None:
    before = entries(ledger)
    with pytest.raises(ParameterError, match="is no public record"):
        rounds.round(odd, lambda _: 1)
    assert entries(ledger) == before
    assert rounds.round(1, lambda _: 1) == 1


@pytest.mark.parametrize("odd", [1.5, Sensitive(123_456_789), {"x": Sensitive(1)}, object()], ids=type)
def test_an_outcome_that_is_no_record_is_told_to_nobody_and_the_round_is_lost(clinic, rounds, odd) -> None:
    told: list[Exception] = []
    rounds._on_failure = told.append
    with pytest.raises(EngineError) as failed:
        rounds.round(1, lambda _: odd)
    assert (str(failed.value), failed.value.__context__) == (str(EngineError()), None)
    assert len(told) == 1
    assert rounds.committed == [None]
    with pytest.raises(UnansweredError, match="round 1 of"):
        reserve(clinic, "k").round(1, lambda _: 2)


def test_a_failure_loses_the_round_and_with_it_a_reservation_that_ends_there(ledger) -> None:
    clinic = door(ledger, Broken())
    rounds = reserve(clinic, "k")
    with pytest.raises(EngineError):
        first(clinic, rounds)
    well = door(ledger, FixedNumber(1000))
    with pytest.raises(UnansweredError, match="was lost after it was charged"):
        first(well, reserve(well, "k"))
    with pytest.raises(StreamError, match="round 1 was lost; what was committed stands"):
        reserve(well, "k").round(1, lambda _: 1, number=2)
    assert rounds.record.status is ReservationStatus.HALTED
    assert spent(ledger) == 3 * PRICE
    verify(ledger)


def test_a_reservation_that_counts_lost_rounds_goes_on_with_the_next(ledger) -> None:
    clinic = door(ledger, FixedNumber(1000))
    rounds = reserve(clinic, "k", COUNTS)
    with pytest.raises(EngineError):
        rounds.round(1, lambda _: 1 // 0)
    with pytest.raises(UnansweredError):
        rounds.round(1, lambda _: 1)
    assert rounds.round(2, lambda _: 2) == 2
    assert rounds.round(3, lambda _: 3) == 3
    assert rounds.committed == [None, 2, 3]
    with pytest.raises(StreamError, match="all 3 rounds are drawn"):
        rounds.round(4, lambda _: 4)
    verify(ledger)


def test_what_a_dead_process_left_in_flight_is_lost_and_never_drawn_again(ledger, clinic, rounds) -> None:
    ledger.reservations.intend(rounds.name, number=1, parameters='{"where":"age >= 0"}')
    drawn: list[Any] = []
    with pytest.raises(UnansweredError):
        first(clinic, rounds, drawn.append)
    assert (drawn, rounds.committed) == ([], [None])
    verify(ledger)


def test_an_interrupt_loses_the_round_too(ledger, rounds) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rounds.round(1, interrupted)
    assert rounds.committed == [None]
    assert ledger.reservations.unsettled() == []


def test_leaving_in_good_order_closes_it_and_leaving_by_an_error_does_not(clinic) -> None:
    with reserve(clinic, "k") as rounds:
        first(clinic, rounds)
    assert rounds.record.status is ReservationStatus.CLOSED
    with pytest.raises(StreamError, match="it was closed"):
        second(clinic, rounds, 1)
    rounds = reserve(clinic, "other")
    people = first(clinic, rounds)
    with pytest.raises(ZeroDivisionError), rounds:
        _ = 1 // 0
    assert rounds.record.status is ReservationStatus.OPEN
    assert all_three(clinic, reserve(clinic, "other"))[0] == people


def test_each_round_is_about_the_data_of_its_time(ledger) -> None:
    """Releases over months: a version is announced between two rounds, or while one is being asked."""
    tables = Tables()
    clinic = door(ledger, tables)
    rounds = reserve(clinic, "k")
    first(clinic, rounds)
    ledger.administration.advance_version("clinic", "patients")
    assert rounds.round("second", lambda reader: dict(reader.versions)) == {"patients": 2}
    assert [one.versions["patients"] for one in ledger.reservations.outcomes(rounds.name)] == [1, 2]


def test_a_key_is_one_reservation_of_one_analyst(ledger, clinic, rounds) -> None:
    assert reserve(clinic, "k").name == rounds.name
    assert reserve(door(ledger, FixedNumber(1), analyst="bob"), "k").name != rounds.name
    assert reserve(clinic, "another").name != rounds.name
    with pytest.raises(RequestConflictError):
        clinic.reserve(ENDS, event=COUNT.event, rounds=3, tables=["patients"], key="k")
    with pytest.raises(BadQuestionError, match="no table 'doctors'"):
        clinic.reserve(ENDS, event=EVENT, rounds=3, tables=["doctors"])


def test_the_tables_are_all_that_the_analyst_may_ask_about_if_none_is_named(ledger, clinic) -> None:
    assert clinic.reserve(ENDS, event=EVENT, rounds=3).record.tables == {"patients", "visits"}
    ledger.administration.limit_analyst("clinic", "ana", tables=["visits"], most=None)
    assert clinic.reserve(ENDS, event=EVENT, rounds=3).record.tables == {"visits"}


def test_what_was_agreed_is_in_the_ledger_and_on_its_face(ledger, rounds) -> None:
    record = rounds.record
    assert record.terms.endswith('"terms":{"of":"patients"}}')
    assert (record.kind, record.rounds) == (ENDS, 3)
    assert repr(rounds) == f"<three rounds {rounds.name!r}: 0 of 3 rounds>"
    (one,) = [entry for entry in ledger.history("clinic") if entry["kind"] == "opening"]
    assert (one["reserves"], one["if_lost"]) == ("three rounds", "ends")


@pytest.mark.parametrize("kind", ["", "x" * 300])
def test_a_kind_has_a_name(kind) -> None:
    with pytest.raises(ParameterError):
        ReservationKind(name=kind, if_lost=IfLost.ENDS)


def test_rounds_end_with_their_session(clinic, rounds) -> None:
    clinic.close()
    with pytest.raises(BadQuestionError, match="this session is closed"):
        rounds.round(1, lambda _: 1)


def test_what_is_spent_is_the_event_to_the_last_digit(ledger, clinic) -> None:
    reserve(clinic, "k")
    assert spent(ledger) == 3 * PRICE == Fraction(3, 100)


def test_tables_that_were_left_out_are_those_of_the_opening(ledger, clinic) -> None:
    """What this analyst may ask about can change later; the same key is the same request still."""

    def opened() -> Rounds:
        return clinic.reserve(COUNTS, event=EVENT, rounds=3, key="k")

    ledger.administration.limit_analyst("clinic", "ana", tables=["patients"], most=None)
    assert opened().round("p", lambda _: 7) == 7
    ledger.administration.limit_analyst("clinic", "ana", tables=None, most=None)
    assert opened().committed == [7]
    assert opened().record.tables == {"patients"}
    ledger.administration.limit_analyst("clinic", "ana", tables=["visits"], most=None)
    with pytest.raises(PolicyError, match="about patients"):
        opened()
    with pytest.raises(RequestConflictError):
        clinic.reserve(COUNTS, event=EVENT, rounds=3, key="k", tables=["visits"])
    verify(ledger)


def test_a_round_does_not_read_a_table_that_its_reservation_does_not_name(clinic) -> None:
    rounds = clinic.reserve(ENDS, event=EVENT, rounds=3, tables=["patients"])
    planned = plan(count("patients", "has(visits, ward > 3)"), clinic.population)
    with pytest.raises(EngineError):
        rounds.round("first", lambda reader: COUNT.release(reader.number(planned.aggregate)))
    assert rounds.committed == [None]
