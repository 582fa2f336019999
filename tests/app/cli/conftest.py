import shutil
from pathlib import Path

import pytest

from app.cli.at_the_prompt import run, write_patients


@pytest.fixture(scope="session")
def made_once(tmp_path_factory) -> Path:
    folder: Path = tmp_path_factory.mktemp("made") / "clinic"
    assert run(folder, "init", str(folder), "--person-key", "patient_id", "--epsilon", "30").code == 0
    write_patients(folder)
    declared = ["--integer", "age=0..120", "--category", "sex=F,M", "--boolean", "cancer_survivor"]
    assert run(folder, "add", "patients", "--source", str(folder / "patients.csv"), *declared).code == 0
    return folder


@pytest.fixture
def clinic(made_once, quick_path) -> Path:
    """A workspace with one table of 2000 patients and a budget of epsilon 30, of which nothing is spent."""
    folder = quick_path / "clinic"
    shutil.copytree(made_once, folder)
    return folder
