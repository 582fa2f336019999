"""What must not be seen: exact values in logs, tracebacks and answers; noise of another law than was paid for."""

import logging
import traceback
from fractions import Fraction

import numpy as np
import pytest

from lapwing import count, total
from lapwing.ledger.export import export_json
from lapwing.vocabulary.errors import EngineError
from lapwing.vocabulary.guarantee import PureDP
from session.clinic import Broken, FixedNumber, door, new_ledger
from statistical.goodness import fits, integer_p_value

SECRET = 987_654_321


@pytest.fixture
def wide(quick_path):
    with new_ledger(quick_path, PureDP(epsilon=Fraction(10**6))) as ledger:
        yield ledger


def test_no_traceback_or_log_holds_an_exact_value(wide, caplog) -> None:
    caplog.set_level(logging.DEBUG)

    class FailsLater(FixedNumber):
        """The numbers were read, and the release fails on them."""

        def vector(self, aggregate):
            del aggregate
            return super().number(None)

        keyed = vector

    for data in (Broken(), FailsLater(SECRET)):
        with pytest.raises(EngineError) as failed:
            door(wide, data).ask(count("patients", by="sex"), epsilon=1)
        told = "".join(traceback.TracebackException.from_exception(failed.value, capture_locals=True).format())
        assert str(SECRET) not in told
        assert "123456789" not in told
    assert str(SECRET) not in caplog.text


def test_the_ledger_holds_released_numbers_and_no_others(wide, tmp_path) -> None:
    clinic = door(wide, FixedNumber(SECRET))
    answer = clinic.ask(count("patients"), epsilon="0.000001")
    with clinic.stream(at_least=SECRET, yeses=1, epsilon=1) as stream:
        stream.ask("age = 1")
    export_json(wide, tmp_path / "ledger.jsonl")
    text = (tmp_path / "ledger.jsonl").read_text()
    assert str(answer.value) in text
    assert f'"released": [[{SECRET}]]'.replace('"', '\\"') not in text


@pytest.mark.parametrize(("claimed", "fair"), [(Fraction(5), True), (Fraction(8), False)], ids=["truth", "lie"])
def test_what_is_released_has_the_noise_that_was_paid_for(wide, claimed, fair) -> None:
    """Two thousand questions of one cell each, through the whole spine, against P(x) ∝ e^(-|x|/5)."""
    clinic = door(wide, FixedNumber(SECRET))
    noise = [
        number - SECRET
        for year in range(20)
        for number in clinic.ask(count("patients", f"bmi > {year}", by="age"), epsilon="0.2").numbers["answer"]
    ]
    reach = np.arange(-60, 61)
    law = np.exp(-np.abs(reach) / float(claimed))
    q = np.exp(-1 / float(claimed))
    assert len(noise) == 2000
    assert fits(integer_p_value(np.array(noise), -60, law * (1 - q) / (1 + q))) is fair


def test_every_answer_is_a_multiple_of_its_grid(wide) -> None:
    """The lowest bits of an answer say nothing about the data: they are those of the grid."""
    values = [
        door(wide, FixedNumber(17)).ask(total("patients", f"clip(bmi, 0, {i})"), epsilon=1).value for i in range(9, 30)
    ]
    assert all((Fraction(value) * 4).denominator == 1 for value in values)
    assert len(set(values)) > 10
