"""What every ledger promises about questions of a stream that are asked together, on SQLite and PostgreSQL."""

from fractions import Fraction

import pytest

from lapwing.ledger.replay import verify
from lapwing.ledger.reservation_states import ReservationStatus, RoundOutcome
from lapwing.vocabulary.errors import (
    LedgerDamagedError,
    ParameterError,
    RequestConflictError,
    StreamBusyError,
    StreamError,
    UnansweredError,
)
from ledger.clinic import SECRET, SEED, Place, decide_one, intend_one, opening, reserved, spent

YES, NO = (RoundOutcome.YES, "yes"), (RoundOutcome.NO, "no")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request) -> Place:
    return Place.chosen(request.param, request)


@pytest.fixture
def ledger(place):
    with place.clinic() as ledger:
        ledger.reservations.open(opening())  # 1/10 and three yeses of 1/10
        yield ledger


def intend(ledger, number, *questions, key=None):
    key = key or f"k{number}"
    return ledger.streams.intend("s", number=number, key=key, questions=questions, sealed=SEED)


def decide(ledger, number, *answers):
    return ledger.streams.decide("s", number=number, answers=answers or None, sealed=SECRET)


def told(decisions):
    return {question: (one.number, one.outcome.value, one.answer) for question, one in decisions.items()}


def test_a_batch_is_one_intent_and_one_outcome_and_its_yeses_are_paid(ledger) -> None:
    before = ledger.head().seq
    intent, known = intend(ledger, 1, "a", "b", "c")
    assert (intent.questions, intent.number, intent.many, known) == (("a", "b", "c"), 1, True, {})
    decided = decide(ledger, 1, NO, YES, NO)
    assert told(decided) == {"a": (1, "no", "no"), "b": (2, "yes", "yes"), "c": (3, "no", "no")}
    assert ledger.head().seq == before + 2
    assert (spent(ledger), reserved(ledger)) == (Fraction(2, 10), Fraction(2, 10))
    assert ledger.reservations.find("s").asked == 3
    verify(ledger)


def test_a_stream_whose_yeses_have_different_prices_is_asked_one_question_at_a_time(ledger) -> None:
    ledger.reservations.open(opening("two prices", yeses=4, dearest=2))
    with pytest.raises(StreamError, match="have different prices; ask its questions one at a time"):
        ledger.streams.intend("two prices", number=1, key="k", questions=["a", "b"], sealed=SEED)
    assert ledger.reservations.find("two prices").asked == 0


def test_more_questions_than_one_statement_has_values_for_are_all_found_again(ledger) -> None:
    questions = [f"q{i}" for i in range(3100)]
    intend(ledger, 1, *questions)
    decided = decide(ledger, 1, *[NO] * len(questions))
    assert list(decided) == questions
    assert intend(ledger, 3101, *questions, key="again") == (None, decided)


def test_what_was_asked_before_is_told_again_one_by_one_or_together(ledger) -> None:
    intend_one(ledger, "s", number=1, key="one", question="a", sealed=SEED)
    decide_one(ledger, "s", number=1, outcome=RoundOutcome.NO, answer="alone", sealed=SECRET)
    intent, known = intend(ledger, 2, "a", "b", "c")
    assert intent.questions == ("b", "c")
    assert told(known) == {"a": (1, "no", "alone")}
    decide(ledger, 2, NO, YES)
    again = intend_one(ledger, "s", number=4, key="two", question="c", sealed=SEED)
    assert (again.number, again.answer) == (3, "yes")
    assert intend_one(ledger, "s", number=4, key="two", question="c", sealed=SEED) == again
    intent, known = intend(ledger, 4, "c", "a", "b", key="all")
    assert intent is None
    assert told(known) == {"c": (3, "yes", "yes"), "a": (1, "no", "alone"), "b": (2, "no", "no")}
    verify(ledger)


