"""What the ledger says about a population, told in sentences."""

from fractions import Fraction

import pytest

from lapwing import count, mean, quantiles, top
from lapwing.answers.answer import Answer
from lapwing.answers.corridor_terms import CorridorTerms
from lapwing.answers.history import acts_of, asked_words, read_back
from lapwing.ledger.export import describe
from lapwing.queries.statistics.funnel import funnel
from lapwing.vocabulary.guarantee import ApproximateDP, ConcentratedDP, PureDP
from ledger.three_rounds import ENDS, EVENT, first, reserve
from session.clinic import FixedNumber, door, new_ledger


def test_questions_and_batches_are_told_with_what_became_of_them(tmp_path) -> None:
    with new_ledger(tmp_path) as ledger:
        clinic = door(ledger, FixedNumber(-10_000))
        clinic.ask(count("patients", "age > 30"), epsilon="0.5")
        with clinic.stream(at_least=20, yeses=1, epsilon=1, name="s") as stream:
            stream.ask_many(["age = 1", "age = 2"])
            stream.ask_many([f"age = {age}" for age in range(10, 60)])
        said = [act.said for act in acts_of(ledger.history("clinic"), analyst="ana")]
    assert said[0] == "asked for the number of people, in patients where age is at least 31, for epsilon 0.5: answered"
    assert said[2].startswith("asked stream s whether there are at least 20 people, in patients where age is 1; ")
    assert said[2].endswith(": no, no, for nothing")
    assert said[3] == "asked stream s 50 questions: 0 yes, 50 no, for nothing"


def test_a_select_is_told_as_what_it_asks_and_not_as_what_its_columns_are_read_from(tmp_path) -> None:
    with new_ledger(tmp_path) as ledger:
        clinic = door(ledger, FixedNumber(400))
        clinic.sql("select sex, count(*) as n, avg(age) as a from patients group by sex", epsilon="0.5")
        again = clinic.sql("select sex, count(*), avg(age) from patients group by 1", epsilon="0.5")
        (charge,) = (entry for entry in ledger.history("clinic") if entry["kind"] == "charge")
        (said,) = (act.said for act in acts_of(ledger.history("clinic"), analyst="ana"))
    assert again.free
    assert asked_words(charge["question"]).startswith("the mean of age, and with it the number of rows")  # is released
    assert said.startswith("asked for the number of people, in patients, ")
    assert "; the mean of age, and with it the number of rows, in patients, " in said


def test_what_rounds_and_checks_of_an_explorer_were_for_is_told_by_what_was_agreed(tmp_path) -> None:
    with new_ledger(tmp_path, PureDP(epsilon=9)) as ledger:
        clinic = door(ledger, FixedNumber(400))
        for terms in (
            {"table": "patients", "columns": ["sex", "age"]},
            {"table": "patients", "formula": "age ~ sex", "columns": ["sex"]},
            {"name": "visits of a month"},
        ):
            clinic.reserve(ENDS, event=EVENT, rounds=3, terms=terms, tables=["patients"], key=str(terms))
        checks = CorridorTerms.around(
            clinic.population, "patients", epsilon="0.5", yeses=2, questions=100, half_width=200
        )
        clinic.open_stream(checks, key="e")
        said = [act.said for act in acts_of(ledger.history("clinic"), analyst="ana")]
    assert said[:3] == [
        "reserved 3 rounds of three rounds of patients: sex, age, for epsilon 0.03",
        "reserved 3 rounds of three rounds of patients: age ~ sex, for epsilon 0.03",
        "reserved 3 rounds of three rounds of visits of a month, for epsilon 0.03",
    ]
    assert said[3].startswith("opened the checks of an explorer of patients, ")


ASKED = {
    "count": count("patients", "age > 30"),
    "groups": count("patients", by="sex"),
    "mean": mean("patients", "age"),
    "median": quantiles("patients", "age", at=["0.5"]),
    "top": top("patients", "sex", 1),
    "funnel": funnel("patients", ["age > 30", "sex = 'F'"]),
    "two": {"men": count("patients", "sex = 'M'"), "age": mean("patients", "age")},
}


def numbers(answer: Answer) -> list:
    return [(cell.value, cell.low, cell.high, cell.rows) for row in answer.rows for cell in row.cells.values()]


@pytest.mark.parametrize("budget", [PureDP(epsilon=9), ApproximateDP(epsilon=9, delta="1e-6"), ConcentratedDP(rho=9)])
def test_an_answer_is_read_back_from_its_entries_alone(tmp_path, budget) -> None:
    """With its numbers, its bounds and its price; of what came under names of its own, the names alone are lost."""
    offer = {"rho": Fraction(1, 10)} if isinstance(budget, ConcentratedDP) else {"epsilon": Fraction(1, 2)}
    with new_ledger(tmp_path, budget) as ledger:
        clinic = door(ledger, FixedNumber(400))
        for name, question in ASKED.items():
            if name in {"median", "top"} and "rho" in offer:
                continue  # a selection is paid in epsilon
            told = clinic.ask(question, **offer)
            entries = {entry["seq"]: entry for entry in ledger.history("clinic")}
            end = entries[told.receipt.seq]
            again = read_back(entries[end["settles"]], end, ledger.receipt(end["seq"]), budget)
            assert again is not None, name
            assert numbers(again) == numbers(told)
            assert list(again.asked.margin().values()) == list(told.asked.margin().values())
            assert (again.price, again.receipt, again.asked.text) == (told.price, told.receipt, told.asked.text)


def test_rounds_are_told_with_what_became_of_them(tmp_path) -> None:
    with new_ledger(tmp_path) as ledger:
        clinic = door(ledger, FixedNumber(1000))
        rounds = reserve(clinic, "k")
        first(clinic, rounds)
        ledger.reservations.intend(rounds.name, number=2, parameters="{}")
        said = [act.said for act in acts_of(ledger.history("clinic"), analyst="ana")]
        rounds.recover()
        reserve(clinic, "closed").close()
        told = [act.said for act in acts_of(ledger.history("clinic"), analyst="ana")]
        described = [describe(entry)[1] for entry in ledger.history("clinic") if "stream" in entry]
    assert said == [
        "reserved 3 rounds of three rounds, for epsilon 0.03",
        "drew round 1 of three rounds: released",
        "drew round 2 of three rounds: it has no outcome yet",
    ]
    assert told[2:] == [
        "drew round 2 of three rounds: lost",
        "reserved 3 rounds of three rounds, for epsilon 0.03",
        "closed three rounds after round 0",
    ]
    assert described[1:3] == [f"three rounds {rounds.name} round 1", f"three rounds {rounds.name} round 1 released"]
