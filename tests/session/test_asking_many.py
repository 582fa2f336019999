"""Many questions at once: one charge, one read and one answer for all of them, or none."""

from fractions import Fraction

import pytest

from lapwing import bins, count, mean, total
from lapwing.ledger.replay import verify
from lapwing.vocabulary.errors import BadQuestionError, BudgetExceededError, EngineError, UnansweredError
from lapwing.vocabulary.guarantee import PureDP
from session.clinic import Broken, FixedNumber, door, new_ledger, spent
from session.real_tables import PEOPLE, Tables

COUNTS = [count("patients", f"age >= {age} and sex = '{sex}'") for age in range(0, 100, 20) for sex in "FM"]
OTHERS = [
    mean("patients", "age"),
    count("patients", by=bins("age", [0, 50, 100])),
    total("visits", "ward", "kind = 'ER'"),
    "select count(*) from visits where ward = 3",
    {"people": count("patients", "age > 3"), "bmi": mean("patients", "bmi")},
]


@pytest.fixture
def ledger(quick_path):
    with new_ledger(quick_path, PureDP(epsilon=Fraction(1000))) as opened:
        yield opened


def test_many_are_answered_as_one_by_one(ledger) -> None:
    clinic = door(ledger, Tables())
    before = spent(ledger)
    answers = clinic.ask_many([*COUNTS, *OTHERS], epsilon=20)
    assert spent(ledger) - before == 20 * len(answers)
    exact = [
        sum(1 for i in range(1, PEOPLE + 1) if i % 100 >= age and "FM"[i % 2] == sex)
        for age in range(0, 100, 20)
        for sex in "FM"
    ]
    assert [abs(answer.value - wanted) <= 3 for answer, wanted in zip(answers, exact, strict=False)] == [True] * len(
        COUNTS
    )
    assert len({answer.receipt for answer in answers}) == len(answers)
    verify(ledger, receipts=[answer.receipt for answer in answers])
    for question, answer in zip([*COUNTS, *OTHERS], answers, strict=True):
        again = clinic.ask(question, epsilon=20)
        assert (again.numbers, again.receipt, again.free) == (answer.numbers, answer.receipt, True)
    assert spent(ledger) - before == 20 * len(answers)


def test_they_are_one_charge_and_one_answer(ledger, monkeypatch) -> None:
    begun, begin = [], ledger.store._writer.begin
    monkeypatch.setattr(ledger.store._writer, "begin", lambda statements: begun.append(1) or begin(statements))
    door(ledger, Tables()).ask_many(COUNTS, epsilon="0.1")
    assert len(begun) == 2


def test_plain_counts_are_read_together(ledger, monkeypatch) -> None:
    data = Tables()
    engine, statements = data.engine({}), []
    rows, columns = engine._rows, engine._columns
    monkeypatch.setattr(engine, "_rows", lambda one: statements.append(one) or rows(one))
    monkeypatch.setattr(engine, "_columns", lambda one: statements.append(one) or columns(one))
    door(ledger, data).ask_many(COUNTS, epsilon="0.1")
    assert len(statements) <= 3  # how many people, who they are, and what is true for them
    statements.clear()
    assert len(door(ledger, data).ask_many(COUNTS[:2], epsilon="0.2")) == 2
    assert len(statements) <= 3
    statements.clear()
    door(ledger, data).ask(COUNTS[0], epsilon="0.3")
    assert len(statements) == 1


def test_what_was_answered_before_and_what_comes_twice_is_free(ledger) -> None:
    clinic = door(ledger, Tables())
    first = clinic.ask(COUNTS[0], epsilon="0.1")
    before = spent(ledger)
    answers = clinic.ask_many([COUNTS[0], COUNTS[1], COUNTS[1], {"n": COUNTS[1]}], epsilon="0.1")
    assert [answer.free for answer in answers] == [True, False, True, True]
    assert answers[0].receipt == first.receipt
    assert len({answer.receipt for answer in answers[1:]}) == 1
    assert list(answers[3].numbers) == ["n"]
    assert spent(ledger) - before == Fraction(1, 10)
    assert clinic.ask_many(COUNTS[:2], epsilon="0.1")[1].free
    assert clinic.ask_many([], epsilon="0.1") == []


def test_what_does_not_fit_is_refused_whole_with_the_numbers(quick_path) -> None:
    with new_ledger(quick_path, PureDP(epsilon=Fraction(1))) as ledger:
        clinic = door(ledger, Tables())
        clinic.ask(COUNTS[0], epsilon="0.2")
        head = ledger.head()
        with pytest.raises(BudgetExceededError) as refused:
            clinic.ask_many(COUNTS, epsilon="0.2")
        assert str(refused.value) == (
            "epsilon 1.8 is asked and 0.8 is left: ask at epsilon 0.08 or less for each of these 10 questions, or ask "
            "fewer of them, or ask the custodian to raise the cap of population 'clinic'"
        )
        assert refused.value.settings == {"epsilon": "0.08"}
        assert ledger.head() == head
        assert len(clinic.ask_many(COUNTS, **refused.value.settings)) == 10


def test_one_bad_question_costs_nothing(ledger) -> None:
    head = ledger.head()
    with pytest.raises(BadQuestionError):
        door(ledger, Tables()).ask_many([COUNTS[0], count("patients", "height > 3")], epsilon="0.1")
    with pytest.raises(BadQuestionError, match="1,001 questions are asked at once, more than 1,000; ask them in parts"):
        door(ledger, Tables()).ask_many([COUNTS[0]] * 1001, epsilon="0.1")
    assert ledger.head() == head


def test_a_database_that_fails_loses_all_of_them_and_says_nothing(ledger) -> None:
    clinic = door(ledger, Broken())
    before = spent(ledger)
    with pytest.raises(EngineError):
        clinic.ask_many(COUNTS, epsilon="0.1", key="k")
    assert spent(ledger) - before == 1
    assert ledger.questions.unsettled() == []
    with pytest.raises(UnansweredError):
        clinic.ask_many(COUNTS, epsilon="0.1", key="k")
    assert spent(ledger) - before == 1
    verify(ledger)


def test_the_same_key_brings_back_the_same_answers(ledger) -> None:
    clinic = door(ledger, FixedNumber(100))
    first = clinic.ask_many(COUNTS, epsilon="0.1", key="k")
    before = spent(ledger)
    again = clinic.ask_many(COUNTS, epsilon="0.1", key="k")
    assert [one.numbers for one in again] == [one.numbers for one in first]
    assert clinic.ask(COUNTS[2], epsilon="0.1", key="k 3").receipt == first[2].receipt
    assert spent(ledger) == before
