"""Many questions of a stream at once: the same answers as one by one, as durable, and nobody pays twice."""

from fractions import Fraction

import pytest

from lapwing import at_least, col
from lapwing.answers.stream_terms import Verdict
from lapwing.ledger.replay import verify
from lapwing.ledger.reservation_states import ReservationStatus
from lapwing.mechanisms.sparse_vector.stream import SparseVectorStatus, SparseVectorStream
from lapwing.vocabulary.errors import BadQuestionError, EngineError, ParameterError, StreamHaltedError, UnansweredError
from lapwing.vocabulary.exact import Sensitive
from session.clinic import Broken, FixedNumber, door, new_ledger, same_ledger, spent

TERMS = {"at_least": 200, "yeses": 3, "epsilon": 1}
FAR_ABOVE, FAR_BELOW = FixedNumber(10_000), FixedNumber(-10_000)


class ByAge(FixedNumber):
    """An engine that counts far more than enough people of the ages in a set, and far too few of others."""

    def __init__(self, *ages: int) -> None:
        super().__init__(0)
        self.ages, self.read = ages, 0

    def numbers(self, aggregates, *, versions):
        del versions
        self.read += 1
        return [Sensitive(10_000 if a.where.intervals[0][0] in self.ages else -10_000) for a in aggregates]


def ages(*wanted: int) -> list[str]:
    return [f"age = {age}" for age in wanted]


def test_the_answers_come_in_the_order_of_the_conditions(ledger) -> None:
    stream = door(ledger, ByAge(3, 5)).stream(**TERMS)
    answers = stream.ask_many(ages(1, 3, 4, 5, 6))
    assert [bool(answer) for answer in answers] == [False, True, False, True, False]
    assert [answer.question for answer in answers] == [1, 2, 3, 4, 5]
    assert list(answers.yeses) == [1, 3]
    assert answers.price == 2 * stream.terms.mechanism.yes_price
    assert not answers.halted
    verify(ledger)


def test_a_batch_is_one_read_and_two_entries(ledger) -> None:
    data = ByAge(3)
    stream = door(ledger, data).stream(**TERMS)
    before = ledger.head().seq
    stream.ask_many(ages(*range(50)))
    assert (data.read, ledger.head().seq) == (1, before + 2)


def test_more_than_fit_one_intent_are_cut_and_a_repeat_is_free_anywhere(ledger, monkeypatch) -> None:
    monkeypatch.setattr("lapwing.streams.MOST_TOGETHER", 4)
    data = ByAge(3, 7)
    stream = door(ledger, data).stream(**TERMS)
    answers = stream.ask_many(ages(*range(10), 3, 0))
    assert data.read == 3
    assert [bool(answer) for answer in answers] == [age in {3, 7} for age in [*range(10), 3, 0]]
    assert answers[10] == answers[3]
    assert answers.price == 2 * stream.terms.mechanism.yes_price
    again = stream.ask_many(ages(9, 3, 20))
    assert [answer.free for answer in again] == [True, True, False]
    assert again[1].gap == answers[3].gap
    assert stream.ask("age = 3").gap == answers[3].gap


def test_nothing_is_asked_after_the_halt(ledger) -> None:
    stream = door(ledger, FAR_ABOVE).stream(**TERMS)
    answers = stream.ask_many(ages(*range(6)))
    assert [answer and answer.verdict for answer in answers] == [Verdict.ABOVE] * 3 + [None] * 3
    assert answers.halted
    assert stream.record.status is ReservationStatus.HALTED
    assert stream.record.asked == 3
    assert [answer and answer.free for answer in stream.ask_many(ages(2, 5))] == [True, None]
    with pytest.raises(StreamHaltedError):
        stream.ask_many(ages(4, 5))
    verify(ledger)


