"""What the ledger says about a population, told in sentences."""

from lapwing import count
from lapwing.answers.history import acts_of
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
