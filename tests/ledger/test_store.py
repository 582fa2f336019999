"""Fault points do nothing unless they are told to."""

import errno

import pytest

from lapwing.ledger import store


@pytest.fixture(autouse=True)
def fresh():
    store._reached.clear()


def test_nothing_happens_without_the_variable(monkeypatch) -> None:
    monkeypatch.delenv(store.VARIABLE, raising=False)
    store.fault_point("charge.written")


def test_nothing_happens_at_other_points(monkeypatch) -> None:
    monkeypatch.setenv(store.VARIABLE, "charge.written:full")
    store.fault_point("charge.begun")


def test_the_disk_is_full_at_the_turn_that_was_asked_for(monkeypatch) -> None:
    monkeypatch.setenv(store.VARIABLE, "charge.written:full:2")
    store.fault_point("charge.written")
    with pytest.raises(OSError, match="no space left") as failed:
        store.fault_point("charge.written")
    assert failed.value.errno == errno.ENOSPC
    store.fault_point("charge.written")


def test_an_unknown_action_is_refused(monkeypatch) -> None:
    monkeypatch.setenv(store.VARIABLE, "charge.written:explode")
    with pytest.raises(ValueError, match="it can be kill or full"):
        store.fault_point("charge.written")