def test_a_bad_condition_costs_nothing_and_nothing_is_asked(ledger) -> None:
    stream = door(ledger, FAR_ABOVE).stream(**TERMS)
    with pytest.raises(BadQuestionError, match="has no column 'agee'"):
        stream.ask_many(["age = 1", "agee = 2"])
    assert stream.record.asked == 0


def test_conditions_may_say_their_own_number(ledger) -> None:
    stream = door(ledger, FAR_ABOVE).stream(**TERMS)
    asked = [at_least(20_000, "patients", "age = 1"), at_least(20, "patients", "age = 1"), col("age") == 2]
    answers = stream.ask_many(asked)
    assert [(bool(answer), answer.threshold) for answer in answers] == [(False, 20_000), (True, 20), (True, 200)]


def test_a_key_that_would_be_too_long_for_a_later_part_is_refused_before_the_first(ledger, monkeypatch) -> None:
    monkeypatch.setattr("lapwing.streams.MOST_TOGETHER", 2)
    stream = door(ledger, FAR_BELOW).stream(**TERMS)
    with pytest.raises(ParameterError, match="is not a name"):
        stream.ask_many(ages(1, 2, 3), key="k" * 199)
    assert stream.record.asked == 0


def test_no_conditions_have_no_answers(ledger) -> None:
    assert len(door(ledger, FAR_ABOVE).stream(**TERMS).ask_many([])) == 0


def test_a_database_that_fails_once_loses_nothing(tmp_path) -> None:
    with new_ledger(tmp_path) as ledger:
        stream = door(ledger, Broken()).stream(**TERMS, name="mine")
        with pytest.raises(EngineError):
            stream.ask_many(ages(1, 2), key="k")
        assert stream.record.in_flight.questions
        before = spent(ledger)
    with same_ledger(tmp_path) as ledger:
        answers = door(ledger, FAR_BELOW).resume("mine").ask_many(ages(1, 2), key="k")
        assert [answer.verdict for answer in answers] == [Verdict.BELOW] * 2
        assert spent(ledger) == before
        verify(ledger)


@pytest.mark.parametrize(("questions", "yeses"), [(2, 2), (3, 3), (5, 3)])
def test_a_database_that_fails_twice_costs_the_yeses_that_may_have_been(ledger, questions, yeses) -> None:
    clinic = door(ledger, Broken())
    stream = clinic.stream(**TERMS, name="mine")
    with pytest.raises(EngineError):
        stream.ask_many(ages(*range(questions)), key="k")
    stream.close()
    price = stream.terms.mechanism
    assert spent(ledger) == price.threshold_epsilon + yeses * price.yes_price
    with pytest.raises(UnansweredError):
        clinic._stream("mine", stream.terms).ask_many(ages(*range(questions)), key="k")
    verify(ledger)


def test_a_lost_batch_is_counted_in_the_sealed_stream_itself(ledger, monkeypatch) -> None:
    """The ledger counts it as well; either of the two alone keeps the promise."""
    sealed, suspend = [], SparseVectorStream.suspend

    def noted(stream, key):
        sealed.append((stream.status, stream.yeses))
        return suspend(stream, key)

    monkeypatch.setattr(SparseVectorStream, "suspend", noted)
    stream = door(ledger, Broken()).stream(**TERMS, name="mine")
    with pytest.raises(EngineError):
        stream.ask_many(ages(1, 2), key="k")
    sealed.clear()
    stream.close()
    assert sealed[0] == (SparseVectorStatus.OPEN, 2)


def test_a_table_of_the_answers(ledger) -> None:
    answers = door(ledger, ByAge(3)).stream(**TERMS).ask_many(ages(2, 3))
    frame = answers.to_pandas()
    assert list(frame.columns) == ["verdict", "at_least", "gap", "low", "high"]
    assert list(frame["verdict"]) == ["below", "above"]
    assert answers.to_polars().shape == (2, 5)
    assert Fraction(answers.to_dict()["price"]) == answers.price
    assert "above" in answers._repr_html_()
    assert repr(answers) == "<2 stream answers, 1 of them yes>"
