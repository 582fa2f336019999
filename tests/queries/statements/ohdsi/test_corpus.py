"""Cohort definitions of our own, each beside what it means in plain SQL, on a made-up clinic."""

import json
from pathlib import Path

import pytest

import lapwing as lw
from omop_clinic import truth

DEFINITIONS = sorted((Path(__file__).parent / "definitions").glob("*.json"))


def test_there_are_enough_of_them() -> None:
    assert len(DEFINITIONS) >= 12


@pytest.mark.parametrize("file", DEFINITIONS, ids=lambda file: file.stem)
def test_a_definition_counts_whom_sql_counts(clinic, folder, file) -> None:
    definition = lw.cohort_definition(file)
    assert definition.unsupported == ()
    (expected,) = truth(folder, file.with_suffix(".sql").read_text(encoding="utf-8"))
    found = tuple(row["answer"] for row in clinic.ask(definition.funnel(), epsilon=20).rows)
    assert found == expected
    assert clinic.ask(definition.count(), epsilon=20).value == expected[-1]


@pytest.mark.parametrize("file", DEFINITIONS, ids=lambda file: file.stem)
def test_the_truths_tell_the_steps_apart(folder, file) -> None:
    """A corpus in which every step passes everybody, or nobody, would prove nothing."""
    (expected,) = truth(folder, file.with_suffix(".sql").read_text(encoding="utf-8"))
    assert list(expected) == sorted(set(expected), reverse=True)
    assert 0 < expected[-1] <= expected[0] < 400
    assert len(expected) == 1 + len(json.loads(file.read_text(encoding="utf-8"))["InclusionRules"]) + (
        "AdditionalCriteria" in json.loads(file.read_text(encoding="utf-8"))
    )
