import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from budgets import KindOfBudget
from doors.cli.at_the_prompt import run, write_patients


@pytest.fixture(scope="session")
def made_with(tmp_path_factory) -> Callable[[KindOfBudget], Path]:
    """Return a way to have a workspace with a kind of budget, which is made once."""

    @cache
    def make(budget: KindOfBudget) -> Path:
        folder: Path = tmp_path_factory.mktemp("made") / "clinic"
        assert run(folder, "init", str(folder), "--person-key", "patient_id", *budget.options(30)).code == 0
        write_patients(folder)
        declared = ["--integer", "age=0..120", "--category", "sex=F,M", "--boolean", "cancer_survivor"]
        assert run(folder, "add", "patients", "--source", str(folder / "patients.csv"), *declared).code == 0
        return folder

    return make


@pytest.fixture(scope="module")
def made_once(made_with, budget: KindOfBudget) -> Path:
    """A workspace that nobody writes to."""
    folder: Path = made_with(budget)
    return folder


@pytest.fixture
def clinic(made_once, quick_path) -> Path:
    """A workspace with one table of 2000 patients and a budget of 30, of which nothing is spent."""
    folder: Path = quick_path / "clinic"
    shutil.copytree(made_once, folder)
    return folder
