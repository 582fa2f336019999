"""Means by accuracy, for a number of rows that the analyst supposes."""

import pytest

import lapwing as lw
from lapwing.vocabulary.errors import ParameterError


def test_a_mean_is_bought_by_its_accuracy_for_a_number_of_rows(clinic) -> None:
    """What is supposed of the number of rows is a condition of the promise, and read from no data."""
    asked = lw.mean("patients", "age")
    preview = clinic.preview(asked, within="2", rows=400)
    assert preview.error_by_rows["answer"][400] <= 2
    assert "if 400 rows count" in str(preview)
    dearer = clinic.preview(asked, within="1", rows=400).price.epsilon
    assert preview.price.epsilon < dearer < 3 * preview.price.epsilon
    answer = clinic.ask(asked, within="2", rows=400)
    low, high = answer.interval()
    assert (high - low) / 2 < 2.2, "there are 400, and their values fill the range"
    assert answer.price == preview.price


@pytest.mark.parametrize(
    ("question", "words", "match"),
    [
        (lw.mean("patients", "age"), {"within": 2}, "say about how many rows there are"),
        (lw.mean("patients", "age"), {"within": 2, "rows": 0}, "out of range"),
        (lw.mean("patients", "age"), {"within": 2, "rows": "many"}, "whole number"),
        (lw.mean("patients", "age"), {"epsilon": 1, "rows": 400}, "goes with an accuracy"),
        (lw.count("patients"), {"within": 2, "rows": 400}, "nothing to do with how exact"),
        (lw.median("patients", "age"), {"within": 2, "rows": 400}, "nothing to do with|rows"),
    ],
)
def test_a_number_of_rows_goes_with_the_accuracy_of_a_mean(clinic, question, words, match) -> None:
    with pytest.raises(ParameterError, match=match):
        clinic.preview(question, **words)
