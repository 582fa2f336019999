"""Fault points do nothing unless they are told to."""

import errno

import pytest

from lapwing.ledger import faults


@pytest.fixture(autouse=True)
def fresh():
    faults._reached.clear()


def test_nothing_happens_without_the_variable(monkeypatch) -> None:
    monkeypatch.delenv(faults.VARIABLE, raising=False)
    faults.fault_point("charge.written")


def test_nothing_happens_at_other_points(monkeypatch) -> None:
    monkeypatch.setenv(faults.VARIABLE, "charge.written:full")
    faults.fault_point("charge.begun")


def test_the_disk_is_full_at_the_turn_that_was_asked_for(monkeypatch) -> None:
    monkeypatch.setenv(faults.VARIABLE, "charge.written:full:2")
    faults.fault_point("charge.written")
    with pytest.raises(OSError, match="no space left") as failed:
        faults.fault_point("charge.written")
    assert failed.value.errno == errno.ENOSPC
    faults.fault_point("charge.written")


def test_an_unknown_action_is_refused(monkeypatch) -> None:
    monkeypatch.setenv(faults.VARIABLE, "charge.written:explode")
    with pytest.raises(ValueError, match="it can be kill or full"):
        faults.fault_point("charge.written")
