"""A clinic that cohort definitions are asked about; who needs it elsewhere than in files says in which folder."""

import pytest

import lapwing as lw


@pytest.fixture(scope="module")
def folder(omop_once):
    return omop_once


@pytest.fixture(scope="module")
def clinic(folder):
    with lw.open(folder, analyst="ana") as session:
        yield session