def test_the_same_key_gives_the_same_answers_after_the_data_moved_on(ledger) -> None:
    intend(ledger, 1, "a", "b")
    first = decide(ledger, 1, NO, YES)
    ledger.administration.advance_version("clinic", "patients")
    assert intend(ledger, 3, "a", "b", key="k1") == (None, first)
    intent, known = intend(ledger, 3, "a", "b", key="new")
    assert (intent.questions, known) == (("a", "b"), {})
    with pytest.raises(RequestConflictError):
        intend(ledger, 3, "a", "c", key="k1")


def test_the_last_yes_halts_and_what_comes_after_it_was_not_asked(ledger) -> None:
    intend(ledger, 1, *"abcdef")
    decided = decide(ledger, 1, YES, NO, YES, YES)
    assert list(decided) == ["a", "b", "c", "d"]
    assert decided["d"].status is ReservationStatus.HALTED
    assert (spent(ledger), reserved(ledger)) == (Fraction(4, 10), 0)
    assert ledger.reservations.find("s").asked == 4
    intent, known = intend(ledger, 5, "f", "a")
    assert (intent, list(known)) == (None, ["a"])
    verify(ledger)


@pytest.mark.parametrize("answers", [(NO,), (NO, YES, NO, NO), (YES, NO)])
def test_a_batch_is_decided_whole_or_up_to_the_halt(ledger, answers) -> None:
    intend(ledger, 1, "a", "b", "c")
    with pytest.raises(ParameterError, match="is not the number of questions, 3"):
        decide(ledger, 1, *answers)
    assert spent(ledger) == Fraction(1, 10)


def test_nothing_else_is_asked_while_a_batch_is_in_flight(ledger) -> None:
    intend(ledger, 1, "a", "b")
    for act in (
        lambda: intend(ledger, 3, "c"),
        lambda: intend(ledger, 1, "a", "b", key="k1"),
        lambda: intend_one(ledger, "s", number=3, key="x", question="c", sealed=SEED),
        lambda: ledger.reservations.close("s"),
    ):
        with pytest.raises(StreamBusyError, match="question 1 of stream 's'"):
            act()
    with pytest.raises(ParameterError, match="is not the number of questions, 2"):
        decide_one(ledger, "s", number=1, outcome=RoundOutcome.NO, answer="no", sealed=SECRET)


def test_the_first_outcome_stands(ledger) -> None:
    intend(ledger, 1, "a", "b")
    first = decide(ledger, 1, NO, YES)
    assert decide(ledger, 1, YES, YES) == first
    assert spent(ledger) == Fraction(2, 10)


@pytest.mark.parametrize(("questions", "cost"), [("ab", 2), ("abc", 3), ("abcdef", 3)])
def test_a_lost_batch_costs_a_yes_for_each_question_as_far_as_there_are_yeses(ledger, questions, cost) -> None:
    intend(ledger, 1, *questions)
    assert decide(ledger, 1) == {}
    assert spent(ledger) == Fraction(1 + cost, 10)
    halted = ledger.reservations.find("s").status is ReservationStatus.HALTED
    assert halted == (cost == 3)
    with pytest.raises(UnansweredError):
        intend(ledger, 1, *questions, key="k1")
    verify(ledger)


def test_a_batch_in_flight_is_forfeited_with_its_stream(ledger) -> None:
    intend(ledger, 1, "a", "b")
    assert [intent.questions for intent in ledger.reservations.unsettled()] == [("a", "b")]
    ledger.reservations.forfeit("s")
    assert spent(ledger) == Fraction(4, 10)
    assert ledger.reservations.unsettled() == []
    verify(ledger)


def test_an_index_that_says_something_else_is_found_out(ledger) -> None:
    intend(ledger, 1, "a", "b")
    decide(ledger, 1, NO, YES)
    with ledger.store.writing("policy") as transaction:
        transaction.do("update all_recalls set place = 1 - place")
    with pytest.raises(LedgerDamagedError, match="is not what was looked for"):
        intend(ledger, 3, "a")
    with pytest.raises(LedgerDamagedError, match="the index of the answers of batches"):
        verify(ledger)
